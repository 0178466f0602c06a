//! Works around a ptxas bug with 64-bit values at odd multiples of two bytes that are loaded in
//! 16-bit parts, such as the `f64` of a `packed(2)` struct.
//!
//! With optimizations, ptxas loads adjacent parts at once, treats the `bfi.b64 …, 16, 16` of two
//! parts as one `PRMT` of the loaded word, and loses the result if it is the upper half of a value
//! (ptxas 13.0 on sm_90: 14 of 420 programs with packed structs were wrong, and none after this
//! pass).
//!
//! A shift and an `or` compute the same value, because the bits above a loaded part are zero.

use crate::hash::{HashMap, HashSet};

use crate::dead::visit_operand;
use crate::rewrite::{bodies, registers, replace, step};
use crate::{Instruction, Module, Operand, Statement, Type};

/// Replaces each `bfi.b64` that joins two loaded 16-bit parts by `shl` and `or`. Returns the number
/// of replacements.
pub fn replace_bfi(module: &mut Module<'_>) -> usize {
    let mut count = 0;
    for body in bodies(module) {
        let mut parts = HashMap::default();
        find_parts(body, &mut parts);
        let parts: HashSet<&str> = parts
            .into_iter()
            .filter_map(|(name, is)| is.then_some(name))
            .collect();
        count += replace(body, &|instruction| joined(instruction, &parts));
    }
    count
}

/// Determines for each register that a function writes whether only 16-bit loads write it.
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

/// Returns the block that replaces the instruction, if it joins two parts.
fn joined<'a>(
    instruction: &Instruction<'a>,
    parts: &HashSet<&'a str>,
) -> Option<Vec<Statement<'a>>> {
    const SHIFTED: &str = "%shifted";
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
    let shifted = Operand::Name(SHIFTED);
    let step = |opcode, operands: [&Operand<'a>; 3]| {
        let operands = operands.into_iter().cloned().collect();
        step(instruction, opcode, &["b64"], operands)
    };
    Some(vec![
        registers(Type::B64, &[SHIFTED], instruction.line),
        step("shl", [&shifted, upper, at]),
        step("or", [result, &shifted, lower]),
    ])
}
