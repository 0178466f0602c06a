//! Mistakes that only codegen finds: each is an error at the user's line.
//@ no-snapshot

use cuda_std::prelude::*;

#[kernel]
pub fn keeps(to: PerThread<'static, u32>) { //~ ERROR a kernel's parameter cannot hold a `'static` reference
    Box::leak(Box::new(to)).each(|_, to| *to = 3);
}

type Kept = PerThread<'static, u32>;

#[kernel]
pub fn keeps_another(to: Kept) { //~ ERROR a kernel's parameter cannot hold a `'static` reference
    Box::leak(Box::new(to)).each(|_, to| *to = 3);
}

fn main() {}
