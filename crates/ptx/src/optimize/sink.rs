//! Sinks cheap instructions of the copy of a kernel's body to the blocks that use their results.
//!
//! LLVM hoists invariants out of loops. If an inner loop is unrolled completely, and the outer one
//! has a single iteration in the copy that `specialize` makes, the invariants of all steps are live
//! at once: ptxas moves no instruction to another block. It keeps predicates beyond the seven of the
//! hardware as bits of registers. This pass computes such values again where they are used, if the
//! maximum number of threads can then run at once.

use crate::hash::{HashMap, HashSet};
use std::collections::{BTreeMap, BTreeSet};

use super::digraph::{Digraph, Dominators};
use super::flow::{End, Graph, Id};
use super::instructions::{instructions, is_pure, rename, rename_operand, results, sources};
use super::liveness::{self, Pressure, Uniform, read};
use super::loops;
use super::names::Names;
use super::specialize::Special;
use super::version::number;
use super::{PRESSURE, REGISTERS};
use crate::{Instruction, Integer, Operand, Statement, Type};

/// Opcodes of instructions that are computed again rather than kept.
const CHEAP: &[&str] = &[
    "add", "and", "cvt", "mov", "mul", "not", "or", "setp", "shl", "shr", "sub", "xor",
];

/// Modifiers of instructions on floating-point numbers.
const FLOATS: &[&str] = &["bf16", "bf16x2", "f16", "f16x2", "f32", "f64"];

/// The maximum number of instructions that are copied to a block for one value.
const CHAIN: usize = 8;

/// The number of predicates that are live at once without being kept in registers. The seventh is
/// the condition of a branch.
const PREDICATES: usize = 6;

/// Sinks instructions of the copy of a kernel's body. Returns the number of values that are no
/// longer kept.
pub(super) fn sink<'a>(graph: &mut Graph<'a>, names: &'a Names, special: &Special<'a>) -> usize {
    let blocks = special.blocks(graph);
    let Some((count, copied, definitions)) = Plan::of(graph, &blocks) else {
        return 0;
    };
    for (id, copied) in copied {
        let body = std::mem::take(&mut graph.blocks[id].body);
        let mut copies = Copies {
            graph,
            names,
            definitions: &definitions,
            copied,
            made: HashMap::default(),
            body: Vec::with_capacity(body.len()),
        };
        for mut statement in body {
            if let Statement::Instruction(it) = &mut statement {
                rename(it, &mut |name| copies.of(name));
            }
            copies.body.push(statement);
        }
        let mut end = copies.graph.blocks[id].end.clone();
        if let End::Branch(guard, ..) = &mut end {
            guard.register = copies.of(guard.register);
        }
        let body = copies.body;
        graph.blocks[id].body = body;
        graph.blocks[id].end = end;
    }
    liveness::remove_dead(graph, &blocks);
    count
}

/// An instruction that can be computed again wherever its result is read.
#[derive(Clone, Debug)]
struct Definition<'a> {
    block: Id,
    place: usize,
    instruction: Instruction<'a>,
}

/// The registers whose instructions are copied to each block.
type Copied<'a> = BTreeMap<Id, BTreeSet<&'a str>>;

/// Decides what is sunk.
struct Plan<'g, 'a> {
    graph: &'g Graph<'a>,
    uniform: Uniform<'a>,
    predecessors: Vec<Vec<Id>>,
    /// The bodies of the loops.
    loops: Vec<BTreeSet<Id>>,
    /// The block of the only instruction that writes a register, if it precedes all that read it.
    written: HashMap<&'a str, Id>,
    /// Those that are cheap.
    definitions: HashMap<&'a str, Definition<'a>>,
    /// The number of operands in each block that are the register.
    uses: HashMap<&'a str, BTreeMap<Id, usize>>,
    /// The blocks at whose start a register is live, for those that `written` has.
    live: HashMap<&'a str, BTreeSet<Id>>,
    /// The registers of which some uses cannot be changed.
    pinned: HashSet<&'a str>,
    copied: Copied<'a>,
    /// The maximum pressure in each block that is not cold.
    peaks: HashMap<Id, Pressure>,
}

impl<'g, 'a> Plan<'g, 'a> {
    /// Returns the number of values that are sunk, the copies, and what they are copies of, if the
    /// maximum number of threads can run at once with them.
    fn of(
        graph: &'g Graph<'a>,
        blocks: &[Id],
    ) -> Option<(usize, Copied<'a>, HashMap<&'a str, Definition<'a>>)> {
        let cold = graph.cold();
        let uniform = Uniform::new(graph, blocks);
        let mut peaks = liveness::peaks(graph, blocks, &uniform);
        peaks.retain(|&id, _| !cold[id]);
        if !peaks
            .values()
            .any(|&peak| words_are_high(peak) || predicates_are_high(peak))
        {
            return None;
        }
        let (flow, back) = loops::back_edges(graph, &cold);
        let bodies = back.iter().map(|&(latch, header)| {
            let mut inside = BTreeSet::from([header]);
            loops::add_body(&flow, latch, &mut inside);
            inside
        });
        let mut plan = Plan {
            graph,
            uniform,
            predecessors: graph.predecessors(),
            loops: bodies.collect(),
            written: HashMap::default(),
            definitions: HashMap::default(),
            uses: HashMap::default(),
            live: HashMap::default(),
            pinned: HashSet::default(),
            copied: BTreeMap::new(),
            peaks,
        };
        let dominators = dominators(graph);
        plan.find(blocks, &cold, &dominators);
        let depth = |id| dominators.dominators(id).map(Iterator::count);
        let mut candidates: Vec<_> = (plan.definitions.iter())
            .map(|(&name, it)| (depth(it.block), it.block, it.place, name))
            .collect();
        candidates.sort_unstable();
        let mut count = 0;
        // Last first: the operands of what is sunk may be sunk further.
        for (.., name) in candidates.into_iter().rev() {
            count += usize::from(plan.sink(name).is_some());
        }
        let fits = plan.peaks.values().all(|peak| peak.words <= PRESSURE);
        (count > 0 && fits).then_some((count, plan.copied, plan.definitions))
    }

    /// Finds the instructions that can be computed again, and all uses in the blocks.
    fn find(&mut self, blocks: &[Id], cold: &[bool], dominators: &Dominators) {
        let graph = self.graph;
        let own: HashSet<Id> = blocks.iter().copied().collect();
        let mut places: HashMap<&'a str, Option<(Id, usize)>> = HashMap::default();
        let mut reads: Vec<(&'a str, Id, usize)> = Vec::new();
        for &id in &graph.order {
            let block = &graph.blocks[id];
            for (place, statement) in block.body.iter().enumerate() {
                let plain = matches!(statement, Statement::Instruction(_));
                instructions(statement, &mut |it| {
                    results(it, &mut |name| {
                        let single = plain && it.guard.is_none();
                        let place = single.then_some((id, place));
                        let known = places.entry(name).or_insert(place);
                        *known = known.filter(|known| Some(*known) == place);
                    });
                    read(it, &mut |name| {
                        reads.push((name, id, place));
                        if !plain {
                            self.pinned.insert(name);
                        }
                    });
                });
            }
            match &block.end {
                End::Branch(guard, ..) => reads.push((guard.register, id, usize::MAX)),
                End::Leave(it) | End::Switch(it, _) => read(it, &mut |name| {
                    reads.push((name, id, usize::MAX));
                    self.pinned.insert(name);
                }),
                End::Jump(..) | End::Never => {}
            }
        }
        let precedes = |(writer, written): (Id, usize), (id, place): (Id, usize)| match writer == id
        {
            true => written < place,
            false => dominators.dominates(writer, id),
        };
        for (name, id, place) in reads {
            if own.contains(&id) {
                *self.uses.entry(name).or_default().entry(id).or_insert(0) += 1;
            } else {
                self.pinned.insert(name);
            }
            if let Some(write) = places.get_mut(name) {
                *write = write.filter(|&write| precedes(write, (id, place)));
            }
        }
        self.written = (places.iter())
            .filter_map(|(&name, &write)| Some((name, write?.0)))
            .collect();
        let live = (self.uses.iter())
            .filter(|(name, _)| self.written.contains_key(*name))
            .map(|(&name, users)| (name, self.live(name, users.keys().copied())));
        self.live = live.collect();
        // A register that one instruction writes before all that read it does not change between
        // an instruction that reads it and those that this instruction dominates.
        for (name, write) in places {
            let Some((block, place)) = write.filter(|(id, _)| own.contains(id) && !cold[*id])
            else {
                continue;
            };
            let Statement::Instruction(it) = &graph.blocks[block].body[place] else {
                continue;
            };
            // Reading a special register takes longer than a few instructions.
            let mut is_constant = true;
            sources(it, &mut |name| {
                let is_symbol = !name.starts_with('%');
                is_constant &= is_symbol || self.written.contains_key(name);
            });
            let is_cheap = is_pure(it)
                && CHEAP.contains(&it.opcode)
                && !it.modifiers.iter().any(|ty| FLOATS.contains(ty));
            // A second result.
            let is_single = matches!(it.operands.first(), Some(Operand::Name(_)));
            if is_constant && is_cheap && is_single {
                let instruction = it.clone();
                let definition = Definition {
                    block,
                    place,
                    instruction,
                };
                self.definitions.insert(name, definition);
            }
        }
    }

    /// Returns the registers among the operands of an instruction.
    fn operands(&self, it: &Instruction<'a>) -> Vec<&'a str> {
        let mut operands = Vec::new();
        sources(it, &mut |name| {
            if self.graph.type_of(name).is_some() {
                operands.push(name);
            }
        });
        operands
    }

    /// Returns the blocks at whose start a register is live that is read in `users`.
    fn live(&self, name: &str, users: impl IntoIterator<Item = Id>) -> BTreeSet<Id> {
        let mut live = BTreeSet::new();
        let Some(&writer) = self.written.get(name) else {
            return live;
        };
        let mut pending: Vec<Id> = users.into_iter().collect();
        while let Some(id) = pending.pop() {
            if id != writer && live.insert(id) {
                pending.extend(&self.predecessors[id]);
            }
        }
        live
    }

    /// Returns whether a register is live at the start of a block.
    fn is_live(&self, name: &str, id: Id) -> bool {
        (self.live.get(name)).is_some_and(|live| live.contains(&id))
    }

    /// Returns how much the pressure in the blocks where it is too high decreases without a
    /// register.
    fn relief(&self, name: &str, blocks: impl IntoIterator<Item = Id>) -> usize {
        let own = self.uniform.pressure(self.graph, name);
        let in_block = |id| match self.peaks.get(&id) {
            Some(&peak) => {
                let words = usize::from(words_are_high(peak)) * own.words;
                words + usize::from(predicates_are_high(peak)) * own.predicates
            }
            None => 0,
        };
        blocks.into_iter().map(in_block).sum()
    }

    /// Sinks a register's instruction to the other blocks that read it, if that pays.
    fn sink(&mut self, name: &'a str) -> Option<()> {
        let definition = &self.definitions[name];
        let from = definition.block;
        let users: Vec<Id> = (self.uses.get(name)?.keys().copied())
            .filter(|&id| id != from)
            .collect();
        if users.is_empty() || self.pinned.contains(name) {
            return None;
        }
        let leaves = |each: &BTreeSet<Id>| {
            users
                .iter()
                .any(|id| each.contains(id) && !each.contains(&from))
        };
        if self.loops.iter().any(leaves) {
            return None;
        }
        let live = self.live.get(name)?;
        let through = live.iter().copied().filter(|id| !users.contains(id));
        let relief = self.relief(name, through);
        if relief == 0 {
            return None;
        }
        let mut chains = Vec::new();
        let mut extended: BTreeMap<&'a str, BTreeSet<Id>> = BTreeMap::new();
        for &id in &users {
            let mut chain = BTreeSet::new();
            self.collect(name, id, &mut chain, &mut extended);
            if chain.len() > CHAIN {
                return None;
            }
            chains.push((id, chain));
        }
        let cost = extended.iter().map(|(operand, users)| {
            let live = self.live(operand, users.iter().copied()).into_iter();
            self.relief(operand, live.filter(|&id| !self.is_live(operand, id)))
        });
        if cost.sum::<usize>() >= relief {
            return None;
        }
        for (id, chain) in chains {
            let copied = self.copied.entry(id).or_default();
            copied.extend(&chain);
            let mut read = Vec::new();
            for copy in &chain {
                read.extend(self.operands(&self.definitions[copy].instruction));
            }
            read.retain(|operand| !self.copied[&id].contains(operand));
            for operand in read {
                self.change(operand, |uses| *uses.entry(id).or_insert(0) += 1);
            }
        }
        self.change(name, |uses| uses.retain(|&id, _| id == from));
        self.release(name);
        Some(())
    }

    /// Adds the instructions to be copied to a block for a register, and the operands that have to
    /// be live there in addition.
    fn collect(
        &self,
        name: &'a str,
        id: Id,
        chain: &mut BTreeSet<&'a str>,
        extended: &mut BTreeMap<&'a str, BTreeSet<Id>>,
    ) {
        // Longer chains are rejected.
        if chain.len() > CHAIN || !chain.insert(name) {
            return;
        }
        for operand in self.operands(&self.definitions[name].instruction) {
            let is_copied = (self.copied.get(&id)).is_some_and(|copied| copied.contains(operand));
            let is_extended = (extended.get(operand)).is_some_and(|users| users.contains(&id));
            if is_copied || is_extended || self.is_live(operand, id) {
                continue;
            }
            let is_predicate = self.graph.type_of(operand) == Some(Type::Pred);
            let has_one_use = self.uses[operand].values().sum::<usize>() == 1;
            match self.definitions.get(operand) {
                Some(it) if is_predicate || has_one_use || it.instruction.opcode == "mov" => {
                    self.collect(operand, id, chain, extended);
                }
                _ => _ = extended.entry(operand).or_default().insert(id),
            }
        }
    }

    /// Changes the uses of a register, and updates the pressure.
    fn change(&mut self, name: &'a str, change: impl FnOnce(&mut BTreeMap<Id, usize>)) {
        let uses = self.uses.entry(name).or_default();
        change(uses);
        let users: Vec<Id> = uses.keys().copied().collect();
        let after = self.live(name, users);
        let before = self.live.remove(name).unwrap_or_default();
        let own = self.uniform.pressure(self.graph, name);
        for id in before.difference(&after) {
            if let Some(peak) = self.peaks.get_mut(id) {
                peak.words = peak.words.saturating_sub(own.words);
                peak.predicates = peak.predicates.saturating_sub(own.predicates);
            }
        }
        for id in after.difference(&before) {
            if let Some(peak) = self.peaks.get_mut(id) {
                peak.words += own.words;
                peak.predicates += own.predicates;
            }
        }
        self.live.insert(name, after);
    }

    /// Removes the uses in an instruction whose result is no longer read.
    fn release(&mut self, name: &'a str) {
        let mut pending = vec![name];
        while let Some(name) = pending.pop() {
            let Some(definition) = self.definitions.get(name) else {
                continue;
            };
            if !self.uses[name].is_empty() || self.pinned.contains(name) {
                continue;
            }
            let block = definition.block;
            for operand in self.operands(&definition.instruction) {
                self.change(operand, |uses| {
                    if let Some(count) = uses.get_mut(&block) {
                        *count -= 1;
                    }
                    uses.retain(|_, count| *count > 0);
                });
                pending.push(operand);
            }
        }
    }
}

fn words_are_high(peak: Pressure) -> bool {
    peak.words > REGISTERS as usize
}

fn predicates_are_high(peak: Pressure) -> bool {
    peak.predicates > PREDICATES
}

/// Returns the dominators of the blocks of a function.
pub(super) fn dominators(graph: &Graph<'_>) -> Dominators {
    let mut flow = Digraph::new();
    let entry = graph.order[0];
    flow.add_node(entry);
    for &id in &graph.order {
        for to in graph.blocks[id].end.targets() {
            flow.add_edge(id, to);
        }
    }
    flow.dominators(entry)
}

/// Writes the copies of a block.
struct Copies<'g, 'a> {
    graph: &'g mut Graph<'a>,
    names: &'a Names,
    definitions: &'g HashMap<&'a str, Definition<'a>>,
    copied: BTreeSet<&'a str>,
    /// The results of the copies so far.
    made: HashMap<&'a str, &'a str>,
    body: Vec<Statement<'a>>,
}

impl<'a> Copies<'_, 'a> {
    /// Returns the register that has the value of a register in the block, and writes the copies
    /// that it needs.
    fn of(&mut self, name: &'a str) -> &'a str {
        if let Some(made) = self.made.get(name) {
            return made;
        }
        let (true, Some(ty)) = (self.copied.contains(name), self.graph.type_of(name)) else {
            return name;
        };
        let own = self.graph.register(ty, self.names);
        let copy = self.bit_test(name, own);
        let mut copy = copy.unwrap_or_else(|| self.definitions[name].instruction.clone());
        for operand in copy.operands.iter_mut().skip(1) {
            rename_operand(operand, &mut |name| self.of(name));
        }
        copy.operands[0] = Operand::Name(own);
        self.body.push(Statement::Instruction(copy));
        self.made.insert(name, own);
        own
    }

    /// Returns an instruction that computes `(x >> bit) & 1 == 1` as `x & (1 << bit) != 0`.
    fn bit_test(&mut self, name: &'a str, own: &'a str) -> Option<Instruction<'a>> {
        let test = self.copy_of(name, "setp")?;
        let [
            _,
            Operand::Name(masked),
            Operand::Integer(Integer { bits: 1, .. }),
        ] = &test.operands[..]
        else {
            return None;
        };
        if !matches!(test.modifiers[..], ["eq", "b32" | "s32" | "u32"]) {
            return None;
        }
        let mask = self.copy_of(masked, "and")?;
        let [
            _,
            Operand::Name(shifted),
            Operand::Integer(Integer { bits: 1, .. }),
        ] = &mask.operands[..]
        else {
            return None;
        };
        let shift = self.copy_of(shifted, "shr")?;
        let [
            _,
            Operand::Name(value),
            Operand::Integer(Integer {
                bits: bit @ 0..32, ..
            }),
        ] = &shift.operands[..]
        else {
            return None;
        };
        let [value, bit] = [Operand::Name(self.of(value)), number(1 << bit)];
        let mut body = std::mem::take(&mut self.body);
        let operands = [value, bit];
        let masked = self
            .graph
            .emit(self.names, &mut body, Type::B32, "and", &["b32"], operands);
        self.body = body;
        let operands = vec![Operand::Name(own), Operand::Name(masked), number(0)];
        Some(Instruction::new("setp", &["ne", "s32"], operands))
    }

    /// Returns the instruction that writes a register, if it has the opcode and is copied.
    fn copy_of(&self, name: &str, opcode: &str) -> Option<Instruction<'a>> {
        let definition = self.definitions.get(name)?;
        let is_copied = self.copied.contains(name) && !self.made.contains_key(name);
        let it = &definition.instruction;
        (is_copied && it.opcode == opcode).then(|| it.clone())
    }
}
