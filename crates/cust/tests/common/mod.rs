//! Shared by the tests: the device that they run on, and handwritten PTX.
//!
//! The tests run on the emulator unless `CUST_DEVICE=gpu` is set.

#![allow(dead_code)]

use cust::prelude::*;

/// Vector addition, a structure by value, shared memory, and kernels without parameters.
pub const KERNELS: &str = include_str!("../ptx/kernels.ptx");
/// Kernels that panic as compiled Rust does.
pub const PANICS: &str = include_str!("../ptx/panics.ptx");
/// Kernels that fault.
pub const FAULTS: &str = include_str!("../ptx/faults.ptx");

/// Returns the backend that the tests run on.
pub fn backend() -> Backend {
    let backend = Backend::from_env().expect("CUST_DEVICE names a backend");
    backend.unwrap_or(Backend::Emulator)
}

/// Creates a context on the tests' backend.
pub fn init() -> Context {
    cust::quick_init_on(backend()).expect("the device can be used")
}

/// Creates a stream in the current context.
pub fn stream() -> Stream {
    Stream::new(StreamFlags::NON_BLOCKING, None).expect("a stream can be made")
}
