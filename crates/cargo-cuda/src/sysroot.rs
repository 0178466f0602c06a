//! The sysroot of single-source crates: the pinned toolchain's, with a standard library that was
//! compiled with the MIR of all functions.
//!
//! It is built once per toolchain from the component `rust-src`, with the profile of the shipped
//! standard library, and stored in the user's cache. All else of the toolchain is linked to.

use crate::{cache, flags};
use anyhow::{Context, Result, bail};
use cuda_builder::TOOLCHAIN;
use cuda_builder::internal::Toolchain;
use std::ffi::OsStr;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Changes whenever the layout of the sysroot does.
const VERSION: u32 = 1;

/// A sysroot in the cache.
#[derive(Debug, Clone)]
pub struct Sysroot {
    /// The directory to pass as `--sysroot`.
    pub path: PathBuf,
    /// The target triple of its standard library.
    pub host: String,
}

/// Returns the root of the toolchain that a `rustc` belongs to, which may be one of rustup's
/// proxies.
///
/// # Errors
///
/// Returns an error if `rustc` cannot be run.
pub fn toolchain_root(rustc: &OsStr) -> Result<PathBuf> {
    let beside = Path::new(rustc).parent().and_then(Path::parent);
    if let Some(root) = beside
        && root.join("lib/rustlib").is_dir()
        && let Ok(root) = root.canonicalize()
    {
        return Ok(root);
    }
    let output = Command::new(rustc)
        .arg("--print=sysroot")
        .output()
        .with_context(|| format!("cannot run `{}`", rustc.display()))?;
    let root = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    Path::new(&root)
        .canonicalize()
        .with_context(|| format!("`{}` does not print its sysroot", rustc.display()))
}

/// Returns the directory in the cache for a toolchain.
///
/// # Errors
///
/// Returns an error if the cache has no directory.
pub fn directory(root: &Path) -> Result<PathBuf> {
    Ok(cache::root()?.join("single-source").join(key(root)))
}

/// Identifies a sysroot: by the toolchain and the flags of the standard library.
pub fn key(root: &Path) -> String {
    let mut hasher = DefaultHasher::new();
    (VERSION, TOOLCHAIN, root, flags::ALL_CRATES).hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// Returns the directory to pass as `--sysroot`, which may not exist.
///
/// # Errors
///
/// Returns an error if the cache has no directory.
pub fn path(root: &Path) -> Result<PathBuf> {
    Ok(directory(root)?.join("sysroot"))
}

/// Returns the target triple of the toolchain at `root`.
///
/// # Errors
///
/// Returns an error if the toolchain's rustc cannot be run.
pub fn host(root: &Path) -> Result<String> {
    match find(root)? {
        Some(sysroot) => Ok(sysroot.host),
        None => Ok(host_and_commit(&pinned(rustc(root).as_os_str())?)?.0),
    }
}

fn rustc(root: &Path) -> PathBuf {
    root.join("bin")
        .join(format!("rustc{}", std::env::consts::EXE_SUFFIX))
}

/// Returns the sysroot for a toolchain if it has been built.
///
/// # Errors
///
/// Returns an error if the cache has no directory.
pub fn find(root: &Path) -> Result<Option<Sysroot>> {
    let directory = directory(root)?;
    // It is written last.
    let host = fs::read_to_string(directory.join("host")).ok();
    Ok(host.map(|host| Sysroot {
        path: directory.join("sysroot"),
        host,
    }))
}

/// Returns the sysroot for the toolchain at `root`, which it builds if necessary.
///
/// # Errors
///
/// Returns an error if the sysroot cannot be built, or not written to the cache.
pub fn ensure(root: &Path) -> Result<Sysroot> {
    if let Some(sysroot) = find(root)? {
        return Ok(sysroot);
    }
    let toolchain = pinned(rustc(root).as_os_str())?;
    let directory = directory(root)?;
    let _lock = cache::lock(&directory)?;
    if let Some(sysroot) = find(root)? {
        return Ok(sysroot);
    }
    toolchain.require("rust-src", "lib/rustlib/src/rust/library/Cargo.lock")?;
    cache::announce(
        "Building the standard library with MIR (once per toolchain, about 90 seconds)",
    );
    let (host, commit) = host_and_commit(&toolchain)?;
    let build = directory.with_extension("build");
    cache::remove(&build)?;
    cache::remove(&directory)?;
    compile(&toolchain, root, &host, &commit, &build)?;
    assemble(root, &host, &build, &directory)
        .with_context(|| format!("cannot write the sysroot `{}`", directory.display()))?;
    cache::remove(&build)?;
    fs::write(directory.join("host"), &host)
        .with_context(|| format!("cannot write to `{}`", directory.display()))?;
    Ok(Sysroot {
        path: directory.join("sysroot"),
        host,
    })
}

/// Returns the toolchain of a compiler, which has to be the pinned one.
///
/// # Errors
///
/// Returns an error if it is another toolchain, or lacks a component.
pub fn pinned(rustc: &OsStr) -> Result<Toolchain> {
    match Toolchain::of(rustc) {
        Some(toolchain) => Ok(toolchain),
        None => bail!(
            "kernels beside host code need the compiler of {TOOLCHAIN}, and `{}` is another one\n\
             help: run cargo without `+TOOLCHAIN` and without RUSTUP_TOOLCHAIN in a project that \
             `cargo cuda init` prepared, or run `cargo cuda build`",
            rustc.display()
        ),
    }
}

fn host_and_commit(toolchain: &Toolchain) -> Result<(String, String)> {
    let output = Command::new(toolchain.rustc()).arg("-vV").output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let field = |name: &str| {
        let mut lines = text.lines();
        let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        value
            .map(str::to_owned)
            .with_context(|| format!("`rustc -vV` prints no `{name}`"))
    };
    Ok((field("host")?, field("commit-hash")?))
}

/// Compiles the standard library.
fn compile(
    toolchain: &Toolchain,
    root: &Path,
    host: &str,
    commit: &str,
    target: &Path,
) -> Result<()> {
    // Without a sysroot, nothing of the shipped standard library can get in.
    let none = target.join("none");
    fs::create_dir_all(&none).with_context(|| format!("cannot create `{}`", none.display()))?;
    let source = root.join("lib/rustlib/src/rust");
    let mut rustflags: Vec<String> = flags::ALL_CRATES.map(str::to_owned).into();
    rustflags.extend([
        "-Zforce-unstable-if-unmarked".to_owned(),
        flags::sysroot(&none),
        // As in the shipped one: rustc finds the sources, and panics name no user's directories.
        format!("--remap-path-prefix={}=/rustc/{commit}", source.display()),
    ]);
    let mut command = Command::new(toolchain.cargo());
    cuda_builder::internal::clean(&mut command);
    command
        // Its configuration names the directory of the vendored dependencies.
        .current_dir(source.join("library"))
        .args(["build", "--package=sysroot", "--features=backtrace"])
        .args(["--profile=dist", "--locked", "--offline"])
        .arg(format!("--target={host}"))
        .arg("--target-dir")
        .arg(target)
        .env("RUSTC", toolchain.rustc())
        .env("RUSTC_BOOTSTRAP", "1")
        // Distinguishes the symbols of this standard library from those of the shipped one.
        .env("__CARGO_DEFAULT_LIB_METADATA", "cargo-cuda")
        .env("CARGO_ENCODED_RUSTFLAGS", rustflags.join("\x1f"));
    let output = command
        .output()
        .with_context(|| format!("cannot run `{}`", toolchain.cargo().display()))?;
    if !output.status.success() {
        bail!(
            "the standard library does not compile:\n{}",
            String::from_utf8_lossy(&output.stderr).trim_end()
        );
    }
    Ok(())
}

/// Puts the sysroot together: links to the toolchain, and the new standard library.
fn assemble(root: &Path, host: &str, build: &Path, directory: &Path) -> std::io::Result<()> {
    let mut from = root.to_path_buf();
    let mut to = directory.join("sysroot");
    for name in ["lib", "rustlib", host, "lib"] {
        fs::create_dir_all(&to)?;
        link_entries(&from, &to, |entry| entry != name)?;
        from.push(name);
        to.push(name);
    }
    fs::create_dir_all(&to)?;
    // Not the shipped standard library and not the compiler's own crates.
    link_entries(&from, &to, |entry| !is_library(Path::new(entry)))?;
    move_libraries(&build.join(host), &to)
}

fn link_entries(from: &Path, to: &Path, wanted: impl Fn(&str) -> bool) -> std::io::Result<()> {
    for entry in fs::read_dir(from)? {
        let name = entry?.file_name();
        if name.to_str().is_none_or(&wanted) {
            symlink(&from.join(&name), &to.join(&name))?;
        }
    }
    Ok(())
}

#[cfg(unix)]
fn symlink(from: &Path, to: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(from, to)
}

#[cfg(not(unix))]
fn symlink(from: &Path, to: &Path) -> std::io::Result<()> {
    if from.is_dir() {
        fs::create_dir_all(to)?;
        return link_entries(from, to, |_| true);
    }
    fs::hard_link(from, to)
}

fn is_library(path: &Path) -> bool {
    let extension = path.extension().and_then(OsStr::to_str).unwrap_or_default();
    matches!(extension, "rlib" | "rmeta") || extension == std::env::consts::DLL_EXTENSION
}

/// Moves the libraries of a build whose names have a hash: those without are copies.
fn move_libraries(from: &Path, to: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default();
        if path.is_dir() {
            move_libraries(&path, to)?;
        } else if is_library(&path) && name.to_string_lossy().contains('-') {
            fs::rename(&path, to.join(name))?;
        }
    }
    Ok(())
}
