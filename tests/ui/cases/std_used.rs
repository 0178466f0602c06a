//! There is no standard library on a GPU.

use cuda_std::prelude::*;

#[kernel]
pub unsafe fn copy(from: &[f32], to: *mut f32) {
    let all = std::vec::Vec::from(from); //~ ERROR can't find crate for `std`
    unsafe { *to = all[0] };
}
//~? ERROR can't find crate for `std`
//~? ERROR cannot resolve a prelude import
//~? HELP `#![no_std]`
