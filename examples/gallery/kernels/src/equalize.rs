//! `equalize`: histogram equalization of a grayscale image.
//!
//! Each block counts its pixels in shared memory, where atomic operations are cheap, and adds its
//! counts to the total once. One block turns the total into a table by a scan, and a third kernel
//! looks each pixel up. Look at `bins`: shared memory in the read phase contains atomics, which all
//! threads of the block may change. The algorithm is in Gonzalez and Woods, *Digital Image
//! Processing*, section 3.3.

use cuda_std::atomic::{Atomic, Ordering::Relaxed};
use cuda_std::group;
use cuda_std::prelude::*;
use cuda_std::scope::{Block, Device};
use cuda_std::shared::{Array, Shared};

/// Counts how often each gray value occurs.
#[kernel]
pub fn histogram(
    #[shared] mut bins: Shared<Array<Atomic<u32, Block>, 256>>,
    image: &[u8],
    total: &[Atomic<u32, Device>],
) {
    bins.own().each(|_, bin| *bin.get_mut() = 0);
    bins.read(|bins| {
        for (_, &gray) in thread::elements(image) {
            bins[usize::from(gray)].fetch_add(1, Relaxed);
        }
    });
    bins.own().each(|i, bin| {
        total[i].fetch_add(*bin.get_mut(), Relaxed);
    });
}

/// Returns the new gray value of pixels of which `up_to` are not brighter. `darkest` pixels have
/// the least gray value that occurs, and all pixels are `count`.
#[must_use]
pub fn level(up_to: u32, darkest: u32, count: u32) -> u8 {
    let others = u64::from(count - darkest).max(1);
    (u64::from(up_to.saturating_sub(darkest)) * 255 / others) as u8
}

/// Computes the table of new gray values, in one block of 256 threads.
#[kernel(block_size(256))]
pub fn levels(total: &[u32], mut table: PerThread<u8>) {
    let own = total[thread::index_in_block() as usize];
    let block = group::block();
    let up_to = block.inclusive_scan(own, |a, b| a + b);
    let darkest = block.reduce(if own > 0 { up_to } else { u32::MAX }, u32::min);
    let count = block.reduce(own, |a, b| a + b);
    table.each(|_, to| *to = level(up_to, darkest, count));
}

/// Replaces each gray value with that of the table.
#[kernel]
pub fn look_up(table: &[u8], from: &[u8], mut to: PerThread<u8>) {
    to.each_with(from, |_, to, &gray| *to = table[usize::from(gray)]);
}
