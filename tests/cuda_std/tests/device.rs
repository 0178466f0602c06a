//! The test harness. It accepts the arguments of a Rust test binary. The device is the GPU if there
//! is one, otherwise the emulator; `CUST_DEVICE` overrides this.

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = libtest_mimic::Arguments::from_args();
    if !arguments.list {
        match cuda_std_tests::session() {
            Ok(session) => println!("running on {}", session.name),
            Err(error) => println!("{}", error.message().unwrap_or("no device")),
        }
    }
    libtest_mimic::run(&arguments, cuda_std_tests::trials()).exit_code()
}
