//! Computes saturating subtractions with a maximum.
//!
//! libnvvm expands `a.saturating_sub(b)` to a comparison, a subtraction and a selection of 0. The
//! maximum of `a` and `b`, minus `b`, is the same, and the subtraction can be part of another
//! instruction: GPUs from `sm_90` on add and take the minimum or maximum at once.

use crate::hash::HashMap;

use super::flow::Graph;
use super::instructions::{instructions, results};
use super::loops::{Comparison, Relation};
use super::names::Names;
use super::sums::Sums;
use crate::rewrite::instruction;
use crate::{Instruction, Integer, Operand, Statement, Type};

/// Replaces the selections of 32-bit saturating subtractions. Returns the number of replaced ones.
pub(super) fn replace<'a>(graph: &mut Graph<'a>, names: &'a Names) -> usize {
    let cold = graph.cold();
    let mut count = 0;
    for id in graph.order.clone() {
        if cold[id] {
            continue;
        }
        let body = std::mem::take(&mut graph.blocks[id].body);
        let mut replaced = Vec::with_capacity(body.len());
        let mut sums = Sums::default();
        let mut comparisons: HashMap<&'a str, Comparison<'a>> = HashMap::default();
        for statement in body {
            if let Statement::Instruction(it) = &statement {
                if let Some([a, b, difference]) = saturating(it, &sums, &comparisons) {
                    let greater =
                        graph.emit(names, &mut replaced, Type::B32, "max", &["u32"], [a, b]);
                    let operands = vec![it.operands[0].clone(), Operand::Name(greater), difference];
                    replaced.push(instruction("add", &["s32"], operands));
                    count += 1;
                } else {
                    replaced.push(statement.clone());
                }
            } else {
                replaced.push(statement.clone());
            }
            sums.statement(&statement);
            let compared = match &statement {
                Statement::Instruction(it) => Comparison::of(it, true),
                _ => None,
            };
            instructions(&statement, &mut |it| {
                results(it, &mut |name| {
                    let reads =
                        |operand: &Operand<'a>| matches!(operand, Operand::Name(it) if *it == name);
                    comparisons.retain(|predicate, it| {
                        *predicate != name && !reads(&it.left) && !reads(&it.right)
                    });
                });
            });
            if let (Some(compared), Statement::Instruction(it)) = (compared, &statement)
                && let Some(Operand::Name(predicate)) = it.operands.first()
            {
                comparisons.insert(predicate, compared);
            }
        }
        graph.blocks[id].body = replaced;
    }
    count
}

/// Returns the operands of the maximum, and the number to add, if an instruction selects 0 or a
/// difference with a number: 0 if it would be negative.
fn saturating<'a>(
    it: &Instruction<'a>,
    sums: &Sums<'a>,
    comparisons: &HashMap<&'a str, Comparison<'a>>,
) -> Option<[Operand<'a>; 3]> {
    let ("selp", ["b32" | "u32" | "s32"], None) = (it.opcode, &it.modifiers[..], it.guard) else {
        return None;
    };
    let [_, if_true, if_false, Operand::Name(condition)] = &it.operands[..] else {
        return None;
    };
    let is_zero = |operand: &Operand<'a>| matches!(operand, Operand::Integer(it) if it.bits == 0);
    let compared = comparisons.get(condition)?;
    let (compared, difference) = match (is_zero(if_true), is_zero(if_false)) {
        (true, false) => (compared.clone(), if_false),
        (false, true) => (compared.inverted(), if_true),
        _ => return None,
    };
    let (a, b) = match (compared.relation, &compared.left, &compared.right) {
        _ if compared.signed || compared.bits != 32 => return None,
        (Relation::Less, a, Operand::Integer(b)) => (a, b.bits as u32),
        (Relation::LessOrEqual, a, Operand::Integer(b)) => (a, (b.bits as u32).checked_add(1)?),
        (Relation::Equal, a, Operand::Integer(b)) if b.bits == 0 => (a, 1),
        _ => return None,
    };
    // The difference, modulo 2³².
    let rest = (sums.of(difference, 32)?).plus(&sums.of(a, 32)?, -1)?;
    if !rest.terms.is_empty() || rest.number as u32 != b.wrapping_neg() {
        return None;
    }
    let number = |value: u32| Operand::Integer(Integer::unsigned(value.into()));
    Some([a.clone(), number(b), number(b.wrapping_neg())])
}
