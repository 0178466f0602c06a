//! Recurrences.

use super::Scale;
use crate::case::{Args, Buffer, Case, download, near, uniform, uniform_f32, upload, zeroed};
use bench_kernels::recurrences::{Biquad, Contract, EQUATIONS, SECTIONS, STEPS};
use cust::error::CudaResult;

/// Returns the solution of a tridiagonal system by elimination.
fn solve(a: &[f32], b: &[f32], c: &[f32], d: &[f32]) -> Vec<f64> {
    let mut factors = vec![0.0; b.len()];
    let mut values = vec![0.0; b.len()];
    let (mut factor, mut value) = (0.0, 0.0);
    for row in 0..b.len() {
        let [a, b, c, d] = [a, b, c, d].map(|of| f64::from(of[row]));
        let scale = 1.0 / (b - a * factor);
        value = (d - a * value) * scale;
        factor = c * scale;
        (factors[row], values[row]) = (factor, value);
    }
    for row in (0..b.len() - 1).rev() {
        values[row] -= factors[row] * values[row + 1];
    }
    values
}

pub fn cyclic_reduction(scale: Scale) -> CudaResult<Case> {
    let systems = scale.pick(3, 1 << 15);
    let n = systems * EQUATIONS;
    let [mut a, mut c, d] = [1, 2, 3].map(|seed| uniform_f32(n, seed));
    let b: Vec<f32> = uniform_f32(n, 4).into_iter().map(|x| x + 2.5).collect();
    for system in 0..systems {
        a[system * EQUATIONS] = 0.0;
        c[(system + 1) * EQUATIONS - 1] = 0.0;
    }
    let (from_a, from_b) = (upload(&a)?, upload(&b)?);
    let (from_c, from_d) = (upload(&c)?, upload(&d)?);
    let to: Buffer<f32> = zeroed(n)?;
    let pointers = Args::new()
        .pointer(&from_a)
        .pointer(&from_b)
        .pointer(&from_c)
        .pointer(&from_d)
        .pointer(&to);
    Ok(Case::new("cyclic_reduction", systems, EQUATIONS)
        .args(
            pointers.clone(),
            pointers,
            Args::new()
                .slice(&from_a)
                .slice(&from_b)
                .slice(&from_c)
                .slice(&from_d)
                .output(&to),
        )
        .input(&from_a)
        .input(&from_b)
        .input(&from_c)
        .input(&from_d)
        .output(&to)
        .bytes(20 * n)
        .f32_operations(12.0 * (n as u32 * EQUATIONS.ilog2()) as f64)
        .check(move || {
            let results = download(&to)?;
            for system in (0..systems).step_by(systems.div_ceil(100)) {
                let range = system * EQUATIONS..(system + 1) * EQUATIONS;
                let [a, b, c, d] = [&a, &b, &c, &d].map(|of| &of[range.clone()]);
                for (i, expected) in range.zip(solve(a, b, c, d)) {
                    near(i, results[i], expected, 1e-4, 1e-5)?;
                }
            }
            Ok(())
        }))
}

pub fn biquad(scale: Scale) -> CudaResult<Case> {
    let channels = scale.pick(300, 1 << 16);
    let frames = scale.pick(20, 512);
    let n = channels * frames;
    // Resonances with poles at most 0.9 from zero, so errors decay.
    let filter = |i: usize| {
        let random = |k: u64| uniform(i as u64 * 8 + k) as f32;
        let (radius, angle) = (0.5 + 0.4 * random(0), 3.0 * random(1));
        Biquad {
            b0: 0.5 + random(2),
            b1: random(3) - 0.5,
            b2: random(4) - 0.5,
            a1: -2.0 * radius * angle.cos(),
            a2: radius * radius,
        }
    };
    let filters: Vec<[Biquad; SECTIONS]> = (0..channels)
        .map(|channel| std::array::from_fn(|k| filter(channel * SECTIONS + k)))
        .collect();
    let samples: Vec<f32> = uniform_f32(n, 1).into_iter().map(|x| x - 0.5).collect();
    let (from_filters, from) = (upload(&filters)?, upload(&samples)?);
    let to: Buffer<f32> = zeroed(n)?;
    let pointers = Args::new()
        .pointer(&from_filters)
        .pointer(&from)
        .pointer(&to);
    Ok(Case::new("biquad", channels.div_ceil(128), 128)
        .args(
            pointers.clone().value(frames as i32).value(channels as i32),
            pointers.value(frames).value(channels),
            Args::new()
                .slice(&from_filters)
                .slice(&from)
                .rows(&to, channels),
        )
        .input(&from_filters)
        .input(&from)
        .output(&to)
        .bytes(8 * n + filters.len() * size_of::<[Biquad; SECTIONS]>())
        .f32_operations(9.0 * (n * SECTIONS) as f64)
        .check(move || {
            let results = download(&to)?;
            for channel in (0..channels).step_by(channels.div_ceil(100)) {
                let mut states = [[0.0; 2]; SECTIONS];
                for frame in 0..frames {
                    let i = frame * channels + channel;
                    let mut x = f64::from(samples[i]);
                    for (filter, state) in filters[channel].iter().zip(&mut states) {
                        let &Biquad { b0, b1, b2, a1, a2 } = filter;
                        let [b0, b1, b2, a1, a2] = [b0, b1, b2, a1, a2].map(f64::from);
                        let y = b0 * x + state[0];
                        *state = [b1 * x - a1 * y + state[1], b2 * x - a2 * y];
                        x = y;
                    }
                    near(i, results[i], x, 1e-3, 1e-3)?;
                }
            }
            Ok(())
        }))
}

pub fn binomial(scale: Scale) -> CudaResult<Case> {
    const RATE: f32 = 0.05;
    const VOLATILITY: f32 = 0.3;
    let options = scale.pick(3, 1 << 14);
    let contracts: Vec<Contract> = (0..options as u64)
        .map(|i| Contract {
            price: (80.0 + 40.0 * uniform(3 * i)) as f32,
            strike: (80.0 + 40.0 * uniform(3 * i + 1)) as f32,
            years: (0.25 + 2.0 * uniform(3 * i + 2)) as f32,
        })
        .collect();
    let from = upload(&contracts)?;
    let to: Buffer<f32> = zeroed(options)?;
    let market = Args::new().value(RATE).value(VOLATILITY);
    let pointers = Args::new().pointer(&from).and(market.clone()).pointer(&to);
    Ok(Case::new("binomial", options, STEPS + 1)
        .args(
            pointers.clone(),
            pointers,
            Args::new().slice(&from).and(market).output(&to),
        )
        .input(&from)
        .output(&to)
        .bytes(options * (size_of::<Contract>() + 4))
        .f32_operations(6.0 * (options * STEPS * (STEPS + 1) / 2) as f64)
        .check(move || {
            let results = download(&to)?;
            let (rate, volatility) = (f64::from(RATE), f64::from(VOLATILITY));
            for option in (0..options).step_by(options.div_ceil(100)) {
                let contract = contracts[option];
                let [price, strike] = [contract.price, contract.strike].map(f64::from);
                let dt = f64::from(contract.years) / STEPS as f64;
                let spread = volatility * dt.sqrt();
                let growth = (rate * dt).exp();
                let (up, down) = (spread.exp(), (-spread).exp());
                let chance = (growth - down) / (up - down);
                let exercised = |step: usize, node: usize| {
                    strike - price * (spread * (2.0 * node as f64 - step as f64)).exp()
                };
                let mut values: Vec<f64> = (0..=STEPS)
                    .map(|node| exercised(STEPS, node).max(0.0))
                    .collect();
                for step in (0..STEPS).rev() {
                    for node in 0..=step {
                        let kept = chance * values[node + 1] + (1.0 - chance) * values[node];
                        values[node] = (kept / growth).max(exercised(step, node));
                    }
                }
                near(option, results[option], values[0], 1e-3, 1e-3)?;
            }
            Ok(())
        }))
}
