//! The number of iterations of loops, and the ranges of their counters.

use crate::hash::{HashMap, HashSet};

use super::flow::{End, Graph, Id};
use super::loops::{Comparison, Counter, Loop, Relation, Step, Which};
use super::narrow::Range;
use crate::{Instruction, Operand, Statement, Type};

/// The maximum number of additions from a counter to a sum, at least the factor by which LLVM
/// unrolls loops.
const ADDITIONS: usize = 16;

/// A loop that ends when a counter reaches a bound.
#[derive(Debug)]
pub(super) struct Counted<'a> {
    /// The counters.
    counters: Vec<Counter<'a>>,
    /// A condition without which the loop does not continue.
    condition: Condition<'a>,
    /// Whether the branch with the condition has no other one.
    is_alone: bool,
}

/// A condition on a counter.
#[derive(Debug)]
struct Condition<'a> {
    counter: Counter<'a>,
    /// The number that is added to the counter before the comparison.
    offset: i64,
    comparison: Comparison<'a>,
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
        let mut counters = each.counters(graph);
        let add = |counters: &mut Vec<Counter<'a>>, others: Vec<Counter<'a>>| {
            for other in others {
                if counters.iter().all(|it| it.register != other.register) {
                    counters.push(other);
                }
            }
        };
        add(&mut counters, unrolled(graph, each));
        let of = |(counter, which, comparison): (Counter<'a>, Which, Comparison<'a>)| {
            let offset = match which {
                Which::Current => 0,
                Which::Next => step(&counter)?,
            };
            Some(Condition {
                counter,
                offset,
                comparison,
            })
        };
        let found = match each.condition(graph, &counters) {
            Some(found) => Some((of(found)?, true)),
            None => match each.necessary_condition(graph, &counters) {
                Some(found) => Some((of(found)?, false)),
                None => None,
            },
        };
        // Those that change elsewhere: whether before the comparison, only `inner_condition` tests.
        add(&mut counters, changed_once(graph, each));
        let (condition, is_alone) = match found {
            Some(found) => found,
            None => (inner_condition(graph, each, &counters)?, true),
        };
        Some(Counted {
            counters,
            condition,
            is_alone,
        })
    }

    /// Returns how a loop with several latches counts, if it does: by a counter that one instruction
    /// of each iteration changes.
    pub fn with_several_latches(graph: &Graph<'a>, each: &Loop<'a>) -> Option<Counted<'a>> {
        let counters = changed_once(graph, each);
        let condition = inner_condition(graph, each, &counters)?;
        Some(Counted {
            counters,
            condition,
            is_alone: true,
        })
    }

    /// Returns whether the branch that ends the loop when the counter reaches the bound tests nothing
    /// else.
    pub fn is_alone(&self) -> bool {
        self.is_alone
    }

    /// Returns the counter that increases by 1 and the integer of 64 bits that it must not reach for
    /// another iteration, if the loop ends in this way.
    pub fn end(&self) -> Option<(&'a str, &Operand<'a>)> {
        let Condition {
            counter,
            offset,
            comparison,
        } = &self.condition;
        let is_next = step(counter) == Some(1) && *offset == 1;
        let is_less = matches!(comparison.relation, Relation::Less | Relation::NotEqual);
        let is_end = is_next && is_less && comparison.bits == 64 && counter.bits == 64;
        is_end.then_some((counter.register, &comparison.right))
    }

    /// Returns the counter, its step and the integer of 64 bits that the counter must be less than
    /// at the start of an iteration for another one, if the loop ends in this way.
    pub fn end_before_step(&self) -> Option<(&'a str, i64, &Operand<'a>)> {
        let Condition {
            counter,
            offset,
            comparison,
        } = &self.condition;
        let step = step(counter)?;
        let is_less = comparison.relation == Relation::Less && !comparison.signed;
        let is_end = step > 0 && *offset == 0 && comparison.bits == 64 && counter.bits == 64;
        (is_end && is_less).then_some((counter.register, step, &comparison.right))
    }

    /// Returns the counters.
    pub fn counters(&self) -> &[Counter<'a>] {
        &self.counters
    }

    /// Returns whether the counter of the condition is less than its bound when the loop is entered.
    pub fn is_entered(&self, is_below: impl Fn(&Operand<'a>, &Operand<'a>) -> bool) -> bool {
        let Condition {
            counter,
            comparison,
            ..
        } = &self.condition;
        is_below(&Operand::Name(counter.register), &comparison.right)
    }

    /// Returns the ranges of the counters at the start of each iteration. `entered` returns what is
    /// known when the loop is entered, and `is_ahead` is whether the counter of the condition is less
    /// than its bound then.
    pub fn ranges(
        &self,
        entered: impl Fn(&Operand<'a>) -> Option<Known>,
        is_ahead: bool,
    ) -> Vec<(&'a str, Range)> {
        let Some(repetitions) = self.repetitions(&entered, is_ahead) else {
            return Vec::new();
        };
        let range = |counter: &Counter<'a>| {
            let (low, high) = entered(&Operand::Name(counter.register))?.range;
            let change = step(counter)?.checked_mul(repetitions)?;
            let mut low = low.checked_add(change.min(0))?;
            let mut high = high.checked_add(change.max(0))?;
            if counter.register == self.condition.counter.register {
                let (least, most) = self.limits(&entered)?;
                (low, high) = (low.max(least), high.min(most));
            }
            let fits = counter.bits == 64 || (low >= 0 && high <= u32::MAX.into());
            fits.then_some((counter.register, (low, high)))
        };
        self.counters.iter().filter_map(range).collect()
    }

    /// Returns limits of the counter of the condition, if there is a maximum number of repetitions:
    /// it does not change once it has passed the bound.
    fn limits(&self, entered: impl Fn(&Operand<'a>) -> Option<Known>) -> Option<Range> {
        let Condition {
            counter,
            offset,
            comparison,
        } = &self.condition;
        let (start, end) = (
            entered(&Operand::Name(counter.register))?.range,
            entered(&comparison.right)?.range,
        );
        let step = step(counter)?;
        if *offset != 0 && *offset != step {
            return Some((i64::MIN, i64::MAX));
        }
        // Whether the loop ends by the value that the counter has at the start of an iteration.
        let is_current = i64::from(*offset == 0);
        let beyond = match comparison.relation {
            Relation::NotEqual => step * (is_current - 1),
            Relation::LessOrEqual | Relation::GreaterOrEqual => step * is_current,
            _ => step * is_current - step.signum(),
        };
        Some(match step > 0 {
            true => (i64::MIN, start.1.max(end.1 + beyond)),
            false => (start.0.min(end.0 + beyond), i64::MAX),
        })
    }

    /// Returns the maximum number of times that the loop continues with another iteration.
    fn repetitions(
        &self,
        entered: impl Fn(&Operand<'a>) -> Option<Known>,
        is_ahead: bool,
    ) -> Option<i64> {
        let Condition {
            counter,
            offset,
            comparison: compared,
        } = &self.condition;
        let (step, offset) = (step(counter)?, *offset);
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
        if offset != 0 && offset != step {
            return self.repetitions_of_unrolled(start, end);
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
                let before = i64::from(offset != 0);
                let ahead = match step > 0 {
                    true => start.1 + before <= end.0 || step == 1 && is_ahead,
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
        Some(match offset {
            0 => changes + 1,
            _ => changes,
        })
    }

    /// Returns the number of repetitions if the loop ends in the middle of an iteration, by a sum
    /// of a counter and a number. `start` is the range of the counter when the loop is entered, and
    /// `end` that of the bound; both fit 31 bits.
    fn repetitions_of_unrolled(&self, start: Range, end: Range) -> Option<i64> {
        let Condition {
            counter,
            offset,
            comparison,
        } = &self.condition;
        let step = step(counter)?;
        let first = (start.0 + offset, start.1 + offset);
        if step < 0 {
            // The sum must meet the bound exactly.
            let is_constant = first.0 == first.1 && end.0 == end.1;
            let is_ahead = (step..=0).contains(offset) && first.0 >= end.0;
            let distance = first.0 - end.0;
            let meets = comparison.relation == Relation::NotEqual && distance % step == 0;
            return (is_constant && is_ahead && meets).then(|| distance / -step);
        }
        if !(0..step).contains(offset) || start.0 < 0 {
            return None;
        }
        // Otherwise the sum may be negative as a signed number before it reaches the bound.
        if comparison.bits == 32 && end.1 + step > i32::MAX.into() {
            return None;
        }
        Some(match comparison.relation {
            Relation::Less => divide(end.1 - first.0, step).max(0),
            Relation::LessOrEqual => divide(end.1 + 1 - first.0, step).max(0),
            // The sum must meet the bound exactly.
            Relation::NotEqual if first.0 == first.1 && end.0 == end.1 => {
                let distance = end.0 - first.0;
                if distance < 0 || distance % step != 0 {
                    return None;
                }
                distance / step
            }
            _ => return None,
        })
    }
}

/// Returns the counters that one instruction of each iteration changes, wherever it is.
fn changed_once<'a>(graph: &Graph<'a>, each: &Loop<'a>) -> Vec<Counter<'a>> {
    let mut written: Vec<_> = each.written.iter().collect();
    written.sort_unstable();
    let counter = |(&register, &(times, block, index)): (&&'a str, &(u32, Id, usize))| {
        let Statement::Instruction(it) = &graph.blocks[block].body[index] else {
            return None;
        };
        let (step, bits) = each.step_of(it, register)?;
        let runs_once = times == 1
            && always_runs(graph, each, block)
            && (block == each.header || !reaches(graph, each, block, block, None));
        runs_once.then_some(Counter {
            register,
            next: None,
            step,
            bits,
        })
    };
    written.into_iter().filter_map(counter).collect()
}

/// Returns the counters to which several instructions of an unrolled loop add numbers, or whose next
/// value is in a register that has another value before the loop.
fn unrolled<'a>(graph: &Graph<'a>, each: &Loop<'a>) -> Vec<Counter<'a>> {
    let mut counters = Vec::new();
    let mut written: Vec<_> = each.written.iter().collect();
    written.sort_unstable();
    for (&register, &(times, block, index)) in written {
        if times != 1 || block != each.latch || each.definition(graph, register).is_some() {
            continue;
        }
        let Statement::Instruction(it) = &graph.blocks[block].body[index] else {
            continue;
        };
        let sum = match (it.opcode, it.guard, &it.operands[..]) {
            ("add", None, [_, Operand::Name(sum), Operand::Integer(_)])
            | ("mov", None, [_, Operand::Name(sum)]) => sum,
            _ => continue,
        };
        if let Some((counter, before, bits)) = base(graph, each, sum)
            && counter == register
            && let Some((added, own_bits)) = addend(it).or(Some((0, bits)))
            && own_bits == bits
            && let Some(step) = before.checked_add(added)
        {
            counters.push(Counter {
                register,
                next: None,
                step: Step::Constant(step),
                bits,
            });
        }
    }
    counters
}

/// Returns the counter, the number and the width in bits whose sum a register is, if instructions
/// of the same iteration compute it by additions before the counter changes.
fn base<'a>(graph: &Graph<'a>, each: &Loop<'a>, sum: &'a str) -> Option<(&'a str, i64, u32)> {
    let (mut register, mut total, mut width) = (sum, 0i64, None);
    for _ in 0..ADDITIONS {
        let &(1, block, index) = each.written.get(register)? else {
            return None;
        };
        let Statement::Instruction(it) = &graph.blocks[block].body[index] else {
            return None;
        };
        // Otherwise it may have the value of an earlier iteration, or of code before the loop.
        if !always_runs(graph, each, block) {
            return None;
        }
        let (number, bits) = addend(it)?;
        let &[_, Operand::Name(from), _] = &it.operands[..] else {
            return None;
        };
        if width.is_some_and(|width| width != bits) {
            return None;
        }
        (register, total, width) = (from, total.checked_add(number)?, Some(bits));
        let &(times, changed_in, changed_at) = each.written.get(from)?;
        if times == 1 && each.definition(graph, from).is_none() {
            // Each iteration runs both blocks.
            let precedes = match block == changed_in {
                true => index < changed_at,
                false if block == each.header => true,
                false if changed_in == each.header => false,
                false => !reaches(graph, each, each.header, changed_in, Some(block)),
            };
            return precedes.then_some((from, total, bits));
        }
    }
    None
}

/// Returns the number that an instruction adds to a register, and the width in bits.
fn addend(it: &Instruction<'_>) -> Option<(i64, u32)> {
    let [_, Operand::Name(_), Operand::Integer(number)] = &it.operands[..] else {
        return None;
    };
    match (it.opcode, &it.modifiers[..], it.guard) {
        ("add", ["s64" | "u64"], None) => Some((number.bits as i64, 64)),
        ("add", ["s32" | "u32"], None) => Some(((number.bits as i32).into(), 32)),
        _ => None,
    }
}

/// Returns the condition of a branch that each iteration runs and that leaves the loop: of a sum of
/// a counter and a number with an invariant.
fn inner_condition<'a>(
    graph: &Graph<'a>,
    each: &Loop<'a>,
    counters: &[Counter<'a>],
) -> Option<Condition<'a>> {
    let inside = |id: &Id| each.contains(*id);
    for &id in &each.blocks {
        let End::Branch(guard, _, to, otherwise) = graph.blocks[id].end else {
            continue;
        };
        if inside(&to) == inside(&otherwise) || !always_runs(graph, each, id) {
            continue;
        }
        let mut comparisons = Vec::new();
        let stays = inside(&to) != guard.negated;
        add_implied(graph, each, guard.register, stays, &mut comparisons);
        for (place, comparison) in comparisons {
            for comparison in [comparison.clone(), comparison.swapped()] {
                if let Operand::Name(sum) = comparison.left
                    && each.is_invariant(&comparison.right)
                    && let Some((register, offset, bits)) =
                        base(graph, each, sum).or_else(|| changed(each, counters, sum, place))
                    && bits == comparison.bits
                    && let Some(&counter) = counters.iter().find(|it| it.register == register)
                    && counter.bits == bits
                {
                    return Some(Condition {
                        counter,
                        offset,
                        comparison,
                    });
                }
            }
        }
    }
    None
}

/// Adds the comparisons that hold if a predicate has a value, with the block and the place of each.
fn add_implied<'a>(
    graph: &Graph<'a>,
    each: &Loop<'a>,
    predicate: &'a str,
    value: bool,
    comparisons: &mut Vec<((Id, usize), Comparison<'a>)>,
) {
    let Some((set, block, place)) = each.definition(graph, predicate) else {
        return;
    };
    match (set.opcode, &set.modifiers[..], &set.operands[..], value) {
        ("and", ["pred"], &[_, Operand::Name(a), Operand::Name(b)], true)
        | ("or", ["pred"], &[_, Operand::Name(a), Operand::Name(b)], false) => {
            for operand in [a, b] {
                add_implied(graph, each, operand, value, comparisons);
            }
        }
        // Otherwise it may be that of an earlier iteration.
        _ if always_runs(graph, each, block) => {
            comparisons.extend(Comparison::of(set, value).map(|it| ((block, place), it)));
        }
        _ => {}
    }
}

/// Returns the register of a counter, its step and its width, if it has changed before a place of the
/// block that changes it.
fn changed<'a>(
    each: &Loop<'a>,
    counters: &[Counter<'a>],
    register: &'a str,
    (block, place): (Id, usize),
) -> Option<(&'a str, i64, u32)> {
    let counter = counters.iter().find(|it| it.register == register)?;
    let &(1, changed_in, changed_at) = each.written.get(register)? else {
        return None;
    };
    let has_changed = block == changed_in && changed_at < place;
    has_changed.then_some((register, step(counter)?, counter.bits))
}

/// Returns whether each complete iteration of a loop runs a block.
pub(super) fn always_runs(graph: &Graph<'_>, each: &Loop<'_>, block: Id) -> bool {
    block == each.header || !reaches(graph, each, each.header, each.header, Some(block))
}

/// Returns whether an iteration of a loop can run `to` after `from`, without a block to avoid. The
/// next iteration begins when `to` is the header.
fn reaches(graph: &Graph<'_>, each: &Loop<'_>, from: Id, to: Id, avoided: Option<Id>) -> bool {
    let mut seen = HashSet::from_iter(avoided);
    let mut pending = vec![from];
    while let Some(id) = pending.pop() {
        for target in graph.blocks[id].end.targets() {
            if target == to {
                return true;
            }
            if target != each.header && each.contains(target) && seen.insert(target) {
                pending.push(target);
            }
        }
    }
    false
}

/// Returns the register from which a number is subtracted for a result, if the result is 0 where the
/// register is less. Of a conversion to 32 bits, it is the operand.
pub(super) fn minuend<'a>(
    single: &HashMap<&'a str, Instruction<'a>>,
    result: &Operand<'a>,
    number: i64,
) -> Option<&'a str> {
    let definition = |operand: &Operand<'a>| match operand {
        Operand::Name(name) => single.get(name).filter(|it| it.guard.is_none()),
        _ => None,
    };
    let source = |operand: &Operand<'a>| {
        let converted = definition(operand).and_then(|it| match (it.opcode, &it.modifiers[..]) {
            ("cvt", ["u32", "u64"]) => it.operands.get(1),
            _ => None,
        });
        match converted.unwrap_or(operand) {
            &Operand::Name(name) => Some(name),
            _ => None,
        }
    };
    let select = definition(result)?;
    let ("selp", &[ty], [_, difference, zero, Operand::Name(condition)]) =
        (select.opcode, &select.modifiers[..], &select.operands[..])
    else {
        return None;
    };
    let bits = Type::from_name(ty)?.bits();
    let is = |operand: &Operand<'a>, number: i64| match operand {
        Operand::Integer(value) if bits == 32 => value.bits as i32 == number as i32,
        Operand::Integer(value) => value.bits as i64 == number,
        _ => false,
    };
    let subtract = definition(difference)?;
    let compared = Comparison::of(single.get(condition)?, true)?;
    let from = source(&compared.left)?;
    let subtracts = match (subtract.opcode, &subtract.operands[..]) {
        ("add", [_, left, right]) => source(left) == Some(from) && is(right, -number),
        ("sub", [_, left, right]) => source(left) == Some(from) && is(right, number),
        _ => false,
    };
    let is_enough = match compared.relation {
        Relation::GreaterOrEqual => is(&compared.right, number),
        Relation::Greater => is(&compared.right, number - 1),
        _ => false,
    };
    let is_saturated = is(zero, 0) && is_enough && !compared.signed && compared.bits == bits;
    (subtracts && is_saturated && number > 0).then_some(from)
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
