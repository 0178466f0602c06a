//! Passes the compiler's version to the crate, because the compiler chooses the layouts of some
//! types.

use std::env;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Not the variable RUSTC: cargo runs this script again for another version of the compiler, and
    // `cargo cuda` sets the variable where plain cargo does not.
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(rustc).arg("--version").output();
    let version = version.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let mut version = version.unwrap_or_default().trim().to_owned();
    // A compiler with this flag randomizes layouts differently for each crate graph.
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    if flags.contains("randomize-layout") {
        version += &format!(
            " with random layouts for {}",
            env::var("TARGET").unwrap_or_default()
        );
    }
    println!("cargo::rustc-env=CUST_CORE_COMPILER={version}");
}
