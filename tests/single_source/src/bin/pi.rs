//! Estimates π by Monte Carlo, with a stream of random numbers for each batch.
use cuda_std::prelude::*;
use rand::distr::{Distribution, Uniform};
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

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

#[kernel]
fn count(mut to: PerThread<u64>) {
    let range = Uniform::new(-1.0, 1.0).unwrap();
    to.each(|batch, to| *to = hits(batch as u64, range));
}

fn main() {
    cust::init_auto().unwrap();
    let mut counts = vec![0; BATCHES as usize];
    cust::launch((4, 64), count::args(&mut counts)).unwrap();
    let range = Uniform::new(-1.0, 1.0).unwrap();
    for (batch, &count) in counts.iter().enumerate() {
        assert_eq!(count, hits(batch as u64, range), "batch {batch}");
    }
    let hits: u64 = counts.iter().sum();
    println!(
        "pi is about {} ({hits} hits)",
        4.0 * hits as f64 / (BATCHES * BATCH) as f64
    );
}
