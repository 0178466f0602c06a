//! Breadth-first search.

use cuda_std::atomic::{Atomic, Ordering::Relaxed};
use cuda_std::prelude::*;
use cuda_std::scope::Device;

/// The distance of a vertex that the search has not reached.
pub const FAR: u32 = u32::MAX;

/// A level of a breadth-first search: sets the distances of the frontier's neighbors that the
/// search has not reached, and appends them to the queue `next`. The graph's edges are those of
/// vertex `v` from `offsets[v]` to `offsets[v + 1]`.
#[kernel(block_size(256))]
pub fn bfs_level_safe(
    offsets: &[u32],
    targets: &[u32],
    frontier: &[u32],
    level: u32,
    distances: &[Atomic<u32, Device>],
    count: &Atomic<u32, Device>,
    next: &[Atomic<u32, Device>],
) {
    for (_, &vertex) in thread::elements(frontier) {
        let vertex = vertex as usize;
        let edges = offsets[vertex] as usize..offsets[vertex + 1] as usize;
        for &target in &targets[edges] {
            let distance = &distances[target as usize];
            if distance.load(Relaxed) == FAR
                && distance
                    .compare_exchange(FAR, level, Relaxed, Relaxed)
                    .is_ok()
            {
                next[count.fetch_add(1, Relaxed) as usize].store(target, Relaxed);
            }
        }
    }
}

/// A level of a breadth-first search: see [`bfs_level_safe()`].
#[kernel(block_size(256))]
pub unsafe fn bfs_level_raw(
    offsets: *const u32,
    targets: *const u32,
    frontier: *const u32,
    level: u32,
    distances: *mut u32,
    count: *mut u32,
    next: *mut u32,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let vertex = *frontier.add(i) as usize;
    for edge in *offsets.add(vertex)..*offsets.add(vertex + 1) {
        let target = *targets.add(edge as usize);
        let distance = Atomic::<u32, Device>::from_ptr(distances.add(target as usize));
        if distance.load(Relaxed) == FAR
            && distance
                .compare_exchange(FAR, level, Relaxed, Relaxed)
                .is_ok()
        {
            let place = Atomic::<u32, Device>::from_ptr(count).fetch_add(1, Relaxed);
            *next.add(place as usize) = target;
        }
    }
}
