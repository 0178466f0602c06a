//! Peels the first iteration off grid-stride loops.
//!
//! Most launches have a thread for each element, so a grid-stride loop mostly has one iteration.
//! As straight-line code, its checks are combined with the loop's own condition, the counters of
//! the next iteration are computed after the loads, and nothing is prepared for a loop. Nested
//! loops are peeled together: the copy is the first iteration of all of them.

use std::collections::{HashMap, HashSet};

use super::definitions;
use super::flow::{Block, End, Graph, Id};
use super::instructions::{can_be_copied, instructions, results, sources};
use super::loops::{self, Loop};
use super::names::Names;
use super::narrow::{self, Peeled};
use super::version;
use crate::dead::visit_operand;
use crate::{Guard, Instruction, Operand, Statement};

/// The maximum number of instructions of the loops to peel.
const LARGEST: usize = 200;

/// Peels loops of a function. Returns the number of peeled nests, and adds the copies whose
/// integers can be narrowed to `small`.
pub(super) fn peel<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    small: &mut Vec<Peeled<'a>>,
) -> usize {
    let cold = graph.cold();
    let Some(loops) = loops::all(graph, &cold) else {
        return 0;
    };
    let mut count = 0;
    for outer in &loops {
        let contains =
            |other: &Loop<'a>| other.header != outer.header && other.blocks.contains(&outer.header);
        if !loops.iter().any(contains) {
            let inner = |each: &&Loop<'a>| outer.blocks.contains(&each.header);
            let nest: Vec<&Loop<'a>> = loops.iter().filter(inner).collect();
            count += usize::from(peel_nest(graph, names, outer, &nest, small).is_some());
        }
    }
    count
}

/// Peels a loop and those within it. `nest` are all of them.
fn peel_nest<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    outer: &Loop<'a>,
    nest: &[&Loop<'a>],
    small: &mut Vec<Peeled<'a>>,
) -> Option<()> {
    let (mut size, mut plain) = (0, true);
    for &id in &outer.blocks {
        for statement in &graph.blocks[id].body {
            instructions(statement, &mut |it| {
                size += 1;
                plain &= can_be_copied(it);
            });
        }
        plain &= !matches!(graph.blocks[id].end, End::Switch(..));
    }
    if !plain || size > LARGEST {
        return None;
    }
    let cold = graph.cold();
    let single = single_definitions(graph, &cold);
    for each in nest {
        let is_inside =
            |other: &&&Loop<'a>| other.header != each.header && each.blocks.contains(&other.header);
        let inner: Vec<&&Loop<'a>> = nest.iter().filter(is_inside).collect();
        let own =
            (each.blocks.iter()).filter(|&id| !inner.iter().any(|inner| inner.blocks.contains(id)));
        let mut strides = false;
        for &id in own {
            for statement in &graph.blocks[id].body {
                instructions(statement, &mut |it| {
                    strides |= it.opcode == "add" && adds_stride(it, outer, &single);
                });
            }
        }
        if !strides {
            return None;
        }
    }
    let headers: HashSet<Id> = nest.iter().map(|each| each.header).collect();
    let kept = live_at(graph, &cold, outer, &headers);
    let copy = version::copy(graph, names, &cold, outer, &HashMap::new(), &kept);
    // The copy is no loop.
    for id in copy.ids.values() {
        let body = &mut graph.blocks[*id].body;
        body.retain(|statement| !matches!(statement, Statement::Pragma(_)));
    }
    // The second iterations are those of the original loops.
    for each in nest {
        let (latch, header) = (copy.ids[&each.latch], copy.ids[&each.header]);
        let to_original = |to| if to == header { each.header } else { to };
        graph.blocks[latch].end.retarget(&to_original);
    }
    let copied: HashSet<Id> = copy.ids.values().copied().collect();
    let outside: Vec<Id> = (graph.predecessors()[outer.header].iter().copied())
        .filter(|id| !outer.blocks.contains(id) && !copied.contains(id))
        .collect();
    let mut start = copy.header;
    if let [before] = outside[..] {
        let mut path = narrow::before(graph, before);
        path.push(before);
        if let Some(extents) = narrow::extents(graph, &path, &outer.blocks) {
            let mut body = Vec::new();
            let register = narrow::test(graph, names, &mut body, &extents);
            let guard = Guard {
                negated: false,
                register,
            };
            let end = End::Branch(guard, false, copy.header, outer.header);
            let label = names.label();
            start = graph.add(Block { label, body, end }, Some(before));
            small.push(Peeled {
                first: copy.header,
                blocks: copied,
                extents,
            });
        }
    }
    for id in outside {
        let to_start = |to| if to == outer.header { start } else { to };
        graph.blocks[id].end.retarget(&to_start);
    }
    Some(())
}

/// Returns the instructions that are the only ones to write their result.
fn single_definitions<'g, 'a>(
    graph: &'g Graph<'a>,
    cold: &[bool],
) -> HashMap<&'a str, &'g Instruction<'a>> {
    let counts = definitions(graph, cold);
    let mut single = HashMap::new();
    for &id in &graph.order {
        for statement in &graph.blocks[id].body {
            if let Statement::Instruction(it) = statement {
                results(it, &mut |name| {
                    if counts.get(name) == Some(&1) {
                        single.insert(name, it);
                    }
                });
            }
        }
    }
    single
}

/// Returns whether an addition adds a value that is computed from the number of blocks in the grid.
fn adds_stride(
    addition: &Instruction<'_>,
    outer: &Loop<'_>,
    single: &HashMap<&str, &Instruction<'_>>,
) -> bool {
    addition
        .operands
        .iter()
        .skip(1)
        .any(|operand| match operand {
            Operand::Name(name) => {
                !outer.written.contains_key(name) && is_of_grid(single, name, 16)
            }
            _ => false,
        })
}

/// Returns whether a register is computed from the number of blocks in the grid.
fn is_of_grid(single: &HashMap<&str, &Instruction<'_>>, register: &str, remaining: usize) -> bool {
    if register.starts_with("%nctaid") {
        return true;
    }
    let Some(instruction) = single.get(register).filter(|_| remaining > 0) else {
        return false;
    };
    let mut found = false;
    for operand in instruction.operands.iter().skip(1) {
        visit_operand(operand, &mut |name| {
            found = found || is_of_grid(single, name, remaining - 1);
        });
    }
    found
}

/// Returns the registers that the loop writes and that are read, before they are written, from one
/// of `headers` on.
fn live_at<'a>(
    graph: &Graph<'a>,
    cold: &[bool],
    outer: &Loop<'a>,
    headers: &HashSet<Id>,
) -> HashSet<&'a str> {
    let mut live: HashMap<Id, HashSet<&'a str>> = HashMap::new();
    let mut blocks: Vec<Id> = outer.blocks.clone();
    let mut index = 0;
    while index < blocks.len() {
        for to in graph.blocks[blocks[index]].end.targets() {
            if cold[to] && !blocks.contains(&to) {
                blocks.push(to);
            }
        }
        index += 1;
    }
    loop {
        let mut changed = false;
        for &id in blocks.iter().rev() {
            let block = &graph.blocks[id];
            let mut now: HashSet<&'a str> = HashSet::new();
            for to in block.end.targets() {
                now.extend(live.get(&to).into_iter().flatten());
            }
            if let End::Branch(guard, ..) = &block.end {
                now.insert(guard.register);
            }
            for statement in block.body.iter().rev() {
                // Backwards within a nested block, too.
                let mut inner = Vec::new();
                instructions(statement, &mut |it| inner.push(it));
                for it in inner.into_iter().rev() {
                    if it.guard.is_none() {
                        results(it, &mut |name| _ = now.remove(name));
                    }
                    sources(it, &mut |name| _ = now.insert(name));
                }
            }
            now.retain(|name| outer.written.contains_key(name));
            if live.get(&id) != Some(&now) {
                live.insert(id, now);
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    let of_headers = headers.iter().filter_map(|id| live.get(id));
    of_headers.flatten().copied().collect()
}
