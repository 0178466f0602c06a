//! A kernel's value would have no receiver.
#![no_std]

use cuda_std::prelude::*;

#[kernel]
pub fn sum(values: &[f32]) -> f32 { //~ ERROR a kernel cannot return a value
    values.iter().sum()
}
