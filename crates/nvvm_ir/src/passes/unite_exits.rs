//! The pass `unite_exits`.

use std::collections::{HashMap, HashSet};

use super::count_iterations::{Count, element, elements};
use crate::flow::{Flow, Loop};
use crate::inst::{BinOp, Flags, InstKind, IntPred};
use crate::module::Module;
use crate::value::{Block, Const, Func, Value};

/// The step of a counter that counts down.
const DOWN: u128 = u64::MAX as u128;

/// Gives loops that end by several counts one exit.
///
/// `for (i, element) in slice.iter().enumerate().take(count)` compares the address of each element
/// with the end of the slice, counts down the elements to take, and counts up for `i`. libnvvm keeps
/// three counters of 64 bits, and unrolls no loop with two exits. The lowest of the numbers of
/// iterations is known before the loop.
pub fn unite_exits(module: &mut Module) {
    let funcs: Vec<Func> = module.funcs().collect();
    for func in funcs {
        let blocks = module.func(func).blocks.clone();
        let index: HashMap<Block, usize> = blocks.iter().copied().zip(0..).collect();
        let flow = Flow::new(module, func, |block| index[&block]);
        for each in flow.loops() {
            if let Some(exits) = Exits::of(module, &blocks, &flow, &each) {
                exits.unite(module);
            }
        }
    }
}

/// The exits of a loop from its header and its latch, to the same block.
struct Exits {
    before: Block,
    header: Block,
    latch: Block,
    exit: Block,
    /// If the header ends the loop: its successor in the loop, and the number of iterations after
    /// which it does.
    first: Option<(Block, Count)>,
    /// The numbers of iterations after which the latch ends the loop. Zero stands for 2⁶⁴.
    last: Vec<Count>,
}

impl Exits {
    fn of(module: &Module, blocks: &[Block], flow: &Flow, each: &Loop) -> Option<Exits> {
        let [latch] = each.latches[..] else {
            return None;
        };
        let mut from = flow.predecessors(each.header).iter();
        let mut from = from.by_ref().filter(|&&from| from as usize != latch);
        let (&before, None) = (from.next()?, from.next()) else {
            return None;
        };
        let before = blocks[before as usize];
        let (header, latch) = (blocks[each.header], blocks[latch]);
        let body: HashSet<Block> = each.body.iter().map(|&block| blocks[block]).collect();
        // The number of iterations after which a counter, or its next value, is compared to be equal.
        let counted = |compared: [Value; 2], is_next: bool| {
            let phis = module.block(header).insts.iter();
            phis.filter_map(|&phi| {
                let start = module.incoming(phi, before)?;
                let next = module.incoming(phi, latch)?;
                let counter = if is_next { next } else { phi };
                let place = compared.iter().position(|&value| value == counter)?;
                let end = compared[1 - place];
                let changes = module
                    .inst(end)
                    .is_some_and(|end| body.contains(&end.block));
                count(module, phi, start, next, end).filter(|_| !changes)
            })
            .next()
        };
        let (again, exit, compared) = end(module, latch, &body)?;
        let last = compared.iter().map(|&compared| counted(compared, true));
        let mut exits = Exits {
            before,
            header,
            latch,
            exit,
            first: None,
            last: last.collect::<Option<Vec<Count>>>()?,
        };
        if let Some((inside, also_exit, compared)) = end(module, header, &body)
            && let [compared] = compared[..]
            && header != latch
            && also_exit == exit
        {
            let first = counted(compared, false)?;
            let kind = &module.inst(module.terminator(before)?)?.kind;
            if !matches!((first, kind), (Count::Number(_), _) | (_, InstKind::Br(_))) {
                return None;
            }
            exits.first = Some((inside, first));
        }
        let several = exits.first.is_some() || exits.last.len() > 1;
        (again == header && several && exits.can_end_early(module)).then_some(exits)
    }

    /// Returns whether the latch can end the loop instead of the header in the next iteration.
    fn can_end_early(&self, module: &Module) -> bool {
        if self.first.is_none() {
            return true;
        }
        let only_computes = |&inst: &Value| {
            let kind = module.inst(inst).map(|data| &data.kind);
            matches!(
                kind,
                Some(
                    InstKind::Phi(_)
                        | InstKind::Bin { .. }
                        | InstKind::Cast { .. }
                        | InstKind::CondBr { .. }
                        | InstKind::Gep { .. }
                        | InstKind::ICmp { .. }
                )
            )
        };
        if !module.block(self.header).insts.iter().all(only_computes) {
            return false;
        }
        let is_in_header = |value: Value| {
            let data = module.inst(value);
            data.is_some_and(|data| data.block == self.header)
        };
        // The values that code after the loop uses.
        let (mut seen, mut pending) = (HashSet::from([self.header]), vec![self.exit]);
        while let Some(block) = pending.pop() {
            if !seen.insert(block) {
                continue;
            }
            for &inst in &module.block(block).insts {
                let Some(kind) = module.inst(inst).map(|data| &data.kind) else {
                    continue;
                };
                pending.extend(kind.successors());
                if block == self.exit
                    && let InstKind::Phi(_) = kind
                {
                    let [first, last] =
                        [self.header, self.latch].map(|from| module.incoming(inst, from));
                    let next = first.and_then(|first| match is_in_header(first) {
                        true => module.incoming(first, self.latch),
                        false => Some(first),
                    });
                    if next.is_none() || next != last {
                        return false;
                    }
                } else {
                    let mut uses = false;
                    kind.for_each_operand(|operand| uses |= is_in_header(operand));
                    if uses {
                        return false;
                    }
                }
            }
        }
        true
    }

    /// Lets the latch end the loop after the lowest number of iterations.
    fn unite(&self, module: &mut Module) {
        let (int, truth) = (module.types.int(64), module.types.int(1));
        let (zero, one) = (module.const_int(int, 0), module.const_int(int, 1));
        let bin = |module: &mut Module, block, op, lhs, rhs| {
            let flags = Flags::default();
            module.insert_at_end(
                block,
                int,
                InstKind::Bin {
                    op,
                    lhs,
                    rhs,
                    flags,
                },
            )
        };
        let compare = |module: &mut Module, block, pred, lhs, rhs| {
            module.insert_at_end(block, truth, InstKind::ICmp { pred, lhs, rhs })
        };
        // The number of the last iteration.
        let mut lowest = None;
        let first = self.first.map(|(_, count)| count);
        for count in first.into_iter().chain(self.last.iter().copied()) {
            let number = match count {
                Count::Value(count) => bin(module, self.before, BinOp::Sub, count, one),
                Count::Number(count) => module.const_int(int, u128::from(count) - 1),
            };
            lowest = Some(lowest.map_or(number, |lowest| {
                let cond = compare(module, self.before, IntPred::Ult, number, lowest);
                let kind = InstKind::Select {
                    cond,
                    then: number,
                    otherwise: lowest,
                };
                module.insert_at_end(self.before, int, kind)
            }));
        }
        let Some(lowest) = lowest else {
            return;
        };
        let counter = module.push_inst(self.header, int, InstKind::Phi(Vec::new()), None);
        module.block_mut(self.header).insts.rotate_right(1);
        let next = bin(module, self.latch, BinOp::Add, counter, one);
        if let Some(data) = module.inst_mut(counter) {
            data.kind = InstKind::Phi(vec![(zero, self.before), (next, self.latch)]);
        }
        let limit = bin(module, self.before, BinOp::Add, lowest, one);
        let cond = compare(module, self.latch, IntPred::Eq, next, limit);
        let branch = |cond| InstKind::CondBr {
            cond,
            then: self.exit,
            otherwise: self.header,
        };
        set_terminator(module, self.latch, branch(cond));
        let Some((inside, first)) = self.first else {
            return;
        };
        set_terminator(module, self.header, InstKind::Br(inside));
        if let Count::Value(first) = first {
            let cond = compare(module, self.before, IntPred::Eq, first, zero);
            set_terminator(module, self.before, branch(cond));
            for phi in module.block(self.exit).insts.clone() {
                let start = module
                    .incoming(phi, self.header)
                    .map(|first| module.incoming(first, self.before).unwrap_or(first));
                if let Some(start) = start
                    && let Some(InstKind::Phi(incoming)) =
                        module.inst_mut(phi).map(|data| &mut data.kind)
                {
                    incoming.push((start, self.before));
                }
            }
        }
        module.retain_incoming(self.exit, |from| from != self.header);
    }
}

fn set_terminator(module: &mut Module, block: Block, kind: InstKind) {
    let terminator = module.terminator(block);
    if let Some(data) = terminator.and_then(|inst| module.inst_mut(inst)) {
        data.kind = kind;
    }
}

/// If a block of a loop ends the loop if one of some pairs of values are equal: returns its successor
/// in the loop, its successor outside, and the pairs.
fn end(
    module: &Module,
    block: Block,
    body: &HashSet<Block>,
) -> Option<(Block, Block, Vec<[Value; 2]>)> {
    let InstKind::CondBr {
        cond,
        then,
        otherwise,
    } = module.inst(module.terminator(block)?)?.kind
    else {
        return None;
    };
    let ends_if = body.contains(&otherwise);
    let (inside, outside) = match ends_if {
        true => (otherwise, then),
        false => (then, otherwise),
    };
    if !body.contains(&inside) || body.contains(&outside) {
        return None;
    }
    let mut compared = Vec::new();
    let mut pending = vec![cond];
    while let Some(cond) = pending.pop() {
        match module.inst(cond)?.kind {
            InstKind::ICmp {
                pred: IntPred::Eq,
                lhs,
                rhs,
            } if ends_if => compared.push([lhs, rhs]),
            InstKind::ICmp {
                pred: IntPred::Ne,
                lhs,
                rhs,
            } if !ends_if => compared.push([lhs, rhs]),
            InstKind::Select {
                cond,
                then,
                otherwise,
            } => {
                let (other, short) = match ends_if {
                    true => (otherwise, then),
                    false => (then, otherwise),
                };
                if module.as_const(short) != Some(&Const::Int(ends_if.into())) {
                    return None;
                }
                pending.extend([cond, other]);
            }
            _ => return None,
        }
    }
    Some((inside, outside, compared))
}

/// Returns the number of iterations after which a phi has reached an end.
fn count(module: &Module, phi: Value, start: Value, next: Value, end: Value) -> Option<Count> {
    if let Some((base, size, step)) = element(module, next) {
        let Some(&Const::Int(step)) = module.as_const(step) else {
            return None;
        };
        let stride = u64::try_from(step).ok()?.checked_mul(size)?;
        if base != phi || stride == 0 {
            return None;
        }
        return elements(module, start, end, stride)
            .or_else(|| elements_of_bytes(module, start, end, stride));
    }
    let InstKind::Bin {
        op: BinOp::Add,
        lhs,
        rhs,
        ..
    } = module.inst(next)?.kind
    else {
        return None;
    };
    let Some(&Const::Int(step)) = module.as_const(rhs) else {
        return None;
    };
    if lhs != phi || module.types.int_bits(module.ty(phi)) != Some(64) {
        return None;
    }
    let number = |value| match module.as_const(value)? {
        &Const::Int(number) => u64::try_from(number).ok(),
        Const::Zero => Some(0),
        _ => None,
    };
    match (number(start), number(end)) {
        (Some(from), Some(to)) => {
            let (distance, step) = (to.checked_sub(from)?, u64::try_from(step).ok()?);
            let exact = distance > 0 && distance.checked_rem(step) == Some(0);
            exact.then(|| Count::Number(distance / step))
        }
        (Some(0), None) if step == 1 => Some(Count::Value(end)),
        (None, Some(0)) if step == DOWN => Some(Count::Value(start)),
        _ => None,
    }
}

/// Returns the number of elements between two addresses of which the distance is that number, shifted.
fn elements_of_bytes(module: &Module, start: Value, end: Value, size: u64) -> Option<Count> {
    let (base, 1, bytes) = element(module, end)? else {
        return None;
    };
    let InstKind::Bin {
        op: BinOp::Shl,
        lhs,
        rhs,
        flags: Flags { nsw: true, .. },
    } = module.inst(bytes)?.kind
    else {
        return None;
    };
    let Some(&Const::Int(by @ 0..64)) = module.as_const(rhs) else {
        return None;
    };
    (base == start && size == 1 << by).then_some(Count::Value(lhs))
}
