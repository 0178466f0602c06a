//! Saturating casts from floats to integers: NaN becomes zero, and an out-of-range value becomes
//! the nearest bound.
//!
//! PTX's `cvt.rzi` saturates; LLVM's own conversion is undefined out of range, so the optimizer
//! must not see it. A NaN becomes zero only if neither side has 64 bits (PTX ISA, `cvt`).

use super::rewriter::Rewriter;
use super::saturate::clamp_signed;
use crate::inst::*;
use crate::intrinsic::Intrinsic;
use crate::types::{Type, TypeKind};
use crate::value::Value;

/// Legalizes `fptosi.sat` and `fptoui.sat`.
pub(super) fn legalize_saturating_cast(
    rw: &mut Rewriter,
    ty: Type,
    intrinsic: Intrinsic,
    args: &[Value],
) -> Value {
    saturating_cast(
        rw,
        args[0],
        ty,
        rw.bits(ty),
        intrinsic == Intrinsic::FpToSiSat,
    )
}

/// Converts a float to an integer of `width` bits, in an integer type of at least that width.
pub(super) fn saturating_cast(
    rw: &mut Rewriter,
    value: Value,
    ty: Type,
    width: u32,
    signed: bool,
) -> Value {
    let mut value = value;
    let half = *rw.kind(rw.ty(value)) == TypeKind::Half;
    if half {
        let float = rw.module.types.intern(TypeKind::Float);
        value = rw.cast(CastOp::FpExt, value, float);
    }
    match width {
        0..=31 => {
            let wide = convert(rw, value, 32, signed);
            let clamped = clamp(rw, wide, width, signed);
            rw.resize(clamped, ty, signed)
        }
        32 => convert(rw, value, 32, signed),
        33..=63 => {
            let wide = convert(rw, value, 64, signed);
            clamp(rw, wide, width, signed)
        }
        64 => convert(rw, value, 64, signed),
        _ => {
            let converted = if half {
                // Every finite fp16 value fits into 32 bits; libnvvm has no direct conversion.
                let narrow = convert(rw, value, 32, signed);
                rw.resize(narrow, ty, signed)
            } else {
                rw.cast(
                    if signed {
                        CastOp::FpToSi
                    } else {
                        CastOp::FpToUi
                    },
                    value,
                    ty,
                )
            };
            wide_cast(rw, value, converted, width, signed)
        }
    }
}

fn clamp(rw: &mut Rewriter, value: Value, width: u32, signed: bool) -> Value {
    if signed {
        return clamp_signed(rw, value, width);
    }
    let max = rw.int(rw.ty(value), (1 << width) - 1);
    let above = rw.icmp(IntPred::Ugt, value, max);
    rw.select(above, max, value)
}

/// Converts to 32 or 64 bits.
fn convert(rw: &mut Rewriter, value: Value, width: u32, signed: bool) -> Value {
    let double = *rw.kind(rw.ty(value)) == TypeKind::Double;
    let ty = rw.int_ty(width);
    let template = format!(
        "cvt.rzi.{}{width}.{} $0, $1;",
        if signed { 's' } else { 'u' },
        if double { "f64" } else { "f32" }
    );
    let constraints = match (width, double) {
        (32, false) => "=r,f",
        (32, true) => "=r,d",
        (_, false) => "=l,f",
        (_, true) => "=l,d",
    };
    let converted = rw.pure_asm(&template, constraints, ty, &[value]);
    if width == 32 && !double {
        return converted;
    }
    let nan = rw.is_nan(value);
    let zero = rw.int(ty, 0);
    rw.select(nan, zero, converted)
}

/// Converts to more than 64 bits. `converted` is correct in range; out of range the bounds replace
/// it.
fn wide_cast(rw: &mut Rewriter, value: Value, converted: Value, width: u32, signed: bool) -> Value {
    let (float, ty) = (rw.ty(value), rw.ty(converted));
    // The first power of two that does not fit. As f32, 2¹²⁸ is infinity.
    let limit = rw.float(float, 2f64.powi(width as i32 - i32::from(signed)));
    let max = if signed {
        super::saturate::max_signed(width)
    } else {
        u128::MAX >> (128 - width)
    };
    let max_int = rw.int(ty, max);
    let above = rw.fcmp(FloatPred::Oge, value, limit);
    let result = rw.select(above, max_int, converted);
    let zero = rw.int(ty, 0);
    if !signed {
        // Also false for a NaN.
        let positive = rw.float(float, 0.0);
        let positive = rw.fcmp(FloatPred::Ogt, value, positive);
        return rw.select(positive, result, zero);
    }
    let lowest = rw.float(float, -2f64.powi(width as i32 - 1));
    let below = rw.fcmp(FloatPred::Olt, value, lowest);
    let min = rw.int(ty, !max);
    let result = rw.select(below, min, result);
    let nan = rw.is_nan(value);
    rw.select(nan, zero, result)
}
