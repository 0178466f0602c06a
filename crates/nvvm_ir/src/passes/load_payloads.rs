//! The pass `load_payloads`.

use std::collections::HashSet;

use super::compute_elements::place;
use super::select_elements::is_plain;
use crate::flow::Dominators;
use crate::inst::{InstKind, MemAccess};
use crate::module::Module;
use crate::types::{Type, TypeKind};
use crate::value::{Block, Func, Value};

/// The maximum size of a load in bytes.
const LARGEST: i64 = 16;

/// The maximum number of blocks between two loads.
const BLOCKS: usize = 4;

/// Loads the payload of an element of a local array with its tag.
///
/// `if let Some(other) = person_of[task]` loads the payload behind a branch that waits for the tag, and
/// the payload's load takes as long again. An aligned part of a local variable is readable if a byte of
/// it is, so one instruction loads both, if nothing writes memory between the loads.
pub fn load_payloads(module: &mut Module) {
    let funcs: Vec<Func> = module.funcs().collect();
    for func in funcs {
        let loads: Vec<Load> = (module.func(func).blocks.iter())
            .flat_map(|&block| module.block(block).insts.iter())
            .filter_map(|&inst| Load::of(module, inst))
            .collect();
        if loads.len() < 2 {
            continue;
        }
        let dominators = Dominators::new(module, func);
        let mut combined = HashSet::new();
        for payload in &loads {
            if let Some(tag) = payload.tag(module, &loads, &dominators)
                && !combined.contains(&tag.inst)
                && !combined.contains(&payload.inst)
            {
                combined.extend([tag.inst, payload.inst]);
                combine(module, tag, payload);
            }
        }
    }
}

/// A load from a local variable at a variable index.
struct Load {
    inst: Value,
    block: Block,
    ptr: Value,
    ty: Type,
    local: Value,
    /// The variable index, and the size of what it counts.
    index: (Value, i64),
    /// The distance from the start of the local variable, without the index.
    offset: i64,
    /// The size of the type.
    size: i64,
}

impl Load {
    /// Returns a load of half of an aligned part of a local variable.
    fn of(module: &Module, inst: Value) -> Option<Load> {
        let data = module.inst(inst)?;
        let InstKind::Load { ptr, access } = data.kind else {
            return None;
        };
        let (local, place) = place(module, ptr)?;
        let index = place.index?;
        let &InstKind::Alloca {
            ty: whole,
            count: None,
            align,
        } = &module.inst(local)?.kind
        else {
            return None;
        };
        let ty = module.ty(inst);
        let size = i64::try_from(module.types.size(ty)).ok()?;
        let is_scalar = matches!(
            module.types.kind(ty),
            TypeKind::Int(8 | 16 | 32 | 64) | TypeKind::Float | TypeKind::Double
        );
        let fits = is_scalar
            && is_plain(&access)
            && 2 * size <= LARGEST
            && [align as i64, module.types.size(whole) as i64, index.scale]
                .iter()
                .all(|it| it % (2 * size) == 0)
            && place.offset % size == 0;
        fits.then_some(Load {
            inst,
            block: data.block,
            ptr,
            ty,
            local,
            index: (index.value, index.scale),
            offset: place.offset,
            size,
        })
    }

    /// Returns the distance of the aligned part from the start of the local variable.
    fn part(&self) -> i64 {
        self.offset - self.offset.rem_euclid(2 * self.size)
    }

    fn is_other_half(&self, other: &Load) -> bool {
        self.local == other.local
            && self.index == other.index
            && self.ty == other.ty
            && self.part() == other.part()
            && self.offset != other.offset
    }

    /// Returns the load of the other half in a block that dominates this one, if nothing writes memory
    /// between both.
    fn tag<'l>(
        &self,
        module: &Module,
        loads: &'l [Load],
        dominators: &Dominators,
    ) -> Option<&'l Load> {
        let mut block = self.block;
        for _ in 0..BLOCKS {
            let insts = module.block(block).insts.iter().rev();
            let before = insts.skip_while(|&&inst| block == self.block && inst != self.inst);
            for &inst in before {
                let found =
                    (loads.iter()).find(|load| load.inst == inst && self.is_other_half(load));
                if found.is_some() {
                    // libnvvm combines loads of one block.
                    return found.filter(|load| load.block != self.block);
                }
                if !keeps_memory(&module.inst(inst)?.kind) {
                    return None;
                }
            }
            let (above, is_only) = dominators.above(block)?;
            is_only.then_some(())?;
            block = above;
        }
        None
    }
}

fn keeps_memory(kind: &InstKind) -> bool {
    matches!(
        kind,
        InstKind::Bin { .. }
            | InstKind::Br(_)
            | InstKind::Cast { .. }
            | InstKind::CondBr { .. }
            | InstKind::Gep { .. }
            | InstKind::ICmp { .. }
            | InstKind::Load { .. }
            | InstKind::Phi(_)
            | InstKind::Select { .. }
            | InstKind::ExtractElement { .. }
    )
}

/// Replaces two loads by one of both, where the first of them is.
fn combine(module: &mut Module, first: &Load, second: &Load) {
    let loc = module.inst(first.inst).and_then(|data| data.loc);
    let at = |module: &Module| {
        let insts = &module.block(first.block).insts;
        insts.iter().position(|&inst| inst == first.inst)
    };
    let Some(place) = at(module) else {
        return;
    };
    let start = first.part();
    let byte = module.types.int(8);
    let kind = InstKind::Gep {
        element: byte,
        base: first.ptr,
        indices: vec![module.const_i64(start - first.offset)],
        inbounds: true,
    };
    let ptr = module.push_inst(first.block, module.ty(first.ptr), kind, loc);
    let ty = module.types.vector(first.ty, 2);
    let access = MemAccess {
        align: 2 * first.size as u64,
        ..MemAccess::default()
    };
    let vector = module.push_inst(first.block, ty, InstKind::Load { ptr, access }, loc);
    let insts = &mut module.block_mut(first.block).insts;
    insts.truncate(insts.len() - 2);
    insts.splice(place..place, [ptr, vector]);
    for load in [first, second] {
        let index = module.const_i32(((load.offset - start) / load.size) as i32);
        if let Some(data) = module.inst_mut(load.inst) {
            data.kind = InstKind::ExtractElement { vector, index };
        }
    }
}
