//! Arguments whose types do not match the parameters.

use cuda_std::prelude::*;
use cust::prelude::*;

#[kernel]
pub fn scale(factor: f32, from: &[f32], mut to: PerThread<f32>) {
    for (i, to) in to.own() {
        *to = factor * from[i];
    }
}

fn launch(from: &DeviceBuffer<f64>, to: &mut DeviceBuffer<f32>) {
    let _ = scale::args(2.0, from, to);
}

fn scalar(from: &DeviceBuffer<f32>, to: &mut DeviceBuffer<f32>) {
    let _ = scale::args(2u32, from, to);
}

fn host(from: &[f32], to: &mut DeviceBuffer<f32>) {
    let _ = scale::args(2.0, from, to);
}

fn main() {}
