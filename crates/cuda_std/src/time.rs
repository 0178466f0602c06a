//! Clocks and delays.
//!
//! ```
//! use cuda_std::prelude::*;
//! use cuda_std::time;
//!
//! /// The number of cycles that a division takes.
//! #[kernel]
//! pub fn measure(a: u64, b: u64, mut to: PerThread<[u64; 2]>) {
//!     for (_, to) in to.own() {
//!         let start = time::clock64();
//!         let quotient = a / b;
//!         *to = [quotient, time::clock64() - start];
//!     }
//! }
//! # fn main() {}
//! ```

use crate::intrinsics::{special, synchronization};

/// Returns the cycle counter of this multiprocessor. Counters of different multiprocessors are
/// unrelated.
#[inline(always)]
#[must_use]
pub fn clock64() -> u64 {
    special::clock64()
}

/// Returns the lower 32 bits of [`clock64`], which are faster to read and wrap after a few seconds.
#[inline(always)]
#[must_use]
pub fn clock() -> u32 {
    special::clock()
}

/// Returns the device's global timer in nanoseconds. Its resolution may be a microsecond.
#[inline(always)]
#[must_use]
pub fn global_timer() -> u64 {
    special::globaltimer()
}

/// Suspends the thread for between 0 and twice `nanoseconds`, for polling loops. Durations above
/// one millisecond count as one millisecond.
#[inline(always)]
pub fn nanosleep(nanoseconds: u32) {
    synchronization::nanosleep(nanoseconds);
}
