//! Fetches missing parts with pip.

use crate::{PIP_COMMAND, Part};
use std::fmt;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

/// The version that [`fetch`] fetches. The tests were run with it.
const VERSION: &str = "13.0.88";

/// An error of [`fetch`]. Its message says what to do.
#[derive(Debug)]
pub struct FetchError(String);

impl fmt::Display for FetchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for FetchError {}

/// Returns the pip package that contains a part.
fn package(part: Part) -> &'static str {
    match part {
        Part::Libnvvm | Part::Libdevice => "nvidia-nvvm",
        Part::Ptxas => "nvidia-cuda-nvcc",
    }
}

/// Fetches parts into `directory` with pip, which shows its progress on standard error.
///
/// # Errors
///
/// Returns an error if there is no pip, if pip fails, or if `directory` cannot be written.
pub fn fetch(parts: &[Part], directory: &Path) -> Result<(), FetchError> {
    let mut packages: Vec<String> = parts
        .iter()
        .map(|&part| format!("{}=={VERSION}", package(part)))
        .collect();
    packages.dedup();
    let wanted = packages.join(" ");
    let Some(pip) = find_pip() else {
        let parts: Vec<String> = parts.iter().map(ToString::to_string).collect();
        return Err(FetchError(format!(
            "{} not found, and pip, which fetches it, is not installed. Install pip (on Debian and \
             Ubuntu: apt install python3-pip), or set CUDA_HOME to a CUDA toolkit",
            parts.join(", ")
        )));
    };
    eprintln!("Fetching {wanted} into {}", directory.display());
    // Into a separate directory first, so that an interrupted run leaves no partial files.
    let partial = directory.with_extension("partial");
    remove(&partial)?;
    let status = Command::new(pip[0])
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
        .stdout(Stdio::from(io::stderr()))
        .status()
        .map_err(|error| FetchError(format!("cannot run pip: {error}")))?;
    if !status.success() {
        return Err(FetchError(format!(
            "pip could not fetch {wanted}; its message is above. Without a connection to PyPI, set \
             CUDA_HOME to a CUDA toolkit, or to a directory that this was run for:\n    \
             {PIP_COMMAND} DIR"
        )));
    }
    merge(&partial, directory).map_err(|error| {
        let (from, to) = (partial.display(), directory.display());
        FetchError(format!("cannot move {from} to {to}: {error}"))
    })?;
    remove(&partial)
}

/// Moves the entries of one directory into another, directory by directory.
fn merge(from: &Path, to: &Path) -> io::Result<()> {
    if from.is_dir() && to.is_dir() {
        for entry in std::fs::read_dir(from)? {
            let entry = entry?;
            merge(&entry.path(), &to.join(entry.file_name()))?;
        }
        return Ok(());
    }
    std::fs::rename(from, to)
}

fn remove(directory: &Path) -> Result<(), FetchError> {
    match std::fs::remove_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(FetchError(format!(
            "cannot remove {}: {error}",
            directory.display()
        ))),
        _ => Ok(()),
    }
}

/// Returns the command of the first pip that runs, if any.
pub fn find_pip() -> Option<&'static [&'static str]> {
    const CANDIDATES: [&[&str]; 4] = [
        &["python3", "-m", "pip"],
        &["python", "-m", "pip"],
        &["pip3"],
        &["pip"],
    ];
    CANDIDATES.into_iter().find(|candidate| {
        let output = Command::new(candidate[0])
            .args(&candidate[1..])
            .arg("--version")
            .output();
        output.is_ok_and(|output| output.status.success())
    })
}
