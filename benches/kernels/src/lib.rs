//! The benchmarks' kernels. Each benchmark `NAME` has two kernels here and one in `benches/cuda`, with
//! the same algorithm and the same block size:
//!
//! - `NAME_safe`: what the documentation of `cuda_std` suggests, without `unsafe`,
//! - `NAME_raw`: raw pointers and explicit barriers,
//! - `NAME` in `benches/cuda`: CUDA C++ in its customary form.
//!
//! Kernels are written for their readers, not for the compiler's weaknesses.

#![no_std]
// The whole body of each raw kernel is unsafe: its pointers are valid for the sizes that it is given.
#![allow(unsafe_op_in_unsafe_fn, clippy::missing_safety_doc)]
// Raw kernels have plain loops, and kernels take what they need.
#![allow(clippy::needless_range_loop, clippy::too_many_arguments)]

pub mod block;
pub mod chemistry;
pub mod compute;
pub mod dense;
pub mod docking;
pub mod fourier;
pub mod hashing;
pub mod limits;
pub mod particles;
pub mod scan;
pub mod sparse;
pub mod stencil;
pub mod stream;
pub mod tensor;
pub mod transport;
