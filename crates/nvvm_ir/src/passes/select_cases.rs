//! The pass `select_cases`.

use std::collections::HashMap;

use crate::builder::Builder;
use crate::flow::Flow;
use crate::inst::{BinOp, InstKind, IntPred};
use crate::module::Module;
use crate::value::{Block, Func, Value};

/// The maximum number of instructions that the default computes, and of values that it passes on.
const SMALL: usize = 4;

/// The maximum number of cases that become selects.
const CASES: usize = 2;

/// Replaces cases of a switch that only skip the computation of the default with selects.
///
/// In `match byte { b',' => break, b'-' => negative = true, digit => value = 10 * value + digit }`,
/// the second case and the default continue at the same block. libnvvm lowers the switch to branches
/// in the order of the constants, and neither libnvvm nor ptxas replaces a branch before the one that
/// leaves the loop with selects: the threads of a warp diverge at each byte.
pub fn select_cases(module: &mut Module) {
    let funcs: Vec<Func> = module.funcs().collect();
    for func in funcs {
        let blocks = module.func(func).blocks.clone();
        let switches: Vec<Switch> = blocks
            .iter()
            .filter_map(|&block| Switch::at(module, block))
            .collect();
        if switches.is_empty() {
            continue;
        }
        let index: HashMap<Block, usize> = blocks.iter().copied().zip(0..).collect();
        let flow = Flow::new(module, func, |block| index[&block]);
        for switch in switches {
            if flow.predecessors(index[&switch.default]).len() == 1 {
                switch.apply(module);
            }
        }
    }
}

/// A block that ends in a switch, of which some cases skip the default.
struct Switch {
    block: Block,
    value: Value,
    default: Block,
    /// Where the default and the cases that skip it continue.
    join: Block,
    /// The constants of these cases.
    skips: Vec<u128>,
}

impl Switch {
    /// Returns the switch at the end of a block, if other cases do not skip the default: LLVM
    /// replaces a switch of two arms.
    fn at(module: &Module, block: Block) -> Option<Switch> {
        let InstKind::Switch {
            value,
            default,
            cases,
        } = &module.inst(module.terminator(block)?)?.kind
        else {
            return None;
        };
        let (_, computed) = module.block(*default).insts.split_last()?;
        let InstKind::Br(join) = module.inst(module.terminator(*default)?)?.kind else {
            return None;
        };
        let is_phi = |&inst: &Value| match module.inst(inst).map(|data| &data.kind) {
            Some(InstKind::Phi(incoming)) => Some(incoming),
            _ => None,
        };
        let phis = module.block(join).insts.iter().map_while(is_phi).count();
        let skips = cases.iter().filter(|(_, to)| *to == join);
        let skips: Vec<u128> = skips.map(|&(case, _)| case).collect();
        let plain = computed.iter().all(|&inst| is_speculatable(module, inst));
        let is_small = computed.len() <= SMALL && phis <= SMALL;
        let some = (1..=CASES).contains(&skips.len()) && skips.len() < cases.len();
        (some && plain && is_small && join != *default && join != block).then_some(Switch {
            block,
            value: *value,
            default: *default,
            join,
            skips,
        })
    }

    fn apply(self, module: &mut Module) {
        let Some(branch) = module.block_mut(self.default).insts.pop() else {
            return;
        };
        let loc = module.inst(branch).and_then(|data| data.loc);
        let ty = module.ty(self.value);
        let mut skips = None;
        for case in self.skips {
            let case = module.const_int(ty, case);
            let mut bx = Builder::at(module, self.default, loc);
            let is_case = bx.icmp(IntPred::Eq, self.value, case);
            skips = Some(match skips {
                Some(before) => bx.bin(BinOp::Or, before, is_case),
                None => is_case,
            });
        }
        for phi in module.block(self.join).insts.clone() {
            let Some(InstKind::Phi(incoming)) = module.inst(phi).map(|data| &data.kind) else {
                break;
            };
            let value_of = |block: Block| {
                let found = incoming.iter().find(|(_, from)| *from == block);
                found.map(|&(value, _)| value)
            };
            if let (Some(skips), Some(skipping), Some(computed)) =
                (skips, value_of(self.block), value_of(self.default))
                && skipping != computed
            {
                let mut bx = Builder::at(module, self.default, loc);
                let selected = bx.select(skips, skipping, computed);
                if let Some(InstKind::Phi(incoming)) = module.inst_mut(phi).map(|it| &mut it.kind)
                    && let Some(own) = incoming.iter_mut().find(|(_, from)| *from == self.default)
                {
                    own.0 = selected;
                }
            }
        }
        module.retain_incoming(self.join, |from| from != self.block);
        Builder::at(module, self.default, loc).br(self.join);
        if let Some(switch) = module.terminator(self.block)
            && let Some(InstKind::Switch { cases, .. }) =
                module.inst_mut(switch).map(|data| &mut data.kind)
        {
            cases.retain(|(_, to)| *to != self.join);
        }
    }
}

/// Returns whether an instruction may run although its result is not needed: it is cheap and has no
/// effect.
fn is_speculatable(module: &Module, inst: Value) -> bool {
    use BinOp::*;
    match module.inst(inst).map(|data| &data.kind) {
        Some(InstKind::Bin { op, .. }) => !matches!(op, UDiv | SDiv | URem | SRem | FDiv | FRem),
        Some(InstKind::Cast { .. } | InstKind::ICmp { .. } | InstKind::Select { .. }) => true,
        _ => false,
    }
}
