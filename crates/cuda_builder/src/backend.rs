//! Locates the backend's dylib, or builds it: from the sources next to this crate, as in a clone of
//! the repository, or from the published package of the same version.

use crate::distribution::{self, Distribution};
use crate::messages::{self, Progress, Show};
use crate::toolchain::Toolchain;
use crate::{Error, environment};
use serde_json::Value;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The environment variable that names a prebuilt backend.
pub const VARIABLE: &str = "RUSTC_CODEGEN_NVVM";

/// The backend's package.
const PACKAGE: &str = "rustc_codegen_nvvm";

/// A backend, and the source files that the outer cargo must watch.
#[derive(Debug)]
pub struct Backend {
    /// The dylib.
    pub dylib: PathBuf,
    /// The files to watch.
    pub watch: Vec<PathBuf>,
}

/// Locates or builds the backend. `target` is the directory for build artifacts.
///
/// # Errors
///
/// Returns an error if the variable names no file, or if the sources of the backend are missing or
/// do not compile.
pub fn find(
    toolchain: &Toolchain,
    target: &Path,
    progress: &mut Progress,
) -> Result<Backend, Error> {
    if let Some(dylib) = prebuilt()? {
        return Ok(Backend {
            watch: vec![dylib.clone()],
            dylib,
        });
    }
    let beside = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .join(PACKAGE);
    let sources = match beside.canonicalize() {
        Ok(sources) => Sources::beside(&sources),
        Err(_) => Sources::published(toolchain, target).map_err(|reason| Error::NoBackend {
            searched: searched(&beside),
            reason,
        })?,
    };
    sources.build(toolchain, target, progress)
}

/// Returns the backend that [`VARIABLE`] names, otherwise that of a distribution.
///
/// # Errors
///
/// Returns an error if the variable does not name a file.
pub fn prebuilt() -> Result<Option<PathBuf>, Error> {
    if let Some(value) = std::env::var_os(VARIABLE).filter(|value| !value.is_empty()) {
        let path = PathBuf::from(value);
        return match path.canonicalize() {
            // rustc takes a path with another extension for the name of a backend.
            Ok(dylib) if dylib.is_file() && is_dylib(&dylib) => Ok(Some(dylib)),
            _ => Err(Error::NoBackendFile(path)),
        };
    }
    Ok(Distribution::find()?.map(|distribution| distribution.backend()))
}

fn is_dylib(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == std::env::consts::DLL_EXTENSION)
}

/// Describes the places without a backend.
fn searched(beside: &Path) -> Vec<String> {
    let mut searched = vec![
        format!("the variable {VARIABLE}, which is not set"),
        format!("the variable {}, which is not set", distribution::VARIABLE),
    ];
    if let Some(place) = distribution::usual_place() {
        searched.push(format!("a distribution in `{}`", place.display()));
    }
    searched.push(format!("sources in `{}`", beside.display()));
    searched
}

/// The backend's sources.
struct Sources {
    /// The directory of the package that cargo builds.
    root: PathBuf,
    /// The backend's own manifest.
    manifest: PathBuf,
}

impl Sources {
    fn beside(sources: &Path) -> Sources {
        Sources {
            root: sources.to_path_buf(),
            manifest: sources.join("Cargo.toml"),
        }
    }

    /// Lets cargo fetch the package of this crate's version, as the dependency of a package in
    /// `target`. The error says why there is none.
    fn published(toolchain: &Toolchain, target: &Path) -> Result<Sources, String> {
        let version = env!("CARGO_PKG_VERSION");
        let root = target.join("backend-package").join(version);
        let manifest = format!(
            "[package]\nname = \"backend-package\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
             [lib]\npath = \"lib.rs\"\n\n[dependencies]\n{PACKAGE} = \"={version}\"\n\n\
             [workspace]\n"
        );
        let write = |name: &str, text: &str| {
            let path = root.join(name);
            match fs::read_to_string(&path).is_ok_and(|present| present == text) {
                true => Ok(()),
                false => fs::write(path, text),
            }
        };
        fs::create_dir_all(&root)
            .and_then(|()| write("lib.rs", "//! Depends on the backend.\n"))
            .and_then(|()| write("Cargo.toml", &manifest))
            .map_err(|error| format!("cannot write to `{}`: {error}", root.display()))?;

        let mut command = Command::new(toolchain.cargo());
        environment::clean(&mut command);
        command
            .current_dir(&root)
            .args(["metadata", "--format-version=1"])
            .env("RUSTC", toolchain.rustc());
        let output = command
            .output()
            .map_err(|error| format!("cannot run `{}`: {error}", toolchain.cargo().display()))?;
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr);
            return Err(text.trim().to_owned());
        }
        let metadata: Value = serde_json::from_slice(&output.stdout)
            .map_err(|error| format!("`cargo metadata` prints no JSON: {error}"))?;
        let mut packages = metadata["packages"].as_array().into_iter().flatten();
        let package = packages
            .find(|package| package["name"] == PACKAGE)
            .ok_or("`cargo metadata` does not list it")?;
        // Any project may have published a package of this name.
        let repository = env!("CARGO_PKG_REPOSITORY");
        match package["repository"].as_str() {
            Some(found) if found == repository => {}
            found => {
                return Err(format!(
                    "it belongs to {}, not to {repository}",
                    found.unwrap_or("another project")
                ));
            }
        }
        let manifest = package["manifest_path"].as_str().unwrap_or_default().into();
        Ok(Sources { root, manifest })
    }

    fn build(
        &self,
        toolchain: &Toolchain,
        target: &Path,
        progress: &mut Progress,
    ) -> Result<Backend, Error> {
        toolchain.require("rustc-dev", "lib/rustlib/rustc-src")?;
        let mut hasher = DefaultHasher::new();
        (&self.root, &toolchain.root).hash(&mut hasher);
        let target = target.join(format!("backend-{:016x}", hasher.finish()));
        if !target.exists() {
            progress.announce(
                "cuda_builder: building the compiler backend (once per user, about 2 minutes)",
            );
        }
        let mut command = Command::new(toolchain.cargo());
        environment::clean(&mut command);
        command
            .current_dir(&self.root)
            .args(["build", "--release", "--message-format=json", "--package"])
            .arg(PACKAGE)
            .arg("--target-dir")
            .arg(&target)
            .env("RUSTC", toolchain.rustc())
            // Users of the backend need no warnings about its code. This also suppresses cargo's
            // count of them.
            .env("CARGO_BUILD_WARNINGS", "allow");
        let report = messages::run(command, Show::Errors, progress)?;
        if !report.success {
            return Err(Error::BackendBuild(report.output));
        }
        let dylib = report
            .artifacts_of(&self.manifest)
            .find(|path| is_dylib(path))
            .ok_or_else(|| Error::BackendBuild(report.output.clone()))?;
        // The dylib is newer than the start of the build script, so watching it would rerun the
        // script unnecessarily.
        let mut watch = report.manifests();
        watch.extend(crate::depinfo::read_beside(dylib)?);
        Ok(Backend {
            dylib: dylib.clone(),
            watch,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory for build artifacts whose packages come from a directory instead of a registry.
    struct Registry(PathBuf);

    impl Registry {
        fn new(name: &str) -> Registry {
            let directory =
                std::env::temp_dir().join(format!("backend-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&directory);
            let registry = Registry(directory);
            registry.write(
                ".cargo/config.toml",
                "[source.crates-io]\nreplace-with = \"here\"\n\n\
                 [source.here]\ndirectory = \"packages\"\n",
            );
            fs::create_dir_all(registry.0.join("packages")).unwrap();
            registry
        }

        fn write(&self, file: &str, text: &str) {
            let path = self.0.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn publish(&self, repository: &str) {
            let version = env!("CARGO_PKG_VERSION");
            self.write(
                "packages/backend/Cargo.toml",
                &format!(
                    "[package]\nname = \"{PACKAGE}\"\nversion = \"{version}\"\n\
                     edition = \"2024\"\nrepository = \"{repository}\"\n\n\
                     [lib]\ncrate-type = [\"dylib\"]\n"
                ),
            );
            self.write("packages/backend/src/lib.rs", "pub fn f() {}\n");
            self.write(
                "packages/backend/.cargo-checksum.json",
                "{\"files\":{},\"package\":\"\"}",
            );
        }
    }

    impl Drop for Registry {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn the_published_package_is_fetched_and_built() {
        let toolchain = match Toolchain::find() {
            Ok(toolchain) => toolchain,
            Err(error) => return test_outcome::skip(error),
        };
        let registry = Registry::new("published");
        registry.publish(env!("CARGO_PKG_REPOSITORY"));
        let sources = Sources::published(&toolchain, &registry.0).unwrap();
        let mut progress = Progress::from_environment();
        match sources.build(&toolchain, &registry.0, &mut progress) {
            Ok(backend) => {
                let name = backend.dylib.file_name().unwrap().to_string_lossy();
                assert!(name.contains(PACKAGE), "{name}");
                assert!(backend.dylib.is_file());
            }
            Err(Error::NoComponent(name)) => test_outcome::skip(name),
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn another_projects_package_is_refused() {
        let toolchain = match Toolchain::find() {
            Ok(toolchain) => toolchain,
            Err(error) => return test_outcome::skip(error),
        };
        let registry = Registry::new("foreign");
        registry.publish("https://example.com/other");
        let error = Sources::published(&toolchain, &registry.0).err().unwrap();
        assert!(
            error.contains("belongs to https://example.com/other"),
            "{error}"
        );
    }

    #[test]
    fn a_failed_download_is_not_a_failed_compilation() {
        let output = "error: failed to get `anyhow` as a dependency of package `a v0.1.0`\n\n\
                      Caused by:\n  failed to load source for dependency `anyhow`\n\n\
                      Caused by:\n  unable to update registry `crates-io`\n";
        let error = Error::BackendBuild(output.to_owned()).to_string();
        assert!(error.contains("could not fetch"), "{error}");
        assert!(error.contains("\nhelp: "), "{error}");
        let error = Error::BackendBuild("error: could not compile `a`\n".to_owned()).to_string();
        assert!(error.contains("does not compile"), "{error}");
    }

    #[test]
    fn the_error_names_all_places() {
        let toolchain = match Toolchain::find() {
            Ok(toolchain) => toolchain,
            Err(error) => return test_outcome::skip(error),
        };
        let registry = Registry::new("missing");
        let reason = Sources::published(&toolchain, &registry.0).err().unwrap();
        let searched = searched(Path::new("/registry/rustc_codegen_nvvm"));
        let error = Error::NoBackend { searched, reason }.to_string();
        for part in [
            "RUSTC_CODEGEN_NVVM",
            "RUST_NVVM_DIST",
            "rust-nvvm/0",
            "/registry/rustc_codegen_nvvm",
            "no matching package",
        ] {
            assert!(error.contains(part), "{part}: {error}");
        }
    }
}
