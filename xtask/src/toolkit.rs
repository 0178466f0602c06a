//! Locates libnvvm, libdevice and ptxas, or fetches them with pip into `target/cuda`.

use crate::workspace;
use anyhow::{Result, bail};
use cuda_toolkit::{Part, Toolkit};
use std::path::PathBuf;

/// Returns the directory for fetched files. It is independent of `CARGO_TARGET_DIR`, because
/// `cuda_builder` and the tests of `nvvm` search here.
pub fn directory() -> PathBuf {
    workspace::root().join("target/cuda")
}

/// Locates the files.
pub fn find() -> Toolkit {
    cuda_toolkit::find(&[directory()])
}

/// Locates the files, and fetches missing ones.
pub fn ensure() -> Result<Toolkit> {
    let found = find();
    let missing: Vec<Part> = found.missing().collect();
    if missing.is_empty() {
        return Ok(found);
    }
    cuda_toolkit::fetch(&missing, &directory())?;
    let found = find();
    if let Some(part) = found.missing().next() {
        bail!(
            "the packages that pip fetched into {} lack {part}\nhelp: set CUDA_HOME to a CUDA toolkit",
            directory().display()
        );
    }
    Ok(found)
}
