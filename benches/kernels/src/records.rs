//! Records, one per thread or warp: random numbers, numbers in text, relaxed edges of graphs, and
//! rows of sparse matrices times dense ones.

use cuda_std::atomic::{Atomic, Ordering::Relaxed};
use cuda_std::group::{self, Lanes};
use cuda_std::prelude::*;
use cuda_std::scope::Device;
use cuda_std::vector::F32x4;
use cuda_std::{PerColumn, PerWarp, warp};

/// Returns four random words: Philox4x32 with ten rounds. Shared by host and device.
#[inline(always)]
pub fn philox(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..10 {
        let first = u64::from(counter[0]) * 0xd251_1f53;
        let second = u64::from(counter[2]) * 0xcd9e_8d57;
        counter = [
            (second >> 32) as u32 ^ counter[1] ^ key[0],
            second as u32,
            (first >> 32) as u32 ^ counter[3] ^ key[1],
            first as u32,
        ];
        key[0] = key[0].wrapping_add(0x9e37_79b9);
        key[1] = key[1].wrapping_add(0xbb67_ae85);
    }
    counter
}

/// Returns a number above 0 and at most 1. Shared by host and device.
#[inline(always)]
pub fn to_uniform(bits: u32) -> f32 {
    const UNIT: f32 = 1.0 / (1u64 << 32) as f32;
    bits as f32 * UNIT + UNIT / 2.0
}

/// Uniform random numbers, four per counter of the generator.
#[kernel(block_size(256))]
pub fn philox_safe(seed: u64, mut to: PerThread<F32x4>) {
    let key = [seed as u32, (seed >> 32) as u32];
    to.each(|i, to| {
        let bits = philox([i as u32, 0, 0, 0], key);
        *to = bits.map(to_uniform).into();
    });
}

/// Uniform random numbers: see [`philox_safe()`].
#[kernel(block_size(256))]
pub unsafe fn philox_raw(seed: u64, to: *mut F32x4, n: usize) {
    let key = [seed as u32, (seed >> 32) as u32];
    let i = thread::index_1d() as usize;
    if i < n {
        let bits = philox([i as u32, 0, 0, 0], key);
        *to.add(i) = bits.map(to_uniform).into();
    }
}

/// Returns the integer before the next comma or line feed. Shared by host and device.
#[inline(always)]
pub fn parse<'a>(bytes: &mut impl Iterator<Item = &'a u8>) -> i32 {
    let (mut value, mut negative) = (0, false);
    for &byte in bytes {
        match byte {
            b',' | b'\n' => break,
            b'-' => negative = true,
            digit => value = value * 10 + i32::from(digit) - i32::from(b'0'),
        }
    }
    if negative { -value } else { value }
}

/// The integers of comma-separated values, one row per thread. The bytes of row `i` are those of
/// `text` from `offsets[i]` to `offsets[i + 1]`, and its integers are column `i` of the output.
#[kernel(block_size(128))]
pub fn parse_rows_safe(text: &[u8], offsets: &[u32], mut to: PerColumn<i32>) {
    to.each(|row, mut fields| {
        let mut bytes = text[offsets[row] as usize..offsets[row + 1] as usize].iter();
        for field in fields.iter_mut() {
            *field = parse(&mut bytes);
        }
    });
}

/// The integers of comma-separated values: see [`parse_rows_safe()`].
#[kernel(block_size(128))]
pub unsafe fn parse_rows_raw(
    text: *const u8,
    offsets: *const u32,
    to: *mut i32,
    fields: usize,
    rows: usize,
) {
    let row = thread::index_1d() as usize;
    if row >= rows {
        return;
    }
    let mut at = text.add(*offsets.add(row) as usize);
    let end = text.add(*offsets.add(row + 1) as usize);
    for field in 0..fields {
        let (mut value, mut negative) = (0, false);
        while at < end {
            let byte = *at;
            at = at.add(1);
            match byte {
                b',' | b'\n' => break,
                b'-' => negative = true,
                digit => value = value * 10 + i32::from(digit) - i32::from(b'0'),
            }
        }
        *to.add(field * rows + row) = if negative { -value } else { value };
    }
}

/// The distance of vertices that the search has not reached.
pub const FAR: u32 = u32::MAX;

/// A step of Bellman and Ford's search for shortest paths, one edge per thread: lowers `next`, the
/// distances after the step, and sets `changed` if a distance is less than before.
#[kernel(block_size(256))]
pub fn relax_edges_safe(
    sources: &[u32],
    targets: &[u32],
    weights: &[u32],
    distances: &[u32],
    next: &[Atomic<u32, Device>],
    changed: &Atomic<u32, Device>,
) {
    for (edge, &source) in thread::elements(sources) {
        let distance = distances[source as usize];
        if distance != FAR {
            let target = targets[edge] as usize;
            let sum = distance + weights[edge];
            if sum < distances[target] && sum < next[target].load(Relaxed) {
                next[target].fetch_min(sum, Relaxed);
                changed.store(1, Relaxed);
            }
        }
    }
}

/// A step of Bellman and Ford's search for shortest paths: see [`relax_edges_safe()`].
#[kernel(block_size(256))]
pub unsafe fn relax_edges_raw(
    sources: *const u32,
    targets: *const u32,
    weights: *const u32,
    distances: *const u32,
    next: *mut u32,
    changed: *mut u32,
    n: usize,
) {
    let edge = thread::index_1d() as usize;
    if edge >= n {
        return;
    }
    let distance = *distances.add(*sources.add(edge) as usize);
    if distance != FAR {
        let target = *targets.add(edge) as usize;
        let sum = distance + *weights.add(edge);
        let next = Atomic::<u32, Device>::from_ptr(next.add(target));
        if sum < *distances.add(target) && sum < next.load(Relaxed) {
            next.fetch_min(sum, Relaxed);
            Atomic::<u32, Device>::from_ptr(changed).store(1, Relaxed);
        }
    }
}

/// The number of vectors of a row of the dense matrices of [`spmm_safe()`].
pub const VECTORS: usize = 32;

/// The product of a sparse matrix in compressed sparse row format (CSR) and a dense matrix, one row
/// per warp. The lanes load 32 elements of the row at once, and exchange them by shuffles.
#[kernel(block_size(256))]
pub fn spmm_safe(
    rows: &[u32],
    columns: &[u32],
    values: &[f32],
    b: &[[F32x4; VECTORS]],
    mut c: PerWarp<F32x4, VECTORS>,
) {
    let warp = group::warp();
    let lane = thread::lane_id() as usize;
    let row = thread::index() as usize / 32;
    if row < c.len() / VECTORS {
        let range = rows[row] as usize..rows[row + 1] as usize;
        let (columns, values) = (&columns[range.clone()], &values[range]);
        let mut sum = F32x4::splat(0.0);
        for (columns, values) in columns.chunks(32).zip(values.chunks(32)) {
            let column = columns.get(lane).copied().unwrap_or(0);
            let value = values.get(lane).copied().unwrap_or(0.0);
            for k in 0..columns.len() as u32 {
                let column = warp.shuffle(column, k) as usize;
                sum += warp.shuffle(value, k) * b[column][lane];
            }
        }
        c.each(|_, c| *c = sum);
    }
}

/// The product of a sparse and a dense matrix: see [`spmm_safe()`].
#[kernel(block_size(256))]
pub unsafe fn spmm_raw(
    rows: *const u32,
    columns: *const u32,
    values: *const f32,
    b: *const F32x4,
    c: *mut F32x4,
    n: usize,
) {
    let row = thread::index_1d() as usize / 32;
    let lane = thread::lane_id() as usize;
    if row >= n {
        return;
    }
    let mut start = *rows.add(row) as usize;
    let end = *rows.add(row + 1) as usize;
    let mut sum = F32x4::splat(0.0);
    while start < end {
        let count = (end - start).min(32);
        let (mut column, mut value) = (0, 0.0);
        if lane < count {
            column = *columns.add(start + lane);
            value = *values.add(start + lane);
        }
        for k in 0..count as u32 {
            let column = warp::shuffle(warp::FULL, column, k) as usize;
            let value = warp::shuffle(warp::FULL, value, k);
            sum += value * *b.add(column * VECTORS + lane);
        }
        start += 32;
    }
    *c.add(row * VECTORS + lane) = sum;
}
