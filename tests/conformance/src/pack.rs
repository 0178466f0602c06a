//! Packs this program, the parts' PTX and a script into a directory, to run on a machine with GPUs
//! and without Rust.

use anyhow::{Context, Result, bail};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The directory without parts.
pub fn begin(directory: &Path) -> Result<()> {
    let ptx = directory.join("ptx");
    std::fs::create_dir_all(&ptx).with_context(|| format!("{} cannot be made", ptx.display()))?;
    if std::fs::read_dir(&ptx)?.next().is_some() {
        bail!("{} has parts of another run: remove it", ptx.display());
    }
    let program = directory.join("conformance");
    std::fs::copy(std::env::current_exe()?, &program)?;
    compress(&program)?;
    let script = directory.join("run.sh");
    std::fs::write(&script, include_str!("run.sh"))?;
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755))?;
    Ok(())
}

/// Adds a part, and says where it is.
pub fn add(directory: &Path, ptx: &Path) -> Result<PathBuf> {
    let name = ptx.file_name().context("PTX without a name")?;
    let target = directory.join("ptx").join(name);
    std::fs::copy(ptx, &target)?;
    compress(&target)
}

/// Replaces a file with `FILE.xz`, which is a thirtieth for PTX; without `xz` it stays.
fn compress(file: &Path) -> Result<PathBuf> {
    match Command::new("xz")
        .args(["-3", "-T0", "-f"])
        .arg(file)
        .status()
    {
        Ok(status) if status.success() => {
            let mut name = file.as_os_str().to_owned();
            name.push(".xz");
            Ok(name.into())
        }
        Ok(status) => bail!("xz cannot pack {}: {status}", file.display()),
        Err(_) => Ok(file.to_owned()),
    }
}
