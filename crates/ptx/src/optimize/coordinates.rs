//! Assumes that floats converted to indices are within the grid that they are coordinates of.
//!
//! In `let low = at as usize; let high = if low + 1 == side { 0 } else { low + 1 };`, nothing limits
//! the index, so it and all that is computed with it has 64 bits. But code that compares an index
//! for the end of an extent assumes that the index is below it. In the copy that `specialize` makes,
//! this pass tests that, and threads with another index start over in the original. What depends on
//! the index then has a range, for `bounds` and `narrow`.
//!
//! `low + 1 < side` holds for the largest index, since the sum wraps around. So does the comparison
//! of the index with `-k` in `(at as usize + k).saturating_sub(1)`. There, the pass tests that the
//! index is below [`BOUND`], as that of any element is.

use crate::hash::{HashMap, HashSet};
use std::collections::BTreeMap;

use super::floats::Conversion;
use super::flow::{Block, End, Graph, Id};
use super::instructions::{can_be_copied, has_effect, instructions, results};
use super::liveness;
use super::names::Names;
use super::sink::dominators;
use super::specialize::{BOUND, Special, single_definitions};
use super::version::number;
use crate::rewrite::instruction;
use crate::{Guard, Instruction, Operand, Statement, Type};

/// The maximum number of tests in a kernel.
const TESTS: usize = 4;

/// A float converted to `u64`, with the value 0 for NaN.
#[derive(Clone, Copy, Debug)]
struct Converted<'a> {
    /// The register with the index.
    index: &'a str,
    /// The register with the `f32`.
    float: &'a str,
    /// The block of the conversion.
    block: Id,
    /// The place in the block of the instruction that selects the index.
    selected: usize,
    /// The place in the block of the conversion.
    converted: usize,
}

/// What an index is tested to be below.
#[derive(Clone, Copy, Debug)]
enum Limit<'a> {
    /// An extent.
    Extent(&'a str),
    /// [`BOUND`].
    Bound,
}

/// Tests the indices of the copy. Returns the number of tests.
pub(super) fn test<'a>(graph: &mut Graph<'a>, names: &'a Names, special: &Special<'a>) -> usize {
    let cold = graph.cold();
    // The threads of a warp may take different branches.
    let mut is_alone = true;
    let hot = graph.order.iter().copied().filter(|&id| !cold[id]);
    graph.visit(hot, &mut |it| is_alone &= can_be_copied(it));
    if !is_alone {
        return 0;
    }
    let single = single_definitions(graph, &cold);
    let blocks: Vec<Id> = (special.blocks(graph).into_iter())
        .filter(|&id| !cold[id])
        .collect();
    let all: Vec<Converted<'a>> = (blocks.iter())
        .flat_map(|&id| converted_in(graph, id, &single))
        .collect();
    let limits = limits_of(graph, special, &blocks, &all);
    let mut tests: BTreeMap<Id, Vec<(Converted<'a>, Limit<'a>)>> = BTreeMap::new();
    for it in all {
        if let Some(&limit) = limits.get(it.index) {
            tests.entry(it.block).or_default().push((it, limit));
        }
    }
    let predecessors = graph.predecessors();
    tests.retain(|&id, tests| {
        let place = tests.iter().map(|(it, _)| it.converted).min();
        let place = place.unwrap_or_default();
        tests.retain(|(it, limit)| {
            let is_known = |name| is_written_before(graph, name, id, place);
            let is_limit_known = match limit {
                Limit::Extent(extent) => is_known(extent),
                Limit::Bound => true,
            };
            is_known(it.float) && is_limit_known
        });
        !tests.is_empty() && !is_preceded_by_effect(graph, &predecessors, id, place)
    });
    if tests.values().map(Vec::len).sum::<usize>() > TESTS {
        return 0;
    }
    let count = tests.len();
    for (id, tests) in tests {
        insert(graph, names, special, id, &tests);
    }
    if count > 0 {
        // The conversions to 64 bits.
        liveness::remove_dead(graph, &special.blocks(graph));
    }
    count
}

/// Returns the floats that a block converts.
fn converted_in<'a>(
    graph: &Graph<'a>,
    id: Id,
    single: &HashMap<&'a str, Instruction<'a>>,
) -> Vec<Converted<'a>> {
    let mut found = Vec::new();
    let mut places: HashMap<&'a str, usize> = HashMap::default();
    for (place, statement) in graph.blocks[id].body.iter().enumerate() {
        let Statement::Instruction(it) = statement else {
            continue;
        };
        let Some(&Operand::Name(result)) = it.operands.first() else {
            continue;
        };
        if !single.contains_key(result) || it.guard.is_some() {
            continue;
        }
        places.insert(result, place);
        if let Some(of) = Conversion::of(single, it, "u64").filter(|of| of.ty == "f32")
            && let Some(&converted) = places.get(of.value)
        {
            found.push(Converted {
                index: result,
                float: of.float,
                block: id,
                selected: place,
                converted,
            });
        }
    }
    found
}

/// Returns what the comparisons of the indices assume that these are below.
fn limits_of<'a>(
    graph: &Graph<'a>,
    special: &Special<'a>,
    blocks: &[Id],
    all: &[Converted<'a>],
) -> HashMap<&'a str, Limit<'a>> {
    // The indices that registers are a number away from.
    let mut near: HashMap<&'a str, &'a str> = (all.iter()).map(|it| (it.index, it.index)).collect();
    let mut limits = HashMap::default();
    // Sums may be in any order.
    for _ in 0..2 {
        graph.visit(blocks.iter().copied(), &mut |it| match (
            it.opcode,
            &it.modifiers[..],
            &it.operands[..],
        ) {
            (
                "add",
                ["s64" | "u64"],
                &[Operand::Name(sum), Operand::Name(a), Operand::Integer(_)],
            ) => {
                if let Some(&index) = near.get(a) {
                    near.insert(sum, index);
                }
            }
            (
                "setp",
                ["eq" | "ne", "s64" | "u64" | "b64"],
                &[_, Operand::Name(a), Operand::Name(b)],
            ) => {
                for (index, extent) in [(a, b), (b, a)] {
                    if let Some(&index) = near.get(index)
                        && special.extents.contains(extent)
                    {
                        limits.insert(index, Limit::Extent(extent));
                    }
                }
            }
            (
                "setp",
                ["lt" | "le" | "gt" | "ge", "u64"],
                &[_, Operand::Name(a), Operand::Name(b)],
            ) => {
                for (sum, extent) in [(a, b), (b, a)] {
                    if let Some(&index) = near.get(sum)
                        && index != sum
                        && special.extents.contains(extent)
                    {
                        limits.entry(index).or_insert(Limit::Bound);
                    }
                }
            }
            (
                "setp",
                ["eq" | "ne", "s64" | "u64" | "b64"],
                &[_, Operand::Name(index), Operand::Integer(number)],
            ) if (number.bits as i64) < 0 && all.iter().any(|it| it.index == index) => {
                limits.entry(index).or_insert(Limit::Bound);
            }
            _ => {}
        });
    }
    limits
}

/// Returns whether one instruction writes a register, and precedes a place in a block.
fn is_written_before(graph: &Graph<'_>, name: &str, id: Id, place: usize) -> bool {
    let mut writes = Vec::new();
    for &block in &graph.order {
        for (place, statement) in graph.blocks[block].body.iter().enumerate() {
            instructions(statement, &mut |it| {
                results(it, &mut |result| {
                    if result == name {
                        writes.push((block, place));
                    }
                });
            });
        }
    }
    let [(block, written)] = writes[..] else {
        return false;
    };
    match block == id {
        true => written < place,
        false => dominators(graph).dominates(block, id),
    }
}

/// Returns whether a thread may have changed memory before it reaches a place in a block.
fn is_preceded_by_effect(
    graph: &Graph<'_>,
    predecessors: &[Vec<Id>],
    id: Id,
    place: usize,
) -> bool {
    let has = |body: &[Statement<'_>]| {
        let mut found = false;
        for statement in body {
            instructions(statement, &mut |it| found |= has_effect(it));
        }
        found
    };
    let mut seen = HashSet::default();
    let mut left = predecessors[id].clone();
    while let Some(id) = left.pop() {
        if seen.insert(id) {
            left.extend(&predecessors[id]);
        }
    }
    has(&graph.blocks[id].body[..place]) || seen.into_iter().any(|id| has(&graph.blocks[id].body))
}

/// Inserts the tests of a block as soon as their operands are known: loads start after them, and
/// need not wait for anything else.
fn insert<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    special: &Special<'a>,
    id: Id,
    tests: &[(Converted<'a>, Limit<'a>)],
) {
    let mut operands: HashSet<&'a str> = HashSet::default();
    for (it, limit) in tests {
        operands.insert(it.float);
        if let Limit::Extent(extent) = limit {
            operands.insert(extent);
        }
    }
    let is_operand = |statement: &Statement<'a>| {
        let mut found = false;
        instructions(statement, &mut |it| {
            results(it, &mut |name| found |= operands.contains(name));
        });
        found
    };
    let last = graph.blocks[id].body.iter().rposition(is_operand);
    let place = last.map_or(0, |last| last + 1);
    let selected: HashSet<usize> = tests.iter().map(|(it, _)| it.selected).collect();
    let mut body = std::mem::take(&mut graph.blocks[id].body);
    let rest = body.split_off(place);
    let rest = (rest.into_iter().enumerate())
        .filter(|(index, _)| !selected.contains(&(place + index)))
        .map(|(_, statement)| statement)
        .collect();
    let mut passes: Option<&'a str> = None;
    for (it, limit) in tests {
        // Both conversions of NaN are 0, and larger numbers are no index.
        let float = [Operand::Name(it.float)];
        let modifiers = ["rzi", "u32", "f32"];
        let word = graph.emit(names, &mut body, Type::B32, "cvt", &modifiers, float);
        let operands = vec![Operand::Name(it.index), Operand::Name(word)];
        body.push(instruction("cvt", &["u64", "u32"], operands));
        let limit = match limit {
            Limit::Extent(extent) => Operand::Name(extent),
            Limit::Bound => number(BOUND),
        };
        let operands = [Operand::Name(it.index), limit];
        let below = graph.emit(
            names,
            &mut body,
            Type::Pred,
            "setp",
            &["lt", "u64"],
            operands,
        );
        passes = Some(match passes {
            None => below,
            Some(all) => graph.and(names, &mut body, [all, below]),
        });
    }
    let end = graph.blocks[id].end.clone();
    graph.blocks[id].body = body;
    let rest = Block {
        label: names.label(),
        body: rest,
        end,
    };
    let next = graph.add(rest, Some(id));
    if let Some(register) = passes {
        let guard = Guard {
            negated: true,
            register,
        };
        graph.blocks[id].end = End::Branch(guard, false, special.general, next);
    }
}
