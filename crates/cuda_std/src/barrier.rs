//! The block's barriers: the one of `thread::sync_threads`, and more for parts of a block.
//!
//! ```
//! use cuda_std::barrier::Barrier;
//! use cuda_std::prelude::*;
//!
//! /// The upper half of a block of 64 threads waits for the lower half, which does not wait.
//! #[kernel]
//! pub fn hand_over(mut to: PerThread<u32>) {
//!     let ready = Barrier::<1>;
//!     if thread::thread_idx_x() < 32 {
//!         ready.arrive(64);
//!     } else {
//!         ready.sync(64);
//!     }
//!     for (i, to) in to.own() {
//!         *to = i as u32;
//!     }
//! }
//! # fn main() {}
//! ```
//!
//! Barriers count whole warps: one for `count` threads opens when that many have come, where `count`
//! is a multiple of 32 and the same for all that come. Accesses to memory before the barrier are
//! visible after it to all that waited or came.

use crate::intrinsics::synchronization as intrinsics;

/// The barrier of this number, from 0 to 6; others do not compile. `thread::sync_threads` uses number
/// 0. The hardware has 16: those of the numbers from 1 on are its last ones, from 10 on. Its barrier 1
/// belongs to reductions of blocks ([`crate::group`]) and 2 to 9 belong to shared memory
/// ([`crate::shared`]), which are sound only because nobody else uses theirs; a kernel without these
/// reaches them by `intrinsics::synchronization`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Barrier<const ID: u32>;

/// A call of one of `intrinsics`, for the hardware's number of a barrier.
macro_rules! of_hardware {
    ($function:ident($($argument:expr),*)) => {
        // SAFETY: nobody relies on what passes these barriers.
        unsafe {
            match ID {
                0 => intrinsics::$function::<0>($($argument),*),
                1 => intrinsics::$function::<10>($($argument),*),
                2 => intrinsics::$function::<11>($($argument),*),
                3 => intrinsics::$function::<12>($($argument),*),
                4 => intrinsics::$function::<13>($($argument),*),
                5 => intrinsics::$function::<14>($($argument),*),
                _ => intrinsics::$function::<15>($($argument),*),
            }
        }
    };
}

impl<const ID: u32> Barrier<ID> {
    const CHECKED: () = assert!(
        ID <= 6,
        "barriers are numbered from 0 to 6; the others belong to groups and to shared memory"
    );

    /// Waits for all threads of the block.
    #[inline(always)]
    pub fn sync_block(self) {
        const { Self::CHECKED };
        of_hardware!(barrier_sync());
    }

    /// Waits until `count` threads have come, this one included.
    #[inline(always)]
    pub fn sync(self, count: u32) {
        const { Self::CHECKED };
        of_hardware!(barrier_sync_count(count));
    }

    /// Comes, as one of `count` threads, and goes on without waiting.
    #[inline(always)]
    pub fn arrive(self, count: u32) {
        const { Self::CHECKED };
        of_hardware!(barrier_arrive(count));
    }

    /// Waits for all threads of the block; then for how many of them the predicate was true.
    #[inline(always)]
    pub fn count_block(self, predicate: bool) -> u32 {
        const { Self::CHECKED };
        of_hardware!(barrier_red_popc(predicate))
    }

    /// Waits for all threads of the block; then whether the predicate was true for all of them.
    #[inline(always)]
    pub fn all_block(self, predicate: bool) -> bool {
        const { Self::CHECKED };
        of_hardware!(barrier_red_and(predicate))
    }

    /// Waits for all threads of the block; then whether the predicate was true for any of them.
    #[inline(always)]
    pub fn any_block(self, predicate: bool) -> bool {
        const { Self::CHECKED };
        of_hardware!(barrier_red_or(predicate))
    }

    /// Waits for `count` threads; then for how many of them the predicate was true.
    #[inline(always)]
    pub fn count(self, count: u32, predicate: bool) -> u32 {
        const { Self::CHECKED };
        of_hardware!(barrier_red_popc_count(count, predicate))
    }

    /// Waits for `count` threads; then whether the predicate was true for all of them.
    #[inline(always)]
    pub fn all(self, count: u32, predicate: bool) -> bool {
        const { Self::CHECKED };
        of_hardware!(barrier_red_and_count(count, predicate))
    }

    /// Waits for `count` threads; then whether the predicate was true for any of them.
    #[inline(always)]
    pub fn any(self, count: u32, predicate: bool) -> bool {
        const { Self::CHECKED };
        of_hardware!(barrier_red_or_count(count, predicate))
    }
}
