//! Multiplies both halves of a product in the same order.
//!
//! ptxas computes `mul.hi` and `mul.lo` of the same 64-bit factors together, but only if they have the
//! factors in the same order. libnvvm changes the order for `mul.lo` alone.

use crate::hash::HashSet;

use super::flow::Graph;
use super::instructions::instructions;
use crate::{Instruction, Operand, Statement};

/// Swaps the factors of lower halves. Returns how many.
pub(super) fn order(graph: &mut Graph<'_>) -> usize {
    let mut upper = HashSet::default();
    graph.visit(graph.order.iter().copied(), &mut |it| {
        if let Some(factors) = factors(it, "hi") {
            upper.insert(factors);
        }
    });
    if upper.is_empty() {
        return 0;
    }
    let mut count = 0;
    for block in &mut graph.blocks {
        for statement in &mut block.body {
            let mut swaps = false;
            instructions(statement, &mut |it| {
                swaps |= factors(it, "lo")
                    .is_some_and(|(a, b)| upper.contains(&(b, a)) && !upper.contains(&(a, b)));
            });
            if let Statement::Instruction(it) = statement
                && swaps
            {
                it.operands.swap(1, 2);
                count += 1;
            }
        }
    }
    count
}

/// Returns the factors of a half of a product of 64-bit integers.
fn factors<'a>(it: &Instruction<'a>, half: &str) -> Option<(&'a str, &'a str)> {
    match (it.opcode, &it.modifiers[..], &it.operands[..]) {
        ("mul", [of, "s64" | "u64"], [_, Operand::Name(a), Operand::Name(b)]) if *of == half => {
            Some((a, b))
        }
        _ => None,
    }
}
