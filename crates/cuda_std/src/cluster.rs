//! Clusters: blocks that are resident at the same time and can access each other's shared memory.
//! The launch specifies the number of blocks per cluster; by default, each block is a cluster by
//! itself.
//!
//! ```
//! use cuda_std::cluster;
//! use cuda_std::prelude::*;
//!
//! /// Each block's rank, read from the next block's shared memory.
//! #[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
//! #[kernel]
//! pub unsafe fn neighbors(to: *mut u32) {
//!     let mine = shared_array![u32; 1];
//!     unsafe {
//!         *mine = cluster::block_rank();
//!         cluster::sync();
//!         let next = cluster::map_shared(mine, (cluster::block_rank() + 1) % cluster::blocks());
//!         *to.add(thread::block_idx_x() as usize) = *next;
//!     }
//!     // No block may exit while others read its shared memory.
//!     cluster::sync();
//! }
//! # fn main() {}
//! ```
//!
//! All functions require compute capability 9.0.

use crate::intrinsics::{special, transfer as raw};

/// Returns the rank of this block in its cluster.
#[inline(always)]
#[must_use]
pub fn block_rank() -> u32 {
    special::cluster_ctarank()
}

/// Returns the number of blocks in the cluster.
#[inline(always)]
#[must_use]
pub fn blocks() -> u32 {
    special::cluster_nctarank()
}

/// Waits for all threads of the cluster, and makes their earlier memory accesses visible to each
/// other.
#[inline(always)]
pub fn sync() {
    // SAFETY: this thread arrives once and then waits once.
    unsafe {
        arrive();
        wait();
    }
}

/// Arrives at the cluster's barrier, without waiting.
///
/// # Safety
/// The thread's next operation at this barrier must be [`wait`]: not a second `arrive` or a
/// [`sync`]. The thread must not exit before. The behavior of a GPU is otherwise undefined.
#[inline(always)]
pub unsafe fn arrive() {
    // SAFETY: the caller's guarantee.
    unsafe { raw::barrier_cluster_arrive() };
}

/// Waits until all threads of the cluster have arrived.
///
/// # Safety
/// The thread's previous operation at this barrier must be [`arrive`].
#[inline(always)]
pub unsafe fn wait() {
    // SAFETY: the caller's guarantee.
    unsafe { raw::barrier_cluster_wait() };
}

/// Maps a pointer into this block's shared memory to the same offset in the shared memory of
/// another block of the cluster (`mapa`). The result can be read and written like any other pointer
/// while that block runs.
#[inline(always)]
#[must_use]
pub fn map_shared<T>(pointer: *mut T, block: u32) -> *mut T {
    raw::mapa(pointer.cast(), block).cast()
}

/// Maps a reference to a value in this block's shared memory to the corresponding value in another
/// block of the cluster: for example an atomic with [`scope::Cluster`](crate::scope::Cluster) that
/// all blocks modify.
///
/// # Safety
/// `value` must be in shared memory. The other block must have initialized its value before a
/// [`sync`], must not have exited, and must not write the value other than through `&T`.
#[inline(always)]
#[must_use]
pub unsafe fn map_shared_ref<T: Sync>(value: &T, block: u32) -> &T {
    // SAFETY: the caller's guarantee.
    unsafe { &*map_shared((&raw const *value).cast_mut(), block) }
}

/// Returns the rank of the block that owns the shared memory at `pointer`.
#[inline(always)]
#[must_use]
pub fn rank_of<T>(pointer: *const T) -> u32 {
    raw::getctarank(pointer.cast())
}
