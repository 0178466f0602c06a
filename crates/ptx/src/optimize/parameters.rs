//! Parameters that loops load again.
//!
//! Where many registers are live, libnvvm (13.0) loads a parameter of the kernel again at each use,
//! also in loops. Other passes then do not recognize the invariants of the loop: a check of
//! `frame * channels + channel` stays in it, and one load is in flight. This pass takes the value
//! from the register that the kernel's first block loads. ptxas reads parameters from the constant
//! bank wherever they are used, so no register is live for longer.

use crate::hash::HashMap;

use super::definitions;
use super::flow::Graph;
use super::instructions::is_parameter;
use super::loops;
use crate::rewrite::instruction;
use crate::{Base, Function, Instruction, Operand, Statement, Type};

/// The type and the address of a load of a parameter.
type Place<'a> = (&'a str, &'a str, i64);

/// Replaces loads of a kernel's parameters in innermost loops by copies of registers. Returns how
/// many.
pub(super) fn reuse<'a>(graph: &mut Graph<'a>, kernel: &Function<'a>) -> usize {
    let cold = graph.cold();
    let Some(&entry) = graph.order.first() else {
        return 0;
    };
    let definitions = definitions(graph, &cold);
    let mut known: HashMap<Place<'a>, &'a str> = HashMap::default();
    for statement in &graph.blocks[entry].body {
        if let Statement::Instruction(it) = statement
            && let Some((register, place)) = load(graph, kernel, it)
            && definitions.get(register) == Some(&1)
        {
            known.entry(place).or_insert(register);
        }
    }
    let mut count = 0;
    let loops = loops::innermost(graph, &cold);
    let blocks = loops.into_iter().flat_map(|each| each.blocks);
    for id in blocks.filter(|&id| id != entry) {
        for index in 0..graph.blocks[id].body.len() {
            if let Statement::Instruction(it) = &graph.blocks[id].body[index]
                && let Some((register, place)) = load(graph, kernel, it)
                && let Some(&first) = known.get(&place)
            {
                let operands = [register, first].map(Operand::Name).to_vec();
                graph.blocks[id].body[index] = instruction("mov", &[place.0], operands);
                count += 1;
            }
        }
    }
    count
}

/// Returns the result of an instruction that always loads a parameter of the kernel, and the place.
fn load<'a>(
    graph: &Graph<'a>,
    kernel: &Function<'a>,
    it: &Instruction<'a>,
) -> Option<(&'a str, Place<'a>)> {
    let (
        ["param", ty],
        [
            Operand::Name(register),
            Operand::Address(Base::Name(name), offset),
        ],
    ) = (&it.modifiers[..], &it.operands[..])
    else {
        return None;
    };
    // A load extends its value to a wider register, `mov` does not.
    let is_whole = Type::from_name(ty).map(Type::bits) == graph.type_of(register).map(Type::bits);
    let is_own = kernel.params.iter().any(|param| param.name == *name);
    (is_parameter(it) && it.guard.is_none() && is_whole && is_own)
        .then_some((*register, (*ty, *name, *offset)))
}
