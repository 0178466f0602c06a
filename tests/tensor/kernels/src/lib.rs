//! The kernels of the tests, and the results that the host expects. A kernel has one input and one
//! output, both lists of words; `input[0]` says which of several cases it is where there are several.
//!
//! Compiled for the oldest architecture, and for the one that the newer instructions need.

#![no_std]
// Lists that are repeated over hold their items together by parentheses.
#![allow(missing_docs, unused_parens)]
// References are written for what they mean, `!(a < b)` of NaN among them.
#![allow(clippy::all)]
// Items that only the host, or only one architecture, needs are unused elsewhere.
#![cfg_attr(target_arch = "nvptx64", allow(unused_imports, dead_code))]

#[cfg(not(target_arch = "nvptx64"))]
extern crate std;

pub mod intrinsics_table;
pub mod numbers;
pub mod products;
pub mod textures;
pub mod tiles;
pub mod transfers;
pub mod values;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
pub mod wgmma;
pub mod wmma;

/// Declares a kernel of an input and an output.
#[macro_export]
macro_rules! kernel {
    ($(#[$attribute:meta])* $name:ident($input:ident, $output:ident) $body:block) => {
        /// # Safety
        /// The input and the output are as long as the test's.
        #[cuda_std::kernel]
        $(#[$attribute])*
        pub unsafe fn $name($input: *const u32, $output: *mut u32) {
            let _ = ($input, $output);
            $body
        }
    };
}

/// The examples of the documentation.
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
pub mod examples {
    include!(concat!(env!("OUT_DIR"), "/examples.rs"));
}
