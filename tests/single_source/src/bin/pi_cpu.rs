//! Estimates π by Monte Carlo, with a stream of random numbers for each batch.
use rand::distr::{Distribution, Uniform};
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
use rayon::prelude::*;

const SEED: u64 = 7;
const BATCHES: u64 = 256;
const BATCH: u64 = 400;

fn hits(batch: u64, range: Uniform<f64>) -> u64 {
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    rng.set_stream(batch);
    let mut hits = 0;
    for _ in 0..BATCH {
        let (x, y) = (range.sample(&mut rng), range.sample(&mut rng));
        if x * x + y * y <= 1.0 {
            hits += 1;
        }
    }
    hits
}

fn main() {
    let range = Uniform::new(-1.0, 1.0).unwrap();
    let hits: u64 = (0..BATCHES)
        .into_par_iter()
        .map(|batch| hits(batch, range))
        .sum();
    println!(
        "pi is about {} ({hits} hits)",
        4.0 * hits as f64 / (BATCHES * BATCH) as f64
    );
}
