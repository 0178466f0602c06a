//! Functions that no kernel reaches may call anything.
//@ check-pass
#![no_std]

use cuda_std::prelude::*;

unsafe extern "C" {
    fn getpid() -> i32;
}

pub fn host_only() -> i32 {
    unsafe { getpid() }
}

#[kernel]
pub fn run(x: *mut i32) {
    unsafe { *x = 1 };
}
