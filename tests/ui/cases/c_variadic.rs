//! Rust functions with a variable number of arguments.
#![no_std]

use cuda_std::prelude::*;

unsafe extern "C" fn sum(n: u32, mut rest: ...) -> u32 { //~ ERROR a function with a variable number of arguments cannot be compiled for a GPU
    let mut sum = 0;
    for _ in 0..n {
        sum += unsafe { rest.next_arg::<u32>() };
    }
    sum
}

#[kernel]
pub fn run(x: *mut u32) {
    unsafe { *x = sum(2, 3u32, 4u32) };
}
