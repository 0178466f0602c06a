//! Locates the three NVIDIA files that the project needs (libnvvm, libdevice and ptxas), and
//! defines the names of the architectures that they compile for.
//!
//! The backend and `nvvm` locate libnvvm and libdevice with this crate, `cuda_builder` locates
//! ptxas, and `./x doctor` prints what was found. This crate neither loads nor runs the files. It
//! supports two layouts: a CUDA toolkit, and the directory that
//! `pip install --target DIR nvidia-nvvm nvidia-cuda-nvcc` creates.

mod arch;

pub use arch::{Arch, Dialect, UnknownArch, Variant};

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// The variables that name a CUDA toolkit, the first one asked first.
pub const ENVIRONMENT: [&str; 2] = ["CUDA_HOME", "CUDA_PATH"];

/// Where NVIDIA's installer puts the toolkit.
pub const SYSTEM_ROOT: &str = "/usr/local/cuda";

/// The command that fetches all three files without a toolkit, for error messages.
/// The folder to fetch into is to be appended.
pub const PIP_COMMAND: &str =
    "python3 -m pip install nvidia-nvvm==13.0.88 nvidia-cuda-nvcc==13.0.88 --target";

/// One of the files looked for.
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

/// Why a folder was searched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// An environment variable names it.
    Environment(&'static str),
    /// It is the installer's usual place.
    System,
    /// The caller named it.
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
    /// The folder under which it was found.
    pub root: PathBuf,
    /// Why that folder was searched.
    pub origin: Origin,
}

/// What was found, and where was looked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Toolkit {
    /// The libnvvm shared library.
    pub libnvvm: Option<Found>,
    /// `libdevice.10.bc`.
    pub libdevice: Option<Found>,
    /// The `ptxas` program.
    pub ptxas: Option<Found>,
    /// The folders that were searched, in order, whether they exist or not.
    pub searched: Vec<PathBuf>,
    /// The folders that environment variables name and that hold no part, with the variables.
    pub ignored: Vec<(PathBuf, &'static str)>,
}

impl Toolkit {
    /// The file for a part, if it was found.
    pub fn get(&self, part: Part) -> Option<&Found> {
        match part {
            Part::Libnvvm => self.libnvvm.as_ref(),
            Part::Libdevice => self.libdevice.as_ref(),
            Part::Ptxas => self.ptxas.as_ref(),
        }
    }

    /// What to tell a user whose environment variables name folders without any part of a toolkit:
    /// a message for each, which was ignored.
    pub fn warnings(&self) -> impl Iterator<Item = String> + '_ {
        self.ignored.iter().map(|(root, name)| {
            let what = match root.is_dir() {
                true => "which holds neither libnvvm nor libdevice nor ptxas",
                false => "which is no directory",
            };
            format!(
                "the environment variable `{name}` names `{}`, {what}: it is ignored",
                root.display()
            )
        })
    }

    /// The parts that were not found.
    pub fn missing(&self) -> impl Iterator<Item = Part> + '_ {
        Part::ALL
            .into_iter()
            .filter(|&part| self.get(part).is_none())
    }
}

/// Looks for all parts: in the folders that `CUDA_HOME` and `CUDA_PATH` name, in
/// `/usr/local/cuda`, then in `extra`. A folder that lacks a part does not end the search for it.
pub fn find(extra: &[PathBuf]) -> Toolkit {
    let mut roots = Vec::new();
    for name in ENVIRONMENT {
        if let Some(value) = std::env::var_os(name).filter(|value| !value.is_empty()) {
            roots.push((PathBuf::from(value), Origin::Environment(name)));
        }
    }
    roots.push((PathBuf::from(SYSTEM_ROOT), Origin::System));
    roots.extend(extra.iter().map(|root| (root.clone(), Origin::Caller)));
    find_in(&roots)
}

/// Looks for all parts in the folders given and nowhere else, the first one first.
pub fn find_in(roots: &[(PathBuf, Origin)]) -> Toolkit {
    let mut toolkit = Toolkit::default();
    for (root, origin) in roots {
        if toolkit.searched.contains(root) {
            continue;
        }
        toolkit.searched.push(root.clone());
        let parts = Part::ALL.map(|part| find_part(root, part));
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

/// Looks for one part below one folder.
fn find_part(root: &Path, part: Part) -> Option<PathBuf> {
    toolkit_folders(root).iter().find_map(|folder| match part {
        Part::Libnvvm => ["nvvm/lib64", "nvvm/lib", "lib64", "lib"]
            .iter()
            .find_map(|lib| find_shared_library(&folder.join(lib), "libnvvm.so")),
        Part::Libdevice => existing_file(folder.join("nvvm/libdevice/libdevice.10.bc")),
        Part::Ptxas => existing_file(folder.join("bin/ptxas")),
    })
}

/// The folders below `root` that may have a toolkit's layout: `root` itself, then what pip makes
/// (`nvidia/cu13`, and `nvidia/cuda_nvcc` for CUDA 12), the newest first.
fn toolkit_folders(root: &Path) -> Vec<PathBuf> {
    let mut folders = vec![root.to_path_buf()];
    let mut pip: Vec<(u32, PathBuf)> = entries(&root.join("nvidia"))
        .filter_map(|(name, path)| match name.as_str() {
            "cuda_nvcc" => Some((12, path)),
            _ => Some((name.strip_prefix("cu")?.parse().ok()?, path)),
        })
        .collect();
    pip.sort_by(|a, b| b.cmp(a));
    folders.extend(pip.into_iter().map(|(_, path)| path));
    folders
}

/// `name` itself in `folder`, else the one with the highest version after it (`libnvvm.so.4`;
/// pip's packages have no link without a version).
fn find_shared_library(folder: &Path, name: &str) -> Option<PathBuf> {
    if let Some(path) = existing_file(folder.join(name)) {
        return Some(path);
    }
    let mut versions: Vec<(Vec<u32>, PathBuf)> = entries(folder)
        .filter_map(|(file, path)| {
            let version = file.strip_prefix(name)?.strip_prefix('.')?;
            let version = version
                .split('.')
                .map(|n| n.parse().ok())
                .collect::<Option<_>>()?;
            Some((version, existing_file(path)?))
        })
        .collect();
    versions.sort();
    versions.pop().map(|(_, path)| path)
}

/// The entries of a folder that have a UTF-8 name; none if the folder cannot be read.
fn entries(folder: &Path) -> impl Iterator<Item = (String, PathBuf)> {
    fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path())))
}

fn existing_file(path: PathBuf) -> Option<PathBuf> {
    path.is_file().then_some(path)
}
