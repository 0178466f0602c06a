//! Runs ptxas and reads what it reports about each function.

use anyhow::{Context, Result, bail};
pub use cuda_toolkit::usage::Usage;
use cuda_toolkit::usage::parse;
use cuda_toolkit::{Arch, Part};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the path of ptxas.
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
pub fn assemble(ptxas: &Path, ptx: &str, output: &Path) -> Result<BTreeMap<String, Usage>> {
    let target = ptx::header(ptx).target;
    let arch = target.first().copied().unwrap_or_default();
    if let Err(error) = arch.parse::<Arch>() {
        bail!("{error}");
    }
    let folder = tempfile::tempdir().context("cannot create a temporary directory")?;
    let input = folder.path().join("module.ptx");
    std::fs::write(&input, ptx).with_context(|| format!("cannot write `{}`", input.display()))?;
    let run = |relocatable: bool| -> Result<(bool, String)> {
        let mut command = Command::new(ptxas);
        command
            .args(["-v", "-lineinfo"])
            .arg(format!("-arch={arch}"));
        if relocatable {
            command.arg("-c");
        }
        command.arg(&input).arg("-o").arg(output);
        let output = command
            .output()
            .with_context(|| format!("cannot run `{}`", ptxas.display()))?;
        let text = [output.stdout, output.stderr].concat();
        Ok((
            output.status.success(),
            String::from_utf8_lossy(&text).into_owned(),
        ))
    };
    // As `cuda_builder` does: functions of such a module are compiled one at a time, if possible.
    let mut result = match ptx::is_to_be_linked(ptx) {
        true => run(true)?,
        false => (false, String::new()),
    };
    if !result.0 {
        result = run(false)?;
    }
    match result {
        (true, text) => Ok(parse(&text)),
        (false, text) => bail!("`{}` failed:\n{}", ptxas.display(), text.trim_end()),
    }
}
