//! Modules: device code loaded into a context.
//!
//! - [`include_module!`](crate::include_module) embeds a module that a build script built;
//!   [`Embedded::load`] loads it.
//! - [`Module::own`] loads device code that `cargo cuda` embedded.
//! - [`Module::from_ptx`], [`Module::from_cubin`] and [`Module::from_file`] load other images;
//!   [`Linker`] and [`LtoLinker`] link several.
//!
//! # Typed global variables
//!
//! A public static of a kernels crate with `#[address_space(constant)]` or
//! `#[address_space(global)]` is looked up in a module by its Rust path, and accessed with its Rust
//! type:
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
//! # // SAFETY: there are no kernels, and the variable has the static's type.
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

// This file contains the loaded module. `embedded.rs` selects among the images of an embedded
// module; `program.rs` finds the images that the compiler embedded; `load.rs` loads images;
// `jit.rs` contains the options of the driver's compiler; `symbol.rs` accesses global variables by
// name, `global.rs` by type.

mod device_runtime;
mod embedded;
pub(crate) mod function;
mod global;
mod jit;
mod library;
mod linker;
mod load;
mod lto;
mod ordinary;
mod program;
mod symbol;

use std::collections::HashMap;
use std::ffi::CStr;
use std::sync::{Arc, Mutex};

use bytemuck::AnyBitPattern;
use cust_core::kernel::{Access, Kernel as KernelType};
use cust_raw::{CUfunction, CUmodule, CUresult};

use crate::backend::{Api, c_name};
use crate::context::Context;
use crate::error::{CudaResult, Error};
use crate::memory::{CopyDestination, DeviceCopy};
use crate::report::Report;
use crate::stack::{Need, read_record};
use crate::tracker::Tracker;

pub use device_runtime::DEVICE_RUNTIME_VARIABLE;
pub use embedded::{Embedded, Image, Parts};
#[doc(hidden)]
pub use embedded::{check_name, macros};
pub use function::{Function, FunctionAttribute};
pub use global::{Global, GlobalMut};
pub use jit::{JitFallback, JitTarget, ModuleJitOption, OptLevel};
pub use library::Library;
pub use linker::{LinkInput, Linker};
pub use lto::{LtoInput, LtoLinker};
pub use ordinary::EXPLAIN_VARIABLE;
pub(crate) use program::own_kernel;
pub use program::own_ptx;
pub use symbol::{Symbol, SymbolName};

use function::Kernel;
use ordinary::Others;
use ptx::{Entry, Launches, kernel_of_entry};

/// Device code loaded into a context: kernels and global variables.
pub struct Module {
    raw: CUmodule,
    /// Tracks the launches of the module's kernels, which use its code and its variables.
    tracker: Tracker,
    /// The panic report, if the module's kernels can panic.
    report: Option<Arc<Report>>,
    /// The kernels listed in the PTX, if the module was loaded from PTX.
    entries: Option<Vec<Entry>>,
    /// Whether the module records how much stack its kernels need.
    has_stacks: bool,
    /// Whether kernels may have entries for each of [`Launches::ALL`].
    has_entries: [bool; 2],
    /// The kernels looked up so far.
    kernels: Mutex<HashMap<Box<str>, Arc<Kernel>>>,
    /// The packages that the module is known to be built from.
    packages: &'static [&'static str],
    /// For a module loaded by `Module::own`, the image of the program that it was loaded from.
    own: Option<program::Own>,
    /// The symbols of the module's kernels and statics with their signatures, if known.
    signatures: Option<&'static [(&'static str, &'static str)]>,
}

// SAFETY: the driver's modules may be used from any thread.
unsafe impl Send for Module {}
// SAFETY: as above; the mutable fields are behind a mutex.
unsafe impl Sync for Module {}

impl Module {
    /// Returns the kernel of the given name.
    ///
    /// # Errors
    ///
    /// Returns [`Error::KernelNotFound`], which lists the module's kernels, if there is no kernel
    /// of this name.
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
    /// # .visible .global .align 4 .u32 COUNT = 7;
    /// # .visible .entry fill(.param .u64 data, .param .u64 len) {
    /// #     ret;
    /// # }";
    /// let _context = cust::quick_init_on(Backend::Emulator)?;
    /// let module = Module::from_ptx(PTX, &[])?;
    /// let fill = module.get_function("fill")?;
    /// assert_eq!(fill.name(), "fill");
    /// let error = module.get_function("missing").unwrap_err();
    /// println!("{error}"); // lists the kernels of the module
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub fn get_function(&self, name: impl AsRef<str>) -> CudaResult<Function<'_>> {
        let name = name.as_ref();
        self.function_of_symbol(name, name)
    }

    /// Returns whether the module was loaded by [`Module::own`].
    pub(crate) fn is_own(&self) -> bool {
        self.own.is_some()
    }

    /// Returns the kernel with the kernel type `K`, of a module that [`Module::own`] loaded.
    pub(crate) fn own_function<K: KernelType>(&self) -> CudaResult<Function<'_>> {
        let symbol = self.own.and_then(program::Own::symbol::<K>);
        let symbol = symbol.ok_or(Error::OtherCrate { kernel: K::shown() })?;
        self.function_of_symbol(symbol, K::shown())
    }

    /// Returns the kernel with the given symbol, which is looked up only once. Error messages call
    /// it `shown`.
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

    /// Looks up the kernel with the given symbol. Error messages call it `shown`.
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
        // Prefer the PTX: the query of the driver ends with an error code, which NVIDIA's tools
        // report.
        let parameters = from_text().or_else(|| parameters_from_driver(api, raw));
        let mut stack = match self.has_stacks {
            true => read_record(api, self.raw, name)?,
            false => Need::default(),
        };
        let launches = (Launches::ALL.into_iter().zip(self.has_entries))
            .filter_map(|(launches, exist)| exist.then_some(launches));
        let others = match &parameters {
            Some(sizes) => Others::look_up(api, self.raw, name, sizes, launches)?,
            None => None,
        };
        for (_, launches) in others.iter().flat_map(Others::entries) {
            if self.has_stacks {
                let own = read_record(api, self.raw, &launches.entry_of(name))?;
                stack.bytes = stack.bytes.max(own.bytes);
            }
        }
        if stack.bytes > 0 {
            self.context().record_need(self.raw, stack);
        }
        let signature = self.signature(name);
        Ok(Kernel::new(
            (raw, others),
            shown,
            parameters,
            stack,
            signature,
        ))
    }

    /// Returns the names of the module's kernels.
    ///
    /// For modules loaded from machine code, drivers before CUDA 12.4 do not provide the names; the
    /// list is then empty.
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
    /// # .visible .global .align 4 .u32 COUNT = 7;
    /// # .visible .entry fill(.param .u64 data, .param .u64 len) {
    /// #     ret;
    /// # }";
    /// let _context = cust::quick_init_on(Backend::Emulator)?;
    /// let module = Module::from_ptx(PTX, &[])?;
    /// assert_eq!(module.kernel_names(), ["fill"]);
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub fn kernel_names(&self) -> Vec<String> {
        let is_kernel = |name: &String| kernel_of_entry(name).is_none();
        if let Some(entries) = &self.entries {
            let names = entries.iter().map(|entry| entry.name.clone());
            return names.filter(is_kernel).collect();
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
        let names = functions.into_iter().filter_map(name);
        names.filter(is_kernel).collect()
    }

    /// Returns the global variable of the given name.
    ///
    /// Copies from and to the variable wait for the module's pending kernels.
    ///
    /// # Errors
    ///
    /// Returns [`Error::GlobalNotFound`] if there is no variable of this name, and
    /// [`Error::GlobalSize`] if its size is not that of `T`.
    ///
    /// # Safety
    ///
    /// The variable must be a `T` on the device: only its size is checked.
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
    /// // Reading is safe for types that accept any bit pattern.
    /// assert_eq!(module.read_global::<[u8; 4]>("counter")?, [8, 0, 0, 0]);
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub unsafe fn get_global<T: DeviceCopy>(
        &self,
        name: impl SymbolName,
    ) -> CudaResult<Symbol<'_, T>> {
        self.find_global(name)
    }

    /// Reads the global variable of the given name as a type that accepts any bit pattern.
    ///
    /// # Errors
    ///
    /// Returns [`Error::GlobalNotFound`] if there is no variable of this name, and
    /// [`Error::GlobalSize`] if its size is not that of `T`.
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
    /// # .visible .global .align 4 .u32 COUNT = 7;
    /// # .visible .entry fill(.param .u64 data, .param .u64 len) {
    /// #     ret;
    /// # }";
    /// let _context = cust::quick_init_on(Backend::Emulator)?;
    /// let module = Module::from_ptx(PTX, &[])?;
    /// assert_eq!(module.read_global::<u32>("COUNT")?, 7);
    /// # Ok::<(), cust::error::Error>(())
    /// ```
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

    /// Returns the address of a variable, after checking its size.
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

    /// Returns the context that the module is loaded into.
    pub fn context(&self) -> &Context {
        self.tracker.context()
    }

    /// Returns the driver's handle.
    pub fn as_raw(&self) -> CUmodule {
        self.raw
    }

    /// Returns whether the module is known to be built from the given package, among others.
    pub(crate) fn has_package(&self, package: &str) -> bool {
        self.packages.contains(&package)
    }

    /// Returns the signature of a kernel or static: `None` if the module's signatures are not
    /// known, and an empty string if the module has no such item.
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

/// Returns the sizes of a kernel's parameters, or `None` for drivers that do not provide them
/// (before CUDA 12.4).
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
            // The index is one past the last parameter.
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
        // Pending kernels use the module's code and its panic report.
        if self.tracker.settle(Access::Write).is_err() {
            return;
        }
        // Before the module is unloaded, because other threads write to its variables: a wait arms
        // the report, and a launch sets the end of the stack. Later, the addresses may belong to
        // other memory.
        if self.has_stacks {
            self.context().remove_stack(self.raw);
        }
        if let Some(report) = &self.report {
            self.context().remove_report(report);
        }
        // An error means that the context is gone, and the module and the report with it.
        let Ok(api) = self.context().bind() else {
            return;
        };
        // SAFETY: loaded once, unloaded once; functions and symbols borrow the module.
        let unloaded = unsafe { api.driver.cuModuleUnload(self.raw) };
        // Kernels of a module that is still loaded may write its report.
        if let Some(report) = &self.report
            && unloaded == CUresult::CUDA_SUCCESS
        {
            report.free(api);
        }
    }
}
