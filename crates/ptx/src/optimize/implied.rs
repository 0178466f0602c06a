//! Removes branches that a later branch to the same target implies.
//!
//! Safe code checks an index that is a difference twice: `step.checked_sub(row)` branches if `step`
//! is less than `row`, and `get` branches if `step - row` is not less than the length. As an
//! unsigned number, a negative difference is greater than any length, so the second branch
//! suffices. LLVM does not know that `row` is small enough for this to hold.

use crate::hash::HashMap;

use super::definitions;
use super::flow::{End, Graph, Id};
use super::instructions::{is_pure, results};
use super::loops::{Comparison, Relation};
use super::narrow::{Condition, Facts, Region};
use super::specialize::Special;
use super::sums::{Sum, Sums};
use crate::{Operand, Statement};

/// The maximum number of instructions between the two branches.
const BETWEEN: usize = 4;

/// Removes implied branches from the region of `special`. Returns the number of removed branches.
/// Leaves the region if there are none.
pub(super) fn remove<'a>(
    graph: &mut Graph<'a>,
    special: &Special<'a>,
    left: &mut Option<Region<'a>>,
) -> usize {
    let region = Region::take(left, graph, special);
    let mut known = region.facts(graph, special);
    let predecessors = graph.predecessors();
    let definitions = definitions(graph, &graph.cold());
    let mut sums = Sums::starts(graph, special, &region);
    let mut implied: Vec<(Id, Id)> = Vec::new();
    for &id in region.order() {
        let (Some(mut own), Some(mut facts)) = (sums.remove(&id), known.remove(&id)) else {
            continue;
        };
        for statement in &graph.blocks[id].body {
            own.statement(statement);
            facts.statement(statement);
        }
        // If the branch before this one is removed, its condition does not limit what this one compares.
        let is_limited = implied.iter().all(|&(_, next)| next != id);
        let next = implied_by(graph, id, &facts, &own).filter(|&next| {
            is_limited
                && predecessors[next].len() == 1
                && region.follows(id, next)
                && is_cheap(&graph.blocks[next].body, &definitions)
        });
        implied.extend(next.map(|next| (id, next)));
    }
    for &(id, next) in &implied {
        graph.blocks[id].end = End::Jump(next, false);
    }
    if implied.is_empty() {
        *left = Some(region);
    }
    implied.len()
}

/// Returns whether statements can run where their results are not needed: they are few, and write
/// only registers that no other instruction writes.
fn is_cheap<'a>(body: &[Statement<'a>], definitions: &HashMap<&'a str, u32>) -> bool {
    let mut count = 0;
    body.iter().all(|statement| match statement {
        Statement::Loc(_) => true,
        Statement::Instruction(it) => {
            let mut only = is_pure(it);
            results(it, &mut |name| only &= definitions.get(name) == Some(&1));
            count += 1;
            only && count <= BETWEEN
        }
        _ => false,
    })
}

/// Returns the block after a block that ends in a branch, if that block branches to the same target
/// whenever this one does. `facts` and `sums` hold at the end of the block.
fn implied_by<'a>(graph: &Graph<'a>, id: Id, facts: &Facts<'a>, sums: &Sums<'a>) -> Option<Id> {
    let End::Branch(first, _, to, otherwise) = graph.blocks[id].end else {
        return None;
    };
    for (target, next) in [(to, otherwise), (otherwise, to)] {
        let End::Branch(second, _, again, another) = graph.blocks[next].end else {
            continue;
        };
        if target == next || (again == target) == (another == target) {
            continue;
        }
        let Condition::Compare(compared) = facts.condition(first.register) else {
            return None;
        };
        let compared = match (target == to) != first.negated {
            true => compared,
            false => compared.inverted(),
        };
        let Some(difference) = Negative::new(facts, sums, &compared) else {
            continue;
        };
        let (mut facts, mut sums) = (facts.clone(), sums.clone());
        for statement in &graph.blocks[next].body {
            facts.statement(statement);
            sums.statement(statement);
        }
        let value = (target == again) != second.negated;
        if difference.implies(&facts, &sums, &facts.condition(second.register), value) {
            return Some(next);
        }
    }
    None
}

/// A difference that is negative under a condition.
struct Negative<'a> {
    sum: Sum<'a>,
    bits: u32,
    /// The smallest and the greatest value under the condition.
    range: (i128, i128),
}

impl<'a> Negative<'a> {
    /// Returns the difference of the sides of a comparison, both of which are not negative as signed
    /// numbers.
    fn new(facts: &Facts<'a>, sums: &Sums<'a>, compared: &Comparison<'a>) -> Option<Negative<'a>> {
        let compared = match compared.relation {
            Relation::Greater | Relation::GreaterOrEqual => compared.swapped(),
            _ => compared.clone(),
        };
        let greatest = match compared.relation {
            Relation::Less => -1,
            Relation::LessOrEqual => 0,
            _ => return None,
        };
        let bits = compared.bits;
        let (low, _) = nonnegative(facts, &compared.left, bits)?;
        let (_, high) = nonnegative(facts, &compared.right, bits)?;
        let left = sums.of(&compared.left, bits)?;
        Some(Negative {
            sum: left.plus(&sums.of(&compared.right, bits)?, -1)?,
            bits,
            range: (i128::from(low) - i128::from(high), greatest),
        })
    }

    /// Returns whether a condition then has a value: whether it compares, as an unsigned number, the
    /// difference plus a number, which is negative, with a number that is not.
    fn implies(
        &self,
        facts: &Facts<'a>,
        sums: &Sums<'a>,
        condition: &Condition<'a>,
        value: bool,
    ) -> bool {
        let compared = match (condition, value) {
            (Condition::Or(a, b), true) | (Condition::And(a, b), false) => {
                return self.implies(facts, sums, a, value) || self.implies(facts, sums, b, value);
            }
            (Condition::Not(it), _) => return self.implies(facts, sums, it, !value),
            (Condition::Compare(it), true) => it.clone(),
            (Condition::Compare(it), false) => it.inverted(),
            _ => return false,
        };
        let compared = match compared.relation {
            Relation::Less | Relation::LessOrEqual => compared.swapped(),
            _ => compared,
        };
        let is_above = matches!(
            compared.relation,
            Relation::Greater | Relation::GreaterOrEqual
        );
        if !is_above || compared.signed || compared.bits != self.bits {
            return false;
        }
        let offset = (sums.of(&compared.left, self.bits)).and_then(|sum| sum.plus(&self.sum, -1));
        let Some(Sum { terms, number }) = offset else {
            return false;
        };
        let number = i128::from(number);
        terms.is_empty()
            && self.range.1 + number < 0
            && self.range.0 + number >= -(1 << (self.bits - 1))
            && nonnegative(facts, &compared.right, self.bits).is_some()
    }
}

/// Returns the range of an operand if it is not negative as a signed number.
fn nonnegative<'a>(facts: &Facts<'a>, operand: &Operand<'a>, bits: u32) -> Option<(i64, i64)> {
    let (low, high) = facts.range(operand)?;
    let greatest = i64::MAX >> (64 - bits);
    (low >= 0 && high <= greatest).then_some((low, high))
}
