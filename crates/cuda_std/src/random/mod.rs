//! Random numbers in kernels: generators with many independent sequences, and distributions. The
//! host gets the same numbers, bit for bit.
//!
//! ```
//! use cuda_std::prelude::*;
//! use cuda_std::random::{Distribution, Normal, Philox};
//!
//! /// Noise: each thread draws normal numbers from its own sequence.
//! #[kernel]
//! pub fn noise(seed: u64, mut out: PerThread<f32>) {
//!     let mut random = Philox::new(seed, thread::index_1d().into(), 0);
//!     let normal = Normal::new(0.0f32, 1.0);
//!     for (_, out) in out.own() {
//!         *out = normal.sample(&mut random);
//!     }
//! }
//! # fn main() {}
//! ```
//!
//! Prefer [`Philox`]: starting a thread's sequence is cheap, and its state is small. [`Xorwow`] is
//! cuRAND's default generator: cheaper per number, but expensive to start. For the same seed,
//! subsequence and offset, both produce cuRAND's sequences, and [`Positive`] produces cuRAND's
//! uniform floats. The generators implement `rand_core`'s traits, and the distributions accept
//! every generator that implements them.

mod distributions;
mod math;
mod philox;
mod xorwow;

pub use distributions::{
    Bernoulli, Distribution, Exponential, HalfOpen, LogNormal, Normal, Poisson, Positive, Uniform,
};
pub use philox::{Philox, philox4x32};
pub use rand_core::{self, Rng, SeedableRng};
pub use xorwow::Xorwow;

/// Implements `rand_core`'s traits and an inherent `next_u64` for a generator with `next_u32`, so
/// that calling either needs no trait in scope.
macro_rules! generator {
    ($($ty:ty),*) => {$(
        impl $ty {
            /// Returns the next two numbers as one, the first in the lower half.
            #[inline]
            pub const fn next_u64(&mut self) -> u64 {
                let low = self.next_u32() as u64;
                low | (self.next_u32() as u64) << 32
            }
        }

        impl rand_core::TryRng for $ty {
            type Error = core::convert::Infallible;

            #[inline]
            fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
                Ok(self.next_u32())
            }

            #[inline]
            fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
                Ok(self.next_u64())
            }

            #[inline]
            fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Self::Error> {
                for part in bytes.chunks_mut(4) {
                    let number = self.next_u32().to_le_bytes();
                    for (byte, from) in part.iter_mut().zip(number) {
                        *byte = from;
                    }
                }
                Ok(())
            }
        }

        impl SeedableRng for $ty {
            /// The seed and, for [`Philox`], the subsequence, in little-endian order.
            type Seed = [u8; 16];

            #[inline]
            fn from_seed(seed: [u8; 16]) -> Self {
                let seed = u128::from_le_bytes(seed);
                Self::new(seed as u64, (seed >> 64) as u64, 0)
            }

            #[inline]
            fn seed_from_u64(seed: u64) -> Self {
                Self::new(seed, 0, 0)
            }
        }
    )*};
}
generator!(Philox, Xorwow);
