//! Scalarizes vectors: an operation on vectors becomes one operation per element.

use super::rewriter::Rewriter;
use crate::inst::*;
use crate::types::{Type, TypeKind};
use crate::value::{Const, Value};

/// Replaces an operation on vectors by one operation for each element.
pub(super) fn scalarize(rw: &mut Rewriter, ty: Type, kind: &InstKind) -> Value {
    let len = rw
        .vector_len(ty)
        .expect("the rule chose an operation whose result is a vector");
    let element = rw.module.types.scalar(ty);
    let lanes: Vec<Value> = (0..len)
        .map(|lane| {
            let kind = lane_kind(rw, element, kind, lane);
            rw.emit(element, kind)
        })
        .collect();
    rw.vector(ty, &lanes)
}

/// Returns the operation on one lane.
fn lane_kind(rw: &mut Rewriter, ty: Type, kind: &InstKind, index: u32) -> InstKind {
    match kind {
        InstKind::Bin {
            op,
            lhs,
            rhs,
            flags,
        } => InstKind::Bin {
            op: *op,
            lhs: lane(rw, *lhs, index),
            rhs: lane(rw, *rhs, index),
            flags: *flags,
        },
        InstKind::FNeg(value) => InstKind::FNeg(lane(rw, *value, index)),
        InstKind::Cast { op, value } => InstKind::Cast {
            op: *op,
            value: lane(rw, *value, index),
        },
        InstKind::Call(call) => {
            let args: Vec<Value> = call.args.iter().map(|&arg| lane(rw, arg, index)).collect();
            let params: Vec<Type> = args.iter().map(|&arg| rw.ty(arg)).collect();
            let sig = rw.module.types.func(ty, &params, false);
            InstKind::Call(Box::new(Call {
                sig,
                args,
                ..(**call).clone()
            }))
        }
        _ => unreachable!("the rules scalarize operations, conversions and intrinsics"),
    }
}

/// Returns an element of a vector, or a scalar operand (a flag of an intrinsic) unchanged.
pub(super) fn lane(rw: &mut Rewriter, value: Value, index: u32) -> Value {
    let TypeKind::Vector(element, _) = *rw.kind(rw.ty(value)) else {
        return value;
    };
    let zero = match rw.module.as_const(value) {
        Some(Const::Aggregate(elements)) => return elements[index as usize],
        Some(Const::Zero) => true,
        _ => false,
    };
    if zero {
        rw.module.const_zero(element)
    } else {
        rw.extract_element(value, index)
    }
}
