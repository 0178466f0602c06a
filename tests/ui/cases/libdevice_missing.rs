//! Float math needs libdevice.
//@ toolkit: no-libdevice
#![no_std]

use cuda_std::prelude::*;

fn wave(x: f32) -> f32 {
    x.sin()
}

#[kernel]
pub fn run(x: *mut f32) {
    unsafe { *x = wave(*x) };
}
//~? ERROR libdevice
//~? HELP pip install
