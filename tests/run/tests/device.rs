//! The harness of the device tests. It takes the arguments of any Rust test binary; the device is
//! the GPU where there is one, else the emulator, or what `CUST_DEVICE` says.

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(code) = device_tests::output::child() {
        return code;
    }
    let arguments = libtest_mimic::Arguments::from_args();
    if !arguments.list {
        match device_tests::session() {
            Ok(session) => println!("running on {}", session.name),
            Err(error) => println!("{}", error.message().unwrap_or("no device")),
        }
    }
    libtest_mimic::run(&arguments, device_tests::trials()).exit_code()
}
