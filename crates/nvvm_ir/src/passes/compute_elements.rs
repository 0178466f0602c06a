//! The pass `compute_elements`.

use std::collections::{HashMap, HashSet};

use super::select_elements::{Place, is_plain};
use super::unroll_array_loops::number;
use super::unroll_divergent_loops::users;
use crate::builder::Builder;
use crate::inst::{BinOp, Callee, CastOp, InstKind};
use crate::intrinsic::Intrinsic;
use crate::module::Module;
use crate::value::{Const, Func, Value};

/// The maximum size of an array in bytes.
const BYTES: usize = 4096;

pub(super) const START: Place = Place {
    offset: 0,
    index: None,
};

/// Computes elements of constant arrays that are a linear function of the index.
///
/// `State::ALL[index]`, with an array of all values of an enum, is the index as an enum. The array is
/// a constant, or a local variable whose elements are always the same constants: the value of an
/// associated `const` is a local variable where it is indexed. LLVM loads the element, or
/// `select_elements` selects it with two instructions per element.
///
/// An index out of bounds and an element that is not written are undefined in IR, so only the other
/// elements count.
pub fn compute_elements(module: &mut Module) {
    let funcs: Vec<Func> = module.funcs().collect();
    for func in funcs {
        let loads = loads(module, func);
        if loads.is_empty() {
            continue;
        }
        let users = users(module, func);
        let mut arrays: HashMap<Value, Option<Vec<Option<u8>>>> = HashMap::new();
        let linear: Vec<(Value, Linear)> = (loads.into_iter())
            .filter_map(|(load, array, place)| {
                let bytes = arrays
                    .entry(array)
                    .or_insert_with(|| contents(module, &users, array));
                Some((load, Linear::of(module, load, place, bytes.as_deref()?)?))
            })
            .collect();
        for (load, linear) in linear {
            linear.compute(module, load);
        }
    }
}

/// Returns the loads of integers at variable indices, with the array's address and the place in it.
fn loads(module: &Module, func: Func) -> Vec<(Value, Value, Place)> {
    let blocks = module.func(func).blocks.iter();
    let insts = blocks.flat_map(|&block| module.block(block).insts.iter().copied());
    insts
        .filter_map(|inst| match module.inst(inst)?.kind {
            InstKind::Load { ptr, access } if is_plain(&access) => {
                let (array, place) = place(module, ptr)?;
                let bits = module.types.int_bits(module.ty(inst))?;
                (place.index.is_some() && matches!(bits, 8 | 16 | 32 | 64))
                    .then_some((inst, array, place))
            }
            _ => None,
        })
        .collect()
}

/// Returns the array that an address points into, and the place in it.
pub(super) fn place(module: &Module, address: Value) -> Option<(Value, Place)> {
    let mut geps = Vec::new();
    let mut base = address;
    while let Some(&InstKind::Gep { base: from, .. }) = module.inst(base).map(|data| &data.kind) {
        geps.push(base);
        base = from;
    }
    let place = (geps.into_iter().rev()).try_fold(START, |place, gep| place.step(module, gep))?;
    match module.as_const(base) {
        Some(&Const::Addr { base, offset }) => {
            let offset = place.offset.checked_add(offset)?;
            Some((base, Place { offset, ..place }))
        }
        _ => Some((base, place)),
    }
}

/// Returns the bytes of an array, `None` for those that are undefined. Returns `None` if a byte may
/// have several values.
fn contents(
    module: &Module,
    users: &HashMap<Value, Vec<Value>>,
    array: Value,
) -> Option<Vec<Option<u8>>> {
    if module.as_global(array).is_some() {
        let bytes = constant(module, array)?;
        return (bytes.len() <= BYTES).then(|| bytes.iter().copied().map(Some).collect());
    }
    let (arrays, size) = arrays(module, users, array)?;
    let mut bytes = vec![None; size];
    let mut write = |offset: i64, new: &[u8]| {
        let start = usize::try_from(offset).ok()?;
        let old = bytes.get_mut(start..start.checked_add(new.len())?)?;
        for (old, &new) in old.iter_mut().zip(new) {
            if *old.get_or_insert(new) != new {
                return None;
            }
        }
        Some(())
    };
    let mut pending: Vec<(Value, Place)> = arrays.iter().map(|&array| (array, START)).collect();
    while let Some((address, place)) = pending.pop() {
        for &user in users.get(&address).into_iter().flatten() {
            match &module.inst(user)?.kind {
                InstKind::Load { access, .. } if is_plain(access) => {}
                &InstKind::Store { value, access, .. }
                    if value != address && place.index.is_none() && is_plain(&access) =>
                {
                    let stored = number(module, value)?;
                    let size = usize::try_from(module.types.size(module.ty(value))).ok()?;
                    write(place.offset, stored.to_le_bytes().get(..size)?)?;
                }
                InstKind::Gep { .. } => pending.push((user, place.step(module, user)?)),
                InstKind::Phi(_) | InstKind::Select { .. } if arrays.contains(&user) => {}
                InstKind::Call(call) => match call.callee {
                    Callee::Intrinsic(Intrinsic::LifetimeStart | Intrinsic::LifetimeEnd) => {}
                    Callee::Intrinsic(Intrinsic::Memcpy) => {
                        let &[to, from, len, volatile] = &call.args[..] else {
                            return None;
                        };
                        if to != address || place.index.is_some() {
                            return None;
                        }
                        (number(module, volatile)? == 0).then_some(())?;
                        let len = usize::try_from(number(module, len)?).ok()?;
                        let (from, offset) = match module.as_const(from) {
                            Some(&Const::Addr { base, offset }) => (base, offset),
                            _ => (from, 0),
                        };
                        let source = constant(module, from)?;
                        let copied = source.get(usize::try_from(offset).ok()?..)?.get(..len)?;
                        write(place.offset, copied)?;
                    }
                    _ => return None,
                },
                _ => return None,
            }
        }
    }
    Some(bytes)
}

/// Returns the local variables that an address may be the start of, with phis and selections of
/// them, and their size.
pub(super) fn arrays(
    module: &Module,
    users: &HashMap<Value, Vec<Value>>,
    array: Value,
) -> Option<(HashSet<Value>, usize)> {
    let mut arrays = HashSet::from([array]);
    let mut size = None;
    let mut pending = vec![array];
    while let Some(array) = pending.pop() {
        let mut found = Vec::new();
        match &module.inst(array)?.kind {
            &InstKind::Alloca {
                ty, count: None, ..
            } => {
                let bytes = usize::try_from(module.types.size(ty)).ok()?;
                (bytes <= BYTES && *size.get_or_insert(bytes) == bytes).then_some(())?;
            }
            InstKind::Phi(incoming) => found.extend(incoming.iter().map(|&(it, _)| it)),
            &InstKind::Select {
                then, otherwise, ..
            } => found.extend([then, otherwise]),
            _ => return None,
        }
        let users = users.get(&array).into_iter().flatten().copied();
        found.extend(users.filter(|&user| {
            let kind = module.inst(user).map(|data| &data.kind);
            matches!(kind, Some(InstKind::Phi(_) | InstKind::Select { .. }))
        }));
        pending.extend(found.into_iter().filter(|&it| arrays.insert(it)));
    }
    Some((arrays, size?))
}

/// Returns the contents of a constant.
pub(super) fn constant(module: &Module, global: Value) -> Option<&[u8]> {
    let global = module.global(module.as_global(global)?);
    if !global.constant {
        return None;
    }
    match module.as_const(global.init?)? {
        Const::Bytes(bytes) => Some(bytes),
        _ => None,
    }
}

/// The elements that a load may load: `first + step * index`, wrapping around.
struct Linear {
    index: Value,
    first: u64,
    step: u64,
}

impl Linear {
    fn of(module: &Module, load: Value, place: Place, bytes: &[Option<u8>]) -> Option<Linear> {
        let index = place.index?;
        let size = usize::try_from(module.types.size(module.ty(load))).ok()?;
        let mut elements: Vec<(i64, u64)> = Vec::new();
        for offset in 0..=i64::try_from(bytes.len().checked_sub(size)?).ok()? {
            let distance = offset.checked_sub(place.offset)?;
            // An index of 0 for all elements would mean that each is the same one.
            if index.scale == 0 || distance % index.scale != 0 {
                continue;
            }
            let known = &bytes[offset as usize..][..size];
            if known.iter().all(|byte| byte.is_none()) {
                continue;
            }
            let mut element = 0;
            for &byte in known.iter().rev() {
                element = element << 8 | u64::from(byte?);
            }
            elements.push((distance / index.scale, element));
        }
        elements.sort_unstable();
        let &[(at, first), (next, second), ..] = &elements[..] else {
            return None;
        };
        (at + 1 == next).then_some(())?;
        let mask = u64::MAX >> (64 - 8 * size);
        let step = second.wrapping_sub(first) & mask;
        let first = first.wrapping_sub(step.wrapping_mul(at as u64)) & mask;
        let is_linear = |&(index, element): &(i64, u64)| {
            step.wrapping_mul(index as u64).wrapping_add(first) & mask == element
        };
        elements.iter().all(is_linear).then_some(Linear {
            index: index.value,
            first,
            step,
        })
    }

    /// Replaces the load.
    fn compute(&self, module: &mut Module, load: Value) {
        let Some((block, loc)) = module.inst(load).map(|data| (data.block, data.loc)) else {
            return;
        };
        let insts = &mut module.block_mut(block).insts;
        let Some(at) = insts.iter().position(|&inst| inst == load) else {
            return;
        };
        let mut behind = insts.split_off(at);
        let ty = module.ty(load);
        let [first, step] = [self.first, self.step].map(|it| module.const_int(ty, it.into()));
        let mut bx = Builder::at(module, block, loc);
        let index = match bx.module.types.int_bits(ty) {
            Some(64) => self.index,
            _ => bx.cast(CastOp::Trunc, self.index, ty),
        };
        let distance = match self.step {
            1 => index,
            _ => bx.bin(BinOp::Mul, index, step),
        };
        if let Some(data) = module.inst_mut(load) {
            data.kind = InstKind::Bin {
                op: BinOp::Add,
                lhs: distance,
                rhs: first,
                flags: Default::default(),
            };
        }
        module.block_mut(block).insts.append(&mut behind);
    }
}
