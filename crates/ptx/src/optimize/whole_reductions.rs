//! Reduces an integer of all lanes of a warp with one instruction.
//!
//! `group::warp().reduce(value, u32::min)` exchanges values with the lanes at the distances 1, 2, 4, 8
//! and 16: five shuffles and five minima, each of which waits for the one before. From sm_80 on,
//! `redux.sync` computes sums, minima, maxima and bitwise operations of 32-bit integers of all lanes.
//! The order of the lanes does not change the result of these.
//!
//! Both instructions wait for all lanes of their mask, and a shuffle from an exited lane returns
//! unspecified bits, so the result is one that the shuffles may have, too.

use crate::hash::HashMap;

use super::instructions::{instructions, results};
use super::liveness::read;
use super::ordered::exchange;
use crate::rewrite::instruction;
use crate::{Instruction, Item, Module, Operand, Statement};

/// The distances of the steps, which may have any order.
const DISTANCES: [u64; 5] = [1, 2, 4, 8, 16];

/// The first architecture with `redux.sync`.
const FIRST: u32 = 80;

/// A reduction in a block.
struct Reduction<'a> {
    /// The places of the shuffles and of the operations, in order.
    places: Vec<usize>,
    /// The operation and its type.
    operation: [&'a str; 2],
    value: &'a str,
    result: &'a str,
}

/// Replaces the reductions of a module.
pub(super) fn replace(module: &mut Module<'_>) {
    let arch = module.target.first().and_then(|arch| {
        let digits = arch.strip_prefix("sm_")?;
        let digits = digits.trim_end_matches(|c: char| !c.is_ascii_digit());
        digits.parse::<u32>().ok()
    });
    if arch.is_none_or(|arch| arch < FIRST) {
        return;
    }
    for item in &mut module.items {
        if let Item::Function(function) = item
            && let Some(body) = &mut function.body
        {
            replace_in(body);
        }
    }
}

fn replace_in(body: &mut Vec<Statement<'_>>) {
    let shuffles = body.iter().filter(|statement| is_shuffle(statement));
    if shuffles.count() < DISTANCES.len() {
        return;
    }
    let registers = Registers::new(body);
    let found: Vec<Reduction<'_>> = (0..body.len())
        .filter(|&place| is_shuffle(&body[place]))
        .filter_map(|place| registers.reduction(body, place))
        .collect();
    let mut made = HashMap::default();
    for reduction in found {
        let mut places = reduction.places.into_iter();
        if let Some(last) = places.next_back() {
            let [operation, ty] = reduction.operation;
            let operands = vec![
                Operand::Name(reduction.result),
                Operand::Name(reduction.value),
                Operand::Integer(crate::Integer::signed(-1)),
            ];
            made.insert(
                last,
                Some(instruction("redux", &["sync", operation, ty], operands)),
            );
        }
        made.extend(places.map(|place| (place, None)));
    }
    if made.is_empty() {
        return;
    }
    let old = std::mem::take(body);
    body.extend(
        old.into_iter()
            .enumerate()
            .filter_map(|(place, statement)| match made.remove(&place) {
                Some(instead) => instead,
                None => Some(statement),
            }),
    );
}

fn is_shuffle(statement: &Statement<'_>) -> bool {
    matches!(statement, Statement::Instruction(it) if it.opcode == "shfl")
}

/// How a function uses its registers.
struct Registers<'a> {
    /// The instructions that are the only ones to write their result.
    single: HashMap<&'a str, Instruction<'a>>,
    /// The number of times that each register is read, and each label is a target.
    reads: HashMap<&'a str, usize>,
}

impl<'a> Registers<'a> {
    fn new(body: &[Statement<'a>]) -> Registers<'a> {
        let mut writes: HashMap<&'a str, usize> = HashMap::default();
        let mut reads: HashMap<&'a str, usize> = HashMap::default();
        for statement in body {
            if let Statement::BranchTargets { targets, .. } = statement {
                reads.extend(targets.iter().map(|&target| (target, 1)));
            }
            instructions(statement, &mut |it| {
                results(it, &mut |name| *writes.entry(name).or_default() += 1);
                read(it, &mut |name| *reads.entry(name).or_default() += 1);
            });
        }
        let mut single = HashMap::default();
        for statement in body {
            if let Statement::Instruction(it) = statement {
                results(it, &mut |name| {
                    if writes.get(name) == Some(&1) {
                        single.insert(name, it.clone());
                    }
                });
            }
        }
        Registers { single, reads }
    }

    /// Returns the reduction that begins with the shuffle at a place.
    fn reduction(&self, body: &[Statement<'a>], place: usize) -> Option<Reduction<'a>> {
        let Statement::Instruction(first) = &body[place] else {
            return None;
        };
        let &[_, Operand::Name(value), ..] = &first.operands[..] else {
            return None;
        };
        let mut left = DISTANCES.to_vec();
        let mut places = Vec::new();
        let mut operation = None;
        // The result of the last step, and the shuffle of the next one.
        let mut current = value;
        let mut other = None;
        for (place, statement) in body.iter().enumerate().skip(place) {
            let it = match statement {
                Statement::Instruction(it) => it,
                Statement::Loc(_) => continue,
                // Nothing branches to a label for debuggers.
                Statement::Label(label) if !self.reads.contains_key(label) => continue,
                _ => return None,
            };
            match other {
                None => {
                    if let Some(distance) = exchange(it, &self.single)
                        && let [Operand::Name(result), Operand::Name(from), ..] = it.operands[..]
                        && from == current
                    {
                        let at = left.iter().position(|&it| it == distance)?;
                        left.remove(at);
                        let is_own = self.single.contains_key(result)
                            && self.reads.get(result) == Some(&1)
                            && result != value;
                        is_own.then_some(())?;
                        other = Some(result);
                        places.push(place);
                        continue;
                    }
                }
                Some(of) => {
                    if let Some((found, result)) = combined(it, [current, of]) {
                        if operation.is_some_and(|operation| operation != found) {
                            return None;
                        }
                        operation = Some(found);
                        places.push(place);
                        if left.is_empty() {
                            return Some(Reduction {
                                places,
                                operation: found,
                                value,
                                result,
                            });
                        }
                        // The shuffle and the operation of the next step read it.
                        let is_own = self.single.contains_key(result)
                            && self.reads.get(result) == Some(&2)
                            && result != value;
                        is_own.then_some(())?;
                        current = result;
                        other = None;
                        continue;
                    }
                }
            }
            let mut is_kept = !is_end(it);
            results(it, &mut |name| is_kept &= name != value);
            is_kept.then_some(())?;
        }
        None
    }
}

/// Returns the operation that combines two registers, with its type, and its result.
fn combined<'a>(it: &Instruction<'a>, registers: [&str; 2]) -> Option<([&'a str; 2], &'a str)> {
    let &[
        Operand::Name(result),
        Operand::Name(left),
        Operand::Name(right),
    ] = &it.operands[..]
    else {
        return None;
    };
    let is_both = [left, right] == registers || [right, left] == registers;
    let &[ty] = &it.modifiers[..] else {
        return None;
    };
    let is_integer = match it.opcode {
        "add" | "max" | "min" => matches!(ty, "s32" | "u32"),
        "and" | "or" | "xor" => ty == "b32",
        _ => false,
    };
    (it.guard.is_none() && is_both && is_integer).then_some(([it.opcode, ty], result))
}

/// Returns whether an instruction ends a block, or waits for other threads than those of the warp.
fn is_end(it: &Instruction<'_>) -> bool {
    const ENDS: &[&str] = &[
        "bar", "barrier", "bra", "brx", "call", "exit", "ret", "trap",
    ];
    ENDS.contains(&it.opcode)
}
