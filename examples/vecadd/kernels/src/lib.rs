//! The kernel of the example vecadd: what runs on the device, once for each element.

#![no_std]

use cuda_std::prelude::*;

/// Adds two vectors: `c[i] = a[i] + b[i]`.
///
/// # Safety
/// `c` points to at least as many writable floats as `a` has.
#[kernel]
pub unsafe fn vecadd(a: &[f32], b: &[f32], c: *mut f32) {
    let i = thread::index_1d() as usize;
    // The last block may have more threads than there are elements left.
    if i < a.len() {
        unsafe { *c.add(i) = a[i] + b[i] };
    }
}
