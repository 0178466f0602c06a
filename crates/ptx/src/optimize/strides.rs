//! Does four iterations at once of loops whose counter grows by a variable, such as grid-stride loops.
//!
//! The loads of four iterations are then in flight together. ptxas does this only where the step is a
//! number. Whether there are four iterations left is computed without a division, so a loop that runs
//! once takes four more instructions.

use std::collections::{HashMap, HashSet};

use super::flow::{Block, End, Graph, Id};
use super::instructions::{can_be_copied, instructions};
use super::loops::{self, Loop, Relation, Step, Which};
use super::names::Names;
use super::version::{self, number};
use crate::{Guard, Instruction, Operand, Statement, Type};

/// How many iterations are done at once.
const ITERATIONS: u64 = 4;

/// Loops of more instructions stay as they are.
const LARGEST: usize = 64;

/// Unrolls loops, except those that begin with a block of `slow`. Returns how many.
pub(super) fn unroll<'a>(graph: &mut Graph<'a>, names: &'a Names, slow: &HashSet<Id>) -> usize {
    let mut count = 0;
    for each in loops::innermost(graph, &graph.cold()) {
        if !slow.contains(&each.header) {
            count += usize::from(unroll_one(graph, names, &each).is_some());
        }
    }
    count
}

fn unroll_one<'a>(graph: &mut Graph<'a>, names: &'a Names, each: &Loop<'a>) -> Option<()> {
    let (mut size, mut loads, mut plain) = (0, false, true);
    for &id in &each.blocks {
        let block = &graph.blocks[id];
        for statement in &block.body {
            instructions(statement, &mut |it| {
                size += 1;
                plain &= can_be_copied(it) && !matches!(it.opcode, "atom" | "red");
                loads |= it.opcode == "ld" && !it.modifiers.contains(&"param");
            });
        }
        plain &= !matches!(block.end, End::Switch(..));
        plain &= id == each.latch
            || block
                .end
                .targets()
                .iter()
                .all(|to| each.blocks.contains(to) && *to != each.header);
    }
    if !plain || !loads || size > LARGEST {
        return None;
    }
    let counters = each.counters(graph);
    let (counter, which, compared) = each.condition(graph, &counters)?;
    let Step::Register(step) = counter.step else {
        return None;
    };
    if which != Which::Next
        || compared.relation != Relation::Less
        || compared.signed
        || (counter.bits, compared.bits) != (64, 64)
    {
        return None;
    }
    let mut copies = Vec::new();
    for _ in 0..ITERATIONS {
        let cold = graph.cold();
        copies.push(version::copy(graph, names, &cold, each, &HashMap::new()));
    }
    let emit =
        |graph: &mut Graph<'a>, body: &mut Vec<_>, ty, opcode, modifiers: &[&'a str], from| {
            let result = graph.register(ty, names);
            let mut operands = vec![Operand::Name(result)];
            operands.extend::<Vec<Operand<'a>>>(from);
            body.push(Statement::Instruction(Instruction {
                guard: None,
                opcode,
                modifiers: modifiers.to_vec(),
                operands,
                line: 0,
            }));
            result
        };
    // How far the counter goes in all iterations but the first; more than there is if that overflows.
    let mut ahead = Vec::new();
    let step = Operand::Name(step);
    let others = vec![step.clone(), number(ITERATIONS - 1)];
    let others = emit(graph, &mut ahead, Type::B64, "mul", &["lo", "s64"], others);
    let fits = vec![step, number(u64::MAX / ITERATIONS)];
    let fits = emit(graph, &mut ahead, Type::Pred, "setp", &["lt", "u64"], fits);
    let others = vec![Operand::Name(others), number(u64::MAX), Operand::Name(fits)];
    let others = emit(graph, &mut ahead, Type::B64, "selp", &["b64"], others);
    // Whether there are as many iterations. The first is there whatever the counter is.
    let mut test = Vec::new();
    let current = Operand::Name(counter.register);
    let bound = compared.right.clone();
    let left = vec![bound.clone(), current.clone()];
    let left = emit(graph, &mut test, Type::B64, "sub", &["s64"], left);
    let below = emit(
        graph,
        &mut test,
        Type::Pred,
        "setp",
        &["lt", "u64"],
        vec![current, bound],
    );
    let enough = vec![
        Operand::Name(left),
        Operand::Name(others),
        Operand::Name(below),
    ];
    let enough = emit(
        graph,
        &mut test,
        Type::Pred,
        "setp",
        &["gt", "and", "u64"],
        enough,
    );

    let predecessors = graph.predecessors();
    let inside: HashSet<Id> = (each.blocks.iter().copied())
        .chain(copies.iter().flat_map(|copy| copy.blocks.clone()))
        .collect();
    let outside: Vec<Id> = (predecessors[each.header].iter().copied())
        .filter(|id| !inside.contains(id))
        .collect();
    let guard = Guard {
        negated: false,
        register: enough,
    };
    let place = graph
        .order
        .iter()
        .position(|id| *id == copies[0].blocks[0])?;
    let mut add = |body, end| {
        let label = names.label();
        let id = graph.add(Block { label, body, end }, None);
        graph.order.pop();
        graph.order.insert(place, id);
        id
    };
    let test = add(
        test,
        End::Branch(guard, false, copies[0].header, each.header),
    );
    let ahead = add(ahead, End::Jump(test, false));
    for (index, copy) in copies.iter().enumerate() {
        let end = &mut graph.blocks[copy.latch].end;
        match copies.get(index + 1) {
            Some(next) => *end = End::Jump(next.header, false),
            None => end.retarget(&|to| if to == copy.header { test } else { to }),
        }
    }
    for id in outside {
        let end = &mut graph.blocks[id].end;
        end.retarget(&|to| if to == each.header { ahead } else { to });
    }
    Some(())
}
