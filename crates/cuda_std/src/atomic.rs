//! Atomics: `core`'s, which work on the device as they do on the host.
//!
//! Their scope is the whole system: all threads of the device, the host and other devices see one
//! order, as Rust's memory model asks. They work in global memory, in shared memory, and in memory
//! that host and device have in common.

pub use core::sync::atomic::*;
