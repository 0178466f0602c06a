//! Support for debuggers and profilers, and aborting a launch.
//!
//! ```
//! use cuda_std::debug;
//! use cuda_std::prelude::*;
//!
//! #[kernel]
//! pub fn count_events(data: &[u32], mut to: PerThread<u32>) {
//!     for (i, to) in to.own() {
//!         if data[i] > 100 {
//!             debug::profiler_event::<3>();
//!         }
//!         *to = data[i];
//!     }
//! }
//! # fn main() {}
//! ```
//!
//! Rust's `assert!` works in kernels: a failed assertion is a panic, which the host receives as an
//! error with message, location and thread; other threads continue.

use crate::intrinsics::synchronization;

/// Signals the event with number `EVENT`, from 0 to 15, to a profiler (`pmevent`). Other numbers
/// are compile-time errors.
#[inline(always)]
pub fn profiler_event<const EVENT: u32>() {
    synchronization::pmevent::<EVENT>();
}

/// Stops in a debugger (`brkpt`). Without a debugger, the launch fails.
#[inline(always)]
pub fn breakpoint() {
    synchronization::brkpt();
}

/// Aborts the launch with an error that makes the context unusable (`trap`). To exit one thread
/// with an error that the host receives, panic; to exit it without an error, call
/// [`thread::exit`](crate::thread::exit).
#[inline(always)]
pub fn trap() -> ! {
    synchronization::trap()
}
