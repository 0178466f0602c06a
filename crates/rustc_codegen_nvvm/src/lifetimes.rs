//! Rejects kernels that assume that their parameters outlive the launch.
//!
//! The host lends a kernel its buffers until the kernel completes. A kernel that could treat a
//! reference as `'static` could store it in a static and read it after the host has freed the
//! buffer.

use rustc_abi::FieldIdx;
use rustc_attr_ir::LangItem;
use rustc_data_structures::fx::FxHashSet;
use rustc_infer::infer::TyCtxtInferExt;
use rustc_infer::infer::outlives::env::OutlivesEnvironment;
use rustc_infer::traits::ObligationCause;
use rustc_middle::ty::{self, GenericArgKind, Region, Ty, TyCtxt, TypeVisitableExt, TypingMode};
use rustc_span::Span;
use rustc_span::def_id::{CRATE_DEF_ID, DefId};
use rustc_trait_selection::regions::OutlivesEnvironmentBuildExt;
use rustc_trait_selection::traits::ObligationCtxt;

use crate::{diagnostics, generic_arguments, markers};

/// The number of types in one parameter above which the parameter is rejected: only an infinitely
/// recursive type has as many.
const MOST_TYPES: usize = 10_000;

/// Why a parameter is rejected.
enum Refused<'tcx> {
    /// It contains a `'static` reference, or a reference whose lifetime outlives `'static`.
    Static(Region<'tcx>),
    /// It contains a function pointer, an address in the host's code.
    FnPointer(Ty<'tcx>),
    /// It is an associated type that depends on the instance, which could be a `'static` reference.
    Associated(Ty<'tcx>),
    /// It contains more than [`MOST_TYPES`] types.
    Endless,
}

/// Reports each parameter of a kernel that may contain a `'static` reference or a function pointer.
pub(crate) fn check(tcx: TyCtxt<'_>, kernel: DefId) {
    let sig = tcx.fn_sig(kernel).instantiate_identity();
    let sig = tcx.liberate_late_bound_regions(kernel, sig.skip_norm_wip());
    let param_env = tcx.param_env(kernel);
    check_bounds(tcx, kernel, param_env);
    let infcx = tcx.infer_ctxt().build(TypingMode::non_body_analysis());
    let inputs = sig.inputs().iter().copied();
    let outlives = OutlivesEnvironment::new(&infcx, CRATE_DEF_ID, param_env, inputs);
    let constants = markers::grid_constants(tcx, kernel);
    for (index, &ty) in sig.inputs().iter().enumerate() {
        let passed = match *ty.kind() {
            ty::Ref(_, value, _) if constants.contains(&index) => value,
            _ => ty,
        };
        let mut search = Search {
            tcx,
            param_env,
            outlives: &outlives,
            seen: FxHashSet::default(),
        };
        let result = (search.associated(passed)).and_then(|()| search.value(ty, true));
        if let Err(refused) = result {
            report(
                tcx,
                diagnostics::parameter_span(tcx, kernel, index),
                refused,
            );
        }
    }
}

/// Reports trait bounds on a kernel's lifetimes. With an implementation only for `&'static u32`,
/// the bound `&'a u32: Trait` implies that `'a` is `'static`.
fn check_bounds<'tcx>(tcx: TyCtxt<'tcx>, kernel: DefId, param_env: ty::ParamEnv<'tcx>) {
    let bound = param_env.caller_bounds().find(|clause| {
        let of = match clause.kind().skip_binder() {
            // Implied by every other trait bound.
            ty::ClauseKind::Trait(bound)
                if tcx.is_lang_item(bound.def_id(), LangItem::MetaSized) =>
            {
                return false;
            }
            ty::ClauseKind::Trait(bound) => bound.self_ty(),
            ty::ClauseKind::Projection(bound) => bound.projection_term.self_ty(),
            _ => return false,
        };
        // `for<'x> F: Fn(&'x u32)` does not restrict a lifetime of the kernel.
        let is_of_type = matches!(of.kind(), ty::Param(_));
        clause.has_free_regions() || (clause.has_bound_vars() && !is_of_type)
    });
    if let Some(bound) = bound {
        tcx.dcx()
            .struct_span_err(
                diagnostics::ident_span(tcx, kernel),
                format!("a kernel's lifetimes cannot have trait bounds such as `{bound}`"),
            )
            .with_help("remove the bound")
            .emit();
    }
}

fn report(tcx: TyCtxt<'_>, span: Span, refused: Refused<'_>) {
    let (message, label, help) = match refused {
        Refused::Static(region) => (
            "a kernel's parameter cannot hold a `'static` reference: the host may free the memory \
             after the launch"
                .to_owned(),
            match region.is_static() {
                true => "`'static` is part of this type".to_owned(),
                false => format!("`{region}` outlives `'static` by a bound"),
            },
            "omit the lifetime, as in `&[u32]`, or name it without the bound `'static`",
        ),
        Refused::FnPointer(ty) => (
            "a kernel's parameter cannot hold a function pointer: the host's functions have no \
             address on the device"
                .to_owned(),
            format!("`{ty}` is part of this type"),
            "pass a number, and `match` on it in the kernel",
        ),
        Refused::Associated(ty) => (
            "a kernel's parameter cannot be an associated type that may be a `'static` reference"
                .to_owned(),
            format!("`{ty}` is not known to be `DeviceCopy`"),
            "add the bound `DeviceCopy` to the associated type",
        ),
        Refused::Endless => (
            format!("a kernel's parameter cannot consist of more than {MOST_TYPES} types"),
            "this type has more".to_owned(),
            "pass a raw pointer to the part of the type that refers to itself",
        ),
    };
    tcx.dcx()
        .struct_span_err(span, message)
        .with_span_label(span, label)
        .with_help(help)
        .emit();
}

struct Search<'a, 'tcx> {
    tcx: TyCtxt<'tcx>,
    param_env: ty::ParamEnv<'tcx>,
    outlives: &'a OutlivesEnvironment<'tcx>,
    seen: FxHashSet<(Ty<'tcx>, bool)>,
}

impl<'tcx> Search<'_, 'tcx> {
    /// Searches a type: its fields, and the targets of its references. `here` tells whether the
    /// value is part of the parameter itself, not behind a reference.
    fn value(&mut self, ty: Ty<'tcx>, here: bool) -> Result<(), Refused<'tcx>> {
        if !self.seen.insert((ty, here)) {
            return Ok(());
        }
        if self.seen.len() > MOST_TYPES {
            return Err(Refused::Endless);
        }
        match *ty.kind() {
            ty::Ref(region, pointee, _) => {
                self.region(region)?;
                self.value(pointee, false)
            }
            ty::Array(element, _) | ty::Slice(element) | ty::Pat(element, _) => {
                self.value(element, here)
            }
            ty::Tuple(elements) => elements
                .iter()
                .try_for_each(|element| self.value(element, here)),
            ty::Adt(adt, _) if adt.is_phantom_data() => Ok(()),
            ty::Adt(adt, args) => {
                self.regions(ty)?;
                for variant in adt.variants() {
                    for field in 0..variant.fields.len() {
                        let field = &variant.fields[FieldIdx::from_usize(field)];
                        let ty = field.ty(self.tcx, args).skip_norm_wip();
                        self.alias(ty, here)?;
                    }
                }
                Ok(())
            }
            ty::Alias(..) => self.alias(ty, here),
            ty::FnPtr(..) if here => Err(Refused::FnPointer(ty)),
            _ => self.regions(ty),
        }
    }

    /// Checks a parameter whose type is an associated type. The host would pass a buffer to it if the
    /// instance's type is a reference, and no reference is `DeviceCopy`. Within another type, the
    /// host's arguments must be `DeviceCopy`, as for type parameters.
    fn associated(&self, ty: Ty<'tcx>) -> Result<(), Refused<'tcx>> {
        if !matches!(ty.kind(), ty::Alias(..)) {
            return Ok(());
        }
        let resolved = self.resolve(ty);
        match resolved.kind() {
            ty::Alias(..)
                if resolved.has_non_region_param()
                    && !generic_arguments::is_device_copy(self.tcx, self.param_env, resolved) =>
            {
                Err(Refused::Associated(resolved))
            }
            _ => Ok(()),
        }
    }

    /// Searches a type that may contain associated types.
    fn alias(&mut self, ty: Ty<'tcx>, here: bool) -> Result<(), Refused<'tcx>> {
        if !ty.has_aliases() {
            return self.value(ty, here);
        }
        self.regions(ty)?;
        let resolved = self.resolve(ty);
        match resolved.kind() {
            ty::Alias(..) => Ok(()),
            _ => self.value(resolved, here),
        }
    }

    /// Replaces an associated type with the type that it is, as far as the kernel's bounds tell.
    fn resolve(&self, ty: Ty<'tcx>) -> Ty<'tcx> {
        let infcx = self.tcx.infer_ctxt().build(TypingMode::non_body_analysis());
        let ocx = ObligationCtxt::new(&infcx);
        let cause = ObligationCause::dummy();
        let normalized = ocx.normalize(&cause, self.param_env, ty::Unnormalized::new_wip(ty));
        // Errors here are errors of the type's definition, which rustc has reported.
        let _ = ocx.evaluate_obligations_error_on_ambiguity();
        infcx.deeply_resolve_via_unification_table(normalized)
    }

    /// Searches the lifetimes that a type names, such as the arguments of a `struct`.
    fn regions(&self, ty: Ty<'tcx>) -> Result<(), Refused<'tcx>> {
        let mut walker = ty.walk();
        while let Some(arg) = walker.next() {
            match arg.kind() {
                GenericArgKind::Lifetime(region) => self.region(region)?,
                GenericArgKind::Type(ty) => match ty.kind() {
                    ty::RawPtr(..) | ty::FnPtr(..) | ty::FnDef(..) => walker.skip_current_subtree(),
                    ty::Adt(adt, _) if adt.is_phantom_data() => walker.skip_current_subtree(),
                    _ => {}
                },
                _ => {}
            }
        }
        Ok(())
    }

    fn region(&self, region: Region<'tcx>) -> Result<(), Refused<'tcx>> {
        let known = self.outlives.free_region_map();
        let is_static = region.is_static()
            || matches!(region.kind(), ty::ReEarlyParam(_) | ty::ReLateParam(_))
                && known.sub_free_regions(self.tcx, self.tcx.lifetimes.re_static, region);
        match is_static {
            true => Err(Refused::Static(region)),
            false => Ok(()),
        }
    }
}
