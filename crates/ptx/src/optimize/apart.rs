//! Starts the loads of a loop before its stores, if they access other memory.
//!
//! Raw pointers may point to the same memory. So a load of the second of four unrolled iterations
//! waits until the first one has stored, and an iteration waits four times for memory. This pass
//! compares the addresses. A copy of the loop, whose loads come first, runs if no load reads what a
//! store writes that it passes.
//!
//! Two addresses are compared by the lower 32 bits of their difference, which are a sum of registers and
//! a number even if the indices have 32 bits and may wrap around. If the addresses are near, these bits
//! are near zero. Often, the difference is the same in all iterations, as that of `from[y * width + x]` and
//! `to[y * width + x]`, and one comparison before the loop suffices. Otherwise, as for elements of different
//! sizes, each iteration of the copy compares.

use std::collections::{BTreeMap, BTreeSet};

use super::divisions::{is_constant, is_load};
use super::flow::{Graph, Id};
use super::instructions::{
    can_be_copied, has_effect, is_among_lanes, is_pure, rename, results, sources,
};
use super::loops::{self, Loop};
use super::names::Names;
use super::version::number;
use super::{bytes_of, words};
use crate::hash::{HashMap, HashSet};
use crate::rewrite::instruction;
use crate::{Base, Instruction, Operand, Statement, Type};

/// The maximum number of comparisons of addresses before a loop.
const CHECKS: usize = 8;

/// The maximum number of comparisons in each iteration.
const REPEATED_CHECKS: usize = 2;

/// The maximum number of 32-bit words that the loads read.
const WORDS: usize = 16;

/// The maximum distance of two differences that one comparison excludes together.
const NEAR: u32 = 1 << 12;

/// The value of a register at the start of an iteration, or what the instruction at a position of the
/// iteration writes to it.
type Symbol<'a> = (&'a str, Option<usize>);

/// The lower 32 bits of a value: a sum of multiples of symbols and a number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Sum<'a> {
    terms: BTreeMap<Symbol<'a>, u32>,
    number: u32,
}

impl<'a> Sum<'a> {
    fn of(symbol: Symbol<'a>) -> Sum<'a> {
        Sum {
            terms: BTreeMap::from([(symbol, 1)]),
            number: 0,
        }
    }

    fn constant(number: u32) -> Sum<'a> {
        Sum {
            terms: BTreeMap::new(),
            number,
        }
    }

    /// Returns the sum of this and a multiple of another one.
    fn plus(&self, other: &Sum<'a>, times: u32) -> Sum<'a> {
        let mut sum = self.clone();
        sum.number = sum.number.wrapping_add(other.number.wrapping_mul(times));
        for (&symbol, factor) in &other.terms {
            let own = sum.terms.entry(symbol).or_insert(0);
            *own = own.wrapping_add(factor.wrapping_mul(times));
        }
        sum.terms.retain(|_, factor| *factor != 0);
        sum
    }

    fn as_constant(&self) -> Option<u32> {
        self.terms.is_empty().then_some(self.number)
    }
}

/// The values of the registers at a position of an iteration.
#[derive(Default)]
struct Values<'a>(HashMap<&'a str, Sum<'a>>);

impl<'a> Values<'a> {
    fn of(&self, operand: &Operand<'a>) -> Option<Sum<'a>> {
        match operand {
            Operand::Integer(number) => Some(Sum::constant(number.bits as u32)),
            Operand::Name(name) => Some(self.of_register(name)),
            _ => None,
        }
    }

    fn of_register(&self, name: &'a str) -> Sum<'a> {
        let known = self.0.get(name).cloned();
        known.unwrap_or_else(|| Sum::of((name, None)))
    }

    /// Returns the lower 32 bits of the result of an instruction.
    fn result(&self, it: &Instruction<'a>) -> Option<Sum<'a>> {
        const LONG: &[&str] = &["s32", "s64", "u32", "u64"];
        let is_long = |ty: &&str| LONG.contains(ty);
        let at = |index: usize| self.of(it.operands.get(index)?);
        match (it.opcode, &it.modifiers[..]) {
            ("mov", ["b32" | "b64" | "s32" | "s64" | "u32" | "u64"]) => at(1),
            ("cvt", [to, from]) if is_long(to) && is_long(from) => at(1),
            ("add", [ty]) if is_long(ty) => Some(at(1)?.plus(&at(2)?, 1)),
            ("sub", [ty]) if is_long(ty) => Some(at(1)?.plus(&at(2)?, u32::MAX)),
            ("shl", ["b32" | "b64"]) => {
                let distance = at(2)?.as_constant().filter(|it| *it < 32)?;
                Some(Sum::default().plus(&at(1)?, 1 << distance))
            }
            ("mul", ["lo" | "wide", ty]) if is_long(ty) => {
                Some(Sum::default().plus(&at(1)?, at(2)?.as_constant()?))
            }
            ("mad", ["lo" | "wide", ty]) if is_long(ty) => {
                Some(at(3)?.plus(&at(1)?, at(2)?.as_constant()?))
            }
            _ => None,
        }
    }

    /// Steps over the instruction at a position.
    fn step(&mut self, it: &Instruction<'a>, index: usize) {
        let value = self.result(it);
        results(it, &mut |name| {
            let own = value
                .clone()
                .unwrap_or_else(|| Sum::of((name, Some(index))));
            self.0.insert(name, own);
        });
    }
}

/// An access of the loop.
struct Access<'a> {
    index: usize,
    address: Sum<'a>,
    bytes: u32,
}

/// Differences of addresses that must not occur: between these numbers, beyond the sum of the terms.
#[derive(Clone, Copy)]
struct Near {
    first: u32,
    length: u32,
}

/// Adds copies of loops, except of those that begin with a block of `slow`. Returns how many.
pub(super) fn load_first<'a>(graph: &mut Graph<'a>, names: &'a Names, slow: &HashSet<Id>) -> usize {
    let mut count = 0;
    for each in loops::innermost(graph, &graph.cold()) {
        if !slow.contains(&each.header) && each.blocks.len() == 1 {
            count += usize::from(load_first_in(graph, names, &each).is_some());
        }
    }
    count
}

fn load_first_in<'a>(graph: &mut Graph<'a>, names: &'a Names, each: &Loop<'a>) -> Option<()> {
    let id = each.header;
    let Passing {
        loads,
        tests,
        repeats,
        exchanges,
    } = passing(graph, each)?;
    let mut test = Vec::new();
    let mut apart = None;
    for (terms, near) in tests {
        let sum = emit(graph, names, &mut test, &terms)?;
        let operands = [sum, number(near.first.wrapping_neg().into())];
        let place = graph.emit(names, &mut test, Type::B32, "add", &["s32"], operands);
        let operands = [Operand::Name(place), number(near.length.into())];
        let modifiers = &["ge", "u32"];
        let ge = graph.emit(names, &mut test, Type::Pred, "setp", modifiers, operands);
        apart = Some(match apart {
            None => ge,
            Some(before) => graph.and(names, &mut test, [before, ge]),
        });
    }
    let mut apart = apart?;
    if exchanges {
        // All lanes of a warp exchange values in the same copy.
        let operands = [Operand::Name(apart), number(u32::MAX.into())];
        let modifiers = &["sync", "all", "pred"];
        apart = graph.emit(names, &mut test, Type::Pred, "vote", modifiers, operands);
    }

    let mut body = Vec::new();
    // The registers with the results of the instructions that run first.
    let mut first: HashMap<usize, (&'a str, Type)> = HashMap::default();
    let mut now: HashMap<&'a str, &'a str> = HashMap::default();
    for &index in &loads {
        let Statement::Instruction(mut it) = graph.blocks[id].body[index].clone() else {
            return None;
        };
        let &Operand::Name(result) = it.operands.first()? else {
            return None;
        };
        let ty = graph.type_of(result)?;
        rename(&mut it, &mut |name| now.get(name).copied().unwrap_or(name));
        let own = graph.register(ty, names);
        it.operands[0] = Operand::Name(own);
        body.push(Statement::Instruction(it));
        now.insert(result, own);
        first.insert(index, (own, ty));
    }
    for (index, statement) in graph.blocks[id].body.clone().into_iter().enumerate() {
        match (statement, first.get(&index)) {
            (Statement::Instruction(it), Some(&(own, ty))) => {
                let operands = vec![it.operands.into_iter().next()?, Operand::Name(own)];
                body.push(instruction("mov", &[ty.name()], operands));
            }
            (Statement::Label(_), _) => {}
            (statement, _) => body.push(statement),
        }
    }

    let end = graph.blocks[id].end.clone();
    loops::add_tested(graph, names, each, (test, apart), (body, end), repeats);
    Some(())
}

/// Appends instructions that compute a sum of registers at the start of an iteration.
fn emit<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    body: &mut Vec<Statement<'a>>,
    terms: &BTreeMap<Symbol<'a>, u32>,
) -> Option<Operand<'a>> {
    let mut sum: Option<&'a str> = None;
    for (&(name, _), &factor) in terms {
        let mut own = name;
        if graph.type_of(name)?.bytes() == 8 {
            let operands = [Operand::Name(name)];
            own = graph.emit(names, body, Type::B32, "cvt", &["u32", "u64"], operands);
        }
        let operands = match sum {
            _ if factor != 1 && (factor != u32::MAX || sum.is_none()) => {
                let operands = [Operand::Name(own), number(factor.into())];
                own = graph.emit(names, body, Type::B32, "mul", &["lo", "s32"], operands);
                sum.map(|sum| ("add", [sum, own]))
            }
            Some(sum) if factor == u32::MAX => Some(("sub", [sum, own])),
            sum => sum.map(|sum| ("add", [sum, own])),
        };
        sum = Some(match operands {
            None => own,
            Some((opcode, operands)) => {
                let operands = operands.map(Operand::Name);
                graph.emit(names, body, Type::B32, opcode, &["s32"], operands)
            }
        });
    }
    Some(sum.map_or_else(|| number(0), Operand::Name))
}

/// What an iteration of the copy does first.
struct Passing<'a> {
    /// The positions of the loads, and of the instructions that compute their addresses.
    loads: BTreeSet<usize>,
    /// Which sums must not be near which numbers.
    tests: Vec<(BTreeMap<Symbol<'a>, u32>, Near)>,
    /// Whether the sums differ between iterations.
    repeats: bool,
    /// Whether the loop exchanges values between lanes.
    exchanges: bool,
}

/// Returns the loads of a loop that can pass stores before them.
fn passing<'a>(graph: &Graph<'a>, each: &Loop<'a>) -> Option<Passing<'a>> {
    let row = &graph.blocks[each.header].body;
    let mut values = Values::default();
    let (mut loads, mut stores) = (Vec::new(), Vec::new());
    let mut exchanges = false;
    // For each position, the positions before it of the instructions that an address needs; `None` if
    // these instructions cannot run first.
    let mut needs: Vec<Option<BTreeSet<usize>>> = Vec::with_capacity(row.len());
    let mut writers: HashMap<&'a str, usize> = HashMap::default();
    for (index, statement) in row.iter().enumerate() {
        needs.push(None);
        let it = match statement {
            Statement::Instruction(it) if it.guard.is_none() => it,
            Statement::Loc(_) | Statement::Label(_) => continue,
            _ => return None,
        };
        if is_among_lanes(it) {
            if !has_all_lanes(graph, it) {
                return None;
            }
            exchanges = true;
        } else if !can_be_copied(it) {
            return None;
        }
        let mut own = Some(BTreeSet::new());
        sources(it, &mut |name| {
            if let Some(&writer) = writers.get(name) {
                match (&mut own, &needs[writer]) {
                    (Some(own), Some(needed)) => {
                        own.extend(needed);
                        own.insert(writer);
                    }
                    _ => own = None,
                }
            }
        });
        let access = |operand: &Operand<'a>| {
            let &Operand::Address(Base::Name(name), offset) = operand else {
                return None;
            };
            let offset = Sum::constant(offset as u32);
            Some(Access {
                index,
                address: values.of_register(name).plus(&offset, 1),
                bytes: bytes_of(it) as u32,
            })
        };
        if has_effect(it) {
            if !is_store(it) {
                return None;
            }
            stores.push(access(it.operands.first()?)?);
        } else if is_load(it)
            && !is_constant(it)
            && !stores.is_empty()
            && matches!(it.operands[0], Operand::Name(_))
            && let Some(own) = own.clone()
        {
            loads.extend(access(&it.operands[1]).map(|load| (load, own)));
        }
        let is_register = matches!(it.operands.first(), Some(Operand::Name(_)));
        needs[index] = own.filter(|_| is_pure(it) && is_register);
        values.step(it, index);
        results(it, &mut |name| _ = writers.insert(name, index));
    }
    // How an iteration changes a register.
    let change = |name: &'a str| {
        values
            .of_register(name)
            .plus(&Sum::of((name, None)), u32::MAX)
    };
    let is_invariant = |name: &'a str| each.is_invariant(&Operand::Name(name));
    let is_known = |name: &str| {
        let ty = graph.type_of(name);
        ty.is_some_and(|ty| matches!(ty.name(), "b32" | "b64" | "s32" | "s64" | "u32" | "u64"))
    };
    let mut candidates = Vec::new();
    'loads: for (load, needed) in loads {
        let mut own = Vec::new();
        let mut differs = false;
        for store in stores.iter().filter(|store| store.index < load.index) {
            let difference = load.address.plus(&store.address, u32::MAX);
            // The load ends after the store begins, and begins before it ends.
            let near = Near {
                first: (load.bytes - 1)
                    .wrapping_add(difference.number)
                    .wrapping_neg(),
                length: load.bytes + store.bytes - 1,
            };
            if difference.terms.is_empty() {
                if near.first.wrapping_neg() < near.length {
                    continue 'loads;
                }
                continue;
            }
            let mut changed = Sum::default();
            for (&(name, written), &factor) in &difference.terms {
                if written.is_some() || !is_known(name) {
                    continue 'loads;
                }
                if !is_invariant(name) {
                    changed = changed.plus(&change(name), factor);
                }
            }
            differs |= changed != Sum::default();
            let terms: Vec<(Symbol<'a>, u32)> = difference.terms.into_iter().collect();
            own.push((terms, near));
        }
        let Statement::Instruction(it) = &row[load.index] else {
            continue;
        };
        candidates.push(Candidate {
            index: load.index,
            needed,
            tests: own,
            differs,
            words: words(it),
        });
    }
    // All loads, or those that one test before the loop suffices for.
    let fixed = candidates.iter().filter(|load| !load.differs);
    choose(candidates.iter(), exchanges).or_else(|| choose(fixed, exchanges))
}

/// A load that may pass stores.
struct Candidate<'a> {
    index: usize,
    /// The positions of the instructions that its address needs.
    needed: BTreeSet<usize>,
    /// The differences of addresses that must not occur.
    tests: Vec<(Vec<(Symbol<'a>, u32)>, Near)>,
    /// Whether iterations change the differences.
    differs: bool,
    words: usize,
}

/// Returns the loads that run first, unless they are too many or need too many tests.
fn choose<'c, 'a: 'c>(
    loads: impl Iterator<Item = &'c Candidate<'a>>,
    exchanges: bool,
) -> Option<Passing<'a>> {
    let mut tests: BTreeMap<&[(Symbol<'a>, u32)], Vec<Near>> = BTreeMap::new();
    let mut repeats = false;
    let mut moved = BTreeSet::new();
    let mut read = 0;
    for load in loads {
        read += load.words;
        repeats |= load.differs;
        for (terms, near) in &load.tests {
            tests.entry(terms).or_default().push(*near);
        }
        moved.extend(&load.needed);
        moved.insert(load.index);
    }
    let tests: Vec<_> = (tests.into_iter())
        .flat_map(|(terms, near)| {
            let terms: BTreeMap<Symbol<'a>, u32> = terms.iter().copied().collect();
            let united = united(near).into_iter();
            united.map(move |near| (terms.clone(), near))
        })
        .collect();
    let most = if repeats { REPEATED_CHECKS } else { CHECKS };
    let suits = read <= WORDS && (1..=most).contains(&tests.len());
    suits.then_some(Passing {
        loads: moved,
        tests,
        repeats,
        exchanges,
    })
}

/// Unites ranges that are near each other.
fn united(mut ranges: Vec<Near>) -> Vec<Near> {
    ranges.sort_unstable_by_key(|near| near.first as i32);
    let mut all: Vec<Near> = Vec::new();
    for near in ranges {
        if let Some(last) = all.last_mut() {
            let distance = near.first.wrapping_sub(last.first);
            if distance < NEAR && last.length < NEAR {
                last.length = last.length.max(distance + near.length);
                continue;
            }
        }
        all.push(near);
    }
    all
}

/// Returns whether all lanes of a warp take part in an exchange.
fn has_all_lanes(graph: &Graph<'_>, it: &Instruction<'_>) -> bool {
    let is_all = |operand: &Operand<'_>| match operand {
        Operand::Integer(number) => number.bits as u32 == u32::MAX,
        _ => false,
    };
    match it.operands.last() {
        Some(&Operand::Name(mask)) => {
            let (mut count, mut sets) = (0, false);
            graph.visit(graph.order.iter().copied(), &mut |it| {
                results(it, &mut |name| {
                    if name == mask {
                        count += 1;
                        sets = it.opcode == "mov" && it.guard.is_none() && is_all(&it.operands[1]);
                    }
                });
            });
            count == 1 && sets
        }
        Some(operand) => is_all(operand),
        None => false,
    }
}

/// Returns whether an instruction stores to global memory without an ordering, which would come
/// before the state space.
fn is_store(it: &Instruction<'_>) -> bool {
    it.opcode == "st" && it.modifiers.first() == Some(&"global")
}
