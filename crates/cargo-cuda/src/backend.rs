//! The backend, which `cuda_builder` finds or builds.

use crate::{cache, sysroot};
use anyhow::Result;
use cuda_builder::internal::{Progress, Toolchain, find_backend, prebuilt_backend};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Returns the backend's dylib for the toolchain at `root`, which it builds if necessary.
///
/// Every rustc call asks for it, so the answer is recorded. It holds until one of the backend's
/// sources changes.
///
/// # Errors
///
/// Returns an error if the backend cannot be found or built.
pub fn ensure(root: &Path) -> Result<PathBuf> {
    let toolchain = Toolchain {
        root: root.to_path_buf(),
    };
    let mut progress = Progress::from_environment();
    let target = cache::root()?;
    if let Some(dylib) = prebuilt_backend()? {
        return Ok(dylib);
    }
    let record = record(root)?;
    if let Some(dylib) = recorded(&record) {
        return Ok(dylib);
    }
    let _lock = cache::lock(&record)?;
    if let Some(dylib) = recorded(&record) {
        return Ok(dylib);
    }
    let started = SystemTime::now();
    let backend = find_backend(&toolchain, &target, &mut progress)?;
    let lines: Vec<String> = std::iter::once(&backend.dylib)
        .chain(&backend.watch)
        .map(|path| path.display().to_string())
        .collect();
    let written = fs::write(&record, lines.join("\n")).and_then(|()| {
        // A source that changed during the build is newer.
        fs::File::options()
            .append(true)
            .open(&record)?
            .set_modified(started)
    });
    if written.is_err() {
        // The next call asks again.
        let _ = fs::remove_file(&record);
    }
    Ok(backend.dylib)
}

/// Returns the backend's dylib if it has been built.
///
/// # Errors
///
/// Returns an error if a variable names a backend that does not exist, or if the cache has no
/// directory.
pub fn find(root: &Path) -> Result<Option<PathBuf>> {
    match prebuilt_backend()? {
        Some(dylib) => Ok(Some(dylib)),
        None => Ok(recorded(&record(root)?)),
    }
}

/// The file with the dylib's path and the paths of its sources, for one toolchain and for the
/// sources that belong to this program.
fn record(root: &Path) -> Result<PathBuf> {
    let mut hasher = DefaultHasher::new();
    (sysroot::key(root), env!("CARGO_MANIFEST_DIR")).hash(&mut hasher);
    let name = format!("backend-{:016x}", hasher.finish());
    Ok(cache::root()?.join("single-source").join(name))
}

/// The recorded dylib, if it exists and no source is newer than the record. A source that no longer
/// exists is no reason to build: cargo removes checkouts that were not used for long.
fn recorded(record: &Path) -> Option<PathBuf> {
    let text = fs::read_to_string(record).ok()?;
    let modified = |path: &Path| fs::metadata(path).and_then(|data| data.modified());
    let time = modified(record).ok()?;
    let mut lines = text.lines().map(PathBuf::from);
    let dylib = lines.next().filter(|dylib| dylib.is_file())?;
    lines
        .all(|source| modified(&source).map_or(true, |source| source <= time))
        .then_some(dylib)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_record_holds_until_a_source_changes() {
        let directory =
            std::env::temp_dir().join(format!("cargo-cuda-record-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let path = |name: &str| directory.join(name);
        for name in ["dylib", "source"] {
            fs::write(path(name), "").unwrap();
        }
        let names = ["dylib", "source", "gone"].map(|name| path(name).display().to_string());
        fs::write(path("record"), names.join("\n")).unwrap();
        let touch = |name: &str, time: SystemTime| {
            let file = fs::File::options().append(true).open(path(name)).unwrap();
            file.set_modified(time).unwrap();
        };
        let now = SystemTime::now();
        touch("record", now);
        touch("source", now - Duration::from_secs(1));
        assert_eq!(recorded(&path("record")), Some(path("dylib")));
        touch("source", now + Duration::from_secs(1));
        assert_eq!(recorded(&path("record")), None);
        touch("source", now);
        fs::remove_file(path("dylib")).unwrap();
        assert_eq!(recorded(&path("record")), None);
        fs::remove_dir_all(&directory).unwrap();
    }
}
