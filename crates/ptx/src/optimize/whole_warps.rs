//! Moves the question which lanes of a warp have exited out of loops.
//!
//! The reductions and scans of `cuda_std` ask with a ballot which lanes are left, and have faster
//! code for whole warps. In a loop that no thread leaves by an exit or a panic, and whose end all
//! threads reach in the same iteration, each ballot has the same result. So a ballot before the loop
//! decides whether a copy for whole warps runs, without ballots and branches, which ptxas also
//! unrolls.

use crate::hash::{HashMap, HashSet};

use petgraph::algo::dominators::Dominators;
use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;

use super::arrivals::{Count, Place, outcomes};
use super::flow::{Block, End, Graph, Id};
use super::instructions::{
    can_be_copied, has_effect, instructions, is_among_lanes, is_parameter, is_pure,
    is_same_in_block, results, sources,
};
use super::loops::{self, Loop};
use super::names::Names;
use super::sink::dominators;
use super::version::{self, Accesses, number};
use crate::rewrite::instruction;
use crate::{Guard, Instruction, Integer, Operand, Statement, Type};

/// The maximum number of instructions of a loop to copy.
const LARGEST: usize = 1000;

/// The maximum number of loops of a kernel to copy.
const MOST: usize = 8;

/// Gives loops of a kernel with ballots copies for whole warps. Adds the blocks of the original loops to `slow`.
/// Returns the number of loops.
pub(super) fn version<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    slow: &mut HashSet<Id>,
) -> usize {
    let mut count = 0;
    while count < MOST
        && let Some(found) = find(graph, slow)
    {
        version_one(graph, names, &found, slow);
        count += 1;
    }
    count
}

/// A loop to copy.
struct Found<'a> {
    each: Loop<'a>,
    /// The results of its ballots.
    masks: HashSet<&'a str>,
    /// The blocks that test whether a ballot has all lanes, and their targets if it has.
    decided: HashMap<Id, Id>,
}

/// Returns the longest loop to copy.
fn find<'a>(graph: &Graph<'a>, slow: &HashSet<Id>) -> Option<Found<'a>> {
    let mut votes = false;
    graph.visit(graph.order.iter().copied(), &mut |it| {
        votes |= it.opcode == "vote";
    });
    if !votes {
        return None;
    }
    let writers = writers(graph);
    let single = (writers.iter())
        .filter(|(_, writers)| writers.len() == 1)
        .map(|(&name, writers)| (name, writers[0].1.clone()))
        .collect();
    let mut loops = loops::single_latch(graph, &graph.cold());
    loops.sort_by_key(|each| std::cmp::Reverse(each.blocks.len()));
    let dominators = dominators(graph);
    loops.into_iter().find_map(|each| {
        if slow.contains(&each.header) {
            return None;
        }
        let mut ballots = HashMap::default();
        for &id in &each.blocks {
            for (place, statement) in graph.blocks[id].body.iter().enumerate() {
                let count = Count::of(statement, &single);
                if let Some(count) = count.filter(|count| count.barrier.is_none()) {
                    ballots.insert(count.result, (id, place));
                }
            }
        }
        if ballots.is_empty() || !can_copy(graph, &each) {
            return None;
        }
        let known = ballots.keys().map(|&mask| (mask, Integer::signed(-1)));
        let outcomes = outcomes(&single, &known.collect());
        let mut decided = HashMap::default();
        for &id in &each.blocks {
            if let End::Branch(guard, _, to, otherwise) = graph.blocks[id].end
                && let Some(&outcome) = outcomes.get(guard.register)
            {
                let holds = outcome != guard.negated;
                decided.insert(id, if holds { to } else { otherwise });
            }
        }
        let always = always(graph, &each, &dominators);
        let ends = ends(graph, &each, &writers, &always)?;
        let is_first = |&&place: &&Place| is_first(graph, &each, &dominators, &ends, place);
        let begins = ballots.values().find(is_first).is_some();
        (begins && !decided.is_empty()).then(|| Found {
            each,
            masks: ballots.into_keys().collect(),
            decided,
        })
    })
}

/// Returns whether each thread that enters a loop runs a statement before it leaves the loop and
/// before it changes memory.
///
/// The ballot before the loop then makes no thread wait for others that would not have waited anyway.
fn is_first(
    graph: &Graph<'_>,
    each: &Loop<'_>,
    dominators: &Dominators<Id>,
    ends: &[Id],
    (id, place): Place,
) -> bool {
    let follows = |other: Id| {
        let mut above = dominators.dominators(other).into_iter().flatten();
        above.any(|above| above == id)
    };
    let mut quiet = true;
    for &other in &each.blocks {
        let count = match follows(other) {
            _ if other == id => place,
            true => 0,
            false => graph.blocks[other].body.len(),
        };
        for statement in &graph.blocks[other].body[..count] {
            instructions(statement, &mut |it| quiet &= !has_effect(it));
        }
    }
    quiet && !ends.is_empty() && ends.iter().all(|&end| follows(end))
}

/// The instructions that write each register, with their blocks.
type Writers<'g, 'a> = HashMap<&'a str, Vec<(Id, &'g Instruction<'a>)>>;

fn writers<'g, 'a>(graph: &'g Graph<'a>) -> Writers<'g, 'a> {
    let mut writers = Writers::default();
    for &id in &graph.order {
        graph.visit([id], &mut |it| {
            results(it, &mut |name| {
                writers.entry(name).or_default().push((id, it));
            });
        });
    }
    writers
}

/// Returns whether a loop can be copied.
fn can_copy(graph: &Graph<'_>, each: &Loop<'_>) -> bool {
    let mut size = 0;
    let mut plain = true;
    graph.visit(each.blocks.iter().copied(), &mut |it| {
        size += 1;
        // All lanes of a warp take the same branch, so they remain together.
        plain &= can_be_copied(it) || is_among_lanes(it);
    });
    let switches = |&id: &Id| matches!(graph.blocks[id].end, End::Switch(..));
    plain && size <= LARGEST && !each.blocks.iter().any(switches)
}

/// Returns the blocks with which a loop ends, if all threads that run the loop together leave it in
/// the same iteration, without an exit or a panic.
fn ends<'a>(
    graph: &Graph<'a>,
    each: &Loop<'a>,
    writers: &Writers<'_, 'a>,
    always: &HashSet<Id>,
) -> Option<Vec<Id>> {
    let mut ends = Vec::new();
    for &id in &each.blocks {
        let end = &graph.blocks[id].end;
        let targets = end.targets();
        if !targets.is_empty() && targets.iter().all(|&to| each.contains(to)) {
            continue;
        }
        match end {
            End::Branch(guard, ..)
                if always.contains(&id)
                    && is_uniform(graph, each, writers, always, guard.register) =>
            {
                ends.push(id);
            }
            _ => return None,
        }
    }
    Some(ends)
}

/// Returns the blocks that each iteration of a loop runs exactly once, up to the one in which a
/// thread leaves the loop.
fn always(graph: &Graph<'_>, each: &Loop<'_>, dominators: &Dominators<Id>) -> HashSet<Id> {
    let mut flow = DiGraphMap::<Id, ()>::new();
    let mut repeated = HashSet::default();
    for &id in &each.blocks {
        for to in graph.blocks[id].end.targets() {
            if to != each.header && each.contains(to) {
                flow.add_edge(id, to, ());
            }
            if to == id && to != each.header {
                repeated.insert(id);
            }
        }
    }
    let cycles = tarjan_scc(&flow).into_iter().filter(|it| it.len() > 1);
    repeated.extend(cycles.flatten());
    let above = dominators.dominators(each.latch).into_iter().flatten();
    above
        .filter(|id| each.contains(*id) && !repeated.contains(id))
        .collect()
}

/// Returns whether a register has the same value in all threads that are in the same iteration of a
/// loop.
fn is_uniform<'a>(
    graph: &Graph<'a>,
    each: &Loop<'a>,
    writers: &Writers<'_, 'a>,
    always: &HashSet<Id>,
    register: &'a str,
) -> bool {
    let mut fixed = HashMap::default();
    let mut seen = HashSet::from_iter([register]);
    let mut pending = vec![register];
    while let Some(name) = pending.pop() {
        if is_fixed(graph, writers, &mut fixed, name) {
            continue;
        }
        let Some(writers_of) = writers.get(name) else {
            return false;
        };
        let mut outside = 0;
        for &(id, it) in writers_of {
            if !is_pure(it) {
                return false;
            }
            let mut read = Vec::new();
            sources(it, &mut |name| read.push(name));
            if each.contains(id) {
                if !always.contains(&id) {
                    return false;
                }
                pending.extend(read.into_iter().filter(|&name| seen.insert(name)));
                continue;
            }
            // The same instruction initializes the register in all threads.
            outside += 1;
            if outside > 1
                || !(read.into_iter()).all(|name| is_fixed(graph, writers, &mut fixed, name))
            {
                return false;
            }
        }
    }
    true
}

/// Returns whether a name has the same value in all threads of a block at all times.
fn is_fixed<'a>(
    graph: &Graph<'a>,
    writers: &Writers<'_, 'a>,
    known: &mut HashMap<&'a str, bool>,
    name: &'a str,
) -> bool {
    if let Some(&known) = known.get(name) {
        return known;
    }
    // For registers that depend on themselves.
    known.insert(name, false);
    let fixed = match writers.get(name).map(|writers| &writers[..]) {
        Some([(_, it)]) => {
            let mut read = Vec::new();
            sources(it, &mut |name| read.push(name));
            (is_pure(it) || is_parameter(it))
                && it.guard.is_none()
                && (read.into_iter()).all(|name| is_fixed(graph, writers, known, name))
        }
        Some(_) => false,
        None => {
            // Other names are those of parameters and variables.
            let register = name.starts_with('%') || graph.type_of(name).is_some();
            !register || is_same_in_block(name)
        }
    };
    known.insert(name, fixed);
    fixed
}

/// Copies a loop for whole warps.
fn version_one<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    found: &Found<'a>,
    slow: &mut HashSet<Id>,
) {
    let each = &found.each;
    let first = graph.blocks.len();
    let cold = graph.cold();
    let mut accesses = Accesses::default();
    let copy = version::copy(graph, names, &mut accesses, &cold, each, &found.decided);
    for (copied, &id) in (first..).zip(&each.blocks) {
        // Copies have no labels.
        let statements = graph.blocks[id].body.iter();
        let statements = statements.filter(|it| !matches!(it, Statement::Label(_)));
        let is_ballot = |statement| {
            result_of_vote(statement).is_some_and(|result| found.masks.contains(result))
        };
        let ballots: Vec<bool> = statements.map(is_ballot).collect();
        for (statement, is_ballot) in graph.blocks[copied].body.iter_mut().zip(ballots) {
            if is_ballot && let Some(result) = result_of_vote(statement) {
                let all = Operand::Integer(Integer::signed(-1));
                *statement = instruction("mov", &["b32"], vec![Operand::Name(result), all]);
            }
        }
    }
    let outside: Vec<Id> = (graph.predecessors_of_one(each.header))
        .filter(|id| !each.contains(*id))
        .collect();
    let mut body = Vec::new();
    let one = graph.emit(names, &mut body, Type::B32, "mov", &["b32"], [number(1)]);
    let sources = [Operand::Name(one), number(0)];
    let yes = graph.emit(
        names,
        &mut body,
        Type::Pred,
        "setp",
        &["ne", "s32"],
        sources,
    );
    let sources = [Operand::Name(yes), number(u32::MAX.into())];
    let ballot = ["sync", "ballot", "b32"];
    let lanes = graph.emit(names, &mut body, Type::B32, "vote", &ballot, sources);
    let sources = [Operand::Name(lanes), Operand::Integer(Integer::signed(-1))];
    let whole = graph.emit(
        names,
        &mut body,
        Type::Pred,
        "setp",
        &["eq", "s32"],
        sources,
    );
    let label = names.label();
    let end = End::Branch(Guard::new(whole), false, copy.header, each.header);
    let test = graph.add(Block { label, body, end }, None);
    graph.order.retain(|id| *id != test && !each.contains(*id));
    let place = graph.order.iter().position(|id| copy.blocks.contains(id));
    graph.order.insert(place.unwrap_or(graph.order.len()), test);
    graph.order.extend(&each.blocks);
    slow.extend(&each.blocks);
    for id in outside {
        let retarget = |to| if to == each.header { test } else { to };
        graph.blocks[id].end.retarget(&retarget);
    }
    graph.remove_unreachable();
}

/// Returns the register that a statement with a vote writes.
fn result_of_vote<'a>(statement: &Statement<'a>) -> Option<&'a str> {
    let mut result = None;
    instructions(statement, &mut |it| {
        if it.opcode == "vote" {
            results(it, &mut |name| result = Some(name));
        }
    });
    result
}
