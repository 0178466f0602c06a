//! Modules: device code loaded into a context.
//!
//! `embedded.rs` chooses among the images that a program carries; `program.rs` finds those that the compiler embedded; `load.rs` brings them in, with the errors that each kind of image can cause; `jit.rs` holds the
//! options of the driver's compiler; `symbol.rs` is access to global variables by name, `global.rs` by type. This file is the loaded
//! module.
//!
//! # Typed global variables
//!
//! A public static of a crate of kernels with `#[address_space(constant)]` or
//! `#[address_space(global)]` is found in a module by its name in Rust, and has its type there:
//!
//! ```
//! # mod kernels {
//! #     use cuda_std::prelude::*;
//! #[address_space(constant)]
//! pub static mut FACTORS: [f32; 2] = [1.0, 2.0];
//! #     pub const PTX: &str = ".version 7.0\n.target sm_70\n.address_size 64\n\
//! #         .visible .const .align 4 .b8 FACTORS[8] = {0, 0, 128, 63, 0, 0, 0, 64};";
//! # }
//! # use cust::module::{Embedded, Image};
//! use cust::prelude::*;
//! use kernels::FACTORS;
//!
//! # let ptx = kernels::PTX.replace("FACTORS", <FACTORS as cust_core::global::Global>::SYMBOL);
//! # let images = [("sm_70", Image::Ptx(ptx.leak()))].to_vec().leak();
//! # // SAFETY: there are no kernels, and the variable is of the static's type.
//! # let embedded = unsafe { Embedded::new(&[env!("CARGO_PKG_NAME")], images) };
//! let _context = cust::quick_init_on(Backend::Emulator)?;
//! # let mut module = embedded.load()?;
//! // static KERNELS: Embedded = cust::include_module!("kernels");
//! // let mut module = KERNELS.load()?;
//! assert_eq!(module.global::<FACTORS>()?.get()?, [1.0, 2.0]);
//! module.global_mut::<FACTORS>()?.set(&[0.5, 3.0])?;
//! assert_eq!(module.global::<FACTORS>()?.get()?, [0.5, 3.0]);
//! # Ok::<(), cust::error::Error>(())
//! ```

mod device_runtime;
mod embedded;
mod global;
mod jit;
mod library;
mod linker;
mod load;
mod lto;
mod program;
mod symbol;

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::sync::{Arc, Mutex};

use bytemuck::AnyBitPattern;
use cust_core::kernel::Access;
use cust_raw::{CUfunction, CUmodule, CUresult};

use crate::backend::Api;
use crate::context::Context;
use crate::error::{CudaResult, Error};
use crate::function::{Function, Kernel};
use crate::kernel::KernelType;
use crate::memory::{CopyDestination, DeviceCopy};
use crate::report::Report;
use crate::stack::{Need, read_record};
use crate::tracker::Tracker;

pub use device_runtime::DEVICE_RUNTIME_VARIABLE;
pub use embedded::{Embedded, Image, Parts};
#[doc(hidden)]
pub use embedded::{check_name, macros};
pub use global::{Global, GlobalMut};
pub use jit::{JitFallback, JitTarget, ModuleJitOption, OptLevel};
pub use library::Library;
pub use linker::{LinkInput, Linker};
pub use lto::{LtoInput, LtoLinker};
pub(crate) use program::own_kernel;
pub use program::own_ptx;
pub use symbol::{Symbol, SymbolName};

use ptx::Entry;

/// Device code loaded into a context: kernels and global variables.
pub struct Module {
    raw: CUmodule,
    /// The launches of its kernels: they use its code and its variables.
    tracker: Tracker,
    /// Where panics of its kernels arrive, if they can panic.
    report: Option<Arc<Report>>,
    /// The kernels as the PTX text lists them, if it was loaded from PTX.
    entries: Option<Vec<Entry>>,
    /// Whether it says how much stack its kernels need.
    has_stacks: bool,
    /// Kernels looked up so far.
    kernels: Mutex<HashMap<Box<str>, Arc<Kernel>>>,
    /// The packages that it is known to be built from.
    packages: &'static [&'static str],
    /// Which of the program's own images it is.
    own: Option<program::Own>,
    /// The signatures of its kernels and statics by their symbols, if they are known.
    signatures: Option<&'static [(&'static str, &'static str)]>,
}

// SAFETY: the driver's modules may be used from any thread.
unsafe impl Send for Module {}
// SAFETY: as above; what is ours is behind a mutex.
unsafe impl Sync for Module {}

impl Module {
    /// The kernel of this name. An unknown name is an error that lists those which there are.
    pub fn get_function(&self, name: impl AsRef<str>) -> CudaResult<Function<'_>> {
        let name = name.as_ref();
        self.function_of_symbol(name, name)
    }

    /// Whether it was loaded by [`Module::own`].
    pub(crate) fn is_own(&self) -> bool {
        self.own.is_some()
    }

    /// The kernel that `K` stands for, of a module that [`Module::own`] loaded.
    pub(crate) fn own_function<K: KernelType>(&self) -> CudaResult<Function<'_>> {
        let symbol = self.own.and_then(program::Own::symbol::<K>);
        let symbol = symbol.ok_or(Error::OtherCrate { kernel: K::NAME })?;
        self.function_of_symbol(symbol, K::NAME)
    }

    /// The kernel of this symbol, to be called `shown` in messages, which is looked up once.
    fn function_of_symbol(&self, name: &str, shown: &str) -> CudaResult<Function<'_>> {
        let mut kernels = self.kernels.lock().unwrap_or_else(|e| e.into_inner());
        let kernel = match kernels.get(name) {
            Some(kernel) => Arc::clone(kernel),
            None => {
                let kernel = Arc::new(self.look_up(name, shown)?);
                kernels.insert(name.into(), Arc::clone(&kernel));
                kernel
            }
        };
        Ok(Function {
            kernel,
            module: self,
        })
    }

    /// The kernel of this symbol, to be called `shown` in messages.
    fn look_up(&self, name: &str, shown: &str) -> CudaResult<Kernel> {
        let c_name = c_name(name)?;
        let api = self.context().bind()?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: the pointers are valid for the call, and the module is loaded.
        let result = unsafe {
            api.driver
                .cuModuleGetFunction(&mut raw, self.raw, c_name.as_ptr())
        };
        if result == CUresult::CUDA_ERROR_NOT_FOUND {
            return Err(Error::KernelNotFound {
                name: name.to_owned(),
                available: self.kernel_names(),
            });
        }
        api.check(result, || format!("looking up the kernel `{name}`"))?;
        let from_text = || {
            let entry = self.entries.as_ref()?.iter().find(|e| e.name == name)?;
            entry.parameters.clone()
        };
        // The text first: asking the driver ends with an error code, which its tools report.
        let parameters = from_text().or_else(|| parameters_from_driver(api, raw));
        let stack = match self.has_stacks {
            true => read_record(api, self.raw, name)?,
            false => Need::default(),
        };
        if stack.bytes > 0 {
            self.context().note_need(self.raw, stack);
        }
        let signature = self.signature(name);
        Ok(Kernel::new(raw, shown, parameters, stack, signature))
    }

    /// The names of the module's kernels. Drivers before CUDA 12.4 do not tell them for modules
    /// loaded from machine code; then the list is empty.
    pub fn kernel_names(&self) -> Vec<String> {
        if let Some(entries) = &self.entries {
            return entries.iter().map(|entry| entry.name.clone()).collect();
        }
        let Ok(api) = self.context().bind() else {
            return Vec::new();
        };
        let mut count = 0;
        // SAFETY: the pointer is valid for the call, and the module is loaded.
        let result = unsafe { api.driver.cuModuleGetFunctionCount(&mut count, self.raw) };
        if result != CUresult::CUDA_SUCCESS {
            return Vec::new();
        }
        let mut functions: Vec<CUfunction> = vec![std::ptr::null_mut(); count as usize];
        // SAFETY: the list has room for `count` handles.
        let result = unsafe {
            api.driver
                .cuModuleEnumerateFunctions(functions.as_mut_ptr(), count, self.raw)
        };
        if result != CUresult::CUDA_SUCCESS {
            return Vec::new();
        }
        let name = |function| {
            let mut name = std::ptr::null();
            // SAFETY: the function is the module's; its name lives as long as the module.
            unsafe {
                let result = api.driver.cuFuncGetName(&mut name, function);
                if result != CUresult::CUDA_SUCCESS || name.is_null() {
                    return None;
                }
                Some(CStr::from_ptr(name).to_string_lossy().into_owned())
            }
        };
        functions.into_iter().filter_map(name).collect()
    }

    /// The global variable of this name, which is checked to have the size of `T`. Its copies wait
    /// for the module's kernels that may use it.
    ///
    /// # Safety
    ///
    /// The variable is a `T` on the device: the module tells its size only.
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::prelude::*;
    ///
    /// # const PTX: &str = "
    /// # .version 7.0
    /// # .target sm_70
    /// # .address_size 64
    /// # .visible .global .align 4 .u32 counter = 7;
    /// # .visible .entry kernel() { ret; }
    /// # ";
    /// let _context = cust::quick_init_on(Backend::Emulator)?;
    /// let module = Module::from_ptx(PTX, &[])?;
    /// // SAFETY: the variable is a `u32`.
    /// let mut counter = unsafe { module.get_global::<u32>("counter")? };
    /// let mut value = 0;
    /// counter.copy_to(&mut value)?;
    /// assert_eq!(value, 7);
    /// counter.copy_from(&8)?;
    /// // To read it, any type of which all bytes are values does.
    /// assert_eq!(module.read_global::<[u8; 4]>("counter")?, [8, 0, 0, 0]);
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub unsafe fn get_global<T: DeviceCopy>(
        &self,
        name: impl SymbolName,
    ) -> CudaResult<Symbol<'_, T>> {
        self.find_global(name)
    }

    /// The value of the global variable of this name, as a type of which any bytes are a value; it
    /// is checked to have the same size.
    pub fn read_global<T: DeviceCopy + AnyBitPattern>(
        &self,
        name: impl SymbolName,
    ) -> CudaResult<T> {
        let mut value = T::zeroed();
        self.find_global::<T>(name)?.copy_to(&mut value)?;
        Ok(value)
    }

    fn find_global<T: DeviceCopy>(&self, name: impl SymbolName) -> CudaResult<Symbol<'_, T>> {
        let c_name = name.to_c_name()?;
        let address = self.locate_c(&c_name, size_of::<T>())?;
        Ok(Symbol::new(
            self,
            c_name.to_string_lossy().into_owned(),
            address,
        ))
    }

    /// The address of a variable, which is checked to have this size.
    fn locate(&self, name: &str, expected: usize) -> CudaResult<u64> {
        self.locate_c(&c_name(name)?, expected)
    }

    fn locate_c(&self, c_name: &CStr, expected: usize) -> CudaResult<u64> {
        let name = || c_name.to_string_lossy().into_owned();
        let api = self.context().bind()?;
        let (mut address, mut size) = (0, 0);
        // SAFETY: the pointers are valid for the call, and the module is loaded.
        let result = unsafe {
            api.driver
                .cuModuleGetGlobal_v2(&mut address, &mut size, self.raw, c_name.as_ptr())
        };
        if result == CUresult::CUDA_ERROR_NOT_FOUND {
            return Err(Error::GlobalNotFound { name: name() });
        }
        api.check(result, || format!("looking up the variable `{}`", name()))?;
        if size != expected {
            return Err(Error::GlobalSize {
                name: name(),
                expected,
                found: size,
            });
        }
        Ok(address)
    }

    /// The context that it is loaded into.
    pub fn context(&self) -> &Context {
        self.tracker.context()
    }

    /// The driver's handle.
    pub fn as_raw(&self) -> CUmodule {
        self.raw
    }

    /// Whether it is known to be built from this package, and maybe others.
    pub(crate) fn has_package(&self, package: &str) -> bool {
        self.packages.contains(&package)
    }

    /// The signature of a kernel or static: none if the module's signatures are not known, and empty
    /// if it has no such item.
    pub(crate) fn signature(&self, symbol: &str) -> Option<&'static str> {
        let signatures = self.signatures?;
        let found = signatures.iter().find(|(name, _)| *name == symbol);
        Some(found.map_or("", |&(_, signature)| signature))
    }

    pub(crate) fn tracker(&self) -> &Tracker {
        &self.tracker
    }

    pub(crate) fn report(&self) -> Option<&Report> {
        self.report.as_deref()
    }
}

/// A name as the driver takes it.
pub(crate) fn c_name(name: &str) -> CudaResult<CString> {
    CString::new(name).map_err(|_| Error::NulInName {
        name: name.to_owned(),
    })
}

/// The sizes of a kernel's parameters, from drivers that tell them (CUDA 12.4 and later).
fn parameters_from_driver(api: &Api, function: CUfunction) -> Option<Vec<usize>> {
    let mut sizes = Vec::new();
    loop {
        let (mut offset, mut size) = (0, 0);
        // SAFETY: the pointers are valid for the call, and the function is alive.
        let result = unsafe {
            api.driver
                .cuFuncGetParamInfo(function, sizes.len(), &mut offset, &mut size)
        };
        match result {
            CUresult::CUDA_SUCCESS => sizes.push(size),
            // One past the last.
            CUresult::CUDA_ERROR_INVALID_VALUE => return Some(sizes),
            _ => return None,
        }
    }
}

impl std::fmt::Debug for Module {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Module")
            .field("kernels", &self.kernel_names())
            .finish_non_exhaustive()
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // Kernels that still run need its code, and the memory for its panics.
        if self.tracker.settle(Access::Write).is_err() {
            return;
        }
        let api = self.context().bind();
        if let Ok(api) = api {
            // SAFETY: loaded once, unloaded once; functions and symbols borrow the module. An
            // error means that the context is gone, and the module with it.
            let _ = unsafe { api.driver.cuModuleUnload(self.raw) };
        }
        if self.has_stacks {
            self.context().remove_stack(self.raw);
        }
        if let Some(report) = &self.report {
            self.context().remove_report(report);
            if let Ok(api) = api {
                report.free(api);
            }
        }
    }
}
