//! A constant of generic code that fails for the arguments that a kernel gives.
#![no_std]

use cuda_std::prelude::*;

fn chunks<const N: usize>(x: u32) -> u32 {
    const { assert!(N > 0, "chunks need a length") }; //~ ERROR chunks need a length
    x / N as u32
}

fn half(x: u32) -> u32 {
    chunks::<2>(x)
}

fn broken(x: u32) -> u32 {
    chunks::<0>(x) //~ NOTE the above error was encountered while compiling `chunks::<0>`
}

#[kernel]
pub fn run(x: *mut u32) {
    unsafe { *x = half(*x) + broken(*x) }; //~ NOTE the kernel `run` calls `broken` here
}
