//! Modules: loads PTX text and provides its kernels and global variables.

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char, c_uint, c_void};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use cust_raw::{CUdeviceptr, CUfunction, CUjit_option, CUmodule, CUmoduleLoadingMode, CUresult};

use super::device::MAX_SHARED;
use super::model::model;
use super::state::{
    Function, Handle, Module, Object, State, from_pointer, lock, state, to_pointer,
};
use super::{Outcome, api, put, put_optional};
use crate::Program;

/// The buffers for the compiler's messages, from the options of a load.
#[derive(Default)]
pub(super) struct Logs {
    error: Option<Log>,
    info: Option<Log>,
}

struct Log {
    buffer: *mut c_char,
    size: usize,
    /// The option value that receives the number of bytes written.
    written: *mut *mut c_void,
}

impl Logs {
    /// Reads the two parallel lists of options.
    ///
    /// # Safety
    ///
    /// The lists have `count` entries, as `cuModuleLoadDataEx` requires.
    pub(super) unsafe fn from_options(
        count: c_uint,
        options: *mut CUjit_option,
        values: *mut *mut c_void,
    ) -> Logs {
        if count == 0 || options.is_null() || values.is_null() {
            return Logs::default();
        }
        let find = |wanted: CUjit_option| {
            (0..count as usize).find_map(|i| {
                // SAFETY: `i` is inside the lists.
                unsafe { (options.add(i).read() == wanted).then(|| values.add(i)) }
            })
        };
        let log = |buffer: CUjit_option, size: CUjit_option| {
            let (buffer, written) = (find(buffer)?, find(size)?);
            // SAFETY: both point into the list of values.
            let (buffer, size) = unsafe { (buffer.read(), written.read().addr()) };
            (!buffer.is_null() && size > 0).then_some(Log {
                buffer: buffer.cast(),
                size: size & 0xffff_ffff,
                written,
            })
        };
        Logs {
            error: log(
                CUjit_option::CU_JIT_ERROR_LOG_BUFFER,
                CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
            ),
            info: log(
                CUjit_option::CU_JIT_INFO_LOG_BUFFER,
                CUjit_option::CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
            ),
        }
    }

    fn write(&self, error: &str) {
        for (log, text) in [(&self.error, error), (&self.info, "")] {
            let Some(log) = log else { continue };
            let count = text.len().min(log.size - 1);
            // SAFETY: the buffer has `size` bytes, as the options specify.
            unsafe {
                let source = text.as_ptr().cast();
                log.buffer.copy_from_nonoverlapping(source, count);
                log.buffer.add(count).write(0);
                log.written.write(std::ptr::without_provenance_mut(count));
            }
        }
    }
}

/// Returns the PTX text of an image.
///
/// # Safety
///
/// `image` is an image as `cuModuleLoadData` requires.
pub(super) unsafe fn image_text<'a>(image: *const c_void) -> Result<&'a [u8], CUresult> {
    if image.is_null() {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    // SAFETY: text ends with a NUL byte. Binary images have no NUL in their first four bytes, so
    // reading up to a NUL or four bytes does not exceed either.
    let text = unsafe { CStr::from_ptr(image.cast()) }.to_bytes();
    let fatbin = 0xba55_ed50_u32.to_le_bytes();
    let fatbin_wrapper = 0x4662_43b1_u32.to_le_bytes();
    if text.starts_with(b"\x7fELF")
        || text.starts_with(&fatbin)
        || text.starts_with(&fatbin_wrapper)
    {
        // The emulator executes PTX only.
        return Err(CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU);
    }
    Ok(text)
}

/// PTX of a later major version may have a different meaning. Minor versions add instructions; an
/// unsupported instruction is reported where it occurs.
const MAX_PTX_MAJOR: u32 = 9;

/// Returns the major number of the text's `.version`.
fn major_version(text: &str) -> Option<u32> {
    let mut lines = text.lines().map(str::trim_start);
    let version = lines.find_map(|line| line.strip_prefix(".version"))?;
    version.trim_start().split_once('.')?.0.parse().ok()
}

fn load(text: &[u8], module: *mut CUmodule, logs: &Logs) -> Outcome {
    if module.is_null() {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    let handle = load_text(text, logs)?;
    // SAFETY: the caller's pointer, as `cuda.h` requires.
    unsafe { put(module, to_pointer(handle)) }
}

/// Loads a module into the current context.
pub(super) fn load_text(text: &[u8], logs: &Logs) -> Result<Handle, CUresult> {
    let state = state()?;
    let context = state.usable()?;
    let refuse = |message: &str| {
        logs.write(message);
        Err(CUresult::CUDA_ERROR_INVALID_PTX)
    };
    let Ok(text) = std::str::from_utf8(text) else {
        return refuse("the PTX is not UTF-8 text");
    };
    if major_version(text).is_some_and(|major| major > MAX_PTX_MAJOR) {
        logs.write("the PTX is of a version that the emulator does not know");
        return Err(CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
    }
    let target = ptx::header(text).target.first().copied();
    if let Some(refusal) = target.and_then(|target| model().refusal(target)) {
        logs.write(&refusal);
        return Err(CUresult::CUDA_ERROR_INVALID_PTX);
    }
    let program = match Program::load(text, &context.memory) {
        Ok(program) => program,
        Err(error) => return refuse(&error.to_string()),
    };
    for name in names_in_order(&program) {
        let kernel = program
            .kernel(name)
            .map(|kernel| program.kernel_info(kernel));
        let shared = kernel.map_or(0, |kernel| kernel.static_shared);
        if i64::from(shared) > i64::from(MAX_SHARED) {
            // The message of ptxas.
            return refuse(&format!(
                "ptxas error   : Entry function '{name}' uses too much shared data \
                 ({shared:#x} bytes, {MAX_SHARED:#x} max)"
            ));
        }
    }
    logs.write("");
    Ok(state.add(Object::Module(Arc::new(Module {
        context: context.handle,
        program,
        functions: Mutex::new(HashMap::new()),
    }))))
}

/// Returns the kernels' names in the order of the text, so that the order is deterministic.
pub(super) fn names_in_order(program: &Program) -> Vec<&str> {
    let mut names: Vec<&str> = program.kernel_names().collect();
    names.sort_by_key(|name| program.kernel(name).map(|kernel| kernel.0));
    names
}

/// Returns the handle of a kernel, which is created by the first call.
pub(super) fn function_handle(
    state: &State,
    module_handle: Handle,
    module: &Module,
    name: &str,
) -> Result<Handle, CUresult> {
    let mut functions = lock(&module.functions);
    if let Some(&handle) = functions.get(name) {
        return Ok(handle);
    }
    let kernel = module.program.kernel(name);
    let kernel = kernel.ok_or(CUresult::CUDA_ERROR_NOT_FOUND)?;
    let handle = state.add(Object::Function(Arc::new(Function {
        module: module_handle,
        context: module.context,
        program: module.program.clone(),
        kernel,
        name: CString::new(name).map_err(|_| CUresult::CUDA_ERROR_NOT_FOUND)?,
        max_dynamic_shared: Mutex::new(None),
        carveout: Mutex::new(-1),
        large_clusters: AtomicBool::new(false),
    })));
    functions.insert(name.to_owned(), handle);
    Ok(handle)
}

/// Returns a name that the caller passed.
///
/// # Safety
///
/// `name` is null or a C string.
pub(super) unsafe fn name_text<'a>(name: *const c_char) -> Result<&'a str, CUresult> {
    if name.is_null() {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    // SAFETY: as the caller promises.
    let name = unsafe { CStr::from_ptr(name) };
    name.to_str().map_err(|_| CUresult::CUDA_ERROR_NOT_FOUND)
}

api! {
    fn cuModuleLoadData(module: *mut CUmodule, image: *const c_void) {
        // SAFETY: the caller's pointers, as `cuda.h` requires.
        let text = unsafe { image_text(image)? };
        load(text, module, &Logs::default())
    }

    fn cuModuleLoadDataEx(
        module: *mut CUmodule,
        image: *const c_void,
        count: c_uint,
        options: *mut CUjit_option,
        values: *mut *mut c_void,
    ) {
        // SAFETY: as above.
        let (text, logs) = unsafe {
            (image_text(image)?, Logs::from_options(count, options, values))
        };
        load(text, module, &logs)
    }

    fn cuModuleLoadFatBinary(_module: *mut CUmodule, _image: *const c_void) {
        // The emulator executes PTX only.
        Err(CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU)
    }

    fn cuModuleLoad(module: *mut CUmodule, path: *const c_char) {
        state()?;
        // SAFETY: as above.
        let path = unsafe { name_text(path)? };
        let bytes = std::fs::read(path).map_err(|_| CUresult::CUDA_ERROR_FILE_NOT_FOUND)?;
        let text = CString::new(bytes).map_err(|_| CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU)?;
        // SAFETY: a C string.
        let text = unsafe { image_text(text.as_ptr().cast())? };
        load(text, module, &Logs::default())
    }

    fn cuModuleUnload(module: CUmodule) {
        let state = state()?;
        state.current()?;
        state.remove_module(from_pointer(module))
    }

    fn cuModuleGetFunction(function: *mut CUfunction, module: CUmodule, name: *const c_char) {
        let state = state()?;
        let handle = from_pointer(module);
        let module = state.module(handle)?;
        // SAFETY: as above.
        unsafe {
            let name = name_text(name)?;
            put(function, to_pointer(function_handle(state, handle, &module, name)?))
        }
    }

    fn cuModuleGetGlobal_v2(
        address: *mut CUdeviceptr,
        size: *mut usize,
        module: CUmodule,
        name: *const c_char,
    ) {
        let module = state()?.module(from_pointer(module))?;
        // SAFETY: as above.
        unsafe {
            let name = name_text(name)?;
            let found = module.program.global(name);
            let (found, bytes) = found.ok_or(CUresult::CUDA_ERROR_NOT_FOUND)?;
            put_optional(address, found);
            put_optional(size, bytes);
        }
        Ok(())
    }

    fn cuModuleGetFunctionCount(count: *mut c_uint, module: CUmodule) {
        let module = state()?.module(from_pointer(module))?;
        let found = module.program.kernel_names().count();
        // SAFETY: as above.
        unsafe { put(count, found as c_uint) }
    }

    fn cuModuleEnumerateFunctions(functions: *mut CUfunction, count: c_uint, module: CUmodule) {
        let state = state()?;
        let handle = from_pointer(module);
        let module = state.module(handle)?;
        if functions.is_null() && count > 0 {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let names = names_in_order(&module.program);
        for (i, name) in names.into_iter().take(count as usize).enumerate() {
            let function = function_handle(state, handle, &module, name)?;
            // SAFETY: the caller's list has `count` entries.
            unsafe { functions.add(i).write(to_pointer(function)) };
        }
        Ok(())
    }

    fn cuModuleGetLoadingMode(mode: *mut CUmoduleLoadingMode) {
        // SAFETY: as above.
        unsafe { put(mode, CUmoduleLoadingMode::CU_MODULE_EAGER_LOADING) }
    }
}
