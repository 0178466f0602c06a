//! Computes what a block's instructions are if its phis are known.

use std::collections::HashMap;

use crate::inst::{BinOp, CastOp, InstKind, IntPred};
use crate::module::Module;
use crate::value::{Block, Const, Value};

/// A value in a block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    /// A number, or an address as a number.
    Int(u128),
    /// A value that is computed before the block.
    Value(Value),
}

/// Returns the number that an instruction of a block computes if the block's phis have the values
/// in `phis`.
pub(super) fn folded(
    module: &Module,
    block: Block,
    phis: &HashMap<Value, Value>,
    value: Value,
) -> Option<u128> {
    match known(module, block, phis, value)? {
        Known::Int(number) => Some(number),
        Known::Value(_) => None,
    }
}

fn known(
    module: &Module,
    block: Block,
    phis: &HashMap<Value, Value>,
    value: Value,
) -> Option<Known> {
    let value = phis.get(&value).copied().unwrap_or(value);
    match module.as_const(value) {
        Some(&Const::Int(number)) => return Some(Known::Int(number)),
        Some(Const::Zero) => return Some(Known::Int(0)),
        Some(Const::IntToPtr(address)) => return Some(Known::Int((*address).into())),
        // Each use may see other bits.
        Some(Const::Undef | Const::Poison) => return None,
        _ => {}
    }
    let Some(data) = module.inst(value).filter(|data| data.block == block) else {
        return Some(Known::Value(value));
    };
    let of = |value: Value| known(module, block, phis, value);
    let bits = |value: Value| module.types.int_bits(module.ty(value));
    let number = |value: Value| match of(value)? {
        Known::Int(number) => Some(number),
        Known::Value(_) => None,
    };
    match data.kind {
        InstKind::Cast { op, value: from } => match (op, of(from)?) {
            (CastOp::IntToPtr | CastOp::PtrToInt, known) => {
                // Both have 64 bits.
                (bits(from).or(bits(value)) == Some(64)).then_some(known)
            }
            (CastOp::ZExt, Known::Int(number)) => Some(Known::Int(number)),
            (CastOp::Trunc, Known::Int(number)) => {
                Some(Known::Int(number & (u128::MAX >> (128 - bits(value)?))))
            }
            _ => None,
        },
        InstKind::Bin { op, lhs, rhs, .. } => match op {
            BinOp::And if number(lhs) == Some(0) || number(rhs) == Some(0) => Some(Known::Int(0)),
            BinOp::And => Some(Known::Int(number(lhs)? & number(rhs)?)),
            BinOp::Or => Some(Known::Int(number(lhs)? | number(rhs)?)),
            BinOp::Xor => Some(Known::Int(number(lhs)? ^ number(rhs)?)),
            _ => None,
        },
        InstKind::Select {
            cond,
            then,
            otherwise,
        } => match number(cond)? {
            0 => of(otherwise),
            _ => of(then),
        },
        InstKind::ICmp { pred, lhs, rhs } => {
            let (a, b) = (of(lhs)?, of(rhs)?);
            let is_equal = match (a, b) {
                (Known::Int(a), Known::Int(b)) => compared(pred, a, b, bits(lhs).unwrap_or(64))?,
                _ if a == b => compared(pred, 0, 0, 1)?,
                _ => return None,
            };
            Some(Known::Int(is_equal.into()))
        }
        _ => None,
    }
}

/// Compares two integers of some bits.
pub(super) fn compared(pred: IntPred, a: u128, b: u128, bits: u32) -> Option<bool> {
    let signed = |number: u128| {
        let shift = 128u32.checked_sub(bits)?;
        Some(((number << shift) as i128) >> shift)
    };
    Some(match pred {
        IntPred::Eq => a == b,
        IntPred::Ne => a != b,
        IntPred::Ugt => a > b,
        IntPred::Uge => a >= b,
        IntPred::Ult => a < b,
        IntPred::Ule => a <= b,
        IntPred::Sgt => signed(a)? > signed(b)?,
        IntPred::Sge => signed(a)? >= signed(b)?,
        IntPred::Slt => signed(a)? < signed(b)?,
        IntPred::Sle => signed(a)? <= signed(b)?,
    })
}
