//! The pass `align_accesses`.

use std::collections::HashMap;

use crate::inst::{BinOp, CastOp, InstKind};
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
pub fn align_accesses(module: &mut Module) {
    let funcs: Vec<Func> = module.funcs().collect();
    for func in funcs {
        let blocks = module.func(func).blocks.iter();
        let insts: Vec<Value> = (blocks.flat_map(|&block| &module.block(block).insts))
            .copied()
            .collect();
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
