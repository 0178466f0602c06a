//! `wmma`: products with opaque fragments, whose layout only the hardware knows: CUDA's
//! `nvcuda::wmma`. Fragments support only loads, stores, products and element-wise functions. New
//! code should prefer [`Mma`](super::Mma).
//!
//! ```
//! use cuda_std::half::F16;
//! use cuda_std::matrix::wmma::{A, Accumulator, B, Multiply, RowMajor, Wmma};
//! use cuda_std::prelude::*;
//!
//! /// The product of two 16×16 matrices by one warp.
//! ///
//! /// # Safety
//! /// All three matrices have 256 elements.
//! #[kernel]
//! pub unsafe fn product(a: *const F16, b: *const F16, c: *mut f32) {
//!     type Tile = Wmma<16, 16, 16, F16, f32>;
//!     unsafe {
//!         let a = A::<Tile, RowMajor>::load(a, 16);
//!         let b = B::<Tile, RowMajor>::load(b, 16);
//!         Tile::multiply(a, b, Accumulator::zero()).store(c, 16);
//!     }
//! }
//! # fn main() {}
//! ```

use core::marker::PhantomData;

use super::element::{Bit, I4, Registers, Tf32, U4};
use crate::half::{Bf16, F16};
use crate::intrinsics::wmma as raw;

/// The product of an M×K and a K×N matrix of `T`, accumulated in `TC`.
pub struct Wmma<const M: usize, const N: usize, const K: usize, T, TC>(
    PhantomData<fn() -> (T, TC)>,
);

/// Row-major layout.
#[derive(Clone, Copy, Debug)]
pub struct RowMajor;

/// Column-major layout.
#[derive(Clone, Copy, Debug)]
pub struct ColumnMajor;

/// The element types and registers of a product's fragments.
pub trait Shape: Sized {
    /// The type of a factor's elements in memory: a 32-bit word for elements of less than 8 bits.
    type Cell: Copy;
    /// The element type of the accumulator.
    type Sum: Copy;
    /// The registers of the first factor.
    type RegistersA: Copy;
    /// The registers of the second factor.
    type RegistersB: Copy;
    /// The registers of the accumulator.
    type RegistersC: Registers<Self::Sum>;
}

/// A product whose factors have the layouts `L` and `R`.
pub trait Multiply<L, R>: Shape {
    /// Returns `a * b + c`. Integers wrap on overflow. All 32 threads of the warp must call it
    /// together.
    #[must_use]
    fn multiply(a: A<Self, L>, b: B<Self, R>, c: Accumulator<Self>) -> Accumulator<Self>;
}

/// A product whose first factor can be loaded with layout `L`.
pub trait LoadA<L>: Shape {
    /// Loads the first factor.
    ///
    /// # Safety
    /// As for [`A::load`].
    #[doc(hidden)]
    unsafe fn load_a(from: *const Self::Cell, stride: u32) -> Self::RegistersA;
}

/// A product whose second factor can be loaded with layout `L`.
pub trait LoadB<L>: Shape {
    /// Loads the second factor.
    ///
    /// # Safety
    /// As for [`B::load`].
    #[doc(hidden)]
    unsafe fn load_b(from: *const Self::Cell, stride: u32) -> Self::RegistersB;
}

/// A product whose accumulator can be loaded and stored with layout `L`.
pub trait Sum<L>: Shape {
    /// Loads the accumulator.
    ///
    /// # Safety
    /// As for [`Accumulator::load`].
    #[doc(hidden)]
    unsafe fn load_c(from: *const Self::Sum, stride: u32) -> Self::RegistersC;
    /// Stores the accumulator.
    ///
    /// # Safety
    /// As for [`Accumulator::store`].
    #[doc(hidden)]
    unsafe fn store_c(to: *mut Self::Sum, fragment: Self::RegistersC, stride: u32);
}

/// A fragment of the first factor, loaded with layout `L`.
pub struct A<P: Shape, L>(P::RegistersA, PhantomData<L>);

/// A fragment of the second factor, loaded with layout `L`.
pub struct B<P: Shape, L>(P::RegistersB, PhantomData<L>);

/// A fragment of the accumulator.
pub struct Accumulator<P: Shape>(P::RegistersC);

impl<P: LoadA<L>, L> A<P, L> {
    /// Loads the matrix, with rows (or columns) `stride` elements apart. All 32 threads of the warp
    /// must call it together, with the same arguments.
    ///
    /// # Safety
    /// `from` must point to the matrix, aligned to 32 bytes, with a stride that is a multiple of 16
    /// bytes and no concurrent writes.
    #[inline(always)]
    #[must_use]
    pub unsafe fn load(from: *const P::Cell, stride: u32) -> Self {
        // SAFETY: the caller's guarantee.
        A(unsafe { P::load_a(from, stride) }, PhantomData)
    }
}

impl<P: LoadB<L>, L> B<P, L> {
    /// Loads the matrix, with rows (or columns) `stride` elements apart. All 32 threads of the warp
    /// must call it together, with the same arguments.
    ///
    /// # Safety
    /// `from` must point to the matrix, aligned to 32 bytes, with a stride that is a multiple of 16
    /// bytes and no concurrent writes.
    #[inline(always)]
    #[must_use]
    pub unsafe fn load(from: *const P::Cell, stride: u32) -> Self {
        // SAFETY: the caller's guarantee.
        B(unsafe { P::load_b(from, stride) }, PhantomData)
    }
}

impl<P: Sum<RowMajor> + Sum<ColumnMajor>> Accumulator<P> {
    /// Loads a row-major matrix, with rows `stride` elements apart. All 32 threads of the warp must
    /// call it together, with the same arguments.
    ///
    /// # Safety
    /// `from` must point to the matrix, aligned to 32 bytes, with a stride that is a multiple of 16
    /// bytes and no concurrent writes.
    #[inline(always)]
    #[must_use]
    pub unsafe fn load(from: *const P::Sum, stride: u32) -> Self {
        // SAFETY: the caller's guarantee.
        Accumulator(unsafe { <P as Sum<RowMajor>>::load_c(from, stride) })
    }

    /// Loads a column-major matrix, with columns `stride` elements apart.
    ///
    /// # Safety
    /// As for [`Accumulator::load`].
    #[inline(always)]
    #[must_use]
    pub unsafe fn load_columns(from: *const P::Sum, stride: u32) -> Self {
        // SAFETY: the caller's guarantee.
        Accumulator(unsafe { <P as Sum<ColumnMajor>>::load_c(from, stride) })
    }

    /// Stores a row-major matrix, with rows `stride` elements apart. All 32 threads of the warp
    /// must call it together, with the same arguments.
    ///
    /// # Safety
    /// `to` must point to memory for the matrix, aligned to 32 bytes, with a stride that is a
    /// multiple of 16 bytes and no concurrent accesses.
    #[inline(always)]
    pub unsafe fn store(self, to: *mut P::Sum, stride: u32) {
        // SAFETY: the caller's guarantee.
        unsafe { <P as Sum<RowMajor>>::store_c(to, self.0, stride) }
    }

    /// Stores a column-major matrix, with columns `stride` elements apart.
    ///
    /// # Safety
    /// As for [`Accumulator::store`].
    #[inline(always)]
    pub unsafe fn store_columns(self, to: *mut P::Sum, stride: u32) {
        // SAFETY: the caller's guarantee.
        unsafe { <P as Sum<ColumnMajor>>::store_c(to, self.0, stride) }
    }
}

impl<P: Shape> Accumulator<P> {
    /// Creates an accumulator whose elements are all 0.
    #[inline(always)]
    #[must_use]
    pub fn zero() -> Self {
        Accumulator(P::RegistersC::ZERO)
    }

    /// Applies `f` to each element, in unspecified order.
    #[inline(always)]
    #[must_use]
    pub fn map(mut self, mut f: impl FnMut(P::Sum) -> P::Sum) -> Self {
        for index in 0..P::RegistersC::LEN {
            let value = f(self.0.get(index));
            self.0.set(index, value);
        }
        self
    }
}

cuda_std_macros::repeat! {
    for (SHAPE, M, N, K, NT, T, CELL, RA, RB, NC, TC, RC, CELLC) in [
        (m16n16k16, 16, 16, 16, f16, F16, F16, [u32; 8], [u32; 8], f16, F16, [u32; 4], u16),
        (m16n16k16, 16, 16, 16, f16, F16, F16, [u32; 8], [u32; 8], f32, f32, [f32; 8], f32),
        (m32n8k16, 32, 8, 16, f16, F16, F16, [u32; 8], [u32; 8], f16, F16, [u32; 4], u16),
        (m32n8k16, 32, 8, 16, f16, F16, F16, [u32; 8], [u32; 8], f32, f32, [f32; 8], f32),
        (m8n32k16, 8, 32, 16, f16, F16, F16, [u32; 8], [u32; 8], f16, F16, [u32; 4], u16),
        (m8n32k16, 8, 32, 16, f16, F16, F16, [u32; 8], [u32; 8], f32, f32, [f32; 8], f32),
        (m16n16k16, 16, 16, 16, bf16, Bf16, Bf16, [u32; 4], [u32; 4], f32, f32, [f32; 8], f32),
        (m32n8k16, 32, 8, 16, bf16, Bf16, Bf16, [u32; 8], [u32; 2], f32, f32, [f32; 8], f32),
        (m8n32k16, 8, 32, 16, bf16, Bf16, Bf16, [u32; 2], [u32; 8], f32, f32, [f32; 8], f32),
        (m16n16k16, 16, 16, 16, s8, i8, i8, [u32; 2], [u32; 2], s32, i32, [i32; 8], i32),
        (m32n8k16, 32, 8, 16, s8, i8, i8, [u32; 4], [u32; 1], s32, i32, [i32; 8], i32),
        (m8n32k16, 8, 32, 16, s8, i8, i8, [u32; 1], [u32; 4], s32, i32, [i32; 8], i32),
        (m16n16k16, 16, 16, 16, u8, u8, u8, [u32; 2], [u32; 2], s32, i32, [i32; 8], i32),
        (m32n8k16, 32, 8, 16, u8, u8, u8, [u32; 4], [u32; 1], s32, i32, [i32; 8], i32),
        (m8n32k16, 8, 32, 16, u8, u8, u8, [u32; 1], [u32; 4], s32, i32, [i32; 8], i32),
        (m16n16k8, 16, 16, 8, tf32, Tf32, f32, [u32; 4], [u32; 4], f32, f32, [f32; 8], f32),
        (m8n8k4, 8, 8, 4, f64, f64, f64, f64, f64, f64, f64, [f64; 2], f64),
        (m8n8k32, 8, 8, 32, s4, I4, u32, u32, u32, s32, i32, [i32; 2], i32),
        (m8n8k32, 8, 8, 32, u4, U4, u32, u32, u32, s32, i32, [i32; 2], i32),
        (m8n8k128, 8, 8, 128, b1, Bit, u32, u32, u32, s32, i32, [i32; 2], i32)
    ] {
        impl Shape for Wmma<M, N, K, T, TC> {
            type Cell = CELL;
            type Sum = TC;
            type RegistersA = RA;
            type RegistersB = RB;
            type RegistersC = RC;
        }
        for (L, LAYOUT) in [(row, RowMajor), (col, ColumnMajor)] {
            impl Sum<LAYOUT> for Wmma<M, N, K, T, TC> {
                #[inline(always)]
                unsafe fn load_c(from: *const TC, stride: u32) -> RC {
                    // SAFETY: the caller's promise.
                    unsafe { raw::wmma_load_c_SHAPE_L_NC(from.cast::<CELLC>(), stride) }
                }
                #[inline(always)]
                unsafe fn store_c(to: *mut TC, fragment: RC, stride: u32) {
                    // SAFETY: the caller's promise.
                    unsafe { raw::wmma_store_d_SHAPE_L_NC(to.cast::<CELLC>(), fragment, stride) }
                }
            }
        }
    }
    // Products that support both layouts of both factors.
    for (SHAPE, M, N, K, NT, T, TC, CELL, RA, RB) in [
        (m16n16k16, 16, 16, 16, f16, F16, F16, F16, [u32; 8], [u32; 8]),
        (m32n8k16, 32, 8, 16, f16, F16, F16, F16, [u32; 8], [u32; 8]),
        (m8n32k16, 8, 32, 16, f16, F16, F16, F16, [u32; 8], [u32; 8]),
        (m16n16k16, 16, 16, 16, f16, F16, f32, F16, [u32; 8], [u32; 8]),
        (m32n8k16, 32, 8, 16, f16, F16, f32, F16, [u32; 8], [u32; 8]),
        (m8n32k16, 8, 32, 16, f16, F16, f32, F16, [u32; 8], [u32; 8]),
        (m16n16k16, 16, 16, 16, bf16, Bf16, f32, Bf16, [u32; 4], [u32; 4]),
        (m32n8k16, 32, 8, 16, bf16, Bf16, f32, Bf16, [u32; 8], [u32; 2]),
        (m8n32k16, 8, 32, 16, bf16, Bf16, f32, Bf16, [u32; 2], [u32; 8]),
        (m16n16k16, 16, 16, 16, s8, i8, i32, i8, [u32; 2], [u32; 2]),
        (m32n8k16, 32, 8, 16, s8, i8, i32, i8, [u32; 4], [u32; 1]),
        (m8n32k16, 8, 32, 16, s8, i8, i32, i8, [u32; 1], [u32; 4]),
        (m16n16k16, 16, 16, 16, u8, u8, i32, u8, [u32; 2], [u32; 2]),
        (m32n8k16, 32, 8, 16, u8, u8, i32, u8, [u32; 4], [u32; 1]),
        (m8n32k16, 8, 32, 16, u8, u8, i32, u8, [u32; 1], [u32; 4]),
        (m16n16k8, 16, 16, 8, tf32, Tf32, f32, f32, [u32; 4], [u32; 4]),
        (m8n8k4, 8, 8, 4, f64, f64, f64, f64, f64, f64)
    ] {
        for (L, LAYOUT) in [(row, RowMajor), (col, ColumnMajor)] {
            impl LoadA<LAYOUT> for Wmma<M, N, K, T, TC> {
                #[inline(always)]
                unsafe fn load_a(from: *const CELL, stride: u32) -> RA {
                    // SAFETY: the caller's promise.
                    unsafe { raw::wmma_load_a_SHAPE_L_NT(from.cast(), stride) }
                }
            }
            impl LoadB<LAYOUT> for Wmma<M, N, K, T, TC> {
                #[inline(always)]
                unsafe fn load_b(from: *const CELL, stride: u32) -> RB {
                    // SAFETY: the caller's promise.
                    unsafe { raw::wmma_load_b_SHAPE_L_NT(from.cast(), stride) }
                }
            }
        }
    }
    for (SHAPE, K, NT, T) in [(m8n8k32, 32, s4, I4), (m8n8k32, 32, u4, U4), (m8n8k128, 128, b1, Bit)] {
        impl LoadA<RowMajor> for Wmma<8, 8, K, T, i32> {
            #[inline(always)]
            unsafe fn load_a(from: *const u32, stride: u32) -> u32 {
                // SAFETY: the caller's promise.
                unsafe { raw::wmma_load_a_SHAPE_row_NT(from, stride) }
            }
        }
        impl LoadB<ColumnMajor> for Wmma<8, 8, K, T, i32> {
            #[inline(always)]
            unsafe fn load_b(from: *const u32, stride: u32) -> u32 {
                // SAFETY: the caller's promise.
                unsafe { raw::wmma_load_b_SHAPE_col_NT(from, stride) }
            }
        }
    }
    for (LA, LEFT) in [(row, RowMajor), (col, ColumnMajor)] {
        for (LB, RIGHT) in [(row, RowMajor), (col, ColumnMajor)] {
            for (SHAPE, M, N, K, T, TC, END) in [
                (m16n16k16, 16, 16, 16, F16, F16, f16_f16), (m32n8k16, 32, 8, 16, F16, F16, f16_f16),
                (m8n32k16, 8, 32, 16, F16, F16, f16_f16), (m16n16k16, 16, 16, 16, F16, f32, f32_f32),
                (m32n8k16, 32, 8, 16, F16, f32, f32_f32), (m8n32k16, 8, 32, 16, F16, f32, f32_f32),
                (m16n16k16, 16, 16, 16, Bf16, f32, f32_bf16), (m32n8k16, 32, 8, 16, Bf16, f32, f32_bf16),
                (m8n32k16, 8, 32, 16, Bf16, f32, f32_bf16),
                (m16n16k16, 16, 16, 16, i8, i32, s32_s8_wrapping), (m32n8k16, 32, 8, 16, i8, i32, s32_s8_wrapping),
                (m8n32k16, 8, 32, 16, i8, i32, s32_s8_wrapping),
                (m16n16k16, 16, 16, 16, u8, i32, s32_u8_wrapping), (m32n8k16, 32, 8, 16, u8, i32, s32_u8_wrapping),
                (m8n32k16, 8, 32, 16, u8, i32, s32_u8_wrapping),
                (m16n16k8, 16, 16, 8, Tf32, f32, f32_tf32), (m8n8k4, 8, 8, 4, f64, f64, f64_rn)
            ] {
                impl Multiply<LEFT, RIGHT> for Wmma<M, N, K, T, TC> {
                    #[inline(always)]
                    fn multiply(a: A<Self, LEFT>, b: B<Self, RIGHT>, c: Accumulator<Self>) -> Accumulator<Self> {
                        Accumulator(raw::wmma_mma_SHAPE_LA_LB_END(a.0, b.0, c.0))
                    }
                }
            }
        }
    }
    for (SHAPE, K, T, END) in [
        (m8n8k32, 32, I4, s32_s4_wrapping), (m8n8k32, 32, U4, s32_u4_wrapping),
        (m8n8k128, 128, Bit, s32_b1_xor)
    ] {
        impl Multiply<RowMajor, ColumnMajor> for Wmma<8, 8, K, T, i32> {
            /// For single bits: the number of bits that differ.
            #[inline(always)]
            fn multiply(
                a: A<Self, RowMajor>,
                b: B<Self, ColumnMajor>,
                c: Accumulator<Self>,
            ) -> Accumulator<Self> {
                Accumulator(raw::wmma_mma_SHAPE_row_col_END(a.0, b.0, c.0))
            }
        }
    }
}
