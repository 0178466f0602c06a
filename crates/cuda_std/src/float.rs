//! Float math in kernels: the methods that `std` has and `core` lacks, and a few more.
//!
//! With the prelude imported, `x.sqrt()`, `x.sin()` or `x.powf(y)` work in a kernel as they do on
//! the host. On the device they are NVIDIA's libdevice, on the host the standard library; the
//! prelude's import is what makes one source compile for both.
//!
//! `floor`, `ceil`, `round`, `round_ties_even`, `trunc`, `fract`, `sqrt`, `mul_add`, `powi` and the
//! Euclidean operations give the same bits on both. The others are within the few last places
//! that CUDA's documentation promises for libdevice, and so may differ from the host's in these.
//! (`sqrt` of `f32` is exact unless the build asks for the approximate one.)

#[cfg(any(target_arch = "nvptx64", nvvm_single_source))]
use crate::intrinsics::libdevice;
use crate::session::on_device;

/// Declares the trait of std's methods and implements it for both widths. A method is either one
/// libdevice function of the same arguments, or given by the code of its default.
macro_rules! gpu_float {
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident),*) = $f64:ident $f32:ident;)*) => {
        /// `std`'s methods of `f32` and `f64`, for kernels.
        pub trait GpuFloat: Copy + sealed::Float {
            $(
                $(#[$doc])*
                #[must_use = "the method returns a new number"]
                fn $name(self $(, $arg: Self)*) -> Self;
            )*

            /// The sine and the cosine at once.
            #[must_use = "the method returns new numbers"]
            fn sin_cos(self) -> (Self, Self);

            /// `self` to an integer power, by repeated multiplication: the same bits on device and
            /// host (the host's compiler may do better where it knows the exponent).
            #[must_use = "the method returns a new number"]
            fn powi(self, n: i32) -> Self;

            /// The logarithm to any base.
            #[must_use = "the method returns a new number"]
            fn log(self, base: Self) -> Self;

            /// The fractional part, with the number's sign.
            #[must_use = "the method returns a new number"]
            fn fract(self) -> Self;

            /// The integer `n` for which `self - n * rhs` is in `0.0..rhs.abs()`, up to rounding.
            #[must_use = "the method returns a new number"]
            fn div_euclid(self, rhs: Self) -> Self;

            /// The least nonnegative remainder of `self / rhs`, up to rounding.
            #[must_use = "the method returns a new number"]
            fn rem_euclid(self, rhs: Self) -> Self;

            /// The absolute value.
            #[must_use = "the method returns a new number"]
            fn abs(self) -> Self;

            /// 1.0 with the number's sign; NaN for NaN.
            #[must_use = "the method returns a new number"]
            fn signum(self) -> Self;

            /// This number with the sign of another.
            #[must_use = "the method returns a new number"]
            fn copysign(self, sign: Self) -> Self;
        }

        gpu_float!(@impl f32, $($name($($arg),*) $f32;)*);
        gpu_float!(@impl f64, $($name($($arg),*) $f64;)*);
    };
    (@impl $ty:ident, $($name:ident($($arg:ident),*) $libdevice:ident;)*) => {
        // On the host the inherent methods of the standard library come first in `$ty::name`.
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
                    (GpuFloat::sin(self), GpuFloat::cos(self)),
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

            // `core` has these three itself; the trait has them for code that is generic over it.
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
    /// The largest integer that is not above.
    fn floor() = __nv_floor __nv_floorf;
    /// The smallest integer that is not below.
    fn ceil() = __nv_ceil __nv_ceilf;
    /// The nearest integer; halves go away from zero.
    fn round() = __nv_round __nv_roundf;
    /// The nearest integer; halves go to the even one.
    fn round_ties_even() = __nv_rint __nv_rintf;
    /// The integer part.
    fn trunc() = __nv_trunc __nv_truncf;
    /// The square root.
    fn sqrt() = __nv_sqrt __nv_sqrtf;
    /// The cube root.
    fn cbrt() = __nv_cbrt __nv_cbrtf;
    /// `self * a + b`, rounded once.
    fn mul_add(a, b) = __nv_fma __nv_fmaf;
    /// The length of the vector (`self`, `other`).
    fn hypot(other) = __nv_hypot __nv_hypotf;
    /// `self` to a power.
    fn powf(n) = __nv_pow __nv_powf;
    /// `e` to the power of `self`.
    fn exp() = __nv_exp __nv_expf;
    /// 2 to the power of `self`.
    fn exp2() = __nv_exp2 __nv_exp2f;
    /// `e` to the power of `self`, less 1, accurate near 0.
    fn exp_m1() = __nv_expm1 __nv_expm1f;
    /// The natural logarithm.
    fn ln() = __nv_log __nv_logf;
    /// The logarithm to base 2.
    fn log2() = __nv_log2 __nv_log2f;
    /// The logarithm to base 10.
    fn log10() = __nv_log10 __nv_log10f;
    /// The natural logarithm of 1 more, accurate near 0.
    fn ln_1p() = __nv_log1p __nv_log1pf;
    /// The sine of an angle in radians.
    fn sin() = __nv_sin __nv_sinf;
    /// The cosine of an angle in radians.
    fn cos() = __nv_cos __nv_cosf;
    /// The tangent of an angle in radians.
    fn tan() = __nv_tan __nv_tanf;
    /// The inverse of the sine.
    fn asin() = __nv_asin __nv_asinf;
    /// The inverse of the cosine.
    fn acos() = __nv_acos __nv_acosf;
    /// The inverse of the tangent.
    fn atan() = __nv_atan __nv_atanf;
    /// The angle of the point (`other`, `self`), in all four quadrants.
    fn atan2(other) = __nv_atan2 __nv_atan2f;
    /// The hyperbolic sine.
    fn sinh() = __nv_sinh __nv_sinhf;
    /// The hyperbolic cosine.
    fn cosh() = __nv_cosh __nv_coshf;
    /// The hyperbolic tangent.
    fn tanh() = __nv_tanh __nv_tanhf;
    /// The inverse of the hyperbolic sine.
    fn asinh() = __nv_asinh __nv_asinhf;
    /// The inverse of the hyperbolic cosine.
    fn acosh() = __nv_acosh __nv_acoshf;
    /// The inverse of the hyperbolic tangent.
    fn atanh() = __nv_atanh __nv_atanhf;
}

/// Declares the trait of further functions: libdevice's on the device, the crate `libm`'s or an
/// expression on the host.
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
    /// 1 over the square root.
    fn rsqrt = __nv_rsqrt __nv_rsqrtf, |x| 1.0 / x.sqrt();
    /// 1 over the cube root.
    fn rcbrt = __nv_rcbrt __nv_rcbrtf, |x| 1.0 / x.cbrt();
    /// 10 to the power of `self`.
    fn exp10 = __nv_exp10 __nv_exp10f, libm::exp10;
    #[doc(hidden)]
    fn __erf = __nv_erf __nv_erff, libm::erf;
    #[doc(hidden)]
    fn __erfc = __nv_erfc __nv_erfcf, libm::erfc;
    /// The gamma function.
    fn tgamma = __nv_tgamma __nv_tgammaf, libm::tgamma;
    /// The natural logarithm of the gamma function's absolute value.
    fn lgamma = __nv_lgamma __nv_lgammaf, libm::lgamma;
    /// The Bessel function of the first kind of order 0.
    fn j0 = __nv_j0 __nv_j0f, libm::j0;
    /// The Bessel function of the first kind of order 1.
    fn j1 = __nv_j1 __nv_j1f, libm::j1;
    /// The Bessel function of the second kind of order 0.
    fn y0 = __nv_y0 __nv_y0f, libm::y0;
    /// The Bessel function of the second kind of order 1.
    fn y1 = __nv_y1 __nv_y1f, libm::y1;
}

/// The error function. (No method, because the standard library is going to have one.)
#[inline(always)]
#[must_use = "the function returns a new number"]
pub fn erf<T: FloatExt>(x: T) -> T {
    x.__erf()
}

/// 1 less the error function, accurate where that is near 0.
#[inline(always)]
#[must_use = "the function returns a new number"]
pub fn erfc<T: FloatExt>(x: T) -> T {
    x.__erfc()
}

/// Quick and rough functions of `f32`: CUDA's `__sinf` and the like, in a few instructions.
///
/// Their errors are absolute rather than relative, and grow with the arguments; CUDA's documentation
/// says how. On the host they are the accurate ones.
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
        /// The sine.
        sin(x) __nv_fast_sinf x.sin();
        /// The cosine.
        cos(x) __nv_fast_cosf x.cos();
        /// The tangent.
        tan(x) __nv_fast_tanf x.tan();
        /// `e` to the power of `x`.
        exp(x) __nv_fast_expf x.exp();
        /// 10 to the power of `x`.
        exp10(x) __nv_fast_exp10f 10f32.powf(x);
        /// The natural logarithm.
        ln(x) __nv_fast_logf x.ln();
        /// The logarithm to base 2.
        log2(x) __nv_fast_log2f x.log2();
        /// The logarithm to base 10.
        log10(x) __nv_fast_log10f x.log10();
        /// `x` to the power of `y`.
        powf(x, y) __nv_fast_powf x.powf(y);
        /// `x / y`; 0 where `y` is from 2¹²⁶ on.
        div(x, y) __nv_fast_fdividef x / y;
    }
}

mod sealed {
    /// The traits here are for these two types, so that methods can be added to them.
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
