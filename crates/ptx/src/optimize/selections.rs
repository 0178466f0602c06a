//! Computes selections between two predicates from their difference.
//!
//! Networks that sort test `(a < b || a == b && i < j) == ascends`. libnvvm branches on `a < b` and
//! compares with `ascends` in each arm, and [`conditions`](super::conditions) and
//! [`choices`](super::choices) compute both comparisons to select one. But the selection of `x ^ y` or
//! `x ^ z` is `x ^ (c ? y : z)`, and a selection is one operation if `y` or `z` is constant.

use crate::hash::HashMap;

use super::flow::Graph;
use super::liveness::remove_dead;
use super::loops::{Comparison, Relation};
use super::names::Names;
use super::specialize::single_definitions;
use crate::rewrite::instruction;
use crate::{Instruction, Operand, Statement, Type};

/// The maximum number of terms of a predicate.
const TERMS: usize = 4;

/// Replaces the selections of a function. Returns the number of replaced ones.
pub(super) fn replace<'a>(graph: &mut Graph<'a>, names: &'a Names) -> usize {
    let is = |it: &Instruction<'_>, opcode| it.opcode == opcode && it.modifiers == ["pred"];
    let (mut ors, mut xors) = (0, 0);
    graph.visit(graph.order.iter().copied(), &mut |it| {
        ors += usize::from(is(it, "or"));
        xors += usize::from(is(it, "xor"));
    });
    if ors == 0 || xors == 0 {
        return 0;
    }
    let mut sums = Sums {
        single: single_definitions(graph, &vec![false; graph.blocks.len()]),
        known: HashMap::default(),
    };
    let mut count = 0;
    let order = graph.order.clone();
    for &id in &order {
        let body = std::mem::take(&mut graph.blocks[id].body);
        let mut replaced = Vec::with_capacity(body.len());
        for statement in body {
            let selection = match &statement {
                Statement::Instruction(it) if is(it, "or") => sums.selection(it),
                _ => None,
            };
            match selection {
                Some(selection) => {
                    selection.emit(graph, names, &mut replaced, &mut sums);
                    count += 1;
                }
                None => replaced.push(statement),
            }
        }
        graph.blocks[id].body = replaced;
    }
    if count > 0 {
        remove_dead(graph, &order);
    }
    count
}

/// A predicate that other ones are exclusive ors of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Term<'a> {
    Register(&'a str),
    /// A comparison of numbers that do not change, whose relation is `<` or `==`.
    Comparison {
        relation: Relation,
        signed: bool,
        bits: u32,
        sides: [Side<'a>; 2],
    },
}

/// A side of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side<'a> {
    Register(&'a str),
    Number(u64),
}

/// The exclusive or of predicates.
#[derive(Clone, Debug, Default)]
struct Sum<'a> {
    /// Different terms, with the registers that have their values.
    terms: Vec<(Term<'a>, Register<'a>)>,
    /// Whether the result is inverted.
    inverted: bool,
}

/// A register, and whether it has the opposite value.
type Register<'a> = (&'a str, bool);

impl<'a> Sum<'a> {
    fn of(term: Term<'a>, register: Register<'a>, inverted: bool) -> Sum<'a> {
        Sum {
            terms: vec![(term, register)],
            inverted,
        }
    }

    fn has(&self, term: Term<'a>) -> bool {
        self.terms.iter().any(|&(it, _)| it == term)
    }

    /// Returns the exclusive or with another sum.
    fn plus(&self, other: &Sum<'a>) -> Sum<'a> {
        let only = |a: &Sum<'a>, b: &Sum<'a>| {
            let terms = a.terms.iter().copied();
            terms.filter(|it| !b.has(it.0)).collect::<Vec<_>>()
        };
        Sum {
            terms: [only(self, other), only(other, self)].concat(),
            inverted: self.inverted != other.inverted,
        }
    }

    /// Returns whether two sums are opposites.
    fn is_opposite(&self, other: &Sum<'a>) -> bool {
        let difference = self.plus(other);
        difference.terms.is_empty() && difference.inverted
    }
}

/// The registers with predicates that are known as sums.
struct Sums<'a> {
    /// The instructions that are the only ones to write their results.
    single: HashMap<&'a str, Instruction<'a>>,
    known: HashMap<&'a str, Sum<'a>>,
}

impl<'a> Sums<'a> {
    /// Returns the sum that is the value of a register, if one instruction sets it.
    fn of(&mut self, register: &'a str) -> Option<Sum<'a>> {
        if let Some(known) = self.known.get(register) {
            return Some(known.clone());
        }
        let own = Sum::of(Term::Register(register), (register, false), false);
        let it = self.single.get(register)?.clone();
        self.known.insert(register, own.clone());
        let plain = it.guard.is_none() && it.modifiers == ["pred"];
        let sum = match (it.opcode, &it.operands[..]) {
            ("mov", &[_, Operand::Name(a)]) if plain => self.of(a),
            ("not", &[_, Operand::Name(a)]) if plain => self.of(a).map(|it| Sum {
                inverted: !it.inverted,
                ..it
            }),
            ("xor", &[_, Operand::Name(a), Operand::Name(b)]) if plain => {
                self.of(a).zip(self.of(b)).map(|(a, b)| a.plus(&b))
            }
            ("setp", _) => self.comparison(&it, register),
            _ => None,
        };
        let sum = sum.filter(|it| it.terms.len() <= TERMS).unwrap_or(own);
        self.known.insert(register, sum.clone());
        Some(sum)
    }

    /// Returns the result of a comparison of numbers that do not change.
    fn comparison(&self, set: &Instruction<'a>, register: &'a str) -> Option<Sum<'a>> {
        use Relation::*;
        let it = Comparison::of(set, true)?;
        let mask = u64::MAX >> (64 - it.bits);
        let side = |operand: &Operand<'a>| match operand {
            Operand::Name(name) if self.single.contains_key(name) => Some(Side::Register(name)),
            Operand::Integer(number) => Some(Side::Number(number.bits & mask)),
            _ => None,
        };
        let (it, mut inverted) = match it.relation {
            Equal => (it, false),
            NotEqual => (it.inverted(), true),
            _ => {
                let (it, is_less) = it.by_less()?;
                (if is_less { it } else { it.inverted() }, !is_less)
            }
        };
        let mut sides = [side(&it.left)?, side(&it.right)?];
        // `15 < x` is the opposite of `x < 16`.
        if let (Less, [Side::Number(number), register @ Side::Register(_)]) = (it.relation, sides) {
            let most = mask >> u32::from(it.signed);
            if number < most {
                sides = [register, Side::Number(number + 1)];
                inverted = !inverted;
            }
        }
        let term = Term::Comparison {
            relation: it.relation,
            signed: it.signed,
            bits: it.bits,
            sides,
        };
        Some(Sum::of(term, (register, inverted), inverted))
    }

    /// Returns the selection that the `or` of two conjunctions is, if its operands have a term in
    /// common.
    fn selection(&mut self, or: &Instruction<'a>) -> Option<Selection<'a>> {
        let [
            Operand::Name(result),
            Operand::Name(first),
            Operand::Name(second),
        ] = or.operands[..]
        else {
            return None;
        };
        let arms = [first, second].map(|name| {
            let it = self.single.get(name)?;
            match (it.opcode, &it.modifiers[..], &it.operands[..]) {
                ("and", ["pred"], &[_, Operand::Name(a), Operand::Name(b)])
                    if it.guard.is_none() =>
                {
                    Some([(a, b), (b, a)])
                }
                _ => None,
            }
        });
        let [Some(first), Some(second)] = arms else {
            return None;
        };
        if or.guard.is_some() || !self.single.contains_key(result) {
            return None;
        }
        for (if_true, x) in first {
            for (if_false, y) in second {
                if self.of(if_true)?.is_opposite(&self.of(if_false)?) {
                    let sums = [self.of(x)?, self.of(y)?];
                    return Selection::of(result, [if_true, if_false], sums);
                }
            }
        }
        None
    }
}

/// The exclusive or of the common terms of two sums with a selection between the others.
#[derive(Debug)]
struct Selection<'a> {
    result: &'a str,
    common: Vec<(Term<'a>, Register<'a>)>,
    selected: Selected<'a>,
    inverted: bool,
}

#[derive(Debug)]
enum Selected<'a> {
    Register(&'a str),
    /// An `and` or `or`.
    Operation(&'a str, [&'a str; 2]),
}

impl<'a> Selection<'a> {
    /// Returns the selection of the first sum if the first condition holds, and of the second one if
    /// the second does, which is its opposite.
    fn of(
        result: &'a str,
        [if_true, if_false]: [&'a str; 2],
        [a, b]: [Sum<'a>; 2],
    ) -> Option<Selection<'a>> {
        let (common, a_only): (Vec<_>, Vec<_>) =
            a.terms.iter().copied().partition(|it| b.has(it.0));
        let b_only: Vec<_> = (b.terms.iter().copied())
            .filter(|it| !a.has(it.0))
            .collect();
        if common.is_empty() {
            return None;
        }
        // A register with the term may have its opposite.
        let (selected, inverted) = match (&a_only[..], &b_only[..]) {
            ([], []) if a.inverted != b.inverted => {
                let condition = if a.inverted { if_true } else { if_false };
                (Selected::Register(condition), false)
            }
            (&[(_, (register, opposite))], []) => {
                let inverted = a.inverted != opposite;
                let selected = match b.inverted != inverted {
                    true => Selected::Operation("or", [if_false, register]),
                    false => Selected::Operation("and", [if_true, register]),
                };
                (selected, inverted)
            }
            ([], &[(_, (register, opposite))]) => {
                let inverted = b.inverted != opposite;
                let selected = match a.inverted != inverted {
                    true => Selected::Operation("or", [if_true, register]),
                    false => Selected::Operation("and", [if_false, register]),
                };
                (selected, inverted)
            }
            _ => return None,
        };
        Some(Selection {
            result,
            common,
            selected,
            inverted,
        })
    }

    /// Appends the computation.
    fn emit(
        self,
        graph: &mut Graph<'a>,
        names: &'a Names,
        body: &mut Vec<Statement<'a>>,
        sums: &mut Sums<'a>,
    ) {
        let mut value = match self.selected {
            Selected::Register(register) => register,
            Selected::Operation(opcode, operands) => {
                let operands = operands.map(Operand::Name);
                let register = graph.emit(names, body, Type::Pred, opcode, &["pred"], operands);
                let own = Sum::of(Term::Register(register), (register, false), false);
                sums.known.insert(register, own);
                register
            }
        };
        let mut sum = Sum {
            terms: self.common.clone(),
            inverted: self.inverted,
        };
        if let Some(selected) = sums.of(value) {
            sum = sum.plus(&selected);
        }
        sums.known.insert(self.result, sum);
        let mut inverted = self.inverted;
        for (_, (register, opposite)) in self.common {
            inverted ^= opposite;
            let operands = [value, register].map(Operand::Name);
            value = graph.emit(names, body, Type::Pred, "xor", &["pred"], operands);
        }
        let opcode = if inverted { "not" } else { "mov" };
        let operands = [self.result, value].map(Operand::Name);
        body.push(instruction(opcode, &["pred"], operands.to_vec()));
    }
}
