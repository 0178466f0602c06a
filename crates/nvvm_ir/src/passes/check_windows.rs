//! The pass `check_windows`.

use std::collections::HashMap;

use super::keep_searches::panics;
use super::prune::prune;
use super::rejoin_branches::branch;
use super::terms::Facts;
use crate::flow::Flow;
use crate::inst::{Callee, InstKind, IntPred};
use crate::intrinsic::Intrinsic;
use crate::module::Module;
use crate::value::{Block, Func, Value};

/// Removes checks that the range of a few elements around another one does not end before it starts.
///
/// `&row[x.saturating_sub(1)..(x + 2).min(width)]` checks that. It is so if `x < width`: the start is at
/// most `x`, and the end at least the smaller one of `x + 2` and `width`. LLVM has ranges of numbers, but
/// does not relate them. With the check, which leaves the loop around it, libnvvm does not unroll that
/// loop.
pub fn check_windows(module: &mut Module) {
    let funcs: Vec<Func> = module.funcs().collect();
    for func in funcs {
        let checks = checks(module, func);
        if checks.is_empty() {
            continue;
        }
        let places = Places::new(module, func);
        let mut known = Vec::new();
        for check in checks {
            let facts = places.facts(module, check.block);
            if facts.is_at_most(module, check.low, check.high, 0) {
                known.push((check.block, check.fails));
            }
        }
        if known.is_empty() {
            continue;
        }
        for (block, fails) in known {
            let fails_if = branch(module, block).map(|(_, then, _)| then == fails);
            decide(module, block, fails_if == Some(false));
        }
        prune(module, func);
    }
}

/// Replaces the condition of a conditional branch.
pub(super) fn decide(module: &mut Module, block: Block, holds: bool) {
    let holds = module.const_bool(holds);
    let last = module.terminator(block);
    if let Some(data) = last.and_then(|last| module.inst_mut(last))
        && let InstKind::CondBr { cond, .. } = &mut data.kind
    {
        *cond = holds;
    }
}

/// The conditions of a function that are known at its blocks.
pub(super) struct Places {
    blocks: Vec<Block>,
    index: HashMap<Block, usize>,
    flow: Flow,
    /// Conditions that hold, with the blocks that say so.
    assumed: Vec<(Block, Value)>,
}

impl Places {
    pub(super) fn new(module: &Module, func: Func) -> Places {
        let blocks = module.func(func).blocks.clone();
        let index: HashMap<Block, usize> = blocks.iter().copied().zip(0..).collect();
        let flow = Flow::new(module, func, |block| index[&block]);
        let assumed = assumed(module, &blocks);
        Places {
            blocks,
            index,
            flow,
            assumed,
        }
    }

    /// Returns what is known at the end of a block.
    pub(super) fn facts(&self, module: &Module, block: Block) -> Facts {
        let Places { index, flow, .. } = self;
        let mut facts = Facts::default();
        let at = index[&block];
        for &(place, cond) in &self.assumed {
            if flow.dominates(index[&place], at) {
                add(module, &mut facts, cond, true);
            }
        }
        // The branches in front of the block.
        for (from, &block) in self.blocks.iter().enumerate() {
            if !flow.is_reachable(from) || !flow.dominates(from, at) || from == at {
                continue;
            }
            let Some((cond, then, otherwise)) = branch(module, block) else {
                continue;
            };
            let leads = |to: Block| {
                flow.dominates(index[&to], at) && flow.predecessors(index[&to]).len() == 1
            };
            match (leads(then), leads(otherwise)) {
                (true, false) => add(module, &mut facts, cond, true),
                (false, true) => add(module, &mut facts, cond, false),
                _ => {}
            }
        }
        facts
    }
}

/// A branch that ends the program if one integer is above another one.
struct Check {
    block: Block,
    low: Value,
    high: Value,
    fails: Block,
}

/// Returns the checks of a function that compare two variables.
fn checks(module: &Module, func: Func) -> Vec<Check> {
    let check = |&block: &Block| {
        let (cond, then, otherwise) = branch(module, block)?;
        let InstKind::ICmp { pred, lhs, rhs } = module.inst(cond)?.kind else {
            return None;
        };
        let (pred, fails) = match (panics(module, then), panics(module, otherwise)) {
            (true, false) => (pred, then),
            (false, true) => (pred.inverse(), otherwise),
            _ => return None,
        };
        let (low, high) = match pred {
            IntPred::Ugt => (lhs, rhs),
            IntPred::Ult => (rhs, lhs),
            _ => return None,
        };
        let is_variable = |value: Value| module.as_const(value).is_none();
        (is_variable(low) && is_variable(high)).then_some(Check {
            block,
            low,
            high,
            fails,
        })
    };
    module.func(func).blocks.iter().filter_map(check).collect()
}

/// Returns the conditions that hold, with the blocks that say so.
fn assumed(module: &Module, blocks: &[Block]) -> Vec<(Block, Value)> {
    let insts = blocks.iter().flat_map(|&block| {
        module
            .block(block)
            .insts
            .iter()
            .map(move |&inst| (block, inst))
    });
    insts
        .filter_map(|(block, inst)| match &module.inst(inst)?.kind {
            InstKind::Call(call) if call.callee == Callee::Intrinsic(Intrinsic::Assume) => {
                Some((block, *call.args.first()?))
            }
            _ => None,
        })
        .collect()
}

/// Adds what a condition says if it is true or false.
fn add(module: &Module, facts: &mut Facts, cond: Value, holds: bool) {
    if let Some(&InstKind::ICmp { pred, lhs, rhs }) = module.inst(cond).map(|data| &data.kind) {
        let pred = if holds { pred } else { pred.inverse() };
        facts.add(module, pred, lhs, rhs);
    }
}
