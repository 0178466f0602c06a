//! Detection: pooled maxima, overlapping boxes, and the motion of blocks.

use cuda_std::prelude::*;
use cuda_std::shared::{Array, Shared};
use cuda_std::{AnyBits, PerThread2d, PerThread3d};
use cust_core::DeviceCopy;

/// The maximum of three by three elements with a step of two, and its index in the plane.
#[kernel(block_size(32, 8))]
pub fn max_pool_safe(
    from: &[f32],
    width: usize,
    height: usize,
    mut values: PerThread3d<f32>,
    mut indices: PerThread3d<u32>,
) {
    let planes = |plane: usize| &from[plane * height * width..][..height * width];
    for (((x, y, plane), value), (_, index)) in values.own().zip(indices.own()) {
        let plane = planes(plane);
        let (mut most, mut at) = (f32::NEG_INFINITY, 0);
        for row in (2 * y).saturating_sub(1)..(2 * y + 2).min(height) {
            for column in (2 * x).saturating_sub(1)..(2 * x + 2).min(width) {
                let i = row * width + column;
                if plane[i] > most {
                    (most, at) = (plane[i], i);
                }
            }
        }
        (*value, *index) = (most, at as u32);
    }
}

/// The maximum of three by three elements: see [`max_pool_safe()`].
#[kernel(block_size(32, 8))]
pub unsafe fn max_pool_raw(
    from: *const f32,
    width: usize,
    height: usize,
    values: *mut f32,
    indices: *mut u32,
    pooled_width: usize,
    pooled_height: usize,
) {
    let at = thread::index_3d();
    let (x, y, plane) = (at.x as usize, at.y as usize, at.z as usize);
    if x >= pooled_width || y >= pooled_height {
        return;
    }
    let from = from.add(plane * height * width);
    let (mut most, mut at) = (f32::NEG_INFINITY, 0);
    for row in (2 * y).saturating_sub(1)..(2 * y + 2).min(height) {
        for column in (2 * x).saturating_sub(1)..(2 * x + 2).min(width) {
            let i = row * width + column;
            let value = *from.add(i);
            if value > most {
                (most, at) = (value, i);
            }
        }
    }
    let to = (plane * pooled_height + y) * pooled_width + x;
    *values.add(to) = most;
    *indices.add(to) = at as u32;
}

/// The number of boxes of a group, which has one word of a mask.
pub const GROUP: usize = 64;

/// A box in an image.
#[derive(Clone, Copy, Debug, Default, PartialEq, DeviceCopy, AnyBits)]
#[repr(C, align(16))]
pub struct Rectangle {
    /// The left edge.
    pub left: f32,
    /// The upper edge.
    pub top: f32,
    /// The right edge.
    pub right: f32,
    /// The lower edge.
    pub bottom: f32,
}

impl Rectangle {
    /// Returns the area.
    #[inline(always)]
    pub fn area(&self) -> f32 {
        (self.right - self.left) * (self.bottom - self.top)
    }

    /// Returns the area of the intersection divided by that of the union.
    #[inline(always)]
    pub fn overlap(&self, other: &Rectangle) -> f32 {
        let width = self.right.min(other.right) - self.left.max(other.left);
        let height = self.bottom.min(other.bottom) - self.top.max(other.top);
        let common = width.max(0.0) * height.max(0.0);
        common / (self.area() + other.area() - common)
    }
}

/// Which of the later boxes overlap each box: masks for the suppression of all but the best boxes.
/// Boxes are sorted by their score. A row of `masks` has a word for each box, whose bits are the
/// boxes of a group.
#[kernel(block_size(64))]
pub fn nms_masks_safe(
    #[shared] mut others: Shared<Array<Rectangle, GROUP>>,
    boxes: &[Rectangle],
    threshold: f32,
    mut masks: PerThread2d<u64>,
) {
    let start = thread::block_idx_y() as usize * GROUP;
    others.own().each(|i, other| {
        *other = boxes.get(start + i).copied().unwrap_or_default();
    });
    others.read(|others| {
        if let Some(((i, _), mask)) = masks.first() {
            let own = &boxes[i];
            let count = (boxes.len() - start).min(GROUP);
            *mask = 0;
            for (j, other) in others.iter().enumerate().take(count) {
                if start + j > i && own.overlap(other) > threshold {
                    *mask |= 1 << j;
                }
            }
        }
    });
}

/// Which of the later boxes overlap each box: see [`nms_masks_safe()`].
#[kernel(block_size(64))]
pub unsafe fn nms_masks_raw(boxes: *const Rectangle, threshold: f32, masks: *mut u64, n: usize) {
    let others = shared_array![Rectangle; GROUP];
    let thread = thread::thread_idx_x() as usize;
    let group = thread::block_idx_y() as usize;
    let start = group * GROUP;
    let count = (n - start).min(GROUP);
    if thread < count {
        *others.add(thread) = *boxes.add(start + thread);
    }
    thread::sync_threads();
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let own = *boxes.add(i);
    let mut mask = 0u64;
    for j in 0..count {
        if start + j > i && own.overlap(&*others.add(j)) > threshold {
            mask |= 1 << j;
        }
    }
    *masks.add(group * n + i) = mask;
}

/// The number of columns and rows of a block of an image.
pub const BLOCK: usize = 8;
/// The largest distance that a block moves along each dimension.
pub const RANGE: usize = 4;

/// The motion of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, DeviceCopy)]
#[repr(C, align(4))]
pub struct Motion {
    /// The number of columns.
    pub x: i16,
    /// The number of rows.
    pub y: i16,
}

/// Returns the square of the difference of two pixels.
#[inline(always)]
fn square(a: u8, b: u8) -> u32 {
    let difference = i32::from(a) - i32::from(b);
    (difference * difference) as u32
}

/// The motion of each block from one image to the next one. The first image has [`RANGE`] more
/// pixels at each edge.
#[kernel(block_size(32, 4))]
pub fn block_match_safe(before: &[u8], after: &[u8], mut motions: PerThread2d<Motion>) {
    let width = motions.width() * BLOCK;
    let padded = width + 2 * RANGE;
    motions.each(|(x, y), motion| {
        let block = |row: usize| &after[(y * BLOCK + row) * width + x * BLOCK..][..BLOCK];
        let (mut least, mut best) = (u32::MAX, Motion::default());
        for dy in 0..=2 * RANGE {
            for dx in 0..=2 * RANGE {
                let other = |row: usize| {
                    &before[(y * BLOCK + row + dy) * padded + x * BLOCK + dx..][..BLOCK]
                };
                let squares = (0..BLOCK).map(|row| {
                    let pixels = block(row).iter().zip(other(row));
                    pixels.map(|(&a, &b)| square(a, b)).sum::<u32>()
                });
                let sum = squares.sum();
                if sum < least {
                    least = sum;
                    best = Motion {
                        x: RANGE as i16 - dx as i16,
                        y: RANGE as i16 - dy as i16,
                    };
                }
            }
        }
        *motion = best;
    });
}

/// The motion of each block: see [`block_match_safe()`].
#[kernel(block_size(32, 4))]
pub unsafe fn block_match_raw(
    before: *const u8,
    after: *const u8,
    motions: *mut Motion,
    columns: usize,
    rows: usize,
) {
    let at = thread::index_2d();
    let (x, y) = (at.x as usize, at.y as usize);
    if x >= columns || y >= rows {
        return;
    }
    let width = columns * BLOCK;
    let padded = width + 2 * RANGE;
    let block = after.add(y * BLOCK * width + x * BLOCK);
    let area = before.add(y * BLOCK * padded + x * BLOCK);
    let mut least = u32::MAX;
    let mut motion = Motion::default();
    for dy in 0..=2 * RANGE {
        for dx in 0..=2 * RANGE {
            let mut sum = 0;
            for row in 0..BLOCK {
                for column in 0..BLOCK {
                    let a = *block.add(row * width + column);
                    let b = *area.add((row + dy) * padded + column + dx);
                    sum += square(a, b);
                }
            }
            if sum < least {
                least = sum;
                motion = Motion {
                    x: RANGE as i16 - dx as i16,
                    y: RANGE as i16 - dy as i16,
                };
            }
        }
    }
    *motions.add(y * columns + x) = motion;
}
