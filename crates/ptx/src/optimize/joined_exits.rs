//! Lets the threads of a warp reconverge where a loop ends.
//!
//! `for _ in 0..20 { … if step.abs() < 1e-12 { return Some(guess); } } None` ends in two ways, and
//! only one of them leads to the code that uses the result. The threads of a warp then reconverge
//! behind that code, which runs once for each iteration in which threads leave the loop. This pass
//! lets both ways meet in one block, which branches by a predicate that they set.
//!
//! A thread that waits there must not be one for which another thread waits in the loop. So the loops
//! neither exchange values among threads nor access memory with an ordering.

use crate::hash::HashSet;

use super::flow::{Block, End, Graph, Id};
use super::instructions::{can_be_copied, has_result, is_parameter, results, sources};
use super::loops::{self, Loop};
use super::names::Names;
use super::sink;
use crate::rewrite::instruction;
use crate::{Guard, Instruction, Integer, Operand, Type};

/// The minimum number of instructions that only one of the ways runs.
const LEAST: usize = 32;

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
            if pays(graph, &cold, &above.collect(), exits) {
                found.push((each, exits));
            }
        }
    }
    for (each, exits) in &found {
        join_one(graph, names, each, *exits);
    }
    found.len()
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

/// Returns whether enough instructions follow only one of two exits of a loop, before both ways meet.
/// `above` are the blocks that dominate the loop.
fn pays(graph: &Graph<'_>, cold: &[bool], above: &HashSet<Id>, exits: [Id; 2]) -> bool {
    let reached = exits.map(|from| {
        let mut seen = HashSet::from_iter([from]);
        let mut pending = vec![from];
        while let Some(id) = pending.pop() {
            let targets = graph.blocks[id].end.targets().into_iter();
            pending
                .extend(targets.filter(|to| !cold[*to] && !above.contains(to) && seen.insert(*to)));
            if seen.len() > BLOCKS {
                break;
            }
        }
        seen
    });
    let size = |blocks: &mut dyn Iterator<Item = &Id>| {
        let mut size = 0;
        graph.visit(blocks.copied(), &mut |_| size += 1);
        size
    };
    let [first, second] = &reached;
    let is_bounded = reached.iter().all(|reached| reached.len() <= BLOCKS);
    // ptxas copies a common end without instructions.
    let meets = size(&mut first.intersection(second)) > 0;
    is_bounded && meets && size(&mut first.symmetric_difference(second)) >= LEAST
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

/// Returns whether a thread may wait for another one in an instruction, or by repeating it.
pub(super) fn may_wait(it: &Instruction<'_>) -> bool {
    const ORDERED: &[&str] = &["acquire", "mmio", "relaxed", "volatile"];
    let is_math = |operand: &Operand<'_>| match operand {
        Operand::Name(name) => MATH.contains(name),
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
