//! Kernels of the chapter "Debugging".

// ANCHOR: gather
use cuda_std::prelude::*;

/// Copies the elements at the given indices.
#[kernel]
pub fn gather(from: &[f32], indices: &[u32], mut to: PerThread<f32>) {
    for (i, to) in to.own() {
        *to = from[indices[i] as usize];
    }
}
// ANCHOR_END: gather

// ANCHOR: print
/// Prints the elements that are not finite.
#[kernel]
pub fn report(data: &[f32]) {
    for (i, x) in thread::elements(data) {
        if !x.is_finite() {
            println!("element {i} is {x}");
        }
    }
}
// ANCHOR_END: print

// ANCHOR: write_past
/// Writes to an element that a wrong caller chooses.
///
/// # Safety
/// `to.add(i)` is in bounds.
#[kernel]
pub unsafe fn write_at(to: *mut u32, i: usize) {
    // SAFETY: the caller's responsibility.
    unsafe { *to.add(i) = 1 };
}
// ANCHOR_END: write_past
