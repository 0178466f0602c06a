//! The functions of `core::fmt` whose output the host can format: see `nvvm_ir`'s `report_values`.

use cust_core::report::{MARK, VALUES};
use nvvm_ir::llvm::{Formatted, Formatter, Messages};
use rustc_hir::def::CtorKind;
use rustc_middle::ty::layout::LayoutOf;
use rustc_middle::ty::{self, Instance, InstanceKind, Ty, TyCtxt};
use rustc_span::def_id::DefId;

use crate::context::CodegenCx;
use crate::known_items::{self, FormattingTrait};

/// Returns how reports describe messages that the host formats.
pub(crate) fn messages(cx: &CodegenCx<'_>) -> Messages {
    let module = cx.module.borrow();
    let functions = cx.functions.borrow();
    let formatters = functions.iter().filter_map(|(&instance, &value)| {
        let func = module.as_func(value)?;
        Some((module.func(func).name.clone(), formatter(cx, instance)?))
    });
    Messages {
        kind: VALUES,
        mark: MARK,
        formatters: formatters.collect(),
    }
}

/// Returns what a function formats, if it is the `fmt` of a type that the host can format.
fn formatter<'tcx>(cx: &CodegenCx<'tcx>, instance: Instance<'tcx>) -> Option<Formatter> {
    let tcx = cx.tcx;
    let InstanceKind::Item(def_id) = instance.def else {
        return None;
    };
    let implementation = tcx.trait_impl_of_assoc(def_id)?;
    let of_trait = tcx.impl_opt_trait_id(implementation)?;
    let of = known_items::formatting_trait(tcx, of_trait)?;
    let receiver = instance
        .ty(tcx, ty::TypingEnv::fully_monomorphized())
        .fn_sig(tcx)
        .skip_binder()
        .inputs()
        .first()
        .copied()?;
    let &ty::Ref(_, mut formatted, _) = receiver.kind() else {
        return None;
    };
    let mut references = 0;
    while let &ty::Ref(_, to, _) = formatted.kind() {
        formatted = to;
        references += 1;
    }
    // A trait object and a `str` are behind a wide reference.
    let behind = |references: u32, what| {
        let references = references.checked_sub(1)?;
        Some(Formatter { references, what })
    };
    match formatted.kind() {
        ty::Str if of == FormattingTrait::Display => behind(references, Formatted::Str),
        // The vtable of another trait may have functions of other supertraits first.
        ty::Dynamic(object, _) if object.principal_def_id() == Some(of_trait) => {
            behind(references, Formatted::Object)
        }
        ty::Adt(adt, _) if known_items::is_arguments(tcx, adt.did()) => Some(Formatter {
            references,
            what: Formatted::Arguments,
        }),
        _ => {
            let (text, bytes) = value(cx, formatted, of)?;
            let what = Formatted::Value { text, bytes };
            Some(Formatter { references, what })
        }
    }
}

/// Returns the text of a value for `cust_core::report::write_message`, and the value's size.
fn value<'tcx>(cx: &CodegenCx<'tcx>, ty: Ty<'tcx>, of: FormattingTrait) -> Option<(String, u32)> {
    let debug = of == FormattingTrait::Debug;
    let letter = match *ty.kind() {
        ty::Uint(kind) => match kind.normalize(64) {
            ty::UintTy::U8 => 'h',
            ty::UintTy::U16 => 't',
            ty::UintTy::U32 => 'm',
            ty::UintTy::U128 => 'o',
            _ => 'y',
        },
        ty::Int(kind) => match kind.normalize(64) {
            ty::IntTy::I8 => 'a',
            ty::IntTy::I16 => 's',
            ty::IntTy::I32 => 'l',
            ty::IntTy::I128 => 'n',
            _ => 'x',
        },
        ty::Float(ty::FloatTy::F32) if debug => 'F',
        ty::Float(ty::FloatTy::F32) => 'f',
        ty::Float(ty::FloatTy::F64) if debug => 'D',
        ty::Float(ty::FloatTy::F64) => 'd',
        ty::Bool => 'b',
        ty::Char if debug => 'C',
        ty::Char => 'c',
        ty::Adt(adt, args) if debug => return derived(cx, ty, adt, args),
        _ => return None,
    };
    let bytes = cx.layout_of(ty).size.bytes() as u32;
    Some((format!("{MARK}{letter}"), bytes))
}

/// Returns the same for a type of the standard library that derives `Debug`: an enumeration without
/// fields, such as `Ordering`, or a tuple struct around one, such as `TryFromIntError`.
fn derived<'tcx>(
    cx: &CodegenCx<'tcx>,
    ty: Ty<'tcx>,
    adt: ty::AdtDef<'tcx>,
    args: ty::GenericArgsRef<'tcx>,
) -> Option<(String, u32)> {
    let tcx = cx.tcx;
    if !known_items::is_standard_library(tcx, adt.did().krate) || !derives_debug(tcx, ty) {
        return None;
    }
    if adt.is_struct() {
        let variant = adt.non_enum_variant();
        let (Some(CtorKind::Fn), [field]) = (variant.ctor_kind(), &variant.fields.raw[..]) else {
            return None;
        };
        let field = field.ty(tcx, args).skip_norm_wip();
        let (text, bytes) = value(cx, field, FormattingTrait::Debug)?;
        return Some((format!("{}({text})", variant.name), bytes));
    }
    if !adt.is_enum()
        || cx.layout_of(ty).size.bytes() != 1
        || adt.variants().iter().any(|it| !it.fields.is_empty())
    {
        return None;
    }
    let names = adt.discriminants(tcx).map(|(variant, number)| {
        let name = adt.variant(variant).name;
        format!("{}={name}", number.val as u8)
    });
    let names: Vec<String> = names.collect();
    Some((format!("{MARK}e{}{MARK}", names.join(",")), 1))
}

/// Returns whether a type derives `Debug`.
fn derives_debug<'tcx>(tcx: TyCtxt<'tcx>, ty: Ty<'tcx>) -> bool {
    let Some(debug) = known_items::debug(tcx) else {
        return false;
    };
    let implementations: Vec<DefId> = tcx.non_blanket_impls_for_ty(debug, ty).collect();
    matches!(implementations[..], [only] if tcx.is_automatically_derived(only))
}
