//! A pass around a fault of ptxas: without optimizations, parts of a result that share a register
//! (`st.param.b8 [func_retval0]` and `[func_retval0+1]`) are put together within a basic block only.
//! A label between two of these stores begins another block, and what was stored before it is lost
//! (seen with ptxas 13.0 `-O0` on sm_90, which is what `.target debug` asks for). The labels between
//! them are debug information's, which no branch goes to, so they may as well stand before the
//! first store.

use std::collections::HashSet;

use crate::{Function, Item, Module, Operand, Statement};

/// Moves labels that stand between stores to `.param` in front of these. Returns how many.
pub fn gather_param_stores(module: &mut Module<'_>) -> usize {
    let mut count = 0;
    for item in &mut module.items {
        if let Item::Function(Function {
            body: Some(body), ..
        }) = item
        {
            let mut targets = HashSet::new();
            find_targets(body, &mut targets);
            gather(body, &targets, &mut count);
        }
    }
    count
}

/// The names that branches of a function may go to.
fn find_targets<'a>(body: &[Statement<'a>], targets: &mut HashSet<&'a str>) {
    for statement in body {
        match statement {
            Statement::Block(inner) => find_targets(inner, targets),
            Statement::BranchTargets { targets: named, .. } => targets.extend(named),
            Statement::Instruction(instruction) => {
                targets.extend(
                    instruction
                        .operands
                        .iter()
                        .filter_map(|operand| match operand {
                            Operand::Name(name) => Some(*name),
                            _ => None,
                        }),
                );
            }
            _ => {}
        }
    }
}

fn gather<'a>(body: &mut [Statement<'a>], targets: &HashSet<&'a str>, count: &mut usize) {
    /// Where control may leave or come back, a run of stores ends.
    const ENDS: &[&str] = &["bra", "brx", "call", "ret", "exit", "trap"];
    let mut first_store = None;
    for index in 0..body.len() {
        match &mut body[index] {
            Statement::Block(inner) => {
                gather(inner, targets, count);
                first_store = None;
            }
            Statement::Instruction(instruction) => {
                if ENDS.contains(&instruction.opcode) {
                    first_store = None;
                } else if instruction.opcode == "st"
                    && instruction.modifiers.first() == Some(&"param")
                {
                    let first = *first_store.get_or_insert(index);
                    *count += hoist_labels(&mut body[first..index]);
                }
            }
            Statement::Label(label) if targets.contains(label) => first_store = None,
            _ => {}
        }
    }
}

/// Puts the labels of some statements first. Returns how many were not.
fn hoist_labels(statements: &mut [Statement<'_>]) -> usize {
    let is_label = |statement: &Statement<'_>| matches!(statement, Statement::Label(_));
    let before = statements.iter().take_while(|s| is_label(s)).count();
    // A stable sort: the labels keep their order, and so does the rest.
    statements.sort_by_key(|statement| !is_label(statement));
    statements.iter().take_while(|s| is_label(s)).count() - before
}
