//! Combines accesses to neighboring elements into vector accesses.
//!
//! The alignment of `[u8; 4]` or of a structure of four floats is that of an element, so libnvvm
//! accesses the elements one by one. But memory that the host allocates is aligned to 256 bytes, and
//! few programs pass a slice that starts in the middle of a vector. So this pass assumes in the copy
//! that `specialize` makes that pointers among the parameters are aligned, and adds this to the
//! copy's test for the pointers of the accesses that it combines.
//!
//! Three loads of the four elements of such a vector become one of all four, if the elements of the
//! slice consist of whole vectors: the fourth is then readable, too.

use crate::hash::{HashMap, HashSet};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::early_loads::parameter_name;
use super::flow::{Graph, Id};
use super::instructions::{instructions, is_parameter, is_pure, results, sources};
use super::loops;
use super::names::Names;
use super::specialize::{Special, Test, single_definitions};
use super::version::number;
use super::{bounds, bytes_of, writes};
use crate::rewrite::instruction;
use crate::{Base, Function, Guard, Instruction, Operand, Slice, Statement, Type};

/// The binary logarithm of the size of the largest vector in bytes.
const LARGEST: u32 = 4;

/// The number of bytes that an iteration loads in the largest vectors from which on ptxas should not
/// unroll the loop: more loads in flight do not pay for the registers.
const IN_FLIGHT: usize = 128;

/// The low bits of a number that are known: the number is `rest` modulo two to the power of `bits`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Low {
    bits: u32,
    rest: u64,
}

impl Low {
    fn new(bits: u32, value: u64) -> Low {
        let bits = bits.min(LARGEST);
        let rest = value & ((1 << bits) - 1);
        Low { bits, rest }
    }

    fn constant(value: u64) -> Low {
        Low::new(LARGEST, value)
    }

    /// Returns what is known of a number that is one of both.
    fn join(self, other: Low) -> Low {
        let same = (self.rest ^ other.rest).trailing_zeros();
        Low::new(self.bits.min(other.bits).min(same), self.rest)
    }

    fn plus(self, other: Low) -> Low {
        Low::new(
            self.bits.min(other.bits),
            self.rest.wrapping_add(other.rest),
        )
    }

    fn minus(self, other: Low) -> Low {
        Low::new(
            self.bits.min(other.bits),
            self.rest.wrapping_sub(other.rest),
        )
    }

    fn times(self, other: Low) -> Low {
        // The unknown bits of a factor are shifted by the zeros of the other one.
        let bits = (self.bits + other.zeros()).min(other.bits + self.zeros());
        Low::new(bits, self.rest.wrapping_mul(other.rest))
    }

    fn shifted(self, distance: u64) -> Low {
        match distance {
            0..32 => Low::new(self.bits + distance as u32, self.rest << distance),
            _ => Low::constant(0),
        }
    }

    fn and(self, other: Low) -> Low {
        let bits = self.bits.min(other.bits);
        Low::new(
            bits.max(self.zeros()).max(other.zeros()),
            self.rest & other.rest,
        )
    }

    fn or(self, other: Low) -> Low {
        Low::new(self.bits.min(other.bits), self.rest | other.rest)
    }

    /// Returns the number of low bits that are zero.
    fn zeros(self) -> u32 {
        self.rest.trailing_zeros().min(self.bits)
    }
}

/// The low bits of registers.
pub(super) struct Lows<'a> {
    known: HashMap<&'a str, Low>,
    /// The integers among the parameters are assumed to be multiples of two to the power of this.
    zeros: u32,
    origins: Rc<Origins<'a>>,
}

/// What the low bits of registers are computed from.
pub(super) struct Origins<'a> {
    /// The registers, in the order of their first definitions.
    order: Vec<&'a str>,
    /// The pointers among the parameters, which are assumed to be aligned.
    pointers: HashSet<&'a str>,
    /// The size of the elements of the slices that these point to.
    elements: HashMap<&'a str, u64>,
    /// The integers among the parameters.
    integers: HashSet<&'a str>,
    /// The instructions that write each register.
    definitions: HashMap<&'a str, Vec<Instruction<'a>>>,
}

impl<'a> Origins<'a> {
    pub(super) fn new(graph: &Graph<'a>, slices: &[&Slice]) -> Origins<'a> {
        let mut order = Vec::new();
        let mut definitions: HashMap<&'a str, Vec<Instruction<'a>>> = HashMap::default();
        graph.visit(graph.order.iter().copied(), &mut |it| {
            results(it, &mut |result| {
                let all = definitions.entry(result).or_default();
                if all.is_empty() {
                    order.push(result);
                }
                all.push(it.clone());
            });
        });
        let (mut pointers, mut integers) = (HashSet::default(), HashSet::default());
        graph.visit(graph.order.iter().copied(), &mut |it| {
            if let [Operand::Name(integer), _] = it.operands[..]
                && is_parameter(it)
                && it.guard.is_none()
                && definitions[integer].len() == 1
            {
                integers.insert(integer);
            }
            if let ("cvta", ["to", "global", _], [_, Operand::Name(pointer)]) =
                (it.opcode, &it.modifiers[..], &it.operands[..])
                && let Some([definition]) = definitions.get(pointer).map(|all| &all[..])
                && is_parameter(definition)
                && definition.guard.is_none()
                && matches!(definition.operands[0], Operand::Name(_))
            {
                pointers.insert(*pointer);
            }
        });
        integers.retain(|it| !pointers.contains(it));
        let mut elements = HashMap::default();
        for &pointer in &pointers {
            let address = definitions[pointer][0].operands.get(1);
            let is_own = |slice: &&&Slice| match address {
                Some(Operand::Address(Base::Name(name), 0)) => {
                    *name == parameter_name(slices, slice.pointer)
                }
                _ => false,
            };
            if let Some(slice) = slices.iter().find(is_own) {
                elements.insert(pointer, slice.element);
            }
        }
        Origins {
            order,
            pointers,
            elements,
            integers,
            definitions,
        }
    }
}

impl<'a> Lows<'a> {
    pub(super) fn new(origins: &Rc<Origins<'a>>, zeros: u32) -> Lows<'a> {
        let mut lows = Lows {
            known: HashMap::default(),
            zeros,
            origins: Rc::clone(origins),
        };
        // Registers start without a value, and only lose known bits.
        loop {
            let mut changed = false;
            for &name in &origins.order {
                let all = &origins.definitions[name];
                let values = all.iter().filter_map(|it| lows.result(name, it));
                if let Some(value) = values.reduce(Low::join) {
                    changed |= lows.known.insert(name, value) != Some(value);
                }
            }
            if !changed {
                return lows;
            }
        }
    }

    /// Returns the number of a register's low bits that are known, and these bits.
    pub(super) fn known(&self, register: &str) -> Option<(u32, u64)> {
        let low = self.known.get(register)?;
        Some((low.bits, low.rest))
    }

    /// Returns the low bits of an operand, or `None` if it has no value yet.
    fn of(&self, operand: &Operand<'a>) -> Option<Low> {
        match operand {
            Operand::Integer(value) => Some(Low::constant(value.bits)),
            Operand::Name(name) if self.origins.definitions.contains_key(name) => {
                self.known.get(name).copied()
            }
            _ => Some(Low::new(0, 0)),
        }
    }

    /// Returns the low bits of a register after an instruction that writes it, or `None` if an
    /// operand has no value yet.
    fn result(&self, register: &'a str, it: &Instruction<'a>) -> Option<Low> {
        if self.origins.pointers.contains(register) {
            return Some(Low::constant(0));
        }
        if self.origins.integers.contains(register) {
            return Some(Low::new(self.zeros, 0));
        }
        let mut values = Vec::new();
        for operand in low_sources(it) {
            values.push(self.of(operand)?);
        }
        Some(match (it.opcode, &values[..]) {
            ("add", &[a, b]) => a.plus(b),
            ("sub", &[a, b]) => a.minus(b),
            ("mul", &[a, b]) => a.times(b),
            ("mad", &[a, b, c]) => a.times(b).plus(c),
            ("and", &[a, b]) => a.and(b),
            ("or", &[a, b]) => a.or(b),
            ("shl", &[a]) => match &it.operands[2] {
                Operand::Integer(distance) => a.shifted(distance.bits),
                _ => Low::new(0, 0),
            },
            (_, &[a, b]) => a.join(b),
            (_, &[a]) => a,
            _ => Low::new(0, 0),
        })
    }

    /// Returns whether a register points into slices whose elements consist of whole vectors.
    pub(super) fn is_in_whole_vectors(&self, register: &'a str, bytes: i64) -> bool {
        let pointers = self.pointers_of(register);
        let is_whole = |pointer: &&str| {
            let element = self.origins.elements.get(*pointer);
            element.is_some_and(|element| element.is_multiple_of(bytes as u64))
        };
        !pointers.is_empty() && pointers.iter().all(is_whole)
    }

    /// Returns the pointers among the parameters that a register is computed from.
    fn pointers_of(&self, register: &'a str) -> BTreeSet<&'a str> {
        self.origins_of(register, &self.origins.pointers)
    }

    /// Returns those of some registers that the low bits of a register are computed from.
    fn origins_of(&self, register: &'a str, among: &HashSet<&'a str>) -> BTreeSet<&'a str> {
        let mut found = BTreeSet::new();
        let mut seen = HashSet::from_iter([register]);
        let mut left = vec![register];
        while let Some(name) = left.pop() {
            if among.contains(name) {
                found.insert(name);
                continue;
            }
            for it in self.origins.definitions.get(name).into_iter().flatten() {
                for operand in low_sources(it) {
                    if let &Operand::Name(name) = operand
                        && seen.insert(name)
                    {
                        left.push(name);
                    }
                }
            }
        }
        found
    }
}

/// Returns the operands that the low bits of an instruction's result depend on, if they only depend
/// on the low bits of these.
fn low_sources<'s, 'a>(it: &'s Instruction<'a>) -> &'s [Operand<'a>] {
    let is_integer = |name: &&str| {
        let ty = Type::from_name(name);
        ty.is_some_and(|ty| {
            use Type::*;
            matches!(
                ty,
                B16 | B32 | B64 | U8 | U16 | U32 | U64 | S8 | S16 | S32 | S64
            )
        })
    };
    let [Operand::Name(_), operands @ ..] = &it.operands[..] else {
        return &[];
    };
    if !is_pure(it) {
        return &[];
    }
    match (it.opcode, &it.modifiers[..], operands) {
        ("cvt", [to, from], [_]) if is_integer(to) && is_integer(from) => operands,
        ("cvta", ["to", "global", _], [_]) => operands,
        ("mul", ["lo" | "wide", ty], [_, _]) | ("mad", ["lo" | "wide", ty], [_, _, _])
            if is_integer(ty) =>
        {
            operands
        }
        ("mov", [ty], [_]) | ("add" | "sub" | "and" | "or" | "min" | "max", [ty], [_, _])
            if is_integer(ty) =>
        {
            operands
        }
        ("shl", [ty], [value, _]) if is_integer(ty) => std::slice::from_ref(value),
        ("selp", [ty], [_, _, _]) if is_integer(ty) => &operands[..2],
        _ => &[],
    }
}

/// An access to global memory, at a register plus an offset.
#[derive(Clone)]
struct Access<'a> {
    /// The place in the block.
    at: usize,
    base: &'a str,
    offset: i64,
    bytes: i64,
    /// The registers that are loaded or stored.
    values: Vec<Operand<'a>>,
    /// The opcode and the modifiers of a vector access.
    kind: (&'a str, Vec<&'a str>),
    guard: Option<Guard<'a>>,
}

impl<'a> Access<'a> {
    fn of(graph: &Graph<'a>, at: usize, it: &Instruction<'a>) -> Option<Access<'a>> {
        let (address, value) = match (it.opcode, &it.operands[..]) {
            ("ld", [value, address]) | ("st", [address, value]) => (address, value),
            _ => return None,
        };
        let &Operand::Address(Base::Name(base), offset) = address else {
            return None;
        };
        // An access with an order, or with a cache hint, has more modifiers.
        let mut kind = match (it.opcode, &it.modifiers[..]) {
            ("ld", ["global", "nc", ..]) => vec!["global", "nc"],
            (_, ["global", ..]) => vec!["global"],
            _ => return None,
        };
        let rest = &it.modifiers[kind.len()..];
        let (values, &name) = match (rest, value) {
            ([ty], Operand::Name(_)) => (vec![value.clone()], ty),
            (["v2", ty], Operand::Vector(values)) => (values.clone(), ty),
            _ => return None,
        };
        let bits = Type::from_name(name)?.bits();
        graph.type_of(base)?;
        let is_whole = |value: &Operand<'a>| match value {
            Operand::Name(name) => graph.type_of(name).is_some_and(|ty| ty.bits() == bits),
            _ => false,
        };
        // Registers of different types can be accessed as one vector of their bits.
        kind.push(match bits {
            32 if values.iter().all(is_whole) => "b32",
            64 if values.iter().all(is_whole) => "b64",
            _ => name,
        });
        Some(Access {
            at,
            base,
            offset,
            bytes: (bytes_of(it)) as i64,
            values,
            kind: (it.opcode, kind),
            guard: it.guard,
        })
    }

    /// Returns whether another access at the same base is to other bytes.
    fn is_apart(&self, base: &str, offset: i64, bytes: i64) -> bool {
        let (first, other) = (self.offset, offset);
        self.base == base && (first + self.bytes <= other || other + bytes <= first)
    }

    fn is_load(&self) -> bool {
        self.kind.0 == "ld"
    }

    fn registers(&self) -> impl Iterator<Item = &'a str> {
        self.values.iter().filter_map(|value| match value {
            Operand::Name(name) => Some(*name),
            _ => None,
        })
    }
}

/// Combines accesses of the copy, and demands that pointers are aligned. Returns how many vectors
/// there are.
pub(super) fn combine<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    special: &Special<'a>,
    kernel: &Function<'a>,
    slices: &[&Slice],
) -> usize {
    let Some(Found { changes, sizes }) = find(graph, names, special, slices) else {
        return 0;
    };
    if !demand_alignment(graph, names, special, kernel, &sizes) {
        return 0;
    }
    let mut count = 0;
    for (id, body, vectors) in changes {
        count += vectors.len();
        let mut body: Vec<Vec<Statement<'a>>> = body.into_iter().map(|it| vec![it]).collect();
        for vector in vectors {
            vector.iter().for_each(|it| body[it.at].clear());
            let place = place(&vector);
            body[place] = write(graph, names, vector);
        }
        let mut body: Vec<_> = body.into_iter().flatten().collect();
        let is_loop = graph.blocks[id].end.leads_to(id);
        if is_loop && loaded_bytes(&body) >= IN_FLIGHT && !matches!(body[0], Statement::Pragma(_)) {
            body.insert(0, Statement::Pragma(vec!["nounroll"]));
        }
        graph.blocks[id].body = body;
    }
    count
}

/// The loops of a kernel, and the blocks that read the registers of less than 32 bits.
struct Loops<'a> {
    blocks: Vec<BTreeSet<Id>>,
    reads: HashMap<&'a str, BTreeSet<Id>>,
}

impl<'a> Loops<'a> {
    fn new(graph: &Graph<'a>, cold: &[bool]) -> Loops<'a> {
        let (flow, back) = loops::back_edges(graph, cold);
        let blocks = back.into_iter().map(|(latch, header)| {
            let mut inside = BTreeSet::from([header]);
            loops::add_body(&flow, latch, &mut inside);
            inside
        });
        let mut all = Loops {
            blocks: blocks.collect(),
            reads: HashMap::default(),
        };
        for &id in graph.order.iter().filter(|_| !all.blocks.is_empty()) {
            graph.visit([id], &mut |it| {
                sources(it, &mut |name| {
                    if graph.type_of(name).is_some_and(|ty| ty.bits() < 32) {
                        all.reads.entry(name).or_default().insert(id);
                    }
                });
            });
        }
        all
    }

    /// Returns whether a loop that a block is not in reads a part of a word that the block loads:
    /// ptxas would take it out of the word in each iteration.
    fn repeats(&self, block: Id, load: &Access<'a>) -> bool {
        let mut loops = (self.blocks.iter()).filter(|inside| !inside.contains(&block));
        loops.any(|inside| {
            let mut parts = load.registers().filter_map(|it| self.reads.get(it));
            parts.any(|reads| !reads.is_disjoint(inside))
        })
    }
}

/// The vectors of a kernel.
struct Found<'a> {
    /// The blocks with vectors, with their new bodies and the vectors.
    changes: Vec<(Id, Vec<Statement<'a>>, Vec<Vec<Access<'a>>>)>,
    /// Numbers that the parameters must be multiples of.
    sizes: BTreeMap<&'a str, i64>,
}

/// Finds the vectors. Assumes that integers among the parameters, such as the number of columns of a
/// matrix, are multiples of a power of two if there are more vectors then: of the smallest with the
/// most vectors.
fn find<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    special: &Special<'a>,
    slices: &[&Slice],
) -> Option<Found<'a>> {
    let cold = graph.cold();
    let loops = Loops::new(graph, &cold);
    let origins = Rc::new(Origins::new(graph, slices));
    let plain = Lows::new(&origins, 0);
    let hot = special.blocks(graph).into_iter().filter(|&id| !cold[id]);
    let bodies: Vec<(Id, Vec<Statement<'a>>)> = hot
        .map(|id| (id, with_early_constants(&graph.blocks[id].body)))
        .collect();
    let mut found: Option<(usize, Found<'a>)> = None;
    for zeros in 0..=LARGEST {
        let assumed = (zeros > 0).then(|| Lows::new(&origins, zeros));
        let lows = assumed.as_ref().unwrap_or(&plain);
        let (mut removed, mut changes, mut sizes) = (0, Vec::new(), BTreeMap::new());
        let mut demand = |register: &'a str, multiple: i64| {
            let size = sizes.entry(register).or_default();
            *size = multiple.max(*size);
        };
        for (id, body) in &bodies {
            let repeats = |load: &Access<'a>| load.is_load() && loops.repeats(*id, load);
            let vectors = vectors_of(graph, names, lows, body, &repeats);
            for vector in &vectors {
                let base = vector[0].base;
                let bytes = vector.iter().map(|it| it.bytes).sum();
                removed += vector.len() - 1;
                for pointer in lows.pointers_of(base) {
                    demand(pointer, bytes);
                }
                let is_aligned = |lows: &Lows<'a>| {
                    let base = lows.of(&Operand::Name(base));
                    let offset = Low::constant(vector[0].offset as u64);
                    base.is_some_and(|base| base.plus(offset).zeros() >= bytes.trailing_zeros())
                };
                if !is_aligned(&plain) {
                    for integer in lows.origins_of(base, &origins.integers) {
                        demand(integer, 1 << zeros);
                    }
                }
            }
            if !vectors.is_empty() {
                changes.push((*id, body.clone(), vectors));
            }
        }
        if removed > found.as_ref().map_or(0, |&(most, _)| most) {
            found = Some((removed, Found { changes, sizes }));
        }
        if origins.integers.is_empty() {
            break;
        }
    }
    found.map(|(_, found)| found)
}

/// Returns the number of bytes that a block loads in vectors of the largest size.
fn loaded_bytes(body: &[Statement<'_>]) -> usize {
    let loads = body.iter().map(|statement| match statement {
        Statement::Instruction(it) if it.opcode == "ld" && is_plain(it) => bytes_of(it),
        _ => 0,
    });
    loads.filter(|&bytes| bytes == 1 << LARGEST).sum()
}

/// Demands that parameters are multiples of these sizes. Returns `false` if the host could not
/// evaluate the test then.
fn demand_alignment<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    special: &Special<'a>,
    kernel: &Function<'a>,
    sizes: &BTreeMap<&'a str, i64>,
) -> bool {
    let single = single_definitions(graph, &graph.cold());
    let mut test = Test::new(graph, names, &single, &special.extents);
    let mut low_bits: Option<&'a str> = None;
    for (&parameter, &size) in sizes {
        let Some(value) = test.value(parameter) else {
            return false;
        };
        let operands = [Operand::Name(value), number(size as u64 - 1)];
        let bits = test.emit(Type::B64, "and", &["b64"], operands);
        low_bits = Some(match low_bits {
            None => bits,
            Some(all) => test.emit(Type::B64, "or", &["b64"], [all, bits].map(Operand::Name)),
        });
    }
    if let Some(low_bits) = low_bits {
        test.demand("eq", "s64", [Operand::Name(low_bits), number(0)]);
    }
    test.finish()
        .is_none_or(|demands| bounds::extend_test_for_host(graph, names, special, kernel, demands))
}

/// Returns the statements of a block with constants first: predicated loads leave them in their
/// registers if they do not load, so they would be between these loads.
fn with_early_constants<'a>(body: &[Statement<'a>]) -> Vec<Statement<'a>> {
    let (mut early, mut rest) = (Vec::new(), Vec::new());
    let mut seen = HashSet::default();
    for statement in body {
        let is_early = match statement {
            Statement::Pragma(_) => rest.is_empty(),
            Statement::Instruction(it) => constant(it).is_some_and(|name| !seen.contains(name)),
            _ => false,
        };
        match is_early {
            true => early.push(statement.clone()),
            false => rest.push(statement.clone()),
        }
        instructions(statement, &mut |it| {
            results(it, &mut |name| _ = seen.insert(name));
            sources(it, &mut |name| _ = seen.insert(name));
        });
    }
    early.extend(rest);
    early
}

/// Returns the register that an instruction sets to a constant.
fn constant<'a>(it: &Instruction<'a>) -> Option<&'a str> {
    match (it.opcode, it.guard, &it.operands[..]) {
        (
            "mov",
            None,
            &[
                Operand::Name(register),
                Operand::Integer(_) | Operand::F32(_) | Operand::F64(_),
            ],
        ) => Some(register),
        _ => None,
    }
}

/// Returns the accesses of a block that become vectors, in the order of their addresses. Those for
/// which `stays` is true do not.
fn vectors_of<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    lows: &Lows<'a>,
    body: &[Statement<'a>],
    stays: &dyn Fn(&Access<'a>) -> bool,
) -> Vec<Vec<Access<'a>>> {
    let mut groups: Vec<Vec<Access<'a>>> = Vec::new();
    for (at, statement) in body.iter().enumerate() {
        let Statement::Instruction(it) = statement else {
            continue;
        };
        let Some(access) = Access::of(graph, at, it).filter(|it| !stays(it)) else {
            continue;
        };
        let is_same = |group: &&mut Vec<Access<'a>>| {
            let first = &group[0];
            (first.base, &first.kind, first.guard) == (access.base, &access.kind, access.guard)
        };
        match groups.iter_mut().find(is_same) {
            Some(group) => group.push(access),
            None => groups.push(vec![access]),
        }
    }
    let mut vectors: Vec<Vec<Access<'a>>> = Vec::new();
    for mut group in groups {
        group.sort_by_key(|it| it.offset);
        let low = lows.of(&Operand::Name(group[0].base));
        let Some(low) = low else {
            continue;
        };
        let mut rest = &group[..];
        while let Some(first) = rest.first() {
            let address = Low::constant(first.offset as u64).plus(low);
            let vector = (1..=address.zeros()).rev().find_map(|zeros| {
                let bytes = 1 << zeros;
                let whole = beginning(rest, bytes).map(|vector| (vector, false));
                let (vector, lacks_last) = whole.or_else(|| {
                    let vector = without_last(rest, bytes)?;
                    lows.is_in_whole_vectors(vector[0].base, bytes)
                        .then_some((vector, true))
                })?;
                let fits = can_be_combined(body, vector)
                    && vectors.iter().all(|other| keep_order(vector, other));
                fits.then_some((vector, lacks_last))
            });
            let Some((vector, lacks_last)) = vector else {
                rest = &rest[1..];
                continue;
            };
            rest = &rest[vector.len()..];
            let mut vector = vector.to_vec();
            if lacks_last
                && let Some(last) = vector.last_mut()
                && let Some(&Operand::Name(name)) = last.values.last()
                && let Some(ty) = graph.type_of(name)
            {
                last.bytes += last.bytes / last.values.len() as i64;
                last.values.push(Operand::Name(graph.register(ty, names)));
            }
            vectors.push(vector);
        }
    }
    vectors
}

/// Returns whether no load of one of two vectors moves before a store of the other one that precedes
/// it, and either writes what the other one reads: loads move up, stores down.
fn keep_order(one: &[Access<'_>], other: &[Access<'_>]) -> bool {
    let (loads, stores) = match (one[0].is_load(), other[0].is_load()) {
        (true, false) => (one, other),
        (false, true) => (other, one),
        _ => return true,
    };
    let reads = |store: &Access<'_>, register: &str| {
        let guard = store.guard.map(|guard| guard.register);
        let mut read = store.registers().chain([store.base]).chain(guard);
        read.any(|name| name == register)
    };
    loads.iter().all(|load| {
        let mut before = stores.iter().filter(|store| store.at < load.at);
        before.all(|store| {
            let is_constant = load.kind.1.contains(&"nc");
            !load.registers().any(|register| reads(store, register))
                && (is_constant || store.is_apart(load.base, load.offset, load.bytes))
        })
    }) || place(stores) < place(loads)
}

/// Returns the first accesses, if they are neighbors and access `bytes` bytes in two or four
/// elements.
fn beginning<'s, 'a>(accesses: &'s [Access<'a>], bytes: i64) -> Option<&'s [Access<'a>]> {
    let first = accesses.first()?;
    let mut end = first.offset;
    let mut elements = 0;
    for (index, access) in accesses.iter().enumerate() {
        if access.offset != end {
            return None;
        }
        end += access.bytes;
        elements += access.values.len();
        if end - first.offset == bytes {
            let is_vector = index > 0 && matches!(elements, 2 | 4);
            return is_vector.then_some(&accesses[..=index]);
        }
    }
    None
}

/// Returns the first accesses, if they load the first three of the four elements of a vector of
/// `bytes` bytes that no instruction of the kernel writes.
fn without_last<'s, 'a>(accesses: &'s [Access<'a>], bytes: i64) -> Option<&'s [Access<'a>]> {
    let (mut end, mut elements, mut count) = (accesses.first()?.offset, 0, 0);
    for access in accesses {
        if access.offset != end || elements >= 3 {
            break;
        }
        end += access.bytes;
        elements += access.values.len();
        count += 1;
    }
    let first = &accesses[0];
    let is_load = first.is_load() && first.kind.1.contains(&"nc");
    let lacks_last = elements == 3 && (end - first.offset) * 4 == bytes * 3;
    (is_load && lacks_last && count > 1).then_some(&accesses[..count])
}

/// Returns where the vector access is: loads move to the first one, stores to the last one.
fn place(vector: &[Access<'_>]) -> usize {
    let places = vector.iter().map(|it| it.at);
    let place = match vector[0].is_load() {
        true => places.min(),
        false => places.max(),
    };
    place.unwrap_or(0)
}

/// Returns whether accesses can be made at the same time.
fn can_be_combined(body: &[Statement<'_>], vector: &[Access<'_>]) -> bool {
    let is_load = vector[0].is_load();
    let reads_constants = vector[0].kind.1.contains(&"nc");
    let guard = vector[0].guard.map(|guard| guard.register);
    let fixed: HashSet<&str> = guard.into_iter().chain([vector[0].base]).collect();
    let mut all = fixed.clone();
    for name in vector.iter().flat_map(Access::registers) {
        if !all.insert(name) && is_load {
            return false;
        }
    }
    let places = || vector.iter().map(|it| it.at);
    let (Some(first), Some(last)) = (places().min(), places().max()) else {
        return false;
    };
    (first..last).all(|at| {
        if places().any(|it| it == at) {
            return true;
        }
        let it = match &body[at] {
            Statement::Instruction(it) => it,
            other => return matches!(other, Statement::Loc(_)),
        };
        // A load moves before this instruction, a store after it.
        let mut moved = vector.iter().filter(|access| (at < access.at) == is_load);
        let registers: HashSet<&str> = moved.clone().flat_map(Access::registers).collect();
        let mut reads = false;
        sources(it, &mut |name| reads |= registers.contains(name));
        if writes(it, &fixed) || writes(it, &registers) || is_load && reads {
            return false;
        }
        if is_pure(it) || is_parameter(it) {
            return true;
        }
        let is_constant = it.modifiers.get(1) == Some(&"nc");
        match (is_plain(it), it.opcode, it.modifiers.first()) {
            (false, ..) => false,
            (_, _, Some(&("shared" | "local"))) => true,
            (_, "ld", _) if is_load || is_constant => true,
            _ if is_load && reads_constants => true,
            _ => match it
                .operands
                .iter()
                .find(|it| matches!(it, Operand::Address(..)))
            {
                Some(&Operand::Address(Base::Name(base), offset)) => {
                    moved.all(|access| access.is_apart(base, offset, bytes_of(it) as i64))
                }
                _ => false,
            },
        }
    })
}

/// Returns whether an access has no order to other accesses.
fn is_plain(it: &Instruction<'_>) -> bool {
    let is_plain = |modifiers: &[&str]| match modifiers {
        ["v2" | "v4", ty] | [ty] => Type::from_name(ty).is_some(),
        _ => false,
    };
    let is_access = matches!(it.opcode, "ld" | "st");
    is_access
        && match &it.modifiers[..] {
            ["global", "nc", rest @ ..] | ["global" | "shared" | "local", rest @ ..] => {
                is_plain(rest)
            }
            _ => false,
        }
}

/// Returns the vector access. ptxas 13.0 rejects vectors of registers of different widths, which
/// accesses of less than 64 bits may have: narrower registers are converted.
fn write<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    vector: Vec<Access<'a>>,
) -> Vec<Statement<'a>> {
    let first = &vector[0];
    let ((opcode, mut modifiers), guard) = (first.kind.clone(), first.guard);
    let address = Operand::Address(Base::Name(first.base), first.offset);
    let is_load = first.is_load();
    let mut values: Vec<_> = vector.into_iter().flat_map(|it| it.values).collect();
    let width = |graph: &Graph<'a>, value: &Operand<'a>| match value {
        Operand::Name(name) => graph.type_of(name).map_or(0, |ty| ty.bits()),
        _ => 0,
    };
    let widest = values.iter().map(|it| width(graph, it)).max().unwrap_or(0);
    let types = |bits| match bits {
        16 => Some((Type::B16, "u16")),
        32 => Some((Type::B32, "u32")),
        64 => Some((Type::B64, "u64")),
        _ => None,
    };
    let mut converted = Vec::new();
    for value in &mut values {
        if let (Some((_, narrow)), Some((ty, wide))) = (types(width(graph, value)), types(widest))
            && narrow != wide
        {
            let register = Operand::Name(graph.register(ty, names));
            let value = std::mem::replace(value, register.clone());
            converted.push(match is_load {
                true => instruction("cvt", &[narrow, wide], vec![value, register]),
                false => instruction("cvt", &[wide, narrow], vec![register, value]),
            });
        }
    }
    let name = if values.len() == 2 { "v2" } else { "v4" };
    modifiers.insert(modifiers.len() - 1, name);
    let mut operands = vec![Operand::Vector(values), address];
    if !is_load {
        operands.reverse();
    }
    let mut access = vec![instruction(opcode, &modifiers, operands)];
    match is_load {
        true => access.append(&mut converted),
        false => access.splice(0..0, converted).for_each(drop),
    }
    for statement in &mut access {
        if let Statement::Instruction(it) = statement {
            it.guard = guard;
        }
    }
    access
}
