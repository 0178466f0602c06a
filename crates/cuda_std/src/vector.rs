//! Vectors of two and four numbers with the alignment of CUDA C++'s vector types (`float4`): a
//! thread loads and stores up to 16 bytes with one instruction (`ld.global.v4`, `st.global.v4`).
//!
//! ```
//! use cuda_std::prelude::*;
//! use cuda_std::vector::F32x4;
//!
//! /// Computes `a * x + y`, four elements at a time.
//! #[kernel]
//! pub fn axpy(a: f32, x: &[F32x4], mut y: PerThread<F32x4>) {
//!     y.each_with(x, |_, y, x| *y += a * *x);
//! }
//! # fn main() {}
//! ```
//!
//! On the host, the arguments are buffers of vectors, or buffers of scalars viewed as vectors by
//! `as_vectors` and `as_vectors_mut` of `cust`'s `DeviceBuffer`. In a kernel, [`AsVectors`] views
//! slices of scalars as vectors, and [`AsScalars`] does the reverse:
//!
//! ```
//! use cuda_std::prelude::*;
//! use cuda_std::vector::U32x4;
//! use core::sync::atomic::{AtomicU32, Ordering};
//!
//! /// Counts the zeros of `data`, whose length is a multiple of 4.
//! #[kernel]
//! pub fn zeros(data: &[u32], count: &AtomicU32) {
//!     let vectors = data.as_vectors::<U32x4>().expect("a whole number of aligned vectors");
//!     let mine = thread::elements(vectors).fold(0, |sum, (_, vector)| {
//!         sum + vector.iter().filter(|x| **x == 0).count()
//!     });
//!     count.fetch_add(mine as u32, Ordering::Relaxed);
//! }
//! # fn main() {}
//! ```
//!
//! The types are those of `cust_core::vector`, which `cust` re-exports as `cust::vector`.

#[doc(inline)]
pub use cust_core::vector::*;
