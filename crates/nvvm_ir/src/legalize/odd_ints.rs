//! Legalizes illegal-width integers (i24, i48 …), which crash libnvvm: each is in a register whose
//! width is the next power of two, and the bits above its width are always zero.

use super::fp_to_int::saturating_cast;
use super::overflow;
use super::rewriter::Rewriter;
use super::saturate::{self, clamp_signed, max_signed};
use super::types::{Class, class, container};
use crate::inst::*;
use crate::intrinsic::Intrinsic;
use crate::types::Type;
use crate::value::Value;

/// Clears the bits above the lowest `bits`.
pub(super) fn keep_low(rw: &mut Rewriter, value: Value, bits: u32) -> Value {
    if rw.bits(rw.ty(value)) == bits {
        return value;
    }
    rw.bin_int(BinOp::And, value, u128::MAX >> (128 - bits))
}

/// Sign-extends the lowest `bits` bits.
pub(super) fn extend_sign(rw: &mut Rewriter, value: Value, bits: u32) -> Value {
    let unused = rw.bits(rw.ty(value)) - bits;
    if unused == 0 {
        return value;
    }
    let high = rw.bin_int(BinOp::Shl, value, unused.into());
    rw.bin_int(BinOp::AShr, high, unused.into())
}

/// Returns the replacement of an operand, and the operand's old width.
pub(super) fn operand(rw: &Rewriter, value: Value) -> (Value, u32) {
    (rw.current(value), rw.bits(rw.old_ty(value)))
}

/// Returns an operand, sign-extended to its register.
fn signed_operand(rw: &mut Rewriter, value: Value) -> Value {
    let (value, bits) = operand(rw, value);
    extend_sign(rw, value, bits)
}

/// Legalizes a binary operation.
pub(super) fn legalize_bin(
    rw: &mut Rewriter,
    bits: u32,
    op: BinOp,
    [lhs, rhs]: [Value; 2],
) -> Value {
    use BinOp::*;
    let (mut x, mut y) = (rw.current(lhs), rw.current(rhs));
    if matches!(op, SDiv | SRem | AShr) {
        x = extend_sign(rw, x, bits);
    }
    if matches!(op, SDiv | SRem) {
        y = extend_sign(rw, y, bits);
    }
    let result = rw.bin(op, x, y);
    // The results of these have zeros above the width if the operands have.
    if matches!(op, And | Or | Xor | UDiv | URem | LShr) {
        return result;
    }
    keep_low(rw, result, bits)
}

/// Legalizes a comparison.
pub(super) fn legalize_icmp(rw: &mut Rewriter, pred: IntPred, [lhs, rhs]: [Value; 2]) -> Value {
    use IntPred::*;
    if matches!(pred, Sgt | Sge | Slt | Sle) {
        let lhs = signed_operand(rw, lhs);
        let rhs = signed_operand(rw, rhs);
        return rw.icmp(pred, lhs, rhs);
    }
    let (lhs, rhs) = (rw.current(lhs), rw.current(rhs));
    rw.icmp(pred, lhs, rhs)
}

/// Legalizes an address computation with illegal-width indices, which are signed.
pub(super) fn legalize_gep(
    rw: &mut Rewriter,
    ty: Type,
    element: Type,
    base: Value,
    indices: &[Value],
    inbounds: bool,
) -> Value {
    let indices = indices
        .iter()
        .map(|&index| signed_operand(rw, index))
        .collect();
    let base = rw.current(base);
    rw.emit(
        ty,
        InstKind::Gep {
            element,
            base,
            indices,
            inbounds,
        },
    )
}

/// Legalizes a conversion from or to an illegal width, unless the other type is a float that this
/// sweep replaces.
pub(super) fn legalize_cast(rw: &mut Rewriter, ty: Type, op: CastOp, value: Value) -> Value {
    let new_ty = rw.new_ty(ty);
    let from_odd = matches!(class(rw, rw.old_ty(value)), Class::Odd(_));
    let from = match op {
        CastOp::SExt | CastOp::SiToFp if from_odd => signed_operand(rw, value),
        _ => rw.current(value),
    };
    let result = match op {
        CastOp::Trunc | CastOp::ZExt => rw.resize(from, new_ty, false),
        CastOp::SExt => rw.resize(from, new_ty, true),
        _ => rw.cast(op, from, new_ty),
    };
    match class(rw, ty) {
        Class::Odd(bits) => keep_low(rw, result, bits),
        _ => result,
    }
}

/// Legalizes a bitcast. `f128` and `bf16` are already integers. For an illegal width the other type
/// is a vector, whose first element holds the lowest bits.
pub(super) fn legalize_bitcast(rw: &mut Rewriter, ty: Type, value: Value) -> Value {
    let new_ty = rw.new_ty(ty);
    let from_odd = matches!(class(rw, rw.old_ty(value)), Class::Odd(_));
    let to_odd = matches!(class(rw, ty), Class::Odd(_));
    let value = rw.current(value);
    let element_bits = |rw: &Rewriter, ty| rw.bits(rw.module.types.scalar(ty));
    match (rw.vector_len(rw.ty(value)), rw.vector_len(new_ty)) {
        (Some(len), None) if to_odd => {
            let mut result = rw.int(new_ty, 0);
            let step = element_bits(rw, rw.ty(value));
            for index in 0..len {
                let digit = super::lanes::lane(rw, value, index);
                let digit = rw.bits_of(digit);
                let digit = rw.resize(digit, new_ty, false);
                let digit = rw.bin_int(BinOp::Shl, digit, u128::from(index * step));
                result = rw.bin(BinOp::Or, result, digit);
            }
            result
        }
        (None, Some(len)) if from_odd => {
            let element = rw.module.types.scalar(new_ty);
            let step = element_bits(rw, new_ty);
            let digit_ty = rw.int_ty(step);
            let digits: Vec<Value> = (0..len)
                .map(|index| {
                    let digit = rw.bin_int(BinOp::LShr, value, u128::from(index * step));
                    let digit = rw.resize(digit, digit_ty, false);
                    rw.bitcast(digit, element)
                })
                .collect();
            rw.vector(new_ty, &digits)
        }
        _ => rw.bitcast(value, new_ty),
    }
}

/// Legalizes an intrinsic.
pub(super) fn legalize_intrinsic(
    rw: &mut Rewriter,
    ty: Type,
    intrinsic: Intrinsic,
    old_args: &[Value],
) -> Value {
    use Intrinsic::*;
    let new_ty = rw.new_ty(ty);
    let args: Vec<Value> = old_args.iter().map(|&arg| rw.current(arg)).collect();
    let bits = match class(rw, rw.old_ty(old_args[0])) {
        Class::Odd(bits) => bits,
        _ => rw.bits(ty),
    };
    let unused = u128::from(container(bits) - bits);
    if let Some(operation) = overflow::operation(intrinsic) {
        return overflow(rw, intrinsic, operation, new_ty, bits, &args);
    }
    if let Some(operation) = saturate::operation(intrinsic) {
        return saturating(rw, operation, bits, &args);
    }
    match intrinsic {
        // Zeros above the width do not change the result.
        Ctpop | UMax | UMin | Expect => rw.intrinsic(intrinsic, new_ty, &args),
        Ctlz => {
            let count = rw.intrinsic(Ctlz, new_ty, &args);
            rw.bin_int(BinOp::Sub, count, unused)
        }
        Cttz => {
            let end = rw.bin_int(BinOp::Or, args[0], 1 << bits);
            rw.intrinsic(Cttz, new_ty, &[end, args[1]])
        }
        Bswap | Bitreverse => {
            let high = rw.intrinsic(intrinsic, new_ty, &args);
            rw.bin_int(BinOp::LShr, high, unused)
        }
        Fshl | Fshr => funnel_shift(rw, intrinsic, bits, &args),
        Abs => {
            let value = extend_sign(rw, args[0], bits);
            let result = rw.intrinsic(Abs, new_ty, &[value, args[1]]);
            keep_low(rw, result, bits)
        }
        SMax | SMin => {
            let lhs = extend_sign(rw, args[0], bits);
            let rhs = extend_sign(rw, args[1], bits);
            let result = rw.intrinsic(intrinsic, new_ty, &[lhs, rhs]);
            keep_low(rw, result, bits)
        }
        FpToSiSat | FpToUiSat => {
            let signed = intrinsic == FpToSiSat;
            let result = saturating_cast(rw, args[0], new_ty, bits, signed);
            keep_low(rw, result, bits)
        }
        _ => {
            let what = format!("llvm.{} on integers of {bits} bits", intrinsic.base_name());
            rw.unsupported(new_ty, what)
        }
    }
}

/// Emits a funnel shift. The distance is reduced modulo the width, so that no shift reaches the
/// register's width.
fn funnel_shift(rw: &mut Rewriter, intrinsic: Intrinsic, bits: u32, args: &[Value]) -> Value {
    let by = rw.bin_int(BinOp::URem, args[2], bits.into());
    let width = rw.int(rw.ty(by), bits.into());
    let rest = rw.bin(BinOp::Sub, width, by);
    let (left, right) = if intrinsic == Intrinsic::Fshl {
        (by, rest)
    } else {
        (rest, by)
    };
    let high = rw.bin(BinOp::Shl, args[0], left);
    let low = rw.bin(BinOp::LShr, args[1], right);
    let result = rw.bin(BinOp::Or, high, low);
    keep_low(rw, result, bits)
}

/// Computes in a width in which nothing overflows or, if there is none, in 128 bits with that
/// width's own overflow check.
fn overflow(
    rw: &mut Rewriter,
    intrinsic: Intrinsic,
    (op, signed): (BinOp, bool),
    pair_ty: Type,
    bits: u32,
    args: &[Value],
) -> Value {
    let needed = if op == BinOp::Mul { 2 * bits } else { bits + 1 };
    let wide_ty = rw.int_ty(container(needed.min(128)));
    let new_ty = rw.ty(args[0]);
    let widen = |rw: &mut Rewriter, value| {
        let value = if signed {
            extend_sign(rw, value, bits)
        } else {
            value
        };
        rw.resize(value, wide_ty, signed)
    };
    let lhs = widen(rw, args[0]);
    let rhs = widen(rw, args[1]);
    let (wide, lost) = if needed <= 128 {
        (rw.bin(op, lhs, rhs), None)
    } else {
        let i1 = rw.int_ty(1);
        let pair = rw.module.types.structure(&[wide_ty, i1], false);
        let result = rw.intrinsic(intrinsic, pair, &[lhs, rhs]);
        (
            rw.extract_value(result, 0),
            Some(rw.extract_value(result, 1)),
        )
    };
    let result = rw.resize(wide, new_ty, false);
    let result = keep_low(rw, result, bits);
    let back = widen(rw, result);
    let mut overflowed = rw.icmp(IntPred::Ne, back, wide);
    if let Some(lost) = lost {
        overflowed = rw.bin(BinOp::Or, overflowed, lost);
    }
    rw.aggregate(pair_ty, &[result, overflowed])
}

/// Computes in the register, which has at least one more bit, and clamps the result to the range.
fn saturating(rw: &mut Rewriter, (op, signed): (BinOp, bool), bits: u32, args: &[Value]) -> Value {
    if signed {
        let lhs = extend_sign(rw, args[0], bits);
        let rhs = extend_sign(rw, args[1], bits);
        let wide = rw.bin(op, lhs, rhs);
        let clamped = clamp_signed(rw, wide, bits);
        return keep_low(rw, clamped, bits);
    }
    let result = rw.bin(op, args[0], args[1]);
    let ty = rw.ty(result);
    let max = max_signed(bits + 1);
    // A negative difference has all bits above the width set.
    let outside = rw.icmp_int(IntPred::Ugt, result, max);
    let end = rw.int(ty, if op == BinOp::Add { max } else { 0 });
    rw.select(outside, end, result)
}
