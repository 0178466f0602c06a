//! Machine learning.

use super::Scale;
use crate::case::{Args, Buffer, Case, close, download, near, random, uniform_f32, upload, zeroed};
use bench_kernels::learning::{GROUP, HEAD, NEIGHBORS, PACKED, POINTS, QUERIES, SCALE, f16};
use cust::error::CudaResult;

pub fn knn(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(300, 1 << 16);
    let point_count = scale.pick(600, 4096);
    let (points, queries) = (uniform_f32(3 * point_count, 1), uniform_f32(3 * n, 2));
    let from_points = upload(points.as_chunks::<3>().0)?;
    let from_queries = upload(queries.as_chunks::<3>().0)?;
    let to: Buffer<[u32; NEIGHBORS]> = zeroed(n)?;
    let pointers = Args::new()
        .pointer(&from_points)
        .pointer(&from_queries)
        .pointer(&to);
    Ok(Case::new("knn", n.div_ceil(POINTS), POINTS)
        .args(
            pointers.clone().value(point_count as i32).value(n as i32),
            pointers.value(point_count).value(n),
            Args::new()
                .slice(&from_points)
                .slice(&from_queries)
                .output(&to),
        )
        .input(&from_points)
        .input(&from_queries)
        .output(&to)
        .bytes(12 * point_count + 12 * n + 4 * NEIGHBORS * n)
        .f32_operations(8.0 * point_count as f64 * n as f64)
        .check(move || {
            let results = download(&to)?;
            for i in (0..n).step_by(n.div_ceil(500)) {
                let distance = |point: usize| -> f64 {
                    let pairs = points[3 * point..][..3].iter().zip(&queries[3 * i..]);
                    pairs.map(|(a, b)| f64::from(a - b).powi(2)).sum()
                };
                let mut expected: Vec<f64> = (0..point_count).map(distance).collect();
                expected.sort_by(f64::total_cmp);
                let mut found = results[i];
                // Points at nearly the same distance may be in any order.
                for (&point, expected) in found.iter().zip(expected) {
                    if point as usize >= point_count {
                        return Err(format!("query {i} has the neighbor {point}"));
                    }
                    near(i, distance(point as usize), expected, 1e-5, 0.0)?;
                }
                found.sort_unstable();
                if found.windows(2).any(|pair| pair[0] == pair[1]) {
                    return Err(format!("query {i} has a neighbor twice"));
                }
            }
            Ok(())
        }))
}

pub fn attention(scale: Scale) -> CudaResult<Case> {
    let heads = scale.pick(2, 16);
    let n = scale.pick(QUERIES, 2048);
    let rows = heads * n;
    let [queries, keys, values] = [1, 2, 3].map(|seed| -> Vec<f32> {
        let numbers = uniform_f32(rows * HEAD, seed).into_iter();
        numbers.map(|x| 2.0 * x - 1.0).collect()
    });
    let from_queries = upload(queries.as_chunks::<HEAD>().0)?;
    let from_keys = upload(keys.as_chunks::<HEAD>().0)?;
    let from_values = upload(values.as_chunks::<HEAD>().0)?;
    let to: Buffer<[f32; HEAD]> = zeroed(rows)?;
    let pointers = Args::new()
        .pointer(&from_queries)
        .pointer(&from_keys)
        .pointer(&from_values);
    Ok(Case::new("attention", rows / QUERIES, QUERIES)
        .args(
            pointers.clone().value(n as i32).pointer(&to),
            pointers.value(n).pointer(&to),
            Args::new()
                .slice(&from_queries)
                .slice(&from_keys)
                .slice(&from_values)
                .value(n)
                .output(&to),
        )
        .input(&from_queries)
        .input(&from_keys)
        .input(&from_values)
        .output(&to)
        .bytes(16 * rows * HEAD)
        .f32_operations((5 * HEAD) as f64 * rows as f64 * n as f64)
        .check(move || {
            let results = download(&to)?;
            for i in (0..rows).step_by(rows.div_ceil(50)) {
                let head = i / n * n..(i / n + 1) * n;
                let scores: Vec<f64> = (head.clone())
                    .map(|j| {
                        let pairs = queries[i * HEAD..].iter().zip(&keys[j * HEAD..][..HEAD]);
                        let product: f64 = pairs.map(|(&q, &k)| f64::from(q) * f64::from(k)).sum();
                        f64::from(SCALE) * product
                    })
                    .collect();
                let weights: Vec<f64> = scores.into_iter().map(f64::exp).collect();
                let sum: f64 = weights.iter().sum();
                for k in 0..HEAD {
                    let numbers = head.clone().zip(&weights);
                    let numbers = numbers.map(|(j, w)| w * f64::from(values[j * HEAD + k]));
                    let expected = numbers.sum::<f64>() / sum;
                    near(i * HEAD + k, results[i][k], expected, 1e-4, 1e-5)?;
                }
            }
            Ok(())
        }))
}

pub fn int4_gemv(scale: Scale) -> CudaResult<Case> {
    let rows = scale.pick(11, 1 << 15);
    let columns = scale.pick(10 * GROUP, 1 << 14);
    let (words, groups) = (columns / PACKED, columns / GROUP);
    let weights: Vec<u32> = (0..(rows * words) as u64)
        .map(|i| random(i) as u32)
        .collect();
    // Multiples of 1/128, which `f16` represents exactly.
    let scale_values: Vec<f32> = (0..(rows * groups) as u64)
        .map(|i| (1 + random(i ^ (1 << 40)) % 64) as f32 / 128.0)
        .collect();
    let x = uniform_f32(columns, 2);
    let scales: Vec<_> = scale_values.iter().copied().map(f16).collect();
    let from_weights = upload(&weights)?;
    let from_scales = upload(&scales)?;
    let from_x = upload(&x)?;
    let y: Buffer<f32> = zeroed(rows)?;
    let pointers = Args::new()
        .pointer(&from_weights)
        .pointer(&from_scales)
        .pointer(&from_x)
        .pointer(&y);
    Ok(Case::new("int4_gemv", rows.div_ceil(8), 256)
        .args(
            pointers.clone().value(columns as i32).value(rows as i32),
            pointers.value(columns).value(rows),
            Args::new()
                .slice(&from_weights)
                .slice(&from_scales)
                .slice(&from_x)
                .output(&y),
        )
        .input(&from_weights)
        .input(&from_scales)
        .input(&from_x)
        .output(&y)
        .bytes(4 * weights.len() + 2 * scales.len() + 4 * columns + 4 * rows)
        .f32_operations(2.0 * rows as f64 * columns as f64)
        .check(move || {
            // Sums of numbers of both signs.
            close(&y, 1e-4, 1e-5 * columns as f64, |row| {
                (0..columns)
                    .map(|column| {
                        let word = weights[row * words + column / PACKED];
                        let weight = f64::from(word >> (4 * (column % PACKED)) & 15) - 8.0;
                        let scale = scale_values[row * groups + column / GROUP];
                        weight * f64::from(scale) * f64::from(x[column])
                    })
                    .sum()
            })
        }))
}
