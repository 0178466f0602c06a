//! Converts 8-bit and 16-bit integers to floats through 32 bits.
//!
//! Since sm_90, GPUs convert 32-bit integers to `f32` with full throughput. libnvvm converts a `u8`
//! from 16 bits, and ptxas converts a byte that `and`, `shr` or `bfe` extracts as a byte: a slower
//! unit does either. ptxas does not see that `prmt` extracts a byte.

use crate::hash::HashMap;

use super::flow::Graph;
use super::instructions::{instructions, results};
use super::names::Names;
use crate::{Instruction, Integer, Operand, Statement, Type};

/// Replaces the conversions of a function. Returns the number of replacements.
pub(super) fn widen<'a>(graph: &mut Graph<'a>, names: &'a Names) -> usize {
    let mut count = 0;
    for id in graph.order.clone() {
        let mut body = Vec::new();
        let mut parts = Parts::default();
        for mut statement in std::mem::take(&mut graph.blocks[id].body) {
            if let Statement::Instruction(it) = &mut statement
                && it.guard.is_none()
                && it.opcode == "cvt"
                && let ["rn", "f32", from @ ("u16" | "s16" | "u32" | "s32")] = it.modifiers[..]
                && let [Operand::Name(_), source @ Operand::Name(_)] = &mut it.operands[..]
            {
                let byte = parts.byte(source);
                let narrow = source.clone();
                let wide = match (byte, from) {
                    (Some((register, byte)), _) => {
                        // The selectors of the upper bytes refer to the second operand.
                        let selectors = Integer::unsigned(0x4440 | u64::from(byte));
                        let zero = Operand::Integer(Integer::unsigned(0));
                        let operands = [Operand::Name(register), zero, Operand::Integer(selectors)];
                        graph.emit(names, &mut body, Type::B32, "prmt", &["b32"], operands)
                    }
                    (None, "u16") => graph.emit(
                        names,
                        &mut body,
                        Type::B32,
                        "cvt",
                        &["u32", "u16"],
                        [narrow],
                    ),
                    (None, "s16") => graph.emit(
                        names,
                        &mut body,
                        Type::B32,
                        "cvt",
                        &["s32", "s16"],
                        [narrow],
                    ),
                    (None, _) => {
                        parts.statement(graph, &statement);
                        body.push(statement);
                        continue;
                    }
                };
                *source = Operand::Name(wide);
                it.modifiers[2] = match from {
                    "s16" if byte.is_none() => "s32",
                    _ => "u32",
                };
                count += 1;
            }
            parts.statement(graph, &statement);
            body.push(statement);
        }
        graph.blocks[id].body = body;
    }
    count
}

/// Consecutive bits of a 32-bit register, extended with zeros.
#[derive(Clone, Copy, Debug)]
struct Part<'a> {
    register: &'a str,
    first: u32,
    count: u32,
}

/// The registers of a block that hold parts of others.
#[derive(Debug, Default)]
struct Parts<'a>(HashMap<&'a str, Part<'a>>);

impl<'a> Parts<'a> {
    /// Returns the 32-bit register, and the index of its byte that an operand is.
    fn byte(&self, operand: &Operand<'a>) -> Option<(&'a str, u32)> {
        let Operand::Name(name) = operand else {
            return None;
        };
        let part = self.0.get(name)?;
        (part.count == 8 && part.first.is_multiple_of(8)).then_some((part.register, part.first / 8))
    }

    /// Updates the parts for the execution of a statement.
    fn statement(&mut self, graph: &Graph<'a>, statement: &Statement<'a>) {
        let part = match statement {
            Statement::Instruction(it) if it.guard.is_none() => self.result(graph, it),
            _ => None,
        };
        instructions(statement, &mut |it| {
            results(it, &mut |name| {
                self.0
                    .retain(|result, part| *result != name && part.register != name);
            });
        });
        if let Some((result, part)) = part.filter(|(result, part)| *result != part.register) {
            self.0.insert(result, part);
        }
    }

    /// Returns the register that an instruction writes, and what part it is.
    fn result(&self, graph: &Graph<'a>, it: &Instruction<'a>) -> Option<(&'a str, Part<'a>)> {
        let [Operand::Name(result), Operand::Name(source), rest @ ..] = &it.operands[..] else {
            return None;
        };
        let part = match self.0.get(source) {
            Some(&part) => part,
            None if graph.type_of(source) == Some(Type::B32) => Part {
                register: source,
                first: 0,
                count: 32,
            },
            None => return None,
        };
        // The bits from `first` on, of which at most `count`.
        let within = |first: u64, count: u64| {
            let first = u32::try_from(first).ok()?;
            let left = part.count.checked_sub(first).filter(|&left| left > 0)?;
            let count = u32::try_from(count).unwrap_or(u32::MAX).min(left);
            let first = part.first + first;
            (count > 0).then_some(Part {
                first,
                count,
                ..part
            })
        };
        let part = match (it.opcode, &it.modifiers[..], rest) {
            ("mov", ["b32" | "u32" | "s32" | "b16" | "u16" | "s16"], [])
            | ("cvt", ["u32", "u16"] | ["u32", "u32"] | ["u16", "u16"], []) => Some(part),
            ("cvt", ["u16", "u32"], []) => within(0, 16),
            ("cvt", ["u32" | "u16", "u8"], []) => within(0, 8),
            ("shr", ["u32" | "b32" | "u16" | "b16"], [Operand::Integer(by)]) => {
                within(by.bits, u64::MAX)
            }
            ("and", ["b32" | "b16"], [Operand::Integer(mask)]) => {
                let count = mask.bits.trailing_ones();
                (mask.bits.checked_shr(count).unwrap_or(0) == 0).then(|| within(0, count.into()))?
            }
            ("bfe", ["u32"], [Operand::Integer(first), Operand::Integer(count)]) => {
                within(first.bits, count.bits)
            }
            _ => None,
        }?;
        Some((result, part))
    }
}
