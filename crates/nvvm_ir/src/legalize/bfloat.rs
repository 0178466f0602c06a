//! Legalizes `bf16`: values are `i16`, and arithmetic uses single precision, whose upper half is a
//! `bf16`.
//!
//! Double rounding is harmless for the basic operations, because single precision has more than
//! twice the significand bits. Operations for which it would be harmful are rejected.

use super::fp_to_int::saturating_cast;
use super::lanes::each_current_lane;
use super::odd_ints::{extend_sign, keep_low};
use super::rewriter::Rewriter;
use super::types::{Class, class};
use crate::inst::*;
use crate::intrinsic::Intrinsic;
use crate::types::{Type, TypeKind};
use crate::value::Value;

/// Converts to single precision, which is exact.
fn widen(rw: &mut Rewriter, value: Value) -> Value {
    let (i32, float) = (rw.int_ty(32), rw.module.types.intern(TypeKind::Float));
    let bits = rw.resize(value, i32, false);
    let bits = rw.bin_int(BinOp::Shl, bits, 16);
    rw.bitcast(bits, float)
}

/// Rounds single precision to the nearest value, ties to even. A NaN stays a NaN.
fn narrow(rw: &mut Rewriter, value: Value) -> Value {
    let i16 = rw.int_ty(16);
    let bits = rw.bits_of(value);
    let high = rw.bin_int(BinOp::LShr, bits, 16);
    let odd = rw.bin_int(BinOp::And, high, 1);
    let rounded = rw.bin_int(BinOp::Add, bits, 0x7FFF);
    let rounded = rw.bin(BinOp::Add, rounded, odd);
    let rounded = rw.bin_int(BinOp::LShr, rounded, 16);
    let nan = rw.is_nan(value);
    let quiet = rw.bin_int(BinOp::Or, high, 0x40);
    let result = rw.select(nan, quiet, rounded);
    rw.resize(result, i16, false)
}

/// Rounds double precision correctly: first to single precision with round to odd, then to nearest.
fn narrow_double(rw: &mut Rewriter, value: Value) -> Value {
    let float = rw.module.types.intern(TypeKind::Float);
    let double = rw.ty(value);
    let single = rw.cast(CastOp::FpTrunc, value, float);
    let back = rw.cast(CastOp::FpExt, single, double);
    let inexact = rw.fcmp(FloatPred::One, back, value);
    // The magnitudes of floats are ordered like their bits: step back by one if the rounding went
    // away from zero.
    let outward = {
        let magnitude = |rw: &mut Rewriter, value| {
            let bits = rw.bits_of(value);
            rw.bin_int(BinOp::And, bits, u128::from(u64::MAX >> 1))
        };
        let back = magnitude(rw, back);
        let value = magnitude(rw, value);
        rw.icmp(IntPred::Ugt, back, value)
    };
    let bits = rw.bits_of(single);
    let inward = rw.bin_int(BinOp::Sub, bits, 1);
    let cut = rw.select(outward, inward, bits);
    let odd = rw.bin_int(BinOp::Or, cut, 1);
    let bits = rw.select(inexact, odd, bits);
    let single = rw.bitcast(bits, float);
    narrow(rw, single)
}

/// Legalizes arithmetic.
pub(super) fn legalize_bin(rw: &mut Rewriter, ty: Type, op: BinOp, operands: [Value; 2]) -> Value {
    let ty = rw.new_ty(ty);
    each_current_lane(rw, ty, &operands, |rw, _, args| {
        let lhs = widen(rw, args[0]);
        let rhs = widen(rw, args[1]);
        let result = rw.bin(op, lhs, rhs);
        narrow(rw, result)
    })
}

/// Legalizes a comparison.
pub(super) fn legalize_fcmp(
    rw: &mut Rewriter,
    ty: Type,
    pred: FloatPred,
    operands: [Value; 2],
) -> Value {
    each_current_lane(rw, ty, &operands, |rw, _, args| {
        let lhs = widen(rw, args[0]);
        let rhs = widen(rw, args[1]);
        rw.fcmp(pred, lhs, rhs)
    })
}

/// Legalizes a conversion from or to `bf16`.
pub(super) fn legalize_cast(rw: &mut Rewriter, ty: Type, op: CastOp, value: Value) -> Value {
    let (from, new_ty) = (rw.old_ty(value), rw.new_ty(ty));
    let to_brain = class(rw, ty) == Class::Brain;
    let other = if to_brain { from } else { ty };
    let (other_bits, other_class) = (rw.bits(other), class(rw, other));
    let float = rw.module.types.intern(TypeKind::Float);
    let double = rw.module.types.intern(TypeKind::Double);
    each_current_lane(rw, new_ty, &[value], |rw, ty, args| {
        let value = args[0];
        match op {
            _ if other_class == Class::Quad => {
                rw.unsupported(ty, "a conversion between bf16 and f128")
            }
            CastOp::FpExt | CastOp::FpTrunc if !to_brain => {
                let single = widen(rw, value);
                let op = if rw.bits(ty) < 32 {
                    CastOp::FpTrunc
                } else {
                    CastOp::FpExt
                };
                rw.cast(op, single, ty)
            }
            CastOp::FpExt | CastOp::FpTrunc => match other_bits {
                16 => {
                    let single = rw.cast(CastOp::FpExt, value, float);
                    narrow(rw, single)
                }
                32 => narrow(rw, value),
                _ => narrow_double(rw, value),
            },
            CastOp::FpToSi | CastOp::FpToUi => {
                let single = widen(rw, value);
                let result = rw.cast(op, single, ty);
                keep_low(rw, result, other_bits)
            }
            CastOp::SiToFp | CastOp::UiToFp if other_bits <= 53 => {
                let signed = op == CastOp::SiToFp;
                let value = if signed {
                    extend_sign(rw, value, other_bits)
                } else {
                    value
                };
                let exact = rw.cast(op, value, double);
                narrow_double(rw, exact)
            }
            _ => {
                let what = format!("a conversion of an integer of {other_bits} bits to bf16");
                rw.unsupported(ty, what)
            }
        }
    })
}

/// Legalizes an intrinsic.
pub(super) fn legalize_intrinsic(
    rw: &mut Rewriter,
    ty: Type,
    intrinsic: Intrinsic,
    args: &[Value],
) -> Value {
    use Intrinsic::*;
    let new_ty = rw.new_ty(ty);
    let bits = rw.bits(ty);
    each_current_lane(rw, new_ty, args, |rw, ty, args| match intrinsic {
        Fabs => rw.bin_int(BinOp::And, args[0], 0x7FFF),
        Copysign => {
            let magnitude = rw.bin_int(BinOp::And, args[0], 0x7FFF);
            let sign = rw.bin_int(BinOp::And, args[1], 0x8000);
            rw.bin(BinOp::Or, magnitude, sign)
        }
        FpToSiSat | FpToUiSat => {
            let single = widen(rw, args[0]);
            let result = saturating_cast(rw, single, ty, bits, intrinsic == FpToSiSat);
            keep_low(rw, result, bits)
        }
        Sqrt | Floor | Ceil | Trunc | Rint | Round | RoundEven | MinNum | MaxNum | Minimum
        | Maximum => {
            let args: Vec<Value> = args.iter().map(|&arg| widen(rw, arg)).collect();
            let float = rw.ty(args[0]);
            let result = rw.intrinsic(intrinsic, float, &args);
            narrow(rw, result)
        }
        _ => {
            let what = format!("llvm.{} on bf16", intrinsic.base_name());
            rw.unsupported(ty, what)
        }
    })
}
