//! The kernel of the example `vecadd`, compiled for the device.

#![no_std]

use cuda_std::prelude::*;

/// Adds two vectors: `c[i] = a[i] + b[i]`.
#[kernel]
pub fn vecadd(a: &[f32], b: &[f32], mut c: PerThread<f32>) {
    // Each thread has elements of `c` that no other thread has: one, if there are enough threads.
    for (i, c) in c.own() {
        *c = a[i] + b[i];
    }
}
