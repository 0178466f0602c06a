//! libnvvm, NVIDIA's compiler from NVVM IR to PTX, behind a safe interface.
//!
//! The backend passes the module that `nvvm_ir` has written to a [`Program`], together with
//! libdevice; the program returns PTX, which `crates/ptx` reads next. The library is located and
//! loaded at run time (by `cuda_toolkit` and `libnvvm-sys`): building this crate needs no NVIDIA
//! software.
//!
//! ```no_run
//! # fn main() -> Result<(), nvvm::Error> {
//! let library = nvvm::Library::find()?;
//! let mut program = nvvm::Program::new(&library)?;
//! program.add_module("kernels", b"target triple = ...")?;
//! let ptx = program.compile(&nvvm::Options::new("sm_90".parse()?))?;
//! # Ok(()) }
//! ```

mod bounded;
mod crash;
mod error;
mod library;
mod log;
mod options;
mod program;

pub use bounded::{Bound, Outcome, Slow, in_child};
pub use cuda_toolkit::{Arch, Dialect, UnknownArch, Variant};
pub use error::{Error, Stage, Status};
pub use libnvvm_sys::LoadError;
pub use library::{IrVersion, Library, Version};
pub use log::{LogEntry, Severity, parse_log};
pub use options::{DebugInfo, OptLevel, Options};
pub use program::Program;
