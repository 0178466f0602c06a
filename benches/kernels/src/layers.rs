//! Layers of neural networks: convolutions, normalization, positions, and the choice of a token.

use cuda_std::half::{F16, F16x2};
use cuda_std::prelude::*;
use cuda_std::{MatrixView, PerBlock, PerThread2d, PerThread3d, group, warp};

/// The number of rows and columns of a filter.
pub const FILTER: usize = 3;
/// The number of elements of a filter.
pub const AREA: usize = FILTER * FILTER;

/// A depthwise convolution with filters of 3×3: each channel has its own filter and bias. Planes
/// are the channels of all images, one image after the other. Pixels outside are zero.
#[kernel(block_size(32, 8))]
pub fn depthwise3x3_safe(
    from: &[f32],
    filters: &[[f32; AREA]],
    biases: &[f32],
    mut to: PerThread3d<f32>,
) {
    let (width, height) = (to.width(), to.height());
    to.each(|(x, y, plane), to| {
        let pixels = &from[plane * width * height..][..width * height];
        let pixels = MatrixView::new(pixels, width, height);
        let channel = plane % filters.len();
        let filter = &filters[channel];
        let mut sum = biases[channel];
        for dy in 0..FILTER {
            for dx in 0..FILTER {
                let (column, row) = ((x + dx).wrapping_sub(1), (y + dy).wrapping_sub(1));
                if let Some(pixel) = pixels.get(column, row) {
                    sum += pixel * filter[dy * FILTER + dx];
                }
            }
        }
        *to = sum;
    });
}

/// A depthwise convolution with filters of 3×3: see [`depthwise3x3_safe()`].
#[kernel(block_size(32, 8))]
pub unsafe fn depthwise3x3_raw(
    from: *const f32,
    filters: *const f32,
    biases: *const f32,
    to: *mut f32,
    width: usize,
    height: usize,
    channels: usize,
) {
    let at = thread::index_3d();
    let (x, y, plane) = (at.x as usize, at.y as usize, at.z as usize);
    if x >= width || y >= height {
        return;
    }
    let channel = plane % channels;
    let pixels = from.add(plane * width * height);
    let filter = filters.add(channel * AREA);
    let mut sum = *biases.add(channel);
    for dy in 0..FILTER {
        for dx in 0..FILTER {
            let (column, row) = ((x + dx).wrapping_sub(1), (y + dy).wrapping_sub(1));
            if column < width && row < height {
                sum += *pixels.add(row * width + column) * *filter.add(dy * FILTER + dx);
            }
        }
    }
    *to.add((plane * height + y) * width + x) = sum;
}

/// The matrix whose product with the filters is a convolution: rows are the elements of the
/// filters of all channels, columns are the pixels of the result. There is one matrix per image.
#[kernel(block_size(256))]
pub fn im2col_safe(
    from: &[f32],
    channels: usize,
    width: usize,
    height: usize,
    to_width: usize,
    stride: usize,
    padding: usize,
    mut to: PerThread3d<f32>,
) {
    to.each(|(pixel, row, image), to| {
        let (channel, element) = (row / AREA, row % AREA);
        let (dx, dy) = (element % FILTER, element / FILTER);
        let (to_x, to_y) = (pixel % to_width, pixel / to_width);
        let plane = &from[(image * channels + channel) * width * height..][..width * height];
        let plane = MatrixView::new(plane, width, height);
        let x = (to_x * stride + dx).wrapping_sub(padding);
        let y = (to_y * stride + dy).wrapping_sub(padding);
        *to = plane.get(x, y).unwrap_or(0.0);
    });
}

/// The matrix whose product with the filters is a convolution: see [`im2col_safe()`].
#[kernel(block_size(256))]
pub unsafe fn im2col_raw(
    from: *const f32,
    channels: usize,
    width: usize,
    height: usize,
    to_width: usize,
    to_height: usize,
    stride: usize,
    padding: usize,
    to: *mut f32,
) {
    let at = thread::index_3d();
    let (pixel, row, image) = (at.x as usize, at.y as usize, at.z as usize);
    let pixels = to_width * to_height;
    if pixel >= pixels {
        return;
    }
    let (channel, element) = (row / AREA, row % AREA);
    let (dx, dy) = (element % FILTER, element / FILTER);
    let (to_x, to_y) = (pixel % to_width, pixel / to_width);
    let plane = from.add((image * channels + channel) * width * height);
    let x = (to_x * stride + dx).wrapping_sub(padding);
    let y = (to_y * stride + dy).wrapping_sub(padding);
    let value = if x < width && y < height {
        *plane.add(y * width + x)
    } else {
        0.0
    };
    *to.add((image * channels * AREA + row) * pixels + pixel) = value;
}

/// The number of groups of channels of an image.
pub const GROUPS: usize = 32;
/// The number of channels of a group.
pub const MEMBERS: usize = 10;
/// The number of pixels of a channel.
pub const PIXELS: usize = 64 * 64;
/// The number of elements of a group.
pub const GROUP: usize = MEMBERS * PIXELS;
/// The number of threads per block of the group norm.
pub const NORMALIZERS: usize = 512;
/// The term that is added to variances.
pub const EPSILON: f32 = 1e-5;

/// Group norm: normalizes each group of channels to mean 0 and variance 1, times `gamma` plus
/// `beta` of the channel. A block has one group of an image.
#[kernel(block_size(512))]
pub fn group_norm_safe(from: &[f32], gamma: &[f32], beta: &[f32], mut to: PerBlock<f32, GROUP>) {
    let block = group::block();
    let (groups, _) = from.as_chunks::<GROUP>();
    for mut piece in to.pieces() {
        let start = piece.start();
        let numbers = &groups[start / GROUP];
        let first = start / GROUP % GROUPS * MEMBERS;
        let (mut sum, mut squares) = (0.0, 0.0);
        for i in thread::block_stride(GROUP) {
            sum += numbers[i];
            squares += numbers[i] * numbers[i];
        }
        let [sum, squares] =
            block.reduce([sum, squares], |a: [f32; 2], b| [a[0] + b[0], a[1] + b[1]]);
        let mean = sum / GROUP as f32;
        let variance = squares / GROUP as f32 - mean * mean;
        let scale = (variance + EPSILON).rsqrt();
        piece.each(|i, to| {
            let i = i - start;
            let channel = first + i / PIXELS;
            *to = (numbers[i] - mean) * scale * gamma[channel] + beta[channel];
        });
    }
}

/// Group norm: see [`group_norm_safe()`].
#[kernel(block_size(512))]
pub unsafe fn group_norm_raw(from: *const f32, gamma: *const f32, beta: *const f32, to: *mut f32) {
    const WARPS: usize = NORMALIZERS / 32;
    let shared = shared_array![[f32; 2]; WARPS];
    let thread = thread::thread_idx_x() as usize;
    let block = thread::block_idx_x() as usize;
    let (from, to) = (from.add(block * GROUP), to.add(block * GROUP));
    let first = block % GROUPS * MEMBERS;
    let (mut sum, mut squares) = (0.0, 0.0);
    for i in (thread..GROUP).step_by(NORMALIZERS) {
        let number = *from.add(i);
        sum += number;
        squares += number * number;
    }
    for distance in [16, 8, 4, 2, 1] {
        sum += warp::shuffle_xor(warp::FULL, sum, distance);
        squares += warp::shuffle_xor(warp::FULL, squares, distance);
    }
    if thread % 32 == 0 {
        *shared.add(thread / 32) = [sum, squares];
    }
    thread::sync_threads();
    [sum, squares] = *shared;
    for i in 1..WARPS {
        let other = *shared.add(i);
        sum += other[0];
        squares += other[1];
    }
    let mean = sum / GROUP as f32;
    let variance = squares / GROUP as f32 - mean * mean;
    let scale = (variance + EPSILON).rsqrt();
    for i in (thread..GROUP).step_by(NORMALIZERS) {
        let channel = first + i / PIXELS;
        *to.add(i) = (*from.add(i) - mean) * scale * *gamma.add(channel) + *beta.add(channel);
    }
}

/// The number of pairs of an attention head.
pub const PAIRS: usize = 64;

/// Returns a pair of the nearest `f16` numbers: for the host, which needs no other function of
/// `cuda_std`.
pub fn pair(x: f32, y: f32) -> F16x2 {
    F16x2::new(F16::from_f32(x), F16::from_f32(y))
}

/// Rotates a pair of numbers by an angle.
#[inline(always)]
fn rotate(pair: F16x2, angle: f32) -> F16x2 {
    let (sin, cos) = angle.sin_cos();
    let (x, y) = (pair.low().to_f32(), pair.high().to_f32());
    F16x2::new(
        F16::from_f32(x * cos - y * sin),
        F16::from_f32(x * sin + y * cos),
    )
}

/// Rotary position embedding: rotates pair `i` of each head by the token's position times
/// `base` to the power of `i`. Rows are tokens.
#[kernel(block_size(256))]
pub fn rope_safe(from: &[F16x2], positions: &[i32], base: f32, mut to: PerThread2d<F16x2>) {
    let width = to.width();
    to.each(|(x, token), to| {
        let angle = positions[token] as f32 * base.powf((x % PAIRS) as f32);
        *to = rotate(from[token * width + x], angle);
    });
}

/// Rotary position embedding: see [`rope_safe()`].
#[kernel(block_size(256))]
pub unsafe fn rope_raw(
    from: *const F16x2,
    positions: *const i32,
    base: f32,
    to: *mut F16x2,
    width: usize,
) {
    let at = thread::index_2d();
    let (x, token) = (at.x as usize, at.y as usize);
    if x >= width {
        return;
    }
    let angle = *positions.add(token) as f32 * base.powf((x % PAIRS) as f32);
    *to.add(token * width + x) = rotate(*from.add(token * width + x), angle);
}

/// The number of threads per block of the choice of tokens.
pub const CHOOSERS: usize = 256;
/// The number of steps that find the smallest weight.
pub const BISECTIONS: usize = 16;

/// Draws a token for each row of logits, among the most probable tokens whose probabilities add up
/// to at least `p` (nucleus sampling). A block has one row, and bisects the smallest weight of these
/// tokens. `draws` are random numbers from 0 to 1.
#[kernel(block_size(256))]
pub fn top_p_safe(
    logits: &[f32],
    vocabulary: usize,
    draws: &[f32],
    p: f32,
    mut tokens: PerBlock<u32>,
) {
    let block = group::block();
    for mut piece in tokens.pieces() {
        let row = piece.start();
        let logits = &logits[row * vocabulary..][..vocabulary];
        let mine = || thread::block_stride(vocabulary).map(|i| logits[i]);
        let largest = block.reduce(mine().fold(f32::NEG_INFINITY, f32::max), f32::max);
        let weights = || mine().map(|logit| (logit - largest).exp());
        let sum = block.reduce(weights().sum(), |a: f32, b| a + b);

        let (mut low, mut high, mut mass) = (0.0, 1.0, sum);
        for _ in 0..BISECTIONS {
            let middle = 0.5 * (low + high);
            let kept = weights().filter(|&weight| weight >= middle).sum();
            let kept = block.reduce(kept, |a: f32, b| a + b);
            if kept >= p * sum {
                (low, mass) = (middle, kept);
            } else {
                high = middle;
            }
        }

        let target = draws[row] * mass;
        let mut before = 0.0;
        let mut token = vocabulary as u32 - 1;
        for start in (0..vocabulary).step_by(CHOOSERS) {
            let i = start + thread::index_in_block() as usize;
            let weight = logits.get(i).map_or(0.0, |logit| (logit - largest).exp());
            let weight = if weight >= low { weight } else { 0.0 };
            let (earlier, total) = block.exclusive_scan_with_total(weight, 0.0, |a, b| a + b);
            if weight > 0.0 && before + (earlier + weight) > target {
                token = token.min(i as u32);
            }
            before += total;
            if before > target {
                break;
            }
        }
        let token = block.reduce(token, u32::min);
        piece.each(|_, to| *to = token);
    }
}

/// Combines the values of all threads, in all threads.
#[inline(always)]
unsafe fn all_of_block<T: cuda_std::AnyBits + Copy>(
    mut value: T,
    shared: *mut T,
    combine: impl Fn(T, T) -> T,
) -> T {
    let thread = thread::thread_idx_x() as usize;
    for distance in [16, 8, 4, 2, 1] {
        value = combine(value, warp::shuffle_xor(warp::FULL, value, distance));
    }
    if thread % 32 == 0 {
        *shared.add(thread / 32) = value;
    }
    thread::sync_threads();
    value = *shared;
    for i in 1..CHOOSERS / 32 {
        value = combine(value, *shared.add(i));
    }
    thread::sync_threads();
    value
}

/// Returns the sum of the values of this thread and of those before it, and the sum of all values.
#[inline(always)]
unsafe fn inclusive_scan(mut value: f32, shared: *mut f32) -> (f32, f32) {
    let (thread, lane) = (thread::thread_idx_x() as usize, thread::lane_id());
    for distance in [1, 2, 4, 8, 16] {
        let other = warp::shuffle_up(warp::FULL, value, distance);
        if lane >= distance {
            value += other;
        }
    }
    if lane == 31 {
        *shared.add(thread / 32) = value;
    }
    thread::sync_threads();
    let (mut before, mut total) = (0.0, 0.0);
    for i in 0..CHOOSERS / 32 {
        if i == thread / 32 {
            before = total;
        }
        total += *shared.add(i);
    }
    thread::sync_threads();
    (before + value, total)
}

/// Draws a token for each row of logits: see [`top_p_safe()`].
#[kernel(block_size(256))]
pub unsafe fn top_p_raw(
    logits: *const f32,
    vocabulary: usize,
    draws: *const f32,
    p: f32,
    tokens: *mut u32,
) {
    let shared = shared_array![f32; CHOOSERS / 32];
    let candidates = shared_array![u32; CHOOSERS / 32];
    let thread = thread::thread_idx_x() as usize;
    let row = thread::block_idx_x() as usize;
    let logits = logits.add(row * vocabulary);
    let mut largest = f32::NEG_INFINITY;
    for i in (thread..vocabulary).step_by(CHOOSERS) {
        largest = largest.max(*logits.add(i));
    }
    let largest = all_of_block(largest, shared, f32::max);
    let mut sum = 0.0;
    for i in (thread..vocabulary).step_by(CHOOSERS) {
        sum += (*logits.add(i) - largest).exp();
    }
    let sum = all_of_block(sum, shared, |a, b| a + b);

    let (mut low, mut high, mut mass) = (0.0, 1.0, sum);
    for _ in 0..BISECTIONS {
        let middle = 0.5 * (low + high);
        let mut kept = 0.0;
        for i in (thread..vocabulary).step_by(CHOOSERS) {
            let weight = (*logits.add(i) - largest).exp();
            if weight >= middle {
                kept += weight;
            }
        }
        let kept = all_of_block(kept, shared, |a, b| a + b);
        if kept >= p * sum {
            (low, mass) = (middle, kept);
        } else {
            high = middle;
        }
    }

    let target = *draws.add(row) * mass;
    let mut before = 0.0;
    let mut token = vocabulary as u32 - 1;
    let mut start = 0;
    while start < vocabulary && before <= target {
        let i = start + thread;
        let mut weight = 0.0;
        if i < vocabulary {
            weight = (*logits.add(i) - largest).exp();
        }
        if weight < low {
            weight = 0.0;
        }
        let (up_to, total) = inclusive_scan(weight, shared);
        if weight > 0.0 && before + up_to > target {
            token = token.min(i as u32);
        }
        before += total;
        start += CHOOSERS;
    }
    let token = all_of_block(token, candidates, u32::min);
    if thread == 0 {
        *tokens.add(row) = token;
    }
}
