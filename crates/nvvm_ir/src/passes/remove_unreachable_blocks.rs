//! `remove_unreachable_blocks`, which removes code that never runs before libnvvm and other passes
//! see it.

use crate::module::Module;
use crate::value::{Block, Func};

/// Removes the blocks of each function that are unreachable from its entry, and the corresponding
/// values from phis in the remaining blocks. Values computed in a removed block have no other uses,
/// because the verifier checks dominance.
pub fn remove_unreachable_blocks(module: &mut Module) {
    let mut reached = vec![false; module.blocks.len()];
    for func in module.funcs() {
        remove_in(module, func, &mut reached);
    }
}

/// The same for one function.
pub(super) fn remove_unreachable_blocks_of(module: &mut Module, func: Func) {
    let mut reached = vec![false; module.blocks.len()];
    remove_in(module, func, &mut reached);
}

fn remove_in(module: &mut Module, func: Func, reached: &mut [bool]) {
    let blocks = &module.func(func).blocks;
    let Some(&entry) = blocks.first() else { return };
    let mut queue = vec![entry];
    let mut count = 0;
    while let Some(block) = queue.pop() {
        if std::mem::replace(&mut reached[block.0 as usize], true) {
            continue;
        }
        count += 1;
        let terminator = module.terminator(block).and_then(|inst| module.inst(inst));
        queue.extend(
            terminator
                .into_iter()
                .flat_map(|data| data.kind.successors()),
        );
    }
    if count == blocks.len() {
        return;
    }
    let is_reached = |block: Block| reached[block.0 as usize];
    module
        .func_mut(func)
        .blocks
        .retain(|&block| is_reached(block));
    for block in module.func(func).blocks.clone() {
        module.retain_incoming(block, is_reached);
    }
}
