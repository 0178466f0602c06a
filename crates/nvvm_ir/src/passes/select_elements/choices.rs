//! Loads through addresses that phis and selects choose among those of elements.

use std::collections::{HashMap, HashSet};

use crate::flow::Flow;
use crate::inst::{InstKind, MemAccess};
use crate::module::Module;
use crate::types::Type;
use crate::value::{Block, Const, Func, Value};

/// The maximum number of loads of elements that replace the loads through choices.
const LOADS: usize = 256;

/// The control flow of a function.
pub(super) struct Graph {
    blocks: Vec<Block>,
    index: HashMap<Block, usize>,
    flow: Flow,
}

impl Graph {
    pub(super) fn new(module: &Module, func: Func) -> Graph {
        let blocks = module.func(func).blocks.clone();
        let index: HashMap<Block, usize> = blocks.iter().copied().zip(0..).collect();
        let flow = Flow::new(module, func, |block| index[&block]);
        Graph {
            blocks,
            index,
            flow,
        }
    }
}

/// A position in a function: before an instruction.
type Point = Value;

/// Bytes of a variable: an offset and a size.
pub(super) type Bytes = (i64, u64);

/// A load through an address that is a constant distance from a choice.
#[derive(Copy, Clone)]
pub(super) struct Chosen {
    pub(super) load: Value,
    pub(super) choice: Value,
    pub(super) offset: i64,
}

/// The addresses in a variable that do not depend on a variable index.
#[derive(Default)]
pub(super) struct Choices {
    /// The size of the variable in bytes.
    pub(super) size: i64,
    /// For each address, the variable or the choice from which it is a constant distance.
    pub(super) sums: HashMap<Value, (Value, i64)>,
    /// The phis and selects of addresses.
    pub(super) choices: Vec<Value>,
    pub(super) loads: Vec<Chosen>,
    /// The instructions that may change bytes of the variable.
    pub(super) writes: Vec<(Value, Bytes)>,
}

impl Choices {
    /// Returns the bytes that the loads may read. Returns `None` if a load may not be replaced.
    pub(super) fn read(&self, module: &Module, graph: &Graph) -> Option<Vec<Bytes>> {
        let is_known = |&(address, _): &(Value, Point)| {
            self.sums.contains_key(&address) || is_invalid(module, address)
        };
        for &choice in &self.choices {
            options(module, choice)?
                .iter()
                .all(is_known)
                .then_some(())?;
        }
        let mut all = Vec::new();
        for chosen in &self.loads {
            let size = module.types.size(module.ty(chosen.load));
            let Reach { elements, points } = self.reach(module, *chosen)?;
            let elements = elements.into_iter().map(|offset| (offset, size));
            let elements: Vec<Bytes> = elements.filter(|it| self.is_inside(*it)).collect();
            let changes = |bytes: &Bytes| elements.iter().any(|it| overlap(it, bytes));
            let writes = self.writes.iter().filter(|(_, bytes)| changes(bytes));
            let writes: HashSet<Value> = writes.map(|&(inst, _)| inst).collect();
            let is_same =
                |&(choice, point): &(Value, Point)| graph.is_same(module, choice, point, &writes);
            points.iter().all(is_same).then_some(())?;
            all.extend(elements);
            (all.len() <= LOADS).then_some(())?;
        }
        Some(all)
    }

    /// Returns what a load may read.
    fn reach(&self, module: &Module, chosen: Chosen) -> Option<Reach> {
        let mut elements = Vec::new();
        let mut points = vec![(chosen.choice, chosen.load)];
        let mut seen = HashSet::new();
        let mut pending = vec![(chosen.choice, chosen.offset)];
        while let Some((choice, offset)) = pending.pop() {
            if !seen.insert((choice, offset)) {
                continue;
            }
            (seen.len() <= LOADS).then_some(())?;
            for (address, point) in options(module, choice)? {
                let Some(&(base, distance)) = self.sums.get(&address) else {
                    continue;
                };
                let offset = offset.checked_add(distance)?;
                if self.choices.contains(&base) {
                    points.push((base, point));
                    pending.push((base, offset));
                } else {
                    elements.push(offset);
                }
            }
        }
        Some(Reach { elements, points })
    }

    fn is_inside(&self, (offset, size): Bytes) -> bool {
        offset >= 0 && size as i64 <= self.size - offset
    }

    /// Replaces the loads by choices of values.
    pub(super) fn replace(&self, module: &mut Module, alloca: Value, align: u64) {
        let mut values = Values {
            choices: self,
            alloca,
            align,
            known: HashMap::new(),
        };
        let mut replaced: HashMap<Value, Value> = HashMap::new();
        for chosen in &self.loads {
            let ty = module.ty(chosen.load);
            let value = values.chosen(module, chosen.choice, chosen.offset, ty);
            replaced.insert(chosen.load, value);
        }
        let Some(data) = module.inst(alloca) else {
            return;
        };
        let func = module.block(data.block).func;
        for block in module.func(func).blocks.clone() {
            for inst in module.block(block).insts.clone() {
                if let Some(data) = module.inst_mut(inst) {
                    data.kind.for_each_operand_mut(|operand| {
                        if let Some(&value) = replaced.get(operand) {
                            *operand = value;
                        }
                    });
                }
            }
        }
    }

    /// Returns the instructions that nothing uses after the replacement.
    pub(super) fn unused(&self) -> HashSet<Value> {
        let sums = self.sums.iter();
        let sums = sums.filter(|(_, (base, _))| self.choices.contains(base));
        let loads = self.loads.iter().map(|chosen| chosen.load);
        sums.map(|(&address, _)| address).chain(loads).collect()
    }
}

/// What a load through a choice may read.
struct Reach {
    /// The offsets of the elements.
    elements: Vec<i64>,
    /// The choices on the way, each with the point where its value is used.
    points: Vec<(Value, Point)>,
}

/// The values that replace loads.
struct Values<'a> {
    choices: &'a Choices,
    alloca: Value,
    /// The alignment of the variable.
    align: u64,
    /// The value at a distance from each choice.
    known: HashMap<(Value, i64, Type), Value>,
}

impl Values<'_> {
    /// Returns the value at a distance from the address that a choice chooses.
    fn chosen(&mut self, module: &mut Module, choice: Value, offset: i64, ty: Type) -> Value {
        if let Some(&value) = self.known.get(&(choice, offset, ty)) {
            return value;
        }
        let options = options(module, choice).unwrap_or_default();
        let Some(data) = module.inst(choice) else {
            return module.const_poison(ty);
        };
        let (block, loc, kind) = (data.block, data.loc, data.kind.clone());
        match kind {
            InstKind::Phi(incoming) => {
                let phi = module.push_inst(block, ty, InstKind::Phi(Vec::new()), loc);
                module.block_mut(block).insts.rotate_right(1);
                self.known.insert((choice, offset, ty), phi);
                let mut values: Vec<(Value, Block)> = Vec::new();
                for ((address, point), (_, from)) in options.into_iter().zip(incoming) {
                    // A switch may have several edges to the block.
                    let same = values.iter().find(|(_, other)| *other == from);
                    let value = match same {
                        Some(&(value, _)) => value,
                        None => self.value(module, address, offset, ty, point),
                    };
                    values.push((value, from));
                }
                if let Some(data) = module.inst_mut(phi) {
                    data.kind = InstKind::Phi(values);
                }
                phi
            }
            InstKind::Select { cond, .. } => {
                let mut values = (options.into_iter())
                    .map(|(address, point)| self.value(module, address, offset, ty, point));
                let (Some(then), Some(otherwise)) = (values.next(), values.next()) else {
                    return module.const_poison(ty);
                };
                // A loop may lead back to the select.
                if let Some(&value) = self.known.get(&(choice, offset, ty)) {
                    return value;
                }
                let kind = InstKind::Select {
                    cond,
                    then,
                    otherwise,
                };
                let value = insert(module, choice, ty, kind);
                self.known.insert((choice, offset, ty), value);
                value
            }
            _ => module.const_poison(ty),
        }
    }

    /// Returns the value at a distance from an address.
    fn value(
        &mut self,
        module: &mut Module,
        address: Value,
        offset: i64,
        ty: Type,
        point: Point,
    ) -> Value {
        // Nothing loads from other addresses.
        let Some(&(base, distance)) = self.choices.sums.get(&address) else {
            return module.const_undef(ty);
        };
        let offset = offset.saturating_add(distance);
        if base != self.alloca {
            return self.chosen(module, base, offset, ty);
        }
        let size = module.types.size(ty);
        if !self.choices.is_inside((offset, size)) {
            return module.const_undef(ty);
        }
        let mut ptr = self.alloca;
        if offset != 0 {
            let kind = InstKind::Gep {
                element: module.types.int(8),
                base: ptr,
                indices: vec![module.const_i64(offset)],
                inbounds: true,
            };
            ptr = insert(module, point, module.ty(ptr), kind);
        }
        let known = 1u64 << offset.trailing_zeros().min(32);
        let access = MemAccess {
            align: self.align.min(known),
            ..MemAccess::default()
        };
        insert(module, point, ty, InstKind::Load { ptr, access })
    }
}

/// Inserts an instruction at a point.
fn insert(module: &mut Module, point: Point, ty: Type, kind: InstKind) -> Value {
    let Some((block, loc)) = module.inst(point).map(|data| (data.block, data.loc)) else {
        return module.const_poison(ty);
    };
    let inst = module.push_inst(block, ty, kind, loc);
    let insts = &mut module.block_mut(block).insts;
    insts.pop();
    let at = insts.iter().position(|&other| other == point);
    insts.insert(at.unwrap_or(0), inst);
    inst
}

/// Returns the addresses that a phi or a select chooses among, each with the point where the element
/// there can be loaded.
fn options(module: &Module, choice: Value) -> Option<Vec<(Value, Point)>> {
    match &module.inst(choice)?.kind {
        InstKind::Phi(incoming) => {
            let at_end =
                |&(address, from): &(Value, Block)| Some((address, module.terminator(from)?));
            incoming.iter().map(at_end).collect()
        }
        &InstKind::Select {
            then, otherwise, ..
        } => Some(vec![(then, choice), (otherwise, choice)]),
        _ => None,
    }
}

/// Returns whether a load from an address is undefined behavior.
fn is_invalid(module: &Module, address: Value) -> bool {
    let constant = module.as_const(address);
    matches!(constant, Some(Const::Zero | Const::Undef | Const::Poison))
}

/// Returns whether some bytes are among others.
pub(super) fn overlap(a: &Bytes, b: &Bytes) -> bool {
    let end = |bytes: &Bytes| bytes.0.saturating_add(bytes.1 as i64);
    a.0 < end(b) && b.0 < end(a)
}

impl Graph {
    /// Returns whether no instruction of some runs between a choice and a point that it dominates.
    fn is_same(
        &self,
        module: &Module,
        choice: Value,
        point: Point,
        writes: &HashSet<Value>,
    ) -> bool {
        let block_of = |inst: Value| module.inst(inst).map(|data| data.block);
        let (Some(from), Some(to)) = (block_of(choice), block_of(point)) else {
            return false;
        };
        let place = |block: Block, inst: Value| {
            let insts = &module.block(block).insts;
            insts.iter().position(|&other| other == inst)
        };
        let (Some(start), Some(end)) = (place(from, choice), place(to, point)) else {
            return false;
        };
        let is_free = |insts: &[Value]| !insts.iter().any(|inst| writes.contains(inst));
        if from == to {
            return start <= end && is_free(&module.block(from).insts[start..end]);
        }
        if !is_free(&module.block(from).insts[start..]) || !is_free(&module.block(to).insts[..end])
        {
            return false;
        }
        let (from, to) = (self.index[&from], self.index[&to]);
        if !self.flow.is_reachable(to) || !self.flow.dominates(from, to) {
            return false;
        }
        let mut seen = HashSet::new();
        let mut pending = vec![to];
        while let Some(block) = pending.pop() {
            let before = self.flow.predecessors(block).iter().map(|&it| it as usize);
            for before in before.filter(|&it| it != from && self.flow.is_reachable(it)) {
                if seen.insert(before) {
                    if !is_free(&module.block(self.blocks[before]).insts) {
                        return false;
                    }
                    pending.push(before);
                }
            }
        }
        true
    }
}
