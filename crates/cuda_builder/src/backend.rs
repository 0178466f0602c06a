//! Locates the backend's dylib, or builds it from the sources next to this crate.

use crate::messages::{self, Progress, Show};
use crate::toolchain::Toolchain;
use crate::{Error, environment};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The environment variable that names a prebuilt backend.
pub const VARIABLE: &str = "RUSTC_CODEGEN_NVVM";

/// A backend, and the source files that the outer cargo must watch.
#[derive(Debug)]
pub struct Backend {
    /// The dylib.
    pub dylib: PathBuf,
    /// The files to watch.
    pub watch: Vec<PathBuf>,
}

/// Locates or builds the backend. `target` is the directory for build artifacts.
pub fn find(
    toolchain: &Toolchain,
    target: &Path,
    progress: &mut Progress,
) -> Result<Backend, Error> {
    if let Some(value) = std::env::var_os(VARIABLE).filter(|value| !value.is_empty()) {
        let path = PathBuf::from(value);
        return match path.canonicalize() {
            Ok(dylib) if dylib.is_file() => Ok(Backend {
                watch: vec![dylib.clone()],
                dylib,
            }),
            _ => Err(Error::NoBackend(path)),
        };
    }
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../rustc_codegen_nvvm");
    let Ok(sources) = sources.canonicalize() else {
        return Err(Error::NoBackendSources(sources));
    };
    let mut hasher = DefaultHasher::new();
    (&sources, &toolchain.root).hash(&mut hasher);
    let name = format!("backend-{:016x}", hasher.finish());
    build(toolchain, &sources, &target.join(name), progress)
}

fn build(
    toolchain: &Toolchain,
    sources: &Path,
    target: &Path,
    progress: &mut Progress,
) -> Result<Backend, Error> {
    toolchain.require("rustc-dev", "lib/rustlib/rustc-src")?;
    let manifest = sources.join("Cargo.toml");
    if !target.exists() {
        progress.announce(
            "cuda_builder: building the compiler backend (once per user, about 2 minutes)",
        );
    }
    let mut command = Command::new(toolchain.cargo());
    environment::clean(&mut command);
    command
        .current_dir(sources)
        .args([
            "build",
            "--release",
            "--message-format=json",
            "--manifest-path",
        ])
        .arg(&manifest)
        .arg("--target-dir")
        .arg(target)
        .env("RUSTC", toolchain.rustc())
        // Users of the backend need no warnings about its code. This also suppresses cargo's count
        // of them.
        .env("CARGO_BUILD_WARNINGS", "allow");
    let report = messages::run(command, Show::Errors, progress)?;
    if !report.success {
        return Err(Error::BackendBuild(report.output));
    }
    let is_dylib = |path: &&PathBuf| {
        path.extension()
            .is_some_and(|extension| extension == std::env::consts::DLL_EXTENSION)
    };
    let dylib = report
        .artifacts_of(&manifest)
        .find(is_dylib)
        .ok_or_else(|| Error::BackendBuild(report.output.clone()))?;
    // The dylib is newer than the start of the build script, so watching it would rerun the script
    // unnecessarily.
    let mut watch = report.manifests();
    watch.extend(crate::depinfo::read_beside(dylib)?);
    Ok(Backend {
        dylib: dylib.clone(),
        watch,
    })
}
