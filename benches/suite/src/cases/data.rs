//! Sorting, compaction, checksums, alignment of sequences, clustering and embeddings.

use super::Scale;
use crate::case::{
    Args, Buffer, Case, close, download, random, samples, uniform, uniform_f32, upload, zeroed,
};
use bench_kernels::data::{
    COORDINATES, DIFFERENT, EMBEDDING, EQUAL, GAP, Pair, QUERY, SORTED, TARGET,
};
use cust::error::CudaResult;

pub fn bitonic_pairs(scale: Scale) -> CudaResult<Case> {
    let blocks = scale.pick(1, 1 << 14);
    let values: Vec<Pair> = (0..(blocks * SORTED) as u64)
        .map(|i| Pair {
            key: random(i) as u32,
            value: i as u32,
        })
        .collect();
    let from = upload(&values)?;
    let to = upload(&values)?;
    let pointers = Args::new().pointer(&from).pointer(&to);
    Ok(Case::new("bitonic_pairs", blocks, SORTED)
        .args(
            pointers.clone(),
            pointers,
            Args::new().slice(&from).output(&to),
        )
        .input(&from)
        .output(&to)
        .bytes(16 * values.len())
        .check(move || {
            let results = download(&to)?;
            let step = blocks.div_ceil(100);
            for block in (0..blocks).step_by(step) {
                let range = block * SORTED..(block + 1) * SORTED;
                let sorted = |pairs: &[Pair]| {
                    let mut pairs: Vec<_> = pairs.iter().map(|p| (p.key, p.value)).collect();
                    pairs.sort_unstable();
                    pairs
                };
                let results = &results[range.clone()];
                let expected = sorted(&values[range]);
                // Pairs with equal keys may be in any order.
                if !results.is_sorted_by_key(|pair| pair.key) || sorted(results) != expected {
                    return Err(format!("the pairs of block {block} are not in order"));
                }
            }
            Ok(())
        }))
}

pub fn compact(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(1000, 1 << 26);
    let limit = 0.4f32;
    let values = uniform_f32(n, 1);
    let from = upload(&values)?;
    let count: Buffer<u32> = zeroed(1)?;
    let to: Buffer<f32> = zeroed(n)?;
    let pointers = |args: Args| args.value(limit).pointer(&count);
    Ok(Case::new("compact", n.div_ceil(256), 256)
        .args(
            pointers(Args::new().pointer(&from))
                .pointer(&to)
                .value(n as i32),
            pointers(Args::new().pointer(&from)).pointer(&to).value(n),
            pointers(Args::new().slice(&from)).slice(&to),
        )
        .input(&from)
        .output_from(&count, 0)
        .output_from(&to, 0)
        .reset()
        .bytes(4 * n + (2.4 * n as f64) as usize)
        .check(move || {
            // Blocks finish in any order.
            let bits = |values: &[f32]| {
                values
                    .iter()
                    .filter(|&&x| x > limit)
                    .fold((0u64, 0u64), |(sum, hash), x| {
                        let bits = u64::from(x.to_bits());
                        (sum + 1, hash.wrapping_add(random(bits)))
                    })
            };
            let results = download(&to)?;
            let count = download(&count)?[0] as usize;
            let expected = bits(&values);
            let result = bits(results.get(..count).unwrap_or(&[]));
            match result == expected && result.0 == count as u64 {
                true => Ok(()),
                false => Err(format!("{count}, {result:?} instead of {expected:?}")),
            }
        }))
}

/// Returns the table of CRC-32.
fn crc_table() -> Vec<u32> {
    (0..256)
        .map(|i| {
            (0..8).fold(i, |crc: u32, _| match crc & 1 {
                0 => crc >> 1,
                _ => crc >> 1 ^ 0xedb8_8320,
            })
        })
        .collect()
}

pub fn crc32(scale: Scale) -> CudaResult<Case> {
    let messages = scale.pick(300, 1 << 20);
    let rows = scale.pick(5, 64);
    let values: Vec<u32> = (0..(rows * messages) as u64)
        .map(|i| random(i) as u32)
        .collect();
    let words = upload(&values)?;
    let entries = crc_table();
    let table = upload(&entries)?;
    let to: Buffer<u32> = zeroed(messages)?;
    let pointers = Args::new().pointer(&table).pointer(&words).pointer(&to);
    Ok(Case::new("crc32", messages.div_ceil(256), 256)
        .args(
            pointers.clone().value(rows as i32).value(messages as i32),
            pointers.value(rows).value(messages),
            Args::new().pointer(&table).slice(&words).output(&to),
        )
        .input(&table)
        .input(&words)
        .output(&to)
        .bytes(4 * rows * messages + 4 * messages)
        .check(move || {
            close(&to, 0.0, 0.0, |i| {
                let bytes = (0..rows).flat_map(|row| values[row * messages + i].to_le_bytes());
                let crc = bytes.fold(!0, |crc: u32, byte| {
                    entries[usize::from(crc as u8 ^ byte)] ^ crc >> 8
                });
                f64::from(!crc)
            })
        }))
}

/// Returns the best score of a local alignment.
fn align(query: &[u8], target: &[u8]) -> i32 {
    let mut row = vec![0; target.len() + 1];
    let mut best = 0;
    for letter in query {
        let mut diagonal = 0;
        for (i, other) in target.iter().enumerate() {
            let above = row[i + 1];
            let score = diagonal + if letter == other { EQUAL } else { DIFFERENT };
            row[i + 1] = score.max(above - GAP).max(row[i] - GAP).max(0);
            best = best.max(row[i + 1]);
            diagonal = above;
        }
    }
    best
}

pub fn smith_waterman(scale: Scale) -> CudaResult<Case> {
    let pairs = scale.pick(3, 1 << 13);
    let letters = |count: usize, seed: u64| -> Vec<u8> {
        (0..count as u64)
            .map(|i| b"ACGT"[(random(i ^ (seed << 40)) & 3) as usize])
            .collect()
    };
    let (query, target) = (letters(pairs * QUERY, 1), letters(pairs * TARGET, 2));
    let queries = upload(query.as_chunks::<QUERY>().0)?;
    let targets = upload(target.as_chunks::<TARGET>().0)?;
    let to: Buffer<i32> = zeroed(pairs)?;
    let pointers = Args::new().pointer(&queries).pointer(&targets).pointer(&to);
    Ok(Case::new("smith_waterman", pairs, QUERY)
        .args(
            pointers.clone(),
            pointers,
            Args::new().slice(&queries).slice(&targets).output(&to),
        )
        .input(&queries)
        .input(&targets)
        .output(&to)
        .bytes(pairs * (QUERY + TARGET + 4))
        .check(move || {
            let results = download(&to)?;
            for pair in (0..pairs).step_by(pairs.div_ceil(200)) {
                let expected = align(
                    &query[pair * QUERY..][..QUERY],
                    &target[pair * TARGET..][..TARGET],
                );
                if results[pair] != expected {
                    let result = results[pair];
                    return Err(format!(
                        "score {pair} is {result}, but should be {expected}"
                    ));
                }
            }
            Ok(())
        }))
}

pub fn kmeans_assign(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(300, 1 << 22);
    let k = scale.pick(10, 64);
    let (points, centers) = (
        uniform_f32(n * COORDINATES, 1),
        uniform_f32(k * COORDINATES, 2),
    );
    let from_points = upload(points.as_chunks::<COORDINATES>().0)?;
    let from_centers = upload(centers.as_chunks::<COORDINATES>().0)?;
    let labels: Buffer<u32> = zeroed(n)?;
    let pointers = Args::new()
        .pointer(&from_points)
        .pointer(&from_centers)
        .pointer(&labels);
    Ok(Case::new("kmeans_assign", n.div_ceil(256), 256)
        .args(
            pointers.clone().value(k as i32).value(n as i32),
            pointers.value(k).value(n),
            Args::new()
                .slice(&from_points)
                .slice(&from_centers)
                .output(&labels),
        )
        .input(&from_points)
        .input(&from_centers)
        .output(&labels)
        .bytes(4 * n * (COORDINATES + 1))
        .f32_operations(3.0 * (n * k * COORDINATES) as f64)
        .check(move || {
            let results = download(&labels)?;
            for i in samples(n) {
                let distance = |c: usize| -> f64 {
                    let point = &points[i * COORDINATES..][..COORDINATES];
                    let center = &centers[c * COORDINATES..][..COORDINATES];
                    let differences = point.iter().zip(center).map(|(p, c)| p - c);
                    differences.map(|x| f64::from(x).powi(2)).sum()
                };
                let least = (0..k).map(distance).fold(f64::INFINITY, f64::min);
                let label = results[i] as usize;
                if label >= k || distance(label) > 1.000_01 * least {
                    return Err(format!("center {label} is not nearest to point {i}"));
                }
            }
            Ok(())
        }))
}

pub fn embedding_bag(scale: Scale) -> CudaResult<Case> {
    let rows = scale.pick(50, 1 << 20);
    let bags = scale.pick(10, 1 << 16);
    let values = uniform_f32(rows * EMBEDDING, 1);
    let mut offset_of = vec![0u32];
    for bag in 0..bags as u64 {
        let len = 16 + random(bag) % 33;
        offset_of.push(offset_of[bag as usize] + len as u32);
    }
    let index_of: Vec<u32> = (0..u64::from(offset_of[bags]))
        .map(|i| (uniform(i ^ (7 << 40)) * rows as f64) as u32)
        .collect();
    let table = upload(values.as_chunks::<EMBEDDING>().0)?;
    let (indices, offsets) = (upload(&index_of)?, upload(&offset_of)?);
    let to: Buffer<f32> = zeroed(bags * EMBEDDING)?;
    let pointers = Args::new()
        .pointer(&table)
        .pointer(&indices)
        .pointer(&offsets)
        .pointer(&to);
    Ok(
        Case::new("embedding_bag", (1, bags.div_ceil(4)), (EMBEDDING, 4))
            .args(
                pointers.clone().value(bags as i32),
                pointers.value(bags),
                Args::new()
                    .slice(&table)
                    .slice(&indices)
                    .slice(&offsets)
                    .rows(&to, EMBEDDING),
            )
            .input(&table)
            .input(&indices)
            .input(&offsets)
            .output(&to)
            .bytes(4 * (EMBEDDING + 1) * index_of.len() + 4 * bags * (EMBEDDING + 1))
            .check(move || {
                close(&to, 1e-4, 0.0, |i| {
                    let (bag, column) = (i / EMBEDDING, i % EMBEDDING);
                    index_of[offset_of[bag] as usize..offset_of[bag + 1] as usize]
                        .iter()
                        .map(|&i| f64::from(values[i as usize * EMBEDDING + column]))
                        .sum()
                })
            }),
    )
}
