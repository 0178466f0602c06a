//! The Rust kernels return the CPU's results, at small sizes on the emulator.

use std::process::Command;

#[test]
fn results_are_the_cpus() {
    let output = Command::new(env!("CARGO_BIN_EXE_bench-suite"))
        .arg("--small")
        .env("CUST_DEVICE", "emulator")
        .output()
        .expect("the suite starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let text = String::from_utf8_lossy(&output.stdout);
    // Each benchmark prints its result, and there is no filter.
    assert!(text.matches(": right").count() >= 20, "{text}");
}
