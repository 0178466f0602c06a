//! Writes the sources to compile to the target directory: the suites' files as links to those of
//! rust-src, and a package with a manifest.
//!
//! Only a suite's root is written anew: it gets the kernels of [`KERNELS`] behind its own text and
//! an attribute before it, on its first line, so that line numbers stay. The others are links,
//! unless an item of theirs has to be cut out (see `listed`).

use crate::listed::Cut;
use crate::parts;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};

/// A set of tests that is one crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Suite {
    /// The name in lists and tables.
    pub name: &'static str,
    /// The root, in rust-src's directory `library`.
    pub root: &'static str,
    /// Its entry in the table.
    pub what: &'static str,
}

/// All suites.
pub const SUITES: &[Suite] = &[
    Suite {
        name: "coretests",
        root: "coretests/tests/lib.rs",
        what: "`core`",
    },
    Suite {
        name: "alloctests",
        root: "alloctests/tests/lib.rs",
        what: "`alloc`",
    },
    Suite {
        name: "alloc_internals",
        root: "alloctests/lib.rs",
        what: "unit tests of `alloc`'s collections",
    },
];

/// The directories whose files the suites consist of.
const FOLDERS: &[&str] = &["coretests/tests", "alloctests", "alloc/src"];

/// A file of the package that names the sources of std's float methods.
pub const FLOATS: &str = "floats.rs";

/// The code before a root's: the name by which the kernel calls the harness.
const ATTRIBUTES: &str = "#![feature(custom_test_frameworks)] \
    #![feature(conformance_std)] #![reexport_test_harness_main = \"__conformance_main\"] ";

/// The code after a root's.
const KERNELS: &str = "
#[doc(hidden)]
pub mod __conformance {
    extern crate test;

    #[cuda_std::kernel]
    pub unsafe fn conformance_run(index: u32) {
        test::request(index, core::ptr::null_mut());
        crate::__conformance_main();
    }

    #[cuda_std::kernel]
    pub unsafe fn conformance_describe(index: u32, description: *mut test::Description) {
        test::request(index, description);
        crate::__conformance_main();
    }
}
";

/// Makes the package in a directory and returns its manifest.
pub fn lay_out(directory: &Path, library: &Path, cuts: &[Cut]) -> Result<PathBuf> {
    if !library.join("coretests").is_dir() {
        bail!(
            "there are no sources of the standard library in {}; rustup's component `rust-src` \
             has them",
            library.display()
        );
    }
    for part in FOLDERS {
        mirror(library, directory, Path::new(part), cuts)?;
    }
    if let Some(cut) = cuts.iter().find(|cut| !library.join(&cut.file).is_file()) {
        bail!("{} is listed as cut, but there is no such file", cut.file);
    }
    let manifest = directory.join("Cargo.toml");
    write(&manifest, &self::manifest(directory, library)?)?;
    write(&directory.join("empty.rs"), "#![no_std]\n")?;
    let floats: String = ["f16", "f32", "f64"]
        .iter()
        .map(|float| {
            let path = library.join(format!("std/src/num/{float}.rs"));
            format!(
                "#[path = {:?}]\npub mod {float};\n",
                path.display().to_string()
            )
        })
        .collect();
    write(&directory.join(FLOATS), &floats)?;
    Ok(manifest)
}

/// Links to all Rust files of a directory.
fn mirror(library: &Path, to: &Path, part: &Path, cuts: &[Cut]) -> Result<()> {
    let from = library.join(part);
    fs::create_dir_all(to.join(part))?;
    let entries =
        fs::read_dir(&from).with_context(|| format!("{} cannot be read", from.display()))?;
    for entry in entries {
        let part = part.join(entry?.file_name());
        let (source, target) = (library.join(&part), to.join(&part));
        if source.is_dir() {
            mirror(library, to, &part, cuts)?;
            continue;
        }
        let name = part.to_string_lossy().replace('\\', "/");
        let suite = SUITES.iter().find(|suite| suite.root == name);
        let divided = |text: &str| {
            SUITES
                .iter()
                .find_map(|suite| parts::divide(suite.name, suite.root, &name, text))
        };
        let cuts: Vec<&Cut> = cuts.iter().filter(|cut| cut.file == name).collect();
        if suite.is_none() && cuts.is_empty() && divided("").is_none() {
            link(&source, &target)?;
            continue;
        }
        let mut text = fs::read_to_string(&source)?;
        for cut in cuts {
            text = cut.apply(&text)?;
        }
        if let Some(divided) = divided(&text) {
            text = divided;
        }
        if suite.is_some() {
            text = format!("{ATTRIBUTES}{text}{KERNELS}");
        }
        write(&target, &text)?;
    }
    Ok(())
}

/// Makes a link, or a copy where the system has none.
fn link(source: &Path, target: &Path) -> Result<()> {
    if fs::read_link(target).is_ok_and(|old| old == source) {
        return Ok(());
    }
    let _ = fs::remove_file(target);
    #[cfg(unix)]
    std::os::unix::fs::symlink(source, target)?;
    #[cfg(not(unix))]
    fs::copy(source, target)?;
    Ok(())
}

/// Writes a file unless it has that content: cargo looks at the time of the last change.
fn write(path: &Path, text: &str) -> Result<()> {
    if fs::read_link(path).is_ok() {
        fs::remove_file(path)?;
    }
    if fs::read_to_string(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    fs::write(path, text).with_context(|| format!("{} cannot be written", path.display()))
}

/// The package's manifest. The crates that the tests use are those that rust-src brings.
fn manifest(directory: &Path, library: &Path) -> Result<String> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let ours = |part: &str| here.join(part).display().to_string();
    let mut vendored = String::new();
    for name in [
        "rand",
        "rand_core",
        "rand_xorshift",
        "hashbrown",
        "foldhash",
    ] {
        let path = vendored_crate(library, name)?;
        vendored += &format!("{name} = {{ path = {:?} }}\n", path.display().to_string());
    }
    let mut tests = String::new();
    // One for all parts of a suite: its name is in some tests' results.
    for suite in SUITES {
        tests += &format!(
            "[[test]]\nname = {:?}\npath = {:?}\n\n",
            suite.name,
            directory.join(suite.root).display().to_string()
        );
    }
    Ok(format!(
        r#"[package]
name = "conformance-suites"
version = "0.0.0"
edition = "2024"
autotests = false

[workspace]

[lib]
path = "empty.rs"

{tests}[dependencies]
std = {{ package = "conformance-std", path = {:?} }}
test = {{ package = "conformance-test", path = {:?} }}
cuda_std = {{ path = {:?} }}
rand = {{ version = "*", default-features = false, features = ["alloc"] }}
rand_xorshift = {{ version = "*", default-features = false }}

[patch.crates-io]
{vendored}
[profile.dev]
debug = "none"

[profile.release]
debug = "none"
"#,
        ours("device/std"),
        ours("device/test"),
        ours("../../crates/cuda_std"),
    ))
}

/// The directory of a crate among those that rust-src brings.
fn vendored_crate(library: &Path, name: &str) -> Result<PathBuf> {
    let vendor = library.join("vendor");
    let of_name = |path: &PathBuf| {
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        file.strip_prefix(name)
            .and_then(|rest| rest.strip_prefix('-'))
            .is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit()))
    };
    fs::read_dir(&vendor)
        .with_context(|| format!("{} cannot be read", vendor.display()))?
        .flatten()
        .map(|entry| entry.path())
        .find(of_name)
        .with_context(|| format!("there is no {name} in {}", vendor.display()))
}
