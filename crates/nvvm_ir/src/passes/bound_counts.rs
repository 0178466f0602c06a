//! The pass `bound_counts`.

use std::collections::{HashMap, HashSet};

use super::bound_searches::{branches, is_next, kind, less, number, phi, replace_comparisons};
use super::prune::prune;
use super::unroll_divergent_loops::users;
use crate::flow::Flow;
use crate::inst::{BinOp, CastOp, InstKind, IntPred};
use crate::module::Module;
use crate::value::{Block, Func, Value};

/// The maximum number of phis between a number and the branch that shows that it is not 0.
const DEPTH: usize = 3;

/// Removes checks of numbers that loops over slices count.
///
/// `let digits = text.iter().take_while(|c| c.is_ascii_digit()).count();` leaves the loop at a byte
/// that is no digit, or if the counter plus 1 equals the length. If the length is not 0, the counter
/// is less than it in each iteration. `text.split_at(digits)` then checks that the count is at most
/// the length: LLVM derives that only from loops with one exit.
///
/// Counters that some iterations skip, as that of `filter`, are at most the counter of all.
pub fn bound_counts(module: &mut Module) {
    let funcs: Vec<Func> = module.funcs().collect();
    for func in funcs {
        let counts = counts(module, func);
        let replaced = replace_comparisons(module, func, |module, pred, lhs, rhs| {
            let (left, right, result) = less(pred, lhs, rhs)?;
            let any = |is: &dyn Fn(&Count) -> bool| counts.iter().any(is);
            if any(&|it| it.less.contains(&left) && it.bounds(module, right)) {
                Some(result)
            } else {
                any(&|it| it.at_most.contains(&right) && it.bounds(module, left)).then_some(!result)
            }
        });
        if replaced {
            prune(module, func);
        }
    }
}

/// The values of counters of a loop.
struct Count {
    end: Value,
    /// Values that are less than the end.
    less: HashSet<Value>,
    /// Values that are at most the end.
    at_most: HashSet<Value>,
}

/// Returns the counts of the loops of a function.
fn counts(module: &Module, func: Func) -> Vec<Count> {
    let blocks = &module.func(func).blocks;
    let index: HashMap<Block, usize> = blocks.iter().copied().zip(0..).collect();
    let mut state: Option<(Flow, HashMap<Value, Vec<Value>>)> = None;
    let mut counts = Vec::new();
    for (latch, cond, then, otherwise) in branches(module, blocks) {
        let Some(&InstKind::ICmp { pred, lhs, rhs }) = kind(module, cond) else {
            continue;
        };
        let header = match pred {
            IntPred::Ne | IntPred::Ult => then,
            IntPred::Eq | IntPred::Uge => otherwise,
            _ => continue,
        };
        for (next, end) in [(lhs, rhs), (rhs, lhs)] {
            if next == rhs && !matches!(pred, IntPred::Eq | IntPred::Ne) {
                continue;
            }
            let is_counter = |&inst: &Value| {
                phi(module, header, inst).is_some_and(|incoming| {
                    incoming.contains(&(next, latch)) && is_next(module, next, inst)
                })
            };
            let counter = module.block(header).insts.iter().copied().find(is_counter);
            let Some(counter) = counter.filter(|_| then != otherwise) else {
                continue;
            };
            let (flow, users) = state.get_or_insert_with(|| {
                let flow = Flow::new(module, func, |block| index[&block]);
                (flow, users(module, func))
            });
            let ways = Ways {
                module,
                flow,
                blocks,
                index: &index,
            };
            if let Some(mut count) = ways.count(counter, next, end, header, latch) {
                ways.add_joined(&mut count, users);
                counts.push(count);
            }
        }
    }
    counts
}

/// The control flow of a function.
pub(super) struct Ways<'a> {
    pub(super) module: &'a Module,
    pub(super) flow: &'a Flow,
    pub(super) blocks: &'a [Block],
    pub(super) index: &'a HashMap<Block, usize>,
}

impl Ways<'_> {
    /// Returns the count of a loop whose counter is compared at its end.
    fn count(
        &self,
        counter: Value,
        next: Value,
        end: Value,
        header: Block,
        latch: Block,
    ) -> Option<Count> {
        let module = self.module;
        let at = self.index[&header];
        let is_latch = |block: Block| block == latch;
        let is_invariant = module.inst(end).is_none_or(|end| {
            end.block != header && self.flow.dominates(self.index[&end.block], at)
        });
        // All ways back are from the latch.
        let is_loop = (self.flow.predecessors(at).iter()).all(|&from| {
            let from = self.blocks[from as usize];
            is_latch(from) || !self.flow.dominates(at, self.index[&from])
        });
        if !is_invariant || !is_loop || !self.flow.dominates(at, self.index[&latch]) {
            return None;
        }
        let starts_at_0 = |incoming: &[(Value, Block)]| {
            let mut outside = incoming.iter().filter(|&&(_, block)| !is_latch(block));
            outside.all(|&(first, _)| number(module, first) == Some(0))
        };
        let from = phi(module, header, counter)?;
        let is_entered = (from.iter().filter(|&&(_, block)| !is_latch(block)))
            .all(|&(_, before)| self.is_not_0(end, before, header, DEPTH));
        if !starts_at_0(from) || !is_entered {
            return None;
        }
        let mut less = HashSet::from([counter]);
        let mut at_most = HashSet::from([counter, next]);
        for &other in &module.block(header).insts {
            let Some(incoming) = phi(module, header, other) else {
                break;
            };
            if module.ty(other) != module.ty(counter) || !starts_at_0(incoming) {
                continue;
            }
            let mut latches = incoming.iter().filter(|&&(_, block)| is_latch(block));
            if latches.all(|&(value, _)| self.is_step(value, other, header)) {
                less.insert(other);
                at_most.insert(other);
                at_most.extend((incoming.iter()).map(|&(value, _)| value));
            }
        }
        Some(Count { end, less, at_most })
    }

    /// Returns whether the next value of a counter is the same or one more.
    fn is_step(&self, value: Value, old: Value, header: Block) -> bool {
        let mut pending = vec![value];
        let mut seen = HashSet::new();
        while let Some(value) = pending.pop() {
            if value == old || is_next(self.module, value, old) || !seen.insert(value) {
                continue;
            }
            match self.module.inst(value).map(|data| (&data.kind, data.block)) {
                Some((
                    &InstKind::Select {
                        then, otherwise, ..
                    },
                    _,
                )) => pending.extend([then, otherwise]),
                // A phi of a loop within this one may add several times.
                Some((InstKind::Phi(incoming), block))
                    if block != header && !self.is_header(block) =>
                {
                    pending.extend(incoming.iter().map(|&(it, _)| it));
                }
                Some((
                    &InstKind::Bin {
                        op: BinOp::Add,
                        lhs,
                        rhs,
                        ..
                    },
                    _,
                )) => {
                    let is_bit = |value| match kind(self.module, value) {
                        Some(&InstKind::Cast {
                            op: CastOp::ZExt,
                            value,
                        }) => self.module.types.int_bits(self.module.ty(value)) == Some(1),
                        _ => false,
                    };
                    if !(lhs == old && is_bit(rhs) || rhs == old && is_bit(lhs)) {
                        return false;
                    }
                }
                _ => return false,
            }
        }
        true
    }

    /// Adds phis and selections that only choose among values that are at most the end.
    fn add_joined(&self, count: &mut Count, users: &HashMap<Value, Vec<Value>>) {
        let module = self.module;
        // A phi elsewhere may have a value from before another execution of the end's instruction.
        let is_behind = |block: Block| {
            module.inst(count.end).is_none_or(|end| {
                end.block != block
                    && self
                        .flow
                        .dominates(self.index[&end.block], self.index[&block])
            })
        };
        let mut pending: Vec<Value> = count.at_most.iter().copied().collect();
        pending.push(count.end);
        while let Some(value) = pending.pop() {
            for &user in users.get(&value).into_iter().flatten() {
                let is_small = |it: Value| {
                    count.at_most.contains(&it) || it == count.end || number(module, it) == Some(0)
                };
                let joins = match module.inst(user).map(|data| (&data.kind, data.block)) {
                    Some((InstKind::Phi(incoming), block)) => {
                        is_behind(block) && incoming.iter().all(|&(it, _)| is_small(it))
                    }
                    Some((
                        &InstKind::Select {
                            then, otherwise, ..
                        },
                        _,
                    )) => is_small(then) && is_small(otherwise),
                    _ => false,
                };
                if joins && count.at_most.insert(user) {
                    pending.push(user);
                }
            }
        }
    }

    fn is_header(&self, block: Block) -> bool {
        let at = self.index[&block];
        let mut from = self.flow.predecessors(at).iter();
        from.any(|&from| self.flow.dominates(at, from as usize))
    }

    /// Returns whether a value is not 0 in a block.
    pub(super) fn is_not_0_in(&self, value: Value, block: Block) -> bool {
        self.is_not_0_at(value, block, None, DEPTH)
    }

    /// Returns whether a value is not 0 if control goes from a block to another one.
    fn is_not_0(&self, value: Value, from: Block, to: Block, depth: usize) -> bool {
        self.is_not_0_at(value, from, Some(to), depth)
    }

    /// Returns whether a value is not 0 in a block, if control goes to another one from there.
    fn is_not_0_at(&self, value: Value, from: Block, to: Option<Block>, depth: usize) -> bool {
        let module = self.module;
        if let Some(number) = number(module, value) {
            return number != 0;
        }
        let by_branch = branches(module, self.blocks).any(|(block, cond, then, otherwise)| {
            let implies = |target: Block, holds: bool| {
                let is_edge = block == from && Some(target) == to;
                let is_behind = self.flow.predecessors(self.index[&target]).len() == 1
                    && self.flow.dominates(self.index[&target], self.index[&from]);
                (is_edge || is_behind) && shows_not_0(module, cond, holds, value, DEPTH)
            };
            then != otherwise && (implies(then, true) || implies(otherwise, false))
        });
        by_branch
            || match module.inst(value).map(|data| (&data.kind, data.block)) {
                Some((InstKind::Phi(incoming), block)) if depth > 0 => {
                    (incoming.iter()).all(|&(it, from)| self.is_not_0(it, from, block, depth - 1))
                }
                Some((
                    &InstKind::Cast {
                        op: CastOp::ZExt,
                        value,
                    },
                    _,
                )) if depth > 0 => self.is_not_0_at(value, from, to, depth - 1),
                _ => false,
            }
    }
}

/// Returns whether a value is not 0 if a condition holds, or if it does not hold.
fn shows_not_0(module: &Module, cond: Value, holds: bool, value: Value, depth: usize) -> bool {
    let is_0 = |it| number(module, it) == Some(0);
    let is_bool = |it, wanted: u128| number(module, it) == Some(wanted);
    match kind(module, cond) {
        Some(&InstKind::ICmp { pred, lhs, rhs }) => match (pred, holds) {
            (IntPred::Eq, false) | (IntPred::Ne, true) => {
                lhs == value && is_0(rhs) || rhs == value && is_0(lhs)
            }
            (IntPred::Ugt, true) | (IntPred::Ule, false) => lhs == value,
            (IntPred::Ult, true) | (IntPred::Uge, false) => rhs == value,
            _ => false,
        },
        // `a || b` and `a && b`.
        Some(&InstKind::Select {
            cond: first,
            then,
            otherwise,
        }) if depth > 0 => {
            let either = |second| {
                shows_not_0(module, first, holds, value, depth - 1)
                    || shows_not_0(module, second, holds, value, depth - 1)
            };
            (!holds && is_bool(then, 1) && either(otherwise))
                || (holds && is_bool(otherwise, 0) && either(then))
        }
        Some(&InstKind::Bin { op, lhs, rhs, .. }) if depth > 0 => {
            let is_either = match op {
                BinOp::Or => !holds,
                BinOp::And => holds,
                _ => false,
            };
            is_either
                && (shows_not_0(module, lhs, holds, value, depth - 1)
                    || shows_not_0(module, rhs, holds, value, depth - 1))
        }
        // A phi of the comparisons of the values of another phi.
        Some(InstKind::Phi(conds)) if depth > 0 => {
            let block = module.inst(cond).map(|data| data.block);
            let values = block.and_then(|block| phi(module, block, value));
            values.is_some_and(|values| {
                conds.iter().all(|&(cond, from)| {
                    let mut same = values.iter().filter(|&&(_, block)| block == from);
                    is_bool(cond, u128::from(!holds))
                        || same.next().is_some_and(|&(value, _)| {
                            shows_not_0(module, cond, holds, value, depth - 1)
                                || number(module, value).is_some_and(|it| it != 0)
                        })
                })
            })
        }
        _ => false,
    }
}

impl Count {
    /// Returns whether a value is at least the end.
    fn bounds(&self, module: &Module, value: Value) -> bool {
        let numbers = (number(module, self.end), number(module, value));
        value == self.end || matches!(numbers, (Some(end), Some(value)) if end <= value)
    }
}
