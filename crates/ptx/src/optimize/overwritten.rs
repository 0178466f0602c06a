//! Delays stores that some paths overwrite.
//!
//! `*to = 0; if inside { *to = value; }` stores twice where the condition holds, and the branches of
//! the condition are apart from the end of the thread. libnvvm only removes a store that all paths
//! overwrite. In the copy that `specialize` makes, this pass moves the first store to the paths that
//! do not overwrite it.

use crate::hash::{HashMap, HashSet};

use super::flow::{Block, End, Graph, Id};
use super::instructions::{instructions, is_parameter, is_pure};
use super::names::Names;
use super::specialize::Special;
use super::writes;
use crate::{Base, Instruction, Operand, Statement};

/// The maximum number of blocks between a store and those that overwrite it.
const BLOCKS: usize = 16;

/// A store, and where it moves.
struct Delayed {
    /// The block and the place of the store.
    store: (Id, usize),
    /// The edges to paths that do not overwrite it.
    edges: Vec<(Id, Id)>,
}

/// Delays the stores of the copy. Returns how many.
pub(super) fn delay<'a>(graph: &mut Graph<'a>, names: &'a Names, special: &Special<'a>) -> usize {
    let mut count = 0;
    for id in special.blocks(graph) {
        let Some(Delayed { store, edges }) = delayed(graph, id) else {
            continue;
        };
        let statement = graph.blocks[store.0].body.remove(store.1);
        // One block for all edges to the same target.
        let mut added: HashMap<Id, Id> = HashMap::default();
        for (from, to) in edges {
            let new = *added.entry(to).or_insert_with(|| {
                let block = Block {
                    label: names.label(),
                    body: vec![statement.clone()],
                    end: End::Jump(to, false),
                };
                graph.add(block, Some(from))
            });
            let retarget = |target| if target == to { new } else { target };
            graph.blocks[from].end.retarget(&retarget);
        }
        count += 1;
    }
    count
}

/// Returns the last store of a block, if a path overwrites it before anything else accesses memory.
fn delayed<'a>(graph: &Graph<'a>, id: Id) -> Option<Delayed> {
    let body = &graph.blocks[id].body;
    let place = body.iter().rposition(|it| !is_free(it))?;
    let Statement::Instruction(store) = &body[place] else {
        return None;
    };
    if !is_plain_store(store) {
        return None;
    }
    let mut used = HashSet::default();
    for operand in &store.operands {
        match operand {
            Operand::Address(Base::Name(name), _) | Operand::Name(name) => _ = used.insert(*name),
            Operand::Address(Base::Absolute, _) => return None,
            _ => {}
        }
    }
    let keeps = |body: &[Statement<'a>]| {
        let mut keeps = true;
        for statement in body {
            instructions(statement, &mut |it| keeps &= !writes(it, &used));
        }
        keeps
    };
    if !keeps(&body[place + 1..]) {
        return None;
    }
    let (cold, predecessors) = (graph.cold(), graph.predecessors());
    let (mut edges, mut inside, mut overwrites) = (Vec::new(), vec![id], 0);
    let mut next = 0;
    while next < inside.len() {
        let from = inside[next];
        next += 1;
        if !matches!(graph.blocks[from].end, End::Jump(..) | End::Branch(..)) {
            return None;
        }
        for to in graph.blocks[from].end.targets() {
            if cold[to] {
                return None;
            }
            let body = &graph.blocks[to].body;
            let first = body.iter().position(|it| !is_free(it));
            let (before, access) = body.split_at(first.unwrap_or(body.len()));
            let is_own = predecessors[to].len() == 1 && to != id;
            match access.first() {
                Some(Statement::Instruction(it))
                    if is_own && keeps(before) && is_overwritten_by(store, it) =>
                {
                    overwrites += 1;
                }
                None if is_own && keeps(before) && inside.len() < BLOCKS => {
                    match graph.blocks[to].end {
                        End::Jump(..) | End::Branch(..) => inside.push(to),
                        _ => edges.push((from, to)),
                    }
                }
                _ => edges.push((from, to)),
            }
        }
    }
    (overwrites > 0).then_some(Delayed {
        store: (id, place),
        edges,
    })
}

/// Returns whether a statement neither accesses memory that a store can change nor has another
/// effect.
fn is_free(statement: &Statement<'_>) -> bool {
    match statement {
        Statement::Loc(_) => true,
        Statement::Instruction(it) => {
            let is_constant = it.opcode == "ld" && it.modifiers.contains(&"nc");
            is_pure(it) || is_parameter(it) || is_constant
        }
        _ => false,
    }
}

/// Returns whether an instruction always stores to global memory, without order to other accesses.
fn is_plain_store(it: &Instruction<'_>) -> bool {
    let is_plain = matches!(it.modifiers[..], ["global", _] | ["global", "v2" | "v4", _]);
    it.opcode == "st" && it.guard.is_none() && is_plain
}

/// Returns whether an instruction stores to the same bytes as a store.
fn is_overwritten_by<'a>(store: &Instruction<'a>, it: &Instruction<'a>) -> bool {
    let place = |it: &Instruction<'a>| match it.operands.first() {
        Some(&Operand::Address(base, offset)) => Some((base, offset)),
        _ => None,
    };
    let is_same = it.modifiers == store.modifiers && place(it) == place(store);
    is_plain_store(it) && is_same && place(it).is_some()
}
