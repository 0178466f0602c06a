//! Legalizes division and remainder of 128 bits. libnvvm 13.0 expands each to a loop that computes
//! 32 bits of the quotient in an iteration, and leaves all of it in the loops that contain it.
//!
//! The replacement divides with the reciprocal of the divisor's leading 64 bits: Möller and
//! Granlund, "Improved division by invariant integers", IEEE Transactions on Computers 60 (2011).
//! The reciprocal depends on the divisor only and has no branches, so libnvvm moves it out of loops
//! that do not change the divisor.

use super::bits::{halves, join};
use super::rewriter::Rewriter;
use crate::inst::*;
use crate::intrinsic::Intrinsic;
use crate::types::{Type, TypeKind};
use crate::value::{Const, Value, ValueKind};

/// Legalizes a division or remainder of 128 bits, unless the divisor is the constant zero.
pub(super) fn legalize_division(
    rw: &mut Rewriter,
    ty: Type,
    op: BinOp,
    [lhs, rhs]: [Value; 2],
) -> Option<Value> {
    let constant = match rw.module.value(rw.current(rhs)).kind {
        ValueKind::Const(Const::Int(int)) => Some(int),
        ValueKind::Const(_) => return None,
        _ => None,
    };
    if constant == Some(0) {
        return None;
    }
    let signed = matches!(op, BinOp::SDiv | BinOp::SRem);
    let key = (rw.current(lhs), rw.current(rhs), signed);
    let (quotient, remainder) = match rw.divisions.get(&key) {
        Some(&results) => results,
        None => {
            let results = if signed {
                divide_signed(rw, ty, [lhs, rhs], constant)
            } else {
                let divisor = match constant {
                    Some(int) => Divisor::constant(rw, int),
                    None => Divisor::new(rw, rhs),
                };
                divide(rw, ty, lhs, &divisor)
            };
            rw.divisions.insert(key, results);
            results
        }
    };
    Some(match op {
        BinOp::SDiv | BinOp::UDiv => quotient,
        _ => remainder,
    })
}

/// Divides the magnitudes. The remainder has the dividend's sign.
fn divide_signed(
    rw: &mut Rewriter,
    ty: Type,
    [lhs, rhs]: [Value; 2],
    constant: Option<u128>,
) -> (Value, Value) {
    let (dividend, dividend_sign) = magnitude(rw, lhs);
    let (divisor, divisor_sign) = match constant {
        Some(int) => {
            let sign = rw.int(ty, (int as i128 >> 127) as u128);
            (Divisor::constant(rw, (int as i128).unsigned_abs()), sign)
        }
        None => {
            let (divisor, sign) = magnitude(rw, rhs);
            (Divisor::new(rw, divisor), sign)
        }
    };
    let (quotient, remainder) = divide(rw, ty, dividend, &divisor);
    let sign = rw.bin(BinOp::Xor, dividend_sign, divisor_sign);
    (
        negate_if(rw, quotient, sign),
        negate_if(rw, remainder, dividend_sign),
    )
}

/// Negates an integer if all bits of `sign` are set, not if none is.
fn negate_if(rw: &mut Rewriter, value: Value, sign: Value) -> Value {
    let flipped = rw.bin(BinOp::Xor, value, sign);
    rw.bin(BinOp::Sub, flipped, sign)
}

/// Returns the magnitude of an integer, and its sign: all bits set if it is negative.
fn magnitude(rw: &mut Rewriter, value: Value) -> (Value, Value) {
    let sign = rw.bin_int(BinOp::AShr, value, 127);
    (negate_if(rw, value, sign), sign)
}

/// A divisor, prepared for divisions.
struct Divisor {
    /// Whether the divisor needs more than 64 bits.
    wide: Value,
    /// The number of leading zeros of the upper half if `wide`, otherwise of the lower half.
    shift: Value,
    /// The leading 64 bits, from the first bit set.
    top: Value,
    /// The 64 bits that follow `top`.
    rest: Value,
    /// `⌊(2¹²⁸ - 1) / top⌋ - 2⁶⁴`.
    reciprocal: Value,
}

impl Divisor {
    fn new(rw: &mut Rewriter, value: Value) -> Divisor {
        let i64 = rw.int_ty(64);
        let (low, high) = halves(rw, value);
        let wide = rw.icmp_int(IntPred::Ne, high, 0);
        let leading = rw.select(wide, high, low);
        let defined = rw.module.const_bool(false);
        let shift = rw.intrinsic(Intrinsic::Ctlz, i64, &[leading, defined]);
        let shifted = rw.bin(BinOp::Shl, leading, shift);
        let shifted_low = rw.bin(BinOp::Shl, low, shift);
        let zero = rw.int(i64, 0);
        let rest = rw.select(wide, shifted_low, zero);
        let carried = shift_out(rw, low, shift);
        let carried = rw.select(wide, carried, zero);
        let top = rw.bin(BinOp::Or, shifted, carried);
        let reciprocal = reciprocal(rw, top);
        Divisor {
            wide,
            shift,
            top,
            rest,
            reciprocal,
        }
    }

    /// Prepares a divisor that is not zero.
    fn constant(rw: &mut Rewriter, value: u128) -> Divisor {
        let i64 = rw.int_ty(64);
        let wide = value >> 64 != 0;
        let shifted = value << value.leading_zeros();
        let top = shifted >> 64;
        Divisor {
            wide: rw.module.const_bool(wide),
            shift: rw.int(i64, u128::from(value.leading_zeros() % 64)),
            top: rw.int(i64, top),
            rest: rw.int(i64, shifted & u128::from(u64::MAX)),
            reciprocal: rw.int(i64, u128::MAX / top - (1 << 64)),
        }
    }
}

/// Returns the bits that a left shift of 64 bits by `shift`, less than 64, shifts out.
fn shift_out(rw: &mut Rewriter, value: Value, shift: Value) -> Value {
    let half = rw.bin_int(BinOp::LShr, value, 1);
    let rest = rw.bin_int(BinOp::Xor, shift, 63);
    rw.bin(BinOp::LShr, half, rest)
}

/// Returns `⌊(2¹²⁸ - 1) / d⌋ - 2⁶⁴` for a `d` of 64 bits with the upper bit set.
///
/// The estimates below approach the reciprocal from below, and each has twice as many correct bits
/// as the one before. `the_reciprocal_is_exact` computes them with all errors that the PTX ISA
/// permits for `rcp.approx`.
fn reciprocal(rw: &mut Rewriter, d: Value) -> Value {
    let (i32, i64) = (rw.int_ty(32), rw.int_ty(64));
    let f32 = rw.module.types.intern(TypeKind::Float);

    // `(⌊d / 2⁴⁰⌋ + 1) / 2²³`, a float in (1, 2], and its reciprocal with an error of at most
    // 2⁻²³ of it: `a` is less than 2⁸⁷ / d by at most 6.
    let top = rw.bin_int(BinOp::LShr, d, 40);
    let top = rw.resize(top, i32, false);
    let bits = rw.bin_int(BinOp::Add, top, 0x3f00_0001);
    let float = rw.bitcast(bits, f32);
    let inverse = rw.read_none_asm("rcp.approx.ftz.f32 $0, $1;", "=f,f", f32, &[float]);
    let bits = rw.bitcast(inverse, i32);
    let a = rw.bin_int(BinOp::Sub, bits, 0x3e80_0002);
    let a = rw.resize(a, i64, false);

    // One of Newton's steps with the upper 40 bits of `d`, rounded up, for 2⁹⁷ / d. `error` is
    // 2⁶³ times the relative error of `a`, less than 2⁴³.
    let upper = rw.bin_int(BinOp::LShr, d, 24);
    let upper = rw.bin_int(BinOp::Add, upper, 1);
    let product = rw.bin(BinOp::Mul, a, upper);
    let all = rw.int(i64, 1 << 63);
    let error = rw.bin(BinOp::Sub, all, product);
    let error = rw.bin_int(BinOp::LShr, error, 11);
    let more = rw.bin(BinOp::Mul, a, error);
    let more = rw.bin_int(BinOp::LShr, more, 42);
    let b = rw.bin_int(BinOp::Shl, a, 10);
    let b = rw.bin(BinOp::Add, b, more);

    // The second step, for 2¹²⁸ / d. `error` is half of 2⁹⁷ - b·d, which needs 65 bits.
    let odd = rw.bin_int(BinOp::And, d, 1);
    let half = rw.bin_int(BinOp::LShr, d, 1);
    let half = rw.bin(BinOp::Add, half, odd);
    let product = rw.bin(BinOp::Mul, b, half);
    let zero = rw.int(i64, 0);
    let mask = rw.bin(BinOp::Sub, zero, odd);
    let half_b = rw.bin_int(BinOp::LShr, b, 1);
    let rounding = rw.bin(BinOp::And, half_b, mask);
    let error = rw.bin(BinOp::Sub, rounding, product);
    let more = multiply(rw, b, error);
    let (_, more) = halves(rw, more);
    let more = rw.bin_int(BinOp::LShr, more, 1);
    let c = rw.bin_int(BinOp::Shl, b, 31);
    let c = rw.bin(BinOp::Add, c, more);

    // `c` is the result or one less. One more fits if (2⁶⁴ + c + 1)·d is less than 2¹²⁸; then the
    // upper half of this product is -1, otherwise 0.
    let i128 = rw.int_ty(128);
    let product = multiply(rw, c, d);
    let wide = rw.resize(d, i128, false);
    let product = rw.bin(BinOp::Add, product, wide);
    let (_, upper) = halves(rw, product);
    let upper = rw.bin(BinOp::Add, upper, d);
    rw.bin(BinOp::Sub, c, upper)
}

/// Returns the product of two integers of 64 bits, with 128 bits.
fn multiply(rw: &mut Rewriter, a: Value, b: Value) -> Value {
    let i128 = rw.int_ty(128);
    let a = rw.resize(a, i128, false);
    let b = rw.resize(b, i128, false);
    rw.bin(BinOp::Mul, a, b)
}

/// Divides `high·2⁶⁴ + low` by the divisor's `top`, which is greater than `high`: algorithm 4 of
/// the article. Returns the quotient and the remainder.
fn divide_by_top(rw: &mut Rewriter, high: Value, low: Value, divisor: &Divisor) -> (Value, Value) {
    let product = multiply(rw, divisor.reciprocal, high);
    let dividend = join(rw, low, high);
    let estimate = rw.bin(BinOp::Add, product, dividend);
    let (fraction, quotient) = halves(rw, estimate);
    let above = rw.bin_int(BinOp::Add, quotient, 1);
    let product = rw.bin(BinOp::Mul, above, divisor.top);
    let remainder = rw.bin(BinOp::Sub, low, product);
    let too_large = rw.icmp(IntPred::Ugt, remainder, fraction);
    let sum = rw.bin(BinOp::Add, remainder, divisor.top);
    let quotient = rw.select(too_large, quotient, above);
    let remainder = rw.select(too_large, sum, remainder);
    let too_small = rw.icmp(IntPred::Uge, remainder, divisor.top);
    let above = rw.bin_int(BinOp::Add, quotient, 1);
    let difference = rw.bin(BinOp::Sub, remainder, divisor.top);
    (
        rw.select(too_small, above, quotient),
        rw.select(too_small, difference, remainder),
    )
}

/// Divides by a prepared divisor. Returns the quotient and the remainder.
fn divide(rw: &mut Rewriter, ty: Type, dividend: Value, divisor: &Divisor) -> (Value, Value) {
    let i64 = rw.int_ty(64);
    let zero = rw.int(i64, 0);

    // The dividend shifted as the divisor is: 192 bits, of which the upper 64 are less than `top`.
    let (low, high) = halves(rw, dividend);
    let shift = divisor.shift;
    let carry = shift_out(rw, high, shift);
    let middle = rw.bin(BinOp::Shl, high, shift);
    let carried = shift_out(rw, low, shift);
    let middle = rw.bin(BinOp::Or, middle, carried);
    let low = rw.bin(BinOp::Shl, low, shift);

    // The quotient of the upper 128 bits by `top` is zero for most dividends, such as products of
    // two numbers that are less than a divisor of 64 bits.
    let (large, small) = (rw.new_block("div_large"), rw.new_block("div_small"));
    let (wide, narrow) = (rw.new_block("div_wide"), rw.new_block("div_narrow"));
    let done = rw.new_block("div_done");
    let start = rw.block();
    let carries = rw.icmp_int(IntPred::Ne, carry, 0);
    let reaches = rw.icmp(IntPred::Uge, middle, divisor.top);
    let is_large = rw.bin(BinOp::Or, carries, reaches);
    rw.cond_br(is_large, large, small);
    rw.go_to(large);
    let (upper, left) = divide_by_top(rw, carry, middle, divisor);
    let large = rw.block();
    rw.br(small);
    rw.go_to(small);
    let upper = rw.emit(i64, InstKind::Phi(vec![(zero, start), (upper, large)]));
    let left = rw.emit(i64, InstKind::Phi(vec![(middle, start), (left, large)]));
    rw.cond_br(divisor.wide, wide, narrow);

    // `upper` ignores the divisor's lower bits, so it is too large by at most 2.
    rw.go_to(wide);
    let whole = join(rw, divisor.rest, divisor.top);
    let ignored = multiply(rw, upper, divisor.rest);
    let left_over = join(rw, low, left);
    let zero_wide = rw.int(ty, 0);
    let first = rw.icmp(IntPred::Ult, left_over, ignored);
    let remainder = rw.bin(BinOp::Sub, left_over, ignored);
    let added = rw.select(first, whole, zero_wide);
    let corrected = rw.bin(BinOp::Add, remainder, added);
    let wraps = rw.icmp(IntPred::Ult, corrected, added);
    let stays = rw.not(wraps);
    let second = rw.bin(BinOp::And, first, stays);
    let first = rw.resize(first, i64, false);
    let second_digit = rw.resize(second, i64, false);
    let quotient = rw.bin(BinOp::Sub, upper, first);
    let quotient = rw.bin(BinOp::Sub, quotient, second_digit);
    let wide_quotient = rw.resize(quotient, ty, false);
    let added = rw.select(second, whole, zero_wide);
    let remainder = rw.bin(BinOp::Add, corrected, added);
    let wide_shift = rw.resize(shift, ty, false);
    let wide_remainder = rw.bin(BinOp::LShr, remainder, wide_shift);
    let wide = rw.block();
    rw.br(done);

    rw.go_to(narrow);
    let (lower, left) = divide_by_top(rw, left, low, divisor);
    let narrow_quotient = join(rw, lower, upper);
    let remainder = rw.bin(BinOp::LShr, left, shift);
    let narrow_remainder = rw.resize(remainder, ty, false);
    let narrow = rw.block();
    rw.br(done);

    rw.go_to(done);
    let quotients = vec![(wide_quotient, wide), (narrow_quotient, narrow)];
    let remainders = vec![(wide_remainder, wide), (narrow_remainder, narrow)];
    (
        rw.emit(ty, InstKind::Phi(quotients)),
        rw.emit(ty, InstKind::Phi(remainders)),
    )
}

#[cfg(test)]
mod tests {
    /// Computes what `reciprocal` emits, with a result of `rcp.approx` that is `ulps` from the
    /// float closest to the exact result, within the error that the PTX ISA permits.
    fn reciprocal(d: u64, ulps: i32) -> u64 {
        let float = f32::from_bits((d >> 40) as u32 + 0x3f00_0001);
        let exact = 1.0 / f64::from(float);
        let error = exact * 2f64.powi(-23);
        let mut bits = (exact as f32).to_bits().wrapping_add_signed(ulps);
        while f64::from(f32::from_bits(bits)) < exact - error {
            bits += 1;
        }
        while f64::from(f32::from_bits(bits)) > exact + error {
            bits -= 1;
        }
        let a = u64::from(bits - 0x3e80_0002);
        // Plain operators: nothing here wraps.
        let error = ((1 << 63) - a * ((d >> 24) + 1)) >> 11;
        assert!(error < 1 << 32);
        let b = (a << 10) + ((a * error) >> 42);
        let product = b.wrapping_mul((d >> 1) + (d & 1));
        let rounding = if d & 1 == 1 { b >> 1 } else { 0 };
        let error = rounding.wrapping_sub(product);
        let more = (u128::from(b) * u128::from(error)) >> 65;
        let c = (b << 31).wrapping_add(more as u64);
        let product = u128::from(c) * u128::from(d) + u128::from(d);
        c.wrapping_sub(((product >> 64) as u64).wrapping_add(d))
    }

    #[test]
    fn the_reciprocal_is_exact() {
        let mut random = 0x9E37_79B9_7F4A_7C15u64;
        for top in (1u64 << 23..1 << 24).step_by(23).chain([(1 << 24) - 1]) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            for low in [0, 1, (1 << 24) - 1, 1 << 24, (1 << 40) - 1, random >> 24] {
                let d = (top << 40) | low;
                let exact = u128::MAX / u128::from(d) - (1 << 64);
                for ulps in -2..=2 {
                    assert_eq!(u128::from(reciprocal(d, ulps)), exact, "{d:#x}, {ulps}");
                }
            }
        }
    }
}
