//! The pass `align_accesses`.

use std::collections::{HashMap, HashSet};

use super::unroll_array_loops::number;
use super::unroll_divergent_loops::users;
use crate::inst::{BinOp, Callee, CastOp, InstKind};
use crate::intrinsic::Intrinsic;
use crate::module::Module;
use crate::value::{Const, Func, Value, ValueKind};

/// The largest alignment that matters, that of accesses of four words, as a power of two.
const LARGEST: u32 = 4;

/// The number of low bits that are regarded. More would take more rounds.
const ALL: u32 = 32;

/// Raises the alignment of loads and stores to that which their addresses have.
///
/// rustc gives an access the alignment of its type: two elements of two bytes, at an even index and
/// the next one, have the alignment 2. libnvvm combines neighboring accesses if the first one is
/// aligned like both together. It finds that itself for addresses of few terms, but not where an
/// index has a row, a column and the start of a tile.
///
/// A local variable gets the alignment of the largest access that fits in it: a stack of elements of
/// four words is then accessed with one instruction per element.
pub fn align_accesses(module: &mut Module) {
    let funcs: Vec<Func> = module.funcs().collect();
    for func in funcs {
        let blocks = module.func(func).blocks.iter();
        let insts: Vec<Value> = (blocks.flat_map(|&block| &module.block(block).insts))
            .copied()
            .collect();
        align_locals(module, func, &insts);
        let zeros = Zeros::of(module, &insts);
        let aligned: Vec<(Value, u64)> = (insts.iter())
            .filter_map(|&inst| match module.inst(inst)?.kind {
                InstKind::Load { ptr, .. } | InstKind::Store { ptr, .. } => {
                    let align = 1 << zeros.get(module, ptr).min(LARGEST);
                    Some((inst, align))
                }
                _ => None,
            })
            .collect();
        for (inst, align) in aligned {
            let kind = module.inst_mut(inst).map(|data| &mut data.kind);
            if let Some(InstKind::Load { access, .. } | InstKind::Store { access, .. }) = kind {
                access.align = access.align.max(align);
            }
        }
    }
}

/// Raises the alignment of local variables to their size, up to that of the largest access.
fn align_locals(module: &mut Module, func: Func, insts: &[Value]) {
    let is_local = |&inst: &Value| {
        let kind = module.inst(inst).map(|data| &data.kind);
        matches!(kind, Some(InstKind::Alloca { count: None, .. }))
    };
    let locals: Vec<Value> = insts.iter().copied().filter(is_local).collect();
    if locals.is_empty() {
        return;
    }
    let users = users(module, func);
    for local in locals {
        let size = match module.inst(local).map(|data| &data.kind) {
            Some(&InstKind::Alloca { ty, .. }) => module.types.size(ty),
            _ => continue,
        };
        let Some(limit) = limit(module, &users, local) else {
            continue;
        };
        let fits = size.checked_ilog2().unwrap_or(0).min(LARGEST).min(limit);
        let kind = module.inst_mut(local).map(|data| &mut data.kind);
        if let Some(InstKind::Alloca { align, .. }) = kind {
            *align = (*align).max(1 << fits);
        }
    }
}

/// Returns the largest alignment of a local variable, as a power of two, if it is accessed as words, or as
/// bytes at variable indices, and not otherwise. ptxas and `ptx::promote_arrays` no longer promote other
/// arrays if some accesses are wider, nor arrays of words of which libnvvm 13.0 sets the last ones as
/// bytes (`levenshtein_raw`).
fn limit(module: &Module, users: &HashMap<Value, Vec<Value>>, local: Value) -> Option<u32> {
    let mut limit = LARGEST;
    let (mut sizes, mut is_indexed) = (HashSet::new(), false);
    let mut seen = HashSet::new();
    let mut pending = vec![local];
    while let Some(address) = pending.pop() {
        if !seen.insert(address) {
            continue;
        }
        for &user in users.get(&address).into_iter().flatten() {
            match module.inst(user).map(|data| &data.kind) {
                Some(InstKind::Load { .. }) => {
                    sizes.insert(module.types.size(module.ty(user)));
                }
                Some(InstKind::Store { value, .. }) if *value != address => {
                    sizes.insert(module.types.size(module.ty(*value)));
                }
                Some(InstKind::Gep { indices, .. }) => {
                    is_indexed |= indices.iter().any(|&it| module.as_const(it).is_none());
                    pending.push(user);
                }
                Some(InstKind::Phi(_) | InstKind::Select { .. }) => pending.push(user),
                Some(InstKind::Call(call)) => match call.callee {
                    Callee::Intrinsic(Intrinsic::LifetimeStart | Intrinsic::LifetimeEnd) => {}
                    Callee::Intrinsic(
                        Intrinsic::Memcpy | Intrinsic::Memmove | Intrinsic::Memset,
                    ) => {
                        let length = number(module, *call.args.get(2)?);
                        limit = limit.min(length.map_or(0, u128::trailing_zeros));
                    }
                    _ => return None,
                },
                _ => return None,
            }
        }
    }
    if sizes.iter().all(|size| matches!(size, 4 | 8)) {
        return (!sizes.is_empty()).then_some(limit);
    }
    (is_indexed && sizes.iter().all(|&size| size == 1)).then_some(LARGEST)
}

/// How many of the low bits of each value of a function are certainly zero, up to [`ALL`].
pub(super) struct Zeros {
    zeros: HashMap<Value, u32>,
}

impl Zeros {
    /// Starts with all bits, and takes away until the instructions agree.
    pub(super) fn of(module: &Module, insts: &[Value]) -> Zeros {
        let mut zeros = Zeros {
            zeros: HashMap::with_capacity(insts.len()),
        };
        loop {
            let mut changed = false;
            for &inst in insts {
                if let Some(data) = module.inst(inst) {
                    let count = zeros.of_inst(module, &data.kind);
                    changed |= zeros.zeros.insert(inst, count) != Some(count);
                }
            }
            if !changed {
                return zeros;
            }
        }
    }

    pub(super) fn get(&self, module: &Module, value: Value) -> u32 {
        let zeros = match &module.value(value).kind {
            ValueKind::Const(constant) => of_constant(module, constant),
            ValueKind::Param(func, index) => {
                let attrs = &module.func(*func).param_attrs;
                let align = attrs.get(*index as usize).map_or(0, |attrs| attrs.align);
                if align == 0 {
                    0
                } else {
                    align.trailing_zeros()
                }
            }
            // An instruction that was not visited yet.
            ValueKind::Inst(_) => self.zeros.get(&value).copied().unwrap_or(ALL),
            _ => 0,
        };
        zeros.min(ALL)
    }

    fn of_inst(&self, module: &Module, kind: &InstKind) -> u32 {
        let get = |value| self.get(module, value);
        match *kind {
            InstKind::Alloca { align, .. } => align.trailing_zeros(),
            InstKind::Phi(ref incoming) => {
                let counts = incoming.iter().map(|&(value, _)| get(value));
                counts.min().unwrap_or(0)
            }
            InstKind::Select {
                then, otherwise, ..
            } => get(then).min(get(otherwise)),
            InstKind::Bin { op, lhs, rhs, .. } => {
                let amount = match module.as_const(rhs) {
                    Some(&Const::Int(amount)) => u32::try_from(amount).ok(),
                    _ => None,
                };
                let (left, right) = (get(lhs), get(rhs));
                match op {
                    BinOp::Add | BinOp::Sub | BinOp::Or | BinOp::Xor => left.min(right),
                    BinOp::And => left.max(right),
                    BinOp::Mul => left + right,
                    BinOp::Shl => left.saturating_add(amount.unwrap_or(0)),
                    BinOp::LShr | BinOp::AShr => {
                        amount.map_or(0, |amount| left.saturating_sub(amount))
                    }
                    _ => 0,
                }
            }
            InstKind::Cast { op, value } => match op {
                CastOp::Trunc
                | CastOp::ZExt
                | CastOp::SExt
                | CastOp::PtrToInt
                | CastOp::IntToPtr
                | CastOp::AddrSpaceCast => get(value),
                CastOp::Bitcast if module.types.is_ptr(module.ty(value)) => get(value),
                _ => 0,
            },
            InstKind::Gep {
                element,
                base,
                ref indices,
                ..
            } => match indices[..] {
                [index] => {
                    let size = module.types.size(element).trailing_zeros();
                    get(base).min(get(index) + size)
                }
                _ => 0,
            },
            _ => 0,
        }
    }
}

fn of_constant(module: &Module, constant: &Const) -> u32 {
    match *constant {
        Const::Int(number) => number.trailing_zeros(),
        Const::Zero => ALL,
        Const::Addr { base, offset } => {
            let align = match module.as_global(base) {
                Some(global) => module.global(global).align.trailing_zeros(),
                None => 0,
            };
            align.min(offset.trailing_zeros())
        }
        Const::PtrToInt(address) => match module.as_const(address) {
            Some(address) => of_constant(module, address),
            None => 0,
        },
        Const::IntToPtr(address) => address.trailing_zeros(),
        _ => 0,
    }
}
