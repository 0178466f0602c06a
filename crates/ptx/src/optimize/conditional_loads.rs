//! Predicates loads behind nested conditions if other loads are near.
//!
//! In `if x < width && y < height { *cells.get(y * width + x).unwrap_or(&0) } else { 0 }`, a
//! computation is between the conditions, so the load is behind two branches. ptxas predicates
//! loads behind one branch, unless that is in an arm of another one. Where branches remain, each load
//! waits for the one before. This pass computes the addresses without branches, so that the loads of
//! neighboring cells are in flight together.

use crate::hash::HashSet;

use super::flow::{End, Graph, Id};
use super::instructions::{has_effect, is_parameter, results, sources};
use super::literal;
use super::liveness::Liveness;
use super::names::Names;
use super::specialize::is_fast;
use super::version::number;
use crate::rewrite::instruction;
use crate::{Guard, Instruction, Operand, Statement, Type};

/// The maximum number of instructions behind a condition, which all threads run.
const LARGEST: usize = 16;

/// The maximum number of blocks before and after an arm in which another load is searched.
const NEAR: usize = 8;

/// Replaces branches of a function. Returns the number of replaced ones.
pub(super) fn predicate<'a>(graph: &mut Graph<'a>, names: &'a Names) -> usize {
    let mut loads = 0;
    graph.visit(graph.order.iter().copied(), &mut |it| {
        loads += usize::from(is_global_load(it));
    });
    if loads < 2 {
        return 0;
    }
    let cold = graph.cold();
    let mut count = 0;
    let mut predecessors = graph.predecessors();
    let mut live: Option<Liveness<'a>> = None;
    // Inner branches follow outer ones.
    for &from in graph.order.clone().iter().rev() {
        while !cold[from]
            && let Some(arm) = Arm::at(graph, &cold, &predecessors, from, &mut live)
        {
            arm.apply(graph, names, from);
            predecessors = graph.predecessors();
            live = None;
            count += 1;
        }
    }
    if count > 0 {
        graph.remove_unreachable();
        graph.tidy();
    }
    count
}

fn is_global_load(it: &Instruction<'_>) -> bool {
    it.opcode == "ld" && it.modifiers.first() == Some(&"global") && !has_effect(it)
}

/// The threads that run an instruction of an arm.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Threads {
    All,
    /// Those of the arm.
    Own,
    /// Those of the arm, and only the arm uses the result.
    OwnForArm,
}

/// A block that runs if a condition holds.
struct Arm<'a> {
    block: Id,
    join: Id,
    condition: (&'a str, bool),
    /// The instructions, and which threads run each.
    body: Vec<(Instruction<'a>, Threads)>,
}

impl<'a> Arm<'a> {
    /// Returns the arm of the branch at the end of a block.
    fn at(
        graph: &Graph<'a>,
        cold: &[bool],
        predecessors: &[Vec<Id>],
        from: Id,
        live: &mut Option<Liveness<'a>>,
    ) -> Option<Arm<'a>> {
        let End::Branch(guard, _, to, otherwise) = graph.blocks[from].end else {
            return None;
        };
        let leads = |id: Id, join: Id| {
            predecessors[id][..] == [from]
                && matches!(graph.blocks[id].end, End::Jump(next, _) if next == join)
        };
        let (block, join, holds) = match (leads(to, otherwise), leads(otherwise, to)) {
            (true, false) => (to, otherwise, true),
            (false, true) => (otherwise, to, false),
            _ => return None,
        };
        if cold[block] || cold[join] || join == from {
            return None;
        }
        // Behind another condition for the same, or for more, or around one.
        let mut is_nested = match predecessors[from][..] {
            [before] => {
                let targets = graph.blocks[before].end.targets();
                let mut others = targets.into_iter().filter(|&to| to != from);
                let is_short = graph.blocks[from].body.len() <= LARGEST;
                others.any(|to| to == join || is_short && is_reached(graph, cold, join, to))
            }
            _ => false,
        };
        let mut loads = false;
        let mut body = Vec::new();
        for statement in &graph.blocks[block].body {
            match statement {
                Statement::Instruction(it) => {
                    loads |= is_global_load(it);
                    is_nested |= is_global_load(it) && it.guard.is_some();
                    body.push(it);
                }
                Statement::Loc(_) | Statement::Label(_) => {}
                _ => return None,
            }
        }
        if !loads
            || !is_nested
            || body.len() > LARGEST
            || !has_neighbor(graph, cold, predecessors, from, join)
        {
            return None;
        }
        let live = live.get_or_insert_with(|| Liveness::new(graph, &graph.order.clone()));
        let mut guarded = Vec::new();
        // Registers that the arm reads before it writes them.
        let mut old: HashSet<&'a str> = HashSet::default();
        let mut written: HashSet<&'a str> = HashSet::default();
        for it in body {
            sources(it, &mut |name| {
                if !written.contains(name) {
                    old.insert(name);
                }
            });
            let (mut keeps, mut again) = (it.guard.is_some(), false);
            results(it, &mut |name| {
                keeps |= live.contains(join, name) || old.contains(name);
                again |= !written.insert(name);
            });
            if keeps && !again && is_set(graph, from, it) {
                continue;
            }
            let plain = Instruction {
                guard: None,
                ..it.clone()
            };
            let is_access = is_load(&plain) || is_shared_store(&plain);
            if !is_fast(&plain) && !is_access {
                return None;
            }
            let threads = match (keeps, is_access) {
                (true, _) => Threads::Own,
                (_, true) => Threads::OwnForArm,
                _ => Threads::All,
            };
            guarded.push((it.clone(), threads));
        }
        if written.contains(guard.register) {
            return None;
        }
        Some(Arm {
            block,
            join,
            condition: (guard.register, holds != guard.negated),
            body: guarded,
        })
    }

    fn apply(self, graph: &mut Graph<'a>, names: &'a Names, from: Id) {
        let mut body = std::mem::take(&mut graph.blocks[from].body);
        let (register, value) = self.condition;
        let own = Guard {
            register,
            negated: !value,
        };
        for (mut it, threads) in self.body {
            if threads == Threads::OwnForArm {
                // Otherwise ptxas would keep a register for former values.
                body.extend(zero(graph, &it));
            }
            if threads != Threads::All {
                it.guard = Some(match it.guard {
                    None => own,
                    Some(inner) => {
                        let inner = (inner.register, !inner.negated);
                        let all = [self.condition, inner]
                            .map(|condition| literal(graph, names, &mut body, condition));
                        Guard::new(graph.and(names, &mut body, all))
                    }
                });
            }
            body.push(Statement::Instruction(it));
        }
        graph.blocks[from].body = body;
        graph.blocks[from].end = End::Jump(self.join, false);
        graph.order.retain(|&id| id != self.block);
        // The arm of an outer branch is one block then.
        graph.absorb(from);
    }
}

/// Returns whether a block is reached from another one by a few blocks.
fn is_reached(graph: &Graph<'_>, cold: &[bool], from: Id, to: Id) -> bool {
    let mut seen = HashSet::from_iter([from]);
    let mut pending = vec![from];
    while let Some(id) = pending.pop().filter(|_| seen.len() <= NEAR) {
        let next = graph.blocks[id].end.targets().into_iter();
        pending.extend(next.filter(|&id| !cold[id] && seen.insert(id)));
    }
    !cold[to] && seen.contains(&to)
}

/// Returns an instruction that initializes the result of a load.
pub(super) fn zero<'a>(graph: &Graph<'a>, it: &Instruction<'a>) -> Option<Statement<'a>> {
    let &Operand::Name(result) = it.operands.first()? else {
        return None;
    };
    let ty = graph.type_of(result)?;
    let zero = match ty {
        Type::F32 => Operand::F32(0),
        Type::F64 => Operand::F64(0),
        _ => number(0),
    };
    let operands = vec![Operand::Name(result), zero];
    Some(instruction("mov", &[ty.name()], operands))
}

fn is_load(it: &Instruction<'_>) -> bool {
    it.opcode == "ld" && !has_effect(it) && !is_parameter(it)
}

fn is_shared_store(it: &Instruction<'_>) -> bool {
    it.opcode == "st" && it.modifiers.first() == Some(&"shared") && it.modifiers.len() == 2
}

/// Returns whether another load of global memory is in the block of a branch, or near the arm whose
/// end is `join`.
fn has_neighbor(
    graph: &Graph<'_>,
    cold: &[bool],
    predecessors: &[Vec<Id>],
    from: Id,
    join: Id,
) -> bool {
    let mut found = false;
    graph.visit([from], &mut |it| found |= is_global_load(it));
    for (start, ahead) in [(join, true), (from, false)] {
        let mut pending = vec![start];
        let mut seen = HashSet::from_iter([join, from]);
        while let Some(id) = pending.pop().filter(|_| !found && seen.len() <= NEAR) {
            let (mut waits, mut loads) = (false, false);
            graph.visit([id], &mut |it| {
                let is_barrier = matches!(it.opcode, "bar" | "barrier");
                waits |= is_barrier;
                // Behind the last barrier, or before the first one.
                loads &= ahead || !is_barrier;
                loads |= is_global_load(it) && !(ahead && waits);
            });
            found |= loads;
            if !waits {
                let next = match ahead {
                    true => graph.blocks[id].end.targets().to_vec(),
                    false => predecessors[id].clone(),
                };
                pending.extend(next.into_iter().filter(|&id| !cold[id] && seen.insert(id)));
            }
        }
    }
    found
}

/// Returns whether an instruction sets a register to the constant that it has at the end of a block.
fn is_set<'a>(graph: &Graph<'a>, id: Id, it: &Instruction<'a>) -> bool {
    let [
        Operand::Name(result),
        Operand::Integer(_) | Operand::F32(_) | Operand::F64(_),
    ] = it.operands[..]
    else {
        return false;
    };
    let mut body = graph.blocks[id].body.iter().rev();
    let last = body.find_map(|statement| {
        let Statement::Instruction(before) = statement else {
            return None;
        };
        let mut writes = false;
        results(before, &mut |name| writes |= name == result);
        writes.then_some(before)
    });
    last.is_some_and(|last| {
        last.guard.is_none()
            && it.guard.is_none()
            && (last.opcode, &last.modifiers, &last.operands)
                == (it.opcode, &it.modifiers, &it.operands)
    })
}
