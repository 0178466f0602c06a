//! Replaces `bounded` where a process cannot be forked or its CPU time cannot be read: compiles in
//! this process, without a limit.

use crate::outcome::{Bound, Outcome};
use crate::{Error, Options, Program};
use std::io;
use std::time::Duration;

impl Program {
    /// Compiles like [`Program::compile`]. The limit applies on Linux only.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Program::compile`].
    pub fn compile_within(&mut self, options: &Options, _bound: Bound) -> Result<Outcome, Error> {
        self.compile(options).map(Outcome::Compiled)
    }
}

/// Does not run `work`: only Linux has child processes for it.
///
/// # Errors
///
/// Returns an error of the kind [`io::ErrorKind::Unsupported`].
pub fn in_child(
    _limit: Duration,
    _work: impl FnOnce() -> Option<Vec<u8>>,
) -> io::Result<Option<Vec<u8>>> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Does not call `work`, as [`in_child`].
pub fn in_children(
    count: usize,
    _at_once: usize,
    _work: impl Fn(usize) -> Option<Vec<u8>>,
) -> Vec<Option<Vec<u8>>> {
    vec![None; count]
}
