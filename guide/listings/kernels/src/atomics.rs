//! Kernels of the chapter "Atomics".

// ANCHOR: count
use cuda_std::atomic::{Atomic, Ordering::Relaxed};
use cuda_std::prelude::*;
use cuda_std::scope::Device;

/// Counts the elements that are above `limit`.
#[kernel]
pub fn count_above(limit: f32, data: &[f32], count: &Atomic<u32, Device>) {
    let own = thread::elements(data).filter(|&(_, &x)| x > limit).count();
    count.fetch_add(own as u32, Relaxed);
}
// ANCHOR_END: count

// ANCHOR: histogram
use cuda_std::scope::Block;
use cuda_std::shared::{Array, Shared};

/// Counts how often each byte occurs: each block has bins in shared memory, which it adds to those
/// in global memory at the end.
#[kernel]
pub fn histogram(
    #[shared] mut bins: Shared<Array<Atomic<u32, Block>, 256>>,
    data: &[u8],
    total: &[Atomic<u32, Device>],
) {
    bins.own().each(|_, bin| *bin.get_mut() = 0);
    bins.read(|bins| {
        for (_, &byte) in thread::elements(data) {
            bins[usize::from(byte)].fetch_add(1, Relaxed);
        }
    });
    bins.own().each(|i, bin| {
        total[i].fetch_add(*bin.get_mut(), Relaxed);
    });
}
// ANCHOR_END: histogram

// ANCHOR: publish
use cuda_std::atomic::Ordering::AcqRel;

/// Sums the elements of all blocks in one launch: the block that finishes last adds the sums.
#[kernel]
pub fn sum_last_block(
    from: &[f32],
    sums: &[Atomic<f32, Device>],
    finished: &Atomic<u32, Device>,
    total: &Atomic<f32, Device>,
) {
    let own = thread::elements(from).fold(0.0, |sum, (_, x)| sum + x);
    let sum = cuda_std::group::block().reduce(own, |a, b| a + b);
    if thread::index_in_block() == 0 {
        sums[thread::block_index() as usize].store(sum, Relaxed);
        // Releases this block's sum, and acquires those of the blocks that finished earlier.
        let blocks = thread::blocks_in_grid() as u32;
        if finished.fetch_add(1, AcqRel) == blocks - 1 {
            let all = sums[..blocks as usize].iter();
            total.store(all.map(|sum| sum.load(Relaxed)).sum(), Relaxed);
        }
    }
}
// ANCHOR_END: publish
