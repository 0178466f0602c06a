//! Merges registers that have the same values.
//!
//! libnvvm keeps the address of a loop in several registers: as a generic address and as one of
//! global memory, for the comparison with the end and for the accesses, and a float that threads
//! exchange as a float and as its bits. Each costs two instructions per iteration. This pass numbers
//! the values that such registers get, and assumes that values are equal until their operands differ.
//! Of registers that have equal values wherever one of them is read, only one remains.

use crate::hash::{HashMap, HashSet};

use super::flow::{Graph, Id};
use super::instructions::{has_result, instructions, is_pure, rename, results};
use super::liveness::{self, remove_dead};
use super::loops::places;
use super::names::Names;
use crate::dead::visit_operand;
use crate::{Instruction, Operand, Statement, Type};

/// The maximum number of times that all values are numbered.
const ROUNDS: usize = 32;

/// The index of a value.
type Value = usize;

/// A block and the index of one of its statements, or their number for the end of the block.
type Place = (Id, usize);

/// Where a register gets a value.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Origin<'a> {
    /// At a statement.
    Written(Place, &'a str),
    /// At the start of a block with several predecessors, or of the function.
    Joined(Id, &'a str),
}

impl Origin<'_> {
    /// Returns whether both values come from the paths to the same block.
    fn joins_with(self, other: Origin<'_>) -> bool {
        match (self, other) {
            (Origin::Joined(block, _), Origin::Joined(other, _)) => block == other,
            _ => false,
        }
    }
}

/// How a value is computed.
enum Definition<'g, 'a> {
    /// Equal to no other value.
    Unknown,
    /// By an instruction without effect, from operands with these values, if they are registers.
    Pure(&'g Instruction<'a>, Vec<Option<Value>>),
    /// The value that a register has at the end of each predecessor of a block.
    Join(Id, Vec<Value>),
}

/// The computation of a value from values that have numbers.
#[derive(PartialEq, Eq, Hash)]
enum Key<'g, 'a> {
    Pure(&'a str, &'g [&'a str], Vec<Argument<'a>>),
    Join(Id, Vec<Option<Value>>),
}

#[derive(PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Argument<'a> {
    Value(Value),
    Name(&'a str),
    Number(u64),
}

/// The values of registers.
struct Values<'g, 'a> {
    graph: &'g Graph<'a>,
    predecessors: Vec<Vec<Id>>,
    /// The statements of a block that write a register.
    writes: HashMap<(Id, &'a str), Vec<usize>>,
    known: HashMap<Origin<'a>, Value>,
    origins: Vec<Origin<'a>>,
    definitions: Vec<Definition<'g, 'a>>,
    /// Values whose definitions are not known yet.
    pending: Vec<Value>,
}

/// Merges registers of a function whose blocks are all reachable. Returns the number of registers
/// that are no longer needed.
pub(super) fn merge<'a>(graph: &mut Graph<'a>, names: &'a Names) -> usize {
    let candidates = Candidates::of(graph);
    if candidates.groups.is_empty() && candidates.copies.is_empty() {
        return 0;
    }
    let merged = equal(graph, candidates);
    if merged.is_empty() {
        return 0;
    }
    let order = graph.order.clone();
    for &id in &order {
        let mut body = Vec::new();
        for mut statement in std::mem::take(&mut graph.blocks[id].body) {
            let mut read = HashSet::default();
            instructions(&statement, &mut |it| {
                liveness::read(it, &mut |name| _ = read.insert(name));
            });
            let converted = converted(graph, names, &merged, read, &mut body);
            let new = |name| converted.get(name).copied().unwrap_or(name);
            rename_sources(&mut statement, &new);
            body.push(statement);
        }
        let mut read = HashSet::default();
        graph.blocks[id]
            .end
            .sources(&mut |name| _ = read.insert(name));
        let converted = converted(graph, names, &merged, read, &mut body);
        let block = &mut graph.blocks[id];
        block.body = body;
        (block.end).rename(&mut |name| converted.get(name).copied().unwrap_or(name));
    }
    remove_dead(graph, &order);
    merged.len()
}

/// Returns the registers to read instead of merged ones. Appends the instructions that move those of
/// another type to registers of the same one.
fn converted<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    merged: &HashMap<&'a str, &'a str>,
    read: HashSet<&'a str>,
    body: &mut Vec<Statement<'a>>,
) -> HashMap<&'a str, &'a str> {
    let mut converted = HashMap::default();
    for name in read {
        let Some(&(mut other)) = merged.get(name) else {
            continue;
        };
        if let Some(ty) = graph.type_of(name)
            && graph.type_of(other) != Some(ty)
        {
            let bits = if ty.bytes() == 8 { "b64" } else { "b32" };
            other = graph.emit(names, body, ty, "mov", &[bits], [Operand::Name(other)]);
        }
        converted.insert(name, other);
    }
    converted
}

/// Registers that may have equal values.
struct Candidates<'a> {
    /// Registers that several instructions of the same blocks write, those first that are addresses
    /// of accesses.
    groups: Vec<Vec<&'a str>>,
    /// Registers with a float that are copies of ones with its bits at least once, or the other way
    /// around. Several instructions write both.
    copies: Vec<(&'a str, &'a str)>,
}

impl<'a> Candidates<'a> {
    fn of(graph: &Graph<'a>) -> Candidates<'a> {
        let mut copies: Vec<(&'a str, &'a str)> = Vec::new();
        let mut writes: HashMap<&'a str, Vec<Id>> = HashMap::default();
        let mut excluded: HashSet<&'a str> = HashSet::default();
        let mut addresses: HashSet<&'a str> = HashSet::default();
        for &id in &graph.order {
            for statement in &graph.blocks[id].body {
                instructions(statement, &mut |it| {
                    let alone = matches!(statement, Statement::Instruction(_));
                    let plain = alone && result(it).is_some();
                    results(it, &mut |name| match plain {
                        true => writes.entry(name).or_default().push(id),
                        false => _ = excluded.insert(name),
                    });
                    if let ("mov", true, &[Operand::Name(to), Operand::Name(from)]) =
                        (it.opcode, plain, &it.operands[..])
                    {
                        copies.push((to, from));
                    }
                    for operand in &it.operands {
                        if let Operand::Address(..) = operand {
                            visit_operand(operand, &mut |name| _ = addresses.insert(name));
                        }
                    }
                });
            }
        }
        let is_variable = |name: &str| {
            !excluded.contains(name) && writes.get(name).is_some_and(|it| it.len() > 1)
        };
        copies.retain(|&(to, from)| {
            let is_float = matches!(
                [to, from].map(|name| graph.type_of(name)),
                [Some(Type::B32), Some(Type::F32)]
                    | [Some(Type::F32), Some(Type::B32)]
                    | [Some(Type::B64), Some(Type::F64)]
                    | [Some(Type::F64), Some(Type::B64)]
            );
            is_float && is_variable(to) && is_variable(from)
        });
        let mut groups: HashMap<(Type, Vec<Id>), Vec<&'a str>> = HashMap::default();
        for (name, mut blocks) in writes {
            let Some(ty) = graph.type_of(name) else {
                continue;
            };
            if blocks.len() > 1 && !excluded.contains(name) && !matches!(ty, Type::F32 | Type::F64)
            {
                blocks.dedup();
                groups.entry((ty, blocks)).or_default().push(name);
            }
        }
        let mut groups: Vec<_> = groups.into_values().filter(|it| it.len() > 1).collect();
        for group in &mut groups {
            group.sort_unstable_by_key(|name| (!addresses.contains(name), *name));
        }
        groups.sort_unstable();
        Candidates { groups, copies }
    }
}

/// Returns the register that an instruction writes, if it is one and the instruction always does.
fn result<'a>(it: &Instruction<'a>) -> Option<&'a str> {
    match it.operands.first() {
        Some(&Operand::Name(name)) if it.guard.is_none() && has_result(it) => Some(name),
        _ => None,
    }
}

/// Returns the registers that are not needed, each with one that has its value.
fn equal<'a>(graph: &Graph<'a>, candidates: Candidates<'a>) -> HashMap<&'a str, &'a str> {
    let Candidates { groups, copies } = candidates;
    let own = groups.iter().flatten().copied();
    let reads = reads(graph, own.chain(copies.iter().map(|it| it.0)).collect());
    let mut values = Values::new(graph);
    let mut merged = HashMap::default();
    // First only where the registers of a group are written.
    let mut written: HashMap<&'a str, Vec<Value>> = HashMap::default();
    for &name in groups.iter().flatten() {
        let mut blocks: Vec<Id> = Vec::new();
        for &id in &graph.order {
            if values.writes.contains_key(&(id, name)) {
                blocks.push(id);
            }
        }
        let all = blocks
            .into_iter()
            .map(|id| values.at((id, graph.blocks[id].body.len()), name));
        written.insert(name, all.collect());
    }
    let Some(numbers) = values.numbers() else {
        return merged;
    };
    let same = |a: &[Value], b: &[Value], numbers: &[Option<Value>]| {
        (a.iter().zip(b)).all(|(&a, &b)| numbers[a].is_some() && numbers[a] == numbers[b])
    };
    let mut pairs = Vec::new();
    let mut pair = |name: &'a str, other: &'a str, values: &mut Values<'_, 'a>| {
        let places = reads.get(name).into_iter().flatten();
        let both = places.map(|&place| [name, other].map(|it| values.at(place, it)));
        pairs.push((name, other, both.collect::<Vec<_>>()));
    };
    for group in &groups {
        for (index, &name) in group.iter().enumerate() {
            for &other in &group[..index] {
                if same(&written[name], &written[other], &numbers) {
                    pair(name, other, &mut values);
                }
            }
        }
    }
    for (name, other) in copies {
        pair(name, other, &mut values);
    }
    if pairs.is_empty() {
        return merged;
    }
    let Some(numbers) = values.numbers() else {
        return merged;
    };
    for (name, other, both) in pairs {
        let equal = both.iter().all(|&[a, b]| same(&[a], &[b], &numbers));
        let is_new = |it| !merged.contains_key(it);
        if equal && is_new(name) && is_new(other) && !merged.values().any(|&it| it == name) {
            merged.insert(name, other);
        }
    }
    merged
}

/// Returns where registers are read, except by instructions that only compute their next values.
fn reads<'a>(graph: &Graph<'a>, of: HashSet<&'a str>) -> HashMap<&'a str, Vec<Place>> {
    let mut reads: HashMap<&'a str, Vec<Place>> = HashMap::default();
    for &id in &graph.order {
        let block = &graph.blocks[id];
        for (index, statement) in block.body.iter().enumerate() {
            instructions(statement, &mut |it| {
                let own = result(it).filter(|_| is_pure(it));
                liveness::read(it, &mut |name| {
                    if own != Some(name) && of.contains(name) {
                        reads.entry(name).or_default().push((id, index));
                    }
                });
            });
        }
        block.end.sources(&mut |name| {
            if of.contains(name) {
                reads.entry(name).or_default().push((id, block.body.len()));
            }
        });
    }
    reads
}

/// Replaces the registers that a statement reads.
pub(super) fn rename_sources<'a>(statement: &mut Statement<'a>, new: &impl Fn(&'a str) -> &'a str) {
    match statement {
        Statement::Instruction(it) => {
            let result = result(it);
            rename(it, &mut |name| new(name));
            if let Some(result) = result {
                it.operands[0] = Operand::Name(result);
            }
        }
        Statement::Block(inner) => inner.iter_mut().for_each(|it| rename_sources(it, new)),
        _ => {}
    }
}

impl<'g, 'a> Values<'g, 'a> {
    fn new(graph: &'g Graph<'a>) -> Values<'g, 'a> {
        let mut writes: HashMap<(Id, &'a str), Vec<usize>> = HashMap::default();
        for &id in &graph.order {
            for (index, statement) in graph.blocks[id].body.iter().enumerate() {
                instructions(statement, &mut |it| {
                    results(it, &mut |name| {
                        writes.entry((id, name)).or_default().push(index);
                    });
                });
            }
        }
        Values {
            graph,
            predecessors: graph.predecessors(),
            writes,
            known: HashMap::default(),
            origins: Vec::new(),
            definitions: Vec::new(),
            pending: Vec::new(),
        }
    }

    /// Returns the value of a register before a statement.
    fn at(&mut self, place: Place, register: &'a str) -> Value {
        let value = self.request(place, register);
        while let Some(value) = self.pending.pop() {
            self.definitions[value] = self.define(self.origins[value]);
        }
        value
    }

    /// Returns the value of a register before a statement, whose definition may be pending.
    fn request(&mut self, (mut block, mut index): Place, register: &'a str) -> Value {
        let origin = loop {
            let all = self.writes.get(&(block, register)).into_iter().flatten();
            if let Some(&at) = all.rev().find(|&&at| at < index) {
                break Origin::Written((block, at), register);
            }
            match self.predecessors[block][..] {
                [from] if block != self.graph.order[0] => (block, index) = (from, usize::MAX),
                _ => break Origin::Joined(block, register),
            }
        };
        if let Some(&value) = self.known.get(&origin) {
            return value;
        }
        let value = self.definitions.len();
        self.definitions.push(Definition::Unknown);
        self.known.insert(origin, value);
        self.origins.push(origin);
        self.pending.push(value);
        value
    }

    fn define(&mut self, origin: Origin<'a>) -> Definition<'g, 'a> {
        let graph = self.graph;
        match origin {
            Origin::Joined(block, _) if block == graph.order[0] => Definition::Unknown,
            Origin::Joined(block, register) => {
                let from = self.predecessors[block].clone().into_iter();
                let values = from.map(|from| self.request((from, usize::MAX), register));
                Definition::Join(block, values.collect())
            }
            Origin::Written((block, index), _) => {
                let Statement::Instruction(it) = &graph.blocks[block].body[index] else {
                    return Definition::Unknown;
                };
                let is_simple = |operand: &Operand<'_>| {
                    matches!(operand, Operand::Name(_) | Operand::Integer(_))
                };
                if !is_pure(it) || result(it).is_none() || !it.operands.iter().all(is_simple) {
                    return Definition::Unknown;
                }
                let value = |operand: &Operand<'a>| match *operand {
                    Operand::Name(name) if graph.type_of(name).is_some() => {
                        Some(self.request((block, index), name))
                    }
                    _ => None,
                };
                Definition::Pure(it, it.operands[1..].iter().map(value).collect())
            }
        }
    }

    /// Numbers the values: equal values have the same number. Returns `None` if that takes too
    /// long.
    fn numbers(&self) -> Option<Vec<Option<Value>>> {
        let mut numbers: Vec<Option<Value>> = vec![None; self.definitions.len()];
        let mut order: Vec<Value> = (0..self.definitions.len()).collect();
        let places = places(self.graph);
        order.sort_by_key(|&value| match self.origins[value] {
            Origin::Joined(block, _) => (places[block], None),
            Origin::Written((block, index), _) => (places[block], Some(index)),
        });
        for _ in 0..ROUNDS {
            let mut keys = HashMap::default();
            let before = numbers.clone();
            // All registers that a block joins have numbers of the same round.
            for values in order.chunk_by(|&a, &b| self.origins[a].joins_with(self.origins[b])) {
                let new: Vec<_> = (values.iter())
                    .map(|&value| self.number(value, &numbers, &mut keys))
                    .collect();
                for (&value, number) in values.iter().zip(new) {
                    numbers[value] = number;
                }
            }
            if numbers == before {
                return Some(numbers);
            }
        }
        None
    }

    /// Returns the number of a value, or `None` if it depends on numbers that are not known yet.
    fn number(
        &self,
        value: Value,
        numbers: &[Option<Value>],
        keys: &mut HashMap<Key<'g, 'a>, Value>,
    ) -> Option<Value> {
        let key = match &self.definitions[value] {
            Definition::Unknown => return Some(value),
            Definition::Join(block, values) => {
                let values: Vec<_> = values.iter().map(|&value| numbers[value]).collect();
                let mut known = values.iter().flatten();
                let &first = known.next()?;
                if known.all(|&other| other == first) {
                    return Some(first);
                }
                Key::Join(*block, values)
            }
            Definition::Pure(it, values) => {
                let mut arguments = Vec::with_capacity(values.len());
                for (value, operand) in values.iter().zip(&it.operands[1..]) {
                    arguments.push(match (value, operand) {
                        (Some(value), _) => Argument::Value(numbers[*value]?),
                        (None, Operand::Name(name)) => Argument::Name(name),
                        (None, Operand::Integer(number)) => Argument::Number(number.bits),
                        (None, _) => return None,
                    });
                }
                match (it.opcode, &it.modifiers[..], &arguments[..]) {
                    // A generic address of global memory is the same number.
                    ("mov", _, &[Argument::Value(from)])
                    | ("cvta", ["to", "global", _] | ["global", _], &[Argument::Value(from)]) => {
                        return Some(from);
                    }
                    ("add", [ty], &[Argument::Value(a), Argument::Value(b)])
                        if matches!(*ty, "s32" | "s64" | "u32" | "u64") =>
                    {
                        for (from, difference) in [(a, b), (b, a)] {
                            if let Definition::Pure(sub, values) = &self.definitions[difference]
                                && (sub.opcode, &sub.modifiers) == ("sub", &it.modifiers)
                                && let [Some(to), Some(subtracted)] = values[..]
                                && numbers[subtracted] == Some(from)
                            {
                                return numbers[to];
                            }
                        }
                        arguments.sort_unstable();
                    }
                    _ => {}
                }
                Key::Pure(it.opcode, &it.modifiers, arguments)
            }
        };
        Some(*keys.entry(key).or_insert(value))
    }
}
