//! Does several iterations at once of loops with several exits that depend on no load.
//!
//! A loop over `rows.skip(a).step_by(b)` ends when the iterator's count ends, or when one of the
//! iterators inside is exhausted. ptxas does not unroll a loop with several exits, so each load
//! waits for that of the iteration before. This pass computes whether the next iterations take no
//! exit, and then runs them without branches: their loads are in flight together. Two iterations
//! that are left run at once, too. The original loop has the others and all exits.
//! [`super::strides`] has loops with one exit.

use crate::hash::{HashMap, HashSet};

use super::flow::{Block, End, Graph, Id};
use super::instructions::{can_be_copied, has_effect, instructions, is_parameter, is_pure};
use super::instructions::{rename_operand, results, sources};
use super::literal;
use super::loops::{self, Loop};
use super::names::Names;
use super::version::{self, Accesses, Copy};
use crate::{Base, Guard, Instruction, Operand, Statement};

/// How many loads that do not depend on each other are in flight together.
const LOADS: usize = 4;

/// How many of the iterations that remain are done at once.
const REMAINING: usize = 2;

/// Loops of more instructions stay as they are.
const LARGEST: usize = 48;

/// The maximum number of instructions of an iteration that the exits depend on.
const CONDITIONS: usize = 24;

/// Unrolls loops, except those that begin with a block of `slow`. Returns how many.
pub(super) fn unroll<'a>(graph: &mut Graph<'a>, names: &'a Names, slow: &HashSet<Id>) -> usize {
    let mut count = 0;
    let mut cold = graph.cold();
    let mut accesses = Accesses::default();
    for each in loops::innermost(graph, &cold) {
        if !slow.contains(&each.header)
            && let Some(plan) = plan(graph, &cold, &each)
        {
            unroll_one(graph, names, &mut accesses, &mut cold, &each, &plan);
            count += 1;
        }
    }
    count
}

/// The blocks of a loop, and what its exits depend on.
struct Plan<'a> {
    /// The blocks, in execution order.
    row: Vec<Id>,
    /// The blocks with an exit, with the predicate, its value for which the loop continues, and the
    /// block that is next.
    exits: HashMap<Id, (&'a str, bool, Id)>,
    /// The instructions that the exits depend on, by block and position.
    conditions: HashSet<(Id, usize)>,
    /// How many iterations are done at once. libnvvm may have made several one.
    iterations: usize,
}

fn plan<'a>(graph: &Graph<'a>, cold: &[bool], each: &Loop<'a>) -> Option<Plan<'a>> {
    let mut row = vec![each.header];
    let mut exits = HashMap::default();
    loop {
        let last = row[row.len() - 1];
        let next = match &graph.blocks[last].end {
            End::Jump(next, _) => *next,
            &End::Branch(guard, _, to, otherwise) => {
                let stays = each.contains(to);
                if stays == each.contains(otherwise) {
                    return None;
                }
                let (next, exit) = if stays {
                    (to, otherwise)
                } else {
                    (otherwise, to)
                };
                if cold[exit] {
                    return None;
                }
                exits.insert(last, (guard.register, stays != guard.negated, next));
                next
            }
            _ => return None,
        };
        if last == each.latch {
            break;
        }
        row.push(next);
    }
    if row.len() != each.blocks.len() || exits.len() < 2 {
        return None;
    }
    let (mut size, mut plain, mut writes) = (0, true, false);
    for &id in &row {
        for statement in &graph.blocks[id].body {
            plain &= !matches!(statement, Statement::Block(_));
            instructions(statement, &mut |it| {
                size += 1;
                plain &= can_be_copied(it);
                let own = ["shared", "local"];
                writes |= has_effect(it) && !it.modifiers.iter().any(|it| own.contains(it));
            });
        }
    }
    if !plain || size > LARGEST {
        return None;
    }
    let conditions = exits.values().map(|&(register, ..)| register);
    let conditions = computed(graph, &row, conditions.collect())?;
    if conditions.len() > CONDITIONS {
        return None;
    }
    let starts_early = |it: &Instruction<'a>| {
        let is_fixed = it.modifiers.contains(&"nc") || !writes;
        match it.operands.get(1) {
            Some(&Operand::Address(Base::Name(address), _)) => {
                let is_load = it.opcode == "ld" && it.modifiers.first() == Some(&"global");
                is_load
                    && is_fixed
                    && !has_effect(it)
                    && each.written.contains_key(address)
                    && computed(graph, &row, vec![address]).is_some()
            }
            _ => false,
        }
    };
    // Whether an exit is between loads of an iteration.
    let (mut loads, mut waits, mut early) = (0, false, false);
    for &id in &row {
        let before = loads;
        graph.visit([id], &mut |it| {
            loads += usize::from(it.opcode == "ld" && it.modifiers.first() == Some(&"global"));
            let starts = starts_early(it);
            early |= starts;
            waits |= starts && before > 0;
        });
    }
    let iterations = LOADS.div_ceil(loads.max(1));
    (early && (waits || iterations > 1)).then_some(Plan {
        row,
        exits,
        conditions,
        iterations,
    })
}

/// Returns the instructions of a loop that compute registers, in this and in former iterations, if
/// they depend on no load.
fn computed<'a>(
    graph: &Graph<'a>,
    row: &[Id],
    registers: Vec<&'a str>,
) -> Option<HashSet<(Id, usize)>> {
    let mut needed = HashSet::from_iter(registers);
    let mut found = HashSet::default();
    loop {
        let before = found.len();
        for &id in row {
            for (place, statement) in graph.blocks[id].body.iter().enumerate() {
                let Statement::Instruction(it) = statement else {
                    continue;
                };
                let mut writes = false;
                results(it, &mut |name| writes |= needed.contains(name));
                if writes && found.insert((id, place)) {
                    let is_plain = is_pure(it) || is_parameter(it) && it.guard.is_none();
                    if !is_plain {
                        return None;
                    }
                    sources(it, &mut |name| _ = needed.insert(name));
                }
            }
        }
        if found.len() == before {
            return Some(found);
        }
    }
}

fn unroll_one<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    accesses: &mut Accesses<'a>,
    cold: &mut Vec<bool>,
    each: &Loop<'a>,
    plan: &Plan<'a>,
) {
    let mut copies =
        |graph: &mut Graph<'a>, count| copies(graph, names, accesses, cold, each, plan, count);
    let whole = copies(graph, plan.iterations);
    let has_rest = plan.iterations > REMAINING;
    let rest = copies(graph, if has_rest { REMAINING } else { 0 });
    let mut test = Vec::new();
    let [enough, some] = test_exits(graph, names, plan, &mut test);

    let inside: HashSet<Id> = (each.blocks.iter().copied())
        .chain(whole.iter().flat_map(|copy| copy.blocks.clone()))
        .chain(rest.iter().flat_map(|copy| copy.blocks.clone()))
        .collect();
    let outside: Vec<Id> = graph
        .predecessors_of_one(each.header)
        .filter(|id| !inside.contains(id))
        .collect();
    let mut add = |body, register, to, otherwise| {
        let label = names.label();
        let end = End::Branch(Guard::new(register), false, to, otherwise);
        graph.add_before(Block { label, body, end }, whole[0].blocks[0])
    };
    let fewer = match rest.first() {
        Some(first) => add(Vec::new(), some, first.header, each.header),
        None => each.header,
    };
    let test = add(test, enough, whole[0].header, fewer);
    for (copies, then) in [(&whole, test), (&rest, each.header)] {
        for (index, copy) in copies.iter().enumerate() {
            let end = &mut graph.blocks[copy.latch].end;
            match copies.get(index + 1) {
                Some(next) => *end = End::Jump(next.header, false),
                None => end.retarget(&|to| if to == copy.header { then } else { to }),
            }
        }
    }
    for id in outside {
        let end = &mut graph.blocks[id].end;
        end.retarget(&|to| if to == each.header { test } else { to });
    }
    cold.resize(graph.blocks.len(), false);
}

/// Copies a loop without its exits, except that of the latch.
fn copies<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    accesses: &mut Accesses<'a>,
    cold: &mut Vec<bool>,
    each: &Loop<'a>,
    plan: &Plan<'a>,
    count: usize,
) -> Vec<Copy> {
    let exits = plan.exits.iter().filter(|(id, _)| **id != each.latch);
    let removed = exits.map(|(&id, &(.., next))| (id, next)).collect();
    let mut copies = Vec::new();
    for _ in 0..count {
        cold.resize(graph.blocks.len(), false);
        copies.push(version::copy(graph, names, accesses, cold, each, &removed));
    }
    copies
}

/// Appends instructions that compute whether the next iterations take no exit, except that of the
/// last one's latch. Returns the predicates for all iterations that are done at once, and for
/// [`REMAINING`] ones.
fn test_exits<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    plan: &Plan<'a>,
    test: &mut Vec<Statement<'a>>,
) -> [&'a str; 2] {
    let mut now: HashMap<&'a str, &'a str> = HashMap::default();
    let mut all: Option<&'a str> = None;
    let mut found = [""; 2];
    for iteration in 1..=plan.iterations {
        for &id in &plan.row {
            for place in 0..graph.blocks[id].body.len() {
                let Statement::Instruction(it) = &graph.blocks[id].body[place] else {
                    continue;
                };
                if !plan.conditions.contains(&(id, place)) {
                    continue;
                }
                let mut it = it.clone();
                let mut written = Vec::new();
                results(&it, &mut |name| written.push(name));
                for operand in &mut it.operands[1..] {
                    rename_operand(operand, &mut |name| now.get(name).copied().unwrap_or(name));
                }
                for name in written {
                    if let Some(ty) = graph.type_of(name) {
                        now.insert(name, graph.register(ty, names));
                    }
                }
                rename_operand(&mut it.operands[0], &mut |name| {
                    now.get(name).copied().unwrap_or(name)
                });
                test.push(Statement::Instruction(it));
            }
            if Some(&id) == plan.row.last() {
                if iteration == REMAINING {
                    found[1] = all.unwrap_or_default();
                }
                if iteration == plan.iterations {
                    break;
                }
            }
            if let Some(&(register, value, _)) = plan.exits.get(&id) {
                let register = now.get(register).copied().unwrap_or(register);
                let stays = literal(graph, names, test, (register, value));
                all = Some(match all {
                    None => stays,
                    Some(before) => graph.and(names, test, [before, stays]),
                });
            }
        }
    }
    found[0] = all.unwrap_or_default();
    found
}
