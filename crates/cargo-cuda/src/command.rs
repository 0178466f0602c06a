//! The commands of `cargo cuda`.

use crate::consent::Consent;
use crate::{
    backend, cache, completions, doctor, flags, inspect, list, options, project, report, run,
    sysroot, wrapper,
};
use anyhow::{Context, Result, bail};
use cuda_builder::TOOLCHAIN;
use cuda_builder::internal::{Toolchain, prebuilt_backend};
use cuda_toolkit::{Origin, Part, Toolkit};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// How a command runs.
#[derive(Clone, Copy)]
enum Runs {
    /// Without the toolchain. The second item is its help.
    Alone(fn(Vec<OsString>) -> Result<ExitCode>, &'static str),
    /// With the toolchain.
    WithToolchain(fn(&Toolchain, Vec<OsString>) -> Result<ExitCode>),
    /// With the prerequisites of a build, if the command builds. The second item is its help.
    Own(
        fn(&Session, Vec<OsString>) -> Result<ExitCode>,
        &'static str,
    ),
    /// As the command of cargo that has the same name.
    Cargo(Needs),
}

/// The prerequisites of a cargo command besides the toolchain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Needs {
    Nothing,
    /// The standard library with MIR, the backend and libnvvm.
    Backend,
}

struct Entry {
    name: &'static str,
    arguments: &'static str,
    help: &'static str,
    runs: Runs,
}

/// All commands.
const COMMANDS: &[Entry] = &[
    Entry {
        name: "new",
        arguments: "NAME [--path REPOSITORY]",
        help: "Create a package with a kernel and a program that launches it",
        runs: Runs::WithToolchain(project::new),
    },
    Entry {
        name: "init",
        arguments: "[--path REPOSITORY]",
        help: "Prepare the package in this directory, so that plain `cargo run` works",
        runs: Runs::WithToolchain(project::init),
    },
    Entry {
        name: "run",
        arguments: "[ARGS]",
        help: "Build and run a program; all ARGS go to `cargo run`",
        runs: Runs::Cargo(Needs::Backend),
    },
    Entry {
        name: "test",
        arguments: "[ARGS]",
        help: "Run the tests, as `cargo test` does",
        runs: Runs::Cargo(Needs::Backend),
    },
    Entry {
        name: "bench",
        arguments: "[ARGS]",
        help: "Run the benchmarks, as `cargo bench` does",
        runs: Runs::Cargo(Needs::Backend),
    },
    Entry {
        name: "build",
        arguments: "[ARGS]",
        help: "Build, as `cargo build` does",
        runs: Runs::Cargo(Needs::Backend),
    },
    Entry {
        name: "check",
        arguments: "[ARGS]",
        help: "Check without generating code, as `cargo check` does",
        runs: Runs::Cargo(Needs::Nothing),
    },
    Entry {
        name: "clippy",
        arguments: "[ARGS]",
        help: "Run clippy, as `cargo clippy` does",
        runs: Runs::Cargo(Needs::Nothing),
    },
    Entry {
        name: "doc",
        arguments: "[ARGS]",
        help: "Build the documentation, as `cargo doc` does",
        runs: Runs::Cargo(Needs::Nothing),
    },
    Entry {
        name: "list",
        arguments: "[FILE…]",
        help: "List the kernels and statics that programs carry",
        runs: Runs::Own(list::list, list::HELP),
    },
    Entry {
        name: "inspect",
        arguments: "[NAME]",
        help: "Print the PTX, machine code, NVVM IR or MIR of a function beside its source",
        runs: Runs::Own(inspect::inspect, inspect::HELP),
    },
    Entry {
        name: "report",
        arguments: "[KERNEL…]",
        help: "Report registers, spills, occupancy, and the checks left in loops",
        runs: Runs::Own(report::report, report::HELP),
    },
    Entry {
        name: "sanitize",
        arguments: "[-- ARGS]",
        help: "Run a program under compute-sanitizer, or on the emulator",
        runs: Runs::Own(run::sanitize, run::SANITIZE),
    },
    Entry {
        name: "profile",
        arguments: "[-- ARGS]",
        help: "Run a program under Nsight Systems or Nsight Compute",
        runs: Runs::Own(run::profile, run::PROFILE),
    },
    Entry {
        name: "debug",
        arguments: "[-- ARGS]",
        help: "Run a program under cuda-gdb",
        runs: Runs::Own(run::debug, run::DEBUG),
    },
    Entry {
        name: "clean",
        arguments: "[ARGS | --cache]",
        help: "Remove the target directory as `cargo clean` does, or the user's cache",
        runs: Runs::Cargo(Needs::Nothing),
    },
    Entry {
        name: "doctor",
        arguments: "",
        help: "Report what is installed, and what to do about what is missing",
        runs: Runs::Alone(doctor::doctor, doctor::HELP),
    },
    Entry {
        name: "completions",
        arguments: "SHELL",
        help: "Print a script that completes commands in bash, zsh or fish",
        runs: Runs::Alone(completions_of_all, completions::HELP),
    },
];

/// Whether the arguments are those of the subcommand. Otherwise they are a call of a rustc wrapper,
/// whose first argument is a program.
pub fn is_command(arguments: &[OsString]) -> bool {
    let Some(first) = arguments.first() else {
        return true;
    };
    let first = first.to_string_lossy();
    first == "cuda"
        || first == "help"
        || first.starts_with('-')
        || COMMANDS.iter().any(|entry| entry.name == first)
}

/// The subcommand's arguments.
#[derive(Debug, PartialEq, Eq)]
struct Parsed {
    yes: bool,
    /// None for the help.
    name: Option<String>,
    rest: Vec<OsString>,
}

fn parse(mut arguments: Vec<OsString>) -> Result<Parsed> {
    use lexopt::prelude::*;
    if arguments.first().is_some_and(|first| first == "cuda") {
        arguments.remove(0);
    }
    let mut parser = lexopt::Parser::from_args(arguments);
    let mut yes = false;
    let name = loop {
        match parser.next()? {
            Some(Short('y') | Long("yes")) => yes = true,
            Some(Value(name)) => break Some(name.string()?),
            None | Some(Short('h') | Long("help")) => break None,
            Some(other) => return Err(other.unexpected().into()),
        }
    };
    // Not parsed: it is cargo's.
    let rest = parser.raw_args()?.collect();
    let name = name.filter(|name| name != "help");
    Ok(Parsed { yes, name, rest })
}

/// Runs the subcommand.
///
/// # Errors
///
/// Returns the error of the command, or an error for an unknown command.
pub fn run(arguments: Vec<OsString>) -> Result<ExitCode> {
    let none = arguments.is_empty() || arguments == ["cuda"];
    let Parsed { yes, name, rest } = parse(arguments)?;
    let Some(name) = name else {
        print!("{}", help());
        return Ok(if none {
            ExitCode::FAILURE
        } else {
            ExitCode::SUCCESS
        });
    };
    let Some(entry) = COMMANDS.iter().find(|entry| entry.name == name) else {
        bail!("unknown command `{name}`\n\n{}", help());
    };
    let consent = Consent {
        yes,
        command: entry.name,
    };
    if name == "clean" && rest.iter().any(|argument| argument == "--cache") {
        if let Some(other) = rest.iter().find(|argument| *argument != "--cache") {
            bail!(
                "unexpected argument `{}` beside `--cache`\n\
                 help: `cargo cuda clean` without `--cache` passes its arguments to `cargo clean`",
                other.display()
            );
        }
        cache::clear()?;
        return Ok(ExitCode::SUCCESS);
    }
    let needs = match entry.runs {
        Runs::Alone(_, help) if wants_help(&rest) => {
            print!("{help}");
            return Ok(ExitCode::SUCCESS);
        }
        Runs::Own(_, help) if wants_help(&rest) => {
            print!("{help}\n{}", options::HELP);
            return Ok(ExitCode::SUCCESS);
        }
        Runs::Alone(run, _) => return run(rest),
        Runs::WithToolchain(run) => return run(&toolchain(consent, Needs::Backend)?, rest),
        Runs::Own(run, _) => {
            let toolchain = toolchain(consent, Needs::Backend)?;
            return run(&Session { toolchain, consent }, rest);
        }
        Runs::Cargo(needs) => needs,
    };
    let toolchain = toolchain(consent, needs)?;
    let mut command = Session { toolchain, consent }.cargo(needs)?;
    command.arg(entry.name).args(rest);
    wrapper::become_command(&mut command)
}

/// Whether the arguments of one of this program's commands ask for its help. What follows `--` is
/// for another program.
fn wants_help(arguments: &[OsString]) -> bool {
    let own = arguments.iter().take_while(|argument| *argument != "--");
    own.into_iter()
        .any(|argument| argument == "--help" || argument == "-h")
}

/// The prerequisites of the commands that build.
pub struct Session {
    /// The pinned toolchain.
    pub toolchain: Toolchain,
    consent: Consent,
}

impl Session {
    /// Returns cargo with all that a build of kernels beside host code needs.
    ///
    /// # Errors
    ///
    /// Returns an error if a prerequisite is missing and cannot be built or fetched.
    pub fn single_source(&self) -> Result<Command> {
        self.cargo(Needs::Backend)
    }

    fn cargo(&self, needs: Needs) -> Result<Command> {
        let mut command = cargo(&self.toolchain)?;
        if needs == Needs::Backend {
            sysroot::ensure(&self.toolchain.root)?;
            let backend = backend::ensure(&self.toolchain.root)?;
            if let Some(root) = libnvvm(&backend, self.consent)? {
                command.env(cuda_toolkit::ENVIRONMENT[0], root);
            }
        }
        Ok(command)
    }
}

/// `cargo cuda completions`.
fn completions_of_all(arguments: Vec<OsString>) -> Result<ExitCode> {
    let items: Vec<completions::Item> = (COMMANDS.iter())
        .map(|entry| completions::Item {
            name: entry.name,
            purpose: entry.help,
            options: match entry.runs {
                Runs::Own(_, help) => {
                    let own = completions::options_of(help).into_iter();
                    own.chain(completions::options_of(options::HELP)).collect()
                }
                Runs::Alone(_, help) => completions::options_of(help),
                Runs::WithToolchain(_) => vec!["--path".to_owned()],
                Runs::Cargo(_) => Vec::new(),
            },
        })
        .collect();
    completions::completions(arguments, &items)
}

fn help() -> String {
    let mut text = "Kernels beside host code: builds and runs crates that have both\n\n\
         Usage: cargo cuda [--yes] COMMAND\n\n"
        .to_owned();
    for entry in COMMANDS {
        let usage = format!("{} {}", entry.name, entry.arguments);
        text.push_str(&format!("  {:28} {}\n", usage.trim_end(), entry.help));
    }
    text.push_str("\n  -y, --yes                    Fetch what is missing without asking\n");
    text.push_str("\n`cargo cuda COMMAND --help` lists the options of a command.\n");
    text
}

/// Finds the pinned toolchain, or installs it, with the components that the backend is built with if
/// the command needs them.
fn toolchain(consent: Consent, needs: Needs) -> Result<Toolchain> {
    use cuda_builder::Error;
    let find = || -> Result<Toolchain, Error> {
        let mut toolchain = Toolchain::find()?;
        if needs == Needs::Backend && prebuilt_backend()?.is_none() {
            toolchain.require("rustc-dev", "lib/rustlib/rustc-src")?;
        }
        if let Ok(root) = toolchain.root.canonicalize() {
            toolchain.root = root;
        }
        Ok(toolchain)
    };
    let problem = match find() {
        Ok(toolchain) => return Ok(toolchain),
        Err(Error::NoToolchain) => format!("the toolchain {TOOLCHAIN} is not installed"),
        Err(Error::NoComponent(component)) => {
            format!("the toolchain {TOOLCHAIN} lacks the component {component}")
        }
        Err(error) => return Err(error.into()),
    };
    consent.ask(&problem, "Install it with rustup (1.6 GB on disk)")?;
    let mut command = Command::new("rustup");
    command
        .args(["toolchain", "install", TOOLCHAIN, "--profile=minimal"])
        .args(["--no-self-update", "--component", project::COMPONENTS])
        .env_remove("RUSTUP_TOOLCHAIN")
        // Otherwise rustup prints its own backtrace with an error of the network.
        .env_remove("RUST_BACKTRACE");
    let status = command.status().context("cannot run `rustup`")?;
    if !status.success() {
        bail!(
            "rustup could not install the toolchain; its message is above\nhelp: on a machine \
             without a connection, unpack a distribution and set RUST_NVVM_DIST to its directory"
        );
    }
    Ok(find()?)
}

/// Cargo of the pinned toolchain, which calls the wrappers.
fn cargo(toolchain: &Toolchain) -> Result<Command> {
    let me = std::env::current_exe().context("cannot find the path of this program")?;
    let rustdoc = format!("cuda-rustdoc{}", std::env::consts::EXE_SUFFIX);
    let mut command = Command::new(toolchain.cargo());
    let wrapper = std::env::var_os("RUSTC_WRAPPER").filter(|it| !it.is_empty() && me != **it);
    if let Some(wrapper) = wrapper
        && std::env::var_os(wrapper::INNER).is_none()
    {
        command.env(wrapper::INNER, wrapper);
    }
    command
        // The outer cargo's.
        .env_remove("CARGO")
        .env("RUSTUP_TOOLCHAIN", TOOLCHAIN)
        .env("RUSTC", toolchain.rustc())
        .env("RUSTC_WRAPPER", &me)
        .env("RUSTDOC", me.with_file_name(rustdoc))
        .envs(flags::HOST_TABLE);
    if !project::has_host_flags() {
        command.env(flags::HOST_FLAGS, flags::build_time());
    }
    Ok(command)
}

/// Searches for libnvvm and the other parts: in the usual directories, then where the backend
/// searches and in the user's cache.
///
/// # Errors
///
/// Returns an error if a part is missing and is not fetched.
pub fn toolkit(backend: Option<&Path>) -> Result<Toolkit> {
    let mut extra: Vec<PathBuf> = backend.and_then(beside).into_iter().collect();
    extra.push(cache::root()?.join("cuda"));
    Ok(cuda_toolkit::find(&extra))
}

/// The directory `cuda` near the backend, in which the backend searches.
fn beside(backend: &Path) -> Option<PathBuf> {
    let mut directories = backend
        .ancestors()
        .skip(1)
        .map(|directory| directory.join("cuda"));
    directories.find(|directory| directory.is_dir())
}

/// Finds libnvvm and libdevice, or fetches them. Returns a value for `CUDA_HOME` if the backend
/// would not find them by itself.
fn libnvvm(backend: &Path, consent: Consent) -> Result<Option<PathBuf>> {
    let missing = |toolkit: &Toolkit| -> Vec<Part> {
        toolkit
            .missing()
            .filter(|&part| part != Part::Ptxas)
            .collect()
    };
    let mut found = toolkit(Some(backend))?;
    if !missing(&found).is_empty() {
        let directory = cache::root()?.join("cuda");
        consent.ask(
            "libnvvm, NVIDIA's compiler, was not found; CUDA_HOME can name a CUDA toolkit",
            &format!("Fetch it with pip into {}", directory.display()),
        )?;
        std::fs::create_dir_all(cache::root()?)?;
        cuda_toolkit::fetch(&missing(&found), &directory)?;
        found = toolkit(Some(backend))?;
        if let Some(part) = missing(&found).first() {
            bail!(
                "the packages that pip fetched do not contain {part}\nhelp: set CUDA_HOME to a CUDA toolkit"
            );
        }
    }
    let libnvvm = found.get(Part::Libnvvm);
    Ok(libnvvm
        .filter(|libnvvm| libnvvm.origin == Origin::Caller)
        .map(|libnvvm| libnvvm.root.clone())
        .filter(|root| beside(backend).as_ref() != Some(root)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn the_first_argument_tells_a_command_from_a_wrapped_program() {
        for text in ["cuda run", "cuda", "", "run", "--help", "cuda rnu", "help"] {
            assert!(is_command(&words(text)), "{text}");
        }
        for text in ["rustc -vV", "/t/bin/rustc -", "/t/bin/clippy-driver rustc"] {
            assert!(!is_command(&words(text)), "{text}");
        }
    }

    #[test]
    fn the_guide_lists_commands_and_options() {
        let page =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../guide/src/reference/cargo-cuda.md");
        let text = std::fs::read_to_string(page).unwrap();
        let has = |word: &str| {
            let ends = ["`", " "];
            (ends.iter()).any(|end| text.contains(&format!("`{word}{end}")))
        };
        for entry in COMMANDS {
            assert!(
                has(entry.name),
                "the guide lacks the command `{}`",
                entry.name
            );
            let help = match entry.runs {
                Runs::Own(_, help) => format!("{help}{}", options::HELP),
                Runs::Alone(_, help) => help.to_owned(),
                Runs::WithToolchain(_) | Runs::Cargo(_) => continue,
            };
            for option in completions::options_of(&help) {
                assert!(
                    has(&option),
                    "the guide lacks `{option}` of `{}`",
                    entry.name
                );
            }
        }
    }

    #[test]
    fn help_is_asked_for_before_the_programs_arguments() {
        assert!(wants_help(&words("--release --help")));
        assert!(wants_help(&words("-h")));
        assert!(!wants_help(&words("--release -- --help")));
    }

    #[test]
    fn what_follows_the_command_is_for_cargo() {
        let parsed = parse(words("cuda --yes run --yes --release -- --help")).unwrap();
        let expected = Parsed {
            yes: true,
            name: Some("run".to_owned()),
            rest: words("--yes --release -- --help"),
        };
        assert_eq!(parsed, expected);
        assert!(!parse(words("run -y")).unwrap().yes);
        assert_eq!(parse(words("cuda --help run")).unwrap().name, None);
        assert_eq!(parse(words("cuda help")).unwrap().name, None);
        assert!(parse(words("cuda --no run")).is_err());
    }
}
