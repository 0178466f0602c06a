//! Computes 64-bit products of integers of 32 bits with a wide multiplication.
//!
//! ptxas computes `mul.lo.s64` of two integers below 2³² with one multiplication, too, if it knows that
//! they are, but adds the product with the upper half of a factor, which is 0, where the other factor
//! is a constant. Of two signed integers, it computes both products with an upper half. libnvvm only
//! uses `mul.wide` for factors that the same block extends.

use crate::hash::HashMap;

use super::flow::Graph;
use super::names::Names;
use super::specialize::single_definitions;
use crate::rewrite::instruction;
use crate::{Instruction, Operand, Statement, Type};

/// The maximum number of instructions from a factor to what limits it.
const DEPTH: u32 = 6;

/// Replaces multiplications. Returns how many.
pub(super) fn replace<'a>(graph: &mut Graph<'a>, names: &'a Names) -> usize {
    let cold = graph.cold();
    let mut multiplies = false;
    let hot = graph.order.iter().copied().filter(|&id| !cold[id]);
    graph.visit(hot, &mut |it| multiplies |= is_product(it));
    if !multiplies {
        return 0;
    }
    let single = single_definitions(graph, &cold);
    let mut count = 0;
    for id in graph.order.clone() {
        if cold[id] {
            continue;
        }
        let body = std::mem::take(&mut graph.blocks[id].body);
        let mut replaced = Vec::with_capacity(body.len());
        for statement in body {
            let Statement::Instruction(it) = &statement else {
                replaced.push(statement);
                continue;
            };
            let fitting = [Fit::Unsigned, Fit::Signed].into_iter().find(|&fit| {
                let holds = |of| fit.holds(graph, &single, of, 0);
                is_product(it) && it.operands[1..3].iter().all(holds)
            });
            let Some(fit) = fitting else {
                replaced.push(statement);
                continue;
            };
            let mut operands = it.operands.clone();
            for factor in &mut operands[1..3] {
                if let Operand::Name(_) = factor {
                    let low = ["u32", "u64"];
                    let source = [factor.clone()];
                    let low = graph.emit(names, &mut replaced, Type::B32, "cvt", &low, source);
                    *factor = Operand::Name(low);
                }
            }
            replaced.push(instruction(it.opcode, &["wide", fit.of_factor()], operands));
            count += 1;
        }
        graph.blocks[id].body = replaced;
    }
    count
}

/// Returns whether an instruction computes the lower half of a product of 64-bit integers, or its sum
/// with a third one.
fn is_product(it: &Instruction<'_>) -> bool {
    it.guard.is_none()
        && matches!(it.opcode, "mul" | "mad")
        && matches!(it.modifiers[..], ["lo", "s64" | "u64"])
        && it.operands.len() > 2
}

/// How the lower half of a 64-bit integer determines the integer.
#[derive(Clone, Copy, PartialEq)]
enum Fit {
    /// The upper half is zero.
    Unsigned,
    /// The upper half has the sign of the lower one.
    Signed,
}

impl Fit {
    /// Returns the type of the factors of a product.
    fn of_factor(self) -> &'static str {
        match self {
            Fit::Unsigned => "u32",
            Fit::Signed => "s32",
        }
    }

    /// Returns whether the lower half determines a 64-bit operand.
    fn holds<'a>(
        self,
        graph: &Graph<'a>,
        single: &HashMap<&'a str, Instruction<'a>>,
        operand: &Operand<'a>,
        depth: u32,
    ) -> bool {
        let name = match operand {
            Operand::Integer(number) => {
                return match self {
                    Fit::Unsigned => number.bits >> 32 == 0,
                    Fit::Signed => i32::try_from(number.bits as i64).is_ok(),
                };
            }
            Operand::Name(name) if depth < DEPTH => name,
            _ => return false,
        };
        let Some(it) = single.get(name).filter(|it| it.guard.is_none()) else {
            return false;
        };
        let of = |index: usize| {
            let operand = it.operands.get(index);
            operand.is_some_and(|operand| self.holds(graph, single, operand, depth + 1))
        };
        let moved = match (it.opcode, &it.modifiers[..]) {
            ("mov", ["u64" | "s64" | "b64"]) => of(1),
            ("or" | "xor", ["b64"]) | ("selp", ["u64" | "s64" | "b64"]) => of(1) && of(2),
            _ => false,
        };
        // A register of 64 bits: loads of shorter integers extend them.
        let is_long = || {
            matches!(it.operands.first(), Some(Operand::Name(_)))
                && graph.type_of(name) == Some(Type::B64)
        };
        moved
            || match (self, it.opcode, &it.modifiers[..]) {
                (Fit::Unsigned, "cvt", ["u64", "u32" | "u16" | "u8"])
                | (Fit::Unsigned, "mul", ["wide", "u16"])
                | (Fit::Signed, "cvt", ["s64", "s32" | "s16" | "s8"])
                | (Fit::Signed, "cvt", ["u64" | "s64", "u16" | "u8"])
                | (Fit::Signed, "mul", ["wide", "s16"]) => true,
                (Fit::Unsigned, "and", ["b64"]) | (Fit::Unsigned, "min", ["u64"]) => of(1) || of(2),
                (Fit::Unsigned, "max", ["u64"])
                | (Fit::Signed, "and", ["b64"])
                | (Fit::Signed, "min" | "max", ["s64"]) => of(1) && of(2),
                (Fit::Unsigned, "shr", ["u64"]) | (Fit::Signed, "shr", ["s64"]) => {
                    let by = it.operands.get(2);
                    matches!(by, Some(Operand::Integer(by)) if by.bits >= 32) || of(1)
                }
                (Fit::Unsigned, "div" | "rem", ["u64"]) => of(1) || it.opcode == "rem" && of(2),
                (Fit::Unsigned, "ld", [.., "u32" | "u16" | "u8"])
                | (Fit::Signed, "ld", [.., "s32" | "s16" | "s8" | "u16" | "u8"]) => is_long(),
                _ => false,
            }
    }
}
