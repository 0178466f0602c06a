//! Redirects jumps to branches whose predicate is known there.
//!
//! An iterator remembers that it has started in a predicate, which is false on entry and true at the
//! end of each iteration. If the grid has a thread for each element, the iterator then ends, so the end
//! of the only iteration can leave the loop.

use crate::hash::{HashMap, HashSet};

use super::flow::{End, Graph, Id};
use super::instructions::{instructions, is_pure, results};
use super::liveness::Liveness;
use crate::{Instruction, Operand, Statement};

/// The maximum number of changes: in an endless loop, a jump can always be redirected.
const CHANGES: usize = 64;

/// Redirects the jumps among blocks. No other block accesses their registers.
pub(super) fn thread<'a>(graph: &mut Graph<'a>, blocks: &[Id]) {
    for _ in 0..CHANGES {
        let reached: HashSet<Id> = graph.order.iter().copied().collect();
        let blocks: Vec<Id> = (blocks.iter().copied())
            .filter(|id| reached.contains(id))
            .collect();
        let changed = (flags(graph, &blocks).into_iter()).any(|flag| {
            let known = Known::of(graph, &blocks, flag);
            known.settle(graph, &blocks) || known.redirect(graph, &blocks)
        });
        if !changed {
            return;
        }
        graph.remove_unreachable();
    }
}

/// Returns the predicates that are set to constants in several places, and to nothing else.
fn flags<'a>(graph: &Graph<'a>, blocks: &[Id]) -> Vec<&'a str> {
    let mut counts: HashMap<&'a str, usize> = HashMap::default();
    let mut others: HashSet<&'a str> = HashSet::default();
    graph.visit(blocks.iter().copied(), &mut |it| match set(it) {
        Some((name, _)) => *counts.entry(name).or_default() += 1,
        None => results(it, &mut |name| _ = others.insert(name)),
    });
    let mut flags: Vec<&'a str> = (counts.into_iter())
        .filter(|(name, count)| *count > 1 && !others.contains(name))
        .map(|(name, _)| name)
        .collect();
    flags.sort_unstable();
    flags
}

/// Returns the predicate that an instruction sets to a constant.
fn set<'a>(it: &Instruction<'a>) -> Option<(&'a str, bool)> {
    match (it.opcode, &it.modifiers[..], it.guard, &it.operands[..]) {
        ("mov", ["pred"], None, [Operand::Name(name), Operand::Integer(value)]) => {
            Some((name, value.bits != 0))
        }
        _ => None,
    }
}

/// Where the value of a predicate is known.
struct Known<'a> {
    flag: &'a str,
    predecessors: Vec<Vec<Id>>,
    /// The value at the start of each block; `None` if it differs. Blocks that are not reached have
    /// none.
    before: HashMap<Id, Option<bool>>,
    /// The values that blocks set.
    set: HashMap<Id, bool>,
}

impl<'a> Known<'a> {
    fn of(graph: &Graph<'a>, blocks: &[Id], flag: &'a str) -> Known<'a> {
        let mut known = Known {
            flag,
            predecessors: graph.predecessors(),
            before: HashMap::default(),
            set: HashMap::default(),
        };
        for &id in blocks {
            graph.visit([id], &mut |it| {
                if let Some((_, value)) = set(it).filter(|(name, _)| *name == flag) {
                    known.set.insert(id, value);
                }
            });
        }
        let inside: HashSet<Id> = blocks.iter().copied().collect();
        let mut changed = true;
        while changed {
            changed = false;
            for &id in blocks {
                let mut value: Option<Option<bool>> = None;
                for from in &known.predecessors[id] {
                    let after = match inside.contains(from) {
                        true => known.after(*from),
                        false => Some(None),
                    };
                    value = match (value, after) {
                        (value, None) => value,
                        (None, after) => after,
                        (Some(a), Some(b)) => Some(a.filter(|_| a == b)),
                    };
                }
                if let Some(value) = value
                    && known.before.insert(id, value) != Some(value)
                {
                    changed = true;
                }
            }
        }
        known
    }

    /// Returns the value at the end of a block, if the block is reached.
    fn after(&self, id: Id) -> Option<Option<bool>> {
        let before = self.before.get(&id)?;
        Some(self.set.get(&id).copied().or(*before))
    }

    /// Returns the targets of a block that branches on the predicate if it is true, and if it is
    /// false. The block does not change it.
    fn targets(&self, graph: &Graph<'a>, id: Id) -> Option<[Id; 2]> {
        let End::Branch(guard, _, to, otherwise) = graph.blocks[id].end else {
            return None;
        };
        let mut negated = guard.negated;
        if guard.register != self.flag {
            let (mut last, mut writes) = (None, 0);
            for statement in &graph.blocks[id].body {
                instructions(statement, &mut |it| {
                    results(it, &mut |name| {
                        writes += usize::from(name == guard.register)
                    });
                });
                if let Statement::Instruction(it) = statement
                    && let ("not", None, [Operand::Name(result), Operand::Name(from)]) =
                        (it.opcode, it.guard, &it.operands[..])
                    && *result == guard.register
                {
                    last = Some(*from);
                }
            }
            if last != Some(self.flag) || writes != 1 {
                return None;
            }
            negated = !negated;
        }
        let unchanged = !self.set.contains_key(&id);
        unchanged.then_some(match negated {
            false => [to, otherwise],
            true => [otherwise, to],
        })
    }

    /// Replaces the branches where the value is known. Returns whether there was one.
    fn settle(&self, graph: &mut Graph<'a>, blocks: &[Id]) -> bool {
        let mut changed = false;
        for &id in blocks {
            if let Some(Some(value)) = self.before.get(&id)
                && let Some(targets) = self.targets(graph, id)
            {
                graph.blocks[id].end = End::Jump(targets[usize::from(!value)], false);
                changed = true;
            }
        }
        changed
    }

    /// Redirects the jump to a branch from a block that knows the value, if the target does not need
    /// what is computed before the branch. Returns whether there was one.
    fn redirect(&self, graph: &mut Graph<'a>, blocks: &[Id]) -> bool {
        let live = Liveness::new(graph, blocks);
        for &id in blocks {
            let Some(targets) = self.targets(graph, id) else {
                continue;
            };
            for &from in &self.predecessors[id] {
                let Some(Some(value)) = self.after(from) else {
                    continue;
                };
                let target = targets[usize::from(!value)];
                let mut unneeded = target != id;
                for statement in &graph.blocks[id].body {
                    unneeded &= match statement {
                        Statement::Instruction(it) => is_pure(it),
                        other => !matches!(other, Statement::Block(_)),
                    };
                    instructions(statement, &mut |it| {
                        results(it, &mut |name| unneeded &= !live.contains(target, name));
                    });
                }
                if unneeded && blocks.contains(&from) {
                    graph.blocks[from].end.retarget(&|to| match to == id {
                        true => target,
                        false => to,
                    });
                    return true;
                }
            }
        }
        false
    }
}
