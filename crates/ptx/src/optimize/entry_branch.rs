//! Combines the test at a kernel's entry with the branches that follow it in the copy.
//!
//! A thread of a short kernel passes the test, then finds that it has an element, then that the
//! element is not at an edge, or in bounds. Each branch waits for a special register or a parameter,
//! and ptxas moves the instructions that compute a condition behind the branch before it. One branch
//! on the conjunction leads past all of them, so the latencies overlap. Other threads return, or run
//! the original, which repeats the checks.

use super::flow::{Block, End, Graph, Id};
use super::instructions::{can_be_copied, results};
use super::loops;
use super::names::Names;
use super::specialize::{Special, is_fast, single_definitions};
use super::{Literal, literal};
use crate::{Guard, Operand, Statement, Type};

/// The maximum number of instructions of the copy, without those at the entry. Other warps hide the
/// latencies of more, and ptxas computes the test of longer kernels in uniform registers, but not
/// its conjunction with conditions that differ between threads.
const LARGEST: usize = 72;

/// Combines the branches.
pub(super) fn combine<'a>(graph: &mut Graph<'a>, names: &'a Names, special: &Special<'a>) {
    graph.remove_unreachable();
    let Some(&entry) = graph.order.first() else {
        return;
    };
    let End::Branch(test, uniform, start, general) = graph.blocks[entry].end else {
        return;
    };
    let shape = graph.shape();
    if general != special.general || !is_short(graph, &shape.cold, special) {
        return;
    }
    let single = single_definitions(graph, &shape.cold);
    // The conditions of the branches, and where the last of the leading ones returns to.
    let (mut returning, mut checks): (Vec<Literal<'a>>, Vec<Literal<'a>>) = Default::default();
    let mut returned = None;
    let (mut chain, mut at) = (Vec::new(), start);
    while shape.predecessors[at].len() == 1 && !chain.contains(&at) {
        let movable = |statement: &Statement<'a>| match statement {
            Statement::Instruction(it) => {
                let mut is_single = true;
                results(it, &mut |name| is_single &= single.contains_key(name));
                is_single && is_fast(it)
            }
            Statement::Loc(_) | Statement::Label(_) => true,
            _ => false,
        };
        if !graph.blocks[at].body.iter().all(movable) {
            break;
        }
        let next = match graph.blocks[at].end {
            End::Jump(to, _) => to,
            End::Branch(guard, _, to, otherwise) => {
                let ends = |id: Id| shape.cold[id] || graph.only_leaves(id);
                let (value, next, other) = match (ends(to), ends(otherwise)) {
                    (true, false) => (guard.negated, otherwise, to),
                    (false, true) => (!guard.negated, to, otherwise),
                    _ => break,
                };
                if !shape.cold[other] && checks.is_empty() {
                    returning.push((guard.register, value));
                    returned = Some(other);
                } else {
                    checks.push((guard.register, value));
                }
                next
            }
            _ => break,
        };
        chain.push(at);
        at = next;
    }
    if returning.is_empty() && checks.is_empty() {
        return;
    }
    let mut body = std::mem::take(&mut graph.blocks[entry].body);
    for &id in &chain {
        body.append(&mut graph.blocks[id].body);
    }
    let mut conjunction = |graph: &mut Graph<'a>, conditions: Vec<Literal<'a>>| {
        let mut all = None;
        for condition in conditions {
            let own = literal(graph, names, &mut body, condition);
            all = Some(match all {
                Some(all) => graph.and(names, &mut body, [all, own]),
                None => own,
            });
        }
        all
    };
    let test = (test.register, !test.negated);
    let inside = conjunction(graph, returning);
    let conditions = [test].into_iter().chain(checks);
    let conditions = conditions.chain(inside.map(|inside| (inside, true)));
    let likely = conjunction(graph, conditions.collect());
    graph.blocks[entry].body = body;
    let Some(likely) = likely else { return };
    let other = match (inside, returned) {
        (Some(inside), Some(returned)) => {
            let mut body = Vec::new();
            let [passes, outside] =
                [test, (inside, false)].map(|it| literal(graph, names, &mut body, it));
            let leaves = graph.and(names, &mut body, [passes, outside]);
            // ptxas moves the likely code away if the original is not the target.
            let fails = Guard {
                negated: true,
                register: leaves,
            };
            let end = End::Branch(fails, uniform, general, returned);
            let label = names.label();
            graph.add(Block { label, body, end }, None)
        }
        _ => general,
    };
    graph.blocks[entry].end = End::Branch(Guard::new(likely), false, at, other);
    graph.remove_unreachable();
}

/// Combines the branches at the start of an entry that only return, as in a kernel that compares each
/// of its coordinates with an extent.
pub(super) fn combine_returns<'a>(graph: &mut Graph<'a>, names: &'a Names) {
    let Some(&entry) = graph.order.first() else {
        return;
    };
    loop {
        graph.absorb(entry);
        let Some((first, next, returned)) = returning(graph, entry) else {
            return;
        };
        let movable = |statement: &Statement<'a>| match statement {
            Statement::Instruction(it) => {
                let mut keeps_first = true;
                results(it, &mut |name| keeps_first &= name != first.0);
                keeps_first && is_fast(it)
            }
            Statement::Loc(_) => true,
            _ => false,
        };
        let is_part = next != entry && graph.predecessors()[next] == [entry];
        if !is_part || !graph.blocks[next].body.iter().all(movable) {
            return;
        }
        let Some((second, after, _)) = returning(graph, next) else {
            return;
        };
        let mut body = std::mem::take(&mut graph.blocks[entry].body);
        body.append(&mut graph.blocks[next].body);
        let [first, second] = [first, second].map(|it| literal(graph, names, &mut body, it));
        let operands = [first, second].map(Operand::Name);
        let either = graph.emit(names, &mut body, Type::Pred, "or", &["pred"], operands);
        graph.blocks[entry].body = body;
        graph.blocks[entry].end = End::Branch(Guard::new(either), false, returned, after);
        graph.remove_unreachable();
    }
}

/// Returns the condition under which a block only returns, the block after it otherwise, and that
/// which returns.
fn returning<'a>(graph: &Graph<'a>, id: Id) -> Option<(Literal<'a>, Id, Id)> {
    let End::Branch(guard, _, to, otherwise) = graph.blocks[id].end else {
        return None;
    };
    match (graph.only_leaves(to), graph.only_leaves(otherwise)) {
        (true, false) => Some(((guard.register, !guard.negated), otherwise, to)),
        (false, true) => Some(((guard.register, guard.negated), to, otherwise)),
        _ => None,
    }
}

/// Returns whether the copy has few instructions, no loops, and no operations among threads: ptxas
/// knows that threads take the same branches only while those of a warp that are left stay together.
fn is_short<'a>(graph: &Graph<'a>, cold: &[bool], special: &Special<'a>) -> bool {
    let place = loops::places(graph);
    let mut blocks = special.blocks(graph);
    // The first one may have moved to the entry.
    blocks.retain(|&id| !cold[id] && place[id] != usize::MAX);
    let is_loop = (blocks.iter()).any(|&id| {
        let mut targets = graph.blocks[id].end.targets().to_vec();
        targets.retain(|&to| !cold[to]);
        targets.iter().any(|&to| place[to] <= place[id])
    });
    let (mut size, mut copied) = (0, true);
    graph.visit(blocks, &mut |it| {
        size += usize::from(!matches!(it.opcode, "cvt" | "mov"));
        copied &= can_be_copied(it);
    });
    !is_loop && copied && size <= LARGEST
}
