//! A pass around a fault of ptxas: with optimizations, the 16-bit `neg` of -32768 leaves +32768 in
//! its 32-bit register, and a sign extension of the result after it is dropped, because ptxas
//! takes the value to fit 16 bits (seen with ptxas 13.0 on sm_90: the extended result was 0x8000).
//! The PTX ISA says that `neg` wraps (9.7.1, integer arithmetic).
//!
//! In 32 bits, with the truncation spelt out, nothing is left to be assumed. What ptxas makes of it
//! is the same two instructions.

use crate::{Function, Instruction, Item, Module, Operand, Registers, Statement, Type};

/// Replaces each `neg.s16` and `abs.s16` by one of 32 bits and a truncation. Returns how many.
pub fn widen_negations(module: &mut Module<'_>) -> usize {
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
    matches!(instruction.opcode, "neg" | "abs")
        && instruction.modifiers == ["s16"]
        && instruction.operands.len() == 2
}

/// The block that does what the instruction does.
fn widened<'a>(narrow: &Instruction<'a>) -> Vec<Statement<'a>> {
    const WIDE: &str = "%widened";
    let line = narrow.line;
    let step = |opcode, modifiers: &[&'static str], operands: [Operand<'a>; 2]| {
        Statement::Instruction(Instruction {
            guard: narrow.guard,
            opcode,
            modifiers: modifiers.to_vec(),
            operands: operands.to_vec(),
            line,
        })
    };
    let wide = || Operand::Name(WIDE);
    vec![
        Statement::Registers(Box::new(Registers {
            ty: Type::B32,
            vector: None,
            names: vec![(WIDE, None)],
            line,
        })),
        step("cvt", &["s32", "s16"], [wide(), narrow.operands[1].clone()]),
        step(narrow.opcode, &["s32"], [wide(), wide()]),
        step("cvt", &["u16", "u32"], [narrow.operands[0].clone(), wide()]),
    ]
}
