//! Lets the threads of a warp reconverge although some of them are done early.
//!
//! A parser leaves its loop as soon as it finds an error (`?`), and then only writes its result. Since
//! both ways of a branch may lead there, ptxas 13.0 takes the end of the kernel, or that of an iteration
//! of an outer loop, for the place where the ways meet: from the first branch on whose two ways both go
//! on, all that follows runs once for each group of lanes, in the worst case for each lane. This pass
//! finds the place where the ways meet that go on. The threads that are done go there as well, with a
//! predicate that leads them to the end.
//!
//! A thread that waits there must not be one for which another thread waits. So the ways neither
//! exchange values among threads nor access memory with an ordering.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::arrivals;
use super::digraph::{Digraph, Dominators, END};
use super::flow::{Block, End, Graph, Id};
use super::joined_exits::may_wait;
use super::loops;
use super::names::Names;
use crate::hash::{HashMap, HashSet};
use crate::rewrite::instruction;
use crate::{Guard, Integer, Operand, Type};

/// The maximum number of instructions that a thread which is done runs before it meets the others.
const SHORT: usize = 16;

/// The minimum number of instructions that follow the place where ways meet: a few instructions run
/// about as fast once for each group of lanes, which do not wait for each other's loads.
const LEAST: usize = 128;

/// The maximum number of places in a function.
const PLACES: usize = 64;

/// The maximum number of blocks between two ways that part and the place where they meet.
const BLOCKS: usize = 512;

/// The maximum number of ends that the threads of a place may go to.
const ENDS: usize = 8;

/// The minimum number of ways out of an iteration with several ends. ptxas finds the place for fewer.
const WAYS_OUT: usize = 8;

/// The maximum number of places where all ways meet.
const LATE: usize = 16;

/// The blocks that may follow each block, except panics.
type Next = BTreeMap<Id, Vec<Id>>;

/// Ways that part at the end of a block and meet.
struct Ways {
    start: Id,
    /// The blocks from where the ways part to where they meet.
    blocks: BTreeSet<Id>,
    /// The block where those meet that go on.
    meeting: Id,
    /// The blocks in which threads are done, which the ways lead to.
    ends: Vec<Id>,
}

/// Lets early ends of a function meet with the ways that go on. Returns the number of places.
pub(super) fn join<'a>(graph: &mut Graph<'a>, names: &'a Names) -> usize {
    let cold = graph.cold();
    if find(graph, &cold, None).is_empty() {
        return 0;
    }
    let (_, divergent) = arrivals::divergent_branches(graph, &cold);
    let mut count = 0;
    loop {
        let found = find(graph, &graph.cold(), Some(&divergent));
        if found.is_empty() || count + found.len() > PLACES {
            return count;
        }
        for ways in &found {
            join_one(graph, names, ways);
        }
        count += found.len();
    }
}

/// Returns the blocks that may follow each block, except panics.
fn followers(graph: &Graph<'_>, cold: &[bool]) -> Next {
    let mut next = Next::new();
    let mut pending = vec![graph.order[0]];
    while let Some(id) = pending.pop() {
        if next.contains_key(&id) {
            continue;
        }
        let mut targets = graph.blocks[id].end.targets().to_vec();
        targets.retain(|to| !cold[*to]);
        pending.extend(&targets);
        next.insert(id, targets);
    }
    next
}

/// Returns ways that part and meet, if they meet later than necessary. Those with the most blocks come
/// first, and have no block in common. `divergent` are the blocks in which ways part.
fn find(graph: &Graph<'_>, cold: &[bool], divergent: Option<&HashSet<Id>>) -> Vec<Ways> {
    let entry = graph.order[0];
    let next = &followers(graph, cold);
    let late = meetings(entry, next);
    let mut starts: BTreeMap<Id, Vec<Id>> = BTreeMap::new();
    for (&id, to) in next {
        if to.len() > 1
            && divergent.is_none_or(|divergent| divergent.contains(&id))
            && let Some(end) = late.immediate_dominator(id)
        {
            starts.entry(end).or_default().push(id);
        }
    }
    let mut ends: Vec<(usize, Id, Next)> = (starts.keys().copied())
        .map(|end| {
            let on = without_ends(graph, next, end);
            let removed = next.iter().filter(|(id, to)| on[id].len() < to.len());
            (removed.count(), end, on)
        })
        .filter(|&(removed, ..)| removed > 0)
        .collect();
    ends.sort_by_key(|&(removed, end, _)| (Reverse(removed), end));
    ends.truncate(LATE);
    let before = reversed(next);
    let mut found = of_iterations(graph, cold, [next, &before], &late, &starts);
    for (_, end, on) in &ends {
        let early = meetings(entry, on);
        found.extend(starts[end].iter().filter_map(|&start| {
            let meeting = early.immediate_dominator(start)?;
            let is_early = on[&start].len() > 1 && meeting != END && meeting != *end;
            is_early.then_some(())?;
            let ways = ways(graph, [next, on, &before], [start, meeting])?;
            is_worthwhile(graph, on, meeting, *end).then_some(ways)
        }));
    }
    // Ways within others often meet with them.
    found.sort_by_key(|ways| Reverse(ways.blocks.len()));
    let mut changed: HashSet<Id> = HashSet::default();
    found.retain(|ways| {
        let own = || ways.blocks.iter().chain([&ways.start, &ways.meeting]);
        let is_apart = own().all(|id| !changed.contains(id));
        if is_apart {
            changed.extend(own());
        }
        is_apart
    });
    found
}

/// Removes the ways to blocks in which threads are done from blocks which also lead elsewhere. `end` is
/// the place where all meet.
fn without_ends(graph: &Graph<'_>, next: &Next, end: Id) -> Next {
    let mut known: HashMap<Id, bool> = HashMap::default();
    let mut is_done = |id: Id| {
        *known
            .entry(id)
            .or_insert_with(|| is_short(graph, next, id, end))
    };
    let mut on = next.clone();
    for targets in on.values_mut().filter(|targets| targets.len() > 1) {
        let long: Vec<Id> = (targets.iter().copied())
            .filter(|&id| !is_done(id))
            .collect();
        if !long.is_empty() {
            *targets = long;
        }
    }
    on
}

/// Returns whether the only way from a block leads to a place after a few instructions. [`END`] stands
/// for any return.
fn is_short(graph: &Graph<'_>, next: &Next, mut id: Id, end: Id) -> bool {
    let mut size = 0;
    for _ in 0..SHORT {
        if id == end {
            return true;
        }
        graph.visit([id], &mut |_| size += 1);
        match (&graph.blocks[id].end, &next[&id][..]) {
            _ if size > SHORT => return false,
            (End::Leave(_), _) => return end == END,
            (_, &[to]) => id = to,
            _ => return false,
        }
    }
    false
}

/// Returns the ways that part in an iteration of an innermost loop and meet behind the loop, since the
/// iteration ends in several places. They may meet in front of the next iteration.
fn of_iterations(
    graph: &Graph<'_>,
    cold: &[bool],
    [next, before]: [&Next; 2],
    late: &Dominators,
    starts: &BTreeMap<Id, Vec<Id>>,
) -> Vec<Ways> {
    // The loops: for each header, the blocks that lead back to it.
    let (flow, back) = loops::back_edges(graph, cold);
    let mut loops: BTreeMap<Id, BTreeSet<Id>> = BTreeMap::new();
    for (latch, header) in back {
        let inside = loops
            .entry(header)
            .or_insert_with(|| BTreeSet::from([header]));
        loops::add_body(&flow, latch, inside);
        inside.retain(|id| next.contains_key(id));
    }
    let mut found = Vec::new();
    for &start in starts.values().flatten() {
        let around = loops.iter().filter(|(_, inside)| inside.contains(&start));
        let Some((&header, inside)) = around.min_by_key(|(_, inside)| inside.len()) else {
            continue;
        };
        let inside_only = |id: Id| -> Vec<Id> {
            let targets = next[&id].iter().copied();
            targets.filter(|to| inside.contains(to)).collect()
        };
        let meets = late.immediate_dominator(start);
        if inside_only(start).len() < 2 || meets.is_some_and(|it| inside.contains(&it)) {
            continue;
        }
        let mut size = 0;
        graph.visit(inside.iter().copied(), &mut |_| size += 1);
        if size < LEAST {
            continue;
        }
        let on: Next = inside.iter().map(|&id| (id, inside_only(id))).collect();
        let ways = ways(graph, [next, &on, before], [start, header]);
        found.extend(ways.filter(|ways| {
            let out = |id: &Id| next[id].iter().filter(|to| ways.ends.contains(to)).count();
            ways.blocks.iter().map(out).sum::<usize>() >= WAYS_OUT
        }));
    }
    found
}

/// Returns the ways between two blocks, if threads may wait where they meet. `on` are those that go on,
/// and `before` the blocks that may precede each block.
fn ways(
    graph: &Graph<'_>,
    [next, on, before]: [&Next; 3],
    [start, meeting]: [Id; 2],
) -> Option<Ways> {
    let mut blocks = BTreeSet::new();
    let mut ends = Vec::new();
    let mut pending = on[&start].clone();
    while let Some(id) = pending.pop() {
        if id == meeting || !blocks.insert(id) {
            continue;
        }
        // Threads that repeat the branch would leave others behind.
        if id == start || blocks.len() > BLOCKS {
            return None;
        }
        pending.extend(&on[&id]);
        let done = next[&id].iter().filter(|to| !on[&id].contains(to));
        for &to in done {
            if !ends.contains(&to) {
                ends.push(to);
            }
        }
    }
    // Threads that come from elsewhere would have the predicate of an earlier time.
    let is_own = |id: &Id| *id == start || blocks.contains(id);
    let is_entered = |id: &Id| *id == graph.order[0] || !before[id].iter().all(is_own);
    if blocks.iter().any(is_entered) {
        return None;
    }
    let mut waits = false;
    graph.visit(blocks.iter().copied(), &mut |it| waits |= may_wait(it));
    if waits || !(1..=ENDS).contains(&ends.len()) {
        return None;
    }
    Some(Ways {
        start,
        blocks,
        meeting,
        ends,
    })
}

/// Returns whether enough follows the place where ways meet.
fn is_worthwhile(graph: &Graph<'_>, on: &Next, meeting: Id, end: Id) -> bool {
    let mut seen = BTreeSet::new();
    let mut pending = vec![meeting];
    let mut size = 0;
    while let Some(id) = pending.pop() {
        if id == end || !seen.insert(id) {
            continue;
        }
        graph.visit([id], &mut |_| size += 1);
        if size >= LEAST {
            return true;
        }
        pending.extend(&on[&id]);
    }
    false
}

/// Returns the dominators on the ways backward from [`END`]. A loop without an end may end before its
/// header.
fn meetings(entry: Id, next: &Next) -> Dominators {
    let mut back = Digraph::new();
    back.add_node(END);
    for (&id, targets) in next {
        if targets.is_empty() {
            back.add_edge(END, id);
        }
        for &to in targets {
            back.add_edge(to, id);
        }
    }
    let mut reached = HashSet::default();
    let mut pending = vec![END];
    // Backward, a loop comes after what leads to it. So those that follow others come last.
    for component in back.components().into_iter().rev() {
        while let Some(id) = pending.pop() {
            if reached.insert(id) {
                pending.extend(back.after(id));
            }
        }
        if component.iter().any(|id| reached.contains(id)) {
            continue;
        }
        let is_entered = |id: &Id| {
            let mut from = back.after(*id);
            *id == entry || from.any(|from| !component.contains(&from))
        };
        if let Some(&header) = component.iter().find(|id| is_entered(id)) {
            back.add_edge(END, header);
            pending.push(header);
        }
    }
    back.dominators(END)
}

/// Returns the blocks that may precede each block.
fn reversed(next: &Next) -> Next {
    let mut before: Next = next.keys().map(|&id| (id, Vec::new())).collect();
    for (&id, targets) in next {
        for to in targets {
            if let Some(before) = before.get_mut(to) {
                before.push(id);
            }
        }
    }
    before
}

/// Lets the ends of ways meet with those that go on.
fn join_one<'a>(graph: &mut Graph<'a>, names: &'a Names, ways: &Ways) {
    let &Ways { start, meeting, .. } = ways;
    let block = |body, end| Block {
        label: names.label(),
        body,
        end,
    };
    let is_done = graph.register(Type::Pred, names);
    let way = graph.register(Type::B32, names);
    let set = |ty, register, value| {
        let value = Operand::Integer(Integer::unsigned(value));
        instruction("mov", &[ty], vec![Operand::Name(register), value])
    };
    graph.blocks[start].body.push(set("pred", is_done, 0));
    // Threads that are done go to their ends.
    let mut leave = ways.ends[0];
    for (number, &end) in (1u64..).zip(&ways.ends[1..]) {
        let is_this = graph.register(Type::Pred, names);
        let operands = vec![
            Operand::Name(is_this),
            Operand::Name(way),
            Operand::Integer(Integer::unsigned(number)),
        ];
        let test = instruction("setp", &["eq", "u32"], operands);
        let end = End::Branch(Guard::new(is_this), false, end, leave);
        leave = graph.add_before(block(vec![test], end), leave);
    }
    let meets = End::Branch(Guard::new(is_done), false, leave, meeting);
    let place = graph.add_before(block(Vec::new(), meets), meeting);
    let mut new = HashMap::from_iter([(meeting, place)]);
    for (number, &end) in (0u64..).zip(&ways.ends) {
        let mut body = vec![set("pred", is_done, 1)];
        if ways.ends.len() > 1 {
            body.push(set("u32", way, number));
        }
        let done = graph.add_before(block(body, End::Jump(place, false)), place);
        new.insert(end, done);
    }
    for &id in ways.blocks.iter().chain([&start]) {
        graph.retarget(id, names, &new);
    }
}
