//! `./x fmt`, `./x clippy` and `./x doc`.

use crate::{backend, no_more_arguments, only_flag, workspace};
use anyhow::Result;
use std::process::ExitCode;

/// `./x fmt`: formats the sources, or checks that they are formatted.
pub fn fmt(mut parser: lexopt::Parser) -> Result<ExitCode> {
    let check = only_flag(&mut parser, "check")?;
    let mut command = workspace::cargo();
    command.arg("fmt").args(manifest()).arg("--all");
    if check {
        command.arg("--check");
    }
    workspace::become_command(&mut command, "cargo")
}

/// `./x clippy`: runs clippy on the workspace, with warnings as errors.
pub fn clippy(mut parser: lexopt::Parser) -> Result<ExitCode> {
    no_more_arguments(&mut parser)?;
    let mut command = backend::cargo_with_backend()?;
    command
        .arg("clippy")
        .args(manifest())
        .args(["--workspace", "--all-targets", "--keep-going"]);
    command.args(["--", "-D", "warnings"]);
    // Skips the published crates' kernels.
    command.env("CRATE_TESTS", "none");
    workspace::become_command(&mut command, "cargo")
}

/// `./x doc`: builds the documentation, with warnings as errors.
pub fn doc(mut parser: lexopt::Parser) -> Result<ExitCode> {
    let open = only_flag(&mut parser, "open")?;
    let mut command = backend::cargo_with_backend()?;
    command
        .arg("doc")
        .args(manifest())
        .args(["--workspace", "--no-deps"]);
    command.env("RUSTDOCFLAGS", "-D warnings");
    if open {
        command.arg("--open");
    }
    workspace::become_command(&mut command, "cargo")
}

fn manifest() -> [String; 2] {
    let path = workspace::root().join("Cargo.toml");
    ["--manifest-path".to_owned(), path.display().to_string()]
}
