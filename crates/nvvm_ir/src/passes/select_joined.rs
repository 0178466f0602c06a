//! The pass `select_joined`.

use std::collections::{HashMap, HashSet};

use super::remove_unreachable_blocks::remove_unreachable_blocks_of;
use crate::builder::Builder;
use crate::inst::{BinOp, Flags, InstKind};
use crate::module::Module;
use crate::types::TypeKind;
use crate::value::{Block, Func, Value};

/// The maximum number of instructions that both arms of a branch compute.
const COMPUTED: usize = 8;

/// The maximum number of values that a branch chooses.
const CHOSEN: usize = 3;

/// Replaces nested conditional branches with selects if they only choose values for the block where
/// all their arms meet.
///
/// In `match a.partial_cmp(&b) { Some(Less) => less += 1, Some(Equal) => equal += 1, _ => () }`, all
/// three arms continue at one block. LLVM replaces a branch with selects only if no other block
/// continues where its two arms meet, and ptxas only the inner branch: the threads of a warp diverge
/// at each `match`.
pub fn select_joined(module: &mut Module) {
    let funcs: Vec<Func> = module.funcs().collect();
    for func in funcs {
        select_in(module, func);
    }
}

fn select_in(module: &mut Module, func: Func) {
    let blocks = module.func(func).blocks.clone();
    let mut edges: HashMap<Block, usize> = HashMap::new();
    let mut before: HashMap<Block, Block> = HashMap::new();
    for &block in &blocks {
        let end = module.terminator(block).and_then(|inst| module.inst(inst));
        for to in end.map(|end| end.kind.successors()).unwrap_or_default() {
            *edges.entry(to).or_default() += 1;
            before.insert(to, block);
        }
    }
    let mut joins: HashSet<Block> = HashSet::new();
    // The branch of an arm is replaced before that of the block before it.
    let mut pending = blocks;
    while let Some(block) = pending.pop() {
        let Some(branch) = Branch::at(module, &edges, block) else {
            continue;
        };
        let is_inner = || {
            let outer = before.get(&block).filter(|_| edges.get(&block) == Some(&1));
            outer.is_some_and(|&outer| branch.is_inner(module, &edges, outer))
        };
        if !joins.contains(&branch.join) && !is_inner() {
            continue;
        }
        joins.insert(branch.join);
        *edges.entry(branch.join).or_default() -= 1;
        let before = branch.apply(module);
        pending.extend(before);
    }
    if !joins.is_empty() {
        remove_unreachable_blocks_of(module, func);
    }
}

/// A block that ends in a conditional branch whose arms meet.
struct Branch {
    block: Block,
    cond: Value,
    /// The predecessors of `join` if the condition is true and if it is false: an arm, or `block`.
    from: [Block; 2],
    join: Block,
    /// The number of instructions that replace the branch.
    selected: usize,
}

impl Branch {
    /// Returns the branch at the end of a block, if selects replace it. `edges` has the number of edges
    /// to each block.
    fn at(module: &Module, edges: &HashMap<Block, usize>, block: Block) -> Option<Branch> {
        let InstKind::CondBr {
            cond,
            then,
            otherwise,
        } = module.inst(module.terminator(block)?)?.kind
        else {
            return None;
        };
        let next = |arm: Block| next(module, arm).filter(|_| edges.get(&arm) == Some(&1));
        let (join, from) = match (next(then), next(otherwise)) {
            (Some(join), Some(other)) if join == other => (join, [then, otherwise]),
            (Some(join), _) if join == otherwise => (join, [then, block]),
            (_, Some(join)) if join == then => (join, [block, otherwise]),
            _ => return None,
        };
        let is_loop = [then, otherwise, join].contains(&block);
        let arms = from.iter().filter(|&&arm| arm != block);
        let computed: usize = arms.map(|&arm| module.block(arm).insts.len() - 1).sum();
        let mut chosen = 0;
        for phi in phis(module, join) {
            let values = from.map(|from| module.incoming(phi, from));
            if values[0] != values[1] {
                is_selectable(module, phi).then_some(())?;
                let is_const = |value: Option<Value>| module.as_const(value?).map(|_| ());
                (values.into_iter().any(|value| is_const(value).is_none())).then_some(())?;
                chosen += 1;
            }
        }
        let is_small = computed <= COMPUTED && chosen <= CHOSEN;
        (is_small && !is_loop).then_some(Branch {
            block,
            cond,
            from,
            join,
            selected: computed + chosen,
        })
    }

    /// Returns whether a branch before this one can be replaced as soon as this one is: the other arm
    /// meets those of this branch.
    fn is_inner(&self, module: &Module, edges: &HashMap<Block, usize>, outer: Block) -> bool {
        let end = module.terminator(outer).and_then(|inst| module.inst(inst));
        let Some(&InstKind::CondBr {
            then, otherwise, ..
        }) = end.map(|end| &end.kind)
        else {
            return false;
        };
        let other = if then == self.block { otherwise } else { then };
        let joins = other == self.join
            || edges.get(&other) == Some(&1) && next(module, other) == Some(self.join);
        let own = &module.block(self.block).insts;
        let own = &own[..own.len() - 1];
        let is_cheap = own.iter().all(|&inst| is_speculatable(module, inst));
        joins && is_cheap && own.len() + self.selected <= COMPUTED && outer != self.join
    }

    /// Replaces the branch. Returns the block before it if there is one that continues only here: its
    /// branch may have become replaceable.
    fn apply(self, module: &mut Module) -> Vec<Block> {
        let Branch {
            block,
            cond,
            from,
            join,
            ..
        } = self;
        let Some(branch) = module.block_mut(block).insts.pop() else {
            return Vec::new();
        };
        let loc = module.inst(branch).and_then(|data| data.loc);
        for arm in from.into_iter().filter(|&arm| arm != block) {
            let insts = &mut module.block_mut(arm).insts;
            let computed: Vec<Value> = insts.drain(..insts.len() - 1).collect();
            for inst in computed {
                if let Some(data) = module.inst_mut(inst) {
                    data.block = block;
                    // The assumptions hold only for the threads that the branch led to the arm.
                    if let InstKind::Bin { flags, .. } = &mut data.kind {
                        *flags = without_assumptions(*flags);
                    }
                }
                module.block_mut(block).insts.push(inst);
            }
        }
        for phi in phis(module, join) {
            let (Some(then), Some(otherwise)) =
                (module.incoming(phi, from[0]), module.incoming(phi, from[1]))
            else {
                continue;
            };
            let value = match then == otherwise {
                true => then,
                false => Builder::at(module, block, loc).select(cond, then, otherwise),
            };
            if let Some(InstKind::Phi(incoming)) = module.inst_mut(phi).map(|it| &mut it.kind) {
                incoming.retain(|(_, block)| !from.contains(block));
                incoming.push((value, block));
            }
        }
        Builder::at(module, block, loc).br(join);
        let func = module.block(block).func;
        let is_before = |&&other: &&Block| {
            let end = module.terminator(other).and_then(|inst| module.inst(inst));
            end.is_some_and(|end| end.kind.successors().contains(&block))
        };
        module
            .func(func)
            .blocks
            .iter()
            .filter(is_before)
            .copied()
            .collect()
    }
}

/// Returns the block where an arm continues that only computes cheap values.
fn next(module: &Module, arm: Block) -> Option<Block> {
    let data = module.block(arm);
    if data.no_unroll || data.unroll_count.is_some() {
        return None;
    }
    let (end, computed) = data.insts.split_last()?;
    let InstKind::Br(to) = module.inst(*end)?.kind else {
        return None;
    };
    let is_cheap = |&inst: &Value| is_speculatable(module, inst);
    computed.iter().all(is_cheap).then_some(to)
}

/// Returns the phis of a block.
fn phis(module: &Module, block: Block) -> Vec<Value> {
    let is_phi = |inst: &Value| {
        let kind = module.inst(*inst).map(|data| &data.kind);
        matches!(kind, Some(InstKind::Phi(_)))
    };
    let insts = module.block(block).insts.iter().copied();
    insts.take_while(is_phi).collect()
}

/// Returns whether a value is a number in registers. Conditions and the small integers of enums decide
/// later branches, which LLVM removes if they are constants of the edges.
fn is_selectable(module: &Module, value: Value) -> bool {
    match *module.types.kind(module.ty(value)) {
        TypeKind::Int(bits) => [16, 32, 64].contains(&bits),
        TypeKind::Float | TypeKind::Double => true,
        _ => false,
    }
}

/// Returns whether an instruction may run although its result is not needed: it is cheap and has no
/// effect. Arithmetic on `f64` is slow on most GPUs.
fn is_speculatable(module: &Module, inst: Value) -> bool {
    use BinOp::*;
    let is_number = |value: Value| {
        let ty = module.ty(value);
        matches!(module.types.kind(ty), TypeKind::Float)
            || module.types.int_bits(ty).is_some_and(|bits| bits <= 64)
    };
    match module.inst(inst).map(|data| &data.kind) {
        Some(&InstKind::Bin { op, lhs, flags, .. }) => {
            !matches!(op, UDiv | SDiv | URem | SRem | FDiv | FRem) && is_number(lhs) && !flags.fast
        }
        Some(&InstKind::Cast { value, .. }) => is_number(value) && is_number(inst),
        Some(&InstKind::ICmp { lhs, .. }) => is_number(lhs),
        Some(InstKind::FCmp { .. } | InstKind::Select { .. }) => true,
        _ => false,
    }
}

fn without_assumptions(flags: Flags) -> Flags {
    Flags {
        nuw: false,
        nsw: false,
        exact: false,
        ..flags
    }
}
