//! The pass `tabulate_cases`.

use std::collections::HashSet;

use super::remove_unreachable_blocks::remove_unreachable_blocks_of;
use crate::builder::Builder;
use crate::inst::{BinOp, CastOp, InstKind, IntPred, MemAccess};
use crate::metadata::Di;
use crate::module::{Linkage, Module};
use crate::types::{AddrSpace, Type, TypeKind};
use crate::value::{Block, Const, Func, Value};

/// The minimum number of cases.
const CASES: usize = 6;

/// The minimum number of cases that choose different values: fewer become selects.
const CHOICES: usize = 3;

/// The maximum number of values per case.
const VALUES: usize = 4;

/// The maximum number of entries of a table, one less than the bits of a mask.
const ENTRIES: u128 = 63;

/// Replaces the cases of a switch that only choose constants with loads from tables.
///
/// Of `match letter { b'b' | b'f' => Sound(1), b'c' | b'g' => Sound(2), …, b'h' => Silent, _ => Vowel }`,
/// LLVM makes a switch whose cases continue where `Sound` is used, each with another constant, and
/// elsewhere. LLVM replaces switches with tables only if all cases continue at the same block. Where the
/// targets of a jump table are different blocks, the threads of a warp run the code behind them once
/// for each target.
pub fn tabulate_cases(module: &mut Module) {
    let funcs: Vec<Func> = module.funcs().collect();
    for func in funcs {
        let blocks = module.func(func).blocks.clone();
        let groups: Vec<Group> = (blocks.iter())
            .filter_map(|&block| Group::at(module, block))
            .collect();
        if groups.is_empty() {
            continue;
        }
        for group in groups {
            group.apply(module, func);
        }
        remove_unreachable_blocks_of(module, func);
    }
}

/// The cases of a switch that continue at one block with constants.
struct Group {
    /// The block that ends in the switch.
    block: Block,
    value: Value,
    default: Block,
    join: Block,
    /// The constants that the switch compares with.
    cases: Vec<u128>,
    /// The other cases.
    others: Vec<(u128, Block)>,
    /// The phis of the join, each with its value for each of `cases`.
    phis: Vec<(Value, Vec<Value>)>,
    /// The least and the greatest of `cases`.
    bounds: [u128; 2],
}

impl Group {
    fn at(module: &Module, block: Block) -> Option<Group> {
        let (value, default, all) = module.switch(block)?;
        let bits = module.types.int_bits(module.ty(value))?;
        // The branch back of a loop would lose how to unroll the loop.
        let is_plain = |block: Block| {
            let data = module.block(block);
            !data.no_unroll && data.unroll_count.is_none()
        };
        if all.len() < CASES || !(8..=64).contains(&bits) || !is_plain(block) {
            return None;
        }
        // The block where a case continues, and the predecessor for which its phis have values.
        let edge = |target: Block| {
            let end = match module.block(target).insts[..] {
                [end] => module.inst(end).map(|data| &data.kind),
                _ => None,
            };
            match end {
                Some(&InstKind::Br(to)) if to != target && target != block && is_plain(target) => {
                    (to, target)
                }
                _ => (target, block),
            }
        };
        let count = |join: Block| all.iter().filter(|&&(_, to)| edge(to).0 == join).count();
        let (mut join, mut most) = (None, CASES - 1);
        for &(_, to) in all {
            let to = edge(to).0;
            if join != Some(to) && count(to) > most {
                (join, most) = (Some(to), count(to));
            }
        }
        let join = join.filter(|&join| join != block)?;
        let (own, others): (Vec<_>, Vec<_>) = (all.iter().copied()).partition(|&(_, to)| {
            let (to, _) = edge(to);
            to == join
        });
        let mut phis = Vec::new();
        for &inst in &module.block(join).insts {
            if !module.is_phi(inst) {
                break;
            }
            let values = own.iter().map(|&(_, to)| module.incoming(inst, edge(to).1));
            let values: Vec<Value> = values.collect::<Option<_>>()?;
            let is_same = values.iter().all(|value| *value == values[0]);
            if !is_same && !values.iter().all(|&value| bytes(module, value).is_some()) {
                return None;
            }
            phis.push((inst, values));
        }
        let choices: HashSet<Vec<Value>> = (0..own.len())
            .map(|index| phis.iter().map(|(_, values)| values[index]).collect())
            .collect();
        let tables = phis.iter().filter(|(_, values)| !is_one(values)).count();
        if choices.len() < CHOICES || tables > VALUES {
            return None;
        }
        let cases: Vec<u128> = own.iter().map(|&(case, _)| case).collect();
        let bounds = [*cases.iter().min()?, *cases.iter().max()?];
        (bounds[1] - bounds[0] < ENTRIES).then_some(Group {
            block,
            value,
            default,
            join,
            cases,
            others,
            phis,
            bounds,
        })
    }

    fn apply(self, module: &mut Module, func: Func) {
        let Some(switch) = module.block_mut(self.block).insts.pop() else {
            return;
        };
        let Some(data) = module.inst(switch) else {
            return;
        };
        let (loc, targets) = (data.loc, data.kind.successors());
        let [chosen, other] = ["chosen", "other"].map(|name| module.add_block(func, name));
        let index = self.branch(module, loc, chosen, other);
        // The other cases and the default.
        for to in targets.into_iter().collect::<HashSet<Block>>() {
            let edges = self
                .others
                .iter()
                .filter(|&&(_, other)| other == to)
                .count()
                + usize::from(self.default == to);
            match edges {
                0 => module.retain_incoming(to, |from| from != self.block),
                _ => {
                    if self.others.is_empty() {
                        module.merge_incoming(to, self.block);
                    } else {
                        keep_incoming(module, to, self.block, edges);
                    }
                    module.replace_incoming(to, self.block, other);
                }
            }
        }
        let mut bx = Builder::at(module, other, loc);
        if self.others.is_empty() {
            bx.br(self.default);
        } else {
            bx.switch(self.value, self.default, self.others.clone());
        }
        // The cases of the group.
        for (phi, values) in &self.phis {
            let value = if is_one(values) {
                values[0]
            } else {
                self.load(module, loc, chosen, index, values)
            };
            if let Some(InstKind::Phi(incoming)) = module.inst_mut(*phi).map(|it| &mut it.kind) {
                incoming.push((value, chosen));
            }
        }
        Builder::at(module, chosen, loc).br(self.join);
    }

    /// Appends the branch to the group's cases. Returns the index of the table's entry.
    fn branch(&self, module: &mut Module, loc: Option<Di>, chosen: Block, other: Block) -> Value {
        let ty = module.ty(self.value);
        let [least, most] = self.bounds;
        let entries = most - least + 1;
        let wide = match entries < 32 {
            true => module.types.int(32),
            false => module.types.int(64),
        };
        let set = |mask: u128, case: &u128| mask | 1 << (case - least);
        let mask = self.cases.iter().fold(0, set);
        let [first, end] = [least, entries].map(|int| module.const_int(ty, int));
        let [mask, one, zero] = [mask, 1, 0].map(|int| module.const_int(wide, int));
        let bx = &mut Builder::at(module, self.block, loc);
        let index = bx.bin(BinOp::Sub, self.value, first);
        let is_within = bx.icmp(IntPred::Ult, index, end);
        // The mask's bit behind the entries is not set.
        let index = bx.select(is_within, index, end);
        let bit = resize(bx, index, ty, wide);
        let shifted = bx.bin(BinOp::LShr, mask, bit);
        let bit = bx.bin(BinOp::And, shifted, one);
        let is_chosen = bx.icmp(IntPred::Ne, bit, zero);
        bx.cond_br(is_chosen, chosen, other);
        index
    }

    /// Appends a load from a table of `values`.
    fn load(
        &self,
        module: &mut Module,
        loc: Option<Di>,
        block: Block,
        index: Value,
        values: &[Value],
    ) -> Value {
        let ty = module.ty(values[0]);
        let size = bytes(module, values[0]).map_or(1, |bytes| bytes.len());
        let [least, most] = self.bounds;
        let mut table = vec![0; size * (most - least + 1) as usize];
        for (case, &value) in self.cases.iter().zip(values) {
            let at = size * (case - least) as usize;
            if let Some(bytes) = bytes(module, value) {
                table[at..at + size].copy_from_slice(&bytes);
            }
        }
        let address = add_table(module, &table, size as u64);
        let stored = match module.types.int_bits(ty) {
            Some(1) => module.types.int(8),
            _ => ty,
        };
        let long = module.types.int(64);
        let own = module.ty(index);
        let bx = &mut Builder::at(module, block, loc);
        let index = resize(bx, index, own, long);
        let base = bx.addr_of(address);
        let element = bx.gep(stored, base, &[index], true);
        let access = MemAccess {
            align: size as u64,
            invariant: true,
            ..MemAccess::default()
        };
        let value = bx.load(stored, element, access);
        match stored == ty {
            true => value,
            false => bx.cast(CastOp::Trunc, value, ty),
        }
    }
}

/// Returns whether all values are the same.
fn is_one(values: &[Value]) -> bool {
    values.iter().all(|value| *value == values[0])
}

/// Returns the bytes of a constant in a table: of an integer or a float.
fn bytes(module: &Module, value: Value) -> Option<Vec<u8>> {
    let size = match *module.types.kind(module.ty(value)) {
        TypeKind::Int(1 | 8) => 1,
        TypeKind::Int(16) => 2,
        TypeKind::Int(32) | TypeKind::Float => 4,
        TypeKind::Int(64) | TypeKind::Double => 8,
        _ => return None,
    };
    let bits = match *module.as_const(value)? {
        Const::Int(bits) | Const::Float(bits) => bits,
        Const::Zero | Const::Undef | Const::Poison => 0,
        _ => return None,
    };
    Some(bits.to_le_bytes()[..size].to_vec())
}

/// Adds a constant array. Returns the global.
fn add_table(module: &mut Module, bytes: &[u8], align: u64) -> Value {
    let byte = module.types.int(8);
    let ty = module.types.array(byte, bytes.len() as u64);
    let init = module.const_bytes(bytes);
    let mut number = 0;
    let global = loop {
        let name = format!("switch_table_{number}");
        match module.add_global(&name, ty, AddrSpace::Global) {
            Some(global) => break global,
            None => number += 1,
        }
    };
    let data = module.global_mut(global);
    data.init = Some(init);
    data.align = align;
    data.constant = true;
    data.linkage = Linkage::Internal;
    data.value
}

/// Appends a conversion of an unsigned integer to another width.
fn resize(bx: &mut Builder<'_>, value: Value, from: Type, to: Type) -> Value {
    let [own, other] = [from, to].map(|ty| bx.module.types.int_bits(ty));
    match own.cmp(&other) {
        std::cmp::Ordering::Less => bx.cast(CastOp::ZExt, value, to),
        std::cmp::Ordering::Equal => value,
        std::cmp::Ordering::Greater => bx.cast(CastOp::Trunc, value, to),
    }
}

/// Keeps the first values of a predecessor in the phis of a block, as many as it has edges.
fn keep_incoming(module: &mut Module, block: Block, predecessor: Block, edges: usize) {
    for inst in module.block(block).insts.clone() {
        let Some(InstKind::Phi(incoming)) = module.inst_mut(inst).map(|data| &mut data.kind) else {
            break;
        };
        let mut kept = 0;
        incoming.retain(|&(_, from)| {
            kept += usize::from(from == predecessor);
            from != predecessor || kept <= edges
        });
    }
}
