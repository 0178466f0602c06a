//! Replaces atomic operations whose result is not needed by reductions.
//!
//! A reduction sends nothing back to the multiprocessor. ptxas replaces such an operation by itself,
//! but not if the register of the result has several definitions, as in copies of a block.

use crate::hash::HashSet;

use super::flow::Graph;
use super::instructions::instructions;
use super::liveness::read;
use crate::{Instruction, Operand, Statement};

/// The operations that `red` has as well.
const OPERATIONS: &[&str] = &["add", "and", "dec", "inc", "max", "min", "or", "xor"];

/// Replaces the operations of a function. Returns the number of replacements.
pub(super) fn replace(graph: &mut Graph<'_>) -> usize {
    let mut needed = HashSet::default();
    for block in &graph.blocks {
        for statement in &block.body {
            instructions(statement, &mut |it| {
                let mut arguments = it.clone();
                if it.opcode == "atom" {
                    // A guarded instruction does not read its result.
                    arguments.operands.drain(..it.operands.len().min(1));
                    arguments.opcode = "red";
                }
                read(&arguments, &mut |name| _ = needed.insert(name));
            });
        }
        (block.end).sources(&mut |name| _ = needed.insert(name));
    }
    let mut count = 0;
    for block in &mut graph.blocks {
        for statement in &mut block.body {
            if let Statement::Instruction(it) = statement
                && can_be_replaced(it)
                && let [Operand::Name(result), Operand::Address(..), ..] = it.operands[..]
                && !needed.contains(result)
            {
                it.opcode = "red";
                it.operands.remove(0);
                count += 1;
            }
        }
    }
    count
}

/// Returns whether an instruction is an atomic operation that `red` has as well. Reductions do not
/// acquire, and have no vectors.
fn can_be_replaced(it: &Instruction<'_>) -> bool {
    let other = ["acq_rel", "acquire", "v2", "v4", "v8"];
    it.opcode == "atom"
        && it.modifiers.iter().any(|word| OPERATIONS.contains(word))
        && !it.modifiers.iter().any(|word| other.contains(word))
}
