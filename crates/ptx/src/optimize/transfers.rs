//! Pairs of registers that loops move an amount between.

use crate::hash::{HashMap, HashSet};

use super::flow::{Graph, Id};
use super::instructions::{instructions, results};
use super::loops::Loop;
use crate::{Instruction, Operand, Statement, Type};

/// The maximum number of values of a register among which the control flow and selections choose.
const CHOICES: usize = 4;

/// Two registers of a loop, of which each iteration decreases one by an amount, and increases the
/// other by the same amount or not at all. So their sum never grows: the rest and the index of a
/// binary search, for example.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer<'a> {
    /// The register that the amount is subtracted from.
    pub from: &'a str,
    /// The register that the amount is added to.
    pub to: &'a str,
    /// The amount: a register that the loop writes once before it reads it, or does not write.
    pub amount: &'a str,
}

/// Returns the transfers of an innermost loop. `position` returns the position of a block in reverse
/// postorder.
pub(super) fn transfers<'a>(
    graph: &Graph<'a>,
    each: &Loop<'a>,
    position: impl Fn(Id) -> usize,
) -> Vec<Transfer<'a>> {
    let decreases =
        |statement: &Statement<'a>| matches!(statement, Statement::Instruction(it) if is_sub(it));
    let mut bodies = each.blocks.iter().flat_map(|&id| &graph.blocks[id].body);
    if !bodies.any(decreases) {
        return Vec::new();
    }
    let mut blocks = each.blocks.clone();
    blocks.sort_unstable_by_key(|&id| position(id));
    let mut states: HashMap<Id, State<'a>> = HashMap::default();
    states.insert(each.header, State::default());
    let mut ended: Option<State<'a>> = None;
    for id in blocks {
        let Some(mut state) = states.remove(&id) else {
            return Vec::new();
        };
        for statement in &graph.blocks[id].body {
            state.statement(each, statement);
        }
        for to in graph.blocks[id].end.targets() {
            if to == each.header {
                match &mut ended {
                    Some(ended) => ended.meet(&state),
                    None => ended = Some(state.clone()),
                }
            } else if each.contains(to) {
                if position(to) <= position(id) {
                    return Vec::new();
                }
                match states.get_mut(&to) {
                    Some(known) => known.meet(&state),
                    None => _ = states.insert(to, state.clone()),
                }
            }
        }
    }
    let Some(ended) = ended else {
        return Vec::new();
    };
    let mut changed: Vec<(&'a str, &[Value<'a>])> = (ended.values.iter())
        .filter_map(|(&name, values)| Some((name, values.as_deref()?)))
        .filter(|(name, values)| {
            let is_own = values.iter().all(|value| value.of == *name);
            is_own && graph.type_of(name) == Some(Type::B64)
        })
        .collect();
    changed.sort_unstable();
    let mut transfers = Vec::new();
    for (from, values) in &changed {
        let &[
            Value {
                change: Change::Minus(amount),
                ..
            },
        ] = *values
        else {
            continue;
        };
        for (to, values) in &changed {
            let grows = |value: &Value<'a>| match value.change {
                Change::None => true,
                Change::Plus(added) => added == amount,
                Change::Minus(_) => false,
            };
            if to != from && values.iter().all(grows) {
                transfers.push(Transfer { from, to, amount });
            }
        }
    }
    transfers
}

fn is_sub(it: &Instruction<'_>) -> bool {
    it.guard.is_none() && it.opcode == "sub" && matches!(it.modifiers[..], ["s64" | "u64"])
}

/// A register's value at the start of the iteration, and what was added to it since.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Value<'a> {
    of: &'a str,
    change: Change<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Change<'a> {
    None,
    Plus(&'a str),
    Minus(&'a str),
}

/// What an iteration has computed at a place.
#[derive(Clone, Debug, Default)]
struct State<'a> {
    /// The possible values of the registers that the iteration may have written: `None` if they are
    /// not values of registers at the start of the iteration, changed by one amount at most.
    values: HashMap<&'a str, Option<Vec<Value<'a>>>>,
    /// Those that only some paths to the place have written.
    skipped: HashSet<&'a str>,
}

impl<'a> State<'a> {
    fn statement(&mut self, each: &Loop<'a>, statement: &Statement<'a>) {
        let mut value = None;
        if let Statement::Instruction(it) = statement
            && it.guard.is_none()
        {
            value = self.result(each, it);
        }
        instructions(statement, &mut |it| {
            results(it, &mut |name| {
                self.skipped.remove(name);
                self.values.insert(name, value.take());
            });
        });
    }

    fn result(&self, each: &Loop<'a>, it: &Instruction<'a>) -> Option<Vec<Value<'a>>> {
        match (it.opcode, &it.modifiers[..], &it.operands[..]) {
            ("mov", ["s64" | "u64" | "b64"], [_, of]) => self.of(of),
            ("selp", ["s64" | "u64" | "b64"], [_, a, b, _]) => {
                let mut values = self.of(a)?;
                unite(&mut values, &self.of(b)?).then_some(values)
            }
            ("add", ["s64" | "u64"], [_, a, b]) => {
                [(a, b), (b, a)].into_iter().find_map(|(of, amount)| {
                    self.changed(of, Change::Plus(self.amount(each, amount)?))
                })
            }
            ("sub", ["s64" | "u64"], [_, of, amount]) => {
                self.changed(of, Change::Minus(self.amount(each, amount)?))
            }
            _ => None,
        }
    }

    /// Returns the values of an operand.
    fn of(&self, operand: &Operand<'a>) -> Option<Vec<Value<'a>>> {
        let Operand::Name(name) = operand else {
            return None;
        };
        match self.values.get(name) {
            Some(values) => values.clone(),
            None => Some(vec![Value {
                of: name,
                change: Change::None,
            }]),
        }
    }

    /// Returns the value of an operand after a change, if there was none before.
    fn changed(&self, operand: &Operand<'a>, change: Change<'a>) -> Option<Vec<Value<'a>>> {
        match self.of(operand)?[..] {
            [
                Value {
                    of,
                    change: Change::None,
                },
            ] => Some(vec![Value { of, change }]),
            _ => None,
        }
    }

    /// Returns the register of an operand that has the same value wherever the iteration reads it
    /// from here on.
    fn amount(&self, each: &Loop<'a>, operand: &Operand<'a>) -> Option<&'a str> {
        let Operand::Name(name) = operand else {
            return None;
        };
        let is_constant = match each.written.get(name) {
            None => true,
            // Written on all paths to this place, not read from the iteration before.
            Some(&(times, ..)) => times == 1 && self.is_written(name),
        };
        is_constant.then_some(*name)
    }

    fn is_written(&self, name: &'a str) -> bool {
        self.values.contains_key(name) && !self.skipped.contains(name)
    }

    /// Keeps what holds for two paths.
    fn meet(&mut self, other: &State<'a>) {
        let names = self.values.keys().chain(other.values.keys());
        let names: HashSet<&'a str> = names.copied().collect();
        for name in names {
            if !self.is_written(name) || !other.is_written(name) {
                self.skipped.insert(name);
            }
            let operand = Operand::Name(name);
            let values = match (self.of(&operand), other.of(&operand)) {
                (Some(mut values), Some(others)) => unite(&mut values, &others).then_some(values),
                _ => None,
            };
            self.values.insert(name, values);
        }
    }
}

/// Adds values to others. Returns whether there are few.
fn unite<'a>(values: &mut Vec<Value<'a>>, others: &[Value<'a>]) -> bool {
    values.extend(others);
    values.sort_unstable();
    values.dedup();
    values.len() <= CHOICES
}
