//! The kernels of the benchmarks. Each benchmark `NAME` has two kernels here and one in
//! `benches/cuda`, with the same algorithm and block size:
//!
//! - `NAME_safe`: what the documentation of `cuda_std` suggests, without `unsafe`,
//! - `NAME_raw`: raw pointers and explicit barriers,
//! - `NAME` in `benches/cuda`: CUDA C++ in its customary form.
//!
//! Kernels are written for readers, and do not work around weaknesses of the compiler.

#![no_std]
// The whole body of each raw kernel is unsafe: its pointers must be valid for the sizes that it
// receives.
#![allow(unsafe_op_in_unsafe_fn, clippy::missing_safety_doc)]
// Raw kernels have plain loops, and kernels have as many parameters as they need.
#![allow(clippy::needless_range_loop, clippy::too_many_arguments)]

pub mod assorted;
pub mod block;
pub mod camera;
pub mod chains;
pub mod chemistry;
pub mod ciphers;
pub mod compute;
pub mod data;
pub mod dense;
pub mod detection;
pub mod docking;
pub mod domains;
pub mod dynamics;
pub mod encoding;
pub mod estimates;
pub mod fields;
pub mod filters;
pub mod fourier;
pub mod graphics;
pub mod graphs;
pub mod grids;
pub mod hashing;
pub mod images;
pub mod imaging;
pub mod inference;
pub mod lattices;
pub mod layers;
pub mod learning;
pub mod limits;
pub mod medley;
pub mod miscellany;
pub mod mixture;
pub mod neighbors;
pub mod networks;
pub mod particles;
pub mod physics;
pub mod ported;
pub mod programs;
pub mod records;
pub mod recurrences;
pub mod retrieval;
pub mod rows;
pub mod scan;
pub mod scenes;
pub mod sequences;
pub mod shapes;
pub mod signals;
pub mod solvers;
pub mod sparse;
pub mod stencil;
pub mod stream;
pub mod sundry;
pub mod teams;
pub mod tensor;
pub mod threads;
pub mod training;
pub mod transport;
pub mod variety;
pub mod vision;
pub mod volumes;
pub mod worlds;
