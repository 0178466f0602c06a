//! Sorting, compaction, checksums, alignment of sequences, clustering and embeddings.

use cuda_std::atomic::{Atomic, Ordering::Relaxed};
use cuda_std::prelude::*;
use cuda_std::scope::Device;
use cuda_std::shared::{Array, Shared};
use cuda_std::{AnyBits, PerBlock, PerThread2d, group, warp};
use cust_core::DeviceCopy;

/// A key and its value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, DeviceCopy, AnyBits)]
#[repr(C, align(8))]
pub struct Pair {
    /// The key.
    pub key: u32,
    /// The value.
    pub value: u32,
}

/// The number of pairs that a block sorts, one per thread.
pub const SORTED: usize = 1024;

/// Sorts each group of [`SORTED`] pairs by their keys with a bitonic network. Each thread keeps its
/// pair, and exchanges it through shared memory.
#[kernel(block_size(1024))]
pub fn bitonic_pairs_safe(
    #[shared] mut shared: Shared<Array<Pair, SORTED>>,
    from: &[Pair],
    mut to: PerBlock<Pair, SORTED>,
) {
    let thread = thread::index_in_block() as usize;
    for mut piece in to.pieces() {
        let mut mine = from[piece.start() + thread];
        let mut size = 2;
        while size <= SORTED {
            let mut stride = size / 2;
            while stride > 0 {
                shared.own().each(|_, pair| *pair = mine);
                let other = shared.read(|pairs| pairs[thread ^ stride]);
                let keep_smaller = (thread & stride == 0) == (thread & size == 0);
                let exchange = if keep_smaller {
                    other.key < mine.key
                } else {
                    other.key > mine.key
                };
                if exchange {
                    mine = other;
                }
                stride /= 2;
            }
            size *= 2;
        }
        piece.each(|_, to| *to = mine);
    }
}

/// Sorts each group of [`SORTED`] pairs by their keys with a bitonic network.
#[kernel(block_size(1024))]
pub unsafe fn bitonic_pairs_raw(from: *const Pair, to: *mut Pair) {
    let shared = shared_array![Pair; SORTED];
    let thread = thread::thread_idx_x() as usize;
    let start = thread::block_idx_x() as usize * SORTED;
    let mut mine = *from.add(start + thread);
    let mut size = 2;
    while size <= SORTED {
        let mut stride = size / 2;
        while stride > 0 {
            *shared.add(thread) = mine;
            thread::sync_threads();
            let other = *shared.add(thread ^ stride);
            thread::sync_threads();
            let keep_smaller = (thread & stride == 0) == (thread & size == 0);
            let exchange = if keep_smaller {
                other.key < mine.key
            } else {
                other.key > mine.key
            };
            if exchange {
                mine = other;
            }
            stride /= 2;
        }
        size *= 2;
    }
    *to.add(start + thread) = mine;
}

/// Copies the elements above a limit, those of each block in their order.
#[kernel(block_size(256))]
pub fn compact_safe(
    #[shared] mut shared: Shared<Array<u32, 1>>,
    from: &[f32],
    limit: f32,
    count: &Atomic<u32, Device>,
    to: &[Atomic<f32, Device>],
) {
    let i = thread::index() as usize;
    let kept = from.get(i).copied().filter(|&x| x > limit);
    let (place, total) =
        group::block().exclusive_scan_with_total(u32::from(kept.is_some()), 0, |a, b| a + b);
    shared
        .own()
        .each(|_, start| *start = count.fetch_add(total, Relaxed));
    let start = shared.read(|start| start[0]);
    if let Some(x) = kept {
        to[(start + place) as usize].store(x, Relaxed);
    }
}

/// Copies the elements above a limit, those of each block in their order.
#[kernel(block_size(256))]
pub unsafe fn compact_raw(from: *const f32, limit: f32, count: *mut u32, to: *mut f32, n: usize) {
    let shared = shared_array![u32; 9];
    let (thread, lane) = (thread::thread_idx_x() as usize, thread::lane_id());
    let i = thread::index_1d() as usize;
    let x = if i < n { *from.add(i) } else { limit };
    let keep = x > limit;
    let ballot = warp::ballot(warp::FULL, keep);
    if lane == 0 {
        *shared.add(thread / 32) = ballot.count_ones();
    }
    thread::sync_threads();
    if thread < 32 {
        let own = if thread < 8 { *shared.add(thread) } else { 0 };
        let mut sum = own;
        for distance in [1, 2, 4] {
            let other = warp::shuffle_up(warp::FULL, sum, distance);
            if lane >= distance {
                sum += other;
            }
        }
        if thread < 8 {
            *shared.add(thread) = sum - own;
        }
        if thread == 7 {
            *shared.add(8) = Atomic::<u32, Device>::from_ptr(count).fetch_add(sum, Relaxed);
        }
    }
    thread::sync_threads();
    if keep {
        let before = (ballot & ((1 << lane) - 1)).count_ones();
        let place = *shared.add(8) + *shared.add(thread / 32) + before;
        *to.add(place as usize) = x;
    }
}

/// The checksums (CRC-32) of messages, with a table in shared memory. `words` is a matrix whose
/// columns are messages.
#[kernel(block_size(256))]
pub fn crc32_safe(
    #[shared] mut shared: Shared<Array<u32, 256>>,
    table: &[u32; 256],
    words: &[u32],
    mut to: PerThread<u32>,
) {
    shared.own().each(|i, entry| *entry = table[i]);
    let table = shared.share();
    let messages = to.len();
    to.each(|i, to| {
        let mut crc = !0;
        for row in words.chunks_exact(messages) {
            for byte in row[i].to_le_bytes() {
                crc = table[usize::from(crc as u8 ^ byte)] ^ crc >> 8;
            }
        }
        *to = !crc;
    });
}

/// The checksums of messages: see [`crc32_safe()`].
#[kernel(block_size(256))]
pub unsafe fn crc32_raw(
    from_table: *const u32,
    words: *const u32,
    to: *mut u32,
    rows: usize,
    messages: usize,
) {
    let table = shared_array![u32; 256];
    let thread = thread::thread_idx_x() as usize;
    *table.add(thread) = *from_table.add(thread);
    thread::sync_threads();
    let i = thread::index_1d() as usize;
    if i < messages {
        let mut crc = !0u32;
        for row in 0..rows {
            let mut word = *words.add(row * messages + i);
            for _ in 0..4 {
                crc = *table.add(((crc ^ word) & 255) as usize) ^ crc >> 8;
                word >>= 8;
            }
        }
        *to.add(i) = !crc;
    }
}

/// The length of the first sequence of an alignment, and the number of threads per block.
pub const QUERY: usize = 128;
/// The length of the second sequence of an alignment.
pub const TARGET: usize = 512;
/// The score of equal letters.
pub const EQUAL: i32 = 2;
/// The score of different letters.
pub const DIFFERENT: i32 = -1;
/// The cost of a gap's letter.
pub const GAP: i32 = 1;

/// The best scores of local alignments (Smith and Waterman), one pair of sequences per block. A
/// thread computes a row, and all threads an antidiagonal.
#[kernel(block_size(128))]
pub fn smith_waterman_safe(
    #[shared] mut shared: Shared<Array<i32, QUERY>>,
    queries: &[[u8; QUERY]],
    targets: &[[u8; TARGET]],
    mut to: PerBlock<i32>,
) {
    let row = thread::index_in_block() as usize;
    for mut piece in to.pieces() {
        let target = &targets[piece.start()];
        let letter = queries[piece.start()][row];
        let (mut left, mut diagonal, mut best) = (0, 0, 0);
        for step in 0..QUERY + TARGET - 1 {
            shared.own().each(|_, score| *score = left);
            let above = shared.read(|scores| if row == 0 { 0 } else { scores[row - 1] });
            if let Some(&other) = step.checked_sub(row).and_then(|column| target.get(column)) {
                let score = diagonal + if letter == other { EQUAL } else { DIFFERENT };
                left = score.max(above - GAP).max(left - GAP).max(0);
                best = best.max(left);
            }
            diagonal = above;
        }
        let best = group::block().reduce(best, i32::max);
        piece.each(|_, to| *to = best);
    }
}

/// The best scores of local alignments: see [`smith_waterman_safe()`].
#[kernel(block_size(128))]
pub unsafe fn smith_waterman_raw(queries: *const u8, targets: *const u8, to: *mut i32) {
    let shared = shared_array![i32; QUERY];
    let row = thread::thread_idx_x() as usize;
    let pair = thread::block_idx_x() as usize;
    let target = targets.add(pair * TARGET);
    let letter = *queries.add(pair * QUERY + row);
    let (mut left, mut diagonal, mut best) = (0, 0, 0);
    for step in 0..QUERY + TARGET - 1 {
        *shared.add(row) = left;
        thread::sync_threads();
        let above = if row == 0 { 0 } else { *shared.add(row - 1) };
        thread::sync_threads();
        if step >= row && step - row < TARGET {
            let equal = letter == *target.add(step - row);
            let score = diagonal + if equal { EQUAL } else { DIFFERENT };
            left = score.max(above - GAP).max(left - GAP).max(0);
            best = best.max(left);
        }
        diagonal = above;
    }
    for distance in [16, 8, 4, 2, 1] {
        best = best.max(warp::shuffle_down(warp::FULL, best, distance));
    }
    if row % 32 == 0 {
        *shared.add(row / 32) = best;
    }
    thread::sync_threads();
    if row == 0 {
        for i in 1..QUERY / 32 {
            best = best.max(*shared.add(i));
        }
        *to.add(pair) = best;
    }
}

/// The number of coordinates of a point.
pub const COORDINATES: usize = 16;

/// The nearest center of each point: the first half of a step of k-means.
#[kernel(block_size(256))]
pub fn kmeans_assign_safe(
    points: &[[f32; COORDINATES]],
    centers: &[[f32; COORDINATES]],
    mut labels: PerThread<u32>,
) {
    labels.each_with(points, |_, label, point| {
        let mut least = f32::INFINITY;
        for (c, center) in centers.iter().enumerate() {
            let distance: f32 = point
                .iter()
                .zip(center)
                .map(|(p, c)| (p - c) * (p - c))
                .sum();
            if distance < least {
                least = distance;
                *label = c as u32;
            }
        }
    });
}

/// The nearest center of each point: the first half of a step of k-means.
#[kernel(block_size(256))]
pub unsafe fn kmeans_assign_raw(
    points: *const [f32; COORDINATES],
    centers: *const [f32; COORDINATES],
    labels: *mut u32,
    k: usize,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let point = *points.add(i);
    let (mut least, mut nearest) = (f32::INFINITY, 0);
    for c in 0..k {
        let center = centers.add(c);
        let mut distance = 0.0;
        for d in 0..COORDINATES {
            let difference = point[d] - (*center)[d];
            distance += difference * difference;
        }
        if distance < least {
            (least, nearest) = (distance, c);
        }
    }
    *labels.add(i) = nearest as u32;
}

/// The number of columns of the table of embeddings.
pub const EMBEDDING: usize = 64;

/// The sum of the embeddings of each bag: those with the indices from `offsets[bag]` to
/// `offsets[bag + 1]`.
#[kernel(block_size(64, 4))]
pub fn embedding_bag_safe(
    table: &[[f32; EMBEDDING]],
    indices: &[u32],
    offsets: &[u32],
    mut to: PerThread2d<f32>,
) {
    to.each(|(column, bag), to| {
        let range = offsets[bag] as usize..offsets[bag + 1] as usize;
        *to = indices[range]
            .iter()
            .map(|&i| table[i as usize][column])
            .sum();
    });
}

/// The sum of the embeddings of each bag.
#[kernel(block_size(64, 4))]
pub unsafe fn embedding_bag_raw(
    table: *const f32,
    indices: *const u32,
    offsets: *const u32,
    to: *mut f32,
    bags: usize,
) {
    let column = thread::thread_idx_x() as usize;
    let bag = thread::index_2d().y as usize;
    if bag < bags {
        let mut sum = 0.0;
        for i in *offsets.add(bag)..*offsets.add(bag + 1) {
            sum += *table.add(*indices.add(i as usize) as usize * EMBEDDING + column);
        }
        *to.add(bag * EMBEDDING + column) = sum;
    }
}
