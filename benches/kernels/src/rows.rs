//! Rows: prefix sums, the order of numbers, the largest number, attention among the nodes of a
//! graph, and numbers of variable length.

use cuda_std::group::{self, Group, Lanes};
use cuda_std::prelude::*;
use cuda_std::vector::F32x4;
use cuda_std::{AnyBits, PerBlock, PerWarp, warp};

/// The number of pixels of a row of [`integral_rows_safe()`].
pub const WIDTH: usize = 2048;

/// The prefix sums of each row of an image, one row per warp: the first pass of an integral image.
#[kernel(block_size(256))]
pub fn integral_rows_safe(image: &[u8], mut to: PerWarp<u32, WIDTH>) {
    let warp = group::warp();
    let mut before = 0;
    for (i, to) in to.own() {
        if i % WIDTH < 32 {
            before = 0;
        }
        let sum = before + warp.inclusive_scan(u32::from(image[i]), |a, b| a + b);
        before = warp.shuffle(sum, 31);
        *to = sum;
    }
}

/// The prefix sums of each row of an image: see [`integral_rows_safe()`].
#[kernel(block_size(256))]
pub unsafe fn integral_rows_raw(image: *const u8, to: *mut u32, rows: usize) {
    let row = thread::index_1d() as usize / 32;
    let lane = thread::lane_id();
    if row >= rows {
        return;
    }
    let (image, to) = (image.add(row * WIDTH), to.add(row * WIDTH));
    let mut before = 0;
    for i in (lane as usize..WIDTH).step_by(32) {
        let mut sum = u32::from(*image.add(i));
        for distance in [1, 2, 4, 8, 16] {
            let other = warp::shuffle_up(warp::FULL, sum, distance);
            if lane >= distance {
                sum += other;
            }
        }
        sum += before;
        before = warp::shuffle(warp::FULL, sum, 31);
        *to.add(i) = sum;
    }
}

/// A number and its index in a row.
#[derive(Clone, Copy, Debug, AnyBits)]
#[repr(C)]
pub struct Indexed {
    number: f32,
    index: u32,
}

impl Indexed {
    /// Returns whether `self` is before `other` in ascending order.
    #[inline(always)]
    pub fn is_before(&self, other: &Indexed) -> bool {
        self.number < other.number || self.number == other.number && self.index < other.index
    }

    /// Returns the larger number, or the first one if both are equal.
    #[inline(always)]
    pub fn larger(self, other: Indexed) -> Indexed {
        if other.number > self.number || other.number == self.number && other.index < self.index {
            other
        } else {
            self
        }
    }
}

/// The indices that sort each row of 32 numbers, one row per warp, by a bitonic network.
#[kernel(block_size(256))]
pub fn argsort_rows_safe(numbers: &[f32], mut order: PerThread<u32>) {
    let warp = group::warp();
    let index = warp.rank();
    let number = numbers.get(thread::index() as usize).copied();
    let mut own = Indexed {
        number: number.unwrap_or(f32::INFINITY),
        index,
    };
    for size in (1..=5).map(|k| 1 << k) {
        let mut distance = size / 2;
        while distance > 0 {
            let other = warp.shuffle_xor(own, distance);
            let ascends = index & size == 0;
            let is_lower = index & distance == 0;
            if other.is_before(&own) == (ascends == is_lower) {
                own = other;
            }
            distance /= 2;
        }
    }
    order.each(|_, to| *to = own.index);
}

/// The indices that sort each row of 32 numbers: see [`argsort_rows_safe()`].
#[kernel(block_size(256))]
pub unsafe fn argsort_rows_raw(numbers: *const f32, order: *mut u32, n: usize) {
    let i = thread::index_1d() as usize;
    let index = thread::lane_id();
    let mut own = Indexed {
        number: f32::INFINITY,
        index,
    };
    if i < n {
        own.number = *numbers.add(i);
    }
    for k in 1..=5 {
        let size = 1 << k;
        let mut distance = size / 2;
        while distance > 0 {
            let other = Indexed {
                number: warp::shuffle_xor(warp::FULL, own.number, distance),
                index: warp::shuffle_xor(warp::FULL, own.index, distance),
            };
            let ascends = index & size == 0;
            let is_lower = index & distance == 0;
            if other.is_before(&own) == (ascends == is_lower) {
                own = other;
            }
            distance /= 2;
        }
    }
    if i < n {
        *order.add(i) = own.index;
    }
}

/// The index of the largest number of each row, one row per block: the next token of a language
/// model.
#[kernel(block_size(256))]
pub fn argmax_rows_safe(scores: &[f32], width: usize, mut to: PerBlock<u32>) {
    let block = group::block();
    let row = &scores[block.number() as usize * width..][..width];
    let mut best = Indexed {
        number: f32::NEG_INFINITY,
        index: 0,
    };
    for i in thread::block_stride(width) {
        best = best.larger(Indexed {
            number: row[i],
            index: i as u32,
        });
    }
    let best = block.reduce(best, Indexed::larger);
    to.each(|_, to| *to = best.index);
}

/// The index of the largest number of each row: see [`argmax_rows_safe()`].
#[kernel(block_size(256))]
pub unsafe fn argmax_rows_raw(scores: *const f32, width: usize, to: *mut u32) {
    let shared = shared_array![Indexed; 8];
    let thread = thread::thread_idx_x() as usize;
    let row = thread::block_idx_x() as usize;
    let scores = scores.add(row * width);
    let mut best = Indexed {
        number: f32::NEG_INFINITY,
        index: 0,
    };
    for i in (thread..width).step_by(256) {
        best = best.larger(Indexed {
            number: *scores.add(i),
            index: i as u32,
        });
    }
    for distance in [16, 8, 4, 2, 1] {
        best = best.larger(warp::shuffle_xor(warp::FULL, best, distance));
    }
    if thread % 32 == 0 {
        *shared.add(thread / 32) = best;
    }
    thread::sync_threads();
    if thread == 0 {
        for warp in 1..8 {
            best = best.larger(*shared.add(warp));
        }
        *to.add(row) = best.index;
    }
}

/// Returns `x`, or a fifth of it if it is negative.
#[inline(always)]
fn leaky_relu(x: f32) -> f32 {
    if x > 0.0 { x } else { 0.2 * x }
}

/// The features of each node's neighbors in a graph, weighted by the softmax of their scores: a
/// graph attention layer. The neighbors of node `i` are in `neighbors` from `offsets[i]` to
/// `offsets[i + 1]`.
#[kernel(block_size(256))]
pub fn graph_attention_safe(
    offsets: &[u32],
    neighbors: &[u32],
    own_scores: &[f32],
    scores: &[f32],
    features: &[F32x4],
    mut to: PerThread<F32x4>,
) {
    to.each(|node, to| {
        let neighbors = &neighbors[offsets[node] as usize..offsets[node + 1] as usize];
        let logit = |neighbor: u32| leaky_relu(own_scores[node] + scores[neighbor as usize]);
        let logits = neighbors.iter().map(|&neighbor| logit(neighbor));
        let most = logits.fold(f32::NEG_INFINITY, f32::max);
        let mut total = 0.0;
        let mut sum = F32x4::default();
        for &neighbor in neighbors {
            let weight = (logit(neighbor) - most).exp();
            total += weight;
            sum += features[neighbor as usize] * weight;
        }
        *to = sum * (1.0 / total);
    });
}

/// A graph attention layer: see [`graph_attention_safe()`].
#[kernel(block_size(256))]
pub unsafe fn graph_attention_raw(
    offsets: *const u32,
    neighbors: *const u32,
    own_scores: *const f32,
    scores: *const f32,
    features: *const F32x4,
    to: *mut F32x4,
    n: usize,
) {
    let node = thread::index_1d() as usize;
    if node >= n {
        return;
    }
    let own = *own_scores.add(node);
    let (start, end) = (*offsets.add(node), *offsets.add(node + 1));
    let mut most = f32::NEG_INFINITY;
    for edge in start..end {
        let neighbor = *neighbors.add(edge as usize) as usize;
        most = most.max(leaky_relu(own + *scores.add(neighbor)));
    }
    let mut total = 0.0;
    let mut sum = F32x4::default();
    for edge in start..end {
        let neighbor = *neighbors.add(edge as usize) as usize;
        let weight = (leaky_relu(own + *scores.add(neighbor)) - most).exp();
        total += weight;
        sum += *features.add(neighbor) * weight;
    }
    *to.add(node) = sum * (1.0 / total);
}

/// The maximum number of bytes of a number.
pub const LONGEST: usize = 5;

/// Returns the first number of a sequence, and the bytes after it, unless the sequence is empty or
/// invalid. Each byte but a number's last one has its highest bit set.
#[inline(always)]
pub fn varint(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let mut number = 0;
    for (k, &byte) in bytes.iter().enumerate().take(LONGEST) {
        number |= u32::from(byte & 0x7f) << (7 * k);
        if byte < 0x80 {
            return Some((number, &bytes[k + 1..]));
        }
    }
    None
}

/// The sum of each row of numbers of variable length. Row `i` is in `bytes` from `offsets[i]` to
/// `offsets[i + 1]`.
#[kernel(block_size(128))]
pub fn varint_rows_safe(offsets: &[u32], bytes: &[u8], mut to: PerThread<u64>) {
    to.each(|i, to| {
        let mut rest = &bytes[offsets[i] as usize..offsets[i + 1] as usize];
        let mut sum = 0;
        while let Some((number, after)) = varint(rest) {
            sum += u64::from(number);
            rest = after;
        }
        *to = sum;
    });
}

/// The sum of each row of numbers of variable length: see [`varint_rows_safe()`].
#[kernel(block_size(128))]
pub unsafe fn varint_rows_raw(offsets: *const u32, bytes: *const u8, to: *mut u64, n: usize) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let mut at = bytes.add(*offsets.add(i) as usize);
    let end = bytes.add(*offsets.add(i + 1) as usize);
    let mut sum = 0;
    while at < end {
        let mut number = 0;
        let mut shift = 0;
        loop {
            let byte = *at;
            at = at.add(1);
            number |= u32::from(byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                break;
            }
        }
        sum += u64::from(number);
    }
    *to.add(i) = sum;
}
