//! Kernels of the chapter "Making it fast".

// ANCHOR: checked
use cuda_std::prelude::*;

/// `y = A x`, a thread for each row: two bounds checks in the inner loop.
#[kernel]
pub fn matvec_indexed(a: &[f32], x: &[f32], mut y: PerThread<f32>) {
    let n = x.len();
    for (row, y) in y.own() {
        let mut sum = 0.0;
        for k in 0..n {
            sum += a[row * n + k] * x[k];
        }
        *y = sum;
    }
}
// ANCHOR_END: checked

// ANCHOR: sliced
/// `y = A x`: one check for each row, none in the inner loop.
#[kernel]
pub fn matvec_sliced(a: &[f32], x: &[f32], mut y: PerThread<f32>) {
    let n = x.len();
    for (row, y) in y.own() {
        let row = &a[row * n..][..n];
        *y = row.iter().zip(x).map(|(a, x)| a * x).sum();
    }
}
// ANCHOR_END: sliced

// ANCHOR: unchecked
/// `y = A x`, without checks.
///
/// # Safety
/// `a` has `x.len()` elements for each element of `y`.
#[kernel]
pub unsafe fn matvec_unchecked(a: &[f32], x: &[f32], mut y: PerThread<f32>) {
    let n = x.len();
    for (row, y) in y.own() {
        let mut sum = 0.0;
        for k in 0..n {
            // SAFETY: the caller's responsibility.
            unsafe { sum += a.get_unchecked(row * n + k) * x.get_unchecked(k) };
        }
        *y = sum;
    }
}
// ANCHOR_END: unchecked

// ANCHOR: bounds
/// `y = A x`, compiled for blocks of exactly 256 threads, of which four fit a multiprocessor: each
/// thread gets at most 64 registers.
#[kernel(block_size(256), min_blocks = 4)]
pub fn matvec_bounded(a: &[f32], x: &[f32], mut y: PerThread<f32>) {
    let n = x.len();
    for (row, y) in y.own() {
        let row = &a[row * n..][..n];
        *y = row.iter().zip(x).map(|(a, x)| a * x).sum();
    }
}
// ANCHOR_END: bounds

// ANCHOR: vector
use cuda_std::vector::F32x4;

/// Multiplies each element by `factor`, four at a time.
#[kernel]
pub fn scale4(factor: f32, mut data: PerThread<F32x4>) {
    data.each(|_, x| *x *= factor);
}
// ANCHOR_END: vector
