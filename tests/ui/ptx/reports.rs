//! Functions that panic without formatting a message; `tests/ptx.rs` has which parts of the report
//! their module contains.
//@ check-pass
#![no_std]

use cuda_std::prelude::*;

fn recursive(n: u32, from: &[u32]) -> u32 {
    match n {
        0 => from[7],
        _ => recursive(n - 1, from) * 3 + recursive(n / 2, from),
    }
}

#[kernel]
pub fn indices(n: u32, from: &[u32], mut to: PerThread<u32>) {
    for (i, to) in to.own() {
        *to = recursive(n, from) + from[i];
    }
}
