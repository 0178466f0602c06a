//! Block-wide algorithms.

use super::{Scale, total};
use crate::case::{Args, Buffer, Case, close, download, random, uniform_f32, upload, zeroed};
use bench_kernels::block::{BINS, EPSILON, NORM, SORTED, THREADS, WIDTH};
use cust::error::CudaResult;

fn words(n: usize) -> Vec<u32> {
    (0..n as u64).map(|i| random(i) as u32).collect()
}

pub fn histogram(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(3000, 1 << 27);
    let values = words(n);
    let from = upload(&values)?;
    let to: Buffer<u32> = zeroed(BINS)?;
    let mut expected = vec![0u32; BINS];
    for byte in values.iter().flat_map(|word| word.to_le_bytes()) {
        expected[usize::from(byte)] += 1;
    }
    let pointers = Args::new().pointer(&from).pointer(&to);
    Ok(Case::new("histogram", scale.blocks(8), THREADS)
        .args(
            pointers.clone().value(n as i32),
            pointers.value(n),
            Args::new().slice(&from).slice(&to),
        )
        .input(&from)
        .output_from(&to, 0)
        .reset()
        .bytes(4 * n)
        .check(move || match download(&to)? == expected {
            true => Ok(()),
            false => Err("the counts differ".to_owned()),
        }))
}

pub fn reduce(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(3000, 1 << 28);
    let values = uniform_f32(n, 1);
    let blocks = scale.blocks(8);
    let from = upload(&values)?;
    let to: Buffer<f32> = zeroed(blocks)?;
    let expected = values.iter().map(|&x| f64::from(x)).sum();
    let pointers = Args::new().pointer(&from).pointer(&to);
    Ok(Case::new("reduce", blocks, THREADS)
        .args(
            pointers.clone().value(n as i32),
            pointers.value(n),
            Args::new().slice(&from).output(&to),
        )
        .input(&from)
        .output(&to)
        .cub("cub_reduce", &from, &to)
        .bytes(4 * n)
        .check(move || total(&to, expected, 1e-5)))
}

pub fn scan(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(1000, 1 << 27);
    let values: Vec<u32> = words(n).into_iter().map(|x| x % 1000).collect();
    let from = upload(&values)?;
    let to: Buffer<u32> = zeroed(n)?;
    let pointers = Args::new().pointer(&from).pointer(&to);
    Ok(Case::new("block_scan", n.div_ceil(THREADS), THREADS)
        .args(
            pointers.clone().value(n as i32),
            pointers.value(n),
            Args::new().slice(&from).output(&to),
        )
        .input(&from)
        .output(&to)
        .bytes(8 * n)
        .check(move || {
            close(&to, 0.0, 0.0, |i| {
                let before: u32 = values[i / THREADS * THREADS..i].iter().sum();
                f64::from(before)
            })
        }))
}

pub fn softmax(scale: Scale) -> CudaResult<Case> {
    let rows = scale.pick(2, 1 << 15);
    let values: Vec<f32> = uniform_f32(rows * WIDTH, 1)
        .into_iter()
        .map(|x| 8.0 * x)
        .collect();
    let from = upload(&values)?;
    let to: Buffer<f32> = zeroed(rows * WIDTH)?;
    let pointers = Args::new().pointer(&from).pointer(&to);
    Ok(Case::new("softmax", rows, THREADS)
        .args(
            pointers.clone(),
            pointers,
            Args::new().slice(&from).output(&to),
        )
        .input(&from)
        .output(&to)
        .bytes(8 * rows * WIDTH)
        .check(move || {
            let mut sums = std::collections::HashMap::new();
            for i in crate::case::samples(values.len()) {
                let row = i / WIDTH;
                sums.entry(row).or_insert_with(|| {
                    let row = &values[row * WIDTH..][..WIDTH];
                    row.iter().map(|&x| f64::from(x).exp()).sum::<f64>()
                });
            }
            close(&to, 1e-4, 0.0, |i| {
                f64::from(values[i]).exp() / sums[&(i / WIDTH)]
            })
        }))
}

pub fn layer_norm(scale: Scale) -> CudaResult<Case> {
    let rows = scale.pick(3, 1 << 17);
    let values = uniform_f32(rows * NORM, 1);
    let (gamma, beta) = (uniform_f32(NORM, 2), uniform_f32(NORM, 3));
    let (from, from_gamma, from_beta) = (upload(&values)?, upload(&gamma)?, upload(&beta)?);
    let to: Buffer<f32> = zeroed(rows * NORM)?;
    let pointers = Args::new()
        .pointer(&from)
        .pointer(&from_gamma)
        .pointer(&from_beta)
        .pointer(&to);
    Ok(Case::new("layer_norm", rows, THREADS)
        .args(
            pointers.clone(),
            pointers,
            Args::new()
                .slice(&from)
                .slice(&from_gamma)
                .slice(&from_beta)
                .output(&to),
        )
        .input(&from)
        .input(&from_gamma)
        .input(&from_beta)
        .output(&to)
        .bytes(8 * rows * NORM)
        .f32_operations(8.0 * (rows * NORM) as f64)
        .check(move || {
            close(&to, 1e-4, 1e-4, |i| {
                let row = values[i / NORM * NORM..][..NORM]
                    .iter()
                    .map(|&x| f64::from(x));
                let mean = row.clone().sum::<f64>() / NORM as f64;
                let squares: f64 = row.map(|x| (x - mean) * (x - mean)).sum();
                let scale = 1.0 / (squares / NORM as f64 + f64::from(EPSILON)).sqrt();
                let column = i % NORM;
                (f64::from(values[i]) - mean) * scale * f64::from(gamma[column])
                    + f64::from(beta[column])
            })
        }))
}

pub fn bitonic(scale: Scale) -> CudaResult<Case> {
    let blocks = scale.pick(1, 1 << 16);
    let values = words(blocks * SORTED);
    let from = upload(&values)?;
    let to: Buffer<u32> = zeroed(values.len())?;
    let pointers = Args::new().pointer(&from).pointer(&to);
    Ok(Case::new("bitonic", blocks, SORTED / 2)
        .args(
            pointers.clone(),
            pointers,
            Args::new().slice(&from).output(&to),
        )
        .input(&from)
        .output(&to)
        .bytes(8 * values.len())
        .check(move || {
            let results = download(&to)?;
            let step = blocks.div_ceil(100);
            for block in (0..blocks).step_by(step) {
                let range = block * SORTED..(block + 1) * SORTED;
                let mut expected = values[range.clone()].to_vec();
                expected.sort_unstable();
                if results[range] != expected {
                    return Err(format!("the keys of block {block} are not in order"));
                }
            }
            Ok(())
        }))
}
