//! `./x ci`, `./x check` and `./x bless`: everything that CI runs, a quick check before a commit,
//! and the tests that write their expected output.

use crate::{backend, no_more_arguments, remaining, workspace};
use anyhow::Result;
use std::process::{Command, ExitCode};
use std::time::Instant;

/// `./x ci`: what continuous integration runs.
pub fn ci(mut parser: lexopt::Parser) -> Result<ExitCode> {
    no_more_arguments(&mut parser)?;
    let mut command = Command::new("bash");
    command.arg(workspace::root().join(".ci/run"));
    workspace::become_command(&mut command, "bash")
}

/// Packages that compile quickly, without the backend and without kernels.
const QUICK: [&str; 11] = [
    "cuda_builder",
    "cuda_std_macros",
    "cuda_toolkit",
    "cust_core",
    "cust_derive",
    "cust_raw",
    "libnvvm-sys",
    "nvvm",
    "nvvm_ir",
    "ptx",
    "xtask",
];

/// Packages whose libraries are checked, and whose tests take longer.
const CHECKED: [&str; 3] = ["cuda_std", "cust", "ptx_emulator"];

/// `./x check`: format, lints and unit tests of the crates that compile quickly.
pub fn check(mut parser: lexopt::Parser) -> Result<ExitCode> {
    no_more_arguments(&mut parser)?;
    let began = Instant::now();
    let mut format = workspace::cargo();
    format.args(["fmt", "--all", "--check"]);
    let mut quick = clippy(&QUICK, &["--all-targets"]);
    let mut libraries = clippy(&CHECKED, &["--lib"]);
    let mut tests = in_workspace("test", &QUICK);
    tests.args(["--quiet", "--lib", "--bins"]);
    for (command, what) in [
        (&mut format, "cargo fmt"),
        (&mut quick, "clippy"),
        (&mut libraries, "clippy of the libraries"),
        (&mut tests, "unit tests"),
    ] {
        command.current_dir(workspace::root());
        workspace::must_succeed(command, what)?;
    }
    println!("checked in {:.1} s", began.elapsed().as_secs_f64());
    Ok(ExitCode::SUCCESS)
}

/// Clippy with warnings as errors.
fn clippy(packages: &[&str], targets: &[&str]) -> Command {
    let mut command = in_workspace("clippy", packages);
    command
        .args(targets)
        .args(["--quiet", "--", "-D", "warnings"]);
    command
}

fn in_workspace(subcommand: &str, packages: &[&str]) -> Command {
    let mut command = workspace::cargo();
    command
        .arg(subcommand)
        .arg("--manifest-path")
        .arg(workspace::root().join("Cargo.toml"));
    for package in packages {
        command.args(["--package", package]);
    }
    command
}

/// `./x bless`: runs the tests with expected output, and writes it. With a filter only the UI tests
/// whose name contains it.
pub fn bless(mut parser: lexopt::Parser) -> Result<ExitCode> {
    let filter = remaining(&mut parser)?;
    let test = |arguments: &[&str], variable: &str, value: &str| -> Result<Command> {
        let mut command = backend::cargo_with_backend()?;
        command
            .arg("test")
            .arg("--manifest-path")
            .arg(workspace::root().join("Cargo.toml"))
            .args(arguments)
            .env(variable, value);
        Ok(command)
    };
    let mut commands = vec![test(&["--package", "ui-tests"], "BLESS", "1")?];
    if filter.is_empty() {
        let ui = ["--package", "cust", "--test", "ui"];
        commands.push(test(&ui, "TRYBUILD", "overwrite")?);
        let functions = ["--package", "cust", "--test", "driver_api"];
        commands.push(test(&functions, "BLESS", "1")?);
        let table = ["--package", "cuda_std", "--test", "table"];
        commands.push(test(&table, "BLESS", "1")?);
    }
    for mut command in commands {
        command.arg("--").args(&filter);
        workspace::must_succeed(&mut command, "cargo test")?;
    }
    Ok(ExitCode::SUCCESS)
}
