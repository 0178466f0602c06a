//! temporary
use rustc_middle::ty::TyCtxt;
use rustc_middle::util::Providers;
pub(crate) fn encode(_: TyCtxt<'_>) -> Vec<u8> { Vec::new() }
pub(crate) fn provide(_: &mut Providers) {}
