//! The chain of calls from a kernel to the location of an error.
//!
//! The context records for each function and static which function first required it, and where.
//! The MIR inliner may have inlined functions in between; these are recovered from the scopes of
//! the caller's body.

use rustc_attr_ir::LangItem;
use rustc_errors::Diag;
use rustc_middle::mir::{Const, SourceInfo, SourceScope, TerminatorKind};
use rustc_middle::ty::print::with_no_trimmed_paths;
use rustc_middle::ty::{self, Instance, InstanceKind, TyCtxt};
use rustc_span::Span;
use rustc_span::def_id::CrateNum;

use crate::context::{CodegenCx, Item, item_span};
use crate::known_items::is_standard_library;
use crate::markers::{self, Marker};
use crate::single_source::is_host;

/// The number of steps shown at each end of a long chain.
const SHOWN: usize = 5;

/// A step of the chain: a user, what it uses, and where.
struct Step {
    /// The user's crate.
    krate: CrateNum,
    user: String,
    verb: &'static str,
    used: String,
    span: Span,
}

impl Step {
    fn note(&self, diag: &mut Diag<'_>) {
        let Step {
            user, verb, used, ..
        } = self;
        diag.span_note(self.span, format!("{user} {verb} {used} here"));
    }
}

/// Adds the chain from an item up to a kernel.
pub(crate) fn add_chain<'tcx>(cx: &CodegenCx<'tcx>, diag: &mut Diag<'_>, item: Option<Item<'tcx>>) {
    let mut steps = Vec::new();
    if let Some(item) = item {
        collect_users(cx, item, &mut steps);
    }
    add(diag, &steps);
}

/// Adds the chain from a place in an item's code.
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

/// Adds the chain from a scope of a function that was inlined into another.
pub(crate) fn add_from_scope<'tcx>(
    cx: &CodegenCx<'tcx>,
    diag: &mut Diag<'_>,
    instance: Instance<'tcx>,
    scope: SourceScope,
) {
    let item = Item::Fn(instance);
    let mut steps = Vec::new();
    add_inlined(
        cx.tcx,
        item,
        &inlined_at(cx.tcx, instance, scope),
        &mut steps,
    );
    collect_users(cx, item, &mut steps);
    add(diag, &steps);
}

/// Reports an item that a library's code needs, at the place where other code calls into the
/// library, with the chain from there. `error` creates the error from the called function's name
/// and the span of the call.
pub(crate) fn report_from_user<'a, 'tcx>(
    cx: &CodegenCx<'tcx>,
    item: Item<'tcx>,
    library: &str,
    error: impl FnOnce(&str, Span) -> Diag<'a>,
) {
    let mut steps = Vec::new();
    collect_users(cx, item, &mut steps);
    let of_user = |step: &Step| cx.tcx.crate_name(step.krate).as_str() != library;
    // If only the library's code is involved, its outermost call is reported.
    let first = steps.iter().position(of_user);
    let first = first.unwrap_or(steps.len().saturating_sub(1));
    let mut diag = match steps.get(first) {
        Some(step) => error(&step.used, step.span),
        None => error(&name(cx.tcx, item), item_span(cx.tcx, item)),
    };
    add(&mut diag, steps.get(first..).unwrap_or_default());
    diag.emit();
}

/// A call of the standard library from another crate.
pub(crate) struct CallOfLibrary {
    /// The called function.
    pub called: String,
    /// The place of the call.
    pub span: Span,
    steps: Vec<Step>,
}

impl CallOfLibrary {
    /// Adds the chain from a kernel to the call.
    pub(crate) fn add_chain(&self, diag: &mut Diag<'_>) {
        add(diag, &self.steps);
    }
}

/// Returns the call of the standard library that leads to an item, or to a place in its code.
/// Returns `None` if the item or place is in another crate, and `std` does not lead to it.
pub(crate) fn call_of_library<'tcx>(
    cx: &CodegenCx<'tcx>,
    item: Item<'tcx>,
    place: Option<Span>,
) -> Option<CallOfLibrary> {
    let tcx = cx.tcx;
    let mut steps = Vec::new();
    let mut innermost = krate(item);
    if let Some(span) = place {
        if let Item::Fn(instance) = item
            && let Some((info, _)) = find(tcx, instance, span)
            && let Some(&(callee, _)) = inlined_at(tcx, instance, info.scope).first()
        {
            innermost = callee.def_id().krate;
        }
        collect_inlined(tcx, item, span, None, &mut steps);
    }
    collect_users(cx, item, &mut steps);
    let first = (steps.iter()).position(|step| !is_standard_library(tcx, step.krate))?;
    let mut callees = steps[..first].iter().map(|step| step.krate);
    // Code of `core` alone may only pass on the user's function, as `FnOnce::call_once` does.
    let is_std = |krate| tcx.crate_name(krate).as_str() == "std";
    if !is_standard_library(tcx, innermost) && !callees.any(is_std) {
        return None;
    }
    let steps = steps.split_off(first);
    Some(CallOfLibrary {
        called: steps[0].used.clone(),
        span: steps[0].span,
        steps,
    })
}

/// Adds only the kernel that an item is compiled for.
pub(crate) fn add_kernel<'tcx>(cx: &CodegenCx<'tcx>, diag: &mut Diag<'_>, item: Item<'tcx>) {
    let mut steps = Vec::new();
    collect_users(cx, item, &mut steps);
    if let Some(last) = steps.last() {
        last.note(diag);
    }
}

fn add(diag: &mut Diag<'_>, steps: &[Step]) {
    // Omits the first step if the error is already at its line.
    let steps = match steps {
        [first, rest @ ..] if diag.span.primary_span() == Some(first.span) => rest,
        _ => steps,
    };
    let left_out = steps.len().saturating_sub(2 * SHOWN);
    for (index, step) in steps.iter().enumerate() {
        if left_out > 0 && index == SHOWN {
            diag.note(format!("… {left_out} further steps …"));
        }
        if index < SHOWN || index >= SHOWN + left_out {
            step.note(diag);
        }
    }
}

/// Returns the place of an item's first use, or its definition if that is unknown.
pub(crate) fn place_of_use<'tcx>(cx: &CodegenCx<'tcx>, item: Item<'tcx>) -> Span {
    match cx.referrers.borrow().get(&item) {
        Some(user) if !user.span.is_dummy() => user.span,
        Some(user) => item_span(cx.tcx, user.node),
        None => item_span(cx.tcx, item),
    }
}

/// Returns the number of instances of the same function in the chain from the kernel.
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

/// Returns the name of an item for diagnostics.
pub(crate) fn name<'tcx>(tcx: TyCtxt<'tcx>, item: Item<'tcx>) -> String {
    match item {
        Item::Fn(instance) => {
            let (def_id, args) = (instance.def_id(), instance.args);
            // In a single-source session, paths of `std` are shown in full: `id` alone would not
            // identify `std::process::id`.
            let path = match is_host(tcx.sess) && is_standard_library(tcx, def_id.krate) {
                true => with_no_trimmed_paths!(tcx.def_path_str_with_args(def_id, args)),
                false => tcx.def_path_str_with_args(def_id, args),
            };
            match instance.def {
                InstanceKind::Item(_)
                    if matches!(markers::of_function(tcx, instance), Marker::Kernel(_)) =>
                {
                    format!("the kernel `{path}`")
                }
                _ if tcx.is_lang_item(instance.def_id(), LangItem::DropGlue) => {
                    format!("the drop glue of `{}`", instance.args.type_at(0))
                }
                _ => format!("`{path}`"),
            }
        }
        Item::Static(def_id) => format!("the static `{}`", tcx.def_path_str(def_id)),
    }
}

fn krate(item: Item<'_>) -> CrateNum {
    match item {
        Item::Fn(instance) => instance.def_id().krate,
        Item::Static(def_id) => def_id.krate,
    }
}

/// Collects the steps from an item's users up to a kernel.
fn collect_users<'tcx>(cx: &CodegenCx<'tcx>, item: Item<'tcx>, steps: &mut Vec<Step>) {
    let tcx = cx.tcx;
    let referrers = cx.referrers.borrow();
    let mut item = item;
    while let Some(&user) = referrers.get(&item) {
        collect_inlined(tcx, user.node, user.span, Some(name(tcx, item)), steps);
        item = user.node;
    }
}

/// Collects the steps within one item, through the functions that were inlined around the place
/// `span`. If `used` is given, the first step leads to it.
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
        inlined = inlined_at(tcx, instance, info.scope);
    }
    if let Some(used) = used {
        let span = match dropped(tcx, item) {
            // The drop glue's own code means nothing to the user.
            Some(adt) => tcx.def_span(adt.did()),
            None if span.is_dummy() => item_span(tcx, item),
            None => span,
        };
        let innermost = inlined
            .first()
            .map_or(item, |&(callee, _)| Item::Fn(callee));
        steps.push(Step {
            krate: krate(innermost),
            user: name(tcx, innermost),
            verb,
            used,
            span,
        });
    }
    add_inlined(tcx, item, &inlined, steps);
}

/// Adds the steps through functions inlined into an item, innermost first: each is called by the
/// next one, and the last by the item.
fn add_inlined<'tcx>(
    tcx: TyCtxt<'tcx>,
    item: Item<'tcx>,
    inlined: &[(Instance<'tcx>, Span)],
    steps: &mut Vec<Step>,
) {
    for (index, &(callee, span)) in inlined.iter().enumerate() {
        let caller = inlined
            .get(index + 1)
            .map_or(item, |&(caller, _)| Item::Fn(caller));
        let used = name(tcx, Item::Fn(callee));
        steps.push(Step {
            krate: krate(caller),
            user: name(tcx, caller),
            verb: "calls",
            used,
            span,
        });
    }
}

/// A constant of an inlined function whose evaluation failed.
pub(crate) struct FailedConstant {
    /// The function that requires the constant.
    pub function: String,
    /// The place where that function is called.
    pub span: Span,
    /// That function's scope in the body of the function it was inlined into.
    pub scope: SourceScope,
}

/// Returns the constant whose evaluation fails, if it came from a function that was inlined into
/// `instance`.
pub(crate) fn failed_constant<'tcx>(
    tcx: TyCtxt<'tcx>,
    instance: Instance<'tcx>,
) -> Option<FailedConstant> {
    let typing_env = ty::TypingEnv::fully_monomorphized();
    let body = tcx.instance_mir(instance.def);
    let failed = body.required_consts().iter().find_map(|constant| {
        let value = instance.instantiate_mir_and_normalize_erasing_regions(
            tcx,
            typing_env,
            ty::EarlyBinder::bind(tcx, constant.const_),
        );
        let Const::Unevaluated(what, _) = value else {
            return None;
        };
        value
            .eval(tcx, typing_env, constant.span)
            .is_err()
            .then_some(what)
    })?;
    let owner = tcx.typeck_root_def_id(failed.def);
    body.source_scopes.indices().find_map(|scope| {
        let &(callee, span) = inlined_at(tcx, instance, scope).first()?;
        let is_owner = callee.def_id() == owner && failed.args.starts_with(callee.args);
        is_owner.then(|| FailedConstant {
            function: name(tcx, Item::Fn(callee)),
            span,
            scope,
        })
    })
}

/// Returns the user's type whose drop glue `item` is.
fn dropped<'tcx>(tcx: TyCtxt<'tcx>, item: Item<'tcx>) -> Option<ty::AdtDef<'tcx>> {
    match item {
        Item::Fn(glue) if tcx.is_lang_item(glue.def_id(), LangItem::DropGlue) => {
            glue.args.type_at(0).ty_adt_def()
        }
        _ => None,
    }
}

/// Returns the source information of the code at a span of a function's body, and whether the code
/// is a call.
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

/// Returns the functions inlined around a place and the spans of their calls, innermost first.
fn inlined_at<'tcx>(
    tcx: TyCtxt<'tcx>,
    instance: Instance<'tcx>,
    scope: SourceScope,
) -> Vec<(Instance<'tcx>, Span)> {
    let body = tcx.instance_mir(instance.def);
    let mut frames = Vec::new();
    let mut scope = Some(scope);
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
