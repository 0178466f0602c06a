//! Libraries: device code that is loaded independently of a context, and that the driver loads into
//! each context that uses it.

use std::ffi::CStr;

use cust_raw::{CUkernel, CUlibrary, CUresult};

use super::FunctionAttribute;
use super::jit::{JitOptions, ModuleJitOption};
use crate::backend::Api;
use crate::backend::c_name;
use crate::context::Context;
use crate::error::{CudaResult, Error};

/// Device code that is loaded independently of a context.
///
/// A library is for inspecting device code, and for passing its handle to other libraries. Kernels
/// are launched from a [`Module`](super::Module).
///
/// # Examples
///
/// ```
/// use cust::prelude::*;
/// use cust::module::Library;
///
/// # const PTX: &str = "
/// # .version 7.0
/// # .target sm_70
/// # .address_size 64
/// # .visible .entry one() { ret; }
/// # .visible .entry two(.param .u64 a, .param .u32 b) { ret; }";
/// let _context = cust::quick_init_on(Backend::Emulator)?;
/// let library = Library::from_ptx(PTX, &[])?;
/// assert_eq!(library.kernel_names()?, ["one", "two"]);
/// assert_eq!(library.parameter_sizes("two")?, [8, 4]);
/// # Ok::<(), cust::error::Error>(())
/// ```
pub struct Library {
    raw: CUlibrary,
    context: Context,
}

// SAFETY: the driver's libraries may be used from any thread.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

impl Library {
    /// Loads PTX.
    ///
    /// # Errors
    ///
    /// Returns [`Error::InvalidPtx`] for a string that is not PTX, and the driver's error with the
    /// compiler's log if the PTX is invalid.
    pub fn from_ptx(ptx: impl AsRef<str>, options: &[ModuleJitOption]) -> CudaResult<Library> {
        Library::load(&super::load::terminated(ptx.as_ref())?, options)
    }

    /// Loads a cubin.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Module::from_cubin`](super::Module::from_cubin).
    ///
    /// # Safety
    ///
    /// As for [`Module::from_cubin`](super::Module::from_cubin).
    pub unsafe fn from_cubin(
        cubin: impl AsRef<[u8]>,
        options: &[ModuleJitOption],
    ) -> CudaResult<Library> {
        super::load::check_elf(cubin.as_ref())?;
        Library::load(cubin.as_ref(), options)
    }

    /// Loads a fat binary.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Module::from_fatbin`](super::Module::from_fatbin).
    ///
    /// # Safety
    ///
    /// As for [`Module::from_fatbin`](super::Module::from_fatbin).
    pub unsafe fn from_fatbin(
        fatbin: impl AsRef<[u8]>,
        options: &[ModuleJitOption],
    ) -> CudaResult<Library> {
        super::load::check_fatbin(fatbin.as_ref())?;
        Library::load(fatbin.as_ref(), options)
    }

    /// Loads an image, which the caller has checked, or which is NUL-terminated PTX.
    fn load(image: &[u8], options: &[ModuleJitOption]) -> CudaResult<Library> {
        let context = Context::current("loading a library")?;
        let api = context.bind()?;
        let mut jit = JitOptions::new(options);
        let (count, names, values) = jit.as_raw();
        let mut raw = std::ptr::null_mut();
        // SAFETY: the lists have `count` entries and live through the call, as does the image,
        // which the driver copies.
        let result = unsafe {
            api.driver.cuLibraryLoadData(
                &mut raw,
                image.as_ptr().cast(),
                names,
                values,
                count,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
                0,
            )
        };
        let log = jit.error_log();
        api.check(result, || match log.is_empty() {
            true => "loading a library".to_owned(),
            false => format!("loading a library ({log})"),
        })?;
        Ok(Library { raw, context })
    }

    /// Returns the names of the library's kernels.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if the context was reset or lost.
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::module::Library;
    /// use cust::prelude::*;
    ///
    /// # const PTX: &str = "
    /// # .version 7.0
    /// # .target sm_70
    /// # .address_size 64
    /// # .visible .global .align 4 .u32 COUNT = 7;
    /// # .visible .entry fill(.param .u64 data, .param .u64 len) {
    /// #     ret;
    /// # }";
    /// let _context = cust::quick_init_on(Backend::Emulator)?;
    /// let library = Library::from_ptx(PTX, &[])?;
    /// assert_eq!(library.kernel_names()?, ["fill"]);
    /// assert_eq!(library.parameter_sizes("fill")?, [8, 8]);
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub fn kernel_names(&self) -> CudaResult<Vec<String>> {
        let api = self.context.bind()?;
        let mut count = 0;
        // SAFETY: the library is alive, and the pointer is valid for the call.
        let result = unsafe { api.driver.cuLibraryGetKernelCount(&mut count, self.raw) };
        api.check(result, || "counting a library's kernels".to_owned())?;
        let mut kernels: Vec<CUkernel> = vec![std::ptr::null_mut(); count as usize];
        // SAFETY: the list has room for `count` handles.
        let result = unsafe {
            api.driver
                .cuLibraryEnumerateKernels(kernels.as_mut_ptr(), count, self.raw)
        };
        api.check(result, || "listing a library's kernels".to_owned())?;
        let name = |kernel| {
            let mut name = std::ptr::null();
            // SAFETY: the kernel is the library's; its name lives as long.
            unsafe {
                let result = api.driver.cuKernelGetName(&mut name, kernel);
                api.check(result, || "querying a kernel's name".to_owned())?;
                Ok(CStr::from_ptr(name).to_string_lossy().into_owned())
            }
        };
        kernels.into_iter().map(name).collect()
    }

    fn kernel(&self, api: &Api, name: &str) -> CudaResult<CUkernel> {
        let c_name = c_name(name)?;
        let mut kernel = std::ptr::null_mut();
        // SAFETY: the library is alive, and the pointers are valid for the call.
        let result = unsafe {
            api.driver
                .cuLibraryGetKernel(&mut kernel, self.raw, c_name.as_ptr())
        };
        if result == CUresult::CUDA_ERROR_NOT_FOUND {
            return Err(Error::KernelNotFound {
                name: name.to_owned(),
                available: self.kernel_names().unwrap_or_default(),
            });
        }
        api.check(result, || format!("looking up the kernel `{name}`"))?;
        Ok(kernel)
    }

    /// Returns the sizes in bytes of a kernel's parameters.
    ///
    /// # Errors
    ///
    /// Returns [`Error::KernelNotFound`] if there is no kernel of this name.
    pub fn parameter_sizes(&self, kernel: &str) -> CudaResult<Vec<usize>> {
        let api = self.context.bind()?;
        let raw = self.kernel(api, kernel)?;
        let mut sizes = Vec::new();
        loop {
            let (mut offset, mut size) = (0, 0);
            // SAFETY: the kernel is alive, and the pointers are valid for the call.
            let result = unsafe {
                api.driver
                    .cuKernelGetParamInfo(raw, sizes.len(), &mut offset, &mut size)
            };
            if result == CUresult::CUDA_ERROR_INVALID_VALUE {
                // The index is one past the last parameter.
                return Ok(sizes);
            }
            api.check(result, || format!("querying the parameters of `{kernel}`"))?;
            sizes.push(size);
        }
    }

    /// Returns an attribute of a kernel on the device of the library's context.
    ///
    /// # Errors
    ///
    /// Returns [`Error::KernelNotFound`] if there is no kernel of this name.
    pub fn get_attribute(&self, kernel: &str, attribute: FunctionAttribute) -> CudaResult<i32> {
        let api = self.context.bind()?;
        let raw = self.kernel(api, kernel)?;
        let device = self.context.device().as_raw();
        let mut value = 0;
        // SAFETY: the kernel is alive, and the pointer is valid for the call.
        let result = unsafe {
            api.driver
                .cuKernelGetAttribute(&mut value, attribute.raw(), raw, device)
        };
        api.check(result, || format!("querying {attribute:?} of `{kernel}`"))?;
        Ok(value)
    }

    /// Returns the address and the size in bytes of a global variable in the context that was
    /// current when the library was loaded.
    ///
    /// # Errors
    ///
    /// Returns [`Error::GlobalNotFound`] if there is no variable of this name.
    pub fn global(&self, name: &str) -> CudaResult<(u64, usize)> {
        let c_name = c_name(name)?;
        let api = self.context.bind()?;
        let (mut address, mut size) = (0, 0);
        // SAFETY: the library is alive, and the pointers are valid for the call.
        let result = unsafe {
            api.driver
                .cuLibraryGetGlobal(&mut address, &mut size, self.raw, c_name.as_ptr())
        };
        if result == CUresult::CUDA_ERROR_NOT_FOUND {
            return Err(Error::GlobalNotFound {
                name: name.to_owned(),
            });
        }
        api.check(result, || format!("looking up the variable `{name}`"))?;
        Ok((address, size))
    }

    /// Returns the driver's handle.
    pub fn as_raw(&self) -> CUlibrary {
        self.raw
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        // An error means that the context is gone; the library then stays loaded.
        if let Ok(api) = self.context.bind() {
            // SAFETY: loaded once, unloaded once.
            let _ = unsafe { api.driver.cuLibraryUnload(self.raw) };
        }
    }
}

impl std::fmt::Debug for Library {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Library({:p})", self.raw)
    }
}
