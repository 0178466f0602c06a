//! One buffer as input and output of the same launch.

use cuda_std::prelude::*;
use cust::prelude::*;

#[kernel]
pub fn scale(factor: f32, from: &[f32], mut to: PerThread<f32>) {
    for (i, to) in to.own() {
        *to = factor * from[i];
    }
}

fn launch(mut buffer: DeviceBuffer<f32>) {
    let _ = scale::args(2.0, &buffer, &mut buffer);
}

fn main() {}
