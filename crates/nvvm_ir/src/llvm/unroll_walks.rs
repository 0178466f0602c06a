//! The loops that walk over an array of a thread, or over the bits of an integer, and that LLVM must
//! unroll.

use std::collections::{HashMap, HashSet};

use super::nest_loops::is_plain;
use crate::flow::{Flow, Loop};
use crate::inst::{BinOp, InstKind, IntPred};
use crate::module::Module;
use crate::value::{Block, Const, Func, Value};

/// The maximum number of iterations.
const ITERATIONS: u128 = 64;
/// The maximum number of instructions of all iterations.
const INSTS: u128 = 2048;
/// The same for a loop over the bits of an integer, of which fewer instructions remain.
const INSTS_OF_BITS: u128 = 2560;

/// Returns the latches of loops with a constant number of iterations that access a local variable
/// at an address which they carry, or that shift 64-bit integers by their counter, each as the index
/// of a block.
///
/// `for (x, y) in a.iter().flatten().zip(b.iter().flatten())` carries the addresses of two rows and
/// of their ends, which are null at first. LLVM counts the instructions of all iterations, although
/// few are left if all addresses are known, so it does not unroll such loops. Then the arrays stay
/// in local memory.
///
/// `for bit in 0..64 { if mask >> bit & 1 == 1 { … } }` shifts both halves of `mask`, in three
/// instructions. In an unrolled loop, the test of a bit of one half is a part of the branch.
pub(super) fn latches_of_walks(module: &Module) -> Vec<(Func, usize)> {
    let mut latches = Vec::new();
    for func in module.funcs() {
        let blocks = &module.func(func).blocks;
        let mut insts = blocks.iter().flat_map(|&block| &module.block(block).insts);
        if !insts.any(|&it| is_variable(module, it) || distance(module, it).is_some()) {
            continue;
        }
        let index: HashMap<Block, usize> = blocks.iter().copied().zip(0..).collect();
        let flow = Flow::new(module, func, |block| index[&block]);
        let loops = flow.loops();
        let headers: HashSet<usize> = loops.iter().map(|each| each.header).collect();
        for each in &loops {
            let is_innermost =
                (each.body.iter()).all(|block| *block == each.header || !headers.contains(block));
            if let [latch] = each.latches[..]
                && is_innermost
                && (is_walk(module, blocks, each, latch) || takes_bits(module, blocks, each, latch))
            {
                latches.push((func, latch));
            }
        }
    }
    latches
}

fn is_walk(module: &Module, blocks: &[Block], each: &Loop, latch: usize) -> bool {
    let body: HashSet<Block> = each.body.iter().map(|&block| blocks[block]).collect();
    is_short(module, blocks, each, latch, INSTS)
        && body.iter().all(|&block| is_plain(module, block))
        && (body.iter().flat_map(|&block| &module.block(block).insts)).any(|&inst| {
            match module.inst(inst).map(|data| &data.kind) {
                Some(&InstKind::Load { ptr, .. } | &InstKind::Store { ptr, .. }) => {
                    carries_variable(module, &body, ptr)
                }
                _ => false,
            }
        })
}

/// Returns whether a loop shifts 64-bit integers by its counter.
fn takes_bits(module: &Module, blocks: &[Block], each: &Loop, latch: usize) -> bool {
    let counter = |value: Value| match module.inst(value).map(|data| &data.kind) {
        Some(&InstKind::Cast { value, .. }) => value,
        _ => value,
    };
    let header = blocks[each.header];
    let is_counter = |value: Value| {
        let data = module.inst(value);
        let is_phi = data.is_some_and(|it| matches!(it.kind, InstKind::Phi(_)));
        is_phi && data.is_some_and(|it| it.block == header) && {
            let next = module.incoming(value, blocks[latch]);
            next.is_some() && next == compared(module, blocks[latch])
        }
    };
    is_short(module, blocks, each, latch, INSTS_OF_BITS)
        && (each
            .body
            .iter()
            .flat_map(|&block| &module.block(blocks[block]).insts))
        .filter_map(|&inst| distance(module, inst))
        .any(|distance| is_counter(counter(distance)))
}

/// Returns the distance of a shift of a 64-bit integer.
fn distance(module: &Module, inst: Value) -> Option<Value> {
    match module.inst(inst)?.kind {
        InstKind::Bin {
            op: BinOp::Shl | BinOp::LShr,
            rhs,
            ..
        } if module.types.int_bits(module.ty(inst)) == Some(64) => {
            module.as_const(rhs).is_none().then_some(rhs)
        }
        _ => None,
    }
}

/// Returns what the branch at the end of a block compares.
fn compared(module: &Module, block: Block) -> Option<Value> {
    let InstKind::CondBr { cond, .. } = module.inst(module.terminator(block)?)?.kind else {
        return None;
    };
    match module.inst(cond)?.kind {
        InstKind::ICmp { lhs, .. } => Some(lhs),
        _ => None,
    }
}

/// Returns whether all iterations of a loop, whose number is constant, have few instructions.
fn is_short(module: &Module, blocks: &[Block], each: &Loop, latch: usize, limit: u128) -> bool {
    let insts = each.body.iter().map(|&it| &module.block(blocks[it]).insts);
    let size = insts.map(Vec::len).sum::<usize>() as u128;
    let iterations = iterations(module, blocks[each.header], blocks[latch]);
    iterations.is_some_and(|count| count <= ITERATIONS && count * size <= limit)
}

/// Returns the number of iterations of a loop whose latch ends it after a constant number.
fn iterations(module: &Module, header: Block, latch: Block) -> Option<u128> {
    let number = |value: Value| match module.as_const(value)? {
        Const::Int(number) => Some(*number),
        Const::Zero => Some(0),
        _ => None,
    };
    let InstKind::CondBr {
        cond,
        then,
        otherwise,
    } = module.inst(module.terminator(latch)?)?.kind
    else {
        return None;
    };
    let InstKind::ICmp { pred, lhs, rhs } = module.inst(cond)?.kind else {
        return None;
    };
    let goes_on = match pred {
        IntPred::Eq => otherwise,
        IntPred::Ne => then,
        _ => return None,
    };
    let InstKind::Bin {
        op: BinOp::Add,
        lhs: counter,
        rhs: step,
        ..
    } = module.inst(lhs)?.kind
    else {
        return None;
    };
    let data = module.inst(counter)?;
    let InstKind::Phi(incoming) = &data.kind else {
        return None;
    };
    let counts = then != otherwise
        && goes_on == header
        && data.block == header
        && number(step)? == 1
        && incoming.len() == 2
        && module.incoming(counter, latch)? == lhs;
    let &(start, _) = incoming.iter().find(|(_, from)| *from != latch)?;
    number(rhs)?
        .checked_sub(number(start)?)
        .filter(|&count| counts && count > 0)
}

/// Returns whether an address may be that of a local variable, by a phi of the loop.
fn carries_variable(module: &Module, body: &HashSet<Block>, ptr: Value) -> bool {
    let (mut seen, mut pending) = (HashSet::new(), vec![ptr]);
    let (mut carries, mut is_local) = (false, false);
    while let Some(value) = pending.pop() {
        if !seen.insert(value) {
            continue;
        }
        is_local |= is_variable(module, value);
        let Some(data) = module.inst(value) else {
            continue;
        };
        match &data.kind {
            InstKind::Phi(incoming) => {
                carries |= body.contains(&data.block);
                pending.extend(incoming.iter().map(|&(value, _)| value));
            }
            InstKind::Gep { base, .. } => pending.push(*base),
            InstKind::Cast { value, .. } => pending.push(*value),
            InstKind::Select {
                then, otherwise, ..
            } => pending.extend([*then, *otherwise]),
            _ => {}
        }
    }
    carries && is_local
}

fn is_variable(module: &Module, value: Value) -> bool {
    let kind = module.inst(value).map(|data| &data.kind);
    matches!(kind, Some(InstKind::Alloca { count: None, .. }))
}
