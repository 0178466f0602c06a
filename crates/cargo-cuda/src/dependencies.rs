//! Finds out whether `cuda_std` is among a crate's dependencies.
//!
//! Only then can the crate have kernels, or instances of another crate's kernels, and only then is
//! it compiled with the backend. Other crates, among them the libraries of procedural macros, which
//! `cargo check` compiles to code, do without.

use memchr::memmem;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// The crate with the device library. `cuda_std_macros` counts as well, whose expansions name it.
const DEVICE_LIBRARY: &str = "cuda_std";

/// Part of the name of a symbol that every procedural macro exports, and no other library.
const OF_MACROS: &[u8] = b"rustc_proc_macro_decls";

/// The direct dependencies of a rustc call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dependencies {
    crate_name: OsString,
    /// The files of `--extern NAME=FILE`.
    files: Vec<PathBuf>,
    /// Whether rustc searches for some dependencies, so that their files are not known.
    searched: bool,
}

impl Dependencies {
    /// Sets the name of the crate that is compiled.
    pub fn of_crate(&mut self, name: OsString) {
        self.crate_name = name;
    }

    /// Adds the value of `--extern`: `[OPTIONS:]NAME[=FILE]`.
    pub fn add_extern(&mut self, value: &OsString) {
        match value.to_str().and_then(|text| text.split_once('=')) {
            Some((_, file)) => self.files.push(file.into()),
            // A library of the sysroot, as in the unit tests of a procedural macro.
            None if value == "proc_macro" => {}
            // Also a path that is not UTF-8.
            None => self.searched = true,
        }
    }

    /// Adds the value of `-L`: `[KIND=]DIRECTORY`. Cargo passes the directories of dependencies as
    /// such, in which rustc finds no direct ones.
    pub fn add_search_path(&mut self, value: &OsString) {
        let text = value.to_string_lossy();
        let others = ["dependency=", "native=", "framework="];
        self.searched |= !others.iter().any(|kind| text.starts_with(kind));
    }

    /// Returns whether the crate is `cuda_std` or may depend on it, directly or not. A file that
    /// cannot be read counts as a dependency on it.
    pub fn may_have_device_library(&self) -> bool {
        let is_device_library = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.contains(DEVICE_LIBRARY)
        };
        self.searched
            || self.crate_name == DEVICE_LIBRARY
            || self.files.iter().any(is_device_library)
            || (self.files.iter()).any(|file| names_device_library(file).unwrap_or(true))
    }
}

/// Returns whether a library names `cuda_std`. The metadata of a crate lists all crates that it
/// depends on, with their names, and is compressed only in dynamic libraries.
fn names_device_library(path: &Path) -> io::Result<bool> {
    let mut file = File::open(path)?;
    let mut magic = [0; 8];
    file.read_exact(&mut magic)?;
    let metadata = match &magic {
        b"!<arch>\n" => member_metadata(&mut file)?,
        _ => {
            file.rewind()?;
            read(&mut file, u64::MAX)?
        }
    };
    if magic.starts_with(b"rust") || magic == *b"!<arch>\n" {
        return Ok(memmem::find(&metadata, DEVICE_LIBRARY.as_bytes()).is_some());
    }
    Ok(memmem::find(&metadata, OF_MACROS).is_none())
}

/// Returns the member `lib.rmeta` of an rlib, which is usually the first.
fn member_metadata(file: &mut File) -> io::Result<Vec<u8>> {
    /// The fields of a member's header: its name (16 bytes), then numbers up to its size, at 48.
    const HEADER: usize = 60;
    loop {
        let mut header = [0; HEADER];
        file.read_exact(&mut header)?;
        let size = std::str::from_utf8(&header[48..58]).ok();
        let size = size.and_then(|size| size.trim_end().parse::<u64>().ok());
        let size = size.ok_or(io::ErrorKind::InvalidData)?;
        if header.starts_with(b"lib.rmeta/") {
            return read(file, size);
        }
        // Members are at even offsets.
        let next = i64::try_from(size + size % 2).map_err(|_| io::ErrorKind::InvalidData)?;
        file.seek(SeekFrom::Current(next))?;
    }
}

fn read(file: &mut File, size: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(size).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A directory with files.
    struct Directory(PathBuf);

    impl Directory {
        fn new(name: &str) -> Directory {
            let name = format!("cargo-cuda-{name}-{}", std::process::id());
            let directory = std::env::temp_dir().join(name);
            fs::create_dir_all(&directory).unwrap();
            Directory(directory)
        }

        /// Returns whether a crate that depends on a file with these contents may depend on
        /// `cuda_std`.
        fn names(&self, contents: &[u8]) -> bool {
            let path = self.0.join("library");
            fs::write(&path, contents).unwrap();
            let mut dependencies = Dependencies::default();
            dependencies.add_extern(&format!("priv:a={}", path.display()).into());
            dependencies.may_have_device_library()
        }
    }

    impl Drop for Directory {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn member(name: &str, contents: &str) -> String {
        let mut member = format!("{name:<48}{:<10}`\n{contents}", contents.len());
        if contents.len() % 2 == 1 {
            member.push('\n');
        }
        member
    }

    #[test]
    fn metadata_names_all_dependencies() {
        let directory = Directory::new("metadata");
        assert!(!directory.names(b"rust metadata of serde"));
        assert!(directory.names(b"rust metadata of kernels and cuda_std"));
        let rlib = |metadata: &str| {
            let code = member("code.o/", "names of cuda_std in code");
            let metadata = member("lib.rmeta/", metadata);
            format!("!<arch>\n{code}{metadata}").into_bytes()
        };
        assert!(!directory.names(&rlib("serde")));
        assert!(directory.names(&rlib("kernels, cuda_std")));
    }

    #[test]
    fn only_procedural_macros_are_known_to_have_no_device_library() {
        let directory = Directory::new("macros");
        assert!(!directory.names(b"\x7fELF __rustc_proc_macro_decls_0__ cuda_std"));
        assert!(directory.names(b"\x7fELF with compressed metadata"));
    }

    #[test]
    fn what_is_not_known_may_be_the_device_library() {
        let directory = Directory::new("unknown");
        assert!(directory.names(b""));
        assert!(directory.names(b"!<arch>\nno member"));
        let may = |change: &dyn Fn(&mut Dependencies)| {
            let mut dependencies = Dependencies::default();
            change(&mut dependencies);
            dependencies.may_have_device_library()
        };
        assert!(!may(&|it| it.of_crate("serde".into())));
        assert!(may(&|it| it.of_crate("cuda_std".into())));
        assert!(may(&|it| it.add_extern(&"a=/nonexistent/liba.rlib".into())));
        assert!(may(&|it| it.add_extern(&"cuda_std".into())));
        assert!(!may(&|it| it.add_extern(&"proc_macro".into())));
        assert!(!may(&|it| it.add_search_path(&"dependency=deps".into())));
        assert!(!may(&|it| it.add_search_path(&"native=lib".into())));
        assert!(may(&|it| it.add_search_path(&"lib".into())));
    }
}
