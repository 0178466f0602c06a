//! Assigns an offset in the arena to each slot, and a part of the arena to each call.

use std::collections::HashMap;

use super::live::Frame;
use crate::value::Func;

/// The offsets of a function's slots and of its callees' arenas within the function's arena. The
/// offset of a slot that is part of a parameter is relative to the parameter.
pub(super) struct Layout {
    pub slots: Vec<u64>,
    pub calls: Vec<u64>,
    pub size: u64,
    pub align: u64,
}

/// An object to place.
#[derive(Copy, Clone)]
enum Part {
    Slot(usize),
    Call(usize),
}

/// Places slots and calls, the largest first, each at the lowest offset that the objects placed
/// before permit. `layouts` contains the layout of each callee.
pub(super) fn place(frame: &Frame, layouts: &HashMap<Func, Layout>) -> Layout {
    let of_slots = (frame.slots.iter().enumerate())
        .filter(|(_, slot)| !slot.param && slot.part_of.is_none())
        .map(|(i, slot)| (slot.size, slot.align, Part::Slot(i)));
    let of_calls = frame.calls.iter().enumerate().map(|(i, call)| {
        let layout = &layouts[&call.callee];
        (layout.size, layout.align, Part::Call(i))
    });
    let mut parts: Vec<(u64, u64, Part)> = of_slots.chain(of_calls).collect();
    parts.sort_by_key(|&(size, ..)| std::cmp::Reverse(size));
    let mut layout = Layout {
        slots: vec![0; frame.slots.len()],
        calls: vec![0; frame.calls.len()],
        size: 0,
        align: 8,
    };
    let mut placed: Vec<(u64, u64, Part)> = Vec::with_capacity(parts.len());
    for (size, align, part) in parts {
        let mut taken: Vec<(u64, u64)> = (placed.iter())
            .filter(|&&(_, _, other)| meet(frame, part, other))
            .map(|&(from, to, _)| (from, to))
            .collect();
        taken.sort_unstable();
        let mut at = 0u64;
        for (from, to) in taken {
            if at + size <= from {
                break;
            }
            at = at.max(to.next_multiple_of(align));
        }
        placed.push((at, at + size, part));
        layout.size = layout.size.max(at + size);
        layout.align = layout.align.max(align);
        match part {
            Part::Slot(i) => layout.slots[i] = at,
            Part::Call(i) => layout.calls[i] = at,
        }
    }
    for i in 0..frame.slots.len() {
        let (whole, offset) = frame.whole(i);
        layout.slots[i] = layout.slots[whole] + offset;
    }
    layout.size = layout.size.next_multiple_of(layout.align);
    layout
}

/// Returns whether two objects must not overlap.
fn meet(frame: &Frame, a: Part, b: Part) -> bool {
    match (a, b) {
        (Part::Slot(a), Part::Slot(b)) => {
            frame.overlaps[a].contains(b) || frame.overlaps[b].contains(a)
        }
        (Part::Slot(slot), Part::Call(call)) | (Part::Call(call), Part::Slot(slot)) => {
            frame.calls[call].live.contains(slot)
        }
        (Part::Call(_), Part::Call(_)) => false,
    }
}
