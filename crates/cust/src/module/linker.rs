//! The driver's linker, which links several inputs that call each other's functions to an image.

use std::ffi::c_void;
use std::path::Path;

use cust_raw::{CUjitInputType, CUlinkState};

use super::Module;
use super::jit::{JitOptions, ModuleJitOption};
use crate::backend::{Backend, c_name};
use crate::context::Context;
use crate::error::{CudaResult, Error};

/// The kind of an input of the [`Linker`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LinkInput {
    /// PTX.
    Ptx,
    /// Machine code.
    Cubin,
    /// A fat binary.
    Fatbin,
    /// A host object file with embedded device code.
    Object,
    /// A static library of host object files with embedded device code, such as `libcudadevrt.a`.
    Library,
}

impl LinkInput {
    fn raw(self) -> CUjitInputType {
        match self {
            LinkInput::Ptx => CUjitInputType::CU_JIT_INPUT_PTX,
            LinkInput::Cubin => CUjitInputType::CU_JIT_INPUT_CUBIN,
            LinkInput::Fatbin => CUjitInputType::CU_JIT_INPUT_FATBINARY,
            LinkInput::Object => CUjitInputType::CU_JIT_INPUT_OBJECT,
            LinkInput::Library => CUjitInputType::CU_JIT_INPUT_LIBRARY,
        }
    }
}

/// Links several inputs to one image.
///
/// # Examples
///
/// ```
/// use cust::prelude::*;
/// use cust::module::Linker;
///
/// # const CALLER: &str = "
/// # .version 7.0
/// # .target sm_70
/// # .address_size 64
/// # .extern .func (.param .u32 result) answer();
/// # .visible .entry ask(.param .u64 to) {
/// #     .reg .u64 %a<2>; .reg .u32 %r<2>;
/// #     ld.param.u64 %a1, [to];
/// #     { .param .u32 value; call (value), answer; ld.param.u32 %r1, [value]; }
/// #     st.global.u32 [%a1], %r1;
/// #     ret;
/// # }";
/// # const CALLED: &str = "
/// # .version 7.0
/// # .target sm_70
/// # .address_size 64
/// # .visible .func (.param .u32 result) answer() {
/// #     st.param.u32 [result], 42;
/// #     ret;
/// # }";
/// let _context = cust::quick_init_on(Backend::Emulator)?;
/// let mut linker = Linker::new(&[])?;
/// linker.add_ptx(CALLED)?;
/// linker.add_ptx(CALLER)?;
/// let module = linker.load()?;
/// let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
/// let answer = DeviceBox::new(&0u32)?;
/// // SAFETY: the kernel writes one number.
/// unsafe { launch!(module.ask<<<1, 1, 0, stream>>>(answer.as_device_ptr()))? };
/// stream.synchronize()?;
/// assert_eq!(answer.as_host_value()?, 42);
/// # Ok::<(), cust::error::Error>(())
/// ```
pub struct Linker {
    raw: CUlinkState,
    context: Context,
    /// The driver writes to the log during the lifetime of the linker.
    jit: Box<JitOptions>,
}

// SAFETY: the driver's linkers may be used from any thread, by one thread at a time.
unsafe impl Send for Linker {}

impl Linker {
    /// Creates a linker for the current context's device.
    ///
    /// # Errors
    ///
    /// Returns [`Error::NoContext`] without a context.
    pub fn new(options: &[ModuleJitOption]) -> CudaResult<Linker> {
        let context = Context::current("creating a linker")?;
        let api = context.bind()?;
        let mut jit = Box::new(JitOptions::new(options));
        let (count, names, values) = jit.as_raw();
        let mut raw = std::ptr::null_mut();
        // SAFETY: the lists have `count` entries, and live as long as the linker.
        let result = unsafe { api.driver.cuLinkCreate_v2(count, names, values, &mut raw) };
        api.check(result, || "creating a linker".to_owned())?;
        Ok(Linker { raw, context, jit })
    }

    /// Adds PTX.
    ///
    /// # Errors
    ///
    /// Returns [`Error::InvalidPtx`] for a string that is not PTX, and the driver's error with the
    /// linker's log if the PTX is invalid.
    pub fn add_ptx(&mut self, ptx: impl AsRef<str>) -> CudaResult<()> {
        let text = super::load::terminated(ptx.as_ref())?;
        // SAFETY: it is PTX, which the driver parses, and NUL-terminated.
        unsafe { self.add(LinkInput::Ptx, &text) }
    }

    /// Adds an input of any kind. [`Linker::add_ptx`] is the safe alternative for PTX.
    ///
    /// # Errors
    ///
    /// Returns the driver's error with the linker's log if the input is invalid.
    ///
    /// # Safety
    ///
    /// The input must be the unmodified output of a tool that produces inputs of this kind, as for
    /// [`Module::from_cubin`]. PTX must be NUL-terminated.
    pub unsafe fn add(&mut self, kind: LinkInput, data: &[u8]) -> CudaResult<()> {
        let api = self.context.bind()?;
        let pointer: *mut c_void = data.as_ptr().cast_mut().cast();
        // SAFETY: the data lives through the call, during which the driver copies it. The driver
        // does not write to it.
        let result = unsafe {
            api.driver.cuLinkAddData_v2(
                self.raw,
                kind.raw(),
                pointer,
                data.len(),
                c"input".as_ptr(),
                0,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
            )
        };
        self.explain(api.check(result, || format!("adding {kind:?} to a linker")))
    }

    /// Adds a file of any kind.
    ///
    /// # Errors
    ///
    /// Returns the driver's error with the linker's log if the file cannot be read or is invalid.
    ///
    /// # Safety
    ///
    /// As for [`Linker::add`], but PTX need not be NUL-terminated.
    pub unsafe fn add_file(&mut self, kind: LinkInput, path: impl AsRef<Path>) -> CudaResult<()> {
        let path = path.as_ref().display().to_string();
        let name = c_name(&path)?;
        let api = self.context.bind()?;
        // SAFETY: the name lives through the call.
        let result = unsafe {
            api.driver.cuLinkAddFile_v2(
                self.raw,
                kind.raw(),
                name.as_ptr(),
                0,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
            )
        };
        self.explain(api.check(result, || format!("adding `{path}` to a linker")))
    }

    /// Links the inputs, and returns the image: a cubin, or PTX on the emulator.
    ///
    /// # Errors
    ///
    /// Returns the driver's error with the linker's log, for example for an undefined function.
    pub fn complete(self) -> CudaResult<Vec<u8>> {
        let api = self.context.bind()?;
        let (mut image, mut size) = (std::ptr::null_mut(), 0);
        // SAFETY: the pointers are valid for the call.
        let result = unsafe { api.driver.cuLinkComplete(self.raw, &mut image, &mut size) };
        self.explain(api.check(result, || "linking".to_owned()))?;
        if image.is_null() {
            return Ok(Vec::new());
        }
        // SAFETY: the image lives as long as the linker.
        Ok(unsafe { std::slice::from_raw_parts(image.cast::<u8>(), size) }.to_vec())
    }

    /// Links the inputs, and loads the image into the linker's context.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Linker::complete`] and [`Module::from_cubin`].
    pub fn load(self) -> CudaResult<Module> {
        let context = self.context.clone();
        let image = self.complete()?;
        context.with_current(|| match context.backend() {
            Backend::Emulator => Module::from_ptx(String::from_utf8_lossy(&image), &[]),
            // SAFETY: the driver's linker produced the image.
            Backend::Gpu => unsafe { Module::from_cubin(image, &[]) },
        })
    }

    /// Adds the linker's log to an error.
    fn explain(&self, result: CudaResult<()>) -> CudaResult<()> {
        result.map_err(|error| match error {
            Error::Driver(mut error) => {
                let log = self.jit.error_log();
                if !log.is_empty() {
                    error.detail = Some(log);
                }
                Error::Driver(error)
            }
            error => error,
        })
    }
}

impl Drop for Linker {
    fn drop(&mut self) {
        // An error means that the context is gone, and the linker with it.
        if let Ok(api) = self.context.bind() {
            // SAFETY: created by `new`, destroyed once.
            let _ = unsafe { api.driver.cuLinkDestroy(self.raw) };
        }
    }
}

impl std::fmt::Debug for Linker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Linker({:p})", self.raw)
    }
}
