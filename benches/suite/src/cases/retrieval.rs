//! Retrieval: distances of compressed vectors, and the similarity of rows.

use super::Scale;
use crate::case::{Args, Buffer, Case, close, random, uniform_f32, upload, zeroed};
use bench_kernels::retrieval::{CENTROIDS, Code, PARTS};
use cust::error::CudaResult;

pub fn pq_distance(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(1000, 1 << 24);
    let distances_of_parts = uniform_f32(PARTS * CENTROIDS, 1);
    let vectors: Vec<Code> = (0..n as u64)
        .map(|i| {
            let words = [random(2 * i), random(2 * i + 1)].map(u64::to_ne_bytes);
            Code(std::array::from_fn(|k| words[k / 8][k % 8]))
        })
        .collect();
    let (tables, codes) = (upload(&distances_of_parts)?, upload(&vectors)?);
    let distances: Buffer<f32> = zeroed(n)?;
    let pointers = (Args::new().pointer(&tables))
        .pointer(&codes)
        .pointer(&distances);
    Ok(Case::new("pq_distance", scale.blocks(8), 256)
        .args(
            pointers.clone().value(n as i32),
            pointers.value(n),
            (Args::new().pointer(&tables).slice(&codes)).output(&distances),
        )
        .input(&tables)
        .input(&codes)
        .output(&distances)
        .bytes(20 * n)
        .check(move || {
            close(&distances, 1e-6, 1e-6, |i| {
                let parts = vectors[i].0.into_iter().enumerate();
                parts
                    .map(|(part, code)| {
                        f64::from(distances_of_parts[part * CENTROIDS + usize::from(code)])
                    })
                    .sum()
            })
        }))
}

pub fn cosine_rows(scale: Scale) -> CudaResult<Case> {
    let rows = scale.pick(21, 1 << 16);
    let width = scale.pick(100, 768);
    let number = |x: f32| 2.0 * x - 1.0;
    let numbers = |seed| -> Vec<f32> {
        let numbers = uniform_f32(rows * width, seed);
        numbers.into_iter().map(number).collect()
    };
    let (left, right) = (numbers(1), numbers(2));
    let (a, b) = (upload(&left)?, upload(&right)?);
    let to: Buffer<f32> = zeroed(rows)?;
    let pointers = Args::new().pointer(&a).pointer(&b);
    Ok(Case::new("cosine_rows", (32 * rows).div_ceil(256), 256)
        .args(
            (pointers.clone().value(width as i32).pointer(&to)).value(rows as i32),
            pointers.value(width).pointer(&to).value(rows),
            (Args::new().slice(&a).slice(&b).value(width)).output(&to),
        )
        .input(&a)
        .input(&b)
        .output(&to)
        .bytes(8 * rows * width)
        .check(move || {
            close(&to, 1e-4, 1e-5, |row| {
                let (a, b) = (&left[row * width..], &right[row * width..]);
                let sum = |a: &[f32], b: &[f32]| -> f64 {
                    let products = a.iter().zip(b).take(width);
                    products.map(|(&a, &b)| f64::from(a) * f64::from(b)).sum()
                };
                sum(a, b) / (sum(a, a) * sum(b, b)).sqrt()
            })
        }))
}
