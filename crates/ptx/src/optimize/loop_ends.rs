//! Lets loops end by a counter that they need anyway: linear function test replacement.
//!
//! libnvvm's strength reduction counts the iterations of `for &byte in bytes` down to zero, beside
//! the address of the byte. If nothing else reads the number of iterations, the comparison of the
//! address with its last value ends the loop as well. That saves two additions per iteration, and
//! two registers: 64-bit counters take two of each.
//!
//! ptxas unrolls loops with a single exit, after which a counter costs little, so these stay as they
//! are. The pass runs last: other passes find the ranges of counters by the number of iterations.

use crate::hash::HashMap;

use super::exits::uses;
use super::flow::{Block, End, Graph, Id};
use super::loops::{self, Counter, Loop, Relation, Step, Which};
use super::names::Names;
use crate::{Integer, Operand, Statement, Type};

/// Replaces the comparisons that end loops. Returns their number.
pub(super) fn replace<'a>(graph: &mut Graph<'a>, names: &'a Names) -> usize {
    let loops = loops::innermost(graph, &graph.cold());
    if loops.is_empty() {
        return 0;
    }
    // A replacement adds no reads of a counter that another loop ends by.
    let (reads, predecessors) = (uses(graph), graph.predecessors());
    let replaced = (loops.iter())
        .filter_map(|each| replace_one(graph, names, each, &reads, &predecessors[each.header]));
    replaced.count()
}

fn replace_one<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    each: &Loop<'a>,
    reads: &HashMap<&'a str, usize>,
    predecessors: &[Id],
) -> Option<()> {
    let exits = (each.blocks.iter())
        .flat_map(|&id| graph.blocks[id].end.targets())
        .filter(|&to| !each.contains(to));
    if exits.count() < 2 {
        return None;
    }
    let counters = each.counters(graph);
    let (counter, which, comparison) = each.condition(graph, &counters)?;
    let ends_at_value = matches!(comparison.relation, Relation::Equal | Relation::NotEqual);
    let is_only_compared = counter.next.is_none() && reads.get(counter.register) == Some(&2);
    if !ends_at_value || !is_only_compared || (counter.bits, comparison.bits) != (64, 64) {
        return None;
    }
    let Step::Constant(step) = counter.step else {
        return None;
    };
    let place_of = |register: &str| {
        let &(1, block, index) = each.written.get(register)? else {
            return None;
        };
        (block == each.latch).then_some(index)
    };
    let End::Branch(guard, ..) = graph.blocks[each.latch].end else {
        return None;
    };
    let compared_at = place_of(guard.register)?;
    let stepped_at = place_of(counter.register)?;
    let steps_by = |other: &Counter<'a>| match other.step {
        Step::Constant(by) if by == step || by == step.wrapping_neg() => Some(by),
        _ => None,
    };
    let (other, by) = counters.iter().find_map(|other| {
        let is_needed = reads.get(other.register).is_some_and(|&reads| reads > 1);
        let is_other = other.register != counter.register && other.next.is_none();
        let by = steps_by(other).filter(|_| is_other && is_needed && other.bits == 64)?;
        Some((other.register, by))
    })?;
    let other_is_next = place_of(other)? < compared_at;
    let mut outside = predecessors.iter().filter(|id| !each.contains(**id));
    let (&before, None) = (outside.next()?, outside.next()) else {
        return None;
    };
    let is_branch = match graph.blocks[before].end {
        End::Jump(..) => false,
        End::Branch(..) => true,
        _ => return None,
    };
    // If both count in the same direction, their difference does not change, otherwise their sum.
    let opposite = by != step;
    let mut constant = match other_is_next {
        true => by,
        false => 0,
    };
    if which == Which::Next {
        constant = match opposite {
            true => constant.wrapping_add(step),
            false => constant.wrapping_sub(step),
        };
    }
    let [plus, minus] = match opposite {
        true => ["add", "sub"],
        false => ["sub", "add"],
    };
    let mut body = Vec::new();
    let mut emit = |graph: &mut Graph<'a>, opcode, left, right| {
        let operands = [Operand::Name(left), right];
        graph.emit(names, &mut body, Type::B64, opcode, &["s64"], operands)
    };
    let mut end = emit(graph, plus, other, Operand::Name(counter.register));
    match comparison.right {
        Operand::Integer(value) if opposite => {
            constant = constant.wrapping_sub(value.bits as i64);
        }
        Operand::Integer(value) => constant = constant.wrapping_add(value.bits as i64),
        Operand::Name(name) if graph.type_of(name).is_some() => {
            end = emit(graph, minus, end, Operand::Name(name));
        }
        _ => return None,
    }
    if constant != 0 {
        let constant = Operand::Integer(Integer::unsigned(constant as u64));
        end = emit(graph, "add", end, constant);
    }
    if is_branch {
        // `before` may belong to another loop.
        let (label, end) = (names.label(), End::Jump(each.header, false));
        let new = graph.add(Block { label, body, end }, Some(before));
        let end = &mut graph.blocks[before].end;
        end.retarget(&|to| if to == each.header { new } else { to });
    } else {
        graph.blocks[before].body.extend(body);
    }
    let latch = &mut graph.blocks[each.latch].body;
    let Statement::Instruction(set) = &mut latch[compared_at] else {
        return None;
    };
    set.operands[1..].clone_from_slice(&[Operand::Name(other), Operand::Name(end)]);
    latch.remove(stepped_at);
    Some(())
}
