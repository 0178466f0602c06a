//! What only code generation finds: each is an error at the user's line.

use cuda_std::prelude::*;

#[kernel]
pub fn keeps(to: PerThread<'static, u32>) {
    Box::leak(Box::new(to)).each(|_, to| *to = 3);
}

type Kept = PerThread<'static, u32>;

#[kernel]
pub fn keeps_another(to: Kept) {
    Box::leak(Box::new(to)).each(|_, to| *to = 3);
}

/// Never launched, so never compiled: no error.
#[kernel]
pub fn unused<T: Copy>(value: T, mut to: PerThread<T>) {
    std::fs::remove_file("x").unwrap();
    to.each(|_, to| *to = value);
}

fn main() {}
