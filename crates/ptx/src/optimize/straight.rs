//! Iterations of loops as one line of instructions.

use crate::hash::{HashMap, HashSet};

use super::flow::{End, Graph, Id};
use super::instructions::{rename, results, sources};
use super::loops::Loop;
use super::names::Names;
use super::specialize::is_fast;
use crate::rewrite::instruction;
use crate::{Guard, Instruction, Operand, Statement, Type};

/// The maximum number of instructions of an arm that becomes part of the line.
const ARM: usize = 4;

/// The types of registers that `selp` writes.
const SELECTABLE: &[Type] = &[Type::B16, Type::B32, Type::B64, Type::F32, Type::F64];

/// The instructions of an iteration that is not the last one of its loop.
pub(super) struct Line<'a> {
    /// Instructions and locations.
    pub statements: Vec<Statement<'a>>,
    /// The branch of the header that leaves the loop, if it is not at the end of the line: its guard,
    /// and whether the loop goes on if the guard holds.
    pub first: Option<(Guard<'a>, bool)>,
}

/// Returns an iteration of a loop in execution order, if all its branches skip a few instructions
/// without effects, except one at its start or its end.
///
/// The instructions that a branch skips always run, and selections choose between their results and the
/// values before them.
pub(super) fn line<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    each: &Loop<'a>,
) -> Option<Line<'a>> {
    let mut line = Line {
        statements: Vec::new(),
        first: None,
    };
    let mut seen = vec![each.header];
    loop {
        let id = *seen.last()?;
        append(graph, names, id, &mut line.statements)?;
        if id == each.latch {
            break;
        }
        let next = match graph.blocks[id].end {
            End::Jump(to, _) => to,
            End::Branch(guard, _, to, otherwise)
                if each.contains(to) && each.contains(otherwise) =>
            {
                let (arm, join) = arm(graph, id, to, otherwise)?;
                seen.insert(seen.len() - 1, arm);
                choose(graph, names, arm, (guard, arm == to), &mut line.statements)?;
                join
            }
            End::Branch(guard, _, to, otherwise) if id == each.header => {
                let goes_on = each.contains(to);
                line.first = Some((guard, goes_on));
                if goes_on { to } else { otherwise }
            }
            _ => return None,
        };
        if !each.contains(next) || seen.contains(&next) {
            return None;
        }
        seen.push(next);
    }
    (seen.len() == each.blocks.len()).then_some(line)
}

/// Appends the statements of a block. Nested blocks become instructions with new registers.
fn append<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    id: Id,
    line: &mut Vec<Statement<'a>>,
) -> Option<()> {
    for statement in graph.blocks[id].body.clone() {
        match statement {
            Statement::Instruction(_) | Statement::Loc(_) => line.push(statement),
            Statement::Label(_) => {}
            Statement::Block(inner) => {
                let mut own: HashMap<&'a str, &'a str> = HashMap::default();
                for statement in inner {
                    match statement {
                        Statement::Registers(registers) => {
                            for &(name, count) in &registers.names {
                                if count.is_some() || registers.vector.is_some() {
                                    return None;
                                }
                                own.insert(name, graph.register(registers.ty, names));
                            }
                        }
                        Statement::Instruction(mut it) => {
                            rename(&mut it, &mut |name| own.get(name).copied().unwrap_or(name));
                            line.push(Statement::Instruction(it));
                        }
                        Statement::Loc(_) => line.push(statement),
                        _ => return None,
                    }
                }
            }
            _ => return None,
        }
    }
    Some(())
}

/// Returns the target of a branch that only the branch leads to and that goes on with the other target,
/// and the other target.
fn arm(graph: &Graph<'_>, id: Id, to: Id, otherwise: Id) -> Option<(Id, Id)> {
    let is_arm = |arm: Id, join: Id| {
        matches!(graph.blocks[arm].end, End::Jump(next, _) if next == join)
            && graph.predecessors_of_one(arm).all(|from| from == id)
    };
    match () {
        () if to == otherwise => None,
        () if is_arm(to, otherwise) => Some((to, otherwise)),
        () if is_arm(otherwise, to) => Some((otherwise, to)),
        () => None,
    }
}

/// Appends the instructions of an arm with new registers, and selections for the registers that other
/// blocks read. `runs` is the guard of the branch, and whether the arm runs if it holds.
fn choose<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    arm: Id,
    (guard, runs): (Guard<'a>, bool),
    line: &mut Vec<Statement<'a>>,
) -> Option<()> {
    let mut new: Vec<(&'a str, &'a str)> = Vec::new();
    let mut count = 0;
    for statement in graph.blocks[arm].body.clone() {
        let it = match statement {
            Statement::Instruction(it) => it,
            Statement::Loc(_) | Statement::Label(_) => continue,
            _ => return None,
        };
        count += 1;
        let Some(&Operand::Name(result)) = it.operands.first() else {
            return None;
        };
        if count > ARM || !is_fast(&it) {
            return None;
        }
        let current = |name| {
            let last = new.iter().rev().find(|(old, _)| *old == name);
            last.map_or(name, |&(_, new)| new)
        };
        let mut copy = it;
        rename(&mut copy, &mut |name| current(name));
        let register = graph.register(graph.type_of(result)?, names);
        copy.operands[0] = Operand::Name(register);
        new.retain(|(old, _)| *old != result);
        new.push((result, register));
        line.push(Statement::Instruction(copy));
    }
    let others: Vec<Id> = (graph.order.iter().copied())
        .filter(|id| *id != arm)
        .collect();
    let mut read: HashSet<&'a str> = HashSet::default();
    graph.visit(others.iter().copied(), &mut |it| {
        sources(it, &mut |name| _ = read.insert(name));
    });
    for &id in &others {
        graph.blocks[id]
            .end
            .sources(&mut |name| _ = read.insert(name));
    }
    for (old, new) in new {
        if !read.contains(old) {
            continue;
        }
        let ty = graph.type_of(old)?;
        if !SELECTABLE.contains(&ty) {
            return None;
        }
        let [chosen, kept] = [new, old].map(Operand::Name);
        let sides = match runs != guard.negated {
            true => [chosen, kept],
            false => [kept, chosen],
        };
        let operands = std::iter::once(Operand::Name(old))
            .chain(sides)
            .chain([Operand::Name(guard.register)]);
        line.push(instruction("selp", &[ty.name()], operands.collect()));
    }
    Some(())
}

/// Returns the registers that an iteration, or code after the loop, may read before it writes them.
/// `is_read_outside` is whether a block outside the loop reads a register.
pub(super) fn needed<'a>(
    line: &[Statement<'a>],
    mut is_read_outside: impl FnMut(&'a str) -> bool,
) -> HashSet<&'a str> {
    let (mut needed, mut written) = (HashSet::default(), HashSet::default());
    for it in instructions(line) {
        sources(it, &mut |name| {
            if !written.contains(name) {
                needed.insert(name);
            }
        });
        results(it, &mut |name| _ = written.insert(name));
    }
    let outside = written.into_iter();
    needed.extend(outside.filter(|name| is_read_outside(name)));
    needed
}

/// Returns the instructions of a line.
pub(super) fn instructions<'s, 'a>(
    line: &'s [Statement<'a>],
) -> impl Iterator<Item = &'s Instruction<'a>> {
    line.iter().filter_map(|statement| match statement {
        Statement::Instruction(it) => Some(it),
        _ => None,
    })
}
