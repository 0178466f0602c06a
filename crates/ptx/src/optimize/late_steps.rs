//! Moves the steps of counters to the end of the iteration.
//!
//! In a loop that LLVM unrolls, the step often stands where the last copy of the body starts. If
//! that copy has branches, the step is not in the block that the loop's condition is in, where
//! [`Loop::counters`] finds counters.

use crate::hash::HashSet;

use super::counts::always_runs;
use super::flow::{Graph, Id};
use super::instructions::{instructions, results};
use super::liveness::{Liveness, read};
use super::loops::{self, Loop};
use crate::Statement;

/// Moves the steps of all loops. Returns how many.
pub(super) fn delay(graph: &mut Graph<'_>) -> usize {
    let cold = graph.cold();
    let mut live = None;
    let mut moved = Vec::new();
    for each in loops::single_latch(graph, &cold) {
        for (block, at) in early(graph, &each) {
            let live = live.get_or_insert_with(|| Liveness::new(graph, &graph.order));
            if is_free(graph, live, &each, block, at) {
                moved.push((block, at, each.latch));
            }
        }
    }
    // The last of a block first, so that the places of the others stay. Loops that share a block
    // share no step of it.
    moved.sort_unstable_by(|a, b| b.cmp(a));
    let mut steps = Vec::new();
    for (block, at, latch) in moved {
        steps.push((latch, graph.blocks[block].body.remove(at)));
    }
    let count = steps.len();
    for (latch, step) in steps {
        graph.blocks[latch].body.insert(0, step);
    }
    count
}

/// Returns the steps of counters that each iteration runs before the latch: blocks and positions.
fn early<'a>(graph: &Graph<'a>, each: &Loop<'a>) -> Vec<(Id, usize)> {
    let mut steps = Vec::new();
    for (&register, &(times, block, index)) in &each.written {
        if times != 1 || block == each.latch {
            continue;
        }
        if let Statement::Instruction(it) = &graph.blocks[block].body[index]
            && each.step_of(it, register).is_some()
            && always_runs(graph, each, block)
        {
            steps.push((block, index));
        }
    }
    steps
}

/// Returns whether nothing but the latch and what follows it reads the result of a step.
fn is_free(graph: &Graph<'_>, live: &Liveness<'_>, each: &Loop<'_>, block: Id, at: usize) -> bool {
    let mut register = "";
    instructions(&graph.blocks[block].body[at], &mut |it| {
        results(it, &mut |name| register = name);
    });
    let mut is_read = reads(graph, block, at + 1, register);
    let mut seen = HashSet::default();
    let mut pending = vec![block];
    while let Some(id) = pending.pop() {
        for to in graph.blocks[id].end.targets() {
            if to == each.latch || !seen.insert(to) {
                continue;
            }
            if each.contains(to) {
                is_read |= reads(graph, to, 0, register);
                pending.push(to);
            } else {
                is_read |= live.contains(to, register);
            }
        }
    }
    // A loop in the loop would take several steps.
    !is_read && !seen.contains(&block)
}

/// Returns whether a block reads a register at a position or after it.
fn reads(graph: &Graph<'_>, id: Id, from: usize, register: &str) -> bool {
    let block = &graph.blocks[id];
    let mut found = false;
    for statement in &block.body[from..] {
        instructions(statement, &mut |it| {
            read(it, &mut |name| found |= name == register);
        });
    }
    (block.end).sources(&mut |name| found |= name == register);
    found
}
