//! Legalizes floats: signs, remainders, rounding, minimum and maximum, and fp16.

use std::collections::HashSet;

use super::lanes::each_lane;
use super::rewriter::Rewriter;
use crate::inst::*;
use crate::intrinsic::Intrinsic;
use crate::module::Module;
use crate::types::{Type, TypeKind};
use crate::value::{Const, Func, Value, ValueKind};
use crate::write::Dialect;

/// Returns the integer type with the same width and shape as a float type.
fn bits_ty(rw: &mut Rewriter, ty: Type) -> Type {
    let bits = rw.bits(ty);
    let int = rw.int_ty(bits);
    match rw.vector_len(ty) {
        Some(len) => rw.module.types.vector(int, len),
        None => int,
    }
}

fn sign_bit(rw: &Rewriter, ty: Type) -> u128 {
    1 << (rw.bits(ty) - 1)
}

/// Rewrites negations whose results only arithmetic uses as subtractions from -0.0, and absolute
/// values as PTX's `abs`. Both fold into the arithmetic at no cost, and arithmetic does not observe
/// the sign of a NaN.
pub(super) fn fold_signs(module: &mut Module, func: Func) {
    let candidates = foldable(module, func);
    if candidates.is_empty() {
        return;
    }
    let mut folded: HashSet<Value> = candidates.iter().map(|&(inst, _)| inst).collect();
    for &block in &module.func(func).blocks {
        for data in module
            .block(block)
            .insts
            .iter()
            .filter_map(|&inst| module.inst(inst))
        {
            if !is_arithmetic(&data.kind) {
                data.kind.for_each_operand(|operand| {
                    folded.remove(&operand);
                });
            }
        }
    }
    for (inst, sign) in candidates {
        if !folded.contains(&inst) {
            continue;
        }
        let ty = module.ty(inst);
        let kind = match sign {
            Sign::Negation(rhs) => {
                let scalar = module.types.scalar(ty);
                let sign = 1 << (module.types.bits(scalar) - 1);
                let zero = module.const_float_bits(scalar, sign);
                let lhs = match *module.types.kind(ty) {
                    TypeKind::Vector(_, len) => module.const_vector(&vec![zero; len as usize]),
                    _ => zero,
                };
                InstKind::Bin {
                    op: BinOp::FSub,
                    lhs,
                    rhs,
                    flags: Flags::default(),
                }
            }
            Sign::AbsoluteValue(mut call) => {
                let double = *module.types.kind(ty) == TypeKind::Double;
                let name = if double {
                    "llvm.nvvm.fabs.d"
                } else {
                    "llvm.nvvm.fabs.f"
                };
                call.callee = Callee::Value(super::emit::declared(module, name, call.sig));
                InstKind::Call(call)
            }
        };
        if let Some(data) = module.inst_mut(inst) {
            data.kind = kind;
        }
    }
}

/// An operation that changes only the sign bit.
enum Sign {
    /// The negation of this value.
    Negation(Value),
    /// This call of `fabs`.
    AbsoluteValue(Box<Call>),
}

/// Returns a function's negations and absolute values in single and double precision.
fn foldable(module: &Module, func: Func) -> Vec<(Value, Sign)> {
    let sign = |inst: Value| {
        let fits = |ty| matches!(module.types.kind(ty), TypeKind::Float | TypeKind::Double);
        match &module.inst(inst)?.kind {
            InstKind::FNeg(value) if fits(module.types.scalar(module.ty(inst))) => {
                Some(Sign::Negation(*value))
            }
            InstKind::Call(call)
                if call.callee == Callee::Intrinsic(Intrinsic::Fabs) && fits(module.ty(inst)) =>
            {
                Some(Sign::AbsoluteValue(call.clone()))
            }
            _ => None,
        }
    };
    let blocks = &module.func(func).blocks;
    let insts = blocks.iter().flat_map(|&block| &module.block(block).insts);
    insts
        .filter_map(|&inst| Some((inst, sign(inst)?)))
        .collect()
}

/// Returns whether an operation's result is independent of the signs of NaN operands.
fn is_arithmetic(kind: &InstKind) -> bool {
    match kind {
        InstKind::Bin { op, .. } => op.is_float(),
        InstKind::FCmp { .. } => true,
        InstKind::Call(call) => matches!(
            call.callee,
            Callee::Intrinsic(
                Intrinsic::Fma | Intrinsic::Sqrt | Intrinsic::Floor | Intrinsic::Ceil
            )
        ),
        _ => false,
    }
}

/// Flips the sign bit, including that of a NaN. PTX's `neg` returns a canonical NaN, but Rust
/// preserves the payload.
pub(super) fn legalize_fneg(rw: &mut Rewriter, ty: Type, value: Value) -> Value {
    each_lane(rw, ty, &[value], |rw, ty, args| {
        let mask = sign_bit(rw, ty);
        on_bits(rw, ty, args[0], BinOp::Xor, mask)
    })
}

/// Clears the sign bit; see [`legalize_fneg`].
pub(super) fn legalize_fabs(rw: &mut Rewriter, ty: Type, _: Intrinsic, args: &[Value]) -> Value {
    let mask = sign_bit(rw, ty) - 1;
    on_bits(rw, ty, args[0], BinOp::And, mask)
}

/// Applies an operation to the bits of a float.
fn on_bits(rw: &mut Rewriter, ty: Type, value: Value, op: BinOp, mask: u128) -> Value {
    if let Some(&Const::Float(bits)) = rw.module.as_const(value) {
        let bits = if op == BinOp::Xor {
            bits ^ mask
        } else {
            bits & mask
        };
        return rw.module.const_float_bits(ty, bits);
    }
    let bits = rw.bits_of(value);
    let changed = if rw.target.dialect == Dialect::Llvm7 {
        rw.bin_int(op, bits, mask)
    } else {
        // LLVM in newer libnvvm would recognize the operation and turn it back into `neg` or `abs`.
        let width = rw.bits(ty);
        let name = if op == BinOp::Xor { "xor" } else { "and" };
        let constraints = match width {
            16 => "=h,h",
            32 => "=r,r",
            _ => "=l,l",
        };
        let template = format!("{name}.b{width} $0, $1, {mask:#x};");
        rw.pure_asm(&template, constraints, rw.ty(bits), &[bits])
    };
    rw.bitcast(changed, ty)
}

/// Combines the magnitude of the first operand with the sign bit of the second.
pub(super) fn legalize_copysign(
    rw: &mut Rewriter,
    ty: Type,
    _: Intrinsic,
    args: &[Value],
) -> Value {
    copysign(rw, ty, args[0], args[1])
}

fn copysign(rw: &mut Rewriter, ty: Type, magnitude: Value, sign: Value) -> Value {
    let int = bits_ty(rw, ty);
    let magnitude = rw.bitcast(magnitude, int);
    let magnitude = rw.bin_int(BinOp::And, magnitude, sign_bit(rw, ty) - 1);
    let sign = rw.bitcast(sign, int);
    let sign = rw.bin_int(BinOp::And, sign, sign_bit(rw, ty));
    let bits = rw.bin(BinOp::Or, magnitude, sign);
    rw.bitcast(bits, ty)
}

/// Computes an fp16 operation in single precision.
fn in_single(
    rw: &mut Rewriter,
    args: &[Value],
    f: impl FnOnce(&mut Rewriter, Type, &[Value]) -> Value,
) -> Value {
    let half = rw.ty(args[0]);
    let float = rw.module.types.intern(TypeKind::Float);
    let args: Vec<Value> = args
        .iter()
        .map(|&arg| rw.cast(CastOp::FpExt, arg, float))
        .collect();
    let result = f(rw, float, &args);
    rw.cast(CastOp::FpTrunc, result, half)
}

fn is_half(rw: &Rewriter, ty: Type) -> bool {
    *rw.kind(ty) == TypeKind::Half
}

/// Calls libdevice's remainder, which is exact. The remainder of fp16 values is an fp16 value, so
/// single precision suffices for them.
pub(super) fn legalize_frem(rw: &mut Rewriter, ty: Type, operands: [Value; 2]) -> Value {
    let remainder = |rw: &mut Rewriter, ty, args: &[Value]| {
        let name = if *rw.kind(ty) == TypeKind::Double {
            "__nv_fmod"
        } else {
            "__nv_fmodf"
        };
        rw.call_named(name, ty, args)
    };
    each_lane(rw, ty, &operands, |rw, ty, args| {
        if is_half(rw, ty) {
            in_single(rw, args, remainder)
        } else {
            remainder(rw, ty, args)
        }
    })
}

/// Legalizes `trunc`, `rint` and `roundeven`, for which libnvvm has its own names. The rounding
/// mode is always to nearest, ties to even, so the last two are the same.
pub(super) fn legalize_rounding(
    rw: &mut Rewriter,
    ty: Type,
    intrinsic: Intrinsic,
    args: &[Value],
) -> Value {
    let round = |rw: &mut Rewriter, ty, args: &[Value]| match intrinsic {
        Intrinsic::Trunc => truncated(rw, ty, args[0]),
        _ => nvvm(rw, "round", ty, args[0]),
    };
    if is_half(rw, ty) {
        in_single(rw, args, round)
    } else {
        round(rw, ty, args)
    }
}

fn nvvm(rw: &mut Rewriter, name: &str, ty: Type, value: Value) -> Value {
    let suffix = if *rw.kind(ty) == TypeKind::Double {
        'd'
    } else {
        'f'
    };
    rw.call_named(&format!("llvm.nvvm.{name}.{suffix}"), ty, &[value])
}

fn truncated(rw: &mut Rewriter, ty: Type, value: Value) -> Value {
    nvvm(rw, "trunc", ty, value)
}

/// Legalizes `round`, ties away from zero: truncates, and steps away from zero if the discarded
/// part is a half or more.
pub(super) fn legalize_round(rw: &mut Rewriter, ty: Type, _: Intrinsic, args: &[Value]) -> Value {
    let round = |rw: &mut Rewriter, ty, args: &[Value]| {
        let cut = truncated(rw, ty, args[0]);
        // The subtraction is exact. For an infinite operand it gives NaN, and the comparison is
        // false.
        let flags = Flags::default();
        let rest = rw.emit(
            ty,
            InstKind::Bin {
                op: BinOp::FSub,
                lhs: args[0],
                rhs: cut,
                flags,
            },
        );
        let rest = nvvm(rw, "fabs", ty, rest);
        let half = rw.float(ty, 0.5);
        let up = rw.fcmp(FloatPred::Oge, rest, half);
        let one = rw.float(ty, 1.0);
        let one = copysign(rw, ty, one, args[0]);
        let outward = rw.emit(
            ty,
            InstKind::Bin {
                op: BinOp::FAdd,
                lhs: cut,
                rhs: one,
                flags,
            },
        );
        rw.select(up, outward, cut)
    };
    if is_half(rw, ty) {
        in_single(rw, args, round)
    } else {
        round(rw, ty, args)
    }
}

/// Returns whether a comparison of a value with itself tests for NaN.
pub(super) fn tests_nan(rw: &Rewriter, pred: FloatPred, value: Value) -> bool {
    use FloatPred::*;
    let constant = matches!(rw.module.value(value).kind, ValueKind::Const(_));
    let native = matches!(
        rw.kind(rw.ty(value)),
        TypeKind::Half | TypeKind::Float | TypeKind::Double
    );
    matches!(pred, Oeq | Oge | Ole | Ord | Une | Uno) && native && !constant
}

/// Legalizes a comparison of a value with itself to a comparison with zero. libnvvm does not fold
/// arithmetic whose result is a NaN, but leaves a constant expression, and considers two identical
/// ones equal: `INFINITY - INFINITY` would not be a NaN.
pub(super) fn legalize_self_comparison(rw: &mut Rewriter, pred: FloatPred, value: Value) -> Value {
    let ty = rw.ty(value);
    let zero = rw.module.const_float_bits(ty, 0);
    let pred = match pred {
        FloatPred::Une | FloatPred::Uno => FloatPred::Uno,
        _ => FloatPred::Ord,
    };
    rw.fcmp(pred, value, zero)
}

/// Legalizes `minimum` and `maximum`: NaN if either operand is NaN, and -0 is less than +0. PTX's
/// `min` and `max` order the zeros in this way; from sm_80 they also propagate NaN with `.NaN`, but
/// not in double precision.
pub(super) fn legalize_minimum_maximum(
    rw: &mut Rewriter,
    ty: Type,
    intrinsic: Intrinsic,
    args: &[Value],
) -> Value {
    let op = if intrinsic == Intrinsic::Minimum {
        "min"
    } else {
        "max"
    };
    let extreme = |rw: &mut Rewriter, ty, args: &[Value]| {
        let (suffix, constraints) = if *rw.kind(ty) == TypeKind::Double {
            ("f64", "=d,d,d")
        } else {
            ("f32", "=f,f,f")
        };
        if suffix == "f32" && rw.target.sm >= 80 {
            return rw.pure_asm(&format!("{op}.NaN.f32 $0, $1, $2;"), constraints, ty, args);
        }
        // Inline PTX: the optimizer may assume that LLVM's `minnum` treats the zeros as equal.
        let number = rw.pure_asm(&format!("{op}.{suffix} $0, $1, $2;"), constraints, ty, args);
        let nan = rw.fcmp(FloatPred::Uno, args[0], args[1]);
        let (lhs, rhs, flags) = (args[0], args[1], Flags::default());
        let sum = rw.emit(
            ty,
            InstKind::Bin {
                op: BinOp::FAdd,
                lhs,
                rhs,
                flags,
            },
        );
        rw.select(nan, sum, number)
    };
    if is_half(rw, ty) {
        in_single(rw, args, extreme)
    } else {
        extreme(rw, ty, args)
    }
}

/// Legalizes conversions between fp16 and 128-bit integers. Every finite fp16 value fits into 32
/// bits, and an integer that single precision would round is out of fp16's range.
pub(super) fn legalize_half_cast(rw: &mut Rewriter, ty: Type, op: CastOp, value: Value) -> Value {
    if is_half(rw, ty) {
        let float = rw.module.types.intern(TypeKind::Float);
        let wide = rw.cast(op, value, float);
        rw.cast(CastOp::FpTrunc, wide, ty)
    } else {
        let i32 = rw.int_ty(32);
        let narrow = rw.cast(op, value, i32);
        rw.resize(narrow, ty, op == CastOp::FpToSi)
    }
}
