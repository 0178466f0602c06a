//! A buffer that the kernel writes, passed by shared reference.

use cuda_std::prelude::*;
use cust::prelude::*;

#[kernel]
pub fn scale(factor: f32, from: &[f32], mut to: PerThread<f32>) {
    for (i, to) in to.own() {
        *to = factor * from[i];
    }
}

fn shared(from: &DeviceBuffer<f32>, to: &DeviceBuffer<f32>) {
    let _ = scale::args(2.0, from, to);
}

fn main() {}
