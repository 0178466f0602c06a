//! Which registers are live where.

use crate::hash::{HashMap, HashSet, with_capacity};

use super::flow::{Graph, Id};
use super::instructions::{
    has_result, instructions, is_parameter, is_pure, is_same_in_block, results, sources,
};
use crate::dead::visit_operand;
use crate::{Instruction, Statement, Type};

/// The registers that are live at the start of each block of a region.
pub(super) struct Liveness<'a> {
    registers: Numbering<'a>,
    blocks: HashMap<Id, Steps>,
    live: HashMap<Id, Set>,
}

/// The numbers of the registers of a region.
struct Numbering<'a> {
    numbers: HashMap<&'a str, usize>,
    names: Vec<&'a str>,
}

impl<'a> Numbering<'a> {
    fn number(&mut self, name: &'a str) -> usize {
        *self.numbers.entry(name).or_insert_with(|| {
            self.names.push(name);
            self.names.len() - 1
        })
    }
}

/// What a block reads and writes.
struct Steps {
    /// The statements.
    body: Vec<Step>,
    /// What the end of the block reads.
    end: Vec<usize>,
    /// The blocks that may follow.
    targets: Vec<Id>,
}

/// What a statement reads and writes: the numbers of registers.
struct Step {
    writes: Vec<usize>,
    reads: Vec<usize>,
    /// Whether it has no effect besides its results.
    is_removable: bool,
    /// Whether it always writes its results.
    is_definite: bool,
}

impl Step {
    fn new<'a>(statement: &Statement<'a>, registers: &mut Numbering<'a>) -> Step {
        let mut step = Step {
            writes: Vec::new(),
            reads: Vec::new(),
            is_removable: false,
            is_definite: false,
        };
        // A nested block may write a register under a condition.
        instructions(statement, &mut |it| {
            read(it, &mut |name| step.reads.push(registers.number(name)));
        });
        if let Statement::Instruction(it) = statement {
            results(it, &mut |name| step.writes.push(registers.number(name)));
            step.is_removable = it.guard.is_none() && (is_pure(it) || is_parameter(it));
            step.is_definite = it.guard.is_none() && has_result(it);
        }
        step
    }

    /// Returns whether the statement only computes values that are not needed after it.
    fn is_dead(&self, live: &Set) -> bool {
        self.is_removable && !self.writes.iter().any(|&it| live.contains(it))
    }
}

/// A set of registers, by their numbers.
#[derive(Clone, Default, PartialEq, Eq)]
struct Set(Vec<u64>);

impl Set {
    fn contains(&self, register: usize) -> bool {
        self.0[register / 64] >> (register % 64) & 1 == 1
    }

    fn insert(&mut self, register: usize) {
        self.0[register / 64] |= 1 << (register % 64);
    }

    fn remove(&mut self, register: usize) {
        self.0[register / 64] &= !(1 << (register % 64));
    }

    fn extend(&mut self, other: &Set) {
        for (word, other) in self.0.iter_mut().zip(&other.0) {
            *word |= other;
        }
    }

    fn iter(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().flat_map(|(index, &word)| {
            let mut left = word;
            std::iter::from_fn(move || {
                let bit = (left != 0).then_some(left.trailing_zeros() as usize)?;
                left &= left - 1;
                Some(index * 64 + bit)
            })
        })
    }
}

impl<'a> Liveness<'a> {
    /// Computes the liveness in blocks. Blocks outside read no register.
    pub fn new(graph: &Graph<'a>, blocks: &[Id]) -> Liveness<'a> {
        let mut registers = Numbering {
            numbers: with_capacity(graph.len()),
            names: Vec::with_capacity(graph.len()),
        };
        let mut steps = HashMap::default();
        for &id in blocks {
            let block = &graph.blocks[id];
            let body = (block.body.iter())
                .map(|statement| Step::new(statement, &mut registers))
                .collect();
            let mut end = Vec::new();
            (block.end).sources(&mut |name| end.push(registers.number(name)));
            let targets = block.end.targets().to_vec();
            steps.insert(id, Steps { body, end, targets });
        }
        let mut live = Liveness {
            registers,
            blocks: steps,
            live: HashMap::default(),
        };
        loop {
            let mut changed = false;
            for &id in blocks.iter().rev() {
                let now = live.before(id, &mut |_, _| {});
                if live.live.get(&id) != Some(&now) {
                    live.live.insert(id, now);
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
        match (self.live.get(&block), self.registers.numbers.get(register)) {
            (Some(live), Some(&number)) => live.contains(number),
            _ => false,
        }
    }

    /// Returns the registers that are live at the end of a block.
    fn after(&self, id: Id) -> Set {
        let mut now = Set(vec![0; self.registers.names.len().div_ceil(64)]);
        let block = &self.blocks[&id];
        for live in block.targets.iter().filter_map(|to| self.live.get(to)) {
            now.extend(live);
        }
        block.end.iter().for_each(|&it| now.insert(it));
        now
    }

    /// Returns the registers that a block and those after it read before they write them. Calls
    /// `visit` with the index of each statement, last first, and the registers that are live after
    /// it. Instructions without effect whose results are not live count as absent.
    fn before(&self, id: Id, visit: &mut impl FnMut(usize, &Set)) -> Set {
        let mut now = self.after(id);
        for (index, step) in self.blocks[&id].body.iter().enumerate().rev() {
            visit(index, &now);
            if step.is_dead(&now) {
                continue;
            }
            if step.is_definite {
                step.writes.iter().for_each(|&it| now.remove(it));
            }
            step.reads.iter().for_each(|&it| now.insert(it));
        }
        now
    }

    /// Returns the names of registers.
    fn names(&self, set: &Set) -> HashSet<&'a str> {
        set.iter().map(|it| self.registers.names[it]).collect()
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

/// Removes the instructions of the blocks that have no effect and whose results are not needed. No
/// other block reads what these write.
pub(super) fn remove_dead(graph: &mut Graph<'_>, blocks: &[Id]) {
    let live = Liveness::new(graph, blocks);
    for &id in blocks {
        let mut needed = vec![true; graph.blocks[id].body.len()];
        live.before(id, &mut |index, after| {
            needed[index] = !live.blocks[&id].body[index].is_dead(after);
        });
        let mut needed = needed.into_iter();
        (graph.blocks[id].body).retain(|_| needed.next().unwrap_or(true));
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
        let mut writes: HashMap<&str, Option<&Instruction<'_>>> = with_capacity(graph.len());
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
    let pressures: Vec<Pressure> = (live.registers.names.iter())
        .map(|name| uniform.pressure(graph, name))
        .collect();
    let peak = |id| {
        let mut most = Pressure::default();
        live.before(id, &mut |_, after| {
            most = most.max(after.iter().map(|it| pressures[it]).sum());
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
    let mut now = live.names(&live.after(id));
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
    live.before(id, &mut |index, after| {
        let is_needed = !live.blocks[&id].body[index].is_dead(after);
        needed.extend(is_needed.then_some(&graph.blocks[id].body[index]));
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
