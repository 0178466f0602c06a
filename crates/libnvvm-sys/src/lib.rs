//! libnvvm's C interface as a table of functions, resolved at run time.
//!
//! Nothing is linked: [`Functions::open`] loads the library from a path and resolves its functions.
//! The crate `nvvm` is the safe wrapper. Names and semantics are those of NVIDIA's libNVVM API
//! manual.
//!
//! ```no_run
//! // SAFETY: the file is libnvvm.
//! let nvvm = unsafe { libnvvm_sys::Functions::open("/usr/local/cuda/nvvm/lib64/libnvvm.so")? };
//! let (mut major, mut minor) = (0, 0);
//! // SAFETY: the pointers are valid for the call.
//! unsafe { (nvvm.nvvmVersion)(&mut major, &mut minor) };
//! # Ok::<(), libnvvm_sys::LoadError>(())
//! ```

#![allow(non_camel_case_types, non_snake_case)] // the names are the manual's

use libloading::Library;
use std::ffi::{OsStr, c_char, c_int};
use std::fmt;

/// The return type of every function; [`result`] has the values.
pub type nvvmResult = c_int;

/// An opaque program, created by `nvvmCreateProgram`.
pub type nvvmProgram = *mut _nvvmProgram;

/// The target of an [`nvvmProgram`] pointer.
#[repr(C)]
pub struct _nvvmProgram {
    opaque: [u8; 0],
}

/// The values of [`nvvmResult`].
pub mod result {
    use super::nvvmResult;

    /// No error.
    pub const NVVM_SUCCESS: nvvmResult = 0;
    /// Out of memory.
    pub const NVVM_ERROR_OUT_OF_MEMORY: nvvmResult = 1;
    /// A program could not be created.
    pub const NVVM_ERROR_PROGRAM_CREATION_FAILURE: nvvmResult = 2;
    /// The modules have different versions of NVVM IR, or a version that the library does not
    /// support.
    pub const NVVM_ERROR_IR_VERSION_MISMATCH: nvvmResult = 3;
    /// An argument is invalid.
    pub const NVVM_ERROR_INVALID_INPUT: nvvmResult = 4;
    /// The program handle is invalid.
    pub const NVVM_ERROR_INVALID_PROGRAM: nvvmResult = 5;
    /// A module is not valid NVVM IR.
    pub const NVVM_ERROR_INVALID_IR: nvvmResult = 6;
    /// An option is invalid.
    pub const NVVM_ERROR_INVALID_OPTION: nvvmResult = 7;
    /// No module was added to the program.
    pub const NVVM_ERROR_NO_MODULE_IN_PROGRAM: nvvmResult = 8;
    /// Compilation failed.
    pub const NVVM_ERROR_COMPILATION: nvvmResult = 9;
    /// A callback canceled the compilation.
    pub const NVVM_ERROR_CANCELLED: nvvmResult = 10;
}

/// An error of [`Functions::open`].
#[derive(Debug)]
pub enum LoadError {
    /// The dynamic loader rejected the file, with this message.
    Open(String),
    /// The file is a library but lacks a function; it is probably not libnvvm.
    MissingSymbol(&'static str),
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadError::Open(text) => f.write_str(text),
            LoadError::MissingSymbol(name) => write!(f, "it has no function `{name}`"),
        }
    }
}

impl std::error::Error for LoadError {}

/// Declares the table from one row per function, which defines the field, its documentation and its
/// lookup.
macro_rules! functions {
    ($($(#[doc = $doc:literal])* $kind:ident fn $name:ident($($arg:ident: $ty:ty),*) -> $ret:ty;)*) => {
        /// libnvvm's functions. The library stays loaded as long as this value lives.
        pub struct Functions {
            $($(#[doc = $doc])* pub $name: functions!(@field $kind unsafe extern "C" fn($($arg: $ty),*) -> $ret),)*
            // Dropped last: the function pointers point into it.
            _library: Library,
        }

        impl Functions {
            /// Loads the library and resolves its functions.
            ///
            /// # Safety
            /// Loading a library runs its initializers. The file must be libnvvm: functions of the
            /// same names in another library would be called with wrong signatures.
            pub unsafe fn open(path: impl AsRef<OsStr>) -> Result<Functions, LoadError> {
                let library = unsafe { Library::new(path.as_ref()) }
                    .map_err(|error| LoadError::Open(loader_text(&error)))?;
                Ok(Functions {
                    $($name: functions!(@load $kind library $name),)*
                    _library: library,
                })
            }
        }
    };
    (@field required $ty:ty) => { $ty };
    (@field optional $ty:ty) => { Option<$ty> };
    (@load required $library:ident $name:ident) => {
        match unsafe { $library.get(concat!(stringify!($name), "\0").as_bytes()) } {
            Ok(symbol) => *symbol,
            Err(_) => return Err(LoadError::MissingSymbol(stringify!($name))),
        }
    };
    (@load optional $library:ident $name:ident) => {
        unsafe { $library.get(concat!(stringify!($name), "\0").as_bytes()) }.ok().map(|symbol| *symbol)
    };
}

functions! {
    /// Returns the message for a result: a static string, never null.
    required fn nvvmGetErrorString(result: nvvmResult) -> *const c_char;
    /// Returns the library's version.
    required fn nvvmVersion(major: *mut c_int, minor: *mut c_int) -> nvvmResult;
    /// Returns the newest versions of NVVM IR and of debug metadata that the library reads.
    required fn nvvmIRVersion(
        major_ir: *mut c_int, minor_ir: *mut c_int, major_dbg: *mut c_int, minor_dbg: *mut c_int
    ) -> nvvmResult;
    /// Returns the LLVM release whose dialect an architecture requires. Not exported by old
    /// libraries.
    optional fn nvvmLLVMVersion(arch: *const c_char, major: *mut c_int) -> nvvmResult;
    /// Creates an empty program.
    required fn nvvmCreateProgram(program: *mut nvvmProgram) -> nvvmResult;
    /// Frees a program and sets the pointer to null.
    required fn nvvmDestroyProgram(program: *mut nvvmProgram) -> nvvmResult;
    /// Adds a module as text or bitcode. The buffer is copied.
    required fn nvvmAddModuleToProgram(
        program: nvvmProgram, buffer: *const c_char, size: usize, name: *const c_char
    ) -> nvvmResult;
    /// Adds a module of which only the symbols that other modules need are loaded. The buffer is
    /// copied.
    required fn nvvmLazyAddModuleToProgram(
        program: nvvmProgram, buffer: *const c_char, size: usize, name: *const c_char
    ) -> nvvmResult;
    /// Verifies the program without compiling it.
    required fn nvvmVerifyProgram(
        program: nvvmProgram, num_options: c_int, options: *const *const c_char
    ) -> nvvmResult;
    /// Compiles the program to PTX.
    required fn nvvmCompileProgram(
        program: nvvmProgram, num_options: c_int, options: *const *const c_char
    ) -> nvvmResult;
    /// Returns the size of the PTX, including its NUL.
    required fn nvvmGetCompiledResultSize(program: nvvmProgram, size: *mut usize) -> nvvmResult;
    /// Writes the PTX and a NUL.
    required fn nvvmGetCompiledResult(program: nvvmProgram, buffer: *mut c_char) -> nvvmResult;
    /// Returns the size of the log, including its NUL.
    required fn nvvmGetProgramLogSize(program: nvvmProgram, size: *mut usize) -> nvvmResult;
    /// Writes the log and a NUL.
    required fn nvvmGetProgramLog(program: nvvmProgram, buffer: *mut c_char) -> nvvmResult;
}

impl fmt::Debug for Functions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Functions").finish_non_exhaustive()
    }
}

/// Returns the loader's message, which libloading keeps as the error's source.
fn loader_text(error: &libloading::Error) -> String {
    match std::error::Error::source(error) {
        Some(source) => source.to_string(),
        None => error.to_string(),
    }
}
