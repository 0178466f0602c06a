//! Filters: the median of bytes, and a wavelet transform.

use cuda_std::prelude::*;
use cuda_std::shared::{Array, Shared};
use cuda_std::{PerBlock, PerThread2d};

/// Returns the median of nine pixels, by a network of 19 comparisons.
#[inline(always)]
pub fn median(mut pixels: [u8; 9]) -> u8 {
    let p = &mut pixels;
    let mut sort = |i: usize, j: usize| (p[i], p[j]) = (p[i].min(p[j]), p[i].max(p[j]));
    for (i, j) in [(1, 2), (4, 5), (7, 8), (0, 1), (3, 4), (6, 7)] {
        sort(i, j);
    }
    for (i, j) in [(1, 2), (4, 5), (7, 8), (0, 3), (5, 8), (4, 7)] {
        sort(i, j);
    }
    for (i, j) in [(3, 6), (1, 4), (2, 5), (4, 7), (4, 2), (6, 4), (4, 2)] {
        sort(i, j);
    }
    pixels[4]
}

/// The median of each pixel and its eight neighbors. Pixels of the edge are repeated.
#[kernel(block_size(32, 8))]
pub fn median3x3_safe(from: &[u8], mut to: PerThread2d<u8>) {
    let (width, height) = (to.width(), to.height());
    to.each(|(x, y), to| {
        let columns = [x.saturating_sub(1), x, (x + 1).min(width - 1)];
        let rows = [y.saturating_sub(1), y, (y + 1).min(height - 1)];
        let pixel = |i: usize| from[rows[i / 3] * width + columns[i % 3]];
        *to = median(core::array::from_fn(pixel));
    });
}

/// The median of each pixel and its eight neighbors. Pixels of the edge are repeated.
#[kernel(block_size(32, 8))]
pub unsafe fn median3x3_raw(from: *const u8, to: *mut u8, width: i32, height: i32) {
    let at = thread::index_2d();
    let (x, y) = (at.x as i32, at.y as i32);
    if x >= width || y >= height {
        return;
    }
    let mut pixels = [0; 9];
    for dy in 0..3 {
        let row = (y + dy - 1).max(0).min(height - 1) as usize;
        for dx in 0..3 {
            let column = (x + dx - 1).max(0).min(width - 1) as usize;
            pixels[(dy * 3 + dx) as usize] = *from.add(row * width as usize + column);
        }
    }
    *to.add(y as usize * width as usize + x as usize) = median(pixels);
}

/// The number of samples per row of the wavelet transform.
pub const ROW: usize = 1024;
/// The number of coefficients of each half.
pub const HALF: usize = ROW / 2;

/// Returns the difference of a sample with an odd index and the average of its neighbors.
#[inline(always)]
pub fn predict(left: i16, sample: i16, right: i16) -> i16 {
    (i32::from(sample) - ((i32::from(left) + i32::from(right)) >> 1)) as i16
}

/// Returns the average of a sample with an even index, from the differences around it.
#[inline(always)]
pub fn update(left: i16, sample: i16, right: i16) -> i16 {
    (i32::from(sample) + ((i32::from(left) + i32::from(right) + 2) >> 2)) as i16
}

/// A step of the reversible 5/3 wavelet transform of JPEG 2000 along rows, one row per block: the
/// averages, then the differences. Rows continue symmetrically at their ends.
#[kernel(block_size(256))]
pub fn wavelet53_safe(
    #[shared] mut samples: Shared<Array<i16, ROW>>,
    #[shared] mut differences: Shared<Array<i16, HALF>>,
    from: &[i16],
    mut to: PerBlock<i16, ROW>,
) {
    for mut row in to.pieces() {
        let start = row.start();
        samples.own().each(|i, sample| *sample = from[start + i]);
        samples.read(|samples| {
            differences.own().each(|i, difference| {
                let left = samples[2 * i];
                let right = samples.get(2 * i + 2).copied().unwrap_or(left);
                *difference = predict(left, samples[2 * i + 1], right);
            });
            differences.read(|differences| {
                row.each(|i, to| {
                    let i = i - start;
                    *to = if i < HALF {
                        let left = differences[i.saturating_sub(1)];
                        update(left, samples[2 * i], differences[i])
                    } else {
                        differences[i - HALF]
                    };
                });
            });
        });
    }
}

/// A step of the reversible 5/3 wavelet transform along rows: see [`wavelet53_safe()`].
#[kernel(block_size(256))]
pub unsafe fn wavelet53_raw(from: *const i16, to: *mut i16) {
    let samples = shared_array![i16; ROW];
    let differences = shared_array![i16; HALF];
    let thread = thread::thread_idx_x() as usize;
    let start = thread::block_idx_x() as usize * ROW;
    for i in (thread..ROW).step_by(256) {
        *samples.add(i) = *from.add(start + i);
    }
    thread::sync_threads();
    for i in (thread..HALF).step_by(256) {
        let left = *samples.add(2 * i);
        let right = if i + 1 < HALF {
            *samples.add(2 * i + 2)
        } else {
            left
        };
        *differences.add(i) = predict(left, *samples.add(2 * i + 1), right);
    }
    thread::sync_threads();
    for i in (thread..HALF).step_by(256) {
        let left = *differences.add(if i > 0 { i - 1 } else { 0 });
        let right = *differences.add(i);
        *to.add(start + i) = update(left, *samples.add(2 * i), right);
        *to.add(start + HALF + i) = right;
    }
}
