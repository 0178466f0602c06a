//! Constant memory that the host sets: what `__constant__` is in CUDA C++.
//!
//! ```
//! use cuda_std::prelude::*;
//!
//! /// The host sets them: `module.global_mut::<FACTORS>()?.set(&[0.5, 2.0])?`.
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
//! # Why it is sound
//! A kernel has no way to change it. The host changes it through a mutable reference to the module,
//! which nobody can launch kernels of meanwhile, and waits for those in flight.

use core::cell::UnsafeCell;
use core::fmt;
use core::ops::Deref;

/// What a static with `#[constant]` is: a value that the host may change between launches. It derefs to
/// the value.
#[repr(transparent)]
pub struct Constant<T>(UnsafeCell<T>);

// SAFETY: threads only read it.
unsafe impl<T: Sync> Sync for Constant<T> {}

// Of types that are `Copy`, which have no interior mutability: constant memory cannot be written.
impl<T: Copy> Constant<T> {
    /// The value that the module is loaded with.
    #[must_use]
    pub const fn new(value: T) -> Constant<T> {
        Constant(UnsafeCell::new(value))
    }
}

impl<T> Deref for Constant<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: nothing changes it while there are references.
        unsafe { &*self.0.get() }
    }
}

impl<T: fmt::Debug> fmt::Debug for Constant<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
