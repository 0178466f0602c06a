//! The user's cache: where it is, locks in it, and its removal.

use anyhow::{Context, Result, anyhow};
use std::fs::File;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

/// Returns the directory of the user's cache.
///
/// # Errors
///
/// Returns an error if the user has no home directory.
pub fn root() -> Result<PathBuf> {
    cuda_toolkit::user_cache().with_context(|| {
        let variable = cuda_toolkit::CACHE_VARIABLE;
        format!("neither HOME nor XDG_CACHE_HOME is set\nhelp: set {variable} to a directory")
    })
}

/// Waits until no other process has the lock of `directory`, which it creates. The lock ends with
/// the file.
///
/// # Errors
///
/// Returns an error if the directory cannot be created or locked.
pub fn lock(directory: &Path) -> Result<File> {
    let path = directory.with_extension("lock");
    let locked = || {
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new("")))?;
        let file = File::create(&path)?;
        file.lock()?;
        Ok::<_, std::io::Error>(file)
    };
    locked().map_err(|error| {
        let variable = cuda_toolkit::CACHE_VARIABLE;
        anyhow!(
            "cannot lock `{}`: {error}\nhelp: set {variable} to a directory that can be written",
            path.display()
        )
    })
}

/// Removes a directory, if it exists.
///
/// # Errors
///
/// Returns an error if the directory exists and cannot be removed.
pub fn remove(directory: &Path) -> Result<()> {
    match std::fs::remove_dir_all(directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove `{}`", directory.display()))
        }
        _ => Ok(()),
    }
}

/// Removes the parts of the cache that this program and `cuda_builder` made.
///
/// # Errors
///
/// Returns an error if a part cannot be removed.
pub fn clear() -> Result<()> {
    let root = root()?;
    let Ok(entries) = std::fs::read_dir(&root) else {
        return Ok(());
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if matches!(&*name, "cuda" | "device" | "single-source") || name.starts_with("backend-") {
            eprintln!("Removing {}", entry.path().display());
            remove(&entry.path())?;
        }
    }
    Ok(())
}

/// Shows the start of something that takes long: on standard error and, because cargo collects a
/// compiler's standard error, on the terminal.
pub fn announce(line: &str) {
    eprintln!("{line}");
    if !std::io::stderr().is_terminal()
        && let Ok(mut terminal) = File::options().append(true).open("/dev/tty")
    {
        let _ = write!(terminal, "\r\x1b[K{line}\r\n");
    }
}

#[cfg(test)]
mod tests {
    use super::lock;

    #[test]
    fn a_cache_that_cannot_be_written_is_an_error_with_help() {
        // A file has no entries.
        let file = std::env::current_exe().expect("a running program has a file");
        let error = lock(&file.join("single-source")).expect_err("nothing can be created");
        let error = format!("{error:#}");
        assert!(error.starts_with("cannot lock `"), "{error}");
        assert!(
            error.contains("\nhelp: set CUDA_BUILDER_CACHE to"),
            "{error}"
        );
    }
}
