//! Groups of threads that cooperate: CUDA's cooperative groups.
//!
//! | type | threads | created by |
//! |---|---|---|
//! | [`Thread`] | this thread alone | [`thread`] |
//! | [`Tile<N>`](Tile) | 1, 2, 4, 8, 16 or 32 consecutive lanes of a warp | [`tile`], [`warp`] |
//! | [`Coalesced`] | any lanes of a warp | [`coalesced`], `partition` |
//! | [`Block`] | the block | [`block`] |
//! | [`Cluster`] | the threads of all blocks of a cluster | [`cluster`] |
//! | [`Grid`] | all threads of a cooperative launch | [`grid`] |
//!
//! Each group provides its size, this thread's rank and a barrier ([`Group`]). Groups within a warp
//! also shuffle, vote and match ([`Lanes`]). Groups within a warp and blocks reduce and scan.
//!
//! ```
//! use cuda_std::PerBlock;
//! use cuda_std::group;
//! use cuda_std::prelude::*;
//!
//! /// The largest element of each block, and the inclusive prefix sums of each warp.
//! #[kernel]
//! pub fn largest(from: &[u32], mut to: PerBlock<u32>, mut sums: PerThread<u32>) {
//!     let x = from.get(thread::index() as usize).copied().unwrap_or(0);
//!     let largest = group::block().reduce(x, u32::max);
//!     to.each(|_, to| *to = largest);
//!     let sum = group::warp().inclusive_scan(x, u32::wrapping_add);
//!     sums.each(|_, to| *to = sum);
//! }
//! # fn main() {}
//! ```
//!
//! # Participation
//! All threads of a group that have not exited must reach the same call. In code that only some of
//! them reach, the group hangs. Exited threads do not contribute to reductions and scans. After a panic
//! of a thread of the group, which makes the launch fail, their results are unspecified.
//!
//! Reductions and scans combine values in the order of ranks. The operation must be associative
//! (`f(f(a, b), c)` equals `f(a, f(b, c))`); it need not be commutative.
//!
//! Values are moved by shuffles, so their type must be valid for any bit pattern ([`AnyBits`]).

mod block;
mod cluster;
mod grid;
mod lanes;

pub use block::{Block, block};
pub use cluster::{Cluster, cluster};
pub use grid::{Arrival, Grid, grid};
pub use lanes::{Coalesced, Lanes, Tile, coalesced, tile, warp};

use crate::AnyBits;

/// The interface of all groups.
pub trait Group {
    /// Returns the number of threads in the group.
    fn size(&self) -> u32;

    /// Returns this thread's rank in the group, counted from 0.
    fn rank(&self) -> u32;

    /// Waits until all threads of the group have reached this barrier, and makes their earlier
    /// memory accesses visible to each other.
    fn sync(&self);

    /// Returns whether this is the first thread of the group.
    #[inline(always)]
    fn is_first(&self) -> bool {
        self.rank() == 0
    }
}

/// A group that consists of this thread alone.
#[derive(Clone, Copy, Debug)]
pub struct Thread(());

/// Returns the group of this thread alone.
#[inline(always)]
#[must_use]
pub fn thread() -> Thread {
    Thread(())
}

impl Group for Thread {
    #[inline(always)]
    fn size(&self) -> u32 {
        1
    }

    #[inline(always)]
    fn rank(&self) -> u32 {
        0
    }

    #[inline(always)]
    fn sync(&self) {}
}

impl Thread {
    /// Returns `value`.
    #[inline(always)]
    pub fn reduce<T: AnyBits + Copy>(&self, value: T, _f: impl Fn(T, T) -> T) -> T {
        value
    }
}
