//! Lets panics leave a loop where its other exits meet.
//!
//! If one of the ways through a loop's body may panic, ptxas 13.0 often does not let the threads of a
//! warp reconverge where the ways meet: the rest of the iteration and all following ones run once for
//! each group of threads, in the worst case for each thread. It does if all exits of the loop lead to
//! one place. This pass sends panics to that place, behind the loop, where a register that they set
//! tells them from the other exits.
//!
//! A thread that waits there must not be one for which another thread waits in the loop. So the loops
//! neither exchange values among threads nor access memory with an ordering.

use std::collections::BTreeSet;

use petgraph::algo::dominators::simple_fast;
use petgraph::graphmap::DiGraphMap;

use super::flow::{Block, End, Graph, Id};
use super::joined_exits::may_wait;
use super::liveness::Liveness;
use super::loops::{self, Loop};
use super::names::Names;
use super::sink;
use crate::hash::HashSet;
use crate::rewrite::instruction;
use crate::{Guard, Integer, Operand, Statement, Type};

/// The maximum number of blocks from a loop to the place where its exits meet.
const BLOCKS: usize = 64;

/// Where the panics of a loop leave it, and to where.
struct Panics {
    /// The first blocks of panics that the loop leads to.
    targets: BTreeSet<Id>,
    /// The block where the loop's other exits meet.
    meeting: Id,
    /// The blocks between the loop and the meeting block.
    between: BTreeSet<Id>,
    /// A block that runs before the loop and those blocks.
    before: Id,
}

/// Defers the panics of a function's loops. Returns the number of loops.
pub(super) fn defer<'a>(graph: &mut Graph<'a>, names: &'a Names) -> usize {
    let mut seen: HashSet<Id> = HashSet::default();
    let mut count = 0;
    loop {
        let cold = graph.cold();
        let mut all = loops::single_latch(graph, &cold);
        all.extend(loops::several_latches(graph, &cold));
        // Inner loops first: their panics then leave the loop around them where they meet.
        all.sort_by_key(|each| (each.blocks.len(), each.header));
        let found = (all.iter())
            .filter(|each| seen.insert(each.header))
            .find_map(|each| {
                let within =
                    |inner: &&Loop<'a>| inner.header != each.header && each.contains(inner.header);
                let nested: HashSet<Id> = (all.iter().filter(within))
                    .flat_map(|inner| inner.blocks.iter().copied())
                    .collect();
                Some((each, panics(graph, &cold, each, &nested)?))
            });
        let Some((each, panics)) = found else {
            return count;
        };
        let all_cold: Vec<Id> = (graph.order.iter().copied())
            .filter(|&id| cold[id])
            .collect();
        let live = Liveness::new(graph, &all_cold);
        defer_one(graph, names, &live, each, &panics);
        count += 1;
    }
}

/// Returns the panics of a loop, if they may wait for its other threads, and if that pays. `nested` are
/// the blocks of the loops within it.
fn panics(
    graph: &Graph<'_>,
    cold: &[bool],
    each: &Loop<'_>,
    nested: &HashSet<Id>,
) -> Option<Panics> {
    let mut targets = BTreeSet::new();
    let mut exits = BTreeSet::new();
    for &id in &each.blocks {
        for to in graph.blocks[id].end.targets() {
            if cold[to] {
                targets.insert(to);
            } else if !each.contains(to) {
                exits.insert(to);
            }
        }
    }
    if targets.is_empty() || !pays(graph, cold, each, nested) {
        return None;
    }
    let meeting = meeting(graph, cold, each)?;
    exits.remove(&meeting);
    // The threads that wait do so for those in the loop and between the loop and the meeting block.
    let mut between = exits;
    let mut pending: Vec<Id> = between.iter().copied().collect();
    while let Some(id) = pending.pop() {
        for to in graph.blocks[id].end.targets() {
            if !cold[to] && to != meeting && between.insert(to) {
                pending.push(to);
            }
        }
        if between.len() > BLOCKS {
            return None;
        }
    }
    let blocks = || each.blocks.iter().chain(&between).copied();
    let mut waits = false;
    graph.visit(blocks(), &mut |it| waits |= may_wait(it));
    // Switches have lists of their own.
    let switches = |id: Id| match &graph.blocks[id].end {
        End::Switch(_, to) => to.iter().any(|to| *to == meeting || targets.contains(to)),
        _ => false,
    };
    if waits || blocks().any(switches) {
        return None;
    }
    let dominators = sink::dominators(graph);
    let before = dominators.strict_dominators(each.header)?.find(|id| {
        (between.iter()).all(|&to| {
            dominators
                .dominators(to)
                .is_some_and(|mut up| up.any(|up| up == *id))
        })
    })?;
    Some(Panics {
        targets,
        meeting,
        between,
        before,
    })
}

/// Returns whether a part of a loop's body, from a branch to where its ways meet, may panic.
fn pays(graph: &Graph<'_>, cold: &[bool], each: &Loop<'_>, nested: &HashSet<Id>) -> bool {
    const END: Id = Id::MAX;
    let within = |id: Id| {
        let targets = graph.blocks[id].end.targets().into_iter();
        targets
            .filter(|&to| each.contains(to))
            .map(|to| if to == each.header { END } else { to })
    };
    let mut flow = DiGraphMap::<Id, ()>::new();
    for &id in &each.blocks {
        for to in within(id) {
            flow.add_edge(to, id, ());
        }
    }
    let ends = simple_fast(&flow, END);
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
        let mut panics = false;
        for id in part {
            for to in graph.blocks[id].end.targets() {
                panics |= cold[to];
            }
        }
        panics
    })
}

/// Returns the first block outside a loop that all ways out of it lead to, except panics.
fn meeting(graph: &Graph<'_>, cold: &[bool], each: &Loop<'_>) -> Option<Id> {
    const END: Id = Id::MAX;
    let mut flow = DiGraphMap::<Id, ()>::new();
    for &id in graph.order.iter().filter(|&&id| !cold[id]) {
        let targets = graph.blocks[id].end.targets();
        if targets.is_empty() {
            flow.add_edge(END, id, ());
        }
        for to in targets.into_iter().filter(|&to| !cold[to]) {
            flow.add_edge(to, id, ());
        }
    }
    let ends = simple_fast(&flow, END);
    let mut after = ends.strict_dominators(each.header)?;
    after.find(|&id| !each.contains(id) && id != END)
}

/// Sends the panics of a loop to the block where its exits meet.
fn defer_one<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    live: &Liveness<'a>,
    each: &Loop<'a>,
    panics: &Panics,
) {
    let number = |value: usize| Operand::Integer(Integer::unsigned(value as u64));
    let set = |register, value| {
        instruction(
            "mov",
            &["b32"],
            vec![Operand::Name(register), number(value)],
        )
    };
    let block = |body, end| Block {
        label: names.label(),
        body,
        end,
    };
    let site = graph.register(Type::B32, names);
    graph.blocks[panics.before].body.push(set(site, 0));
    // Each exit of the loop gets here.
    let mut body = Vec::new();
    let test = |graph: &mut Graph<'a>, body: &mut Vec<Statement<'a>>, relation, value| {
        let sources = [Operand::Name(site), number(value)];
        graph.emit(names, body, Type::Pred, "setp", &[relation, "b32"], sources)
    };
    let any = test(graph, &mut body, "ne", 0);
    let meeting = graph.add_before(block(body, End::Never), panics.meeting);
    let retarget = |graph: &mut Graph<'a>, id: Id, from, new| {
        let mut end = graph.blocks[id].end.clone();
        end.retarget(&|to| if to == from { new } else { to });
        graph.blocks[id].end = end;
    };
    for &id in each.blocks.iter().chain(&panics.between) {
        retarget(graph, id, panics.meeting, meeting);
    }
    let mut next = None;
    for (place, &target) in panics.targets.iter().enumerate() {
        // Copies, so that the registers are not live at the other exits.
        let mut kept: Vec<&'a str> = (each.written.keys().copied())
            .filter(|register| live.contains(target, register))
            .collect();
        kept.sort_unstable();
        let (mut leave, mut enter) = (vec![set(site, place + 1)], Vec::new());
        for register in kept {
            let Some(ty) = graph.type_of(register) else {
                continue;
            };
            let copy = graph.register(ty, names);
            let copies = |to, from| {
                let operands = vec![Operand::Name(to), Operand::Name(from)];
                instruction("mov", &[ty.name()], operands)
            };
            leave.push(copies(copy, register));
            enter.push(copies(register, copy));
        }
        let leave = graph.add(block(leave, End::Jump(meeting, false)), None);
        for &id in &each.blocks {
            retarget(graph, id, target, leave);
        }
        let enter = graph.add(block(enter, End::Jump(target, false)), None);
        next = Some(match next {
            None => enter,
            Some(others) => {
                let mut body = Vec::new();
                let is_this = test(graph, &mut body, "eq", place + 1);
                let end = End::Branch(Guard::new(is_this), false, enter, others);
                graph.add(block(body, end), None)
            }
        });
    }
    if let Some(first) = next {
        graph.blocks[meeting].end = End::Branch(Guard::new(any), false, first, panics.meeting);
    }
}

/// Sends deferred panics where they were sent before, for those who look for the checks of a loop.
pub(super) fn restore(graph: &mut Graph<'_>) {
    loop {
        let cold = graph.cold();
        let found: Vec<(Id, Id)> = (graph.order.iter())
            .filter(|&&id| !cold[id])
            .filter_map(|&id| Some((id, panic_of(graph, &cold, id)?)))
            .collect();
        if found.is_empty() {
            return;
        }
        for (id, panic) in found {
            graph.blocks[id].end = End::Jump(panic, false);
        }
    }
}

/// Returns the first block of the panic that a block defers.
fn panic_of(graph: &Graph<'_>, cold: &[bool], id: Id) -> Option<Id> {
    let End::Jump(meeting, _) = graph.blocks[id].end else {
        return None;
    };
    let End::Branch(_, _, mut to, _) = graph.blocks[meeting].end else {
        return None;
    };
    let site = site_of(graph, meeting, "ne")?;
    let mut own = None;
    graph.visit([id], &mut |it| {
        if let ("mov", [Operand::Name(register), Operand::Integer(number)]) =
            (it.opcode, &it.operands[..])
            && *register == site.0
        {
            own = Some(number.bits);
        }
    });
    let own = own.filter(|&own| cold[to] && own != site.1)?;
    // Panics of outer loops may be deferred on the way to the block that compares.
    let mut at = to;
    for _ in 0..graph.order.len() {
        match graph.blocks[at].end {
            End::Jump(next, _) => at = next,
            End::Branch(_, _, next, others) => match site_of(graph, at, "eq") {
                Some((register, number)) if register == site.0 => {
                    to = if number == own { next } else { others };
                    at = to;
                }
                _ => break,
            },
            _ => break,
        }
    }
    Some(to)
}

/// Returns the register and the number that the branch of a block compares.
fn site_of<'a>(graph: &Graph<'a>, id: Id, relation: &str) -> Option<(&'a str, u64)> {
    let End::Branch(guard, ..) = graph.blocks[id].end else {
        return None;
    };
    let mut found = None;
    graph.visit([id], &mut |it| {
        if let (
            "setp",
            [
                Operand::Name(set),
                Operand::Name(register),
                Operand::Integer(number),
            ],
        ) = (it.opcode, &it.operands[..])
            && *set == guard.register
            && it.modifiers[..] == [relation, "b32"]
        {
            found = Some((*register, number.bits));
        }
    });
    found
}
