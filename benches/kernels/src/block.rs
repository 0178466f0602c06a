//! Block-wide algorithms: histogram, reduction, scan, softmax, sorting.

use cuda_std::atomic::{Atomic, Ordering::Relaxed};
use cuda_std::group;
use cuda_std::prelude::*;
use cuda_std::scope::{Block, Device};
use cuda_std::shared::{Array, Shared};
use cuda_std::{PerBlock, warp};

/// The number of bins of the histogram.
pub const BINS: usize = 256;
/// The number of threads per block of most kernels here.
pub const THREADS: usize = 256;
/// The number of keys that a block sorts, two per thread.
pub const SORTED: usize = 1024;
/// The number of columns of the softmax's matrix.
pub const WIDTH: usize = 4096;

/// The number of occurrences of each byte.
#[kernel(block_size(256))]
pub fn histogram_safe(
    #[shared] mut counts: Shared<Array<Atomic<u32, Block>, BINS>>,
    from: &[u32],
    to: &[Atomic<u32, Device>],
) {
    counts.own().each(|_, count| *count.get_mut() = 0);
    counts.read(|counts| {
        for (_, word) in thread::elements(from) {
            for byte in word.to_le_bytes() {
                counts[usize::from(byte)].fetch_add(1, Relaxed);
            }
        }
    });
    counts.own().each(|i, count| {
        to[i].fetch_add(*count.get_mut(), Relaxed);
    });
}

/// The number of occurrences of each byte.
#[kernel(block_size(256))]
pub unsafe fn histogram_raw(from: *const u32, to: *mut u32, n: usize) {
    let counts = shared_array![u32; BINS];
    let thread = thread::thread_idx_x() as usize;
    *counts.add(thread) = 0;
    thread::sync_threads();
    let step = thread::grid_size_1d() as usize;
    let mut i = thread::index_1d() as usize;
    while i < n {
        let word = *from.add(i);
        for shift in [0, 8, 16, 24] {
            let bin = (word >> shift & 255) as usize;
            Atomic::<u32, Block>::from_ptr(counts.add(bin)).fetch_add(1, Relaxed);
        }
        i += step;
    }
    thread::sync_threads();
    Atomic::<u32, Device>::from_ptr(to.add(thread)).fetch_add(*counts.add(thread), Relaxed);
}

/// The sum of each block's elements.
#[kernel(block_size(256))]
pub fn reduce_safe(from: &[f32], mut to: PerBlock<f32>) {
    let sum = thread::elements(from).map(|(_, x)| x).sum();
    let sum = group::block().reduce(sum, |a: f32, b| a + b);
    to.each(|_, to| *to = sum);
}

/// The sum of each block's elements.
#[kernel(block_size(256))]
pub unsafe fn reduce_raw(from: *const f32, to: *mut f32, n: usize) {
    let shared = shared_array![f32; THREADS / 32];
    let step = thread::grid_size_1d() as usize;
    let mut i = thread::index_1d() as usize;
    let mut sum = 0.0;
    while i < n {
        sum += *from.add(i);
        i += step;
    }
    sum = block_sum(sum, shared);
    if thread::thread_idx_x() == 0 {
        *to.add(thread::block_idx_x() as usize) = sum;
    }
}

/// The sum of the values of all threads, in the first warp.
#[inline(always)]
unsafe fn block_sum(mut sum: f32, shared: *mut f32) -> f32 {
    let thread = thread::thread_idx_x() as usize;
    for distance in [16, 8, 4, 2, 1] {
        sum += warp::shuffle_down(warp::FULL, sum, distance);
    }
    if thread % 32 == 0 {
        *shared.add(thread / 32) = sum;
    }
    thread::sync_threads();
    if thread < 32 {
        sum = if thread < THREADS / 32 {
            *shared.add(thread)
        } else {
            0.0
        };
        for distance in [4, 2, 1] {
            sum += warp::shuffle_down(warp::FULL, sum, distance);
        }
    }
    sum
}

/// The exclusive scan of each group of 256 elements.
#[kernel(block_size(256))]
pub fn block_scan_safe(from: &[u32], mut to: PerThread<u32>) {
    let mine = from.get(thread::index() as usize).copied().unwrap_or(0);
    let before = group::block().exclusive_scan(mine, 0, |a, b| a + b);
    to.each(|_, to| *to = before);
}

/// The exclusive scan of each group of 256 elements.
#[kernel(block_size(256))]
pub unsafe fn block_scan_raw(from: *const u32, to: *mut u32, n: usize) {
    let shared = shared_array![u32; THREADS / 32];
    let (thread, lane) = (thread::thread_idx_x() as usize, thread::lane_id());
    let i = thread::index_1d() as usize;
    let mine = if i < n { *from.add(i) } else { 0 };
    let mut up_to = mine;
    for distance in [1, 2, 4, 8, 16] {
        let other = warp::shuffle_up(warp::FULL, up_to, distance);
        if lane >= distance {
            up_to += other;
        }
    }
    if lane == 31 {
        *shared.add(thread / 32) = up_to;
    }
    thread::sync_threads();
    if thread < 32 {
        let mut sum = if thread < THREADS / 32 {
            *shared.add(thread)
        } else {
            0
        };
        for distance in [1, 2, 4] {
            let other = warp::shuffle_up(warp::FULL, sum, distance);
            if lane >= distance {
                sum += other;
            }
        }
        if thread < THREADS / 32 {
            *shared.add(thread) = sum;
        }
    }
    thread::sync_threads();
    let before = if thread < 32 {
        0
    } else {
        *shared.add(thread / 32 - 1)
    };
    if i < n {
        *to.add(i) = before + up_to - mine;
    }
}

/// The softmax of each row of [`WIDTH`] elements, one row per block.
#[kernel(block_size(256))]
pub fn softmax_safe(from: &[f32], mut to: PerBlock<f32, WIDTH>) {
    let block = group::block();
    for mut row in to.pieces() {
        let start = row.start();
        let numbers = &from[start..start + row.len()];
        let mut largest = f32::NEG_INFINITY;
        for i in thread::block_stride(numbers.len()) {
            largest = largest.max(numbers[i]);
        }
        let largest = block.reduce(largest, f32::max);
        let mut sum = 0.0;
        for i in thread::block_stride(numbers.len()) {
            sum += (numbers[i] - largest).exp();
        }
        let scale = 1.0 / block.reduce(sum, |a, b| a + b);
        row.each(|i, to| *to = (numbers[i - start] - largest).exp() * scale);
    }
}

/// The softmax of each row of [`WIDTH`] elements, one row per block.
#[kernel(block_size(256))]
pub unsafe fn softmax_raw(from: *const f32, to: *mut f32) {
    let shared = shared_array![f32; THREADS / 32];
    let thread = thread::thread_idx_x() as usize;
    let row = thread::block_idx_x() as usize * WIDTH;
    let (from, to) = (from.add(row), to.add(row));
    let mut largest = f32::NEG_INFINITY;
    for i in (thread..WIDTH).step_by(THREADS) {
        largest = largest.max(*from.add(i));
    }
    for distance in [16, 8, 4, 2, 1] {
        largest = largest.max(warp::shuffle_xor(warp::FULL, largest, distance));
    }
    if thread % 32 == 0 {
        *shared.add(thread / 32) = largest;
    }
    thread::sync_threads();
    largest = *shared;
    for i in 1..THREADS / 32 {
        largest = largest.max(*shared.add(i));
    }
    thread::sync_threads();
    let mut sum = 0.0;
    for i in (thread..WIDTH).step_by(THREADS) {
        sum += (*from.add(i) - largest).exp();
    }
    let scale = 1.0 / sum_of_block(sum, shared);
    for i in (thread..WIDTH).step_by(THREADS) {
        *to.add(i) = (*from.add(i) - largest).exp() * scale;
    }
}

/// The number of columns of the layer norm's matrix.
pub const NORM: usize = 1024;
/// The term that is added to variances.
pub const EPSILON: f32 = 1e-5;

/// Layer norm: normalizes each row to mean 0 and variance 1, times `gamma` plus `beta`.
#[kernel(block_size(256))]
pub fn layer_norm_safe(from: &[f32], gamma: &[f32], beta: &[f32], mut to: PerBlock<f32, NORM>) {
    let block = group::block();
    let (rows, _) = from.as_chunks::<NORM>();
    for mut row in to.pieces() {
        let start = row.start();
        let numbers = &rows[start / NORM];
        let mine = || thread::block_stride(NORM).map(|i| numbers[i]);
        let mean = block.reduce(mine().sum::<f32>(), |a, b| a + b) / NORM as f32;
        let squares = mine().map(|x| (x - mean) * (x - mean)).sum::<f32>();
        let variance = block.reduce(squares, |a, b| a + b) / NORM as f32;
        let scale = (variance + EPSILON).rsqrt();
        row.each(|i, to| {
            let i = i - start;
            *to = (numbers[i] - mean) * scale * gamma[i] + beta[i];
        });
    }
}

/// Layer norm: normalizes each row to mean 0 and variance 1, times `gamma` plus `beta`.
#[kernel(block_size(256))]
pub unsafe fn layer_norm_raw(from: *const f32, gamma: *const f32, beta: *const f32, to: *mut f32) {
    let shared = shared_array![f32; THREADS / 32];
    let thread = thread::thread_idx_x() as usize;
    let row = thread::block_idx_x() as usize * NORM;
    let (from, to) = (from.add(row), to.add(row));
    let mut sum = 0.0;
    for i in (thread..NORM).step_by(THREADS) {
        sum += *from.add(i);
    }
    let mean = sum_of_block(sum, shared) / NORM as f32;
    let mut squares = 0.0;
    for i in (thread..NORM).step_by(THREADS) {
        squares += (*from.add(i) - mean) * (*from.add(i) - mean);
    }
    let variance = sum_of_block(squares, shared) / NORM as f32;
    let scale = (variance + EPSILON).rsqrt();
    for i in (thread..NORM).step_by(THREADS) {
        *to.add(i) = (*from.add(i) - mean) * scale * *gamma.add(i) + *beta.add(i);
    }
}

/// The sum of the values of all threads, in all threads.
#[inline(always)]
unsafe fn sum_of_block(mut sum: f32, shared: *mut f32) -> f32 {
    let thread = thread::thread_idx_x() as usize;
    for distance in [16, 8, 4, 2, 1] {
        sum += warp::shuffle_xor(warp::FULL, sum, distance);
    }
    if thread % 32 == 0 {
        *shared.add(thread / 32) = sum;
    }
    thread::sync_threads();
    sum = *shared;
    for i in 1..THREADS / 32 {
        sum += *shared.add(i);
    }
    thread::sync_threads();
    sum
}

/// Sorts each group of [`SORTED`] keys with a bitonic network in shared memory.
#[kernel(block_size(512))]
pub fn bitonic_safe(
    #[shared] mut keys: Shared<Array<Atomic<u32, Block>, SORTED>>,
    from: &[u32],
    mut to: PerBlock<u32, SORTED>,
) {
    let thread = thread::index_in_block() as usize;
    for mut piece in to.pieces() {
        let start = piece.start();
        keys.own().each(|i, key| *key.get_mut() = from[start + i]);
        keys.read(|keys| {
            let mut size = 2;
            while size <= SORTED {
                let mut stride = size / 2;
                while stride > 0 {
                    let low = 2 * thread - (thread & (stride - 1));
                    let high = low + stride;
                    let (a, b) = (keys[low].load(Relaxed), keys[high].load(Relaxed));
                    if (a > b) == (low & size == 0) {
                        keys[low].store(b, Relaxed);
                        keys[high].store(a, Relaxed);
                    }
                    thread::sync_threads();
                    stride /= 2;
                }
                size *= 2;
            }
            piece.each(|i, to| *to = keys[i - start].load(Relaxed));
        });
    }
}

/// Sorts each group of [`SORTED`] keys with a bitonic network in shared memory.
#[kernel(block_size(512))]
pub unsafe fn bitonic_raw(from: *const u32, to: *mut u32) {
    let keys = shared_array![u32; SORTED];
    let thread = thread::thread_idx_x() as usize;
    let start = thread::block_idx_x() as usize * SORTED;
    *keys.add(thread) = *from.add(start + thread);
    *keys.add(thread + SORTED / 2) = *from.add(start + thread + SORTED / 2);
    thread::sync_threads();
    let mut size = 2;
    while size <= SORTED {
        let mut stride = size / 2;
        while stride > 0 {
            let low = 2 * thread - (thread & (stride - 1));
            let (first, second) = (keys.add(low), keys.add(low + stride));
            let (a, b) = (*first, *second);
            if (a > b) == (low & size == 0) {
                *first = b;
                *second = a;
            }
            thread::sync_threads();
            stride /= 2;
        }
        size *= 2;
    }
    *to.add(start + thread) = *keys.add(thread);
    *to.add(start + thread + SORTED / 2) = *keys.add(thread + SORTED / 2);
}
