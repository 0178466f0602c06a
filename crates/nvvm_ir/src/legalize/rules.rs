//! The table of instructions that a target lacks, with their replacements. The second sweep looks
//! up every instruction in it.
//!
//! The table was determined by testing each operation in each width with libnvvm 13.0 in both
//! dialects: the rows are the operations that libnvvm rejects, crashes on, or compiles differently
//! from Rust's semantics.

use std::collections::HashMap;

use super::lanes::each_lane;
use super::rewriter::Rewriter;
use super::{Target, atomics, bits, division, floats, fp_to_int, overflow, saturate};
use crate::inst::*;
use crate::intrinsic::Intrinsic;
use crate::module::Module;
use crate::types::{Type, TypeKind};
use crate::value::{Const, Value, ValueKind};
use crate::write::Dialect;

/// Replaces an instruction that the target lacks.
pub(super) fn rule(rw: &mut Rewriter, ty: Type, kind: &InstKind) -> Option<Value> {
    match *kind {
        InstKind::FNeg(value) => Some(floats::legalize_fneg(rw, ty, value)),
        // LLVM 7 has no `freeze`. At worst the operand is LLVM 7's `undef`.
        InstKind::Freeze(value) if llvm7(rw) => Some(value),
        InstKind::FCmp { pred, lhs, rhs } if lhs == rhs && floats::tests_nan(rw, pred, lhs) => {
            Some(floats::legalize_self_comparison(rw, pred, lhs))
        }
        InstKind::Bin {
            op,
            lhs,
            rhs,
            flags,
        } => bin_rule(rw, ty, op, [lhs, rhs], flags),
        InstKind::Cast { op, value } => cast_rule(rw, ty, op, value),
        InstKind::Load { ptr, access } if let Some(atomic) = access.atomic => {
            Some(atomics::legalize_load(rw, ty, ptr, access, atomic))
        }
        InstKind::Store { value, ptr, access } if let Some(atomic) = access.atomic => Some(
            atomics::legalize_store(rw, ty, (value, ptr), access, atomic),
        ),
        InstKind::AtomicRmw {
            op,
            ptr,
            value,
            ordering,
            scope,
        } => Some(atomics::legalize_rmw(
            rw,
            ty,
            op,
            (ptr, value),
            (ordering, scope),
        )),
        InstKind::CmpXchg {
            ptr,
            expected,
            new,
            success,
            failure,
            scope,
        } => Some(atomics::legalize_cmpxchg(
            rw,
            ty,
            ptr,
            [expected, new],
            (success, failure),
            scope,
        )),
        InstKind::Fence { ordering, scope } => {
            Some(atomics::legalize_fence(rw, ty, ordering, scope))
        }
        InstKind::Call(ref call) => match call.callee {
            Callee::Intrinsic(intrinsic) => intrinsic_rule(rw, ty, intrinsic, &call.args),
            _ => None,
        },
        _ => None,
    }
}

fn llvm7(rw: &Rewriter) -> bool {
    rw.target.dialect == Dialect::Llvm7
}

fn is_vector(rw: &Rewriter, ty: Type) -> bool {
    rw.vector_len(ty).is_some()
}

fn bin_rule(
    rw: &mut Rewriter,
    ty: Type,
    op: BinOp,
    operands: [Value; 2],
    flags: Flags,
) -> Option<Value> {
    use BinOp::*;
    match op {
        // libnvvm computes `x - y * trunc(x / y)`, which is not the exact remainder.
        FRem => Some(floats::legalize_frem(rw, ty, operands)),
        // libnvvm crashes on vectors of i128.
        UDiv | SDiv | URem | SRem if is_vector(rw, ty) && rw.bits(ty) == 128 => {
            Some(each_lane(rw, ty, &operands, |rw, ty, args| {
                let (lhs, rhs) = (args[0], args[1]);
                rw.emit(
                    ty,
                    InstKind::Bin {
                        op,
                        lhs,
                        rhs,
                        flags,
                    },
                )
            }))
        }
        UDiv | SDiv | URem | SRem if rw.bits(ty) == 128 => {
            division::legalize_division(rw, ty, op, operands)
        }
        _ => None,
    }
}

fn cast_rule(rw: &mut Rewriter, ty: Type, op: CastOp, value: Value) -> Option<Value> {
    use CastOp::*;
    let from = rw.ty(value);
    let (float, int) = match op {
        FpToUi | FpToSi => (from, ty),
        UiToFp | SiToFp => (ty, from),
        _ => return None,
    };
    if rw.bits(int) != 128 {
        None
    } else if is_vector(rw, from) {
        Some(each_lane(rw, ty, &[value], |rw, ty, args| {
            rw.cast(op, args[0], ty)
        }))
    } else if *rw.kind(float) == TypeKind::Half {
        Some(floats::legalize_half_cast(rw, ty, op, value))
    } else {
        None
    }
}

/// Emits the replacement of a scalar intrinsic with this result type and these arguments.
type Expand = fn(&mut Rewriter, Type, Intrinsic, &[Value]) -> Value;

fn intrinsic_rule(
    rw: &mut Rewriter,
    ty: Type,
    intrinsic: Intrinsic,
    args: &[Value],
) -> Option<Value> {
    use Intrinsic::*;
    if intrinsic == IsConstant {
        // LLVM's passes have answered, or did not run.
        return Some(rw.module.const_bool(false));
    }
    let arg = args.first().map_or(ty, |&arg| rw.ty(arg));
    let vector = is_vector(rw, arg);
    let width = rw.bits(arg);
    if let Some(operation) = overflow::operation(intrinsic) {
        return match (width, vector) {
            (32 | 64, false) => overflow::shorten_overflow(rw, ty, operation, args),
            (16 | 32 | 64, _) => None,
            (_, false) => Some(overflow::legalize_overflow(rw, ty, operation, args)),
            (_, true) => {
                let what = format!("llvm.{} on vectors", intrinsic.base_name());
                Some(rw.unsupported(ty, what))
            }
        };
    }
    if let Some(operation) = saturate::operation(intrinsic) {
        return llvm7(rw).then(|| {
            each_lane(rw, ty, args, |rw, ty, args| {
                saturate::legalize_saturating(rw, ty, operation, args)
            })
        });
    }
    let expand: Expand = match intrinsic {
        Assume if llvm7(rw) && !compares_narrow(rw, *args.first()?, 8) => {
            // Drops the assumption, which only helps the optimizer.
            return Some(rw.undef(ty));
        }
        Ctpop | Ctlz | Cttz if width == 1 || width == 128 => bits::legalize_count,
        // Without optimizations, libnvvm crashes on them.
        Fshl | Fshr if width == 128 => bits::legalize_funnel_shift,
        // libnvvm 13.0 compiles 64-bit rotations to shifts by the distance and by 64 minus it, without
        // reducing it modulo 64: `x.rotate_left(89)` is 0 (tests/run/src/ints.rs).
        Fshl | Fshr if width == 64 && llvm7(rw) && !is_constant(rw, *args.get(2)?) => {
            bits::legalize_funnel_shift
        }
        Bswap if width == 8 || width == 128 => bits::legalize_bswap,
        Bswap if vector => |rw, ty, intrinsic, args| rw.intrinsic(intrinsic, ty, args),
        // These replacements also work on vectors.
        Abs if llvm7(rw) => return Some(bits::legalize_abs(rw, ty, args)),
        SMax | SMin | UMax | UMin if llvm7(rw) => {
            return Some(bits::legalize_min_max(rw, intrinsic, args));
        }
        FpToSiSat | FpToUiSat => fp_to_int::legalize_saturating_cast,
        Fabs => floats::legalize_fabs,
        Copysign => floats::legalize_copysign,
        Trunc | Rint | RoundEven => floats::legalize_rounding,
        Round => floats::legalize_round,
        Minimum | Maximum if llvm7(rw) => floats::legalize_minimum_maximum,
        _ => return None,
    };
    Some(each_lane(rw, ty, args, |rw, ty, args| {
        expand(rw, ty, intrinsic, args)
    }))
}

fn is_constant(rw: &Rewriter, value: Value) -> bool {
    matches!(rw.module.value(value).kind, ValueKind::Const(_))
}

/// Returns whether a condition consists of comparisons of 16 to 64 bits, of floats, or of pointers.
/// libnvvm crashes if an assumption involves wider integers: its known-bits analysis of a
/// comparison with a power of two assumes one bit too many. Loads, calls and `Ordering` values are
/// excluded because they may turn out to be such comparisons.
fn compares_narrow(rw: &Rewriter, condition: Value, depth: u32) -> bool {
    let both = |lhs, rhs| {
        depth > 0 && compares_narrow(rw, lhs, depth - 1) && compares_narrow(rw, rhs, depth - 1)
    };
    match &rw.module.value(condition).kind {
        ValueKind::Const(_) => true,
        ValueKind::Inst(inst) => match inst.kind {
            InstKind::FCmp { .. } => true,
            InstKind::ICmp { lhs, rhs, .. } if rw.bits(rw.ty(lhs)) == 1 => both(lhs, rhs),
            InstKind::ICmp { lhs, .. } => matches!(rw.bits(rw.ty(lhs)), 16..=64),
            InstKind::Bin { lhs, rhs, .. } => both(lhs, rhs),
            _ => false,
        },
        _ => false,
    }
}

/// Returns a replacement with `undef` for each constant that is or contains `poison`, which LLVM 7
/// lacks.
pub(super) fn poison_to_undef(module: &mut Module, target: &Target) -> HashMap<Value, Value> {
    let mut undefs = HashMap::new();
    if target.dialect != Dialect::Llvm7 {
        return undefs;
    }
    // The fields of an aggregate are older constants, so one pass suffices.
    for index in 0..module.values.len() {
        let value = Value(index as u32);
        let ty = module.ty(value);
        let new = match &module.value(value).kind {
            ValueKind::Const(Const::Poison) => Const::Undef,
            ValueKind::Const(Const::Aggregate(fields))
                if fields.iter().any(|field| undefs.contains_key(field)) =>
            {
                let field = |field: &Value| undefs.get(field).copied().unwrap_or(*field);
                Const::Aggregate(fields.iter().map(field).collect())
            }
            _ => continue,
        };
        let new = module.constant(ty, new);
        undefs.insert(value, new);
    }
    for global in module.globals() {
        let data = module.global_mut(global);
        data.init = data
            .init
            .map(|init| undefs.get(&init).copied().unwrap_or(init));
    }
    undefs
}
