//! The pass `select_elements`.

mod choices;

use std::collections::{HashMap, HashSet};

use self::choices::{Bytes, Choices, Chosen, Graph, overlap};
use super::unroll_array_loops::{is_step, number};
use super::unroll_divergent_loops::users;
use crate::builder::Builder;
use crate::inst::{Callee, CastOp, InstKind, IntPred, MemAccess};
use crate::intrinsic::Intrinsic;
use crate::metadata::Di;
use crate::module::Module;
use crate::types::{AddrSpace, TypeKind};
use crate::value::{Block, Func, Value};

/// The maximum number of elements that an access at a variable index may access.
const ELEMENTS: usize = 4;

/// The maximum number of loads that replace the accesses at variable indices to an array.
const LOADS: usize = 128;

/// The maximum size in bytes of an array with accesses at variable indices.
const INDEXED: u64 = 64;

/// The maximum number of bytes that a store at a variable index may change: each store takes three
/// instructions per word.
const STORED: u64 = 16;

/// The maximum size in bytes of an array.
const BYTES: u64 = 512;

/// Replaces accesses to an element of a small local array at a variable index with selects among
/// all elements that the index may be of.
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
/// A load from an element whose address a phi or a select chooses, as `find` and `max_by_key` do,
/// becomes a phi or a select of elements, if nothing changes them in between.
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
        let graph = Graph::new(module, func);
        for alloca in allocas {
            if let Some(array) = Array::of(module, &users, &graph, alloca) {
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
        }) => module.types.size(ty) <= BYTES,
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
    is_store: bool,
}

/// An array that is in registers if the accesses at variable indices and the loads through choices are
/// replaced.
struct Array {
    alloca: Value,
    /// The alignment of the variable.
    align: u64,
    /// Each access with the elements that it may access: the value of the index, and the offset.
    accesses: Vec<(Access, Vec<(i64, i64)>)>,
    /// The addresses that only these accesses use.
    addresses: Vec<Value>,
    choices: Choices,
}

/// The uses of the address of an array.
#[derive(Default)]
struct Uses {
    accesses: Vec<Access>,
    /// The addresses at variable indices.
    addresses: Vec<Value>,
    choices: Choices,
    /// The bytes that are read and the bytes that are accessed at constant offsets.
    read: Vec<Bytes>,
    ranges: Vec<Bytes>,
}

impl Uses {
    /// Returns the uses of the address of an array. Returns `None` if the address is used such that the
    /// array would stay in memory.
    fn of(
        module: &Module,
        users: &HashMap<Value, Vec<Value>>,
        alloca: Value,
        size: u64,
    ) -> Option<Uses> {
        let mut uses = Uses::default();
        uses.choices.size = size.try_into().ok()?;
        let start = Place {
            offset: 0,
            index: None,
        };
        let mut pending = vec![(alloca, alloca, start)];
        while let Some((address, base, place)) = pending.pop() {
            match place.index {
                Some(_) => uses.addresses.push(address),
                None => {
                    uses.choices.sums.insert(address, (base, place.offset));
                }
            }
            for &user in users.get(&address).into_iter().flatten() {
                match &module.inst(user)?.kind {
                    InstKind::Gep { .. } => {
                        let place = place.step(module, user)?;
                        (place.index.is_none() || base == alloca).then_some(())?;
                        pending.push((user, base, place));
                    }
                    InstKind::Phi(_) | InstKind::Select { .. } => {
                        // The address at a variable index is removed.
                        place.index.is_none().then_some(())?;
                        if !uses.choices.choices.contains(&user) {
                            uses.choices.choices.push(user);
                            pending.push((user, user, start));
                        }
                    }
                    // The address of another choice is removed.
                    _ if base != alloca => uses.add_chosen(module, user, base, place.offset)?,
                    _ => uses.add(module, user, address, place)?,
                }
            }
        }
        Some(uses)
    }

    /// Adds a load through a choice. Returns `None` if the instruction is not such a load.
    fn add_chosen(
        &mut self,
        module: &Module,
        load: Value,
        choice: Value,
        offset: i64,
    ) -> Option<()> {
        let is_load = match &module.inst(load)?.kind {
            InstKind::Load { access, .. } => is_plain(access),
            _ => false,
        };
        (is_load && is_scalar(module.types.kind(module.ty(load)))).then_some(())?;
        self.choices.loads.push(Chosen {
            load,
            choice,
            offset,
        });
        Some(())
    }

    /// Adds an instruction that uses the address of a place in the variable.
    fn add(&mut self, module: &Module, user: Value, address: Value, place: Place) -> Option<()> {
        let (accessed, is_store) = match &module.inst(user)?.kind {
            InstKind::Load { access, .. } if is_plain(access) => (module.ty(user), false),
            InstKind::Store { value, access, .. } if *value != address && is_plain(access) => {
                (module.ty(*value), true)
            }
            // The address at a variable index is removed.
            InstKind::Call(call) if place.index.is_none() => {
                match call.callee {
                    Callee::Intrinsic(Intrinsic::LifetimeStart | Intrinsic::LifetimeEnd) => {
                        let all = (0, self.choices.size as u64);
                        self.choices.writes.push((user, all));
                    }
                    Callee::Intrinsic(
                        Intrinsic::Memcpy | Intrinsic::Memmove | Intrinsic::Memset,
                    ) => {
                        let size = number(module, *call.args.get(2)?)?.try_into().ok()?;
                        let bytes = (place.offset, size);
                        self.ranges.push(bytes);
                        self.read.push(bytes);
                        self.choices.writes.push((user, bytes));
                        let volatile = number(module, *call.args.get(3)?)?;
                        (volatile == 0).then_some(())?;
                    }
                    _ => return None,
                }
                return Some(());
            }
            _ => return None,
        };
        let size = module.types.size(accessed);
        let bytes = match place.index {
            None => {
                self.ranges.push((place.offset, size));
                (place.offset, size)
            }
            Some(_) if !is_scalar(module.types.kind(accessed)) => return None,
            Some(index) => {
                self.accesses.push(Access {
                    inst: user,
                    offset: place.offset,
                    index,
                    bytes: size,
                    is_store,
                });
                (0, self.choices.size as u64)
            }
        };
        if is_store {
            self.choices.writes.push((user, bytes));
        } else if place.index.is_none() {
            self.read.push(bytes);
        }
        Some(())
    }
}

impl Array {
    /// Returns the array at an address. Returns `None` if nothing has to be replaced, or if the array
    /// would stay in memory.
    fn of(
        module: &Module,
        users: &HashMap<Value, Vec<Value>>,
        graph: &Graph,
        alloca: Value,
    ) -> Option<Array> {
        let InstKind::Alloca { ty, align, .. } = module.inst(alloca)?.kind else {
            return None;
        };
        let size = module.types.size(ty);
        let mut uses = Uses::of(module, users, alloca, size)?;
        (!uses.accesses.is_empty() || !uses.choices.choices.is_empty()).then_some(())?;
        let chosen = uses.choices.read(module, graph)?;
        uses.ranges.extend(&chosen);
        uses.read.extend(chosen);
        let mut array = Array {
            alloca,
            align,
            accesses: Vec::new(),
            addresses: uses.addresses,
            choices: uses.choices,
        };
        let Some(&Access { bytes, .. }) = uses.accesses.first() else {
            return Some(array);
        };
        let element = bytes as i64;
        let is_whole =
            |&(offset, size): &Bytes| offset % element == 0 && size.is_multiple_of(bytes);
        let fits = size <= INDEXED
            && size.is_multiple_of(bytes)
            && !(uses.accesses.iter()).any(|access| is_counter(module, access.index.value))
            && uses.accesses.iter().all(|access| access.bytes == bytes)
            && uses.ranges.iter().all(is_whole);
        fits.then_some(())?;
        for access in uses.accesses {
            let elements = access.elements(element, size / bytes)?;
            if !access.is_store {
                let offsets = elements.iter().map(|&(_, offset)| (offset, bytes));
                uses.read.extend(offsets);
            }
            array.accesses.push((access, elements));
        }
        for (access, elements) in &mut array.accesses {
            if access.is_store {
                let is_read = |offset| uses.read.iter().any(|it| overlap(it, &(offset, bytes)));
                elements.retain(|&(_, offset)| is_read(offset));
                (elements.len() as u64 * bytes <= STORED).then_some(())?;
            }
            (elements.len() <= ELEMENTS).then_some(())?;
        }
        let loads: usize = (array.accesses.iter())
            .map(|(_, elements)| elements.len())
            .sum();
        (loads <= LOADS).then_some(array)
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
        if !self.choices.choices.is_empty() {
            self.choices.replace(module, self.alloca, self.align);
        }
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
        let mut unused = self.choices.unused();
        unused.extend(self.addresses);
        let blocks = unused
            .iter()
            .map(|&inst| module.inst(inst).map(|data| data.block));
        let blocks: HashSet<Block> = blocks.flatten().collect();
        for block in blocks {
            let insts = &mut module.block_mut(block).insts;
            insts.retain(|inst| !unused.contains(inst));
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
            align: self.align.min(access.bytes),
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
