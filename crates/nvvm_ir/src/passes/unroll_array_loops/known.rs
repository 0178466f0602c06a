//! Values of integers that are computed from known ones.

use std::cell::RefCell;
use std::collections::HashMap;

use super::super::compute_elements::{constant, place};
use super::super::select_elements::{Place, is_plain};
use super::number;
use crate::inst::{BinOp, CastOp, InstKind, IntPred};
use crate::module::Module;
use crate::value::Value;

/// What integers are.
pub(super) type State = HashMap<Value, u128>;

/// Computes what values are if some are known.
pub(super) struct Known<'a> {
    module: &'a Module,
    values: RefCell<HashMap<Value, Option<u128>>>,
}

impl<'a> Known<'a> {
    pub(super) fn new(module: &'a Module, state: &State) -> Known<'a> {
        let values = state.iter().map(|(&value, &number)| (value, Some(number)));
        Known {
            module,
            values: RefCell::new(values.collect()),
        }
    }

    /// Returns an integer of at most 64 bits, if it is computed from constants and what is known.
    pub(super) fn number(&self, value: Value) -> Option<u128> {
        if let Some(number) = number(self.module, value) {
            return Some(number);
        }
        if let Some(&known) = self.values.borrow().get(&value) {
            return known;
        }
        let kind = &self.module.inst(value)?.kind;
        let number = match element(self.module, kind) {
            Some((contents, place)) => self.load(value, contents, place),
            None if is_computed(kind) => {
                evaluate(self.module, value, kind, |operand| self.number(operand))
            }
            None => None,
        };
        self.values.borrow_mut().insert(value, number);
        number
    }

    /// Returns the integer that an instruction loads from a place in a constant array.
    fn load(&self, inst: Value, contents: &[u8], place: Place) -> Option<u128> {
        let bits = self.module.types.int_bits(self.module.ty(inst))?;
        matches!(bits, 8 | 16 | 32 | 64).then_some(())?;
        let distance = match place.index {
            Some(index) => (index.scale).checked_mul(self.number(index.value)? as i64)?,
            None => 0,
        };
        let start = usize::try_from(place.offset.checked_add(distance)?).ok()?;
        let end = start.checked_add(bits as usize / 8)?;
        let bytes = contents.get(start..end)?;
        Some((bytes.iter().rev()).fold(0, |number, &byte| number << 8 | u128::from(byte)))
    }

    /// Returns the distance of the address of an element from that of its array.
    pub(super) fn offset(&self, address: Value) -> Option<u64> {
        match &self.module.inst(address)?.kind {
            InstKind::Alloca { .. } => Some(0),
            InstKind::Gep {
                element,
                base,
                indices,
                ..
            } => {
                let &[index] = &indices[..] else {
                    return None;
                };
                let bits = self.module.types.int_bits(self.module.ty(index))?;
                let index = sign_extend(bits, self.number(index)?) as u64;
                let distance = index.wrapping_mul(self.module.types.size(*element));
                let base = self.offset(*base)?;
                Some(base.wrapping_add(distance))
            }
            _ => None,
        }
    }
}

/// Returns the contents of the constant array that an instruction loads from, and the place in it.
pub(super) fn element<'a>(module: &'a Module, kind: &InstKind) -> Option<(&'a [u8], Place)> {
    match *kind {
        InstKind::Load { ptr, access } if is_plain(&access) => {
            let (array, place) = place(module, ptr)?;
            Some((constant(module, array)?, place))
        }
        _ => None,
    }
}

/// Returns whether [`Known`] may compute the result of an instruction from its operands.
pub(super) fn is_computed(kind: &InstKind) -> bool {
    matches!(
        kind,
        InstKind::Bin { .. }
            | InstKind::Cast { .. }
            | InstKind::ICmp { .. }
            | InstKind::Select { .. }
    )
}

/// Returns the result of an operation on integers of at most 64 bits whose operands are known.
fn evaluate(
    module: &Module,
    inst: Value,
    kind: &InstKind,
    number: impl Fn(Value) -> Option<u128>,
) -> Option<u128> {
    let bits = module.types.int_bits(module.ty(inst))?;
    let result = match *kind {
        InstKind::Bin { op, lhs, rhs, .. } => {
            let (lhs, rhs) = (number(lhs)?, number(rhs)?);
            match op {
                BinOp::Add => lhs.wrapping_add(rhs),
                BinOp::Sub => lhs.wrapping_sub(rhs),
                BinOp::Mul => lhs.wrapping_mul(rhs),
                BinOp::And => lhs & rhs,
                BinOp::Or => lhs | rhs,
                BinOp::Xor => lhs ^ rhs,
                BinOp::Shl if rhs < bits.into() => lhs << rhs,
                BinOp::LShr if rhs < bits.into() => lhs >> rhs,
                _ => return None,
            }
        }
        InstKind::Cast { op, value } => {
            let from = module.types.int_bits(module.ty(value))?;
            match op {
                CastOp::Trunc | CastOp::ZExt => number(value)?,
                CastOp::SExt => sign_extend(from, number(value)?),
                _ => return None,
            }
        }
        InstKind::ICmp { pred, lhs, rhs } => {
            let bits = module.types.int_bits(module.ty(lhs))?;
            compare(pred, bits, number(lhs)?, number(rhs)?).into()
        }
        InstKind::Select {
            cond,
            then,
            otherwise,
        } => match number(cond)? {
            0 => number(otherwise)?,
            _ => number(then)?,
        },
        _ => return None,
    };
    (bits <= 64).then(|| truncate(bits, result))
}

fn compare(pred: IntPred, bits: u32, lhs: u128, rhs: u128) -> bool {
    let signed = [lhs, rhs].map(|number| sign_extend(bits, number) as i128);
    match pred {
        IntPred::Eq => lhs == rhs,
        IntPred::Ne => lhs != rhs,
        IntPred::Ugt => lhs > rhs,
        IntPred::Uge => lhs >= rhs,
        IntPred::Ult => lhs < rhs,
        IntPred::Ule => lhs <= rhs,
        IntPred::Sgt => signed[0] > signed[1],
        IntPred::Sge => signed[0] >= signed[1],
        IntPred::Slt => signed[0] < signed[1],
        IntPred::Sle => signed[0] <= signed[1],
    }
}

fn truncate(bits: u32, number: u128) -> u128 {
    number & (u128::MAX >> (128 - bits))
}

fn sign_extend(bits: u32, number: u128) -> u128 {
    let unused = 128 - bits;
    ((number << unused) as i128 >> unused) as u128
}
