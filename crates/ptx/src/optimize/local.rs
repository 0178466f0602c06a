//! Keeps variables in registers that libnvvm left in local memory, if all accesses to local memory are
//! at known places.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::flow::Graph;
use super::instructions::{instructions, results, sources};
use super::names::Names;
use crate::{Base, Instruction, Integer, Operand, Statement, Type};

/// What a register is known to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    Number(u64),
    /// An address in the local variable.
    Local(i64),
}

/// An access: where, the size of an element, and how many.
struct Access {
    at: i64,
    bytes: u32,
    count: u32,
}

/// Moves the local variable of a function to registers. Returns how many bytes of it.
pub(super) fn promote<'a>(graph: &mut Graph<'a>, names: &'a Names) -> usize {
    let [(variable, size)] = graph.local_variables()[..] else {
        return 0;
    };
    let Some(values) = values(graph, variable) else {
        return 0;
    };
    let mut pieces: BTreeMap<i64, &'a str> = BTreeMap::new();
    // Those that are also accessed in part.
    let mut parts = BTreeSet::new();
    for block in &graph.blocks {
        for statement in &block.body {
            if let Statement::Instruction(it) = statement
                && let Some(access) = access_of(it, &values, variable)
            {
                let Some(access) = access else { return 0 };
                let bytes = i64::from(access.bytes * access.count);
                let inside = access.at >= 0 && (access.at + bytes) as u64 <= size;
                let aligned = access.at % i64::from(access.bytes) == 0;
                if !inside || !aligned || access.bytes > 8 {
                    return 0;
                }
                for piece in access.at / 4..(access.at + bytes + 3) / 4 {
                    pieces.entry(piece).or_insert("");
                }
                if access.bytes < 4 {
                    parts.extend(access.at / 4..(access.at + bytes + 3) / 4);
                }
            }
        }
    }
    // More would be spilled.
    const MOST: usize = 64;
    if pieces.len() > MOST {
        return 0;
    }
    let entry = graph.order[0];
    if !parts.is_empty() && !graph.predecessors()[entry].is_empty() {
        return 0;
    }
    for register in pieces.values_mut() {
        *register = graph.register(Type::B32, names);
    }
    let part = graph.register(Type::B32, names);
    for id in 0..graph.blocks.len() {
        let mut body = Vec::new();
        for statement in std::mem::take(&mut graph.blocks[id].body) {
            let Statement::Instruction(it) = &statement else {
                body.push(statement);
                continue;
            };
            match access_of(it, &values, variable) {
                Some(Some(access)) if access.bytes < 4 => {
                    body.extend(moves_of_parts(graph, it, &access, &pieces, part));
                }
                Some(Some(access)) => body.extend(moves(it, &access, &pieces)),
                // Addresses that nothing reads any more.
                _ if is_address(it, &values) => {}
                _ => body.push(statement),
            }
        }
        graph.blocks[id].body = body;
    }
    // A part that is stored first leaves the others as they are.
    let zeros = parts.into_iter().map(|piece| {
        instruction(
            None,
            "mov",
            &["b32"],
            vec![
                Operand::Name(pieces[&piece]),
                Operand::Integer(Integer::unsigned(0)),
            ],
        )
    });
    graph.blocks[entry].body.splice(0..0, zeros);
    graph.remove_variable(variable);
    size as usize
}

fn is_address(it: &Instruction<'_>, values: &HashMap<&str, Value>) -> bool {
    let mut address = false;
    results(it, &mut |name| {
        address |= matches!(values.get(name), Some(Value::Local(_)))
    });
    address
}

/// What registers are, if all addresses in the variable are known and only accesses use them.
fn values<'a>(graph: &Graph<'a>, variable: &'a str) -> Option<HashMap<&'a str, Value>> {
    let mut written: HashMap<&'a str, u32> = HashMap::new();
    for block in &graph.blocks {
        for statement in &block.body {
            instructions(statement, &mut |it| {
                results(it, &mut |name| *written.entry(name).or_insert(0) += 1);
            });
        }
    }
    let mut values: HashMap<&'a str, Value> = HashMap::new();
    loop {
        let before = values.len();
        for block in &graph.blocks {
            for statement in &block.body {
                if let Statement::Instruction(it) = statement
                    && let Some(&Operand::Name(result)) = it.operands.first()
                    && written.get(result) == Some(&1)
                    && it.guard.is_none()
                    && let Some(value) = value_of(it, &values, variable)
                {
                    values.insert(result, value);
                }
            }
        }
        if values.len() == before {
            break;
        }
    }
    let is_local =
        |name: &str| name == variable || matches!(values.get(name), Some(Value::Local(_)));
    for block in &graph.blocks {
        for statement in &block.body {
            let mut escapes = false;
            let nested = matches!(statement, Statement::Block(_));
            instructions(statement, &mut |it| {
                let mut uses = 0;
                sources(it, &mut |name| uses += u32::from(is_local(name)));
                if uses == 0 {
                    return;
                }
                let access = matches!(access_of(it, &values, variable), Some(Some(_)));
                escapes |= nested || uses > 1 || !(access || is_address(it, &values));
            });
            if escapes {
                return None;
            }
        }
    }
    Some(values)
}

fn value_of(it: &Instruction<'_>, values: &HashMap<&str, Value>, variable: &str) -> Option<Value> {
    use Value::*;
    let value = |operand: &Operand<'_>| match operand {
        Operand::Integer(value) => Some(Number(value.bits)),
        Operand::Name(name) if *name == variable => Some(Local(0)),
        Operand::Name(name) => values.get(name).copied(),
        _ => None,
    };
    match (it.opcode, &it.modifiers[..], &it.operands[1..]) {
        ("mov", ["u64" | "b64" | "s64"], [from]) => value(from),
        ("mov", ["u32" | "b32" | "s32"], [from]) => match value(from)? {
            Number(bits) => Some(Number(u64::from(bits as u32))),
            Local(_) => None,
        },
        ("cvta", ["local", "u64"], [from]) => value(from).filter(|v| matches!(v, Local(_))),
        ("cvt", ["u64", "u32"], [from]) => value(from),
        ("add", ["s64" | "u64"], [left, right]) => match (value(left)?, value(right)?) {
            (Number(left), Number(right)) => Some(Number(left.wrapping_add(right))),
            (Local(at), Number(by)) | (Number(by), Local(at)) => {
                Some(Local(at.wrapping_add(by as i64)))
            }
            (Local(_), Local(_)) => None,
        },
        ("add", ["s32" | "u32"], [left, right]) => match (value(left)?, value(right)?) {
            (Number(left), Number(right)) => {
                Some(Number(u64::from((left as u32).wrapping_add(right as u32))))
            }
            _ => None,
        },
        ("shl", ["b64"], [left, right]) => match (value(left)?, value(right)?) {
            (Number(left), Number(right @ 0..64)) => Some(Number(left << right)),
            _ => None,
        },
        ("mul", ["wide", "u32"] | ["lo", "s64" | "u64"], [left, right]) => {
            match (value(left)?, value(right)?) {
                (Number(left), Number(right)) => Some(Number(left.wrapping_mul(right))),
                _ => None,
            }
        }
        _ => None,
    }
}

/// The access that an instruction is to the variable; `Some(None)` if it is one that registers cannot
/// do.
fn access_of(
    it: &Instruction<'_>,
    values: &HashMap<&str, Value>,
    variable: &str,
) -> Option<Option<Access>> {
    let address = match it.opcode {
        "ld" => it.operands.get(1)?,
        "st" => it.operands.first()?,
        _ => return None,
    };
    let Operand::Address(Base::Name(base), offset) = address else {
        return None;
    };
    let at = match values.get(base) {
        _ if *base == variable => 0,
        Some(Value::Local(at)) => *at,
        _ => return None,
    };
    let (ty, words) = it.modifiers.split_last()?;
    let count = match words {
        [] | ["local"] => 1,
        ["v2"] | ["local", "v2"] => 2,
        ["v4"] | ["local", "v4"] => 4,
        _ => return Some(None),
    };
    let value = match it.opcode {
        "ld" => it.operands.first(),
        _ => it.operands.get(1),
    };
    let elements = match value {
        Some(Operand::Name(_) | Operand::Integer(_)) => 1,
        Some(Operand::Vector(all)) => all.len() as u32,
        _ => return Some(None),
    };
    let Some(ty) = Type::from_name(ty).filter(|_| elements == count) else {
        return Some(None);
    };
    Some(Some(Access {
        at: at + offset,
        bytes: ty.bytes(),
        count,
    }))
}

/// An access's registers or numbers.
fn elements<'a>(it: &Instruction<'a>) -> Vec<Operand<'a>> {
    match &it.operands[usize::from(it.opcode != "ld")] {
        Operand::Vector(all) => all.clone(),
        one => vec![one.clone()],
    }
}

fn instruction<'a>(
    of: Option<&Instruction<'a>>,
    opcode: &'a str,
    modifiers: &[&'a str],
    operands: Vec<Operand<'a>>,
) -> Statement<'a> {
    Statement::Instruction(Instruction {
        guard: of.and_then(|of| of.guard),
        opcode,
        modifiers: modifiers.to_vec(),
        operands,
        line: of.map_or(0, |of| of.line),
    })
}

/// What an access to bytes or halves of words becomes.
fn moves_of_parts<'a>(
    graph: &Graph<'a>,
    it: &Instruction<'a>,
    access: &Access,
    pieces: &BTreeMap<i64, &'a str>,
    part: &'a str,
) -> Vec<Statement<'a>> {
    let mut moves = Vec::new();
    let part = Operand::Name(part);
    let signed = it.modifiers.last().is_some_and(|ty| ty.starts_with('s'));
    for (index, element) in elements(it).into_iter().enumerate() {
        let at = access.at + index as i64 * i64::from(access.bytes);
        let piece = Operand::Name(pieces[&(at / 4)]);
        let place = [at as u64 % 4 * 8, u64::from(access.bytes) * 8]
            .map(|bits| Operand::Integer(Integer::unsigned(bits)));
        let [from, bits] = place;
        let width = match &element {
            Operand::Name(name) => graph.type_of(name).map_or(32, Type::bits),
            _ => 32,
        };
        if it.opcode == "ld" {
            let ty = if signed { "s32" } else { "u32" };
            let extracted = vec![part.clone(), piece, from, bits];
            moves.push(instruction(Some(it), "bfe", &[ty], extracted));
            let to: &[&str] = match (width, signed) {
                (16, _) => &["cvt", "u16", "u32"],
                (64, true) => &["cvt", "s64", "s32"],
                (64, false) => &["cvt", "u64", "u32"],
                _ => &["mov", "b32"],
            };
            moves.push(instruction(
                Some(it),
                to[0],
                &to[1..],
                vec![element, part.clone()],
            ));
        } else {
            let to: &[&str] = match width {
                16 => &["cvt", "u32", "u16"],
                64 => &["cvt", "u32", "u64"],
                _ => &["mov", "b32"],
            };
            moves.push(instruction(
                Some(it),
                to[0],
                &to[1..],
                vec![part.clone(), element],
            ));
            let inserted = vec![piece.clone(), part.clone(), piece, from, bits];
            moves.push(instruction(Some(it), "bfi", &["b32"], inserted));
        }
    }
    moves
}

/// The moves that an access becomes.
fn moves<'a>(
    it: &Instruction<'a>,
    access: &Access,
    pieces: &BTreeMap<i64, &'a str>,
) -> Vec<Statement<'a>> {
    let is_load = it.opcode == "ld";
    let mut moves = Vec::new();
    let mut move_to = |ty: &'a str, to: Operand<'a>, from: Operand<'a>| {
        moves.push(instruction(Some(it), "mov", &[ty], vec![to, from]));
    };
    for (index, element) in elements(it).into_iter().enumerate() {
        let first = (access.at + index as i64 * i64::from(access.bytes)) / 4;
        let piece = |piece: i64| Operand::Name(pieces[&piece]);
        match (access.bytes, element) {
            (4, element) => {
                let (to, from) = match is_load {
                    true => (element, piece(first)),
                    false => (piece(first), element),
                };
                move_to("b32", to, from);
            }
            (_, Operand::Integer(value)) => {
                for (piece, bits) in [
                    (piece(first), value.bits as u32),
                    (piece(first + 1), (value.bits >> 32) as u32),
                ] {
                    let bits = Operand::Integer(Integer::unsigned(bits.into()));
                    move_to("b32", piece, bits);
                }
            }
            (_, element) => {
                let both = Operand::Vector(vec![piece(first), piece(first + 1)]);
                let (to, from) = match is_load {
                    true => (element, both),
                    false => (both, element),
                };
                move_to("b64", to, from);
            }
        }
    }
    moves
}
