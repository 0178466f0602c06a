//! Functions of core and alloc that the program may bring itself, in versions made for the device.
//!
//! Panics are the reason: core formats their messages through function pointers, which costs every
//! kernel with a bounds check its registers (see `cuda_std::panic`). A function of the table stands
//! for core's wherever a crate of the program defines its symbol; without one, core's is used.

use rustc_hir::definitions::DefPathData;
use rustc_middle::ty::{Instance, InstanceKind, TyCtxt};
use rustc_span::Symbol;

use crate::context::CodegenCx;

/// The path of a function, and the symbol of what replaces it, which has the same signature,
/// `#[track_caller]` included.
const TABLE: &[(&[&str], &str)] = &[
    (
        &[
            "alloc",
            "alloc",
            "__alloc_error_handler",
            "__rdl_alloc_error_handler",
        ],
        "__cuda_std_alloc_error_handler",
    ),
    (
        &["core", "cell", "panic_already_borrowed"],
        "__cuda_std_panic_already_borrowed",
    ),
    (
        &["core", "cell", "panic_already_mutably_borrowed"],
        "__cuda_std_panic_already_mutably_borrowed",
    ),
    (&["core", "option", "expect_failed"], "__cuda_std_panic_str"),
    (&["core", "panicking", "panic"], "__cuda_std_panic_str"),
    (
        &["core", "panicking", "panic_bounds_check"],
        "__cuda_std_panic_bounds_check",
    ),
    (&["core", "panicking", "panic_fmt"], "__cuda_std_panic_fmt"),
    (
        &["core", "panicking", "panic_nounwind_fmt"],
        "__cuda_std_panic_nounwind_fmt",
    ),
    (
        &["core", "slice", "copy_from_slice_impl", "len_mismatch_fail"],
        "__cuda_std_len_mismatch_fail",
    ),
    (
        &["core", "slice", "index", "slice_index_fail"],
        "__cuda_std_slice_index_fail",
    ),
];

/// Whether a function of the table is inlined where it is called. Its own attributes cannot say so:
/// rustc ignores `#[inline]` where there is `#[no_mangle]`. Not with checks for undefined behaviour:
/// it has some itself, which panic.
pub(crate) fn is_inlined(tcx: TyCtxt<'_>, symbol: &str) -> bool {
    symbol == "__cuda_std_panic_fmt" && !tcx.sess.ub_checks()
}

/// What stands for a function in this program, if it is not the function itself.
pub(crate) fn of<'tcx>(cx: &CodegenCx<'tcx>, instance: Instance<'tcx>) -> Option<Instance<'tcx>> {
    let tcx = cx.tcx;
    let InstanceKind::Item(def_id) = instance.def else {
        return None;
    };
    if def_id.is_local() || !instance.args.is_empty() || !tcx.def_kind(def_id).is_fn_like() {
        return None;
    }
    let name = tcx.opt_item_name(def_id)?;
    let (_, symbol) = TABLE
        .iter()
        .find(|(path, _)| path.last() == Some(&name.as_str()) && path_is(tcx, def_id, path))?;
    let definition = *cx.symbols.get(&Symbol::intern(symbol))?;
    let replacement = Instance::mono(tcx, definition);
    // A caller that passes no location would leave whatever there is in its place.
    let asks = |instance: Instance<'tcx>| instance.def.requires_caller_location(tcx);
    assert_eq!(
        asks(replacement),
        asks(instance),
        "`#[track_caller]` of {symbol}"
    );
    Some(replacement)
}

fn path_is(tcx: TyCtxt<'_>, def_id: rustc_span::def_id::DefId, wanted: &[&str]) -> bool {
    let path = tcx.def_path(def_id);
    let names = path.data.iter().filter_map(|part| match part.data {
        DefPathData::TypeNs(name) | DefPathData::ValueNs(name) => Some(name),
        _ => None,
    });
    let names: Vec<Symbol> = std::iter::once(tcx.crate_name(path.krate))
        .chain(names)
        .collect();
    names.iter().map(Symbol::as_str).eq(wanted.iter().copied())
}
