//! `./x conformance`: runs the standard library's own tests, compiled for the device, with the
//! package in `tests/conformance`.

use crate::{backend, remaining, workspace};
use anyhow::Result;
use std::process::ExitCode;

/// Runs the command.
pub fn conformance(mut parser: lexopt::Parser) -> Result<ExitCode> {
    let arguments = remaining(&mut parser)?;
    let mut command = backend::cargo_with_backend()?;
    command
        .args(["run", "--quiet", "--release", "--manifest-path"])
        .arg(workspace::root().join("Cargo.toml"))
        .args(["--package", "conformance", "--"])
        .args(arguments);
    workspace::become_command(&mut command, "cargo")
}
