//! A pass around a fault of ptxas with values of 64 bits that lie at odd multiples of two bytes and are
//! loaded by parts of 16 bits, as the `f64` of a `packed(2)` struct: when it optimizes, it loads what
//! lies side by side at once, takes `bfi.b64 …, 16, 16` of two parts for one `PRMT` of what was loaded,
//! and loses the result where it is the upper half of a value (seen with ptxas 13.0 on sm_90: of 420
//! programs with packed structs 14 were wrong, and none after this pass).
//!
//! A shift and an `or` do the same there, as nothing but zeros lies above a loaded part.

use std::collections::{HashMap, HashSet};

use crate::ast::Integer;
use crate::dead::visit_operand;
use crate::{Function, Instruction, Item, Module, Operand, Registers, Statement, Type};

/// Replaces each `bfi.b64` that puts a loaded 16-bit part next to another by `shl` and `or`. Returns how
/// many.
pub fn join_halves(module: &mut Module<'_>) -> usize {
    let mut count = 0;
    for item in &mut module.items {
        if let Item::Function(Function {
            body: Some(body), ..
        }) = item
        {
            let mut parts = HashMap::new();
            find_parts(body, &mut parts);
            let parts = parts
                .into_iter()
                .filter_map(|(name, is)| is.then_some(name));
            join(body, &parts.collect(), &mut count);
        }
    }
    count
}

/// For each register that a function sets, whether it is always by loading 16 bits.
fn find_parts<'a>(body: &[Statement<'a>], parts: &mut HashMap<&'a str, bool>) {
    for statement in body {
        match statement {
            Statement::Block(inner) => find_parts(inner, parts),
            Statement::Instruction(instruction) => {
                let part = loads_part(instruction);
                // A call's results come first, too.
                if let Some(result) = instruction.operands.first() {
                    visit_operand(result, &mut |name| {
                        *parts.entry(name).or_insert(true) &= part;
                    });
                }
            }
            _ => {}
        }
    }
}

fn loads_part(instruction: &Instruction<'_>) -> bool {
    instruction.opcode == "ld"
        && instruction.modifiers.last() == Some(&"u16")
        && matches!(instruction.operands.first(), Some(Operand::Name(_)))
}

fn join<'a>(body: &mut [Statement<'a>], parts: &HashSet<&'a str>, count: &mut usize) {
    for statement in body {
        match statement {
            Statement::Block(inner) => join(inner, parts, count),
            Statement::Instruction(instruction) => {
                if let Some(joined) = joined(instruction, parts) {
                    *statement = Statement::Block(joined);
                    *count += 1;
                }
            }
            _ => {}
        }
    }
}

/// The block that does what the instruction does, if it puts two parts together.
fn joined<'a>(
    instruction: &Instruction<'a>,
    parts: &HashSet<&'a str>,
) -> Option<Vec<Statement<'a>>> {
    const SHIFTED: &str = "%shifted";
    const SIXTEEN: Operand<'static> = Operand::Integer(Integer {
        bits: 16,
        negative: false,
    });
    if instruction.opcode != "bfi" || instruction.modifiers[..] != ["b64"] {
        return None;
    }
    let [result, upper, lower, at, bits] = &instruction.operands[..] else {
        return None;
    };
    let sixteen = |operand: &Operand<'_>| matches!(operand, Operand::Integer(n) if n.bits == 16);
    let part =
        |operand: &Operand<'_>| matches!(operand, Operand::Name(name) if parts.contains(name));
    if !(sixteen(at) && sixteen(bits) && part(upper) && part(lower)) {
        return None;
    }
    let line = instruction.line;
    let step = |opcode, operands: [&Operand<'a>; 3]| {
        Statement::Instruction(Instruction {
            guard: instruction.guard,
            opcode,
            modifiers: vec!["b64"],
            operands: operands.into_iter().cloned().collect(),
            line,
        })
    };
    let shifted = Operand::Name(SHIFTED);
    Some(vec![
        Statement::Registers(Box::new(Registers {
            ty: Type::B64,
            vector: None,
            names: vec![(SHIFTED, None)],
            line,
        })),
        step("shl", [&shifted, upper, &SIXTEEN]),
        step("or", [result, &shifted, lower]),
    ])
}
