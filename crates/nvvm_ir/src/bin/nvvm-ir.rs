//! `nvvm-ir`: verifies, transforms and prints modules from the command line, for tests and for
//! inspecting the compiler's dumps.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use lexopt::ValueExt;
use nvvm_ir::legalize::{Target, legalize};
use nvvm_ir::passes::{PASSES, pass};
use nvvm_ir::{Dialect, Module, VerifyError};

const USAGE: &str = "\
Verifies, transforms and prints NVVM IR.

usage: nvvm-ir verify FILE
       nvvm-ir print FILE [--dialect=DIALECT] [-o FILE]
       nvvm-ir opt FILE [--passes=PASS,PASS…] [--sm=N] [--dialect=DIALECT] [-o FILE]

`-` as FILE is standard input. Every command verifies its input, and `opt` also the result of each
pass.

options:
  --dialect=DIALECT  llvm7 or modern, by default modern
  --passes=PASSES    what to run, in this order (see below)
  --sm=N             the architecture that `legalize` is for, by default 120, or 90 in llvm7
  -o, --output=FILE  where to write, by default standard output
  -h, --help         this text

passes:
";

fn usage() -> String {
    let mut text = USAGE.to_owned();
    for pass in PASSES {
        text.push_str(&format!("  {:<26} {}\n", pass.name, pass.about));
    }
    text.push_str(&format!(
        "  {:<26} {}\n",
        "legalize", "rewrites operations and types that libnvvm or the dialect lacks"
    ));
    text
}

#[derive(Copy, Clone, PartialEq)]
enum Command {
    Verify,
    Print,
    Opt,
}

struct Options {
    command: Command,
    file: OsString,
    dialect: Dialect,
    passes: Vec<String>,
    sm: Option<u32>,
    output: Option<PathBuf>,
}

fn main() -> ExitCode {
    let options = match parse_args() {
        Ok(Some(options)) => options,
        Ok(None) => {
            print!("{}", usage());
            return ExitCode::SUCCESS;
        }
        Err(err) => {
            eprintln!("nvvm-ir: {err}\nTry `nvvm-ir --help`.");
            return ExitCode::from(2);
        }
    };
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{}", message.trim_end());
            ExitCode::FAILURE
        }
    }
}

/// Returns the options, or `None` if help was requested.
fn parse_args() -> Result<Option<Options>, lexopt::Error> {
    use lexopt::Arg::{Long, Short, Value};
    let mut parser = lexopt::Parser::from_env();
    let (mut command, mut file, mut output, mut sm) = (None, None, None, None);
    let mut dialect = Dialect::Modern;
    let mut passes = Vec::new();
    while let Some(arg) = parser.next()? {
        match arg {
            Short('h') | Long("help") => return Ok(None),
            Short('o') | Long("output") => output = Some(PathBuf::from(parser.value()?)),
            Long("dialect") => {
                dialect = parser.value()?.parse_with(|text| match text {
                    "llvm7" => Ok(Dialect::Llvm7),
                    "modern" => Ok(Dialect::Modern),
                    _ => Err("the dialects are llvm7 and modern"),
                })?;
            }
            Long("sm") => sm = Some(parser.value()?.parse()?),
            Long("passes") => {
                let list = parser.value()?.string()?;
                for name in list.split(',').filter(|name| !name.is_empty()) {
                    if name != "legalize" && pass(name).is_none() {
                        return Err(format!("there is no pass `{name}`").into());
                    }
                    passes.push(name.to_owned());
                }
            }
            Value(word) if command.is_none() => {
                command = Some(word.parse_with(|text| match text {
                    "verify" => Ok(Command::Verify),
                    "print" => Ok(Command::Print),
                    "opt" => Ok(Command::Opt),
                    _ => Err("the commands are verify, print and opt"),
                })?);
            }
            Value(word) if file.is_none() => file = Some(word),
            _ => return Err(arg.unexpected()),
        }
    }
    let (Some(command), Some(file)) = (command, file) else {
        return Err("a command and a file are needed".into());
    };
    if command != Command::Opt && (!passes.is_empty() || sm.is_some()) {
        return Err("--passes and --sm belong to `opt`".into());
    }
    if command == Command::Verify && output.is_some() {
        return Err("`verify` prints nothing".into());
    }
    Ok(Some(Options {
        command,
        file,
        dialect,
        passes,
        sm,
        output,
    }))
}

fn run(options: &Options) -> Result<(), String> {
    let name = options.file.to_string_lossy();
    let mut text = String::new();
    let read = match &*name {
        "-" => std::io::stdin().read_to_string(&mut text),
        _ => std::fs::File::open(&options.file).and_then(|mut file| file.read_to_string(&mut text)),
    };
    read.map_err(|err| format!("{name}: {err}"))?;
    let mut module = nvvm_ir::read_module(&text).map_err(|err| format!("{name}:{err}"))?;
    verified(&name, "", nvvm_ir::verify(&module))?;
    for pass_name in &options.passes {
        run_pass(&mut module, pass_name, options)?;
        let result = match pass_name.as_str() {
            "legalize" => nvvm_ir::verify_legalized(&module),
            _ => nvvm_ir::verify(&module),
        };
        verified(&name, &format!(" after {pass_name}"), result)?;
    }
    if options.command == Command::Verify {
        return Ok(());
    }
    let text = nvvm_ir::write_module(&module, options.dialect);
    let written = match &options.output {
        Some(path) => std::fs::write(path, text).map_err(|err| (path.display().to_string(), err)),
        None => std::io::stdout()
            .write_all(text.as_bytes())
            .map_err(|err| ("standard output".to_owned(), err)),
    };
    written.map_err(|(name, err)| format!("{name}: {err}"))
}

fn run_pass(module: &mut Module, name: &str, options: &Options) -> Result<(), String> {
    if let Some(pass) = pass(name) {
        (pass.run)(module);
        return Ok(());
    }
    let sm = options.sm.unwrap_or(match options.dialect {
        Dialect::Llvm7 => 90,
        Dialect::Modern => 120,
    });
    legalize(
        module,
        &Target {
            dialect: options.dialect,
            sm,
        },
    )
    .map_err(|errors| errors.iter().map(|err| format!("error: {err}\n")).collect())
}

fn verified(name: &str, when: &str, result: Result<(), Vec<VerifyError>>) -> Result<(), String> {
    result.map_err(|errors| {
        errors
            .iter()
            .map(|err| format!("{name}{when}: {err}\n"))
            .collect()
    })
}
