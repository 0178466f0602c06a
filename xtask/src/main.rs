//! The project's own commands, started by `./x`.
//!
//! [`COMMANDS`] is the table for dispatch and help; each command is a module. They share
//! `workspace` (paths, running cargo), `toolkit` (locates or fetches libnvvm, libdevice and ptxas)
//! and `backend`.

mod backend;
mod bench;
mod bundle;
mod check;
mod conformance;
mod dist;
mod doctor;
mod fuzz;
mod guide;
mod lint;
mod mutants;
mod package;
mod run;
mod test;
mod toolkit;
mod workspace;

use anyhow::{Result, bail};
use std::ffi::OsString;
use std::process::ExitCode;

/// A command: its name, its arguments and purpose for the help, and its function.
struct Command {
    name: &'static str,
    arguments: &'static str,
    help: &'static str,
    run: fn(lexopt::Parser) -> Result<ExitCode>,
}

/// All commands.
const COMMANDS: &[Command] = &[
    Command {
        name: "run",
        arguments: "NAME [--debug] [-- ARGS]",
        help: "Build an example with its kernels and run it, on the GPU or the emulator",
        run: run::run,
    },
    Command {
        name: "test",
        arguments: "[PACKAGE] [FILTER]",
        help: "Run all tests, or those of a package, or those whose name contains FILTER",
        run: test::test,
    },
    Command {
        name: "check",
        arguments: "",
        help: "Check the format, lints and quick unit tests, before a commit",
        run: check::check,
    },
    Command {
        name: "ci",
        arguments: "",
        help: "Run what CI runs: format, lints and all tests",
        run: check::ci,
    },
    Command {
        name: "bless",
        arguments: "[FILTER]",
        help: "Run the UI tests and write their expected output",
        run: check::bless,
    },
    Command {
        name: "conformance",
        arguments: "[--help] [PART ...]",
        help: "Run the standard library's own tests as device code",
        run: conformance::conformance,
    },
    Command {
        name: "fuzz",
        arguments: "[--seed N] [--count M]",
        help: "Compare random programs with the CPU; shrink and print those that differ",
        run: fuzz::fuzz,
    },
    Command {
        name: "doctor",
        arguments: "",
        help: "Report the prerequisites: location, version, and how to install missing ones",
        run: doctor::doctor,
    },
    Command {
        name: "bundle",
        arguments: "",
        help: "Pack device tests and examples into bundle/, to run on a machine without Rust",
        run: bundle::bundle,
    },
    Command {
        name: "dist",
        arguments: "",
        help: "Pack the compiler and the backend into target/dist, for users without rustup",
        run: dist::dist,
    },
    Command {
        name: "package",
        arguments: "[--verify]",
        help: "Package the public crates as for a release; with --verify, compile them",
        run: package::package,
    },
    Command {
        name: "bench",
        arguments: "[--bundle DIR] [--arch ARCH] [-- ARGS]",
        help: "Build the benchmarks and run them beside nvcc's, or pack them into DIR",
        run: bench::bench,
    },
    Command {
        name: "mutants",
        arguments: "[CRATE [NAME]] [--score]",
        help: "Plant mutations in a copy of the tree, and report which ones the tests detect",
        run: mutants::mutants,
    },
    Command {
        name: "fmt",
        arguments: "[--check]",
        help: "Format the sources, or check the format",
        run: lint::fmt,
    },
    Command {
        name: "clippy",
        arguments: "",
        help: "Run clippy on everything; warnings are errors",
        run: lint::clippy,
    },
    Command {
        name: "doc",
        arguments: "[--open]",
        help: "Build the documentation; warnings are errors",
        run: lint::doc,
    },
    Command {
        name: "guide",
        arguments: "[--open]",
        help: "Build the guide with mdBook",
        run: guide::guide,
    },
    Command {
        name: "build",
        arguments: "",
        help: "Build the backend and print its path, for RUSTC_CODEGEN_NVVM",
        run: backend::build_command,
    },
];

fn main() -> ExitCode {
    match dispatch() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch() -> Result<ExitCode> {
    use lexopt::prelude::*;
    let mut parser = lexopt::Parser::from_env();
    let name = match parser.next()? {
        None => {
            print!("{}", help());
            return Ok(ExitCode::FAILURE);
        }
        Some(Value(name)) => name.string()?,
        Some(Short('h') | Long("help")) => "help".to_owned(),
        Some(other) => return Err(other.unexpected().into()),
    };
    if name == "help" {
        print!("{}", help());
        return Ok(ExitCode::SUCCESS);
    }
    match COMMANDS.iter().find(|command| command.name == name) {
        Some(command) => (command.run)(parser),
        None => bail!("unknown command `{name}`\n\n{}", help()),
    }
}

fn help() -> String {
    let mut text = "Usage: ./x COMMAND\n\n".to_owned();
    for command in COMMANDS {
        let usage = format!("{} {}", command.name, command.arguments);
        text.push_str(&format!("  {usage:32} {}\n", command.help));
    }
    text
}

/// Returns an error if arguments remain.
fn no_more_arguments(parser: &mut lexopt::Parser) -> Result<()> {
    match parser.next()? {
        None => Ok(()),
        Some(argument) => Err(argument.unexpected().into()),
    }
}

/// Parses arguments that may only be the given flag. Returns whether it was given.
fn only_flag(parser: &mut lexopt::Parser, flag: &str) -> Result<bool> {
    let mut given = false;
    while let Some(argument) = parser.next()? {
        match argument {
            lexopt::Arg::Long(name) if name == flag => given = true,
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(given)
}

/// Returns the remaining arguments unparsed.
fn remaining(parser: &mut lexopt::Parser) -> Result<Vec<OsString>> {
    Ok(parser.raw_args()?.collect())
}
