//! Kernels of the chapter "Threads and blocks".

// ANCHOR: square
use cuda_std::prelude::*;

/// Squares each element.
#[kernel]
pub fn square(from: &[f32], mut to: PerThread<f32>) {
    for (i, to) in to.own() {
        *to = from[i] * from[i];
    }
}
// ANCHOR_END: square

// ANCHOR: square_raw
/// Squares each element, through a raw pointer.
///
/// # Safety
/// `to` points to at least `from.len()` elements that nothing else accesses.
#[kernel]
pub unsafe fn square_raw(from: &[f32], to: *mut f32) {
    let i = thread::index_1d() as usize;
    if i < from.len() {
        // SAFETY: `i` is in bounds, and no other thread has the same index.
        unsafe { *to.add(i) = from[i] * from[i] };
    }
}
// ANCHOR_END: square_raw

// ANCHOR: brighten
use cuda_std::PerThread2d;

/// Multiplies each pixel of a grayscale image by `factor`, up to 255.
#[kernel]
pub fn brighten(factor: f32, from: &[u8], mut to: PerThread2d<u8>) {
    let width = to.width();
    to.each(|(x, y), to| *to = (f32::from(from[y * width + x]) * factor).min(255.0) as u8);
}
// ANCHOR_END: brighten

// ANCHOR: scale
/// Multiplies each element by `factor`.
#[kernel]
pub fn scale(factor: f32, mut data: PerThread<f32>) {
    data.each(|_, x| *x *= factor);
}
// ANCHOR_END: scale
