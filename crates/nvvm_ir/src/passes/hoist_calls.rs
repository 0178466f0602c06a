//! The pass `hoist_calls`.

use std::collections::{HashMap, HashSet};

use crate::builder::Builder;
use crate::flow::Flow;
use crate::inst::{Call, Callee, InstKind};
use crate::intrinsic::Intrinsic;
use crate::metadata::Di;
use crate::module::{Case, Module};
use crate::value::{Block, Func, Value};

/// Hoists a call with which several arms of a `match` begin in front of the branch to the arms.
///
/// Inlining would copy the function into each arm of
/// `match kind { b'L' => (number()?, number()?), b'H' => (number()?, y), b'Z' => start, … }`, and threads
/// of a warp with different kinds would run its loops one after the other. If other arms do not begin
/// with the call, the arms that do are reached through a block with the call, which branches again.
/// That costs a branch, so the function must have a loop, or call one that has.
///
/// Only the starts of variables' lifetimes and operations on registers may precede the call. Calls that
/// may reach a convergent operation remain. Runs after `convergence`.
pub fn hoist_calls(module: &mut Module) {
    let looping = looping(module);
    let funcs: Vec<Func> = module.funcs().collect();
    for func in funcs {
        let mut before = only_predecessors(module, func);
        let mut pending = module.func(func).blocks.clone();
        while let Some(block) = pending.pop() {
            if let Some(hoist) = Hoist::find(module, block, &before, &looping) {
                let to = hoist.apply(module, func);
                before.extend(hoist.arms.iter().map(|arm| (arm.block, to)));
                pending.extend([block, to]);
            }
        }
    }
}

/// Returns the functions that have a loop or call one that has, except from calls that do not return.
fn looping(module: &Module) -> HashSet<Func> {
    let mut callers: HashMap<Func, Vec<Func>> = HashMap::new();
    let mut pending = Vec::new();
    for func in module.funcs() {
        let blocks = &module.func(func).blocks;
        let index: HashMap<Block, usize> = blocks.iter().copied().zip(0..).collect();
        if !Flow::new(module, func, |block| index[&block])
            .loops()
            .is_empty()
        {
            pending.push(func);
        }
        for &inst in blocks.iter().flat_map(|&block| &module.block(block).insts) {
            if let Some(InstKind::Call(call)) = module.inst(inst).map(|data| &data.kind)
                && let Callee::Value(callee) = call.callee
                && let Some(callee) = module.as_func(callee)
                && !call.noreturn
                && !module.func(callee).attrs.no_return
            {
                callers.entry(callee).or_default().push(func);
            }
        }
    }
    let mut found = HashSet::new();
    while let Some(func) = pending.pop() {
        if found.insert(func) {
            pending.extend(callers.get(&func).into_iter().flatten());
        }
    }
    found
}

/// Returns the predecessor of each block that has one.
fn only_predecessors(module: &Module, func: Func) -> HashMap<Block, Block> {
    let mut all: HashMap<Block, HashSet<Block>> = HashMap::new();
    for &block in &module.func(func).blocks {
        let terminator = module.terminator(block).and_then(|inst| module.inst(inst));
        for to in terminator.map_or(Vec::new(), |data| data.kind.successors()) {
            all.entry(to).or_default().insert(block);
        }
    }
    (all.into_iter())
        .filter_map(|(to, from)| {
            let mut from = from.into_iter();
            from.next()
                .filter(|_| from.next().is_none())
                .map(|from| (to, from))
        })
        .collect()
}

/// A block that begins with a call.
struct Arm {
    block: Block,
    /// The call, and its index in the block.
    call: Value,
    at: usize,
}

impl Arm {
    fn of(module: &Module, block: Block) -> Option<Arm> {
        let mut started = Vec::new();
        for (at, &inst) in module.block(block).insts.iter().enumerate() {
            let call = match &module.inst(inst)?.kind {
                InstKind::Call(call) => call,
                InstKind::Bin { .. }
                | InstKind::Cast { .. }
                | InstKind::Gep { .. }
                | InstKind::ICmp { .. }
                | InstKind::FCmp { .. }
                | InstKind::Select { .. }
                | InstKind::ExtractValue { .. } => continue,
                _ => return None,
            };
            match call.callee {
                Callee::Intrinsic(Intrinsic::LifetimeStart) => started.extend(&call.args),
                Callee::Value(callee) => {
                    let callee = module.func(module.as_func(callee)?);
                    let is_plain = !call.convergent
                        && !call.noreturn
                        && !call.musttail
                        && !callee.attrs.convergent
                        && !callee.attrs.no_return
                        && !callee.blocks.is_empty();
                    // A variable must not be used before its lifetime starts.
                    let is_started =
                        |&arg: &Value| started.contains(&variable(module, arg).unwrap_or(arg));
                    let fits = is_plain && !call.args.iter().any(is_started);
                    return fits.then_some(Arm {
                        block,
                        call: inst,
                        at,
                    });
                }
                _ => return None,
            }
        }
        None
    }

    fn call<'m>(&self, module: &'m Module) -> Option<&'m Call> {
        match &module.inst(self.call)?.kind {
            InstKind::Call(call) => Some(call),
            _ => None,
        }
    }
}

/// Returns the variable that an address points into.
fn variable(module: &Module, mut address: Value) -> Option<Value> {
    loop {
        address = match module.inst(address)?.kind {
            InstKind::Alloca { .. } => return Some(address),
            InstKind::Gep { base, .. } => base,
            InstKind::Cast { value, .. } => value,
            _ => return None,
        };
    }
}

/// A call to hoist.
struct Hoist {
    block: Block,
    arms: Vec<Arm>,
    /// Whether all arms that may run begin with the call.
    is_whole: bool,
}

impl Hoist {
    fn find(
        module: &Module,
        block: Block,
        before: &HashMap<Block, Block>,
        looping: &HashSet<Func>,
    ) -> Option<Hoist> {
        let kind = &module.inst(module.terminator(block)?)?.kind;
        if !matches!(kind, InstKind::Switch { .. } | InstKind::CondBr { .. }) {
            return None;
        }
        let mut targets = kind.successors();
        targets.sort_unstable();
        targets.dedup();
        targets.retain(|&to| {
            let first = module.block(to).insts.first();
            let first = first.and_then(|&inst| module.inst(inst));
            !first.is_some_and(|data| matches!(data.kind, InstKind::Unreachable))
        });
        let all = targets.len();
        let mut groups: Vec<Vec<Arm>> = Vec::new();
        for to in targets {
            let is_own = to != block && before.get(&to) == Some(&block);
            let Some(arm) = Arm::of(module, to).filter(|_| is_own) else {
                continue;
            };
            let call = arm.call(module);
            match groups
                .iter_mut()
                .find(|group| group[0].call(module) == call)
            {
                Some(group) => group.push(arm),
                None => groups.push(vec![arm]),
            }
        }
        groups.into_iter().find_map(|arms| {
            let is_whole = arms.len() == all;
            let Callee::Value(callee) = arms[0].call(module)?.callee else {
                return None;
            };
            let loops = looping.contains(&module.as_func(callee)?);
            (arms.len() > 1 && (is_whole || loops)).then_some(Hoist {
                block,
                arms,
                is_whole,
            })
        })
    }

    /// Returns the block that ends with the branch to the arms.
    fn apply(&self, module: &mut Module, func: Func) -> Block {
        let first = self.arms[0].call;
        let loc = module.inst(first).and_then(|data| data.loc);
        let is_arm = |block: Block| self.arms.iter().any(|arm| arm.block == block);
        let to = match self.is_whole {
            true => self.block,
            false => self.add_block(module, func, is_arm, loc),
        };
        for arm in &self.arms {
            module.block_mut(arm.block).insts.remove(arm.at);
            if arm.call != first {
                replace_uses(module, func, arm.call, first);
            }
        }
        let at = module.block(to).insts.len() - 1;
        module.block_mut(to).insts.insert(at, first);
        if let Some(data) = module.inst_mut(first) {
            data.block = to;
        }
        to
    }

    /// Adds a block that branches to the arms, in place of the block that does.
    fn add_block(
        &self,
        module: &mut Module,
        func: Func,
        is_arm: impl Fn(Block) -> bool,
        loc: Option<Di>,
    ) -> Block {
        let to = module.add_block(func, "hoisted");
        if let Some((value, default, cases)) = module.switch(self.block) {
            let mut own: Vec<Case> = (cases.iter().copied())
                .filter(|&(_, target)| is_arm(target))
                .collect();
            // The block is only reached for these cases.
            let default = match (is_arm(default), own.last()) {
                (false, Some(&(_, last))) => {
                    own.retain(|&(_, target)| target != last);
                    last
                }
                _ => default,
            };
            Builder::at(module, to, loc).switch(value, default, own);
        }
        for arm in &self.arms {
            module.replace_successor(self.block, arm.block, to);
        }
        to
    }
}

fn replace_uses(module: &mut Module, func: Func, old: Value, new: Value) {
    for block in module.func(func).blocks.clone() {
        for inst in module.block(block).insts.clone() {
            if let Some(data) = module.inst_mut(inst) {
                (data.kind).for_each_operand_mut(|operand| {
                    if *operand == old {
                        *operand = new;
                    }
                });
            }
        }
    }
}
