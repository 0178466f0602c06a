//! The pass `merge_branches`.

use std::collections::HashMap;

use crate::builder::Builder;
use crate::flow::Flow;
use crate::inst::{BinOp, InstKind};
use crate::module::Module;
use crate::value::{Block, Func, Value};

/// The maximum number of instructions of both arms.
const SMALL: usize = 4;

/// Merges two conditional branches with the same targets into one.
///
/// `if if up { a < b } else { a > b } { a = b }` has one branch on the result of the inner `if`.
/// LLVM's jump threading moves that branch into both arms of the inner `if`, which saves a CPU the
/// inner result. On a GPU the threads of a warp diverge at the inner `if`, and neither libnvvm nor
/// ptxas replaces the three branches with selects. This pass lets both arms continue at a new
/// block, which branches on a phi of their conditions.
pub fn merge_branches(module: &mut Module) {
    let funcs: Vec<Func> = module.funcs().collect();
    for func in funcs {
        merge_in(module, func);
    }
}

fn merge_in(module: &mut Module, func: Func) {
    let blocks = module.func(func).blocks.clone();
    let merges: Vec<Merge> = blocks
        .iter()
        .filter_map(|&block| Merge::at(module, block))
        .collect();
    if merges.is_empty() {
        return;
    }
    let index: HashMap<Block, usize> = blocks.iter().copied().zip(0..).collect();
    let flow = Flow::new(module, func, |block| index[&block]);
    // Arms have one predecessor, and their targets two or more: no block is an arm of one merge and
    // a target of another.
    let single = |arm: &Arm| flow.predecessors(index[&arm.block]).len() == 1;
    for merge in merges {
        if merge.arms.iter().all(single) {
            merge.apply(module, func);
        }
    }
}

/// A block that ends in a conditional branch.
#[derive(Copy, Clone)]
struct Arm {
    block: Block,
    cond: Value,
    then: Block,
    otherwise: Block,
}

impl Arm {
    fn of(module: &Module, block: Block) -> Option<Arm> {
        match module.inst(module.terminator(block)?)?.kind {
            InstKind::CondBr {
                cond,
                then,
                otherwise,
            } if then != otherwise => Some(Arm {
                block,
                cond,
                then,
                otherwise,
            }),
            _ => None,
        }
    }

    fn targets(&self) -> [Block; 2] {
        [self.then, self.otherwise]
    }
}

/// Two arms of a branch that can be merged.
struct Merge {
    arms: [Arm; 2],
}

impl Merge {
    /// Returns the merge of the two blocks that `block` branches to. Returns `None` if they have
    /// different targets, pass different values to them, or are large.
    fn at(module: &Module, block: Block) -> Option<Merge> {
        let head = Arm::of(module, block)?;
        let arms = [
            Arm::of(module, head.then)?,
            Arm::of(module, head.otherwise)?,
        ];
        let [first, second] = arms;
        let targets = first.targets();
        if !second.targets().iter().all(|to| targets.contains(to)) {
            return None;
        }
        // A loop of one block stays as it is.
        if arms.iter().any(|arm| targets.contains(&arm.block)) {
            return None;
        }
        let data = arms.map(|arm| module.block(arm.block));
        if data.iter().any(|data| data.no_unroll) {
            return None;
        }
        // Without the terminators.
        let insts: usize = data.iter().map(|data| data.insts.len() - 1).sum();
        let from = arms.map(|arm| arm.block);
        let same = targets.iter().all(|&to| same_incoming(module, to, from));
        (insts <= SMALL && same).then_some(Merge { arms })
    }

    fn apply(self, module: &mut Module, func: Func) {
        let [first, second] = self.arms;
        let merged = module.add_block(func, "merged");
        let mut loc = None;
        let conds = self.arms.map(|arm| {
            let block = module.block_mut(arm.block);
            let branch = block.insts.pop().and_then(|inst| module.inst(inst));
            loc = branch.and_then(|data| data.loc);
            let no = module.const_bool(true);
            let mut bx = Builder::at(module, arm.block, loc);
            let cond = match arm.then == first.then {
                true => arm.cond,
                false => bx.bin(BinOp::Xor, arm.cond, no),
            };
            bx.br(merged);
            (cond, arm.block)
        });
        for target in first.targets() {
            module.retain_incoming(target, |from| from != second.block);
            module.replace_incoming(target, first.block, merged);
        }
        let bool_type = module.ty(first.cond);
        let mut bx = Builder::at(module, merged, loc);
        let cond = bx.phi(bool_type, conds.to_vec());
        bx.cond_br(cond, first.then, first.otherwise);
    }
}

/// Returns whether the phis of a block have the same values for two predecessors.
fn same_incoming(module: &Module, block: Block, from: [Block; 2]) -> bool {
    let phis = module
        .block(block)
        .insts
        .iter()
        .map_while(|&inst| match &module.inst(inst)?.kind {
            InstKind::Phi(incoming) => Some(incoming),
            _ => None,
        });
    phis.into_iter().all(|incoming| {
        let value_of = |from: Block| {
            let found = incoming.iter().find(|(_, block)| *block == from);
            found.map(|&(value, _)| value)
        };
        value_of(from[0]) == value_of(from[1])
    })
}
