//! Locates libnvvm, libdevice and ptxas, or fetches them with pip into `target/cuda`.

use crate::workspace;
use anyhow::{Context, Result, bail};
use cuda_toolkit::{Part, Toolkit};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The version fetched. The tests were run with it.
const VERSION: &str = "13.0.88";

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
    fetch(&missing)?;
    let found = find();
    if let Some(part) = found.missing().next() {
        bail!(
            "{part} is not in what pip fetched into {}; set CUDA_HOME to a CUDA toolkit that has it",
            folder().display()
        );
    }
    Ok(found)
}

/// The package of pip's that has a part.
fn package(part: Part) -> &'static str {
    match part {
        Part::Libnvvm | Part::Libdevice => "nvidia-nvvm",
        Part::Ptxas => "nvidia-cuda-nvcc",
    }
}

fn fetch(missing: &[Part]) -> Result<()> {
    let mut packages: Vec<String> = missing
        .iter()
        .map(|&part| format!("{}=={VERSION}", package(part)))
        .collect();
    packages.dedup();
    let wanted = packages.join(" ");
    let Some(pip) = find_pip() else {
        bail!(
            "{} not found, and there is no pip to fetch it with. Install pip (on Debian and \
             Ubuntu: apt install python3-pip), or set CUDA_HOME to a CUDA toolkit",
            list(missing)
        );
    };
    eprintln!("Fetching {wanted} into {}", folder().display());
    // Into a folder of its own first: an interrupted run leaves nothing half there.
    let partial = folder().with_extension("partial");
    remove(&partial)?;
    let mut command = Command::new(pip[0]);
    command
        .args(&pip[1..])
        .args([
            "install",
            "--no-deps",
            "--no-compile",
            "--disable-pip-version-check",
        ])
        .arg("--target")
        .arg(&partial)
        .args(&packages)
        // Standard output belongs to the command that needs the files.
        .stdout(Stdio::from(std::io::stderr()));
    let status = workspace::status(&mut command, "pip")?;
    if !status.success() {
        bail!(
            "pip could not fetch {wanted}; its message is above. Without a connection to PyPI, set \
             CUDA_HOME to a CUDA toolkit, or to a folder that this was run for:\n    {} DIR",
            cuda_toolkit::PIP_COMMAND
        );
    }
    merge(&partial, &folder())?;
    remove(&partial)
}

/// Moves what is in a folder into another, folder by folder.
fn merge(from: &Path, to: &Path) -> Result<()> {
    if from.is_dir() && to.is_dir() {
        for entry in std::fs::read_dir(from)? {
            let entry = entry?;
            merge(&entry.path(), &to.join(entry.file_name()))?;
        }
        return Ok(());
    }
    std::fs::rename(from, to)
        .with_context(|| format!("{} cannot be moved to {}", from.display(), to.display()))
}

fn remove(folder: &Path) -> Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("{} cannot be removed", folder.display()))
        }
        _ => Ok(()),
    }
}

/// The first pip that runs.
pub fn find_pip() -> Option<&'static [&'static str]> {
    const CANDIDATES: [&[&str]; 4] = [
        &["python3", "-m", "pip"],
        &["python", "-m", "pip"],
        &["pip3"],
        &["pip"],
    ];
    CANDIDATES.into_iter().find(|candidate| {
        let arguments = [&candidate[1..], &["--version"]].concat();
        workspace::output_of(candidate[0], &arguments).is_some()
    })
}

fn list(parts: &[Part]) -> String {
    parts
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}
