//! The inlining policy: which functions LLVM and libnvvm inline always, preferably, or never.
//!
//! Calls are expensive on a GPU: pointers lose their address space, and a variable whose address is
//! passed stays in local memory. Functions follow their Rust attributes; where these leave the
//! choice, more is inlined than on a CPU:
//!
//! | function | attribute | builds |
//! |---|---|---|
//! | `#[inline(always)]` | `alwaysinline` | all |
//! | `#[inline(never)]` | `noinline` | all |
//! | `#[inline]` | `inlinehint` | optimized |
//! | small closure of the program, without one of the above two | `alwaysinline` | optimized |
//! | small `nth` of an iterator over a slice, or of an adapter | `alwaysinline` | optimized |
//! | formatting and parsing of text, without attribute | `noinline`, `optsize` | optimized |
//! | `#[optimize(size)]` | `optsize` | optimized |
//! | a kernel's function, called by its entry | `alwaysinline` | without debug info of variables |
//! | the replacement of `panic_fmt` | `alwaysinline` | without checks for undefined behavior |
//! | failures of `assert_eq!` and of `Result::unwrap` | `alwaysinline` | optimized |
//! | functions that the backend defines, except `memcmp` | `alwaysinline` | all |
//!
//! LLVM's inliner has the threshold [`LLVM_THRESHOLD`]. libnvvm's inliner has no size limit: the
//! pass `nvvm_ir::passes::bound_inlining` marks functions `noinline` that would grow too large, and
//! [`leave_unoptimized`] those that libnvvm would need too long for.

use std::ffi::{CStr, c_int};

use nvvm_ir::FuncAttrs;
use rustc_attr_ir::{InlineAttr, OptimizeAttr};
use rustc_middle::ty::{Instance, TyCtxt};
use rustc_span::def_id::DefId;

use crate::context::CodegenCx;
use crate::known_items;

/// The cost up to which LLVM inlines a call, in LLVM's units. LLVM's default is 225 for CPUs and
/// 2,750 for NVIDIA GPUs.
pub(crate) const LLVM_THRESHOLD: c_int = 1000;

/// LLVM's option for the largest frame, in bytes, of a function that is inlined into a recursive
/// one: each active call has such a frame.
pub(crate) const LLVM_RECURSIVE: &CStr = c"-recursive-inline-max-stacksize=64";

/// The maximum number of MIR blocks of a function that is inlined at every call site.
const SMALL: usize = 100;

/// Sets the attributes that decide on inlining for a function that is lowered from MIR. `symbol` is
/// the function's name in the module, and `is_kernel` tells whether a PTX entry calls it.
pub(crate) fn set_attributes<'tcx>(
    cx: &CodegenCx<'tcx>,
    attrs: &mut FuncAttrs,
    instance: Instance<'tcx>,
    symbol: &str,
    is_kernel: bool,
) {
    let tcx = cx.tcx;
    let def_id = instance.def_id();
    let codegen = tcx.codegen_instance_attrs(instance.def);
    let optimizes = cx.optimizes();
    // The speed of formatting does not matter in kernels, but inlined and unrolled it would be most
    // of the program and dominate the time that ptxas takes.
    let formats = optimizes && known_items::is_formatting(tcx, def_id);
    attrs.opt_size = formats || (optimizes && codegen.optimize == OptimizeAttr::Size);
    let small = optimizes
        && !formats
        && (is_own_closure(tcx, def_id) || known_items::is_skip(tcx, def_id))
        && is_small(tcx, def_id);
    match codegen.inline {
        InlineAttr::None | InlineAttr::Hint if small => attrs.always_inline = true,
        InlineAttr::None => attrs.no_inline = formats,
        InlineAttr::Hint => attrs.inline_hint = optimizes,
        InlineAttr::Always | InlineAttr::Force { .. } => attrs.always_inline = true,
        InlineAttr::Never => attrs.no_inline = true,
    }
    if optimizes && known_items::is_failure(tcx, def_id) {
        attrs.always_inline = true;
        attrs.no_inline = false;
        attrs.opt_size = false;
    }
    // A kernel's entry has no source location: a debugger shows the function that it calls.
    let is_entered = is_kernel && !cx.has_variables();
    if is_entered || is_inlined_replacement(tcx, symbol) {
        attrs.always_inline = true;
        attrs.no_inline = false;
    }
}

/// Returns whether a function is a closure of the program, which is inlined at every call site if it
/// is small.
///
/// A variable that a closure borrows stays in memory unless the closure is inlined. Closures of
/// `core` and `alloc`, mainly in sorts, have too many call sites.
fn is_own_closure(tcx: TyCtxt<'_>, def_id: DefId) -> bool {
    tcx.is_closure_like(def_id) && !known_items::is_core_or_alloc(tcx, def_id.krate)
}

fn is_small(tcx: TyCtxt<'_>, def_id: DefId) -> bool {
    tcx.is_mir_available(def_id) && tcx.optimized_mir(def_id).basic_blocks.len() <= SMALL
}

/// Returns whether a function is the replacement of `panic_fmt`. Its own attributes cannot request
/// inlining, because rustc ignores `#[inline]` on `#[no_mangle]` functions. It is not inlined in
/// builds with checks for undefined behavior: its own checks panic.
fn is_inlined_replacement(tcx: TyCtxt<'_>, symbol: &str) -> bool {
    symbol == "__cuda_std_panic_fmt" && !tcx.sess.ub_checks()
}

/// Marks a function that the backend defines.
pub(crate) fn always(attrs: &mut FuncAttrs) {
    attrs.always_inline = true;
}

/// Marks a function as not to be optimized: `optnone` requires `noinline` and excludes the rest.
pub(crate) fn leave_unoptimized(attrs: &mut FuncAttrs) {
    attrs.always_inline = false;
    attrs.inline_hint = false;
    attrs.opt_size = false;
    attrs.no_inline = true;
    attrs.opt_none = true;
}
