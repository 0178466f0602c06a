//! Gives checks that share a panic registers of their own.
//!
//! A panic gets the index that is out of bounds. libnvvm merges the panics of unrolled iterations,
//! and computes all their indices into the register that the merged panic reads. The other passes
//! move only instructions whose register no other instruction writes. This pass gives the result of
//! such an instruction a new register, which moves to the old one on the way to the panic.

use std::ops::Range;

use super::flow::{Block, End, Graph, Id};
use super::instructions::{has_result, instructions, is_pure, rename, results, sources};
use super::liveness::Liveness;
use super::names::Names;
use super::{definitions, writes};
use crate::hash::{HashMap, HashSet};
use crate::rewrite::instruction;
use crate::{Instruction, Operand, Statement, Type};

/// What reads the result of an instruction.
#[derive(Default)]
struct Uses {
    /// The blocks, each with the statements of its body that may read the result, and whether its
    /// terminator may.
    blocks: Vec<(Id, Range<usize>, bool)>,
    /// The edges to panics that read the result.
    panics: Vec<(Id, Id)>,
}

/// What the pass knows of a function.
struct Context<'a> {
    cold: Vec<bool>,
    predecessors: Vec<Vec<Id>>,
    live: Liveness<'a>,
    /// The panic behind each block that the pass has added.
    added: HashMap<Id, Id>,
}

/// Renames results. Returns their number.
pub(super) fn separate<'a>(graph: &mut Graph<'a>, names: &'a Names) -> usize {
    let cold = graph.cold();
    let mut shared = shared(graph, &cold);
    if shared.is_empty() {
        return 0;
    }
    let mut context = Context {
        predecessors: graph.predecessors(),
        live: Liveness::new(graph, &graph.order),
        added: HashMap::default(),
        cold,
    };
    shared.retain(|name| {
        let mut panics = (graph.order.iter()).filter(|&&id| context.cold[id]);
        panics.any(|&id| context.live.contains(id, name))
    });
    let mut count = 0;
    for id in graph.order.clone() {
        if context.cold[id] || shared.is_empty() {
            continue;
        }
        for index in 0..graph.blocks[id].body.len() {
            let Statement::Instruction(it) = &graph.blocks[id].body[index] else {
                continue;
            };
            let Some(&Operand::Name(result)) = it.operands.first() else {
                continue;
            };
            if is_pure(it)
                && shared.contains(result)
                && let Some(uses) = uses(graph, &context, result, id, index)
            {
                let new = rename_uses(graph, names, &mut context, result, &uses);
                if let Statement::Instruction(it) = &mut graph.blocks[id].body[index] {
                    it.operands[0] = Operand::Name(new);
                }
                count += 1;
            }
        }
    }
    count
}

/// Returns the registers of integers that several instructions write.
fn shared<'a>(graph: &Graph<'a>, cold: &[bool]) -> HashSet<&'a str> {
    let several = definitions(graph, cold).into_iter().filter(|it| it.1 > 1);
    let integers = |name: &&str| matches!(graph.type_of(name), Some(Type::B32 | Type::B64));
    several.map(|(name, _)| name).filter(integers).collect()
}

/// Returns what reads the result of the instruction at `index` of a block, or `None` if something
/// else reads the result of another instruction, too, or if no panic reads it.
fn uses<'a>(
    graph: &Graph<'a>,
    context: &Context<'a>,
    result: &'a str,
    block: Id,
    index: usize,
) -> Option<Uses> {
    let only = HashSet::from_iter([result]);
    let mut uses = Uses::default();
    let mut left = vec![(block, index + 1)];
    while let Some((id, start)) = left.pop() {
        let Block { body, end, .. } = &graph.blocks[id];
        let mut last = None;
        for (index, statement) in body.iter().enumerate().skip(start) {
            match statement {
                Statement::Instruction(it) if !writes(it, &only) => {}
                // The next value, which may be computed from this one.
                Statement::Instruction(it) if it.guard.is_none() && is_result(it, result) => {
                    last = Some(index);
                    break;
                }
                Statement::Instruction(_) => return None,
                _ => {
                    let mut found = false;
                    instructions(statement, &mut |it| {
                        sources(it, &mut |name| found |= name == result);
                        results(it, &mut |name| found |= name == result);
                    });
                    if found {
                        return None;
                    }
                }
            }
        }
        uses.blocks.push((
            id,
            start..last.map_or(body.len(), |it| it + 1),
            last.is_none(),
        ));
        if last.is_some() {
            continue;
        }
        for to in end.targets() {
            let panic = context.added.get(&to).copied().unwrap_or(to);
            if !context.live.contains(panic, result) {
                continue;
            }
            let is_switch = matches!(end, End::Switch(..));
            match context.cold.get(to).is_none_or(|&cold| cold) {
                true if is_switch => return None,
                true => uses.panics.push((id, to)),
                false if context.predecessors[to] == [id] => left.push((to, 0)),
                false => return None,
            }
        }
    }
    (!uses.panics.is_empty()).then_some(uses)
}

/// Returns whether a register is the result of an instruction.
fn is_result(it: &Instruction<'_>, register: &str) -> bool {
    has_result(it) && matches!(it.operands.first(), Some(Operand::Name(name)) if *name == register)
}

/// Renames the uses of a result. Returns the new register.
fn rename_uses<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    context: &mut Context<'a>,
    result: &'a str,
    uses: &Uses,
) -> &'a str {
    let (ty, modifier) = match graph.type_of(result) {
        Some(Type::B32) => (Type::B32, "b32"),
        _ => (Type::B64, "b64"),
    };
    let new = graph.register(ty, names);
    let mut renamed = |name: &'a str| if name == result { new } else { name };
    for (id, statements, with_end) in &uses.blocks {
        let block = &mut graph.blocks[*id];
        for statement in &mut block.body[statements.clone()] {
            if let Statement::Instruction(it) = statement {
                let is_next = is_result(it, result);
                rename(it, &mut renamed);
                if is_next {
                    it.operands[0] = Operand::Name(result);
                }
            }
        }
        if *with_end {
            block.end.rename(&mut renamed);
        }
    }
    for &(from, to) in &uses.panics {
        let move_back = || {
            let operands = [result, new].map(Operand::Name).into();
            instruction("mov", &[modifier], operands)
        };
        if context.added.contains_key(&to) {
            graph.blocks[to].body.push(move_back());
            continue;
        }
        let block = Block {
            label: names.label(),
            body: vec![move_back()],
            end: End::Jump(to, false),
        };
        let added = graph.add_before(block, to);
        context.added.insert(added, to);
        let retarget = |id| if id == to { added } else { id };
        graph.blocks[from].end.retarget(&retarget);
    }
    new
}
