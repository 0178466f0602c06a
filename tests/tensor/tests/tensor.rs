//! The harness. It takes the arguments of any Rust test binary; the device is the GPU where there is
//! one, else the emulator, or what `CUST_DEVICE` says.

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = libtest_mimic::Arguments::from_args();
    if !arguments.list {
        match tensor_tests::session() {
            Ok(session) => println!("running on {}", session.name),
            Err(error) => println!("{}", error.message().unwrap_or("no device")),
        }
    }
    libtest_mimic::run(&arguments, tensor_tests::trials()).exit_code()
}
