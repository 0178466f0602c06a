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

#[cfg(target_os = "linux")]
mod bounded;
#[cfg(unix)]
mod crash;
mod error;
mod library;
mod log;
mod options;
mod outcome;
mod program;
#[cfg(not(target_os = "linux"))]
mod unbounded;

#[cfg(target_os = "linux")]
pub use bounded::{in_child, in_children};
pub use cuda_toolkit::{Arch, Dialect, UnknownArch, Variant};
pub use error::{Error, Stage, Status};
pub use libnvvm_sys::LoadError;
pub use library::{IrVersion, Library, Version};
pub use log::{LogEntry, Severity, parse_log};
pub use options::{DebugInfo, OptLevel, Options};
pub use outcome::{Bound, Outcome, Slow};
pub use program::Program;
#[cfg(not(target_os = "linux"))]
pub use unbounded::{in_child, in_children};

/// Runs `run`. A crash of libnvvm is reported as the system does: there are no signals.
#[cfg(not(unix))]
mod crash {
    pub(crate) fn with_crash_message<T>(_text: &str, run: impl FnOnce() -> T) -> T {
        run()
    }
}
