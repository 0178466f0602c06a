//! Scalarizes vectors: an operation on vectors becomes one operation for each element.

use super::rewriter::Rewriter;
use crate::types::{Type, TypeKind};
use crate::value::{Const, Value};

/// Returns the result of `f` on the operands, or of `f` on each element of vector operands. `ty` is
/// the type of the result.
pub(super) fn each_lane(
    rw: &mut Rewriter,
    ty: Type,
    operands: &[Value],
    f: impl Fn(&mut Rewriter, Type, &[Value]) -> Value,
) -> Value {
    let Some(len) = rw.vector_len(ty) else {
        return f(rw, ty, operands);
    };
    let element = rw.module.types.scalar(ty);
    let lanes: Vec<Value> = (0..len)
        .map(|index| {
            let operands: Vec<Value> = operands
                .iter()
                .map(|&value| lane(rw, value, index))
                .collect();
            f(rw, element, &operands)
        })
        .collect();
    rw.vector(ty, &lanes)
}

/// The same for the replacements of the operands. In the type sweep, only these have the new types.
pub(super) fn each_current_lane(
    rw: &mut Rewriter,
    ty: Type,
    operands: &[Value],
    f: impl Fn(&mut Rewriter, Type, &[Value]) -> Value,
) -> Value {
    let operands: Vec<Value> = operands.iter().map(|&value| rw.current(value)).collect();
    each_lane(rw, ty, &operands, f)
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
