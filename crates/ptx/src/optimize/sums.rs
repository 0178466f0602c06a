//! Registers as sums of others.

use crate::hash::HashMap;

use super::flow::{Graph, Id};
use super::instructions::{instructions, is_pure, results};
use super::narrow::Region;
use super::specialize::Special;
use crate::{Instruction, Operand, Statement};

/// The maximum number of registers in a sum.
const TERMS: usize = 4;

/// A sum of registers with factors, sorted by register, and a number, modulo 2⁶⁴ or 2³².
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sum<'a> {
    pub terms: Vec<(&'a str, i64)>,
    pub number: i64,
}

impl<'a> Sum<'a> {
    /// Returns this sum plus a multiple of another one, unless it becomes too large.
    pub fn plus(mut self, other: &Sum<'a>, factor: i64) -> Option<Sum<'a>> {
        self.number = self.number.checked_add(other.number.checked_mul(factor)?)?;
        for &(name, times) in &other.terms {
            let times = times.checked_mul(factor)?;
            match self.terms.binary_search_by_key(&name, |&(name, _)| name) {
                Ok(place) => {
                    let own = &mut self.terms[place].1;
                    *own = own.checked_add(times)?;
                    if *own == 0 {
                        self.terms.remove(place);
                    }
                }
                Err(place) => self.terms.insert(place, (name, times)),
            }
        }
        (self.terms.len() <= TERMS).then_some(self)
    }
}

/// The registers that are sums of others, with the width in bits.
#[derive(Clone, Debug, Default)]
pub(super) struct Sums<'a>(HashMap<&'a str, (Sum<'a>, u32)>);

impl<'a> Sums<'a> {
    /// Returns the sums at the start of each block of the region of `special`.
    pub fn starts(
        graph: &Graph<'a>,
        special: &Special<'a>,
        region: &Region<'a>,
    ) -> HashMap<Id, Sums<'a>> {
        let mut all = HashMap::from_iter([(special.first, Sums::default())]);
        for &id in region.order() {
            let Some(start) = all.get_mut(&id) else {
                continue;
            };
            if region.is_join(id) {
                *start = Sums::default();
            }
            for name in region.written(id) {
                start.forget(name);
            }
            let mut own = start.clone();
            for statement in &graph.blocks[id].body {
                own.statement(statement);
            }
            for to in graph.blocks[id].end.targets() {
                if region.follows(id, to) {
                    match all.get_mut(&to) {
                        Some(sums) => sums.meet(&own),
                        None => _ = all.insert(to, own.clone()),
                    }
                }
            }
        }
        all
    }

    /// Returns an operand of this width as a sum.
    pub fn of(&self, operand: &Operand<'a>, bits: u32) -> Option<Sum<'a>> {
        match operand {
            Operand::Integer(value) => Some(Sum {
                terms: Vec::new(),
                number: match bits {
                    32 => i64::from(value.bits as i32),
                    _ => value.bits as i64,
                },
            }),
            Operand::Name(name) => Some(match self.0.get(name) {
                Some((sum, its)) if *its == bits => sum.clone(),
                _ => Sum {
                    terms: vec![(name, 1)],
                    number: 0,
                },
            }),
            _ => None,
        }
    }

    /// Returns the sum that an instruction computes.
    fn result(&self, it: &Instruction<'a>) -> Option<(Sum<'a>, u32)> {
        let bits = match it.modifiers[..] {
            ["u64" | "s64" | "b64"] => 64,
            ["u32" | "s32" | "b32"] => 32,
            _ => return None,
        };
        let operand = |index: usize| self.of(it.operands.get(index)?, bits);
        let sum = match it.opcode {
            "mov" => operand(1)?,
            "neg" => Sum::default().plus(&operand(1)?, -1)?,
            "add" => operand(1)?.plus(&operand(2)?, 1)?,
            "sub" => operand(1)?.plus(&operand(2)?, -1)?,
            _ => return None,
        };
        Some((sum, bits))
    }

    /// Forgets the sums that a register is or is part of.
    pub fn forget(&mut self, register: &str) {
        self.0.retain(|name, (sum, _)| {
            *name != register && sum.terms.iter().all(|(name, _)| *name != register)
        });
    }

    /// Updates the sums for the execution of a statement.
    pub fn statement(&mut self, statement: &Statement<'a>) {
        let sum = match statement {
            // Two readings of a clock differ.
            Statement::Instruction(it) if is_pure(it) => self.result(it),
            _ => None,
        };
        instructions(statement, &mut |it| {
            results(it, &mut |name| self.forget(name))
        });
        if let Statement::Instruction(it) = statement
            && let (Some(sum), Some(Operand::Name(result))) = (sum, it.operands.first())
            && sum.0.terms.iter().all(|(name, _)| name != result)
        {
            self.0.insert(result, sum);
        }
    }

    /// Keeps what holds in both.
    pub fn meet(&mut self, other: &Sums<'a>) {
        (self.0).retain(|name, sum| other.0.get(name) == Some(sum));
    }
}
