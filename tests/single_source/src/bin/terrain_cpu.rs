//! A height map of noise.
use noise::{NoiseFn, Perlin};
use rayon::prelude::*;

const SIZE: usize = 64;

fn height(noise: &impl NoiseFn<f64, 2>, i: usize) -> f64 {
    let (x, y) = ((i % SIZE) as f64 / 16.0, (i / SIZE) as f64 / 16.0);
    (0..4)
        .map(|octave| 2f64.powi(octave))
        .map(|f| noise.get([x * f, y * f]) / f)
        .sum()
}

fn main() {
    let noise = Perlin::new(3);
    let mut map = vec![0.0; SIZE * SIZE];
    map.par_iter_mut()
        .enumerate()
        .for_each(|(i, to)| *to = height(&noise, i));
    let sum: f64 = map.iter().sum();
    println!("{:.9} {sum:.9}", map[77]);
}
