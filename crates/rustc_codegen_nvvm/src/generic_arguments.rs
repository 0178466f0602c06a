//! Rejects instances of generic kernels whose arguments contain host-only data.
//!
//! A parameter whose type is a type parameter takes any `Copy` value from the host; a closure
//! passes its captured variables. Everything passed must be `cust_core::DeviceCopy`. No closure
//! implements it, so each captured variable is checked instead.

use rustc_infer::infer::TyCtxtInferExt;
use rustc_middle::ty::{self, Instance, Ty, TyCtxt, TypingMode};
use rustc_span::def_id::DefId;
use rustc_span::{Span, Symbol};
use rustc_trait_selection::infer::InferCtxtExt;

use crate::context::CodegenCx;
use crate::{diagnostics, markers};

/// Why an argument is rejected.
struct Refused<'tcx> {
    /// The type that cannot be passed.
    ty: Ty<'tcx>,
    /// The innermost closure that captured the value, and the name of the captured variable.
    capture: Option<(DefId, Symbol)>,
}

/// Returns whether all parameters of an instance can be passed. Reports an error if not.
pub(crate) fn check<'tcx>(cx: &CodegenCx<'tcx>, kernel: Instance<'tcx>) -> bool {
    let tcx = cx.tcx;
    let def_id = kernel.def_id();
    if !tcx.generics_of(def_id).requires_monomorphization(tcx) {
        return true;
    }
    let declared = tcx.fn_sig(def_id).instantiate_identity().skip_norm_wip();
    let inputs = declared.inputs().skip_binder().iter().enumerate();
    let constants = markers::grid_constants(tcx, def_id);
    let mut can_pass = true;
    for (index, &ty) in inputs {
        // For a grid constant, the host passes the referenced value.
        let ty = match *ty.kind() {
            ty::Ref(_, value, _) if constants.contains(&index) => value,
            _ => ty,
        };
        let ty::Param(param) = ty.kind() else {
            continue;
        };
        let ty = kernel.args.type_at(param.index as usize);
        if let Err(refused) = search(tcx, ty, None) {
            let span = diagnostics::parameter_span(tcx, def_id, index);
            report(tcx, kernel, span, &refused);
            can_pass = false;
        }
    }
    can_pass
}

fn search<'tcx>(
    tcx: TyCtxt<'tcx>,
    ty: Ty<'tcx>,
    capture: Option<(DefId, Symbol)>,
) -> Result<(), Refused<'tcx>> {
    match *ty.kind() {
        ty::FnDef(..) | ty::Never => Ok(()),
        ty::Tuple(elements) => elements
            .iter()
            .try_for_each(|element| search(tcx, element, capture)),
        ty::Array(element, _) => search(tcx, element, capture),
        ty::Closure(closure, args) => {
            let names = tcx.closure_saved_names_of_captured_variables(closure);
            let types = args.as_closure().upvar_tys().iter();
            types.zip(names.iter()).try_for_each(|(ty, &name)| {
                let ty = tcx.normalize_erasing_regions(
                    ty::TypingEnv::fully_monomorphized(),
                    ty::Unnormalized::new_wip(ty),
                );
                search(tcx, ty, Some((closure, name)))
            })
        }
        _ if is_device_copy(tcx, ty::ParamEnv::empty(), ty) => Ok(()),
        _ => Err(Refused { ty, capture }),
    }
}

/// Returns whether a type implements `cust_core::DeviceCopy`.
pub(crate) fn is_device_copy<'tcx>(
    tcx: TyCtxt<'tcx>,
    param_env: ty::ParamEnv<'tcx>,
    ty: Ty<'tcx>,
) -> bool {
    let mode = match param_env.is_empty() {
        true => TypingMode::PostAnalysis,
        false => TypingMode::non_body_analysis(),
    };
    let crates = tcx.crates(()).iter().copied();
    let mut cores = crates.filter(|&cnum| tcx.crate_name(cnum).as_str() == "cust_core");
    cores.any(|cnum| {
        let mut traits = tcx.traits(cnum).iter();
        let name = |def_id: &&DefId| tcx.item_name(**def_id).as_str() == "DeviceCopy";
        traits.find(name).is_some_and(|&device_copy| {
            let infcx = tcx.infer_ctxt().build(mode);
            let result = infcx.type_implements_trait(device_copy, [ty], param_env);
            result.must_apply_modulo_regions()
        })
    })
}

fn report<'tcx>(
    tcx: TyCtxt<'tcx>,
    kernel: Instance<'tcx>,
    parameter: Span,
    refused: &Refused<'tcx>,
) {
    let name = tcx.def_path_str(kernel.def_id());
    let ty = refused.ty;
    let (what, help) = match ty.kind() {
        ty::Ref(..) => (
            "a reference to memory of the host",
            "pass memory as a parameter of its own, such as `&[T]`; a `move` closure captures \
             values instead of references",
        ),
        ty::FnPtr(..) => (
            "the address of a function of the host",
            "pass the function itself, which has a type of its own, or a closure that calls it",
        ),
        _ => (
            "a value that is not `DeviceCopy`",
            "structs and enums of `DeviceCopy` fields can derive it, beside `Copy`",
        ),
    };
    let Some((closure, variable)) = refused.capture else {
        let message = format!("{what} cannot be passed to the kernel `{name}`");
        tcx.dcx()
            .struct_span_err(parameter, message)
            .with_span_label(parameter, format!("the type of this argument is `{ty}`"))
            .with_help(help)
            .emit();
        return;
    };
    let span = tcx.def_span(closure);
    let message = format!("a closure that captures {what} cannot be passed to the kernel `{name}`");
    tcx.dcx()
        .struct_span_err(span, message)
        .with_span_label(span, format!("it captures `{variable}`, a `{ty}`"))
        .with_span_note(parameter, "it is passed to this parameter")
        .with_help(help)
        .emit();
}
