//! Clamps of signed integers in the copy of a kernel's body.
//!
//! An image is mostly read as if its edges went on: `(x as isize + d).clamp(0, width as isize - 1)`.
//! libnvvm compares the integer with 0, takes the minimum, and selects. [`order`] makes that a
//! maximum and a minimum, so that `bounds` finds the index below the extent.
//!
//! If the integer is a converted float, nothing limits it. But a clamp between numbers of less than
//! 31 bits does not distinguish larger ones, so the conversion may saturate at 32 bits:
//! [`saturate`] does that where all uses are clamps, comparisons with such numbers, or follow them.
//! GPUs also convert to 32 bits several times as fast as to 64.

use std::collections::BTreeMap;

use crate::hash::HashMap;

use super::floats::Conversion;
use super::flow::Graph;
use super::instructions::{instructions, rename_operand, sources};
use super::loops::{Comparison, Relation};
use super::names::Names;
use super::narrow::{Facts, Range, Region};
use super::specialize::{BOUND, Special, single_definitions};
use super::version::number;
use crate::rewrite::instruction;
use crate::{Instruction, Integer, Operand, Statement, Type};

/// The maximum absolute value of a number that is added to a converted float. A float below 2⁶³ is at
/// most 2⁶³ - 1024, so only the sum with a float that is not below wraps around.
const OFFSET: i64 = 512;

/// The numbers from which saturated integers do not differ: see [`saturate`].
const EXACT: Range = (-(BOUND as i64), BOUND as i64);

/// A clamp between 0 and another number that is not negative, if there is one.
struct Clamp<'a> {
    value: &'a str,
    most: Option<Operand<'a>>,
    /// The type: `s32` or `s64`.
    ty: &'static str,
}

/// Replaces selections between 0 and a number that is not negative, or the minimum of such a number
/// and another one. Returns the number of replaced ones. Leaves the region if there are none.
pub(super) fn order<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    special: &Special<'a>,
    left: &mut Option<Region<'a>>,
) -> usize {
    let cold = graph.cold();
    let single = single_definitions(graph, &cold);
    let region = Region::take(left, graph, special);
    let mut clamps: HashMap<&'a str, Clamp<'a>> = HashMap::default();
    let find = &mut |facts: &Facts<'a>, statement: &Statement<'a>| {
        if let Statement::Instruction(it) = statement
            && let Some(&Operand::Name(result)) = it.operands.first()
            && single.contains_key(result)
            && let Some(clamp) = clamp(facts, &single, it)
        {
            clamps.insert(result, clamp);
        }
    };
    region.visit(graph, special, find, &mut |_, _, _| {});
    if clamps.is_empty() {
        *left = Some(region);
        return 0;
    }
    for &id in region.order() {
        let body = std::mem::take(&mut graph.blocks[id].body);
        let mut replaced = Vec::with_capacity(body.len());
        for statement in body {
            let found = match &statement {
                Statement::Instruction(it) => match it.operands.first() {
                    Some(&Operand::Name(result)) => clamps.get(result).map(|it| (result, it)),
                    _ => None,
                },
                _ => None,
            };
            let Some((result, clamp)) = found else {
                replaced.push(statement);
                continue;
            };
            let result = Operand::Name(result);
            let operands = [Operand::Name(clamp.value), number(0)];
            let instruction = match &clamp.most {
                Some(most) => {
                    let ty = if clamp.ty == "s64" {
                        Type::B64
                    } else {
                        Type::B32
                    };
                    let value = graph.emit(names, &mut replaced, ty, "max", &[clamp.ty], operands);
                    let operands = vec![result, Operand::Name(value), most.clone()];
                    instruction("min", &[clamp.ty], operands)
                }
                None => {
                    let [value, zero] = operands;
                    instruction("max", &[clamp.ty], vec![result, value, zero])
                }
            };
            replaced.push(instruction);
        }
        graph.blocks[id].body = replaced;
    }
    clamps.len()
}

/// Returns the clamp that an instruction selects the result of.
fn clamp<'a>(
    facts: &Facts<'a>,
    single: &HashMap<&'a str, Instruction<'a>>,
    it: &Instruction<'a>,
) -> Option<Clamp<'a>> {
    let ty = match (it.opcode, &it.modifiers[..], it.guard) {
        ("selp", ["b64" | "u64" | "s64"], None) => "s64",
        ("selp", ["b32" | "u32" | "s32"], None) => "s32",
        _ => return None,
    };
    let [_, if_true, if_false, Operand::Name(condition)] = &it.operands[..] else {
        return None;
    };
    let compared = Comparison::of(single.get(condition)?, true)?;
    let Operand::Integer(limit) = compared.right else {
        return None;
    };
    let bits = if ty == "s64" { 64 } else { 32 };
    let is = |value: i64| limit.bits << (64 - bits) == (value as u64) << (64 - bits);
    let (zero, other) = match compared.relation {
        Relation::Less if is(0) => (if_true, if_false),
        Relation::GreaterOrEqual if is(0) => (if_false, if_true),
        Relation::Greater if is(-1) => (if_false, if_true),
        Relation::LessOrEqual if is(-1) => (if_true, if_false),
        _ => return None,
    };
    // Registers with several definitions may change before the selection.
    let is_fixed = |operand: &Operand<'a>| match operand {
        Operand::Name(name) => single.contains_key(name),
        operand => matches!(operand, Operand::Integer(_)),
    };
    let Operand::Name(value) = compared.left else {
        return None;
    };
    if !is_fixed(&compared.left) {
        return None;
    }
    if !compared.signed || compared.bits != bits {
        return None;
    }
    if !matches!(zero, Operand::Integer(zero) if zero.bits == 0) {
        return None;
    }
    let Operand::Name(other) = other else {
        return None;
    };
    if *other == value {
        let most = None;
        return Some(Clamp { value, most, ty });
    }
    let least = single.get(other)?;
    let [_, a, b] = &least.operands[..] else {
        return None;
    };
    if (least.opcode, &least.modifiers[..]) != ("min", &[ty][..]) || least.guard.is_some() {
        return None;
    }
    let most = match (a, b) {
        (Operand::Name(a), b) if *a == value => b.clone(),
        (a, Operand::Name(b)) if *b == value => a.clone(),
        _ => return None,
    };
    // Ranges of 32 bits have no sign.
    let most_of_all = if ty == "s64" {
        i64::MAX
    } else {
        i32::MAX.into()
    };
    let (low, high) = facts.range(&most)?;
    let is_limit = is_fixed(&most) && low >= 0 && high <= most_of_all;
    let most = is_limit.then_some(most);
    most.map(|most| Clamp {
        value,
        most: Some(most),
        ty,
    })
}

/// A float converted to `i64`, with the value 0 for NaN.
#[derive(Clone, Debug)]
struct Converted<'a> {
    of: Conversion<'a>,
    /// The sums of the numbers that are added are within this range.
    offsets: Range,
}

/// Saturates conversions of floats at 32 bits. Returns the number of changed ones.
///
/// An integer that depends on a conversion is either exact, or as before greater or less than all of
/// [`EXACT`]. Additions, minima and maxima preserve that, and the outcomes of comparisons with
/// numbers in [`EXACT`] stay the same.
pub(super) fn saturate<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    special: &Special<'a>,
    left: &mut Option<Region<'a>>,
) -> usize {
    let cold = graph.cold();
    let single = single_definitions(graph, &cold);
    let region = Region::take(left, graph, special);
    let mut found = Found {
        single: &single,
        all: BTreeMap::new(),
        derived: HashMap::default(),
    };
    let statement = &mut |facts: &Facts<'a>, statement: &Statement<'a>| match statement {
        Statement::Instruction(it) => found.instruction(facts, it),
        _ => instructions(statement, &mut |it| {
            sources(it, &mut |name| found.give_up(name));
        }),
    };
    region.visit(graph, special, statement, &mut |_, _, _| {});
    let blocks = special.blocks(graph);
    // A panic reports the integer, so it reads the exact one.
    let colds = blocks.iter().copied().filter(|&id| cold[id]);
    graph.visit(colds, &mut |it| {
        sources(it, &mut |name| {
            if !found.all.contains_key(name) {
                found.give_up(name);
            }
        });
    });
    let Found { all, derived, .. } = found;
    if all.is_empty() {
        *left = Some(region);
        return 0;
    }
    let is_changed =
        |name: &str| (derived.get(name)).is_some_and(|(converted, _)| all.contains_key(converted));
    let mut saturated: HashMap<&'a str, &'a str> = HashMap::default();
    for &id in region.order() {
        let body = std::mem::take(&mut graph.blocks[id].body);
        let mut replaced = Vec::with_capacity(body.len());
        for mut statement in body {
            if let Statement::Instruction(it) = &mut statement
                && let Some(&Operand::Name(result)) = it.operands.first()
            {
                if let Some(converted) = all.get(result) {
                    // Panics read the exact integer.
                    replaced.push(statement);
                    saturated.insert(result, converted.emit(graph, names, &mut replaced));
                    continue;
                }
                for operand in &mut it.operands {
                    rename_operand(operand, &mut |name| {
                        saturated.get(name).copied().unwrap_or(name)
                    });
                }
                if matches!(it.opcode, "add" | "sub") && is_changed(result) {
                    // The sum wraps around in 32 bits where it does in 64.
                    let mut emit = |ty, opcode, modifiers, operands: Vec<Operand<'a>>| {
                        let to = &mut replaced;
                        Operand::Name(graph.emit(names, to, ty, opcode, modifiers, operands))
                    };
                    let [_, a, Operand::Integer(by)] = &it.operands[..] else {
                        unreachable!("`Found::result` accepts only sums with a number");
                    };
                    let by = Operand::Integer(Integer::signed(by.bits as i64));
                    let low = emit(Type::B32, "cvt", &["u32", "u64"], vec![a.clone()]);
                    let low = emit(Type::B32, it.opcode, &["s32"], vec![low, by]);
                    let operands = vec![Operand::Name(result), low];
                    replaced.push(instruction("cvt", &["s64", "s32"], operands));
                    continue;
                }
            }
            replaced.push(statement);
        }
        graph.blocks[id].body = replaced;
    }
    all.len()
}

/// The conversions that may saturate.
struct Found<'s, 'a> {
    single: &'s HashMap<&'a str, Instruction<'a>>,
    all: BTreeMap<&'a str, Converted<'a>>,
    /// The registers that depend on a conversion, with it and the range of what has been added.
    derived: HashMap<&'a str, (&'a str, Range)>,
}

impl<'a> Found<'_, 'a> {
    fn give_up(&mut self, name: &'a str) {
        if let Some((converted, _)) = self.derived.get(name) {
            self.all.remove(converted);
        }
    }

    /// Returns the conversion that an operand depends on, unless the operand is exact.
    fn inexact(&self, facts: &Facts<'a>, operand: &Operand<'a>) -> Option<(&'a str, Range)> {
        match operand {
            Operand::Name(name) if !is_exact(facts.range(operand)) => {
                self.derived.get(name).copied()
            }
            _ => None,
        }
    }

    fn instruction(&mut self, facts: &Facts<'a>, it: &Instruction<'a>) {
        if let Some((result, converted)) = self.converted(it) {
            self.derived.insert(result, (result, (0, 0)));
            self.all.insert(result, converted);
            return;
        }
        let mut used = Vec::new();
        sources(it, &mut |name| {
            if self.inexact(facts, &Operand::Name(name)).is_some() {
                used.push(name);
            }
        });
        if used.is_empty() {
            return;
        }
        let Some(depends) = self.result(facts, it) else {
            for name in used {
                self.give_up(name);
            }
            return;
        };
        if let (Some((converted, offsets)), Some(&Operand::Name(result))) =
            (depends, it.operands.first())
        {
            self.derived.insert(result, (converted, offsets));
            if let Some(converted) = self.all.get_mut(converted) {
                converted.offsets.0 = converted.offsets.0.min(offsets.0);
                converted.offsets.1 = converted.offsets.1.max(offsets.1);
            }
        }
    }

    /// Returns what the result of an instruction depends on, or `None` if the instruction needs the
    /// exact integer.
    fn result(&self, facts: &Facts<'a>, it: &Instruction<'a>) -> Option<Option<(&'a str, Range)>> {
        let is_single = |operand: &Operand<'a>| matches!(operand, Operand::Name(name) if self.single.contains_key(name));
        let of = |operand| self.inexact(facts, operand);
        let is_limit = |operand: &Operand<'a>| is_exact(facts.range(operand));
        if it.guard.is_some() || !is_single(it.operands.first()?) {
            return None;
        }
        let depends = match (it.opcode, &it.modifiers[..], &it.operands[1..]) {
            ("setp", [relation, ty @ ("s64" | "u64" | "b64")], [a, b]) => {
                Relation::from_name(relation)?;
                let other = match (of(a), of(b)) {
                    (Some(_), None) => b,
                    (None, Some(_)) => a,
                    _ => return None,
                };
                // As unsigned numbers, negative ones are greater than others.
                let is_unsigned = *ty == "u64";
                let range = facts.range(other)?;
                return (is_limit(other) && !(is_unsigned && range.0 < 0)).then_some(None);
            }
            ("add" | "sub", ["s64" | "u64"], [a, Operand::Integer(by)]) => {
                let by = if it.opcode == "add" {
                    by.bits as i64
                } else {
                    (by.bits as i64).checked_neg()?
                };
                let (converted, (low, high)) = of(a)?;
                let offsets = (low.checked_add(by)?, high.checked_add(by)?);
                let is_small = offsets.0 >= -OFFSET && offsets.1 <= OFFSET;
                is_small.then_some((converted, offsets))?
            }
            ("mov", ["s64" | "u64" | "b64"], [a]) => of(a)?,
            ("min" | "max", ["s64"], [a, b]) => match (of(a), of(b)) {
                (Some(depends), None) if is_limit(b) => depends,
                (None, Some(depends)) if is_limit(a) => depends,
                _ => return None,
            },
            _ => return None,
        };
        // The result may be exact nevertheless, as that of a clamp is.
        Some((!is_exact(facts.result_range(it))).then_some(depends))
    }

    /// Returns the converted float that an instruction selects, and the register with it.
    fn converted(&self, it: &Instruction<'a>) -> Option<(&'a str, Converted<'a>)> {
        let of = Conversion::of(self.single, it, "s64")?;
        let is_fixed = [of.result, of.float]
            .iter()
            .all(|it| self.single.contains_key(*it));
        let offsets = (0, 0);
        is_fixed.then_some((of.result, Converted { of, offsets }))
    }
}

impl<'a> Converted<'a> {
    /// Appends the conversion that saturates, so that no sum with what is added wraps around in 32
    /// bits. Returns the register with the result.
    fn emit(
        &self,
        graph: &mut Graph<'a>,
        names: &'a Names,
        to: &mut Vec<Statement<'a>>,
    ) -> &'a str {
        let Conversion { ty, float, .. } = self.of;
        let mut low = self.of.emit_word(graph, names, to, "s32");
        let (least, most) = self.offsets;
        let mut limited = low;
        for (opcode, limit, is_needed) in [
            ("min", i64::from(i32::MAX) - most, most > 0),
            ("max", i64::from(i32::MIN) - least, least < 0),
        ] {
            if is_needed {
                let limit = Operand::Integer(Integer::signed(limit));
                let operands = [Operand::Name(limited), limit];
                limited = graph.emit(names, to, Type::B32, opcode, &["s32"], operands);
            }
        }
        if limited != low {
            // From 2⁶³ on, the integer is 2⁶³ - 1: one more is the least integer.
            let (bits, limit) = match ty {
                "f32" => (Type::F32, Operand::F32(0x5f00_0000)),
                _ => (Type::F64, Operand::F64(0x43e0_0000_0000_0000)),
            };
            let operands = [Operand::Name(float)];
            let size = graph.emit(names, to, bits, "abs", &[ty], operands);
            let operands = [Operand::Name(size), limit];
            let is_less = graph.emit(names, to, Type::Pred, "setp", &["lt", ty], operands);
            let operands = [limited, low, is_less].map(Operand::Name);
            low = graph.emit(names, to, Type::B32, "selp", &["b32"], operands);
        }
        let operands = [Operand::Name(low)];
        graph.emit(names, to, Type::B64, "cvt", &["s64", "s32"], operands)
    }
}

/// Returns whether integers with a range are the same if conversions saturate.
fn is_exact(range: Option<Range>) -> bool {
    range.is_some_and(|(low, high)| low >= EXACT.0 && high <= EXACT.1)
}
