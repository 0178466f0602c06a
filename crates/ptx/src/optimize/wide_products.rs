//! Computes 64-bit products of integers below 2³² with a wide multiplication.
//!
//! ptxas computes `mul.lo.s64` of two such integers with one multiplication, too, if it knows that
//! they are, but adds the product with the upper half of a factor, which is 0, where the other factor
//! is a constant. libnvvm only uses `mul.wide.u32` for factors that it has extended itself.

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
            if !is_product(it)
                || !it.operands[1..3]
                    .iter()
                    .all(|of| fits(graph, &single, of, 0))
            {
                replaced.push(statement);
                continue;
            }
            let mut operands = it.operands.clone();
            for factor in &mut operands[1..3] {
                if let Operand::Name(_) = factor {
                    let low = ["u32", "u64"];
                    let source = [factor.clone()];
                    let low = graph.emit(names, &mut replaced, Type::B32, "cvt", &low, source);
                    *factor = Operand::Name(low);
                }
            }
            replaced.push(instruction(it.opcode, &["wide", "u32"], operands));
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

/// Returns whether the upper half of a 64-bit operand is zero.
fn fits<'a>(
    graph: &Graph<'a>,
    single: &HashMap<&'a str, Instruction<'a>>,
    operand: &Operand<'a>,
    depth: u32,
) -> bool {
    let name = match operand {
        Operand::Integer(number) => return number.bits >> 32 == 0,
        Operand::Name(name) if depth < DEPTH => name,
        _ => return false,
    };
    let Some(it) = single.get(name).filter(|it| it.guard.is_none()) else {
        return false;
    };
    let of = |index: usize| {
        let operand = it.operands.get(index);
        operand.is_some_and(|operand| fits(graph, single, operand, depth + 1))
    };
    match (it.opcode, &it.modifiers[..]) {
        ("cvt", ["u64", "u32" | "u16" | "u8"]) | ("mul", ["wide", "u16"]) => true,
        ("mov", ["u64" | "s64" | "b64"]) => of(1),
        ("and", ["b64"]) | ("min", ["u64"]) => of(1) || of(2),
        ("or" | "xor", ["b64"]) | ("max", ["u64"]) | ("selp", ["u64" | "s64" | "b64"]) => {
            of(1) && of(2)
        }
        ("shr", ["u64"]) => {
            let is_half = matches!(it.operands.get(2), Some(Operand::Integer(by)) if by.bits >= 32);
            is_half || of(1)
        }
        ("div" | "rem", ["u64"]) => of(1) || it.opcode == "rem" && of(2),
        // Shorter loads extend with zeros.
        ("ld", [.., "u32" | "u16" | "u8"]) => {
            matches!(it.operands.first(), Some(Operand::Name(_)))
                && graph.type_of(name) == Some(Type::B64)
        }
        _ => false,
    }
}
