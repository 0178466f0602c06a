//! Records that `#[kernel]`, `#[constant]` and `#[address_space]` generate for their items: the
//! signatures that the host compares, and the symbols of statics.
//!
//! A record is a static in the section `nvvm.record` of type `cust_core::signature::Record`. The
//! compiler reads it and never lowers it.

use rustc_abi::Size;
use rustc_data_structures::fx::FxHashMap;
use rustc_hir::def::DefKind;
use rustc_middle::middle::exported_symbols::ExportedSymbol;
use rustc_middle::mir::interpret::{Allocation, GlobalAlloc};
use rustc_middle::ty::TyCtxt;
use rustc_span::def_id::DefId;

use crate::markers::{self, Marker};
use crate::single_source;

/// The records of all crates.
#[derive(Default)]
pub(crate) struct Records {
    /// The signatures of kernels, by kernel name.
    pub kernels: FxHashMap<String, String>,
    /// The symbols and signatures of statics.
    pub statics: FxHashMap<DefId, (String, String)>,
    /// In a single-source session: the identity of each kernel on the host, by the kernel's
    /// function.
    pub handles: FxHashMap<DefId, u128>,
}

/// Reads the records of the crate and its dependencies.
pub(crate) fn collect(tcx: TyCtxt<'_>) -> Records {
    let mut records = Records::default();
    let mut add = |def_id: DefId| {
        if is_record(tcx, def_id)
            && let Ok(alloc) = tcx.eval_static_initializer(def_id)
            && let Some((symbol, text, item)) = read(tcx, alloc.inner())
        {
            if let Some((kernel, handle)) = handle(tcx, def_id, alloc.inner()) {
                records.handles.insert(kernel, handle);
            }
            match item {
                Some(item) => drop(records.statics.insert(item, (symbol, text))),
                None => drop(records.kernels.insert(symbol, text)),
            }
        }
    };
    for &cnum in tcx.crates(()) {
        for &(symbol, _) in tcx.exported_non_generic_symbols(cnum) {
            if let ExportedSymbol::NonGeneric(def_id) = symbol {
                add(def_id);
            }
        }
    }
    for local in tcx.hir_body_owners() {
        add(local.to_def_id());
    }
    records
}

fn is_record(tcx: TyCtxt<'_>, def_id: DefId) -> bool {
    matches!(tcx.def_kind(def_id), DefKind::Static { nested: false, .. })
        && !tcx.is_foreign_item(def_id)
        && markers::section(tcx, def_id).is_some_and(|section| section.as_str() == "nvvm.record")
}

/// Returns a record's symbol, its signature, and the static that it describes.
fn read(tcx: TyCtxt<'_>, record: &Allocation) -> Option<(String, String, Option<DefId>)> {
    let symbol = string(tcx, record, 0)?;
    let signature = string(tcx, record, 16)?;
    let item = match target(tcx, record, 32) {
        Some(GlobalAlloc::Static(def_id)) => Some(def_id),
        _ => None,
    };
    Some((symbol, signature, item))
}

/// In a single-source session: returns the kernel that contains a record, and the hash of the type
/// that represents the kernel on the host.
fn handle(tcx: TyCtxt<'_>, record: DefId, alloc: &Allocation) -> Option<(DefId, u128)> {
    const OFFSET: u64 = 40;
    if !single_source::is_host(tcx.sess) || alloc.size().bytes() <= OFFSET {
        return None;
    }
    let GlobalAlloc::TypeId { ty } = target(tcx, alloc, OFFSET)? else {
        return None;
    };
    let mut parent = record;
    loop {
        parent = tcx.opt_parent(parent)?;
        let is_function = tcx.def_kind(parent).is_fn_like();
        if is_function && matches!(markers::of_def(tcx, parent), Marker::Kernel(_)) {
            return Some((parent, tcx.type_id_hash(ty).as_u128()));
        }
    }
}

/// Returns the target of the pointer at an offset.
fn target<'tcx>(tcx: TyCtxt<'tcx>, record: &Allocation, at: u64) -> Option<GlobalAlloc<'tcx>> {
    let provenance = record.provenance().get_ptr(Size::from_bytes(at))?;
    Some(tcx.global_alloc(provenance.alloc_id()))
}

/// Returns the `&str` at an offset.
fn string(tcx: TyCtxt<'_>, record: &Allocation, at: u64) -> Option<String> {
    let word = |at: u64| {
        let range = at as usize..at as usize + 8;
        let bytes = record.inspect_with_uninit_and_ptr_outside_interpreter(range);
        bytes.try_into().ok().map(u64::from_le_bytes)
    };
    let (start, len) = (word(at)? as usize, word(at + 8)? as usize);
    let GlobalAlloc::Memory(alloc) = target(tcx, record, at)? else {
        return None;
    };
    let alloc = alloc.inner();
    if start.checked_add(len)? > alloc.len() {
        return None;
    }
    let bytes = alloc.inspect_with_uninit_and_ptr_outside_interpreter(start..start + len);
    String::from_utf8(bytes.to_vec()).ok()
}
