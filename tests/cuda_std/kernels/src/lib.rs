//! Kernels that call every public function of `cuda_std`. Those for the oldest architecture are
//! compiled for it; modules for newer architectures are in a separate build.

#![no_std]
// The kernels test functions, and need not be idiomatic.
#![allow(clippy::all)]

pub mod atomics;
#[cfg(feature = "base")]
pub mod groups;
#[cfg(feature = "base")]
pub mod guide;
#[cfg(feature = "base")]
pub mod math;
pub mod raw;

macro_rules! modules {
    ($($arch:literal: $($module:ident)*;)*) => {
        $($(
            #[cfg(any(not(target_arch = "nvptx64"), target_feature = $arch))]
            pub mod $module;
        )*)*
    };
}

#[cfg(feature = "base")]
pub mod output;
#[cfg(feature = "base")]
pub mod synchronization;
#[cfg(feature = "base")]
pub mod vectors;
#[cfg(feature = "base")]
pub mod warp;

modules! {
    "sm_90": newer;
}

/// Returns pseudorandom values: a thread's inputs of a test.
#[inline(always)]
pub fn random(thread: u32) -> u64 {
    let mut x = (u64::from(thread) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^ (x >> 27)
}

/// The examples of `cuda_std`'s documentation.
#[cfg(feature = "base")]
pub mod examples {
    include!(concat!(env!("OUT_DIR"), "/examples.rs"));
}
