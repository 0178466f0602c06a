//! Calls of methods of trait objects and of function pointers, which become direct calls if few
//! functions are candidates.
//!
//! The module is the whole program, so its vtables are all that a trait object can have.
//! `nvvm_ir::passes::call_directly` compares the vtable of a call with each of them. LLVM can inline the
//! methods then, and data that they access stays out of local memory.

use nvvm_ir::passes::{self, VirtualCall as Replacement};
use nvvm_ir::{Const, InstKind, Value};
use rustc_middle::ty::{
    self, ExistentialTraitRef, Instance, InstanceKind, Ty, TyCtxt, VtblEntry, elaborate,
};

use crate::context::CodegenCx;
use crate::known_items;

/// The maximum number of functions that a call compares its vtable for.
const CANDIDATES: usize = 8;

/// A call of a trait object's method or of its destructor.
#[derive(Copy, Clone)]
pub(crate) struct VirtualCall<'tcx> {
    call: Value,
    vtable: Value,
    /// The trait of the trait object.
    of: ExistentialTraitRef<'tcx>,
    /// The index in the vtable.
    index: usize,
}

/// Records a call of `func`, if `instance` stands for an entry of a vtable.
pub(crate) fn note<'tcx>(cx: &CodegenCx<'tcx>, call: Value, func: Value, instance: Instance<'tcx>) {
    let InstanceKind::Virtual(method, index) = instance.def else {
        return;
    };
    // Formatting is to be small instead of fast.
    if !cx.optimizes() || known_items::is_formatting(cx.tcx, method) {
        return;
    }
    let ty::Dynamic(predicates, _) = instance.args.type_at(0).kind() else {
        return;
    };
    let Some(principal) = predicates.principal() else {
        return;
    };
    let module = cx.module.borrow();
    let kind = |value: Value| module.inst(value).map(|data| &data.kind);
    let Some(&InstKind::Load { ptr, .. }) = kind(func) else {
        return;
    };
    let Some(&InstKind::Gep { base: vtable, .. }) = kind(ptr) else {
        return;
    };
    cx.virtual_calls.borrow_mut().push(VirtualCall {
        call,
        vtable,
        of: cx.tcx.instantiate_bound_regions_with_erased(principal),
        index,
    });
}

/// Records a call of `func`, which has Rust's ABI, if it is a function pointer. A pointer with another ABI
/// may come from code that is linked later.
pub(crate) fn note_pointer(cx: &CodegenCx<'_>, call: Value, func: Value) {
    if !cx.optimizes() {
        return;
    }
    let module = cx.module.borrow();
    let Some(data) = module.inst(call).filter(|_| module.as_func(func).is_none()) else {
        return;
    };
    // Formatting is to be small instead of fast. The path is part of the mangled name.
    let caller = module.block(data.block).func;
    if !module.func(caller).name.contains("4core3fmt") {
        cx.pointer_calls.borrow_mut().push(call);
    }
}

/// Replaces the recorded calls, after the whole program has been lowered.
pub(crate) fn call_directly(cx: &CodegenCx<'_>) {
    let calls = cx.virtual_calls.take();
    let replacements = calls.into_iter().filter_map(|call| {
        let candidates = candidates(cx, call.of, call.index)?;
        Some(Replacement {
            call: call.call,
            vtable: call.vtable,
            candidates,
        })
    });
    let replacements: Vec<Replacement> = replacements.collect();
    let module = &mut *cx.module.borrow_mut();
    passes::call_directly(module, replacements);
    let calls = cx.pointer_calls.take();
    let vtables = cx.vtables.borrow();
    let vtables = vtables.keys().filter_map(|&(ty, own)| {
        let vtable = cx.tcx.vtable_allocation((ty, own));
        let vtable = cx.tcx.global_alloc(vtable).unwrap_memory();
        let &address = cx.allocations.borrow().get(&vtable)?;
        match module.as_const(address)? {
            Const::Addr { base, .. } => Some(*base),
            _ => None,
        }
    });
    let vtables = vtables.collect();
    passes::call_pointers(module, &calls, &vtables);
}

/// Returns the vtables that an object of a trait can have, with the function at an index of each.
/// Returns `None` if they are none or many.
fn candidates<'tcx>(
    cx: &CodegenCx<'tcx>,
    of: ExistentialTraitRef<'tcx>,
    index: usize,
) -> Option<Vec<(Value, Value)>> {
    let tcx = cx.tcx;
    let env = ty::TypingEnv::fully_monomorphized();
    let vtables = cx.vtables.borrow();
    let functions = cx.functions.borrow();
    let mut found: Vec<(Value, Value)> = Vec::new();
    for &(ty, own) in vtables.keys() {
        let Some(own) = own else {
            continue;
        };
        // Objects of a subtrait can become objects of the trait.
        let traits = supertraits(tcx, ty, own);
        if !traits.contains(&of) {
            continue;
        }
        let callee = match tcx.vtable_entries(of.with_self_ty(tcx, ty)).get(index)? {
            VtblEntry::Method(method) => *functions.get(method)?,
            VtblEntry::MetadataDropInPlace if !ty.needs_drop(tcx, env) => continue,
            VtblEntry::MetadataDropInPlace => {
                *functions.get(&Instance::resolve_drop_glue(tcx, ty))?
            }
            _ => return None,
        };
        // In a single-source session, reached code does not have the vtable.
        if cx.single_source.pending.borrow().contains_key(&callee) {
            continue;
        }
        for each in traits {
            let vtable = tcx.vtable_allocation((ty, Some(each)));
            let vtable = tcx.global_alloc(vtable).unwrap_memory();
            if let Some(&address) = cx.allocations.borrow().get(&vtable) {
                found.push((address, callee));
            }
        }
    }
    // In the order of the program, which the keys of a map are not in.
    found.sort_by_key(|&(vtable, callee)| (callee, vtable));
    found.dedup();
    let mut callees: Vec<Value> = found.iter().map(|&(_, callee)| callee).collect();
    callees.dedup();
    (1..=CANDIDATES).contains(&callees.len()).then_some(found)
}

/// Returns a trait that a type implements, and the traits that it requires.
fn supertraits<'tcx>(
    tcx: TyCtxt<'tcx>,
    ty: Ty<'tcx>,
    of: ExistentialTraitRef<'tcx>,
) -> Vec<ExistentialTraitRef<'tcx>> {
    let env = ty::TypingEnv::fully_monomorphized();
    let of = tcx.erase_and_anonymize_regions(of.with_self_ty(tcx, ty));
    let all = elaborate::supertraits(tcx, ty::Binder::dummy(of)).map(|each| {
        let each = tcx.normalize_erasing_late_bound_regions(env, each);
        ExistentialTraitRef::erase_self_ty(tcx, each)
    });
    all.collect()
}
