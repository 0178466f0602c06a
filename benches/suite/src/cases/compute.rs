//! Compute-bound kernels.

use super::Scale;
use crate::case::{Args, Buffer, Case, close, download, samples, uniform, upload, zeroed};
use bench_kernels::compute::{SEGMENT, escape, prices};
use cust::error::CudaResult;

pub fn mandelbrot(scale: Scale) -> CudaResult<Case> {
    let size = scale.pick(50, 8192);
    let pixel = 3.0 / size as f64;
    let to: Buffer<u32> = zeroed(size * size)?;
    let blocks = size.div_ceil(16);
    let place = move |i: usize| {
        let (x, y) = (i % size, i / size);
        (x as f64 * pixel - 2.0, y as f64 * pixel - 1.5)
    };
    // The mean over a coarse grid.
    let coarse = (0..size * size).step_by((size * size / 100_000) | 1);
    let count = coarse.clone().count() as f64;
    let steps: f64 = coarse
        .map(|i| {
            let (x, y) = place(i);
            f64::from(escape(x, y))
        })
        .sum();
    let start = Args::new().value(pixel);
    Ok(Case::new("mandelbrot", (blocks, blocks), (16, 16))
        .args(
            start
                .clone()
                .pointer(&to)
                .value(size as i32)
                .value(size as i32),
            start.clone().pointer(&to).value(size).value(size),
            start.rows(&to, size),
        )
        .output(&to)
        .bytes(4 * size * size)
        // Seven instructions per step, each of which could be a multiply-add.
        .f64_operations(14.0 * steps / count * (size * size) as f64)
        .check(move || {
            let results = download(&to)?;
            // Multiply-adds round once: points on the set's edge escape sooner or later.
            let (mut different, mut count) = (0, 0);
            for i in samples(results.len()) {
                let (x, y) = place(i);
                different += u32::from(escape(x, y) != results[i]);
                count += 1;
            }
            match 50 * different <= count {
                true => Ok(()),
                false => Err(format!("{different} of {count} points differ")),
            }
        }))
}

pub fn black_scholes(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(1000, 1 << 25);
    let numbers = |seed: u64, low: f64, high: f64| -> Vec<f32> {
        (0..n as u64)
            .map(|i| (low + (high - low) * uniform(i ^ (seed << 40))) as f32)
            .collect()
    };
    let (price, strike) = (numbers(1, 5.0, 30.0), numbers(2, 1.0, 100.0));
    let years = numbers(3, 0.25, 10.0);
    let [from_price, from_strike, from_years] =
        [upload(&price)?, upload(&strike)?, upload(&years)?];
    let (call, put): (Buffer<f32>, Buffer<f32>) = (zeroed(n)?, zeroed(n)?);
    let pointers = Args::new()
        .pointer(&from_price)
        .pointer(&from_strike)
        .pointer(&from_years)
        .pointer(&call)
        .pointer(&put);
    Ok(Case::new("black_scholes", n.div_ceil(128), 128)
        .args(
            pointers.clone().value(n as i32),
            pointers.value(n),
            Args::new()
                .slice(&from_price)
                .slice(&from_strike)
                .slice(&from_years)
                .output(&call)
                .output(&put),
        )
        .input(&from_price)
        .input(&from_strike)
        .input(&from_years)
        .output(&call)
        .output(&put)
        .bytes(20 * n)
        .check(move || {
            let expected = |i: usize| prices(price[i], strike[i], years[i]);
            close(&call, 1e-4, 1e-4, |i| f64::from(expected(i).0))?;
            close(&put, 1e-4, 1e-4, |i| f64::from(expected(i).1))
        }))
}

pub fn prime_sieve(scale: Scale) -> CudaResult<Case> {
    let segments = scale.pick(2, 1 << 13);
    let root = ((2 * SEGMENT * segments) as f64).sqrt() as usize;
    let mut composite = vec![false; root + 1];
    let mut primes = Vec::new();
    for i in (3..=root).step_by(2) {
        if !composite[i] {
            primes.push(i as u32);
            (i * i..=root)
                .step_by(i)
                .for_each(|multiple| composite[multiple] = true);
        }
    }
    let from = upload(&primes)?;
    let to: Buffer<u32> = zeroed(segments)?;
    let count = primes.len();
    Ok(Case::new("prime_sieve", segments, 256)
        .args(
            Args::new().pointer(&from).value(count as i32).pointer(&to),
            Args::new().pointer(&from).value(count).pointer(&to),
            Args::new().slice(&from).output(&to),
        )
        .input(&from)
        .output(&to)
        .check(move || {
            let results = download(&to)?;
            for i in (0..segments).step_by(segments.div_ceil(100)) {
                let start = 2 * SEGMENT * i;
                let mut composite = vec![false; 2 * SEGMENT];
                for prime in primes.iter().map(|&prime| prime as usize) {
                    let first = start.next_multiple_of(prime).max(prime * prime) - start;
                    (first..2 * SEGMENT)
                        .step_by(prime)
                        .for_each(|place| composite[place] = true);
                }
                // The number 1 counts in place of 2.
                let odd = composite.iter().skip(1).step_by(2);
                let expected = odd.filter(|&&composite| !composite).count();
                if results[i] as usize != expected {
                    let result = results[i];
                    return Err(format!(
                        "segment {i} has {result} primes, but should have {expected}"
                    ));
                }
            }
            Ok(())
        }))
}
