//! Makes cubins of PTX with NVIDIA's assembler.

use crate::{Arch, Error};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Assembles `ptx` to a cubin beside it, unless there is one that is newer.
pub(crate) fn assemble(ptxas: &Path, ptx: &Path, arch: Arch) -> Result<PathBuf, Error> {
    let cubin = ptx.with_extension("cubin");
    if is_newer(&cubin, ptx) && is_newer(&cubin, ptxas) {
        return Ok(cubin);
    }
    let output = Command::new(ptxas)
        .arg(format!("-arch={}", arch.sm()))
        .arg("-o")
        .arg(&cubin)
        .arg(ptx)
        .output()
        .map_err(Error::io(format!("run `{}`", ptxas.display())))?;
    if !output.status.success() {
        // Else a later run would take the old one for the result.
        let _ = fs::remove_file(&cubin);
        let text = [output.stdout, output.stderr].concat();
        let output = String::from_utf8_lossy(&text).into_owned();
        return Err(Error::Assemble {
            ptx: ptx.to_path_buf(),
            output,
        });
    }
    Ok(cubin)
}

fn is_newer(file: &Path, than: &Path) -> bool {
    let modified = |path: &Path| {
        fs::metadata(path)
            .and_then(|metadata| metadata.modified())
            .ok()
    };
    match (modified(file), modified(than)) {
        (Some(file), Some(than)) => file > than,
        _ => false,
    }
}
