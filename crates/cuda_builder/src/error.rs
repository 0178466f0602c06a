//! Errors, with messages that say what to do.

use crate::distribution::VARIABLE as DISTRIBUTION;
use crate::{Diagnostic, UnknownArch, toolchain::TOOLCHAIN};
use cuda_toolkit::assemble::AssembleError;
use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::fmt;
use std::io;
use std::path::PathBuf;

/// An error of building a GPU crate.
///
/// `Debug` prints the same text as `Display`, because build scripts end in `build()?` or
/// `build().unwrap()`, and both print an error's `Debug`.
#[non_exhaustive]
pub enum Error {
    /// The directory passed to [`CudaBuilder::new`](crate::CudaBuilder::new) has no `Cargo.toml`.
    NoCrate(PathBuf),
    /// The architecture is unknown.
    UnknownArch(UnknownArch),
    /// rustup cannot be run, and the current compiler is not the pinned one.
    NoRustup(String),
    /// The pinned toolchain is not installed.
    NoToolchain,
    /// The pinned toolchain lacks a component.
    NoComponent(&'static str),
    /// `RUSTC_CODEGEN_NVVM` does not name a dynamic library.
    NoBackendFile(PathBuf),
    /// There is no backend, and its published package cannot be fetched.
    NoBackend {
        /// The places that were searched, in order.
        searched: Vec<String>,
        /// The reason why cargo cannot fetch the package.
        reason: String,
    },
    /// The directory is not a distribution, or that of another version.
    Distribution {
        /// The directory, which `RUST_NVVM_DIST` names or which is the default.
        root: PathBuf,
        /// Its versions; empty if it has none.
        found: String,
        /// The versions that this crate works with.
        expected: String,
    },
    /// The backend's sources do not compile; cargo's output is printed above.
    BackendBuild(String),
    /// libnvvm or libdevice was not found.
    NoToolkit {
        /// The missing parts.
        missing: Vec<cuda_toolkit::Part>,
        /// The directories that were searched.
        searched: Vec<PathBuf>,
    },
    /// A path that is passed to the backend as an option contains a space, at which rustc would
    /// split it.
    SpaceInPath(PathBuf),
    /// The GPU crate does not compile. Its diagnostics were already printed.
    Compile {
        /// The crate's directory.
        krate: PathBuf,
        /// The architecture that it was compiled for.
        arch: cuda_toolkit::Arch,
        /// The errors, as rustc rendered them.
        errors: Vec<Diagnostic>,
        /// The remaining output of cargo.
        cargo_output: String,
    },
    /// Cargo succeeded without producing PTX.
    NoPtx(PathBuf),
    /// `ptxas` or `fatbinary` rejected the PTX.
    Assemble {
        /// The program.
        program: PathBuf,
        /// Its output.
        output: String,
    },
    /// A file could not be read or written, or a program could not be started.
    Io {
        /// The operation.
        action: String,
        /// The error of the operating system.
        source: io::Error,
    },
}

impl From<AssembleError> for Error {
    fn from(error: AssembleError) -> Error {
        match error {
            AssembleError::Io { action, error } => Error::io(action)(error),
            AssembleError::Failed { program, output } => Error::Assemble { program, output },
        }
    }
}

impl Error {
    pub(crate) fn io(action: impl Into<String>) -> impl FnOnce(io::Error) -> Error {
        let action = action.into();
        move |source| Error::Io { action, source }
    }
}

impl From<UnknownArch> for Error {
    fn from(error: UnknownArch) -> Error {
        Error::UnknownArch(error)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NoCrate(path) => write!(
                f,
                "no Cargo.toml in `{}`, the directory passed to CudaBuilder::new",
                path.display()
            ),
            Error::UnknownArch(error) => error.fmt(f),
            Error::NoRustup(reason) => write!(
                f,
                "device code needs the toolchain {TOOLCHAIN}, and rustup, which locates it, cannot be \
                 run ({reason}); install rustup from https://rustup.rs, then run\n    {}\nor unpack a \
                 distribution and set {DISTRIBUTION} to its directory",
                install_command()
            ),
            Error::NoToolchain => write!(
                f,
                "device code needs the toolchain {TOOLCHAIN}, which is not installed; run\n    {}",
                install_command()
            ),
            Error::NoComponent(name) => write!(
                f,
                "the toolchain {TOOLCHAIN} lacks the component {name}; run\n    \
                 rustup component add {name} --toolchain {TOOLCHAIN}"
            ),
            Error::NoBackendFile(path) => {
                let what = match (path.exists(), path.is_file()) {
                    (false, _) => "does not exist",
                    (true, false) => "is not a file",
                    (true, true) => "is not a dynamic library by its name",
                };
                write!(
                    f,
                    "RUSTC_CODEGEN_NVVM is set to `{}`, which {what}\nhelp: set it to the path of \
                     `{DLL_PREFIX}rustc_codegen_nvvm{DLL_SUFFIX}`, or unset it: the backend is then \
                     built",
                    path.display()
                )
            }
            Error::NoBackend { searched, reason } => write!(
                f,
                "the compiler backend was not found; searched {}, and the package \
                 rustc_codegen_nvvm {}:\n{reason}\nhelp: unpack a distribution and set \
                 {DISTRIBUTION} to its directory, or use cuda_builder from its git repository {}",
                searched.join(", "),
                env!("CARGO_PKG_VERSION"),
                env!("CARGO_PKG_REPOSITORY"),
            ),
            Error::Distribution {
                root,
                found,
                expected,
            } => {
                let lines = |text: &str| text.trim_end().replace('\n', ", ");
                match found.is_empty() {
                    true => write!(f, "`{}` is not a distribution", root.display())?,
                    false => write!(
                        f,
                        "`{}` is a distribution of {}, or incomplete",
                        root.display(),
                        lines(found)
                    )?,
                }
                write!(
                    f,
                    "; expected {}\nhelp: remove the directory, or set {DISTRIBUTION} to another one",
                    lines(expected)
                )
            }
            Error::BackendBuild(output) if is_offline(output) => write!(
                f,
                "cargo could not fetch the dependencies of the backend; its output is above\nhelp: \
                 connect to the network for the first build, or unpack a distribution, which has a \
                 built backend, and set {DISTRIBUTION} to its directory",
            ),
            Error::BackendBuild(output) => write!(
                f,
                "the backend does not compile; cargo's output is above{}",
                last_error(output)
            ),
            Error::NoToolkit { missing, searched } => {
                let missing: Vec<String> = missing.iter().map(ToString::to_string).collect();
                let searched: Vec<String> = searched
                    .iter()
                    .map(|path| path.display().to_string())
                    .collect();
                write!(
                    f,
                    "{} not found; searched {}. Set CUDA_HOME to a CUDA toolkit, or fetch it with\
                     \n    {} {}",
                    missing.join(" and "),
                    searched.join(", "),
                    cuda_toolkit::PIP_COMMAND,
                    searched.last().map_or("DIR", String::as_str),
                )
            }
            Error::SpaceInPath(path) => write!(
                f,
                "the path `{}` contains a space, at which rustc would split the option",
                path.display()
            ),
            Error::Compile {
                krate,
                arch,
                errors,
                cargo_output,
            } => {
                write!(
                    f,
                    "the device crate `{}` does not build for {arch}",
                    krate.display()
                )?;
                if errors.is_empty() {
                    return write!(f, "; cargo's output is above{}", last_error(cargo_output));
                }
                write!(f, "; its errors are above")?;
                if errors.iter().any(Diagnostic::misses_std) {
                    write!(
                        f,
                        ". The standard library does not exist on a GPU: declare \
                         `#![no_std]`, use `core` and `alloc`, and make sure that dependencies do \
                         the same (often with `default-features = false`)"
                    )?;
                }
                Ok(())
            }
            Error::NoPtx(path) => write!(
                f,
                "the device crate `{}` was built, but produced no PTX: is it a library, and is \
                 RUSTC_CODEGEN_NVVM the right backend?",
                path.display()
            ),
            Error::Assemble { program, output } => {
                write!(
                    f,
                    "`{}` rejected the PTX:
{}",
                    program.display(),
                    output.trim_end()
                )
            }
            Error::Io { action, source } => write!(f, "cannot {action}: {source}"),
        }
    }
}

/// The command that installs the pinned toolchain with all components for device code.
pub(crate) fn install_command() -> String {
    format!(
        "rustup toolchain install {TOOLCHAIN} --profile minimal -c rustc-dev,rust-src,llvm-tools"
    )
}

/// Returns whether cargo failed because it could not fetch packages.
fn is_offline(output: &str) -> bool {
    let reasons = [
        "failed to download",
        "unable to update registry",
        "unable to update http",
    ];
    output.lines().any(|line| {
        reasons
            .iter()
            .any(|reason| line.trim_start().starts_with(reason))
    })
}

/// Cargo's own error, if any, as the continuation of a sentence.
fn last_error(output: &str) -> String {
    match output.lines().rev().find(|line| line.starts_with("error")) {
        Some(line) => format!(" ({line})"),
        None => String::new(),
    }
}
