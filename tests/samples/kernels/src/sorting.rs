//! Sorting networks, merge sort, radix sort.

use cuda_std::atomic::{Atomic, Ordering::*};
use cuda_std::group;
use cuda_std::prelude::*;
use cuda_std::scope::{Block, Device};
use cuda_std::shared::{Array, Shared};

/// Keys that a block sorts.
pub const SORTED: usize = 256;

/// A bitonic network in shared memory: each thread has a key, and exchanges it with its partner's.
/// Every other block sorts downwards.
#[kernel(block_size(256))]
pub fn bitonic_blocks(#[shared] mut keys: Shared<Array<u32, 256>>, mut data: PerThread<u32>) {
    let i = thread::index_in_block() as usize;
    let down = thread::block_index() % 2 == 1;
    let mut key = 0;
    data.each(|_, element| key = *element);
    let mut size = 2;
    while size <= SORTED {
        let mut stride = size / 2;
        while stride > 0 {
            keys.own().each(|_, to| *to = key);
            let other = keys.read(|keys| keys[i ^ stride]);
            let wants_small = (i & size == 0) == (i & stride == 0);
            key = if wants_small != (down && size == SORTED) {
                key.min(other)
            } else {
                key.max(other)
            };
            stride /= 2;
        }
        size *= 2;
    }
    data.each(|_, element| *element = key);
}

/// A step of a bitonic network in global memory: each thread has a pair.
#[kernel]
pub fn bitonic_step(size: u32, stride: u32, keys: &[Atomic<u32, Device>]) {
    for pair in thread::grid_stride(keys.len() / 2) {
        let (size, stride) = (size as usize, stride as usize);
        let low = pair / stride * stride * 2 + pair % stride;
        let (first, second) = (&keys[low], &keys[low + stride]);
        let (a, b) = (first.load(Relaxed), second.load(Relaxed));
        if (a > b) == (low & size == 0) {
            first.store(b, Relaxed);
            second.store(a, Relaxed);
        }
    }
}

/// Batcher's odd-even merge sort of a block's keys: each thread has a pair.
#[kernel(block_size(128))]
pub fn odd_even(
    #[shared] mut keys: Shared<Array<Atomic<u32, Block>, 256>>,
    data: &[Atomic<u32, Device>],
) {
    let base = thread::block_index() as usize * SORTED;
    keys.own()
        .each(|i, key| *key.get_mut() = data[base + i].load(Relaxed));
    keys.read(|keys| {
        let t = thread::index_in_block() as usize;
        let exchange = |i: usize, j: usize| {
            let (a, b) = (keys[i].load(Relaxed), keys[j].load(Relaxed));
            if a > b {
                keys[i].store(b, Relaxed);
                keys[j].store(a, Relaxed);
            }
        };
        let mut size = 2;
        while size <= SORTED {
            let mut stride = size / 2;
            let offset = t & (stride - 1);
            thread::sync_threads();
            let at = 2 * t - (t & (stride - 1));
            exchange(at, at + stride);
            stride /= 2;
            while stride > 0 {
                thread::sync_threads();
                let at = 2 * t - (t & (stride - 1));
                if offset >= stride {
                    exchange(at - stride, at);
                }
                stride /= 2;
            }
            size *= 2;
        }
    });
    keys.own()
        .each(|i, key| data[base + i].store(*key.get_mut(), Relaxed));
}

/// Merges sorted runs in pairs: each element finds its place by a search in the other run.
#[kernel]
pub fn merge_runs(run: usize, from: &[u32], to: &[Atomic<u32, Device>]) {
    for (i, &key) in thread::elements(from) {
        let number = i / run;
        let start = number / 2 * 2 * run;
        let other = if number % 2 == 0 { start + run } else { start };
        let other = &from[other.min(from.len())..(other + run).min(from.len())];
        // Equal keys keep their order.
        let before = match number % 2 {
            0 => other.partition_point(|&x| x < key),
            _ => other.partition_point(|&x| x <= key),
        };
        to[start + i % run + before].store(key, Relaxed);
    }
}

/// Digits of two bits.
pub const DIGITS: usize = 4;

fn digit(key: u32, shift: u32) -> usize {
    (key >> shift) as usize % DIGITS
}

fn add(a: [u32; DIGITS], b: [u32; DIGITS]) -> [u32; DIGITS] {
    core::array::from_fn(|i| a[i] + b[i])
}

fn one(key: Option<&u32>, shift: u32) -> [u32; DIGITS] {
    let mut counts = [0; DIGITS];
    if let Some(&key) = key {
        counts[digit(key, shift)] = 1;
    }
    counts
}

/// How many of each digit each block has: all blocks' zeros, then all blocks' ones, and so on.
#[kernel(block_size(256))]
pub fn radix_count(shift: u32, keys: &[u32], counts: &[Atomic<u32, Device>]) {
    let key = keys.get(thread::index() as usize);
    let all = group::block().reduce(one(key, shift), add);
    let (block, blocks) = (
        thread::block_index() as usize,
        thread::grid_dim_x() as usize,
    );
    if thread::index_in_block() == 0 {
        for (digit, &count) in all.iter().enumerate() {
            counts[digit * blocks + block].store(count, Relaxed);
        }
    }
}

/// Where each block's digits begin, by one block.
#[kernel]
pub fn radix_scan(counts: &[u32], mut starts: PerThread<u32>) {
    let count = counts.get(thread::index() as usize).copied().unwrap_or(0);
    let before = group::block().exclusive_scan(count, 0, |a, b| a + b);
    starts.each(|_, start| *start = before);
}

/// Puts the keys in the order of their digits.
#[kernel(block_size(256))]
pub fn radix_scatter(shift: u32, keys: &[u32], starts: &[u32], to: &[Atomic<u32, Device>]) {
    let key = keys.get(thread::index() as usize);
    let before = group::block().exclusive_scan(one(key, shift), [0; DIGITS], add);
    let (block, blocks) = (
        thread::block_index() as usize,
        thread::grid_dim_x() as usize,
    );
    if let Some(&key) = key {
        let digit = digit(key, shift);
        to[(starts[digit * blocks + block] + before[digit]) as usize].store(key, Relaxed);
    }
}
