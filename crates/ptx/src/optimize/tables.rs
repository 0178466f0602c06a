//! The ranges of integers that kernels load from constant tables.
//!
//! A table of neighbors, `const NEIGHBORS: [(isize, isize); 8]`, has numbers of 64 bits that are all
//! small. [`narrow`](super::narrow) computes with them in 32 bits if it knows their range. The columns
//! of a table of structs or tuples have their own ranges: the address of a load is the start of the
//! table plus a number plus a multiple of the size of a row.

use crate::hash::{HashMap, HashSet};

use super::definitions;
use super::flow::Graph;
use super::instructions::{instructions, is_parameter, is_pure, results, sources};
use super::narrow::Range;
use super::specialize::single_definitions;
use crate::dead::visit_init;
use crate::{Base, Init, Instruction, Item, Linkage, Module, Operand, Space, Statement, Type};

/// The maximum size of a table in bytes.
const LARGEST: u64 = 1 << 16;

/// The bytes of the variables of a module that nothing writes.
#[derive(Debug, Default)]
pub(super) struct Tables<'a> {
    bytes: HashMap<&'a str, Vec<u8>>,
}

impl<'a> Tables<'a> {
    /// Finds the tables of a module: internal variables whose address is only used for loads.
    pub fn new(module: &Module<'a>) -> Tables<'a> {
        let mut bytes: HashMap<&'a str, Vec<u8>> = HashMap::default();
        for item in &module.items {
            if let Item::Variable(it) = item
                && it.linkage == Linkage::Internal
                && it.space == Space::Global
                && it.vector.is_none()
                && let (Some(size @ 1..=LARGEST), Some(Init::List(values))) = (it.size(), &it.init)
                && let Some(start) = bytes_of(values, it.element_bytes() as usize)
            {
                let mut all = start;
                all.resize(size as usize, 0);
                bytes.insert(it.name, all);
            }
        }
        let mut escaping: HashSet<&'a str> = HashSet::default();
        for item in &module.items {
            match item {
                Item::Variable(it) => {
                    if let Some(init) = &it.init {
                        visit_init(init, &mut |name| _ = escaping.insert(name));
                    }
                }
                Item::Alias { target, .. } => _ = escaping.insert(target),
                Item::Function(function) if !bytes.is_empty() => {
                    let body = function.body.as_deref().unwrap_or_default();
                    let is_table = |name: &str| bytes.contains_key(name);
                    escaping.extend(derived(body, is_table).escaping);
                    visit_variables(body, &mut |name| _ = escaping.insert(name));
                }
                _ => {}
            }
        }
        bytes.retain(|name, _| !escaping.contains(name));
        Tables { bytes }
    }

    /// Returns the ranges of registers that a function only loads from tables.
    pub fn ranges(&self, graph: &Graph<'a>) -> Vec<(&'a str, Range)> {
        if self.bytes.is_empty() {
            return Vec::new();
        }
        let places = self.places(graph);
        let definitions = definitions(graph, &vec![false; graph.blocks.len()]);
        let mut ranges = Vec::new();
        graph.visit(graph.order.iter().copied(), &mut |it| {
            let [
                Operand::Name(name),
                Operand::Address(Base::Name(base), offset),
            ] = &it.operands[..]
            else {
                return;
            };
            if it.opcode != "ld" || it.modifiers.first() != Some(&"global") || it.guard.is_some() {
                return;
            }
            let place = match self.bytes.contains_key(base) {
                true => Some(Place::start(base)),
                false => places.get(base).copied().flatten(),
            };
            let (Some(place), Some(ty)) = (place, it.modifiers.last()) else {
                return;
            };
            let size = match *ty {
                "u64" | "s64" | "b64" => 8,
                "u32" | "s32" | "b32" => 4,
                "u16" => 2,
                "u8" => 1,
                _ => return,
            };
            let is_whole = matches!(
                (graph.type_of(name), size),
                (Some(Type::B64), 8) | (Some(Type::B32), 1 | 2 | 4)
            );
            if is_whole
                && definitions.get(name) == Some(&1)
                && let Some(range) = self.range(place, *offset, size)
            {
                ranges.push((*name, range));
            }
        });
        ranges
    }

    /// Returns the range of the integers of `size` bytes at `place + offset`.
    fn range(&self, place: Place<'a>, offset: i64, size: usize) -> Option<Range> {
        let bytes = self.bytes.get(place.table)?;
        let first = place.offset.checked_add(offset)?;
        let (first, step) = match place.step {
            0 => (usize::try_from(first).ok()?, usize::MAX),
            step => (first.rem_euclid(step) as usize, step as usize),
        };
        let mut range: Option<Range> = None;
        let mut at = first;
        while let Some(element) = bytes.get(at..at.checked_add(size)?) {
            let mut wide = [0; 8];
            wide[..size].copy_from_slice(element);
            let value = i64::from_le_bytes(wide);
            range = Some(range.map_or((value, value), |(low, high)| {
                (low.min(value), high.max(value))
            }));
            let Some(next) = at.checked_add(step) else {
                break;
            };
            at = next;
        }
        range
    }

    /// Returns where in tables the addresses in registers are, as far as that is known.
    fn places(&self, graph: &Graph<'a>) -> HashMap<&'a str, Option<Place<'a>>> {
        let mut mentions = false;
        graph.visit(graph.order.iter().copied(), &mut |it| {
            sources(it, &mut |name| mentions |= self.bytes.contains_key(name));
        });
        if !mentions {
            return HashMap::default();
        }
        let body: Vec<Statement<'a>> = (graph.order.iter())
            .flat_map(|&id| graph.blocks[id].body.iter().cloned())
            .collect();
        let derived = derived(&body, |name| self.bytes.contains_key(name)).registers;
        let mut places: HashMap<&'a str, Option<Place<'a>>> = HashMap::default();
        if derived.is_empty() {
            return places;
        }
        let single = single_definitions(graph, &vec![false; graph.blocks.len()]);
        let mut changed = true;
        while changed {
            changed = false;
            for statement in &body {
                instructions(statement, &mut |it| {
                    let mut written = Vec::new();
                    results(it, &mut |name| written.push(name));
                    written.retain(|name| derived.contains_key(name));
                    if written.is_empty() {
                        return;
                    }
                    // Registers that are not known yet are those of a later round.
                    let mut waits = false;
                    sources(it, &mut |name| {
                        waits |= derived.contains_key(name) && !places.contains_key(name);
                    });
                    let new = self.place_of(it, &places, &single);
                    if waits && new.is_none() {
                        return;
                    }
                    for name in written {
                        let joined = match (places.get(name), new) {
                            (None, new) => new,
                            (Some(Some(old)), Some(new)) => old.join(new),
                            _ => None,
                        };
                        changed |= places.insert(name, joined) != Some(joined);
                    }
                });
            }
        }
        places
    }

    /// Returns the place that an instruction computes, from those of its operands.
    fn place_of(
        &self,
        it: &Instruction<'a>,
        places: &HashMap<&'a str, Option<Place<'a>>>,
        single: &HashMap<&'a str, Instruction<'a>>,
    ) -> Option<Place<'a>> {
        if it.guard.is_some() {
            return None;
        }
        let of = |operand: &Operand<'a>| match operand {
            Operand::Name(name) if self.bytes.contains_key(name) => Some(Place::start(name)),
            Operand::NameOffset(name, offset) if self.bytes.contains_key(name) => {
                Place::start(name).plus(*offset, 0)
            }
            Operand::Name(name) => places.get(name).copied().flatten(),
            _ => None,
        };
        match (it.opcode, &it.modifiers[..], &it.operands[..]) {
            ("mov", ["u64" | "s64" | "b64"], [_, from])
            | ("cvta", ["to", "global", "u64"] | ["global", "u64"], [_, from]) => of(from),
            ("add", ["u64" | "s64"], [_, a, b]) => {
                let (place, added) = match (of(a), of(b)) {
                    (Some(place), None) => (place, b),
                    (None, Some(place)) => (place, a),
                    _ => return None,
                };
                match added {
                    Operand::Integer(value) => place.plus(value.bits as i64, 0),
                    Operand::Name(name) => place.plus(0, factor(single.get(name))),
                    _ => None,
                }
            }
            ("sub", ["u64" | "s64"], [_, from, Operand::Integer(value)]) => {
                of(from)?.plus((value.bits as i64).checked_neg()?, 0)
            }
            ("mad", ["wide", "u32" | "s32"] | ["lo", "u64" | "s64"], [_, a, b, to]) => {
                match (a, b) {
                    (Operand::Integer(by), _) | (_, Operand::Integer(by)) => {
                        of(to)?.plus(0, by.bits as i64)
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

/// Returns a number that divides the result of an instruction.
fn factor(it: Option<&Instruction<'_>>) -> i64 {
    let found = it.and_then(
        |it| match (it.opcode, &it.modifiers[..], &it.operands[..]) {
            _ if it.guard.is_some() => None,
            ("mul", ["wide", "u32" | "s32"] | ["lo", "u64" | "s64"], [_, a, b]) => match (a, b) {
                (Operand::Integer(by), _) | (_, Operand::Integer(by)) => Some(by.bits as i64),
                _ => None,
            },
            ("shl", ["b64"], [_, _, Operand::Integer(by)]) if by.bits < 32 => Some(1 << by.bits),
            _ => None,
        },
    );
    found.filter(|&by| by > 0).unwrap_or(1)
}

/// An address in a table: its start plus `offset` plus a multiple of `step`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place<'a> {
    table: &'a str,
    offset: i64,
    step: i64,
}

impl<'a> Place<'a> {
    fn start(table: &'a str) -> Place<'a> {
        Place {
            table,
            offset: 0,
            step: 0,
        }
    }

    /// Adds a number and a multiple of another one.
    fn plus(self, offset: i64, step: i64) -> Option<Place<'a>> {
        let offset = self.offset.checked_add(offset)?;
        (step >= 0).then(|| self.with(offset, divisor(self.step, step)))
    }

    fn with(self, offset: i64, step: i64) -> Place<'a> {
        let offset = if step == 0 {
            offset
        } else {
            offset.rem_euclid(step)
        };
        Place {
            offset,
            step,
            ..self
        }
    }

    /// Returns what both places are.
    fn join(self, other: Place<'a>) -> Option<Place<'a>> {
        let apart = self.offset.checked_sub(other.offset)?.checked_abs()?;
        let step = divisor(divisor(self.step, other.step), apart);
        (self.table == other.table).then(|| self.with(self.offset, step))
    }
}

/// Returns the greatest common divisor. Any number divides zero.
fn divisor(mut a: i64, mut b: i64) -> i64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Returns the bytes of integers of `size` bytes.
fn bytes_of(values: &[Init<'_>], size: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    for value in values {
        let Init::Integer(value) = value else {
            return None;
        };
        bytes.extend(value.bits.to_le_bytes().get(..size)?);
    }
    Some(bytes)
}

/// Calls `visit` with each name in the initializers of a body's variables.
fn visit_variables<'a>(body: &[Statement<'a>], visit: &mut impl FnMut(&'a str)) {
    for statement in body {
        match statement {
            Statement::Variable(it) => it.init.iter().for_each(|init| visit_init(init, visit)),
            Statement::Block(inner) => visit_variables(inner, visit),
            _ => {}
        }
    }
}

/// What code computes from the addresses of tables.
struct Derived<'a> {
    /// The registers with such addresses, each with the tables.
    registers: HashMap<&'a str, HashSet<&'a str>>,
    /// The tables whose address is used for more than loads and comparisons.
    escaping: HashSet<&'a str>,
}

fn derived<'a>(body: &[Statement<'a>], is_table: impl Fn(&str) -> bool) -> Derived<'a> {
    let mut all: Vec<&Instruction<'a>> = Vec::new();
    let mut mentions = false;
    for statement in body {
        instructions(statement, &mut |it| {
            all.push(it);
            sources(it, &mut |name| mentions |= is_table(name));
        });
    }
    let mut derived = Derived {
        registers: HashMap::default(),
        escaping: HashSet::default(),
    };
    let mut changed = mentions;
    while changed {
        changed = false;
        for it in &all {
            let mut tables: HashSet<&'a str> = HashSet::default();
            let mut read = |name: &'a str| match is_table(name) {
                true => _ = tables.insert(name),
                false => tables.extend(derived.registers.get(name).into_iter().flatten()),
            };
            // Other operands than that with the result, which may be an address, are read.
            sources(it, &mut read);
            if tables.is_empty() {
                continue;
            }
            match it.opcode {
                "set" | "setp" if it.guard.is_none() => {}
                "ld" if !is_parameter(it) => {}
                _ if is_pure(it) => results(it, &mut |name| {
                    let known = derived.registers.entry(name).or_default();
                    let before = known.len();
                    known.extend(&tables);
                    changed |= known.len() > before;
                }),
                _ => derived.escaping.extend(tables),
            }
        }
    }
    derived
}
