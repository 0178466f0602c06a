//! Float math in kernels: the methods that `std` has and `core` lacks, and a few more.
//!
//! With the prelude imported, `x.sqrt()`, `x.sin()` or `x.powf(y)` work in a kernel as they do on
//! the host. On the device they call NVIDIA's libdevice, on the host the standard library. With the
//! import, the same source compiles for both.
//!
//! ```
//! use cuda_std::prelude::*;
//!
//! /// The distance of each point from the origin.
//! #[kernel]
//! pub fn distances(points: &[[f32; 2]], mut to: PerThread<f32>) {
//!     for (i, to) in to.own() {
//!         let [x, y] = points[i];
//!         *to = (x * x + y * y).sqrt();
//!     }
//! }
//! # fn main() {}
//! ```
//!
//! `floor`, `ceil`, `round`, `round_ties_even`, `trunc`, `fract`, `sqrt`, `mul_add`, `powi` and the
//! Euclidean operations return the same bits on device and host. The others are within the error
//! bounds in ulps that CUDA's documentation states for libdevice, and may differ from the host's
//! results by that much. (`sqrt` of `f32` is exact unless the build selects the approximate one.)

#[cfg(any(target_arch = "nvptx64", nvvm_single_source))]
use crate::intrinsics::libdevice;
use crate::session::on_device;

/// Declares the trait of `std`'s methods and implements it for both widths. Each method is either
/// one libdevice function with the same arguments, or has default code.
macro_rules! gpu_float {
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident),*) = $f64:ident $f32:ident;)*) => {
        /// `std`'s methods of `f32` and `f64`, for kernels.
        pub trait GpuFloat: Copy + sealed::Float {
            $(
                $(#[$doc])*
                #[must_use = "the method returns a new number"]
                fn $name(self $(, $arg: Self)*) -> Self;
            )*

            /// Computes the sine and the cosine of `self`, in radians, with one argument reduction.
            /// The results have the bits that `sin` and `cos` return.
            #[must_use = "the method returns new numbers"]
            fn sin_cos(self) -> (Self, Self);

            /// Raises `self` to an integer power, by repeated multiplication: the same bits on
            /// device and host, unless the host's compiler evaluates a constant exponent more
            /// precisely.
            #[must_use = "the method returns a new number"]
            fn powi(self, n: i32) -> Self;

            /// Returns the logarithm of `self` to an arbitrary base.
            #[must_use = "the method returns a new number"]
            fn log(self, base: Self) -> Self;

            /// Returns the fractional part of `self`, with the sign of `self`.
            #[must_use = "the method returns a new number"]
            fn fract(self) -> Self;

            /// Returns the integer `n` for which `self - n * rhs` is in `0.0..rhs.abs()`, up to
            /// rounding.
            #[must_use = "the method returns a new number"]
            fn div_euclid(self, rhs: Self) -> Self;

            /// Returns the least nonnegative remainder of `self / rhs`, up to rounding.
            #[must_use = "the method returns a new number"]
            fn rem_euclid(self, rhs: Self) -> Self;

            /// Returns the absolute value of `self`.
            #[must_use = "the method returns a new number"]
            fn abs(self) -> Self;

            /// Returns 1.0 with the sign of `self`, or NaN if `self` is NaN.
            #[must_use = "the method returns a new number"]
            fn signum(self) -> Self;

            /// Returns `self` with the sign of `sign`.
            #[must_use = "the method returns a new number"]
            fn copysign(self, sign: Self) -> Self;
        }

        gpu_float!(@impl f32, __nv_sincosf, $($name($($arg),*) $f32;)*);
        gpu_float!(@impl f64, __nv_sincos, $($name($($arg),*) $f64;)*);
    };
    (@impl $ty:ident, $sincos:ident, $($name:ident($($arg:ident),*) $libdevice:ident;)*) => {
        // On the host, `$ty::name` resolves to the inherent method of the standard library.
        impl GpuFloat for $ty {
            $(
                #[inline(always)]
                fn $name(self $(, $arg: Self)*) -> Self {
                    on_device!(libdevice::$libdevice(self $(, $arg)*), $ty::$name(self $(, $arg)*))
                }
            )*

            #[inline(always)]
            fn sin_cos(self) -> (Self, Self) {
                on_device!(
                    {
                        let (mut sin, mut cos) = (0.0, 0.0);
                        // SAFETY: the pointers are to local variables.
                        unsafe { libdevice::$sincos(self, &mut sin, &mut cos) };
                        (sin, cos)
                    },
                    $ty::sin_cos(self),
                )
            }

            #[inline]
            fn powi(self, n: i32) -> Self {
                on_device!(
                    {
                        let (mut base, mut rest, mut power) = (self, n.unsigned_abs(), 1.0);
                        loop {
                            if rest & 1 != 0 {
                                power *= base;
                            }
                            rest >>= 1;
                            if rest == 0 {
                                break;
                            }
                            base *= base;
                        }
                        if n < 0 { 1.0 / power } else { power }
                    },
                    $ty::powi(self, n),
                )
            }

            #[inline(always)]
            fn log(self, base: Self) -> Self {
                on_device!(GpuFloat::ln(self) / GpuFloat::ln(base), $ty::log(self, base))
            }

            #[inline(always)]
            fn fract(self) -> Self {
                on_device!(self - GpuFloat::trunc(self), $ty::fract(self))
            }

            #[inline]
            fn div_euclid(self, rhs: Self) -> Self {
                on_device!(
                    {
                        let quotient = GpuFloat::trunc(self / rhs);
                        if self % rhs < 0.0 {
                            return if rhs > 0.0 { quotient - 1.0 } else { quotient + 1.0 };
                        }
                        quotient
                    },
                    $ty::div_euclid(self, rhs),
                )
            }

            #[inline]
            fn rem_euclid(self, rhs: Self) -> Self {
                on_device!(
                    {
                        let remainder = self % rhs;
                        if remainder < 0.0 { remainder + rhs.abs() } else { remainder }
                    },
                    $ty::rem_euclid(self, rhs),
                )
            }

            // `core` has these three methods itself; the trait has them for generic code.
            #[inline(always)]
            fn abs(self) -> Self {
                $ty::abs(self)
            }

            #[inline(always)]
            fn signum(self) -> Self {
                $ty::signum(self)
            }

            #[inline(always)]
            fn copysign(self, sign: Self) -> Self {
                $ty::copysign(self, sign)
            }
        }
    };
}

gpu_float! {
    /// Returns the largest integer less than or equal to `self`.
    fn floor() = __nv_floor __nv_floorf;
    /// Returns the smallest integer greater than or equal to `self`.
    fn ceil() = __nv_ceil __nv_ceilf;
    /// Returns the nearest integer to `self`, rounding ties away from zero.
    fn round() = __nv_round __nv_roundf;
    /// Returns the nearest integer to `self`, rounding ties to even.
    fn round_ties_even() = __nv_rint __nv_rintf;
    /// Returns the integer part of `self`.
    fn trunc() = __nv_trunc __nv_truncf;
    /// Returns the square root of `self`.
    fn sqrt() = __nv_sqrt __nv_sqrtf;
    /// Returns the cube root of `self`.
    fn cbrt() = __nv_cbrt __nv_cbrtf;
    /// Returns `self * a + b`, rounded once.
    fn mul_add(a, b) = __nv_fma __nv_fmaf;
    /// Returns the length of the vector (`self`, `other`).
    fn hypot(other) = __nv_hypot __nv_hypotf;
    /// Raises `self` to a floating-point power.
    fn powf(n) = __nv_pow __nv_powf;
    /// Returns `e` raised to the power of `self`.
    fn exp() = __nv_exp __nv_expf;
    /// Returns 2 raised to the power of `self`.
    fn exp2() = __nv_exp2 __nv_exp2f;
    /// Returns `e` raised to the power of `self`, minus 1, accurate near 0.
    fn exp_m1() = __nv_expm1 __nv_expm1f;
    /// Returns the natural logarithm of `self`.
    fn ln() = __nv_log __nv_logf;
    /// Returns the base 2 logarithm of `self`.
    fn log2() = __nv_log2 __nv_log2f;
    /// Returns the base 10 logarithm of `self`.
    fn log10() = __nv_log10 __nv_log10f;
    /// Returns the natural logarithm of `1 + self`, accurate near 0.
    fn ln_1p() = __nv_log1p __nv_log1pf;
    /// Returns the sine of `self`, in radians.
    fn sin() = __nv_sin __nv_sinf;
    /// Returns the cosine of `self`, in radians.
    fn cos() = __nv_cos __nv_cosf;
    /// Returns the tangent of `self`, in radians.
    fn tan() = __nv_tan __nv_tanf;
    /// Returns the arcsine of `self`, in radians.
    fn asin() = __nv_asin __nv_asinf;
    /// Returns the arccosine of `self`, in radians.
    fn acos() = __nv_acos __nv_acosf;
    /// Returns the arctangent of `self`, in radians.
    fn atan() = __nv_atan __nv_atanf;
    /// Returns the four-quadrant arctangent of `self` (`y`) and `other` (`x`), in radians.
    fn atan2(other) = __nv_atan2 __nv_atan2f;
    /// Returns the hyperbolic sine of `self`.
    fn sinh() = __nv_sinh __nv_sinhf;
    /// Returns the hyperbolic cosine of `self`.
    fn cosh() = __nv_cosh __nv_coshf;
    /// Returns the hyperbolic tangent of `self`.
    fn tanh() = __nv_tanh __nv_tanhf;
    /// Returns the inverse hyperbolic sine of `self`.
    fn asinh() = __nv_asinh __nv_asinhf;
    /// Returns the inverse hyperbolic cosine of `self`.
    fn acosh() = __nv_acosh __nv_acoshf;
    /// Returns the inverse hyperbolic tangent of `self`.
    fn atanh() = __nv_atanh __nv_atanhf;
}

/// Declares the trait of further functions: libdevice's on the device; on the host those of the
/// crate `libm`, or an expression.
macro_rules! float_ext {
    ($($(#[$doc:meta])* fn $name:ident = $f64:ident $f32:ident, $host:expr;)*) => {
        /// Functions of CUDA's math library that `std` does not have, for kernels.
        pub trait FloatExt: Copy + sealed::Float {
            $(
                $(#[$doc])*
                #[must_use = "the method returns a new number"]
                fn $name(self) -> Self;
            )*
        }
        float_ext!(@impl f32, $($name $f32, $host;)*);
        float_ext!(@impl f64, $($name $f64, $host;)*);
    };
    (@impl $ty:ident, $($name:ident $libdevice:ident, $host:expr;)*) => {
        impl FloatExt for $ty {
            $(
                #[inline(always)]
                fn $name(self) -> Self {
                    on_device!(libdevice::$libdevice(self), {
                        // In `f64`, so that one function serves both widths.
                        let host: fn(f64) -> f64 = $host;
                        host(self.into()) as $ty
                    })
                }
            )*
        }
    };
}

float_ext! {
    /// Returns the reciprocal of the square root of `self`.
    fn rsqrt = __nv_rsqrt __nv_rsqrtf, |x| 1.0 / x.sqrt();
    /// Returns the reciprocal of the cube root of `self`.
    fn rcbrt = __nv_rcbrt __nv_rcbrtf, |x| 1.0 / x.cbrt();
    /// Returns 10 raised to the power of `self`.
    fn exp10 = __nv_exp10 __nv_exp10f, libm::exp10;
    #[doc(hidden)]
    fn __erf = __nv_erf __nv_erff, libm::erf;
    #[doc(hidden)]
    fn __erfc = __nv_erfc __nv_erfcf, libm::erfc;
    /// Returns the gamma function of `self`.
    fn tgamma = __nv_tgamma __nv_tgammaf, libm::tgamma;
    /// Returns the natural logarithm of the absolute value of the gamma function of `self`.
    fn lgamma = __nv_lgamma __nv_lgammaf, libm::lgamma;
    /// Returns the Bessel function of the first kind of order 0.
    fn j0 = __nv_j0 __nv_j0f, libm::j0;
    /// Returns the Bessel function of the first kind of order 1.
    fn j1 = __nv_j1 __nv_j1f, libm::j1;
    /// Returns the Bessel function of the second kind of order 0.
    fn y0 = __nv_y0 __nv_y0f, libm::y0;
    /// Returns the Bessel function of the second kind of order 1.
    fn y1 = __nv_y1 __nv_y1f, libm::y1;
}

/// Returns the error function of `x`. It is not a method, because the standard library is going to
/// have one.
#[inline(always)]
#[must_use = "the function returns a new number"]
pub fn erf<T: FloatExt>(x: T) -> T {
    x.__erf()
}

/// Returns the complementary error function of `x`, `1 - erf(x)`, accurate where it is near 0.
#[inline(always)]
#[must_use = "the function returns a new number"]
pub fn erfc<T: FloatExt>(x: T) -> T {
    x.__erfc()
}

/// Fast approximations for `f32` in a few instructions: CUDA's `__sinf()` and similar functions.
///
/// Their errors are absolute rather than relative, and grow with the arguments, as CUDA's
/// documentation states. On the host they are the accurate functions.
///
/// ```
/// use cuda_std::float::fast;
/// use cuda_std::prelude::*;
///
/// #[kernel]
/// pub fn shade(angles: &[f32], mut to: PerThread<f32>) {
///     to.each(|i, to| *to = fast::exp(fast::cos(angles[i])));
/// }
/// # fn main() {}
/// ```
pub mod fast {
    #[cfg(any(target_arch = "nvptx64", nvvm_single_source))]
    use crate::intrinsics::libdevice;
    use crate::session::on_device;

    macro_rules! fast {
        ($($(#[$doc:meta])* $name:ident($($arg:ident),*) $device:ident $host:expr;)*) => {
            $(
                $(#[$doc])*
                #[inline(always)]
                #[must_use = "the function returns a new number"]
                pub fn $name($($arg: f32),*) -> f32 {
                    on_device!(libdevice::$device($($arg),*), $host)
                }
            )*
        };
    }
    fast! {
        /// Returns the sine of `x`.
        sin(x) __nv_fast_sinf x.sin();
        /// Returns the cosine of `x`.
        cos(x) __nv_fast_cosf x.cos();
        /// Returns the tangent of `x`.
        tan(x) __nv_fast_tanf x.tan();
        /// Returns `e` raised to the power of `x`.
        exp(x) __nv_fast_expf x.exp();
        /// Returns 10 raised to the power of `x`.
        exp10(x) __nv_fast_exp10f 10f32.powf(x);
        /// Returns the natural logarithm of `x`.
        ln(x) __nv_fast_logf x.ln();
        /// Returns the base 2 logarithm of `x`.
        log2(x) __nv_fast_log2f x.log2();
        /// Returns the base 10 logarithm of `x`.
        log10(x) __nv_fast_log10f x.log10();
        /// Returns `x` raised to the power of `y`.
        powf(x, y) __nv_fast_powf x.powf(y);
        /// Returns `x / y`, or 0 if `y` is 2¹²⁶ or more.
        div(x, y) __nv_fast_fdividef x / y;
    }
}

mod sealed {
    /// Seals the traits of this module: only `f32` and `f64` implement them, so methods can be
    /// added.
    pub trait Float {}
    impl Float for f32 {}
    impl Float for f64 {}
}

#[cfg(test)]
mod tests {
    use super::{FloatExt, GpuFloat};

    fn hypotenuse<T: GpuFloat>(a: T, b: T) -> T {
        a.hypot(b).abs().floor()
    }

    #[test]
    fn generic_code_reaches_stds_functions() {
        assert_eq!(hypotenuse(3.0f32, -4.0), 5.0);
        assert_eq!(hypotenuse(3.0f64, -4.0), 5.0);
        assert_eq!(GpuFloat::powi(2.0f32, -3), 0.125);
        assert_eq!(GpuFloat::rem_euclid(-5.5f64, 2.0), 0.5);
        assert_eq!(GpuFloat::div_euclid(-5.5f64, 2.0), -3.0);
        assert_eq!(GpuFloat::round_ties_even(2.5f32), 2.0);
        assert_eq!(GpuFloat::copysign(1.0f32, -0.0), -1.0);
        let (sin, cos) = GpuFloat::sin_cos(0.0f64);
        assert_eq!((sin, cos), (0.0, 1.0));
    }

    #[test]
    fn extras_have_known_values() {
        assert_eq!(FloatExt::tgamma(5.0f32), 24.0);
        assert_eq!(FloatExt::rsqrt(4.0f64), 0.5);
        assert_eq!(FloatExt::exp10(3.0f64), 1000.0);
        assert!((super::erf(0.5f64) - 0.520_499_877_813_046_5).abs() < 1e-15);
        assert_eq!(super::erf(0.0f32) + super::erfc(0.0f32), 1.0);
    }
}
