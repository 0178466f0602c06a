//! Locates libnvvm, libdevice and ptxas, or fetches them with pip into `target/cuda`.

use crate::workspace;
use anyhow::{Result, bail};
use cuda_toolkit::{Part, Toolkit};
use std::path::PathBuf;

/// The folder that they are fetched into. It does not follow `CARGO_TARGET_DIR`: `cuda_builder`
/// and the tests of `nvvm` look for it here.
pub fn folder() -> PathBuf {
    workspace::root().join("target/cuda")
}

/// Looks for them.
pub fn find() -> Toolkit {
    cuda_toolkit::find(&[folder()])
}

/// Looks for them, and fetches those that are missing.
pub fn ensure() -> Result<Toolkit> {
    let found = find();
    let missing: Vec<Part> = found.missing().collect();
    if missing.is_empty() {
        return Ok(found);
    }
    cuda_toolkit::fetch(&missing, &folder())?;
    let found = find();
    if let Some(part) = found.missing().next() {
        bail!(
            "{part} is not in what pip fetched into {}; set CUDA_HOME to a CUDA toolkit that has it",
            folder().display()
        );
    }
    Ok(found)
}
