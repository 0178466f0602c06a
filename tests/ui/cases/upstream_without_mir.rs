//! A library that was compiled without its code.
//@ aux-build: without_mir.rs
#![no_std]

extern crate without_mir;

use cuda_std::prelude::*;

fn twice(x: u32) -> u32 {
    without_mir::double(x) //~ ERROR missing MIR for `double` in the crate `without_mir`
    //~^ HELP -Zalways-encode-mir
}

#[kernel]
pub fn run(x: *mut u32) {
    unsafe { *x = twice(*x) };
}
