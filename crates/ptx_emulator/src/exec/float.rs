//! Floating-point operations with PTX's rules for NaN, signed zeros, rounding modes and saturation.

use super::value::{Float, canonical, flush};
use crate::soft_float::{self, Mode, Number};

/// `.sat`: clamps to `[0, 1]`; a NaN becomes zero.
#[inline(always)]
pub(crate) fn saturate<T: Float>(value: T) -> T {
    let wide = value.wide();
    if wide >= 1.0 {
        T::narrow(1.0)
    } else if wide > 0.0 {
        value
    } else {
        T::narrow(0.0)
    }
}

/// `.relu`: negative values become zero; a NaN becomes the canonical NaN.
pub(crate) fn relu<T: Float>(value: T) -> T {
    let wide = value.wide();
    if wide.is_nan() {
        T::pack(Number::Nan, Mode::Nearest)
    } else if wide > 0.0 {
        value
    } else {
        T::narrow(0.0)
    }
}

/// `min` (or `max`): a number takes precedence over a NaN, unless `propagate` is set; -0 is less
/// than +0.
#[inline(always)]
pub(crate) fn extremum<T: Float>(a: T, b: T, max: bool, propagate: bool) -> T {
    let (x, y) = (a.wide(), b.wide());
    if x.is_nan() || y.is_nan() {
        if propagate || x.is_nan() && y.is_nan() {
            return T::not_a_number(&[b, a]);
        }
        return if x.is_nan() { b } else { a };
    }
    let first = if x == y {
        x.is_sign_negative() != max
    } else {
        (x < y) != max
    };
    if first { a } else { b }
}

/// `.xorsign.abs` of `min` and `max`: operates on the magnitudes, with the sign of the product.
pub(crate) fn extremum_magnitude<T: Float>(a: T, b: T, max: bool, propagate: bool, sign: u64) -> T {
    let negative = (a.bits() ^ b.bits()) & sign;
    let (a, b) = (
        T::with_bits(a.bits() & !sign),
        T::with_bits(b.bits() & !sign),
    );
    let result = extremum(a, b, max, propagate);
    if result.wide().is_nan() {
        return result;
    }
    T::with_bits(result.bits() | negative)
}

/// Executes an arithmetic operation in any rounding mode; `operation` is one of the constants
/// below.
#[inline(never)]
pub(crate) fn rounded<T: Float>(operation: u8, a: T, b: T, c: T, mode: Mode) -> T {
    let (x, y) = (a.unpack(), b.unpack());
    let number = match operation {
        ADD => soft_float::add(x, y, mode),
        SUB => soft_float::add(x, soft_float::negate(y), mode),
        MUL => soft_float::multiply(x, y),
        DIV => soft_float::divide(x, y),
        SQRT => soft_float::square_root(x),
        RCP => soft_float::divide(soft_float::integer(1), x),
        _ => soft_float::add(soft_float::multiply(x, y), c.unpack(), mode),
    };
    match (number, operation) {
        (Number::Nan, ADD | SUB | MUL) => T::not_a_number(&[b, a]),
        (Number::Nan, DIV) => T::not_a_number(&[a, b]),
        (Number::Nan, SQRT | RCP) => T::not_a_number(&[a]),
        (Number::Nan, _) => T::not_a_number(&[b, c, a]),
        _ => T::pack(number, mode),
    }
}

/// `neg` (or `abs`): unlike in Rust, a NaN becomes the canonical NaN.
#[inline(always)]
pub(crate) fn change_sign<T: Float>(value: T, abs: bool) -> T {
    if value.wide().is_nan() {
        return T::not_a_number(&[value]);
    }
    let sign = 1 << (size_of::<T>() * 8 - 1);
    T::with_bits(if abs {
        value.bits() & !sign
    } else {
        value.bits() ^ sign
    })
}

pub(crate) const ADD: u8 = 0;
pub(crate) const SUB: u8 = 1;
pub(crate) const MUL: u8 = 2;
pub(crate) const DIV: u8 = 3;
pub(crate) const SQRT: u8 = 4;
pub(crate) const RCP: u8 = 5;
pub(crate) const FMA: u8 = 6;

/// Executes an arithmetic operation on 16-bit floats, rounded to nearest. Double precision is exact
/// up to the final rounding, since 53 bits are more than 2·11 + 2.
#[inline(always)]
pub(crate) fn narrow_binary<T: Float>(operation: u8, a: T, b: T) -> T {
    let (x, y) = (a.wide(), b.wide());
    T::narrow(match operation {
        ADD => x + y,
        SUB => x - y,
        _ => x * y,
    })
}

/// Rounds a float to an integral value, as `cvt.rni` and its variants do.
#[inline(always)]
pub(crate) fn integral(value: f64, mode: Mode) -> f64 {
    match mode {
        Mode::Nearest => value.round_ties_even(),
        Mode::Zero => value.trunc(),
        Mode::Down => value.floor(),
        Mode::Up => value.ceil(),
        Mode::Away => value.round(),
    }
}

/// `testp`, with the test's number in `decode`.
pub(crate) fn test_property(value: f64, subnormal: bool, test: i64) -> bool {
    match test {
        0 => value.is_finite(),
        1 => value.is_infinite(),
        2 => !value.is_nan(),
        3 => value.is_nan(),
        // Zero counts as normal.
        4 => value.is_finite() && !subnormal,
        _ => subnormal,
    }
}

/// Compares floats; `outcomes` has bits for less, equal, greater, unordered.
#[inline(always)]
pub(crate) fn compare(a: f64, b: f64, outcomes: i64) -> bool {
    let outcome = match a.partial_cmp(&b) {
        Some(std::cmp::Ordering::Less) => 1,
        Some(std::cmp::Ordering::Equal) => 2,
        Some(std::cmp::Ordering::Greater) => 4,
        None => 8,
    };
    outcomes & outcome != 0
}

/// Returns one lane of a 32-bit register with two 16-bit floats.
#[inline(always)]
pub(crate) fn lane<T: Float>(pair: u32, index: u32) -> T {
    T::with_bits((pair >> (index * 16) & 0xffff).into())
}

/// Packs two 16-bit floats into a register.
#[inline(always)]
pub(crate) fn pair<T: Float>(low: T, high: T) -> u32 {
    low.bits() as u32 | (high.bits() as u32) << 16
}

/// Computes a function that the device approximates, in double precision and rounded: more precise
/// than hardware, and within PTX's error bounds.
#[inline(always)]
pub(crate) fn approximate(value: f32, ftz: bool, function: impl Fn(f64) -> f64) -> u32 {
    let value = if ftz { flush(value) } else { value };
    let result = function(value.into()) as f32;
    canonical(if ftz { flush(result) } else { result })
}
