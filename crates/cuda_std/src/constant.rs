//! Constant memory that the host sets: CUDA C++'s `__constant__`.
//!
//! ```
//! use cuda_std::prelude::*;
//!
//! /// The host sets it: `module.global_mut::<FACTORS>()?.set(&[0.5, 2.0])?`.
//! #[constant]
//! pub static FACTORS: [f32; 2] = [1.0, 1.0];
//!
//! #[kernel]
//! pub fn scale(from: &[f32], mut to: PerThread<f32>) {
//!     to.each_with(from, |i, to, x| *to = FACTORS[i % 2] * x);
//! }
//! # fn main() {}
//! ```
//!
//! # Soundness
//! Kernels cannot modify constant memory. The host modifies it through a mutable reference to the
//! module, which prevents concurrent launches, and waits for pending launches.

use core::cell::UnsafeCell;
use core::fmt;
use core::ops::Deref;

/// The type of a static with `#[constant]`: a value that the host can change between launches.
/// Dereferences to the value.
#[repr(transparent)]
pub struct Constant<T>(UnsafeCell<T>);

// SAFETY: threads only read it.
unsafe impl<T: Sync> Sync for Constant<T> {}

// `Copy` types have no interior mutability: constant memory cannot be written.
impl<T: Copy> Constant<T> {
    /// Creates the static. `value` is its value when the module is loaded.
    #[must_use]
    pub const fn new(value: T) -> Constant<T> {
        Constant(UnsafeCell::new(value))
    }
}

impl<T> Deref for Constant<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: nothing modifies the value while a kernel runs.
        unsafe { &*self.0.get() }
    }
}

impl<T: fmt::Debug> fmt::Debug for Constant<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
