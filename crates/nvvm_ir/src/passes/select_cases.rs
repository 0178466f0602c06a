//! The pass `select_cases`.

use std::collections::HashMap;

use super::remove_unreachable_blocks::remove_unreachable_blocks_of;
use crate::builder::Builder;
use crate::flow::Flow;
use crate::inst::{BinOp, InstKind, IntPred};
use crate::metadata::Di;
use crate::module::Module;
use crate::value::{Block, Func, Value};

/// The maximum number of instructions that the default computes, and of values that it passes on.
const SMALL: usize = 4;

/// The maximum number of cases that become selects, if the others remain.
const CASES: usize = 2;

/// The maximum number of cases and of values of a switch that becomes selects as a whole.
const ALL: usize = 6;

/// Replaces cases of a switch that only skip the computation of the default with selects, and a switch
/// that only chooses values, such as `match byte { b'(' | b'[' => 1, b')' | b']' => -1, _ => 0 }`.
///
/// In `match byte { b',' => break, b'-' => negative = true, digit => value = 10 * value + digit }`,
/// the second case and the default continue at the same block. libnvvm lowers the switch to branches
/// in the order of the constants, and neither libnvvm nor ptxas replaces a branch before the one that
/// leaves the loop with selects: the threads of a warp diverge at each byte.
pub fn select_cases(module: &mut Module) {
    let funcs: Vec<Func> = module.funcs().collect();
    for func in funcs {
        replace_choices(module, func);
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
        let (value, default, cases) = module.switch(block)?;
        let (_, computed) = module.block(default).insts.split_last()?;
        let InstKind::Br(join) = module.inst(module.terminator(default)?)?.kind else {
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
        (some && plain && is_small && join != default && join != block).then_some(Switch {
            block,
            value,
            default,
            join,
            skips,
        })
    }

    fn apply(self, module: &mut Module) {
        let Some(branch) = module.block_mut(self.default).insts.pop() else {
            return;
        };
        let loc = module.inst(branch).and_then(|data| data.loc);
        let skips = tests(module, self.default, loc, self.value, &self.skips);
        let skips = any(module, self.default, loc, skips);
        for phi in module.block(self.join).insts.clone() {
            if !matches!(
                module.inst(phi).map(|data| &data.kind),
                Some(InstKind::Phi(_))
            ) {
                break;
            }
            if let (Some(skips), Some(skipping), Some(computed)) = (
                skips,
                module.incoming(phi, self.block),
                module.incoming(phi, self.default),
            ) && skipping != computed
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

/// Replaces switches of a function that only choose values.
fn replace_choices(module: &mut Module, func: Func) {
    let blocks = module.func(func).blocks.clone();
    let choices: Vec<Choice> = (blocks.iter())
        .filter_map(|&block| Choice::at(module, block))
        .collect();
    if choices.is_empty() {
        return;
    }
    for choice in choices {
        choice.apply(module);
    }
    remove_unreachable_blocks_of(module, func);
}

/// A block that ends in a switch whose targets only choose values for phis.
struct Choice {
    block: Block,
    value: Value,
    /// Where all targets continue.
    join: Block,
    /// The phis, each with its values: the first one if no case applies, the others for each case.
    phis: Vec<(Value, Vec<Value>)>,
    /// The constants of the cases.
    cases: Vec<u128>,
}

impl Choice {
    /// Returns the switch at the end of a block, if all its targets are empty and continue at the
    /// same block.
    fn at(module: &Module, block: Block) -> Option<Choice> {
        let (value, default, cases) = module.switch(block)?;
        let ends_in = |target: Block| match module.block(target).insts[..] {
            [end] => Some(&module.inst(end)?.kind),
            _ => None,
        };
        // The default of an exhaustive `match` is unreachable: any of the cases may be the default.
        let default = match ends_in(default) {
            Some(InstKind::Unreachable) => cases.first()?.1,
            _ => default,
        };
        // The block where a target continues, and the predecessor for which its phis have values.
        let edge = |target: Block| match ends_in(target) {
            Some(&InstKind::Br(to)) if target != block => (to, target),
            _ => (target, block),
        };
        let (mut join, from) = edge(default);
        if cases.iter().any(|&(_, target)| edge(target).0 != join) {
            // One of the targets is the join, and consists of a branch itself.
            join = default;
        }
        let from = if join == default { block } else { from };
        let source = |target: Block| {
            if target == join {
                return Some(block);
            }
            (edge(target) == (join, target)).then_some(target)
        };
        let mut sources = vec![from];
        for &(_, target) in cases {
            sources.push(source(target)?);
        }
        let mut phis = Vec::new();
        for &inst in &module.block(join).insts {
            if !matches!(
                module.inst(inst).map(|data| &data.kind),
                Some(InstKind::Phi(_))
            ) {
                break;
            }
            let values = sources.iter().map(|&from| module.incoming(inst, from));
            let values: Option<Vec<Value>> = values.collect();
            phis.push((inst, values?));
        }
        // Cases with the values of the default need no selects.
        let is_needed = |index: usize| {
            let differs = |values: &[Value]| values[index + 1] != values[0];
            phis.iter().any(|(_, values)| differs(values))
        };
        let needed: Vec<usize> = (0..cases.len()).filter(|&index| is_needed(index)).collect();
        let is_small = phis.len() <= SMALL && needed.len() <= ALL && !phis.is_empty();
        (is_small && join != block).then(|| Choice {
            block,
            value,
            join,
            phis: (phis.iter())
                .map(|(phi, values)| {
                    let needed = needed.iter().map(|&index| values[index + 1]);
                    (*phi, [values[0]].into_iter().chain(needed).collect())
                })
                .collect(),
            cases: needed.iter().map(|&index| cases[index].0).collect(),
        })
    }

    fn apply(self, module: &mut Module) {
        let Some(switch) = module.block_mut(self.block).insts.pop() else {
            return;
        };
        let loc = module.inst(switch).and_then(|data| data.loc);
        let is_case = tests(module, self.block, loc, self.value, &self.cases);
        module.retain_incoming(self.join, |from| from != self.block);
        for (phi, values) in self.phis {
            let [default, values @ ..] = &values[..] else {
                continue;
            };
            let mut chosen = *default;
            for (index, &value) in values.iter().enumerate() {
                if value == *default || values[..index].contains(&value) {
                    continue;
                }
                let cases = is_case.iter().zip(values).filter(|&(_, of)| *of == value);
                let cases = cases.map(|(&is_case, _)| is_case).collect();
                if let Some(is_chosen) = any(module, self.block, loc, cases) {
                    chosen = Builder::at(module, self.block, loc).select(is_chosen, value, chosen);
                }
            }
            if let Some(InstKind::Phi(incoming)) = module.inst_mut(phi).map(|it| &mut it.kind) {
                incoming.push((chosen, self.block));
            }
        }
        Builder::at(module, self.block, loc).br(self.join);
    }
}

/// Appends comparisons of a value with constants to a block.
fn tests(
    module: &mut Module,
    block: Block,
    loc: Option<Di>,
    value: Value,
    cases: &[u128],
) -> Vec<Value> {
    let ty = module.ty(value);
    let test = |&case: &u128| {
        let case = module.const_int(ty, case);
        Builder::at(module, block, loc).icmp(IntPred::Eq, value, case)
    };
    cases.iter().map(test).collect()
}

/// Appends the union of conditions to a block, if there are any.
fn any(
    module: &mut Module,
    block: Block,
    loc: Option<Di>,
    conditions: Vec<Value>,
) -> Option<Value> {
    let mut union = |before, next| Builder::at(module, block, loc).bin(BinOp::Or, before, next);
    conditions.into_iter().reduce(&mut union)
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
