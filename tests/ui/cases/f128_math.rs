//! Functions of 128-bit floats that a GPU has no code for.
#![no_std]
#![feature(f128, core_intrinsics)]
#![allow(internal_features)]

use cuda_std::prelude::*;

fn wave(x: f128) -> f128 {
    core::intrinsics::sin(x) //~ ERROR `sin`
}

#[kernel]
pub fn run(x: *mut f128) {
    unsafe { *x = wave(*x) };
}
