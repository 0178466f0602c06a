//! Paths in the repository, and how cargo is run in it.

use anyhow::{Context, Result, bail};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};

/// The packages that have to build on stable Rust, with their tests.
pub const HOST_PACKAGES: &[&str] = &[
    "cargo-cuda",
    "cuda_builder",
    "cuda_toolkit",
    "cust",
    "cust_core",
    "cust_derive",
    "cust_raw",
    "libnvvm-sys",
    "nvvm",
    "nvvm_ir",
    "ptx",
    "ptx_emulator",
];

/// The repository's root.
pub fn root() -> &'static Path {
    // This file's package stands directly in the root.
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap_or(Path::new("."))
}

/// Cargo's target folder.
pub fn target() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => std::path::absolute(&folder).unwrap_or_else(|_| folder.into()),
        None => root().join("target"),
    }
}

/// Whether this is a run of continuous integration.
pub fn in_ci() -> bool {
    std::env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false")
}

/// The pinned toolchain's cargo, which runs this program.
pub fn cargo() -> Command {
    clean(Command::new(
        std::env::var_os("CARGO").unwrap_or("cargo".into()),
    ))
}

/// Cargo of another toolchain, if that is installed.
pub fn cargo_of(toolchain: &str) -> Option<Command> {
    let which = |program| output_of("rustup", &["which", "--toolchain", toolchain, program]);
    let mut command = clean(Command::new(which("cargo")?));
    // By their paths: the pinned toolchain's may come first on the PATH.
    command.env("RUSTUP_TOOLCHAIN", toolchain);
    command
        .env("RUSTC", which("rustc")?)
        .env("RUSTDOC", which("rustdoc")?);
    Some(command)
}

/// Sets what all runs of cargo have in common.
fn clean(mut command: Command) -> Command {
    // What the cargo that runs this program has set for it is not meant for another.
    for name in ["CARGO", "CARGO_MANIFEST_DIR", "CARGO_MANIFEST_PATH"] {
        command.env_remove(name);
    }
    for (name, _) in std::env::vars_os() {
        if name
            .to_str()
            .is_some_and(|name| name.starts_with("CARGO_PKG_"))
        {
            command.env_remove(name);
        }
    }
    // The output of build scripts is shown only when they fail, but a device build may take a
    // while: this lets `cuda_builder` show its progress where this program shows its own. Not in
    // a file, where two writers would overwrite each other's lines.
    let stderr = format!("/proc/{}/fd/2", std::process::id());
    let is_stream = std::fs::metadata(&stderr).is_ok_and(|metadata| !metadata.is_file());
    if is_stream && std::env::var_os("CUDA_BUILDER_PROGRESS").is_none() {
        command.env("CUDA_BUILDER_PROGRESS", stderr);
    }
    command
}

/// Runs a command to its end; `what` is said if it cannot be started.
pub fn status(command: &mut Command, what: &str) -> Result<ExitStatus> {
    command
        .status()
        .with_context(|| format!("{what} cannot be started"))
}

/// Runs a command that has to succeed.
pub fn must_succeed(command: &mut Command, what: &str) -> Result<()> {
    let status = status(command, what)?;
    if !status.success() {
        bail!("{what} failed ({status})");
    }
    Ok(())
}

/// Becomes a command, where the system can do that: then signals and the exit status are its own.
pub fn become_command(command: &mut Command, what: &str) -> Result<ExitCode> {
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt;
        Err(command.exec()).with_context(|| format!("{what} cannot be started"))
    }
    #[cfg(not(unix))]
    {
        let code = status(command, what)?
            .code()
            .and_then(|code| u8::try_from(code).ok());
        Ok(ExitCode::from(code.unwrap_or(1)))
    }
}

/// A command's standard output, trimmed, if it succeeds.
pub fn output_of(program: impl AsRef<OsStr>, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    output.status.success().then_some(text)
}

/// The pinned toolchain's folder.
pub fn sysroot() -> Option<PathBuf> {
    output_of("rustc", &["--print=sysroot"]).map(PathBuf::from)
}

/// The names of the workspace's examples. Those in single source, which `cargo cuda` builds, are
/// a workspace of their own.
pub fn examples() -> Result<Vec<String>> {
    let folder = root().join("examples");
    let single_source = folder.join("single_source");
    let entries = std::fs::read_dir(&folder)
        .with_context(|| format!("the folder {} cannot be read", folder.display()))?;
    let mut names: Vec<String> = entries
        .flatten()
        .filter(|entry| entry.path().join("Cargo.toml").exists() && entry.path() != single_source)
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    Ok(names)
}
