//! Combines the checks of consecutive conditional accesses.
//!
//! For `if x < width { tile[i] = from[index] }`, unrolled, `combine` does not help, because the
//! checks are behind different conditions: the load of one access waits until the previous access
//! has passed its check. This pass computes at the start whether any check fails that is reached,
//! and branches once: to a copy of the original code, which runs up to the failing check. What is
//! left are conditional accesses without control flow to panics, which ptxas turns into predicated
//! instructions.

use crate::hash::{HashMap, HashSet};

use super::flow::{Block, End, Graph, Id, Shape};
use super::instructions::{can_be_copied, instructions, is_pure, results, sources};
use super::names::Names;
use super::{Literal, check_of, definitions, literal, take_writers};
use crate::{Guard, Instruction, Operand, Statement, Type};

/// The maximum number of checks that one branch combines.
const CHECKS: usize = 8;

/// The maximum number of instructions of the accesses.
const LARGEST: usize = 160;

/// A conditional access: a chain of blocks that leaves to `join` at its end, and perhaps earlier.
struct Access<'a> {
    blocks: Vec<Id>,
    join: Id,
    /// The conditions under which each check is reached, and the condition under which it passes.
    checks: Vec<(Vec<Literal<'a>>, Literal<'a>)>,
    guarded: bool,
}

/// Combines the checks of a function, except in the blocks of `slow`. Returns the number of
/// combined checks.
pub(super) fn combine<'a>(graph: &mut Graph<'a>, names: &'a Names, slow: &HashSet<Id>) -> usize {
    let mut count = 0;
    let mut done: HashSet<Id> = slow.clone();
    let mut shape = graph.shape();
    for id in graph.order.clone() {
        if !done.contains(&id)
            && let Some(combined) = combine_from(graph, names, &shape, id, &mut done)
        {
            count += combined;
            shape = graph.shape();
        }
    }
    count
}

/// Combines the checks of the accesses that begin with a block. If it returns `None`, the graph is
/// unchanged.
fn combine_from<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    Shape { cold, predecessors }: &Shape,
    start: Id,
    done: &mut HashSet<Id>,
) -> Option<usize> {
    if cold[start] {
        return None;
    }
    let mut accesses: Vec<Access<'a>> = Vec::new();
    let mut at = start;
    let (mut checks, mut size) = (0, 0);
    while let Some(next) = access(graph, cold, predecessors, at, accesses.is_empty()) {
        for &id in &next.blocks {
            for statement in &graph.blocks[id].body {
                instructions(statement, &mut |_| size += 1);
            }
        }
        checks += next.checks.len();
        let known = accesses.iter().any(|it| it.blocks.contains(&next.join));
        if checks > CHECKS || size > LARGEST || known || next.blocks.contains(&next.join) {
            checks -= next.checks.len();
            break;
        }
        at = next.join;
        accesses.push(next);
    }
    // `combine` handles checks behind the same conditions.
    if accesses.iter().filter(|access| access.guarded).count() < 2 {
        return None;
    }
    let blocks: Vec<Id> = accesses.iter().flat_map(|it| it.blocks.clone()).collect();
    let join = accesses.last()?.join;
    let literals: Vec<(Vec<Literal<'a>>, Literal<'a>)> =
        accesses.iter().flat_map(|it| it.checks.clone()).collect();
    let moved = early(graph, cold, &blocks, &literals)?;

    // It computes the conditions again, so that they need not be in registers.
    let copy = copy(graph, names, &blocks, join);
    // What the conditions need, before the first branch.
    let mut computed = take_writers(graph, blocks[1..].iter().copied(), &moved);
    let mut fails = None;
    for (reached, (passes, value)) in &literals {
        let mut fail = literal(graph, names, &mut computed, (passes, !value));
        for &guard in reached {
            let guard = literal(graph, names, &mut computed, guard);
            fail = graph.and(names, &mut computed, [fail, guard]);
        }
        fails = Some(match fails {
            None => fail,
            Some(before) => {
                let operands = [before, fail].map(Operand::Name);
                graph.emit(names, &mut computed, Type::Pred, "or", &["pred"], operands)
            }
        });
    }
    let first = graph.blocks[start].clone();
    let fast = graph.add(
        Block {
            label: names.label(),
            body: Vec::new(),
            end: first.end,
        },
        Some(start),
    );
    graph.blocks[start].body.extend(computed);
    let guard = Guard::new(fails?);
    graph.blocks[start].end = End::Branch(guard, false, copy, fast);
    // The new blocks before the panics are not cold.
    let mut cold = cold.clone();
    cold.resize(graph.blocks.len(), false);
    for &id in blocks.iter().skip(1).chain([&fast]) {
        if let Some(check) = check_of(graph, &cold, id) {
            graph.blocks[id].end = End::Jump(check.passes, false);
        }
    }
    done.extend(blocks);
    Some(checks)
}

/// Returns the access that begins with a block. Of the first access, the first block's own
/// instructions stay where they are.
fn access<'a>(
    graph: &Graph<'a>,
    cold: &[bool],
    predecessors: &[Vec<Id>],
    start: Id,
    is_first: bool,
) -> Option<Access<'a>> {
    let mut access = Access {
        blocks: vec![start],
        join: usize::MAX,
        checks: Vec::new(),
        guarded: false,
    };
    let mut conditions: Vec<Literal<'a>> = Vec::new();
    let mut join = None;
    let mut at = start;
    loop {
        if !(is_first && at == start) {
            let mut plain = true;
            for statement in &graph.blocks[at].body {
                instructions(statement, &mut |it| plain &= can_be_copied(it));
            }
            if !plain {
                return None;
            }
        }
        let next = match (&graph.blocks[at].end, check_of(graph, cold, at)) {
            (_, Some(check)) => {
                access.checks.push((conditions.clone(), check.passes()));
                check.passes
            }
            (&End::Branch(guard, _, to, otherwise), None) => {
                // One side continues the chain, the other one leaves it.
                let chains = |id: Id| predecessors[id].len() == 1 && !access.blocks.contains(&id);
                let (next, leaves, value) = match join {
                    Some(join) if to == join => (otherwise, to, guard.negated),
                    Some(join) if otherwise == join => (to, otherwise, !guard.negated),
                    Some(_) => return None,
                    None if chains(otherwise) && !chains(to) => (otherwise, to, guard.negated),
                    None if chains(to) && !chains(otherwise) => (to, otherwise, !guard.negated),
                    None => return None,
                };
                join = Some(leaves);
                conditions.push((guard.register, value));
                access.guarded = true;
                next
            }
            (&End::Jump(to, _), None) => to,
            _ => return None,
        };
        if Some(next) == join || (join.is_none() && !access.checks.is_empty()) {
            // Without a condition, each check is an access of its own.
            access.join = next;
            break;
        }
        if predecessors[next].len() != 1 || access.blocks.contains(&next) || cold[next] {
            return None;
        }
        access.blocks.push(next);
        at = next;
    }
    // The next access begins where all paths of this one meet.
    let inside = |id: &Id| access.blocks.contains(id);
    (predecessors[access.join].iter().all(inside) && !access.checks.is_empty()).then_some(access)
}

/// Returns the registers that must be computed at the start, or `None` if one depends on a load or
/// on control flow.
fn early<'a>(
    graph: &Graph<'a>,
    cold: &[bool],
    blocks: &[Id],
    literals: &[(Vec<Literal<'a>>, Literal<'a>)],
) -> Option<HashSet<&'a str>> {
    let definitions = definitions(graph, cold);
    let mut writers: HashMap<&'a str, &Instruction<'a>> = HashMap::default();
    let mut fixed = HashSet::default();
    for &id in &blocks[1..] {
        for statement in &graph.blocks[id].body {
            let single = matches!(statement, Statement::Instruction(_));
            instructions(statement, &mut |it| {
                results(it, &mut |name| {
                    let movable = single && is_pure(it) && definitions.get(name) == Some(&1);
                    match movable {
                        true => _ = writers.insert(name, it),
                        false => _ = fixed.insert(name),
                    }
                });
            });
        }
    }
    let mut needed = HashSet::default();
    let mut left: Vec<&'a str> = Vec::new();
    for (reached, passes) in literals {
        left.extend(
            reached
                .iter()
                .chain([passes])
                .map(|&(register, _)| register),
        );
    }
    while let Some(name) = left.pop() {
        if fixed.contains(name) {
            return None;
        }
        if let Some(it) = writers.get(name)
            && needed.insert(name)
        {
            sources(it, &mut |name| left.push(name));
        }
    }
    Some(needed)
}

/// Copies the accesses, of which a check fails. Returns the first block of the copy.
fn copy<'a>(graph: &mut Graph<'a>, names: &'a Names, blocks: &[Id], join: Id) -> Id {
    // Never reached, because a check before it fails.
    let end = Block {
        label: names.label(),
        body: Vec::new(),
        end: End::Leave(Instruction::new("trap", &[], Vec::new())),
    };
    let first = graph.blocks.len();
    let ids: HashMap<Id, Id> = (blocks.iter().enumerate())
        .map(|(index, &id)| (id, first + index))
        .chain([(join, first + blocks.len())])
        .collect();
    for (index, &id) in blocks.iter().enumerate() {
        let Block { body, mut end, .. } = graph.blocks[id].clone();
        end.retarget(&|to| ids.get(&to).copied().unwrap_or(to));
        let mut body: Vec<Statement<'a>> = body
            .into_iter()
            .filter(|statement| !matches!(statement, Statement::Label(_)))
            .collect();
        if index == 0 {
            // The first block has already run.
            body.clear();
        }
        let label = names.label();
        graph.add(Block { label, body, end }, None);
    }
    graph.add(end, None);
    first
}
