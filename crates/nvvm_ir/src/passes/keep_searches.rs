//! The pass `keep_searches`.

use std::collections::{BTreeSet, HashMap};

use super::unroll_array_loops::number;
use crate::flow::{Flow, Loop};
use crate::inst::InstKind;
use crate::module::Module;
use crate::value::{Block, Func};

/// The number of iterations up to which libnvvm may unroll a loop completely.
const FEW: u128 = 64;

/// Disables libnvvm's partial unrolling of loops that search.
///
/// `for slot in 0..2048 { if slots[slot] == key { found } }` has an end for a key that is found and
/// another one for a key that is not. The threads of a warp find their keys in different iterations.
/// ptxas lets them wait for each other at the end of a loop, so they run what follows together. The end
/// of an unrolled loop has a branch for each copy of the body, where they do not wait.
pub fn keep_searches(module: &mut Module) {
    let funcs: Vec<Func> = module.funcs().collect();
    for func in funcs {
        let blocks = module.func(func).blocks.clone();
        let index: HashMap<Block, usize> = blocks.iter().copied().zip(0..).collect();
        let flow = Flow::new(module, func, |block| index[&block]);
        for each in flow.loops() {
            if let Some(latch) = search(module, &blocks, &index, &each) {
                module.block_mut(latch).no_unroll = true;
            }
        }
    }
}

/// Returns the latch of a loop with a constant number of iterations and several ends.
fn search(
    module: &Module,
    blocks: &[Block],
    index: &HashMap<Block, usize>,
    each: &Loop,
) -> Option<Block> {
    let &[latch] = &each.latches[..] else {
        return None;
    };
    let latch = blocks[latch];
    let &InstKind::CondBr { cond, .. } = &module.inst(module.terminator(latch)?)?.kind else {
        return None;
    };
    let &InstKind::ICmp { rhs, .. } = &module.inst(cond)?.kind else {
        return None;
    };
    number(module, rhs).filter(|&limit| limit > FEW)?;
    let ends: BTreeSet<Block> = (each.body.iter())
        .flat_map(|&block| {
            let end = module
                .terminator(blocks[block])
                .and_then(|it| module.inst(it));
            end.map(|data| data.kind.successors()).unwrap_or_default()
        })
        .filter(|to| !each.body.contains(&index[to]) && !panics(module, *to))
        .collect();
    (ends.len() > 1).then_some(latch)
}

/// Returns whether a block ends without a return.
pub(super) fn panics(module: &Module, block: Block) -> bool {
    let end = module.terminator(block).and_then(|it| module.inst(it));
    matches!(end.map(|data| &data.kind), Some(InstKind::Unreachable))
}
