//! Kernels of the chapter "Warps".

// ANCHOR: shuffle
use cuda_std::prelude::*;

/// Sums the elements of each warp, by a butterfly of shuffles.
#[kernel]
pub fn warp_sums(from: &[f32], mut to: PerThread<f32>) {
    let mut sum = from.get(thread::index() as usize).copied().unwrap_or(0.0);
    let mut distance = 16;
    while distance > 0 {
        sum += warp::shuffle_xor(warp::FULL, sum, distance);
        distance /= 2;
    }
    // All lanes have the sum.
    to.each(|_, to| *to = sum);
}
// ANCHOR_END: shuffle

// ANCHOR: group
use cuda_std::group;

/// The maximum of each eight neighboring elements, and the sum of all elements of the warp so far.
#[kernel]
pub fn tiles(from: &[u32], mut maxima: PerThread<u32>, mut sums: PerThread<u32>) {
    let x = from.get(thread::index() as usize).copied().unwrap_or(0);
    let maximum = group::tile::<8>().reduce(x, u32::max);
    maxima.each(|_, to| *to = maximum);
    let sum = group::warp().inclusive_scan(x, u32::wrapping_add);
    sums.each(|_, to| *to = sum);
}
// ANCHOR_END: group

// ANCHOR: ballot
use cuda_std::atomic::{Atomic, Ordering::Relaxed};
use cuda_std::scope::Device;

/// Copies the positive elements to `to`, in any order, and adds their number to `count`. The warp
/// votes, and one lane reserves room for all: one atomic operation for each warp.
#[kernel]
pub fn compact(from: &[f32], to: &[Atomic<f32, Device>], count: &Atomic<u32, Device>) {
    let x = from.get(thread::index() as usize).copied().unwrap_or(0.0);
    let positive = warp::ballot(warp::FULL, x > 0.0);
    let mut start = 0;
    if thread::lane_id() == 0 {
        start = count.fetch_add(positive.count_ones(), Relaxed);
    }
    let start = warp::shuffle(warp::FULL, start, 0);
    if x > 0.0 {
        let before = positive & warp::lanes_below();
        to[(start + before.count_ones()) as usize].store(x, Relaxed);
    }
}
// ANCHOR_END: ballot
