//! Decides before a loop whether all 32 lanes of its warp are left.
//!
//! The reductions of `cuda_std` ask with a ballot which lanes have not exited, and have longer code
//! for some of them. With both, a loop over an array is too large to unroll. If all lanes run the
//! same iterations and none exits in the loop, each ballot has the same result. So a ballot before
//! the loop decides whether a copy for whole warps runs, which is unrolled. The original loop has
//! copies of the arrays, which stay in memory.

use std::collections::HashMap;

use super::known::State;
use super::{Counted, Left, Nests, add_incoming, number};
use crate::Intrinsic;
use crate::builder::Builder;
use crate::inst::{Call, Callee, InstKind, IntPred, MemAccess};
use crate::module::Module;
use crate::value::{Block, Func, Value};

/// The inline PTX of a ballot.
const BALLOT: &str = "{\n\t.reg .pred %p_predicate;\n\tsetp.ne.b32 %p_predicate, $1, 0;\n\t\
                      vote.sync.ballot.b32 $0, %p_predicate, $2;\n\t}";

/// The start of the inline PTX of a shuffle.
const SHUFFLE: &str = "shfl.sync.";

/// The maximum size of an array to copy, in bytes.
const LARGEST: u64 = 512;

/// A loop to copy.
pub(super) struct Separated {
    counted: Counted,
    /// The block from which the loop begins.
    before: Block,
    /// The results of the ballots for whole warps. `first` is the first one.
    masks: State,
    first: Value,
    /// The arrays, with the size of a word of each.
    arrays: Vec<(Value, u64, u64)>,
    left: Vec<Left>,
}

impl Nests<'_> {
    /// Returns the ballots of a loop that ask for all lanes, with their results for whole warps.
    /// Returns `None` if a thread may exit in the loop, or has effects before the first ballot.
    ///
    /// The ballot before the loop makes no thread wait for others that would not have waited anyway.
    pub(super) fn masks(&self, at: usize) -> Option<(Value, State)> {
        let Counted { header, body, .. } = &self.loops[at];
        let mut masks = State::new();
        for &block in body {
            for &inst in &self.module.block(block).insts {
                if let InstKind::Call(call) = &self.module.inst(inst)?.kind {
                    if is_ballot(self.module, call) {
                        masks.insert(inst, u32::MAX.into());
                    } else {
                        self.returns(call).then_some(())?;
                    }
                }
            }
        }
        for &inst in &self.module.block(*header).insts {
            if masks.contains_key(&inst) {
                return Some((inst, masks));
            }
            if has_effect(&self.module.inst(inst)?.kind) {
                return None;
            }
        }
        None
    }

    /// Returns whether each thread returns from a call.
    fn returns(&self, call: &Call) -> bool {
        match &call.callee {
            Callee::Intrinsic(intrinsic) => *intrinsic != Intrinsic::Trap,
            Callee::Asm(asm) => !asm.side_effects || asm.template.starts_with(SHUFFLE),
            &Callee::Value(callee) => self.module.as_func(callee).is_some_and(|func| {
                let name = &self.module.func(func).name;
                name.starts_with("__nv_") || name.starts_with("llvm.nvvm.read.ptx.sreg.")
            }),
        }
    }

    /// Returns how to copy a loop with ballots. Takes the loop out of `self`.
    pub(super) fn separate(
        &mut self,
        at: usize,
        users: &HashMap<Value, Vec<Value>>,
        left: Vec<Left>,
    ) -> Option<Separated> {
        let (first, masks) = self.masks(at)?;
        let counted = &self.loops[at];
        let is_inside = |inst: &Value| {
            let block = self.module.inst(*inst).map(|data| data.block);
            block.is_some_and(|block| counted.body.contains(&block))
        };
        for mask in masks.keys() {
            let mut users = users.get(mask).into_iter().flatten();
            users.all(is_inside).then_some(())?;
        }
        let blocks = &self
            .module
            .func(self.module.block(counted.header).func)
            .blocks;
        let before = self.flow.predecessors(self.index[&counted.header]).iter();
        let before = before.map(|&from| blocks[from as usize]);
        let (Some(before), None) = (
            before.clone().find(|&from| from != counted.latch),
            before.filter(|&from| from != counted.latch).nth(1),
        ) else {
            return None;
        };
        for (from, to) in counted.exits(self.module) {
            let terminator = self.module.inst(self.module.terminator(from)?)?;
            let successors = terminator.kind.successors();
            (successors.iter().filter(|&&each| each == to).count() == 1).then_some(())?;
        }
        let mut arrays = Vec::new();
        for array in &self.arrays {
            if array.accesses.iter().any(|access| is_inside(&access.inst)) {
                let InstKind::Alloca { align, .. } = self.module.inst(array.alloca)?.kind else {
                    return None;
                };
                let word = match array.accesses.iter().all(|access| access.bytes == 8) {
                    true => 8,
                    false => 4,
                };
                let has_words = align >= word && array.bytes % word == 0;
                (has_words && array.bytes <= LARGEST).then_some(())?;
                arrays.push((array.alloca, array.bytes, word));
            }
        }
        Some(Separated {
            before,
            masks,
            first,
            arrays,
            left,
            counted: self.loops.swap_remove(at),
        })
    }
}

impl Separated {
    pub(super) fn apply(self, module: &mut Module, func: Func) {
        let Separated {
            counted,
            before,
            masks,
            first,
            arrays,
            left,
        } = self;
        let exits = counted.exits(module);
        for each in left {
            each.add_phi(module, &exits);
        }
        let (whole, others) = (
            module.add_block(func, "whole"),
            module.add_block(func, "others"),
        );
        // What each value is in the copy.
        let mut values: HashMap<Value, Value> = HashMap::new();
        let mut pairs = Vec::new();
        for (array, bytes, word) in arrays {
            let Some(InstKind::Alloca { ty, align, .. }) =
                module.inst(array).map(|data| data.kind.clone())
            else {
                continue;
            };
            let copy = Builder::at(module, others, None).alloca(ty, align);
            values.insert(array, copy);
            pairs.push((array, copy, bytes, word));
        }
        for &(array, copy, bytes, word) in &pairs {
            copy_words(module, others, (array, copy), bytes, word);
        }
        let blocks: HashMap<Block, Block> = (counted.body.iter())
            .map(|&block| (block, module.add_block(func, "copy")))
            .collect();
        counted.copy_whole(module, &blocks, others, &mut values);
        Builder::at(module, others, None).br(blocks[&counted.header]);
        module.replace_incoming(blocks[&counted.header], before, others);
        for (from, to) in exits {
            let end = module.add_block(func, "copied");
            let from_copy = blocks[&from];
            add_incoming(module, to, from, from_copy, &values);
            module.replace_incoming(to, from_copy, end);
            module.replace_successor(from_copy, to, end);
            for &(array, copy, bytes, word) in &pairs {
                copy_words(module, end, (copy, array), bytes, word);
            }
            Builder::at(module, end, None).br(to);
        }
        if let Some(data) = module.inst(first) {
            let (kind, loc, ty) = (data.kind.clone(), data.loc, module.ty(first));
            let mask = module.push_inst(whole, ty, kind, loc);
            let all = module.const_int(ty, u32::MAX.into());
            let mut builder = Builder::at(module, whole, None);
            let is_whole = builder.icmp(IntPred::Eq, mask, all);
            builder.cond_br(is_whole, counted.header, others);
        }
        module.replace_successor(before, counted.header, whole);
        module.replace_incoming(counted.header, before, whole);
        let numbers = counted.numbers(module, &masks);
        counted.fold(module, &numbers);
        for &block in &counted.body {
            let insts = &mut module.block_mut(block).insts;
            insts.retain(|inst| !masks.contains_key(inst));
        }
    }
}

impl Counted {
    /// Copies the loop. `values` has the copies of the arrays, and then of all values. Addresses that
    /// are computed before the loop are computed again in `before`.
    fn copy_whole(
        &self,
        module: &mut Module,
        blocks: &HashMap<Block, Block>,
        before: Block,
        values: &mut HashMap<Value, Value>,
    ) {
        let mut copies = Vec::new();
        for &block in &self.body {
            let data = module.block(block).clone();
            for inst in data.insts {
                let ty = module.ty(inst);
                let Some((kind, loc)) = module.inst(inst).map(|it| (it.kind.clone(), it.loc))
                else {
                    continue;
                };
                let mut operands = Vec::new();
                kind.for_each_operand(|operand| operands.push(operand));
                for operand in operands {
                    self.copy_address(module, operand, before, values);
                }
                let copy = module.push_inst(blocks[&block], ty, kind, loc);
                values.insert(inst, copy);
                copies.push(copy);
            }
            let copy = module.block_mut(blocks[&block]);
            (copy.no_unroll, copy.unroll_count) = (data.no_unroll, data.unroll_count);
            if block == self.latch {
                (copy.no_unroll, copy.unroll_count) = (true, None);
            }
        }
        rename(module, &copies, blocks, values);
    }

    /// Copies the address of an element of a copied array, unless the loop computes it.
    fn copy_address(
        &self,
        module: &mut Module,
        address: Value,
        before: Block,
        values: &mut HashMap<Value, Value>,
    ) {
        let Some(data) = module.inst(address) else {
            return;
        };
        let (mut kind, loc) = (data.kind.clone(), data.loc);
        let InstKind::Gep { base, .. } = kind else {
            return;
        };
        if values.contains_key(&address) || self.body.contains(&data.block) {
            return;
        }
        self.copy_address(module, base, before, values);
        if let Some(&copy) = values.get(&base) {
            kind.for_each_operand_mut(|operand| {
                if *operand == base {
                    *operand = copy;
                }
            });
            let copy = module.push_inst(before, module.ty(address), kind, loc);
            values.insert(address, copy);
        }
    }
}

/// Replaces the operands and blocks of copied instructions by their copies.
pub(super) fn rename(
    module: &mut Module,
    copies: &[Value],
    blocks: &HashMap<Block, Block>,
    values: &HashMap<Value, Value>,
) {
    for &copy in copies {
        let Some(data) = module.inst_mut(copy) else {
            continue;
        };
        data.kind.for_each_operand_mut(|operand| {
            *operand = values.get(operand).copied().unwrap_or(*operand);
        });
        let rename = |block: &mut Block| *block = *blocks.get(block).unwrap_or(block);
        match &mut data.kind {
            InstKind::Phi(incoming) => incoming.iter_mut().for_each(|(_, from)| rename(from)),
            kind => kind.for_each_successor_mut(rename),
        }
    }
}

/// Appends a copy of an array to a block.
fn copy_words(
    module: &mut Module,
    block: Block,
    (from, to): (Value, Value),
    bytes: u64,
    word: u64,
) {
    let access = MemAccess {
        align: word,
        ..MemAccess::default()
    };
    let (byte, ty) = (module.types.int(8), module.types.int(8 * word as u32));
    let index = module.types.int(64);
    for offset in (0..bytes).step_by(word as usize) {
        let offset = module.const_int(index, offset.into());
        let mut builder = Builder::at(module, block, None);
        let address = builder.gep(byte, from, &[offset], true);
        let value = builder.load(ty, address, access);
        let address = builder.gep(byte, to, &[offset], true);
        builder.store(value, address, access);
    }
}

/// Returns whether a call is a ballot of all lanes for a condition that holds.
fn is_ballot(module: &Module, call: &Call) -> bool {
    let Callee::Asm(asm) = &call.callee else {
        return false;
    };
    let arguments = call.args.iter().map(|&value| number(module, value));
    let arguments: Vec<Option<u128>> = arguments.collect();
    asm.template == BALLOT
        && matches!(arguments[..], [Some(1), Some(mask)] if mask == u32::MAX.into())
}

/// Returns whether an instruction may change memory, wait for others, or exit.
fn has_effect(kind: &InstKind) -> bool {
    matches!(
        kind,
        InstKind::Store { .. }
            | InstKind::AtomicRmw { .. }
            | InstKind::CmpXchg { .. }
            | InstKind::Fence { .. }
            | InstKind::Call(_)
    ) || kind.is_terminator()
}
