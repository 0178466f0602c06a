//! A pass around two faults of ptxas with instructions of 16 bits, when it optimizes.
//!
//! - `neg` of -32768 leaves +32768 in its 32-bit register, and a sign extension of the result after
//!   it is dropped, because ptxas takes the value to fit 16 bits (seen with ptxas 13.0 on sm_90: the
//!   extended result was 0x8000). The PTX ISA says that `neg` wraps (9.7.1, integer arithmetic).
//! - `min` or `max` with a constant, whose result is then compared with it, becomes one instruction
//!   on two halves (`VIMNMX.U16x2 R0, P0, P0, R34, 0x7f`) that leaves the outcome of the upper halves,
//!   where anything may lie, in the predicate (seen with ptxas 13.0 on sm_90 and sm_100).
//!
//! In 32 bits, with the truncation spelt out, nothing is left to be assumed. What ptxas makes of it
//! is an instruction more at most.

use crate::{Function, Instruction, Item, Module, Operand, Registers, Statement, Type};

/// Replaces each `neg`, `abs`, `min` and `max` of one 16-bit integer by one of 32 bits and a
/// truncation. Returns how many.
pub fn widen_narrow(module: &mut Module<'_>) -> usize {
    let mut count = 0;
    for item in &mut module.items {
        if let Item::Function(Function {
            body: Some(body), ..
        }) = item
        {
            widen(body, &mut count);
        }
    }
    count
}

fn widen(body: &mut [Statement<'_>], count: &mut usize) {
    for statement in body {
        match statement {
            Statement::Block(inner) => widen(inner, count),
            Statement::Instruction(instruction) if is_narrow(instruction) => {
                *statement = Statement::Block(widened(instruction));
                *count += 1;
            }
            _ => {}
        }
    }
}

fn is_narrow(instruction: &Instruction<'_>) -> bool {
    let operands = match instruction.opcode {
        "neg" | "abs" => 2,
        "min" | "max" => 3,
        _ => return false,
    };
    matches!(instruction.modifiers[..], ["s16" | "u16"]) && instruction.operands.len() == operands
}

/// The block that does what the instruction does.
fn widened<'a>(narrow: &Instruction<'a>) -> Vec<Statement<'a>> {
    const WIDE: [&str; 2] = ["%widened", "%widened2"];
    let line = narrow.line;
    let step = |opcode, modifiers: &[&'static str], operands: Vec<Operand<'a>>| {
        Statement::Instruction(Instruction {
            guard: narrow.guard,
            opcode,
            modifiers: modifiers.to_vec(),
            operands,
            line,
        })
    };
    let (own, wide) = match narrow.modifiers[..] {
        ["u16"] => ("u16", "u32"),
        _ => ("s16", "s32"),
    };
    let sources = &narrow.operands[1..];
    let registers = || WIDE.map(Operand::Name).into_iter().take(sources.len());
    let mut block = vec![Statement::Registers(Box::new(Registers {
        ty: Type::B32,
        vector: None,
        names: WIDE[..sources.len()]
            .iter()
            .map(|&name| (name, None))
            .collect(),
        line,
    }))];
    for (register, source) in registers().zip(sources) {
        block.push(step("cvt", &[wide, own], vec![register, source.clone()]));
    }
    let result = Operand::Name(WIDE[0]);
    let operands = [result.clone()].into_iter().chain(registers()).collect();
    block.push(step(narrow.opcode, &[wide], operands));
    let truncated = vec![narrow.operands[0].clone(), result];
    block.push(step("cvt", &["u16", "u32"], truncated));
    block
}
