//! Clocks, and waiting.
//!
//! ```
//! use cuda_std::prelude::*;
//! use cuda_std::time;
//!
//! /// How many cycles a division takes.
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

/// The multiprocessor's counter of cycles. Multiprocessors count each for itself.
#[inline(always)]
#[must_use]
pub fn clock64() -> u64 {
    special::clock64()
}

/// The lower half of [`clock64`], which is quicker to read and soon wraps.
#[inline(always)]
#[must_use]
pub fn clock() -> u32 {
    special::clock()
}

/// Nanoseconds, of one clock for the device. It may advance in steps of a microsecond.
#[inline(always)]
#[must_use]
pub fn global_timer() -> u64 {
    special::globaltimer()
}

/// Lets the thread sleep for between 0 and twice so many nanoseconds; it is for waiting loops. More
/// than a millisecond counts as one.
#[inline(always)]
pub fn nanosleep(nanoseconds: u32) {
    synchronization::nanosleep(nanoseconds);
}
