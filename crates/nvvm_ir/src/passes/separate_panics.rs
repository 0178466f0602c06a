//! The pass `separate_panics`.

use std::collections::HashMap;

use crate::flow::Flow;
use crate::inst::InstKind;
use crate::module::Module;
use crate::value::{Block, Func, Value};

/// The maximum number of instructions of a block to copy.
const LARGEST: usize = 12;

/// The maximum number of copies per function.
const COPIES: usize = 256;

/// Gives each check its own panic.
///
/// Where LLVM unrolls a loop with a check, the copies of the check branch to one block that calls
/// the panic, with a phi for the index. libnvvm computes all incoming values of the phi in one
/// register, so the indices cannot be computed ahead of the accesses between the checks, and
/// `ptx::optimize` cannot combine the checks. This pass copies blocks that begin with a phi, call a
/// function that does not return, and do not continue, for each of their predecessors.
pub fn separate_panics(module: &mut Module) {
    let funcs: Vec<Func> = module.funcs().collect();
    for func in funcs {
        let blocks = module.func(func).blocks.clone();
        if !blocks.iter().any(|&block| is_panic(module, block)) {
            continue;
        }
        let index: HashMap<Block, usize> = blocks.iter().copied().zip(0..).collect();
        let flow = Flow::new(module, func, |block| index[&block]);
        let mut copies = 0;
        for (at, &block) in blocks.iter().enumerate() {
            let mut from = flow.predecessors(at).to_vec();
            from.dedup();
            if from.len() < 2 || !is_panic(module, block) || copies + from.len() > COPIES {
                continue;
            }
            copies += from.len();
            // The block itself remains for the first predecessor.
            for &from in &from[1..] {
                copy_for(module, func, block, blocks[from as usize]);
            }
            let first = blocks[from[0] as usize];
            module.retain_incoming(block, |from| from == first);
        }
    }
}

/// Returns whether a block begins with a phi, calls a function that does not return, and may be
/// copied.
fn is_panic(module: &Module, block: Block) -> bool {
    let insts = &module.block(block).insts;
    let kinds = || {
        insts
            .iter()
            .filter_map(|&inst| module.inst(inst).map(|data| &data.kind))
    };
    let ends = matches!(kinds().next_back(), Some(InstKind::Unreachable));
    let merges = matches!(kinds().next(), Some(InstKind::Phi(_)));
    let calls = kinds().any(|kind| matches!(kind, InstKind::Call(call) if call.noreturn));
    let plain = kinds().all(|kind| match kind {
        InstKind::Call(call) => !call.convergent,
        InstKind::Alloca { .. } => false,
        _ => true,
    });
    insts.len() <= LARGEST && ends && merges && calls && plain
}

/// Copies a block for one of its predecessors.
fn copy_for(module: &mut Module, func: Func, block: Block, from: Block) {
    let name = module.block(block).name.clone();
    let copy = module.add_block(func, &name);
    let mut values: HashMap<Value, Value> = HashMap::new();
    for inst in module.block(block).insts.clone() {
        let ty = module.ty(inst);
        let Some(data) = module.inst(inst).cloned() else {
            continue;
        };
        if let InstKind::Phi(incoming) = &data.kind {
            if let Some(&(value, _)) = incoming.iter().find(|(_, block)| *block == from) {
                values.insert(inst, value);
            }
            continue;
        }
        let mut kind = data.kind;
        kind.for_each_operand_mut(|operand| {
            if let Some(&new) = values.get(operand) {
                *operand = new;
            }
        });
        let new = module.push_inst(copy, ty, kind, data.loc);
        values.insert(inst, new);
    }
    module.replace_successor(from, block, copy);
}
