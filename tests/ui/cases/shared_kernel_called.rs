//! A kernel with shared memory cannot be called: it would be there twice.
#![no_std]
use cuda_std::prelude::*;
use cuda_std::shared::{Array, Shared};

#[kernel]
pub fn called(#[shared] _a: Shared<Array<u32, 32>>) {}

#[kernel]
pub fn calls() {
    called(); //~ ERROR cannot find function `called`
}
