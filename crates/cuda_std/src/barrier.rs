//! Numbered barriers of a block, for all or some of its threads: CUDA's named barriers.
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
//! Barriers count whole warps. A barrier for `count` threads completes when that many threads have
//! arrived; `count` must be a multiple of 32, and the same for all threads that arrive. Memory
//! accesses before the barrier are visible to all participating threads after it.

use crate::intrinsics::synchronization as intrinsics;

/// The barrier with number `ID`, from 0 to 6. Other numbers are compile-time errors.
///
/// `thread::sync_threads` uses barrier 0. The hardware has 16 barriers, and the numbers from 1 on
/// map to hardware barriers 10 to 15. Hardware barrier 1 belongs to reductions and scans of blocks
/// ([`crate::group`]), and 2 to 9 belong to shared memory ([`crate::shared`]); both are sound only
/// because nothing else uses these barriers. Kernels that use neither can access them through
/// `intrinsics::synchronization`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Barrier<const ID: u32>;

/// Calls a function of `intrinsics` with the hardware number of the barrier.
macro_rules! of_hardware {
    ($function:ident($($argument:expr),*)) => {
        // SAFETY: no safety invariant depends on these barriers.
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

    /// Waits until `count` threads have arrived, including this one.
    #[inline(always)]
    pub fn sync(self, count: u32) {
        const { Self::CHECKED };
        of_hardware!(barrier_sync_count(count));
    }

    /// Arrives as one of `count` threads, without waiting.
    #[inline(always)]
    pub fn arrive(self, count: u32) {
        const { Self::CHECKED };
        of_hardware!(barrier_arrive(count));
    }

    /// Waits for all threads of the block, and returns the number of threads for which `predicate`
    /// is true.
    #[inline(always)]
    pub fn count_block(self, predicate: bool) -> u32 {
        const { Self::CHECKED };
        of_hardware!(barrier_red_popc(predicate))
    }

    /// Waits for all threads of the block, and returns whether `predicate` is true for all of them.
    #[inline(always)]
    pub fn all_block(self, predicate: bool) -> bool {
        const { Self::CHECKED };
        of_hardware!(barrier_red_and(predicate))
    }

    /// Waits for all threads of the block, and returns whether `predicate` is true for any of them.
    #[inline(always)]
    pub fn any_block(self, predicate: bool) -> bool {
        const { Self::CHECKED };
        of_hardware!(barrier_red_or(predicate))
    }

    /// Waits for `count` threads, and returns the number of threads for which `predicate` is true.
    #[inline(always)]
    pub fn count(self, count: u32, predicate: bool) -> u32 {
        const { Self::CHECKED };
        of_hardware!(barrier_red_popc_count(count, predicate))
    }

    /// Waits for `count` threads, and returns whether `predicate` is true for all of them.
    #[inline(always)]
    pub fn all(self, count: u32, predicate: bool) -> bool {
        const { Self::CHECKED };
        of_hardware!(barrier_red_and_count(count, predicate))
    }

    /// Waits for `count` threads, and returns whether `predicate` is true for any of them.
    #[inline(always)]
    pub fn any(self, count: u32, predicate: bool) -> bool {
        const { Self::CHECKED };
        of_hardware!(barrier_red_or_count(count, predicate))
    }
}
