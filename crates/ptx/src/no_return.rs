//! Works around a ptxas bug with functions that do not return: after a call of a `.noreturn`
//! function in divergent code, ptxas does not preserve the uniform registers that the other threads
//! of the warp still need.
//!
//! Uniform registers belong to the warp. When one thread calls the function, it overwrites them for
//! all threads; ptxas takes only registers that the function leaves alone if the call returns. With
//! ptxas 13.0 on sm_90, a kernel of `tests/soundness` (`groups::grid_sync`, with debug assertions)
//! kept the descriptor of global memory and the block's index in registers that the report of a
//! panic writes, and the other threads of the panicking thread's warp never ended.
//!
//! The pass drops `.noreturn` and puts `exit` after the calls, so ptxas sees calls that return into
//! code with nothing to preserve. The kernels of `benches` have the same number of registers or
//! fewer; without the `exit`, the hot path would have to preserve its registers across the call.

use crate::hash::HashSet;

use crate::{Directive, Function, Instruction, Item, Module, Operand, Statement};

const NO_RETURN: &str = "noreturn";

/// Makes calls of functions that do not return end with `exit`. Returns the number of such calls.
/// External functions keep their `.noreturn`: those of the driver end the whole launch.
pub fn exit_after_panics(module: &mut Module<'_>) -> usize {
    let mut names = HashSet::default();
    for item in &module.items {
        if let Item::Function(function) = item
            && function.body.is_some()
            && function.directives.iter().any(is_no_return)
        {
            names.insert(function.name);
        }
    }
    let mut count = 0;
    for item in &mut module.items {
        let Item::Function(function) = item else {
            continue;
        };
        if names.contains(function.name) {
            function.directives.retain(|it| !is_no_return(it));
        }
        if let Some(body) = &mut function.body {
            rewrite(body, &names, &mut HashSet::default(), &mut count);
        }
    }
    count
}

fn is_no_return(directive: &Directive<'_>) -> bool {
    directive.name == NO_RETURN
}

/// Rewrites the calls in a block. `names` are the functions that do not return, `prototypes` those of
/// the body for calls through pointers.
fn rewrite<'a>(
    body: &mut Vec<Statement<'a>>,
    names: &HashSet<&'a str>,
    prototypes: &mut HashSet<&'a str>,
    count: &mut usize,
) {
    let never_returns = |operand: &Operand<'a>, prototypes: &HashSet<&'a str>| match operand {
        Operand::Name(name) => names.contains(name) || prototypes.contains(name),
        _ => false,
    };
    let mut index = 0;
    while index < body.len() {
        match &mut body[index] {
            Statement::Block(inner) => rewrite(inner, names, prototypes, count),
            Statement::CallPrototype(prototype) => {
                if prototype.directives.iter().any(is_no_return) {
                    prototype.directives.retain(|it| !is_no_return(it));
                    prototypes.insert(prototype.label);
                }
            }
            Statement::Instruction(call)
                if call.opcode == "call"
                    && (call.operands.iter()).any(|operand| never_returns(operand, prototypes)) =>
            {
                let exit = Instruction {
                    guard: call.guard,
                    opcode: "exit",
                    modifiers: Vec::new(),
                    operands: Vec::new(),
                    line: call.line,
                };
                index += 1;
                body.insert(index, Statement::Instruction(exit));
                *count += 1;
            }
            _ => {}
        }
        index += 1;
    }
}

impl Function<'_> {
    /// Returns whether the function is known not to return: it is declared `.noreturn`, or is not a
    /// kernel, has no `ret`, and does not reach the end of its body either.
    pub fn never_returns(&self) -> bool {
        fn has_ret(body: &[Statement<'_>]) -> bool {
            body.iter().any(|statement| match statement {
                Statement::Instruction(instruction) => instruction.opcode == "ret",
                Statement::Block(inner) => has_ret(inner),
                _ => false,
            })
        }
        fn reaches_end(body: &[Statement<'_>]) -> bool {
            // libnvvm labels the ends of functions for debug information.
            let is_code =
                |it: &&Statement<'_>| !matches!(it, Statement::Label(_) | Statement::Loc(_));
            match body.iter().rfind(is_code) {
                Some(Statement::Block(inner)) => reaches_end(inner),
                Some(Statement::Instruction(last)) => {
                    last.guard.is_some() || !["exit", "trap", "bra", "brx"].contains(&last.opcode)
                }
                _ => true,
            }
        }
        let ends = |body: &Vec<_>| !self.entry && !has_ret(body) && !reaches_end(body);
        self.directives.iter().any(is_no_return) || self.body.as_ref().is_some_and(ends)
    }
}
