//! A loaded libnvvm, its version and supported architectures.

use crate::{Arch, Dialect, Error, LoadError, Options, Program, Stage, Status};
use cuda_toolkit::Toolkit;
use libnvvm_sys::Functions;
use std::ffi::{CString, c_int};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// A loaded libnvvm. Clones share it; it stays loaded as long as a clone or a [`Program`] lives.
#[derive(Clone)]
pub struct Library {
    inner: Arc<Inner>,
}

struct Inner {
    functions: Functions,
    path: PathBuf,
    version: Version,
    ir_version: IrVersion,
    supported: OnceLock<Vec<Arch>>,
}

/// The interface's version, such as 2.0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// The major version.
    pub major: u32,
    /// The minor version.
    pub minor: u32,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// The versions in a module's `!nvvmir.version`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct IrVersion {
    /// The version of NVVM IR.
    pub ir: Version,
    /// The version of the debug metadata.
    pub debug: Version,
}

/// The smallest module that libnvvm compiles.
const PROBE: &str = concat!(
    "target datalayout = \"e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-\
     f32:32:32-f64:64:64-v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64\"\n",
    "target triple = \"nvptx64-nvidia-cuda\"\n",
    "define void @f() {\n  ret void\n}\n",
    "!nvvmir.version = !{!0}\n!0 = !{i32 2, i32 0}\n",
);

impl Library {
    /// Locates libnvvm with `cuda_toolkit`, and loads it.
    ///
    /// # Errors
    ///
    /// Returns [`Error::NotFound`] or [`Error::Broken`].
    pub fn find() -> Result<Library, Error> {
        Library::from_toolkit(&cuda_toolkit::find(&[]))
    }

    /// Like [`Library::find`], and searches additional directories after the usual ones.
    ///
    /// # Errors
    ///
    /// Returns [`Error::NotFound`] or [`Error::Broken`].
    pub fn find_with(extra: &[PathBuf]) -> Result<Library, Error> {
        Library::from_toolkit(&cuda_toolkit::find(extra))
    }

    /// Loads the libnvvm of a toolkit that was already located.
    ///
    /// # Errors
    ///
    /// Returns [`Error::NotFound`] or [`Error::Broken`].
    pub fn from_toolkit(toolkit: &Toolkit) -> Result<Library, Error> {
        match &toolkit.libnvvm {
            Some(found) => Library::open(&found.path),
            None => Err(Error::NotFound {
                searched: toolkit.searched.clone(),
            }),
        }
    }

    /// Loads the libnvvm at a path.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Broken`] if the file cannot be loaded or is not libnvvm.
    pub fn open(path: impl AsRef<Path>) -> Result<Library, Error> {
        let path = path.as_ref().to_path_buf();
        // SAFETY: the caller states that the file is libnvvm. A library without its functions is
        // rejected; nothing more can be checked before loading.
        let functions =
            unsafe { Functions::open(&path) }.map_err(|reason: LoadError| Error::Broken {
                path: path.clone(),
                reason,
            })?;
        let numbers = read_versions(&functions).map_err(|status| Error::Compile {
            stage: Stage::Version,
            status,
            log: Vec::new(),
        })?;
        let [major, minor, major_ir, minor_ir, major_debug, minor_debug] =
            numbers.map(|n| n.unsigned_abs());
        Ok(Library {
            inner: Arc::new(Inner {
                functions,
                path,
                version: Version { major, minor },
                ir_version: IrVersion {
                    ir: Version {
                        major: major_ir,
                        minor: minor_ir,
                    },
                    debug: Version {
                        major: major_debug,
                        minor: minor_debug,
                    },
                },
                supported: OnceLock::new(),
            }),
        })
    }

    /// Returns the path of the loaded file.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// Returns the version of the interface.
    pub fn version(&self) -> Version {
        self.inner.version
    }

    /// Returns the newest versions of NVVM IR and debug metadata that the library reads.
    pub fn ir_version(&self) -> IrVersion {
        self.inner.ir_version
    }

    /// Returns the supported architectures, oldest first: those of [`Arch::KNOWN`] for which the
    /// library verifies an empty module. The first call takes a few milliseconds.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Compile`] if libnvvm cannot verify an empty module for another reason.
    pub fn supported_archs(&self) -> Result<&[Arch], Error> {
        if let Some(archs) = self.inner.supported.get() {
            return Ok(archs);
        }
        let mut program = Program::new(self)?;
        program.add_module("probe", PROBE.as_bytes())?;
        let mut supported = Vec::new();
        for &arch in Arch::KNOWN {
            match program.run_verify(&Options::new(arch)) {
                Ok(()) => supported.push(arch),
                Err(Status::InvalidOption) => {}
                Err(status) => return Err(program.failure(Stage::Verify, status)),
            }
        }
        Ok(self.inner.supported.get_or_init(|| supported))
    }

    /// Returns the dialect of modules for an architecture, as reported by the library, otherwise
    /// [`Arch::dialect`].
    pub fn dialect(&self, arch: Arch) -> Dialect {
        match self.llvm_version(arch) {
            Some(7) => Dialect::Llvm7,
            Some(_) => Dialect::Modern,
            None => arch.dialect(),
        }
    }

    /// Returns the LLVM release whose dialect an architecture requires; `None` before version 13.1.
    pub fn llvm_version(&self, arch: Arch) -> Option<u32> {
        let function = self.functions().nvvmLLVMVersion?;
        let arch = CString::new(arch.compute()).ok()?;
        let mut major: c_int = 0;
        // SAFETY: both pointers are valid for the call.
        let result = unsafe { function(arch.as_ptr(), &mut major) };
        Status::from_result(result).ok()?;
        u32::try_from(major).ok()
    }

    pub(crate) fn functions(&self) -> &Functions {
        &self.inner.functions
    }
}

impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Library")
            .field("path", &self.inner.path)
            .field("version", &self.inner.version)
            .finish_non_exhaustive()
    }
}

fn read_versions(functions: &Functions) -> Result<[c_int; 6], Status> {
    let mut n: [c_int; 6] = [0; 6];
    let [major, minor, major_ir, minor_ir, major_debug, minor_debug] = &mut n;
    // SAFETY: all pointers are valid for the calls.
    unsafe {
        Status::from_result((functions.nvvmVersion)(major, minor))?;
        Status::from_result((functions.nvvmIRVersion)(
            major_ir,
            minor_ir,
            major_debug,
            minor_debug,
        ))?;
    }
    Ok(n)
}
