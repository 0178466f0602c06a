//! `./x run NAME`: builds the backend and an example, and runs it.

use crate::{backend, remaining, workspace};
use anyhow::{Result, bail};
use std::ffi::OsString;
use std::process::ExitCode;

/// Runs the command.
pub fn run(mut parser: lexopt::Parser) -> Result<ExitCode> {
    use lexopt::prelude::*;
    let mut name = None;
    let mut debug = false;
    let mut arguments: Vec<OsString> = Vec::new();
    while let Some(argument) = parser.next()? {
        match argument {
            Long("debug") => debug = true,
            Long("release") => debug = false,
            Value(value) if name.is_none() => name = Some(value.string()?),
            // After the name, unknown arguments belong to the example.
            Value(value) => {
                arguments.push(value);
                arguments.extend(remaining(&mut parser)?);
            }
            other => return Err(other.unexpected().into()),
        }
    }
    let examples = workspace::examples()?;
    let Some(name) = name else {
        bail!("no example given, expected one of {}", examples.join(", "));
    };
    if !examples.contains(&name) {
        bail!(
            "unknown example `{name}`, expected one of {}",
            examples.join(", ")
        );
    }
    let mut command = backend::cargo_with_backend()?;
    command
        .arg("run")
        .arg("--manifest-path")
        .arg(workspace::root().join("Cargo.toml"));
    command.arg("--package").arg(format!("example-{name}"));
    if !debug {
        command.arg("--release");
    }
    command.arg("--").args(arguments);
    workspace::become_command(&mut command, "cargo")
}
