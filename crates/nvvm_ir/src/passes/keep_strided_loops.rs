//! The pass `keep_strided_loops`.

use std::collections::HashMap;

use crate::flow::Flow;
use crate::inst::{BinOp, InstKind};
use crate::module::Module;
use crate::value::{Block, Func, Value, ValueKind};

/// Marks loops whose counter grows by what is known at run time only as not to be unrolled by libnvvm.
///
/// The usual one is the grid-stride loop. To unroll it, libnvvm divides the distance by the step in
/// front of the loop, which takes longer than the one iteration that there is often. `ptx::optimize`
/// unrolls such loops without a division.
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

/// Whether a block ends with a branch back to the begin of a loop that depends on such a counter.
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

/// Whether a value is such a counter of a loop, before or after its increment.
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
            op: BinOp::Add,
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
