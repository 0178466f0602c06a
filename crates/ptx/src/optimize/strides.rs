//! Does four iterations at once of loops whose counter changes by a variable: grid-stride loops, whose
//! counter grows, and loops over `chunks_exact`, whose counter is the remaining length. The same for
//! loops that count up by a number and store, and load what no one writes, or count in shared memory,
//! and load from global memory: histograms. The same for loops that go on while the distance from a
//! counter to an end is above a number, as those over `step_by` of a slice: the counter is the address
//! of an element.
//!
//! The loads of four iterations are then in flight together. ptxas does this only where the step is a
//! number, and often not in loops that store. Whether there are four iterations left is computed
//! without a division, so a loop that runs once takes four more instructions. [`super::divisions`]
//! has other loops with divisions.

use crate::hash::{HashMap, HashSet};

use super::divisions::{is_constant, is_division};
use super::flow::{Block, End, Graph, Id};
use super::instructions::{can_be_copied, has_effect, instructions};
use super::loops::{self, Comparison, Counter, Loop, Relation, Step, Which};
use super::names::Names;
use super::several_exits;
use super::version::{self, Accesses, number};
use crate::{Guard, Instruction, Integer, Operand, Statement, Type};

/// How many iterations are done at once.
const ITERATIONS: u64 = 4;

/// Loops of more instructions stay as they are.
const LARGEST: usize = 64;

/// The maximum number by which the counter of a loop with atomic operations grows.
const LARGEST_STEP: i64 = 1 << 20;

/// Unrolls loops, except those that begin with a block of `slow`. Returns how many.
pub(super) fn unroll<'a>(graph: &mut Graph<'a>, names: &'a Names, slow: &HashSet<Id>) -> usize {
    let mut count = 0;
    let mut cold = graph.cold();
    let mut accesses = Accesses::default();
    for each in loops::innermost(graph, &cold) {
        if !slow.contains(&each.header) {
            let unrolled = unroll_one(graph, names, &mut accesses, &cold, &each).is_some()
                || several_exits::unroll_single(graph, names, &mut accesses, &cold, &each);
            count += usize::from(unrolled);
            // The loops that are copied have no panics.
            cold.resize(graph.blocks.len(), false);
        }
    }
    count
}

/// Returns whether an instruction is an atomic operation on shared memory without a result and without
/// an ordering.
fn is_count(it: &Instruction<'_>) -> bool {
    let orders = |modifier: &&str| ["acq_rel", "acquire", "release"].contains(modifier);
    it.opcode == "red" && it.modifiers.contains(&"shared") && !it.modifiers.iter().any(orders)
}

fn unroll_one<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    accesses: &mut Accesses<'a>,
    cold: &[bool],
    each: &Loop<'a>,
) -> Option<()> {
    let (mut size, mut plain) = (0, true);
    let (mut loads, mut constant, mut stores, mut divides) = (false, false, false, false);
    let (mut counts, mut is_global) = (false, true);
    for &id in &each.blocks {
        let block = &graph.blocks[id];
        for statement in &block.body {
            instructions(statement, &mut |it| {
                size += 1;
                let counts_here = is_count(it);
                counts |= counts_here;
                plain &= counts_here || can_be_copied(it) && !matches!(it.opcode, "atom" | "red");
                is_global &= !matches!(it.opcode, "ld" | "st")
                    || !has_effect(it)
                        && (it.modifiers.contains(&"global") || it.modifiers.contains(&"param"));
                divides |= is_division(it);
                loads |= it.opcode == "ld" && !it.modifiers.contains(&"param");
                constant |= is_constant(it);
                stores |= it.opcode == "st";
            });
        }
        plain &= !matches!(block.end, End::Switch(..));
        plain &= id == each.latch
            || block
                .end
                .targets()
                .iter()
                .all(|to| each.contains(*to) && *to != each.header);
    }
    // Loads of global memory may precede atomic operations on shared memory.
    if !plain || !loads || size > LARGEST || counts && !is_global {
        return None;
    }
    let counters = each.counters(graph);
    if let Some(rest) = Rest::of(graph, each, &counters)
        && !divides
        && (!stores || constant)
    {
        let (ty, signed, unsigned) = match rest.counter.bits {
            32 => (Type::B32, "s32", "u32"),
            _ => (Type::B64, "s64", "u64"),
        };
        let copies = copies(graph, names, accesses, cold, each);
        let mut test = Vec::new();
        let sources = [rest.end, Operand::Name(rest.counter.register)];
        let left = graph.emit(names, &mut test, ty, "sub", &[signed], sources);
        let sources = [Operand::Name(left), number(rest.most)];
        let modifiers = ["gt", unsigned];
        let enough = graph.emit(names, &mut test, Type::Pred, "setp", &modifiers, sources);
        connect(graph, names, each, &copies, Vec::new(), (test, enough));
        return Some(());
    }
    let (counter, which, compared) = each.condition(graph, &counters)?;
    if compared.signed || counter.bits != compared.bits {
        return None;
    }
    // `further`: how often the step is added to the counter for the comparison before the last
    // iteration.
    let (step, down, further) = match (counter.step, which, compared.relation) {
        (Step::Constant(step @ 1..=64), Which::Next, Relation::Less)
            if stores && constant && !divides =>
        {
            (number(step as u64), false, ITERATIONS - 1)
        }
        (Step::Constant(step @ 1..=LARGEST_STEP), Which::Next, Relation::Less) if counts => {
            (number(step as u64), false, ITERATIONS - 1)
        }
        (Step::Register(step), Which::Next, Relation::Less) => {
            (Operand::Name(step), false, ITERATIONS - 1)
        }
        (Step::Register(step), Which::Current, Relation::Less) => {
            (Operand::Name(step), false, ITERATIONS - 2)
        }
        // While at least as much remains as an iteration takes.
        (Step::Minus(step), Which::Next, Relation::GreaterOrEqual) if matches!(compared.right, Operand::Name(right) if right == step) => {
            (Operand::Name(step), true, ITERATIONS)
        }
        _ => return None,
    };
    let (ty, signed, unsigned, most) = match counter.bits {
        32 => (Type::B32, "s32", "u32", u64::from(u32::MAX)),
        _ => (Type::B64, "s64", "u64", u64::MAX),
    };
    let copies = copies(graph, names, accesses, cold, each);
    let mut ahead = Vec::new();
    let pred = Type::Pred;
    let sources = [step.clone(), number(further)];
    let distance = graph.emit(names, &mut ahead, ty, "mul", &["lo", signed], sources);
    let sources = [step, number(most / ITERATIONS)];
    let fits = graph.emit(names, &mut ahead, pred, "setp", &["lt", unsigned], sources);
    // Whether there are as many iterations. The first is there whatever the counter is.
    let mut test = Vec::new();
    let enough = if down {
        let sources = [counter.register, distance, fits].map(Operand::Name);
        graph.emit(
            names,
            &mut test,
            pred,
            "setp",
            &["ge", "and", unsigned],
            sources,
        )
    } else {
        // More than there is if it overflows.
        let sources = [Operand::Name(distance), number(most), Operand::Name(fits)];
        let bits = if counter.bits == 32 { "b32" } else { "b64" };
        let distance = graph.emit(names, &mut ahead, ty, "selp", &[bits], sources);
        let current = Operand::Name(counter.register);
        let bound = compared.right.clone();
        let sources = [bound.clone(), current.clone()];
        let left = graph.emit(names, &mut test, ty, "sub", &[signed], sources);
        let sources = [current, bound];
        let below = graph.emit(names, &mut test, pred, "setp", &["lt", unsigned], sources);
        let sources = [left, distance, below].map(Operand::Name);
        let modifiers = ["gt", "and", unsigned];
        graph.emit(names, &mut test, pred, "setp", &modifiers, sources)
    };

    connect(graph, names, each, &copies, ahead, (test, enough));
    Some(())
}

/// What remains for a loop: it goes on while an end minus a counter is above a number.
struct Rest<'a> {
    counter: Counter<'a>,
    end: Operand<'a>,
    /// There are [`ITERATIONS`] iterations at least if the end minus the counter is above this.
    most: u64,
}

impl<'a> Rest<'a> {
    fn of(graph: &Graph<'a>, each: &Loop<'a>, counters: &[Counter<'a>]) -> Option<Rest<'a>> {
        let (register, goes_on) = each.guard(graph)?;
        let (set, ..) = each.definition(graph, register)?;
        let compared = Comparison::of(set, goes_on)?;
        let (&Operand::Name(left), &Operand::Integer(Integer { bits, .. })) =
            (&compared.left, &compared.right)
        else {
            return None;
        };
        let least = match compared.relation {
            Relation::Greater if !compared.signed => bits.checked_add(1)?,
            Relation::GreaterOrEqual if !compared.signed => bits,
            _ => return None,
        };
        let (sub, block, place) = each.definition(graph, left)?;
        let width = match (sub.opcode, &sub.modifiers[..], sub.guard) {
            ("sub", ["s64" | "u64"], None) => 64,
            ("sub", ["s32" | "u32"], None) => 32,
            _ => return None,
        };
        let [_, end, Operand::Name(subtracted)] = &sub.operands[..] else {
            return None;
        };
        let &counter = counters
            .iter()
            .find(|counter| counter.register == *subtracted || counter.next == Some(*subtracted))?;
        let Step::Constant(step @ 1..=LARGEST_STEP) = counter.step else {
            return None;
        };
        let &(_, written_in, written_at) = each.written.get(subtracted)?;
        let is_next =
            counter.next == Some(*subtracted) || block == written_in && place > written_at;
        let is_here = block == each.latch && each.is_invariant(end);
        let fits = (1..=1 << 30).contains(&least);
        if !is_here || !fits || width != counter.bits || width != compared.bits {
            return None;
        }
        // The comparisons of all iterations but the last hold, without a wrap around.
        let further = if is_next {
            ITERATIONS - 1
        } else {
            ITERATIONS - 2
        };
        let most = least - 1 + further * step as u64;
        let end = end.clone();
        Some(Rest { counter, end, most })
    }
}

/// Adds the copies of a loop.
fn copies<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    accesses: &mut Accesses<'a>,
    cold: &[bool],
    each: &Loop<'a>,
) -> Vec<version::Copy> {
    let mut cold = cold.to_vec();
    let copies = (0..ITERATIONS).map(|_| {
        cold.resize(graph.blocks.len(), false);
        version::copy(graph, names, accesses, &cold, each, &HashMap::default())
    });
    copies.collect()
}

/// Lets the copies run one after the other if `enough` holds behind `test`. Before the first test,
/// `ahead` runs.
fn connect<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    each: &Loop<'a>,
    copies: &[version::Copy],
    ahead: Vec<Statement<'a>>,
    (test, enough): (Vec<Statement<'a>>, &'a str),
) {
    let inside: HashSet<Id> = (each.blocks.iter().copied())
        .chain(copies.iter().flat_map(|copy| copy.blocks.clone()))
        .collect();
    let outside: Vec<Id> = graph
        .predecessors_of_one(each.header)
        .filter(|id| !inside.contains(id))
        .collect();
    let guard = Guard::new(enough);
    let mut add = |body, end, before| {
        let label = names.label();
        graph.add_before(Block { label, body, end }, before)
    };
    let end = End::Branch(guard, false, copies[0].header, each.header);
    let test = add(test, end, copies[0].blocks[0]);
    let ahead = add(ahead, End::Jump(test, false), test);
    for (index, copy) in copies.iter().enumerate() {
        let end = &mut graph.blocks[copy.latch].end;
        match copies.get(index + 1) {
            Some(next) => *end = End::Jump(next.header, false),
            None => end.retarget(&|to| if to == copy.header { test } else { to }),
        }
    }
    for id in outside {
        let end = &mut graph.blocks[id].end;
        end.retarget(&|to| if to == each.header { ahead } else { to });
    }
}
