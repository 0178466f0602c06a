//! The pass `select_elements`.

use std::collections::HashMap;

use super::unroll_array_loops::{is_step, number};
use super::unroll_divergent_loops::users;
use crate::builder::Builder;
use crate::inst::{Callee, CastOp, InstKind, IntPred, MemAccess};
use crate::intrinsic::Intrinsic;
use crate::metadata::Di;
use crate::module::Module;
use crate::types::{AddrSpace, TypeKind};
use crate::value::{Block, Func, Value};

/// The maximum number of elements of an array.
const ELEMENTS: u64 = 4;

/// The maximum number of loads that replace the accesses to an array.
const LOADS: usize = 32;

/// The maximum size in bytes of an array with stores at variable indices: each store takes three
/// instructions per word.
const STORED: u64 = 16;

/// Replaces accesses to an element of a small local array at a variable index with selects among
/// all elements.
///
/// ```text
/// t = next[axis];
/// next[axis] += delta[axis];
/// ```
///
/// libnvvm keeps an array in memory unless all indices are constant, since a register has no
/// address. Each access would then wait for a load that depends on the previous store. An index out
/// of bounds is undefined behavior in IR, so the selects need not provide for it.
///
/// An array whose address is used otherwise stays as it is, since libnvvm would keep it in memory
/// anyway. The pass runs after `unroll_array_loops`, which makes indices constant.
pub fn select_elements(module: &mut Module) {
    let funcs: Vec<Func> = module.funcs().collect();
    for func in funcs {
        let allocas = allocas(module, func);
        if allocas.is_empty() {
            continue;
        }
        let users = users(module, func);
        for alloca in allocas {
            if let Some(array) = Array::of(module, &users, alloca) {
                array.select(module);
            }
        }
    }
}

/// Returns the local variables that are small enough.
fn allocas(module: &Module, func: Func) -> Vec<Value> {
    let blocks = module.func(func).blocks.iter();
    let insts = blocks.flat_map(|&block| module.block(block).insts.iter().copied());
    let is_small = |&inst: &Value| match module.inst(inst).map(|data| &data.kind) {
        Some(&InstKind::Alloca {
            ty, count: None, ..
        }) => module.types.size(ty) <= ELEMENTS * 8,
        _ => false,
    };
    insts.filter(is_small).collect()
}

/// An address in a local variable: `offset + scale * index` bytes behind its start.
#[derive(Copy, Clone)]
pub(super) struct Place {
    pub(super) offset: i64,
    pub(super) index: Option<Index>,
}

/// A variable index with the size of what it counts.
#[derive(Copy, Clone)]
pub(super) struct Index {
    pub(super) value: Value,
    pub(super) scale: i64,
}

/// A load or store at a variable index.
#[derive(Copy, Clone)]
struct Access {
    inst: Value,
    offset: i64,
    index: Index,
    bytes: u64,
}

/// An array that is in registers if the accesses at variable indices are replaced.
struct Array {
    alloca: Value,
    /// The alignment of the elements.
    align: u64,
    /// Each access with the elements that it may access: the value of the index, and the offset.
    accesses: Vec<(Access, Vec<(i64, i64)>)>,
    /// The addresses that only these accesses use.
    addresses: Vec<Value>,
}

impl Array {
    /// Returns the array at an address. Returns `None` if no index is variable, or if the address
    /// is used such that the array would stay in memory.
    fn of(module: &Module, users: &HashMap<Value, Vec<Value>>, alloca: Value) -> Option<Array> {
        let InstKind::Alloca { ty, align, .. } = module.inst(alloca)?.kind else {
            return None;
        };
        let mut accesses: Vec<Access> = Vec::new();
        let mut addresses = Vec::new();
        // The offsets and sizes of the other accesses.
        let mut ranges: Vec<(i64, u64)> = Vec::new();
        let start = Place {
            offset: 0,
            index: None,
        };
        let mut pending = vec![(alloca, start)];
        while let Some((address, place)) = pending.pop() {
            addresses.extend(place.index.map(|_| address));
            for &user in users.get(&address).into_iter().flatten() {
                let accessed = match &module.inst(user)?.kind {
                    InstKind::Load { access, .. } if is_plain(access) => module.ty(user),
                    InstKind::Store { value, access, .. }
                        if *value != address && is_plain(access) =>
                    {
                        module.ty(*value)
                    }
                    InstKind::Gep { .. } => {
                        pending.push((user, place.step(module, user)?));
                        continue;
                    }
                    // The address at a variable index is removed.
                    InstKind::Call(call) if place.index.is_none() => {
                        match call.callee {
                            Callee::Intrinsic(
                                Intrinsic::LifetimeStart | Intrinsic::LifetimeEnd,
                            ) => {}
                            Callee::Intrinsic(
                                Intrinsic::Memcpy | Intrinsic::Memmove | Intrinsic::Memset,
                            ) => {
                                let bytes = number(module, *call.args.get(2)?)?;
                                ranges.push((place.offset, bytes.try_into().ok()?));
                                let volatile = number(module, *call.args.get(3)?)?;
                                (volatile == 0).then_some(())?;
                            }
                            _ => return None,
                        }
                        continue;
                    }
                    _ => return None,
                };
                let bytes = module.types.size(accessed);
                match place.index {
                    None => ranges.push((place.offset, bytes)),
                    Some(_) if !is_scalar(module.types.kind(accessed)) => return None,
                    Some(index) => accesses.push(Access {
                        inst: user,
                        offset: place.offset,
                        index,
                        bytes,
                    }),
                }
            }
        }
        let bytes = accesses.first()?.bytes;
        let len = module.types.size(ty) / bytes;
        let element = bytes as i64;
        let is_whole =
            |&(offset, size): &(i64, u64)| offset % element == 0 && size.is_multiple_of(bytes);
        let is_store = |access: &Access| {
            let inst = module.inst(access.inst);
            inst.is_some_and(|data| matches!(data.kind, InstKind::Store { .. }))
        };
        let fits = module.types.size(ty).is_multiple_of(bytes)
            && len <= ELEMENTS
            && (module.types.size(ty) <= STORED || !accesses.iter().any(is_store))
            && !accesses
                .iter()
                .any(|access| is_counter(module, access.index.value))
            && accesses.iter().all(|access| access.bytes == bytes)
            && ranges.iter().all(is_whole);
        if !fits {
            return None;
        }
        let accesses: Vec<(Access, Vec<(i64, i64)>)> = (accesses.into_iter())
            .map(|access| Some((access, access.elements(element, len)?)))
            .collect::<Option<_>>()?;
        let loads: usize = accesses.iter().map(|(_, elements)| elements.len()).sum();
        (loads <= LOADS).then_some(Array {
            alloca,
            align: align.min(bytes),
            accesses,
            addresses,
        })
    }
}

impl Place {
    /// Returns the place of an address that is computed from the address of this one.
    pub(super) fn step(self, module: &Module, gep: Value) -> Option<Place> {
        let InstKind::Gep {
            element,
            ref indices,
            inbounds,
            ..
        } = module.inst(gep)?.kind
        else {
            return None;
        };
        let &[value] = &indices[..] else {
            return None;
        };
        let scale = i64::try_from(module.types.size(element)).ok()?;
        (module.types.int_bits(module.ty(value)) == Some(64)).then_some(())?;
        match number(module, value) {
            Some(number) => Some(Place {
                offset: (scale.checked_mul(number as i64))
                    .and_then(|by| self.offset.checked_add(by))?,
                ..self
            }),
            // Without `inbounds`, the product of another index may wrap to the same address.
            None if self.index.is_none() && inbounds => Some(Place {
                index: Some(Index { value, scale }),
                ..self
            }),
            None => None,
        }
    }
}

impl Access {
    /// Returns the elements of an array that this may access: for each, the value of the index, and
    /// the offset. Returns `None` if it may access a part of an element, or no element.
    fn elements(&self, element: i64, len: u64) -> Option<Vec<(i64, i64)>> {
        let scale = self.index.scale;
        if scale == 0 || scale % element != 0 || self.offset % element != 0 {
            return None;
        }
        let offsets = (0..len as i64).map(|k| k * element);
        let elements: Vec<(i64, i64)> = offsets
            .filter_map(|offset| {
                let distance = offset.checked_sub(self.offset)?;
                (distance % scale == 0).then_some((distance / scale, offset))
            })
            .collect();
        (!elements.is_empty()).then_some(elements)
    }
}

impl Array {
    fn select(self, module: &mut Module) {
        for (access, elements) in &self.accesses {
            let Some((block, loc)) = module.inst(access.inst).map(|data| (data.block, data.loc))
            else {
                continue;
            };
            let insts = &mut module.block_mut(block).insts;
            let Some(at) = insts.iter().position(|&inst| inst == access.inst) else {
                continue;
            };
            let mut behind = insts.split_off(at);
            match self.replace(module, access, elements, block, loc) {
                Some(selected) => {
                    if let Some(data) = module.inst_mut(access.inst) {
                        data.kind = selected;
                    }
                }
                None => {
                    behind.remove(0);
                }
            }
            module.block_mut(block).insts.append(&mut behind);
        }
        // The addresses have no users left.
        for address in self.addresses {
            if let Some(block) = module.inst(address).map(|data| data.block) {
                module
                    .block_mut(block)
                    .insts
                    .retain(|&inst| inst != address);
            }
        }
    }

    /// Appends the replacement of an access to a block. Returns what the load becomes; a store is
    /// replaced completely.
    fn replace(
        &self,
        module: &mut Module,
        access: &Access,
        elements: &[(i64, i64)],
        block: Block,
        loc: Option<Di>,
    ) -> Option<InstKind> {
        let stored = match module.inst(access.inst)?.kind {
            InstKind::Store { value, .. } => Some(value),
            _ => None,
        };
        let ty = module.ty(stored.unwrap_or(access.inst));
        let (i8, i32) = (module.types.int(8), module.types.int(32));
        let plain = MemAccess {
            align: self.align,
            ..MemAccess::default()
        };
        // An index within bounds is small.
        let narrow = Builder::at(module, block, loc).cast(CastOp::Trunc, access.index.value, i32);
        let mut selected: Option<InstKind> = None;
        for &(index, offset) in elements.iter().rev() {
            let index = module.const_int(i32, index as u128);
            let distance = module.const_i64(offset);
            let mut bx = Builder::at(module, block, loc);
            let address = match offset {
                0 => self.alloca,
                _ => bx.gep(i8, self.alloca, &[distance], true),
            };
            if let Some(value) = stored {
                let before = bx.load(ty, address, plain);
                let is_stored = bx.icmp(IntPred::Eq, narrow, index);
                let after = bx.select(is_stored, value, before);
                bx.store(after, address, plain);
                continue;
            }
            selected = Some(match selected {
                None => InstKind::Load {
                    ptr: address,
                    access: plain,
                },
                Some(others) => {
                    let otherwise = bx.module.push_inst(block, ty, others, loc);
                    let then = bx.load(ty, address, plain);
                    InstKind::Select {
                        cond: bx.icmp(IntPred::Eq, narrow, index),
                        then,
                        otherwise,
                    }
                }
            });
        }
        selected
    }
}

/// Returns whether a value is a counter of a loop: a phi that is a constant away from one of its
/// incoming values.
fn is_counter(module: &Module, value: Value) -> bool {
    let kind = |value: Value| module.inst(value).map(|data| &data.kind);
    let mut value = value;
    while let Some(&InstKind::Cast { value: from, .. }) = kind(value) {
        value = from;
    }
    let Some(InstKind::Phi(incoming)) = kind(value) else {
        return false;
    };
    (incoming.iter()).any(|&(next, _)| is_step(module, value, next))
}

pub(super) fn is_plain(access: &MemAccess) -> bool {
    !access.volatile && access.atomic.is_none()
}

/// Returns whether a type is that of values that selects and libnvvm's promotion support.
fn is_scalar(kind: &TypeKind) -> bool {
    use TypeKind::*;
    matches!(
        kind,
        Int(8 | 16 | 32 | 64) | Half | BFloat | Float | Double | Ptr(AddrSpace::Generic)
    )
}
