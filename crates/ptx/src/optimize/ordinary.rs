//! Makes the copy of a kernel's body an entry of its own.
//!
//! The test of [`specialize`](super::specialize) takes about 30 instructions, as many as the rest
//! of a short kernel. Its operands are parameters and the sizes of the grid, so the host can
//! evaluate it before the launch: `cust` does, and launches the entry `NAME$ordinary` if the
//! condition holds, which has no test and no original body.

use super::flow::{End, Graph, Id};
use super::liveness;
use super::names::Names;
use super::specialize::{GENERAL, Special};
use crate::condition::{Condition, Launches};
use crate::{Function, Init, Integer, Linkage, Space, Statement, Type, Variable};

/// Removes the test from the graph, whose entry becomes the copy. Returns the graph of the original
/// body and the condition, or `None` if the test cannot be evaluated by the host.
pub(super) fn split<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    special: &Special<'a>,
    kernel: &Function<'a>,
) -> Option<(Graph<'a>, Condition)> {
    let (entry, first) = (*graph.order.first()?, special.first);
    let (start, condition) = condition(graph, special, kernel)?;
    let general = special.general;

    let mut original = graph.clone();
    original.blocks[entry].body.clear();
    if special.general_is_slow {
        let label = Statement::Label(names.numbered(GENERAL, ""));
        original.blocks[entry].body.push(label);
    }
    original.blocks[entry].end = End::Jump(general, false);
    original.tidy();

    graph.blocks[entry].end = End::Jump(first, false);
    graph.blocks[first].end = End::Jump(start, false);
    graph.remove_unreachable();
    // Debug information refers to the labels of the original.
    for block in &mut graph.blocks {
        block.body.retain(|it| !matches!(it, Statement::Label(_)));
    }
    // The copy computes the values of the test again.
    let blocks = graph.order.clone();
    liveness::remove_dead(graph, &blocks);
    graph.remove_unused_variables();
    Some((original, condition))
}

/// Returns the first block of the copy and the condition for it, or `None` if the test cannot be
/// evaluated by the host.
pub(super) fn condition<'a>(
    graph: &Graph<'a>,
    special: &Special<'a>,
    kernel: &Function<'a>,
) -> Option<(Id, Condition)> {
    let &entry = graph.order.first()?;
    let End::Branch(passes, _, first, general) = graph.blocks[entry].end else {
        return None;
    };
    if (first, general) != (special.first, special.general) || passes.negated {
        return None;
    }
    let mut conditions = vec![passes.register];
    let start = match graph.blocks[first].end {
        End::Jump(start, _) => start,
        End::Branch(passes, _, start, to) if to == general && !passes.negated => {
            conditions.push(passes.register);
            start
        }
        _ => return None,
    };
    let [one, other] = [entry, first].map(|id| &graph.blocks[id].body);
    let condition = Condition::of(kernel, one.iter().chain(other), &conditions)?;
    Some((start, condition))
}

/// Returns the variable with the condition of one of a kernel's entries.
pub(super) fn variable<'a>(
    names: &'a Names,
    kernel: &Function<'a>,
    launches: Launches,
    condition: &Condition,
) -> Variable<'a> {
    let bytes = condition.encode();
    let byte = |&byte: &u8| Init::Integer(Integer::unsigned(u64::from(byte)));
    Variable {
        linkage: Linkage::Visible,
        space: Space::Global,
        align: Some(8),
        attributes: Vec::new(),
        vector: None,
        ty: Type::B8,
        pointer: None,
        name: names.name(&launches.condition_of(kernel.name)),
        extents: vec![Some(bytes.len() as u64)],
        init: Some(Init::List(bytes.iter().map(byte).collect())),
        line: kernel.line,
    }
}
