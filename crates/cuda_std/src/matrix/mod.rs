//! Matrix products on tensor cores (`mma.sync`). A warp computes the product of an M×K and a K×N
//! matrix plus an M×N matrix. Each thread holds some elements of each matrix, a *fragment*, in
//! registers. The types of fragments know the positions of their elements, so safe code can fill
//! and read them.
//!
//! ```
//! use cuda_std::half::F16;
//! use cuda_std::matrix::{A, Accumulator, B, Mma, Multiply};
//! use cuda_std::prelude::*;
//!
//! /// The product of a 16×16 and a 16×8 matrix of `f16`, both row-major, by one warp.
//! #[kernel]
//! pub unsafe fn product(a: &[F16], b: &[F16], c: *mut f32) {
//!     type Tile = Mma<16, 8, 16, F16, F16, f32>;
//!     let a = A::<Tile>::from_fn(|row, column| a[row * 16 + column]);
//!     let b = B::<Tile>::from_fn(|row, column| b[row * 8 + column]);
//!     let sum = Tile::multiply(a, b, Accumulator::zero());
//!     sum.for_each(|row, column, value| unsafe { *c.add(row * 8 + column) = value });
//! }
//! # fn main() {}
//! ```
//!
//! [`Mma`] names the shape and the types; the implementations of [`Multiply`] list the supported
//! combinations. A combination that the target architecture lacks is a compile-time error that
//! names the required architecture. Floating-point sums are computed as the hardware does: in
//! unspecified order, with more bits than the result but without rounding each sum to `f32`. If no
//! sum needs rounding, results equal those of the host.
//!
//! All 32 threads of a warp must call `multiply` together. [`wmma`] has the older products with
//! opaque fragments. Sparse and block-scaled products have no safe interface here; use
//! [`intrinsics::matrix`](crate::intrinsics::matrix).

mod element;
mod products;
pub mod wmma;

use core::marker::PhantomData;

pub use element::{Bit, E2m1Byte, Element, I4, Packed, Registers, Tf32, U4};
pub use products::{Multiply, MultiplyBits, MultiplySaturating, Shape};

use crate::intrinsics::{matrix, special};

/// The product of an M×K matrix of `TA` and a K×N matrix of `TB`, accumulated in `TC`.
pub struct Mma<const M: usize, const N: usize, const K: usize, TA, TB, TC>(
    PhantomData<(TA, TB, TC)>,
);

/// Returns this thread's lane index, which determines its elements of a fragment.
#[inline(always)]
fn lane() -> usize {
    special::laneid() as usize
}

macro_rules! fragment {
    ($(#[$doc:meta])* $name:ident $element:ident $registers:ident $rows:ident $columns:ident) => {
        $(#[$doc])*
        #[repr(transparent)]
        pub struct $name<P: Shape>(P::$registers);

        impl<P: Shape> Clone for $name<P> {
            #[inline(always)]
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<P: Shape> Copy for $name<P> {}

        impl<P: Shape> $name<P> {
            /// The number of rows of the matrix.
            pub const ROWS: usize = P::$rows;
            /// The number of columns of the matrix.
            pub const COLUMNS: usize = P::$columns;
            /// The number of elements that each thread holds.
            pub const LEN: usize = <P::$registers as Registers<P::$element>>::LEN;

            /// Creates a matrix whose elements are all 0.
            #[inline(always)]
            #[must_use]
            pub fn zero() -> Self {
                Self(<P::$registers as Registers<P::$element>>::ZERO)
            }

            /// Creates a matrix from a function of row and column. Each thread computes its own
            /// elements.
            #[inline(always)]
            #[must_use]
            pub fn from_fn(mut element: impl FnMut(usize, usize) -> P::$element) -> Self {
                let (lane, mut fragment) = (lane(), Self::zero());
                for index in 0..Self::LEN {
                    let (row, column) = Self::position(lane, index);
                    fragment.0.set(index, element(row, column));
                }
                fragment
            }

            /// Creates a matrix whose elements are all `element`.
            #[inline(always)]
            #[must_use]
            pub fn splat(element: P::$element) -> Self {
                let mut fragment = Self::zero();
                for index in 0..Self::LEN {
                    fragment.0.set(index, element);
                }
                fragment
            }

            /// Calls `f` with row, column and value of each element that this thread holds.
            #[inline(always)]
            pub fn for_each(self, mut f: impl FnMut(usize, usize, P::$element)) {
                let lane = lane();
                for index in 0..Self::LEN {
                    let (row, column) = Self::position(lane, index);
                    f(row, column, self.0.get(index));
                }
            }

            /// Applies `f` to each element.
            #[inline(always)]
            #[must_use]
            pub fn map(mut self, mut f: impl FnMut(P::$element) -> P::$element) -> Self {
                for index in 0..Self::LEN {
                    let value = f(self.0.get(index));
                    self.0.set(index, value);
                }
                self
            }

            /// Returns the element with index `index` among those that this thread holds.
            #[inline(always)]
            #[must_use]
            pub fn get(&self, index: usize) -> P::$element {
                self.0.get(index)
            }

            /// Replaces the element with index `index` among those that this thread holds.
            #[inline(always)]
            pub fn set(&mut self, index: usize, value: P::$element) {
                self.0.set(index, value);
            }

            /// Creates a fragment from registers, as intrinsics return them.
            #[inline(always)]
            #[must_use]
            pub const fn from_registers(registers: P::$registers) -> Self {
                Self(registers)
            }

            /// Returns the registers, as intrinsics take them.
            #[inline(always)]
            #[must_use]
            pub const fn into_registers(self) -> P::$registers {
                self.0
            }
        }
    };
}

fragment! {
    /// A fragment of the first factor, an M×K matrix.
    A ElementA RegistersA M K
}
fragment! {
    /// A fragment of the second factor, a K×N matrix.
    B ElementB RegistersB K N
}
fragment! {
    /// A fragment of the accumulator, an M×N matrix.
    Accumulator ElementC RegistersC M N
}

/// Returns the number of elements of `bits` bits that share a 32-bit register; 1 for 64 bits.
const fn each(bits: usize) -> usize {
    if bits > 32 { 1 } else { 32 / bits }
}

impl<P: Shape> A<P> {
    /// Returns row and column of the element with index `index` in lane `lane`.
    #[inline(always)]
    #[must_use]
    pub const fn position(lane: usize, index: usize) -> (usize, usize) {
        let each = each(P::BITS_A);
        let (register, part) = (index / each, index % each);
        let (upper, step) = match P::M {
            8 => (0, register),
            _ => (register % 2, register / 2),
        };
        (lane / 4 + upper * 8, (step * 4 + lane % 4) * each + part)
    }
}

impl<P: Shape> B<P> {
    /// Returns row and column of the element with index `index` in lane `lane`.
    #[inline(always)]
    #[must_use]
    pub const fn position(lane: usize, index: usize) -> (usize, usize) {
        let each = each(P::BITS_A);
        (
            (index / each * 4 + lane % 4) * each + index % each,
            lane / 4,
        )
    }
}

impl<P: Shape> Accumulator<P> {
    /// Returns row and column of the element with index `index` in lane `lane`.
    #[inline(always)]
    #[must_use]
    pub const fn position(lane: usize, index: usize) -> (usize, usize) {
        (lane / 4 + index / 2 * 8, lane % 4 * 2 + index % 2)
    }
}

/// Declares collective loads of 8×8 matrices of 16-bit elements from shared memory (`ldmatrix`),
/// which are faster than loading single elements.
macro_rules! load_matrices {
    ($k:literal: $rows_a:ident, $rows_b:ident, $columns_b:ident, $pick_a:expr, $pick_b:expr) => {
        impl<T: Packed, TC> A<Mma<16, 8, $k, T, T, TC>>
        where
            Mma<16, 8, $k, T, T, TC>: Shape<RegistersA = $rows_a, RegistersB = $rows_b>,
        {
            /// Loads a row-major matrix from shared memory, with rows `stride` elements apart.
            ///
            /// # Safety
            /// `from` must point to the matrix in shared memory, with each row aligned to 16 bytes
            /// and no concurrent writes. Elements must have 16 bits.
            #[inline(always)]
            #[must_use]
            pub unsafe fn load_shared(from: *const T, stride: usize) -> Self {
                let lane = lane();
                // SAFETY: the caller's guarantee.
                unsafe {
                    let row = from.add(lane % 16 * stride + lane / 16 * 8 % $k);
                    Self($pick_a(row.cast()))
                }
            }
        }

        impl<T: Packed, TC> B<Mma<16, 8, $k, T, T, TC>>
        where
            Mma<16, 8, $k, T, T, TC>: Shape<RegistersA = $rows_a, RegistersB = $rows_b>,
        {
            /// Loads a row-major matrix from shared memory, with rows `stride` elements apart.
            ///
            /// # Safety
            /// `from` must point to the matrix in shared memory, with each row aligned to 16 bytes
            /// and no concurrent writes. Elements must have 16 bits.
            #[inline(always)]
            #[must_use]
            pub unsafe fn load_shared(from: *const T, stride: usize) -> Self {
                // SAFETY: the caller's guarantee.
                unsafe { Self($pick_b(from.add(lane() % $k * stride).cast(), true)) }
            }

            /// Loads a column-major matrix from shared memory, with columns `stride` elements
            /// apart.
            ///
            /// # Safety
            /// `from` must point to the matrix in shared memory, with each column aligned to 16
            /// bytes and no concurrent writes. Elements must have 16 bits.
            #[inline(always)]
            #[must_use]
            pub unsafe fn load_shared_columns(from: *const T, stride: usize) -> Self {
                let lane = lane();
                // SAFETY: the caller's guarantee.
                unsafe {
                    let column = from.add(lane % 8 * stride + lane / 8 * 8 % $k);
                    Self($pick_b(column.cast(), false))
                }
            }
        }
    };
}

type One = [u32; 1];
type Two = [u32; 2];
type Four = [u32; 4];

load_matrices!(16: Four, Two, Two, |row| matrix::ldmatrix_x_4(row), |row, transposed| {
    if transposed {
        matrix::ldmatrix_trans_x_2(row)
    } else {
        matrix::ldmatrix_x_2(row)
    }
});
load_matrices!(8: Two, One, One, |row| matrix::ldmatrix_x_2(row), |row, transposed| {
    if transposed {
        matrix::ldmatrix_trans_x_1(row)
    } else {
        matrix::ldmatrix_x_1(row)
    }
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::half::F16;

    /// Checks that the fragments cover each element of the matrix exactly once.
    fn covers(rows: usize, columns: usize, len: usize, place: fn(usize, usize) -> (usize, usize)) {
        let mut seen = std::vec![0; rows * columns];
        for lane in 0..32 {
            for index in 0..len {
                let (row, column) = place(lane, index);
                seen[row * columns + column] += 1;
            }
        }
        assert!(seen.iter().all(|&count| count == 1), "{rows}×{columns}");
    }

    fn check<P: Shape>() {
        covers(P::M, P::K, A::<P>::LEN, A::<P>::position);
        covers(P::K, P::N, B::<P>::LEN, B::<P>::position);
        covers(
            P::M,
            P::N,
            Accumulator::<P>::LEN,
            Accumulator::<P>::position,
        );
    }

    #[test]
    fn fragments_cover_their_matrices() {
        check::<Mma<16, 8, 8, F16, F16, F16>>();
        check::<Mma<16, 8, 16, F16, F16, f32>>();
        check::<Mma<16, 8, 4, Tf32, Tf32, f32>>();
        check::<Mma<16, 8, 8, Tf32, Tf32, f32>>();
        check::<Mma<8, 8, 4, f64, f64, f64>>();
        check::<Mma<16, 8, 16, f64, f64, f64>>();
        check::<Mma<8, 8, 16, i8, u8, i32>>();
        check::<Mma<16, 8, 32, u8, i8, i32>>();
        check::<Mma<16, 8, 64, I4, U4, i32>>();
        check::<Mma<8, 8, 32, U4, I4, i32>>();
        check::<Mma<16, 8, 256, Bit, Bit, i32>>();
    }
}
