//! Inference with language models.

use super::Scale;
use crate::case::{
    Args, Buffer, Case, close, download, near, random, samples, uniform_f32, upload, zeroed,
};
use bench_kernels::inference::{CHOSEN, EXPERTS, F16x8};
use bench_kernels::learning::f16;
use cust::error::CudaResult;
use cust::vector::{F32x4, I32x4};

pub fn swiglu(scale: Scale) -> CudaResult<Case> {
    let (width, tokens) = match scale.small {
        true => (2400, 3),
        false => (14336, 8192),
    };
    // A prime number of values, so that no two rows are equal.
    let values: Vec<f32> = (uniform_f32(65_521, 1).iter())
        .map(|x| f16(8.0 * x - 4.0).into())
        .collect();
    let halves: Vec<_> = values.iter().map(|&x| f16(x)).collect();
    let vectors: Vec<F16x8> = (0..2 * width / 8 * tokens)
        .map(|i| F16x8(std::array::from_fn(|k| halves[(8 * i + k) % halves.len()])))
        .collect();
    let from = upload(&vectors)?;
    let to = upload(&vec![F16x8::default(); width / 8 * tokens])?;
    let pointers = Args::new().pointer(&from).pointer(&to);
    Ok(
        Case::new("swiglu", ((width / 8).div_ceil(256), tokens), 256)
            .args(
                pointers.clone().value((width / 8) as i32),
                pointers.value(width / 8),
                Args::new().slice(&from).rows(&to, width / 8),
            )
            .input(&from)
            .output(&to)
            .bytes(3 * 2 * width * tokens)
            .check(move || {
                let results = download(&to)?;
                for i in samples(width * tokens) {
                    let (x, y) = (i % width, i / width);
                    let at = |i: usize| f64::from(values[i % values.len()]);
                    let gate = at(y * 2 * width + x);
                    let expected = gate / (1.0 + (-gate).exp()) * at(y * 2 * width + width + x);
                    near(i, results[i / 8].0[i % 8].to_f32(), expected, 1e-3, 1e-6)?;
                }
                Ok(())
            }),
    )
}

pub fn int8_gemv(scale: Scale) -> CudaResult<Case> {
    const SCALE: f32 = 0.125;
    let columns = scale.pick(1040, 4096);
    let rows = scale.pick(11, 1 << 17);
    let vector = |i: usize, seed: u64| {
        let [a, b] = [0, 1].map(|k| random((2 * i + k) as u64 ^ (seed << 40)));
        I32x4([a, a >> 32, b, b >> 32].map(|word| word as i32))
    };
    let vectors = columns / 16;
    let matrix: Vec<_> = (0..rows * vectors).map(|i| vector(i, 1)).collect();
    let factors: Vec<_> = (0..vectors).map(|i| vector(i, 2)).collect();
    let row_scales = uniform_f32(rows, 3);
    let (weights, x, scales) = (upload(&matrix)?, upload(&factors)?, upload(&row_scales)?);
    let y: Buffer<f32> = zeroed(rows)?;
    let pointers = Args::new().pointer(&weights).pointer(&scales).pointer(&x);
    let pointers = pointers.value(SCALE).pointer(&y);
    Ok(Case::new("int8_gemv", rows.div_ceil(8), 256)
        .args(
            pointers.clone().value(vectors as i32).value(rows as i32),
            pointers.value(vectors).value(rows),
            Args::new()
                .slice(&weights)
                .slice(&scales)
                .slice(&x)
                .value(SCALE)
                .output(&y),
        )
        .input(&weights)
        .input(&scales)
        .input(&x)
        .output(&y)
        .bytes(rows * (columns + 8))
        .check(move || {
            close(&y, 1e-6, 0.0, |row| {
                let words = matrix[row * vectors..][..vectors].iter().zip(&factors);
                let words = words.flat_map(|(a, b)| a.iter().zip(b.iter()));
                let bytes =
                    words.flat_map(|(a, b)| a.to_le_bytes().into_iter().zip(b.to_le_bytes()));
                let sum: i32 = bytes
                    .map(|(a, b)| i32::from(a as i8) * i32::from(b as i8))
                    .sum();
                f64::from(sum) * f64::from(row_scales[row]) * f64::from(SCALE)
            })
        }))
}

pub fn top_experts(scale: Scale) -> CudaResult<Case> {
    let tokens = scale.pick(11, 1 << 19);
    let values = uniform_f32(tokens * EXPERTS, 1);
    let values: Vec<f32> = values.iter().map(|x| 8.0 * x - 4.0).collect();
    let logits = upload(&values)?;
    let experts: Buffer<u32> = zeroed(tokens * CHOSEN)?;
    let weights: Buffer<f32> = zeroed(tokens * CHOSEN)?;
    let pointers = Args::new()
        .pointer(&logits)
        .pointer(&experts)
        .pointer(&weights);
    Ok(Case::new("top_experts", tokens.div_ceil(8), 256)
        .args(
            pointers.clone().value(tokens as i32),
            pointers.value(tokens),
            Args::new()
                .vectors::<F32x4>(&logits)
                .output(&experts)
                .output(&weights),
        )
        .input(&logits)
        .output(&experts)
        .output(&weights)
        .bytes(4 * tokens * (EXPERTS + 2 * CHOSEN))
        .check(move || {
            let (experts, weights) = (download(&experts)?, download(&weights)?);
            for token in samples(tokens) {
                let logits = &values[token * EXPERTS..][..EXPERTS];
                let mut order: Vec<usize> = (0..EXPERTS).collect();
                order.sort_by(|&a, &b| logits[b].total_cmp(&logits[a]));
                let powers = order[..CHOSEN].iter().map(|&i| f64::from(logits[i]).exp());
                let sum: f64 = powers.clone().sum();
                for (rank, power) in powers.enumerate() {
                    let i = token * CHOSEN + rank;
                    if experts[i] as usize != order[rank] {
                        let (result, expected) = (experts[i], order[rank]);
                        return Err(format!(
                            "choice {rank} of token {token} is {result}, but should be {expected}"
                        ));
                    }
                    near(i, weights[i], power / sum, 1e-5, 0.0)?;
                }
            }
            Ok(())
        }))
}
