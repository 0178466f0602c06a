//! Locates the three NVIDIA files that the project needs (libnvvm, libdevice and ptxas), and
//! defines the names of the architectures that they compile for.
//!
//! The backend and `nvvm` locate libnvvm and libdevice with this crate, `cuda_builder` locates
//! ptxas, and `./x doctor` and `cargo cuda doctor` print what was found. This crate neither loads nor
//! runs the files. It supports two layouts: a CUDA toolkit, and the directory that
//! `pip install --target DIR nvidia-nvvm nvidia-cuda-nvcc` creates. Both depend on the operating
//! system, as [`Platform`] describes.
//!
//! ```
//! use cuda_toolkit::{Arch, Part};
//!
//! let toolkit = cuda_toolkit::find(&["target/cuda".into()]);
//! match toolkit.get(Part::Ptxas) {
//!     Some(ptxas) => println!("found {}", ptxas.path.display()),
//!     None => println!("ptxas not found; searched {:?}", toolkit.searched),
//! }
//! assert_eq!("sm_90".parse(), Ok(Arch::SM_90));
//! ```

mod arch;
pub mod assemble;
mod fetch;
mod platform;
pub mod usage;

pub use arch::{Arch, Dialect, UnknownArch, Variant};
pub use fetch::{FetchError, fetch, find_pip};
pub use platform::Platform;

use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// The environment variables that name a CUDA toolkit, in order of precedence.
pub const ENVIRONMENT: [&str; 2] = ["CUDA_HOME", "CUDA_PATH"];

/// The command that fetches all three files without a toolkit, for error messages. Append the
/// destination directory.
pub const PIP_COMMAND: &str =
    "python3 -m pip install nvidia-nvvm==13.0.88 nvidia-cuda-nvcc==13.0.88 --target";

/// The environment variable that names the directory of the user's cache.
pub const CACHE_VARIABLE: &str = "CUDA_BUILDER_CACHE";

/// Returns the directory of the user's cache, which all projects share: the one that
/// [`CACHE_VARIABLE`] names, otherwise `rust-nvvm` in `XDG_CACHE_HOME`, in `LOCALAPPDATA` (Windows)
/// or in `~/.cache`. `None` if the user has no home directory. The directory need not exist.
pub fn user_cache() -> Option<PathBuf> {
    if let Some(directory) = variable(CACHE_VARIABLE) {
        return std::path::absolute(directory).ok();
    }
    Platform::HOST.user_directory("XDG_CACHE_HOME", ".cache", variable)
}

/// Returns the directory for the user's data: `rust-nvvm` in `XDG_DATA_HOME`, in `LOCALAPPDATA`
/// (Windows) or in `~/.local/share`. `None` if the user has no home directory. The directory need
/// not exist.
pub fn user_data() -> Option<PathBuf> {
    Platform::HOST.user_directory("XDG_DATA_HOME", ".local/share", variable)
}

/// Returns the value of an environment variable, unless it is empty.
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// One of the three files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part {
    /// The compiler from NVVM IR to PTX, a shared library.
    Libnvvm,
    /// NVIDIA's library of float math, LLVM bitcode.
    Libdevice,
    /// The assembler from PTX to cubin, a program.
    Ptxas,
}

impl Part {
    /// All parts.
    pub const ALL: [Part; 3] = [Part::Libnvvm, Part::Libdevice, Part::Ptxas];
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Part::Libnvvm => "libnvvm",
            Part::Libdevice => "libdevice",
            Part::Ptxas => "ptxas",
        })
    }
}

/// The reason why a directory was searched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// An environment variable names it.
    Environment(&'static str),
    /// It is the installer's default directory.
    System,
    /// The caller passed it.
    Caller,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Environment(name) => f.write_str(name),
            Origin::System => f.write_str("system"),
            Origin::Caller => f.write_str("fetched"),
        }
    }
}

/// A file that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The file.
    pub path: PathBuf,
    /// The searched directory that contains it.
    pub root: PathBuf,
    /// The reason why that directory was searched.
    pub origin: Origin,
}

/// The files that were found, and the directories that were searched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Toolkit {
    /// The libnvvm shared library.
    pub libnvvm: Option<Found>,
    /// `libdevice.10.bc`.
    pub libdevice: Option<Found>,
    /// The `ptxas` program.
    pub ptxas: Option<Found>,
    /// The searched directories in order, including those that do not exist.
    pub searched: Vec<PathBuf>,
    /// Directories named by environment variables that contain no part, with the variables.
    pub ignored: Vec<(PathBuf, &'static str)>,
}

impl Toolkit {
    /// Returns the file of a part, if it was found.
    pub fn get(&self, part: Part) -> Option<&Found> {
        match part {
            Part::Libnvvm => self.libnvvm.as_ref(),
            Part::Libdevice => self.libdevice.as_ref(),
            Part::Ptxas => self.ptxas.as_ref(),
        }
    }

    /// Returns a message for each environment variable that was ignored because its directory
    /// contains no part of a toolkit.
    pub fn warnings(&self) -> impl Iterator<Item = String> + '_ {
        self.ignored.iter().map(|(root, name)| {
            let what = match root.is_dir() {
                true => "which contains neither libnvvm nor libdevice nor ptxas",
                false => "which is not a directory",
            };
            format!(
                "the environment variable `{name}` names `{}`, {what}: it is ignored",
                root.display()
            )
        })
    }

    /// Returns the parts that were not found.
    pub fn missing(&self) -> impl Iterator<Item = Part> + '_ {
        Part::ALL
            .into_iter()
            .filter(|&part| self.get(part).is_none())
    }
}

/// Searches for all parts in the directories named by `CUDA_HOME` and `CUDA_PATH`, in those of
/// NVIDIA's installer ([`Platform::system_roots`]), then in `extra`. The search for a part
/// continues past directories without it.
pub fn find(extra: &[PathBuf]) -> Toolkit {
    let mut roots = Vec::new();
    for name in ENVIRONMENT {
        if let Some(value) = variable(name) {
            roots.push((PathBuf::from(value), Origin::Environment(name)));
        }
    }
    let system = Platform::HOST.system_roots();
    roots.extend(system.into_iter().map(|root| (root, Origin::System)));
    roots.extend(extra.iter().map(|root| (root.clone(), Origin::Caller)));
    find_in(&roots)
}

/// Searches for all parts in the given directories only, in order.
pub fn find_in(roots: &[(PathBuf, Origin)]) -> Toolkit {
    find_for(Platform::HOST, roots)
}

/// As [`find_in`], for the programs and libraries of another platform.
pub fn find_for(platform: Platform, roots: &[(PathBuf, Origin)]) -> Toolkit {
    let mut toolkit = Toolkit::default();
    for (root, origin) in roots {
        if toolkit.searched.contains(root) {
            continue;
        }
        toolkit.searched.push(root.clone());
        let parts = Part::ALL.map(|part| platform.find_part(root, part));
        if let Origin::Environment(name) = origin
            && parts.iter().all(Option::is_none)
        {
            toolkit.ignored.push((root.clone(), name));
        }
        for (part, path) in Part::ALL.into_iter().zip(parts) {
            let slot = match part {
                Part::Libnvvm => &mut toolkit.libnvvm,
                Part::Libdevice => &mut toolkit.libdevice,
                Part::Ptxas => &mut toolkit.ptxas,
            };
            if slot.is_none() {
                *slot = path.map(|path| Found {
                    path,
                    root: root.clone(),
                    origin: origin.clone(),
                });
            }
        }
    }
    toolkit
}

/// Returns the directories in `root` that may have a toolkit's layout: `root` itself, then those that pip
/// creates (`nvidia/cu13`, and `nvidia/cuda_nvcc` for CUDA 12), newest first.
fn toolkit_directories(root: &Path) -> Vec<PathBuf> {
    let mut directories = vec![root.to_path_buf()];
    let mut pip: Vec<(u32, PathBuf)> = entries(&root.join("nvidia"))
        .filter_map(|(name, path)| match name.as_str() {
            "cuda_nvcc" => Some((12, path)),
            _ => Some((name.strip_prefix("cu")?.parse().ok()?, path)),
        })
        .collect();
    pip.sort_by(|a, b| b.cmp(a));
    directories.extend(pip.into_iter().map(|(_, path)| path));
    directories
}

/// Returns the entries of a directory with UTF-8 names; empty if the directory cannot be read.
fn entries(directory: &Path) -> impl Iterator<Item = (String, PathBuf)> {
    fs::read_dir(directory)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path())))
}

fn existing_file(path: PathBuf) -> Option<PathBuf> {
    path.is_file().then_some(path)
}
