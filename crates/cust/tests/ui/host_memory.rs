//! Host memory that cannot be copied to a device, or back.

use cuda_std::prelude::*;

#[kernel]
pub fn read(_from: &[String]) {}

#[kernel]
pub fn scale(factor: f32, from: &[f32], mut to: PerThread<f32>) {
    for (i, to) in to.own() {
        *to = factor * from[i];
    }
}

fn strings(strings: &Vec<String>, to: &mut Vec<f32>) {
    let _ = read::args(strings);
    let _ = scale::args(1.0, strings, to);
}

fn not_mutable(from: &[f32], to: &[f32]) {
    let _ = scale::args(1.0, from, to);
}

fn element(from: &[f64], to: &mut [f32]) {
    let _ = scale::args(1.0, from, to);
}

fn aliased(mut values: Vec<f32>) {
    let _ = scale::args(1.0, &values, &mut values);
}

fn escapes() -> impl Sized {
    let mut values = vec![1.0f32];
    scale::args(1.0, &[2.0], &mut values)
}

fn main() {}
