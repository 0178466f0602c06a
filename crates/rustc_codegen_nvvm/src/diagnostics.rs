//! What users are told, with spans and with the chain of calls that leads from a kernel.

use rustc_errors::Diag;
use rustc_middle::ty::TyCtxt;
use rustc_span::Span;

use crate::context::{CodegenCx, Item, item_span};

fn describe<'tcx>(tcx: TyCtxt<'tcx>, item: Item<'tcx>) -> String {
    match item {
        Item::Fn(instance) => format!("`{}`", tcx.def_path_str_with_args(instance.def_id(), instance.args)),
        Item::Static(def_id) => format!("the static `{}`", tcx.def_path_str(def_id)),
    }
}

/// Adds who refers to whom, from the item that is being lowered up to a kernel.
pub(crate) fn add_chain<'tcx>(
    cx: &CodegenCx<'tcx>,
    diag: &mut Diag<'_>,
    from: Option<Item<'tcx>>,
) {
    const SHOWN: usize = 8;
    let referrers = cx.referrers.borrow();
    let mut item = from;
    let mut shown = 0;
    while let Some(current) = item {
        let Some(referrer) = referrers.get(&current) else {
            diag.note(format!("{} is the kernel that reaches it", describe(cx.tcx, current)));
            return;
        };
        if shown < SHOWN {
            let span = item_span(cx.tcx, referrer.node);
            diag.span_note(span, format!("reached through {}", describe(cx.tcx, referrer.node)));
        } else if shown == SHOWN {
            diag.note("… and through further functions");
        }
        shown += 1;
        item = Some(referrer.node);
    }
}

/// Something that GPU code cannot have, at a place of the function that is being lowered.
pub(crate) fn unsupported(cx: &CodegenCx<'_>, span: Span, what: &str) {
    let current = cx.current.get().map(|c| c.node);
    let span = if span.is_dummy() {
        current.map_or(span, |item| item_span(cx.tcx, item))
    } else {
        span
    };
    let mut diag =
        cx.tcx.dcx().struct_span_err(span, format!("{what} cannot be compiled for a GPU"));
    add_chain(cx, &mut diag, current);
    diag.emit();
}
