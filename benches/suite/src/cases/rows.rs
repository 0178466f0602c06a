//! Rows: prefix sums, the order of numbers, the largest number, attention among the nodes of a
//! graph, and numbers of variable length.

use super::Scale;
use crate::case::{
    Args, Buffer, Case, close, download, near, random, samples, uniform_f32, upload, zeroed,
};
use bench_kernels::rows::{WIDTH, varint};
use cust::error::CudaResult;
use cust::vector::F32x4;

/// Returns the start of each row and the end of the last one. Rows have up to `most` elements, and
/// at least one.
fn offsets(rows: usize, most: u64) -> Vec<u32> {
    let mut sum = 0;
    let lengths = (0..rows as u64).map(|i| 1 + (random(i) % most) as u32);
    let ends = lengths.map(|length| {
        sum += length;
        sum
    });
    [0].into_iter().chain(ends).collect()
}

pub fn integral_rows(scale: Scale) -> CudaResult<Case> {
    let rows = scale.pick(11, 1 << 15);
    let n = rows * WIDTH;
    let pixels: Vec<u8> = (0..n as u64).map(|i| random(i) as u8).collect();
    let image = upload(&pixels)?;
    let to: Buffer<u32> = zeroed(n)?;
    let pointers = Args::new().pointer(&image).pointer(&to);
    Ok(Case::new("integral_rows", (32 * rows).div_ceil(256), 256)
        .args(
            pointers.clone().value(rows as i32),
            pointers.value(rows),
            Args::new().slice(&image).output(&to),
        )
        .input(&image)
        .output(&to)
        .bytes(5 * n)
        .check(move || {
            close(&to, 0.0, 0.0, |i| {
                let row = &pixels[i / WIDTH * WIDTH..=i];
                row.iter().map(|&pixel| f64::from(pixel)).sum()
            })
        }))
}

pub fn argsort_rows(scale: Scale) -> CudaResult<Case> {
    const ROW: usize = 32;
    let n = scale.pick(1000, 1 << 26);
    // Some numbers are equal.
    let values: Vec<f32> = (0..n as u64).map(|i| (random(i) % 100) as f32).collect();
    let numbers = upload(&values)?;
    let order: Buffer<u32> = zeroed(n)?;
    let pointers = Args::new().pointer(&numbers).pointer(&order);
    Ok(Case::new("argsort_rows", n.div_ceil(256), 256)
        .args(
            pointers.clone().value(n as i32),
            pointers.value(n),
            Args::new().slice(&numbers).output(&order),
        )
        .input(&numbers)
        .output(&order)
        .bytes(8 * n)
        .check(move || {
            close(&order, 0.0, 0.0, |i| {
                let row = &values[i / ROW * ROW..n.min((i / ROW + 1) * ROW)];
                let mut order: Vec<usize> = (0..row.len()).collect();
                order.sort_by(|&a, &b| row[a].total_cmp(&row[b]));
                order[i % ROW] as f64
            })
        }))
}

pub fn argmax_rows(scale: Scale) -> CudaResult<Case> {
    let width = scale.pick(1000, 32000);
    let rows = scale.pick(3, 4096);
    let numbers = uniform_f32(rows * width, 1);
    let scores = upload(&numbers)?;
    let to: Buffer<u32> = zeroed(rows)?;
    let start = Args::new().pointer(&scores);
    Ok(Case::new("argmax_rows", rows, 256)
        .args(
            start.clone().value(width as i32).pointer(&to),
            start.value(width).pointer(&to),
            Args::new().slice(&scores).value(width).output(&to),
        )
        .input(&scores)
        .output(&to)
        .bytes(4 * rows * width)
        .check(move || {
            close(&to, 0.0, 0.0, |i| {
                let row = &numbers[i * width..][..width];
                let most = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                row.iter().position(|&number| number == most).unwrap_or(0) as f64
            })
        }))
}

pub fn graph_attention(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(1000, 1 << 20);
    let starts = offsets(n, 32);
    let edges = starts[n] as usize;
    let ends: Vec<u32> = (0..edges as u64)
        .map(|i| (random(i ^ 1 << 40) % n as u64) as u32)
        .collect();
    let numbers = |seed: u64| -> Vec<f32> {
        let values = uniform_f32(n, seed).into_iter();
        values.map(|x| 4.0 * x - 2.0).collect()
    };
    let (own_values, values) = (numbers(2), numbers(3));
    let vectors: Vec<F32x4> = (uniform_f32(4 * n, 4).as_chunks::<4>().0.iter())
        .map(|&numbers| F32x4(numbers))
        .collect();
    let (rows, neighbors) = (upload(&starts)?, upload(&ends)?);
    let (own_scores, scores) = (upload(&own_values)?, upload(&values)?);
    let features = upload(&vectors)?;
    let to = upload(&vec![F32x4::default(); n])?;
    let pointers = (Args::new().pointer(&rows).pointer(&neighbors))
        .pointer(&own_scores)
        .pointer(&scores)
        .pointer(&features)
        .pointer(&to);
    Ok(Case::new("graph_attention", n.div_ceil(256), 256)
        .args(
            pointers.clone().value(n as i32),
            pointers.value(n),
            (Args::new().slice(&rows).slice(&neighbors))
                .slice(&own_scores)
                .slice(&scores)
                .slice(&features)
                .output(&to),
        )
        .input(&rows)
        .input(&neighbors)
        .input(&own_scores)
        .input(&scores)
        .input(&features)
        .output(&to)
        .bytes(44 * n + 4 * edges)
        .check(move || {
            let results = download(&to)?;
            for i in samples(n) {
                let neighbors = &ends[starts[i] as usize..starts[i + 1] as usize];
                let (mut total, mut sum) = (0.0, [0.0; 4]);
                for &neighbor in neighbors {
                    let logit = f64::from(own_values[i]) + f64::from(values[neighbor as usize]);
                    let weight = logit.max(0.2 * logit).exp();
                    total += weight;
                    for (sum, x) in sum.iter_mut().zip(vectors[neighbor as usize].0) {
                        *sum += weight * f64::from(x);
                    }
                }
                for (result, sum) in results[i].0.into_iter().zip(sum) {
                    near(i, result, sum / total, 1e-5, 0.0)?;
                }
            }
            Ok(())
        }))
}

pub fn varint_rows(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(1000, 1 << 21);
    let counts = offsets(n, 40);
    let mut code: Vec<u8> = Vec::new();
    let mut starts = vec![0];
    for (i, count) in counts.windows(2).enumerate() {
        for k in count[0]..count[1] {
            let bits = random(u64::from(k));
            // Most numbers are short; each eighth row has long ones.
            let shift = if i % 8 == 0 {
                32 + bits % 4 * 8
            } else {
                50 + bits % 8
            };
            let mut rest = (bits >> shift) as u32;
            while rest >= 0x80 {
                code.push(rest as u8 | 0x80);
                rest >>= 7;
            }
            code.push(rest as u8);
        }
        starts.push(code.len() as u32);
    }
    let (rows, bytes) = (upload(&starts)?, upload(&code)?);
    let to: Buffer<u64> = zeroed(n)?;
    let pointers = Args::new().pointer(&rows).pointer(&bytes).pointer(&to);
    Ok(Case::new("varint_rows", n.div_ceil(128), 128)
        .args(
            pointers.clone().value(n as i32),
            pointers.value(n),
            Args::new().slice(&rows).slice(&bytes).output(&to),
        )
        .input(&rows)
        .input(&bytes)
        .output(&to)
        .bytes(12 * n + code.len())
        .check(move || {
            let results = download(&to)?;
            for i in samples(n) {
                let mut rest = &code[starts[i] as usize..starts[i + 1] as usize];
                let mut sum = 0;
                while let Some((number, after)) = varint(rest) {
                    sum += u64::from(number);
                    rest = after;
                }
                if results[i] != sum {
                    return Err(format!("sum {i} is {}, but should be {sum}", results[i]));
                }
            }
            Ok(())
        }))
}
