//! The cargo subcommand and the wrapper of rustc.

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let result = if cargo_cuda::command::is_command(&arguments) {
        cargo_cuda::command::run(arguments)
    } else {
        cargo_cuda::wrapper::rustc(&arguments)
    };
    result.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}
