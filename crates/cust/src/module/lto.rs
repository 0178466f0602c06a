//! Link-time optimization: nvJitLink links LTO-IR, which `nvcc -dlto` and libnvvm with `-gen-lto`
//! produce, and optimizes across inputs.
//!
//! The driver's own linker ([`Linker`](super::Linker)) supports only LTO-IR of toolkits before CUDA
//! 12, with deprecated options. nvJitLink is part of the CUDA toolkit, not of the driver; it is
//! loaded on first use.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

use super::Module;
use crate::backend::Backend;
use crate::backend::c_name;
use crate::context::Context;
use crate::error::{CudaResult, Error};

/// The kind of an input of the [`LtoLinker`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LtoInput {
    /// LTO-IR.
    LtoIr,
    /// PTX.
    Ptx,
    /// Machine code.
    Cubin,
    /// A fat binary.
    Fatbin,
    /// A host object file with embedded device code.
    Object,
    /// A static library of host object files with embedded device code.
    Library,
}

impl LtoInput {
    fn raw(self) -> c_int {
        match self {
            LtoInput::Cubin => 1,
            LtoInput::Ptx => 2,
            LtoInput::LtoIr => 3,
            LtoInput::Fatbin => 4,
            LtoInput::Object => 5,
            LtoInput::Library => 6,
        }
    }
}

type Handle = *mut c_void;

macro_rules! functions {
    ($($name:ident: $symbol:literal ($($ty:ty),*);)*) => {
        /// The functions of nvJitLink.
        struct NvJitLink {
            $($name: unsafe extern "C" fn($($ty),*) -> c_int,)*
            /// Keeps the functions' code loaded.
            _library: libloading::Library,
        }

        impl NvJitLink {
            fn of(library: libloading::Library) -> Result<NvJitLink, libloading::Error> {
                // SAFETY: these are the functions' types in `nvJitLink.h`.
                unsafe {
                    Ok(NvJitLink {
                        $($name: *library.get($symbol)?,)*
                        _library: library,
                    })
                }
            }
        }
    };
}
functions! {
    create: b"nvJitLinkCreate" (*mut Handle, c_uint, *const *const c_char);
    destroy: b"nvJitLinkDestroy" (*mut Handle);
    add_data: b"nvJitLinkAddData" (Handle, c_int, *const c_void, usize, *const c_char);
    complete: b"nvJitLinkComplete" (Handle);
    cubin_size: b"nvJitLinkGetLinkedCubinSize" (Handle, *mut usize);
    cubin: b"nvJitLinkGetLinkedCubin" (Handle, *mut c_void);
    log_size: b"nvJitLinkGetErrorLogSize" (Handle, *mut usize);
    log: b"nvJitLinkGetErrorLog" (Handle, *mut c_char);
}

/// The names and paths to search for the library: the loader's search path, then the usual location
/// of the CUDA toolkit.
const LIBRARIES: &[&str] = if cfg!(windows) {
    &["nvJitLink_130_0.dll", "nvJitLink_120_0.dll"]
} else {
    &[
        "libnvJitLink.so.13",
        "libnvJitLink.so.12",
        "libnvJitLink.so",
        "/usr/local/cuda/lib64/libnvJitLink.so",
        "/usr/local/cuda/lib64/libnvJitLink.so.13",
        "/usr/local/cuda/lib64/libnvJitLink.so.12",
    ]
};

/// The oldest architecture that nvJitLink supports.
const OLDEST: u32 = 50;

/// nvJitLink's error code for an unsupported architecture.
const UNSUPPORTED_ARCH: c_int = 16;

fn library() -> CudaResult<&'static NvJitLink> {
    static LIBRARY: OnceLock<Result<NvJitLink, String>> = OnceLock::new();
    let loaded = LIBRARY.get_or_init(|| {
        let mut tried = Vec::new();
        for name in LIBRARIES {
            // SAFETY: the library's initializers are trusted.
            match unsafe { libloading::Library::new(name) }.and_then(NvJitLink::of) {
                Ok(library) => return Ok(library),
                Err(error) => tried.push(format!("{name}: {error}")),
            }
        }
        Err(tried.join("; "))
    });
    loaded.as_ref().map_err(|reason| Error::NoLinker {
        reason: reason.clone(),
    })
}

/// Links LTO-IR and other inputs to machine code, with link-time optimization.
///
/// # Examples
///
/// ```no_run
/// use cust::module::{LtoInput, LtoLinker};
/// use cust::prelude::*;
/// # let (CALLER, CALLED): (&[u8], &[u8]) = (&[], &[]);
///
/// let _context = cust::quick_init()?;
/// let mut linker = LtoLinker::new()?;
/// // SAFETY: `nvcc` produced the inputs.
/// unsafe {
///     linker.add(LtoInput::LtoIr, "caller", CALLER)?;
///     linker.add(LtoInput::LtoIr, "called", CALLED)?;
/// }
/// let module = linker.load()?;
/// # Ok::<(), cust::error::Error>(())
/// ```
pub struct LtoLinker {
    library: &'static NvJitLink,
    raw: Handle,
}

// SAFETY: nvJitLink's linkers may be used from any thread, by one thread at a time.
unsafe impl Send for LtoLinker {}

impl LtoLinker {
    /// Creates a linker for the current context's device.
    ///
    /// # Errors
    ///
    /// Returns [`Error::NoContext`] without a context, and the errors of [`LtoLinker::for_arch`].
    pub fn new() -> CudaResult<LtoLinker> {
        let context = Context::current("creating a linker")?;
        let (major, minor) = context.device().compute_capability()?;
        LtoLinker::for_arch(&format!("sm_{major}{minor}"))
    }

    /// Creates a linker for an architecture, such as `sm_90`. No device is required.
    ///
    /// # Errors
    ///
    /// Returns [`Error::NoLinker`] if nvJitLink is not installed, [`Error::NulInName`] if `arch`
    /// contains a NUL byte, and [`Error::Linker`] for an unsupported architecture.
    pub fn for_arch(arch: &str) -> CudaResult<LtoLinker> {
        let library = library()?;
        // nvJitLink aborts the process for architectures that never existed.
        let number = arch.strip_prefix("sm_").and_then(|name| {
            let digits = name.strip_suffix(['a', 'f']).unwrap_or(name);
            let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then(|| digits.parse::<u32>().ok()).flatten()
        });
        if number.is_none_or(|number| number < OLDEST) {
            return Err(Error::Linker {
                doing: format!("creating a linker for {arch}"),
                code: UNSUPPORTED_ARCH,
                log: "not an architecture, or no longer supported".to_owned(),
            });
        }
        let options: [CString; 2] = [c_name(&format!("-arch={arch}"))?, c_name("-lto")?];
        let list = options.each_ref().map(|option| option.as_ptr());
        let mut raw = std::ptr::null_mut();
        // SAFETY: the list lives through the call, and the pointer is valid for it.
        let code = unsafe { (library.create)(&mut raw, list.len() as c_uint, list.as_ptr()) };
        if code != 0 {
            // The handle may be invalid, so it cannot be destroyed, and there is no log.
            return Err(Error::Linker {
                doing: format!("creating a linker for {arch}"),
                code,
                log: String::new(),
            });
        }
        Ok(LtoLinker { library, raw })
    }

    /// Adds an input. The linker's messages refer to it as `name`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Linker`] with the linker's log if the data is not of the given kind.
    ///
    /// # Safety
    ///
    /// The input must be the unmodified output of a tool that produces inputs of this kind, as for
    /// [`Module::from_cubin`].
    pub unsafe fn add(&mut self, kind: LtoInput, name: &str, data: &[u8]) -> CudaResult<()> {
        let c_name = c_name(name)?;
        // SAFETY: data and name live through the call, during which the linker copies them.
        let code = unsafe {
            let (data, size) = (data.as_ptr().cast(), data.len());
            (self.library.add_data)(self.raw, kind.raw(), data, size, c_name.as_ptr())
        };
        self.check(code, || format!("adding {kind:?} `{name}` to a linker"))
    }

    /// Links the inputs, and returns the machine code.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Linker`] with the linker's log, for example for an undefined function.
    pub fn complete(self) -> CudaResult<Vec<u8>> {
        let doing = || "linking".to_owned();
        let mut size = 0;
        // SAFETY: the linker is alive, and the pointers are valid for the calls: the buffer has the
        // size that the linker returned.
        unsafe {
            self.check((self.library.complete)(self.raw), doing)?;
            self.check((self.library.cubin_size)(self.raw, &mut size), doing)?;
            let mut cubin = vec![0u8; size];
            let code = (self.library.cubin)(self.raw, cubin.as_mut_ptr().cast());
            self.check(code, doing)?;
            Ok(cubin)
        }
    }

    /// Links the inputs, and loads the machine code into the current context.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`LtoLinker::complete`] and [`Module::from_cubin`], and
    /// [`Error::NoLinker`] on the emulator, which cannot execute machine code.
    pub fn load(self) -> CudaResult<Module> {
        let context = Context::current("loading a linked module")?;
        if context.backend() == Backend::Emulator {
            return Err(Error::NoLinker {
                reason: "the emulator executes PTX only".to_owned(),
            });
        }
        let cubin = self.complete()?;
        // SAFETY: the linker produced the cubin.
        unsafe { Module::from_cubin(cubin, &[]) }
    }

    fn check(&self, code: c_int, doing: impl FnOnce() -> String) -> CudaResult<()> {
        if code == 0 {
            return Ok(());
        }
        Err(Error::Linker {
            doing: doing(),
            code,
            log: self.log(),
        })
    }

    fn log(&self) -> String {
        if self.raw.is_null() {
            return String::new();
        }
        let mut size = 0;
        // SAFETY: the linker is alive; the buffer has the size that it returned, plus a NUL byte.
        unsafe {
            if (self.library.log_size)(self.raw, &mut size) != 0 || size == 0 {
                return String::new();
            }
            let mut log = vec![0u8; size + 1];
            if (self.library.log)(self.raw, log.as_mut_ptr().cast()) != 0 {
                return String::new();
            }
            let log = CStr::from_bytes_until_nul(&log);
            log.map_or(String::new(), |log| log.to_string_lossy().trim().to_owned())
        }
    }
}

impl Drop for LtoLinker {
    fn drop(&mut self) {
        if !self.raw.is_null() {
            // SAFETY: created once, destroyed once.
            let _ = unsafe { (self.library.destroy)(&mut self.raw) };
        }
    }
}

impl std::fmt::Debug for LtoLinker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LtoLinker({:p})", self.raw)
    }
}
