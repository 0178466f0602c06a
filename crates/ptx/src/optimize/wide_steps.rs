//! Computes the steps of addresses so that ptxas adds them with 64 bits.
//!
//! `narrow` computes the distance of two rows as `mul.wide.u32 %step, %width, 4`. In a loop that adds
//! `%step` to addresses, ptxas 13.0 combines both to one `IMAD.WIDE` per address. That instruction
//! takes the units for floats four times as long as `FFMA`. For a shifted 64-bit integer, ptxas emits
//! two additions, which other units also execute. That is better if the loop mostly computes floats.
//!
//! The same for the offset of a thread's element in a short kernel without loops. `IMAD.WIDE` there adds
//! the offset to a pointer that `LDC` loads from the parameters, and `IADD3` to one that `ULDC` loads,
//! which takes less time. Blocks of such kernels end soon, so that this is noticeable: BabelStream's
//! kernels take 1.3 % less time (H200, 2026-11-30).

use std::collections::BTreeMap;

use super::flow::{Graph, Id};
use super::instructions::{instructions, sources};
use super::loops::{self, Loop};
use super::names::Names;
use super::specialize::single_definitions;
use super::version::number;
use crate::hash::HashMap;
use crate::rewrite::instruction;
use crate::{Instruction, Operand, Statement, Type};

/// Opcodes of instructions that are many for the hardware: a loop with one waits for it.
const SLOW: &[&str] = &["div", "rcp", "sqrt"];

/// Opcodes of instructions that take no time of their own, or that of units for memory.
const FREE: &[&str] = &["cvta", "ld", "mov", "st"];

/// The maximum number of instructions of a short kernel.
const SHORT: usize = 48;

/// Shifts the steps of loops, or the offset of a thread's element. Returns their number.
pub(super) fn shift<'a>(graph: &mut Graph<'a>, names: &'a Names) -> usize {
    let cold = graph.cold();
    if loops::back_edges(graph, &cold).1.is_empty() {
        return shift_offset(graph, names, &cold);
    }
    let loops = loops::innermost(graph, &cold);
    if loops.is_empty() {
        return 0;
    }
    let single = single_definitions(graph, &cold);
    let mut shifted: BTreeMap<&'a str, &'a str> = BTreeMap::new();
    for each in &loops {
        let steps = steps(graph, &single, each);
        for &name in &steps {
            let new = *(shifted.entry(name)).or_insert_with(|| graph.register(Type::B64, names));
            for &id in &each.blocks {
                for statement in &mut graph.blocks[id].body {
                    if let Statement::Instruction(it) = statement
                        && adds(it) == Some(name)
                    {
                        it.operands[2] = Operand::Name(new);
                    }
                }
            }
        }
    }
    if shifted.is_empty() {
        return 0;
    }
    for id in 0..graph.blocks.len() {
        let mut body = Vec::new();
        for statement in std::mem::take(&mut graph.blocks[id].body) {
            let step = match &statement {
                Statement::Instruction(it) => product(it),
                _ => None,
            };
            body.push(statement);
            if let Some((step, from, by)) = step
                && let Some(&new) = shifted.get(step)
            {
                let from = [Operand::Name(from)];
                let wide = graph.emit(names, &mut body, Type::B64, "cvt", &["u64", "u32"], from);
                let operands = vec![Operand::Name(new), Operand::Name(wide), number(by)];
                body.push(instruction("shl", &["b64"], operands));
            }
        }
        graph.blocks[id].body = body;
    }
    shifted.len()
}

/// Shifts the only offset of a short kernel without loops. Returns how many there are.
fn shift_offset<'a>(graph: &mut Graph<'a>, names: &'a Names, cold: &[bool]) -> usize {
    let hot = graph.order.iter().copied().filter(|&id| !cold[id]);
    let hot: Vec<Id> = hot.collect();
    let (mut size, mut places) = (0, Vec::new());
    for &id in &hot {
        for (index, statement) in graph.blocks[id].body.iter().enumerate() {
            instructions(statement, &mut |it| {
                size += usize::from(!matches!(it.opcode, "cvt" | "cvta" | "mov"));
            });
            if let Statement::Instruction(it) = statement
                && product(it).is_some()
            {
                places.push((id, index));
            }
        }
    }
    let [(id, index)] = places[..] else {
        return 0;
    };
    let Statement::Instruction(it) = &graph.blocks[id].body[index] else {
        return 0;
    };
    let Some((offset, from, by)) = product(it) else {
        return 0;
    };
    let mut is_offset = size <= SHORT;
    graph.visit(graph.order.iter().copied(), &mut |it| {
        sources(it, &mut |name| {
            is_offset &= name != offset || adds(it).is_some()
        });
    });
    if !is_offset {
        return 0;
    }
    let mut made = Vec::new();
    let from = [Operand::Name(from)];
    let wide = graph.emit(names, &mut made, Type::B64, "cvt", &["u64", "u32"], from);
    let operands = vec![Operand::Name(offset), Operand::Name(wide), number(by)];
    made.push(instruction("shl", &["b64"], operands));
    graph.blocks[id].body.splice(index..=index, made);
    1
}

/// Returns the products that a loop adds to addresses, if it mostly computes floats.
fn steps<'a>(
    graph: &Graph<'a>,
    single: &HashMap<&'a str, Instruction<'a>>,
    each: &Loop<'a>,
) -> Vec<&'a str> {
    let (mut floats, mut others, mut sums) = (0, 0, 0);
    let mut is_slow = false;
    let mut steps = Vec::new();
    for &id in &each.blocks {
        for statement in &graph.blocks[id].body {
            instructions(statement, &mut |it| {
                is_slow |= SLOW.contains(&it.opcode);
                if let Some(name) = adds(it)
                    && each.is_invariant(&Operand::Name(name))
                    && single.get(name).is_some_and(|it| product(it).is_some())
                {
                    sums += 1;
                    steps.push(name);
                } else if matches!(it.modifiers.last(), Some(&"f32")) && it.opcode != "setp" {
                    floats += usize::from(!FREE.contains(&it.opcode));
                } else if !FREE.contains(&it.opcode) {
                    let is_wide = it.modifiers.iter().any(|ty| ty.ends_with("64"));
                    others += if is_wide { 2 } else { 1 };
                }
            });
        }
    }
    steps.sort_unstable();
    steps.dedup();
    // With products, the units for floats are busy for `floats + 4 * sums`. With sums, those for
    // integers, of which there are half as many, are for `2 * (others + 1.5 * sums)`.
    if is_slow || 4 * sums < floats || floats + sums <= 2 * others {
        steps.clear();
    }
    steps
}

/// Returns the register that an instruction adds to a 64-bit integer.
fn adds<'a>(it: &Instruction<'a>) -> Option<&'a str> {
    match (it.opcode, &it.modifiers[..], it.guard, &it.operands[..]) {
        ("add", ["s64"], None, &[_, Operand::Name(_), Operand::Name(step)]) => Some(step),
        _ => None,
    }
}

/// Returns the result, the factor and the binary logarithm of the other factor, if an instruction
/// computes the product of a 32-bit register and a power of two.
fn product<'a>(it: &Instruction<'a>) -> Option<(&'a str, &'a str, u64)> {
    let [
        Operand::Name(result),
        Operand::Name(factor),
        Operand::Integer(by),
    ] = &it.operands[..]
    else {
        return None;
    };
    let is_product = it.opcode == "mul" && it.modifiers == ["wide", "u32"] && it.guard.is_none();
    let is_power = by.bits.is_power_of_two() && by.bits < 1 << 31;
    (is_product && is_power).then(|| (*result, *factor, by.bits.trailing_zeros().into()))
}
