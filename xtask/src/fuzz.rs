//! `./x fuzz`: compares random programs with the CPU. The default device is the emulator, which
//! needs no GPU and gives the same results everywhere; `--gpu` selects the GPU.

use crate::{backend, workspace};
use anyhow::Result;
use std::ffi::OsString;
use std::process::ExitCode;

/// Runs the command.
pub fn fuzz(mut parser: lexopt::Parser) -> Result<ExitCode> {
    let mut arguments: Vec<OsString> = crate::remaining(&mut parser)?;
    let given = arguments.len();
    arguments.retain(|argument| argument != "--gpu");
    let mut command = backend::cargo_with_backend()?;
    if arguments.len() == given {
        command.env("CUST_DEVICE", "emulator");
    }
    command
        .arg("run")
        .arg("--manifest-path")
        .arg(workspace::root().join("Cargo.toml"))
        .args(["--package", "fuzz", "--"])
        .args(arguments);
    workspace::become_command(&mut command, "cargo")
}
