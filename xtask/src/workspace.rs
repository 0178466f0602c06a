//! Paths in the repository, and running commands.

use anyhow::{Context, Result, bail};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};

/// The packages that must build on stable Rust, for Linux and Windows.
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

/// Returns the root of the repository.
pub fn root() -> &'static Path {
    // This package is a child directory of the root.
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap_or(Path::new("."))
}

/// Returns cargo's target directory.
pub fn target() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(directory) => std::path::absolute(&directory).unwrap_or_else(|_| directory.into()),
        None => root().join("target"),
    }
}

/// Returns whether the process runs in CI.
pub fn in_ci() -> bool {
    std::env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false")
}

/// Returns the pinned toolchain's cargo, which runs this program.
pub fn cargo() -> Command {
    clean(Command::new(
        std::env::var_os("CARGO").unwrap_or("cargo".into()),
    ))
}

/// Returns the cargo of another toolchain, if it is installed.
pub fn cargo_of(toolchain: &str) -> Option<Command> {
    let which = |program| output_of("rustup", &["which", "--toolchain", toolchain, program]);
    let mut command = clean(Command::new(which("cargo")?));
    // By path, because the pinned toolchain may come first in `PATH`.
    command.env("RUSTUP_TOOLCHAIN", toolchain);
    command
        .env("RUSTC", which("rustc")?)
        .env("RUSTDOC", which("rustdoc")?);
    Some(command)
}

/// Sets the environment of all runs of cargo.
fn clean(mut command: Command) -> Command {
    // Variables that the outer cargo set for this program do not apply to another cargo.
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
    // Cargo shows the output of build scripts only on failure, but a device build may take long:
    // this lets `cuda_builder` print its progress to this program's standard error. Not to a file,
    // where two writers would overwrite each other's lines.
    let stderr = format!("/proc/{}/fd/2", std::process::id());
    let is_stream = std::fs::metadata(&stderr).is_ok_and(|metadata| !metadata.is_file());
    if is_stream && std::env::var_os("CUDA_BUILDER_PROGRESS").is_none() {
        command.env("CUDA_BUILDER_PROGRESS", stderr);
    }
    command
}

/// Runs a command to completion. The error contains `what` if it cannot be started.
pub fn status(command: &mut Command, what: &str) -> Result<ExitStatus> {
    command
        .status()
        .with_context(|| format!("{what} cannot be started"))
}

/// Runs a command that must succeed.
pub fn must_succeed(command: &mut Command, what: &str) -> Result<()> {
    let status = status(command, what)?;
    if !status.success() {
        bail!("{what} failed ({status})");
    }
    Ok(())
}

/// Replaces this process with a command, where the system supports that, so that the command
/// receives signals and determines the exit status.
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

/// Returns a command's trimmed standard output, if it succeeds.
pub fn output_of(program: impl AsRef<OsStr>, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    output.status.success().then_some(text)
}

/// Returns the pinned toolchain's directory.
pub fn sysroot() -> Option<PathBuf> {
    output_of("rustc", &["--print=sysroot"]).map(PathBuf::from)
}

/// Returns the names of the workspace's examples. The single-source examples, which `cargo cuda`
/// builds, are a separate workspace.
pub fn examples() -> Result<Vec<String>> {
    let directory = root().join("examples");
    let single_source = directory.join("single_source");
    let entries = std::fs::read_dir(&directory)
        .with_context(|| format!("the directory {} cannot be read", directory.display()))?;
    let mut names: Vec<String> = entries
        .flatten()
        .filter(|entry| entry.path().join("Cargo.toml").exists() && entry.path() != single_source)
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    Ok(names)
}
