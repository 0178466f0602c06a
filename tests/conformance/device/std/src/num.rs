//! `core`'s numbers, and the float methods of `std`'s own sources.

pub use core::num::*;

// Modules with absolute paths, into rust-src.
include!(env!("CONFORMANCE_FLOATS"));
