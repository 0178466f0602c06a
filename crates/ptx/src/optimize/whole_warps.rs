//! Moves the question which lanes of a warp have exited out of loops.
//!
//! The reductions and scans of `cuda_std` ask with a ballot which lanes are left, and have faster
//! code for whole warps. In a loop that no thread leaves by an exit or a panic, and whose end all
//! threads reach in the same iteration, each ballot has the same result. So a ballot before the loop
//! decides whether a copy for whole warps runs, without ballots and branches, which ptxas also
//! unrolls.
//!
//! Lanes that stride over a row, from their own number in steps of 32, end in the same iteration if
//! the length of the row is a multiple of 32. Before such a loop, each lane computes its number of
//! iterations, and a second ballot compares these.

use crate::hash::{HashMap, HashSet};

use super::arrivals::{Count, Place, outcomes};
use super::digraph::{Digraph, Dominators};
use super::flow::{Block, End, Graph, Id};
use super::instructions::{
    can_be_copied, has_effect, instructions, is_among_lanes, is_parameter, is_pure,
    is_same_in_block, results, sources,
};
use super::loops::{self, Counter, Loop, Relation, Step, Which};
use super::names::Names;
use super::sink::dominators;
use super::version::{self, Accesses, number};
use crate::rewrite::instruction;
use crate::{Guard, Instruction, Integer, Operand, Statement, Type};

/// The maximum number of instructions of a loop to copy.
const LARGEST: usize = 1000;

/// The maximum number of loops of a kernel to copy.
const MOST: usize = 8;

/// The largest step of a lane over a row.
const LONGEST: i64 = 1 << 16;

/// Gives loops of a kernel with ballots copies for whole warps. Adds the blocks of the original loops to
/// `slow`. Returns the headers of the copies, each of which all lanes of a warp run equally often.
pub(super) fn version<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    slow: &mut HashSet<Id>,
) -> HashSet<Id> {
    let mut copies = HashSet::default();
    while copies.len() < MOST
        && let Some(found) = find(graph, slow)
    {
        copies.insert(version_one(graph, names, &found, slow));
    }
    copies
}

/// A loop to copy.
struct Found<'a> {
    each: Loop<'a>,
    /// The results of its ballots.
    masks: HashSet<&'a str>,
    /// The blocks that test whether a ballot has all lanes, and their targets if it has.
    decided: HashMap<Id, Id>,
    /// The ends that the lanes may reach in different iterations.
    strides: Vec<Stride<'a>>,
}

/// The end of a loop in which each lane strides from an own place: the loop goes on while the counter
/// is less than the limit.
struct Stride<'a> {
    /// The block that tests the counter.
    end: Id,
    /// The counter, which has the first place before the loop.
    counter: &'a str,
    limit: Operand<'a>,
    signed: bool,
    bits: u32,
    /// The logarithm of the step.
    shift: u32,
    /// Whether the first place is compared with the limit, so that lanes may have no iteration.
    tests_first: bool,
}

impl<'a> Stride<'a> {
    /// Adds an instruction for whether there is a first iteration.
    fn begins(
        &self,
        graph: &mut Graph<'a>,
        names: &'a Names,
        body: &mut Vec<Statement<'a>>,
    ) -> &'a str {
        let ty = match (self.bits, self.signed) {
            (32, false) => "u32",
            (32, true) => "s32",
            (_, false) => "u64",
            (_, true) => "s64",
        };
        let sources = [Operand::Name(self.counter), self.limit.clone()];
        emit_comparison(graph, names, body, ["lt", ty], sources)
    }
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
        let (mut ends, strides) = ends(graph, &each, &writers, &always)?;
        // The first iteration does not end there, or does not begin: see `version_one`.
        let tested = strides.iter().filter(|it| !it.tests_first);
        ends.extend(tested.map(|stride| stride.end));
        let has_end = !ends.is_empty() || !strides.is_empty();
        let is_first =
            |&&place: &&Place| has_end && is_first(graph, &each, &dominators, &ends, place);
        let begins = ballots.values().find(is_first).is_some();
        (begins && !decided.is_empty()).then(|| Found {
            each,
            masks: ballots.into_keys().collect(),
            decided,
            strides,
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
    dominators: &Dominators,
    ends: &[Id],
    (id, place): Place,
) -> bool {
    let follows = |other: Id| dominators.dominates(id, other);
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
    quiet && ends.iter().all(|&end| follows(end))
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
/// the same iteration, without an exit or a panic, and the ends for which that must be tested.
fn ends<'a>(
    graph: &Graph<'a>,
    each: &Loop<'a>,
    writers: &Writers<'_, 'a>,
    always: &HashSet<Id>,
) -> Option<(Vec<Id>, Vec<Stride<'a>>)> {
    let counters = each.counters(graph);
    let mut ends = Vec::new();
    let mut strides = Vec::new();
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
            End::Branch(..) if always.contains(&id) => {
                strides.push(stride(graph, each, always, &counters, id)?);
            }
            _ => return None,
        }
    }
    Some((ends, strides))
}

/// Returns the end of a loop with a block that compares a counter in steps of a multiple of 32 with
/// an invariant.
fn stride<'a>(
    graph: &Graph<'a>,
    each: &Loop<'a>,
    always: &HashSet<Id>,
    counters: &[Counter<'a>],
    end: Id,
) -> Option<Stride<'a>> {
    let End::Branch(guard, _, to, otherwise) = graph.blocks[end].end else {
        return None;
    };
    let goes_on = match (each.contains(to), each.contains(otherwise)) {
        (true, false) => !guard.negated,
        (false, true) => guard.negated,
        _ => return None,
    };
    let (_, block, _) = each.definition(graph, guard.register)?;
    let (counter, which, compared) = each.comparison(graph, counters, guard.register, goes_on)?;
    let Step::Constant(step @ 32..=LONGEST) = counter.step else {
        return None;
    };
    let tests_first = which == Which::Current;
    if tests_first && (end != each.header || has_exchange(graph, end)) {
        return None;
    }
    let limit = match (compared.relation, compared.right) {
        (Relation::Less, limit) => limit,
        (Relation::LessOrEqual, Operand::Integer(last)) => {
            Operand::Integer(Integer::unsigned(last.bits.checked_add(1)?))
        }
        _ => return None,
    };
    let is_counter = compared.bits == counter.bits && always.contains(&block);
    (is_counter && step.count_ones() == 1).then_some(Stride {
        end,
        counter: counter.register,
        limit,
        signed: compared.signed,
        bits: counter.bits,
        shift: step.trailing_zeros(),
        tests_first,
    })
}

/// Returns whether a block exchanges values among lanes.
fn has_exchange(graph: &Graph<'_>, id: Id) -> bool {
    let mut found = false;
    graph.visit([id], &mut |it| found |= is_among_lanes(it));
    found
}

/// Returns the blocks that each iteration of a loop runs exactly once, up to the one in which a
/// thread leaves the loop.
fn always(graph: &Graph<'_>, each: &Loop<'_>, dominators: &Dominators) -> HashSet<Id> {
    let mut flow = Digraph::new();
    let mut repeated = HashSet::default();
    for &id in &each.blocks {
        for to in graph.blocks[id].end.targets() {
            if to != each.header && each.contains(to) {
                flow.add_edge(id, to);
            }
            if to == id && to != each.header {
                repeated.insert(id);
            }
        }
    }
    let cycles = flow.components().into_iter().filter(|it| it.len() > 1);
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

/// Copies a loop for whole warps. Returns the header of the copy.
fn version_one<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    found: &Found<'a>,
    slow: &mut HashSet<Id>,
) -> Id {
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
    // From the last test to the first one.
    let mut next = copy.header;
    let mut tests = Vec::new();
    if !found.strides.is_empty() {
        tests.push(same_count(graph, names, &found.strides));
    }
    let mut body = Vec::new();
    let one = graph.emit(names, &mut body, Type::B32, "mov", &["b32"], [number(1)]);
    let sources = [Operand::Name(one), number(0)];
    let yes = emit_comparison(graph, names, &mut body, ["ne", "s32"], sources);
    let whole = whole_warp(graph, names, &mut body, yes);
    tests.push((body, whole));
    // Lanes without an iteration do not reach the first ballot.
    for stride in found.strides.iter().filter(|it| it.tests_first) {
        let mut body = Vec::new();
        let begins = stride.begins(graph, names, &mut body);
        tests.push((body, begins));
    }
    graph.order.retain(|id| !each.contains(*id));
    for (body, passes) in tests {
        let label = names.label();
        let end = End::Branch(Guard::new(passes), false, next, each.header);
        let test = graph.add(Block { label, body, end }, None);
        graph.order.retain(|id| *id != test);
        let before = |id: &Id| *id == next || copy.blocks.contains(id);
        let place = graph.order.iter().position(before);
        graph.order.insert(place.unwrap_or(graph.order.len()), test);
        next = test;
    }
    graph.order.extend(&each.blocks);
    slow.extend(&each.blocks);
    for id in outside {
        let retarget = |to| if to == each.header { next } else { to };
        graph.blocks[id].end.retarget(&retarget);
    }
    graph.remove_unreachable();
    copy.header
}

/// Returns statements that test whether all lanes of a warp, all of which run them, have the same
/// number of iterations, and the predicate with the result.
fn same_count<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    strides: &[Stride<'a>],
) -> (Vec<Statement<'a>>, &'a str) {
    let mut body = Vec::new();
    let mut all = None;
    for stride in strides {
        let (ty, signed, unsigned) = match stride.bits {
            32 => (Type::B32, "s32", "u32"),
            _ => (Type::B64, "s64", "u64"),
        };
        // The counter does not wrap around, and the number of iterations fits 32 bits.
        let largest = number((1 << 31) - (1 << stride.shift));
        let counter = Operand::Name(stride.counter);
        for operand in [&counter, &stride.limit] {
            let sources = [operand.clone(), largest.clone()];
            let fits = emit_comparison(graph, names, &mut body, ["le", unsigned], sources);
            all = Some(match all {
                None => fits,
                Some(all) => graph.and(names, &mut body, [all, fits]),
            });
        }
        let begins = stride.begins(graph, names, &mut body);
        let mut emit = |opcode, modifiers: &[&'a str], ty, sources: Vec<Operand<'a>>| {
            Operand::Name(graph.emit(names, &mut body, ty, opcode, modifiers, sources))
        };
        let distance = emit("sub", &[signed], ty, vec![stride.limit.clone(), counter]);
        let distance = emit("sub", &[signed], ty, vec![distance, number(1)]);
        let shift = number(stride.shift.into());
        let mut count = emit("shr", &[unsigned], ty, vec![distance, shift]);
        if stride.bits == 64 {
            count = emit("cvt", &["u32", "u64"], Type::B32, vec![count]);
        }
        let count = emit("add", &["s32"], Type::B32, vec![count, number(1)]);
        let sources = vec![count, number(0), Operand::Name(begins)];
        let count = emit("selp", &["b32"], Type::B32, sources);
        let lanes = Operand::Integer(Integer::signed(-1));
        let sources = vec![count.clone(), number(0), number(31), lanes];
        let first = emit("shfl", &["sync", "idx", "b32"], Type::B32, sources);
        let same = emit_comparison(graph, names, &mut body, ["eq", "s32"], [count, first]);
        all = all.map(|all| graph.and(names, &mut body, [all, same]));
    }
    let all = all.expect("there are strides");
    let whole = whole_warp(graph, names, &mut body, all);
    (body, whole)
}

/// Adds instructions for whether a predicate is true in all lanes of a whole warp.
fn whole_warp<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    body: &mut Vec<Statement<'a>>,
    predicate: &'a str,
) -> &'a str {
    let sources = [Operand::Name(predicate), number(u32::MAX.into())];
    let ballot = ["sync", "ballot", "b32"];
    let lanes = graph.emit(names, body, Type::B32, "vote", &ballot, sources);
    let sources = [Operand::Name(lanes), Operand::Integer(Integer::signed(-1))];
    emit_comparison(graph, names, body, ["eq", "s32"], sources)
}

fn emit_comparison<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    body: &mut Vec<Statement<'a>>,
    modifiers: [&'a str; 2],
    sources: [Operand<'a>; 2],
) -> &'a str {
    graph.emit(names, body, Type::Pred, "setp", &modifiers, sources)
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
