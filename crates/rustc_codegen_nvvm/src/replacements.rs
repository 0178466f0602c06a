//! Functions of core, alloc and std that the program may replace with versions for the device.
//!
//! The main use is panics: core formats their messages through function pointers, which increases
//! the register count of every kernel with a bounds check (see `cuda_std::panic`). A function of
//! [`known_items::REPLACED`] is replaced if a crate of the program defines the symbol of its
//! replacement; otherwise core's is used.

use rustc_middle::ty::{GenericArgs, GenericParamDefKind, Instance, InstanceKind, TyCtxt};
use rustc_span::Symbol;
use rustc_span::def_id::DefId;

use crate::context::CodegenCx;
use crate::known_items;

/// Returns the replacement of a function in this program, if there is one. It has the same
/// signature, including `#[track_caller]`.
pub(crate) fn of<'tcx>(cx: &CodegenCx<'tcx>, instance: Instance<'tcx>) -> Option<Instance<'tcx>> {
    let tcx = cx.tcx;
    let InstanceKind::Item(def_id) = instance.def else {
        return None;
    };
    if known_items::is_partition_search(tcx, instance) {
        return generic(tcx, known_items::partition_search(tcx)?, instance);
    }
    if known_items::is_filtered_reduction(tcx, instance) {
        return generic(tcx, known_items::filtered_reduction(tcx)?, instance);
    }
    if def_id.is_local()
        || !known_items::is_replaced_instance(tcx, instance)
        || !tcx.def_kind(def_id).is_fn_like()
    {
        return None;
    }
    let symbol = known_items::replacement(tcx, def_id)?;
    let definition = *cx.symbols.get(&Symbol::intern(symbol))?;
    let replacement = Instance::mono(tcx, definition);
    // Without a location argument from the caller, the parameter would be uninitialized.
    let takes_location = |instance: Instance<'tcx>| instance.def.requires_caller_location(tcx);
    assert_eq!(
        takes_location(replacement),
        takes_location(instance),
        "`#[track_caller]` of {symbol}"
    );
    Some(replacement)
}

/// Returns the instance of a generic replacement, which has the type parameters of the function that it
/// replaces: see `cuda_std::search` and `cuda_std::reduction`.
fn generic<'tcx>(
    tcx: TyCtxt<'tcx>,
    definition: DefId,
    instance: Instance<'tcx>,
) -> Option<Instance<'tcx>> {
    let mut types = instance.args.types();
    let args = GenericArgs::for_item(tcx, definition, |param, _| match param.kind {
        GenericParamDefKind::Lifetime => tcx.lifetimes.re_erased.into(),
        _ => types.next().map_or(tcx.types.unit.into(), Into::into),
    });
    Some(Instance::new_raw(definition, args))
}
