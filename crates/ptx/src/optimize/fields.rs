//! Starts the loads of a structure's fields together.
//!
//! `kinds[atom.kind]` checks one field of an atom before the others are loaded, for each atom in a loop.
//! ptxas moves no load across the check, so that each iteration waits a second time for the same cache
//! line, and [`vectors`](super::vectors) does not combine the fields' loads.
//!
//! The pass moves loads that follow a load of the same part of an element directly behind it: from the
//! blocks that threads reach unless they panic. The memory is readable, since the elements of the slice
//! consist of whole parts, and no instruction of the kernel writes it.

use crate::hash::{HashMap, HashSet};
use std::rc::Rc;

use super::divisions::{is_constant, is_load};
use super::flow::{Graph, Id, Shape};
use super::instructions::{results, sources};
use super::specialize::Special;
use super::vectors::{Lows, Origins};
use crate::{Base, Instruction, Operand, Slice, Statement};

/// The sizes of parts in bytes, the largest first.
const PARTS: [i64; 2] = [16, 8];

/// The maximum number of blocks that loads pass.
const BLOCKS: usize = 8;

/// Moves loads of the copy. Returns how many.
pub(super) fn gather<'a>(graph: &mut Graph<'a>, special: &Special<'a>, slices: &[&Slice]) -> usize {
    let shape = graph.shape();
    let lows = Lows::new(&Rc::new(Origins::new(graph, slices)), 0);
    let mut definitions: HashMap<&str, u32> = HashMap::default();
    graph.visit(graph.order.iter().copied(), &mut |it| {
        results(it, &mut |name| *definitions.entry(name).or_default() += 1);
    });
    let single = |it: &Instruction<'a>| {
        let mut single = true;
        results(it, &mut |name| single &= definitions[name] == 1);
        single
    };
    let mut count = 0;
    for first in special.blocks(graph) {
        if shape.cold[first] {
            continue;
        }
        let mut at = 0;
        while at < graph.blocks[first].body.len() {
            let part = match &graph.blocks[first].body[at] {
                Statement::Instruction(it) => part(&lows, it),
                _ => None,
            };
            at += 1;
            let Some(part) = part else {
                continue;
            };
            let is_field = |it: &Instruction<'a>| single(it) && part.contains(it);
            let mut places = following(graph, &shape, (first, at), part.base, &is_field);
            count += places.len();
            // The later ones first, so that the places of the others stay.
            let mut loads = Vec::with_capacity(places.len());
            while let Some((block, index)) = places.pop() {
                loads.push(graph.blocks[block].body.remove(index));
            }
            loads.reverse();
            graph.blocks[first].body.splice(at..at, loads);
        }
    }
    count
}

/// A part of an element: an aligned number of bytes.
struct Part<'a> {
    base: &'a str,
    /// The offsets of its bytes.
    offsets: std::ops::Range<i64>,
}

impl<'a> Part<'a> {
    /// Returns whether an instruction is a load of constant memory in the part.
    fn contains(&self, it: &Instruction<'a>) -> bool {
        let own = |&offset: &i64| self.offsets.contains(&offset);
        is_field(it).is_some_and(|(base, offset)| {
            let last = offset + super::bytes_of(it) as i64 - 1;
            base == self.base && own(&offset) && own(&last)
        })
    }
}

/// Returns the part of an element that a load of constant memory reads, unless it is the whole part.
fn part<'a>(lows: &Lows<'a>, it: &Instruction<'a>) -> Option<Part<'a>> {
    let (base, offset) = is_field(it)?;
    let (bits, rest) = lows.known(base)?;
    let bytes = super::bytes_of(it) as i64;
    PARTS.into_iter().find_map(|size| {
        let start = offset - (rest as i64 + offset).rem_euclid(size);
        let is_known = 1 << bits >= size;
        let is_within = bytes < size && offset + bytes <= start + size;
        (is_known && is_within && lows.is_in_whole_vectors(base, size)).then_some(Part {
            base,
            offsets: start..start + size,
        })
    })
}

/// Returns the register and the offset of the address of a load of constant memory.
fn is_field<'a>(it: &Instruction<'a>) -> Option<(&'a str, i64)> {
    match it.operands.get(1) {
        Some(&Operand::Address(Base::Name(base), offset))
            if is_load(it) && is_constant(it) && it.guard.is_none() =>
        {
            Some((base, offset))
        }
        _ => None,
    }
}

/// Returns the places of loads that can move to a place, in order: from the blocks that threads reach
/// unless they panic, before `base` changes.
fn following<'a>(
    graph: &Graph<'a>,
    shape: &Shape,
    (first, at): (Id, usize),
    base: &str,
    is_field: &dyn Fn(&Instruction<'a>) -> bool,
) -> Vec<(Id, usize)> {
    let mut found = Vec::new();
    let (mut block, mut skip) = (first, at);
    let mut seen = vec![first];
    // The registers that the loads must not write.
    let mut used: HashSet<&str> = HashSet::default();
    loop {
        for (index, statement) in graph.blocks[block].body.iter().enumerate().skip(skip) {
            let Some(it) = passed(statement) else {
                continue;
            };
            let Some(it) = it else {
                return found;
            };
            let mut is_free = true;
            results(it, &mut |name| is_free &= !used.contains(name));
            if block != first && is_free && is_field(it) {
                found.push((block, index));
            } else if !pass(it, base, &mut used) {
                return found;
            }
        }
        graph.blocks[block]
            .end
            .sources(&mut |name| _ = used.insert(name));
        let Some((arms, next)) = next(graph, shape, block) else {
            return found;
        };
        for &arm in &arms {
            for statement in &graph.blocks[arm].body {
                match passed(statement) {
                    None => {}
                    Some(Some(it)) if pass(it, base, &mut used) => {}
                    Some(_) => return found,
                }
            }
        }
        if seen.contains(&next) || seen.len() > BLOCKS {
            return found;
        }
        seen.push(next);
        (block, skip) = (next, 0);
    }
}

/// Returns the instruction of a statement that loads may have to pass, or `Some(None)` if they cannot.
fn passed<'s, 'a>(statement: &'s Statement<'a>) -> Option<Option<&'s Instruction<'a>>> {
    match statement {
        Statement::Instruction(it) => Some(Some(it)),
        Statement::Loc(_) | Statement::Label(_) | Statement::Pragma(_) => None,
        _ => Some(None),
    }
}

/// Adds the registers of an instruction to `used`. Returns whether `base` stays the same.
fn pass<'a>(it: &Instruction<'a>, base: &str, used: &mut HashSet<&'a str>) -> bool {
    let mut stays = true;
    results(it, &mut |name| {
        stays &= name != base;
        used.insert(name);
    });
    sources(it, &mut |name| _ = used.insert(name));
    stays
}

/// Returns the next block that all threads reach after a block unless they panic, and the blocks that
/// only some of them pass in between.
fn next(graph: &Graph<'_>, shape: &Shape, block: Id) -> Option<(Vec<Id>, Id)> {
    let targets = |id: Id| {
        let targets = graph.blocks[id].end.targets().into_iter();
        targets.filter(|&to| !shape.cold[to])
    };
    // The blocks between both, if all ways lead from one to the other.
    let between = |to: Id| {
        let (mut inside, mut pending) = (Vec::new(), Vec::from_iter(targets(block)));
        while let Some(id) = pending.pop() {
            if id == to || inside.contains(&id) {
                continue;
            }
            if id == block || inside.len() == BLOCKS || targets(id).next().is_none() {
                return None;
            }
            inside.push(id);
            pending.extend(targets(id));
        }
        let is_within = |from: &Id| *from == block || inside.contains(from);
        let is_behind = |id: Id| shape.predecessors[id].iter().all(is_within);
        let is_only_way = is_behind(to) && inside.iter().all(|&id| is_behind(id));
        is_only_way.then_some(inside)
    };
    let mut candidates = Vec::from_iter(targets(block));
    let mut at = 0;
    while at < candidates.len() && candidates.len() <= BLOCKS {
        for to in targets(candidates[at]) {
            if to != block && !candidates.contains(&to) {
                candidates.push(to);
            }
        }
        at += 1;
    }
    let found = candidates
        .into_iter()
        .filter_map(|to| Some((between(to)?, to)));
    found.min_by_key(|(inside, _)| inside.len())
}
