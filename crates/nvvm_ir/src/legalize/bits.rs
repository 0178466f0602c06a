//! Legalizes bit counting, byte swaps and funnel shifts, and minimum, maximum and absolute value of
//! integers.

use super::rewriter::Rewriter;
use crate::inst::*;
use crate::intrinsic::Intrinsic;
use crate::types::Type;
use crate::value::Value;

/// Splits an i128 into i64 halves: low, high.
pub(super) fn halves(rw: &mut Rewriter, value: Value) -> (Value, Value) {
    let i64 = rw.int_ty(64);
    let low = rw.resize(value, i64, false);
    let high = rw.bin_int(BinOp::LShr, value, 64);
    (low, rw.resize(high, i64, false))
}

/// Joins two halves to an i128.
pub(super) fn join(rw: &mut Rewriter, low: Value, high: Value) -> Value {
    let i128 = rw.int_ty(128);
    let low = rw.resize(low, i128, false);
    let high = rw.resize(high, i128, false);
    let high = rw.bin_int(BinOp::Shl, high, 64);
    rw.bin(BinOp::Or, high, low)
}

/// Legalizes `ctpop`, `ctlz` and `cttz` of 128 bits and of 1 bit.
pub(super) fn legalize_count(
    rw: &mut Rewriter,
    ty: Type,
    intrinsic: Intrinsic,
    args: &[Value],
) -> Value {
    if rw.bits(ty) == 1 {
        return if intrinsic == Intrinsic::Ctpop {
            args[0]
        } else {
            rw.not(args[0])
        };
    }
    let (low, high) = halves(rw, args[0]);
    let i64 = rw.int_ty(64);
    let count = if intrinsic == Intrinsic::Ctpop {
        let low = rw.intrinsic(intrinsic, i64, &[low]);
        let high = rw.intrinsic(intrinsic, i64, &[high]);
        rw.bin(BinOp::Add, low, high)
    } else {
        // The half to count first, and the half to continue in if the first is zero.
        let (first, second) = if intrinsic == Intrinsic::Ctlz {
            (high, low)
        } else {
            (low, high)
        };
        let defined = rw.module.const_bool(false);
        let empty = rw.icmp_int(IntPred::Eq, first, 0);
        let first = rw.intrinsic(intrinsic, i64, &[first, defined]);
        let second = rw.intrinsic(intrinsic, i64, &[second, args[1]]);
        let second = rw.bin_int(BinOp::Add, second, 64);
        rw.select(empty, second, first)
    };
    rw.resize(count, ty, false)
}

/// Legalizes `bswap` of 128 bits, and of 8 bits, which is the identity.
pub(super) fn legalize_bswap(rw: &mut Rewriter, ty: Type, _: Intrinsic, args: &[Value]) -> Value {
    if rw.bits(ty) == 8 {
        return args[0];
    }
    let (low, high) = halves(rw, args[0]);
    let i64 = rw.int_ty(64);
    let low = rw.intrinsic(Intrinsic::Bswap, i64, &[low]);
    let high = rw.intrinsic(Intrinsic::Bswap, i64, &[high]);
    join(rw, high, low)
}

/// Legalizes `fshl` and `fshr` of 64 and 128 bits. The operand whose shift distance may be the whole width
/// is shifted by one first, so that no single shift reaches the width.
pub(super) fn legalize_funnel_shift(
    rw: &mut Rewriter,
    _: Type,
    intrinsic: Intrinsic,
    args: &[Value],
) -> Value {
    let last = u128::from(rw.bits(rw.ty(args[0]))) - 1;
    let by = rw.bin_int(BinOp::And, args[2], last);
    let rest = rw.bin_int(BinOp::Xor, by, last);
    let (high, low) = if intrinsic == Intrinsic::Fshl {
        let high = rw.bin(BinOp::Shl, args[0], by);
        let low = rw.bin_int(BinOp::LShr, args[1], 1);
        (high, rw.bin(BinOp::LShr, low, rest))
    } else {
        let high = rw.bin_int(BinOp::Shl, args[0], 1);
        let high = rw.bin(BinOp::Shl, high, rest);
        (high, rw.bin(BinOp::LShr, args[1], by))
    };
    rw.bin(BinOp::Or, high, low)
}

/// Legalizes `abs`; the absolute value of the smallest integer is itself.
pub(super) fn legalize_abs(rw: &mut Rewriter, ty: Type, args: &[Value]) -> Value {
    let zero = rw.int(ty, 0);
    let negative = rw.icmp(IntPred::Slt, args[0], zero);
    let negated = rw.bin(BinOp::Sub, zero, args[0]);
    rw.select(negative, negated, args[0])
}

/// Legalizes `smax`, `smin`, `umax` and `umin`.
pub(super) fn legalize_min_max(rw: &mut Rewriter, intrinsic: Intrinsic, args: &[Value]) -> Value {
    let pred = match intrinsic {
        Intrinsic::SMax => IntPred::Sgt,
        Intrinsic::SMin => IntPred::Slt,
        Intrinsic::UMax => IntPred::Ugt,
        _ => IntPred::Ult,
    };
    let first = rw.icmp(pred, args[0], args[1]);
    rw.select(first, args[0], args[1])
}
