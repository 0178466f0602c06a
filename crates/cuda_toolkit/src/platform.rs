//! Where each platform has the files of a CUDA toolkit, and the user's directories.

use crate::{Part, entries, existing_file, toolkit_directories, variable};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// An operating system, which determines the layout of a CUDA toolkit and of pip's packages.
///
/// The processor does not matter: on Jetson boards and Arm servers, the programs and libnvvm have
/// the same paths as on x86-64; only libraries for linking are in `targets/sbsa-linux` or
/// `targets/aarch64-linux`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Platform {
    /// Linux and other Unix systems.
    Unix,
    /// Windows.
    Windows,
}

impl Platform {
    /// The platform that this crate was compiled for.
    pub const HOST: Platform = if cfg!(windows) {
        Platform::Windows
    } else {
        Platform::Unix
    };

    /// Returns the directories into which NVIDIA's installer puts toolkits: `/usr/local/cuda`; on
    /// Windows those in `NVIDIA GPU Computing Toolkit\CUDA` of the program files, newest first.
    pub fn system_roots(self) -> Vec<PathBuf> {
        match self {
            Platform::Unix => vec!["/usr/local/cuda".into()],
            Platform::Windows => {
                let programs = variable("ProgramFiles").unwrap_or("C:\\Program Files".into());
                installed(&Path::new(&programs).join("NVIDIA GPU Computing Toolkit/CUDA"))
            }
        }
    }

    /// Returns `rust-nvvm` in the directory that the environment variable `xdg` names, in
    /// `LOCALAPPDATA` (Windows), or in `below` of the home directory.
    pub(crate) fn user_directory(
        self,
        xdg: &str,
        below: &str,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Option<PathBuf> {
        let absolute = |name| {
            let directory = variable(name).map(PathBuf::from);
            directory.filter(|directory| directory.is_absolute())
        };
        let local = || match self {
            Platform::Unix => None,
            Platform::Windows => variable("LOCALAPPDATA").map(PathBuf::from),
        };
        let home = || Some(PathBuf::from(variable("HOME")?).join(below));
        let directory = absolute(xdg).or_else(local).or_else(home)?;
        Some(directory.join("rust-nvvm"))
    }

    /// Searches for one part in one directory.
    pub(crate) fn find_part(self, root: &Path, part: Part) -> Option<PathBuf> {
        // CUDA 12, CUDA 13, and pip's packages.
        let libraries: &[&str] = match self {
            Platform::Unix => &["nvvm/lib64", "nvvm/lib", "lib64", "lib"],
            Platform::Windows => &["nvvm/bin/x64", "nvvm/bin", "bin/x64", "bin/x86_64", "bin"],
        };
        let ptxas = match self {
            Platform::Unix => "bin/ptxas",
            Platform::Windows => "bin/ptxas.exe",
        };
        toolkit_directories(root)
            .iter()
            .find_map(|directory| match part {
                Part::Libnvvm => libraries
                    .iter()
                    .find_map(|library| self.find_libnvvm(&directory.join(library))),
                Part::Libdevice => existing_file(directory.join("nvvm/libdevice/libdevice.10.bc")),
                Part::Ptxas => existing_file(directory.join(ptxas)),
            })
    }

    /// Returns the libnvvm with the highest version in a directory. A library without a version,
    /// which only toolkits for Unix have, precedes all others.
    fn find_libnvvm(self, directory: &Path) -> Option<PathBuf> {
        let version = |file: &str| match self {
            // `libnvvm.so.4.0.0`
            Platform::Unix => {
                let rest = file.strip_prefix("libnvvm.so")?;
                match rest.strip_prefix('.') {
                    Some(version) => numbers(version, '.'),
                    None => rest.is_empty().then(|| vec![u32::MAX]),
                }
            }
            // `nvvm64_40_0.dll`
            Platform::Windows => {
                let version = file.strip_prefix("nvvm64_")?.strip_suffix(".dll")?;
                numbers(version, '_')
            }
        };
        let versions = entries(directory)
            .filter_map(|(file, path)| Some((version(&file)?, existing_file(path)?)));
        versions.max().map(|(_, path)| path)
    }
}

/// Returns the directories of a directory named by versions, such as `v13.0`, newest first.
fn installed(directory: &Path) -> Vec<PathBuf> {
    let version = |name: &str| numbers(name.strip_prefix('v')?, '.');
    let mut found: Vec<(Vec<u32>, PathBuf)> = entries(directory)
        .filter_map(|(name, path)| Some((version(&name)?, path)))
        .collect();
    found.sort_by(|a, b| b.cmp(a));
    found.into_iter().map(|(_, path)| path).collect()
}

fn numbers(text: &str, separator: char) -> Option<Vec<u32>> {
    text.split(separator).map(|n| n.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_of_the_user() {
        let directory = |platform: Platform, variables: &[(&str, &str)]| {
            let variable = |name: &str| {
                let value = variables.iter().find(|(of, _)| *of == name);
                value.map(|(_, value)| OsString::from(value))
            };
            platform.user_directory("XDG_CACHE_HOME", ".cache", variable)
        };
        let path = |path: &str| Some(PathBuf::from(path));
        let home = ("HOME", "/home/u");
        assert_eq!(
            directory(Platform::Unix, &[home, ("XDG_CACHE_HOME", "/c")]),
            path("/c/rust-nvvm")
        );
        // The specification ignores relative paths.
        assert_eq!(
            directory(Platform::Unix, &[home, ("XDG_CACHE_HOME", "c")]),
            path("/home/u/.cache/rust-nvvm")
        );
        let local = ("LOCALAPPDATA", "/local");
        assert_eq!(
            directory(Platform::Unix, &[home, local]),
            path("/home/u/.cache/rust-nvvm")
        );
        assert_eq!(
            directory(Platform::Windows, &[home, local]),
            path("/local/rust-nvvm")
        );
        assert_eq!(directory(Platform::Windows, &[]), None);
    }

    #[test]
    fn installed_toolkits_are_ordered_by_version() {
        let directory = std::env::temp_dir().join(format!("installed-{}", std::process::id()));
        for name in ["v12.9", "v13.0", "v9.2", "v13.10", "other"] {
            std::fs::create_dir_all(directory.join(name)).unwrap();
        }
        let expected = ["v13.10", "v13.0", "v12.9", "v9.2"].map(|name| directory.join(name));
        assert_eq!(installed(&directory), expected);
        std::fs::remove_dir_all(&directory).unwrap();
        assert!(installed(&directory).is_empty());
    }
}
