//! Which registers are live where.

use crate::hash::{HashMap, HashSet};

use super::flow::{Graph, Id};
use super::instructions::{
    has_result, instructions, is_parameter, is_pure, is_same_in_block, results, sources,
};
use crate::dead::visit_operand;
use crate::{Instruction, Statement, Type};

/// The registers that are live at the start of each block of a region.
pub(super) struct Liveness<'a>(HashMap<Id, HashSet<&'a str>>);

impl<'a> Liveness<'a> {
    /// Computes the liveness in blocks. Blocks outside read no register.
    pub fn new(graph: &Graph<'a>, blocks: &[Id]) -> Liveness<'a> {
        let mut live = Liveness(HashMap::default());
        loop {
            let mut changed = false;
            for &id in blocks.iter().rev() {
                let now = live.before(graph, id, &mut |_, _| {});
                if live.0.get(&id) != Some(&now) {
                    live.0.insert(id, now);
                    changed = true;
                }
            }
            if !changed {
                return live;
            }
        }
    }

    /// Returns whether a register is live at the start of a block.
    pub fn contains(&self, block: Id, register: &str) -> bool {
        (self.0.get(&block)).is_some_and(|live| live.contains(register))
    }

    /// Returns the registers that are live at the end of a block.
    fn after(&self, graph: &Graph<'a>, id: Id) -> HashSet<&'a str> {
        let end = &graph.blocks[id].end;
        let mut now: HashSet<&'a str> = HashSet::default();
        for to in end.targets() {
            now.extend(self.0.get(&to).into_iter().flatten());
        }
        end.sources(&mut |name| _ = now.insert(name));
        now
    }

    /// Returns the registers that a block and those after it read before they write them. Calls
    /// `visit` with the index of each statement, last first, and the registers that are live after
    /// it. Instructions without effect whose results are not live count as absent.
    fn before(
        &self,
        graph: &Graph<'a>,
        id: Id,
        visit: &mut impl FnMut(usize, &HashSet<&'a str>),
    ) -> HashSet<&'a str> {
        let block = &graph.blocks[id];
        let mut now = self.after(graph, id);
        for (index, statement) in block.body.iter().enumerate().rev() {
            visit(index, &now);
            if let Statement::Instruction(it) = statement {
                if is_dead(it, &now) {
                    continue;
                }
                if it.guard.is_none() && has_result(it) {
                    results(it, &mut |name| _ = now.remove(name));
                }
                read(it, &mut |name| _ = now.insert(name));
            } else {
                // A nested block may write a register under a condition.
                instructions(statement, &mut |it| {
                    read(it, &mut |name| _ = now.insert(name))
                });
            }
        }
        now
    }
}

/// Calls `visit` with each register that the instruction may read: the first operand of some
/// instructions, such as barriers, is no result.
pub(super) fn read<'a>(it: &Instruction<'a>, visit: &mut impl FnMut(&'a str)) {
    if has_result(it) {
        sources(it, visit);
        return;
    }
    if let Some(guard) = it.guard {
        visit(guard.register);
    }
    for operand in &it.operands {
        visit_operand(operand, visit);
    }
}

/// Returns whether an instruction only computes values that are not needed after it.
fn is_dead(it: &Instruction<'_>, live: &HashSet<&str>) -> bool {
    let mut used = false;
    results(it, &mut |name| used |= live.contains(name));
    !used && it.guard.is_none() && (is_pure(it) || is_parameter(it))
}

/// Removes the instructions of the blocks that have no effect and whose results are not needed. No
/// other block reads what these write.
pub(super) fn remove_dead(graph: &mut Graph<'_>, blocks: &[Id]) {
    let live = Liveness::new(graph, blocks);
    for &id in blocks {
        let mut dead = HashSet::default();
        live.before(graph, id, &mut |index, after| {
            if let Statement::Instruction(it) = &graph.blocks[id].body[index]
                && is_dead(it, after)
            {
                dead.insert(index);
            }
        });
        let mut index = 0;
        graph.blocks[id].body.retain(|_| {
            index += 1;
            !dead.contains(&(index - 1))
        });
    }
}

/// The number of registers that are live at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Pressure {
    /// The number of 32-bit registers.
    pub words: usize,
    /// The number of predicates.
    pub predicates: usize,
}

impl Pressure {
    /// Returns the maxima of two pressures.
    fn max(self, other: Pressure) -> Pressure {
        Pressure {
            words: self.words.max(other.words),
            predicates: self.predicates.max(other.predicates),
        }
    }
}

impl std::iter::Sum for Pressure {
    fn sum<I: Iterator<Item = Pressure>>(all: I) -> Pressure {
        all.fold(Pressure::default(), |sum, each| Pressure {
            words: sum.words + each.words,
            predicates: sum.predicates + each.predicates,
        })
    }
}

/// The registers that are the same in the whole block: they are in uniform registers, or are
/// computed again, and cause no pressure.
pub(super) struct Uniform<'a>(HashSet<&'a str>);

impl<'a> Uniform<'a> {
    /// Finds the uniform registers in blocks.
    pub fn new(graph: &Graph<'a>, blocks: &[Id]) -> Uniform<'a> {
        let mut writes: HashMap<&str, Option<&Instruction<'_>>> = HashMap::default();
        for &id in blocks {
            for statement in &graph.blocks[id].body {
                let single = matches!(statement, Statement::Instruction(_));
                instructions(statement, &mut |it| {
                    results(it, &mut |name| {
                        let first = !writes.contains_key(name) && single;
                        writes.insert(name, first.then_some(it));
                    });
                });
            }
        }
        let mut uniform: HashSet<&str> = HashSet::default();
        loop {
            let count = uniform.len();
            for (&name, it) in &writes {
                let Some(it) = it else {
                    continue;
                };
                let mut same = is_pure(it) || is_parameter(it);
                sources(it, &mut |name| {
                    same &=
                        uniform.contains(name) || !name.starts_with('%') || is_same_in_block(name);
                });
                if same {
                    uniform.insert(name);
                }
            }
            if uniform.len() == count {
                return Uniform(uniform);
            }
        }
    }

    /// Returns the pressure that a live register causes.
    pub fn pressure(&self, graph: &Graph<'_>, name: &str) -> Pressure {
        let (words, predicates) = match graph.type_of(name) {
            _ if self.0.contains(name) => (0, 0),
            None => (0, 0),
            Some(Type::Pred) => (0, 1),
            Some(ty) => (ty.bytes().div_ceil(4) as usize, 0),
        };
        Pressure { words, predicates }
    }
}

/// Returns the maximum number of 32-bit registers that are live at once in the blocks: a lower bound
/// of what ptxas needs.
pub(super) fn pressure(graph: &Graph<'_>, blocks: &[Id]) -> usize {
    let uniform = Uniform::new(graph, blocks);
    let peaks = peaks(graph, blocks, &uniform);
    (peaks.values().map(|peak| peak.words).max()).unwrap_or_default()
}

/// Returns the maximum pressure in each of the blocks.
pub(super) fn peaks<'a>(
    graph: &Graph<'a>,
    blocks: &[Id],
    uniform: &Uniform<'a>,
) -> HashMap<Id, Pressure> {
    let live = Liveness::new(graph, blocks);
    let peak = |id| {
        let mut most = Pressure::default();
        live.before(graph, id, &mut |_, after| {
            let all = after.iter().map(|name| uniform.pressure(graph, name));
            most = most.max(all.sum());
        });
        most
    };
    blocks.iter().map(|&id| (id, peak(id))).collect()
}

/// Returns the maximum number of 32-bit registers that are live at once in the blocks if the
/// instructions of each block are in the order that needs few registers, as ptxas orders them if it
/// has few: libnvvm may compute all indices before the first access, and all sums after the last.
pub(super) fn least_pressure(graph: &Graph<'_>, blocks: &[Id]) -> usize {
    let uniform = Uniform::new(graph, blocks);
    let live = Liveness::new(graph, blocks);
    let peaks = (blocks.iter()).map(|&id| least_peak(graph, &live, &uniform, id));
    peaks.max().unwrap_or_default()
}

/// A statement of a block, and what restricts its place.
struct Node<'a> {
    reads: Vec<&'a str>,
    writes: Vec<&'a str>,
    /// The earlier statements that stay before this one.
    after: Vec<usize>,
    /// The number of later statements that stay after this one and have no place yet.
    users: usize,
}

/// Returns an upper bound of the pressure in a block with the best order. Statements get their places
/// backwards: each time, the one after which the fewest words are live.
fn least_peak<'a>(graph: &Graph<'a>, live: &Liveness<'a>, uniform: &Uniform<'a>, id: Id) -> usize {
    let mut nodes = nodes(graph, live, id);
    let words = |name: &str| uniform.pressure(graph, name).words;
    let mut now = live.after(graph, id);
    let mut count: usize = now.iter().map(|name| words(name)).sum();
    let mut most = count;
    let mut ready: Vec<usize> = (0..nodes.len())
        .filter(|&it| nodes[it].users == 0)
        .collect();
    // The number of live words before a statement.
    let before = |node: &Node<'a>, now: &HashSet<&'a str>, count: usize| {
        let written = node.writes.iter().filter(|name| now.contains(*name));
        let read =
            (node.reads.iter()).filter(|name| !now.contains(*name) || node.writes.contains(name));
        let freed: usize = written.map(|name| words(name)).sum();
        count + read.map(|name| words(name)).sum::<usize>() - freed
    };
    loop {
        let best = (0..ready.len()).min_by_key(|&index| {
            let it = ready[index];
            (before(&nodes[it], &now, count), std::cmp::Reverse(it))
        });
        let Some(best) = best else {
            return most;
        };
        let it = ready.swap_remove(best);
        count = before(&nodes[it], &now, count);
        most = most.max(count);
        for name in &nodes[it].writes {
            now.remove(name);
        }
        now.extend(nodes[it].reads.iter().copied());
        for earlier in std::mem::take(&mut nodes[it].after) {
            nodes[earlier].users -= 1;
            if nodes[earlier].users == 0 {
                ready.push(earlier);
            }
        }
    }
}

/// Returns the statements of a block that have an effect or a result that is needed.
fn nodes<'a>(graph: &Graph<'a>, live: &Liveness<'a>, id: Id) -> Vec<Node<'a>> {
    let mut needed: Vec<&Statement<'a>> = Vec::new();
    live.before(graph, id, &mut |index, after| {
        let statement = &graph.blocks[id].body[index];
        let is_needed = match statement {
            Statement::Instruction(it) => !is_dead(it, after),
            _ => true,
        };
        needed.extend(is_needed.then_some(statement));
    });
    let mut nodes: Vec<Node<'a>> = Vec::new();
    let mut writers: HashMap<&'a str, usize> = HashMap::default();
    let mut readers: HashMap<&'a str, Vec<usize>> = HashMap::default();
    let mut last_fixed = None;
    for statement in needed.into_iter().rev() {
        let place = nodes.len();
        let (mut reads, mut writes) = (HashSet::default(), Vec::new());
        let mut is_fixed = !matches!(statement, Statement::Instruction(_));
        instructions(statement, &mut |it| {
            let constant = it.opcode == "ld" && it.modifiers.contains(&"nc");
            is_fixed |= !is_pure(it) && !is_parameter(it) && !constant;
            read(it, &mut |name| _ = reads.insert(name));
            if has_result(it) {
                results(it, &mut |name| writes.push(name));
            }
        });
        let mut after: HashSet<usize> = HashSet::default();
        after.extend(reads.iter().filter_map(|name| writers.get(name)));
        for name in &writes {
            after.extend(writers.get(name));
            after.extend(readers.remove(name).into_iter().flatten());
        }
        if is_fixed {
            after.extend(last_fixed);
            last_fixed = Some(place);
        }
        for &name in &reads {
            readers.entry(name).or_default().push(place);
        }
        for &name in &writes {
            writers.insert(name, place);
        }
        for &earlier in &after {
            nodes[earlier].users += 1;
        }
        nodes.push(Node {
            reads: reads.into_iter().collect(),
            writes,
            after: after.into_iter().collect(),
            users: 0,
        });
    }
    nodes
}
