//! The pass `count_doublings`.

use std::collections::HashMap;

use super::count_iterations::{add_counter, end_by};
use super::unroll_array_loops::number;
use super::unroll_divergent_loops::users;
use crate::flow::{Flow, Loop};
use crate::inst::{BinOp, CastOp, Flags, InstKind, IntPred};
use crate::module::Module;
use crate::value::{Block, Func, Value};

/// The maximum number of iterations of a loop to count.
const ITERATIONS: u32 = 64;

/// The maximum depth of an expression.
const DEPTH: u32 = 8;

/// Counts the iterations of loops whose variables have known bounds in each iteration.
///
/// A search in a tree that is stored level by level is `while node < N { node = 2 * node + bit }`.
/// Whatever the bits are, `node` is at least 2^k and less than 2^(k + 1) after k levels. So each
/// iteration either always ends the loop or never does. LLVM counts only iterations of variables whose
/// values are known. With a counter, libnvvm unrolls the loop.
///
/// After the loop, `node` is `N + rest` if N is a power of two and `rest` is less: the pass says so
/// with a mask, and the check of `leaves[node - N]` goes.
pub fn count_doublings(module: &mut Module) {
    let funcs: Vec<Func> = module.funcs().collect();
    for func in funcs {
        let counted = counted(module, func);
        counted.iter().for_each(|each| each.count(module));
        let any = counted.iter().any(|each| each.last.is_some());
        let users = if any {
            users(module, func)
        } else {
            HashMap::new()
        };
        for each in &counted {
            each.mask(module, func, &users);
        }
    }
}

/// A range of integers without sign, with both ends.
pub(super) type Range = (u128, u128);

/// A loop whose number of iterations is known.
struct Counted {
    header: Block,
    latch: Block,
    /// The blocks before the loop.
    before: Vec<Block>,
    /// Whether the loop continues if the latch's condition is true.
    continues: bool,
    iterations: u32,
    /// The next value of the variable, its range after the last iteration, and the block behind the
    /// loop, if only the last iteration leads there.
    last: Option<(Value, Range, Block)>,
}

/// Returns the loops to count.
fn counted(module: &Module, func: Func) -> Vec<Counted> {
    let blocks = &module.func(func).blocks;
    let is_candidate = |block: &Block| {
        let end = module.terminator(*block).and_then(|inst| module.inst(inst));
        matches!(end.map(|data| &data.kind), Some(InstKind::CondBr { cond, .. })
            if constant_side(module, *cond).is_some())
    };
    if !blocks.iter().any(is_candidate) {
        return Vec::new();
    }
    let index: HashMap<Block, usize> = blocks.iter().copied().zip(0..).collect();
    let flow = Flow::new(module, func, |block| index[&block]);
    let loops = flow.loops();
    (loops.iter())
        .filter_map(|each| Counted::of(module, blocks, &flow, each))
        .collect()
}

/// Returns the predicate, the variable and the constant of a comparison with a constant on the right.
pub(super) fn constant_side(module: &Module, cond: Value) -> Option<(IntPred, Value, u128)> {
    match module.inst(cond)?.kind {
        InstKind::ICmp { pred, lhs, rhs } => Some((pred, lhs, number(module, rhs)?)),
        _ => None,
    }
}

impl Counted {
    fn of(module: &Module, blocks: &[Block], flow: &Flow, each: &Loop) -> Option<Counted> {
        let &[latch_index] = &each.latches[..] else {
            return None;
        };
        let (header, latch) = (blocks[each.header], blocks[latch_index]);
        let &InstKind::CondBr {
            cond,
            then,
            otherwise,
            ..
        } = &module.inst(module.terminator(latch)?)?.kind
        else {
            return None;
        };
        let continues = match (then == header, otherwise == header) {
            (true, false) => true,
            (false, true) => false,
            _ => return None,
        };
        let (pred, compared, limit) = constant_side(module, cond)?;
        let width = module.types.int_bits(module.ty(compared))?;
        let mut phis = module.block(header).insts.iter().copied();
        phis.find_map(|phi| {
            let InstKind::Phi(incoming) = &module.inst(phi)?.kind else {
                return None;
            };
            module
                .types
                .int_bits(module.ty(phi))
                .filter(|&it| it <= 64)?;
            let (back, first): (Vec<_>, Vec<_>) =
                (incoming.iter().copied()).partition(|&(_, block)| block == latch);
            let &[(next, _)] = &back[..] else {
                return None;
            };
            let &(start, _) = first.first()?;
            if first.iter().any(|&(value, _)| value != start) {
                return None;
            }
            let start = number(module, start)?;
            let mut range = (start, start);
            let mut is_known = true;
            let mut iterations = 0;
            loop {
                iterations += 1;
                let variable = (phi, range);
                let following = bounds(module, next, variable, DEPTH);
                is_known &= following.0 == following.1;
                let compared = bounds(module, compared, variable, DEPTH);
                let outcome = compare(pred, width, compared, limit)?;
                range = following;
                if outcome != continues {
                    break;
                }
                if iterations == ITERATIONS {
                    return None;
                }
            }
            // LLVM counts iterations whose values are known.
            if is_known || iterations < 2 {
                return None;
            }
            // Only the latch leads there, so the iteration was the last one.
            let exit = if continues { otherwise } else { then };
            let at = blocks.iter().position(|&block| block == exit)?;
            let is_last = flow.predecessors(at) == [latch_index as u32];
            Some(Counted {
                header,
                latch,
                before: first.into_iter().map(|(_, block)| block).collect(),
                continues,
                iterations,
                last: is_last.then_some((next, range, exit)),
            })
        })
    }

    /// Replaces the condition of the latch by a comparison of a counter.
    fn count(&self, module: &mut Module) {
        let int = module.types.int(32);
        let count = module.const_int(int, self.iterations.into());
        let next = add_counter(module, int, 1, self.header, self.latch, &self.before);
        let pred = match self.continues {
            true => IntPred::Ne,
            false => IntPred::Eq,
        };
        end_by(module, self.latch, pred, next, count);
    }

    /// Lets comparisons after the loop use the range of the variable's last value.
    fn mask(&self, module: &mut Module, func: Func, users: &HashMap<Value, Vec<Value>>) {
        let Some((value, (low, high), exit)) = self.last else {
            return;
        };
        let size = high - low + 1;
        if !size.is_power_of_two() || size < 2 || low % size != 0 {
            return;
        }
        let blocks = &module.func(func).blocks;
        let index: HashMap<Block, usize> = blocks.iter().copied().zip(0..).collect();
        let flow = Flow::new(module, func, |block| index[&block]);
        let is_after = |user: &Value| match module.inst(*user) {
            Some(data) => !module.is_phi(*user) && flow.dominates(index[&exit], index[&data.block]),
            None => false,
        };
        let users = users.get(&value).into_iter().flatten().copied();
        let all: Vec<Value> = users.filter(is_after).collect();
        if all.is_empty() {
            return;
        }
        let ty = module.ty(value);
        let (rest, base) = (module.const_int(ty, size - 1), module.const_int(ty, low));
        let rest = InstKind::Bin {
            op: BinOp::And,
            lhs: value,
            rhs: rest,
            flags: Flags::default(),
        };
        let insts = module.block(exit).insts.iter();
        let place = insts.take_while(|&&inst| module.is_phi(inst)).count();
        let rest = module.push_inst(exit, ty, rest, None);
        let whole = InstKind::Bin {
            op: BinOp::Or,
            lhs: rest,
            rhs: base,
            flags: Flags::default(),
        };
        let whole = module.push_inst(exit, ty, whole, None);
        module.block_mut(exit).insts[place..].rotate_right(2);
        for user in all {
            if let Some(data) = module.inst_mut(user) {
                data.kind.for_each_operand_mut(|operand| {
                    if *operand == value {
                        *operand = whole;
                    }
                });
            }
        }
    }
}

/// Returns the largest integer of a number of bits.
pub(super) fn largest(bits: u32) -> u128 {
    u128::MAX >> (128 - bits)
}

/// Returns the bounds of an integer if the variable has these bounds.
fn bounds(module: &Module, value: Value, variable: (Value, Range), depth: u32) -> Range {
    let Some(bits) = module
        .types
        .int_bits(module.ty(value))
        .filter(|&it| it <= 64)
    else {
        return (0, u128::MAX);
    };
    let most = largest(bits);
    let any = (0, most);
    if value == variable.0 {
        return variable.1;
    }
    if let Some(number) = number(module, value) {
        return (number, number);
    }
    let (Some(data), Some(depth)) = (module.inst(value), depth.checked_sub(1)) else {
        return any;
    };
    let of = |operand: Value| bounds(module, operand, variable, depth);
    let fits = |(low, high): Range| if high <= most { (low, high) } else { any };
    match data.kind {
        InstKind::Bin { op, lhs, rhs, .. } => {
            let (a, b) = (of(lhs), of(rhs));
            match op {
                BinOp::Add => fits((a.0 + b.0, a.1 + b.1)),
                BinOp::Sub if a.0 >= b.1 => (a.0 - b.1, a.1 - b.0),
                BinOp::Mul => match a.1.checked_mul(b.1) {
                    Some(high) => fits((a.0 * b.0, high)),
                    None => any,
                },
                BinOp::Shl if b.1 < bits.into() => fits((a.0 << b.0, a.1 << b.1)),
                BinOp::LShr if b.1 < bits.into() => (a.0 >> b.1, a.1 >> b.0),
                BinOp::And => (0, a.1.min(b.1)),
                // At least the larger one, and no bit above those of both.
                BinOp::Or => {
                    let above = (a.1 | b.1) + 1;
                    let sum = a.1 + b.1;
                    (a.0.max(b.0), sum.min(above.next_power_of_two() - 1))
                }
                BinOp::UDiv if b.0 > 0 => (a.0 / b.1, a.1 / b.0),
                BinOp::URem if b.0 > 0 => (0, a.1.min(b.1 - 1)),
                _ => any,
            }
        }
        InstKind::Cast { op, value } => match op {
            CastOp::ZExt => of(value),
            CastOp::Trunc => fits(of(value)),
            _ => any,
        },
        InstKind::Select {
            then, otherwise, ..
        } => {
            let (a, b) = (of(then), of(otherwise));
            (a.0.min(b.0), a.1.max(b.1))
        }
        _ => any,
    }
}

/// Returns the outcome of a comparison of an integer with a constant, if it is the same for all
/// integers of a range.
pub(super) fn compare(pred: IntPred, bits: u32, range: Range, limit: u128) -> Option<bool> {
    let (low, high) = range;
    let limit = limit & largest(bits);
    if pred.is_signed() && high.max(limit) > largest(bits - 1) {
        return None;
    }
    let decide = |always: bool, never: bool| match (always, never) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    };
    match pred {
        IntPred::Ult | IntPred::Slt => decide(high < limit, low >= limit),
        IntPred::Ule | IntPred::Sle => decide(high <= limit, low > limit),
        IntPred::Ugt | IntPred::Sgt => decide(low > limit, high <= limit),
        IntPred::Uge | IntPred::Sge => decide(low >= limit, high < limit),
        IntPred::Eq => decide((low, high) == (limit, limit), high < limit || low > limit),
        IntPred::Ne => decide(high < limit || low > limit, (low, high) == (limit, limit)),
    }
}
