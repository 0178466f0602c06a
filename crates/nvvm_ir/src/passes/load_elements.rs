//! The pass `load_elements`.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::align_accesses::Zeros;
use crate::flow::{Flow, Loop};
use crate::inst::{InstKind, IntPred, MemAccess};
use crate::module::Module;
use crate::types::{Type, TypeKind};
use crate::value::{Block, Const, Func, Value, ValueKind};

/// The size of the largest load in bytes.
const LARGEST: u64 = 16;

/// The maximum number of lanes of a load.
const LANES: u64 = 4;

/// The maximum number of bytes of an element that are loaded before loops.
const HOISTED: u64 = 64;

/// The maximum number of instructions of the loops before which a kernel loads the value of a
/// reference.
const LOOP: usize = 256;

/// Loads fields of an element of a slice as soon as the first of them is loaded: neighboring fields
/// with one instruction, and fields that a loop reads before the loop.
///
/// `for &joint in joints { sum += bones[joint] }` loads each of the four bytes `joints` behind the
/// check of the previous one, and a loop over triangles loads the ray's origin only for those that
/// are not parallel to it. LLVM does not know that the fields behind a branch are readable, and
/// ptxas moves no load across a branch.
///
/// If one byte of an element is readable, all are, and nothing writes to a slice that a kernel takes
/// as a shared reference while it runs. All bytes are also readable where the index was compared with
/// the slice's length: a loop that reads `own` for some of `others` reads it before. The value of a
/// reference is readable everywhere.
///
/// LLVM moves loads of the same field of different elements to where the ways meet, as for the value
/// of the slot of a hash table that has the key: they move back to the loads of the keys.
pub fn load_elements(module: &mut Module) {
    let funcs: Vec<Func> = module.funcs().collect();
    for func in funcs {
        let mut elements = elements(module, func);
        if elements.is_empty() {
            continue;
        }
        let blocks = module.func(func).blocks.clone();
        let index: HashMap<Block, usize> = blocks.iter().copied().zip(0..).collect();
        let flow = Flow::new(module, func, |block| index[&block]);
        let separated = separate_joint_loads(module, &elements, &index, &flow);
        if !separated.is_empty() {
            elements = self::elements(module, func);
        }
        let loops = flow.loops();
        for ((base, start), mut loads) in elements {
            let is_reference = is_reference(module, func, base);
            if is_reference && !is_small(module, &blocks, &loads, &loops) {
                continue;
            }
            while !loads.is_empty() {
                let (mut first, mut rest) = split(&loads, &flow);
                let mut base = base;
                if start == 0
                    && let Some(checked) = match is_reference {
                        true => Some(0),
                        false => checked(module, func, base, first.block, &flow),
                    }
                    && let Some(before) = before_loops(checked, first.block, &flow, &loops)
                {
                    base = hoist_out(module, base, first, blocks[before]);
                    first.block = before;
                    rest = dominated(&loads, first, &flow);
                }
                loads.retain(|load| load.inst != first.inst && !rest.contains(load));
                let mut bytes = 0;
                let mut together = vec![first];
                for load in rest {
                    let leaves = |each: &Loop| {
                        each.body.contains(&load.block) && !each.body.contains(&first.block)
                    };
                    if loops.iter().any(leaves) && bytes + load.size <= HOISTED {
                        bytes += load.size;
                        hoist(module, base, load, first);
                        let block = first.block;
                        together.push(Load { block, ..load });
                    } else {
                        together.push(load);
                    }
                }
                combine_all(module, base, &together, &separated, &flow);
            }
        }
    }
}

/// A load from an element of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Load {
    inst: Value,
    /// The index of the block in the function.
    block: usize,
    /// The distance from the base in bytes.
    offset: i64,
    ty: Type,
    /// The size of the type.
    size: u64,
    /// The segment of the element that one instruction can load with it.
    segment: Option<Segment>,
}

/// Aligned bytes of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Segment {
    /// The distance from the base in bytes.
    offset: i64,
    ty: Type,
    lanes: u64,
}

/// The loads from each element: by an address, and the distance of the element from it.
type Elements = BTreeMap<(Value, i64), Vec<Load>>;

fn elements(module: &Module, func: Func) -> Elements {
    let data = module.func(func);
    let mut elements = Elements::new();
    if data.param_attrs.iter().all(|attrs| attrs.element == 0) {
        return elements;
    }
    let insts: Vec<Value> = (data.blocks.iter())
        .flat_map(|&block| module.block(block).insts.iter().copied())
        .collect();
    let zeros = Zeros::of(module, &insts);
    let mut places = HashMap::new();
    for (block, &handle) in data.blocks.iter().enumerate() {
        for &inst in &module.block(handle).insts {
            let Some(&InstKind::Load { ptr, access }) = module.inst(inst).map(|data| &data.kind)
            else {
                continue;
            };
            let ty = module.ty(inst);
            let is_scalar = matches!(
                module.types.kind(ty),
                TypeKind::Int(8 | 16 | 32 | 64) | TypeKind::Float | TypeKind::Double
            );
            if access.volatile || access.atomic.is_some() || !is_scalar {
                continue;
            }
            let (base, offset) = split_address(module, ptr);
            if i32::try_from(offset).is_err() {
                continue;
            }
            let place = places
                .entry(base)
                .or_insert_with(|| Place::of(module, func, base));
            let Some(Place { element, phase }) = *place else {
                continue;
            };
            let size = module.types.size(ty);
            let start = offset - (offset + phase).rem_euclid(element);
            if offset + size as i64 > start + element {
                continue;
            }
            let bytes = (1 << zeros.get(module, base).min(LARGEST.ilog2())).min(LANES * size);
            let offset_in_segment = offset.rem_euclid(bytes as i64);
            let begin = offset - offset_in_segment;
            let fits = bytes >= 2 * size
                && (offset_in_segment as u64).is_multiple_of(size)
                && begin >= start
                && begin + bytes as i64 <= start + element;
            let segment = fits.then_some(Segment {
                offset: begin,
                ty,
                lanes: bytes / size,
            });
            elements.entry((base, start)).or_default().push(Load {
                inst,
                block,
                offset,
                ty,
                size,
                segment,
            });
        }
    }
    elements
}

/// Replaces loads from an element whose index is a phi with phis of loads, if another field of each of
/// the elements is loaded on each way. Returns the new loads.
fn separate_joint_loads(
    module: &mut Module,
    elements: &Elements,
    index: &HashMap<Block, usize>,
    flow: &Flow,
) -> HashSet<Value> {
    let mut separated = HashSet::new();
    for (&(joint, start), loads) in elements {
        let Some((element, slice, phi)) = element_of(module, joint) else {
            continue;
        };
        let size = module.types.size(element);
        let Some(InstKind::Phi(incoming)) = module.inst(phi).map(|data| &data.kind) else {
            continue;
        };
        let block = module.inst(phi).map(|data| data.block);
        if start != 0 || size > LARGEST {
            continue;
        }
        // For each way, the address of the element.
        let other = |&(number, from): &(Value, Block)| {
            let from_index = *index.get(&from)?;
            let is_same = |&(&(base, start), loads): &(&(Value, i64), &Vec<Load>)| {
                start == 0
                    && element_of(module, base) == Some((element, slice, number))
                    && (loads.iter()).any(|load| flow.dominates(load.block, from_index))
            };
            let (&(base, _), _) = elements.iter().find(is_same)?;
            Some((base, from))
        };
        let Some(others) = incoming.iter().map(other).collect::<Option<Vec<_>>>() else {
            continue;
        };
        for load in loads {
            let Some(data) = module
                .inst(load.inst)
                .filter(|data| Some(data.block) == block)
            else {
                continue;
            };
            let InstKind::Load { access, .. } = data.kind else {
                continue;
            };
            let (to, loc) = (data.block, data.loc);
            let mut values: Vec<(Value, Block)> = Vec::new();
            for &(base, from) in &others {
                // A switch may have several edges to the block.
                if let Some(&same) = values.iter().find(|(_, other)| *other == from) {
                    values.push(same);
                    continue;
                }
                let end = module.block_mut(from).insts.pop();
                let ptr = push_address(module, from, base, load.offset);
                let kind = InstKind::Load { ptr, access };
                let inst = module.push_inst(from, load.ty, kind, loc);
                separated.insert(inst);
                values.push((inst, from));
                module.block_mut(from).insts.extend(end);
            }
            if let Some(data) = module.inst_mut(load.inst) {
                data.kind = InstKind::Phi(values);
            }
            let insts = &mut module.block_mut(to).insts;
            insts.retain(|&inst| inst != load.inst);
            insts.insert(0, load.inst);
        }
    }
    separated
}

/// Returns the type of an element, the slice and the index of an address.
fn element_of(module: &Module, address: Value) -> Option<(Type, Value, Value)> {
    match module.inst(address)?.kind {
        InstKind::Gep {
            element,
            base,
            ref indices,
            ..
        } => match indices[..] {
            [index] => Some((element, base, index)),
            _ => None,
        },
        _ => None,
    }
}

/// Returns an address as another one and a constant distance in bytes.
pub(super) fn split_address(module: &Module, address: Value) -> (Value, i64) {
    let (mut base, mut offset) = (address, 0i64);
    while let Some((next, distance)) = constant_step(module, base)
        && let Some(sum) = offset.checked_add(distance)
    {
        (base, offset) = (next, sum);
    }
    (base, offset)
}

/// Returns the base and the constant distance in bytes of an address.
fn constant_step(module: &Module, address: Value) -> Option<(Value, i64)> {
    let (element, base, index) = element_of(module, address)?;
    match module.as_const(index) {
        Some(&Const::Int(value)) if module.types.int_bits(module.ty(index)) == Some(64) => {
            let size = i64::try_from(module.types.size(element)).ok()?;
            Some((base, size.checked_mul(value as i64)?))
        }
        _ => None,
    }
}

/// The place of an address in a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    /// The size of the slice's elements.
    element: i64,
    /// The distance of the address from the start of an element.
    phase: i64,
}

impl Place {
    /// Returns the place of an address in slices that a kernel takes as shared references.
    fn of(module: &Module, func: Func, address: Value) -> Option<Place> {
        // Each address on the way with the distance of `address` from it, without whole elements.
        let mut distances: HashMap<Value, i64> = HashMap::new();
        let mut pending = vec![(address, 0)];
        let mut strides = Vec::new();
        let mut starts = Vec::new();
        while let Some((value, distance)) = pending.pop() {
            if let Some(&known) = distances.get(&value) {
                strides.push(known - distance);
                continue;
            }
            distances.insert(value, distance);
            if let ValueKind::Param(of, index) = module.value(value).kind {
                let attrs = &module.func(of).param_attrs[index as usize];
                let is_slice = of == func && attrs.noalias && attrs.readonly && attrs.element > 0;
                starts.push((i64::try_from(attrs.element).ok()?, distance));
                if !is_slice {
                    return None;
                }
                continue;
            }
            if let Some((base, step)) = constant_step(module, value) {
                pending.push((base, distance.checked_add(step)?));
                continue;
            }
            match module.inst(value)?.kind {
                InstKind::Gep {
                    element,
                    base,
                    ref indices,
                    ..
                } if indices.len() == 1 => {
                    strides.push(i64::try_from(module.types.size(element)).ok()?);
                    pending.push((base, distance));
                }
                InstKind::Phi(ref incoming) => {
                    pending.extend(incoming.iter().map(|&(value, _)| (value, distance)));
                }
                _ => return None,
            }
        }
        let &(element, phase) = starts.first()?;
        let agrees =
            |&(other, distance): &(i64, i64)| other == element && (distance - phase) % element == 0;
        let is_whole = strides.iter().all(|stride| stride % element == 0);
        (starts.iter().all(agrees) && is_whole).then_some(Place {
            element,
            phase: phase.rem_euclid(element),
        })
    }
}

/// Returns a load that no other one dominates, and those that it dominates.
fn split(loads: &[Load], flow: &Flow) -> (Load, Vec<Load>) {
    let mut first = loads[0];
    for &load in &loads[1..] {
        if load.block != first.block && flow.dominates(load.block, first.block) {
            first = load;
        }
    }
    (first, dominated(loads, first, flow))
}

/// Returns the loads that another one dominates.
fn dominated(loads: &[Load], first: Load, flow: &Flow) -> Vec<Load> {
    let rest = loads.iter().filter(|load| load.inst != first.inst);
    let rest = rest.filter(|load| flow.dominates(first.block, load.block));
    rest.copied().collect()
}

/// Returns whether an address is a parameter that is a reference to a value.
fn is_reference(module: &Module, func: Func, address: Value) -> bool {
    match module.value(address).kind {
        ValueKind::Param(_, index) => module.func(func).param_attrs[index as usize].readable,
        _ => false,
    }
}

/// Returns whether the loads of a value are few, and the loops with them small, so that there are
/// registers for the value.
fn is_small(module: &Module, blocks: &[Block], loads: &[Load], loops: &[Loop]) -> bool {
    let bytes: u64 = loads.iter().map(|load| load.size).sum();
    let mut loops = loops.iter().map(|each| &each.body);
    bytes <= HOISTED
        && loops.all(|body| {
            let sizes = body.iter().map(|&of| module.block(blocks[of]).insts.len());
            sizes.sum::<usize>() <= LOOP || !loads.iter().any(|load| body.contains(&load.block))
        })
}

/// Returns the block that runs if the index in an address is less than the length of its slice, if it
/// dominates a block. The length is the parameter after the slice's.
fn checked(module: &Module, func: Func, base: Value, block: usize, flow: &Flow) -> Option<usize> {
    let (element, slice, index) = element_of(module, base)?;
    let ValueKind::Param(_, number) = module.value(slice).kind else {
        return None;
    };
    let data = module.func(func);
    if module.types.size(element) != data.param_attrs[number as usize].element {
        return None;
    }
    let is_length = |value| match module.value(value).kind {
        ValueKind::Param(_, other) => other == number + 1,
        _ => false,
    };
    let target = |from: &Block| {
        let InstKind::CondBr { cond, then, .. } = module.inst(module.terminator(*from)?)?.kind
        else {
            return None;
        };
        let InstKind::ICmp { pred, lhs, rhs } = module.inst(cond)?.kind else {
            return None;
        };
        (pred == IntPred::Ult && index == lhs && is_length(rhs)).then_some(then)
    };
    let targets = data.blocks.iter().filter_map(target);
    let mut targets = targets.filter_map(|to| data.blocks.iter().position(|&block| block == to));
    targets.find(|&to| flow.predecessors(to).len() == 1 && flow.dominates(to, block))
}

/// Returns the block before the outermost loop that contains one block and not another one, which
/// dominates it.
fn before_loops(checked: usize, block: usize, flow: &Flow, loops: &[Loop]) -> Option<usize> {
    let around = (loops.iter().map(|each| &each.body))
        .filter(|body| body.contains(&block) && !body.contains(&checked));
    let body = around.max_by_key(|body| body.len())?;
    let from = body.iter().flat_map(|&block| flow.predecessors(block));
    let from = from.map(|&from| from as usize);
    let mut from = from.filter(|from| flow.is_reachable(*from) && !body.contains(from));
    let before = from.next()?;
    (from.next().is_none() && flow.dominates(checked, before)).then_some(before)
}

/// Moves a load to the end of a block. Returns the address there of the load's element.
fn hoist_out(module: &mut Module, base: Value, load: Load, to: Block) -> Value {
    let Some(end) = module.block_mut(to).insts.pop() else {
        return base;
    };
    let base = match module.inst(base).map(|data| data.kind.clone()) {
        Some(kind) => module.push_inst(to, module.ty(base), kind, None),
        None => base,
    };
    let ptr = push_address(module, to, base, load.offset);
    let Some(data) = module.inst_mut(load.inst) else {
        return base;
    };
    let from = std::mem::replace(&mut data.block, to);
    if let InstKind::Load { ptr: address, .. } = &mut data.kind {
        *address = ptr;
    }
    (module.block_mut(from).insts).retain(|&inst| inst != load.inst);
    module.block_mut(to).insts.extend([load.inst, end]);
    base
}

/// Moves a load behind another one.
fn hoist(module: &mut Module, base: Value, load: Load, first: Load) {
    let Some(data) = module.inst(first.inst) else {
        return;
    };
    let (to, loc) = (data.block, data.loc);
    let Some(data) = module.inst_mut(load.inst) else {
        return;
    };
    let from = std::mem::replace(&mut data.block, to);
    data.loc = loc;
    (module.block_mut(from).insts).retain(|&inst| inst != load.inst);
    let address = push_address(module, to, base, load.offset);
    if let Some(InstKind::Load { ptr, .. }) = module.inst_mut(load.inst).map(|data| &mut data.kind)
    {
        *ptr = address;
    }
    let insts = &mut module.block_mut(to).insts;
    insts.pop();
    if let Some(at) = insts.iter().position(|&inst| inst == first.inst) {
        insts.splice(at + 1..at + 1, [address, load.inst]);
    }
}

/// Appends the address at a distance from a base to a block.
fn push_address(module: &mut Module, block: Block, base: Value, offset: i64) -> Value {
    let element = module.types.int(8);
    let kind = InstKind::Gep {
        element,
        base,
        indices: vec![module.const_i64(offset)],
        inbounds: true,
    };
    module.push_inst(block, module.ty(base), kind, None)
}

/// Combines the loads of each segment that are in different blocks. libnvvm combines those in the same
/// block, but would move the separated ones back before.
fn combine_all(
    module: &mut Module,
    base: Value,
    loads: &[Load],
    separated: &HashSet<Value>,
    flow: &Flow,
) {
    let mut segments: BTreeMap<Segment, Vec<Load>> = BTreeMap::new();
    for load in loads {
        if let Some(segment) = load.segment {
            segments.entry(segment).or_default().push(*load);
        }
    }
    for (segment, mut loads) in segments {
        while !loads.is_empty() {
            let (first, rest) = split(&loads, flow);
            loads.retain(|load| *load != first && !rest.contains(load));
            let is_elsewhere = |load: &Load| {
                let is_separated = || separated.contains(&load.inst);
                (load.block != first.block || is_separated()) && load.offset != first.offset
            };
            if rest.iter().any(is_elsewhere) {
                combine(module, base, &segment, first, &rest);
            }
        }
    }
}

/// Replaces loads of a segment by one before the first of them.
fn combine(module: &mut Module, base: Value, segment: &Segment, first: Load, rest: &[Load]) {
    let Some(data) = module.inst(first.inst) else {
        return;
    };
    let (block, loc) = (data.block, data.loc);
    let size = first.size as i64;
    let ptr = push_address(module, block, base, segment.offset);
    let ty = module.types.vector(segment.ty, segment.lanes as u32);
    let access = MemAccess {
        align: segment.lanes * first.size,
        ..MemAccess::default()
    };
    let vector = module.push_inst(block, ty, InstKind::Load { ptr, access }, loc);
    let insts = &mut module.block_mut(block).insts;
    insts.truncate(insts.len() - 2);
    let place = |load: &Load| insts.iter().position(|&inst| inst == load.inst);
    let all = || std::iter::once(&first).chain(rest);
    if let Some(at) = all().filter_map(place).min() {
        insts.splice(at..at, [ptr, vector]);
    }
    for load in all() {
        let lane = (load.offset - segment.offset) / size;
        let index = module.const_i32(lane as i32);
        if let Some(data) = module.inst_mut(load.inst) {
            data.kind = InstKind::ExtractElement { vector, index };
        }
    }
}
