//! The supported products: for each shape and element type, the registers and the instruction.

use super::element::{Bit, E2m1Byte, I4, Registers, Tf32, U4};
use super::{A, Accumulator, B, Mma};
use crate::half::{Bf16, F16};
use crate::intrinsics::matrix as raw;
use crate::minifloat::{E2m3, E3m2, E4m3, E5m2};

/// The dimensions, element types and registers of a product's matrices.
pub trait Shape: Sized {
    /// The number of rows of the first factor and the accumulator.
    const M: usize;
    /// The number of columns of the second factor and the accumulator.
    const N: usize;
    /// The number of columns of the first factor, and of rows of the second.
    const K: usize;
    /// The number of bits of a factor's element in its register.
    const BITS_A: usize;
    /// The element type of the first factor.
    type ElementA: Copy;
    /// The element type of the second factor.
    type ElementB: Copy;
    /// The element type of the accumulator.
    type ElementC: Copy;
    /// The registers of the first factor.
    type RegistersA: Registers<Self::ElementA>;
    /// The registers of the second factor.
    type RegistersB: Registers<Self::ElementB>;
    /// The registers of the accumulator.
    type RegistersC: Registers<Self::ElementC>;
}

/// A product that the hardware supports.
pub trait Multiply: Shape {
    /// Returns `a * b + c`. Integers wrap on overflow. All 32 threads of the warp must call it
    /// together.
    #[must_use]
    fn multiply(a: A<Self>, b: B<Self>, c: Accumulator<Self>) -> Accumulator<Self>;
}

/// An integer product with saturating accumulation.
pub trait MultiplySaturating: Shape {
    /// Returns `a * b + c`, saturating at the bounds of `i32`. All 32 threads of the warp must call
    /// it together.
    #[must_use]
    fn multiply_saturating(a: A<Self>, b: B<Self>, c: Accumulator<Self>) -> Accumulator<Self>;
}

/// A product of single-bit matrices.
pub trait MultiplyBits: Shape {
    /// Adds to `c` the number of bits that differ between each row and column (the population count
    /// of their XOR). All 32 threads of the warp must call it together.
    #[must_use]
    fn multiply_xor(a: A<Self>, b: B<Self>, c: Accumulator<Self>) -> Accumulator<Self>;
    /// Adds to `c` the number of bits that are set in both row and column (the population count of
    /// their AND). All 32 threads of the warp must call it together.
    #[must_use]
    fn multiply_and(a: A<Self>, b: B<Self>, c: Accumulator<Self>) -> Accumulator<Self>;
}

macro_rules! shape {
    ($m:literal $n:literal $k:literal $a:ty, $b:ty, $c:ty, $bits:literal,
     $ra:ty, $rb:ty, $rc:ty) => {
        impl Shape for Mma<$m, $n, $k, $a, $b, $c> {
            const M: usize = $m;
            const N: usize = $n;
            const K: usize = $k;
            const BITS_A: usize = $bits;
            type ElementA = $a;
            type ElementB = $b;
            type ElementC = $c;
            type RegistersA = $ra;
            type RegistersB = $rb;
            type RegistersC = $rc;
        }
    };
}

macro_rules! multiply {
    ($m:literal $n:literal $k:literal $a:ty, $b:ty, $c:ty, $bits:literal,
     $ra:ty, $rb:ty, $rc:ty, $row:ident) => {
        shape!($m $n $k $a, $b, $c, $bits, $ra, $rb, $rc);

        impl Multiply for Mma<$m, $n, $k, $a, $b, $c> {
            #[inline(always)]
            fn multiply(a: A<Self>, b: B<Self>, c: Accumulator<Self>) -> Accumulator<Self> {
                Accumulator::from_registers(raw::$row(
                    a.into_registers(),
                    b.into_registers(),
                    c.into_registers(),
                ))
            }
        }
    };
}

cuda_std_macros::repeat! {
    for (SHAPE, K, NA, NB) in [(m16n8k8, 8, 2, 1), (m16n8k16, 16, 4, 2)] {
        multiply!(16 8 K F16, F16, F16, 16, [u32; NA], [u32; NB], [u32; 2], mma_SHAPE_f16_f16_f16_f16);
        multiply!(16 8 K F16, F16, f32, 16, [u32; NA], [u32; NB], [f32; 4], mma_SHAPE_f32_f16_f16_f32);
        multiply!(16 8 K Bf16, Bf16, f32, 16, [u32; NA], [u32; NB], [f32; 4], mma_SHAPE_f32_bf16_bf16_f32);
    }
    for (SHAPE, K, NA, NB) in [(m16n8k4, 4, 2, 1), (m16n8k8, 8, 4, 2)] {
        multiply!(16 8 K Tf32, Tf32, f32, 32, [u32; NA], [u32; NB], [f32; 4], mma_SHAPE_f32_tf32_tf32_f32);
    }
    for (SHAPE, M, K, NA, NB, NC) in [
        (m8n8k4, 8, 4, 1, 1, 2), (m16n8k4, 16, 4, 2, 1, 4), (m16n8k8, 16, 8, 4, 2, 4),
        (m16n8k16, 16, 16, 8, 4, 4)
    ] {
        multiply!(M 8 K f64, f64, f64, 64, [f64; NA], [f64; NB], [f64; NC], mma_SHAPE_f64_f64_f64_f64);
    }
    for (NC, TC, RC) in [(f16, F16, [u32; 2]), (f32, f32, [f32; 4])] {
        for (PA, TA) in [(e4m3, E4m3), (e5m2, E5m2)] {
            for (PB, TB) in [(e4m3, E4m3), (e5m2, E5m2)] {
                multiply!(16 8 16 TA, TB, TC, 8, [u32; 2], [u32; 1], RC, mma_m16n8k16_NC_PA_PB_NC);
                multiply!(16 8 32 TA, TB, TC, 8, [u32; 4], [u32; 2], RC, mma_m16n8k32_NC_PA_PB_NC);
            }
            for (PB, TB) in [(e3m2, E3m2), (e2m3, E2m3), (e2m1, E2m1Byte)] {
                multiply!(16 8 32 TA, TB, TC, 8, [u32; 4], [u32; 2], RC, mma_f8f6f4_m16n8k32_NC_PA_PB_NC);
            }
        }
        for (PA, TA) in [(e3m2, E3m2), (e2m3, E2m3), (e2m1, E2m1Byte)] {
            for (PB, TB) in [(e4m3, E4m3), (e5m2, E5m2), (e3m2, E3m2), (e2m3, E2m3), (e2m1, E2m1Byte)] {
                multiply!(16 8 32 TA, TB, TC, 8, [u32; 4], [u32; 2], RC, mma_f8f6f4_m16n8k32_NC_PA_PB_NC);
            }
        }
    }
    for (SHAPE, M, K, NA, NB, NC) in [
        (m8n8k16, 8, 16, 1, 1, 2), (m16n8k16, 16, 16, 2, 1, 4), (m16n8k32, 16, 32, 4, 2, 4)
    ] {
        for (PA, TA) in [(s8, i8), (u8, u8)] {
            for (PB, TB) in [(s8, i8), (u8, u8)] {
                multiply!(M 8 K TA, TB, i32, 8, [u32; NA], [u32; NB], [i32; NC], mma_SHAPE_s32_PA_PB_s32_wrapping);
                impl MultiplySaturating for Mma<M, 8, K, TA, TB, i32> {
                    #[inline(always)]
                    fn multiply_saturating(a: A<Self>, b: B<Self>, c: Accumulator<Self>) -> Accumulator<Self> {
                        Accumulator::from_registers(raw::mma_SHAPE_s32_PA_PB_s32_satfinite(
                            a.into_registers(), b.into_registers(), c.into_registers(),
                        ))
                    }
                }
            }
        }
    }
    for (SHAPE, M, K, NA, NB, NC) in [
        (m8n8k32, 8, 32, 1, 1, 2), (m16n8k32, 16, 32, 2, 1, 4), (m16n8k64, 16, 64, 4, 2, 4)
    ] {
        for (PA, TA) in [(s4, I4), (u4, U4)] {
            for (PB, TB) in [(s4, I4), (u4, U4)] {
                multiply!(M 8 K TA, TB, i32, 4, [u32; NA], [u32; NB], [i32; NC], mma_SHAPE_s32_PA_PB_s32_wrapping);
                impl MultiplySaturating for Mma<M, 8, K, TA, TB, i32> {
                    #[inline(always)]
                    fn multiply_saturating(a: A<Self>, b: B<Self>, c: Accumulator<Self>) -> Accumulator<Self> {
                        Accumulator::from_registers(raw::mma_SHAPE_s32_PA_PB_s32_satfinite(
                            a.into_registers(), b.into_registers(), c.into_registers(),
                        ))
                    }
                }
            }
        }
    }
    for (SHAPE, M, K, NA, NB, NC) in [
        (m8n8k128, 8, 128, 1, 1, 2), (m16n8k128, 16, 128, 2, 1, 4), (m16n8k256, 16, 256, 4, 2, 4)
    ] {
        shape!(M 8 K Bit, Bit, i32, 1, [u32; NA], [u32; NB], [i32; NC]);
        impl MultiplyBits for Mma<M, 8, K, Bit, Bit, i32> {
            #[inline(always)]
            fn multiply_xor(a: A<Self>, b: B<Self>, c: Accumulator<Self>) -> Accumulator<Self> {
                Accumulator::from_registers(raw::mma_SHAPE_s32_b1_b1_s32_xor(
                    a.into_registers(), b.into_registers(), c.into_registers(),
                ))
            }
            #[inline(always)]
            fn multiply_and(a: A<Self>, b: B<Self>, c: Accumulator<Self>) -> Accumulator<Self> {
                Accumulator::from_registers(raw::mma_SHAPE_s32_b1_b1_s32_and(
                    a.into_registers(), b.into_registers(), c.into_registers(),
                ))
            }
        }
    }
}
