//! The pass `bound_searches`.

use std::collections::{HashMap, HashSet};

use super::prune::prune;
use crate::flow::Flow;
use crate::inst::{BinOp, InstKind, IntPred};
use crate::module::Module;
use crate::value::{Block, Const, Func, Value};

/// The maximum number of selections and phis between a variable and its next value.
const CHOICES: usize = 8;

/// Removes checks of the indices of binary searches.
///
/// `while low < high { let middle = (low + high) / 2; … }` sets `high = middle` or `low = middle + 1`
/// in each iteration. `middle` is less than `high`, even if the sum wraps around, and `high` never
/// grows. So `middle` is less than the first value of `high`, and `low` is at most that value. LLVM
/// does not relate two variables of a loop.
pub fn bound_searches(module: &mut Module) {
    let funcs: Vec<Func> = module.funcs().collect();
    for func in funcs {
        let searches = searches(module, func);
        if !searches.is_empty() && remove_checks(module, func, &searches) {
            prune(module, func);
        }
    }
}

/// A binary search.
struct Search {
    /// The first value of `high`.
    end: Value,
    /// The sum of `low` and `high`, if `middle` is computed from it.
    sum: Option<Value>,
    middle: Value,
    /// Values that are at most the first value of `high`.
    lows: HashSet<Value>,
}

/// Returns the binary searches of a function.
fn searches(module: &Module, func: Func) -> Vec<Search> {
    let blocks = &module.func(func).blocks;
    let middles: Vec<Middle> = (blocks.iter())
        .flat_map(|&block| &module.block(block).insts)
        .filter_map(|&inst| Middle::of(module, inst))
        .collect();
    if middles.is_empty() {
        return Vec::new();
    }
    let index: HashMap<Block, usize> = blocks.iter().copied().zip(0..).collect();
    let flow = Flow::new(module, func, |block| index[&block]);
    let mut searches = Vec::new();
    let loops = flow.loops();
    let headers: HashSet<Block> = loops.iter().map(|it| blocks[it.header]).collect();
    for each in &loops {
        let header = blocks[each.header];
        // A phi of a header has a value of an earlier iteration.
        let is_joined =
            |block: Block| each.body.contains(&index[&block]) && !headers.contains(&block);
        let is_latch = |block: Block| each.latches.contains(&index[&block]);
        // The first value and the block before the loop.
        let start = |incoming: &[(Value, Block)]| {
            let mut outside = incoming.iter().filter(|(_, block)| !is_latch(*block));
            match (outside.next(), outside.next()) {
                (Some(&start), None) => Some(start),
                _ => None,
            }
        };
        for middle in &middles {
            for [low, high] in [middle.ends, [middle.ends[1], middle.ends[0]]] {
                let (Some(lows), Some(highs)) =
                    (phi(module, header, low), phi(module, header, high))
                else {
                    continue;
                };
                let (Some((first, before)), Some((end, _))) = (start(lows), start(highs)) else {
                    continue;
                };
                // `middle` is a difference from `low` only in this order.
                if middle.sum.is_none() && middle.ends != [low, high] {
                    continue;
                }
                let mut at_most = HashSet::from([low]);
                let steps = |incoming: &[(Value, Block)], old, is_new: &dyn Fn(Value) -> bool| {
                    (incoming.iter())
                        .filter(|(_, block)| is_latch(*block))
                        .all(|&(value, _)| {
                            let leaves = leaves(module, value, old, &is_joined);
                            leaves.is_some_and(|leaves| leaves.into_iter().all(is_new))
                        })
                };
                let is_low = |value| value == middle.value || is_next(module, value, middle.value);
                let is_high = |value| value == middle.value;
                if !steps(lows, low, &is_low) || !steps(highs, high, &is_high) {
                    continue;
                }
                let latches = || lows.iter().filter(|(_, block)| is_latch(*block));
                at_most.extend(latches().map(|&(value, _)| value));
                let is_entered = is_less_at_start(module, first, end)
                    || branches(module, blocks).any(|(block, cond, then, otherwise)| {
                        let target = match below(module, cond, first, end) {
                            Some(true) => then,
                            Some(false) => otherwise,
                            None => return false,
                        };
                        let is_edge = block == before && target == header;
                        let is_behind = flow.predecessors(index[&target]).len() == 1
                            && flow.dominates(index[&target], index[&before]);
                        then != otherwise && (is_edge || is_behind)
                    });
                let goes_back = |&(next_low, block): &(Value, Block)| {
                    let next_high = highs.iter().find(|(_, from)| *from == block);
                    next_high.is_some_and(|&(next_high, _)| {
                        goes_back_below(module, block, header, next_low, next_high)
                    })
                };
                if is_entered && latches().all(goes_back) {
                    searches.push(Search {
                        end,
                        sum: middle.sum,
                        middle: middle.value,
                        lows: at_most,
                    });
                }
            }
        }
    }
    searches
}

/// `(a + b) / 2`, or `a + (b - a) / 2`.
struct Middle {
    value: Value,
    sum: Option<Value>,
    ends: [Value; 2],
}

impl Middle {
    fn of(module: &Module, value: Value) -> Option<Middle> {
        if let Some(sum) = half(module, value) {
            let (a, b) = binary(module, sum, BinOp::Add)?;
            return Some(Middle {
                value,
                sum: Some(sum),
                ends: [a, b],
            });
        }
        let (a, b) = binary(module, value, BinOp::Add)?;
        [(a, b), (b, a)].into_iter().find_map(|(low, distance)| {
            let (high, from) = binary(module, half(module, distance)?, BinOp::Sub)?;
            (from == low).then_some(Middle {
                value,
                sum: None,
                ends: [low, high],
            })
        })
    }
}

/// Replaces the checks of searches. Returns whether there are any.
fn remove_checks(module: &mut Module, func: Func, searches: &[Search]) -> bool {
    replace_comparisons(module, func, |module, pred, lhs, rhs| {
        let (left, right, result) = less(pred, lhs, rhs)?;
        let is_less = (searches.iter()).any(|it| it.is_less(module, left, right));
        is_less.then_some(result)
    })
}

/// Returns the operands of a comparison as a `left < right` that has a result.
pub(super) fn less(pred: IntPred, lhs: Value, rhs: Value) -> Option<(Value, Value, bool)> {
    match pred {
        IntPred::Ult => Some((lhs, rhs, true)),
        IntPred::Uge => Some((lhs, rhs, false)),
        IntPred::Ugt => Some((rhs, lhs, true)),
        IntPred::Ule => Some((rhs, lhs, false)),
        _ => None,
    }
}

/// Replaces comparisons by constants, where `known` returns the result. Returns whether there are
/// any.
pub(super) fn replace_comparisons(
    module: &mut Module,
    func: Func,
    known: impl Fn(&Module, IntPred, Value, Value) -> Option<bool>,
) -> bool {
    let blocks = module.func(func).blocks.clone();
    let insts: Vec<Value> = (blocks.iter())
        .flat_map(|&block| module.block(block).insts.iter().copied())
        .collect();
    let mut results: HashMap<Value, bool> = HashMap::new();
    for &inst in &insts {
        if let Some(&InstKind::ICmp { pred, lhs, rhs }) = kind(module, inst)
            && let Some(result) = known(module, pred, lhs, rhs)
        {
            results.insert(inst, result);
        }
    }
    if results.is_empty() {
        return false;
    }
    let constants = [false, true].map(|value| module.const_bool(value));
    for inst in insts {
        if let Some(data) = module.inst_mut(inst) {
            data.kind.for_each_operand_mut(|operand| {
                if let Some(&result) = results.get(operand) {
                    *operand = constants[usize::from(result)];
                }
            });
        }
    }
    true
}

impl Search {
    /// Returns whether a value of the search is less than another one.
    fn is_less(&self, module: &Module, left: Value, right: Value) -> bool {
        if left == self.middle && right == self.end {
            return true;
        }
        let (Some(end), Some(right)) = (number(module, self.end), number(module, right)) else {
            return false;
        };
        (left == self.middle && end <= right)
            || (self.lows.contains(&left) && end < right)
            // Such an end is so small that the sum does not wrap around.
            || (self.sum == Some(left) && end <= right / 2)
    }
}

/// Returns the leaves except `old` of a tree of selections and of phis of some blocks, unless it is
/// large.
fn leaves(
    module: &Module,
    value: Value,
    old: Value,
    is_joined: &dyn Fn(Block) -> bool,
) -> Option<Vec<Value>> {
    let mut leaves = Vec::new();
    let mut pending = vec![value];
    let mut seen = HashSet::new();
    while let Some(value) = pending.pop() {
        if value == old || !seen.insert(value) {
            continue;
        }
        match module.inst(value).map(|data| (&data.kind, data.block)) {
            Some((
                &InstKind::Select {
                    then, otherwise, ..
                },
                _,
            )) => pending.extend([then, otherwise]),
            Some((InstKind::Phi(incoming), block)) if is_joined(block) => {
                pending.extend(incoming.iter().map(|&(it, _)| it));
            }
            _ => leaves.push(value),
        }
        if seen.len() > CHOICES {
            return None;
        }
    }
    Some(leaves)
}

/// Returns whether a loop goes back from a block only if `low` is less than `high`.
fn goes_back_below(module: &Module, latch: Block, header: Block, low: Value, high: Value) -> bool {
    let Some(&InstKind::CondBr {
        cond,
        then,
        otherwise,
    }) = module.terminator(latch).and_then(|it| kind(module, it))
    else {
        return false;
    };
    match below(module, cond, low, high) {
        Some(true) => then == header && otherwise != header,
        Some(false) => otherwise == header && then != header,
        None => false,
    }
}

/// Returns whether `low < high` if a condition holds, or `false` if it is so when it does not hold.
fn below(module: &Module, cond: Value, low: Value, high: Value) -> Option<bool> {
    let &InstKind::ICmp { pred, lhs, rhs } = kind(module, cond)? else {
        return None;
    };
    match pred {
        IntPred::Ult if (lhs, rhs) == (low, high) => Some(true),
        IntPred::Ugt if (lhs, rhs) == (high, low) => Some(true),
        IntPred::Uge if (lhs, rhs) == (low, high) => Some(false),
        IntPred::Ule if (lhs, rhs) == (high, low) => Some(false),
        // All numbers but 0 are greater than 0.
        IntPred::Eq | IntPred::Ne if number(module, low) == Some(0) => {
            let is_zero = |value| number(module, value) == Some(0);
            let is_high = lhs == high && is_zero(rhs) || rhs == high && is_zero(lhs);
            is_high.then_some(pred == IntPred::Ne)
        }
        _ => None,
    }
}

fn is_less_at_start(module: &Module, low: Value, high: Value) -> bool {
    matches!((number(module, low), number(module, high)), (Some(low), Some(high)) if low < high)
}

/// Returns the conditional branches of a function.
pub(super) fn branches<'a>(
    module: &'a Module,
    blocks: &'a [Block],
) -> impl Iterator<Item = (Block, Value, Block, Block)> + 'a {
    blocks
        .iter()
        .filter_map(|&block| match *kind(module, module.terminator(block)?)? {
            InstKind::CondBr {
                cond,
                then,
                otherwise,
            } => Some((block, cond, then, otherwise)),
            _ => None,
        })
}

/// Returns the values of a phi of a block.
pub(super) fn phi(module: &Module, block: Block, value: Value) -> Option<&[(Value, Block)]> {
    let data = module.inst(value)?;
    match &data.kind {
        InstKind::Phi(incoming) if data.block == block => Some(incoming),
        _ => None,
    }
}

pub(super) fn kind(module: &Module, value: Value) -> Option<&InstKind> {
    module.inst(value).map(|data| &data.kind)
}

fn binary(module: &Module, value: Value, wanted: BinOp) -> Option<(Value, Value)> {
    match *kind(module, value)? {
        InstKind::Bin { op, lhs, rhs, .. } if op == wanted => Some((lhs, rhs)),
        _ => None,
    }
}

/// Returns the value of which another one is the half, rounded down.
fn half(module: &Module, value: Value) -> Option<Value> {
    let (whole, by) = binary(module, value, BinOp::LShr)?;
    (number(module, by) == Some(1)).then_some(whole)
}

/// Returns whether a value is another one plus 1.
pub(super) fn is_next(module: &Module, value: Value, of: Value) -> bool {
    match binary(module, value, BinOp::Add) {
        Some((a, b)) => {
            a == of && number(module, b) == Some(1) || b == of && number(module, a) == Some(1)
        }
        None => false,
    }
}

/// Returns the value of a constant integer.
pub(super) fn number(module: &Module, value: Value) -> Option<u128> {
    match module.as_const(value)? {
        Const::Int(number) => Some(*number),
        Const::Zero => Some(0),
        _ => None,
    }
}
