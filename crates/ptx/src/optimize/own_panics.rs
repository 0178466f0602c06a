//! Gives checks whose panics would keep a warp apart a panic of their own.
//!
//! All panics of a kernel end in one copy of the code that reports them. If one of the ways through a
//! loop's body may panic, ptxas 13.0 then often does not let the threads of a warp reconverge where
//! the ways meet: the rest of the iteration and all following ones run once for each group of threads,
//! in the worst case for each thread. It does if the check leads to code that nothing else leads to.
//! [`inline_panics`](crate::inline_panics::inline_panics) makes that code.

use std::collections::BTreeSet;

use super::digraph::{Digraph, END};
use super::flow::{Block, End, Graph, Id};
use super::loops::{self, Loop};
use super::names::Names;
use crate::Statement;
use crate::hash::{HashMap, HashSet};
use crate::inline_panics::OWN;

/// The maximum number of checks of a function with a panic of their own: each has some 60
/// instructions of machine code.
const CHECKS: usize = 8;

/// The maximum number of blocks of a panic.
const BLOCKS: usize = 16;

/// Separates the panics of a function's loops. Returns the number of checks.
pub(super) fn separate<'a>(graph: &mut Graph<'a>, names: &'a Names) -> usize {
    let cold = graph.cold();
    let mut all = loops::single_latch(graph, &cold);
    all.extend(loops::several_latches(graph, &cold));
    let mut checks: BTreeSet<(Id, Id)> = BTreeSet::new();
    for each in &all {
        let within = |inner: &&Loop<'a>| inner.header != each.header && each.contains(inner.header);
        let nested: HashSet<Id> = (all.iter().filter(within))
            .flat_map(|inner| inner.blocks.iter().copied())
            .collect();
        if has_panics_on_the_way(graph, &cold, each, &nested) {
            for &id in &each.blocks {
                let targets = graph.blocks[id].end.targets().into_iter();
                checks.extend(targets.filter(|&to| cold[to]).map(|to| (id, to)));
            }
        }
    }
    if checks.len() > CHECKS {
        return 0;
    }
    let mut count = 0;
    for (check, panic) in checks {
        count += usize::from(separate_one(graph, names, check, panic));
    }
    count
}

/// Returns whether a way through a part of a loop's body, from a branch to where its ways meet, may
/// panic. `nested` are the blocks of the loops within the loop.
fn has_panics_on_the_way(
    graph: &Graph<'_>,
    cold: &[bool],
    each: &Loop<'_>,
    nested: &HashSet<Id>,
) -> bool {
    let within = |id: Id| {
        let targets = graph.blocks[id].end.targets().into_iter();
        targets
            .filter(|&to| each.contains(to))
            .map(|to| if to == each.header { END } else { to })
    };
    let mut flow = Digraph::new();
    for &id in &each.blocks {
        for to in within(id) {
            flow.add_edge(to, id);
        }
    }
    let ends = flow.dominators(END);
    let own = each.blocks.iter().filter(|id| !nested.contains(id));
    own.copied().any(|id| {
        let ways: BTreeSet<Id> = within(id).collect();
        let Some(end) = ends.immediate_dominator(id).filter(|_| ways.len() > 1) else {
            return false;
        };
        let mut part: BTreeSet<Id> = BTreeSet::new();
        let mut pending: Vec<Id> = ways.into_iter().collect();
        while let Some(id) = pending.pop() {
            if id != end && id != END && part.insert(id) {
                pending.extend(within(id));
            }
        }
        let mut targets = part
            .into_iter()
            .flat_map(|id| graph.blocks[id].end.targets());
        targets.any(|to| cold[to])
    })
}

/// Copies the panic that a check leads to. Returns whether that is possible.
fn separate_one<'a>(graph: &mut Graph<'a>, names: &'a Names, check: Id, panic: Id) -> bool {
    let mut blocks = vec![panic];
    let mut place = 0;
    while let Some(&id) = blocks.get(place) {
        for to in graph.blocks[id].end.targets() {
            if !blocks.contains(&to) {
                blocks.push(to);
            }
        }
        place += 1;
        // Switches have lists of their own.
        if blocks.len() > BLOCKS || matches!(graph.blocks[id].end, End::Switch(..)) {
            return false;
        }
    }
    if matches!(graph.blocks[check].end, End::Switch(..)) {
        return false;
    }
    let mut copies: HashMap<Id, Id> = HashMap::default();
    let group = names.numbered(OWN, "");
    for (number, &id) in blocks.iter().enumerate() {
        let body = graph.blocks[id].body.iter();
        // Labels are for debug information.
        let body = body
            .filter(|it| !matches!(it, Statement::Label(_)))
            .cloned();
        let block = Block {
            label: names.name(&format!("{group}{number}")),
            body: body.collect(),
            end: graph.blocks[id].end.clone(),
        };
        let copy = graph.add(block, None);
        copies.insert(id, copy);
    }
    let copy_of = |to: Id| copies.get(&to).copied().unwrap_or(to);
    for &id in &blocks {
        graph.blocks[copies[&id]].end.retarget(&copy_of);
    }
    graph.blocks[check]
        .end
        .retarget(&|to| if to == panic { copies[&panic] } else { to });
    true
}
