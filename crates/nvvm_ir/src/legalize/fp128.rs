//! Legalizes `f128`, which no GPU supports: values are `i128`, and operations call
//! compiler-builtins' soft-float functions by symbol.

use super::lanes::each_current_lane;
use super::odd_ints::{extend_sign, keep_low};
use super::rewriter::Rewriter;
use super::saturate::clamp_signed;
use super::types::{Class, class};
use crate::inst::*;
use crate::intrinsic::Intrinsic;
use crate::types::Type;
use crate::value::Value;

const SIGN: u128 = 1 << 127;

/// The symbols that legalized code may call if the module uses `f128`. The compiler that lowers the
/// program must provide their definitions; those that are not called are removed at the end.
#[rustfmt::skip]
pub const SOFT_FLOAT: &[&str] = &[
    "__addtf3", "__subtf3", "__multf3", "__divtf3", "fmodf128",
    "__eqtf2", "__netf2", "__lttf2", "__letf2", "__gttf2", "__getf2", "__unordtf2",
    "__extendhftf2", "__extendsftf2", "__extenddftf2",
    "__trunctfhf2", "__trunctfsf2", "__trunctfdf2",
    "__fixtfsi", "__fixtfdi", "__fixtfti", "__fixunstfsi", "__fixunstfdi", "__fixunstfti",
    "__floatsitf", "__floatditf", "__floattitf",
    "__floatunsitf", "__floatunditf", "__floatuntitf",
    "sqrtf128", "fmaf128", "floorf128", "ceilf128", "truncf128", "rintf128", "roundf128",
    "roundevenf128", "fminf128", "fmaxf128", "fminimumf128", "fmaximumf128",
];

/// Flips the sign bit of a float that is now an integer.
pub(super) fn legalize_fneg(rw: &mut Rewriter, ty: Type, value: Value) -> Value {
    let sign = 1 << (rw.bits(ty) - 1);
    let value = rw.current(value);
    rw.bin_int(BinOp::Xor, value, sign)
}

/// Legalizes arithmetic. Operations on integers have no operands of this type.
pub(super) fn legalize_bin(
    rw: &mut Rewriter,
    ty: Type,
    op: BinOp,
    operands: [Value; 2],
) -> Option<Value> {
    let name = match op {
        BinOp::FAdd => "__addtf3",
        BinOp::FSub => "__subtf3",
        BinOp::FMul => "__multf3",
        BinOp::FDiv => "__divtf3",
        BinOp::FRem => "fmodf128",
        _ => return None,
    };
    let ty = rw.new_ty(ty);
    Some(each_current_lane(rw, ty, &operands, |rw, ty, args| {
        rw.call_named(name, ty, args)
    }))
}

/// Legalizes a comparison with libgcc's functions. Each returns a number to compare with zero; for
/// a NaN, it is one for which the ordered predicate of the function's name is false.
pub(super) fn legalize_fcmp(
    rw: &mut Rewriter,
    ty: Type,
    pred: FloatPred,
    operands: [Value; 2],
) -> Value {
    use FloatPred::*;
    each_current_lane(rw, ty, &operands, |rw, _, args| match pred {
        False => rw.module.const_bool(false),
        True => rw.module.const_bool(true),
        Oeq => compare(rw, "__eqtf2", IntPred::Eq, args),
        Une => compare(rw, "__netf2", IntPred::Ne, args),
        Olt => compare(rw, "__lttf2", IntPred::Slt, args),
        Ole => compare(rw, "__letf2", IntPred::Sle, args),
        Ogt => compare(rw, "__gttf2", IntPred::Sgt, args),
        Oge => compare(rw, "__getf2", IntPred::Sge, args),
        Ult => compare(rw, "__getf2", IntPred::Slt, args),
        Ule => compare(rw, "__gttf2", IntPred::Sle, args),
        Ugt => compare(rw, "__letf2", IntPred::Sgt, args),
        Uge => compare(rw, "__lttf2", IntPred::Sge, args),
        Uno => compare(rw, "__unordtf2", IntPred::Ne, args),
        Ord => compare(rw, "__unordtf2", IntPred::Eq, args),
        Ueq => {
            let equal = compare(rw, "__eqtf2", IntPred::Eq, args);
            let unordered = compare(rw, "__unordtf2", IntPred::Ne, args);
            rw.bin(BinOp::Or, equal, unordered)
        }
        One => {
            let unequal = compare(rw, "__eqtf2", IntPred::Ne, args);
            let ordered = compare(rw, "__unordtf2", IntPred::Eq, args);
            rw.bin(BinOp::And, unequal, ordered)
        }
    })
}

fn compare(rw: &mut Rewriter, name: &str, pred: IntPred, args: &[Value]) -> Value {
    // compiler-builtins' `CmpResult` is an `isize` on this target.
    let i64 = rw.int_ty(64);
    let order = rw.call_named(name, i64, args);
    rw.icmp_int(pred, order, 0)
}

/// Legalizes a conversion from or to `f128`.
pub(super) fn legalize_cast(rw: &mut Rewriter, ty: Type, op: CastOp, value: Value) -> Value {
    let (from, new_ty) = (rw.old_ty(value), rw.new_ty(ty));
    let other = if is_quad(rw, from) { ty } else { from };
    let other_bits = rw.bits(other);
    each_current_lane(rw, new_ty, &[value], |rw, ty, args| match op {
        CastOp::FpExt => {
            let name = match other_bits {
                16 => "__extendhftf2",
                32 => "__extendsftf2",
                _ => "__extenddftf2",
            };
            rw.call_named(name, ty, args)
        }
        CastOp::FpTrunc => {
            let name = match other_bits {
                16 => "__trunctfhf2",
                32 => "__trunctfsf2",
                _ => "__trunctfdf2",
            };
            rw.call_named(name, ty, args)
        }
        CastOp::FpToSi | CastOp::FpToUi => {
            let wide = to_int(rw, args[0], other_bits, op == CastOp::FpToSi);
            let narrow = rw.resize(wide, ty, false);
            keep_low(rw, narrow, other_bits)
        }
        CastOp::SiToFp | CastOp::UiToFp => {
            from_int(rw, args[0], other_bits, op == CastOp::SiToFp, ty)
        }
        _ => rw.unsupported(ty, "a conversion of f128 to a type that is not a number"),
    })
}

fn is_quad(rw: &Rewriter, ty: Type) -> bool {
    class(rw, ty) == Class::Quad
}

/// Converts to an integer of 32, 64 or 128 bits, the smallest that holds `bits` bits. These
/// functions saturate and convert NaN to zero.
fn to_int(rw: &mut Rewriter, value: Value, bits: u32, signed: bool) -> Value {
    let (width, suffix) = mode(bits);
    let name = format!("__fix{}tf{suffix}", if signed { "" } else { "uns" });
    let ty = rw.int_ty(width);
    rw.call_named(&name, ty, &[value])
}

fn from_int(rw: &mut Rewriter, value: Value, bits: u32, signed: bool, ty: Type) -> Value {
    let (width, suffix) = mode(bits);
    let name = format!("__float{}{suffix}tf", if signed { "" } else { "un" });
    let value = if signed {
        extend_sign(rw, value, bits)
    } else {
        value
    };
    let wide = rw.int_ty(width);
    let value = rw.resize(value, wide, signed);
    rw.call_named(&name, ty, &[value])
}

/// Returns the width of the functions for integers of `bits` bits, and libgcc's suffix for it.
fn mode(bits: u32) -> (u32, &'static str) {
    match bits {
        0..=32 => (32, "si"),
        33..=64 => (64, "di"),
        _ => (128, "ti"),
    }
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
    let name = match intrinsic {
        Sqrt => "sqrtf128",
        Fma => "fmaf128",
        Floor => "floorf128",
        Ceil => "ceilf128",
        Trunc => "truncf128",
        Rint => "rintf128",
        Round => "roundf128",
        RoundEven => "roundevenf128",
        MinNum => "fminf128",
        MaxNum => "fmaxf128",
        Minimum => "fminimumf128",
        Maximum => "fmaximumf128",
        Fabs | Copysign | FpToSiSat | FpToUiSat => "",
        _ => {
            let what = format!("llvm.{} on f128", intrinsic.base_name());
            return rw.unsupported(new_ty, what);
        }
    };
    each_current_lane(rw, new_ty, args, |rw, ty, args| match intrinsic {
        Fabs => rw.bin_int(BinOp::And, args[0], !SIGN),
        Copysign => {
            let magnitude = rw.bin_int(BinOp::And, args[0], !SIGN);
            let sign = rw.bin_int(BinOp::And, args[1], SIGN);
            rw.bin(BinOp::Or, magnitude, sign)
        }
        FpToSiSat | FpToUiSat => saturating(rw, args[0], ty, bits, intrinsic == FpToSiSat),
        _ => rw.call_named(name, ty, args),
    })
}

fn saturating(rw: &mut Rewriter, value: Value, ty: Type, bits: u32, signed: bool) -> Value {
    let mut wide = to_int(rw, value, bits, signed);
    if bits < rw.bits(rw.ty(wide)) {
        wide = if signed {
            clamp_signed(rw, wide, bits)
        } else {
            let max = rw.int(rw.ty(wide), (1 << bits) - 1);
            let above = rw.icmp(IntPred::Ugt, wide, max);
            rw.select(above, max, wide)
        };
    }
    let narrow = rw.resize(wide, ty, signed);
    keep_low(rw, narrow, bits)
}
