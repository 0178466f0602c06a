//! Moves instructions whose results only panics read to the panics.
//!
//! A panic gets the index that is out of bounds, and code that finds out which of several checks
//! fails gets all their indices. If the hot code needs none of these, for example because it has the
//! address in another register, it should not compute them: ptxas does not move an instruction to
//! another block.

use std::collections::BTreeSet;

use super::flow::{Graph, Id};
use super::instructions::{instructions, is_pure, results, sources};
use super::specialize::Special;
use crate::hash::{HashMap, HashSet};
use crate::{Instruction, Operand, Statement};

/// The maximum number of panics to which an instruction is copied.
const COPIES: usize = 8;

/// What reads and writes the registers of a function.
struct Accesses<'a> {
    /// The number of operands of hot code.
    hot: HashMap<&'a str, usize>,
    /// The cold blocks.
    cold: HashMap<&'a str, BTreeSet<Id>>,
    /// The blocks that write the register, with the position.
    writes: HashMap<&'a str, Vec<(Id, usize)>>,
}

/// The entry of cold code.
struct Entry {
    id: Id,
    /// The cold blocks that it leads to, itself included.
    reached: HashSet<Id>,
}

/// Moves instructions of the copy of a kernel's body. Returns the number of moved ones.
pub(super) fn sink<'a>(graph: &mut Graph<'a>, special: &Special<'a>) -> usize {
    let cold = graph.cold();
    let predecessors = graph.predecessors();
    let blocks = special.blocks(graph);
    let own: HashSet<Id> = blocks.iter().copied().collect();
    let is_hot = |id: &Id| !cold[*id];
    // Other code gets to some cold blocks, too.
    let entries: Vec<Entry> = (blocks.iter())
        .filter(|&&id| {
            cold[id]
                && !predecessors[id].is_empty()
                && predecessors[id]
                    .iter()
                    .all(|from| is_hot(from) && own.contains(from))
        })
        .map(|&id| Entry {
            id,
            reached: reached(graph, id),
        })
        .collect();
    let mut accesses = Accesses::new(graph, &cold);
    // Cold blocks that are reached in another way than through these entries.
    let mut others: HashSet<Id> = HashSet::default();
    for &id in &graph.order {
        let is_entry = entries.iter().any(|entry| entry.id == id);
        if cold[id] && !is_entry && predecessors[id].iter().any(is_hot) {
            others.extend(reached(graph, id));
        }
    }
    let mut count = 0;
    let hot: Vec<Id> = (graph.order.iter().rev().copied())
        .filter(|id| own.contains(id) && !cold[*id])
        .collect();
    for id in hot {
        let mut before: HashMap<Id, HashSet<Id>> = HashMap::default();
        for place in (0..graph.blocks[id].body.len()).rev() {
            let Statement::Instruction(it) = &graph.blocks[id].body[place] else {
                continue;
            };
            let Some(result) = only_cold(it, &accesses) else {
                continue;
            };
            let readers = &accesses.cold[result];
            if readers.iter().any(|reader| others.contains(reader)) {
                continue;
            }
            let needed: Vec<Id> = (entries.iter())
                .filter(|entry| readers.iter().any(|reader| entry.reached.contains(reader)))
                .map(|entry| entry.id)
                .collect();
            let is_same = needed.iter().all(|&entry| {
                let before =
                    (before.entry(entry)).or_insert_with(|| leading_to(&predecessors, entry, id));
                let mut same = true;
                sources(it, &mut |name| {
                    let writes = accesses.writes.get(name).into_iter().flatten();
                    for &(block, written) in writes {
                        let follows = block != id || written > place;
                        same &= !(follows && before.contains(&block));
                    }
                });
                same
            });
            if needed.is_empty() || needed.len() > COPIES || !is_same {
                continue;
            }
            // The positions of the statements before it stay.
            let moved = graph.blocks[id].body.remove(place);
            accesses.moved(&moved, &needed);
            for entry in needed {
                insert(&mut graph.blocks[entry].body, moved.clone());
            }
            count += 1;
        }
    }
    count
}

impl<'a> Accesses<'a> {
    fn new(graph: &Graph<'a>, cold: &[bool]) -> Accesses<'a> {
        let mut accesses = Accesses {
            hot: HashMap::default(),
            cold: HashMap::default(),
            writes: HashMap::default(),
        };
        for &id in &graph.order {
            let block = &graph.blocks[id];
            let mut read = |name: &'a str| match cold[id] {
                true => _ = accesses.cold.entry(name).or_default().insert(id),
                false => *accesses.hot.entry(name).or_default() += 1,
            };
            for statement in &block.body {
                instructions(statement, &mut |it| sources(it, &mut read));
            }
            (block.end).sources(&mut read);
            for (place, statement) in block.body.iter().enumerate() {
                instructions(statement, &mut |it| {
                    let mut write = |name: &'a str| {
                        accesses.writes.entry(name).or_default().push((id, place));
                    };
                    results(it, &mut write);
                });
            }
        }
        accesses
    }

    /// Considers that an instruction has been moved to cold blocks.
    fn moved(&mut self, statement: &Statement<'a>, to: &[Id]) {
        instructions(statement, &mut |it| {
            sources(it, &mut |name| {
                if let Some(count) = self.hot.get_mut(name) {
                    *count -= 1;
                }
                self.cold.entry(name).or_default().extend(to);
            });
        });
    }
}

/// Returns the register that an instruction writes, if it has no other effect, no other instruction
/// writes the register, and only cold code reads it.
fn only_cold<'a>(it: &Instruction<'a>, accesses: &Accesses<'a>) -> Option<&'a str> {
    let Some(&Operand::Name(result)) = it.operands.first() else {
        return None;
    };
    let is_only = accesses
        .writes
        .get(result)
        .is_some_and(|all| all.len() == 1);
    let is_read = accesses.cold.contains_key(result);
    let hot = accesses.hot.get(result).copied().unwrap_or(0);
    (is_pure(it) && is_only && is_read && hot == 0).then_some(result)
}

/// Returns the blocks that a block leads to, itself included.
fn reached(graph: &Graph<'_>, from: Id) -> HashSet<Id> {
    let mut all = HashSet::from_iter([from]);
    let mut pending = vec![from];
    while let Some(id) = pending.pop() {
        let targets = graph.blocks[id].end.targets().into_iter();
        pending.extend(targets.filter(|&to| all.insert(to)));
    }
    all
}

/// Returns the blocks from whose end a path leads to `entry` that does not run `without`, which is
/// one of the blocks if it directly precedes such a path.
fn leading_to(predecessors: &[Vec<Id>], entry: Id, without: Id) -> HashSet<Id> {
    let mut all = HashSet::default();
    let mut pending = vec![entry];
    while let Some(id) = pending.pop() {
        for &from in &predecessors[id] {
            if all.insert(from) && from != without {
                pending.push(from);
            }
        }
    }
    all
}

/// Inserts a statement before the first instruction of a block.
fn insert<'a>(body: &mut Vec<Statement<'a>>, statement: Statement<'a>) {
    let place = (body.iter())
        .position(|it| matches!(it, Statement::Instruction(_) | Statement::Block(_)))
        .unwrap_or(body.len());
    body.insert(place, statement);
}
