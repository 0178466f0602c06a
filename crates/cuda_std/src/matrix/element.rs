//! Element types of matrices, and how elements are packed into registers.

use crate::half::{Bf16, F16};
use crate::minifloat::{E2m1, E2m3, E3m2, E4m3, E5m2};

/// An element type of a factor or an accumulator.
pub trait Element: Copy + sealed::Sealed {
    /// The value 0.
    const ZERO: Self;
}

/// An element that fills a 32-bit register or shares it with others.
pub trait Packed: Element {
    /// The width of the element in a register, in bits.
    const BITS: usize;
    /// Returns the element's bits, in the lowest bits of the result.
    fn pack(self) -> u32;
    /// Creates the element from its bits, ignoring higher bits.
    fn unpack(bits: u32) -> Self;
}

/// The registers of a fragment, as a list of elements.
pub trait Registers<T>: Copy {
    /// The number of elements.
    const LEN: usize;
    /// Registers whose elements are all 0.
    const ZERO: Self;
    /// Returns the element at `index`.
    fn get(&self, index: usize) -> T;
    /// Replaces the element at `index`.
    fn set(&mut self, index: usize, value: T);
}

mod sealed {
    pub trait Sealed {}
}

impl<T: Packed, const N: usize> Registers<T> for [u32; N] {
    const LEN: usize = N * 32 / T::BITS;
    const ZERO: Self = [0; N];

    #[inline(always)]
    fn get(&self, index: usize) -> T {
        let each = 32 / T::BITS;
        T::unpack(self[index / each] >> (index % each * T::BITS))
    }

    #[inline(always)]
    fn set(&mut self, index: usize, value: T) {
        let each = 32 / T::BITS;
        let shift = index % each * T::BITS;
        let mask = (u32::MAX >> (32 - T::BITS)) << shift;
        let register = &mut self[index / each];
        *register = *register & !mask | value.pack() << shift;
    }
}

macro_rules! whole {
    ($($ty:ty, $zero:literal;)*) => {$(
        impl sealed::Sealed for $ty {}
        impl Element for $ty {
            const ZERO: Self = $zero;
        }
        impl<const N: usize> Registers<$ty> for [$ty; N] {
            const LEN: usize = N;
            const ZERO: Self = [$zero; N];
            #[inline(always)]
            fn get(&self, index: usize) -> $ty {
                self[index]
            }
            #[inline(always)]
            fn set(&mut self, index: usize, value: $ty) {
                self[index] = value;
            }
        }
    )*};
}
whole! { f32, 0.0; f64, 0.0; i32, 0; }

/// A 4-bit integer, from -8 to 7.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct I4(i8);

/// A 4-bit integer, from 0 to 15.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct U4(u8);

/// A single bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bit(pub bool);

/// An `f32` of which products use 10 bits of the fraction (TF32).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tf32(f32);

/// An `e2m1` in bits 2 to 5 of a byte, the format of products with other small floats.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct E2m1Byte(pub E2m1);

impl I4 {
    /// Creates a 4-bit integer from the lowest four bits of `value`.
    #[inline(always)]
    #[must_use]
    pub const fn new(value: i8) -> I4 {
        I4(value << 4 >> 4)
    }

    /// Returns the value.
    #[inline(always)]
    #[must_use]
    pub const fn get(self) -> i8 {
        self.0
    }
}

impl U4 {
    /// Creates a 4-bit integer from the lowest four bits of `value`.
    #[inline(always)]
    #[must_use]
    pub const fn new(value: u8) -> U4 {
        U4(value & 15)
    }

    /// Returns the value.
    #[inline(always)]
    #[must_use]
    pub const fn get(self) -> u8 {
        self.0
    }
}

impl Tf32 {
    /// Rounds to the nearest value, ties away from zero, as the hardware's conversion does.
    #[inline]
    #[must_use]
    pub const fn new(value: f32) -> Tf32 {
        let bits = value.to_bits();
        if bits & 0x7f80_0000 == 0x7f80_0000 {
            return Tf32(value);
        }
        Tf32(f32::from_bits((bits + 0x1000) & !0x1fff))
    }

    /// Returns the value.
    #[inline(always)]
    #[must_use]
    pub const fn get(self) -> f32 {
        self.0
    }
}

macro_rules! packed {
    ($($ty:ty, $bits:literal, |$value:ident| $pack:expr, |$from:ident| $unpack:expr;)*) => {$(
        impl sealed::Sealed for $ty {}
        impl Element for $ty {
            const ZERO: Self = {
                let $from = 0u32;
                $unpack
            };
        }
        impl Packed for $ty {
            const BITS: usize = $bits;
            #[inline(always)]
            fn pack(self) -> u32 {
                let $value = self;
                $pack
            }
            #[inline(always)]
            fn unpack($from: u32) -> Self {
                $unpack
            }
        }
    )*};
}
packed! {
    F16, 16, |x| x.to_bits() as u32, |bits| F16::from_bits(bits as u16);
    Bf16, 16, |x| x.to_bits() as u32, |bits| Bf16::from_bits(bits as u16);
    Tf32, 32, |x| x.0.to_bits(), |bits| Tf32(f32::from_bits(bits));
    i8, 8, |x| x as u8 as u32, |bits| bits as i8;
    u8, 8, |x| x as u32, |bits| bits as u8;
    I4, 4, |x| x.0 as u32 & 15, |bits| I4::new(bits as i8);
    U4, 4, |x| x.0 as u32, |bits| U4::new(bits as u8);
    Bit, 1, |x| x.0 as u32, |bits| Bit(bits & 1 != 0);
    E4m3, 8, |x| x.to_bits() as u32, |bits| E4m3::from_bits(bits as u8);
    E5m2, 8, |x| x.to_bits() as u32, |bits| E5m2::from_bits(bits as u8);
    E3m2, 8, |x| x.to_bits() as u32, |bits| E3m2::from_bits(bits as u8);
    E2m3, 8, |x| x.to_bits() as u32, |bits| E2m3::from_bits(bits as u8);
    E2m1, 4, |x| x.to_bits() as u32, |bits| E2m1::from_bits(bits as u8);
    E2m1Byte, 8, |x| (x.0.to_bits() as u32) << 2, |bits| E2m1Byte(E2m1::from_bits((bits >> 2) as u8));
}
