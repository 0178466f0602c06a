//! The number of iterations of loops, and the ranges of their counters.

use super::flow::{Graph, Id};
use super::loops::{Comparison, Counter, Loop, Relation, Step, Which};
use super::narrow::Range;
use crate::Operand;

/// A loop that ends when a counter reaches a bound.
#[derive(Debug)]
pub(super) struct Counted<'a> {
    /// The counters.
    counters: Vec<Counter<'a>>,
    /// The counter that the loop ends by, and the comparison under which the loop continues.
    condition: (Counter<'a>, Which, Comparison<'a>),
}

/// What is known about an integer when a loop is entered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    /// The values that it may have.
    pub range: Range,
    /// A power of two that divides it, as an exponent.
    pub zeros: u32,
}

impl<'a> Counted<'a> {
    /// Returns how a loop counts, if it does.
    pub fn new(graph: &Graph<'a>, each: &Loop<'a>) -> Option<Counted<'a>> {
        // Otherwise the latch may run several times in an iteration.
        let targets = graph.blocks[each.latch].end.targets();
        let stays = |to: &Id| *to != each.header && each.blocks.contains(to);
        if targets.iter().any(stays) {
            return None;
        }
        let counters = each.counters(graph);
        let condition = each.condition(graph, &counters)?;
        Some(Counted {
            counters,
            condition,
        })
    }

    /// Returns the ranges of the counters at the start of each iteration. `entered` returns what is
    /// known when the loop is entered.
    pub fn ranges(&self, entered: impl Fn(&Operand<'a>) -> Option<Known>) -> Vec<(&'a str, Range)> {
        let Some(repetitions) = self.repetitions(&entered) else {
            return Vec::new();
        };
        let range = |counter: &Counter<'a>| {
            let (low, high) = entered(&Operand::Name(counter.register))?.range;
            let change = step(counter)?.checked_mul(repetitions)?;
            let low = low.checked_add(change.min(0))?;
            let high = high.checked_add(change.max(0))?;
            let fits = counter.bits == 64 || (low >= 0 && high <= u32::MAX.into());
            fits.then_some((counter.register, (low, high)))
        };
        self.counters.iter().filter_map(range).collect()
    }

    /// Returns the maximum number of times that the loop continues with another iteration.
    fn repetitions(&self, entered: impl Fn(&Operand<'a>) -> Option<Known>) -> Option<i64> {
        let (counter, which, compared) = &self.condition;
        let step = step(counter)?;
        let first = entered(&Operand::Name(counter.register))?;
        let bound = entered(&compared.right)?;
        let (start, end) = (first.range, bound.range);
        let is_inequality = compared.relation == Relation::NotEqual;
        // Then additions do not overflow, and a register of 32 bits has the value.
        let least = match compared.bits == 64 && (compared.signed || is_inequality) {
            true => i32::MIN.into(),
            false => 0,
        };
        let is_small = |(low, high): Range| low >= least && high <= i32::MAX.into();
        if !is_small(start) || !is_small(end) || i32::try_from(step).is_err() {
            return None;
        }
        let last = end.1 + step.abs();
        if compared.bits == 32 && compared.signed && last > i32::MAX.into() {
            return None;
        }
        // How often the counter can change before it reaches the bound.
        let changes = match compared.relation {
            Relation::Less if step > 0 => divide(end.1 - start.0, step) - 1,
            Relation::LessOrEqual if step > 0 => divide(end.1 + 1 - start.0, step) - 1,
            Relation::Greater if step < 0 && compared.signed => divide(start.1 - end.0, -step) - 1,
            Relation::GreaterOrEqual if step < 0 && compared.signed => {
                divide(start.1 - end.0 + 1, -step) - 1
            }
            // The counter must meet the bound exactly, and not later than it passes it.
            Relation::NotEqual => {
                let zeros = first.zeros.min(bound.zeros);
                let divides =
                    step.unsigned_abs().is_power_of_two() && step.trailing_zeros() <= zeros;
                let constant = start.0 == start.1 && end.0 == end.1 && step != 0;
                let exact = divides || (constant && (end.0 - start.0) % step == 0);
                let before = match which {
                    Which::Next => 1,
                    Which::Current => 0,
                };
                let ahead = match step > 0 {
                    true => start.1 + before <= end.0,
                    false => start.0 - before >= end.1,
                };
                if !exact || !ahead {
                    return None;
                }
                match step > 0 {
                    true => (end.1 - start.0) / step - 1,
                    false => (start.1 - end.0) / -step - 1,
                }
            }
            _ => return None,
        };
        let changes = changes.max(0);
        Some(match which {
            Which::Next => changes,
            Which::Current => changes + 1,
        })
    }
}

/// Returns the value that each iteration adds to a counter, if it is a number.
fn step(counter: &Counter<'_>) -> Option<i64> {
    match counter.step {
        Step::Constant(step) => Some(step),
        Step::Register(_) | Step::Minus(_) => None,
    }
}

/// Returns the quotient, rounded up, of a number and a positive number.
fn divide(number: i64, by: i64) -> i64 {
    number.div_euclid(by) + i64::from(number.rem_euclid(by) != 0)
}
