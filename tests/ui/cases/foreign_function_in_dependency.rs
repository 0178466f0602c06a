//! A library that calls an undefined function, and the line that needs it.
//@ aux-build: calls_libc.rs
#![no_std]

extern crate calls_libc;

use cuda_std::prelude::*;

#[kernel]
pub fn run(x: *mut i32) {
    unsafe { *x = calls_libc::random(7) }; //~ NOTE the kernel `run` calls `random` here
}
//~? ERROR the foreign function `rand` does not exist on a GPU
