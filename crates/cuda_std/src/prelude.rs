//! The prelude of kernel crates.
//!
//! ```
//! use cuda_std::prelude::*;
//!
//! /// The sum of two vectors.
//! #[kernel]
//! pub fn add(a: &[f32], b: &[f32], mut to: PerThread<f32>) {
//!     for (i, to) in to.own() {
//!         *to = a[i] + b[i];
//!     }
//! }
//! # fn main() {}
//! ```

pub use crate::float::{FloatExt, GpuFloat};
// For their methods.
pub use crate::group::{Group as _, Lanes as _};
pub use crate::per_thread::PerThread;
pub use crate::vector::{AsScalars as _, AsVectors as _};
pub use crate::{address_space, constant, kernel};
pub use crate::{eprint, eprintln, print, println, shared_array};
pub use crate::{shared, thread, warp};
