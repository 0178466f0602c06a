//! Errors and their messages.

use crate::{Arch, LoadError, LogEntry, UnknownArch, Version};
use libnvvm_sys::{nvvmResult, result};
use std::fmt;
use std::path::PathBuf;

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// libnvvm was not found.
    #[error(
        "libnvvm was not found; searched {}. Set CUDA_HOME to a CUDA toolkit, or fetch it with\n    \
         {} DIR\nand set CUDA_HOME to that directory",
        join(.searched.iter().map(|path| path.display().to_string())),
        cuda_toolkit::PIP_COMMAND
    )]
    NotFound {
        /// The directories that were searched.
        searched: Vec<PathBuf>,
    },
    /// The file does not load, or is not libnvvm.
    #[error("the libnvvm at `{}` cannot be used: {reason}", path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// The loader's message, or the missing function.
        reason: LoadError,
    },
    /// The architecture is unknown.
    #[error(transparent)]
    UnknownArch(#[from] UnknownArch),
    /// This libnvvm does not support the architecture.
    #[error(
        "this libnvvm (version {version}) does not support {arch}; it supports {}",
        join(.supported.iter().map(|arch| arch.sm()))
    )]
    UnsupportedArch {
        /// The requested architecture.
        arch: Arch,
        /// The library's version.
        version: Version,
        /// The architectures that it supports.
        supported: Vec<Arch>,
    },
    /// A function of libnvvm failed.
    #[error("libnvvm failed to {stage}: {status}{}", list(.log))]
    Compile {
        /// The operation.
        stage: Stage,
        /// The result.
        status: Status,
        /// The log.
        log: Vec<LogEntry>,
    },
}

impl Error {
    /// Returns the entries of the log, if the error has one.
    pub fn log(&self) -> &[LogEntry] {
        match self {
            Error::Compile { log, .. } => log,
            _ => &[],
        }
    }
}

/// The operation of libnvvm that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stage {
    /// Reading the version.
    Version,
    /// Creating a program.
    Create,
    /// Adding the module of this name.
    AddModule(String),
    /// Verifying the program.
    Verify,
    /// Compiling the program.
    Compile,
    /// Reading the output.
    Output,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stage::Version => f.write_str("report its version"),
            Stage::Create => f.write_str("create a program"),
            Stage::AddModule(name) => write!(f, "add the module `{name}`"),
            Stage::Verify => f.write_str("verify the program"),
            Stage::Compile => f.write_str("compile the program"),
            Stage::Output => f.write_str("return its output"),
        }
    }
}

/// A result code of libnvvm other than success.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Status {
    /// Out of memory.
    OutOfMemory,
    /// A program could not be created.
    ProgramCreation,
    /// The modules have different versions of NVVM IR, or a version that the library does not
    /// support.
    IrVersionMismatch,
    /// An argument is invalid.
    InvalidInput,
    /// The program handle is invalid.
    InvalidProgram,
    /// A module is not valid NVVM IR.
    InvalidIr,
    /// An option is invalid.
    InvalidOption,
    /// No module was added.
    NoModule,
    /// Compilation failed.
    Compilation,
    /// The compilation was canceled.
    Cancelled,
    /// A result that the manual does not list.
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

    #[cfg(target_os = "linux")]
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
            Status::ProgramCreation => "the program could not be created",
            Status::IrVersionMismatch => "the version of NVVM IR is not supported",
            Status::InvalidInput => "invalid input",
            Status::InvalidProgram => "invalid program",
            Status::InvalidIr => "invalid NVVM IR",
            Status::InvalidOption => "invalid option",
            Status::NoModule => "the program has no module",
            Status::Compilation => "compilation failed",
            Status::Cancelled => "canceled",
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
