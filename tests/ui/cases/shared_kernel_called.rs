//! A call of a kernel with shared memory: device code cannot create the handle that it takes.
#![no_std]
use cuda_std::prelude::*;
use cuda_std::shared::{Array, Shared};

#[kernel]
pub fn called(#[shared] _a: Shared<Array<u32, 32>>) {}

#[kernel]
pub fn calls() {
    called(); //~ ERROR this function takes 1 argument but 0 arguments were supplied
}

#[kernel]
pub fn itself(#[shared] a: Shared<Array<u32, 32>>) {
    itself(); //~ ERROR this function takes 1 argument but 0 arguments were supplied
    called(a);
}

#[kernel]
pub fn twice(#[shared] a: Shared<Array<u32, 32>>) {
    called(a);
    called(a); //~ ERROR use of moved value
}
