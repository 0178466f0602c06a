//! Finds and runs ptxas.

use anyhow::{Context, Result, bail};
pub use cuda_toolkit::usage::Usage;
use cuda_toolkit::{Arch, Part, usage};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Returns the path of ptxas.
///
/// # Errors
///
/// Returns an error if ptxas is not installed.
pub fn find(backend: Option<&Path>) -> Result<PathBuf> {
    match crate::command::toolkit(backend)?.get(Part::Ptxas) {
        Some(found) => Ok(found.path.clone()),
        None => bail!(
            "ptxas was not found\n\
             help: set CUDA_HOME to a CUDA toolkit, or fetch the PyPI package `nvidia-cuda-nvcc`: \
             `{} DIR` and set CUDA_HOME to DIR",
            cuda_toolkit::PIP_COMMAND
        ),
    }
}

/// Assembles PTX for the architecture that it names. The cubin is written to `output`.
///
/// # Errors
///
/// Returns an error with ptxas's messages if it rejects the PTX or cannot be run.
pub fn assemble(ptxas: &Path, ptx: &str, output: &Path) -> Result<BTreeMap<String, Usage>> {
    let target = ptx::header(ptx).target;
    let arch = target.first().copied().unwrap_or_default();
    let arch = match arch.parse::<Arch>() {
        Ok(arch) => arch,
        Err(error) => bail!("{error}"),
    };
    let directory = tempfile::tempdir().context("cannot create a temporary directory")?;
    let input = directory.path().join("module.ptx");
    std::fs::write(&input, ptx).with_context(|| format!("cannot write `{}`", input.display()))?;
    let linked = ptx::is_to_be_linked(ptx);
    Ok(usage::assemble(ptxas, arch, &input, linked, output)?)
}
