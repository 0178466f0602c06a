//! The pass `unite_latches`.

use std::collections::HashMap;

use crate::builder::Builder;
use crate::flow::Flow;
use crate::inst::InstKind;
use crate::module::Module;
use crate::value::{Block, Func};

/// Lets each loop go back from one block.
///
/// A loop with `continue` goes back from several. LLVM makes two nested loops of it if one of the
/// ways back leaves a variable unchanged: the inner loop runs until another way is taken. On a GPU
/// the threads of a warp would wait at the end of the inner loop until none of them takes its way
/// back. A traversal of a tree, which continues with the next node if one is too far away, would wait
/// for the thread that passes the most such nodes.
pub fn unite_latches(module: &mut Module) {
    let funcs: Vec<Func> = module.funcs().collect();
    for func in funcs {
        unite_in(module, func);
    }
}

fn unite_in(module: &mut Module, func: Func) {
    let blocks = module.func(func).blocks.clone();
    let index: HashMap<Block, usize> = blocks.iter().copied().zip(0..).collect();
    let flow = Flow::new(module, func, |block| index[&block]);
    for each in flow.loops() {
        let latches: Vec<Block> = each.latches.iter().map(|&latch| blocks[latch]).collect();
        if latches.len() > 1 {
            unite(module, func, blocks[each.header], &latches);
        }
    }
}

/// Adds a block through which the latches of a loop reach its header.
pub(super) fn unite(module: &mut Module, func: Func, header: Block, latches: &[Block]) {
    let latch = module.add_block(func, "latch");
    let is_latch = |block: &Block| latches.contains(block);
    let mut loc = None;
    let mut is_rolled = false;
    for &block in latches {
        let terminator = module.terminator(block).and_then(|inst| module.inst(inst));
        loc = loc.or(terminator.and_then(|data| data.loc));
        is_rolled |= std::mem::take(&mut module.block_mut(block).no_unroll);
        module.replace_successor(block, header, latch);
    }
    module.block_mut(latch).no_unroll = is_rolled;
    for inst in module.block(header).insts.clone() {
        let ty = module.ty(inst);
        let Some(InstKind::Phi(incoming)) = module.inst_mut(inst).map(|data| &mut data.kind) else {
            break;
        };
        let (back, mut others): (Vec<_>, Vec<_>) =
            (incoming.iter().copied()).partition(|(_, from)| is_latch(from));
        // A value of all of them dominates all of them.
        let value = match back[..] {
            [(first, _), ref rest @ ..] if rest.iter().all(|&(it, _)| it == first) => first,
            _ => Builder::at(module, latch, loc).phi(ty, back),
        };
        others.push((value, latch));
        if let Some(data) = module.inst_mut(inst) {
            data.kind = InstKind::Phi(others);
        }
    }
    Builder::at(module, latch, loc).br(header);
}
