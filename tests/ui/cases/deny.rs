//! Costs that a kernel's attribute denies are errors; another kernel has none of them.
//@ compile-flags: -Copt-level=3
#![no_std]

use cuda_std::prelude::*;

#[kernel(deny(checks_in_loops))]
pub fn gather(from: &[f32], indices: &[u32], mut to: PerThread<f32>) { //~ ERROR the kernel has checks in its loops
    to.each(|_, x| {
        for &i in indices {
            *x += from[i as usize];
        }
    });
}

#[kernel(deny(local_memory))]
pub fn histogram(from: &[u8], mut to: PerThread<u32>) { //~ ERROR the kernel has arrays in local memory
    let mut counts = [0; 16];
    for &x in from {
        counts[usize::from(x % 16)] += 1;
    }
    to.each(|i, x| *x = counts[i % 16]);
}

#[kernel(deny(checks_in_loops, local_memory, spills))]
pub fn scale(factor: f32, mut to: PerThread<f32>) {
    to.each(|_, x| *x *= factor);
}
