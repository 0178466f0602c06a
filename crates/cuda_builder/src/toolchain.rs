//! Locates the pinned toolchain, the only one that the backend works with.
//!
//! Its programs are run by path, not through rustup's proxies, so that neither `RUSTUP_TOOLCHAIN`,
//! which the outer cargo sets, nor a `rust-toolchain.toml` above the GPU crate changes the
//! compiler.

use crate::Error;
use crate::distribution::Distribution;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The toolchain that compiles device code, the same as in the repository's
/// `rust-toolchain.toml`.
pub const TOOLCHAIN: &str = "nightly-2026-10-28";

/// The commit of that toolchain's compiler, which identifies it without rustup.
pub(crate) const COMMIT: &str = "41089d07a0a2afc16adfe28a760d94d73d7298a4";

/// An installed toolchain.
#[derive(Debug, Clone)]
pub struct Toolchain {
    /// Its directory, which has `bin` and `lib`.
    pub root: PathBuf,
}

impl Toolchain {
    /// Locates the toolchain: a distribution's, otherwise the current compiler if it is the pinned
    /// one, otherwise rustup's.
    ///
    /// # Errors
    ///
    /// Returns an error if the toolchain or one of its required components is not installed.
    pub fn find() -> Result<Toolchain, Error> {
        if let Some(distribution) = Distribution::find()? {
            return Ok(distribution.toolchain());
        }
        let in_use = std::env::var_os("RUSTC").and_then(|rustc| Toolchain::of(&rustc));
        let toolchain = match in_use {
            Some(toolchain) => toolchain,
            None => Toolchain::from_rustup()?,
        };
        toolchain.require("rust-src", "lib/rustlib/src/rust/library/Cargo.lock")?;
        Ok(toolchain)
    }

    /// Its cargo.
    pub fn cargo(&self) -> PathBuf {
        self.root
            .join("bin")
            .join(format!("cargo{}", std::env::consts::EXE_SUFFIX))
    }

    /// Its rustc.
    pub fn rustc(&self) -> PathBuf {
        self.root
            .join("bin")
            .join(format!("rustc{}", std::env::consts::EXE_SUFFIX))
    }

    /// Returns an error if a component is missing, which the absence of one of its files shows.
    ///
    /// # Errors
    ///
    /// Returns an error that names the component if `file` does not exist.
    pub fn require(&self, component: &'static str, file: &str) -> Result<(), Error> {
        if self.root.join(file).exists() {
            Ok(())
        } else {
            Err(Error::NoComponent(component))
        }
    }

    /// The toolchain of a compiler, if it is the pinned one.
    pub fn of(rustc: &OsStr) -> Option<Toolchain> {
        // Two runs: `-vV` makes rustc ignore `--print`.
        let output_of = |argument: &str| {
            let output = Command::new(rustc).arg(argument).output().ok()?;
            String::from_utf8(output.stdout).ok()
        };
        let version = output_of("-vV")?;
        let toolchain = Toolchain {
            root: PathBuf::from(output_of("--print=sysroot")?.trim_end()),
        };
        (version.contains(COMMIT) && toolchain.cargo().exists()).then_some(toolchain)
    }

    fn from_rustup() -> Result<Toolchain, Error> {
        let mut command = Command::new("rustup");
        command.args(["which", "--toolchain", TOOLCHAIN, "rustc"]);
        // The answer must not depend on the toolchain in use, and asking must not install.
        command
            .env_remove("RUSTUP_TOOLCHAIN")
            .env("RUSTUP_AUTO_INSTALL", "0");
        let output = match command.output() {
            Ok(output) => output,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(Error::NoRustup("it is not on the PATH".to_owned()));
            }
            Err(error) => return Err(Error::NoRustup(error.to_string())),
        };
        let path = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        match Path::new(&path).ancestors().nth(2) {
            Some(root) if output.status.success() && Path::new(&path).exists() => Ok(Toolchain {
                root: root.to_path_buf(),
            }),
            _ => Err(Error::NoToolchain),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_agrees_with_rust_toolchain_toml() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../rust-toolchain.toml");
        let text = std::fs::read_to_string(file).unwrap();
        assert!(
            text.contains(&format!("channel = \"{TOOLCHAIN}\"")),
            "{text}"
        );
    }

    #[test]
    fn the_commit_is_that_of_the_toolchain() {
        let toolchain = match Toolchain::from_rustup() {
            Ok(toolchain) => toolchain,
            Err(error) => return test_outcome::skip(error),
        };
        let found = Toolchain::of(toolchain.rustc().as_os_str()).unwrap();
        assert_eq!(found.root, toolchain.root);
        assert!(Toolchain::of(OsStr::new("cargo")).is_none());
    }
}
