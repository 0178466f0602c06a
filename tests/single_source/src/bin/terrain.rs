//! A height map of noise.
use cuda_std::prelude::*;
use cust::memory::DeviceCopy;
use noise::{NoiseFn, Perlin};

const SIZE: usize = 64;

fn height(noise: &impl NoiseFn<f64, 2>, i: usize) -> f64 {
    let (x, y) = ((i % SIZE) as f64 / 16.0, (i / SIZE) as f64 / 16.0);
    (0..4)
        .map(|octave| 2f64.powi(octave))
        .map(|f| noise.get([x * f, y * f]) / f)
        .sum()
}

#[derive(Clone, Copy)]
struct Noise(Perlin);
// SAFETY: a table of numbers.
unsafe impl DeviceCopy for Noise {}

#[kernel]
fn heights(noise: &Noise, mut to: PerThread<f64>) {
    to.each(|i, to| *to = height(&noise.0, i));
}

fn main() {
    cust::init_auto().unwrap();
    let noise = Noise(Perlin::new(3));
    let mut map = vec![0.0; SIZE * SIZE];
    cust::launch((16, 256), heights::args(&noise, &mut map)).unwrap();
    for (i, &of_device) in map.iter().enumerate() {
        let of_cpu = height(&noise.0, i);
        assert!(
            (of_device - of_cpu).abs() < 1e-12,
            "{i}: {of_device}, {of_cpu}"
        );
    }
    let sum: f64 = map.iter().sum();
    println!("{:.9} {sum:.9}", map[77]);
}
