//! Records, one per thread or warp.

use super::Scale;
use crate::case::{
    Args, Buffer, Case, close, download, random, uniform, uniform_f32, upload, zeroed,
};
use bench_kernels::records::{self, FAR, VECTORS, to_uniform};
use cust::error::CudaResult;
use cust::vector::F32x4;
use std::fmt::Write;

pub fn philox(scale: Scale) -> CudaResult<Case> {
    const SEED: u64 = 0x0123_4567_89ab_cdef;
    const KEY: [u32; 2] = [SEED as u32, (SEED >> 32) as u32];
    let n = scale.pick(1000, 1 << 25);
    let to: Buffer<f32> = zeroed(4 * n)?;
    let pointers = Args::new().value(SEED).pointer(&to);
    Ok(Case::new("philox", n.div_ceil(256), 256)
        .args(
            pointers.clone().value(n as i32),
            pointers.value(n),
            Args::new().value(SEED).output_vectors::<F32x4>(&to),
        )
        .output(&to)
        .bytes(16 * n)
        .check(move || {
            // The reference implementation's test vector.
            let known = [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8];
            if records::philox([0; 4], [0; 2]) != known {
                return Err("the generator differs from the reference".to_owned());
            }
            close(&to, 1e-6, 0.0, |i| {
                let bits = records::philox([i as u32 / 4, 0, 0, 0], KEY);
                to_uniform(bits[i % 4]).into()
            })
        }))
}

pub fn parse_rows(scale: Scale) -> CudaResult<Case> {
    const FIELDS: usize = 4;
    let rows = scale.pick(300, 1 << 21);
    let number = |i: usize| {
        let digits = random(i as u64) % 9;
        let size = 10i64.pow(digits as u32 + 1);
        (random(i as u64 ^ (1 << 40)) as i64 % size) as i32
    };
    let mut text = String::new();
    let mut offsets = vec![0];
    for row in 0..rows {
        for field in 0..FIELDS {
            let end = if field + 1 < FIELDS { ',' } else { '\n' };
            write!(text, "{}{end}", number(row * FIELDS + field)).expect("strings have no errors");
        }
        offsets.push(text.len() as u32);
    }
    let from = upload(text.as_bytes())?;
    let from_offsets = upload(&offsets)?;
    let to: Buffer<i32> = zeroed(rows * FIELDS)?;
    let pointers = Args::new()
        .pointer(&from)
        .pointer(&from_offsets)
        .pointer(&to);
    Ok(Case::new("parse_rows", rows.div_ceil(128), 128)
        .args(
            pointers.clone().value(FIELDS as i32).value(rows as i32),
            pointers.value(FIELDS).value(rows),
            Args::new()
                .slice(&from)
                .slice(&from_offsets)
                .rows(&to, rows),
        )
        .input(&from)
        .input(&from_offsets)
        .output(&to)
        .bytes(text.len() + 4 * rows + 4 * rows * FIELDS)
        .check(move || {
            close(&to, 0.0, 0.0, |i| {
                let (field, row) = (i / rows, i % rows);
                number(row * FIELDS + field).into()
            })
        }))
}

pub fn relax_edges(scale: Scale) -> CudaResult<Case> {
    let vertices = scale.pick(300, 1 << 20);
    let edges = scale.pick(2000, 1 << 24);
    // Edges are sorted by source, as in most files.
    let source_of: Vec<u32> = (0..edges).map(|i| (i * vertices / edges) as u32).collect();
    let target_of: Vec<u32> = (0..edges as u64)
        .map(|i| (random(i) % vertices as u64) as u32)
        .collect();
    let weight_of: Vec<u32> = (0..edges as u64)
        .map(|i| 1 + (random(i ^ (1 << 40)) % 1000) as u32)
        .collect();
    // The search has reached half of the vertices.
    let before: Vec<u32> = (0..vertices as u64)
        .map(|i| match random(i ^ (1 << 41)) {
            random if random % 2 == 0 => FAR,
            random => (random >> 32) as u32 % 2000,
        })
        .collect();
    let mut after = vec![FAR; vertices];
    for i in 0..edges {
        let distance = before[source_of[i] as usize];
        let target = target_of[i] as usize;
        if distance != FAR && distance + weight_of[i] < before[target] {
            after[target] = after[target].min(distance + weight_of[i]);
        }
    }
    let (sources, targets) = (upload(&source_of)?, upload(&target_of)?);
    let (weights, distances) = (upload(&weight_of)?, upload(&before)?);
    let next: Buffer<u32> = zeroed(vertices)?;
    let changed: Buffer<u32> = zeroed(1)?;
    let pointers = Args::new()
        .pointer(&sources)
        .pointer(&targets)
        .pointer(&weights)
        .pointer(&distances)
        .pointer(&next)
        .pointer(&changed);
    Ok(Case::new("relax_edges", edges.div_ceil(256), 256)
        .args(
            pointers.clone().value(edges as i32),
            pointers.value(edges),
            Args::new()
                .slice(&sources)
                .slice(&targets)
                .slice(&weights)
                .slice(&distances)
                .slice(&next)
                .pointer(&changed),
        )
        .input(&sources)
        .input(&targets)
        .input(&weights)
        .input(&distances)
        .output_from(&next, 0xff)
        .output_from(&changed, 0)
        .reset()
        // The target and the weight of half of the edges are needed.
        .bytes(8 * edges + 12 * vertices)
        .check(move || {
            if download(&changed)? != [1] {
                return Err("no distance has changed".to_owned());
            }
            close(&next, 0.0, 0.0, |i| after[i].into())
        }))
}

pub fn spmm(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(100, 1 << 17);
    let (mut row_starts, mut column_of) = (vec![0], Vec::new());
    for row in 0..n as u64 {
        // Few long rows, and many short ones.
        let len = (8.0 * uniform(row).max(1e-4).powf(-0.5)) as u64;
        column_of.extend((0..len).map(|i| (random(row << 24 | i) % n as u64) as u32));
        row_starts.push(column_of.len() as u32);
    }
    let count = column_of.len();
    let factors = uniform_f32(count, 1);
    let dense = uniform_f32(n * VECTORS * 4, 2);
    let (rows, columns) = (upload(&row_starts)?, upload(&column_of)?);
    let (values, b) = (upload(&factors)?, upload(&dense)?);
    let c: Buffer<f32> = zeroed(n * VECTORS * 4)?;
    let pointers = Args::new()
        .pointer(&rows)
        .pointer(&columns)
        .pointer(&values)
        .pointer(&b)
        .pointer(&c);
    // A slice of rows of `b`.
    let matrix = Args::new().pointer(&b).value(n);
    Ok(Case::new("spmm", n.div_ceil(8), 256)
        .args(
            pointers.clone().value(n as i32),
            pointers.value(n),
            Args::new()
                .slice(&rows)
                .slice(&columns)
                .slice(&values)
                .and(matrix)
                .output_vectors::<F32x4>(&c),
        )
        .input(&rows)
        .input(&columns)
        .input(&values)
        .input(&b)
        .output(&c)
        .bytes(8 * count + 4 * n + 2 * 16 * n * VECTORS)
        .f32_operations(2.0 * (count * VECTORS * 4) as f64)
        .check(move || {
            close(&c, 1e-5, 0.0, |i| {
                let (row, column) = (i / (4 * VECTORS), i % (4 * VECTORS));
                (row_starts[row] as usize..row_starts[row + 1] as usize)
                    .map(|i| {
                        let from = column_of[i] as usize * 4 * VECTORS + column;
                        f64::from(factors[i]) * f64::from(dense[from])
                    })
                    .sum()
            })
        }))
}
