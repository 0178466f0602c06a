//! For debuggers and profilers, and the hard end of a launch.
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
//! Rust's `assert!` works in kernels: a failing one is a panic, which the host gets as an error with
//! message, place and thread, and other threads go on.

use crate::intrinsics::synchronization;

/// Tells a profiler that the event of this number, from 0 to 15, has happened. Others do not compile.
#[inline(always)]
pub fn profiler_event<const EVENT: u32>() {
    synchronization::pmevent::<EVENT>();
}

/// Stops for a debugger. Without one the launch ends with an error.
#[inline(always)]
pub fn breakpoint() {
    synchronization::brkpt();
}

/// Ends the launch, and with it the context: nothing of it can be used any more. To end one thread
/// with an error that the host sees, panic; to end it without, `thread::exit`.
#[inline(always)]
pub fn trap() -> ! {
    synchronization::trap()
}
