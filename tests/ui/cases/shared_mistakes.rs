//! Mistakes with `#[shared]` parameters and the options of `#[kernel]`.
#![no_std]
use cuda_std::prelude::*;
use cuda_std::shared::{Array, Shared};

#[kernel]
pub fn once(#[shared] mut a: Shared<Array<u32, 32>>) {
    let shared = a.share();
    a.own().each(|_, x| *x = shared[0]); //~ ERROR borrow of moved value
}

#[kernel(block_size(64, 32))] //~ ERROR a block can have at most 1024 threads
pub fn too_large() {}

#[kernel(max_registers(64))] //~ ERROR expected `max_registers = N`
pub fn wrong_form() {}
