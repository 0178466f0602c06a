//! The pass `unroll_divergent_loops`.

use std::collections::{HashMap, HashSet};

use crate::inst::{BinOp, Call, Callee, InstKind};
use crate::module::Module;
use crate::value::{Block, Func, Value};

/// How many iterations become one. libnvvm chooses the same number for these loops.
const COUNT: u32 = 4;

/// The maximum number of instructions of a loop. Of longer ones, libnvvm may make only two iterations
/// one, or none.
const LONGEST: usize = 28;

/// The minimum number of machine instructions of a loop that is not unrolled. Such an iteration takes
/// longer than the end of a loop, and the copies for the rest of the iterations are long.
const HEAVY: u64 = 64;

/// The registers that differ between the threads of a warp, if blocks have rows of at least 32
/// threads.
const DIVERGENT: [&str; 3] = ["tid.x", "laneid", "lanemask"];

/// Limits the unrolling of short loops of which each thread has loaded its own number of iterations:
/// the bytes of a string, the points of a tree's leaf.
///
/// libnvvm does four iterations of a loop at once. If ptxas recognizes the counter, it does four of
/// the result at once, with loops of eight and four iterations for the rest. That pays off if all
/// threads have many iterations. Threads with different numbers of iterations run these loops one
/// after another. If the module says how many iterations become one, libnvvm tells ptxas not to
/// unroll the result.
///
/// Loops that compute much with 64-bit integers, as hashes do, are not unrolled: for libnvvm, a
/// rotation of 64 bits and a load of eight unaligned bytes are one instruction each.
pub fn unroll_divergent_loops(module: &mut Module) {
    let funcs: Vec<Func> = module.funcs().collect();
    for func in funcs {
        let loops: Vec<Loop> = (module.func(func).blocks.iter())
            .filter_map(|&block| Loop::of(module, block))
            .collect();
        if loops.is_empty() {
            continue;
        }
        let users = users(module, func);
        let loaded = loaded_values(module, func, &users);
        for each in loops {
            let is_counted_apart = each.count.iter().any(|value| loaded.contains(value));
            if is_counted_apart && !has_dependent_loads(module, each.block, &users) {
                let block = module.block(each.block);
                let count = match block.insts.len() {
                    0..=LONGEST => COUNT,
                    _ if cost(module, each.block) >= HEAVY => 1,
                    _ => continue,
                };
                module.block_mut(each.block).unroll_count = Some(count);
            }
        }
    }
}

/// A loop of one block.
struct Loop {
    block: Block,
    /// The values that determine the number of iterations.
    count: Vec<Value>,
}

impl Loop {
    fn of(module: &Module, block: Block) -> Option<Loop> {
        let data = module.block(block);
        let kind = |value: Value| module.inst(value).map(|data| &data.kind);
        let is_simple = |&inst: &Value| match kind(inst) {
            Some(InstKind::Call(call)) => matches!(call.callee, Callee::Intrinsic(_)),
            Some(kind) => !matches!(
                kind,
                InstKind::AtomicRmw { .. } | InstKind::CmpXchg { .. } | InstKind::Fence { .. }
            ),
            None => false,
        };
        if data.no_unroll || !data.insts.iter().all(is_simple) {
            return None;
        }
        let &InstKind::CondBr {
            cond,
            then,
            otherwise,
        } = kind(module.terminator(block)?)?
        else {
            return None;
        };
        if then != block && otherwise != block {
            return None;
        }
        let &InstKind::ICmp { lhs, rhs, .. } = kind(cond)? else {
            return None;
        };
        let is_inside = |value: Value| module.inst(value).is_some_and(|data| data.block == block);
        let (next, end) = match (is_inside(lhs), is_inside(rhs)) {
            (true, false) => (lhs, rhs),
            (false, true) => (rhs, lhs),
            _ => return None,
        };
        let start = start_of(module, block, next)?;
        // The distance of an end that is computed from the start does not depend on the start.
        let count = match kind(end) {
            Some(InstKind::Gep { base, indices, .. }) if *base == start => indices.clone(),
            Some(&InstKind::Bin {
                op: BinOp::Add | BinOp::Or,
                lhs,
                rhs,
                ..
            }) if lhs == start || rhs == start => vec![if lhs == start { rhs } else { lhs }],
            _ => vec![start, end],
        };
        Some(Loop { block, count })
    }
}

/// Returns about how many machine instructions compute with integers of 64 bits and load in a block.
fn cost(module: &Module, block: Block) -> u64 {
    let cost = |&inst: &Value| {
        let words = module.types.size(module.ty(inst)).div_ceil(4);
        match module.inst(inst).map(|data| &data.kind) {
            Some(InstKind::Bin { .. }) => words,
            Some(InstKind::Call(call)) if matches!(call.callee, Callee::Intrinsic(_)) => words,
            // The parts of an unaligned load are joined.
            Some(InstKind::Load { access, .. }) if access.align < 4 => {
                2 * words * (4 / access.align.max(1))
            }
            _ => 0,
        }
    };
    module.block(block).insts.iter().map(cost).sum()
}

/// Returns the initial value of the counter whose next value, or itself, is `value`, if each
/// iteration changes it by a constant.
fn start_of(module: &Module, block: Block, value: Value) -> Option<Value> {
    let kind = |value: Value| module.inst(value).map(|data| &data.kind);
    let is_constant = |value: Value| module.as_const(value).is_some();
    let step_of = |value: Value| match kind(value)? {
        &InstKind::Bin {
            op: BinOp::Add | BinOp::Sub,
            lhs,
            rhs,
            ..
        } => is_constant(rhs).then_some(lhs),
        InstKind::Gep { base, indices, .. } => indices
            .iter()
            .all(|&index| is_constant(index))
            .then_some(*base),
        _ => None,
    };
    let phi = match kind(value)? {
        InstKind::Phi(_) => value,
        _ => step_of(value)?,
    };
    let InstKind::Phi(incoming) = kind(phi)? else {
        return None;
    };
    match incoming[..] {
        [(next, latch), (start, _)] | [(start, _), (next, latch)]
            if latch == block && step_of(next) == Some(phi) =>
        {
            Some(start)
        }
        _ => None,
    }
}

/// Returns the values of a function that depend on what each thread loads from an address of its own
/// or from the stack. Addresses that differ only because a branch does are not found: the pass needs
/// no proof.
fn loaded_values(
    module: &Module,
    func: Func,
    users: &HashMap<Value, Vec<Value>>,
) -> HashSet<Value> {
    let mut own = Vec::new();
    let mut loads = Vec::new();
    for &block in &module.func(func).blocks {
        for &inst in &module.block(block).insts {
            let Some(data) = module.inst(inst) else {
                continue;
            };
            match &data.kind {
                InstKind::Alloca { .. } => own.push(inst),
                InstKind::Call(call) if differs(module, call) => own.push(inst),
                &InstKind::Load { ptr, .. } => loads.push((inst, ptr)),
                _ => {}
            }
        }
    }
    let own = closure(users, own);
    let loads = loads.into_iter().filter(|(_, ptr)| own.contains(ptr));
    closure(users, loads.map(|(load, _)| load).collect())
}

/// Returns whether a loop of one block loads from an address that depends on what it has loaded in
/// the same iteration, as a gather does: the more iterations are one, the more of its loads are in
/// flight.
fn has_dependent_loads(module: &Module, block: Block, users: &HashMap<Value, Vec<Value>>) -> bool {
    let kind = |value: &Value| module.inst(*value).map(|data| &data.kind);
    let insts = &module.block(block).insts;
    let is_phi = |value: &Value| matches!(kind(value), Some(InstKind::Phi(_)));
    let inside: HashSet<Value> = (insts.iter().copied())
        .filter(|inst| !is_phi(inst))
        .collect();
    let loads = insts.iter().copied();
    let mut pending: Vec<Value> = loads
        .filter(|inst| matches!(kind(inst), Some(InstKind::Load { .. })))
        .collect();
    let mut dependent = HashSet::new();
    while let Some(value) = pending.pop() {
        for user in users.get(&value).into_iter().flatten() {
            if inside.contains(user) && dependent.insert(*user) {
                pending.push(*user);
            }
        }
    }
    (dependent.iter()).any(|value| matches!(kind(value), Some(InstKind::Load { .. })))
}

/// Returns the instructions that use each value of a function.
pub(super) fn users(module: &Module, func: Func) -> HashMap<Value, Vec<Value>> {
    let mut users: HashMap<Value, Vec<Value>> = HashMap::new();
    for &block in &module.func(func).blocks {
        for &inst in &module.block(block).insts {
            if let Some(data) = module.inst(inst) {
                (data.kind)
                    .for_each_operand(|operand| users.entry(operand).or_default().push(inst));
            }
        }
    }
    users
}

/// Returns values and all that depend on them.
fn closure(users: &HashMap<Value, Vec<Value>>, mut pending: Vec<Value>) -> HashSet<Value> {
    let mut all = HashSet::new();
    while let Some(value) = pending.pop() {
        if all.insert(value) {
            pending.extend(users.get(&value).into_iter().flatten());
        }
    }
    all
}

/// Returns whether a call reads a register that differs between threads.
fn differs(module: &Module, call: &Call) -> bool {
    let Callee::Value(callee) = call.callee else {
        return false;
    };
    let name = module
        .as_func(callee)
        .map_or("", |func| &module.func(func).name);
    let register = name.strip_prefix("llvm.nvvm.read.ptx.sreg.");
    register.is_some_and(|name| DIVERGENT.iter().any(|start| name.starts_with(start)))
}
