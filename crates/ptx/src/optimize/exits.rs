//! Gives a loop that exits when `counter + invariant` reaches a value a separate register for the
//! sum.
//!
//! libnvvm's strength reduction saves that register and computes the sum in each iteration. ptxas
//! then does not recognize the trip count and does not unroll the loop.

use crate::hash::HashMap;

use super::flow::{End, Graph, Id};
use super::instructions::{results, sources};
use super::loops::{self, Counter, Loop, Step};
use super::names::Names;
use crate::{Instruction, Integer, Operand, Statement, Type};

/// Rewrites the loops of a function. Returns the number of rewritten loops.
pub(super) fn separate<'a>(graph: &mut Graph<'a>, names: &'a Names) -> usize {
    let mut count = 0;
    // The pass changes no edges, and no other uses of a sum than that which it removes.
    let (uses, predecessors) = (uses(graph), graph.predecessors());
    for each in loops::innermost(graph, &graph.cold()) {
        let separated = separate_one(graph, names, &each, &uses, &predecessors);
        count += usize::from(separated.is_some());
    }
    count
}

fn separate_one<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    each: &Loop<'a>,
    uses: &HashMap<&'a str, usize>,
    predecessors: &[Vec<Id>],
) -> Option<()> {
    let End::Branch(guard, ..) = graph.blocks[each.latch].end else {
        return None;
    };
    let (set, set_block, set_index) = each.definition(graph, guard.register)?;
    let ("setp", ["ne" | "eq", _], None) = (set.opcode, &set.modifiers[..], set.guard) else {
        return None;
    };
    let [_, Operand::Name(sum), right] = &set.operands[..] else {
        return None;
    };
    if !each.is_invariant(right) || set_block != each.latch {
        return None;
    }
    let sum = *sum;
    let (addition, block, index) = each.definition(graph, sum)?;
    if block != each.latch || index > set_index || uses.get(sum) != Some(&1) {
        return None;
    }
    let bits = match (addition.opcode, &addition.modifiers[..], addition.guard) {
        ("add", ["s64" | "u64"], None) => 64,
        ("add", ["s32" | "u32"], None) => 32,
        _ => return None,
    };
    let [_, Operand::Name(first), Operand::Name(second)] = addition.operands[..] else {
        return None;
    };
    let line = addition.line;
    let counters = each.counters(graph);
    let (counter, invariant, next) =
        [(first, second), (second, first)]
            .into_iter()
            .find_map(|(counted, invariant)| {
                let invariant_too = each.is_invariant(&Operand::Name(invariant));
                let counter = counters.iter().find(|counter| {
                    (counter.register == counted || counter.next == Some(counted))
                        && counter.bits == bits
                })?;
                let next = counter.next == Some(counted) || is_behind(each, counter, index);
                invariant_too.then_some((*counter, invariant, next))
            })?;
    let Step::Constant(step) = counter.step else {
        return None;
    };
    let mut outside = (predecessors[each.header].iter()).filter(|id| !each.contains(**id));
    let (&before, None) = (outside.next()?, outside.next()) else {
        return None;
    };
    // If `before` ends in a conditional branch, computing the sum for the other target is harmless.
    let ty = if bits == 64 { Type::B64 } else { Type::B32 };
    let register = graph.register(ty, names);
    let word = if bits == 64 { "s64" } else { "s32" };
    let add = |left: &'a str, right: Operand<'a>| {
        Statement::Instruction(Instruction {
            guard: None,
            opcode: "add",
            modifiers: vec![word],
            operands: vec![Operand::Name(register), Operand::Name(left), right],
            line,
        })
    };
    let number = |value: i64| Operand::Integer(Integer::unsigned(value as u64 & mask(bits)));
    graph.blocks[before]
        .body
        .push(add(counter.register, Operand::Name(invariant)));
    if !next {
        graph.blocks[before]
            .body
            .push(add(register, number(step.wrapping_neg())));
    }
    graph.blocks[block].body[index] = add(register, number(step));
    if let Statement::Instruction(set) = &mut graph.blocks[set_block].body[set_index] {
        set.operands[1] = Operand::Name(register);
    }
    Some(())
}

fn mask(bits: u32) -> u64 {
    if bits == 64 {
        u64::MAX
    } else {
        u32::MAX.into()
    }
}

/// Returns whether a statement of the latch follows the counter's increment.
fn is_behind(each: &Loop<'_>, counter: &Counter<'_>, index: usize) -> bool {
    each.written
        .get(counter.register)
        .is_some_and(|&(_, block, at)| block == each.latch && at < index)
}

/// Returns the number of times that the function reads each register.
pub(super) fn uses<'a>(graph: &Graph<'a>) -> HashMap<&'a str, usize> {
    let mut uses = HashMap::default();
    for block in &graph.blocks {
        let mut add = |name: &'a str| *uses.entry(name).or_default() += 1;
        for statement in &block.body {
            super::instructions::instructions(statement, &mut |it| {
                sources(it, &mut add);
                if it.guard.is_some() {
                    results(it, &mut add);
                }
            });
        }
        block.end.sources(&mut add);
    }
    uses
}
