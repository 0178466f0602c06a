//! The loops whose conditions LLVM should not move out.

use std::collections::{HashMap, HashSet};

use crate::flow::{Flow, Loop};
use crate::inst::{BinOp, Call, Callee, InstKind};
use crate::module::Module;
use crate::value::{Block, Const, Func, Value};

/// The special registers that differ between the threads of a block.
const REGISTERS: [&str; 3] = ["tid_", "laneid", "lanemask"];
/// The number of threads of a warp.
const WARP: u128 = 32;
/// The prefix of their names as functions that LLVM does not know.
const READ: &str = "__llvm_nvvm_read_ptx_sreg_";
/// The maximum number of operations between an invariant condition and the values it depends on.
const DEPTH: u32 = 8;
/// The minimum number of instructions that threads execute whatever a condition is.
const SHARED: usize = 16;
/// The maximum number of blocks of a function: the analysis takes quadratic time.
const BLOCKS: usize = 2048;

/// Returns the latches of loops with an invariant condition that differs between the threads of a warp,
/// each as the index of a block.
///
/// LLVM moves an invariant condition out of a loop by copying the loop: without a target, it does not know
/// that threads diverge. The threads of a warp would run one copy after the other, instead of one loop with
/// a branch. A condition around almost all of an iteration is no such one: threads with the other value
/// have nothing to do.
pub(super) fn latches(module: &Module) -> Vec<(Func, usize)> {
    let mut latches = Vec::new();
    for func in module.funcs() {
        let blocks = &module.func(func).blocks;
        if blocks.is_empty() || blocks.len() > BLOCKS {
            continue;
        }
        let index: HashMap<Block, usize> = blocks.iter().copied().zip(0..).collect();
        let flow = Flow::new(module, func, |block| index[&block]);
        let loops = flow.loops();
        if loops.is_empty() {
            continue;
        }
        let divergent = divergent(module, func, &flow, &index);
        let headers: HashSet<Block> = loops.iter().map(|it| blocks[it.header]).collect();
        for each in loops {
            let body: HashSet<Block> = each.body.iter().map(|&block| blocks[block]).collect();
            let mut inner = headers.clone();
            inner.remove(&blocks[each.header]);
            let invariant = Invariant {
                module,
                body,
                inner,
            };
            let is_divergent = |&block: &usize| {
                let mut found = Vec::new();
                let differs = invariant.conditions(blocks[block], &mut found);
                found.iter().any(|it| divergent.contains(it))
                    && (!differs || invariant.shared(block, &each, blocks, &index) >= SHARED)
            };
            if each.body.iter().any(is_divergent) {
                latches.push((func, each.latches[0]));
            }
        }
    }
    latches
}

/// Returns the values of a function that differ between the threads of a warp, as far as a few simple rules
/// tell.
fn divergent(
    module: &Module,
    func: Func,
    flow: &Flow,
    index: &HashMap<Block, usize>,
) -> HashSet<Value> {
    let blocks = &module.func(func).blocks;
    let mut found: HashSet<Value> = HashSet::new();
    // Those among them that are no sums and products of the thread's index.
    let mut arbitrary: HashSet<Value> = HashSet::new();
    loop {
        let before = found.len() + arbitrary.len();
        for &block in blocks {
            for &inst in &module.block(block).insts {
                let Some(data) = module.inst(inst) else {
                    continue;
                };
                let mut is_divergent = match &data.kind {
                    InstKind::Call(call) => is_source(module, call),
                    InstKind::AtomicRmw { .. } | InstKind::CmpXchg { .. } => true,
                    InstKind::Phi(incoming) => incoming
                        .iter()
                        .any(|(_, from)| is_chosen(module, flow, blocks, index[from], &found)),
                    // Each thread has its own variables.
                    InstKind::Alloca { .. } => true,
                    _ => false,
                };
                let mut is_arbitrary = is_divergent && !is_thread_index(module, &data.kind);
                data.kind.for_each_operand(|it| {
                    is_divergent |= found.contains(&it);
                    is_arbitrary |= arbitrary.contains(&it);
                });
                is_arbitrary |= is_divergent && is_pattern(module, &data.kind);
                if is_divergent && (is_arbitrary || !is_of_warps(module, &data.kind)) {
                    found.insert(inst);
                }
                if is_arbitrary {
                    arbitrary.insert(inst);
                }
            }
        }
        if found.len() + arbitrary.len() == before {
            return found;
        }
    }
}

/// Returns the special register that a call reads.
fn register_of<'m>(module: &'m Module, call: &Call) -> Option<&'m str> {
    match &call.callee {
        Callee::Value(callee) => {
            let func = module.as_func(*callee)?;
            module.func(func).name.strip_prefix(READ)
        }
        _ => None,
    }
}

/// Returns whether an instruction reads the index of a thread in its block.
fn is_thread_index(module: &Module, kind: &InstKind) -> bool {
    match kind {
        InstKind::Call(call) => {
            register_of(module, call).is_some_and(|name| name.starts_with(REGISTERS[0]))
        }
        _ => false,
    }
}

/// Returns whether neighboring threads may have any values, if an operand differs between them. The
/// remainder by a multiple of a warp differs from the index by a number of the warp.
fn is_pattern(module: &Module, kind: &InstKind) -> bool {
    match *kind {
        InstKind::Load { .. } => true,
        InstKind::Bin { op, rhs, .. } => match op {
            BinOp::And => number(module, rhs) < WARP - 1,
            BinOp::URem | BinOp::SRem => number(module, rhs) < WARP,
            BinOp::Xor => true,
            // The number of a group of lanes.
            BinOp::LShr | BinOp::AShr => (1..WARP.ilog2().into()).contains(&number(module, rhs)),
            BinOp::UDiv | BinOp::SDiv => (2..WARP).contains(&number(module, rhs)),
            _ => false,
        },
        _ => false,
    }
}

fn number(module: &Module, value: Value) -> u128 {
    match module.as_const(value) {
        Some(&Const::Int(number)) => number,
        _ => 0,
    }
}

/// Returns whether the threads of most warps have the same result, if the operands are sums and products of
/// the thread's index: the number of the warp, or a comparison, by which at most one warp or one thread
/// differs.
fn is_of_warps(module: &Module, kind: &InstKind) -> bool {
    match *kind {
        InstKind::ICmp { .. } => true,
        InstKind::Bin { op, rhs, .. } => match op {
            BinOp::LShr | BinOp::AShr => number(module, rhs) >= WARP.ilog2().into(),
            BinOp::UDiv | BinOp::SDiv => number(module, rhs) >= WARP,
            _ => false,
        },
        _ => false,
    }
}

/// Returns whether a call reads a register that differs between threads.
fn is_source(module: &Module, call: &Call) -> bool {
    match &call.callee {
        Callee::Asm(asm) => asm.template.contains("%lane") || asm.template.contains("%tid"),
        _ => register_of(module, call)
            .is_some_and(|name| REGISTERS.iter().any(|it| name.starts_with(it))),
    }
}

/// Returns whether only some threads of a warp come from a block.
fn is_chosen(
    module: &Module,
    flow: &Flow,
    blocks: &[Block],
    from: usize,
    divergent: &HashSet<Value>,
) -> bool {
    let branches = |block: usize| {
        let end = module
            .terminator(blocks[block])
            .and_then(|end| module.inst(end));
        match end.map(|end| &end.kind) {
            Some(InstKind::CondBr { cond, .. }) => divergent.contains(cond),
            Some(InstKind::Switch { value, .. }) => divergent.contains(value),
            _ => false,
        }
    };
    branches(from)
        || match flow.predecessors(from) {
            &[before] => branches(before as usize),
            _ => false,
        }
}

/// The invariant values of a loop.
struct Invariant<'m> {
    module: &'m Module,
    body: HashSet<Block>,
    /// The headers of other loops.
    inner: HashSet<Block>,
}

impl Invariant<'_> {
    /// Returns whether a block begins a loop inside of this one, or leads to nothing else. The condition of
    /// its predecessor is whether that loop has an iteration, which most threads' loops have.
    fn enters(&self, block: Block) -> bool {
        let end = self.module.terminator(block);
        let kind = end.and_then(|end| self.module.inst(end)).map(|it| &it.kind);
        let to = kind.map(|kind| kind.successors()).unwrap_or_default();
        self.inner.contains(&block) || matches!(to[..], [next] if self.inner.contains(&next))
    }

    /// Collects the invariant values on which the selects and the end of a block depend. Returns whether the
    /// end is the only one.
    fn conditions(&self, block: Block, found: &mut Vec<Value>) -> bool {
        let mut is_only = true;
        for &inst in &self.module.block(block).insts {
            match self.module.inst(inst).map(|data| &data.kind) {
                Some(&InstKind::CondBr {
                    cond,
                    then,
                    otherwise,
                }) if then != otherwise && !self.enters(then) && !self.enters(otherwise) => {
                    self.parts(cond, DEPTH, found);
                }
                Some(&InstKind::Switch { value, .. }) if self.contains(value, DEPTH) => {
                    found.push(value);
                }
                Some(&InstKind::Select { cond, .. }) => {
                    self.parts(cond, DEPTH, found);
                    is_only &= found.is_empty();
                }
                _ => {}
            }
        }
        is_only
    }

    /// Returns the number of instructions of a loop that run on several ways from the end of a block, or
    /// on all of them.
    fn shared(
        &self,
        block: usize,
        each: &Loop,
        blocks: &[Block],
        index: &HashMap<Block, usize>,
    ) -> usize {
        let successors = |block: usize| -> Vec<usize> {
            let end = self.module.terminator(blocks[block]);
            let kind = end.and_then(|end| self.module.inst(end)).map(|it| &it.kind);
            let to = kind.map(|kind| kind.successors()).unwrap_or_default();
            let to = to.into_iter().map(|to| index[&to]);
            to.filter(|to| *to != each.header && each.body.contains(to))
                .collect()
        };
        // How many of the ways lead to each block.
        let mut ways: HashMap<usize, usize> = HashMap::new();
        for start in successors(block) {
            let mut seen = HashSet::new();
            let mut pending = vec![start];
            while let Some(block) = pending.pop() {
                if seen.insert(block) {
                    *ways.entry(block).or_insert(0) += 1;
                    pending.extend(successors(block));
                }
            }
        }
        (each.body.iter())
            .filter(|block| ways.get(block) != Some(&1))
            .map(|&block| self.module.block(blocks[block]).insts.len())
            .sum()
    }

    /// Collects the invariant parts of a condition.
    fn parts(&self, cond: Value, depth: u32, found: &mut Vec<Value>) {
        if self.contains(cond, DEPTH) {
            found.push(cond);
            return;
        }
        let Some(depth) = depth.checked_sub(1) else {
            return;
        };
        match self.module.inst(cond).map(|data| &data.kind) {
            Some(&InstKind::Bin {
                op: BinOp::And | BinOp::Or,
                lhs,
                rhs,
                ..
            }) => [lhs, rhs]
                .iter()
                .for_each(|&it| self.parts(it, depth, found)),
            Some(&InstKind::Select {
                cond,
                then,
                otherwise,
            }) => ([cond, then, otherwise].iter()).for_each(|&it| self.parts(it, depth, found)),
            _ => {}
        }
    }

    /// Returns whether a value is the same in all iterations.
    fn contains(&self, value: Value, depth: u32) -> bool {
        let Some(data) = self.module.inst(value) else {
            return true;
        };
        if !self.body.contains(&data.block) {
            return true;
        }
        let is_pure = matches!(
            data.kind,
            InstKind::Bin { .. }
                | InstKind::Cast { .. }
                | InstKind::FCmp { .. }
                | InstKind::Freeze(_)
                | InstKind::ICmp { .. }
                | InstKind::Select { .. }
        );
        let mut are_invariant = is_pure && depth > 0;
        if are_invariant {
            (data.kind).for_each_operand(|it| are_invariant &= self.contains(it, depth - 1));
        }
        are_invariant
    }
}
