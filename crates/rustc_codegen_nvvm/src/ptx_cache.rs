//! Caches libnvvm's PTX of a crate's last compilation. The cache is valid while the kernels and
//! everything that they reach are unchanged.

use std::fs;
use std::hash::Hasher;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustc_data_structures::fingerprint::Fingerprint;
use rustc_data_structures::stable_hash::StableHasher;
use rustc_middle::ty::TyCtxt;

/// The cache file of a crate for an architecture, in the directory of its object files.
pub(crate) struct PtxCache {
    path: PathBuf,
}

impl PtxCache {
    pub(crate) fn new(tcx: TyCtxt<'_>, arch: nvvm::Arch) -> Self {
        let extension = format!("{}.nvvm-cache", arch.sm());
        PtxCache {
            path: tcx.output_filenames(()).with_extension(&extension),
        }
    }

    /// Returns the PTX with this key, if the file holds it.
    pub(crate) fn load(&self, key: Fingerprint) -> Option<Vec<u8>> {
        let mut ptx = fs::read(&self.path).ok()?;
        let len = ptx.strip_suffix(line(key).as_bytes())?.len();
        ptx.truncate(len);
        Some(ptx)
    }

    /// Stores the PTX. If that fails, the next compilation runs libnvvm again.
    pub(crate) fn store(&self, key: Fingerprint, ptx: &[u8]) {
        let name = format!("nvvm-cache.{}", std::process::id());
        let unfinished = self.path.with_extension(name);
        let text = [ptx, line(key).as_bytes()].concat();
        if fs::write(&unfinished, text).is_err() || fs::rename(&unfinished, &self.path).is_err() {
            let _ = fs::remove_file(&unfinished);
        }
    }
}

/// Returns the line after the PTX.
fn line(key: Fingerprint) -> String {
    format!("\n{}\n", key.to_hex())
}

/// Returns the hash of everything that libnvvm's output depends on: the program, the options, and
/// the files.
pub(crate) fn key(program: &str, options: &[String], files: &[&Path]) -> Fingerprint {
    let mut hasher = StableHasher::new();
    let mut add = |text: &str| {
        hasher.write_usize(text.len());
        hasher.write(text.as_bytes());
    };
    add(program);
    options.iter().for_each(|option| add(option));
    for path in files {
        add(&path.to_string_lossy());
        let metadata = fs::metadata(path);
        let modified = metadata.and_then(|data| Ok((data.len(), data.modified()?)));
        let modified = modified.map(|(len, at)| (len, at.duration_since(SystemTime::UNIX_EPOCH)));
        add(&format!("{modified:?}"));
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_finds_only_its_own_ptx() {
        let directory = tempfile::tempdir().unwrap();
        let library = directory.path().join("libnvvm.so");
        fs::write(&library, "1").unwrap();
        let key_of = |program| key(program, &["-opt=3".to_owned()], &[&library]);
        let first = key_of("a");
        let cache = PtxCache {
            path: directory.path().join("k.nvvm-cache"),
        };
        assert_eq!(cache.load(first), None);
        cache.store(first, b"ptx");
        assert_eq!(cache.load(first).unwrap(), b"ptx");
        assert_eq!(cache.load(key_of("b")), None);
        assert_ne!(first, key("a", &[], &[&library]));
        fs::write(&library, "12").unwrap();
        assert_ne!(first, key_of("a"));
        // A truncated file is not used.
        fs::write(&cache.path, "pt").unwrap();
        assert_eq!(cache.load(first), None);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2);
    }
}
