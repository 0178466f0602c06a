//! A pass around a fault of ptxas: in a function that calls itself it lets threads that went
//! different ways meet again nowhere (there is no `BSSY`), and all the same computes in registers
//! that the whole warp shares what differs between these threads, such as the counter of a loop that
//! some of them are still in. core's sort does so, and reads beyond its slice (seen with ptxas 13.0
//! on sm_90, when it assembles for linking, and also otherwise in a module that calls through
//! pointers).
//!
//! What a call through a pointer calls, ptxas does not look at: so functions call themselves that
//! way.

use crate::rewrite::registers;
use crate::{Function, Instruction, Item, Module, Operand, Prototype, Statement, Type, Variable};

const POINTER: &str = "%itself";
const TYPE: &str = "itself_type";

/// Makes functions that call themselves do so through a pointer. Returns how many calls it found.
pub fn hide_recursion(module: &mut Module<'_>) -> usize {
    let mut count = 0;
    for item in &mut module.items {
        if let Item::Function(function) = item {
            count += hide(function);
        }
    }
    count
}

fn hide(function: &mut Function<'_>) -> usize {
    let Some(body) = &mut function.body else {
        return 0;
    };
    let mut count = 0;
    rewrite(body, function.name, &mut count);
    if count > 0 {
        let register = registers(Type::B64, &[POINTER], function.line);
        let prototype = Statement::CallPrototype(Box::new(Prototype {
            label: TYPE,
            returns: function.returns.iter().map(unnamed).collect(),
            params: function.params.iter().map(unnamed).collect(),
            directives: Vec::new(),
        }));
        body.splice(0..0, [register, prototype]);
    }
    count
}

fn unnamed<'a>(param: &Variable<'a>) -> Variable<'a> {
    Variable {
        name: "_",
        ..param.clone()
    }
}

fn rewrite<'a>(body: &mut Vec<Statement<'a>>, name: &'a str, count: &mut usize) {
    let mut index = 0;
    while index < body.len() {
        match &mut body[index] {
            Statement::Block(inner) => rewrite(inner, name, count),
            Statement::Instruction(call) if call.opcode == "call" => {
                let itself = |operand: &&mut Operand<'a>| matches!(operand, Operand::Name(callee) if *callee == name);
                if let Some(callee) = call.operands.iter_mut().find(itself) {
                    *callee = Operand::Name(POINTER);
                    call.operands.push(Operand::Name(TYPE));
                    call.modifiers.clear();
                    let load = Statement::Instruction(Instruction {
                        guard: None,
                        opcode: "mov",
                        modifiers: vec!["u64"],
                        operands: vec![Operand::Name(POINTER), Operand::Name(name)],
                        line: call.line,
                    });
                    body.insert(index, load);
                    *count += 1;
                    index += 1;
                }
            }
            _ => {}
        }
        index += 1;
    }
}
