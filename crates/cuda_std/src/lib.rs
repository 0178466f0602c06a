//! The device library for kernels: indices, barriers, shared memory, math, printing.
//!
//! A kernel crate is `#![no_std]` and starts with `use cuda_std::prelude::*;`. It needs no other
//! setup: `cuda_std` provides the panic handler and the global allocator of the device.
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
//! The same crate compiles for the host, on stable Rust, so a kernel crate can be an ordinary
//! dependency of the host program, and both can share types and functions. On the host, functions
//! that require a GPU (indices, barriers, shared memory) panic with a message that says so; float
//! functions, printing and the rest of the crate work.
//!
//! # Features
//! Enabled by default; disable one to provide your own:
//! - `panic-handler`: a thread that panics reports the message, `file:line:column`, block and
//!   thread to the host, and exits; `synchronize` on the host returns the report as an error
//!   ([`mod@panic`]).
//! - `allocator`: the types of `alloc` use the device heap ([`allocator`]).
//!
//! Disabled by default: `glam`, `half` and `num-complex` implement [`AnyBits`] for the types of
//! these crates, so that they can be stored in shared memory and used in shuffles and reductions.

#![no_std]
#![cfg_attr(
    target_arch = "nvptx64",
    feature(asm_experimental_arch, core_intrinsics, link_llvm_intrinsics),
    allow(internal_features)
)]
#![cfg_attr(
    nvvm_single_source,
    feature(core_intrinsics, rustc_attrs, std_internals),
    allow(internal_features)
)]

#[cfg(not(target_arch = "nvptx64"))]
extern crate std;

#[cfg(nvvm_single_source)]
extern crate alloc;

// The expansions of this crate's macros name it as `cuda_std`; they are used in this crate too.
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
pub mod half;
pub mod intrinsics;
pub mod io;
pub mod kernel;
pub mod matrix;
pub mod matrix_view;
pub mod mbarrier;
pub mod memory;
pub mod minifloat;
pub mod panic;
pub mod per_block;
pub mod per_row;
pub mod per_thread;
pub mod per_thread_2d;
pub mod per_thread_3d;
pub mod prelude;
pub mod random;
#[doc(hidden)]
pub mod reduction;
pub mod scope;
#[doc(hidden)]
pub mod search;
#[doc(hidden)]
pub mod session;
pub mod shared;
pub mod texture;
pub mod thread;
pub mod time;
pub mod unroll;
pub mod vector;
pub mod warp;
#[cfg(feature = "wgmma")]
pub mod wgmma;
pub mod window;

pub use bits::AnyBits;
pub use constant::Constant;
#[doc(hidden)]
#[cfg(nvvm_tool)]
pub use cuda_std_macros::attributes as single_source_attributes;
#[doc(hidden)]
#[cfg(not(nvvm_tool))]
pub use cuda_std_macros::no_attributes as single_source_attributes;
pub use cuda_std_macros::{AnyBits, address_space, constant, kernel, ptx};
pub use float::{FloatExt, GpuFloat};
pub use matrix_view::MatrixView;
pub use per_block::{PerBlock, PerThreadChunk, PerWarp};
pub use per_row::{PerBlockRow, PerColumn, PerRow, PerWarpRow};
pub use per_thread::PerThread;
pub use per_thread_2d::{PerThread2d, PerTile};
pub use per_thread_3d::PerThread3d;
pub use session::is_device;
pub use window::Window;
// Re-exports of `std`'s macros: other macros of these names would be ambiguous with `std`'s
// prelude.
#[cfg(not(target_arch = "nvptx64"))]
pub use std::{eprint, eprintln, print, println};
