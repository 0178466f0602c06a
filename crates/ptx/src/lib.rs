//! Reads and writes PTX, removes dead functions, and works around ptxas bugs.
//!
//! [`Module::parse`] parses PTX text to a [`Module`], [`remove_dead`] removes everything that is
//! not reachable from a kernel, and `Display` prints the module for the driver and ptxas. The
//! emulator decodes the same [`Module`]. The grammar is that of the PTX ISA as libnvvm and nvcc
//! emit it and as people write it by hand. Instructions are parsed structurally (opcode, modifiers,
//! operands) and not checked against a list of opcodes; the emulator and ptxas do that.
//!
//! ```
//! let text = ".version 9.0\n.target sm_75\n.address_size 64\n
//!     .func unused() { ret; }
//!     .visible .entry kernel() { ret; }";
//! let mut module = ptx::Module::parse(text)?;
//! let removed = ptx::remove_dead(&mut module, &[]);
//! assert_eq!(removed.functions, 1);
//! assert!(module.to_string().contains(".visible .entry kernel"));
//! # Ok::<(), ptx::Error>(())
//! ```

mod ast;
mod bfi_workaround;
mod condition;
mod dead;
mod declarations;
mod frames;
mod hash;
mod inline_panics;
mod join;
mod keep_arrays;
mod lexer;
mod locs;
mod narrow;
mod no_return;
mod number_panics;
mod optimize;
mod outline;
mod param_stores;
mod parse;
mod promote_arrays;
mod prototypes;
mod recursion;
mod rewrite;
mod signatures;
pub mod stack;
mod survey;
mod unread_arrays;
mod whole_program;
mod write;

use crate::hash::HashMap;
pub use ast::*;
pub use bfi_workaround::replace_bfi;
pub use condition::{Condition, LaunchSizes, Launches, kernel_of_entry};
pub use dead::{Removed, keep_entries, remove_dead, without_kernels};
pub use frames::frames;

use declarations::join_declarations;
use inline_panics::{hide_report, inline_panics};
pub use join::join;
pub use locs::{LocKey, each_loc};
pub use narrow::widen_narrow;
pub use no_return::exit_after_panics;
pub use optimize::{LoopCheck, Panic, Parameter, Slice, loop_checks};
pub use outline::{Entry, Header, entries, external_functions, header, keep_bodies};
pub use param_stores::gather_param_stores;
use prototypes::declare_functions;
pub use recursion::hide_recursion;
pub use signatures::{signatures, write_signatures};
pub use survey::{LocalAccess, Location, Survey};
use unread_arrays::remove_unread_arrays;
pub use whole_program::is_to_be_linked;

/// A syntax error in PTX text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct Error {
    /// The line, from 1.
    pub line: u32,
    /// The description of the error.
    pub message: String,
}

impl<'a> Module<'a> {
    /// Parses a PTX module.
    ///
    /// # Errors
    ///
    /// Returns the line and a description of the first syntax error.
    pub fn parse(text: &'a str) -> Result<Module<'a>, Error> {
        parse::module(text)
    }
}

/// PTX that is ready for ptxas and the driver.
#[derive(Clone, Debug)]
pub struct Finished {
    /// The text.
    pub text: String,
    /// The recursion because of which no bound of the kernels' stack is known.
    pub cycles: Vec<stack::Cycle>,
    /// The functions with variables in local memory, with the size of these variables in bytes: see
    /// [`frames`].
    pub frames: Vec<(String, u64)>,
}

/// The purpose that PTX is compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose<'s> {
    /// Debugging: keeps `.target debug`, with which libnvvm marks line tables. ptxas and the driver
    /// then do not optimize.
    Debugging,
    /// No further optimization.
    Plain,
    /// Speed: hoists checks out of loops and combines them, gives memory accesses their state
    /// space, unrolls loops with a variable step, and computes with 32 bits in launches that permit
    /// it.
    Speed(Kernels<'s>),
}

/// Properties of the kernels of a module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kernels<'s> {
    /// The slices among the parameters.
    pub slices: &'s [Slice],
    /// The parameters that partition a buffer among the threads: all their integers are the length
    /// and the extents of the buffer.
    pub partitions: &'s [Parameter],
    /// The parameters that are numbers of type `usize`, and so perhaps lengths or extents.
    pub sizes: &'s [Parameter],
    /// The names of the kernels whose registers must not be spilled, not even in code that rarely
    /// runs.
    pub without_spills: &'s [&'s str],
    /// Whether a kernel's bodies for ordinary and for strided launches become entries of their own,
    /// which the host launches if a [`Condition`] holds. Otherwise the kernel tests the condition of
    /// the one for ordinary launches.
    pub ordinary_entries: bool,
}

/// Prepares libnvvm's PTX for ptxas and the driver: removes everything that is reachable neither
/// from a kernel nor from one of the symbols `keep`, optimizes according to `purpose`, and works
/// around ptxas bugs. Finally, it computes the kernels' stack and adds the stack records and checks
/// of [`stack`].
///
/// # Errors
///
/// Returns an error if `text` is not valid PTX.
pub fn finish(
    text: &str,
    keep: &[&str],
    purpose: Purpose<'_>,
    options: &stack::Options,
) -> Result<Finished, Error> {
    let names = optimize::Names::default();
    let mut module = Module::parse(text)?;
    if purpose != Purpose::Debugging {
        module.target.retain(|&option| option != "debug");
    }
    hide_report(&mut module);
    remove_dead(&mut module, keep);
    if matches!(purpose, Purpose::Speed(_)) {
        remove_unread_arrays(&mut module);
    }
    let budgets = match purpose {
        Purpose::Debugging | Purpose::Plain => HashMap::default(),
        Purpose::Speed(kernels) => optimize::optimize(&mut module, kernels, &names),
    };
    if matches!(purpose, Purpose::Speed(_)) {
        promote_arrays::promote_arrays(&mut module, &names);
        keep_arrays::keep_arrays(&mut module, &names);
    }
    widen_narrow(&mut module);
    replace_bfi(&mut module);
    gather_param_stores(&mut module);
    exit_after_panics(&mut module);
    if matches!(purpose, Purpose::Speed(_)) {
        inline_panics(&mut module, &names);
        optimize::set_registers(&mut module, &budgets);
        remove_dead(&mut module, keep);
        join_declarations(&mut module);
    }
    hide_recursion(&mut module);
    declare_functions(&mut module);
    let analysis = stack::analyze(&module, options);
    let texts = stack::Texts::new(&module, &analysis);
    stack::complete(&mut module, &texts)?;
    let frames = frames(&module).into_iter();
    Ok(Finished {
        frames: frames
            .map(|(name, bytes)| (name.to_owned(), bytes))
            .collect(),
        text: module.to_string(),
        cycles: analysis.cycles,
    })
}
