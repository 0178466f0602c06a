//! LLVM optimizes kernels for size, too: without it, there would be a warning.
//@ compile-flags: -Copt-level=s
//@ check-pass
#![no_std]

use cuda_std::prelude::*;

#[kernel]
pub fn scale(factor: f32, mut to: PerThread<f32>) {
    to.each(|_, to| *to *= factor);
}
