//! `kmeans`: reduces an image to 16 colors by k-means clustering.
//!
//! `assign` finds the nearest center of each pixel and sums the pixels of each cluster, first in
//! shared memory and then in global memory; `update` moves the centers to the means. Look at the
//! sums: integers, so the result does not depend on the order in which threads add. The algorithm
//! is that of Stuart Lloyd, "Least squares quantization in PCM", *IEEE Transactions on Information
//! Theory* 28 (1982).

use cuda_std::atomic::{Atomic, Ordering::Relaxed};
use cuda_std::prelude::*;
use cuda_std::scope::{Block, Device};
use cuda_std::shared::{Array, Shared};

/// The number of clusters.
pub const CLUSTERS: usize = 16;
/// Three sums of colors and a count for each cluster.
pub const SUMS: usize = 4 * CLUSTERS;

/// Returns the index of the center that is nearest to a color.
#[must_use]
pub fn nearest(color: [u8; 3], centers: &[[u8; 3]]) -> u8 {
    let mut best = (u32::MAX, 0);
    for (i, center) in centers.iter().enumerate() {
        let mut distance = 0;
        for (a, b) in color.iter().zip(center) {
            distance += u32::from(a.abs_diff(*b)).pow(2);
        }
        if distance < best.0 {
            best = (distance, i as u8);
        }
    }
    best.1
}

/// Returns the mean of a cluster from its sums and its count, or `old` if it is empty.
#[must_use]
pub fn mean(sums: [u32; 4], old: [u8; 3]) -> [u8; 3] {
    let [red, green, blue, count] = sums;
    match count {
        0 => old,
        _ => [red, green, blue].map(|sum| (sum / count) as u8),
    }
}

/// Assigns each pixel to the nearest center, and adds the pixels of each cluster to `totals`.
#[kernel]
pub fn assign(
    #[shared] mut sums: Shared<Array<Atomic<u32, Block>, SUMS>>,
    centers: &[[u8; 3]],
    pixels: &[[u8; 3]],
    totals: &[Atomic<u32, Device>],
    mut clusters: PerThread<u8>,
) {
    sums.own().each(|_, sum| *sum.get_mut() = 0);
    sums.read(|sums| {
        clusters.each_with(pixels, |_, cluster, &color| {
            *cluster = nearest(color, centers);
            let first = 4 * usize::from(*cluster);
            for (i, part) in color.into_iter().enumerate() {
                sums[first + i].fetch_add(u32::from(part), Relaxed);
            }
            sums[first + 3].fetch_add(1, Relaxed);
        });
    });
    sums.own().each(|i, sum| {
        totals[i].fetch_add(*sum.get_mut(), Relaxed);
    });
}

/// Moves each center to the mean of its cluster, and clears the totals.
#[kernel]
pub fn update(totals: &[Atomic<u32, Device>], mut centers: PerThread<[u8; 3]>) {
    centers.each(|cluster, center| {
        let sums = [0, 1, 2, 3].map(|i| totals[4 * cluster + i].swap(0, Relaxed));
        *center = mean(sums, *center);
    });
}
