//! Loads what the next iteration of a loop with barriers needs.
//!
//! In `for step in steps { let next = f(shared, step[i]); sync(); shared[t] = next; sync(); }`, each
//! iteration loads an element of memory that does not change, and then waits for it: the load cannot
//! overlap with the iteration before, since ptxas moves no load past a barrier. This pass loads the element
//! of the first iteration before the loop, and that of the next one at the end of each iteration, so the
//! latency of the load overlaps with a whole iteration.
//!
//! The next iteration must execute the load whatever happens in it before, and at an address that is
//! known: all branches before the load have the same outcome in each iteration, so that a load that has
//! passed its checks passes them again.

use crate::hash::{HashMap, HashSet};

use super::before_barriers::{is_barrier, is_constant};
use super::counts::always_runs;
use super::flow::{Block, End, Graph, Id};
use super::instructions::instructions;
use super::loops::{self, Loop};
use super::names::Names;
use super::unchanged::{self, can_pass};
use super::version::Ahead;
use crate::rewrite::instruction;
use crate::{Base, Guard, Instruction, Operand, Statement, Type};

/// The maximum number of loads of a loop: each keeps a register for the whole loop.
const LOADS: usize = 2;

/// The maximum number of blocks before a load.
const BLOCKS: usize = 16;

/// The maximum distance of the addresses of two iterations, which is part of an instruction.
const DISTANCE: i64 = 1 << 20;

/// Loads elements an iteration ahead in all loops where that is possible. Returns how many.
pub(super) fn start<'a>(graph: &mut Graph<'a>, names: &'a Names) -> usize {
    let cold = graph.cold();
    let mut count = 0;
    for each in loops::innermost(graph, &cold) {
        count += start_in(graph, names, &each, &HashSet::default()).unwrap_or(0);
    }
    count
}

/// The same for elements that the kernel has not changed.
pub(super) fn start_unchanged<'a>(graph: &mut Graph<'a>, names: &'a Names) -> usize {
    let cold = graph.cold();
    let mut count = 0;
    let mut unchanged = None;
    for each in loops::innermost(graph, &cold) {
        let (mut passes, mut waits) = (true, false);
        graph.visit(each.blocks.iter().copied(), &mut |it| {
            passes &= can_pass(it);
            waits |= is_barrier(it);
        });
        if passes && waits {
            let found = unchanged.get_or_insert_with(|| unchanged::unchanged(graph));
            let started = start_in(graph, names, &each, found).unwrap_or(0);
            count += started;
            if started > 0 {
                // The places of other loads have changed.
                unchanged = None;
            }
        }
    }
    count
}

/// A load in a loop.
struct Load<'a> {
    block: Id,
    at: usize,
    instruction: Instruction<'a>,
    result: &'a str,
    ty: Type,
    /// The difference between the address in the next iteration and the value of the base at the end of
    /// this one.
    step: i64,
}

/// The same for a loop. `unchanged` are the places of loads of memory that does not change.
fn start_in<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    each: &Loop<'a>,
    unchanged: &HashSet<(Id, usize)>,
) -> Option<usize> {
    let (continues, value) = each.guard(graph)?;
    let mut waits = false;
    graph.visit(each.blocks.iter().copied(), &mut |it| {
        waits |= is_barrier(it)
    });
    if !waits {
        return None;
    }
    let counters = each.counters(graph);
    let mut ahead = Ahead::new(graph, names, each, &counters);
    let loads = loads(&mut ahead, unchanged)?;
    // For each load, the predicate that the first iteration executes it, if that is not certain.
    let mut first = Vec::new();
    for load in &loads {
        let reached = Reached {
            ahead: &mut ahead,
            known: HashMap::default(),
        }
        .of(load.block)?;
        let Operand::Address(Base::Name(base), offset) = load.instruction.operands[1] else {
            return None;
        };
        let Operand::Name(base) = ahead.value(&Operand::Name(base), 0)? else {
            return None;
        };
        let ahead_of = ahead.graph.register(load.ty, names);
        let mut it = load.instruction.clone();
        it.operands[0] = Operand::Name(ahead_of);
        it.operands[1] = Operand::Address(Base::Name(base), offset);
        it.guard = reached.map(Guard::new);
        first.push((ahead_of, it));
    }
    let mut body = ahead.body;
    for (load, (ahead_of, first)) in loads.iter().zip(first) {
        body.push(Statement::Instruction(first));
        let mut next = load.instruction.clone();
        next.operands[0] = Operand::Name(ahead_of);
        if let Operand::Address(_, offset) = &mut next.operands[1] {
            *offset += load.step;
        }
        next.guard = Some(Guard {
            negated: !value,
            register: continues,
        });
        graph.blocks[each.latch]
            .body
            .push(Statement::Instruction(next));
        let moved = [load.result, ahead_of].map(Operand::Name).to_vec();
        graph.blocks[load.block].body[load.at] = instruction("mov", &[load.ty.name()], moved);
    }
    let header = each.header;
    let outside: Vec<Id> = (graph.predecessors_of_one(header))
        .filter(|&id| !each.contains(id))
        .collect();
    let label = names.label();
    let end = End::Jump(header, false);
    let before = graph.add_before(Block { label, body, end }, header);
    for id in outside {
        let retarget = |to| if to == header { before } else { to };
        graph.blocks[id].end.retarget(&retarget);
    }
    Some(loads.len())
}

/// Returns the loads of memory that does not change, if the next iteration executes each of them, at an
/// address that is known.
fn loads<'a>(ahead: &mut Ahead<'_, 'a>, unchanged: &HashSet<(Id, usize)>) -> Option<Vec<Load<'a>>> {
    let mut places = Vec::new();
    for &id in &ahead.each.blocks {
        for (at, statement) in ahead.graph.blocks[id].body.iter().enumerate() {
            let mut found = false;
            instructions(statement, &mut |it| {
                found |= it.opcode == "ld" && it.modifiers[0] == "global"
            });
            if let (true, Statement::Instruction(it)) = (found, statement) {
                places.push((id, at, it.clone()));
            } else if found {
                return None;
            }
        }
    }
    if places.is_empty() || places.len() > LOADS {
        return None;
    }
    let mut loads = Vec::new();
    for (block, at, it) in places {
        let [
            Operand::Name(result),
            Operand::Address(Base::Name(base), offset),
        ] = it.operands[..]
        else {
            return None;
        };
        let is_only = matches!(ahead.each.written.get(result), Some((1, ..)));
        let is_constant = is_constant(&it) || unchanged.contains(&(block, at));
        if !is_constant
            || it.guard.is_some()
            || !is_only
            || leaves(ahead.graph, block)
            || !always_runs(ahead.graph, ahead.each, block)
        {
            return None;
        }
        let mut step = ahead.step_without_wrap(base)?;
        if ahead.counters.iter().any(|it| it.register == base) {
            // The latch adds the step to a counter itself, after the load.
            let &(_, changed_in, place) = ahead.each.written.get(base)?;
            if block == changed_in && at > place {
                return None;
            }
            step = 0;
        }
        let fits = (offset.unsigned_abs() as i64) < DISTANCE && step.abs() < DISTANCE;
        let ty = ahead.graph.type_of(result).filter(|_| fits)?;
        loads.push(Load {
            block,
            at,
            instruction: it,
            result,
            ty,
            step,
        });
    }
    Some(loads)
}

/// Returns whether a thread may not reach the end of a block.
fn leaves(graph: &Graph<'_>, id: Id) -> bool {
    let mut found = false;
    graph.visit([id], &mut |it| {
        found |= matches!(it.opcode, "call" | "exit" | "ret" | "trap");
    });
    found
}

/// Whether the first iteration reaches blocks of a loop.
struct Reached<'r, 'l, 'a> {
    ahead: &'r mut Ahead<'l, 'a>,
    known: HashMap<Id, Option<&'a str>>,
}

impl<'a> Reached<'_, '_, 'a> {
    /// Returns a predicate that the first iteration reaches a block, or `Some(None)` if it does in any
    /// case. Returns `None` if another iteration may differ.
    fn of(&mut self, id: Id) -> Option<Option<&'a str>> {
        if let Some(&known) = self.known.get(&id) {
            return Some(known);
        }
        if self.known.len() >= BLOCKS {
            return None;
        }
        let each = self.ahead.each;
        let mut reached = Some(None);
        if id != each.header {
            let before: HashSet<Id> = self.ahead.graph.predecessors_of_one(id).collect();
            let mut before: Vec<Id> = before.into_iter().collect();
            before.sort_unstable();
            let mut any: Option<&'a str> = None;
            reached = None;
            for from in before {
                if !each.contains(from) || from == each.latch {
                    return None;
                }
                let Some(edge) = self.edge(from, id)? else {
                    reached = Some(None);
                    break;
                };
                let either = match any {
                    None => edge,
                    Some(any) => self.combined("or", [any, edge].map(Operand::Name))?,
                };
                any = Some(either);
                reached = Some(any);
            }
        }
        let reached = reached?;
        self.known.insert(id, reached);
        Some(reached)
    }

    /// The same for an edge between blocks.
    fn edge(&mut self, from: Id, to: Id) -> Option<Option<&'a str>> {
        if leaves(self.ahead.graph, from) {
            return None;
        }
        let before = self.of(from)?;
        let (guard, then, otherwise) = match self.ahead.graph.blocks[from].end {
            End::Jump(..) => return Some(before),
            End::Branch(guard, _, then, otherwise) => (guard, then, otherwise),
            _ => return None,
        };
        let condition = Operand::Name(guard.register);
        if !self.ahead.is_invariant(&condition) {
            return None;
        }
        if then == otherwise {
            return Some(before);
        }
        let Operand::Name(mut condition) = self.ahead.value(&condition, 0)? else {
            return None;
        };
        if (then == to) == guard.negated {
            condition = self.combined("not", [Operand::Name(condition)])?;
        }
        match before {
            None => Some(Some(condition)),
            Some(before) => {
                let both = self.combined("and", [before, condition].map(Operand::Name))?;
                Some(Some(both))
            }
        }
    }

    fn combined<const N: usize>(
        &mut self,
        opcode: &'a str,
        sources: [Operand<'a>; N],
    ) -> Option<&'a str> {
        match self.ahead.emit(Type::Pred, opcode, &["pred"], sources) {
            Operand::Name(name) => Some(name),
            _ => None,
        }
    }
}
