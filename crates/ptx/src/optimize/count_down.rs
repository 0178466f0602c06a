//! Lets loops end when a counter is zero, so that ptxas unrolls them.
//!
//! ptxas 13.0 unrolls `for k in 0..n { sum += x[k * width + i] }` if a register counts the iterations
//! down to zero, but not if `k` is compared with `n`. libnvvm's unrolled loops count that way. It
//! does not unroll a loop with a check, though, and does not reduce the strength of `k * width`, so
//! after [`bounds`](super::bounds) has removed the check, one load at a time is in flight. The same
//! holds for `(0..n).step_by(32)`, whose loop continues while `k < n - 32`.
//!
//! The pass runs last: other passes find the ranges of counters by the comparison with the bound.

use crate::hash::HashMap;

use super::counts::minuend;
use super::flow::{Block, End, Graph, Id};
use super::instructions::instructions;
use super::loops::{self, Comparison, Loop, Relation, Step};
use super::names::Names;
use super::specialize::single_definitions;
use super::version::number;
use crate::rewrite::instruction;
use crate::{Instruction, Operand, Statement, Type};

/// Adds a counter to loops that count up to a variable, by one or a power of two. Returns the number
/// of loops.
pub(super) fn count<'a>(graph: &mut Graph<'a>, names: &'a Names) -> usize {
    let loops = loops::innermost(graph, &graph.cold());
    if loops.is_empty() {
        return 0;
    }
    // The blocks before one loop stay when another one is changed.
    let predecessors = graph.predecessors();
    let single = single_definitions(graph, &graph.cold());
    let counted = (loops.iter())
        .filter_map(|each| count_one(graph, names, &single, each, &predecessors[each.header]));
    counted.count()
}

fn count_one<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    single: &HashMap<&'a str, Instruction<'a>>,
    each: &Loop<'a>,
    predecessors: &[Id],
) -> Option<()> {
    let exits = (each.blocks.iter())
        .flat_map(|&id| graph.blocks[id].end.targets())
        .filter(|&to| !each.contains(to));
    let mut loads = false;
    for &id in &each.blocks {
        for statement in &graph.blocks[id].body {
            // `nounroll`, such as in the remaining iterations of a loop that libnvvm has unrolled.
            if matches!(statement, Statement::Pragma(_)) {
                return None;
            }
            instructions(statement, &mut |it| {
                loads |= it.opcode == "ld" && !it.modifiers.contains(&"param");
            });
        }
    }
    if exits.count() != 1 || !loads {
        return None;
    }
    let Condition {
        register,
        bits,
        step,
        bound,
        relation,
        place,
    } = condition(graph, single, each)?;
    let mut outside = predecessors.iter().filter(|id| !each.contains(**id));
    let (&before, None) = (outside.next()?, outside.next()) else {
        return None;
    };
    let (ty, signed, unsigned) = match bits {
        32 => (Type::B32, "s32", "u32"),
        _ => (Type::B64, "s64", "u64"),
    };
    // The remaining iterations, modulo 2³² or 2⁶⁴ like the counter if the step is one.
    let mut body = Vec::new();
    let bound = match bound {
        Bound::Register(bound) => bound,
        Bound::Converted(from) => {
            let from = [Operand::Name(from)];
            graph.emit(names, &mut body, Type::B32, "cvt", &["u32", "u64"], from)
        }
    };
    let operands = [bound, register].map(Operand::Name);
    let mut left = graph.emit(names, &mut body, ty, "sub", &[signed], operands.clone());
    if let Some(shift) = step {
        // One more than the distance divided by the step, rounded up.
        let mut emit = |opcode, modifiers: &[&'a str], ty, operands| {
            graph.emit(names, &mut body, ty, opcode, modifiers, operands)
        };
        let is_last = emit("setp", &["le", unsigned], Type::Pred, operands.to_vec());
        let operands = vec![Operand::Name(left), number(1)];
        let distance = emit("sub", &[signed], ty, operands);
        let operands = vec![Operand::Name(distance), number(shift.into())];
        let steps = emit("shr", &[unsigned], ty, operands);
        let operands = vec![Operand::Name(steps), number(2)];
        let steps = emit("add", &[signed], ty, operands);
        let operands = [number(1), Operand::Name(steps), Operand::Name(is_last)];
        left = emit("selp", &[ty.name()], ty, operands.to_vec());
    }
    let label = names.label();
    let end = End::Jump(each.header, false);
    let new = graph.add(Block { label, body, end }, Some(before));
    let end = &mut graph.blocks[before].end;
    end.retarget(&|to| if to == each.header { new } else { to });

    let latch = &mut graph.blocks[each.latch].body;
    if let Statement::Instruction(set) = &mut latch[place] {
        set.modifiers = vec![relation, signed];
        set.operands[1..].clone_from_slice(&[Operand::Name(left), number(0)]);
    }
    let operands = vec![Operand::Name(left), Operand::Name(left), number(1)];
    latch.insert(place, instruction("sub", &[signed], operands));
    Some(())
}

/// The value at which a loop ends.
enum Bound<'a> {
    Register(&'a str),
    /// The lower half of a register.
    Converted(&'a str),
}

/// The condition under which a loop continues.
struct Condition<'a> {
    /// The counter.
    register: &'a str,
    /// Its width.
    bits: u32,
    /// The binary logarithm of the step, if the loop continues while the counter is less than the
    /// bound. Otherwise the step is one, and the loop continues while the next value differs.
    step: Option<u32>,
    bound: Bound<'a>,
    /// The relation to 0 with which a counter of iterations replaces the comparison.
    relation: &'static str,
    /// The position of the comparison in the latch.
    place: usize,
}

fn condition<'a>(
    graph: &Graph<'a>,
    single: &HashMap<&'a str, Instruction<'a>>,
    each: &Loop<'a>,
) -> Option<Condition<'a>> {
    let End::Branch(guard, _, to, otherwise) = graph.blocks[each.latch].end else {
        return None;
    };
    let goes_on = match (to == each.header, otherwise == each.header) {
        (true, false) => !guard.negated,
        (false, true) => guard.negated,
        _ => return None,
    };
    let (set, block, place) = each.definition(graph, guard.register)?;
    let compared = Comparison::of(set, goes_on)?;
    let is_less = compared.relation == Relation::Less && !compared.signed;
    let is_condition = compared.relation == Relation::NotEqual || is_less;
    if block != each.latch || !is_condition || set.operands.len() != 3 {
        return None;
    }
    let swapped = (!is_less).then(|| compared.clone().swapped());
    for compared in [Some(compared.clone()), swapped].into_iter().flatten() {
        let (Operand::Name(left), Operand::Name(right)) = (&compared.left, &compared.right) else {
            continue;
        };
        let bound = match each.is_invariant(&compared.right) {
            true => Bound::Register(right),
            false => match low_half(each.definition(graph, right)) {
                Some(from) if each.is_invariant(&Operand::Name(from)) => Bound::Converted(from),
                _ => continue,
            },
        };
        for counter in each.counters(graph) {
            let &(_, written_in, written_at) = each.written.get(left)?;
            let is_after_step = written_in == block && written_at < place;
            let is_next = counter.next == Some(left) || counter.register == *left && is_after_step;
            let step = match counter.step {
                Step::Constant(1) if !is_less && is_next => None,
                // The counter is at most the minuend, so it does not wrap around.
                Step::Constant(step @ 1..)
                    if is_less
                        && !is_next
                        && counter.register == *left
                        && step.count_ones() == 1
                        && minuend(single, &compared.right, step).is_some() =>
                {
                    Some(step.trailing_zeros())
                }
                _ => continue,
            };
            if counter.bits == compared.bits {
                return Some(Condition {
                    register: counter.register,
                    bits: counter.bits,
                    step,
                    bound,
                    relation: if goes_on { "ne" } else { "eq" },
                    place,
                });
            }
        }
    }
    None
}

/// Returns the register whose lower half an instruction returns.
fn low_half<'a>(definition: Option<(&Instruction<'a>, Id, usize)>) -> Option<&'a str> {
    let (it, ..) = definition?;
    match (it.opcode, &it.modifiers[..], it.guard, &it.operands[..]) {
        ("cvt", ["u32", "u64"], None, [_, Operand::Name(from)]) => Some(from),
        _ => None,
    }
}
