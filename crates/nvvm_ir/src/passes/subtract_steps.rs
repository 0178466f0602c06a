//! The pass `subtract_steps`.

use std::collections::HashMap;

use super::prune::prune;
use super::unroll_array_loops::number;
use crate::flow::Flow;
use crate::inst::{BinOp, Callee, CastOp, Flags, InstKind, IntPred};
use crate::intrinsic::Intrinsic;
use crate::module::Module;
use crate::value::{Block, Const, Func, Value};

/// Lets loops over `(start..end).step_by(step)` end without a division.
///
/// For the number of iterations, `core` divides the length of the range by the step and rounds up.
/// If the step is not a constant, as in a grid-stride loop, the division takes longer than the
/// iteration or two that such a loop often has. The loop continues after iteration `k`, counted from
/// 0, while `k + 1 < ceil(length / step)`, or `(k + 1) * step < length`. With the value `i = start +
/// k * step` of the iteration, that is `i + step < end`, or `i < end - step` if `end` is at least
/// `step`; otherwise the loop ends. If the loop does not have this value, what remains of the length
/// is compared instead: `length - k * step > step`, whose left side is positive.
///
/// `i` is below `end` in all iterations. Checks that compare them are removed.
///
/// If the step is a constant power of two, the division is a shift. Such a loop changes only if it
/// has this value, and keeps its counter if no other check is left: then libnvvm unrolls it. With
/// another check, passes over PTX prove that its index is in bounds because `i` is below `end`.
pub fn subtract_steps(module: &mut Module) {
    let funcs: Vec<Func> = module.funcs().collect();
    for func in funcs {
        let blocks = module.func(func).blocks.clone();
        let insts: Vec<Value> = (blocks.iter())
            .flat_map(|&block| module.block(block).insts.iter().copied())
            .collect();
        let counts: Vec<Count> = (insts.into_iter())
            .filter_map(|inst| Count::of(module, inst).or_else(|| Count::of_shift(module, inst)))
            .collect();
        if counts.is_empty() {
            continue;
        }
        let index: HashMap<Block, usize> = blocks.iter().copied().zip(0..).collect();
        let flow = Flow::new(module, func, |block| index[&block]);
        let mut uses: HashMap<Value, Vec<Value>> = HashMap::new();
        for &block in &blocks {
            for &inst in &module.block(block).insts {
                if let Some(data) = module.inst(inst) {
                    let kind = &data.kind;
                    kind.for_each_operand(|operand| uses.entry(operand).or_default().push(inst));
                }
            }
        }
        let dominates = |a: Block, b: Block| flow.dominates(index[&a], index[&b]);
        let predecessors = |block: Block| flow.predecessors(index[&block]).len();
        let loops = flow.loops();
        let exits = |module: &Module, header: Block| {
            let looped = loops.iter().find(|it| it.header == index[&header]);
            let body: Vec<usize> = looped.into_iter().flat_map(|it| it.body.clone()).collect();
            let leaves = |&&block: &&usize| {
                let mut leaves = false;
                if let Some(end) = module
                    .terminator(blocks[block])
                    .and_then(|it| kind(module, it))
                {
                    leaves = end.successors().iter().any(|to| !body.contains(&index[to]));
                }
                leaves
            };
            body.iter().filter(leaves).map(|&it| blocks[it]).collect()
        };
        let function = Function {
            uses,
            dominates: &dominates,
            predecessors: &predecessors,
            exits: &exits,
        };
        let mut has_checks = false;
        for count in counts {
            for looped in function.loops_of(module, &count) {
                has_checks |= match count.is_shift {
                    true => function.compare_with_end(module, &count, &looped),
                    false => function.subtract(module, &count, &looped),
                };
            }
        }
        if has_checks {
            prune(module, func);
        }
    }
}

/// A number of iterations: `length / step`, rounded up.
struct Count {
    count: Value,
    length: Value,
    step: Value,
    /// The intermediate results.
    parts: Vec<Value>,
    /// Whether the division is a shift.
    is_shift: bool,
}

/// A loop that ends after a number of iterations.
struct Loop {
    header: Block,
    /// The block from which it is entered.
    before: Block,
    /// The counter, which counts down to 1 in the last iteration.
    counter: Value,
    /// The counter minus 1.
    next: Value,
    /// The comparison of `next` with 0 at the end of an iteration.
    end: Value,
    /// The comparisons of the count with 0.
    guards: Vec<Value>,
    /// The blocks from which the loop is left.
    exits: Vec<Block>,
}

impl Count {
    /// Matches `length / step + (length != length / step * step) as int`, with the remainder
    /// instead of the product, too.
    fn of(module: &Module, count: Value) -> Option<Count> {
        let (quotient, extended) = sum(module, count)?;
        [(quotient, extended), (extended, quotient)]
            .into_iter()
            .find_map(|(quotient, extended)| {
                let (length, step) = binary(module, quotient, BinOp::UDiv)?;
                let (differs, lhs, rhs) = difference_as_number(module, extended)?;
                let is_product = |value: Value| {
                    let product = binary(module, value, BinOp::Mul);
                    product == Some((quotient, step)) || product == Some((step, quotient))
                };
                let is_remainder =
                    |value: Value| binary(module, value, BinOp::URem) == Some((length, step));
                let part = match (lhs, rhs) {
                    (a, b) if a == length && is_product(b) => b,
                    (a, b) if b == length && is_product(a) => a,
                    (a, b) if is_zero(module, b) && is_remainder(a) => a,
                    (a, b) if is_zero(module, a) && is_remainder(b) => b,
                    _ => return None,
                };
                // A division by another constant is cheap, and ptxas unrolls such loops.
                module.as_const(step).is_none().then(|| Count {
                    count,
                    length,
                    step,
                    parts: vec![quotient, extended, differs, part],
                    is_shift: false,
                })
            })
    }

    /// Matches `(length >> shift) + (length & ((1 << shift) - 1) != 0) as int`.
    fn of_shift(module: &mut Module, count: Value) -> Option<Count> {
        let (quotient, extended) = sum(module, count)?;
        let (length, shift, parts) = [(quotient, extended), (extended, quotient)]
            .into_iter()
            .find_map(|(quotient, extended)| {
                let (length, shift) = binary(module, quotient, BinOp::LShr)?;
                let (differs, lhs, rhs) = difference_as_number(module, extended)?;
                let (masked, mask) = binary(module, lhs, BinOp::And)?;
                let shift = u32::try_from(number(module, shift)?).ok()?;
                let is_rest = masked == length
                    && is_zero(module, rhs)
                    && (1..64).contains(&shift)
                    && number(module, mask)? == (1 << shift) - 1;
                is_rest.then(|| (length, shift, vec![quotient, extended, differs, lhs]))
            })?;
        let ty = module.ty(length);
        Some(Count {
            count,
            length,
            step: module.const_int(ty, 1 << shift),
            parts,
            is_shift: true,
        })
    }
}

/// What the pass needs to know about a function.
struct Function<'a> {
    uses: HashMap<Value, Vec<Value>>,
    dominates: &'a dyn Fn(Block, Block) -> bool,
    predecessors: &'a dyn Fn(Block) -> usize,
    /// The blocks from which the loop with a header is left.
    exits: &'a dyn Fn(&Module, Block) -> Vec<Block>,
}

impl Function<'_> {
    fn uses(&self, value: Value) -> &[Value] {
        self.uses.get(&value).map_or(&[], Vec::as_slice)
    }

    /// Returns the loops that count down. A division remains unless nothing else uses its result.
    fn loops_of(&self, module: &Module, count: &Count) -> Vec<Loop> {
        let own = |user: &Value| *user == count.count || count.parts.contains(user);
        let is_private = |part: &Value| self.uses(*part).iter().all(own);
        let is_guard = |user: &Value| compared_with_zero(module, *user) == Some(count.count);
        let (mut guards, others): (Vec<Value>, Vec<Value>) = self
            .uses(count.count)
            .iter()
            .partition(|user| is_guard(user));
        if !count.is_shift && !(count.parts.iter().all(is_private) && others.len() == 1) {
            return Vec::new();
        }
        // LLVM compares the end with the start instead.
        if let Some(range @ (_, start)) = difference(module, count.length) {
            let compares = |user: &&Value| is_longer(module, **user, range).is_some();
            guards.extend(self.uses(start).iter().filter(compares));
        }
        let looped = |&counter: &Value| self.loop_of(module, count, counter, &guards);
        others.iter().filter_map(looped).collect()
    }

    /// Returns the loop with a counter, if nothing else uses the counter.
    fn loop_of(
        &self,
        module: &Module,
        count: &Count,
        counter: Value,
        guards: &[Value],
    ) -> Option<Loop> {
        let data = module.inst(counter)?;
        let InstKind::Phi(incoming) = &data.kind else {
            return None;
        };
        let (before, next, latch) = match incoming[..] {
            [(start, before), (next, latch)] | [(next, latch), (start, before)]
                if start == count.count && next != count.count =>
            {
                (before, next, latch)
            }
            _ => return None,
        };
        let is_minus_one = |value| match module.as_const(value) {
            Some(&Const::Int(number)) => {
                let bits = module.types.int_bits(module.ty(value));
                bits.is_some_and(|bits| number == u128::MAX >> (128 - bits))
            }
            _ => false,
        };
        match sum(module, next)? {
            (a, b) if a == counter && is_minus_one(b) => {}
            (a, b) if b == counter && is_minus_one(a) => {}
            _ => return None,
        }
        let end = match *self.uses(next) {
            [a, b] if a == counter => b,
            [a, b] if b == counter => a,
            _ => return None,
        };
        let InstKind::CondBr {
            cond,
            then,
            otherwise,
        } = *kind(module, module.terminator(latch)?)?
        else {
            return None;
        };
        let goes_back = match equals_zero(module, end)? {
            true => otherwise,
            false => then,
        };
        let is_loop = cond == end
            && compared_with_zero(module, end) == Some(next)
            && self.uses(end).len() == 1
            && goes_back == data.block
            && then != otherwise
            && (self.dominates)(data.block, latch)
            && self.uses(counter) == [next];
        let is_entered = |&guard: &Value| self.enters(module, count, guard, data.block, before);
        (is_loop && guards.iter().any(is_entered)).then(|| Loop {
            header: data.block,
            before,
            counter,
            next,
            end,
            guards: guards.to_vec(),
            exits: (self.exits)(module, data.block),
        })
    }

    /// Returns whether a loop is entered only if the count is not 0, by a guard.
    fn enters(
        &self,
        module: &Module,
        count: &Count,
        guard: Value,
        header: Block,
        before: Block,
    ) -> bool {
        let range = difference(module, count.length);
        let is_longer = range.and_then(|range| is_longer(module, guard, range));
        let equals = equals_zero(module, guard);
        let Some(holds) = is_longer.or(equals.map(|equals| !equals)) else {
            return false;
        };
        self.uses(guard).iter().any(|&branch| {
            let Some(data) = module.inst(branch) else {
                return false;
            };
            let InstKind::CondBr {
                cond,
                then,
                otherwise,
            } = data.kind
            else {
                return false;
            };
            let target = if holds { then } else { otherwise };
            let is_edge = target == header && before == data.block;
            let is_behind = (self.predecessors)(target) == 1 && (self.dominates)(target, before);
            cond == guard && then != otherwise && (is_edge || is_behind)
        })
    }

    /// Changes the loop. Returns whether the conditions of some branches became constants.
    fn subtract(&self, module: &mut Module, count: &Count, looped: &Loop) -> bool {
        for &guard in &looped.guards {
            replace(module, guard, count.count, count.length);
        }
        let range = difference(module, count.length);
        let value = range.and_then(|(_, start)| self.value(module, start, count.step, looped));
        let (Some((end, _)), Some(value)) = (range, value) else {
            replace(module, looped.counter, count.count, count.length);
            let subtract = InstKind::Bin {
                op: BinOp::Sub,
                lhs: looped.counter,
                rhs: count.step,
                flags: Flags::default(),
            };
            set(module, looped.next, subtract);
            let ends_at_zero = equals_zero(module, looped.end) == Some(true);
            let pred = match ends_at_zero {
                true => IntPred::Ule,
                false => IntPred::Ugt,
            };
            compare(module, looped.end, pred, looped.counter, count.step);
            return false;
        };
        self.end_at(module, count, looped, value, end);
        let checks = self.checks(module, value, end);
        self.remove(module, &checks)
    }

    /// Changes a loop whose step is a power of two. Returns the same.
    fn compare_with_end(&self, module: &mut Module, count: &Count, looped: &Loop) -> bool {
        let range = difference(module, count.length);
        let value = range.and_then(|(_, start)| self.value(module, start, count.step, looped));
        let (Some((end, _)), Some(value)) = (range, value) else {
            return false;
        };
        let checks = self.checks(module, value, end);
        let is_left = |block: &&Block| {
            let end = module.terminator(**block).and_then(|it| kind(module, it));
            !matches!(end, Some(InstKind::CondBr { cond, .. })
                if checks.iter().any(|(check, _)| check == cond))
        };
        if looped.exits.iter().filter(is_left).count() > 1 {
            self.end_at(module, count, looped, value, end);
        }
        self.remove(module, &checks)
    }

    /// Lets a loop end when its value is too close to the end of the range for another step.
    fn end_at(&self, module: &mut Module, count: &Count, looped: &Loop, value: Value, end: Value) {
        let ends_at_zero = equals_zero(module, looped.end) == Some(true);
        let ty = module.ty(end);
        let none = module.const_int(ty, 0);
        let truth = module.types.int(1);
        let has_step = InstKind::ICmp {
            pred: IntPred::Uge,
            lhs: end,
            rhs: count.step,
        };
        let has_step = module.insert_at_end(looped.before, truth, has_step);
        let rest = InstKind::Bin {
            op: BinOp::Sub,
            lhs: end,
            rhs: count.step,
            flags: Flags::default(),
        };
        let rest = module.insert_at_end(looped.before, ty, rest);
        let bound = InstKind::Select {
            cond: has_step,
            then: rest,
            otherwise: none,
        };
        let bound = module.insert_at_end(looped.before, ty, bound);
        let pred = match ends_at_zero {
            true => IntPred::Uge,
            false => IntPred::Ult,
        };
        compare(module, looped.end, pred, value, bound);
        // Nothing uses the counter any more, except its own next value.
        replace(module, looped.counter, count.count, none);
    }

    /// Returns the value of the range in each iteration, if the loop has it.
    fn value(&self, module: &Module, start: Value, step: Value, looped: &Loop) -> Option<Value> {
        let mut phis = module.block(looped.header).insts.iter().copied();
        phis.find(|&phi| {
            let Some(InstKind::Phi(incoming)) = kind(module, phi) else {
                return false;
            };
            let adds = |value| match sum(module, value) {
                Some((a, b)) => [a, b] == [phi, step] || [b, a] == [phi, step],
                None => false,
            };
            matches!(incoming[..], [(a, from), (b, back)]
                if (a == start && from == looped.before && adds(b))
                    || (b == start && back == looped.before && adds(a)))
        })
    }

    /// Returns the comparisons of the range's value with its end, with their results.
    fn checks(&self, module: &Module, value: Value, end: Value) -> Vec<(Value, bool)> {
        let holds = |&check: &Value| match *kind(module, check)? {
            InstKind::ICmp { pred, lhs, rhs } => match pred {
                IntPred::Ult if (lhs, rhs) == (value, end) => Some((check, true)),
                IntPred::Ugt if (lhs, rhs) == (end, value) => Some((check, true)),
                IntPred::Uge if (lhs, rhs) == (value, end) => Some((check, false)),
                IntPred::Ule if (lhs, rhs) == (end, value) => Some((check, false)),
                _ => None,
            },
            _ => None,
        };
        self.uses(value).iter().filter_map(holds).collect()
    }

    /// Replaces comparisons with their results. Returns whether there are any.
    fn remove(&self, module: &mut Module, checks: &[(Value, bool)]) -> bool {
        for &(check, holds) in checks {
            let truth = module.const_bool(holds);
            for &user in self.uses(check) {
                replace(module, user, check, truth);
            }
        }
        !checks.is_empty()
    }
}

fn compare(module: &mut Module, inst: Value, pred: IntPred, lhs: Value, rhs: Value) {
    set(module, inst, InstKind::ICmp { pred, lhs, rhs });
}

fn kind(module: &Module, value: Value) -> Option<&InstKind> {
    module.inst(value).map(|data| &data.kind)
}

fn set(module: &mut Module, value: Value, kind: InstKind) {
    if let Some(data) = module.inst_mut(value) {
        data.kind = kind;
    }
}

/// Replaces an operand of an instruction.
fn replace(module: &mut Module, user: Value, old: Value, new: Value) {
    if let Some(data) = module.inst_mut(user) {
        data.kind.for_each_operand_mut(|operand| {
            if *operand == old {
                *operand = new;
            }
        });
    }
}

fn binary(module: &Module, value: Value, wanted: BinOp) -> Option<(Value, Value)> {
    match *kind(module, value)? {
        InstKind::Bin { op, lhs, rhs, .. } if op == wanted => Some((lhs, rhs)),
        _ => None,
    }
}

/// Matches whether two values differ, as a number. Returns the comparison and both values.
fn difference_as_number(module: &Module, value: Value) -> Option<(Value, Value, Value)> {
    let InstKind::Cast {
        op: CastOp::ZExt,
        value: differs,
        ..
    } = *kind(module, value)?
    else {
        return None;
    };
    match *kind(module, differs)? {
        InstKind::ICmp {
            pred: IntPred::Ne,
            lhs,
            rhs,
        } => Some((differs, lhs, rhs)),
        _ => None,
    }
}

/// Returns the result of a comparison with which the end of a range is greater than its start.
fn is_longer(module: &Module, value: Value, range: (Value, Value)) -> Option<bool> {
    let InstKind::ICmp { pred, lhs, rhs } = *kind(module, value)? else {
        return None;
    };
    match pred {
        IntPred::Ugt if (lhs, rhs) == range => Some(true),
        IntPred::Ult if (rhs, lhs) == range => Some(true),
        IntPred::Ule if (lhs, rhs) == range => Some(false),
        IntPred::Uge if (rhs, lhs) == range => Some(false),
        _ => None,
    }
}

fn sum(module: &Module, value: Value) -> Option<(Value, Value)> {
    binary(module, value, BinOp::Add)
}

/// Returns whether a value is the constant 0.
pub(super) fn is_zero(module: &Module, value: Value) -> bool {
    matches!(module.as_const(value), Some(Const::Zero | Const::Int(0)))
}

/// Returns the value that a comparison tests for being 0.
fn compared_with_zero(module: &Module, value: Value) -> Option<Value> {
    match *kind(module, value)? {
        InstKind::ICmp {
            pred: IntPred::Eq | IntPred::Ne,
            lhs,
            rhs,
        } => is_zero(module, rhs).then_some(lhs),
        _ => None,
    }
}

/// Returns whether a comparison is one for equality, or `None` if it is one of order.
fn equals_zero(module: &Module, value: Value) -> Option<bool> {
    match kind(module, value)? {
        InstKind::ICmp {
            pred: IntPred::Eq, ..
        } => Some(true),
        InstKind::ICmp {
            pred: IntPred::Ne, ..
        } => Some(false),
        _ => None,
    }
}

/// Returns the end and the start of a range, of which a value is the length, or 0 if the end comes
/// first.
fn difference(module: &Module, mut length: Value) -> Option<(Value, Value)> {
    while let InstKind::Freeze(frozen) = *kind(module, length)? {
        length = frozen;
    }
    match kind(module, length)? {
        InstKind::Call(call) if call.callee == Callee::Intrinsic(Intrinsic::USubSat) => {
            match call.args[..] {
                [end, start] => Some((end, start)),
                _ => None,
            }
        }
        _ => None,
    }
}
