//! The loops that walk over an array of a thread and that LLVM must unroll.

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

/// Returns the latches of loops with a constant number of iterations that access a local variable
/// at an address which they carry, each as the index of a block.
///
/// `for (x, y) in a.iter().flatten().zip(b.iter().flatten())` carries the addresses of two rows and
/// of their ends, which are null at first. LLVM counts the instructions of all iterations, although
/// few are left if all addresses are known, so it does not unroll such loops. Then the arrays stay
/// in local memory.
pub(super) fn latches_of_walks(module: &Module) -> Vec<(Func, usize)> {
    let mut latches = Vec::new();
    for func in module.funcs() {
        let blocks = &module.func(func).blocks;
        let has_variable = (blocks.iter().flat_map(|&block| &module.block(block).insts))
            .any(|&inst| is_variable(module, inst));
        if !has_variable {
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
                && is_walk(module, blocks, each, latch)
            {
                latches.push((func, latch));
            }
        }
    }
    latches
}

fn is_walk(module: &Module, blocks: &[Block], each: &Loop, latch: usize) -> bool {
    let body: HashSet<Block> = each.body.iter().map(|&block| blocks[block]).collect();
    let size: usize = body.iter().map(|&it| module.block(it).insts.len()).sum();
    let iterations = iterations(module, blocks[each.header], blocks[latch]);
    iterations.is_some_and(|count| count <= ITERATIONS && count * size as u128 <= INSTS)
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
