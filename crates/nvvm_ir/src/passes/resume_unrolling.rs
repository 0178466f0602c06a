//! The pass `resume_unrolling`, and the loops that it is about.

use std::collections::{HashMap, HashSet};

use super::pair_sin_cos::name_of_pair;
use crate::flow::Flow;
use crate::inst::{Callee, InstKind};
use crate::module::Module;
use crate::value::{Block, Func, Value};

/// Functions of libdevice that libnvvm expands to tens of instructions or more, without `__nv_`.
/// Those of `f32` with fewer, such as `expf`, are not among them.
const EXPANDED: [&str; 40] = [
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "cos",
    "cosh",
    "cospi",
    "erf",
    "erfc",
    "erfcinv",
    "erfcx",
    "erfinv",
    "exp",
    "exp10",
    "exp2",
    "expm1",
    "fmod",
    "lgamma",
    "log",
    "log10",
    "log1p",
    "log2",
    "normcdf",
    "normcdfinv",
    "pow",
    "powf",
    "remainder",
    "sin",
    "sincos",
    "sincospi",
    "sinh",
    "sinpi",
    "tan",
    "tanh",
    "tgamma",
    "tgammaf",
];

/// Lets libnvvm unroll the loops for which
/// [`Exchange::defer_unrolling`](crate::llvm::Exchange::defer_unrolling) has disabled LLVM's unrolling.
pub fn resume_unrolling(module: &mut Module) {
    for (func, latch) in latches_of_calling_loops(module) {
        let latch: Block = module.func(func).blocks[latch];
        module.block_mut(latch).no_unroll = false;
    }
}

/// Returns the functions of libdevice of a module that libnvvm expands to many instructions.
pub(crate) fn expanded(module: &Module) -> HashSet<Value> {
    let named = |name: &&str| {
        let pair = module.named(&name_of_pair(name));
        [module.named(&format!("__nv_{name}")), pair]
    };
    EXPANDED.iter().flat_map(named).flatten().collect()
}

/// Returns the latches of the loops that call one of [`expanded()`], each as the index of a block.
pub(crate) fn latches_of_calling_loops(module: &Module) -> Vec<(Func, usize)> {
    let expanded = expanded(module);
    if expanded.is_empty() {
        return Vec::new();
    }
    let calls = |inst: &Value| match module.inst(*inst).map(|data| &data.kind) {
        Some(InstKind::Call(call)) => {
            matches!(call.callee, Callee::Value(callee) if expanded.contains(&callee))
        }
        _ => false,
    };
    let mut latches = Vec::new();
    let funcs: Vec<Func> = module.funcs().collect();
    for func in funcs {
        let blocks = &module.func(func).blocks;
        let calling: Vec<bool> = (blocks.iter())
            .map(|&block| module.block(block).insts.iter().any(calls))
            .collect();
        if !calling.contains(&true) {
            continue;
        }
        let index: HashMap<Block, usize> = blocks.iter().copied().zip(0..).collect();
        let flow = Flow::new(module, func, |block| index[&block]);
        for each in flow.loops() {
            if each.body.iter().any(|&at| calling[at]) {
                latches.extend(each.latches.iter().map(|&latch| (func, latch)));
            }
        }
    }
    latches
}
