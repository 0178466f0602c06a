//! Errors and their messages.

use crate::{Arch, LoadError, LogEntry, UnknownArch, Version};
use libnvvm_sys::{nvvmResult, result};
use std::fmt;
use std::path::PathBuf;

/// Why libnvvm could not be used, or what it refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no libnvvm.
    #[error(
        "libnvvm was not found; searched {}. Set CUDA_HOME to a CUDA toolkit, or fetch it with\n    \
         {} DIR\nand set CUDA_HOME to that folder",
        join(.searched.iter().map(|path| path.display().to_string())),
        cuda_toolkit::PIP_COMMAND
    )]
    NotFound {
        /// The folders that were searched.
        searched: Vec<PathBuf>,
    },
    /// There is a file, but it does not load or is not libnvvm.
    #[error("the libnvvm at `{}` cannot be used: {reason}", path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// What the loader says, or what is missing.
        reason: LoadError,
    },
    /// Nobody knows the architecture.
    #[error(transparent)]
    UnknownArch(#[from] UnknownArch),
    /// The architecture is known, but not to this libnvvm.
    #[error(
        "this libnvvm (version {version}) does not compile for {arch}; it does for {}",
        join(.supported.iter().map(|arch| arch.sm()))
    )]
    UnsupportedArch {
        /// The architecture asked for.
        arch: Arch,
        /// The library's version.
        version: Version,
        /// The architectures it does compile for.
        supported: Vec<Arch>,
    },
    /// A function that the program, or the library itself, should not fail at.
    #[error("libnvvm failed to {stage}: {status}{}", list(.log))]
    Compile {
        /// What libnvvm was asked to do.
        stage: Stage,
        /// What it returned.
        status: Status,
        /// What it wrote.
        log: Vec<LogEntry>,
    },
}

impl Error {
    /// The log's entries, if it is an error that has some.
    pub fn log(&self) -> &[LogEntry] {
        match self {
            Error::Compile { log, .. } => log,
            _ => &[],
        }
    }
}

/// What libnvvm was asked to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stage {
    /// Tell its version.
    Version,
    /// Make a program.
    Create,
    /// Take the module of this name.
    AddModule(String),
    /// Check the program.
    Verify,
    /// Compile the program.
    Compile,
    /// Hand out its output.
    Output,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stage::Version => f.write_str("tell its version"),
            Stage::Create => f.write_str("make a program"),
            Stage::AddModule(name) => write!(f, "take the module `{name}`"),
            Stage::Verify => f.write_str("verify the program"),
            Stage::Compile => f.write_str("compile the program"),
            Stage::Output => f.write_str("hand out its output"),
        }
    }
}

/// A result of libnvvm's other than success.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Status {
    /// Memory ran out.
    OutOfMemory,
    /// A program could not be made.
    ProgramCreation,
    /// The modules ask for different versions of NVVM IR, or for one the library does not know.
    IrVersionMismatch,
    /// A parameter is not valid.
    InvalidInput,
    /// The program is not a program.
    InvalidProgram,
    /// A module is not NVVM IR.
    InvalidIr,
    /// An option is not known.
    InvalidOption,
    /// No module was added.
    NoModule,
    /// Compilation failed.
    Compilation,
    /// Compilation was cancelled.
    Cancelled,
    /// A result that the manual does not have.
    Other(i32),
}

impl Status {
    pub(crate) fn from_result(result: nvvmResult) -> Result<(), Status> {
        Err(match result {
            result::NVVM_SUCCESS => return Ok(()),
            result::NVVM_ERROR_OUT_OF_MEMORY => Status::OutOfMemory,
            result::NVVM_ERROR_PROGRAM_CREATION_FAILURE => Status::ProgramCreation,
            result::NVVM_ERROR_IR_VERSION_MISMATCH => Status::IrVersionMismatch,
            result::NVVM_ERROR_INVALID_INPUT => Status::InvalidInput,
            result::NVVM_ERROR_INVALID_PROGRAM => Status::InvalidProgram,
            result::NVVM_ERROR_INVALID_IR => Status::InvalidIr,
            result::NVVM_ERROR_INVALID_OPTION => Status::InvalidOption,
            result::NVVM_ERROR_NO_MODULE_IN_PROGRAM => Status::NoModule,
            result::NVVM_ERROR_COMPILATION => Status::Compilation,
            result::NVVM_ERROR_CANCELLED => Status::Cancelled,
            other => Status::Other(other),
        })
    }

    pub(crate) fn to_result(self) -> nvvmResult {
        match self {
            Status::OutOfMemory => result::NVVM_ERROR_OUT_OF_MEMORY,
            Status::ProgramCreation => result::NVVM_ERROR_PROGRAM_CREATION_FAILURE,
            Status::IrVersionMismatch => result::NVVM_ERROR_IR_VERSION_MISMATCH,
            Status::InvalidInput => result::NVVM_ERROR_INVALID_INPUT,
            Status::InvalidProgram => result::NVVM_ERROR_INVALID_PROGRAM,
            Status::InvalidIr => result::NVVM_ERROR_INVALID_IR,
            Status::InvalidOption => result::NVVM_ERROR_INVALID_OPTION,
            Status::NoModule => result::NVVM_ERROR_NO_MODULE_IN_PROGRAM,
            Status::Compilation => result::NVVM_ERROR_COMPILATION,
            Status::Cancelled => result::NVVM_ERROR_CANCELLED,
            Status::Other(other) => other,
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Status::OutOfMemory => "out of memory",
            Status::ProgramCreation => "the program could not be made",
            Status::IrVersionMismatch => "the version of NVVM IR is not supported",
            Status::InvalidInput => "invalid input",
            Status::InvalidProgram => "invalid program",
            Status::InvalidIr => "invalid NVVM IR",
            Status::InvalidOption => "invalid option",
            Status::NoModule => "the program has no module",
            Status::Compilation => "compilation failed",
            Status::Cancelled => "cancelled",
            Status::Other(code) => return write!(f, "result {code}"),
        })
    }
}

fn join(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(", ")
}

fn list(log: &[LogEntry]) -> String {
    log.iter().map(|entry| format!("\n{entry}")).collect()
}
