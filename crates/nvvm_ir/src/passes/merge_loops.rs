//! The pass `merge_loops`.

use std::collections::{HashMap, HashSet};

use super::remove_unreachable_blocks::remove_unreachable_blocks_of;
use super::unite_latches::unite;
use super::unroll_array_loops::{arrays, is_step};
use crate::flow::{Flow, Loop};
use crate::inst::{BinOp, InstKind};
use crate::module::Module;
use crate::value::{Block, Func, Value};

/// Merges two nested loops that visit an array of a thread together, as those of
/// `for (to, x) in to.iter_mut().zip(array.iter().filter(|x| passes(x)))`: the inner loop looks for the
/// next element, and the outer one uses it. Each iteration of the merged loop visits one element,
/// so `unroll_array_loops` can unroll it.
pub fn merge_loops(module: &mut Module) {
    let funcs: Vec<Func> = module.funcs().collect();
    for func in funcs {
        let arrays = arrays(module, func);
        if arrays.is_empty() {
            continue;
        }
        while let Some(nest) = Nest::find(module, func, &arrays) {
            nest.merge(module, func);
            remove_unreachable_blocks_of(module, func);
        }
    }
}

/// A loop whose header only leads to that of an inner loop.
struct Nest {
    outer: Block,
    inner: Block,
    /// The blocks from which either loop goes back.
    latches: Vec<Block>,
    /// Those of the inner loop.
    inner_latches: Vec<Block>,
}

impl Nest {
    fn find(module: &Module, func: Func, arrays: &[Value]) -> Option<Nest> {
        let blocks = &module.func(func).blocks;
        let index: HashMap<Block, usize> = blocks.iter().copied().zip(0..).collect();
        let flow = Flow::new(module, func, |block| index[&block]);
        let loops = flow.loops();
        loops.iter().find_map(|inner| {
            let mut before = (flow.predecessors(inner.header).iter())
                .map(|&from| from as usize)
                .filter(|from| !inner.latches.contains(from));
            let (Some(header), None) = (before.next(), before.next()) else {
                return None;
            };
            let outer = loops.iter().find(|it| it.header == header)?;
            let all = |each: &Loop| {
                each.latches
                    .iter()
                    .map(|&it| blocks[it])
                    .collect::<Vec<_>>()
            };
            let nest = Nest {
                outer: blocks[header],
                inner: blocks[inner.header],
                latches: [all(outer), all(inner)].concat(),
                inner_latches: all(inner),
            };
            let body = inner.body.iter().map(|&it| blocks[it]).collect();
            let is_apart = inner.latches.iter().all(|it| !outer.latches.contains(it));
            let fits = is_apart
                && outer.body.contains(&inner.header)
                && nest.only_starts(module)
                && nest.visits(module, &body, arrays);
            fits.then_some(nest)
        })
    }

    /// Returns whether the header of the outer loop only computes what can as well be computed in
    /// each iteration of the inner one.
    fn only_starts(&self, module: &Module) -> bool {
        let insts = &module.block(self.outer).insts;
        let of = |inst: &Value| module.inst(*inst).map(|data| &data.kind);
        let is_own = |value: Value| module.inst(value).is_some_and(|it| it.block == self.outer);
        let phis = (module.block(self.inner).insts.iter()).filter_map(|inst| match of(inst) {
            Some(InstKind::Phi(incoming)) => Some(incoming),
            _ => None,
        });
        // The merged loop has no place to compute what the inner loop starts with.
        let starts = phis.flatten().filter(|(_, from)| *from == self.outer);
        let mut computed = starts.filter(|&&(value, _)| is_own(value) && !module.is_phi(value));
        let is_fast = |inst: &Value| {
            matches!(
                of(inst),
                Some(
                    InstKind::Phi(_)
                        | InstKind::Br(_)
                        | InstKind::Gep { .. }
                        | InstKind::Cast { .. }
                        | InstKind::Bin {
                            op: BinOp::Add | BinOp::Sub | BinOp::Shl | BinOp::And | BinOp::Or,
                            ..
                        }
                )
            )
        };
        computed.next().is_none() && insts.iter().all(is_fast)
    }

    /// Returns whether each iteration of either loop continues with the next element of an array.
    fn visits(&self, module: &Module, body: &HashSet<Block>, arrays: &[Value]) -> bool {
        let is_element = |index: Value| {
            let mut insts = body.iter().flat_map(|&block| &module.block(block).insts);
            insts.any(|&inst| match module.inst(inst).map(|data| &data.kind) {
                Some(InstKind::Gep { base, indices, .. }) => {
                    arrays.contains(base) && indices[..] == [index]
                }
                _ => false,
            })
        };
        (module.block(self.inner).insts.iter()).any(|&counter| {
            let Some(InstKind::Phi(incoming)) = module.inst(counter).map(|data| &data.kind) else {
                return false;
            };
            let start = incoming.iter().find(|(_, from)| *from == self.outer);
            let start = start.and_then(|&(value, _)| module.inst(value));
            let Some(InstKind::Phi(starts)) =
                (start.filter(|data| data.block == self.outer)).map(|data| &data.kind)
            else {
                return false;
            };
            let mut all = incoming.iter().chain(starts);
            let Some(&(next, _)) = all.find(|(_, from)| self.inner_latches.contains(from)) else {
                return false;
            };
            let mut back =
                (incoming.iter().chain(starts)).filter(|(_, from)| self.latches.contains(from));
            is_step(module, counter, next)
                && back.all(|&(value, _)| value == next)
                && is_element(counter)
        })
    }

    fn merge(&self, module: &mut Module, func: Func) {
        let insts = std::mem::take(&mut module.block_mut(self.outer).insts);
        let (phis, rest): (Vec<Value>, Vec<Value>) =
            insts.into_iter().partition(|&inst| module.is_phi(inst));
        let starts: HashMap<Value, Vec<(Value, Block)>> = (phis.iter())
            .map(|&phi| (phi, incoming(module, phi)))
            .collect();
        let before: Vec<Block> = match phis.first() {
            Some(phi) => starts[phi].iter().map(|&(_, from)| from).collect(),
            None => Vec::new(),
        };
        let own: Vec<Value> = (module.block(self.inner).insts.iter().copied())
            .take_while(|&inst| module.is_phi(inst))
            .collect();
        for phi in own.iter().copied() {
            let mut merged = Vec::new();
            for (value, from) in incoming(module, phi) {
                if from != self.outer {
                    merged.push((value, from));
                } else if let Some(starts) = starts.get(&value) {
                    merged.extend(starts);
                } else {
                    merged.extend(before.iter().map(|&from| (value, from)));
                }
            }
            set_incoming(module, phi, merged);
        }
        // The inner loop does not change the values of the outer one.
        for &phi in &phis {
            let mut merged = starts[&phi].clone();
            merged.extend(self.inner_latches.iter().map(|&from| (phi, from)));
            set_incoming(module, phi, merged);
        }
        let (terminator, rest) = match rest.split_last() {
            Some((&terminator, rest)) => (Some(terminator), rest.to_vec()),
            None => (None, rest),
        };
        module.block_mut(self.outer).insts.extend(terminator);
        for &inst in phis.iter().chain(&rest) {
            if let Some(data) = module.inst_mut(inst) {
                data.block = self.inner;
            }
        }
        let insts = &mut module.block_mut(self.inner).insts;
        let body = insts.split_off(own.len());
        insts.extend(phis);
        insts.extend(rest);
        insts.extend(body);
        let sources: HashSet<Block> = before.into_iter().collect();
        for from in sources {
            module.replace_successor(from, self.outer, self.inner);
        }
        if self.latches.len() > 1 {
            unite(module, func, self.inner, &self.latches);
        }
    }
}

fn incoming(module: &Module, phi: Value) -> Vec<(Value, Block)> {
    match module.inst(phi).map(|data| &data.kind) {
        Some(InstKind::Phi(incoming)) => incoming.clone(),
        _ => Vec::new(),
    }
}

fn set_incoming(module: &mut Module, phi: Value, incoming: Vec<(Value, Block)>) {
    if let Some(data) = module.inst_mut(phi) {
        data.kind = InstKind::Phi(incoming);
    }
}
