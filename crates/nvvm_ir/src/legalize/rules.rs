//! The table of instructions that a target lacks, with their replacements. The second sweep looks
//! up every instruction in it.
//!
//! The table was determined by testing each operation in each width with libnvvm 13.0 in both
//! dialects: the rows are the operations that libnvvm rejects, crashes on, or compiles differently
//! from Rust's semantics.

use std::collections::HashMap;

use super::rewriter::{Expand, Rewriter};
use super::{Target, atomics, bits, floats, fp_to_int, lanes, overflow, saturate};
use crate::inst::*;
use crate::intrinsic::Intrinsic;
use crate::module::Module;
use crate::types::{Type, TypeKind};
use crate::value::{Const, Value, ValueKind};
use crate::write::Dialect;

/// Returns the replacement of an instruction that the target lacks.
pub(super) fn rule(rw: &Rewriter, ty: Type, kind: &InstKind) -> Option<Expand> {
    match kind {
        InstKind::FNeg(_) => Some(floats::legalize_fneg),
        InstKind::Freeze(_) if llvm7(rw) => Some(legalize_freeze),
        InstKind::FCmp { pred, lhs, rhs } if lhs == rhs && floats::tests_nan(rw, *pred, *lhs) => {
            Some(floats::legalize_self_comparison)
        }
        InstKind::Bin { op, .. } => bin_rule(rw, *op, ty),
        InstKind::Cast { op, value } => cast_rule(rw, *op, rw.ty(*value), ty),
        InstKind::Load { access, .. } if access.atomic.is_some() => Some(atomics::legalize_load),
        InstKind::Store { access, .. } if access.atomic.is_some() => Some(atomics::legalize_store),
        InstKind::AtomicRmw { .. } => Some(atomics::legalize_rmw),
        InstKind::CmpXchg { .. } => Some(atomics::legalize_cmpxchg),
        InstKind::Fence { .. } => Some(atomics::legalize_fence),
        InstKind::Call(call) => match call.callee {
            Callee::Intrinsic(Intrinsic::Assume) => {
                (llvm7(rw) && !compares_narrow(rw, call.args[0], 8)).then_some(drop_assumption)
            }
            Callee::Intrinsic(intrinsic) => intrinsic_rule(
                rw,
                intrinsic,
                call.args.first().map_or(ty, |&arg| rw.ty(arg)),
            ),
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

fn bin_rule(rw: &Rewriter, op: BinOp, ty: Type) -> Option<Expand> {
    use BinOp::*;
    match op {
        // libnvvm computes `x - y * trunc(x / y)`, which is not the exact remainder.
        FRem => Some(floats::legalize_frem),
        // libnvvm crashes on vectors of i128.
        UDiv | SDiv | URem | SRem if is_vector(rw, ty) && rw.bits(ty) == 128 => {
            Some(lanes::scalarize)
        }
        _ => None,
    }
}

fn cast_rule(rw: &Rewriter, op: CastOp, from: Type, to: Type) -> Option<Expand> {
    use CastOp::*;
    let (float, int) = match op {
        FpToUi | FpToSi => (from, to),
        UiToFp | SiToFp => (to, from),
        _ => return None,
    };
    if rw.bits(int) != 128 {
        None
    } else if is_vector(rw, from) {
        Some(lanes::scalarize)
    } else if *rw.kind(float) == TypeKind::Half {
        Some(floats::legalize_half_cast)
    } else {
        None
    }
}

fn intrinsic_rule(rw: &Rewriter, intrinsic: Intrinsic, arg: Type) -> Option<Expand> {
    use Intrinsic::*;
    let vector = is_vector(rw, arg);
    let width = rw.bits(arg);
    let expand: Expand = match intrinsic {
        Ctpop | Ctlz | Cttz if width == 1 || width == 128 => bits::legalize_count,
        // Without optimizations, libnvvm crashes on them.
        Fshl | Fshr if width == 128 => bits::legalize_funnel_shift,
        Bswap if width == 8 || width == 128 => bits::legalize_bswap,
        Bswap if vector => return Some(lanes::scalarize),
        Abs if llvm7(rw) => return Some(bits::legalize_abs),
        SMax | SMin | UMax | UMin if llvm7(rw) => return Some(bits::legalize_min_max),
        UAddOverflow | SAddOverflow | USubOverflow | SSubOverflow | UMulOverflow | SMulOverflow
            if !matches!(width, 16 | 32 | 64) =>
        {
            overflow::legalize_overflow
        }
        UAddSat | SAddSat | USubSat | SSubSat if llvm7(rw) => saturate::legalize_saturating,
        FpToSiSat | FpToUiSat => fp_to_int::legalize_saturating_cast,
        Fabs => floats::legalize_fabs,
        Copysign => floats::legalize_copysign,
        Trunc | Rint | RoundEven => floats::legalize_rounding,
        Round => floats::legalize_round,
        Minimum | Maximum if llvm7(rw) => floats::legalize_minimum_maximum,
        _ => return None,
    };
    Some(if vector { lanes::scalarize } else { expand })
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

/// Drops an assumption, which only helps the optimizer.
fn drop_assumption(rw: &mut Rewriter, ty: Type, _: &InstKind) -> Value {
    rw.module.const_undef(ty)
}

/// Drops a `freeze`, which LLVM 7 lacks. At worst the operand is LLVM 7's `undef`.
fn legalize_freeze(_: &mut Rewriter, _: Type, kind: &InstKind) -> Value {
    let InstKind::Freeze(value) = *kind else {
        unreachable!("the rule chose a freeze")
    };
    value
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
