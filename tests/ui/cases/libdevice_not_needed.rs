//! A program without float math does without libdevice.
//@ toolkit: no-libdevice
//@ check-pass
#![no_std]

use cuda_std::prelude::*;

#[kernel]
pub fn run(x: *mut f32) {
    unsafe { *x += 1.0 };
}
