//! A generic kernel without an instance is not compiled, as a generic function is not, and causes
//! no diagnostic.
//@ check-pass
//@ no-snapshot

use cuda_std::prelude::*;

#[kernel]
pub fn never<T: Copy>(value: T, mut to: PerThread<T>) {
    std::fs::remove_file("x").unwrap();
    to.each(|_, to| *to = value);
}

fn main() {}
