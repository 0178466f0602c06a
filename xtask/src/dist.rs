//! `./x dist`: packs a distribution into `target/dist`: the pinned compiler and cargo, the standard
//! library for build scripts and as sources, and the backend. With it, `cuda_builder` and `cargo
//! cuda` need no rustup, no nightly toolchain and no build of the backend.
//!
//! rustup's lists of each component's files select the files, so none of the component `rustc-dev`,
//! which makes up half of the toolchain, gets in.

use crate::{backend, bundle, no_more_arguments, workspace};
use anyhow::{Context, Result};
use cuda_builder::internal::{DISTRIBUTION_FILE, backend_in, distribution};
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

/// The components, whose lists are `lib/rustlib/manifest-COMPONENT`. `HOST` is the host's triple.
const COMPONENTS: [&str; 4] = ["rustc-HOST", "rust-std-HOST", "cargo-HOST", "rust-src"];

/// The files of the components that builds do not use, by the start of their paths in the toolchain:
/// scripts of debuggers, manuals, completions and LLVM's unwinder.
const LEFT_OUT: [&str; 7] = [
    "bin/rust-",
    "etc/",
    "lib/rustlib/etc/",
    "libexec/",
    "share/man/",
    "share/zsh/",
    "lib/rustlib/src/rust/src/",
];

/// Runs the command.
pub fn dist(mut parser: lexopt::Parser) -> Result<ExitCode> {
    no_more_arguments(&mut parser)?;
    let toolchain = workspace::sysroot().context("rustc did not report its sysroot")?;
    let host = workspace::output_of("rustc", &["--print=host-tuple"])
        .context("rustc did not report its host")?;
    let backend = backend::ensure()?;
    let name = format!("rust-nvvm-{}-{host}", env!("CARGO_PKG_VERSION"));
    let target = workspace::target().join("dist");
    let root = target.join(&name);
    if root.exists() {
        fs::remove_dir_all(&root).with_context(|| format!("cannot remove {}", root.display()))?;
    }
    for component in COMPONENTS {
        let component = component.replace("HOST", &host);
        let list = toolchain.join(format!("lib/rustlib/manifest-{component}"));
        let list = fs::read_to_string(&list).with_context(|| {
            format!(
                "cannot read {}\nhelp: install the toolchain with rustup",
                list.display()
            )
        })?;
        for file in files(&list) {
            link(&toolchain.join(file), &root.join(file))?;
        }
    }
    let dylib = backend_in(&root);
    fs::copy(&backend, &dylib)
        .with_context(|| format!("cannot copy {} to {}", backend.display(), dylib.display()))?;
    if let Some(strip) = bundle::find_strip() {
        let mut command = Command::new(strip);
        command.arg("--strip-debug").arg(&dylib);
        workspace::must_succeed(&mut command, "strip")?;
    }
    for license in ["LICENSE-APACHE", "LICENSE-MIT"] {
        link(&workspace::root().join(license), &root.join(license))?;
    }
    // Written last: a directory without it is not a distribution.
    let file = root.join(DISTRIBUTION_FILE);
    fs::write(&file, distribution()).with_context(|| format!("cannot write {}", file.display()))?;

    let archive = target.join(format!("{name}.tar.xz"));
    pack(&target, &name, &archive)?;
    println!(
        "{}: {:.0} MiB, {:.0} MiB unpacked",
        archive.display(),
        mebibytes(fs::metadata(&archive)?.len()),
        mebibytes(bundle::size_of(&root)?),
    );
    Ok(ExitCode::SUCCESS)
}

fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// Returns the files of a component that a distribution has, from rustup's list of them.
fn files(list: &str) -> impl Iterator<Item = &str> {
    let files = list.lines().filter_map(|line| line.strip_prefix("file:"));
    // The sanitizers' runtimes are for programs that are compiled with one.
    let is_sanitizer = |file: &str| file.contains("/librustc-") && file.ends_with(".a");
    files.filter(move |file| {
        !LEFT_OUT.iter().any(|start| file.starts_with(start)) && !is_sanitizer(file)
    })
}

/// Puts a file into the distribution, without a copy where the file system supports that.
fn link(from: &Path, to: &Path) -> Result<()> {
    let put = || {
        fs::create_dir_all(to.parent().unwrap_or(Path::new("")))?;
        fs::hard_link(from, to).or_else(|_| fs::copy(from, to).map(drop))
    };
    put().with_context(|| format!("cannot put {} at {}", from.display(), to.display()))
}

fn pack(directory: &Path, name: &str, archive: &Path) -> Result<()> {
    let mut command = Command::new("tar");
    command
        .args(["--create", "--xz", "--sort=name", "--owner=0", "--group=0"])
        .arg("--file")
        .arg(archive)
        .arg("--directory")
        .arg(directory)
        .arg(name)
        .env("XZ_OPT", "-T0");
    workspace::must_succeed(&mut command, "tar with xz")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_components_are_selected() {
        let list = "file:bin/rustc\nfile:bin/rust-gdb\ndir:share/doc/rust\n\
                    file:lib/librustc_driver-0.so\nfile:share/man/man1/rustc.1\n\
                    file:lib/rustlib/x/lib/librustc-nightly_rt.asan.a\n\
                    file:lib/rustlib/x/lib/libcore-0.rlib\n\
                    file:lib/rustlib/src/rust/src/llvm-project/libunwind/README\n\
                    file:lib/rustlib/src/rust/library/core/src/lib.rs\n";
        let expected = [
            "bin/rustc",
            "lib/librustc_driver-0.so",
            "lib/rustlib/x/lib/libcore-0.rlib",
            "lib/rustlib/src/rust/library/core/src/lib.rs",
        ];
        assert_eq!(files(list).collect::<Vec<_>>(), expected);
    }
}
