//! temporary
use std::path::PathBuf;
use rustc_session::{EarlySession, Session};
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Roots { Kernels, All }
#[derive(Clone)]
pub(crate) struct Options { pub fma: bool, pub ftz: bool, pub prec_div: bool, pub prec_sqrt: bool, pub dump: Option<PathBuf>, pub cuda: Option<PathBuf>, pub roots: Roots }
impl Options { pub(crate) fn from_session(sess: &Session) -> Self {
  let mut o = Options { fma: true, ftz: false, prec_div: true, prec_sqrt: true, dump: None, cuda: None, roots: Roots::Kernels };
  for a in &sess.opts.cg.llvm_args { if let Some(d) = a.strip_prefix("--dump=") { o.dump = Some(d.into()) } if a == "--roots=all" { o.roots = Roots::All } if a == "--fma=off" { o.fma = false } }
  o } }
pub(crate) fn check_early(_: &EarlySession) {}
