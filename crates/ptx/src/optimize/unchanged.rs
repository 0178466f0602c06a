//! Starts loads of memory that the kernel has not changed before barriers.
//!
//! A raw pointer may point to memory that other threads write, so ptxas moves no load past a barrier.
//! If a kernel copies `image[y * width + x]` into its sum between two barriers, each load waits for the
//! barrier, and each thread then for the load. But many kernels write global memory only at their end: no
//! barrier follows. Then a load reads what was there before the launch, and can come before all barriers.

use std::collections::BTreeSet;

use super::before_barriers::is_barrier;
use super::digraph::Dominators;
use super::divisions::is_load;
use super::flow::{End, Graph, Id};
use super::instructions::{
    can_be_copied, has_effect, instructions, is_among_lanes, is_pure, rename, results, sources,
};
use super::names::Names;
use super::sink::dominators;
use super::{definitions, liveness, loops, words};
use crate::hash::{HashMap, HashSet};
use crate::rewrite::instruction;
use crate::{Base, Instruction, Operand, Statement};

/// The maximum number of 32-bit words that loads before a barrier read.
const WORDS: usize = 16;

/// The maximum number of live registers of a kernel, with those that loads before a barrier write.
const PRESSURE: usize = 96;

/// The maximum number of blocks that a load passes.
const BLOCKS: usize = 16;

/// The maximum number of instructions that compute the address of a load.
const ADDRESS: usize = 6;

/// A place in a block.
type Place = (Id, usize);

/// Returns the places of loads of global memory that read what was there before the launch.
///
/// A write of the thread itself precedes a load only if a path leads from the write to the load. A write
/// of another thread precedes it only if that thread synchronizes with others after the write: otherwise,
/// the load and the write race. So no thread may synchronize after a write.
pub(super) fn unchanged(graph: &Graph<'_>) -> HashSet<Place> {
    let mut found = HashSet::default();
    let cold = graph.cold();
    let mut may_acquire = false;
    let hot = || graph.order.iter().copied().filter(|&id| !cold[id]);
    graph.visit(hot(), &mut |it| {
        may_acquire |= matches!(it.opcode, "atom" | "call" | "fence" | "membar")
            || it.opcode == "ld" && has_effect(it);
    });
    if may_acquire {
        // A thread that panics releases what it has written.
        return found;
    }
    // The blocks that a path from a write leads to.
    let mut later: HashSet<Id> = HashSet::default();
    let mut pending = Vec::new();
    for &id in &graph.order {
        let mut writes = false;
        graph.visit([id], &mut |it| writes |= may_write(it));
        if writes {
            pending.extend(graph.blocks[id].end.targets());
        }
    }
    while let Some(id) = pending.pop() {
        if later.insert(id) {
            pending.extend(graph.blocks[id].end.targets());
        }
    }
    for id in hot() {
        let mut is_later = later.contains(&id);
        for (at, statement) in graph.blocks[id].body.iter().enumerate() {
            let (mut synchronizes, mut writes) = (false, false);
            instructions(statement, &mut |it| {
                synchronizes |= !can_be_copied(it);
                writes |= may_write(it);
            });
            if is_later && synchronizes {
                return HashSet::default();
            }
            if let Statement::Instruction(it) = statement
                && is_load(it)
                && !is_later
            {
                found.insert((id, at));
            }
            is_later |= writes;
        }
    }
    found
}

/// Returns whether an instruction may write memory that other threads of the launch load.
fn may_write(it: &Instruction<'_>) -> bool {
    let is_own = |space: &&str| ["local", "param", "shared"].contains(space);
    match it.opcode {
        "st" => !it.modifiers.first().is_some_and(is_own),
        "ld" | "activemask" | "bar" | "barrier" | "elect" | "ldmatrix" | "mma" => false,
        _ if is_among_lanes(it) => false,
        // A panic writes its report.
        "call" => false,
        _ => !is_pure(it) && (has_effect(it) || !can_be_copied(it)),
    }
}

/// Returns whether a load of memory that has not changed can pass an instruction.
pub(super) fn can_pass(it: &Instruction<'_>) -> bool {
    can_be_copied(it) || is_among_lanes(it) || is_barrier(it)
}

/// Moves loads before barriers. Returns how many.
pub(super) fn start<'a>(graph: &mut Graph<'a>, names: &'a Names) -> usize {
    let cold = graph.cold();
    let hot: Vec<Id> = (graph.order.iter().copied())
        .filter(|&id| !cold[id])
        .collect();
    let mut waits = false;
    graph.visit(hot.iter().copied(), &mut |it| waits |= is_barrier(it));
    if !waits {
        return 0;
    }
    let mut loads: Vec<Place> = unchanged(graph).into_iter().collect();
    if loads.is_empty() {
        return 0;
    }
    let order = loops::places(graph);
    loads.sort_unstable_by_key(|&(id, at)| (order[id], at));
    let (_, back) = loops::back_edges(graph, &cold);
    let ways = Ways {
        dominators: dominators(graph),
        headers: back.iter().map(|&(_, to)| to).collect(),
        definitions: definitions(graph, &vec![false; graph.blocks.len()]),
        cold,
    };
    let mut live = liveness::pressure(graph, &hot);
    let mut moves: Vec<(Place, Place, Vec<Place>)> = Vec::new();
    let mut sizes: HashMap<Place, usize> = HashMap::default();
    for load in loads {
        let Some((to, address)) = ways.earlier(graph, load) else {
            continue;
        };
        let Statement::Instruction(it) = &graph.blocks[load.0].body[load.1] else {
            continue;
        };
        let size = sizes.entry(to).or_insert(0);
        if *size + words(it) > WORDS || live + words(it) > PRESSURE {
            continue;
        }
        *size += words(it);
        live += words(it);
        moves.push((load, to, address));
    }
    let count = moves.len();
    // What to insert, and where.
    let mut new: Vec<(Place, Vec<Statement<'a>>)> = Vec::new();
    for (load, to, address) in moves {
        let mut body = Vec::new();
        let mut now: HashMap<&'a str, &'a str> = HashMap::default();
        for place in address.into_iter().chain([load]) {
            let Statement::Instruction(mut it) = graph.blocks[place.0].body[place.1].clone() else {
                continue;
            };
            let Some(&Operand::Name(result)) = it.operands.first() else {
                continue;
            };
            let Some(ty) = graph.type_of(result) else {
                continue;
            };
            let own = graph.register(ty, names);
            let mut sources = it.clone();
            rename(&mut sources, &mut |name| {
                now.get(name).copied().unwrap_or(name)
            });
            it.operands = sources.operands;
            it.operands[0] = Operand::Name(own);
            body.push(Statement::Instruction(it));
            now.insert(result, own);
            if place == load {
                let moved = [result, own].map(Operand::Name).to_vec();
                graph.blocks[load.0].body[load.1] = instruction("mov", &[ty.name()], moved);
            }
        }
        new.push((to, body));
    }
    // Later places of a block first, and at the same place the last load first.
    new.reverse();
    new.sort_by_key(|&((id, at), _)| (id, std::cmp::Reverse(at)));
    for ((id, at), body) in new {
        graph.blocks[id].body.splice(at..at, body);
    }
    count
}

/// The ways through a function.
struct Ways<'a> {
    dominators: Dominators,
    headers: HashSet<Id>,
    definitions: HashMap<&'a str, u32>,
    cold: Vec<bool>,
}

impl<'a> Ways<'a> {
    /// Returns the barrier that a load can come before, and the places of the instructions that compute
    /// its address.
    fn earlier(&self, graph: &Graph<'a>, load: Place) -> Option<(Place, Vec<Place>)> {
        let (block, at) = load;
        let it = match &graph.blocks[block].body[at] {
            Statement::Instruction(it) if it.guard.is_none() => it,
            _ => return None,
        };
        let [Operand::Name(result), Operand::Address(Base::Name(_), _)] = it.operands[..] else {
            return None;
        };
        graph.type_of(result)?;
        // The blocks that always run before the load, with those on the ways from each to the next.
        let mut line: Vec<(Id, BTreeSet<Id>)> = vec![(block, BTreeSet::new())];
        let mut passed = 0;
        while let Some(&(id, _)) = line.last() {
            if self.headers.contains(&id) {
                break;
            }
            let Some(above) = self.dominators.immediate_dominator(id) else {
                break;
            };
            let Some(between) = self.between(graph, above, id) else {
                break;
            };
            passed += 1 + between.len();
            if passed > BLOCKS {
                break;
            }
            line.push((above, between));
        }
        // The last one first: it is the first to run.
        for last in (0..line.len()).rev() {
            let (id, _) = line[last];
            let end = if id == block {
                at
            } else {
                graph.blocks[id].body.len()
            };
            for place in 0..end {
                let is_wait = matches!(
                    &graph.blocks[id].body[place],
                    Statement::Instruction(it) if is_barrier(it)
                );
                if is_wait && let Some(address) = self.address(graph, load, &line[..=last], place) {
                    return Some(((id, place), address));
                }
            }
        }
        None
    }

    /// Returns the blocks on the ways from the end of a block to another one, if all threads take them, and
    /// leave none of them.
    fn between(&self, graph: &Graph<'a>, from: Id, to: Id) -> Option<BTreeSet<Id>> {
        let mut found = BTreeSet::new();
        let mut pending = vec![from];
        while let Some(id) = pending.pop() {
            let end = &graph.blocks[id].end;
            if !matches!(end, End::Jump(..) | End::Branch(..)) {
                return None;
            }
            for target in end.targets() {
                if self.cold[target] || self.dominators.dominates(target, id) {
                    return None;
                }
                if target != to && found.insert(target) {
                    pending.push(target);
                }
            }
            if found.len() > BLOCKS {
                return None;
            }
        }
        Some(found)
    }

    /// Returns the places of the instructions that compute the address of a load, if they and the load can
    /// run at a place of the first block of a line, which ends in the block with the load.
    fn address(
        &self,
        graph: &Graph<'a>,
        load: Place,
        line: &[(Id, BTreeSet<Id>)],
        place: usize,
    ) -> Option<Vec<Place>> {
        let (first, _) = *line.last()?;
        // The statements that the load passes, and where each register is written.
        let mut written: HashMap<&'a str, Option<Place>> = HashMap::default();
        for (id, _) in line.iter().rev() {
            let from = if *id == first { place } else { 0 };
            let to = if *id == load.0 {
                load.1
            } else {
                graph.blocks[*id].body.len()
            };
            for (at, statement) in graph.blocks[*id]
                .body
                .iter()
                .enumerate()
                .take(to)
                .skip(from)
            {
                self.pass(statement, Some((*id, at)), &mut written)?;
            }
        }
        for (_, between) in line {
            for &id in between {
                for statement in &graph.blocks[id].body {
                    self.pass(statement, None, &mut written)?;
                }
            }
        }
        let Statement::Instruction(it) = &graph.blocks[load.0].body[load.1] else {
            return None;
        };
        let mut needed: BTreeSet<(usize, usize)> = BTreeSet::new();
        let rank: HashMap<Id, usize> = (line.iter().rev().enumerate())
            .map(|(rank, &(id, _))| (id, rank))
            .collect();
        let mut pending = Vec::new();
        let (Some(Operand::Address(Base::Name(base), _)), limit) =
            (it.operands.get(1), (rank[&load.0], load.1))
        else {
            return None;
        };
        pending.push((*base, limit));
        while let Some((name, before)) = pending.pop() {
            let Some(writer) = written.get(name) else {
                continue;
            };
            let (id, at) = (*writer)?;
            let own = (rank[&id], at);
            // A register with another writer could have another value.
            if own >= before || self.definitions.get(name) != Some(&1) {
                return None;
            }
            if needed.insert(own) {
                if needed.len() > ADDRESS {
                    return None;
                }
                let Statement::Instruction(it) = &graph.blocks[id].body[at] else {
                    return None;
                };
                if !is_pure(it) || !matches!(it.operands.first(), Some(Operand::Name(_))) {
                    return None;
                }
                sources(it, &mut |name| pending.push((name, own)));
            }
        }
        let blocks: Vec<Id> = line.iter().rev().map(|&(id, _)| id).collect();
        Some(
            needed
                .into_iter()
                .map(|(rank, at)| (blocks[rank], at))
                .collect(),
        )
    }

    /// Adds the registers that a statement writes, at its place if it always runs. Returns `None` if a
    /// load must not pass the statement.
    fn pass(
        &self,
        statement: &Statement<'a>,
        place: Option<Place>,
        written: &mut HashMap<&'a str, Option<Place>>,
    ) -> Option<()> {
        let it = match statement {
            Statement::Instruction(it) => it,
            Statement::Loc(_) | Statement::Label(_) => return Some(()),
            _ => return None,
        };
        if !can_pass(it) {
            return None;
        }
        results(it, &mut |name| {
            written
                .entry(name)
                .and_modify(|known| *known = None)
                .or_insert(place);
        });
        Some(())
    }
}
