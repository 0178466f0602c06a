//! The pass `merge_calls`.

use std::collections::{BTreeMap, HashMap};

use super::unroll_divergent_loops::users;
use crate::builder::Builder;
use crate::flow::Flow;
use crate::inst::{Call, Callee, InstKind};
use crate::module::Module;
use crate::types::TypeKind;
use crate::value::{Block, Func, Value, ValueKind};

/// Merges calls of the same function at the ends of blocks with the same successor, if they differ only
/// in numbers.
///
/// `Skip::nth` calls the `nth` of its iterator with another number if it still has elements to skip.
/// Each adapter of an iterator has such calls, so inlining would copy the innermost `nth` once for
/// each combination, or is not done because of the size. The loop of
/// `rows.skip(y).take(64).skip(first).step_by(4)` then has one call of `nth` instead of nine.
///
/// Calls remain if a number is constant, which the callee may be simplified for, or if they may reach a
/// convergent operation. Runs after `convergence`.
pub fn merge_calls(module: &mut Module) {
    let funcs: Vec<Func> = module.funcs().collect();
    for func in funcs {
        // The blocks that end with a call and go to a block, in the order of the function.
        let mut before: BTreeMap<Block, Vec<(Block, usize)>> = BTreeMap::new();
        for &block in &module.func(func).blocks {
            if let Some((successor, at)) = last_call(module, block) {
                before.entry(successor).or_default().push((block, at));
            }
        }
        before.retain(|_, blocks| blocks.len() > 1);
        if before.is_empty() {
            continue;
        }
        let users = users(module, func);
        for latch in latches(module, func) {
            // A block that goes back to its loop is not merged with one that enters the loop.
            before
                .values_mut()
                .for_each(|blocks| blocks.retain(|&(block, _)| block != latch));
        }
        for blocks in before.values_mut() {
            blocks.retain(|&(block, at)| {
                (module.block(block).insts[at..].iter())
                    .flat_map(|inst| users.get(inst).into_iter().flatten())
                    .all(|&user| module.inst(user).is_some_and(|data| data.block == block))
            });
            let mut others: Vec<(Block, usize)> = Vec::new();
            for &second in &*blocks {
                let pair = (others.iter().enumerate())
                    .find_map(|(i, &first)| Some((i, compare(module, first, second)?)));
                match pair {
                    Some((i, pair)) => others[i] = pair.merge(module, func),
                    None => others.push(second),
                }
            }
        }
    }
}

/// Returns the blocks that go back to the header of their loop.
fn latches(module: &Module, func: Func) -> Vec<Block> {
    let blocks = &module.func(func).blocks;
    let index: HashMap<Block, usize> = blocks.iter().copied().zip(0..).collect();
    let flow = Flow::new(module, func, |block| index[&block]);
    let loops = flow.loops().into_iter();
    loops
        .flat_map(|each| each.latches)
        .map(|latch| blocks[latch])
        .collect()
}

/// Two blocks with the same successor and calls to merge.
struct Pair {
    blocks: [Block; 2],
    /// The index of the call in each block.
    calls: [usize; 2],
    /// The indices of the arguments that differ.
    numbers: Vec<usize>,
    /// The indices of the arguments that are addresses computed in each block, and equal.
    addresses: Vec<usize>,
}

/// Returns the only successor of a block, and the index of the last call in the block, if it can be
/// merged.
fn last_call(module: &Module, block: Block) -> Option<(Block, usize)> {
    let data = module.block(block);
    let InstKind::Br(successor) = module.inst(module.terminator(block)?)?.kind else {
        return None;
    };
    let has_phi = |block| {
        let first = module.block(block).insts.first();
        first.is_some_and(|&inst| module.is_phi(inst))
    };
    if data.no_unroll || data.unroll_count.is_some() || has_phi(successor) {
        return None;
    }
    let is_intrinsic = |call: &Call| matches!(call.callee, Callee::Intrinsic(_));
    let at = (data.insts.iter())
        .rposition(|&inst| call(module, inst).is_some_and(|call| !is_intrinsic(call)))?;
    let call = call(module, data.insts[at])?;
    let Callee::Value(callee) = call.callee else {
        return None;
    };
    let callee = module.func(module.as_func(callee)?);
    let is_plain = !call.convergent && !call.noreturn && !call.musttail && !callee.attrs.convergent;
    (is_plain && !callee.blocks.is_empty()).then_some((successor, at))
}

fn call(module: &Module, inst: Value) -> Option<&Call> {
    match &module.inst(inst)?.kind {
        InstKind::Call(call) => Some(call),
        _ => None,
    }
}

fn compare(module: &Module, first: (Block, usize), second: (Block, usize)) -> Option<Pair> {
    let insts = [first, second].map(|(block, at)| &module.block(block).insts[at..]);
    let [a, b] = insts.map(|insts| call(module, insts[0]));
    let (a, b) = (a?, b?);
    let is_same = a.callee == b.callee && a.sig == b.sig && a.ret_attrs == b.ret_attrs;
    if !is_same || a.arg_attrs != b.arg_attrs || insts[0].len() != insts[1].len() {
        return None;
    }
    let (mut numbers, mut addresses) = (Vec::new(), Vec::new());
    for (i, (&x, &y)) in a.args.iter().zip(&b.args).enumerate() {
        if x == y {
            continue;
        }
        let is_constant = |value| matches!(module.value(value).kind, ValueKind::Const(_));
        let is_number = matches!(
            module.types.kind(module.ty(x)),
            TypeKind::Int(_) | TypeKind::Float | TypeKind::Double
        );
        if is_number && !is_constant(x) && !is_constant(y) {
            numbers.push(i);
        } else if is_same_address(module, x, y) {
            addresses.push(i);
        } else {
            return None;
        }
    }
    // What follows the calls, as far as the results of the first one are those of the second one.
    let mut equal: HashMap<Value, Value> = HashMap::from([(insts[1][0], insts[0][0])]);
    for (&x, &y) in insts[0].iter().zip(insts[1]).skip(1) {
        let (x_kind, mut y_kind) = (&module.inst(x)?.kind, module.inst(y)?.kind.clone());
        y_kind.for_each_operand_mut(|operand| {
            *operand = equal.get(operand).copied().unwrap_or(*operand);
        });
        if *x_kind != y_kind || module.ty(x) != module.ty(y) {
            return None;
        }
        equal.insert(y, x);
    }
    Some(Pair {
        blocks: [first.0, second.0],
        calls: [first.1, second.1],
        numbers,
        addresses,
    })
}

/// Returns whether two values are the same constant distance from the same address.
fn is_same_address(module: &Module, x: Value, y: Value) -> bool {
    let kinds = [x, y].map(|value| module.inst(value).map(|data| &data.kind));
    let [Some(x), Some(y)] = kinds else {
        return false;
    };
    matches!(x, InstKind::Gep { .. }) && x == y
}

impl Pair {
    /// Returns the new block, with the index of the call.
    fn merge(self, module: &mut Module, func: Func) -> (Block, usize) {
        let [first, second] = self.blocks;
        let merged = module.add_block(func, "merged");
        let [tail, other] = [(first, self.calls[0]), (second, self.calls[1])]
            .map(|(block, at)| module.block_mut(block).insts.split_off(at));
        let loc = module.inst(tail[0]).and_then(|data| data.loc);
        let [a, b] = [tail[0], other[0]]
            .map(|inst| call(module, inst).map_or(Vec::new(), |call| call.args.clone()));
        let mut args = a.clone();
        for i in self.numbers {
            let ty = module.ty(a[i]);
            let incoming = vec![(a[i], first), (b[i], second)];
            args[i] = Builder::at(module, merged, loc).phi(ty, incoming);
        }
        for i in self.addresses {
            let ty = module.ty(a[i]);
            if let Some(kind) = module.inst(a[i]).map(|data| data.kind.clone()) {
                args[i] = module.push_inst(merged, ty, kind, loc);
            }
        }
        if let Some(call) = module.call_mut(tail[0]) {
            call.args = args;
        }
        for &inst in &tail {
            if let Some(data) = module.inst_mut(inst) {
                data.block = merged;
            }
        }
        let at = module.block(merged).insts.len();
        module.block_mut(merged).insts.extend(tail);
        for block in self.blocks {
            Builder::at(module, block, loc).br(merged);
        }
        (merged, at)
    }
}
