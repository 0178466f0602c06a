//! As `reports.rs`, with a message that is formatted.
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
        assert!(n < 9, "too large: {n}");
        *to = recursive(n, from) + from[i];
    }
}
