//! The pass `count_iterations`.

use std::collections::HashMap;

use crate::flow::Flow;
use crate::inst::{BinOp, Flags, InstKind, IntPred};
use crate::module::Module;
use crate::types::Type;
use crate::value::{Block, Const, Func, Value};

/// Lets loops over slices end by the number of their iterations.
///
/// An iterator over a slice compares two addresses. To unroll such a loop, libnvvm computes the
/// number of elements between them. If their size is not a power of two, as that of a point with
/// three coordinates, this takes a division, and libnvvm does not unroll the loop. But the number
/// is known: the end of a slice is computed from it.
///
/// A loop that counts its iterations anyway, as those over `enumerate` do, ends by its counter
/// whatever the size: passes over PTX find the range of the counter, so that it and the indices
/// computed from it need 32 bits.
pub fn count_iterations(module: &mut Module) {
    let funcs: Vec<Func> = module.funcs().collect();
    for func in funcs {
        let blocks = &module.func(func).blocks;
        let latches = blocks.iter().filter_map(|&block| Latch::of(module, block));
        let mut latches: Vec<Latch> = latches.collect();
        if latches.is_empty() {
            continue;
        }
        let index: HashMap<Block, usize> = blocks.iter().copied().zip(0..).collect();
        let flow = Flow::new(module, func, |block| index[&block]);
        latches.retain(|latch| {
            let dominates = |a: Block, b: Block| flow.dominates(index[&a], index[&b]);
            let end = module.inst(latch.end).map(|end| end.block);
            dominates(latch.header, latch.block)
                && end.is_none_or(|end| end != latch.header && dominates(end, latch.header))
        });
        latches.iter().for_each(|latch| latch.count(module));
    }
}

/// The end of a loop's iteration, where the address of the next element is compared with the end
/// of the slice.
struct Latch {
    block: Block,
    header: Block,
    before: Block,
    pred: IntPred,
    /// The address of the end.
    end: Value,
    /// The number of elements.
    count: Count,
    /// Whether the size of an element is a power of two.
    shifts: bool,
}

/// A number of elements.
#[derive(Copy, Clone)]
pub(super) enum Count {
    /// That of a slice.
    Value(Value),
    /// That of an array at a constant address.
    Number(u64),
}

impl Latch {
    fn of(module: &Module, block: Block) -> Option<Latch> {
        let kind = |value: Value| module.inst(value).map(|data| &data.kind);
        let &InstKind::CondBr { cond, .. } = kind(module.terminator(block)?)? else {
            return None;
        };
        let &InstKind::ICmp { pred, lhs, rhs } = kind(cond)? else {
            return None;
        };
        if !matches!(pred, IntPred::Eq | IntPred::Ne) {
            return None;
        }
        [(lhs, rhs), (rhs, lhs)]
            .into_iter()
            .find_map(|(next, end)| {
                let (base, size, step) = element(module, next)?;
                let Some(&Const::Int(step)) = module.as_const(step) else {
                    return None;
                };
                let stride = u64::try_from(step).ok()?.checked_mul(size)?;
                let data = module.inst(base)?;
                let InstKind::Phi(incoming) = &data.kind else {
                    return None;
                };
                let (start, before) = match incoming[..] {
                    [(from, before), (back, latch)] | [(back, latch), (from, before)]
                        if latch == block && back == next && before != block =>
                    {
                        (from, before)
                    }
                    _ => return None,
                };
                // The addresses of elements without a size are all equal.
                (stride > 0).then_some(())?;
                Some(Latch {
                    block,
                    header: data.block,
                    before,
                    pred,
                    end,
                    count: elements(module, start, end, stride)?,
                    shifts: stride.is_power_of_two(),
                })
            })
    }

    /// Replaces the comparison by one of the number of iterations.
    fn count(&self, module: &mut Module) {
        let int = module.types.int(64);
        let counter = self.counter(module);
        if self.shifts && counter.is_none() {
            return;
        }
        let count = match self.count {
            Count::Value(count) => count,
            Count::Number(count) => module.const_int(int, count.into()),
        };
        let next = counter.unwrap_or_else(|| {
            add_counter(module, int, 1, self.header, self.block, &[self.before])
        });
        end_by(module, self.block, self.pred, next, count);
    }

    /// Returns the number of iterations so far, with this one, if the loop counts them already.
    fn counter(&self, module: &Module) -> Option<Value> {
        let insts = module.block(self.header).insts.iter();
        insts.copied().find_map(|phi| {
            let InstKind::Phi(incoming) = &module.inst(phi)?.kind else {
                return None;
            };
            let value = |block: Block| {
                let mut values = incoming.iter().filter(|&&(_, from)| from == block);
                values.next().map(|&(value, _)| value)
            };
            let next = value(self.block)?;
            let zero = module.as_const(value(self.before)?)?;
            let InstKind::Bin {
                op: BinOp::Add,
                lhs,
                rhs,
                ..
            } = module.inst(next)?.kind
            else {
                return None;
            };
            let is_one = |value| matches!(module.as_const(value), Some(Const::Int(1)));
            let is_zero = matches!(zero, Const::Zero | Const::Int(0));
            let counts = lhs == phi && is_one(rhs) || rhs == phi && is_one(lhs);
            let wide = module.types.int_bits(module.ty(phi)) == Some(64);
            (is_zero && counts && wide).then_some(next)
        })
    }
}

/// Adds a counter to a loop, which begins with 0 and grows by `step` in each iteration. Returns the
/// number for the next iteration. `before` are the blocks before the loop.
pub(super) fn add_counter(
    module: &mut Module,
    ty: Type,
    step: u64,
    header: Block,
    latch: Block,
    before: &[Block],
) -> Value {
    let (zero, step) = (module.const_int(ty, 0), module.const_int(ty, step.into()));
    let counter = module.push_inst(header, ty, InstKind::Phi(Vec::new()), None);
    module.block_mut(header).insts.rotate_right(1);
    let flags = Flags {
        nuw: true,
        nsw: true,
        ..Flags::default()
    };
    let sum = InstKind::Bin {
        op: BinOp::Add,
        lhs: counter,
        rhs: step,
        flags,
    };
    let next = module.insert_at_end(latch, ty, sum);
    let start = before.iter().map(|&block| (zero, block));
    let incoming = start.chain([(next, latch)]).collect();
    if let Some(data) = module.inst_mut(counter) {
        data.kind = InstKind::Phi(incoming);
    }
    next
}

/// Replaces the condition at the end of a block by a comparison.
pub(super) fn end_by(module: &mut Module, block: Block, pred: IntPred, lhs: Value, rhs: Value) {
    let truth = module.types.int(1);
    let compared = module.insert_at_end(block, truth, InstKind::ICmp { pred, lhs, rhs });
    let terminator = module.terminator(block);
    if let Some(data) = terminator.and_then(|inst| module.inst_mut(inst))
        && let InstKind::CondBr { cond, .. } = &mut data.kind
    {
        *cond = compared;
    }
}

/// Returns the number of elements of a size between two addresses.
pub(super) fn elements(module: &Module, start: Value, end: Value, size: u64) -> Option<Count> {
    if let Some((from, of, count)) = element(module, end) {
        return (from == start && of == size).then_some(Count::Value(count));
    }
    let address = |value| match module.as_const(value) {
        Some(&Const::Addr { base, offset }) => Some((base, offset)),
        _ => None,
    };
    let ((base, from), (same, to)) = (address(start)?, address(end)?);
    let bytes = u64::try_from(to.checked_sub(from)?).ok()?;
    (base == same && bytes > 0 && bytes % size == 0).then_some(Count::Number(bytes / size))
}

/// Returns the base, the size of an element and the index of the address of an element.
pub(super) fn element(module: &Module, address: Value) -> Option<(Value, u64, Value)> {
    let InstKind::Gep {
        element,
        base,
        indices,
        inbounds: true,
    } = &module.inst(address)?.kind
    else {
        return None;
    };
    match indices[..] {
        [index] if module.types.int_bits(module.ty(index)) == Some(64) => {
            Some((*base, module.types.size(*element), index))
        }
        _ => None,
    }
}
