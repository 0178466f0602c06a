//! There is no standard library on a GPU, not even through `extern crate`.
#![no_std]

extern crate std; //~ ERROR can't find crate for `std`
//~| HELP `alloc`

use cuda_std::prelude::*;

#[kernel]
pub unsafe fn copy(from: &[f32], to: *mut f32) {
    unsafe { *to = from[0] };
}
