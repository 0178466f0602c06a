//! Linking with optimization across modules: LTO-IR, which `nvcc -dlto` and libnvvm with `-gen-lto`
//! make, is linked by NVIDIA's library nvJitLink.
//!
//! The driver's own linker ([`Linker`](super::Linker)) takes LTO-IR of toolkits before CUDA 12
//! alone, and its options for that are deprecated. nvJitLink is part of the CUDA toolkit and not of
//! the driver; it is loaded when it is first asked for.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

use super::{Module, c_name};
use crate::backend::Backend;
use crate::context::Context;
use crate::error::{CudaResult, Error};

/// What an input of the [`LtoLinker`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LtoInput {
    /// LTO-IR.
    LtoIr,
    /// PTX text.
    Ptx,
    /// Machine code.
    Cubin,
    /// A fat binary.
    Fatbin,
    /// A host object with device code in it.
    Object,
    /// A static library of such objects.
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

/// Where it is looked for: on the loader's path, and where the toolkit usually is.
const LIBRARIES: &[&str] = &[
    "libnvJitLink.so.13",
    "libnvJitLink.so.12",
    "libnvJitLink.so",
    "/usr/local/cuda/lib64/libnvJitLink.so",
    "/usr/local/cuda/lib64/libnvJitLink.so.13",
    "/usr/local/cuda/lib64/libnvJitLink.so.12",
];

/// The oldest architecture of the toolkits that have nvJitLink.
const OLDEST: u32 = 50;

/// nvJitLink's error for an architecture that it does not know.
const UNSUPPORTED_ARCH: c_int = 16;

fn library() -> CudaResult<&'static NvJitLink> {
    static LIBRARY: OnceLock<Result<NvJitLink, String>> = OnceLock::new();
    let loaded = LIBRARY.get_or_init(|| {
        let mut tried = Vec::new();
        for name in LIBRARIES {
            // SAFETY: the library's initialisers are trusted, as by every program that uses it.
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

/// Links LTO-IR and other inputs to machine code, with optimization across them.
///
/// ```no_run
/// use cust::module::{LtoInput, LtoLinker};
/// use cust::prelude::*;
/// # let (CALLER, CALLED): (&[u8], &[u8]) = (&[], &[]);
///
/// let _context = cust::quick_init()?;
/// let mut linker = LtoLinker::new()?;
/// // SAFETY: `nvcc` made them.
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

// SAFETY: one thread at a time uses it, but any may.
unsafe impl Send for LtoLinker {}

impl LtoLinker {
    /// A linker for the current context's device.
    ///
    /// # Errors
    ///
    /// [`Error::NoContext`], and as of [`LtoLinker::for_arch`].
    pub fn new() -> CudaResult<LtoLinker> {
        let context = Context::current("creating a linker")?;
        let (major, minor) = context.device().compute_capability()?;
        LtoLinker::for_arch(&format!("sm_{major}{minor}"))
    }

    /// A linker for an architecture, such as `sm_90`; it needs no device.
    ///
    /// # Errors
    ///
    /// [`Error::NoLinker`] if nvJitLink is not installed, [`Error::NulInName`], and
    /// [`Error::Linker`] for an architecture that it does not know.
    pub fn for_arch(arch: &str) -> CudaResult<LtoLinker> {
        let library = library()?;
        // nvJitLink itself ends the process for numbers that no device ever had.
        let number = arch.strip_prefix("sm_").and_then(|name| {
            let digits = name.trim_end_matches(['a', 'f']);
            digits.parse::<u32>().ok()
        });
        if number.is_none_or(|number| number < OLDEST) {
            return Err(Error::Linker {
                doing: format!("creating a linker for {arch}"),
                code: UNSUPPORTED_ARCH,
                log: "it is no architecture, or an old one".to_owned(),
            });
        }
        let options: [CString; 2] = [c_name(&format!("-arch={arch}"))?, c_name("-lto")?];
        let list = options.each_ref().map(|option| option.as_ptr());
        let mut raw = std::ptr::null_mut();
        // SAFETY: the list lives through the call, and the pointer is valid for it.
        let code = unsafe { (library.create)(&mut raw, list.len() as c_uint, list.as_ptr()) };
        if code != 0 {
            // What it wrote may be no linker; so there is nothing to destroy, and no log.
            return Err(Error::Linker {
                doing: format!("creating a linker for {arch}"),
                code,
                log: String::new(),
            });
        }
        Ok(LtoLinker { library, raw })
    }

    /// Adds an input. The name is for messages.
    ///
    /// # Safety
    ///
    /// As for [`Module::from_cubin`], of whichever tool makes such inputs.
    ///
    /// # Errors
    ///
    /// [`Error::Linker`] with the linker's log if the data is not what `kind` says.
    pub unsafe fn add(&mut self, kind: LtoInput, name: &str, data: &[u8]) -> CudaResult<()> {
        let c_name = c_name(name)?;
        // SAFETY: data and name live through the call, in which the linker copies them.
        let code = unsafe {
            let (data, size) = (data.as_ptr().cast(), data.len());
            (self.library.add_data)(self.raw, kind.raw(), data, size, c_name.as_ptr())
        };
        self.check(code, || format!("adding {kind:?} `{name}` to a linker"))
    }

    /// Links, and returns the machine code.
    ///
    /// # Errors
    ///
    /// [`Error::Linker`] with the linker's log, for instance for a function that nobody defines.
    pub fn complete(self) -> CudaResult<Vec<u8>> {
        let doing = || "linking".to_owned();
        let mut size = 0;
        // SAFETY: the linker is alive, and the pointers are valid for the calls: the buffer has
        // the size that the linker told.
        unsafe {
            self.check((self.library.complete)(self.raw), doing)?;
            self.check((self.library.cubin_size)(self.raw, &mut size), doing)?;
            let mut cubin = vec![0u8; size];
            let code = (self.library.cubin)(self.raw, cubin.as_mut_ptr().cast());
            self.check(code, doing)?;
            Ok(cubin)
        }
    }

    /// Links, and loads the result into the current context.
    ///
    /// # Errors
    ///
    /// As of [`LtoLinker::complete`] and [`Module::from_cubin`]; the emulator runs no machine code.
    pub fn load(self) -> CudaResult<Module> {
        let context = Context::current("loading what was linked")?;
        if context.backend() == Backend::Emulator {
            return Err(Error::NoLinker {
                reason: "the emulator executes PTX only".to_owned(),
            });
        }
        let cubin = self.complete()?;
        // SAFETY: the linker made it.
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
        // SAFETY: the linker is alive; the buffer has the size that it told, and ends with a NUL.
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
            // SAFETY: made once, destroyed once.
            let _ = unsafe { (self.library.destroy)(&mut self.raw) };
        }
    }
}

impl std::fmt::Debug for LtoLinker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LtoLinker({:p})", self.raw)
    }
}
