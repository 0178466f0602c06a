//! Uses integers that were computed before instead of computing them again, where they are compared
//! or the first values of counters.
//!
//! libnvvm computes integers again where that needs fewer registers: in a loop over columns, its end
//! `(x + 2).min(width)` in each iteration. Other passes would not know that the loop has an end that
//! does not change, and that the counter is below it when the loop is entered.

use std::ops::Range;

use crate::hash::{HashMap, HashSet};

use super::definitions;
use super::duplicates::rename_sources;
use super::flow::{Graph, Id};
use super::instructions::{instructions, is_pure, results, sources};
use super::liveness::remove_dead;
use super::sink::dominators;
use crate::rewrite::instruction;
use crate::{Instruction, Operand, Statement, Type};

/// Opcodes of computations of integers, and of comparisons.
const OPCODES: &[&str] = &[
    "add", "and", "cvt", "div", "mad", "max", "min", "mul", "not", "or", "rem", "selp", "setp",
    "shl", "shr", "sub", "xor",
];

/// Those whose first two operands can be exchanged.
const SYMMETRIC: &[&str] = &["add", "and", "mad", "max", "min", "mul", "or", "xor"];

/// The types of operands and results.
const TYPES: &[&str] = &["b32", "b64", "pred", "s32", "s64", "u32", "u64"];

/// A computation: the opcode, its modifiers, and up to three operands.
type Key<'g, 'a> = (&'a str, &'g [&'a str], [Option<Argument<'a>>; 3]);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Argument<'a> {
    /// A register, or the first one with the same value.
    Register(&'a str),
    Number(u64),
}

/// A block and the index of one of its statements.
type Place = (Id, usize);

/// Replaces the computations of a function. Returns their number.
pub(super) fn reuse(graph: &mut Graph<'_>) -> usize {
    let cold = graph.cold();
    let counts = definitions(graph, &vec![false; graph.blocks.len()]);
    let mut writes: HashMap<&str, Vec<Place>> = HashMap::default();
    let mut compared: HashSet<&str> = HashSet::default();
    for &id in &graph.order {
        for (index, statement) in graph.blocks[id].body.iter().enumerate() {
            instructions(statement, &mut |it| {
                if it.opcode == "setp" {
                    sources(it, &mut |name| _ = compared.insert(name));
                }
                results(it, &mut |name| {
                    if counts.get(name) != Some(&1) {
                        writes.entry(name).or_default().push((id, index));
                    }
                });
            });
        }
    }
    let dominators = dominators(graph);
    let predecessors = graph.predecessors();
    let mut first: HashMap<&str, &str> = HashMap::default();
    let mut computed: HashMap<Key<'_, '_>, Vec<(Place, &str)>> = HashMap::default();
    let mut replaced: HashMap<Place, &str> = HashMap::default();
    let order = dominators.in_order();
    // The positions in the order of the blocks that each block dominates: its own, and those after it.
    let mut dominated: Vec<Range<usize>> = vec![0..0; graph.blocks.len()];
    for (position, &id) in order.iter().enumerate().rev() {
        let end = dominated[id].end.max(position + 1);
        dominated[id] = position..end;
        if let Some(by) = dominators.immediate_dominator(id) {
            dominated[by].end = dominated[by].end.max(end);
        }
    }
    for (position, id) in order.into_iter().enumerate() {
        for (index, statement) in graph.blocks[id].body.iter().enumerate() {
            let Statement::Instruction(it) = statement else {
                continue;
            };
            let Some((result, ty, key)) = key(graph, it, &first) else {
                continue;
            };
            let arguments = key.2.into_iter().flatten();
            let variables = arguments.filter_map(|argument| match argument {
                Argument::Register(name) => writes.get_key_value(name),
                Argument::Number(_) => None,
            });
            // The next value of a counter.
            if variables.clone().any(|(&name, _)| name == result) {
                continue;
            }
            let place = (id, index);
            let all = computed.entry(key).or_default();
            let same = all.iter().find(|&&(at, _)| {
                dominated[at.0].contains(&position)
                    && variables
                        .clone()
                        .all(|(_, writes)| is_kept(&predecessors, writes, at, place))
            });
            let is_single = counts.get(result) == Some(&1);
            match same {
                Some(&(_, other)) => {
                    if is_single {
                        first.insert(result, other);
                    }
                    // ptxas finds other integers itself.
                    let is_used = !is_single || compared.contains(result);
                    if ty != Type::Pred && is_used && !cold[id] {
                        replaced.insert(place, other);
                    }
                }
                None if is_single => all.push((place, result)),
                None => {}
            }
        }
    }
    if replaced.is_empty() {
        return 0;
    }
    let mut renamed: HashMap<&str, &str> = HashMap::default();
    for (&(id, index), &other) in &replaced {
        let bits = match graph.type_of(other) {
            Some(Type::B64) => "b64",
            _ => "b32",
        };
        let block = &mut graph.blocks[id];
        let Statement::Instruction(it) = &block.body[index] else {
            continue;
        };
        let Some(&Operand::Name(result)) = it.operands.first() else {
            continue;
        };
        if counts.get(result) == Some(&1) {
            renamed.insert(result, other);
        } else {
            let operands = vec![Operand::Name(result), Operand::Name(other)];
            block.body[index] = instruction("mov", &[bits], operands);
        }
    }
    let order = graph.order.clone();
    for &id in &order {
        let block = &mut graph.blocks[id];
        for statement in &mut block.body {
            rename_sources(statement, &|name| {
                renamed.get(name).copied().unwrap_or(name)
            });
        }
        (block.end).rename(&mut |name| renamed.get(name).copied().unwrap_or(name));
    }
    remove_dead(graph, &order);
    replaced.len()
}

/// Returns the result of a computation, its type, and the computation. `first` are the registers with
/// the values of others.
fn key<'g, 'a>(
    graph: &Graph<'a>,
    it: &'g Instruction<'a>,
    first: &HashMap<&'a str, &'a str>,
) -> Option<(&'a str, Type, Key<'g, 'a>)> {
    let (&ty, modifiers) = it.modifiers.split_last()?;
    let is_integer = TYPES.contains(&ty) && OPCODES.contains(&it.opcode);
    let is_converted = it.opcode != "cvt" || modifiers.iter().all(|ty| TYPES.contains(ty));
    let (&Operand::Name(result), operands) = it.operands.split_first()? else {
        return None;
    };
    let result_type = graph.type_of(result)?;
    let is_plain = matches!(result_type, Type::B32 | Type::B64 | Type::Pred);
    if !is_integer || !is_converted || !is_plain || !is_pure(it) {
        return None;
    }
    let mut arguments = [None; 3];
    for (index, operand) in operands.iter().enumerate() {
        *arguments.get_mut(index)? = Some(match operand {
            Operand::Integer(number) => Argument::Number(number.bits),
            Operand::Name(name) => {
                graph.type_of(name)?;
                Argument::Register(first.get(name).unwrap_or(name))
            }
            _ => return None,
        });
    }
    if SYMMETRIC.contains(&it.opcode) {
        arguments[..2].sort_unstable();
    }
    let key = (it.opcode, &it.modifiers[..], arguments);
    Some((result, result_type, key))
}

/// Returns whether a register with these definitions has the same value at a place as at another one
/// that dominates it.
fn is_kept(predecessors: &[Vec<Id>], writes: &[Place], from: Place, to: Place) -> bool {
    if from.0 == to.0 {
        let mut writes = writes.iter().filter(|it| it.0 == to.0);
        return !writes.any(|it| (from.1..to.1).contains(&it.1));
    }
    // The blocks between both.
    let mut between: HashSet<Id> = HashSet::default();
    let mut pending = predecessors[to.0].clone();
    while let Some(id) = pending.pop() {
        if id != from.0 && between.insert(id) {
            pending.extend(&predecessors[id]);
        }
    }
    !writes.iter().any(|&(id, index)| {
        between.contains(&id) || id == from.0 && index > from.1 || id == to.0 && index < to.1
    })
}
