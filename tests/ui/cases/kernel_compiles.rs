//! The kernel that the other cases vary: it compiles without diagnostics.
//@ check-pass
#![no_std]

use cuda_std::prelude::*;

#[kernel]
pub unsafe fn add(a: &[f32], b: &[f32], sum: *mut f32) {
    let i = thread::index_1d() as usize;
    if i < a.len() {
        unsafe { *sum.add(i) = a[i] + b[i] };
    }
}
