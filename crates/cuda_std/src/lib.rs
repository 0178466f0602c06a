//! What kernels are written with: indices, barriers, shared memory, math, printing.
//!
//! A crate of kernels is `#![no_std]`, starts with `use cuda_std::prelude::*;`, and needs nothing
//! else: this crate brings the panic handler and the allocator of the device.
//!
//! ```
//! use cuda_std::prelude::*;
//!
//! /// Adds two vectors.
//! #[kernel]
//! pub fn add(a: &[f32], b: &[f32], mut sum: PerThread<f32>) {
//!     for (i, sum) in sum.own() {
//!         *sum = a[i] + b[i];
//!     }
//! }
//! # fn main() {}
//! ```
//!
//! The same crate compiles for the host, on stable Rust, so that a crate of kernels can be an
//! ordinary dependency of the host's program and both share types and functions. What only a GPU
//! has (indices, barriers, shared memory) panics there with a message that says so; the float
//! functions, printing and everything else works.
//!
//! # Features
//! Two are on by default; switch one off to bring your own.
//! - `panic-handler`: a panicking thread reports message, `file:line:column`, block and thread to
//!   the host and ends; the host's `synchronize` returns that as an error ([`mod@panic`]).
//! - `allocator`: `alloc`'s types use the device heap ([`allocator`]).
//!
//! `glam`, `half` and `num-complex`, which are off, make the types of these crates [`AnyBits`]: then they
//! can be in shared memory, and go through shuffles and reductions.

#![no_std]
#![cfg_attr(
    target_arch = "nvptx64",
    feature(asm_experimental_arch, link_llvm_intrinsics),
    allow(internal_features)
)]
#![cfg_attr(nvvm_single_source, feature(rustc_attrs), allow(internal_features))]

#[cfg(not(target_arch = "nvptx64"))]
extern crate std;

// So that the crate's own macros, which name it, work in it too.
extern crate self as cuda_std;

pub mod allocator;
#[doc(hidden)]
pub mod assembly;
pub mod atomic;
pub mod barrier;
mod bits;
pub mod cluster;
pub mod constant;
pub mod copy;
#[cfg(not(target_arch = "nvptx64"))]
mod cpu;
pub mod debug;
pub mod dynamic;
pub mod fence;
pub mod float;
pub mod graph;
pub mod group;
pub mod halves;
pub mod intrinsics;
pub mod io;
pub mod kernel;
pub mod matrix;
pub mod mbarrier;
pub mod memory;
pub mod panic;
pub mod per_block;
pub mod per_row;
pub mod per_thread;
pub mod per_thread_2d;
pub mod per_thread_3d;
pub mod prelude;
pub mod random;
pub mod rows;
pub mod scope;
#[doc(hidden)]
pub mod session;
pub mod shared;
pub mod texture;
pub mod thread;
pub mod time;
pub mod tiny;
pub mod unroll;
pub mod warp;
#[cfg(feature = "wgmma")]
pub mod wgmma;
pub mod window;

pub use bits::AnyBits;
pub use constant::Constant;
#[doc(hidden)]
#[cfg(nvvm_single_source)]
pub use cuda_std_macros::attributes as single_source_attributes;
#[doc(hidden)]
#[cfg(not(nvvm_single_source))]
pub use cuda_std_macros::no_attributes as single_source_attributes;
pub use cuda_std_macros::{AnyBits, address_space, constant, kernel, ptx};
pub use float::{FloatExt, GpuFloat};
pub use per_block::{PerBlock, PerThreadChunk, PerWarp};
pub use per_row::{PerColumn, PerRow};
pub use per_thread::PerThread;
pub use per_thread_2d::{PerThread2d, PerTile};
pub use per_thread_3d::PerThread3d;
pub use rows::Rows;
pub use session::is_device;
pub use window::Window;
// The same macros as without this crate: others of these names would be ambiguous beside them.
#[cfg(not(target_arch = "nvptx64"))]
pub use std::{eprint, eprintln, print, println};
