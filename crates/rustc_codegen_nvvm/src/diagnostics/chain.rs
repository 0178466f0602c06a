//! The chain of calls from a kernel to what is wrong, each at its line.
//!
//! The context keeps for each function and static who needed it first, and where. Between the two
//! may lie functions that the MIR inliner has put into their callers: these come from the scopes
//! of the caller's body.

use rustc_errors::Diag;
use rustc_middle::mir::{SourceInfo, TerminatorKind};
use rustc_middle::ty::{self, Instance, InstanceKind, TyCtxt};
use rustc_span::Span;

use crate::context::{CodegenCx, Item, item_span};
use crate::markers::{self, Marker};

/// Steps that are shown at each end of a long chain.
const SHOWN: usize = 5;

/// One step: who uses what, and where.
struct Step {
    user: String,
    verb: &'static str,
    used: String,
    span: Span,
}

/// Adds who uses an item, up to a kernel.
pub(crate) fn add_chain<'tcx>(
    cx: &CodegenCx<'tcx>,
    diag: &mut Diag<'_, impl rustc_errors::EmissionGuarantee>,
    item: Option<Item<'tcx>>,
) {
    let mut steps = Vec::new();
    if let Some(item) = item {
        collect_users(cx, item, &mut steps);
    }
    add(diag, &steps);
}

/// Adds the chain to a place in an item's code.
pub(crate) fn add_from_place<'tcx>(
    cx: &CodegenCx<'tcx>,
    diag: &mut Diag<'_>,
    item: Item<'tcx>,
    span: Span,
) {
    let mut steps = Vec::new();
    collect_inlined(cx.tcx, item, span, None, &mut steps);
    collect_users(cx, item, &mut steps);
    add(diag, &steps);
}

/// Adds only which kernel an item is compiled for.
pub(crate) fn add_kernel<'tcx>(cx: &CodegenCx<'tcx>, diag: &mut Diag<'_>, item: Item<'tcx>) {
    let mut steps = Vec::new();
    collect_users(cx, item, &mut steps);
    if let Some(last) = steps.last() {
        diag.span_note(last.span, format!("{} {} {} here", last.user, last.verb, last.used));
    }
}

fn add(diag: &mut Diag<'_, impl rustc_errors::EmissionGuarantee>, steps: &[Step]) {
    for (index, Step { user, verb, used, span }) in steps.iter().enumerate() {
        let left_out = steps.len().saturating_sub(2 * SHOWN);
        if left_out > 0 && index == SHOWN {
            diag.note(format!("… {left_out} further steps …"));
        }
        if index < SHOWN || index >= SHOWN + left_out {
            diag.span_note(*span, format!("{user} {verb} {used} here"));
        }
    }
}

/// The place that uses an item first, or its definition if that is not known.
pub(crate) fn place_of_use<'tcx>(cx: &CodegenCx<'tcx>, item: Item<'tcx>) -> Span {
    match cx.referrers.borrow().get(&item) {
        Some(user) if !user.span.is_dummy() => user.span,
        Some(user) => item_span(cx.tcx, user.node),
        None => item_span(cx.tcx, item),
    }
}

/// How many instances of the same function are in the chain from the kernel.
pub(crate) fn instances_above<'tcx>(cx: &CodegenCx<'tcx>, instance: Instance<'tcx>) -> usize {
    let referrers = cx.referrers.borrow();
    let mut item = Item::Fn(instance);
    let mut count = 0;
    while let Some(user) = referrers.get(&item) {
        item = user.node;
        if let Item::Fn(user) = item
            && user.def_id() == instance.def_id()
        {
            count += 1;
        }
    }
    count
}

/// An item as users know it.
pub(crate) fn name<'tcx>(tcx: TyCtxt<'tcx>, item: Item<'tcx>) -> String {
    match item {
        Item::Fn(instance) => {
            let path = tcx.def_path_str_with_args(instance.def_id(), instance.args);
            match instance.def {
                InstanceKind::Item(_)
                    if matches!(markers::of_function(tcx, instance), Marker::Kernel(_)) =>
                {
                    format!("the kernel `{path}`")
                }
                InstanceKind::DropGlue(_, Some(ty)) => format!("the drop of `{ty}`"),
                _ => format!("`{path}`"),
            }
        }
        Item::Static(def_id) => format!("the static `{}`", tcx.def_path_str(def_id)),
    }
}

/// The steps from who uses an item up to a kernel.
fn collect_users<'tcx>(cx: &CodegenCx<'tcx>, item: Item<'tcx>, steps: &mut Vec<Step>) {
    let tcx = cx.tcx;
    let referrers = cx.referrers.borrow();
    let mut item = item;
    while let Some(&user) = referrers.get(&item) {
        collect_inlined(tcx, user.node, user.span, Some(name(tcx, item)), steps);
        item = user.node;
    }
}

/// The steps within one item: to `used`, if that is given, at a place of the item's code, and
/// through the functions that were inlined around that place.
fn collect_inlined<'tcx>(
    tcx: TyCtxt<'tcx>,
    item: Item<'tcx>,
    span: Span,
    used: Option<String>,
    steps: &mut Vec<Step>,
) {
    let mut inlined = Vec::new();
    let mut verb = "uses";
    if let Item::Fn(instance) = item
        && let Some((info, calls)) = find(tcx, instance, span)
    {
        verb = if calls { "calls" } else { "uses" };
        inlined = inlined_at(tcx, instance, info);
    }
    // From inside out: each function, and where the next one calls it.
    let mut users = inlined.iter().map(|&(callee, _)| name(tcx, Item::Fn(callee)));
    let outermost = || name(tcx, item);
    let mut user = users.next().unwrap_or_else(outermost);
    if let Some(used) = used {
        let span = if span.is_dummy() { item_span(tcx, item) } else { span };
        steps.push(Step { user: user.clone(), verb, used, span });
    }
    for &(_, span) in &inlined {
        let caller = users.next().unwrap_or_else(outermost);
        steps.push(Step { user: caller.clone(), verb: "calls", used: user, span });
        user = caller;
    }
}

/// What a function's body has at a span, and whether it is a call.
fn find<'tcx>(
    tcx: TyCtxt<'tcx>,
    instance: Instance<'tcx>,
    span: Span,
) -> Option<(SourceInfo, bool)> {
    let def_id = instance.def_id();
    let has_body = match instance.def {
        InstanceKind::Item(_) => tcx.is_mir_available(def_id),
        InstanceKind::Intrinsic(_) | InstanceKind::Virtual(..) => false,
        _ => true,
    };
    if !has_body || span.is_dummy() {
        return None;
    }
    let body = tcx.instance_mir(instance.def);
    let mut found = None;
    for block in body.basic_blocks.iter() {
        if let Some(terminator) = &block.terminator
            && terminator.source_info.span == span
        {
            let calls = matches!(
                terminator.kind,
                TerminatorKind::Call { .. } | TerminatorKind::TailCall { .. }
            );
            if calls {
                return Some((terminator.source_info, true));
            }
            found = Some((terminator.source_info, false));
        }
        for statement in &block.statements {
            if statement.source_info.span == span {
                found.get_or_insert((statement.source_info, false));
            }
        }
    }
    found
}

/// The functions inlined around a place, and where they were called, from inside out.
fn inlined_at<'tcx>(
    tcx: TyCtxt<'tcx>,
    instance: Instance<'tcx>,
    info: SourceInfo,
) -> Vec<(Instance<'tcx>, Span)> {
    let body = tcx.instance_mir(instance.def);
    let mut frames = Vec::new();
    let mut scope = Some(info.scope);
    while let Some(at) = scope {
        let data = &body.source_scopes[at];
        scope = data.inlined_parent_scope;
        if let Some((callee, call)) = data.inlined {
            let callee = instance.instantiate_mir_and_normalize_erasing_regions(
                tcx,
                ty::TypingEnv::fully_monomorphized(),
                ty::EarlyBinder::bind(tcx, callee),
            );
            frames.push((callee, call));
            scope = data.parent_scope;
        }
    }
    frames
}
