//! The pass `subtract_steps`.

use std::collections::HashMap;

use super::prune::prune;
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
pub fn subtract_steps(module: &mut Module) {
    let funcs: Vec<Func> = module.funcs().collect();
    for func in funcs {
        let blocks = module.func(func).blocks.clone();
        let counts: Vec<Count> = (blocks.iter())
            .flat_map(|&block| module.block(block).insts.iter().copied())
            .filter_map(|inst| Count::of(module, inst))
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
        let function = Function {
            uses,
            dominates: &dominates,
            predecessors: &predecessors,
        };
        let mut has_checks = false;
        for count in counts {
            if let Some(looped) = function.loop_of(module, &count) {
                has_checks |= function.subtract(module, &count, &looped);
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
    /// The intermediate results, which nothing else may use.
    parts: Vec<Value>,
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
                let InstKind::Cast {
                    op: CastOp::ZExt,
                    value: differs,
                    ..
                } = *kind(module, extended)?
                else {
                    return None;
                };
                let InstKind::ICmp {
                    pred: IntPred::Ne,
                    lhs,
                    rhs,
                } = *kind(module, differs)?
                else {
                    return None;
                };
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
                // A division by a constant is cheap, and ptxas unrolls such loops.
                module.as_const(step).is_none().then(|| Count {
                    count,
                    length,
                    step,
                    parts: vec![quotient, extended, differs, part],
                })
            })
    }
}

/// What the pass needs to know about a function.
struct Function<'a> {
    uses: HashMap<Value, Vec<Value>>,
    dominates: &'a dyn Fn(Block, Block) -> bool,
    predecessors: &'a dyn Fn(Block) -> usize,
}

impl Function<'_> {
    fn uses(&self, value: Value) -> &[Value] {
        self.uses.get(&value).map_or(&[], Vec::as_slice)
    }

    /// Returns the loop that counts down, if nothing else uses the count or the counter.
    fn loop_of(&self, module: &Module, count: &Count) -> Option<Loop> {
        let own = |user: &Value| *user == count.count || count.parts.contains(user);
        let is_private = |part: &Value| self.uses(*part).iter().all(own);
        if !count.parts.iter().all(is_private) {
            return None;
        }
        let is_guard = |user: &Value| compared_with_zero(module, *user) == Some(count.count);
        let (guards, others): (Vec<Value>, Vec<Value>) = self
            .uses(count.count)
            .iter()
            .partition(|user| is_guard(user));
        let [counter] = *others else { return None };
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
        let is_entered = |&guard: &Value| self.enters(module, guard, data.block, before);
        (is_loop && guards.iter().any(is_entered)).then_some(Loop {
            header: data.block,
            before,
            counter,
            next,
            end,
            guards,
        })
    }

    /// Returns whether a loop is entered only if the count that `guard` compares with 0 is not 0.
    fn enters(&self, module: &Module, guard: Value, header: Block, before: Block) -> bool {
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
            let Some(equals) = equals_zero(module, guard) else {
                return false;
            };
            let target = if equals { otherwise } else { then };
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
        let ends_at_zero = equals_zero(module, looped.end) == Some(true);
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
            let pred = match ends_at_zero {
                true => IntPred::Ule,
                false => IntPred::Ugt,
            };
            compare(module, looped.end, pred, looped.counter, count.step);
            return false;
        };
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
        self.remove_checks(module, value, end)
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

    /// Replaces comparisons of the range's value with its end. Returns whether there are any.
    fn remove_checks(&self, module: &mut Module, value: Value, end: Value) -> bool {
        let mut changed = false;
        for &check in self.uses(value) {
            let holds = match kind(module, check) {
                Some(&InstKind::ICmp { pred, lhs, rhs }) => match pred {
                    IntPred::Ult if (lhs, rhs) == (value, end) => true,
                    IntPred::Ugt if (lhs, rhs) == (end, value) => true,
                    IntPred::Uge if (lhs, rhs) == (value, end) => false,
                    IntPred::Ule if (lhs, rhs) == (end, value) => false,
                    _ => continue,
                },
                _ => continue,
            };
            let truth = module.const_bool(holds);
            for &user in self.uses(check) {
                replace(module, user, check, truth);
            }
            changed = true;
        }
        changed
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
