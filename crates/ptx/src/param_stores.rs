//! Works around two ptxas bugs with parts of a result that share a register (`st.param.b8
//! [func_retval0]` and `[func_retval0+1]`): the part that is stored first is lost
//!
//! - without optimization, if a label separates the stores, because ptxas combines parts only
//!   within a basic block (ptxas 13.0 `-O0` on sm_90, the level that `.target debug` selects). The
//!   labels belong to debug information, and no branch targets them;
//! - if an instruction between the stores is compiled to a call, such as `rem.u16` (ptxas 13.0 `-c`
//!   on sm_90): the call overwrites the register.
//!
//! The pass moves both before the first store.

use crate::hash::HashSet;

use crate::dead::visit_operand;
use crate::rewrite::bodies;
use crate::{Instruction, Module, Operand, Statement};

/// Moves labels and instructions between stores to `.param` before these stores. Returns the number
/// of moved statements.
pub fn gather_param_stores(module: &mut Module<'_>) -> usize {
    let mut count = 0;
    for body in bodies(module) {
        let mut targets = HashSet::default();
        find_targets(body, &mut targets);
        gather(body, &targets, &mut count);
    }
    count
}

/// Collects the possible branch targets of a function.
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
    /// A sequence of stores ends where the control flow may leave or merge.
    const ENDS: &[&str] = &["bra", "brx", "call", "ret", "exit", "trap"];
    // The index of the first store of the sequence, and the stored registers.
    let mut run: Option<(usize, HashSet<&'a str>)> = None;
    for index in 0..body.len() {
        match &mut body[index] {
            Statement::Block(inner) => {
                gather(inner, targets, count);
                run = None;
            }
            Statement::Instruction(instruction) if is_store(instruction) => {
                let (first, stored) = run.get_or_insert_with(|| (index, HashSet::default()));
                for operand in &instruction.operands {
                    visit_operand(operand, &mut |name| {
                        stored.insert(name);
                    });
                }
                let moved = stores_last(&mut body[*first..index]);
                *first += moved;
                *count += moved;
            }
            Statement::Instruction(instruction) => {
                // The stored registers must not change before the store.
                let mut changed = HashSet::default();
                // An address as first operand is read, not written.
                if let Some(result) = instruction.operands.first()
                    && !matches!(result, Operand::Address(..))
                {
                    visit_operand(result, &mut |name| {
                        changed.insert(name);
                    });
                }
                let changes = |(_, stored): &(usize, HashSet<&str>)| !stored.is_disjoint(&changed);
                if ENDS.contains(&instruction.opcode) || run.as_ref().is_some_and(changes) {
                    run = None;
                }
            }
            Statement::Label(label) if targets.contains(label) => run = None,
            _ => {}
        }
    }
}

fn is_store(instruction: &Instruction<'_>) -> bool {
    instruction.opcode == "st" && instruction.modifiers.first() == Some(&"param")
}

/// Moves the stores among some statements to the end. Returns the number of other statements.
fn stores_last(statements: &mut [Statement<'_>]) -> usize {
    let store = |statement: &Statement<'_>| match statement {
        Statement::Instruction(instruction) => is_store(instruction),
        _ => false,
    };
    // A stable sort: the stores keep their order, and so do the others.
    statements.sort_by_key(store);
    statements.iter().filter(|s| !store(s)).count()
}
