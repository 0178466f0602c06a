//! Clusters: blocks that run at the same time and reach each other's shared memory. The launch says
//! how many blocks make one; without, each block is one by itself.
//!
//! ```
//! use cuda_std::cluster;
//! use cuda_std::prelude::*;
//!
//! /// Each block's number, read from the next block's shared memory.
//! #[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
//! #[kernel]
//! pub unsafe fn neighbours(to: *mut u32) {
//!     let mine = shared_array![u32; 1];
//!     unsafe {
//!         *mine = cluster::block_rank();
//!         cluster::sync();
//!         let next = cluster::map_shared(mine, (cluster::block_rank() + 1) % cluster::blocks());
//!         *to.add(thread::block_idx_x() as usize) = *next;
//!     }
//!     // Nobody ends while others read its memory.
//!     cluster::sync();
//! }
//! # fn main() {}
//! ```
//!
//! All of it needs compute capability 9.0.

use crate::intrinsics::{special, transfer as rows};

/// This block's number in its cluster.
#[inline(always)]
#[must_use]
pub fn block_rank() -> u32 {
    special::cluster_ctarank()
}

/// How many blocks the cluster has.
#[inline(always)]
#[must_use]
pub fn blocks() -> u32 {
    special::cluster_nctarank()
}

/// Waits for all threads of the cluster. What they wrote before is visible after it.
#[inline(always)]
pub fn sync() {
    // SAFETY: it arrives once and waits once.
    unsafe {
        arrive();
        wait();
    }
}

/// Arrives at the cluster's barrier, without waiting.
///
/// # Safety
/// The thread's next operation at this barrier is [`wait`]: no second `arrive` and no [`sync`] comes
/// before it, and the thread does not end without it. What a GPU does otherwise is undefined.
#[inline(always)]
pub unsafe fn arrive() {
    // SAFETY: the caller's promise.
    unsafe { rows::barrier_cluster_arrive() };
}

/// Waits for all threads of the cluster to have arrived.
///
/// # Safety
/// The thread's last operation at this barrier was [`arrive`].
#[inline(always)]
pub unsafe fn wait() {
    // SAFETY: the caller's promise.
    unsafe { rows::barrier_cluster_wait() };
}

/// Where what a pointer into shared memory points to is in another block of the cluster. The
/// pointer may be read and written like any other, while that block runs.
#[inline(always)]
#[must_use]
pub fn map_shared<T>(pointer: *mut T, block: u32) -> *mut T {
    rows::mapa(pointer.cast(), block).cast()
}

/// What a value of this block's shared memory is in another block of the cluster: an atomic with
/// [`scope::Cluster`](crate::scope::Cluster), say, that all blocks change.
///
/// # Safety
/// It is in shared memory, and is a value there, too: the other block has written it before a
/// [`sync`]. That block has not ended, and does not write it otherwise.
#[inline(always)]
#[must_use]
pub unsafe fn map_shared_ref<T: Sync>(value: &T, block: u32) -> &T {
    // SAFETY: the caller's promise.
    unsafe { &*map_shared((&raw const *value).cast_mut(), block) }
}

/// The block that shared memory belongs to.
#[inline(always)]
#[must_use]
pub fn rank_of<T>(pointer: *const T) -> u32 {
    rows::getctarank(pointer.cast())
}
