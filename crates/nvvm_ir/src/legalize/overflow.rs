//! Legalizes `*.with.overflow` for the widths that libnvvm lacks: 8 and 128 bits. Also replaces the
//! signed ones of 32 and 64 bits for which libnvvm 13.0 emits long code.

use super::bits::{halves, join};
use super::rewriter::Rewriter;
use crate::inst::*;
use crate::intrinsic::Intrinsic;
use crate::types::Type;
use crate::value::{Const, Value, ValueKind};

/// Returns the operation of a `*.with.overflow`, and whether it is signed.
pub(super) fn operation(intrinsic: Intrinsic) -> Option<(BinOp, bool)> {
    match intrinsic {
        Intrinsic::UAddOverflow => Some((BinOp::Add, false)),
        Intrinsic::SAddOverflow => Some((BinOp::Add, true)),
        Intrinsic::USubOverflow => Some((BinOp::Sub, false)),
        Intrinsic::SSubOverflow => Some((BinOp::Sub, true)),
        Intrinsic::UMulOverflow => Some((BinOp::Mul, false)),
        Intrinsic::SMulOverflow => Some((BinOp::Mul, true)),
        _ => None,
    }
}

/// Returns `{result, overflowed}` of an addition, subtraction or multiplication.
pub(super) fn legalize_overflow(
    rw: &mut Rewriter,
    ty: Type,
    (op, signed): (BinOp, bool),
    args: &[Value],
) -> Value {
    let (result, overflowed) = overflowing(rw, op, signed, args[0], args[1]);
    rw.aggregate(ty, &[result, overflowed])
}

/// Replaces a signed operation of 32 or 64 bits. Returns `None` for those that libnvvm handles well.
///
/// libnvvm 13.0 compares the signs of both operands and of a sum, each as a number of its own: ten
/// instructions of machine code for 64 bits instead of two. A product of 64 bits takes 28 instructions,
/// most of them for its upper half.
pub(super) fn shorten_overflow(
    rw: &mut Rewriter,
    ty: Type,
    (op, signed): (BinOp, bool),
    args: &[Value],
) -> Option<Value> {
    if !signed {
        return None;
    }
    let (a, b) = (args[0], args[1]);
    let (result, overflowed) = match op {
        BinOp::Mul if rw.bits(rw.ty(a)) < 64 => return None,
        BinOp::Mul => match (constant(rw, a), constant(rw, b)) {
            (None, None) => multiply_64(rw, ty, a, b),
            (Some(factor), None) => multiply_by_constant(rw, b, a, factor)?,
            (None, Some(factor)) => multiply_by_constant(rw, a, b, factor)?,
            (Some(_), Some(_)) => return None,
        },
        _ => overflowing(rw, op, true, a, b),
    };
    Some(rw.aggregate(ty, &[result, overflowed]))
}

/// Returns the value of a constant of 64 bits.
fn constant(rw: &Rewriter, value: Value) -> Option<i64> {
    match rw.module.value(rw.current(value)).kind {
        ValueKind::Const(Const::Int(int)) => Some(int as i64),
        _ => None,
    }
}

/// Compares the other factor with the bounds between which the product fits.
fn multiply_by_constant(
    rw: &mut Rewriter,
    a: Value,
    b: Value,
    factor: i64,
) -> Option<(Value, Value)> {
    let (least, most) = match factor {
        0 | 1 => return None,
        -1 => (-i64::MAX, i64::MAX),
        ..-1 => (i64::MAX / factor, i64::MIN / factor),
        2.. => (i64::MIN / factor, i64::MAX / factor),
    };
    let result = rw.bin(BinOp::Mul, a, b);
    let above_least = rw.bin_int(BinOp::Sub, a, u128::from(least as u64));
    let range = most.wrapping_sub(least) as u64;
    let overflowed = rw.icmp_int(IntPred::Ugt, above_least, u128::from(range));
    Some((result, overflowed))
}

/// Multiplies two numbers of 64 bits. `ty` is the type of the pair that the intrinsic returns.
///
/// The product of two numbers below 2³² overflows if it is negative. The intrinsic multiplies all
/// others, behind a branch.
fn multiply_64(rw: &mut Rewriter, ty: Type, a: Value, b: Value) -> (Value, Value) {
    let (i1, i32, i64) = (rw.int_ty(1), rw.int_ty(32), rw.int_ty(64));
    let either = rw.bin(BinOp::Or, a, b);
    let is_short = rw.icmp_int(IntPred::Ult, either, 1 << 32);
    let (short, long) = (rw.new_block("short_product"), rw.new_block("long_product"));
    let done = rw.new_block("product");
    rw.cond_br(is_short, short, long);

    rw.go_to(short);
    let [short_a, short_b] = [a, b].map(|factor| {
        let lower = rw.resize(factor, i32, false);
        rw.resize(lower, i64, false)
    });
    let short_result = rw.bin(BinOp::Mul, short_a, short_b);
    let short_overflowed = rw.icmp_int(IntPred::Slt, short_result, 0);
    rw.br(done);

    rw.go_to(long);
    let pair = rw.call_unchanged(Intrinsic::SMulOverflow, ty, &[a, b]);
    let long_result = rw.extract_value(pair, 0);
    let long_overflowed = rw.extract_value(pair, 1);
    rw.br(done);

    rw.go_to(done);
    let result = rw.emit(
        i64,
        InstKind::Phi(vec![(short_result, short), (long_result, long)]),
    );
    let overflowed = rw.emit(
        i1,
        InstKind::Phi(vec![(short_overflowed, short), (long_overflowed, long)]),
    );
    (result, overflowed)
}

fn overflowing(rw: &mut Rewriter, op: BinOp, signed: bool, a: Value, b: Value) -> (Value, Value) {
    match (op, signed) {
        _ if rw.bits(rw.ty(a)) <= 16 => narrow(rw, op, signed, a, b),
        (BinOp::Mul, false) => multiply_unsigned(rw, a, b),
        (BinOp::Mul, true) => multiply_signed(rw, a, b),
        _ => {
            let result = rw.bin(op, a, b);
            (result, add_sub_overflowed(rw, op, signed, a, b, result))
        }
    }
}

/// Computes in 32 bits, where nothing overflows. The result fits if truncation preserves it.
fn narrow(rw: &mut Rewriter, op: BinOp, signed: bool, a: Value, b: Value) -> (Value, Value) {
    let (ty, i32) = (rw.ty(a), rw.int_ty(32));
    let a = rw.resize(a, i32, signed);
    let b = rw.resize(b, i32, signed);
    let wide = rw.bin(op, a, b);
    let result = rw.resize(wide, ty, false);
    let back = rw.resize(result, i32, signed);
    (result, rw.icmp(IntPred::Ne, back, wide))
}

/// Returns whether an addition or subtraction with the result `result` overflowed.
pub(super) fn add_sub_overflowed(
    rw: &mut Rewriter,
    op: BinOp,
    signed: bool,
    a: Value,
    b: Value,
    result: Value,
) -> Value {
    match (op, signed) {
        (BinOp::Add, false) => rw.icmp(IntPred::Ult, result, a),
        (_, false) => rw.icmp(IntPred::Ult, a, b),
        // Signed addition overflows if the result's sign is neither operand's. Subtraction
        // overflows if the operands' signs differ and the result's sign is not the first operand's.
        (op, true) => {
            let first = rw.bin(BinOp::Xor, a, result);
            let other = if op == BinOp::Add { result } else { a };
            let second = rw.bin(BinOp::Xor, b, other);
            let both = rw.bin(BinOp::And, first, second);
            rw.icmp_int(IntPred::Slt, both, 0)
        }
    }
}

/// With `a = a₁·2⁶⁴ + a₀`, and `b` likewise, the product overflows if a₁ and b₁ are both nonzero,
/// or if the remaining cross product does not fit on top of a₀·b₀.
fn multiply_unsigned(rw: &mut Rewriter, a: Value, b: Value) -> (Value, Value) {
    let i128 = rw.ty(a);
    let (a0, a1) = halves(rw, a);
    let (b0, b1) = halves(rw, b);
    let wide = |rw: &mut Rewriter, x, y| {
        let x = rw.resize(x, i128, false);
        let y = rw.resize(y, i128, false);
        let product = rw.bin(BinOp::Mul, x, y);
        halves(rw, product)
    };
    let (low, carry) = wide(rw, a0, b0);
    let (cross_a, over_a) = wide(rw, a1, b0);
    let (cross_b, over_b) = wide(rw, b1, a0);
    // Unless the product overflows, at most one of the two is nonzero.
    let cross = rw.bin(BinOp::Add, cross_a, cross_b);
    let high = rw.bin(BinOp::Add, carry, cross);

    let a_high = rw.icmp_int(IntPred::Ne, a1, 0);
    let b_high = rw.icmp_int(IntPred::Ne, b1, 0);
    let both_high = rw.bin(BinOp::And, a_high, b_high);
    let over = rw.bin(BinOp::Or, over_a, over_b);
    let over = rw.icmp_int(IntPred::Ne, over, 0);
    let carried = rw.icmp(IntPred::Ult, high, carry);
    let overflowed = rw.bin(BinOp::Or, both_high, over);
    let overflowed = rw.bin(BinOp::Or, overflowed, carried);
    (join(rw, low, high), overflowed)
}

/// Multiplies the magnitudes: a negative product may reach 2¹²⁷, a positive one 2¹²⁷ - 1.
fn multiply_signed(rw: &mut Rewriter, a: Value, b: Value) -> (Value, Value) {
    let i128 = rw.ty(a);
    let magnitude = |rw: &mut Rewriter, x| {
        let sign = rw.bin_int(BinOp::AShr, x, 127);
        let flipped = rw.bin(BinOp::Xor, x, sign);
        rw.bin(BinOp::Sub, flipped, sign)
    };
    let abs_a = magnitude(rw, a);
    let abs_b = magnitude(rw, b);
    let (product, too_large) = multiply_unsigned(rw, abs_a, abs_b);
    let differ = rw.bin(BinOp::Xor, a, b);
    let sign = rw.bin_int(BinOp::AShr, differ, 127);
    let flipped = rw.bin(BinOp::Xor, product, sign);
    let result = rw.bin(BinOp::Sub, flipped, sign);
    // MAX, or MAX + 1 for a negative product.
    let max = rw.int(i128, i128::MAX as u128);
    let limit = rw.bin(BinOp::Sub, max, sign);
    let out_of_range = rw.icmp(IntPred::Ugt, product, limit);
    (result, rw.bin(BinOp::Or, too_large, out_of_range))
}
