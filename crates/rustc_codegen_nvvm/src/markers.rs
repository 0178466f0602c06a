//! Markers that the attribute macros of `cuda_std` leave for the backend.
//!
//! The markers use `#[link_section]`, the only attribute of stable Rust that carries a string from
//! a function or a static to codegen: `nvvm.kernel`, followed by launch bounds separated by commas,
//! and `nvvm.shared`, `nvvm.constant`, `nvvm.global` for statics.

use nvvm_ir::{AddrSpace, KernelAttrs};
use rustc_abi::ExternAbi;
use rustc_hir::def::DefKind;
use rustc_middle::ty::{Instance, TyCtxt};
use rustc_span::Symbol;
use rustc_span::def_id::DefId;

use crate::{single_source, tool_attributes};

/// The marker of a function.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Marker {
    None,
    Kernel(KernelAttrs),
    /// A section name with the backend's prefix, but an unknown suffix.
    Unknown(String),
}

/// Returns the marker of a function instance.
pub(crate) fn of_function(tcx: TyCtxt<'_>, instance: Instance<'_>) -> Marker {
    let rustc_middle::ty::InstanceKind::Item(def_id) = instance.def else {
        return Marker::None;
    };
    if !tcx.def_kind(def_id).is_fn_like() || tcx.is_foreign_item(def_id) {
        return Marker::None;
    }
    of_def(tcx, def_id)
}

/// Returns the section of a function or static: `#[link_section]`, or in a single-source session
/// `#[nvvm::section]`, which the host's backend ignores.
pub(crate) fn section(tcx: TyCtxt<'_>, def_id: DefId) -> Option<Symbol> {
    match single_source::is_host(tcx.sess) {
        true => tool_attributes::text(tcx, def_id, "section"),
        false => tcx.codegen_fn_attrs(def_id).link_section,
    }
}

/// Returns the marker of a definition.
pub(crate) fn of_def(tcx: TyCtxt<'_>, def_id: DefId) -> Marker {
    if let Some(section) = section(tcx, def_id) {
        let section = section.as_str();
        if let Some(rest) = section.strip_prefix("nvvm.") {
            return parse_kernel(rest).map_or(Marker::Unknown(section.to_owned()), Marker::Kernel);
        }
    }
    if matches!(tcx.def_kind(def_id), DefKind::Fn)
        && tcx.fn_sig(def_id).skip_binder().abi() == ExternAbi::PtxKernel
    {
        return Marker::Kernel(KernelAttrs::default());
    }
    Marker::None
}

/// Parses `kernel` followed by `key=value` pairs, separated by `;`. A value is up to three
/// comma-separated numbers.
fn parse_kernel(text: &str) -> Option<KernelAttrs> {
    let mut parts = text.split(';');
    if parts.next()? != "kernel" {
        return None;
    }
    let mut attrs = KernelAttrs::default();
    for part in parts {
        let (key, value) = part.split_once('=')?;
        if key == DENY {
            continue;
        }
        let numbers: Vec<u32> = value
            .split(',')
            .map(|n| n.trim().parse().ok())
            .collect::<Option<_>>()?;
        let extent = || {
            let at = |i: usize| numbers.get(i).copied().unwrap_or(1);
            [at(0), at(1), at(2)]
        };
        match key.trim() {
            "maxntid" => attrs.max_threads = Some(extent()),
            "reqntid" => attrs.required_threads = Some(extent()),
            "minctasm" => attrs.min_blocks = Some(*numbers.first()?),
            "cluster" => attrs.cluster = Some(extent()),
            "maxcluster" => attrs.max_cluster = Some(*numbers.first()?),
            "maxnreg" => attrs.max_registers = Some(*numbers.first()?),
            "stack" => attrs.stack_size = Some(*numbers.first()?),
            // Applies to the Rust function's parameters, not the entry's: see `grid_constants`.
            "gridconst" => {}
            _ => return None,
        }
    }
    Some(attrs)
}

/// The key of the costs that are errors: see `denied`.
pub(crate) const DENY: &str = "deny";

/// Returns the value of a key in the section of a kernel.
pub(crate) fn value(section: &str, key: &str) -> Option<String> {
    let value = |part: &str| Some(part.strip_prefix(key)?.strip_prefix('=')?.to_owned());
    section.split(';').find_map(value)
}

/// Returns the indices of a kernel's parameters that are grid constants.
pub(crate) fn grid_constants(tcx: TyCtxt<'_>, def_id: DefId) -> Vec<usize> {
    let section = section(tcx, def_id);
    let list = section.and_then(|section| {
        let list = value(section.as_str(), "gridconst")?;
        Some(list.split(',').filter_map(|n| n.parse().ok()).collect())
    });
    list.unwrap_or_default()
}

/// Returns the address space of a static.
pub(crate) fn space_of_static(tcx: TyCtxt<'_>, def_id: DefId) -> Result<AddrSpace, String> {
    let DefKind::Static { nested, .. } = tcx.def_kind(def_id) else {
        return Ok(AddrSpace::Global);
    };
    if nested {
        return Ok(AddrSpace::Global);
    }
    match section(tcx, def_id) {
        None => Ok(AddrSpace::Global),
        Some(section) => match section.as_str().strip_prefix("nvvm.") {
            None | Some("global") => Ok(AddrSpace::Global),
            Some("shared") => Ok(AddrSpace::Shared),
            Some("constant") => Ok(AddrSpace::Constant),
            Some(_) => Err(section.as_str().to_owned()),
        },
    }
}
