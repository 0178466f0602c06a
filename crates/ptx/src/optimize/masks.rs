//! Selects between two predicates with operations on predicates.
//!
//! `(a, i) < (b, j)` is `i < j` if `a == b`, and `a < b` otherwise. libnvvm selects between two masks,
//! and tests a bit of the result. GPUs compute any function of three predicates in one instruction,
//! mostly as a part of a comparison.

use crate::hash::HashMap;

use super::flow::Graph;
use super::instructions::results;
use super::liveness::remove_dead;
use super::names::Names;
use super::specialize::single_definitions;
use crate::rewrite::instruction;
use crate::{Instruction, Operand, Statement, Type};

/// The maximum number of selections of which each selects between others.
const NESTED: usize = 4;

/// Replaces the selections of a function. Returns the number of replaced ones.
pub(super) fn replace<'a>(graph: &mut Graph<'a>, names: &'a Names) -> usize {
    let mut found = false;
    graph.visit(graph.order.iter().copied(), &mut |it| {
        found |= tested(it).is_some();
    });
    if !found {
        return 0;
    }
    let single = single_definitions(graph, &vec![false; graph.blocks.len()]);
    let mut count = 0;
    let order = graph.order.clone();
    for &id in &order {
        let body = std::mem::take(&mut graph.blocks[id].body);
        // The masks that instructions before compute.
        let mut masks: HashMap<&'a str, Mask<'a>> = HashMap::default();
        let mut replaced = Vec::with_capacity(body.len());
        for statement in body {
            let Statement::Instruction(it) = &statement else {
                replaced.push(statement);
                continue;
            };
            let selection = tested(it).and_then(|(result, mask, value)| {
                let bits = (single.get(mask)).filter(|it| is_low_bit(it))?;
                let Operand::Name(bits) = bits.operands[1] else {
                    return None;
                };
                let mask = masks.get(bits)?;
                let is_selection = matches!(mask, Mask::Selected(..));
                is_selection.then_some((result, mask, value))
            });
            if let Some((result, mask, value)) = selection {
                let operand = Operand::Name(mask.emit(graph, names, &single, &mut replaced));
                let opcode = if value { "mov" } else { "not" };
                let operands = vec![Operand::Name(result), operand];
                replaced.push(instruction(opcode, &["pred"], operands));
                count += 1;
                continue;
            }
            if let Some(&Operand::Name(result)) = it.operands.first()
                && single.contains_key(result)
                && let Some(mask) = Mask::of(it, &single, &masks)
            {
                masks.insert(result, mask);
            }
            // The predicate may be that of the previous iteration.
            results(it, &mut |name| masks.retain(|_, mask| !mask.reads(name)));
            replaced.push(statement);
        }
        graph.blocks[id].body = replaced;
    }
    if count > 0 {
        remove_dead(graph, &order);
    }
    count
}

/// An integer of which only the lowest bit counts.
#[derive(Clone, Debug)]
enum Mask<'a> {
    /// Whether a predicate is true.
    Predicate(&'a str),
    /// The first mask if a predicate is true, the second otherwise.
    Selected(&'a str, Box<[Mask<'a>; 2]>),
}

impl<'a> Mask<'a> {
    fn of(
        it: &Instruction<'a>,
        single: &HashMap<&'a str, Instruction<'a>>,
        masks: &HashMap<&'a str, Mask<'a>>,
    ) -> Option<Mask<'a>> {
        let ("selp", None, [_, yes, no, Operand::Name(condition)]) =
            (it.opcode, it.guard, &it.operands[..])
        else {
            return None;
        };
        // Other predicates may have changed when the mask is tested.
        if !matches!(it.modifiers[..], ["b32" | "s32" | "u32"]) || !single.contains_key(condition) {
            return None;
        }
        match (yes, no) {
            (Operand::Integer(yes), Operand::Integer(no)) => {
                (yes.bits & 1 == 1 && no.bits == 0).then_some(Mask::Predicate(condition))
            }
            (Operand::Name(yes), Operand::Name(no)) => {
                let arms = [masks.get(yes)?.clone(), masks.get(no)?.clone()];
                let mask = Mask::Selected(condition, Box::new(arms));
                (mask.depth() <= NESTED).then_some(mask)
            }
            _ => None,
        }
    }

    fn reads(&self, predicate: &str) -> bool {
        match self {
            Mask::Predicate(name) => *name == predicate,
            Mask::Selected(name, arms) => {
                *name == predicate || arms.iter().any(|arm| arm.reads(predicate))
            }
        }
    }

    fn depth(&self) -> usize {
        match self {
            Mask::Predicate(_) => 0,
            Mask::Selected(_, arms) => 1 + arms.iter().map(Mask::depth).max().unwrap_or(0),
        }
    }

    /// Appends the computation of the bit to `body`, and returns its register.
    fn emit(
        &self,
        graph: &mut Graph<'a>,
        names: &'a Names,
        single: &HashMap<&'a str, Instruction<'a>>,
        body: &mut Vec<Statement<'a>>,
    ) -> &'a str {
        let (condition, [yes, no]) = match self {
            &Mask::Predicate(name) => return name,
            Mask::Selected(condition, arms) => (*condition, &**arms),
        };
        let holds = Outcomes::of(single, condition);
        let both = |arm: &Mask<'a>, test: fn(u8, u8) -> bool| {
            let Mask::Predicate(name) = *arm else {
                return false;
            };
            let arm = Outcomes::of(single, name);
            (holds.as_ref().zip(arm)).is_some_and(|(holds, arm)| holds.compare(&arm, test))
        };
        let implies = both(yes, |holds, arm| arm & !holds == 0);
        let excludes = both(no, |holds, arm| arm & holds == 0);
        let mut yes = yes.emit(graph, names, single, body);
        if !implies {
            yes = graph.and(names, body, [condition, yes]);
        }
        let mut no = no.emit(graph, names, single, body);
        if !excludes {
            let operand = [Operand::Name(condition)];
            let fails = graph.emit(names, body, Type::Pred, "not", &["pred"], operand);
            no = graph.and(names, body, [fails, no]);
        }
        let operands = [yes, no].map(Operand::Name);
        graph.emit(names, body, Type::Pred, "or", &["pred"], operands)
    }
}

/// A comparison: its type, its operands, and for which of their orders it holds, one bit each:
/// [`LESS`], equal, [`GREATER`], and unordered.
struct Outcomes<'s, 'a> {
    ty: &'a str,
    sides: [&'s Operand<'a>; 2],
    orders: u8,
}

const LESS: u8 = 1;
const EQUAL: u8 = 2;
const GREATER: u8 = 4;
const UNORDERED: u8 = 8;
const NOT_EQUAL: u8 = LESS | GREATER;

impl<'s, 'a> Outcomes<'s, 'a> {
    /// Returns the comparison that computes a predicate from operands that do not change.
    fn of(
        single: &'s HashMap<&'a str, Instruction<'a>>,
        predicate: &str,
    ) -> Option<Outcomes<'s, 'a>> {
        let it = single.get(predicate)?;
        let ("setp", &[relation, ty], None, [Operand::Name(_), left, right]) =
            (it.opcode, &it.modifiers[..], it.guard, &it.operands[..])
        else {
            return None;
        };
        let is_fixed = |side: &Operand<'a>| match side {
            Operand::Name(name) => single.contains_key(name),
            _ => true,
        };
        let orders = match relation {
            "eq" => EQUAL,
            "ne" => NOT_EQUAL,
            "lt" | "lo" => LESS,
            "le" | "ls" => LESS | EQUAL,
            "gt" | "hi" => GREATER,
            "ge" | "hs" => GREATER | EQUAL,
            "equ" => EQUAL | UNORDERED,
            "neu" => LESS | GREATER | UNORDERED,
            "ltu" => LESS | UNORDERED,
            "leu" => LESS | EQUAL | UNORDERED,
            "gtu" => GREATER | UNORDERED,
            "geu" => GREATER | EQUAL | UNORDERED,
            "num" => LESS | EQUAL | GREATER,
            "nan" => UNORDERED,
            _ => return None,
        };
        let sides = [left, right];
        (sides.into_iter().all(is_fixed)).then_some(Outcomes { ty, sides, orders })
    }

    /// Returns whether two comparisons order numbers alike: `==` does not depend on signs.
    fn is_of_same_type(&self, other: &Outcomes<'_, 'a>) -> bool {
        let both = [self, other];
        let are_integers = both.iter().all(|it| it.ty.starts_with(['b', 's', 'u']));
        let has_equality = (both.iter()).any(|it| matches!(it.orders, EQUAL | NOT_EQUAL));
        self.ty == other.ty || are_integers && has_equality && self.ty[1..] == other.ty[1..]
    }

    /// Returns the result of a test of the orders for which two comparisons of the same operands
    /// hold, and false for other comparisons.
    fn compare(&self, other: &Outcomes<'_, 'a>, test: fn(u8, u8) -> bool) -> bool {
        let [left, right] = other.sides;
        let orders = if self.sides == [left, right] {
            other.orders
        } else if self.sides == [right, left] {
            let mut swapped = other.orders & (EQUAL | UNORDERED);
            for (order, opposite) in [(LESS, GREATER), (GREATER, LESS)] {
                if other.orders & order != 0 {
                    swapped |= opposite;
                }
            }
            swapped
        } else {
            return false;
        };
        self.is_of_same_type(other) && test(self.orders, orders)
    }
}

/// Returns the result of a test of a bit, the register with the bit, and whether the result is true
/// if it is 1.
fn tested<'a>(it: &Instruction<'a>) -> Option<(&'a str, &'a str, bool)> {
    let (
        "setp",
        None,
        [
            Operand::Name(result),
            Operand::Name(mask),
            Operand::Integer(value),
        ],
    ) = (it.opcode, it.guard, &it.operands[..])
    else {
        return None;
    };
    let is_equal = match it.modifiers[..] {
        ["eq", "b32" | "s32" | "u32"] => true,
        ["ne", "b32" | "s32" | "u32"] => false,
        _ => return None,
    };
    (value.bits <= 1).then_some((result, mask, is_equal == (value.bits == 1)))
}

/// Returns whether an instruction computes the lowest bit of a register.
fn is_low_bit(it: &Instruction<'_>) -> bool {
    let is_one = |operand: &Operand<'_>| matches!(operand, Operand::Integer(it) if it.bits == 1);
    it.opcode == "and"
        && it.modifiers == ["b32"]
        && it.guard.is_none()
        && matches!(it.operands[..], [_, Operand::Name(_), ref one] if is_one(one))
}
