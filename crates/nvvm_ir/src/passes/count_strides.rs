//! The pass `count_strides`.

use std::collections::HashMap;

use super::bound_searches::{kind, number};
use super::count_iterations::{add_counter, element, end_by};
use super::keep_searches::panics;
use super::widen_counters::Ends;
use crate::flow::Flow;
use crate::inst::{BinOp, CastOp, Flags, InstKind, IntPred};
use crate::module::Module;
use crate::value::{Block, Func, Value};

/// The maximum number of constant offsets between two addresses.
const OFFSETS: usize = 4;

/// Lets loops over every `n`-th element of a slice end by a counter.
///
/// `slice.iter().skip(lane).step_by(32)` ends when the distance from the next element to the slice's
/// end is too small, and keeps two addresses in registers: that of the rest of the slice, and that of
/// the rest one element or one step before. If the loop has checks, libnvvm does not unroll it. The
/// passes over PTX unroll loops with checks that end by a counter.
///
/// The pass computes one address from the other one, and replaces the comparison at the end of the
/// iteration by one of a counter of bytes, if the distance of the elements is a power of two.
pub fn count_strides(module: &mut Module) {
    let funcs: Vec<Func> = module.funcs().collect();
    for func in funcs {
        let blocks = module.func(func).blocks.clone();
        let has_distance = |&block: &Block| distance(module, block).is_some();
        if !blocks.iter().any(has_distance) {
            continue;
        }
        let index: HashMap<Block, usize> = blocks.iter().copied().zip(0..).collect();
        let flow = Flow::new(module, func, |block| index[&block]);
        let loops = flow.loops();
        let strides: Vec<Stride> = (loops.iter())
            .filter(|each| {
                let mut targets = each
                    .body
                    .iter()
                    .flat_map(|&at| successors(module, blocks[at]));
                targets.any(|to| panics(module, to))
            })
            .filter_map(|each| {
                let ends = Ends::of(module, &blocks, &index, &flow, each)?;
                let is_outside = |value: Value| {
                    let block = module.inst(value).map(|data| index[&data.block]);
                    block.is_none_or(|block| !each.body.contains(&block))
                };
                Stride::of(module, ends, is_outside)
            })
            .collect();
        for stride in strides {
            stride.count(module, &blocks);
        }
    }
}

fn successors(module: &Module, block: Block) -> Vec<Block> {
    let end = module.terminator(block).and_then(|end| kind(module, end));
    end.map(InstKind::successors).unwrap_or_default()
}

/// The comparison at the end of a block of a distance between two addresses with a number.
struct Distance {
    /// The addresses.
    from: Value,
    to: Value,
    /// The block branches to `then` if the distance is at least this number, otherwise to `otherwise`.
    least: u64,
    then: Block,
    otherwise: Block,
}

fn distance(module: &Module, block: Block) -> Option<Distance> {
    let &InstKind::CondBr {
        cond,
        then,
        otherwise,
    } = kind(module, module.terminator(block)?)?
    else {
        return None;
    };
    let &InstKind::ICmp { pred, lhs, rhs } = kind(module, cond)? else {
        return None;
    };
    let number = u64::try_from(number(module, rhs)?).ok()?;
    let (least, then, otherwise) = match pred {
        IntPred::Ugt => (number.checked_add(1)?, then, otherwise),
        IntPred::Uge => (number, then, otherwise),
        IntPred::Ult => (number, otherwise, then),
        IntPred::Ule => (number.checked_add(1)?, otherwise, then),
        _ => return None,
    };
    let &InstKind::Bin {
        op: BinOp::Sub,
        lhs,
        rhs,
        flags: Flags { nuw: true, .. },
    } = kind(module, lhs)?
    else {
        return None;
    };
    let address = |value| match kind(module, value)? {
        &InstKind::Cast {
            op: CastOp::PtrToInt,
            value,
        } => Some(value),
        _ => None,
    };
    (module.types.int_bits(module.ty(lhs)) == Some(64)).then_some(())?;
    Some(Distance {
        from: address(rhs)?,
        to: lhs,
        least,
        then,
        otherwise,
    })
}

/// A loop in which an address grows by a power of two in each iteration while its distance to an end
/// is large enough.
struct Stride {
    ends: Ends,
    /// The phi with the address, and its value before the loop.
    address: Value,
    start: Value,
    /// The number of bytes that the address grows by.
    step: u64,
    /// Another phi, by how many bytes it is below the address.
    lagging: Option<(Value, u64)>,
    /// The address of the end, as an integer.
    end: Value,
    /// The loop continues if the next number of the counter is less than the distance of the end before
    /// the loop plus this number.
    added: i64,
    /// The comparison of a counter with a bound that continues the loop if the branch stays the same.
    pred: IntPred,
}

impl Stride {
    fn of(module: &Module, ends: Ends, is_outside: impl Fn(Value) -> bool) -> Option<Stride> {
        let found = distance(module, ends.latch)?;
        let &InstKind::CondBr { then, .. } = kind(module, module.terminator(ends.latch)?)? else {
            return None;
        };
        (found.then == ends.header && found.otherwise != ends.header).then_some(())?;
        let pred = match then == ends.header {
            true => IntPred::Ult,
            false => IntPred::Uge,
        };
        // `least` is compared with the distance from this many bytes behind the address.
        let (address, ahead) = offset(module, found.from);
        let start = module.incoming(address, ends.before)?;
        let next = module.incoming(address, ends.latch)?;
        let is_phi = |value: Value| {
            let block = module.inst(value).map(|data| data.block);
            module.is_phi(value) && block == Some(ends.header)
        };
        let (of, step) = offset(module, next);
        let step = u64::try_from(step).ok()?;
        (is_phi(address) && of == address && step.is_power_of_two()).then_some(())?;
        (is_outside(found.to) && (1..=step).contains(&found.least)).then_some(())?;
        let added = i64::try_from(step - found.least + 1).ok()?;
        let added = added.checked_sub(ahead)?;
        let (base, at) = offset(module, start);
        let phis = module.block(ends.header).insts.iter().copied();
        let lagging = (phis.take_while(|&phi| module.is_phi(phi)))
            .filter(|&phi| phi != address && module.ty(phi) == module.ty(address))
            .find_map(|phi| {
                // Where the address was, plus a number.
                let (of, ahead) = offset(module, module.incoming(phi, ends.latch)?);
                let by = step.checked_sub(u64::try_from(ahead).ok()?)?;
                let (same, first) = offset(module, module.incoming(phi, ends.before)?);
                let is_behind = first.checked_add(i64::try_from(by).ok()?)? == at;
                (of == address && same == base && is_behind).then_some((phi, by))
            });
        Some(Stride {
            address,
            start,
            step,
            lagging,
            end: found.to,
            added,
            pred,
            ends,
        })
    }

    /// Replaces the comparison, and one of the addresses.
    fn count(self, module: &mut Module, blocks: &[Block]) {
        let Ends {
            header,
            latch,
            before,
        } = self.ends;
        let int = module.types.int(64);
        let bin = |op, lhs, rhs| InstKind::Bin {
            op,
            lhs,
            rhs,
            flags: Flags::default(),
        };
        // The distance is smaller by the step in each iteration, and the last one is less than the
        // step. So the loop continues while the steps so far are at most `distance - least + step`.
        let start = InstKind::Cast {
            op: CastOp::PtrToInt,
            value: self.start,
        };
        let start = module.insert_at_end(before, int, start);
        let distance = module.insert_at_end(before, int, bin(BinOp::Sub, self.end, start));
        let added = module.const_int(int, (self.added as u64).into());
        let bound = module.insert_at_end(before, int, bin(BinOp::Add, distance, added));
        let next = add_counter(module, int, self.step, header, latch, &[before]);
        end_by(module, latch, self.pred, next, bound);

        let Some((lagging, by)) = self.lagging else {
            return;
        };
        let byte = module.types.int(8);
        let ty = module.ty(lagging);
        let sum = |module: &mut Module, number: u64| InstKind::Gep {
            element: byte,
            base: lagging,
            indices: vec![module.const_int(int, number.into())],
            inbounds: true,
        };
        let step = sum(module, self.step);
        let step = module.insert_at_end(latch, ty, step);
        set_incoming(module, lagging, latch, step);
        let address = sum(module, by);
        let address = module.push_inst(header, ty, address, None);
        let insts = &module.block(header).insts;
        let phis = (insts.iter()).take_while(|&&inst| module.is_phi(inst));
        let phis = phis.count();
        module.block_mut(header).insts[phis..].rotate_right(1);
        super::widen_counters::replace(module, blocks, &HashMap::from([(self.address, address)]));
        for block in [header, latch] {
            let insts = &mut module.block_mut(block).insts;
            insts.retain(|&inst| inst != self.address);
        }
    }
}

/// Sets the value that a phi has if its block is entered from another one.
fn set_incoming(module: &mut Module, phi: Value, from: Block, new: Value) {
    if let Some(data) = module.inst_mut(phi)
        && let InstKind::Phi(incoming) = &mut data.kind
    {
        (incoming.iter_mut())
            .filter(|(_, block)| *block == from)
            .for_each(|(value, _)| *value = new);
    }
}

/// Returns the address that another one is computed from by adding numbers, and their sum.
fn offset(module: &Module, mut address: Value) -> (Value, i64) {
    let mut sum = 0i64;
    for _ in 0..OFFSETS {
        let Some((base, size, index)) = element(module, address) else {
            break;
        };
        let bytes = number(module, index)
            .and_then(|index| (index as i64).checked_mul(i64::try_from(size).ok()?))
            .and_then(|bytes| sum.checked_add(bytes));
        let Some(bytes) = bytes else {
            break;
        };
        (address, sum) = (base, bytes);
    }
    (address, sum)
}
