//! Products on tensor cores.

use super::Scale;
use crate::case::{Args, Buffer, Case, close, uniform_f32, upload, zeroed};
use bench_kernels::tensor::{BLOCK, Eight, bf16};
use cust::error::CudaResult;

/// Returns the nearest `bf16` numbers, and their values, which have at most seven bits.
fn numbers(n: usize, seed: u64) -> (Vec<Eight>, Vec<f32>) {
    let values: Vec<f32> = uniform_f32(n, seed)
        .into_iter()
        .map(|x| (128.0 * x).floor() / 128.0)
        .collect();
    let eights = values
        .as_chunks::<8>()
        .0
        .iter()
        .map(|chunk| Eight(chunk.map(bf16)))
        .collect();
    (eights, values)
}

pub fn gemm_bf16(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(128, 4096);
    let ((a, a_values), (b, b_values)) = (numbers(n * n, 1), numbers(n * n, 2));
    let (from_a, from_b) = (upload(&a)?, upload(&b)?);
    let to: Buffer<f32> = zeroed(n * n)?;
    let pointers = Args::new().pointer(&from_a).pointer(&from_b).pointer(&to);
    let blocks = n / BLOCK;
    Ok(Case::new("gemm_bf16", (blocks, blocks), (4, 32))
        .args(
            pointers.clone().value(n as i32),
            pointers.value(n),
            Args::new()
                .slice(&from_a)
                .slice(&from_b)
                .slice(&to)
                .value(n),
        )
        .input(&from_a)
        .input(&from_b)
        .output(&to)
        .bytes(8 * n * n)
        .check(move || {
            close(&to, 1e-4, 0.0, |i| {
                let (row, column) = (i / n, i % n);
                (0..n)
                    .map(|k| f64::from(a_values[row * n + k]) * f64::from(b_values[k * n + column]))
                    .sum()
            })
        }))
}
