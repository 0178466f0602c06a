//! Works around two bugs of ptxas's optimizer with 16-bit instructions.
//!
//! - `neg` of -32768 leaves +32768 in its 32-bit register, and a following sign extension of the
//!   result is dropped, because ptxas assumes that the value fits in 16 bits (ptxas 13.0 on sm_90:
//!   the extended result was 0x8000). The PTX ISA says that `neg` wraps (9.7.1, integer
//!   arithmetic).
//! - `min` or `max` with a constant, whose result is then compared with it, becomes one instruction
//!   on two halves (`VIMNMX.U16x2 R0, P0, P0, R34, 0x7f`), which leaves the comparison of the upper
//!   halves in the predicate, although these bits are arbitrary (ptxas 13.0 on sm_90 and sm_100).
//!
//! The pass computes in 32 bits with an explicit truncation, so that ptxas has nothing to assume.
//! The resulting code is at most one instruction longer.

use crate::rewrite::{bodies, registers, replace, step};
use crate::{Instruction, Module, Operand, Statement, Type};

/// Replaces each `neg`, `abs`, `min` and `max` of a scalar 16-bit integer by a 32-bit instruction
/// and a truncation. Returns the number of replacements.
pub fn widen_narrow(module: &mut Module<'_>) -> usize {
    bodies(module)
        .map(|body| replace(body, &|it| is_narrow(it).then(|| widened(it))))
        .sum()
}

fn is_narrow(instruction: &Instruction<'_>) -> bool {
    let operands = match instruction.opcode {
        "neg" | "abs" => 2,
        "min" | "max" => 3,
        _ => return false,
    };
    matches!(instruction.modifiers[..], ["s16" | "u16"]) && instruction.operands.len() == operands
}

/// Returns the block that replaces the instruction.
fn widened<'a>(narrow: &Instruction<'a>) -> Vec<Statement<'a>> {
    const WIDE: [&str; 2] = ["%widened", "%widened2"];
    let (own, wide) = match narrow.modifiers[..] {
        ["u16"] => ("u16", "u32"),
        _ => ("s16", "s32"),
    };
    let sources = &narrow.operands[1..];
    let wides = || WIDE.map(Operand::Name).into_iter().take(sources.len());
    let mut block = vec![registers(Type::B32, &WIDE[..sources.len()], narrow.line)];
    for (register, source) in wides().zip(sources) {
        let operands = vec![register, source.clone()];
        block.push(step(narrow, "cvt", &[wide, own], operands));
    }
    let result = Operand::Name(WIDE[0]);
    let operands = [result.clone()].into_iter().chain(wides()).collect();
    block.push(step(narrow, narrow.opcode, &[wide], operands));
    let truncated = vec![narrow.operands[0].clone(), result];
    block.push(step(narrow, "cvt", &["u16", "u32"], truncated));
    block
}
