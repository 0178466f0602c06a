//! Some random programs, the same every time. `./x fuzz` runs others, and any number of them.

use std::process::Command;

#[test]
fn the_first_seeds_do_not_differ() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fuzz"));
    if std::env::var_os("CUST_DEVICE").is_none() {
        command.env("CUST_DEVICE", "emulator");
    }
    let output = command
        .args(["--seed", "1", "--count", "24", "--no-shrink"])
        .output()
        .expect("the generator starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.ends_with("24 programs, 0 differ\n"),
        "{said}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
