//! Finds the programs of the CUDA toolkit.

use anyhow::{Result, bail};
use cuda_toolkit::Part;
use std::path::PathBuf;

/// A program of the toolkit.
#[derive(Debug, Clone, Copy)]
pub struct Tool {
    /// Its name.
    pub name: &'static str,
    /// Directories of it in a toolkit, besides `bin`.
    directories: &'static [&'static str],
    /// Where to get it.
    source: &'static str,
}

/// The disassembler.
pub const NVDISASM: Tool = Tool {
    name: "nvdisasm",
    directories: &[],
    source: "it is part of the CUDA toolkit, and of the PyPI package `nvidia-cuda-nvdisasm`",
};

/// The checker of memory accesses and races.
pub const SANITIZER: Tool = Tool {
    name: "compute-sanitizer",
    directories: &["compute-sanitizer"],
    source: "it is part of the CUDA toolkit, and of the PyPI package `nvidia-cuda-sanitizer-api`",
};

/// The profiler of kernels, Nsight Compute.
pub const NCU: Tool = Tool {
    name: "ncu",
    directories: &[],
    source: "it is part of Nsight Compute, which comes with the CUDA toolkit",
};

/// The profiler of programs, Nsight Systems.
pub const NSYS: Tool = Tool {
    name: "nsys",
    directories: &[],
    source: "it is part of Nsight Systems, which comes with the CUDA toolkit",
};

/// The debugger.
pub const CUDA_GDB: Tool = Tool {
    name: "cuda-gdb",
    directories: &[],
    source: "it is part of the CUDA toolkit; there is no PyPI package of it",
};

impl Tool {
    /// Returns the path of the program: in the toolkit that has libnvvm or ptxas, or on the `PATH`.
    ///
    /// # Errors
    ///
    /// Returns an error that says how to install the tool if it is missing.
    pub fn find(self) -> Result<PathBuf> {
        match self.search()? {
            Some(path) => Ok(path),
            None => bail!(
                "`{}` was not found, in a CUDA toolkit or on the PATH\n\
                 help: {}; set CUDA_HOME to the directory, or add its `bin` to PATH",
                self.name,
                self.source
            ),
        }
    }

    /// As [`Tool::find`], if the program may be missing.
    ///
    /// # Errors
    ///
    /// Returns an error if the search for the toolkit fails.
    pub fn search(self) -> Result<Option<PathBuf>> {
        let file = format!("{}{}", self.name, std::env::consts::EXE_SUFFIX);
        let mut directories = Vec::new();
        let toolkit = crate::command::toolkit(None)?;
        let roots = (toolkit.searched.iter().cloned())
            .chain(toolkit.get(Part::Ptxas).map(|ptxas| ptxas.root.clone()));
        for root in roots {
            // pip's packages have the toolkit in a directory of its version.
            let entries = std::fs::read_dir(root.join("nvidia")).into_iter().flatten();
            let packages = entries.flatten().map(|entry| entry.path());
            for root in std::iter::once(root).chain(packages) {
                directories.push(root.join("bin"));
                directories.extend(
                    self.directories
                        .iter()
                        .map(|directory| root.join(directory)),
                );
            }
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        directories.extend(std::env::split_paths(&path));
        let files = directories
            .into_iter()
            .map(|directory| directory.join(&file));
        Ok(files.into_iter().find(|file| file.is_file()))
    }
}
