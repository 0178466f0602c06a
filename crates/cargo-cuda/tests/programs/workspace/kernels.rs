//! Kernels under the strictest lints.
#![no_std]
#![deny(warnings, missing_docs, clippy::pedantic)]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::vec::Vec;
use cuda_std::prelude::*;
use cuda_std::shared::{Array, Shared};

/// Adds a value, after a detour.
#[kernel(block_size(32))]
pub fn add(value: u32, #[shared] block: Shared<Array<u32, 32>>, mut to: PerThread<u32>) {
    let zeros: Vec<u32> = block.share().view().iter().map(|_| 0).collect();
    to.each(|_, to| *to += value + zeros.iter().sum::<u32>());
}

/// Applies a function.
#[kernel]
pub fn map<T: Copy>(f: impl Fn(T) -> T + Copy, mut to: PerThread<T>) {
    to.each(|_, to| *to = f(*to));
}

/// Has an associated kernel.
pub struct Adder;

impl Adder {
    /// Adds ten times a value.
    #[kernel(associated)]
    pub fn add(value: u32, mut to: PerThread<u32>) {
        to.each(|_, to| *to += value * 10);
    }
}
