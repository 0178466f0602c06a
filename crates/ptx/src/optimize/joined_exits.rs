//! Lets the threads of a warp reconverge where a loop ends.
//!
//! `for _ in 0..20 { … if step.abs() < 1e-12 { return Some(guess); } } None` ends in two ways, and
//! only one of them leads to the code that uses the result. The threads of a warp then reconverge
//! behind that code, which runs once for each iteration in which threads leave the loop. This pass
//! lets both ways meet in one block, which branches by a predicate that they set.
//!
//! `let end = bytes.iter().position(…).unwrap_or(len); if end > 0 { … }` ends in two ways, too, and LLVM
//! knows that `end > 0` holds on one of them. That way then leads into the `if`, past its test. The pass
//! lets threads on both ways wait for each other behind the test.
//!
//! An exit may also leave an outer loop, as `return` in nested loops does, which the other one goes on
//! with. The ways then meet behind the outer loop, whose further iterations run once for each iteration of
//! the inner loop in which threads leave it.
//!
//! A thread that waits there must not be one for which another thread waits in the loop. So the loops
//! neither exchange values among threads nor access memory with an ordering.

use crate::hash::HashSet;

use super::flow::{Block, End, Graph, Id};
use super::instructions::{can_be_copied, has_result, is_parameter, results, sources};
use super::loops::{self, Loop};
use super::names::Names;
use super::sink;
use crate::inline_panics::original;
use crate::rewrite::instruction;
use crate::{Guard, Instruction, Integer, Operand, Type};

/// The minimum number of instructions that only one of the ways runs.
const LEAST: usize = 32;

/// The minimum number of instructions that only the way out of an outer loop runs: with fewer, ptxas 13.0
/// lets the other threads reconverge behind the inner loop (`BREAK`).
const OWN: usize = 8;

/// The maximum number of blocks that one of the ways may run.
const BLOCKS: usize = 256;

/// Functions of libdevice that loops may call.
const MATH: &[&str] = &[
    "__internal_accurate_pow",
    "__internal_trig_reduction_slowpathd",
];

/// Joins the exits of the innermost loops of a function. Returns the number of such loops.
pub(super) fn join<'a>(graph: &mut Graph<'a>, names: &'a Names, slow: &HashSet<Id>) -> usize {
    let cold = graph.cold();
    let mut all = loops::single_latch(graph, &cold);
    all.extend(loops::several_latches(graph, &cold));
    let headers: HashSet<Id> = all.iter().map(|each| each.header).collect();
    let is_innermost = |each: &Loop<'_>| {
        (each.blocks.iter()).all(|id| *id == each.header || !headers.contains(id))
    };
    let mut found = Vec::new();
    let mut dominators = None;
    for each in all.iter().filter(|each| is_innermost(each)) {
        if let Some(exits) = exits(graph, &cold, slow, each) {
            // Those above the loop begin the next iteration of an outer one.
            let dominators = dominators.get_or_insert_with(|| sink::dominators(graph));
            let above = dominators.dominators(each.header).into_iter().flatten();
            let above = above.collect();
            let left = left_loop(graph, &all, each, exits);
            if pays(graph, &cold, &above, exits, left) {
                found.push((each, Meeting::Exits(exits)));
            } else if let Some(skip) = skip(graph, &cold, &above, each, exits) {
                found.push((each, Meeting::Test(skip)));
            }
        }
    }
    // Other loops may exit to the test of a loop, or to the block behind it.
    let mut tests = HashSet::default();
    let mut count = 0;
    for (each, meeting) in &found {
        match meeting {
            Meeting::Exits(exits) => join_one(graph, names, each, *exits),
            Meeting::Test(skip) if tests.insert(skip.test) => skip.join(graph, names, each),
            Meeting::Test(_) => continue,
        }
        count += 1;
    }
    count
}

/// Where the exits of a loop can meet.
enum Meeting {
    /// In front of both.
    Exits([Id; 2]),
    /// Behind a test that one of them skips.
    Test(Skip),
}

/// A loop that exits to a test, and to one of the test's targets.
#[derive(Clone, Copy)]
struct Skip {
    /// The block that ends with the test.
    test: Id,
    /// The target that the loop also exits to.
    to: Id,
}

/// Returns the two blocks to which a loop exits, if its threads may wait for each other there.
fn exits(graph: &Graph<'_>, cold: &[bool], slow: &HashSet<Id>, each: &Loop<'_>) -> Option<[Id; 2]> {
    let varying = varying(graph, each);
    let mut varies = false;
    let mut targets: Vec<Id> = Vec::new();
    for &id in &each.blocks {
        let end = &graph.blocks[id].end;
        for to in end.targets() {
            if each.contains(to) || cold[to] {
                continue;
            }
            // A fast copy of a loop rarely ends before the loop does.
            if matches!(end, End::Switch(..)) || slow.contains(&to) {
                return None;
            }
            end.sources(&mut |name| varies |= varying.contains(name));
            if !targets.contains(&to) {
                targets.push(to);
            }
        }
    }
    let [first, second] = targets[..] else {
        return None;
    };
    let mut waits = !varies;
    graph.visit(each.blocks.iter().copied(), &mut |it| waits |= may_wait(it));
    if waits {
        return None;
    }
    Some([first, second])
}

/// Returns the place of the exit of a loop that leaves an outer loop, which the other exit does not, and
/// the number of instructions of the smallest such loop: threads on the other way may run all of it
/// before the ways meet.
fn left_loop(
    graph: &Graph<'_>,
    all: &[Loop<'_>],
    each: &Loop<'_>,
    exits: [Id; 2],
) -> Option<(usize, usize)> {
    let left = all.iter().filter_map(|outer| {
        let is_around = outer.header != each.header && outer.contains(each.header);
        let [first, second] = exits.map(|exit| outer.contains(exit));
        let mut size = 0;
        graph.visit(outer.blocks.iter().copied(), &mut |_| size += 1);
        (is_around && first != second).then_some((size, usize::from(first)))
    });
    left.min().map(|(size, place)| (place, size))
}

/// Returns whether enough instructions follow only one of two exits of a loop, before both ways meet.
/// `above` are the blocks that dominate the loop, and `left` is the result of [`left_loop`].
fn pays(
    graph: &Graph<'_>,
    cold: &[bool],
    above: &HashSet<Id>,
    exits: [Id; 2],
    left: Option<(usize, usize)>,
) -> bool {
    let reached = exits.map(|from| reached(graph, cold, above, from));
    let size = |blocks: &mut dyn Iterator<Item = &Id>| {
        let mut size = 0;
        graph.visit(blocks.copied(), &mut |_| size += 1);
        size
    };
    let [first, second] = &reached;
    let is_bounded = reached.iter().all(|reached| reached.len() <= BLOCKS);
    // ptxas copies a common end without instructions.
    let meets = size(&mut first.intersection(second)) > 0;
    let own = [first.difference(second), second.difference(first)].map(|mut it| size(&mut it));
    let further = left.filter(|&(place, _)| own[place] >= OWN);
    let further = further.map_or(0, |(_, size)| size);
    is_bounded && meets && own[0] + own[1] + further >= LEAST
}

/// Returns the exits of a loop if one of them is a test that leads to the other one, and enough
/// instructions follow only that. `above` are the blocks that dominate the loop.
fn skip(
    graph: &Graph<'_>,
    cold: &[bool],
    above: &HashSet<Id>,
    each: &Loop<'_>,
    [first, second]: [Id; 2],
) -> Option<Skip> {
    [(first, second), (second, first)]
        .into_iter()
        .find_map(|(test, to)| {
            let End::Branch(_, _, then, otherwise) = graph.blocks[test].end else {
                return None;
            };
            let other = match to {
                _ if to == then => otherwise,
                _ if to == otherwise => then,
                _ => return None,
            };
            // The other ways to the test begin right in front of the loop.
            let is_entry = |id: Id| match graph.blocks[id].end {
                _ if id == each.header => true,
                End::Jump(to, _) => to == each.header && !waits(graph, id),
                _ => false,
            };
            let skips = |id: Id| graph.blocks[id].end.targets().into_iter().any(is_entry);
            if !(graph.predecessors_of_one(test)).all(|id| each.contains(id) || skips(id)) {
                return None;
            }
            let is_apart = |id: Id| !cold[id] && !above.contains(&id) && !each.contains(id);
            if waits(graph, test) || to == other || ![test, to, other].into_iter().all(is_apart) {
                return None;
            }
            let behind = reached(graph, cold, above, other);
            let only: HashSet<Id> = (reached(graph, cold, above, to).into_iter())
                .filter(|id| !behind.contains(id))
                .collect();
            if only.len() > BLOCKS || only.contains(&test) || behind.contains(&test) {
                return None;
            }
            let mut size = 0;
            graph.visit(only.iter().copied(), &mut |_| size += 1);
            (size >= LEAST).then_some(Skip { test, to })
        })
}

/// Returns the blocks that follow the start of a block, or more than [`BLOCKS`] of them. `above` are
/// blocks that do not count.
fn reached(graph: &Graph<'_>, cold: &[bool], above: &HashSet<Id>, from: Id) -> HashSet<Id> {
    let mut seen = HashSet::from_iter([from]);
    let mut pending = vec![from];
    while let Some(id) = pending.pop() {
        let targets = graph.blocks[id].end.targets().into_iter();
        pending.extend(targets.filter(|to| !cold[*to] && !above.contains(to) && seen.insert(*to)));
        if seen.len() > BLOCKS {
            break;
        }
    }
    seen
}

impl Skip {
    /// Lets the exits of a loop meet behind the test.
    fn join<'a>(self, graph: &mut Graph<'a>, names: &'a Names, each: &Loop<'a>) {
        let End::Branch(guard, _, then, otherwise) = graph.blocks[self.test].end else {
            return;
        };
        // The test may be in another loop, whose exits have been joined.
        if ![then, otherwise].contains(&self.to) {
            return;
        }
        let register = graph.register(Type::Pred, names);
        let set = |value| instruction("mov", &["pred"], vec![Operand::Name(register), value]);
        let block = |body, end| Block {
            label: names.label(),
            body,
            end,
        };
        let meeting_guard = Guard { register, ..guard };
        let end = End::Branch(meeting_guard, false, then, otherwise);
        let meeting = graph.add_before(block(Vec::new(), end), self.to);
        // The value with which the branch leads where the loop does.
        let value = Integer::unsigned(u64::from((self.to == then) != guard.negated));
        let body = vec![set(Operand::Integer(value))];
        let way = graph.add_before(block(body, End::Jump(meeting, false)), meeting);
        let test = &mut graph.blocks[self.test];
        test.body.push(set(Operand::Name(guard.register)));
        test.end = End::Jump(meeting, false);
        for &id in &each.blocks {
            graph.blocks[id].end.retarget(&|to| match to {
                _ if to == self.to => way,
                _ => to,
            });
        }
    }
}

/// Returns the registers of a loop that depend on memory or on floats: threads differ in them more
/// often than in counters.
fn varying<'a>(graph: &Graph<'a>, each: &Loop<'a>) -> HashSet<&'a str> {
    let mut varying: HashSet<&'a str> = HashSet::default();
    loop {
        let before = varying.len();
        graph.visit(each.blocks.iter().copied(), &mut |it| {
            let is_float = |modifier: &&str| matches!(*modifier, "f32" | "f64");
            let mut varies = it.modifiers.iter().any(is_float) || it.opcode == "ld";
            sources(it, &mut |name| varies |= varying.contains(name));
            if varies && has_result(it) && !is_parameter(it) {
                results(it, &mut |name| _ = varying.insert(name));
            }
        });
        if varying.len() == before {
            return varying;
        }
    }
}

/// Returns whether a thread may wait for another one in a block.
fn waits(graph: &Graph<'_>, id: Id) -> bool {
    let mut waits = false;
    graph.visit([id], &mut |it| waits |= may_wait(it));
    waits
}

/// Returns whether a thread may wait for another one in an instruction, or by repeating it.
pub(super) fn may_wait(it: &Instruction<'_>) -> bool {
    const ORDERED: &[&str] = &["acquire", "mmio", "relaxed", "volatile"];
    let is_math = |operand: &Operand<'_>| match operand {
        Operand::Name(name) => MATH.contains(&original(name)),
        _ => false,
    };
    match it.opcode {
        "call" => !it.operands.iter().any(is_math),
        "atom" => true,
        "ld" => it
            .modifiers
            .iter()
            .any(|modifier| ORDERED.contains(modifier)),
        _ => !can_be_copied(it),
    }
}

/// Lets the exits of a loop to two blocks meet.
fn join_one<'a>(graph: &mut Graph<'a>, names: &'a Names, each: &Loop<'a>, exits: [Id; 2]) {
    let register = graph.register(Type::Pred, names);
    let guard = Guard::new(register);
    let [first, second] = exits;
    let block = |body, end| Block {
        label: names.label(),
        body,
        end,
    };
    let meeting = block(Vec::new(), End::Branch(guard, false, first, second));
    let meeting = graph.add_before(meeting, first);
    let ways = [1u64, 0].map(|value| {
        let value = Operand::Integer(Integer::unsigned(value));
        let set = instruction("mov", &["pred"], vec![Operand::Name(register), value]);
        graph.add_before(block(vec![set], End::Jump(meeting, false)), meeting)
    });
    for &id in &each.blocks {
        let mut end = graph.blocks[id].end.clone();
        end.retarget(&|to| match exits.iter().position(|&exit| exit == to) {
            Some(place) => ways[place],
            None => to,
        });
        graph.blocks[id].end = end;
    }
}
