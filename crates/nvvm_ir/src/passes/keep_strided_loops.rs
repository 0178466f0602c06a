//! The pass `keep_strided_loops`.

use std::collections::HashMap;

use crate::flow::Flow;
use crate::inst::{BinOp, InstKind};
use crate::module::Module;
use crate::value::{Block, Func, Value, ValueKind};

/// Disables libnvvm's unrolling for loops whose counter grows by a step known only at run time.
///
/// The typical example is a grid-stride loop. To unroll it, libnvvm divides the distance by the
/// step before the loop, which takes longer than the single iteration that such a loop often has.
/// `ptx::optimize` unrolls these loops without a division.
pub fn keep_strided_loops(module: &mut Module) {
    let funcs: Vec<Func> = module.funcs().collect();
    for func in funcs {
        let blocks = module.func(func).blocks.clone();
        let index: HashMap<Block, usize> = blocks.iter().copied().zip(0..).collect();
        let flow = Flow::new(module, func, |block| index[&block]);
        for (at, &block) in blocks.iter().enumerate() {
            if goes_back_by_stride(module, block, |header| flow.dominates(index[&header], at)) {
                module.block_mut(block).no_unroll = true;
            }
        }
    }
}

/// Returns whether a block ends in a conditional back edge that tests a counter with a step
/// known only at run time.
fn goes_back_by_stride(module: &Module, block: Block, is_header: impl Fn(Block) -> bool) -> bool {
    let terminator = module.terminator(block).and_then(|inst| module.inst(inst));
    let Some(&InstKind::CondBr {
        cond,
        then,
        otherwise,
    }) = terminator.map(|data| &data.kind)
    else {
        return false;
    };
    let Some(header) = [then, otherwise].into_iter().find(|&to| is_header(to)) else {
        return false;
    };
    let Some(&InstKind::ICmp { lhs, rhs, .. }) = module.inst(cond).map(|data| &data.kind) else {
        return false;
    };
    [lhs, rhs]
        .into_iter()
        .any(|value| strides(module, value, header, block))
}

/// Returns whether a value is a loop counter with a step known only at run time, before or after
/// its increment.
fn strides(module: &Module, value: Value, header: Block, latch: Block) -> bool {
    let phi_of = |value: Value| match module.inst(value) {
        Some(data) if data.block == header => match &data.kind {
            InstKind::Phi(incoming) => Some(incoming),
            _ => None,
        },
        _ => None,
    };
    let addends = |value: Value| match module.inst(value).map(|data| &data.kind) {
        Some(&InstKind::Bin {
            op: BinOp::Add | BinOp::Sub,
            lhs,
            rhs,
            ..
        }) => Some([lhs, rhs]),
        _ => None,
    };
    let is_constant = |value: Value| matches!(module.value(value).kind, ValueKind::Const(_));
    let phis = [Some(value)]
        .into_iter()
        .chain(addends(value).unwrap_or([value; 2]).map(Some));
    phis.flatten().any(|phi| {
        let Some(incoming) = phi_of(phi) else {
            return false;
        };
        let next = incoming
            .iter()
            .find(|&&(_, from)| from == latch)
            .map(|&(next, _)| next);
        match next.and_then(addends) {
            Some([a, b]) if a == phi => !is_constant(b),
            Some([a, b]) if b == phi => !is_constant(a),
            _ => false,
        }
    })
}
