//! Tool attributes, `#[nvvm::NAME("…")]`: information from the libraries for the backend in a
//! single-source session, where stable attributes would change the host's code.

use rustc_ast::LitKind;
use rustc_ast::attr::AttributeExt;
use rustc_middle::ty::TyCtxt;
use rustc_span::Symbol;
use rustc_span::def_id::DefId;

/// The tool's name.
const TOOL: &str = "nvvm";

/// Returns whether an item has the attribute `name`.
pub(crate) fn has(tcx: TyCtxt<'_>, def_id: DefId, name: &str) -> bool {
    find(tcx, def_id, name).is_some()
}

/// Returns the first string of the attribute `name`.
pub(crate) fn text(tcx: TyCtxt<'_>, def_id: DefId, name: &str) -> Option<Symbol> {
    find(tcx, def_id, name)?.first().copied()
}

/// Returns the strings of the attribute `name`.
pub(crate) fn find(tcx: TyCtxt<'_>, def_id: DefId, name: &str) -> Option<Vec<Symbol>> {
    let path = [Symbol::intern(TOOL), Symbol::intern(name)];
    // rustc does not parse tool attributes.
    #[allow(deprecated)]
    let attributes = tcx.get_all_attrs(def_id);
    let attribute = attributes
        .iter()
        .find(|attribute| attribute.path_matches(&path))?;
    let items = attribute.meta_item_list().unwrap_or_default();
    let texts = items.iter().filter_map(|item| match item.lit()?.kind {
        LitKind::Str(text, _) => Some(text),
        _ => None,
    });
    Some(texts.collect())
}
