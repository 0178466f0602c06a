//! The harness of the crates' tests. It takes the arguments of any Rust test binary; the device is
//! the GPU where there is one, else the emulator, or what `CUST_DEVICE` says.

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = libtest_mimic::Arguments::from_args();
    libtest_mimic::run(&arguments, crate_tests::trials()).exit_code()
}
