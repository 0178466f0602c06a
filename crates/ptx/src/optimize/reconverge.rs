//! Lets the threads of a warp reconverge where ways meet one of which may panic.
//!
//! All panics of a kernel end in one copy of the code that reports them. Where lanes of a warp leave a
//! loop or take different branches, ptxas 13.0 then often takes that code for the place where they
//! meet: all that follows runs once for each group of lanes, in the worst case for each lane. This pass
//! takes the mask of the lanes that run where the ways part, and lets these lanes wait for each other
//! where the ways meet. Lanes that have panicked are not waited for: `bar.warp.sync` ignores those
//! that have exited (CUDA Programming Guide, `__syncwarp`).
//!
//! A lane that waits must not be one for which another lane waits. So the ways neither exchange values
//! among threads nor access memory with an ordering.

use std::collections::{BTreeMap, BTreeSet};

use super::digraph::{Dominators, END};
use super::flow::{Block, End, Graph, Id};
use super::joined_exits::may_wait;
use super::loops::{self, Loop};
use super::names::Names;
use super::{arrivals, sink};
use crate::hash::HashMap;
use crate::rewrite::instruction;
use crate::{Operand, Statement, Type};

/// The minimum number of instructions after the place where ways meet, and of a branch's ways.
const LEAST: usize = 32;

/// The maximum number of places: unrolled loops have many.
const PLACES: usize = 16;

/// Ways that part and meet.
struct Ways {
    start: Start,
    /// The blocks from where the ways part to where they meet.
    blocks: BTreeSet<Id>,
    /// The block where they meet.
    end: Id,
}

/// Where ways part.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Start {
    /// At the end of a block.
    Branch(Id),
    /// In the loop with a header.
    Loop(Id),
}

/// Synchronizes the lanes of a warp where ways meet. Returns the number of places.
pub(super) fn synchronize<'a>(graph: &mut Graph<'a>, names: &'a Names) -> usize {
    let found = find(graph);
    // All masks first, so that the ways to a loop lead to the block before it.
    let mut entries: HashMap<Id, Id> = HashMap::default();
    let mut taken = Vec::new();
    for ways in found {
        if let Some((mask, entry)) = take(graph, names, &ways) {
            if let (Start::Loop(header), Some(entry)) = (ways.start, entry) {
                entries.entry(header).or_insert(entry);
            }
            taken.push((ways, mask));
        }
    }
    for (ways, mask) in &taken {
        let branch = match ways.start {
            Start::Branch(id) => Some(id),
            Start::Loop(_) => None,
        };
        let from: Vec<Id> = ways.blocks.iter().copied().chain(branch).collect();
        let leads = |end: &Id| from.iter().any(|&id| graph.blocks[id].end.leads_to(*end));
        let mut ends = vec![ways.end];
        ends.extend(entries.get(&ways.end));
        ends.retain(leads);
        // Lanes with one mask wait at one place.
        let [end] = ends[..] else { continue };
        let wait = instruction("bar", &["warp", "sync"], vec![Operand::Name(mask)]);
        let wait = add(graph, names, wait, end);
        for id in from {
            redirect(graph, id, end, wait);
        }
    }
    taken.len()
}

/// Returns the ways to synchronize.
fn find(graph: &Graph<'_>) -> Vec<Ways> {
    let cold = graph.cold();
    let is_check = |id: Id| !cold[id] && graph.blocks[id].end.targets().iter().any(|to| cold[*to]);
    if graph.order.iter().filter(|id| is_check(**id)).count() < 2 {
        return Vec::new();
    }
    let (hot, divergent) = arrivals::divergent_branches(graph, &cold);
    let mut all = loops::single_latch(graph, &cold);
    all.extend(loops::several_latches(graph, &cold));
    let ends = arrivals::ends(&hot);
    let dominators = sink::dominators(&hot);
    let mut found: BTreeMap<Id, Ways> = BTreeMap::new();
    for &id in hot.order.iter().filter(|id| divergent.contains(id)) {
        let Some(end) = ends.immediate_dominator(id).filter(|&it| it != END) else {
            continue;
        };
        let Some(ways) = ways(&hot, &dominators, &all, id, end) else {
            continue;
        };
        let (mut waits, mut size) = (false, 0);
        hot.visit(ways.blocks.iter().copied(), &mut |it| {
            waits |= may_wait(it);
            size += 1;
        });
        let is_short = matches!(ways.start, Start::Branch(_)) && size < LEAST;
        if waits || is_short || !ways.blocks.iter().any(|&id| is_check(id)) {
            continue;
        }
        let later = reachable(&hot, end);
        // ptxas finds the place itself if no panic is shared with what follows.
        let is_behind = |id: &Id| is_check(*id) && !ways.blocks.contains(id);
        if !later.iter().any(is_behind) || !pays(&hot, &later, end) {
            continue;
        }
        // Only the ways that part first: those within them meet at the same place.
        let known = found.get(&end).map_or(0, |known| known.blocks.len());
        if known < ways.blocks.len() {
            found.insert(end, ways);
        }
    }
    if found.len() > PLACES {
        return Vec::new();
    }
    found.into_values().collect()
}

/// Returns the ways that part at the end of a block outside of loops, or in the outermost loop with
/// that block that ends before the ways meet.
fn ways(
    hot: &Graph<'_>,
    dominators: &Dominators,
    all: &[Loop<'_>],
    id: Id,
    end: Id,
) -> Option<Ways> {
    let around = (all.iter()).filter(|each| each.contains(id) && !each.contains(end));
    let (start, mut pending, above) = match around.max_by_key(|each| each.blocks.len()) {
        Some(each) => (Start::Loop(each.header), vec![each.header], each.header),
        // `own_panics` is for ways within an iteration.
        None if all.iter().any(|each| each.contains(id)) => return None,
        None => (Start::Branch(id), hot.blocks[id].end.targets().to_vec(), id),
    };
    let mut blocks = BTreeSet::new();
    while let Some(id) = pending.pop() {
        if id == end || !blocks.insert(id) {
            continue;
        }
        let block_end = &hot.blocks[id].end;
        if matches!(block_end, End::Switch(..)) || !dominators.dominates(above, id) {
            return None;
        }
        pending.extend(block_end.targets());
    }
    // Lanes that repeat the branch would take another mask than those that wait.
    let repeats = start == Start::Branch(id) && blocks.contains(&id);
    (!repeats).then_some(Ways { start, blocks, end })
}

/// Returns whether enough follows the place where ways meet: these blocks, of which it is one.
fn pays(hot: &Graph<'_>, later: &BTreeSet<Id>, end: Id) -> bool {
    let repeats = later.iter().any(|&from| hot.blocks[from].end.leads_to(end));
    let mut size = 0;
    hot.visit(later.iter().copied(), &mut |_| size += 1);
    repeats || size >= LEAST
}

/// Returns the blocks that follow the start of a block.
fn reachable(hot: &Graph<'_>, id: Id) -> BTreeSet<Id> {
    let mut found = BTreeSet::new();
    let mut pending = vec![id];
    while let Some(id) = pending.pop() {
        if found.insert(id) {
            pending.extend(hot.blocks[id].end.targets());
        }
    }
    found
}

/// Takes the mask where ways part. Returns its register, and for a loop the block before its header,
/// or `None` if that is not possible.
fn take<'a>(graph: &mut Graph<'a>, names: &'a Names, ways: &Ways) -> Option<(&'a str, Option<Id>)> {
    let is_switch = |graph: &Graph<'a>, id: Id| matches!(graph.blocks[id].end, End::Switch(..));
    let mask = graph.register(Type::B32, names);
    let take = instruction("activemask", &["b32"], vec![Operand::Name(mask)]);
    match ways.start {
        Start::Branch(id) if is_switch(graph, id) => None,
        Start::Branch(id) => {
            graph.blocks[id].body.push(take);
            Some((mask, None))
        }
        Start::Loop(header) => {
            let from: Vec<Id> = (graph.predecessors_of_one(header))
                .filter(|id| !ways.blocks.contains(id))
                .collect();
            if from.is_empty() || from.iter().any(|&id| is_switch(graph, id)) {
                return None;
            }
            let entry = add(graph, names, take, header);
            for id in from {
                redirect(graph, id, header, entry);
            }
            Some((mask, Some(entry)))
        }
    }
}

/// Adds a block with one instruction before another block.
fn add<'a>(graph: &mut Graph<'a>, names: &'a Names, it: Statement<'a>, to: Id) -> Id {
    let block = Block {
        label: names.label(),
        body: vec![it],
        end: End::Jump(to, false),
    };
    graph.add_before(block, to)
}

/// Lets a block lead to `new` where it leads to `old`.
fn redirect(graph: &mut Graph<'_>, id: Id, old: Id, new: Id) {
    let end = &mut graph.blocks[id].end;
    end.retarget(&|to| if to == old { new } else { to });
}
