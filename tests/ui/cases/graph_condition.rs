//! A kernel that sets a condition of its graph: the function is of the device's runtime library, which
//! the host links.
//@ check-pass
#![no_std]

use cuda_std::graph::Condition;
use cuda_std::prelude::*;

#[kernel]
pub fn run(rounds: u32, more: Condition) {
    if thread::index_1d() == 0 {
        more.set(rounds);
    }
}
