//! Every thread would drop a value that is not `Copy`.
#![no_std]

extern crate alloc;

use alloc::string::String;
use alloc::vec::Vec;
use cuda_std::prelude::*;

#[kernel]
pub fn vector(x: Vec<f32>) { //~ ERROR `Vec<f32>`
    let _ = x;
}

#[kernel]
pub fn string(n: u32, x: String) { //~ ERROR `String`
    let _ = (n, x);
}

struct Pair(u32, u32);

#[kernel]
pub fn pair(x: Pair) { //~ ERROR `Pair`
    let _ = x.0 + x.1;
}
