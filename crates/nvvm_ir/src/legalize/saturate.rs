//! Legalizes `*.sat`: saturating addition and subtraction.

use super::overflow::add_sub_overflowed;
use super::rewriter::Rewriter;
use crate::inst::*;
use crate::intrinsic::Intrinsic;
use crate::types::Type;
use crate::value::Value;

/// Returns the operation of a `*.sat`, and whether it is signed.
pub(super) fn operation(intrinsic: Intrinsic) -> Option<(BinOp, bool)> {
    match intrinsic {
        Intrinsic::UAddSat => Some((BinOp::Add, false)),
        Intrinsic::SAddSat => Some((BinOp::Add, true)),
        Intrinsic::USubSat => Some((BinOp::Sub, false)),
        Intrinsic::SSubSat => Some((BinOp::Sub, true)),
        _ => None,
    }
}

/// Legalizes `uadd.sat`, `sadd.sat`, `usub.sat` and `ssub.sat`.
pub(super) fn legalize_saturating(
    rw: &mut Rewriter,
    ty: Type,
    (op, signed): (BinOp, bool),
    args: &[Value],
) -> Value {
    let (a, b) = (args[0], args[1]);
    let width = rw.bits(ty);
    if signed && width <= 16 {
        return clamped(rw, op, ty, a, b);
    }
    let result = rw.bin(op, a, b);
    let overflowed = add_sub_overflowed(rw, op, signed, a, b, result);
    let end = if signed {
        // The bound on the side of the first operand's sign: MAX, or MIN, which is MAX with all
        // bits flipped.
        let sign = rw.bin_int(BinOp::AShr, a, u128::from(width) - 1);
        rw.bin_int(BinOp::Xor, sign, max_signed(width))
    } else {
        rw.int(ty, if op == BinOp::Add { u128::MAX } else { 0 })
    };
    rw.select(overflowed, end, result)
}

/// Returns the largest signed integer of a width.
pub(super) fn max_signed(width: u32) -> u128 {
    (1 << (width - 1)) - 1
}

/// Computes narrow operations in 32 bits and clamps the result.
fn clamped(rw: &mut Rewriter, op: BinOp, ty: Type, a: Value, b: Value) -> Value {
    let i32 = rw.int_ty(32);
    let a = rw.resize(a, i32, true);
    let b = rw.resize(b, i32, true);
    let wide = rw.bin(op, a, b);
    let clamped = clamp_signed(rw, wide, rw.bits(ty));
    rw.resize(clamped, ty, true)
}

/// Clamps a signed integer to the range of a narrower width.
pub(super) fn clamp_signed(rw: &mut Rewriter, value: Value, width: u32) -> Value {
    let ty = rw.ty(value);
    let max = rw.int(ty, max_signed(width));
    let min = rw.int(ty, !max_signed(width));
    let above = rw.icmp(IntPred::Sgt, value, max);
    let value = rw.select(above, max, value);
    let below = rw.icmp(IntPred::Slt, value, min);
    rw.select(below, min, value)
}
