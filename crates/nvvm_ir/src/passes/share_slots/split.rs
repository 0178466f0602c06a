//! Splits slots into parts that are accessed separately, such as the fields of a tuple of
//! arguments.

use std::collections::HashMap;

use super::access::{Access, Origin, Params, origins};
use super::live::{Slot, slots};
use crate::inst::{Call, Callee, InstKind};
use crate::intrinsic::Intrinsic;
use crate::module::Module;
use crate::value::{Func, Value};

/// A range of bytes: the first, and the one past the last.
type Bytes = (u64, u64);

/// A part of a slot: the accessed bytes `from..to`, and `start`, where the new slot begins. `start`
/// may be less than `from` so that each access keeps its alignment.
#[derive(Clone, Copy)]
struct Part {
    from: u64,
    to: u64,
    start: u64,
    align: u64,
}

impl Part {
    /// Returns the part that covers the ranges, of a slot with this alignment. There is at least
    /// one range.
    fn new(ranges: &[Bytes], align: u64) -> Part {
        let from = ranges[0].0;
        let to = ranges.iter().fold(0, |to, range| to.max(range.1));
        let known = |offset: u64, align: u64| match offset {
            0 => align,
            offset => align.min(1 << offset.trailing_zeros()),
        };
        let less = known(from, align);
        let is_kept = |&(at, _): &Bytes| known(at, align) <= known(at - from, less);
        match ranges.iter().all(is_kept) {
            true => Part {
                from,
                to,
                start: from,
                align: less,
            },
            false => Part {
                from,
                to,
                start: from - from % align,
                align,
            },
        }
    }
}

/// Splits each slot of more than `keep` bytes whose accesses fall into several disjoint ranges:
/// each range becomes a slot. All accesses must be to constant ranges, and the address must not be
/// captured.
pub(super) fn split_slots(module: &mut Module, func: Func, params: &Params, keep: u64) {
    let slots = slots(module, func, params, keep).into_iter();
    let slots: Vec<Slot> = slots.filter(|slot| !slot.param).collect();
    let bases: Vec<Value> = slots.iter().map(|slot| slot.value).collect();
    let origins = origins(module, func, &bases);
    let parts = parts(module, func, params, &slots, &origins);
    for (slot, parts) in slots.iter().zip(&parts) {
        if parts.len() > 1 {
            split(module, func, slot, parts, &origins);
        }
    }
}

/// Returns the parts that each slot can be split into; none if it cannot be split.
fn parts(
    module: &Module,
    func: Func,
    params: &Params,
    slots: &[Slot],
    origins: &HashMap<Value, Origin>,
) -> Vec<Vec<Part>> {
    let mut ranges: Vec<Option<Vec<Bytes>>> = vec![Some(Vec::new()); slots.len()];
    for &block in &module.func(func).blocks {
        for &inst in &module.block(block).insts {
            params.for_each_access(module, inst, |value, access| {
                let Some(origin) = origins.get(&value) else {
                    return;
                };
                let range = match (access, origin.at) {
                    (Access::Derive, Some(_)) => match origins.get(&inst) {
                        // The derived address has a known offset, too.
                        Some(Origin { at: Some(_), .. }) => return,
                        _ => None,
                    },
                    (Access::Mark, Some(0)) if slots[origin.of[0]].value == value => return,
                    (Access::Bytes(0), Some(_)) => return,
                    (Access::Bytes(len), Some(at)) => Some((at, at + len)),
                    _ => None,
                };
                for &slot in &origin.of {
                    match (range, &mut ranges[slot]) {
                        (Some(range), Some(ranges)) if range.1 <= slots[slot].size => {
                            ranges.push(range);
                        }
                        (_, ranges) => *ranges = None,
                    }
                }
            });
        }
    }
    let merge = |(slot, ranges): (&Slot, Option<Vec<Bytes>>)| {
        let mut ranges = ranges.unwrap_or_default();
        ranges.sort_unstable();
        let mut end = 0;
        let mut parts = Vec::new();
        let mut first = 0;
        for (i, &(from, to)) in ranges.iter().enumerate() {
            if i > 0 && from >= end {
                parts.push(Part::new(&ranges[first..i], slot.align));
                first = i;
            }
            end = end.max(to);
        }
        if first < ranges.len() {
            parts.push(Part::new(&ranges[first..], slot.align));
        }
        parts
    };
    slots.iter().zip(ranges).map(merge).collect()
}

/// Turns a slot into its first part, and adds slots for the other parts.
fn split(
    module: &mut Module,
    func: Func,
    slot: &Slot,
    parts: &[Part],
    origins: &HashMap<Value, Origin>,
) {
    let entry = module.func(func).blocks[0];
    let (ptr, i8) = (module.types.ptr(), module.types.int(8));
    let mut values = Vec::with_capacity(parts.len());
    for (i, part) in parts.iter().enumerate() {
        let array = module.types.array(i8, part.to - part.start);
        let kind = InstKind::Alloca {
            ty: module.types.structure(&[array], false),
            count: None,
            align: part.align,
        };
        if i == 0 {
            module
                .inst_mut(slot.value)
                .expect("a slot is an instruction")
                .kind = kind;
            values.push(slot.value);
        } else {
            values.push(module.push_inst(entry, ptr, kind, None));
            module.block_mut(entry).insts.pop();
        }
    }
    let insts = &mut module.block_mut(entry).insts;
    let at = insts.iter().position(|&inst| inst == slot.value);
    let at = at.expect("slots are in the entry block") + 1;
    insts.splice(at..at, values[1..].iter().copied());
    for block in module.func(func).blocks.clone() {
        let mut insts = Vec::with_capacity(module.block(block).insts.len());
        for inst in std::mem::take(&mut module.block_mut(block).insts) {
            insts.push(inst);
            if let Some(call) = marker_of(module, inst, slot.value) {
                mark(module, inst, call, parts, &values, &mut insts);
                continue;
            }
            // The address of an access is in the part that it accesses.
            let Some(&Origin {
                ref of,
                at: Some(at),
            }) = origins.get(&inst)
            else {
                continue;
            };
            let is_of_slot =
                |value: Value| origins.get(&value).is_some_and(|origin| origin.of == *of);
            if inst == slot.value || !is_of_slot(slot.value) {
                continue;
            }
            let part = (parts.iter()).position(|part| part.from <= at && at < part.to);
            // Nothing is accessed through any other address.
            let (part, offset) = part.map_or((0, 0), |part| (part, at - parts[part].start));
            let index = module.const_i64(offset as i64);
            let data = module
                .inst_mut(inst)
                .expect("the address was derived by an instruction");
            data.kind = InstKind::Gep {
                element: i8,
                base: values[part],
                indices: vec![index],
                inbounds: true,
            };
        }
        module.block_mut(block).insts = insts;
    }
}

/// Returns the call that an instruction is, if it marks the lifetime of a slot.
fn marker_of(module: &Module, inst: Value, slot: Value) -> Option<Call> {
    match &module.inst(inst)?.kind {
        InstKind::Call(call)
            if let Callee::Intrinsic(Intrinsic::LifetimeStart | Intrinsic::LifetimeEnd) =
                call.callee
                && call.args.get(1) == Some(&slot) =>
        {
            Some((**call).clone())
        }
        _ => None,
    }
}

/// Adds lifetime markers for each part next to those of the whole slot.
fn mark(
    module: &mut Module,
    inst: Value,
    call: Call,
    parts: &[Part],
    values: &[Value],
    insts: &mut Vec<Value>,
) {
    let (void, block) = (
        module.types.void(),
        module.inst(inst).expect("it is one").block,
    );
    for (i, (part, &value)) in parts.iter().zip(values).enumerate() {
        let mut call = call.clone();
        call.args = vec![module.const_i64((part.to - part.start) as i64), value];
        let kind = InstKind::Call(Box::new(call));
        if i == 0 {
            module.inst_mut(inst).expect("it is one").kind = kind;
        } else {
            insts.push(module.push_inst(block, void, kind, None));
            module.block_mut(block).insts.pop();
        }
    }
}
