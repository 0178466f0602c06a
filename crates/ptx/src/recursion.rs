//! Works around a ptxas bug with recursive functions: in a function that calls itself, ptxas does
//! not reconverge divergent threads (it emits no `BSSY`), but still keeps values that differ
//! between these threads, such as the counter of a loop that some threads have not left, in uniform
//! registers, which the whole warp shares.
//!
//! core's sort triggers this, and reads beyond its slice (ptxas 13.0 on sm_90, when it assembles
//! for linking, and otherwise in a module that calls through pointers).
//!
//! ptxas does not analyze the targets of calls through pointers, so the pass makes functions call
//! themselves through a pointer.

use crate::rewrite::registers;
use crate::{Function, Instruction, Item, Module, Operand, Prototype, Statement, Type, Variable};

const POINTER: &str = "%itself";
const TYPE: &str = "itself_type";

/// Makes functions that call themselves do so through a pointer. Returns the number of calls.
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
