//! Floats of 8, 6 and 4 bits, which the newer tensor cores multiply, and the power of two that
//! scales blocks of them. They are for keeping numbers, not for computing: there are conversions.
//!
//! ```
//! use cuda_std::prelude::*;
//! use cuda_std::tiny::E4m3;
//!
//! /// Makes a quarter of the bytes of floats.
//! #[kernel]
//! pub fn shrink(from: &[f32], mut to: PerThread<E4m3>) {
//!     for (i, to) in to.own() {
//!         *to = E4m3::from_f32(from[i]);
//!     }
//! }
//! # fn main() {}
//! ```

use core::fmt;

use crate::halves::Format;

/// Declares one of the types.
macro_rules! tiny {
    ($($(#[$doc:meta])* $ty:ident $format:ident = $exponent:literal $fraction:literal,
        $special:literal, overflow $overflow:literal, nan $nan:literal;)*) => {$(
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
            /// The largest number.
            pub const MAX: Self = Self($overflow);

            /// From its bits, the lowest of a byte.
            #[inline(always)]
            #[must_use]
            pub const fn from_bits(bits: u8) -> Self {
                Self(bits & ((1u32 << (1 + $exponent + $fraction)) - 1) as u8)
            }

            /// Its bits, the lowest of a byte.
            #[inline(always)]
            #[must_use]
            pub const fn to_bits(self) -> u8 {
                self.0
            }

            /// The nearest to an `f32`, ties to even; for what is too large the largest number.
            #[inline]
            #[must_use]
            pub const fn from_f32(value: f32) -> Self {
                Self($format.narrow(value as f64) as u8)
            }

            /// The same number.
            #[inline]
            #[must_use]
            pub const fn to_f32(self) -> f32 {
                $format.widen(self.0 as u32)
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

        // SAFETY: plain numbers.
        unsafe impl cust_core::DeviceCopy for $ty {}
        #[cfg(not(target_arch = "nvptx64"))]
        // SAFETY: zeros are 0.
        unsafe impl bytemuck::Zeroable for $ty {}
    )*};
}

tiny! {
    /// 4 bits of exponent, 3 of fraction, a NaN, no infinities; up to 448.
    E4m3 FORMAT_E4M3 = 4 3, false, overflow 0x7e, nan 0x7f;
    /// 5 bits of exponent, 2 of fraction, as IEEE 754 would have it; up to 57344.
    E5m2 FORMAT_E5M2 = 5 2, true, overflow 0x7b, nan 0x7f;
    /// 3 bits of exponent, 2 of fraction, numbers only; up to 28. A NaN becomes that.
    E3m2 FORMAT_E3M2 = 3 2, false, overflow 0x1f, nan 0x1f;
    /// 2 bits of exponent, 3 of fraction, numbers only; up to 7.5. A NaN becomes that.
    E2m3 FORMAT_E2M3 = 2 3, false, overflow 0x1f, nan 0x1f;
    /// 2 bits of exponent, 1 of fraction, numbers only; up to 6. A NaN becomes that.
    E2m1 FORMAT_E2M1 = 2 1, false, overflow 0x7, nan 0x7;
}

/// A power of two from 2⁻¹²⁷ to 2¹²⁷, or a NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, crate::AnyBits)]
#[repr(transparent)]
pub struct Ue8m0(u8);

impl Ue8m0 {
    /// 1.
    pub const ONE: Self = Self(127);
    /// No number.
    pub const NAN: Self = Self(255);

    /// From its bits.
    #[inline(always)]
    #[must_use]
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// Its bits.
    #[inline(always)]
    #[must_use]
    pub const fn to_bits(self) -> u8 {
        self.0
    }

    /// The smallest power of two that is not below the magnitude of an `f32`.
    #[inline]
    #[must_use]
    pub const fn above(value: f32) -> Self {
        let magnitude = value.to_bits() & 0x7fff_ffff;
        if magnitude > 0x7f80_0000 {
            return Self::NAN;
        }
        // A subnormal number that is not above 2^-127 is that, others are the next power.
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

    /// The same number.
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

// SAFETY: plain numbers.
unsafe impl cust_core::DeviceCopy for Ue8m0 {}
#[cfg(not(target_arch = "nvptx64"))]
// SAFETY: zeros are 2⁻¹²⁷.
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
