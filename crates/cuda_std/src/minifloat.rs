//! fp8, fp6 and fp4 floats, which newer tensor cores multiply, and the power-of-two scale of their
//! blocks. These types are for storage: they have conversions, but no arithmetic.
//!
//! ```
//! use cuda_std::prelude::*;
//! use cuda_std::minifloat::E4m3;
//!
//! /// Converts floats to a quarter of their size.
//! #[kernel]
//! pub fn shrink(from: &[f32], mut to: PerThread<E4m3>) {
//!     for (i, to) in to.own() {
//!         *to = E4m3::from_f32(from[i]);
//!     }
//! }
//! # fn main() {}
//! ```

use core::fmt;

use crate::half::Format;
#[cfg(any(target_arch = "nvptx64", nvvm_single_source))]
#[cfg_attr(target_arch = "nvptx64", allow(unused_imports))]
use crate::intrinsics::half as raw;
use crate::session::{on_arch, on_device};

/// Declares one of the types.
macro_rules! minifloat {
    ($($(#[$doc:meta])* $ty:ident $format:ident = $exponent:literal $fraction:literal,
        $special:literal, overflow $overflow:literal, nan $nan:literal
        $(, $arch:literal $narrow:ident $widen:ident)?;)*) => {$(
        const $format: Format = Format {
            exponent: $exponent,
            fraction: $fraction,
            special: $special,
            overflow: $overflow,
            nan: $nan,
        };

        $(#[$doc])*
        #[derive(Clone, Copy, Default, crate::AnyBits)]
        #[repr(transparent)]
        pub struct $ty(u8);

        impl $ty {
            /// The largest value.
            pub const MAX: Self = Self($overflow);

            /// Creates a number from its bits, the lowest bits of a byte.
            #[inline(always)]
            #[must_use]
            pub const fn from_bits(bits: u8) -> Self {
                Self(bits & ((1u32 << (1 + $exponent + $fraction)) - 1) as u8)
            }

            /// Returns the number's bits, the lowest bits of a byte.
            #[inline(always)]
            #[must_use]
            pub const fn to_bits(self) -> u8 {
                self.0
            }

            /// Converts from `f32`, rounding to nearest, ties to even. Values that are too large
            /// become the largest value.
            ///
            /// # Examples
            ///
            /// ```
            /// use cuda_std::minifloat::E4m3;
            ///
            /// assert_eq!(E4m3::from_f32(17.0).to_f32(), 16.0); // 4 significant bits
            /// assert_eq!(E4m3::from_f32(1e9).to_f32(), 448.0); // the largest value
            /// ```
            #[inline]
            #[must_use]
            pub fn from_f32(value: f32) -> Self {
                Self(minifloat!(@narrow $format value $($arch $narrow)?))
            }

            /// Converts from `f64`, rounding to nearest, ties to even, as `from_f32` does.
            #[inline]
            #[must_use]
            pub const fn from_f64(value: f64) -> Self {
                Self($format.narrow(value) as u8)
            }

            /// Converts to `f32`, exactly.
            #[inline]
            #[must_use]
            pub fn to_f32(self) -> f32 {
                minifloat!(@widen $format self $($arch $widen)?)
            }
        }

        impl From<f32> for $ty {
            #[inline]
            fn from(value: f32) -> Self {
                Self::from_f32(value)
            }
        }

        impl From<$ty> for f32 {
            #[inline]
            fn from(value: $ty) -> f32 {
                value.to_f32()
            }
        }

        impl PartialEq for $ty {
            #[inline]
            fn eq(&self, other: &Self) -> bool {
                self.to_f32() == other.to_f32()
            }
        }

        impl fmt::Debug for $ty {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.to_f32(), f)
            }
        }

        // SAFETY: every bit pattern is a number.
        unsafe impl cust_core::DeviceCopy for $ty {}
        #[cfg(not(target_arch = "nvptx64"))]
        // SAFETY: all zero bits are the number 0.
        unsafe impl bytemuck::Zeroable for $ty {}
    )*};
    (@narrow $format:ident $value:ident) => { $format.narrow_f32($value) as u8 };
    (@narrow $format:ident $value:ident $arch:literal $row:ident) => {
        on_arch!($arch, raw::$row(0.0, $value) as u8,
            $format.narrow_f32($value) as u8, $format.narrow_f32($value) as u8)
    };
    (@widen $format:ident $value:ident) => {
        on_device!($format.widen_by_half($value.0.into()), $format.widen($value.0.into()))
    };
    (@widen $format:ident $value:ident $arch:literal $row:ident) => {
        on_arch!($arch, raw::cvt_f32_f16(raw::$row($value.0.into()) as u16),
            $format.widen_by_half($value.0.into()), $format.widen($value.0.into()))
    };
}

minifloat! {
    /// fp8: 4 exponent bits, 3 fraction bits; NaN, but no infinities; up to 448.
    E4m3 FORMAT_E4M3 = 4 3, false, overflow 0x7e, nan 0x7f,
        "sm_89" cvt_rn_satfinite_e4m3x2_f32 cvt_rn_f16x2_e4m3x2;
    /// fp8: 5 exponent bits, 2 fraction bits, with IEEE 754's infinities and NaNs; up to 57344.
    E5m2 FORMAT_E5M2 = 5 2, true, overflow 0x7b, nan 0x7f,
        "sm_89" cvt_rn_satfinite_e5m2x2_f32 cvt_rn_f16x2_e5m2x2;
    /// fp6: 3 exponent bits, 2 fraction bits; no infinities, no NaN; up to 28. NaN converts to the
    /// largest value.
    E3m2 FORMAT_E3M2 = 3 2, false, overflow 0x1f, nan 0x1f;
    /// fp6: 2 exponent bits, 3 fraction bits; no infinities, no NaN; up to 7.5. NaN converts to the
    /// largest value.
    E2m3 FORMAT_E2M3 = 2 3, false, overflow 0x1f, nan 0x1f;
    /// fp4: 2 exponent bits, 1 fraction bit; no infinities, no NaN; up to 6. NaN converts to the
    /// largest value.
    E2m1 FORMAT_E2M1 = 2 1, false, overflow 0x7, nan 0x7;
}

/// A power of two from 2⁻¹²⁷ to 2¹²⁷, or NaN: the scale of a block of small floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, crate::AnyBits)]
#[repr(transparent)]
pub struct Ue8m0(u8);

impl Ue8m0 {
    /// The value 1.
    pub const ONE: Self = Self(127);
    /// Not a number.
    pub const NAN: Self = Self(255);

    /// Creates a number from its bits.
    #[inline(always)]
    #[must_use]
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// Returns the number's bits.
    #[inline(always)]
    #[must_use]
    pub const fn to_bits(self) -> u8 {
        self.0
    }

    /// Returns the smallest power of two that is greater than or equal to the magnitude of `value`.
    #[inline]
    #[must_use]
    pub const fn above(value: f32) -> Self {
        let magnitude = value.to_bits() & 0x7fff_ffff;
        if magnitude > 0x7f80_0000 {
            return Self::NAN;
        }
        // A subnormal number up to 2^-127 becomes 2^-127; larger ones become the next power.
        let field = magnitude >> 23;
        let rest = magnitude & 0x7f_ffff;
        let up = if field == 0 {
            rest > 1 << 22
        } else {
            rest != 0
        };
        let field = field + up as u32;
        Self(if field > 254 { 254 } else { field as u8 })
    }

    /// Converts to `f32`, exactly.
    #[inline]
    #[must_use]
    pub const fn to_f32(self) -> f32 {
        match self.0 {
            0 => f32::from_bits(1 << 22),
            255 => f32::from_bits(0x7fff_ffff),
            field => f32::from_bits((field as u32) << 23),
        }
    }
}

// SAFETY: every bit pattern is a number.
unsafe impl cust_core::DeviceCopy for Ue8m0 {}
#[cfg(not(target_arch = "nvptx64"))]
// SAFETY: all zero bits are 2⁻¹²⁷.
unsafe impl bytemuck::Zeroable for Ue8m0 {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_come_back_and_are_in_order() {
        macro_rules! check {
            ($($ty:ident $bits:literal;)*) => {$(
                let mut last = -1.0f32;
                for bits in 0..1u8 << ($bits - 1) {
                    let x = $ty::from_bits(bits).to_f32();
                    if !x.is_finite() {
                        continue;
                    }
                    assert!(x > last, "{x} after {last}");
                    assert_eq!($ty::from_f32(x).to_bits(), bits);
                    assert_eq!($ty::from_f32(-x).to_bits(), bits | 1 << ($bits - 1));
                    if last >= 0.0 {
                        let middle = $ty::from_f32((x + last) / 2.0).to_bits();
                        assert_eq!(middle, if bits & 1 == 0 { bits } else { bits - 1 });
                    }
                    last = x;
                }
                assert_eq!(last, $ty::MAX.to_f32());
                assert_eq!($ty::from_f32(1e30), $ty::MAX);
                // Numbers with some of the bits that decide how to round, of all exponents.
                for bits in 0..1 << 17 {
                    let x = f32::from_bits(bits << 15 | bits & 1 | bits >> 16);
                    assert_eq!($ty::from_f32(x).0, $ty::from_f64(x.into()).0, "{x}");
                }
            )*};
        }
        check! { E4m3 8; E5m2 8; E3m2 6; E2m3 6; E2m1 4; }
        assert_eq!((E4m3::MAX.to_f32(), E5m2::MAX.to_f32()), (448.0, 57344.0));
        assert_eq!(
            (E3m2::MAX.to_f32(), E2m3::MAX.to_f32(), E2m1::MAX.to_f32()),
            (28.0, 7.5, 6.0)
        );
        assert!(E4m3::from_f32(f32::NAN).to_f32().is_nan());
    }

    #[test]
    fn scales() {
        assert_eq!(Ue8m0::above(1.0), Ue8m0::ONE);
        assert_eq!(Ue8m0::above(-1.5).to_f32(), 2.0);
        assert_eq!(Ue8m0::above(f32::MAX).to_f32(), 2f32.powi(127));
        assert_eq!(Ue8m0::above(0.0).to_f32(), 2f32.powi(-127));
    }
}
