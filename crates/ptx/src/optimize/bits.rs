//! Tests bits and shifts short integers with fewer machine instructions.
//!
//! - `x & 1` is compared with 0 instead of 1: the operation sets the predicate then. LLVM compares
//!   with 1, for each `bool` that it keeps in an integer register.
//! - `matches!(byte, b' ' | b'-' | b'_')` tests `1 << byte & SET`. If the set has 64 bits, `SET >> byte`
//!   takes one instruction less, and only its lowest 32 bits are needed.
//! - ptxas 13.0 limits the distance of a 16-bit shift to 65535 before it shifts 32 bits, which takes
//!   three instructions, even if the distance is `x & 15`. A 32-bit shift has the same lower half.

use crate::hash::{HashMap, HashSet};

use super::flow::Graph;
use super::instructions::sources;
use super::names::Names;
use super::specialize::single_definitions;
use crate::rewrite::instruction;
use crate::{Instruction, Integer, Operand, Statement, Type};

/// Replaces tests and shifts. Returns how many.
pub(super) fn replace<'a>(graph: &mut Graph<'a>, names: &'a Names) -> usize {
    let single = single_definitions(graph, &vec![false; graph.blocks.len()]);
    let sets = sets(graph, &single);
    // The register with the bit of the set, for that with the result of `and`.
    let mut bits: HashMap<&'a str, &'a str> = HashMap::default();
    let mut sorted: Vec<&'a str> = sets.keys().copied().collect();
    sorted.sort_unstable();
    let shifted: HashMap<&'a str, (&'a str, Operand<'a>)> = (sorted.into_iter())
        .map(|set| {
            let (shift, number) = &sets[set];
            bits.insert(set, graph.register(Type::B32, names));
            let result = graph.register(Type::B64, names);
            (*shift, (result, number.clone()))
        })
        .collect();
    let mut count = 0;
    for id in graph.order.clone() {
        let body = std::mem::take(&mut graph.blocks[id].body);
        let mut replaced = Vec::with_capacity(body.len());
        for statement in body {
            let Statement::Instruction(mut it) = statement else {
                replaced.push(statement);
                continue;
            };
            let written = match it.operands.first() {
                Some(&Operand::Name(name)) => name,
                _ => "",
            };
            if let Some(&(result, ref set)) = shifted.get(written) {
                let mask = [set.clone()];
                let mask = graph.emit(names, &mut replaced, Type::B64, "mov", &["b64"], mask);
                let operands = vec![Operand::Name(result), Operand::Name(mask), distance(&it)];
                replaced.push(instruction("shr", &["u64"], operands));
                continue;
            }
            if let Some(&bit) = bits.get(written) {
                let from = [Operand::Name(shifted[sets[written].0].0)];
                let low = ["u32", "u64"];
                let low = graph.emit(names, &mut replaced, Type::B32, "cvt", &low, from);
                let one = Operand::Integer(Integer::unsigned(1));
                let operands = vec![Operand::Name(bit), Operand::Name(low), one];
                replaced.push(instruction("and", &["b32"], operands));
                continue;
            }
            if let Some((name, _)) = tested(&it) {
                if let Some(&bit) = bits.get(name) {
                    it.modifiers[1] = "s32";
                    it.operands[1] = Operand::Name(bit);
                    count += 1;
                } else if is_one(&it.operands[2]) && single.get(name).is_some_and(is_bit) {
                    it.modifiers[0] = if it.modifiers[0] == "eq" { "ne" } else { "eq" };
                    it.operands[2] = Operand::Integer(Integer::unsigned(0));
                    count += 1;
                }
            }
            count += usize::from(widen(graph, names, &mut replaced, &mut it));
            replaced.push(Statement::Instruction(it));
        }
        graph.blocks[id].body = replaced;
    }
    count
}

/// A test of an element of a set of up to 64 numbers: for the result of `and`, that of the shift of 1
/// by the number, and the set.
type Sets<'a> = HashMap<&'a str, (&'a str, Operand<'a>)>;

fn sets<'a>(graph: &Graph<'a>, single: &HashMap<&'a str, Instruction<'a>>) -> Sets<'a> {
    let mut uses: HashMap<&'a str, usize> = HashMap::default();
    let mut compared: HashSet<&'a str> = HashSet::default();
    graph.visit(graph.order.iter().copied(), &mut |it| {
        sources(it, &mut |name| *uses.entry(name).or_insert(0) += 1);
        if let Some((name, _)) = tested(it).filter(|_| is_number(&it.operands[2], 0)) {
            compared.insert(name);
        }
    });
    let is_used_once = |name: &str| uses.get(name) == Some(&1);
    let plain = |name: &str, opcode: &str| {
        let it = single.get(name)?;
        let is_plain = it.opcode == opcode && it.modifiers == ["b64"] && it.guard.is_none();
        is_plain.then_some(it)
    };
    let is_one = |of: &Operand<'a>| match of {
        Operand::Name(name) => single.get(name).is_some_and(|it| {
            it.opcode == "mov" && it.guard.is_none() && is_number(&it.operands[1], 1)
        }),
        of => is_number(of, 1),
    };
    let mut sets = Sets::default();
    for set in compared.into_iter().filter(|name| is_used_once(name)) {
        let Some([_, left, right]) = plain(set, "and").map(|it| &it.operands[..]) else {
            continue;
        };
        let (shift, number) = match (left, right) {
            (&Operand::Name(shift), number @ Operand::Integer(_))
            | (number @ Operand::Integer(_), &Operand::Name(shift)) => (shift, number),
            _ => continue,
        };
        let shifts_one = plain(shift, "shl").is_some_and(|it| is_one(&it.operands[1]));
        if shifts_one && is_used_once(shift) {
            sets.insert(set, (shift, number.clone()));
        }
    }
    sets
}

/// Returns the register that an instruction compares for equality with an operand.
fn tested<'a, 'i>(it: &'i Instruction<'a>) -> Option<(&'a str, &'i Operand<'a>)> {
    let is_test = it.opcode == "setp"
        && matches!(
            it.modifiers[..],
            [
                "eq" | "ne",
                "b16" | "s16" | "u16" | "b32" | "s32" | "u32" | "b64" | "s64" | "u64"
            ]
        );
    match &it.operands[..] {
        [Operand::Name(_), Operand::Name(name), with] if is_test => Some((name, with)),
        _ => None,
    }
}

fn is_number(operand: &Operand<'_>, number: u64) -> bool {
    matches!(operand, Operand::Integer(it) if it.bits == number)
}

fn is_one(operand: &Operand<'_>) -> bool {
    is_number(operand, 1)
}

/// Returns whether an instruction computes a number that is 0 or 1.
fn is_bit(it: &Instruction<'_>) -> bool {
    it.opcode == "and" && it.guard.is_none() && it.operands[1..].iter().any(is_one)
}

/// Returns the distance of a shift.
fn distance<'a>(it: &Instruction<'a>) -> Operand<'a> {
    it.operands[2].clone()
}

/// Makes a shift of 16 bits one of 32 bits. `it` becomes the conversion of the result. Returns whether
/// it is such a shift.
fn widen<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    body: &mut Vec<Statement<'a>>,
    it: &mut Instruction<'a>,
) -> bool {
    let (wide, extend) = match (it.opcode, &it.modifiers[..]) {
        ("shl", ["b16"]) => ("b32", ["u32", "u16"]),
        ("shr", ["u16" | "b16"]) => ("u32", ["u32", "u16"]),
        ("shr", ["s16"]) => ("s32", ["s32", "s16"]),
        _ => return false,
    };
    let [Operand::Name(_), from, Operand::Name(_)] = &it.operands[..] else {
        return false;
    };
    let extended = match from {
        Operand::Name(name) if graph.type_of(name) == Some(Type::B16) => {
            graph.emit(names, body, Type::B32, "cvt", &extend, [from.clone()])
        }
        Operand::Integer(number) => {
            let value = match extend[0] {
                "s32" => Integer::signed(i64::from(number.bits as i16)),
                _ => Integer::unsigned(number.bits & 0xFFFF),
            };
            let value = [Operand::Integer(value)];
            graph.emit(names, body, Type::B32, "mov", &["b32"], value)
        }
        _ => return false,
    };
    let sources = [Operand::Name(extended), distance(it)];
    let opcode = it.opcode;
    let shifted = graph.emit(names, body, Type::B32, opcode, &[wide], sources);
    it.opcode = "cvt";
    it.modifiers = vec!["u16", "u32"];
    it.operands = vec![it.operands[0].clone(), Operand::Name(shifted)];
    true
}
