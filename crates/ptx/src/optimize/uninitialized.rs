//! Initializes 64-bit integers that a loop reads before it writes them.
//!
//! The payload of an `Option` that is `None` before a loop, as the best index so far in
//! `max_by_key`, is an undefined value: no instruction writes its register before the loop. With a
//! value of 0, `narrow` finds a range of the register, and the loop computes it in 32 bits.

use std::collections::{BTreeMap, BTreeSet};

use super::flow::{Graph, Id};
use super::instructions::{has_result, instructions, results, sources};
use super::liveness::Liveness;
use super::loops;
use super::specialize::Special;
use super::version::number;
use crate::hash::{HashMap, HashSet};
use crate::rewrite::instruction;
use crate::{Operand, Statement, Type};

/// Writes 0 to such registers of the copy before the loop. Returns the number of registers.
pub(super) fn initialize<'a>(graph: &mut Graph<'a>, special: &Special<'a>) -> usize {
    let cold = graph.cold();
    let (flow, back) = loops::back_edges(graph, &cold);
    let blocks = special.blocks(graph);
    let inside: HashSet<Id> = blocks.iter().copied().collect();
    let mut bodies: BTreeMap<Id, BTreeSet<Id>> = BTreeMap::new();
    for (latch, header) in back {
        if inside.contains(&header) {
            let body = bodies.entry(header).or_default();
            body.insert(header);
            loops::add_body(&flow, latch, body);
        }
    }
    if bodies.is_empty() {
        return 0;
    }
    let mut writers: HashMap<&'a str, Vec<Id>> = HashMap::default();
    // `Liveness` does not know that nested blocks and some instructions always write their results.
    let mut others: HashSet<&'a str> = HashSet::default();
    for &id in &graph.order {
        for statement in &graph.blocks[id].body {
            let is_plain = match statement {
                Statement::Instruction(it) => it.guard.is_none() && has_result(it),
                _ => false,
            };
            instructions(statement, &mut |it| {
                results(it, &mut |name| match is_plain {
                    true => writers.entry(name).or_default().push(id),
                    false => _ = others.insert(name),
                });
            });
        }
    }
    let live = Liveness::new(graph, &blocks);
    let mut registers: Vec<(&'a str, Vec<Id>)> = (writers.into_iter())
        .filter(|(name, ids)| {
            live.contains(special.first, name)
                && !others.contains(name)
                && graph.type_of(name) == Some(Type::B64)
                && ids.iter().all(|id| inside.contains(id))
        })
        .collect();
    registers.sort_unstable();
    let predecessors = graph.predecessors();
    let mut count = 0;
    for (register, ids) in registers {
        let written = reachable(graph, ids.clone());
        let mut before: BTreeSet<Id> = BTreeSet::new();
        for (&header, body) in &bodies {
            // A value that only code behind the loop reads would occupy a register in the loop.
            let is_written = ids.iter().any(|id| body.contains(id));
            if !is_written || !live.contains(header, register) || !reads(graph, body, register) {
                continue;
            }
            let from = predecessors[header].iter().copied();
            before.extend(from.filter(|id| inside.contains(id) && !written.contains(id)));
        }
        count += usize::from(!before.is_empty());
        for id in before {
            let operands = vec![Operand::Name(register), number(0)];
            (graph.blocks[id].body).push(instruction("mov", &["b64"], operands));
        }
    }
    count
}

/// Returns whether an instruction of blocks reads a register.
fn reads(graph: &Graph<'_>, blocks: &BTreeSet<Id>, register: &str) -> bool {
    let mut found = false;
    graph.visit(blocks.iter().copied(), &mut |it| {
        sources(it, &mut |name| found |= name == register);
    });
    found
}

/// Returns blocks and those that execution may reach from them.
fn reachable(graph: &Graph<'_>, mut pending: Vec<Id>) -> HashSet<Id> {
    let mut seen: HashSet<Id> = pending.iter().copied().collect();
    while let Some(id) = pending.pop() {
        let targets = graph.blocks[id].end.targets().into_iter();
        pending.extend(targets.filter(|&to| seen.insert(to)));
    }
    seen
}
