//! `./x fmt`, `./x clippy` and `./x doc`.

use crate::test::SINGLE_SOURCE_PROGRAMS;
use crate::{backend, no_more_arguments, only_flag, workspace};
use anyhow::Result;
use std::process::ExitCode;

/// `./x fmt`: formats the sources, or checks that they are formatted.
pub fn fmt(mut parser: lexopt::Parser) -> Result<ExitCode> {
    let check = only_flag(&mut parser, "check")?;
    let format = |manifest: [String; 2]| {
        let mut command = workspace::cargo();
        command.arg("fmt").args(manifest).arg("--all");
        if check {
            command.arg("--check");
        }
        command
    };
    workspace::must_succeed(&mut format(single_source()), SINGLE_SOURCE)?;
    let programs = manifest_of(SINGLE_SOURCE_PROGRAMS);
    workspace::must_succeed(&mut format(programs), "the format of tests/single_source")?;
    workspace::become_command(&mut format(manifest()), "cargo")
}

/// `./x clippy`: runs clippy on the workspace, with warnings as errors.
pub fn clippy(mut parser: lexopt::Parser) -> Result<ExitCode> {
    no_more_arguments(&mut parser)?;
    // Without the wrapper of rustc, as the kernels of two crates are looked at.
    let mut command = workspace::cargo();
    command
        .arg("clippy")
        .args(single_source())
        .arg("--all-targets")
        .arg("--target-dir")
        .arg(workspace::target())
        .args(["--", "-D", "warnings"]);
    workspace::must_succeed(&mut command, SINGLE_SOURCE)?;
    let mut command = backend::cargo_with_backend()?;
    command
        .arg("clippy")
        .args(manifest())
        .args(["--workspace", "--all-targets", "--keep-going"]);
    // Their dependencies, 60 published crates, would be checked for these two alone.
    for package in ["crate-tests", "crate-tests-kernels"] {
        command.args(["--exclude", package]);
    }
    command.args(["--", "-D", "warnings"]);
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

const SINGLE_SOURCE: &str = "the check of examples/single_source";

fn manifest() -> [String; 2] {
    manifest_of("Cargo.toml")
}

/// The package that is not of the workspace.
fn single_source() -> [String; 2] {
    manifest_of("examples/single_source/Cargo.toml")
}

fn manifest_of(path: &str) -> [String; 2] {
    let path = workspace::root().join(path);
    ["--manifest-path".to_owned(), path.display().to_string()]
}
