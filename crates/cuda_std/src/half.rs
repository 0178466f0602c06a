//! 16-bit floats, scalar and packed in pairs: [`F16`] is IEEE 754's binary16 (fp16), [`Bf16`] is
//! bfloat16, the upper half of an `f32`. Tensor cores multiply them, and they need half the memory
//! of `f32`.
//!
//! ```
//! use cuda_std::half::F16x2;
//! use cuda_std::prelude::*;
//!
//! /// Computes `a * x + y`, two numbers per register.
//! #[kernel]
//! pub fn axpy(a: f32, x: &[F16x2], y: &[F16x2], mut out: PerThread<F16x2>) {
//!     let a = F16x2::splat(a.into());
//!     for (i, out) in out.own() {
//!         *out = a.mul_add(x[i], y[i]);
//!     }
//! }
//! # fn main() {}
//! ```
//!
//! On the device, each operation is one instruction if the architecture has it (all architectures
//! for fp16, from 8.0 for bf16). Other operations are computed in `f32`; on the host, in wider floats.
//! Results are rounded once, to nearest, so all implementations return the same bits, including those
//! of NaN. As for `f32`, the device fuses a multiplication with the addition that uses its result,
//! unless `CudaBuilder::fma_contraction(false)` turns that off. Kernels can also use nightly
//! Rust's `f16`, which has the same layout: `F16::from_bits(x.to_bits())` is free.

use core::cmp::Ordering;
use core::fmt;
use core::ops::{Add, Div, Mul, Neg, Sub};

#[cfg_attr(target_arch = "nvptx64", allow(unused_imports))]
use crate::float::GpuFloat;
#[cfg(any(target_arch = "nvptx64", nvvm_single_source))]
use crate::intrinsics::half as raw;

/// A float format of 16 bits or less: the widths of exponent and fraction, and its special values.
#[derive(Clone, Copy)]
pub(crate) struct Format {
    pub exponent: u32,
    pub fraction: u32,
    /// Whether the largest exponent encodes infinities and NaNs.
    pub special: bool,
    /// The encoding, without sign, of values that are too large: infinity or the largest number.
    pub overflow: u32,
    pub nan: u32,
}

impl Format {
    /// Returns the encoding of the number nearest to `value`, rounding ties to even.
    pub const fn narrow(self, value: f64) -> u32 {
        let bits = value.to_bits();
        let sign = ((bits >> 63) as u32) << (self.exponent + self.fraction);
        let magnitude = bits & !(1 << 63);
        if magnitude > 0x7ff << 52 {
            return self.nan;
        }
        let bias = (1 << (self.exponent - 1)) - 1;
        let exponent = (magnitude >> 52) as i32 - 1023;
        let lowest = 1 - bias;
        // The weight of the lowest bit that is kept. A subnormal `f64` is far below all of these.
        let kept = if exponent > lowest { exponent } else { lowest } - self.fraction as i32;
        let mantissa = magnitude & ((1 << 52) - 1) | 1 << 52;
        let shift = kept - (exponent - 52);
        if shift > 54 {
            return sign;
        }
        let (whole, rest) = (mantissa >> shift, mantissa & ((1 << shift) - 1));
        let half = 1 << (shift - 1);
        let up = rest > half || (rest == half && whole & 1 != 0);
        let whole = whole as u32 + up as u32;
        // The implicit bit adds one to the exponent field, and so does a carry from the fraction.
        let field = if exponent >= lowest {
            (exponent + bias - 1) as u32
        } else {
            0
        };
        let code = (field << self.fraction) + whole;
        if exponent > bias + 1 || code > self.overflow {
            return sign | self.overflow;
        }
        sign | code
    }

    /// Returns the encoding of the number nearest to `value`, rounding ties to even, for formats of
    /// at most 5 exponent bits in which values that are too large become the largest number.
    ///
    /// It has no branches.
    pub const fn narrow_f32(self, value: f32) -> u32 {
        let bits = value.to_bits();
        let (sign, magnitude) = (bits >> 31, bits & 0x7fff_ffff);
        let bias = (1 << (self.exponent - 1)) - 1;
        let shift = 23 - self.fraction;
        let rounded = magnitude + (1 << (shift - 1)) - 1 + (magnitude >> shift & 1);
        let normal = (rounded >> shift).wrapping_sub((127 - bias) << self.fraction);
        // The last bit of this number has the weight of the last bit of a subnormal one.
        let unit = power(24 - (bias + self.fraction) as i32);
        let subnormal = (f32::from_bits(magnitude) + unit).to_bits() - unit.to_bits();
        let is_subnormal = magnitude < (128 - bias) << 23;
        let code = if is_subnormal { subnormal } else { normal };
        let code = if code > self.overflow {
            self.overflow
        } else {
            code
        };
        let code = code | sign << (self.exponent + self.fraction);
        if magnitude > 0x7f80_0000 {
            self.nan
        } else {
            code
        }
    }

    /// Returns the number that an encoding represents.
    pub const fn widen(self, code: u32) -> f32 {
        if self.exponent == 8 {
            // The upper bits of an `f32`.
            return f32::from_bits(code << (23 - self.fraction));
        }
        let fraction = code & ((1 << self.fraction) - 1);
        let field = code >> self.fraction & ((1 << self.exponent) - 1);
        let negative = code >> (self.exponent + self.fraction) & 1 != 0;
        let bias = (1 << (self.exponent - 1)) - 1;
        let sign = (negative as u32) << 31;
        if self.special && field == (1 << self.exponent) - 1 {
            let payload = if fraction == 0 { 0 } else { 0x7f_ffff };
            return f32::from_bits(if payload == 0 {
                sign | 0x7f80_0000
            } else {
                0x7fff_ffff
            });
        }
        let magnitude = code & !(1 << (self.exponent + self.fraction));
        if !self.special && self.nan != self.overflow && magnitude == self.nan {
            return f32::from_bits(0x7fff_ffff);
        }
        if field == 0 {
            // Exact: a product with a power of two.
            let unit = 1 - bias - self.fraction as i32;
            let magnitude = fraction as f32 * power(unit);
            return f32::from_bits(magnitude.to_bits() | sign);
        }
        let exponent = (field as i32 - bias + 127) as u32;
        f32::from_bits(sign | exponent << 23 | fraction << (23 - self.fraction))
    }

    /// Does what `widen` does, for formats of at most 5 exponent bits, with the conversion from fp16.
    #[cfg(any(target_arch = "nvptx64", nvvm_single_source))]
    pub fn widen_by_half(self, code: u32) -> f32 {
        let magnitude = code & ((1 << (self.exponent + self.fraction)) - 1);
        let sign = code >> (self.exponent + self.fraction) & 1;
        let half = sign << 15 | magnitude << (10 - self.fraction);
        let bias = (1 << (self.exponent - 1)) - 1;
        let value = raw::cvt_f32_f16(half as u16) * power(15 - bias);
        let has_nan = !self.special && self.nan != self.overflow;
        if has_nan && magnitude == self.nan {
            f32::from_bits(0x7fff_ffff)
        } else {
            value
        }
    }
}

/// Returns a power of two that `f32` can represent, including subnormal ones.
const fn power(exponent: i32) -> f32 {
    if exponent >= -126 {
        f32::from_bits(((exponent + 127) as u32) << 23)
    } else {
        f32::from_bits(1 << (exponent + 149))
    }
}

const HALF: Format = Format {
    exponent: 5,
    fraction: 10,
    special: true,
    overflow: 0x7c00,
    nan: 0x7fff,
};
const BRAIN: Format = Format {
    exponent: 8,
    fraction: 7,
    special: true,
    overflow: 0x7f80,
    nan: 0x7fff,
};

/// Returns `a * b + c` of numbers of at most 24 bits, rounded to odd: if the sum is inexact, its
/// last bit is one, so that rounding again to far fewer bits does not see a false tie.
#[cfg_attr(target_arch = "nvptx64", allow(dead_code))]
fn sum_to_odd(a: f32, b: f32, c: f32) -> f64 {
    let (product, c) = (f64::from(a) * f64::from(b), f64::from(c));
    let sum = product + c;
    if !sum.is_finite() {
        return sum;
    }
    let back = sum - product;
    let rest = (product - (sum - back)) + (c - back);
    if rest == 0.0 || sum.to_bits() & 1 != 0 {
        return sum;
    }
    let away = (rest > 0.0) == (sum > 0.0);
    f64::from_bits(if away {
        sum.to_bits() + 1
    } else {
        sum.to_bits() - 1
    })
}

/// Declares one of the two types. An operation with a row in the intrinsics table uses that
/// instruction on architectures that have it.
macro_rules! half {
    ($(#[$doc:meta])* $ty:ident $pair:ident $format:ident,
     from_f32: $from_arch:literal $from:ident, to_f32: $to:tt,
     sums: $sums:literal [$add:ident $sub:ident $mul:ident $add2:ident $sub2:ident $mul2:ident],
     fused: $fused:literal [$fma:ident $fma2:ident],
     extremes: $extremes:literal [$min:ident $max:ident $min2:ident $max2:ident],
     relu: [$relu:ident $relu2:ident],
     approximate: $approximate:literal [$ex2:ident $tanh:ident $ex22:ident $tanh2:ident]
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Default)]
        #[repr(transparent)]
        pub struct $ty(u16);

        impl $ty {
            /// The value 0.
            pub const ZERO: Self = Self(0);
            /// The value 1.
            pub const ONE: Self = Self(((1 << ($format.exponent - 1)) - 1) << $format.fraction);
            /// Infinity (∞).
            pub const INFINITY: Self = Self($format.overflow as u16);
            /// The NaN that operations return.
            pub const NAN: Self = Self($format.nan as u16);
            /// The largest finite value.
            pub const MAX: Self = Self($format.overflow as u16 - 1);
            /// The smallest positive normal value.
            pub const MIN_POSITIVE: Self = Self(1 << $format.fraction);

            /// Creates a number from its bits.
            #[inline(always)]
            #[must_use]
            pub const fn from_bits(bits: u16) -> Self {
                Self(bits)
            }

            /// Returns the number's bits.
            #[inline(always)]
            #[must_use]
            pub const fn to_bits(self) -> u16 {
                self.0
            }

            /// Converts from `f32`, rounding to nearest, ties to even.
            #[inline]
            #[must_use]
            pub fn from_f32(value: f32) -> Self {
                half!(@if $from_arch, Self(raw::$from(value)),
                    Self($format.narrow(f64::from(value)) as u16))
            }

            /// Converts from `f64`, rounding to nearest, ties to even.
            #[inline]
            #[must_use]
            pub const fn from_f64(value: f64) -> Self {
                Self($format.narrow(value) as u16)
            }

            /// Converts to `f32`, exactly.
            #[inline]
            #[must_use]
            pub fn to_f32(self) -> f32 {
                half!(@on $to, raw::$to(self.0), $format.widen(self.0.into()))
            }

            /// Returns whether the number is NaN.
            #[inline]
            #[must_use]
            pub const fn is_nan(self) -> bool {
                (self.0 & 0x7fff) as u32 > $format.overflow
            }

            /// Returns the absolute value.
            #[inline]
            #[must_use]
            pub const fn abs(self) -> Self {
                Self(self.0 & 0x7fff)
            }

            /// Returns `self * b + c`, rounded once.
            #[inline]
            #[must_use]
            pub fn mul_add(self, b: Self, c: Self) -> Self {
                half!(@if $fused, Self(raw::$fma(self.0, b.0, c.0)),
                    Self::from_f64(sum_to_odd(self.to_f32(), b.to_f32(), c.to_f32())))
            }

            /// Returns `self * b + c`, rounded once, or 0 if the result is negative. A NaN result
            /// is the canonical NaN.
            ///
            /// # Examples
            ///
            /// ```
            /// use cuda_std::half::F16;
            ///
            /// let (a, b) = (F16::from_f32(2.0), F16::from_f32(-3.0));
            /// assert_eq!(a.mul_add_relu(b, F16::ONE), F16::ZERO);
            /// assert_eq!(a.mul_add_relu(-b, F16::ONE).to_f32(), 7.0);
            /// ```
            #[inline]
            #[must_use]
            pub fn mul_add_relu(self, b: Self, c: Self) -> Self {
                half!(@if "sm_80", Self(raw::$relu(self.0, b.0, c.0)), {
                    let sum = self.mul_add(b, c);
                    if sum.is_nan() {
                        Self::NAN
                    } else if sum.0 >> 15 != 0 {
                        Self::ZERO
                    } else {
                        sum
                    }
                })
            }

            /// Returns the minimum. If one operand is NaN, returns the other; -0.0 is less than
            /// +0.0.
            #[inline]
            #[must_use]
            pub fn min(self, other: Self) -> Self {
                half!(@if $extremes, Self(raw::$min(self.0, other.0)), self.extreme(other, false))
            }

            /// Returns the maximum. If one operand is NaN, returns the other; -0.0 is less than
            /// +0.0.
            #[inline]
            #[must_use]
            pub fn max(self, other: Self) -> Self {
                half!(@if $extremes, Self(raw::$max(self.0, other.0)), self.extreme(other, true))
            }

            #[allow(dead_code)]
            fn extreme(self, other: Self, max: bool) -> Self {
                match (self.is_nan(), other.is_nan()) {
                    (true, true) => Self::NAN,
                    (true, false) => other,
                    (false, true) => self,
                    (false, false) => {
                        // These integers have the same order as the numbers.
                        let key = |x: Self| (x.0 ^ ((x.0 as i16 >> 15) as u16 & 0x7fff)) as i16;
                        if (key(self) > key(other)) == max { self } else { other }
                    }
                }
            }

            /// Returns 2 raised to the power of `self`: the hardware's approximation, or an
            /// accurate one on the host.
            #[inline]
            #[must_use]
            pub fn exp2_approx(self) -> Self {
                half!(@if $approximate, Self(raw::$ex2(self.0)),
                    Self::from_f32(GpuFloat::exp2(self.to_f32())))
            }

            /// Returns the hyperbolic tangent: the hardware's approximation, or an accurate one on
            /// the host.
            #[inline]
            #[must_use]
            pub fn tanh_approx(self) -> Self {
                half!(@if $approximate, Self(raw::$tanh(self.0)),
                    Self::from_f32(GpuFloat::tanh(self.to_f32())))
            }
        }

        half!(@operator $ty Add add $sums $add, |a, b| a.mul_add($ty::ONE, b));
        half!(@operator $ty Sub sub $sums $sub, |a, b| b.mul_add(-$ty::ONE, a));
        half!(@operator $ty Mul mul $sums $mul, |a, b| a.mul_add(b, -$ty::ZERO));

        impl Div for $ty {
            type Output = Self;
            #[inline]
            fn div(self, other: Self) -> Self {
                Self::from_f32(self.to_f32() / other.to_f32())
            }
        }

        impl Neg for $ty {
            type Output = Self;
            #[inline]
            fn neg(self) -> Self {
                Self(self.0 ^ 0x8000)
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

        impl PartialOrd for $ty {
            #[inline]
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                self.to_f32().partial_cmp(&other.to_f32())
            }
        }

        impl fmt::Debug for $ty {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.to_f32(), f)
            }
        }

        impl fmt::Display for $ty {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.to_f32(), f)
            }
        }

        #[doc = concat!("Two [`", stringify!($ty), "`] packed in one register. Operations apply to each of them.")]
        #[derive(Clone, Copy, Default)]
        #[repr(transparent)]
        pub struct $pair(u32);

        impl $pair {
            /// Packs two numbers.
            #[inline(always)]
            #[must_use]
            pub const fn new(low: $ty, high: $ty) -> Self {
                Self(low.0 as u32 | (high.0 as u32) << 16)
            }

            /// Packs two copies of a number.
            #[inline(always)]
            #[must_use]
            pub const fn splat(value: $ty) -> Self {
                Self::new(value, value)
            }

            /// Creates a pair from its bits.
            #[inline(always)]
            #[must_use]
            pub const fn from_bits(bits: u32) -> Self {
                Self(bits)
            }

            /// Returns the pair's bits.
            #[inline(always)]
            #[must_use]
            pub const fn to_bits(self) -> u32 {
                self.0
            }

            /// Returns the first number, in the lower 16 bits.
            #[inline(always)]
            #[must_use]
            pub const fn low(self) -> $ty {
                $ty(self.0 as u16)
            }

            /// Returns the second number, in the upper 16 bits.
            #[inline(always)]
            #[must_use]
            pub const fn high(self) -> $ty {
                $ty((self.0 >> 16) as u16)
            }

            #[allow(dead_code)]
            fn each(self, other: Self, f: impl Fn($ty, $ty) -> $ty) -> Self {
                Self::new(f(self.low(), other.low()), f(self.high(), other.high()))
            }

            /// Returns the absolute values.
            #[inline]
            #[must_use]
            pub const fn abs(self) -> Self {
                Self(self.0 & 0x7fff_7fff)
            }

            /// Returns `self * b + c`, rounded once.
            #[inline]
            #[must_use]
            pub fn mul_add(self, b: Self, c: Self) -> Self {
                half!(@if $fused, Self(raw::$fma2(self.0, b.0, c.0)), Self::new(
                    self.low().mul_add(b.low(), c.low()),
                    self.high().mul_add(b.high(), c.high()),
                ))
            }

            /// Returns `self * b + c`, rounded once, or 0 if the result is negative. A NaN result
            /// is the canonical NaN.
            #[inline]
            #[must_use]
            pub fn mul_add_relu(self, b: Self, c: Self) -> Self {
                half!(@if "sm_80", Self(raw::$relu2(self.0, b.0, c.0)), Self::new(
                    self.low().mul_add_relu(b.low(), c.low()),
                    self.high().mul_add_relu(b.high(), c.high()),
                ))
            }

            #[doc = concat!("Returns the minimums, as [`", stringify!($ty), "::min`] does.")]
            #[inline]
            #[must_use]
            pub fn min(self, other: Self) -> Self {
                half!(@if $extremes, Self(raw::$min2(self.0, other.0)), self.each(other, $ty::min))
            }

            #[doc = concat!("Returns the maximums, as [`", stringify!($ty), "::max`] does.")]
            #[inline]
            #[must_use]
            pub fn max(self, other: Self) -> Self {
                half!(@if $extremes, Self(raw::$max2(self.0, other.0)), self.each(other, $ty::max))
            }

            /// Returns 2 raised to the power of each number, as the scalar method does.
            #[inline]
            #[must_use]
            pub fn exp2_approx(self) -> Self {
                half!(@if $approximate, Self(raw::$ex22(self.0)), self.each(self, |x, _| x.exp2_approx()))
            }

            /// Returns the hyperbolic tangent of each number, as the scalar method does.
            #[inline]
            #[must_use]
            pub fn tanh_approx(self) -> Self {
                half!(@if $approximate, Self(raw::$tanh2(self.0)), self.each(self, |x, _| x.tanh_approx()))
            }
        }

        half!(@pair $pair $ty Add add $sums $add2, |a, b| a.mul_add(Self::splat($ty::ONE), b));
        half!(@pair $pair $ty Sub sub $sums $sub2, |a, b| b.mul_add(-Self::splat($ty::ONE), a));
        half!(@pair $pair $ty Mul mul $sums $mul2, |a, b| a.mul_add(b, Self::splat(-$ty::ZERO)));

        impl Neg for $pair {
            type Output = Self;
            #[inline]
            fn neg(self) -> Self {
                Self(self.0 ^ 0x8000_8000)
            }
        }

        impl PartialEq for $pair {
            #[inline]
            fn eq(&self, other: &Self) -> bool {
                self.low() == other.low() && self.high() == other.high()
            }
        }

        impl fmt::Debug for $pair {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_tuple(stringify!($pair)).field(&self.low()).field(&self.high()).finish()
            }
        }

        // SAFETY: every bit pattern is a number.
        unsafe impl crate::AnyBits for $ty {
            const INITIALIZED: bool = true;
        }
        // SAFETY: every bit pattern is a number.
        unsafe impl crate::AnyBits for $pair {
            const INITIALIZED: bool = true;
        }
        // SAFETY: every bit pattern is a number.
        unsafe impl cust_core::DeviceCopy for $ty {}
        #[cfg(not(target_arch = "nvptx64"))]
        // SAFETY: all zero bits are the number 0.
        unsafe impl bytemuck::Zeroable for $ty {}
        // SAFETY: every bit pattern is a number.
        unsafe impl cust_core::DeviceCopy for $pair {}
        #[cfg(not(target_arch = "nvptx64"))]
        // SAFETY: all zero bits are the number 0.
        unsafe impl bytemuck::Zeroable for $pair {}
    };
    // `$fused` computes the same from a fused multiply-add, for architectures that have only that.
    (@operator $ty:ident $trait:ident $name:ident $arch:literal $row:ident,
     |$a:ident, $b:ident| $fused:expr) => {
        impl $trait for $ty {
            type Output = Self;
            // Computed in `f32`, which has more than twice the bits: rounding twice equals rounding
            // once.
            #[inline]
            fn $name(self, other: Self) -> Self {
                let ($a, $b) = (self, other);
                half!(@if $arch, Self(raw::$row($a.0, $b.0)), half!(@if "sm_80", $fused,
                    Self::from_f32($trait::$name($a.to_f32(), $b.to_f32()))))
            }
        }
    };
    (@pair $pair:ident $ty:ident $trait:ident $name:ident $arch:literal $row:ident,
     |$a:ident, $b:ident| $fused:expr) => {
        impl $trait for $pair {
            type Output = Self;
            #[inline]
            fn $name(self, other: Self) -> Self {
                let ($a, $b) = (self, other);
                half!(@if $arch, Self(raw::$row($a.0, $b.0)), half!(@if "sm_80", $fused,
                    $a.each($b, |a, b| $trait::$name(a, b))))
            }
        }
    };
    // For a row that all architectures have, or that none needs.
    (@on none, $row:expr, $other:expr) => { $other };
    (@on $name:ident, $row:expr, $other:expr) => { half!(@if "sm_75", $row, $other) };
    (@if $arch:literal, $row:expr, $other:expr) => {{
        crate::session::on_arch!($arch, $row, $other, $other)
    }};
}

half! {
    /// IEEE 754's binary16 (fp16): 5 exponent bits, 10 fraction bits.
    F16 F16x2 HALF,
    from_f32: "sm_75" cvt_rn_f16_f32, to_f32: cvt_f32_f16,
    sums: "sm_75" [add_f16 sub_f16 mul_f16 add_f16x2 sub_f16x2 mul_f16x2],
    fused: "sm_75" [fma_rn_f16 fma_rn_f16x2],
    extremes: "sm_80" [min_f16 max_f16 min_f16x2 max_f16x2],
    relu: [fma_rn_relu_f16 fma_rn_relu_f16x2],
    approximate: "sm_75" [ex2_approx_f16 tanh_approx_f16 ex2_approx_f16x2 tanh_approx_f16x2]
}
half! {
    /// bfloat16 (bf16): 8 exponent bits, as many as `f32`, and 7 fraction bits.
    Bf16 Bf16x2 BRAIN,
    from_f32: "sm_80" cvt_rn_bf16_f32, to_f32: none,
    sums: "sm_90" [add_bf16 sub_bf16 mul_bf16 add_bf16x2 sub_bf16x2 mul_bf16x2],
    fused: "sm_80" [fma_rn_bf16 fma_rn_bf16x2],
    extremes: "sm_80" [min_bf16 max_bf16 min_bf16x2 max_bf16x2],
    relu: [fma_rn_relu_bf16 fma_rn_relu_bf16x2],
    approximate: "sm_90" [ex2_approx_ftz_bf16 tanh_approx_bf16 ex2_approx_ftz_bf16x2 tanh_approx_bf16x2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_come_back() {
        for bits in 0..=u16::MAX {
            let half = F16::from_bits(bits);
            if !half.is_nan() {
                assert_eq!(F16::from_f32(half.to_f32()).to_bits(), bits);
            }
            let brain = Bf16::from_bits(bits);
            if !brain.is_nan() {
                assert_eq!(Bf16::from_f32(brain.to_f32()).to_bits(), bits);
                assert_eq!(brain.to_f32().to_bits(), u32::from(bits) << 16);
            }
        }
    }

    #[test]
    fn rounding_is_to_the_nearest_even() {
        let near = |x: f32| F16::from_f32(x).to_f32();
        assert_eq!(
            (near(1.0 + 1.0 / 2048.0), near(1.0 + 3.0 / 2048.0)),
            (1.0, 1.0 + 2.0 / 1024.0)
        );
        assert_eq!((near(65519.9), near(65520.0)), (65504.0, f32::INFINITY));
        assert_eq!(near(5.9e-8), power(-24));
        assert_eq!(near(power(-25)), 0.0);
        assert_eq!(near(-power(-25)).to_bits(), (-0.0f32).to_bits());
        assert_eq!(F16::from_f32(f32::NAN).to_bits(), 0x7fff);
        for bits in (0..=u32::MAX).step_by(1001) {
            let x = f32::from_bits(bits);
            if x.is_nan() {
                continue;
            }
            let up = if bits & 0x1_0000 != 0 { 0x8000 } else { 0x7fff };
            assert_eq!(
                Bf16::from_f32(x).to_bits(),
                (bits.wrapping_add(up) >> 16) as u16,
                "{x}"
            );
        }
    }

    /// A product that is too small for the `f64` sum still decides a tie.
    #[test]
    fn sums_are_rounded_once() {
        let tiny = F16::from_bits(1);
        let tie = F16::from_f32(2049.0 - 1.0);
        let one = F16::ONE;
        assert_eq!(one.mul_add(one, tie).to_f32(), 2048.0);
        let c = F16::from_f32(32768.0);
        let half_unit = F16::from_f32(16.0);
        assert_eq!(half_unit.mul_add(one, c).to_f32(), 32768.0);
        // 32768 + 16 + 2^-48, with the sum of two products: just above the tie.
        assert_eq!(
            Bf16::from_f64(sum_to_odd(tiny.to_f32(), tiny.to_f32(), 32768.0 + 128.0)).to_f32(),
            33024.0
        );
        assert_eq!(Bf16::from_f64(32768.0 + 128.0).to_f32(), 32768.0);
    }

    #[test]
    fn extremes_and_relu() {
        let (a, b) = (F16::from_f32(-0.0), F16::ZERO);
        assert_eq!(a.min(b).to_bits(), 0x8000);
        assert_eq!(a.max(b).to_bits(), 0);
        assert_eq!(F16::NAN.min(F16::ONE), F16::ONE);
        assert!(F16::NAN.max(F16::NAN).is_nan());
        assert_eq!((-F16::ONE).mul_add_relu(F16::ONE, F16::ZERO), F16::ZERO);
        let pair = F16x2::new(F16::ONE, F16::MAX) + F16x2::splat(F16::ONE);
        assert_eq!((pair.low().to_f32(), pair.high()), (2.0, F16::MAX));
    }
}
