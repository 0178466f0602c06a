//! Reductions, scans, histograms, votes.

use cuda_std::PerBlock;
use cuda_std::atomic::{Atomic, Ordering::*};
use cuda_std::group::{self, Group, Lanes};
use cuda_std::prelude::*;
use cuda_std::scope::{Block, Device};
use cuda_std::shared::{Array, Shared};

/// Threads of the histograms' and the scans' blocks.
pub const THREADS: usize = 256;

/// How often each byte occurs: a histogram in shared memory for each block, added to the one of all.
#[kernel]
pub fn histogram256(
    #[shared] mut bins: Shared<Array<Atomic<u32, Block>, 256>>,
    data: &[u8],
    total: &[Atomic<u32, Device>],
) {
    bins.own().each(|_, bin| *bin.get_mut() = 0);
    bins.read(|bins| {
        for (_, &byte) in thread::elements(data) {
            bins[byte as usize].fetch_add(1, Relaxed);
        }
    });
    bins.own().each(|i, bin| {
        total[i].fetch_add(*bin.get_mut(), Relaxed);
    });
}

/// How often the upper six bits of a byte occur: a histogram of bytes for each thread.
#[kernel(block_size(64))]
pub fn histogram64(
    #[shared] mut bins: Shared<Array<[u8; 64], 64>>,
    data: &[u8],
    total: &[Atomic<u32, Device>],
) {
    bins.own().each(|_, bins| {
        *bins = [0; 64];
        for (_, &byte) in thread::elements(data) {
            bins[usize::from(byte >> 2)] += 1;
        }
    });
    bins.read(|all| {
        let bin = thread::index_in_block() as usize;
        let sum = all.iter().map(|bins| u32::from(bins[bin])).sum();
        total[bin].fetch_add(sum, Relaxed);
    });
}

/// Scans each block's elements; each block's sum goes to `sums`.
#[kernel(block_size(256))]
pub fn scan_blocks(from: &[u32], mut to: PerThread<u32>, mut sums: PerBlock<u32>) {
    let x = from.get(thread::index() as usize).copied().unwrap_or(0);
    let (before, sum) = group::block().exclusive_scan_with_total(x, 0, u32::wrapping_add);
    to.each(|_, to| *to = before);
    sums.each(|_, to| *to = sum);
}

/// Adds each block's offset to its elements.
#[kernel(block_size(256))]
pub fn add_uniform(offsets: &[u32], mut to: PerThread<u32>) {
    let offset = offsets[thread::block_index() as usize];
    to.each(|_, to| *to += offset);
}

/// The inclusive scan of a block's elements by shuffles: of each warp, then of the warps' sums.
#[kernel(block_size(256))]
pub fn scan_shuffle(
    #[shared] mut sums: Shared<Array<Atomic<u32, Block>, 8>>,
    from: &[u32],
    mut to: PerThread<u32>,
) {
    let lane = thread::lane_id();
    let warp = thread::warp_id() as usize;
    let mut x = from.get(thread::index() as usize).copied().unwrap_or(0);
    let mut distance = 1;
    while distance < 32 {
        let below = warp::shuffle_up(u32::MAX, x, distance);
        if lane >= distance {
            x += below;
        }
        distance *= 2;
    }
    let before: u32 = sums.read(|sums| {
        if lane == 31 {
            sums[warp].store(x, Relaxed);
        }
        thread::sync_threads();
        sums[..warp].iter().map(|sum| sum.load(Relaxed)).sum()
    });
    to.each(|_, to| *to = before + x);
}

/// The sum of all elements: of each thread, of each block, and those by an atomic.
#[kernel]
pub fn reduce_groups(from: &[i32], sum: &Atomic<i32, Device>) {
    let mine = thread::elements(from).fold(0, |sum, (_, x)| sum + x);
    let block = group::block();
    let all = block.reduce(mine, |a, b| a + b);
    if block.is_first() {
        sum.fetch_add(all, Relaxed);
    }
}

/// The sums of tiles of 8 threads, with the sum of the whole warp.
#[kernel]
pub fn reduce_tiles(from: &[i32], mut to: PerThread<[i32; 2]>) {
    let x = from.get(thread::index() as usize).copied().unwrap_or(0);
    let of_tile = group::tile::<8>().reduce(x, |a, b| a + b);
    let of_warp = group::warp().reduce(x, |a, b| a + b);
    to.each(|_, to| *to = [of_tile, of_warp]);
}

/// The sum of all elements in one launch: the block that is done last adds the blocks' sums.
#[kernel]
pub fn reduce_last_block(
    from: &[f32],
    partial: &[Atomic<f32, Device>],
    done: &Atomic<u32, Device>,
    mut sum: PerThread<f32>,
) {
    let block = group::block();
    let mine = thread::elements(from).fold(0.0, |sum, (_, x)| sum + x);
    let of_block = block.reduce(mine, |a, b| a + b);
    let mut last = false;
    if block.is_first() {
        partial[block.number() as usize].store(of_block, Relaxed);
        // Comes back to 0 for the next launch.
        let before = done.fetch_inc(thread::grid_dim_x() - 1);
        thread::device_fence();
        last = before == thread::grid_dim_x() - 1;
    }
    if thread::sync_threads_or(last.into()) != 0 {
        let mine =
            thread::block_stride(partial.len()).fold(0.0, |sum, i| sum + partial[i].load(Relaxed));
        let all = block.reduce(mine, |a, b| a + b);
        sum.each(|_, sum| *sum = all);
    }
}

/// The results of `__any_sync`, `__all_sync` and `__ballot_sync` for a predicate.
#[kernel]
pub fn votes(from: &[u32], mut to: PerThread<[u32; 3]>) {
    to.each(|i, to| {
        let odd = from[i] % 2 == 1;
        let warp = u32::MAX;
        *to = [
            warp::any(warp, odd).into(),
            warp::all(warp, odd).into(),
            warp::ballot(warp, odd),
        ];
    });
}

/// Keeps the elements above a limit, in any order: one atomic operation for each warp.
#[kernel]
pub fn filter(from: &[i32], limit: i32, to: &[Atomic<i32, Device>], count: &Atomic<u32, Device>) {
    for (_, &x) in thread::elements(from) {
        if x > limit {
            let group = group::coalesced();
            let mut start = 0;
            if group.is_first() {
                start = count.fetch_add(group.size(), Relaxed);
            }
            let start = group.shuffle(start, 0);
            to[(start + group.rank()) as usize].store(x, Relaxed);
        }
    }
}

/// In each tile of 16 threads the sum of the odd elements, and that of the even ones, each by the group
/// of the threads that have them.
#[kernel]
pub fn partitions(from: &[u32], odd: &Atomic<u32, Device>, even: &Atomic<u32, Device>) {
    let x = from[thread::index() as usize];
    let is_odd = x % 2 == 1;
    let group = group::tile::<16>().partition(u32::from(is_odd));
    let sum = group.reduce(x, |a, b| a + b);
    if group.is_first() {
        if is_odd { odd } else { even }.fetch_add(sum, Relaxed);
    }
}

/// Sums of rows so far, each row by a warp: the first half of an integral image.
#[kernel(block_size(32, 4))]
pub fn integral_rows(width: usize, from: &[u32], to: &[Atomic<u32, Device>]) {
    let row = thread::index_2d().y as usize;
    let (warp, mut before) = (group::warp(), 0);
    if row * width < from.len() {
        for start in (0..width).step_by(32) {
            let x = start + warp.rank() as usize;
            let mine = if x < width { from[row * width + x] } else { 0 };
            let sum = before + warp.inclusive_scan(mine, |a, b| a + b);
            if x < width {
                to[row * width + x].store(sum, Relaxed);
            }
            before = warp.shuffle(sum, 31);
        }
    }
}

/// Which points of a line of heights are seen from the first: a scan by the steepest angle.
#[kernel(block_size(256))]
pub fn line_of_sight(heights: &[f32], mut seen: PerThread<u8>) {
    let i = thread::index_in_block() as usize;
    let angle = match i {
        i if 0 < i && i < heights.len() => (heights[i] - heights[0]) / i as f32,
        _ => f32::NEG_INFINITY,
    };
    let steepest = group::block().exclusive_scan(angle, f32::NEG_INFINITY, f32::max);
    seen.each(|_, seen| *seen = u8::from(angle > steepest || i == 0));
}

/// Keeps the elements above a limit in their order, by one block.
#[kernel(block_size(256))]
pub fn compact(from: &[i32], limit: i32, to: &[Atomic<i32, Device>], count: &Atomic<u32, Device>) {
    let block = group::block();
    let mut before = 0;
    for start in (0..from.len()).step_by(THREADS) {
        let x = from
            .get(start + block.rank() as usize)
            .copied()
            .filter(|&x| x > limit);
        let (place, all) = block.exclusive_count(x.is_some());
        if let Some(x) = x {
            to[(before + place) as usize].store(x, Relaxed);
        }
        before += all;
    }
    if block.is_first() {
        count.store(before, Relaxed);
    }
}

/// The product of vectors, by a function of any size of blocks.
fn scalar_product<const N: usize>(a: &[f32], b: &[f32]) -> f32 {
    let mut sum = 0.0;
    for i in thread::block_stride(a.len().min(b.len())) {
        sum += a[i] * b[i];
    }
    let _: [(); N] = [(); N];
    group::block().reduce(sum, |a, b| a + b)
}

/// Products of pairs of vectors of 100 numbers, each by a block.
#[kernel(block_size(64))]
pub fn scalar_products(a: &[f32], b: &[f32], mut to: PerBlock<f32>) {
    to.each(|_, _| ());
    for mut piece in to.pieces() {
        let range = piece.start() * 100..piece.start() * 100 + 100;
        let product = scalar_product::<64>(&a[range.clone()], &b[range]);
        piece.each(|_, to| *to = product);
    }
}

/// All atomic operations on memory that the host has, too.
#[kernel]
pub fn system_wide_atomics(numbers: &[core::sync::atomic::AtomicI32]) {
    let i = thread::index_1d() as i32;
    numbers[0].fetch_add(10, Relaxed);
    numbers[1].fetch_sub(10, Relaxed);
    numbers[2].swap(i, Relaxed);
    numbers[3].fetch_max(i, Relaxed);
    numbers[4].fetch_min(i, Relaxed);
    let _ = numbers[5].try_update(Relaxed, Relaxed, |x| Some(if x >= 17 { 0 } else { x + 1 }));
    let _ = numbers[6].compare_exchange(i - 1, i, AcqRel, Acquire);
    numbers[7].fetch_and(2 * i + 7, Relaxed);
    numbers[8].fetch_or(1 << (i % 31), Relaxed);
    numbers[9].fetch_xor(i, SeqCst);
}
