//! Combines several checks into one branch.
//!
//! A check (for example a bounds check) is a branch to a panic, so each one begins a new block, and
//! ptxas reorders loads only within a block. For a sequence of checks, this pass computes the
//! conditions at the first check, as far as they do not depend on loads in between, and branches
//! once if any check fails: to a copy of the original code, which runs up to the failing check.

use std::collections::{HashMap, HashSet};

use super::flow::{Block, End, Graph, Id};
use super::instructions::{can_be_copied, has_effect, instructions, is_pure, results, sources};
use super::names::Names;
use super::{Check, check_of, definitions};
use crate::dead::visit_operand;
use crate::{Guard, Instruction, Integer, Operand, Statement, Type};

/// The maximum number of checks that one branch combines. Their indices are in registers at the
/// same time.
const CHECKS: usize = 8;

/// Combines the checks of a function, except in the blocks of `slow`, which rarely run. Returns the
/// number of removed branches.
pub(super) fn combine<'a>(graph: &mut Graph<'a>, names: &'a Names, slow: &HashSet<Id>) -> usize {
    let mut count = 0;
    let mut blocks = graph.order.clone();
    blocks.retain(|id| !slow.contains(id));
    for id in blocks {
        // Once for each group of conditions that can be computed together.
        count += combine_from(graph, names, id);
    }
    count
}

fn combine_from<'a>(graph: &mut Graph<'a>, names: &'a Names, start: Id) -> usize {
    let cold = graph.cold();
    let Some(row) = row_of_checks(graph, &cold, start) else {
        return 0;
    };
    let (moved, chosen) = early(graph, &cold, &row);
    let Some(&last) = chosen.last() else {
        return 0;
    };
    let copies = copy(graph, names, &cold, &row[..=last], &moved);

    // The instructions that compute the conditions, moved before the first branch.
    let mut computed = Vec::new();
    for &(id, _) in &row[1..=last] {
        let body = std::mem::take(&mut graph.blocks[id].body);
        let (early, rest): (Vec<_>, Vec<_>) = body.into_iter().partition(|statement| {
            matches!(*statement, Statement::Instruction(ref it) if is_moved(it, &moved))
        });
        computed.extend(early);
        graph.blocks[id].body = rest;
    }
    let first = row[0].1;
    let mut all = literal(graph, names, &mut computed, first);
    for &index in &chosen {
        let (id, check) = row[index];
        let next = literal(graph, names, &mut computed, check);
        let both = graph.register(Type::Pred, names);
        let operands = [both, all, next].map(Operand::Name).to_vec();
        computed.push(instruction("and", &["pred"], operands));
        all = both;
        graph.blocks[id].end = End::Jump(check.passes, false);
    }
    let block = &mut graph.blocks[row[0].0];
    block.body.extend(computed);
    let guard = Guard {
        negated: true,
        register: all,
    };
    block.end = End::Branch(guard, false, copies, first.passes);
    chosen.len()
}

/// Returns the consecutive blocks from `start` that end in a check, if there are at least two.
fn row_of_checks<'a>(graph: &Graph<'a>, cold: &[bool], start: Id) -> Option<Vec<(Id, Check<'a>)>> {
    let predecessors = graph.predecessors();
    let mut row = vec![(start, check_of(graph, cold, start)?)];
    while row.len() < CHECKS {
        let next = row.last()?.1.passes;
        let mut plain = predecessors[next].len() == 1 && next != start;
        for statement in &graph.blocks[next].body {
            instructions(statement, &mut |it| plain &= can_be_copied(it));
        }
        match check_of(graph, cold, next).filter(|_| plain) {
            Some(check) => row.push((next, check)),
            None => break,
        }
    }
    (row.len() > 1).then_some(row)
}

/// Returns the registers to compute early, and the indices of the checks whose conditions can be
/// computed at the first check.
fn early<'a>(
    graph: &Graph<'a>,
    cold: &[bool],
    row: &[(Id, Check<'a>)],
) -> (HashSet<&'a str>, Vec<usize>) {
    let definitions = definitions(graph, cold);
    let mut early = HashSet::new();
    let mut late = HashSet::new();
    let mut computations: Vec<&Instruction<'a>> = Vec::new();
    let mut chosen = Vec::new();
    for (index, &(id, check)) in row.iter().enumerate().skip(1) {
        for statement in &graph.blocks[id].body {
            let single = matches!(statement, Statement::Instruction(_));
            instructions(statement, &mut |it| {
                let mut possible = single && is_pure(it);
                sources(it, &mut |name| possible &= !late.contains(name));
                results(it, &mut |name| {
                    possible &= definitions.get(name) == Some(&1)
                });
                results(it, &mut |name| {
                    match possible {
                        true => early.insert(name),
                        false => late.insert(name),
                    };
                });
                if possible {
                    computations.push(it);
                }
            });
        }
        if !late.contains(check.register) {
            chosen.push(index);
        }
    }
    let mut needed: HashSet<&str> = chosen.iter().map(|&index| row[index].1.register).collect();
    for it in computations.iter().rev() {
        let mut is_needed = false;
        results(it, &mut |name| is_needed |= needed.contains(name));
        if is_needed {
            sources(it, &mut |name| _ = needed.insert(name));
        }
    }
    needed.retain(|name| early.contains(name));
    (needed, chosen)
}

fn is_moved(instruction: &Instruction<'_>, moved: &HashSet<&str>) -> bool {
    let mut found = false;
    results(instruction, &mut |name| found |= moved.contains(name));
    found
}

/// Copies the code from the first check to the last one, which is known to fail if no other check
/// fails. Returns the first block of the copy.
fn copy<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    cold: &[bool],
    row: &[(Id, Check<'a>)],
    moved: &HashSet<&'a str>,
) -> Id {
    let definitions = definitions(graph, cold);
    let comparisons: Vec<_> = (row.iter())
        .map(|&(_, check)| comparison(graph, &definitions, row, check.register))
        .collect();
    let mut used = HashSet::new();
    let mut next = None;
    for (&(id, check), comparison) in row.iter().zip(comparisons).rev() {
        used_from(graph, check.fails, &mut used);
        let mut tail = Vec::new();
        let mut register = check.register;
        if next.is_some()
            && let Some(comparison) = comparison
        {
            register = compare_again(graph, names, &comparison, &mut tail);
            for operand in comparison.operands {
                visit_operand(&operand, &mut |name| _ = used.insert(name));
            }
        } else {
            used.insert(register);
        }
        let mut body = Vec::new();
        if next.is_some() || id != row[0].0 {
            // Backwards, so that code used only by omitted code is omitted too.
            for statement in graph.blocks[id].body.iter().rev() {
                let (mut keep, mut labels) = (false, false);
                instructions(statement, &mut |it| {
                    keep |= has_effect(it);
                    results(it, &mut |name| keep |= used.contains(name));
                    labels |= is_moved(it, moved);
                });
                keep &= !labels;
                keep |= matches!(statement, Statement::Loc(_));
                if keep {
                    instructions(statement, &mut |it| {
                        sources(it, &mut |name| _ = used.insert(name))
                    });
                    body.push(statement.clone());
                }
            }
            body.reverse();
        }
        if id == row[0].0 {
            // The code before the first check has already run.
            body.clear();
        }
        let end = match next {
            None => End::Jump(check.fails, false),
            Some(next) => {
                let guard = Guard {
                    negated: !check.negated,
                    register,
                };
                End::Branch(guard, false, check.fails, next)
            }
        };
        body.extend(tail);
        let label = names.label();
        next = Some(graph.add(Block { label, body, end }, None));
    }
    // The blocks were created in reverse order.
    let first = graph.order.len() - row.len();
    graph.order[first..].reverse();
    // There are at least two blocks.
    next.unwrap_or_default()
}

/// A comparison of unsigned numbers.
struct Comparison<'a> {
    /// The operands `a` and `b` of `a < b`.
    operands: [Operand<'a>; 2],
    /// Whether the result is inverted.
    inverted: bool,
    wide: bool,
}

/// Returns the comparison that defines a predicate, if the copy can repeat it.
fn comparison<'a>(
    graph: &Graph<'a>,
    definitions: &HashMap<&'a str, u32>,
    row: &[(Id, Check<'a>)],
    predicate: &str,
) -> Option<Comparison<'a>> {
    let mut written = HashSet::new();
    for &(id, _) in row {
        for statement in &graph.blocks[id].body {
            instructions(statement, &mut |it| {
                results(it, &mut |name| _ = written.insert(name));
            });
        }
    }
    let constant = |operand: &Operand<'a>| match operand {
        Operand::Name(name) => !written.contains(name) || definitions.get(name) == Some(&1),
        Operand::Integer(_) => true,
        _ => false,
    };
    if definitions.get(predicate) != Some(&1) {
        return None;
    }
    for &(id, _) in row {
        for statement in &graph.blocks[id].body {
            let Statement::Instruction(it) = statement else {
                continue;
            };
            let [Operand::Name(result), a, b] = &it.operands[..] else {
                continue;
            };
            if *result != predicate {
                continue;
            }
            let ("setp", &[relation, ty @ ("u64" | "u32")], None) =
                (it.opcode, &it.modifiers[..], it.guard)
            else {
                return None;
            };
            if !constant(a) || !constant(b) {
                return None;
            }
            let (operands, inverted) = match relation {
                "lt" => ([a, b], false),
                "ge" => ([a, b], true),
                "gt" => ([b, a], false),
                "le" => ([b, a], true),
                _ => return None,
            };
            return Some(Comparison {
                operands: operands.map(Operand::clone),
                inverted,
                wide: ty == "u64",
            });
        }
    }
    None
}

/// Computes a comparison once more, as the borrow of a subtraction. If the copy read the predicate
/// of the original, or compared the same operands, ptxas would compute the predicate in the hot
/// path, separately from the combined condition.
fn compare_again<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    comparison: &Comparison<'a>,
    to: &mut Vec<Statement<'a>>,
) -> &'a str {
    let integer = |value| Operand::Integer(Integer::unsigned(value));
    let difference = graph.register(Type::B32, names);
    let mut words: [Vec<Operand<'a>>; 2] = [Vec::new(), Vec::new()];
    for (operand, words) in comparison.operands.iter().zip(&mut words) {
        match operand {
            Operand::Integer(value) if comparison.wide => {
                words.push(integer(value.bits & u64::from(u32::MAX)));
                words.push(integer(value.bits >> 32));
            }
            _ if comparison.wide => {
                let parts: [&str; 2] = std::array::from_fn(|_| graph.register(Type::B32, names));
                let parts = parts.map(Operand::Name).to_vec();
                let operands = vec![Operand::Vector(parts.clone()), operand.clone()];
                to.push(instruction("mov", &["b64"], operands));
                words.extend(parts);
            }
            _ => words.push(operand.clone()),
        }
    }
    let [a, b] = words;
    for (index, (a, b)) in a.into_iter().zip(b).enumerate() {
        let opcode = if index == 0 { "sub" } else { "subc" };
        let operands = vec![Operand::Name(difference), a, b];
        to.push(instruction(opcode, &["cc", "u32"], operands));
    }
    let operands = vec![Operand::Name(difference), integer(0), integer(0)];
    to.push(instruction("subc", &["u32"], operands));
    let predicate = graph.register(Type::Pred, names);
    let relation = if comparison.inverted { "eq" } else { "ne" };
    let operands = vec![
        Operand::Name(predicate),
        Operand::Name(difference),
        integer(0),
    ];
    to.push(instruction("setp", &[relation, "s32"], operands));
    predicate
}

/// Adds the registers that a cold block and its successors read.
fn used_from<'a>(graph: &Graph<'a>, from: Id, used: &mut HashSet<&'a str>) {
    let mut seen = HashSet::from([from]);
    let mut left = vec![from];
    while let Some(id) = left.pop() {
        let block = &graph.blocks[id];
        for statement in &block.body {
            instructions(statement, &mut |it| {
                sources(it, &mut |name| _ = used.insert(name))
            });
        }
        if let End::Branch(guard, ..) = block.end {
            used.insert(guard.register);
        }
        left.extend(
            block
                .end
                .targets()
                .into_iter()
                .filter(|&to| seen.insert(to)),
        );
    }
}

/// Returns a register that is true if a check passes.
fn literal<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    computed: &mut Vec<Statement<'a>>,
    check: Check<'a>,
) -> &'a str {
    if !check.negated {
        return check.register;
    }
    let register = graph.register(Type::Pred, names);
    let operands = [register, check.register].map(Operand::Name).to_vec();
    computed.push(instruction("not", &["pred"], operands));
    register
}

fn instruction<'a>(
    opcode: &'a str,
    modifiers: &[&'a str],
    operands: Vec<Operand<'a>>,
) -> Statement<'a> {
    Statement::Instruction(Instruction {
        guard: None,
        opcode,
        modifiers: modifiers.to_vec(),
        operands,
        line: 0,
    })
}
