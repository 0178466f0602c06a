//! What the tests share: the device they run on, and PTX written by hand.
//!
//! They run on the emulator unless `CUST_DEVICE=gpu` says otherwise.

#![allow(dead_code)]

use cust::prelude::*;

/// Vector addition, a structure by value, shared memory, and kernels without parameters.
pub const KERNELS: &str = include_str!("../ptx/kernels.ptx");
/// Kernels that panic as compiled Rust does.
pub const PANICS: &str = include_str!("../ptx/panics.ptx");
/// Kernels that fault.
pub const FAULTS: &str = include_str!("../ptx/faults.ptx");

/// What the tests run on.
pub fn backend() -> Backend {
    let backend = Backend::from_env().expect("CUST_DEVICE names a backend");
    backend.unwrap_or(Backend::Emulator)
}

/// A context on it.
pub fn init() -> Context {
    cust::quick_init_on(backend()).expect("the device can be used")
}

/// A stream in the current context.
pub fn stream() -> Stream {
    Stream::new(StreamFlags::NON_BLOCKING, None).expect("a stream can be made")
}
