//! A foreign static that nobody defines.
#![no_std]

use cuda_std::prelude::*;

unsafe extern "C" {
    static errno: i32; //~ NOTE it is declared here
}

fn last() -> i32 {
    unsafe { errno } //~ ERROR the foreign static `errno` does not exist on a GPU
}

#[kernel]
pub fn run(x: *mut i32) {
    unsafe { *x = last() };
}
