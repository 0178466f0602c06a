//! Groups of threads that work together: cooperative groups.
//!
//! | | group | made by |
//! |---|---|---|
//! | [`Thread`] | this thread alone | [`thread`] |
//! | [`Tile<N>`](Tile) | 1, 2, 4, 8, 16 or 32 lanes of a warp, in a row | [`tile`], [`warp`] |
//! | [`Coalesced`] | some lanes of a warp | [`coalesced`], `partition` |
//! | [`Block`] | the block | [`block`] |
//! | [`Cluster`] | the blocks of a cluster | [`cluster`] |
//! | [`Grid`] | all threads of a cooperative launch | [`grid`] |
//!
//! A group knows its size and this thread's rank in it, and waits for its threads. Within a warp, groups
//! shuffle, vote and match; they, and blocks, reduce and scan.
//!
//! ```
//! use cuda_std::PerBlock;
//! use cuda_std::group;
//! use cuda_std::prelude::*;
//!
//! /// The largest element of each block, and where in each warp the sums so far end.
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
//! # Who takes part
//! All threads of a group come to the same call, those aside that have exited: reductions and scans are of
//! the threads that are left. Others wait for them, so code that only some threads reach hangs. What operations are given combines values in the order of
//! ranks, so it need not be commutative, but associative: `f(f(a, b), c)` is `f(a, f(b, c))`.
//!
//! Values move through shuffles, so their types are those that any bits are a value of
//! ([`AnyBits`]).

mod block;
mod cluster;
mod grid;
mod lanes;

pub use block::{Block, block};
pub use cluster::{Cluster, cluster};
pub use grid::{Arrival, Grid, grid};
pub use lanes::{Coalesced, Lanes, Tile, coalesced, tile, warp};

use crate::AnyBits;

/// What all groups have.
pub trait Group {
    /// The number of threads.
    fn size(&self) -> u32;

    /// This thread's number in the group, from 0 on.
    fn rank(&self) -> u32;

    /// Waits for all threads of the group, and makes what they wrote before visible to all of them
    /// after.
    fn sync(&self);

    /// Whether this is the group's first thread.
    #[inline(always)]
    fn is_first(&self) -> bool {
        self.rank() == 0
    }
}

/// This thread alone.
#[derive(Clone, Copy, Debug)]
pub struct Thread(());

/// The group of this thread alone.
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
    /// The value.
    #[inline(always)]
    pub fn reduce<T: AnyBits + Copy>(&self, value: T, _f: impl Fn(T, T) -> T) -> T {
        value
    }
}
