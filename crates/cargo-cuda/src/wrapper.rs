//! The wrappers of rustc and rustdoc.

use crate::arguments::{self, Call, Kind};
use crate::{backend, flags, sysroot};
use anyhow::{Context, Result};
use cuda_builder::internal::Toolchain;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::Path;
use std::process::{Command, ExitCode};

/// Runs rustc, or a driver such as clippy's, as cargo asks a `RUSTC_WRAPPER`: the first argument is
/// the program.
pub fn rustc(arguments: &[OsString]) -> Result<ExitCode> {
    let programs = arguments::programs(arguments);
    let rustc = arguments
        .get(programs - 1)
        .context("cargo-cuda: no program to wrap; `cargo cuda help` lists the commands")?;
    let call = Call::new(&arguments[programs..]);
    let root = sysroot::toolchain_root(rustc)?;
    let mut command = Command::new(&arguments[0]);
    command.args(&arguments[1..]);
    if call.kind == Kind::Version {
        // A build without this program has other libraries. Cargo keeps the two apart by this line.
        sysroot::pinned(rustc)?;
        let output = command.output().with_context(|| failure(&command))?;
        std::io::stdout().write_all(&output.stdout)?;
        std::io::stderr().write_all(&output.stderr)?;
        println!("cargo-cuda: {}", sysroot::key(&root));
        return Ok(exit_code(output.status.code()));
    }
    command.args(extra(&call, &root, || backend::ensure(&root))?);
    become_command(&mut command)
}

/// Runs rustdoc with the flags that the crate's libraries were compiled with.
pub fn rustdoc(arguments: &[OsString]) -> Result<ExitCode> {
    let toolchain = Toolchain::find()?;
    let root = toolchain.root.canonicalize()?;
    let call = Call::new(arguments);
    // A doctest is compiled to code, documentation is not.
    let kind = match arguments.iter().any(|argument| argument == "--test") {
        _ if matches!(call.kind, Kind::Version | Kind::Query) => call.kind,
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
    let sysroot = sysroot::ensure(root)?;
    let foreign = |target: &OsString| target != OsStr::new(&sysroot.host);
    if call.target.as_ref().is_some_and(foreign) {
        // Kernels are compiled for the host's target only. Another one has its shipped library.
        return Ok(Vec::new());
    }
    let mut flags = match call.kind {
        Kind::Version | Kind::BuildTime => Vec::new(),
        Kind::Query => flags::query(),
        Kind::Check => flags::check(),
        Kind::Codegen => flags::codegen(&backend()?),
    };
    if !call.has_sysroot {
        flags.push(flags::sysroot(&sysroot.path));
    }
    Ok(flags)
}

fn failure(command: &Command) -> String {
    format!("cannot run `{}`", command.get_program().display())
}

/// Becomes a command where the system can do that: signals and the exit status are then its own.
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
