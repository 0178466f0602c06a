//! A foreign function that nobody defines, three calls deep.
#![no_std]

use cuda_std::prelude::*;

unsafe extern "C" {
    fn getpid() -> i32; //~ NOTE it is declared here
}

fn outer(x: i32) -> i32 {
    middle(x) + 1 //~ NOTE `outer` calls `middle` here
}

fn middle(x: i32) -> i32 {
    inner(x) * 2 //~ NOTE `middle` calls `inner` here
}

#[inline(never)]
fn inner(x: i32) -> i32 {
    x + unsafe { getpid() } //~ ERROR the foreign function `getpid` does not exist on a GPU
}

#[kernel]
pub fn run(x: *mut i32) {
    unsafe { *x = outer(*x) }; //~ NOTE the kernel `run` calls `outer` here
}
