//! Conversions between floats and 64-bit integers in the copy of a kernel's body.
//!
//! GPUs convert floats to 32-bit integers several times as fast as to 64 bits. In `x as usize`, the
//! integer is mostly compared with a length, or limited by one: then a conversion that saturates at
//! 2³² - 1 has the same effect, since lengths are smaller in the copy.

use crate::hash::HashMap;

use super::flow::Graph;
use super::names::Names;
use crate::{Instruction, Operand, Statement, Type};

/// What is known about registers that hold floats converted to `u64`.
#[derive(Clone, Debug, Default)]
pub(super) struct Floats<'a> {
    /// The results of conversions, which are unspecified for NaN, with the float's type and register.
    converted: HashMap<&'a str, (&'a str, &'a str)>,
    /// The predicates that a float is NaN, or that it is not (`false`).
    nan: HashMap<&'a str, (&'a str, bool)>,
    /// The results of `x as u64`, with the register that has those of `x as u32`.
    saturated: HashMap<&'a str, &'a str>,
}

/// Returns the register that an instruction writes, if it writes one.
pub(super) fn result<'a>(it: &Instruction<'a>) -> &'a str {
    match it.operands.first() {
        Some(&Operand::Name(name)) => name,
        _ => "",
    }
}

/// Returns the float that an instruction converts or tests.
pub(super) fn source<'a>(it: &Instruction<'a>) -> Option<&'a str> {
    match (it.opcode, &it.operands[..]) {
        ("cvt" | "setp", &[_, Operand::Name(name), ..]) => Some(name),
        _ => None,
    }
}

impl<'a> Floats<'a> {
    /// Keeps what is known on both paths.
    pub fn meet(&mut self, other: &Floats<'a>) {
        self.converted
            .retain(|name, it| other.converted.get(name) == Some(it));
        self.nan.retain(|name, it| other.nan.get(name) == Some(it));
        self.saturated
            .retain(|name, it| other.saturated.get(name) == Some(it));
    }

    /// Returns the register with `x as u32` if the operand is `x as u64`.
    pub fn saturated(&self, operand: &Operand<'a>) -> Option<&'a str> {
        match operand {
            Operand::Name(name) => self.saturated.get(name).copied(),
            _ => None,
        }
    }

    /// Considers an instruction that has been appended to `to`. Its result, and the float that it
    /// converts or tests, have no other definition.
    pub fn instruction(
        &mut self,
        graph: &mut Graph<'a>,
        names: &'a Names,
        it: &Instruction<'a>,
        to: &mut Vec<Statement<'a>>,
    ) {
        if it.guard.is_some() {
            return;
        }
        let types = ["f32", "f64"];
        match (it.opcode, &it.modifiers[..], &it.operands[..]) {
            ("cvt", ["rzi", "u64", ty], &[Operand::Name(result), Operand::Name(float)])
                if types.contains(ty) =>
            {
                self.converted.insert(result, (ty, float));
            }
            (
                "setp",
                [relation @ ("nan" | "num"), _],
                &[Operand::Name(result), Operand::Name(a), Operand::Name(b)],
            ) if a == b => {
                self.nan.insert(result, (a, *relation == "nan"));
            }
            (
                "selp",
                ["b64" | "u64" | "s64"],
                [Operand::Name(result), a, b, Operand::Name(condition)],
            ) => {
                let Some(&(tested, is_nan)) = self.nan.get(condition) else {
                    return;
                };
                let (zero, value) = if is_nan { (a, b) } else { (b, a) };
                if let (Operand::Integer(zero), Operand::Name(value)) = (zero, value)
                    && let Some(&(ty, float)) = self.converted.get(value)
                    && (zero.bits, float) == (0, tested)
                {
                    let float = Operand::Name(float);
                    let modifiers = ["rzi", "u32", ty];
                    let mut word = graph.emit(names, to, Type::B32, "cvt", &modifiers, [float]);
                    if ty == "f64" {
                        // The conversion of an `f64` that is NaN is not zero.
                        let condition = Operand::Name(condition);
                        let zero = || Operand::Integer(crate::Integer::unsigned(0));
                        let operands = match is_nan {
                            true => [zero(), Operand::Name(word), condition],
                            false => [Operand::Name(word), zero(), condition],
                        };
                        word = graph.emit(names, to, Type::B32, "selp", &["b32"], operands);
                    }
                    self.saturated.insert(result, word);
                }
            }
            _ => {}
        }
    }
}
