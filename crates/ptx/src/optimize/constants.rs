//! Unrolls loops of a known number of iterations that access local memory or have checks.
//!
//! `for x in [a, b, c]` is such a loop: libnvvm learns how often it runs only after its own pass that
//! unrolls loops, so the array stays in local memory.

use std::collections::HashMap;

use super::flow::{End, Graph, Id};
use super::instructions::{instructions, rename_operand, results};
use super::loops::{self, Comparison, Counter, Loop, Relation, Step, Which};
use super::names::Names;
use super::{check_of, version};
use crate::{Instruction, Integer, Operand, Statement, Type};

/// Loops of more iterations stay.
const ITERATIONS: usize = 32;
/// Loops of more instructions, over all iterations, stay.
const LARGEST: usize = 800;

/// Unrolls loops. Returns how many.
pub(super) fn unroll<'a>(graph: &mut Graph<'a>, names: &'a Names) -> usize {
    let mut count = 0;
    // The loop around an unrolled one may be next.
    for _ in 0..3 {
        let mut changed = 0;
        for each in loops::innermost(graph, &graph.cold()) {
            changed += usize::from(unroll_one(graph, names, &each).is_some());
        }
        if changed == 0 {
            break;
        }
        graph.tidy();
        count += changed;
    }
    count
}

fn unroll_one<'a>(graph: &mut Graph<'a>, names: &'a Names, each: &Loop<'a>) -> Option<()> {
    let cold = graph.cold();
    let mut size = 0;
    let mut local = false;
    for &id in &each.blocks {
        for statement in &graph.blocks[id].body {
            instructions(statement, &mut |it| {
                size += 1;
                local |= it.modifiers.contains(&"local");
            });
        }
        local |= id != each.latch && check_of(graph, &cold, id).is_some();
        if matches!(graph.blocks[id].end, End::Switch(..)) {
            return None;
        }
    }
    if !local {
        return None;
    }
    let counters = each.counters(graph);
    let iterations = iterations(graph, each, &counters)?;
    if iterations * size > LARGEST {
        return None;
    }
    let predecessors = graph.predecessors();
    let outside: Vec<Id> = (predecessors[each.header].iter().copied())
        .filter(|id| !each.blocks.contains(id))
        .collect();
    let known: Vec<(Counter<'a>, u64, u64)> = (counters.iter())
        .filter_map(|&counter| match counter.step {
            Step::Constant(step) => Some((counter, start(graph, each, counter)?, step as u64)),
            Step::Register(_) => None,
        })
        .collect();
    let End::Branch(_, _, to, otherwise) = graph.blocks[each.latch].end else {
        return None;
    };
    let exit = if to == each.header { otherwise } else { to };
    let mut entries = Vec::new();
    let mut latches = Vec::new();
    for iteration in 0..iterations as u64 {
        let cold = graph.cold();
        let copy = version::copy(graph, names, &cold, each, &HashMap::new());
        for &(counter, start, step) in &known {
            let register = graph.register(type_of(counter), names);
            for &id in &copy.blocks {
                replace(&mut graph.blocks[id].body, counter.register, register);
            }
            let value = start.wrapping_add(step.wrapping_mul(iteration));
            let value = match counter.bits {
                32 => u64::from(value as u32),
                _ => value,
            };
            let set = Statement::Instruction(Instruction {
                guard: None,
                opcode: "mov",
                modifiers: vec![type_of(counter).name()],
                operands: vec![
                    Operand::Name(register),
                    Operand::Integer(Integer::unsigned(value)),
                ],
                line: 0,
            });
            graph.blocks[copy.header].body.insert(0, set);
        }
        entries.push(copy.header);
        latches.push(copy.latch);
    }
    for (index, latch) in latches.into_iter().enumerate() {
        let next = entries.get(index + 1).copied().unwrap_or(exit);
        graph.blocks[latch].end = End::Jump(next, false);
    }
    for id in outside {
        graph.blocks[id]
            .end
            .retarget(&|to| if to == each.header { entries[0] } else { to });
    }
    Some(())
}

fn writes(it: &Instruction<'_>) -> bool {
    let mut found = false;
    results(it, &mut |_| found = true);
    found
}

fn type_of(counter: Counter<'_>) -> Type {
    match counter.bits {
        32 => Type::B32,
        _ => Type::B64,
    }
}

/// How often the loop runs, if that is known.
fn iterations<'a>(graph: &Graph<'a>, each: &Loop<'a>, counters: &[Counter<'a>]) -> Option<usize> {
    let (counter, which, compared) = each.condition(graph, counters)?;
    let Step::Constant(step) = counter.step else {
        return None;
    };
    if compared.bits != counter.bits {
        return None;
    }
    let mask = if counter.bits == 32 {
        u64::from(u32::MAX)
    } else {
        u64::MAX
    };
    let bound = constant(graph, &compared.right, 0)? & mask;
    let mut value = start(graph, each, counter)? & mask;
    for count in 1..=ITERATIONS {
        let next = value.wrapping_add(step as u64) & mask;
        let tested = match which {
            Which::Current => value,
            Which::Next => next,
        };
        if !holds(&compared, tested, bound) {
            return Some(count);
        }
        value = next;
    }
    None
}

/// Replaces a counter by another register, up to where it is increased.
fn replace<'a>(body: &mut [Statement<'a>], counter: &'a str, by: &'a str) {
    for statement in body {
        let Statement::Instruction(it) = statement else {
            continue;
        };
        let first = usize::from(writes(it));
        for operand in &mut it.operands[first..] {
            rename_operand(operand, &mut |name| if name == counter { by } else { name });
        }
        let mut increased = false;
        results(it, &mut |name| increased |= name == counter);
        if increased {
            return;
        }
    }
}

fn holds(compared: &Comparison<'_>, left: u64, right: u64) -> bool {
    let order = match (compared.signed, compared.bits) {
        (true, 32) => (left as i32).cmp(&(right as i32)),
        (true, _) => (left as i64).cmp(&(right as i64)),
        (false, _) => left.cmp(&right),
    };
    match compared.relation {
        Relation::Less => order.is_lt(),
        Relation::LessOrEqual => order.is_le(),
        Relation::Greater => order.is_gt(),
        Relation::GreaterOrEqual => order.is_ge(),
        Relation::Equal => order.is_eq(),
        Relation::NotEqual => order.is_ne(),
    }
}

/// The counter's value when the loop is entered, which the only block in front of it sets.
fn start<'a>(graph: &Graph<'a>, each: &Loop<'a>, counter: Counter<'a>) -> Option<u64> {
    let predecessors = graph.predecessors();
    let mut outside = (predecessors[each.header].iter()).filter(|id| !each.blocks.contains(id));
    let (&before, None) = (outside.next()?, outside.next()) else {
        return None;
    };
    let mut numbers: HashMap<&str, u64> = HashMap::new();
    for statement in &graph.blocks[before].body {
        instructions(statement, &mut |it| {
            results(it, &mut |name| _ = numbers.remove(name));
            if let ("mov", None, [Operand::Name(to), from]) =
                (it.opcode, it.guard, &it.operands[..])
            {
                let number = match from {
                    Operand::Name(name) => numbers.get(name).copied(),
                    _ => None,
                };
                if let Some(number) = number.or_else(|| constant(graph, from, 0)) {
                    numbers.insert(to, number);
                }
            }
        });
    }
    numbers.get(counter.register).copied()
}

/// The value of an operand that is always the same number.
pub(super) fn constant<'a>(graph: &Graph<'a>, operand: &Operand<'a>, depth: u32) -> Option<u64> {
    const DEEPEST: u32 = 8;
    match operand {
        Operand::Integer(value) => Some(value.bits),
        Operand::Name(name) if depth < DEEPEST => {
            graph.type_of(name)?;
            let mut definition = None;
            let mut count = 0;
            for block in &graph.blocks {
                for statement in &block.body {
                    instructions(statement, &mut |it| {
                        results(it, &mut |result| {
                            if result == *name {
                                definition = Some(it);
                                count += 1;
                            }
                        });
                    });
                }
            }
            let it = definition.filter(|_| count == 1)?;
            match (it.opcode, it.guard, &it.operands[..]) {
                ("mov", None, [Operand::Name(_), from]) => constant(graph, from, depth + 1),
                _ => None,
            }
        }
        _ => None,
    }
}
