//! Rejects values that rustc's C calling convention for NVIDIA GPUs cannot pass by value.
//!
//! Such values would panic in `rustc_target`'s `callconv::nvptx64`, so the queries for C ABIs go
//! through these functions.

use std::sync::OnceLock;

use rustc_middle::queries;
use rustc_middle::ty::{FnDef, PolyFnSig, PseudoCanonicalInput, TyCtxt, TypingEnv};
use rustc_middle::util::Providers;
use rustc_span::{DUMMY_SP, Span};

/// The maximum alignment in bytes of a value passed in registers.
const MAX_ALIGN: u64 = 16;

/// rustc's own query providers.
static RUSTC_PROVIDERS: OnceLock<queries::Providers> = OnceLock::new();

fn rustc() -> &'static queries::Providers {
    RUSTC_PROVIDERS.get().expect("`provide` sets it")
}

/// Installs the check in front of rustc's queries for ABIs.
pub(crate) fn provide(providers: &mut Providers) {
    RUSTC_PROVIDERS.get_or_init(|| providers.queries);
    providers.queries.fn_abi_of_instance_no_deduced_attrs = |tcx, key| {
        let PseudoCanonicalInput { typing_env, value } = key;
        let ty = value.0.ty(tcx, typing_env);
        if matches!(ty.kind(), FnDef(..)) {
            let span = tcx.def_span(value.0.def_id());
            check(tcx, typing_env, ty.fn_sig(tcx), span);
        }
        (rustc().fn_abi_of_instance_no_deduced_attrs)(tcx, key)
    };
    providers.queries.fn_abi_of_fn_ptr = |tcx, key| {
        check(tcx, key.typing_env, key.value.0, DUMMY_SP);
        (rustc().fn_abi_of_fn_ptr)(tcx, key)
    };
}

/// Rejects a signature whose values rustc cannot pass.
fn check<'tcx>(tcx: TyCtxt<'tcx>, env: TypingEnv<'tcx>, sig: PolyFnSig<'tcx>, span: Span) {
    let abi = sig.abi();
    if abi.is_rustic_abi() {
        return;
    }
    let sig = tcx.instantiate_bound_regions_with_erased(sig);
    for ty in sig.inputs_and_output {
        let Ok(layout) = tcx.layout_of(env.as_query_input(ty)) else {
            continue;
        };
        let align = layout.align.bytes();
        if layout.is_aggregate() && layout.is_sized() && !layout.is_zst() && align > MAX_ALIGN {
            let message = format!(
                "an `extern {abi}` function cannot pass or return `{ty}` by value: the type is \
                 aligned to {align} bytes, and the maximum on a GPU is {MAX_ALIGN}"
            );
            let mut diag = tcx.dcx().struct_span_fatal(span, message);
            diag.help("pass a reference or a pointer, or remove `extern`");
            diag.emit();
        }
    }
}
