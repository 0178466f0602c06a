//! `cargo cuda sanitize`, `profile` and `debug`: run a program under a tool of NVIDIA's.

use crate::artifacts::{self, Project};
use crate::command::Session;
use crate::doctor;
use crate::options::{self, Argument, Selection};
use crate::tools::{self, Tool};
use crate::wrapper;
use anyhow::{Result, bail};
use lexopt::ValueExt;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// The help of `sanitize`.
pub const SANITIZE: &str = "\
Run a program under compute-sanitizer, or on the emulator

Usage: cargo cuda sanitize [--tool TOOL] [-- ARGS]

With a GPU and compute-sanitizer, the program runs under it. Otherwise it runs on the emulator, which
checks all accesses to memory, barriers and instructions. ARGS are the program's.

  --tool TOOL      memcheck (the default), racecheck, initcheck or synccheck
  --option OPTION  Pass an option to compute-sanitizer; repeatable
  --emulator       Use the emulator although there is a GPU
";

/// The help of `profile`.
pub const PROFILE: &str = "\
Run a program under Nsight Systems or Nsight Compute

Usage: cargo cuda profile [--with nsys|ncu] [--option OPTION]… [-- ARGS]

The command builds the release profile, with line tables. ARGS are the program's.

  --with nsys      Record the timeline of kernels, copies and calls (the default)
  --with ncu       Measure each kernel
  --option OPTION  Pass an option to the profiler, such as `--option=--set=full`; repeatable
";

/// The help of `debug`.
pub const DEBUG: &str = "\
Run a program under cuda-gdb

Usage: cargo cuda debug [--option OPTION]… [-- ARGS]

The command builds the dev profile, with kernels beside host code unoptimized. ARGS are the program's.

  --option OPTION  Pass an option to cuda-gdb; repeatable
";

/// The emulator's checks.
const CHECKS: &str = "accesses outside of allocations, misaligned accesses, deadlocks at barriers and \
                      misuse of instructions; it does not detect data races or uninitialized reads";

/// The tools of compute-sanitizer.
const SANITIZERS: [&str; 4] = ["memcheck", "racecheck", "initcheck", "synccheck"];

/// The arguments of a command that runs a program.
#[derive(Debug, Default, PartialEq, Eq)]
struct Arguments {
    selection: Selection,
    /// The options of the tool.
    options: Vec<OsString>,
    /// The value of `--tool` or `--with`.
    tool: Option<String>,
    emulator: bool,
    /// The arguments of the program.
    program: Vec<OsString>,
}

fn parse(command: &str, mut arguments: Vec<OsString>) -> Result<Arguments> {
    let mut parsed = Arguments::default();
    if let Some(at) = arguments.iter().position(|argument| argument == "--") {
        parsed.program = arguments.split_off(at + 1);
        arguments.pop();
    }
    let mut parser = lexopt::Parser::from_args(arguments);
    while let Some(argument) = options::next(&mut parser)? {
        let Argument::Option(option) = &argument else {
            return options::unexpected(command, &argument);
        };
        match (command, option.as_str()) {
            ("sanitize", "--tool") | ("profile", "--with") => {
                parsed.tool = Some(parser.value()?.string()?);
            }
            ("sanitize", "--emulator") => parsed.emulator = true,
            (_, "--option") => parsed.options.push(parser.value()?),
            _ if parsed.selection.take(&argument, &mut parser)? => {}
            _ => return options::unexpected(command, &argument),
        }
    }
    Ok(parsed)
}

/// Builds the program.
fn build(session: &Session, arguments: &Arguments, release: bool) -> Result<PathBuf> {
    let project = Project::find(session, &arguments.selection)?;
    let options = artifacts::Options {
        release,
        ..artifacts::Options::default()
    };
    let built = artifacts::build(session, &project, &arguments.selection, &options)?;
    built.executable().map(PathBuf::from)
}

/// Runs `cargo cuda sanitize`.
///
/// # Errors
///
/// Returns an error for wrong arguments, if the build fails, or if the tool is not installed.
pub fn sanitize(session: &Session, arguments: Vec<OsString>) -> Result<ExitCode> {
    let arguments = parse("sanitize", arguments)?;
    let tool = arguments.tool.as_deref().unwrap_or(SANITIZERS[0]);
    if !SANITIZERS.contains(&tool) {
        bail!(
            "compute-sanitizer has no tool `{tool}`\nhelp: its tools are {}",
            SANITIZERS.join(", ")
        );
    }
    let sanitizer = match (arguments.emulator, doctor::gpus()) {
        (true, _) => Err("`--emulator` is given".to_owned()),
        (false, Err(reason)) => Err(format!("there is no GPU: {reason}")),
        (false, Ok(_)) => match tools::SANITIZER.find() {
            Ok(path) => Ok(path),
            Err(error) => Err(format!("{error}")),
        },
    };
    if let Err(reason) = &sanitizer {
        if matches!(tool, "racecheck" | "initcheck") {
            bail!("`--tool {tool}` needs compute-sanitizer and a GPU: {reason}");
        }
        if !arguments.options.is_empty() {
            bail!("`--option` is for compute-sanitizer, which is not used: {reason}");
        }
    }
    let program = build(session, &arguments, false)?;
    let mut command = match sanitizer {
        Ok(path) => {
            let mut command = Command::new(path);
            command.args(["--tool", tool, "--error-exitcode", "1"]);
            command.args(&arguments.options).arg(&program);
            command
        }
        Err(reason) => {
            eprintln!("note: the program runs on the emulator, because {reason}");
            eprintln!("note: the emulator checks for {CHECKS}");
            let mut command = Command::new(&program);
            command.env("CUST_DEVICE", "emulator");
            command
        }
    };
    command.args(&arguments.program);
    wrapper::become_command(&mut command)
}

/// Runs `cargo cuda profile`.
///
/// # Errors
///
/// Returns an error for wrong arguments, if the build fails, or if the tool is not installed.
pub fn profile(session: &Session, arguments: Vec<OsString>) -> Result<ExitCode> {
    let arguments = parse("profile", arguments)?;
    let (tool, subcommand): (Tool, &[&str]) = match arguments.tool.as_deref() {
        None | Some("nsys") => (tools::NSYS, &["profile"]),
        Some("ncu") => (tools::NCU, &[]),
        Some(other) => bail!("unknown profiler `{other}`\nhelp: expected `nsys` or `ncu`"),
    };
    let path = tool.find()?;
    if let Err(reason) = doctor::gpus() {
        bail!("a profiler needs a GPU: {reason}\nhelp: `cargo cuda report` works without one");
    }
    let program = build(session, &arguments, true)?;
    let mut command = Command::new(path);
    command.args(subcommand).args(&arguments.options);
    command.arg(program).args(&arguments.program);
    wrapper::become_command(&mut command)
}

/// Runs `cargo cuda debug`.
///
/// # Errors
///
/// Returns an error for wrong arguments, if the build fails, or if the tool is not installed.
pub fn debug(session: &Session, arguments: Vec<OsString>) -> Result<ExitCode> {
    let arguments = parse("debug", arguments)?;
    let path = tools::CUDA_GDB.find()?;
    if let Err(reason) = doctor::gpus() {
        bail!(
            "cuda-gdb needs a GPU: {reason}\n\
             help: `cust::launch_cpu` runs kernels on the CPU, where a debugger of the host works"
        );
    }
    let project = Project::find(session, &arguments.selection)?;
    let unoptimized: [OsString; 2] = ["--cfg".into(), "nvvm_options=\"optimize=off\"".into()];
    let options = artifacts::Options {
        rustc: if project.two_crates {
            &[]
        } else {
            &unoptimized
        },
        ..artifacts::Options::default()
    };
    if project.two_crates {
        eprintln!(
            "note: `.opt_level(OptLevel::O0).debug_info(DebugInfo::Full)` in build.rs lets \
             cuda-gdb show variables of kernels"
        );
    }
    let built = artifacts::build(session, &project, &arguments.selection, &options)?;
    let mut command = Command::new(path);
    command.args(&arguments.options).arg("--args");
    command.arg(built.executable()?).args(&arguments.program);
    wrapper::become_command(&mut command)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn arguments_go_to_cargo_to_the_tool_and_to_the_program() {
        let text = "--with ncu --bin a --option=--set=full --release -- --with x -- y";
        let parsed = parse("profile", words(text)).unwrap();
        let expected = Arguments {
            selection: Selection {
                cargo: words("--bin a --release"),
                has_profile: true,
                ..Selection::default()
            },
            options: words("--set=full"),
            tool: Some("ncu".to_owned()),
            emulator: false,
            program: words("--with x -- y"),
        };
        assert_eq!(parsed, expected);
        for (command, text) in [
            ("debug", "--with nsys"),
            ("profile", "--tool memcheck"),
            ("profile", "--emulator"),
            ("sanitize", "program"),
            ("sanitize", "--tool"),
        ] {
            assert!(parse(command, words(text)).is_err(), "{command} {text}");
        }
    }
}
