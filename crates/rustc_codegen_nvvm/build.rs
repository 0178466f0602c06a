//! Checks the compiler's version before the crate is compiled. A backend builds only against the
//! compiler whose internals it uses; any other compiler produces hundreds of errors that do not
//! name the cause.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

/// The toolchain that `rust-toolchain.toml` names.
const TOOLCHAIN: &str = "nightly-2026-10-28";
/// The commit that its compiler was built from.
const COMMIT: &str = "41089d07a0a2afc16adfe28a760d94d73d7298a4";
/// The components that the toolchain needs in addition to the default ones.
const COMPONENTS: &str = "rustc-dev rust-src llvm-tools";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=RUSTC");
    if let Err(problem) = check_compiler() {
        println!("cargo::error={problem}");
        println!(
            "cargo::error=install it: rustup toolchain install {TOOLCHAIN} --profile minimal -c {}",
            COMPONENTS.replace(' ', ",")
        );
        println!(
            "cargo::error=then build without `+toolchain` and without RUSTUP_TOOLCHAIN, so that \
             rust-toolchain.toml chooses it"
        );
    }
}

fn check_compiler() -> Result<(), String> {
    let version = rustc(&["-vV"])?;
    let field = |name: &str| {
        version
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
            .map(str::trim)
    };
    let commit = field("commit-hash").unwrap_or("unknown");
    if commit != COMMIT {
        return Err(format!(
            "rustc_codegen_nvvm needs the compiler of {TOOLCHAIN}, commit {COMMIT}; this is {}, \
             commit {commit}",
            version.lines().next().unwrap_or("an unknown compiler"),
        ));
    }
    let host = field("host").ok_or("`rustc -vV` names no host")?;
    let sysroot = rustc(&["--print", "sysroot"])?;
    let libraries = Path::new(sysroot.trim())
        .join("lib/rustlib")
        .join(host)
        .join("lib");
    if has_compiler_crates(&libraries) {
        Ok(())
    } else {
        Err(format!(
            "the component rustc-dev of {TOOLCHAIN} is not installed"
        ))
    }
}

/// Returns whether a toolchain's library directory contains the compiler's own crates. An
/// unreadable directory counts as containing them: the build itself then reports what is missing.
fn has_compiler_crates(libraries: &Path) -> bool {
    let Ok(entries) = fs::read_dir(libraries) else {
        return true;
    };
    entries.flatten().any(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        name.starts_with("librustc_middle-") && name.ends_with(".rmeta")
            || name.starts_with("librustc_driver-") && name.ends_with(".rmeta")
    })
}

fn rustc(args: &[&str]) -> Result<String, String> {
    let rustc = env::var_os("RUSTC").ok_or("cargo sets no RUSTC")?;
    let output = Command::new(&rustc)
        .args(args)
        .output()
        .map_err(|err| format!("cannot run `{}`: {err}", rustc.display()))?;
    if !output.status.success() {
        return Err(format!(
            "`{} {}` failed: {}",
            rustc.display(),
            args.join(" "),
            String::from_utf8_lossy(&output.stderr).trim()
        ));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
