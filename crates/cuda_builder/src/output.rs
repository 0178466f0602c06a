//! The output of a build.

use crate::{Arch, Error};
use std::fs;
use std::path::{Path, PathBuf};

/// An output file for one architecture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// The architecture.
    pub arch: Arch,
    /// The file, in the target directory.
    pub path: PathBuf,
    /// The copy made by [`CudaBuilder::copy_to`](crate::CudaBuilder::copy_to).
    pub copy: Option<PathBuf>,
}

/// The output of a build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// The PTX, for each architecture.
    pub ptx: Vec<Artifact>,
    /// The cubins, for each architecture; empty for [`Emit::Ptx`](crate::Emit::Ptx).
    pub cubins: Vec<Artifact>,
    /// The fat binary, for [`Emit::Fatbin`](crate::Emit::Fatbin).
    pub fatbin: Option<PathBuf>,
    /// The backend that compiled them.
    pub backend: PathBuf,
}

impl Output {
    /// Copies all artifacts to the path of [`CudaBuilder::copy_to`](crate::CudaBuilder::copy_to).
    pub(crate) fn copy_to(&mut self, path: &Path) -> Result<(), Error> {
        let several = self.ptx.len() > 1;
        for artifact in self.ptx.iter_mut() {
            let to = if several {
                with_arch(path, artifact.arch)
            } else {
                path.to_path_buf()
            };
            copy_if_different(&artifact.path, &to)?;
            artifact.copy = Some(to);
        }
        for artifact in self.cubins.iter_mut() {
            let to = if several {
                with_arch(path, artifact.arch)
            } else {
                path.to_path_buf()
            };
            let to = to.with_extension("cubin");
            copy_if_different(&artifact.path, &to)?;
            artifact.copy = Some(to);
        }
        if let Some(fatbin) = &self.fatbin {
            copy_if_different(fatbin, &path.with_extension("fatbin"))?;
        }
        Ok(())
    }
}

/// `kernels.ptx` for sm_90 is `kernels.sm_90.ptx`.
fn with_arch(path: &Path, arch: Arch) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let extension = path.extension().unwrap_or("ptx".as_ref()).to_string_lossy();
    path.with_file_name(format!("{stem}.{}.{extension}", arch.sm()))
}

/// Writes a file unless it already has these contents: a new modification time would make cargo
/// recompile the crate that includes the file.
pub(crate) fn copy_if_different(from: &Path, to: &Path) -> Result<(), Error> {
    let content = fs::read(from).map_err(Error::io(format!("read `{}`", from.display())))?;
    if fs::read(to).is_ok_and(|present| present == content) {
        return Ok(());
    }
    if let Some(directory) = to
        .parent()
        .filter(|directory| !directory.as_os_str().is_empty())
    {
        fs::create_dir_all(directory).map_err(Error::io(format!(
            "create the directory `{}`",
            directory.display()
        )))?;
    }
    fs::write(to, content).map_err(Error::io(format!("write `{}`", to.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_architecture_goes_before_the_extension() {
        let name = |path: &str| {
            with_arch(Path::new(path), Arch::SM_90A)
                .display()
                .to_string()
        };
        assert_eq!(name("/o/kernels.ptx"), "/o/kernels.sm_90a.ptx");
        assert_eq!(name("kernels"), "kernels.sm_90a.ptx");
    }

    #[test]
    fn an_equal_file_is_not_written() {
        let directory =
            std::env::temp_dir().join(format!("cuda_builder-copy-{}", std::process::id()));
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(&directory).unwrap();
        let (from, to) = (directory.join("a"), directory.join("sub/b"));
        fs::write(&from, "one").unwrap();
        copy_if_different(&from, &to).unwrap();
        let old = fs::File::open(&to).unwrap();
        let past = std::time::SystemTime::UNIX_EPOCH;
        fs::File::options()
            .append(true)
            .open(&to)
            .unwrap()
            .set_modified(past)
            .unwrap();
        copy_if_different(&from, &to).unwrap();
        assert_eq!(old.metadata().unwrap().modified().unwrap(), past);
        fs::write(&from, "two").unwrap();
        copy_if_different(&from, &to).unwrap();
        assert_eq!(fs::read_to_string(&to).unwrap(), "two");
        fs::remove_dir_all(&directory).unwrap();
    }
}
