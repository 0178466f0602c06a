//! Converts integers that a loop does not change before the loop.
//!
//! `narrow` converts operands where they are read. ptxas 13.0 decides whether to unroll a loop, and
//! whether to combine two branches, before it moves conversions out of the loop: it does not unroll a
//! loop that ends at `cvt.u32.u64 %n, %len` if that instruction is in the loop. These conversions take
//! no instruction and no register: the upper half of the wide integer is zero, or not used.

use super::flow::{Graph, Id};
use super::instructions::sources;
use super::loops::{self, Loop};
use super::names::Names;
use crate::hash::{HashMap, HashSet};
use crate::rewrite::instruction;
use crate::{Instruction, Operand, Statement, Type};

/// Moves the conversions out of loops. Returns their number.
pub(super) fn hoist<'a>(graph: &mut Graph<'a>, names: &'a Names) -> usize {
    let cold = graph.cold();
    let mut loops = loops::single_latch(graph, &cold);
    loops.extend(loops::several_latches(graph, &cold));
    if loops.is_empty() {
        return 0;
    }
    // A conversion before an inner loop may move out of the outer one, too.
    loops.sort_by_key(|each| each.blocks.len());
    let predecessors = graph.predecessors();
    let moved = (loops.iter()).map(|each| hoist_of(graph, names, each, &predecessors[each.header]));
    moved.sum()
}

fn hoist_of<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    each: &Loop<'a>,
    predecessors: &[Id],
) -> usize {
    let mut outside = predecessors.iter().filter(|id| !each.contains(**id));
    let (Some(&before), None) = (outside.next(), outside.next()) else {
        return 0;
    };
    // The converted integers, by the integer and the type.
    let mut converted: HashMap<(&'a str, &'a str), &'a str> = HashMap::default();
    let compared = compared(graph, each);
    let mut conversions = Vec::new();
    for &id in &each.blocks {
        for index in 0..graph.blocks[id].body.len() {
            let Statement::Instruction(it) = &graph.blocks[id].body[index] else {
                continue;
            };
            let Some((result, from)) = conversion(it) else {
                continue;
            };
            let source = Operand::Name(from);
            if graph.type_of(from).is_none() || !each.is_invariant(&source) {
                continue;
            }
            let types = it.modifiers.clone();
            let (ty, bits) = match types[0] {
                "u32" => (Type::B32, "b32"),
                _ if compared.contains(result) => continue,
                _ => (Type::B64, "b64"),
            };
            let new = *converted.entry((from, bits)).or_insert_with(|| {
                graph.emit(names, &mut conversions, ty, "cvt", &types, [source])
            });
            // The result may have another value where the loop has not converted it yet.
            let operands = [result, new].map(Operand::Name).to_vec();
            graph.blocks[id].body[index] = instruction("mov", &[bits], operands);
        }
    }
    graph.blocks[before].body.extend(conversions);
    converted.len()
}

/// Returns the registers that a loop compares. A loop that ends at a wide bound is one that libnvvm
/// has unrolled: if ptxas 13.0 unrolled that of `spmv_power_law` again, it would need 80 instead of 30
/// registers.
fn compared<'a>(graph: &Graph<'a>, each: &Loop<'a>) -> HashSet<&'a str> {
    let mut found = HashSet::default();
    graph.visit(each.blocks.iter().copied(), &mut |it| {
        if it.opcode == "setp" {
            sources(it, &mut |name| _ = found.insert(name));
        }
    });
    found
}

/// Returns the result and the source of a conversion that takes no instruction.
fn conversion<'a>(it: &Instruction<'a>) -> Option<(&'a str, &'a str)> {
    let is_free = it.opcode == "cvt"
        && matches!(it.modifiers[..], ["u32", "u64"] | ["u64", "u32"])
        && it.guard.is_none();
    match it.operands[..] {
        [Operand::Name(result), Operand::Name(from)] if is_free => Some((result, from)),
        _ => None,
    }
}
