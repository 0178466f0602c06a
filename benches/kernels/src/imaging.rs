//! Images: gradients, box filters, colors of videos, resampling, and connected components.

use cuda_std::atomic::{Atomic, Ordering::Relaxed};
use cuda_std::prelude::*;
use cuda_std::scope::Device;
use cuda_std::vector::F32x2;
use cuda_std::{MatrixView, PerRow, PerThread2d};

/// Returns the magnitude of a gradient.
#[inline(always)]
pub fn magnitude(gx: i32, gy: i32) -> u8 {
    ((gx * gx + gy * gy) as f32).sqrt().min(255.0) as u8
}

/// The magnitude of Sobel's gradient. Pixels at the edge are black.
#[kernel(block_size(16, 16))]
pub fn sobel_safe(from: &[u8], mut to: PerThread2d<u8>) {
    let (width, height) = (to.width(), to.height());
    to.each(|(x, y), to| {
        *to = if x == 0 || y == 0 || x + 1 == width || y + 1 == height {
            0
        } else {
            let pixel = |x: usize, y: usize| i32::from(from[y * width + x]);
            let column = |x: usize| pixel(x, y - 1) + 2 * pixel(x, y) + pixel(x, y + 1);
            let row = |y: usize| pixel(x - 1, y) + 2 * pixel(x, y) + pixel(x + 1, y);
            magnitude(column(x + 1) - column(x - 1), row(y + 1) - row(y - 1))
        };
    });
}

/// The magnitude of Sobel's gradient. Pixels at the edge are black.
#[kernel(block_size(16, 16))]
pub unsafe fn sobel_raw(from: *const u8, to: *mut u8, width: usize, height: usize) {
    let at = thread::index_2d();
    let (x, y) = (at.x as usize, at.y as usize);
    if x >= width || y >= height {
        return;
    }
    let mut result = 0;
    if x > 0 && y > 0 && x + 1 < width && y + 1 < height {
        let pixel = |x: usize, y: usize| i32::from(*from.add(y * width + x));
        let column = |x: usize| pixel(x, y - 1) + 2 * pixel(x, y) + pixel(x, y + 1);
        let row = |y: usize| pixel(x - 1, y) + 2 * pixel(x, y) + pixel(x + 1, y);
        result = magnitude(column(x + 1) - column(x - 1), row(y + 1) - row(y - 1));
    }
    *to.add(y * width + x) = result;
}

/// The means of the `2 * radius + 1` elements around each element of a row. A thread has a row, and
/// keeps the sum of these elements. Pixels of the edge are repeated. Rows have more than
/// `2 * radius` elements.
#[kernel(block_size(128))]
pub fn box_rows_safe(from: &[f32], radius: usize, mut to: PerRow<f32>) {
    let width = to.width();
    let scale = 1.0 / (2 * radius + 1) as f32;
    to.each(|y, to| {
        let from = &from[y * width..][..width];
        let (first, last) = (from[0], from[width - 1]);
        let mut sum = first * radius as f32 + from[..=radius].iter().sum::<f32>();
        to[0] = sum * scale;
        for (to, entering) in to[1..=radius].iter_mut().zip(&from[radius + 1..]) {
            sum += entering - first;
            *to = sum * scale;
        }
        let middle = to[radius + 1..width - radius].iter_mut();
        for (to, (entering, leaving)) in middle.zip(from[2 * radius + 1..].iter().zip(from)) {
            sum += entering - leaving;
            *to = sum * scale;
        }
        let end = to[width - radius..].iter_mut();
        for (to, leaving) in end.zip(&from[width - 2 * radius - 1..]) {
            sum += last - leaving;
            *to = sum * scale;
        }
    });
}

/// The means of the elements around each element of a row: see [`box_rows_safe()`].
#[kernel(block_size(128))]
pub unsafe fn box_rows_raw(
    from: *const f32,
    radius: usize,
    to: *mut f32,
    width: usize,
    height: usize,
) {
    let y = thread::index_1d() as usize;
    if y >= height {
        return;
    }
    let (from, to) = (from.add(y * width), to.add(y * width));
    let scale = 1.0 / (2 * radius + 1) as f32;
    let (first, last) = (*from, *from.add(width - 1));
    let mut sum = first * radius as f32;
    for x in 0..=radius {
        sum += *from.add(x);
    }
    *to = sum * scale;
    for x in 1..=radius {
        sum += *from.add(x + radius) - first;
        *to.add(x) = sum * scale;
    }
    for x in radius + 1..width - radius {
        sum += *from.add(x + radius) - *from.add(x - radius - 1);
        *to.add(x) = sum * scale;
    }
    for x in width - radius..width {
        sum += last - *from.add(x - radius - 1);
        *to.add(x) = sum * scale;
    }
}

/// Returns a color as red, green and blue, from its luma and chroma (BT.601, limited range).
#[inline(always)]
pub fn rgb(y: u8, u: u8, v: u8) -> [u8; 3] {
    let c = 298 * (i32::from(y) - 16) + 128;
    let (d, e) = (i32::from(u) - 128, i32::from(v) - 128);
    let byte = |x: i32| (x >> 8).clamp(0, 255) as u8;
    [
        byte(c + 409 * e),
        byte(c - 100 * d - 208 * e),
        byte(c + 516 * d),
    ]
}

/// Converts planes of luma and chroma (YUV 4:2:0) to colors: four pixels share their chroma.
#[kernel(block_size(32, 8))]
pub fn yuv_to_rgb_safe(luma: &[u8], u: &[u8], v: &[u8], mut to: PerThread2d<[u8; 3]>) {
    let width = to.width();
    to.each(|(x, y), to| {
        let chroma = y / 2 * (width / 2) + x / 2;
        *to = rgb(luma[y * width + x], u[chroma], v[chroma]);
    });
}

/// Converts planes of luma and chroma (YUV 4:2:0) to colors: four pixels share their chroma.
#[kernel(block_size(32, 8))]
pub unsafe fn yuv_to_rgb_raw(
    luma: *const u8,
    u: *const u8,
    v: *const u8,
    to: *mut [u8; 3],
    width: usize,
    height: usize,
) {
    let at = thread::index_2d();
    let (x, y) = (at.x as usize, at.y as usize);
    if x >= width || y >= height {
        return;
    }
    let chroma = y / 2 * (width / 2) + x / 2;
    *to.add(y * width + x) = rgb(*luma.add(y * width + x), *u.add(chroma), *v.add(chroma));
}

/// Returns the weights of four pixels for a position between the second and the third one, by
/// cubic convolution.
#[inline(always)]
pub fn cubic(t: f32) -> [f32; 4] {
    const A: f32 = -0.75;
    let near = |x: f32| ((A + 2.0) * x - (A + 3.0)) * x * x + 1.0;
    let far = |x: f32| ((A * x - 5.0 * A) * x + 8.0 * A) * x - 4.0 * A;
    [far(t + 1.0), near(t), near(1.0 - t), far(2.0 - t)]
}

/// Returns the pixel before the place of pixel `i` of the result, and the distance from it.
#[inline(always)]
pub fn place(i: usize, scale: f32) -> (isize, f32) {
    let position = (i as f32 + 0.5) * scale - 0.5;
    let low = position.floor();
    (low as isize, position - low)
}

/// Returns the index of the nearest of `len` pixels.
#[inline(always)]
pub fn nearest(i: isize, len: usize) -> usize {
    i.clamp(0, len as isize - 1) as usize
}

/// Resizes an image with bicubic interpolation.
#[kernel(block_size(32, 8))]
pub fn resize_bicubic_safe(
    from: &[f32],
    width: usize,
    height: usize,
    scale_x: f32,
    scale_y: f32,
    mut to: PerThread2d<f32>,
) {
    to.each(|(x, y), to| {
        let (left, fx) = place(x, scale_x);
        let (up, fy) = place(y, scale_y);
        let (weights_x, weights_y) = (cubic(fx), cubic(fy));
        let mut sum = 0.0;
        for (dy, wy) in (-1..).zip(weights_y) {
            let row = &from[nearest(up + dy, height) * width..][..width];
            let mut along = 0.0;
            for (dx, wx) in (-1..).zip(weights_x) {
                along += wx * row[nearest(left + dx, width)];
            }
            sum += wy * along;
        }
        *to = sum;
    });
}

/// Resizes an image with bicubic interpolation.
#[kernel(block_size(32, 8))]
pub unsafe fn resize_bicubic_raw(
    from: *const f32,
    width: usize,
    height: usize,
    scale_x: f32,
    scale_y: f32,
    to: *mut f32,
    to_width: usize,
    to_height: usize,
) {
    let at = thread::index_2d();
    let (x, y) = (at.x as usize, at.y as usize);
    if x >= to_width || y >= to_height {
        return;
    }
    let (left, fx) = place(x, scale_x);
    let (up, fy) = place(y, scale_y);
    let (weights_x, weights_y) = (cubic(fx), cubic(fy));
    let mut sum = 0.0;
    for dy in 0..4 {
        let row = from.add(nearest(up + dy - 1, height) * width);
        let mut along = 0.0;
        for dx in 0..4 {
            along += weights_x[dx as usize] * *row.add(nearest(left + dx - 1, width));
        }
        sum += weights_y[dy as usize] * along;
    }
    *to.add(y * to_width + x) = sum;
}

/// Returns the weights of four control points of a cubic B-spline.
#[inline(always)]
pub fn spline(t: f32) -> [f32; 4] {
    let s = 1.0 - t;
    [
        s * s * s / 6.0,
        (3.0 * t - 6.0) * t * t / 6.0 + 2.0 / 3.0,
        (3.0 * s - 6.0) * s * s / 6.0 + 2.0 / 3.0,
        t * t * t / 6.0,
    ]
}

/// Returns the two pixels around a position in a row or column of `len` pixels, and the weight of
/// the second one.
#[inline(always)]
pub fn around(position: f32, len: usize) -> (usize, usize, f32) {
    let position = position.max(0.0).min((len - 1) as f32);
    let low = position as usize;
    (low, (low + 1).min(len - 1), position - low as f32)
}

/// Moves each pixel by a B-spline of control points, which are `spacing` pixels apart, and
/// interpolates between four pixels there.
#[kernel(block_size(32, 8))]
pub fn warp_spline_safe(
    from: &[f32],
    control: &[F32x2],
    columns: usize,
    spacing: usize,
    mut to: PerThread2d<f32>,
) {
    let (width, height) = (to.width(), to.height());
    to.each(|(x, y), to| {
        let weights_x = spline((x % spacing) as f32 / spacing as f32);
        let weights_y = spline((y % spacing) as f32 / spacing as f32);
        let (column, row) = (x / spacing, y / spacing);
        let (mut dx, mut dy) = (0.0, 0.0);
        for (j, wy) in weights_y.into_iter().enumerate() {
            let points = &control[(row + j) * columns + column..][..4];
            for (point, wx) in points.iter().zip(weights_x) {
                dx += wx * wy * point[0];
                dy += wx * wy * point[1];
            }
        }
        let (left, right, fx) = around(x as f32 + dx, width);
        let (up, down, fy) = around(y as f32 + dy, height);
        let [above, below] = [up, down].map(|y| {
            let row = &from[y * width..][..width];
            row[left] + (row[right] - row[left]) * fx
        });
        *to = above + (below - above) * fy;
    });
}

/// Moves each pixel by a B-spline of control points: see [`warp_spline_safe()`].
#[kernel(block_size(32, 8))]
pub unsafe fn warp_spline_raw(
    from: *const f32,
    control: *const F32x2,
    columns: usize,
    spacing: usize,
    to: *mut f32,
    width: usize,
    height: usize,
) {
    let at = thread::index_2d();
    let (x, y) = (at.x as usize, at.y as usize);
    if x >= width || y >= height {
        return;
    }
    let weights_x = spline((x % spacing) as f32 / spacing as f32);
    let weights_y = spline((y % spacing) as f32 / spacing as f32);
    let control = control.add(y / spacing * columns + x / spacing);
    let (mut dx, mut dy) = (0.0, 0.0);
    for j in 0..4 {
        for i in 0..4 {
            let point = *control.add(j * columns + i);
            dx += weights_x[i] * weights_y[j] * point[0];
            dy += weights_x[i] * weights_y[j] * point[1];
        }
    }
    let (left, right, fx) = around(x as f32 + dx, width);
    let (up, down, fy) = around(y as f32 + dy, height);
    let (above, below) = (from.add(up * width), from.add(down * width));
    let (a, b) = (*above.add(left), *above.add(right));
    let (c, d) = (*below.add(left), *below.add(right));
    let (above, below) = (a + (b - a) * fx, c + (d - c) * fx);
    *to.add(y * width + x) = above + (below - above) * fy;
}

/// The parent of a pixel that is the root of its tree.
pub const ROOT: u32 = u32::MAX;

/// Returns the root of a pixel's tree.
#[inline(always)]
fn root(parents: &[Atomic<u32, Device>], mut pixel: u32) -> u32 {
    loop {
        match parents[pixel as usize].load(Relaxed) {
            ROOT => return pixel,
            parent => pixel = parent,
        }
    }
}

/// Unites the trees of two pixels: the smaller root becomes the root of both.
#[inline(always)]
fn unite(parents: &[Atomic<u32, Device>], mut a: u32, mut b: u32) {
    loop {
        (a, b) = (root(parents, a), root(parents, b));
        if a == b {
            return;
        }
        let (low, high) = (a.min(b), a.max(b));
        let old = parents[high as usize].fetch_min(low, Relaxed);
        if old == ROOT {
            return;
        }
        (a, b) = (low, old);
    }
}

/// A step of connected-component labeling: unites each pixel that is not 0 with its left and its
/// upper neighbor. `parents` are [`ROOT`] before.
#[kernel(block_size(32, 8))]
pub fn unite_pixels_safe(
    image: &[u8],
    width: usize,
    height: usize,
    parents: &[Atomic<u32, Device>],
) {
    let at = thread::index_2d();
    let (x, y) = (at.x as usize, at.y as usize);
    let image = MatrixView::new(image, width, height);
    let is_set = |x, y| image.get(x, y).is_some_and(|pixel| pixel != 0);
    if is_set(x, y) {
        let pixel = (y * width + x) as u32;
        if is_set(x.wrapping_sub(1), y) {
            unite(parents, pixel, pixel - 1);
        }
        if is_set(x, y.wrapping_sub(1)) {
            unite(parents, pixel, pixel - width as u32);
        }
    }
}

/// Returns the root of a pixel's tree.
#[inline(always)]
unsafe fn root_raw(parents: *mut u32, mut pixel: u32) -> u32 {
    loop {
        let parent = Atomic::<u32, Device>::from_ptr(parents.add(pixel as usize)).load(Relaxed);
        if parent == ROOT {
            return pixel;
        }
        pixel = parent;
    }
}

/// Unites the trees of two pixels: the smaller root becomes the root of both.
#[inline(always)]
unsafe fn unite_raw(parents: *mut u32, mut a: u32, mut b: u32) {
    loop {
        (a, b) = (root_raw(parents, a), root_raw(parents, b));
        if a == b {
            return;
        }
        let (low, high) = (a.min(b), a.max(b));
        let parent = Atomic::<u32, Device>::from_ptr(parents.add(high as usize));
        let old = parent.fetch_min(low, Relaxed);
        if old == ROOT {
            return;
        }
        (a, b) = (low, old);
    }
}

/// A step of connected-component labeling: see [`unite_pixels_safe()`].
#[kernel(block_size(32, 8))]
pub unsafe fn unite_pixels_raw(image: *const u8, width: usize, height: usize, parents: *mut u32) {
    let at = thread::index_2d();
    let (x, y) = (at.x as usize, at.y as usize);
    if x >= width || y >= height {
        return;
    }
    let image = image.add(y * width + x);
    if *image != 0 {
        let pixel = (y * width + x) as u32;
        if x > 0 && *image.sub(1) != 0 {
            unite_raw(parents, pixel, pixel - 1);
        }
        if y > 0 && *image.sub(width) != 0 {
            unite_raw(parents, pixel, pixel - width as u32);
        }
    }
}
