//! Molecular dynamics, finance, and a solver.

use super::{Scale, total};
use crate::case::{
    Args, Buffer, Case, close, download, random, uniform, uniform_f64, upload, zeroed,
};
use bench_kernels::physics::{CUTOFF, NEIGHBORS, Xorshift, payoff};
use cust::error::CudaResult;
use cust::vector::F32x4;

pub fn lennard_jones(scale: Scale) -> CudaResult<Case> {
    // Atoms on a lattice, displaced at random.
    let side = scale.pick(7, 80);
    let atoms = side * side * side;
    let mut values = Vec::new();
    for i in 0..atoms {
        let at = [i % side, i / side % side, i / (side * side)];
        for (d, at) in at.into_iter().enumerate() {
            values.push((1.2 * at as f64 + 0.2 * uniform((4 * i + d) as u64)) as f32);
        }
        values.push(0.0);
    }
    // Neighbors up to two places away along each dimension, in a random order.
    let mut list = vec![0u32; NEIGHBORS * atoms];
    for i in 0..atoms {
        let at = [i % side, i / side % side, i / (side * side)];
        let mut near = Vec::new();
        for offset in 0..125 {
            let offsets = [offset % 5, offset / 5 % 5, offset / 25];
            let place: [usize; 3] = std::array::from_fn(|d| (at[d] + offsets[d] + side - 2) % side);
            let other = (place[2] * side + place[1]) * side + place[0];
            if other != i {
                near.push((random((i * 125 + offset) as u64), other as u32));
            }
        }
        near.sort_unstable();
        for (k, (_, other)) in near.into_iter().take(NEIGHBORS).enumerate() {
            list[k * atoms + i] = other;
        }
    }
    let (positions, neighbors) = (upload(&values)?, upload(&list)?);
    let forces: Buffer<f32> = zeroed(4 * atoms)?;
    let pointers = Args::new()
        .pointer(&positions)
        .pointer(&neighbors)
        .pointer(&forces);
    Ok(Case::new("lennard_jones", atoms.div_ceil(256), 256)
        .args(
            pointers.clone().value(atoms as i32),
            pointers.value(atoms),
            Args::new()
                .vectors::<F32x4>(&positions)
                .slice(&neighbors)
                .output_vectors::<F32x4>(&forces),
        )
        .input(&positions)
        .input(&neighbors)
        .output(&forces)
        .bytes(4 * NEIGHBORS * atoms + 32 * atoms)
        .check(move || {
            close(&forces, 1e-3, 1e-2, |i| {
                let (i, d) = (i / 4, i % 4);
                if d == 3 {
                    return 0.0;
                }
                let at = |atom: usize, d: usize| f64::from(values[4 * atom + d]);
                (0..NEIGHBORS)
                    .map(|k| {
                        let other = list[k * atoms + i] as usize;
                        let by: [f64; 3] = std::array::from_fn(|d| at(i, d) - at(other, d));
                        let squared: f64 = by.iter().map(|x| x * x).sum();
                        if squared >= f64::from(CUTOFF) {
                            return 0.0;
                        }
                        let sixth = squared.powi(-3);
                        by[d] * sixth * (48.0 * sixth - 24.0) / squared
                    })
                    .sum()
            })
        }))
}

pub fn asian_option(scale: Scale) -> CudaResult<Case> {
    let blocks = scale.pick(2, 4096);
    let paths = scale.pick(2, 16) as u32;
    let to: Buffer<f32> = zeroed(blocks)?;
    let args = Args::new().value(paths);
    Ok(Case::new("asian_option", blocks, 256)
        .args(
            args.clone().pointer(&to),
            args.clone().pointer(&to),
            args.output(&to),
        )
        .output(&to)
        .bytes(4 * blocks)
        .check(move || {
            let results = download(&to)?;
            for block in (0..blocks).step_by(blocks.div_ceil(50)) {
                let expected: f64 = (0..256)
                    .map(|thread| {
                        let mut random = Xorshift::new((block * 256 + thread) as u32);
                        let payoffs = (0..paths).map(|_| f64::from(payoff(&mut random)));
                        payoffs.sum::<f64>()
                    })
                    .sum();
                let result = f64::from(results[block]);
                // Also false for NaN.
                let fits = (result - expected).abs() <= 1e-3 * expected;
                if !fits {
                    return Err(format!("sum {block} is {result}, but should be {expected}"));
                }
            }
            Ok(())
        }))
}

pub fn cg_update(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(1000, 1 << 25);
    let blocks = scale.blocks(8);
    let alpha = 0.75;
    let (p_values, q_values) = (uniform_f64(n, 1), uniform_f64(n, 2));
    let (p, q) = (upload(&p_values)?, upload(&q_values)?);
    let (x, r): (Buffer<f64>, Buffer<f64>) = (zeroed(n)?, zeroed(n)?);
    let sums: Buffer<f64> = zeroed(blocks)?;
    let start = Args::new().value(alpha);
    let pointers = start
        .clone()
        .pointer(&p)
        .pointer(&q)
        .pointer(&x)
        .pointer(&r)
        .pointer(&sums);
    Ok(Case::new("cg_update", blocks, 256)
        .args(
            pointers.clone().value(n as i32),
            pointers.value(n),
            start
                .slice(&p)
                .slice(&q)
                .output(&x)
                .output(&r)
                .output(&sums),
        )
        .input(&p)
        .input(&q)
        .output_from(&x, 0)
        .output_from(&r, 0)
        .output(&sums)
        .bytes(48 * n)
        .f64_operations(6.0 * n as f64)
        .check(move || {
            close(&x, 1e-14, 0.0, |i| alpha * p_values[i])?;
            close(&r, 1e-14, 0.0, |i| -alpha * q_values[i])?;
            let expected = q_values.iter().map(|q| (alpha * q).powi(2)).sum();
            total(&sums, expected, 1e-10)
        }))
}
