//! Helpers for the passes that rewrite instructions.

use crate::{Function, Instruction, Item, Module, Operand, Registers, Statement, Type};

/// Returns the bodies of a module's functions.
pub fn bodies<'m, 'a>(
    module: &'m mut Module<'a>,
) -> impl Iterator<Item = &'m mut Vec<Statement<'a>>> {
    module.items.iter_mut().filter_map(|item| match item {
        Item::Function(Function { body, .. }) => body.as_mut(),
        _ => None,
    })
}

/// Replaces each instruction for which `block` returns a block with that block. Returns the number
/// of replacements.
pub fn replace<'a>(
    body: &mut [Statement<'a>],
    block: &impl Fn(&Instruction<'a>) -> Option<Vec<Statement<'a>>>,
) -> usize {
    let mut count = 0;
    for statement in body {
        match statement {
            Statement::Block(inner) => count += replace(inner, block),
            Statement::Instruction(instruction) => {
                if let Some(made) = block(instruction) {
                    *statement = Statement::Block(made);
                    count += 1;
                }
            }
            _ => {}
        }
    }
    count
}

/// Returns a new instruction as a statement.
pub fn instruction<'a>(
    opcode: &'a str,
    modifiers: &[&'a str],
    operands: Vec<Operand<'a>>,
) -> Statement<'a> {
    Statement::Instruction(Instruction::new(opcode, modifiers, operands))
}

/// Returns an instruction of a replacement block, with the original's guard and line.
pub fn step<'a>(
    of: &Instruction<'a>,
    opcode: &'a str,
    modifiers: &[&'static str],
    operands: Vec<Operand<'a>>,
) -> Statement<'a> {
    Statement::Instruction(Instruction {
        guard: of.guard,
        opcode,
        modifiers: modifiers.to_vec(),
        operands,
        line: of.line,
    })
}

/// Returns a declaration of registers.
pub fn registers<'a>(ty: Type, names: &[&'a str], line: u32) -> Statement<'a> {
    Statement::Registers(Box::new(Registers {
        ty,
        vector: None,
        names: names.iter().map(|&name| (name, None)).collect(),
        line,
    }))
}
