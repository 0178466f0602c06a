//! The wrappers of rustc and rustdoc.

use crate::arguments::{self, Call, Kind};
use crate::{backend, flags, project, sysroot};
use anyhow::{Context, Result};
use cuda_builder::internal::Toolchain;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::Path;
use std::process::{Command, ExitCode};

/// Changes whenever calls get other flags.
const VERSION: u32 = 3;

/// Names another wrapper of rustc, such as sccache, which compiles the crates without kernels. It
/// would not know that the others depend on the contents of the backend.
pub const INNER: &str = "CARGO_CUDA_RUSTC_WRAPPER";

/// Runs rustc, or a driver such as clippy's, as cargo asks a `RUSTC_WRAPPER`: the first argument is
/// the program.
///
/// # Errors
///
/// Returns an error if a prerequisite is missing, or if the program cannot be run.
pub fn rustc(arguments: &[OsString]) -> Result<ExitCode> {
    let programs = arguments::programs(arguments);
    let rustc = arguments
        .get(programs - 1)
        .context("cargo-cuda: no program to wrap; `cargo cuda help` lists the commands")?;
    let call = Call::new(&arguments[programs..]);
    let root = sysroot::toolchain_root(rustc)?;
    if call.kind == Kind::Version {
        let mut command = Command::new(&arguments[0]);
        command.args(&arguments[1..]);
        // A build without this program has other libraries. Cargo keeps the two apart by this line.
        sysroot::pinned(rustc)?;
        let output = command.output().with_context(|| failure(&command))?;
        std::io::stdout().write_all(&output.stdout)?;
        std::io::stderr().write_all(&output.stderr)?;
        println!("cargo-cuda: {} {VERSION}", sysroot::key(&root));
        return Ok(exit_code(output.status.code()));
    }
    let extra = extra(&call, &root, || backend::ensure(&root))?;
    let with_kernels = extra.iter().any(|flag| flags::is_backend(flag));
    let inner = std::env::var_os(INNER).filter(|wrapper| !wrapper.is_empty());
    let mut command = match inner {
        Some(wrapper) if call.kind != Kind::Query && !with_kernels => {
            let mut command = Command::new(wrapper);
            command.arg(&arguments[0]);
            command
        }
        _ => Command::new(&arguments[0]),
    };
    command.args(&arguments[1..]).args(extra);
    become_command(command.env(flags::WRAPPED, "1"))
}

/// Runs rustdoc with the flags that the crate's libraries were compiled with.
///
/// # Errors
///
/// Returns an error if a prerequisite is missing, or if rustdoc cannot be run.
pub fn rustdoc(arguments: &[OsString]) -> Result<ExitCode> {
    let toolchain = Toolchain::find()?;
    let root = toolchain.root.canonicalize()?;
    let call = Call::new(arguments);
    // A doctest is compiled to code, documentation is not.
    let kind = match arguments.iter().any(|argument| argument == "--test") {
        _ if matches!(call.kind, Kind::Version | Kind::Query) => call.kind,
        // Of a procedural macro, which links marked libraries.
        _ if call.kind == Kind::BuildTime && project::has_host_flags() => Kind::Check,
        true => Kind::Codegen,
        false => Kind::Check,
    };
    let call = Call { kind, ..call };
    let name = format!("rustdoc{}", std::env::consts::EXE_SUFFIX);
    let mut command = Command::new(root.join("bin").join(name));
    command.args(arguments);
    if kind != Kind::Version {
        command.args(extra(&call, &root, || backend::ensure(&root))?);
    }
    become_command(&mut command)
}

/// The flags for a call.
fn extra(
    call: &Call,
    root: &Path,
    backend: impl FnOnce() -> Result<std::path::PathBuf>,
) -> Result<Vec<String>> {
    // Without `--target`, a query with the flags of build scripts has the answer that build scripts
    // get as `CARGO_CFG_…`.
    let is_build_time = call.is_marked && call.kind != Kind::Query;
    // Kernels are compiled for the host's target only. Another one has its shipped library.
    if is_build_time || call.target.is_some() && !is_host(call, root)? {
        return Ok(Vec::new());
    }
    let mut flags = match call.kind {
        Kind::Version | Kind::BuildTime => Vec::new(),
        Kind::Query => flags::query(),
        Kind::Check => flags::check(),
        Kind::Codegen if !call.dependencies.may_have_device_library() => flags::library(),
        Kind::Codegen => flags::kernels(&backend()?),
    };
    let sysroot = match call.kind {
        // Checks link no library that a build links.
        Kind::Version | Kind::Check => None,
        Kind::Query if call.is_marked => None,
        // Its path suffices.
        Kind::Query => Some(sysroot::path(root)?),
        Kind::BuildTime | Kind::Codegen => Some(sysroot::ensure(root)?.path),
    };
    if let Some(sysroot) = sysroot
        && !call.has_sysroot
    {
        flags.push(flags::sysroot(&sysroot));
    }
    Ok(flags)
}

/// Returns whether a call's target is the host.
fn is_host(call: &Call, root: &Path) -> Result<bool> {
    let host = sysroot::host(root)?;
    Ok(call.target.as_deref() == Some(OsStr::new(&host)))
}

fn failure(command: &Command) -> String {
    format!("cannot run `{}`", command.get_program().display())
}

/// Becomes a command where the system can do that: signals and the exit status are then its own.
///
/// # Errors
///
/// Returns an error if the command cannot be run.
pub fn become_command(command: &mut Command) -> Result<ExitCode> {
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt;
        let error = command.exec();
        Err(error).with_context(|| failure(command))
    }
    #[cfg(not(unix))]
    {
        let status = command.status().with_context(|| failure(command))?;
        Ok(exit_code(status.code()))
    }
}

fn exit_code(code: Option<i32>) -> ExitCode {
    let code = code.and_then(|code| u8::try_from(code).ok());
    ExitCode::from(code.unwrap_or(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn build_scripts_see_the_configuration() {
        let flags = |text: &str| {
            let arguments: Vec<OsString> = text.split(' ').map(OsString::from).collect();
            let no_backend = || panic!("the call compiles nothing");
            extra(&Call::new(&arguments), Path::new("/nowhere"), no_backend).unwrap()
        };
        let marked = format!("--crate-name ___ {} ", flags::build_time());
        let query = flags(&(marked.clone() + "--print=cfg"));
        assert_eq!(query, flags::query());
        let compilation = flags(&(marked + "--crate-type lib --emit=link"));
        assert!(compilation.is_empty(), "{compilation:?}");
    }
}
