//! Builds the backend before the commands that need it, so that its progress is visible. Otherwise
//! `cuda_builder` would build it, in the same directory and in the same way.

use crate::{no_more_arguments, workspace};
use anyhow::{Result, bail};
use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// Returns the directory that the backend is built in.
pub fn target() -> PathBuf {
    workspace::target().join("backend")
}

/// Returns the path of the dylib, which may not exist.
pub fn dylib() -> PathBuf {
    use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
    target()
        .join("release")
        .join(format!("{DLL_PREFIX}rustc_codegen_nvvm{DLL_SUFFIX}"))
}

/// Builds the backend and returns the dylib's path. `RUSTC_CODEGEN_NVVM` overrides it.
pub fn ensure() -> Result<PathBuf> {
    if let Some(given) = std::env::var_os("RUSTC_CODEGEN_NVVM").filter(|path| !path.is_empty()) {
        let given = PathBuf::from(given);
        if !given.is_file() {
            bail!(
                "`RUSTC_CODEGEN_NVVM` is `{}`, which is not a file",
                given.display()
            );
        }
        return Ok(given);
    }
    let mut command = command("build");
    // The user's flags would make this build differ from that of `cuda_builder`.
    command
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS");
    workspace::must_succeed(&mut command, "the build of the backend")?;
    Ok(dylib())
}

/// Returns a cargo command for the backend.
pub fn command(subcommand: &str) -> Command {
    let mut command = workspace::cargo();
    // As in `cuda_builder`: the backend's build script watches this variable.
    if let Some(sysroot) = workspace::sysroot() {
        command.env("RUSTC", sysroot.join("bin/rustc"));
    }
    command
        .args([subcommand, "--release", "--manifest-path"])
        .arg(workspace::root().join("crates/rustc_codegen_nvvm/Cargo.toml"))
        .arg("--target-dir")
        .arg(target());
    command
}

/// Returns a cargo command, after fetching and building what build scripts with `cuda_builder`
/// need.
pub fn cargo_with_backend() -> Result<Command> {
    crate::toolkit::ensure()?;
    let mut command = workspace::cargo();
    command.env("RUSTC_CODEGEN_NVVM", ensure()?);
    Ok(command)
}

/// `./x build`.
pub fn build_command(mut parser: lexopt::Parser) -> Result<ExitCode> {
    no_more_arguments(&mut parser)?;
    println!("{}", ensure()?.display());
    Ok(ExitCode::SUCCESS)
}
