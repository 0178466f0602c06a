//! Keeps loads before barriers.
//!
//! ptxas moves a load of memory that does not change (`ld.global.nc`) to the block that uses the
//! result, also past a barrier. All threads of the block then wait for memory after the barrier, rather
//! than while they wait for each other. An ordinary load stays where it is.

use crate::hash::HashSet;

use super::flow::{Graph, Id};
use super::instructions::{instructions, results, sources};
use crate::{Instruction, Statement};

/// Makes loads ordinary whose results are used only after a barrier. Returns how many.
pub(super) fn keep(graph: &mut Graph<'_>) -> usize {
    let cold = graph.cold();
    let hot: Vec<Id> = graph
        .order
        .iter()
        .copied()
        .filter(|&id| !cold[id])
        .collect();
    let mut waits = false;
    graph.visit(hot.iter().copied(), &mut |it| waits |= is_barrier(it));
    if !waits {
        return 0;
    }
    let mut kept = Vec::new();
    for id in hot {
        for (at, statement) in graph.blocks[id].body.iter().enumerate() {
            let Statement::Instruction(it) = statement else {
                continue;
            };
            let mut registers = HashSet::default();
            results(it, &mut |name| _ = registers.insert(name));
            if is_constant(it) && meets_barrier(graph, &cold, (id, at + 1), &registers) {
                kept.push((id, at));
            }
        }
    }
    for &(id, at) in &kept {
        if let Statement::Instruction(it) = &mut graph.blocks[id].body[at] {
            it.modifiers.retain(|&modifier| modifier != "nc");
        }
    }
    kept.len()
}

/// Returns whether an instruction is a barrier of the block.
pub(super) fn is_barrier(it: &Instruction<'_>) -> bool {
    matches!(it.opcode, "bar" | "barrier") && !it.modifiers.contains(&"cluster")
}

/// Returns whether an instruction loads memory that does not change.
pub(super) fn is_constant(it: &Instruction<'_>) -> bool {
    it.opcode == "ld" && it.modifiers.starts_with(&["global", "nc"])
}

/// Returns whether a path from a place meets a barrier before it uses registers.
fn meets_barrier(
    graph: &Graph<'_>,
    cold: &[bool],
    from: (Id, usize),
    registers: &HashSet<&str>,
) -> bool {
    let mut pending = vec![from];
    let mut seen = HashSet::default();
    'paths: while let Some((id, at)) = pending.pop() {
        let block = &graph.blocks[id];
        for statement in &block.body[at..] {
            let (mut uses, mut waits) = (false, false);
            instructions(statement, &mut |it| {
                sources(it, &mut |name| uses |= registers.contains(name));
                waits |= is_barrier(it);
            });
            if uses {
                continue 'paths;
            }
            if waits {
                return true;
            }
        }
        let targets = block.end.targets().into_iter();
        pending.extend(
            targets
                .filter(|&to| !cold[to] && seen.insert(to))
                .map(|to| (to, 0)),
        );
    }
    false
}
