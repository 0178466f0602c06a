//! A distribution: a directory with the pinned compiler and cargo, the standard library's sources,
//! and the compiled backend. With it, builds need neither rustup nor the backend's sources.
//!
//! `./x dist` packs one. Its root directory has the layout of a toolchain.

use crate::Error;
use crate::toolchain::{COMMIT, TOOLCHAIN, Toolchain};
use std::fs;
use std::path::{Path, PathBuf};

/// The environment variable that names the directory of a distribution.
pub const VARIABLE: &str = "RUST_NVVM_DIST";

/// The file in the root directory with the [`description`].
pub const FILE: &str = "distribution.txt";

/// A distribution for this version of the crates.
#[derive(Debug, PartialEq, Eq)]
pub struct Distribution {
    root: PathBuf,
}

/// Returns the contents of [`FILE`]: the version of the crates, the toolchain and its commit.
pub fn description() -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!("rust-nvvm {version}\n{TOOLCHAIN}\n{COMMIT}\n")
}

/// Returns the path of the backend in a distribution.
pub fn backend_in(root: &Path) -> PathBuf {
    use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
    root.join("lib")
        .join(format!("{DLL_PREFIX}rustc_codegen_nvvm{DLL_SUFFIX}"))
}

/// Returns the directory that is searched if [`VARIABLE`] is not set: the version's directory in
/// `rust-nvvm` of the user's data directory.
pub fn usual_place() -> Option<PathBuf> {
    Some(cuda_toolkit::user_data()?.join(env!("CARGO_PKG_VERSION")))
}

impl Distribution {
    /// Locates the distribution: the directory that [`VARIABLE`] names, otherwise
    /// [`usual_place`].
    ///
    /// # Errors
    ///
    /// Returns an error if the directory that the variable names is not a distribution.
    pub fn find() -> Result<Option<Distribution>, Error> {
        let named = std::env::var_os(VARIABLE).filter(|value| !value.is_empty());
        Distribution::find_in(named.map(PathBuf::from), usual_place())
    }

    fn find_in(
        named: Option<PathBuf>,
        usual: Option<PathBuf>,
    ) -> Result<Option<Distribution>, Error> {
        // A directory without the file is not a distribution; only a named one has to be one.
        let usual = usual.filter(|root| root.join(FILE).is_file());
        named.or(usual).map(Distribution::open).transpose()
    }

    fn open(root: PathBuf) -> Result<Distribution, Error> {
        let expected = description();
        let found = fs::read_to_string(root.join(FILE)).unwrap_or_default();
        if found != expected || !backend_in(&root).is_file() {
            return Err(Error::Distribution {
                root,
                found,
                expected,
            });
        }
        // The paths of the compiler and of the backend are part of names in caches.
        let root = root.canonicalize().unwrap_or(root);
        Ok(Distribution { root })
    }

    /// Returns its compiler.
    pub fn toolchain(&self) -> Toolchain {
        Toolchain {
            root: self.root.clone(),
        }
    }

    /// Returns its backend.
    pub fn backend(&self) -> PathBuf {
        backend_in(&self.root)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_named_directory_precedes_the_usual_one() {
        let directory = std::env::temp_dir().join(format!("distribution-{}", std::process::id()));
        let _ = fs::remove_dir_all(&directory);
        let make = |name: &str, text: &str| {
            let root = directory.join(name);
            fs::create_dir_all(root.join("lib")).unwrap();
            fs::write(root.join(FILE), text).unwrap();
            fs::write(backend_in(&root), "").unwrap();
            root.canonicalize().unwrap()
        };
        let named = make("named", &description());
        let usual = make("usual", &description());
        let older = make("older", "rust-nvvm 0.0.1\nnightly-2025-01-01\n0\n");
        let find = |named: Option<&PathBuf>, usual: Option<&PathBuf>| {
            let found = Distribution::find_in(named.cloned(), usual.cloned());
            found.map(|found| found.map(|distribution| distribution.root))
        };
        assert_eq!(
            find(Some(&named), Some(&usual)).unwrap(),
            Some(named.clone())
        );
        assert_eq!(find(None, Some(&usual)).unwrap(), Some(usual.clone()));
        let missing = directory.join("missing");
        assert_eq!(find(None, Some(&missing)).unwrap(), None);
        assert_eq!(find(None, None).unwrap(), None);
        // Neither ignored nor used.
        for (named, usual) in [
            (Some(&missing), Some(&usual)),
            (Some(&older), None),
            (None, Some(&older)),
        ] {
            let error = find(named, usual).unwrap_err();
            assert!(matches!(error, Error::Distribution { .. }), "{error}");
        }
        let text = find(Some(&older), None).unwrap_err().to_string();
        assert!(text.contains("rust-nvvm 0.0.1"), "{text}");
        fs::remove_file(backend_in(&named)).unwrap();
        assert!(find(Some(&named), None).is_err());
        fs::remove_dir_all(&directory).unwrap();
    }
}
