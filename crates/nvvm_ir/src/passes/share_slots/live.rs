//! Computes when each slot of a function is live.
//!
//! A slot whose address does not escape (only loads, stores, copies and calls with a `nocapture`
//! parameter use it) is live from the first possible write to the last possible read. A slot whose
//! address escapes is live from its first use to the marker of its lifetime's end, after which an
//! access would be undefined behavior in Rust; without a marker for its lifetime's start it is live
//! from the function's start. A slot is live at an instruction if it is live before or after the
//! instruction, or if the instruction uses it; the arguments and the result of a call therefore
//! never overlap.
//!
//! A slot that is copied as a whole becomes a part of the copy's source or destination if the two
//! are not otherwise live at the same time; the copy is then removed. Parameters passed by value
//! are slots too, so a value that is moved through several functions stays in one place.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::super::select_elements::is_plain;
use super::access::{Access, Params, int};
use crate::inst::{ByValue, Call, Callee, InstKind};
use crate::intrinsic::Intrinsic;
use crate::module::Module;
use crate::value::{Block, Func, Value, ValueKind};

/// The slots of a function that may share memory, and the calls that take a part of its arena.
#[derive(Clone)]
pub(super) struct Frame {
    pub slots: Vec<Slot>,
    pub calls: Vec<ArenaCall>,
    /// For each slot, the slots that are live at the same time, including itself.
    pub overlaps: Vec<Set>,
    /// Copies whose source and destination are now the same memory.
    pub copies: Vec<Value>,
}

/// An `alloca` of constant size, or the memory behind a parameter.
#[derive(Clone)]
pub(super) struct Slot {
    pub value: Value,
    pub size: u64,
    pub align: u64,
    /// Whether the memory belongs to the caller.
    pub param: bool,
    /// Whether addresses within the slot may be captured. `nocapture` forbids that for parameters.
    pub kept: bool,
    /// The slot that this slot is a part of, and its offset there.
    pub part_of: Option<(usize, u64)>,
}

impl Frame {
    /// Returns the outermost slot that a slot is a part of, and its offset there.
    pub(super) fn whole(&self, slot: usize) -> (usize, u64) {
        let (mut slot, mut offset) = (slot, 0);
        while let Some((whole, at)) = self.slots[slot].part_of {
            (slot, offset) = (whole, offset + at);
        }
        (slot, offset)
    }
}

/// A call of a function that takes an arena.
#[derive(Clone)]
pub(super) struct ArenaCall {
    pub inst: Value,
    pub callee: Func,
    /// The slots that are live at the call.
    pub live: Set,
}

/// A set of slots.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Set(Vec<u64>);

impl Set {
    pub(super) fn new(slots: usize) -> Set {
        Set(vec![0; slots.div_ceil(64)])
    }

    pub(super) fn contains(&self, slot: usize) -> bool {
        self.0[slot / 64] >> (slot % 64) & 1 != 0
    }

    pub(super) fn insert(&mut self, slot: usize) {
        self.0[slot / 64] |= 1 << (slot % 64);
    }

    fn remove(&mut self, slot: usize) {
        self.0[slot / 64] &= !(1 << (slot % 64));
    }

    fn add(&mut self, other: &Set) {
        (self.0.iter_mut().zip(&other.0)).for_each(|(to, from)| *to |= from);
    }

    fn keep(&mut self, other: &Set) {
        (self.0.iter_mut().zip(&other.0)).for_each(|(to, from)| *to &= from);
    }

    fn iter(&self) -> impl Iterator<Item = usize> {
        (self.0.iter().enumerate()).flat_map(|(i, &word)| {
            (0..64).filter_map(move |bit| (word >> bit & 1 != 0).then_some(64 * i + bit))
        })
    }
}

/// The effect of an instruction on the slots.
#[derive(Default)]
struct Effect {
    uses: Vec<usize>,
    starts: Option<usize>,
    ends: Option<usize>,
}

/// An instruction that affects slots, or is a call that takes an arena.
struct Event {
    effect: Effect,
    call: Option<(Value, Func)>,
    copy: Option<Copy>,
}

/// A copy of bytes between two slots. One of them is copied as a whole (`part`), and becomes a part
/// of the other if the two are live at the same time only because of the copy.
#[derive(Clone, Copy)]
struct Copy {
    inst: Value,
    from: usize,
    to: usize,
    part: usize,
    whole: usize,
    offset: u64,
}

impl Copy {
    /// Returns the copy of bytes from a slot to another one, in which they are `by` bytes further
    /// behind its start. `is_whole` tells whether the copy is of a whole slot.
    fn between(
        inst: Value,
        (from, to): (usize, usize),
        by: i64,
        slots: &[Slot],
        is_whole: impl Fn(&Slot) -> bool,
    ) -> Option<Copy> {
        (from != to).then_some(())?;
        // Where one of them begins in the other one.
        let place = |part: usize, whole: usize, offset: i64| {
            let offset = u64::try_from(offset).ok()?;
            let (inner, outer) = (&slots[part], &slots[whole]);
            let fits = is_whole(inner) && !inner.param && offset + inner.size <= outer.size;
            fits.then_some((part, whole, offset))
        };
        let places = [place(to, from, -by), place(from, to, by)];
        let mut places = places.into_iter().flatten();
        let first = places.next()?;
        let is_aligned =
            |&(part, whole, _): &(usize, usize, u64)| slots[part].align <= slots[whole].align;
        let (part, whole, offset) = match is_aligned(&first) {
            true => first,
            false => places.next().unwrap_or(first),
        };
        Some(Copy {
            inst,
            from,
            to,
            part,
            whole,
            offset,
        })
    }
}

/// A copy that is loads and stores of words.
struct WordCopy {
    copy: Copy,
    /// The indices of the first and the last instruction in the block.
    first: usize,
    last: usize,
}

/// A word of a copy, with the indices of the instructions in the block.
struct Word {
    load: usize,
    store: usize,
    size: u64,
}

/// Returns whether a copy of some bytes of a slot is one of the slot. LLVM leaves out bytes that nobody
/// reads.
fn is_most(bytes: u64, size: u64) -> bool {
    bytes <= size && bytes * 4 >= size * 3
}

/// Finds the slots of more than `keep` bytes, and computes when they are live.
pub(super) fn analyze(
    module: &Module,
    func: Func,
    keep: u64,
    params: &Params,
    has_arena: &dyn Fn(Func) -> bool,
) -> Frame {
    let slots = slots(module, func, params, keep);
    let mut frame = without_copies(module, func, slots, params, has_arena, Copies::Calls);
    reuse_params(&mut frame);
    frame
}

/// A local variable that is copied to or from another one as a whole, and that can be a part of it.
pub(crate) struct Copied {
    pub(crate) value: Value,
    pub(crate) whole: Value,
    /// Where it begins in the other variable, in bytes.
    pub(crate) offset: u64,
}

/// Finds the local variables that are live at the same time as another one only because of a copy.
pub(crate) fn copied_locals(module: &Module, func: Func) -> Vec<Copied> {
    let params = Params::unknown();
    let mut slots = slots(module, func, &params, 0);
    slots.retain(|slot| !slot.param);
    if slots.len() < 2 {
        return Vec::new();
    }
    let frame = without_copies(module, func, slots, &params, &|_| false, Copies::Words);
    let copied = |(at, slot): (usize, &Slot)| {
        slot.part_of?;
        let (whole, offset) = frame.whole(at);
        Some(Copied {
            value: slot.value,
            whole: frame.slots[whole].value,
            offset,
        })
    };
    frame.slots.iter().enumerate().filter_map(copied).collect()
}

/// Which copies join slots.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Copies {
    /// Calls of `memcpy`.
    Calls,
    /// These, and loads and stores of words.
    Words,
}

/// Computes when slots are live, and joins those that copies connect.
fn without_copies(
    module: &Module,
    func: Func,
    mut slots: Vec<Slot>,
    params: &Params,
    has_arena: &dyn Fn(Func) -> bool,
    joining: Copies,
) -> Frame {
    let mut uses = Uses::new(module, func, &slots);
    let blocks = &module.func(func).blocks;
    let mut events: Vec<Vec<Event>> = Vec::with_capacity(blocks.len());
    for &block in blocks {
        let mut of_block = Vec::new();
        let mut copies = match joining {
            Copies::Calls => Vec::new(),
            Copies::Words => uses.word_copies(module, params, block, &slots),
        }
        .into_iter()
        .peekable();
        let mut of_copy: Vec<usize> = Vec::new();
        for (at, &value) in module.block(block).insts.iter().enumerate() {
            let Some(inst) = module.inst(value) else {
                continue;
            };
            let effect = uses.effect(module, params, &inst.kind);
            // The words of a copy are one event.
            if let Some(copy) = copies.next_if(|copy| copy.last == at) {
                of_copy.extend(effect.uses);
                let effect = Effect {
                    uses: std::mem::take(&mut of_copy),
                    ..Effect::default()
                };
                of_block.push(Event {
                    effect,
                    call: None,
                    copy: Some(copy.copy),
                });
                continue;
            }
            if copies.peek().is_some_and(|copy| copy.first <= at) {
                of_copy.extend(effect.uses);
                continue;
            }
            let call = match &inst.kind {
                InstKind::Call(call) => direct_callee(module, call)
                    .filter(|&callee| has_arena(callee))
                    .map(|callee| (value, callee)),
                _ => None,
            };
            let nothing =
                effect.uses.is_empty() && effect.starts.is_none() && effect.ends.is_none();
            if !nothing || call.is_some() {
                let copy = uses.copy(module, value, &slots, joining);
                of_block.push(Event { effect, call, copy });
            }
        }
        events.push(of_block);
    }
    let mut escaped = uses.escaped;
    for (i, slot) in slots.iter_mut().enumerate() {
        slot.kept |= escaped.contains(i) && !slot.param;
    }
    let mut at_entry = Set::new(slots.len());
    for (i, slot) in slots.iter().enumerate() {
        match by_value(module, params, slot.value) {
            Some(ByValue::Argument(_)) => at_entry.insert(i),
            // The caller reads the result after the return.
            Some(ByValue::Result(_)) => escaped.insert(i),
            None => {}
        }
    }
    let mut started = Set::new(slots.len());
    for event in events.iter().flatten() {
        event
            .effect
            .starts
            .iter()
            .for_each(|&slot| started.insert(slot));
    }
    // A slot that escapes and has no start marker is live from the function's start.
    (0..slots.len())
        .filter(|&slot| !slots[slot].param)
        .filter(|&slot| escaped.contains(slot) && !started.contains(slot))
        .for_each(|slot| at_entry.insert(slot));
    let index: HashMap<Block, usize> = blocks.iter().copied().zip(0..).collect();
    let successors: Vec<Vec<usize>> = (blocks.iter())
        .map(|&block| {
            let last = module.terminator(block).and_then(|last| module.inst(last));
            let to = last.map(|last| last.kind.successors()).unwrap_or_default();
            to.iter().map(|block| index[block]).collect()
        })
        .collect();
    let begun = begun(&events, &successors, at_entry, slots.len());
    let needed = needed(&events, &successors, &escaped, slots.len());
    let alone: Vec<Set> = (0..slots.len())
        .map(|slot| {
            let mut alone = Set::new(slots.len());
            alone.insert(slot);
            alone
        })
        .collect();
    // As `overlaps`, except for overlaps that only a copy causes.
    let mut conflicts = alone.clone();
    let mut copies = Vec::new();
    let mut frame = Frame {
        calls: Vec::new(),
        overlaps: alone,
        copies: Vec::new(),
        slots,
    };
    for (block, events) in events.iter().enumerate() {
        // Before each event, and after the last one.
        let mut needed_at = vec![needed[block].clone()];
        for event in events.iter().rev() {
            let mut before = needed_at[needed_at.len() - 1].clone();
            need(&mut before, &event.effect, &escaped);
            needed_at.push(before);
        }
        needed_at.reverse();
        let mut begun_at = begun[block].clone();
        for (event, needed) in events.iter().zip(needed_at.windows(2)) {
            let mut before = begun_at.clone();
            before.keep(&needed[0]);
            begin(&mut begun_at, &event.effect);
            let mut after = begun_at.clone();
            after.keep(&needed[1]);
            let mut live = before.clone();
            live.add(&after);
            event.effect.uses.iter().for_each(|&slot| live.insert(slot));
            for slot in live.iter() {
                frame.overlaps[slot].add(&live);
                let mut others = live.clone();
                if let Some(Copy { from, to, .. }) = event.copy
                    && (slot == from || slot == to)
                    && ![&before, &after]
                        .iter()
                        .any(|set| set.contains(from) && set.contains(to))
                {
                    others.remove(from ^ to ^ slot);
                }
                conflicts[slot].add(&others);
            }
            copies.extend(event.copy);
            if let Some((inst, callee)) = event.call {
                frame.calls.push(ArenaCall { inst, callee, live });
            }
        }
    }
    let apart = frame.clone();
    for copy in &copies {
        merge(&mut frame, &mut conflicts, copy);
    }
    if !drop_copies(&mut frame, &copies) {
        frame = apart;
    }
    frame
}

/// Makes a slot that is copied as a whole a part of the copy's source or destination, if they are
/// not live at the same time.
fn merge(frame: &mut Frame, conflicts: &mut [Set], copy: &Copy) {
    let (whole, offset) = frame.whole(copy.whole);
    let offset = offset + copy.offset;
    let (part, outer) = (copy.part, &frame.slots[whole]);
    let slot = &frame.slots[part];
    let fits = offset.is_multiple_of(slot.align)
        && outer.align >= slot.align
        && offset + slot.size <= outer.size;
    if !fits || slot.param || slot.part_of.is_some() || whole == part {
        return;
    }
    if conflicts[whole].contains(part) || conflicts[part].contains(whole) {
        return;
    }
    if outer.param && slot.kept && !outer.kept {
        return;
    }
    unite(frame, part, whole, offset);
    unite_sets(conflicts, part, whole);
}

/// Collects the copies whose source and destination are now the same memory. Returns false if the
/// source and destination of a copy overlap partially, which happens if two slots are copied back
/// and forth at different offsets.
fn drop_copies(frame: &mut Frame, copies: &[Copy]) -> bool {
    for copy in copies {
        let (of_part, part) = frame.whole(copy.part);
        let (of_whole, whole) = frame.whole(copy.whole);
        let (whole, size) = (whole + copy.offset, frame.slots[copy.part].size);
        if of_part != of_whole || part + size <= whole || whole + size <= part {
            continue;
        }
        if part != whole {
            return false;
        }
        frame.copies.push(copy.inst);
    }
    true
}

/// Places slots in the memory behind parameters if the two are not live at the same time. The
/// memory of a consumed argument or of a result that has not been written is otherwise unused
/// during the call.
fn reuse_params(frame: &mut Frame) {
    let (params, mut slots): (Vec<usize>, Vec<usize>) =
        (0..frame.slots.len()).partition(|&i| frame.slots[i].param);
    slots.retain(|&i| frame.slots[i].part_of.is_none());
    slots.sort_by_key(|&i| std::cmp::Reverse(frame.slots[i].size));
    for slot in slots {
        let is_free = |&param: &usize| {
            let (inner, outer) = (&frame.slots[slot], &frame.slots[param]);
            (outer.kept || !inner.kept)
                && inner.size <= outer.size
                && inner.align <= outer.align
                && !frame.overlaps[slot].contains(param)
                && !frame.overlaps[param].contains(slot)
        };
        let free = params.iter().copied().filter(is_free);
        if let Some(param) = free.min_by_key(|&param| frame.slots[param].size) {
            unite(frame, slot, param, 0);
        }
    }
}

/// Makes a slot a part of another slot.
fn unite(frame: &mut Frame, part: usize, whole: usize, offset: u64) {
    frame.slots[part].part_of = Some((whole, offset));
    frame.slots[whole].kept |= frame.slots[part].kept;
    unite_sets(&mut frame.overlaps, part, whole);
    for call in &mut frame.calls {
        if call.live.contains(part) {
            call.live.insert(whole);
        }
    }
}

/// Adds the slots in the set of `part` to the set of `whole`.
fn unite_sets(sets: &mut [Set], part: usize, whole: usize) {
    let of_part = sets[part].clone();
    sets[whole].add(&of_part);
    for set in sets.iter_mut().filter(|set| set.contains(part)) {
        set.insert(whole);
    }
}

/// Returns what a parameter's memory holds, if the function may write to it.
fn by_value(module: &Module, params: &Params, value: Value) -> Option<ByValue> {
    match module.value(value).kind {
        ValueKind::Param(func, i) => {
            let attrs = &module.func(func).param_attrs[i as usize];
            attrs
                .by_value
                .filter(|_| !attrs.readonly || params.is_owned(value))
        }
        _ => None,
    }
}

pub(super) fn direct_callee(module: &Module, call: &Call) -> Option<Func> {
    match call.callee {
        Callee::Value(callee) => module.as_func(callee),
        _ => None,
    }
}

/// Returns the slots of more than `keep` bytes. A variable with debug information remains an
/// `alloca`.
pub(super) fn slots(module: &Module, func: Func, params: &Params, keep: u64) -> Vec<Slot> {
    let data = module.func(func);
    let Some(&entry) = data.blocks.first() else {
        return Vec::new();
    };
    let named: HashSet<Value> = data.variables.iter().map(|&(value, _)| value).collect();
    let slot = |&value: &Value| match module.inst(value)?.kind {
        InstKind::Alloca {
            ty,
            count: None,
            align,
        } => Some(Slot {
            value,
            size: module.types.size(ty),
            align: align.max(module.types.align(ty)),
            param: false,
            kept: false,
            part_of: None,
        }),
        _ => None,
    };
    let mut slots: Vec<Slot> = (module.block(entry).insts.iter())
        .filter(|value| !named.contains(value))
        .filter_map(slot)
        .filter(|slot| slot.size > keep)
        .collect();
    if slots.is_empty() {
        return slots;
    }
    for (&value, attrs) in data.params.iter().zip(&data.param_attrs) {
        if let Some(ByValue::Argument(size) | ByValue::Result(size)) =
            by_value(module, params, value)
            && size > keep
        {
            slots.push(Slot {
                value,
                size,
                align: attrs.align.max(1),
                param: true,
                kept: !attrs.nocapture,
                part_of: None,
            });
        }
    }
    slots
}

/// The values that are addresses within slots, and the slots whose addresses escape.
struct Uses {
    slots: HashMap<Value, usize>,
    derived: HashMap<Value, Vec<usize>>,
    escaped: Set,
}

impl Uses {
    fn new(module: &Module, func: Func, slots: &[Slot]) -> Uses {
        let index: HashMap<Value, usize> = slots.iter().map(|slot| slot.value).zip(0..).collect();
        let mut derived: HashMap<Value, Vec<usize>> = index
            .iter()
            .map(|(&value, &slot)| (value, vec![slot]))
            .collect();
        // Iterates to a fixed point: a phi may precede its operands.
        let mut changed = !slots.is_empty();
        while changed {
            changed = false;
            for &block in &module.func(func).blocks {
                for &value in &module.block(block).insts {
                    let Some(inst) = module.inst(value) else {
                        continue;
                    };
                    let mut from: Vec<usize> = Vec::new();
                    for_each_base(&inst.kind, |base| {
                        from.extend(derived.get(&base).into_iter().flatten());
                    });
                    if from.is_empty() {
                        continue;
                    }
                    let to = derived.entry(value).or_default();
                    for slot in from {
                        if !to.contains(&slot) {
                            to.push(slot);
                            changed = true;
                        }
                    }
                }
            }
        }
        Uses {
            slots: index,
            derived,
            escaped: Set::new(slots.len()),
        }
    }

    /// Returns the copy that an instruction is, if it copies a whole slot to or from another slot.
    fn copy(&self, module: &Module, inst: Value, slots: &[Slot], joining: Copies) -> Option<Copy> {
        let InstKind::Call(call) = &module.inst(inst)?.kind else {
            return None;
        };
        let Callee::Intrinsic(Intrinsic::Memcpy) = call.callee else {
            return None;
        };
        let &[to, from, len, volatile] = &call.args[..] else {
            return None;
        };
        if int(module, volatile) != Some(0) {
            return None;
        }
        let len = int(module, len)?;
        let (to, to_at) = self.place(module, to, len, slots)?;
        let (from, from_at) = self.place(module, from, len, slots)?;
        let by = to_at as i64 - from_at as i64;
        let is_whole = |slot: &Slot| match joining {
            Copies::Calls => slot.size == len,
            Copies::Words => is_most(len, slot.size),
        };
        Copy::between(inst, (from, to), by, slots, is_whole)
    }

    /// Returns the slot that an address points into, and the offset.
    fn place(
        &self,
        module: &Module,
        mut value: Value,
        len: u64,
        slots: &[Slot],
    ) -> Option<(usize, u64)> {
        let mut offset = 0u64;
        loop {
            if let Some(&slot) = self.slots.get(&value) {
                return (offset + len <= slots[slot].size).then_some((slot, offset));
            }
            let InstKind::Gep {
                element,
                base,
                indices,
                ..
            } = &module.inst(value)?.kind
            else {
                return None;
            };
            let &[index] = &indices[..] else { return None };
            let step = int(module, index)?.checked_mul(module.types.size(*element))?;
            offset = offset
                .checked_add(step)
                .filter(|&offset| offset < 1 << 40)?;
            value = *base;
        }
    }

    /// Returns the copies of a block that are loads and stores of words.
    fn word_copies(
        &mut self,
        module: &Module,
        params: &Params,
        block: Block,
        slots: &[Slot],
    ) -> Vec<WordCopy> {
        let insts = &module.block(block).insts;
        let mut loads: HashMap<Value, (usize, (usize, u64))> = HashMap::new();
        // By the slots, and the difference of the offsets.
        let mut words: BTreeMap<(usize, usize, i64), Vec<Word>> = BTreeMap::new();
        for (at, &inst) in insts.iter().enumerate() {
            let size = |value: Value| module.types.size(module.ty(value));
            match module.inst(inst).map(|data| &data.kind) {
                Some(InstKind::Load { ptr, access }) if is_plain(access) => {
                    if let Some(place) = self.place(module, *ptr, size(inst), slots) {
                        loads.insert(inst, (at, place));
                    }
                }
                Some(InstKind::Store { value, ptr, access }) if is_plain(access) => {
                    let size = size(*value);
                    if let Some(&(load, (from, from_at))) = loads.get(value)
                        && let Some((to, to_at)) = self.place(module, *ptr, size, slots)
                        && from != to
                    {
                        let key = (from, to, to_at as i64 - from_at as i64);
                        words.entry(key).or_default().push(Word {
                            load,
                            store: at,
                            size,
                        });
                    }
                }
                _ => {}
            }
        }
        let mut copies: Vec<WordCopy> = (words.into_iter())
            .filter_map(|((from, to, by), words)| {
                let bytes: u64 = words.iter().map(|word| word.size).sum();
                let first = words.iter().map(|word| word.load).min()?;
                let last = words.iter().map(|word| word.store).max()?;
                let own: HashSet<usize> = (words.iter())
                    .flat_map(|word| [word.load, word.store])
                    .collect();
                let is_apart = (first..=last).filter(|at| !own.contains(at)).all(|at| {
                    let Some(data) = module.inst(insts[at]) else {
                        return true;
                    };
                    let effect = self.effect(module, params, &data.kind);
                    let uses = |slot| effect.uses.contains(&slot);
                    effect.starts.is_none() && effect.ends.is_none() && !uses(from) && !uses(to)
                });
                let is_whole = |slot: &Slot| is_most(bytes, slot.size);
                let copy = Copy::between(insts[last], (from, to), by, slots, is_whole)?;
                is_apart.then_some(WordCopy { copy, first, last })
            })
            .collect();
        copies.sort_by_key(|copy| copy.last);
        let mut end = None;
        copies.retain(|copy| {
            let is_behind = end.is_none_or(|end| copy.first > end);
            end = if is_behind { Some(copy.last) } else { end };
            is_behind
        });
        copies
    }

    /// Returns the effect of an instruction, and records the slots whose addresses escape in it.
    fn effect(&mut self, module: &Module, params: &Params, kind: &InstKind) -> Effect {
        let mut effect = Effect::default();
        let mut harmless: Vec<Value> = Vec::new();
        let mut used: Vec<Value> = Vec::new();
        for_each_base(kind, |base| harmless.push(base));
        match kind {
            InstKind::Load { ptr, .. } => used.push(*ptr),
            // Storing the address itself lets it escape, as `value` is handled below.
            InstKind::Store { ptr, value, .. } if ptr != value => used.push(*ptr),
            InstKind::AtomicRmw { ptr, value, .. } if ptr != value => used.push(*ptr),
            InstKind::CmpXchg {
                ptr, expected, new, ..
            } if ptr != expected && ptr != new => used.push(*ptr),
            InstKind::Call(call) => match &call.callee {
                Callee::Intrinsic(Intrinsic::LifetimeStart | Intrinsic::LifetimeEnd)
                    if let Some(&slot) = call.args.get(1).and_then(|ptr| self.slots.get(ptr)) =>
                {
                    match call.callee {
                        Callee::Intrinsic(Intrinsic::LifetimeStart) => effect.starts = Some(slot),
                        _ => effect.ends = Some(slot),
                    }
                    return effect;
                }
                Callee::Intrinsic(Intrinsic::Memcpy | Intrinsic::Memmove | Intrinsic::Memset) => {
                    used.extend(&call.args)
                }
                Callee::Value(_) => {
                    let returns = |i: usize| params.of_argument(module, call, i) != Access::Keep;
                    let args = call.args.iter().enumerate();
                    used.extend(args.filter(|&(i, _)| returns(i)).map(|(_, &arg)| arg));
                    // The same address may also be passed in an argument that is captured.
                    let args = call.args.iter().enumerate();
                    let kept: Vec<Value> = args
                        .filter(|&(i, _)| !returns(i))
                        .map(|(_, &arg)| arg)
                        .collect();
                    used.retain(|arg| !kept.contains(arg));
                }
                _ => {}
            },
            _ => {}
        }
        kind.for_each_operand(|operand| {
            let Some(slots) = self.derived.get(&operand) else {
                return;
            };
            if used.contains(&operand) {
                effect.uses.extend(slots);
            } else if !harmless.contains(&operand) {
                effect.uses.extend(slots);
                slots.iter().for_each(|&slot| self.escaped.insert(slot));
            }
        });
        effect
    }
}

/// Calls `f` with the operands whose object the result is an address into.
fn for_each_base(kind: &InstKind, mut f: impl FnMut(Value)) {
    use crate::inst::CastOp::{AddrSpaceCast, Bitcast};
    match kind {
        InstKind::Gep { base, indices, .. } if !indices.contains(base) => f(*base),
        InstKind::Cast {
            op: Bitcast | AddrSpaceCast,
            value,
        }
        | InstKind::Freeze(value) => f(*value),
        InstKind::Select {
            then, otherwise, ..
        } => {
            f(*then);
            f(*otherwise)
        }
        InstKind::Phi(incoming) => incoming.iter().for_each(|&(value, _)| f(value)),
        _ => {}
    }
}

fn begin(begun: &mut Set, effect: &Effect) {
    if let Some(slot) = effect.ends {
        begun.remove(slot);
    }
    effect.uses.iter().for_each(|&slot| begun.insert(slot));
}

fn need(needed: &mut Set, effect: &Effect, escaped: &Set) {
    for slot in effect.starts.into_iter().chain(effect.ends) {
        if !escaped.contains(slot) {
            needed.remove(slot);
        }
    }
    effect.uses.iter().for_each(|&slot| needed.insert(slot));
}

/// Returns for each block the slots that may have been used before its start.
fn begun(
    events: &[Vec<Event>],
    successors: &[Vec<usize>],
    at_entry: Set,
    slots: usize,
) -> Vec<Set> {
    let mut begun = vec![Set::new(slots); events.len()];
    if let Some(entry) = begun.first_mut() {
        *entry = at_entry;
    }
    let mut seen = vec![false; events.len()];
    let mut open = vec![0; usize::from(!events.is_empty())];
    while let Some(block) = open.pop() {
        seen[block] = true;
        let mut out = begun[block].clone();
        events[block]
            .iter()
            .for_each(|event| begin(&mut out, &event.effect));
        for &to in &successors[block] {
            let old = begun[to].clone();
            begun[to].add(&out);
            if begun[to] != old || !seen[to] {
                open.push(to);
            }
        }
    }
    begun
}

/// Returns for each block the slots that may be used after its end. A slot whose address escapes
/// always may.
fn needed(
    events: &[Vec<Event>],
    successors: &[Vec<usize>],
    escaped: &Set,
    slots: usize,
) -> Vec<Set> {
    let mut predecessors: Vec<Vec<usize>> = vec![Vec::new(); events.len()];
    for (from, to) in successors.iter().enumerate() {
        to.iter().for_each(|&to| predecessors[to].push(from));
    }
    let mut needed = vec![escaped.clone(); events.len()];
    debug_assert!(needed.iter().all(|set| set.0.len() == slots.div_ceil(64)));
    let mut open: Vec<usize> = (0..events.len()).collect();
    while let Some(block) = open.pop() {
        let mut before = needed[block].clone();
        for event in events[block].iter().rev() {
            need(&mut before, &event.effect, escaped);
        }
        for &from in &predecessors[block] {
            let old = needed[from].clone();
            needed[from].add(&before);
            if needed[from] != old {
                open.push(from);
            }
        }
    }
    needed
}
