//! Sequences: differences, sums of segments, a filter that reduces the sample rate, a pass of a radix
//! sort, maxima of windows, and counts of short sequences of DNA.

use cuda_std::atomic::{Atomic, Ordering::Relaxed};
use cuda_std::prelude::*;
use cuda_std::scope::Device;
use cuda_std::shared::{Array, Shared};
use cuda_std::{PerThreadChunk, group, warp};

/// The number of values that a thread decodes.
pub const VALUES: usize = 4;
/// The number of values of a page, one page per block.
pub const PAGE: usize = 256 * VALUES;

/// Returns the signed number of a zigzag code, as a word.
#[inline(always)]
pub fn from_zigzag(code: u16) -> u32 {
    let code = u32::from(code);
    code >> 1 ^ 0u32.wrapping_sub(code & 1)
}

/// Decodes pages of integers. A page consists of its first value, and of the differences of
/// consecutive values as zigzag codes.
#[kernel(block_size(256))]
pub fn delta_decode_safe(firsts: &[u32], codes: &[u16], mut to: PerThreadChunk<u32, VALUES>) {
    let block = group::block();
    let (groups, _) = codes.as_chunks::<VALUES>();
    let mine = groups.get(thread::index() as usize).copied();
    let differences = mine.unwrap_or_default().map(from_zigzag);
    let sum = differences
        .iter()
        .fold(0, |sum: u32, &x| sum.wrapping_add(x));
    let first = firsts[block.number() as usize];
    let before = block.exclusive_scan(sum, first, u32::wrapping_add);
    for (_, chunk) in to.whole() {
        let mut value = before;
        for (to, difference) in chunk.iter_mut().zip(differences) {
            value = value.wrapping_add(difference);
            *to = value;
        }
    }
}

/// Decodes pages of integers: see [`delta_decode_safe()`].
#[kernel(block_size(256))]
pub unsafe fn delta_decode_raw(firsts: *const u32, codes: *const u16, to: *mut u32) {
    let sums = shared_array![u32; 8];
    let (thread, lane) = (thread::thread_idx_x() as usize, thread::lane_id());
    let block = thread::block_idx_x() as usize;
    let start = block * PAGE + thread * VALUES;
    let mut differences = [0; VALUES];
    let mut sum = 0u32;
    for k in 0..VALUES {
        differences[k] = from_zigzag(*codes.add(start + k));
        sum = sum.wrapping_add(differences[k]);
    }
    let mut up_to = sum;
    for distance in [1, 2, 4, 8, 16] {
        let other = warp::shuffle_up(warp::FULL, up_to, distance);
        if lane >= distance {
            up_to = up_to.wrapping_add(other);
        }
    }
    if lane == 31 {
        *sums.add(thread / 32) = up_to;
    }
    thread::sync_threads();
    let mut value = (*firsts.add(block)).wrapping_add(up_to).wrapping_sub(sum);
    for warp in 0..thread / 32 {
        value = value.wrapping_add(*sums.add(warp));
    }
    for k in 0..VALUES {
        value = value.wrapping_add(differences[k]);
        *to.add(start + k) = value;
    }
}

/// Adds the values of each key. Keys are sorted, so that a warp adds the sums of its segments.
#[kernel(block_size(256))]
pub fn segmented_sum_safe(keys: &[u32], values: &[f32], sums: &[Atomic<f32, Device>]) {
    let warp = group::warp();
    let i = thread::index() as usize;
    let (key, value) = match (keys.get(i), values.get(i)) {
        (Some(&key), Some(&value)) => (key, value),
        _ => (u32::MAX, 0.0),
    };
    let (_, sum) = warp.inclusive_scan((key, value), |(a_key, a), (key, b)| {
        (key, if a_key == key { a + b } else { b })
    });
    let next = warp.shuffle_down(key, 1);
    let ends = warp.rank() == 31 || next != key;
    if ends && let Some(to) = sums.get(key as usize) {
        to.fetch_add(sum, Relaxed);
    }
}

/// Adds the values of each key: see [`segmented_sum_safe()`].
#[kernel(block_size(256))]
pub unsafe fn segmented_sum_raw(keys: *const u32, values: *const f32, sums: *mut f32, n: usize) {
    let i = thread::index_1d() as usize;
    let lane = thread::lane_id();
    let (mut key, mut sum) = (u32::MAX, 0.0);
    if i < n {
        key = *keys.add(i);
        sum = *values.add(i);
    }
    for distance in [1, 2, 4, 8, 16] {
        let other_key = warp::shuffle_up(warp::FULL, key, distance);
        let other = warp::shuffle_up(warp::FULL, sum, distance);
        if lane >= distance && other_key == key {
            sum += other;
        }
    }
    let next = warp::shuffle_down(warp::FULL, key, 1);
    if key != u32::MAX && (lane == 31 || next != key) {
        Atomic::<f32, Device>::from_ptr(sums.add(key as usize)).fetch_add(sum, Relaxed);
    }
}

/// The number of samples per sample of the result.
pub const FACTOR: usize = 4;

/// A low-pass filter that keeps each fourth sample.
#[kernel(block_size(256))]
pub fn fir_decimate_safe(from: &[f32], taps: &[f32], mut to: PerThread<f32>) {
    to.each(|i, to| {
        let samples = &from[i * FACTOR..][..taps.len()];
        *to = samples.iter().zip(taps).map(|(x, tap)| x * tap).sum();
    });
}

/// A low-pass filter that keeps each fourth sample.
#[kernel(block_size(256))]
pub unsafe fn fir_decimate_raw(
    from: *const f32,
    taps: *const f32,
    count: usize,
    to: *mut f32,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let samples = from.add(i * FACTOR);
    let mut sum = 0.0;
    for k in 0..count {
        sum += *samples.add(k) * *taps.add(k);
    }
    *to.add(i) = sum;
}

/// The number of bits of a digit.
pub const DIGIT_BITS: u32 = 2;

/// Returns a digit of a key.
#[inline(always)]
fn digit(key: u32, shift: u32) -> usize {
    (key >> shift & ((1 << DIGIT_BITS) - 1)) as usize
}

/// Moves keys to the places of one digit: a pass of a radix sort. `starts` has the place of the
/// first key of each block, for each digit. A scan adds the counts of all digits at once, each of
/// which has 16 bits.
#[kernel(block_size(256))]
pub fn radix_scatter_safe(keys: &[u32], starts: &[u32], shift: u32, to: &[Atomic<u32, Device>]) {
    let block = group::block();
    let key = keys.get(thread::index() as usize).copied();
    let count = key.map_or(0, |key| 1u64 << (16 * digit(key, shift)));
    let before = block.exclusive_scan(count, 0, |a, b| a + b);
    let Some(key) = key else { return };
    let digit = digit(key, shift);
    let rank = (before >> (16 * digit)) as u16;
    let blocks = thread::blocks_in_grid() as usize;
    let start = starts[digit * blocks + block.number() as usize];
    to[start as usize + usize::from(rank)].store(key, Relaxed);
}

/// Moves keys to the places of one digit: see [`radix_scatter_safe()`].
#[kernel(block_size(256))]
pub unsafe fn radix_scatter_raw(
    keys: *const u32,
    starts: *const u32,
    shift: u32,
    to: *mut u32,
    n: usize,
) {
    let sums = shared_array![u64; 8];
    let (thread, lane) = (thread::thread_idx_x() as usize, thread::lane_id());
    let i = thread::index_1d() as usize;
    let (mut key, mut count) = (0, 0u64);
    if i < n {
        key = *keys.add(i);
        count = 1 << (16 * digit(key, shift));
    }
    let mut up_to = count;
    for distance in [1, 2, 4, 8, 16] {
        let other = warp::shuffle_up(warp::FULL, up_to, distance);
        if lane >= distance {
            up_to += other;
        }
    }
    if lane == 31 {
        *sums.add(thread / 32) = up_to;
    }
    thread::sync_threads();
    if i >= n {
        return;
    }
    let mut before = up_to - count;
    for warp in 0..thread / 32 {
        before += *sums.add(warp);
    }
    let digit = digit(key, shift);
    let rank = (before >> (16 * digit)) as u16 as usize;
    let (block, blocks) = (thread::block_idx_x(), thread::grid_dim_x());
    let start = *starts.add(digit * blocks as usize + block as usize) as usize;
    *to.add(start + rank) = key;
}

/// The number of elements of a window.
pub const WINDOW: usize = 32;

/// The maximum of each window of consecutive elements.
#[kernel(block_size(256))]
pub fn sliding_max_safe(
    #[shared] mut tile: Shared<Array<f32, { 256 + WINDOW - 1 }>>,
    from: &[f32],
    mut to: PerThread<f32>,
) {
    let start = thread::block_index() as usize * 256;
    tile.own().each(|i, element| {
        *element = from.get(start + i).copied().unwrap_or(f32::NEG_INFINITY);
    });
    let tile = tile.share();
    if let Some((_, to)) = to.first() {
        let window = &tile[thread::thread_idx_x() as usize..][..WINDOW];
        *to = window.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    }
}

/// The maximum of each window: see [`sliding_max_safe()`].
#[kernel(block_size(256))]
pub unsafe fn sliding_max_raw(from: *const f32, len: usize, to: *mut f32, n: usize) {
    let tile = shared_array![f32; 256 + WINDOW - 1];
    let thread = thread::thread_idx_x() as usize;
    let start = thread::block_idx_x() as usize * 256;
    for k in (thread..256 + WINDOW - 1).step_by(256) {
        *tile.add(k) = match start + k < len {
            true => *from.add(start + k),
            false => f32::NEG_INFINITY,
        };
    }
    thread::sync_threads();
    if start + thread >= n {
        return;
    }
    let mut most = f32::NEG_INFINITY;
    for k in 0..WINDOW {
        most = most.max(*tile.add(thread + k));
    }
    *to.add(start + thread) = most;
}

/// The number of bases of the sequences that are counted.
pub const BASES: usize = 9;
/// The number of sequences.
pub const SEQUENCES: usize = 1 << (2 * BASES);

/// A short sequence of DNA, and the one on the opposite strand.
#[derive(Clone, Copy, Debug, Default)]
pub struct Kmer<const K: usize> {
    forward: u32,
    reverse: u32,
}

impl<const K: usize> Kmer<K> {
    /// Appends a base, and removes the first one.
    #[inline(always)]
    pub fn push(&mut self, base: u32) {
        self.forward = (self.forward << 2 | base) & ((1 << (2 * K)) - 1);
        self.reverse = self.reverse >> 2 | (3 - base) << (2 * (K - 1));
    }

    /// Returns the number of the sequence, which is the same for both strands.
    #[inline(always)]
    pub fn number(self) -> usize {
        self.forward.min(self.reverse) as usize
    }
}

/// Counts the short sequences of DNA that start in each word but the last. A word has 16 bases.
#[kernel(block_size(256))]
pub fn kmer_count_safe(words: &[u32], counts: &[Atomic<u32, Device>]) {
    for (i, &word) in thread::elements(words) {
        let Some(&next) = words.get(i + 1) else {
            continue;
        };
        let bits = u64::from(word) | u64::from(next) << 32;
        let mut bases = (0..16 + BASES - 1).map(|k| (bits >> (2 * k)) as u32 & 3);
        let mut kmer = Kmer::<BASES>::default();
        for base in bases.by_ref().take(BASES - 1) {
            kmer.push(base);
        }
        for base in bases {
            kmer.push(base);
            counts[kmer.number()].fetch_add(1, Relaxed);
        }
    }
}

/// Counts the short sequences of DNA: see [`kmer_count_safe()`].
#[kernel(block_size(256))]
pub unsafe fn kmer_count_raw(words: *const u32, counts: *mut u32, n: usize) {
    let i = thread::index_1d() as usize;
    if i + 1 >= n {
        return;
    }
    let bits = u64::from(*words.add(i)) | u64::from(*words.add(i + 1)) << 32;
    let mut kmer = Kmer::<BASES>::default();
    for k in 0..16 + BASES - 1 {
        kmer.push((bits >> (2 * k)) as u32 & 3);
        if k >= BASES - 1 {
            Atomic::<u32, Device>::from_ptr(counts.add(kmer.number())).fetch_add(1, Relaxed);
        }
    }
}
