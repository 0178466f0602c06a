//! The stack limit of a context, which adapts to the needs of its kernels.
//!
//! A module contains a stack record for each kernel with recursion or indirect calls, which states
//! how much stack the kernel needs; for other kernels, the driver computes it. Before the first
//! launch of a kernel that needs more than the limit, the limit is raised to the kernel's need.
//! When a module is unloaded, the limit is lowered to the need of the remaining modules. A limit
//! that the user has set is not changed.
//!
//! Recursive functions compare the stack pointer with the end of the stack, which the host stores
//! in a variable of their module. The end is the start minus the limit; a kernel measures the
//! start, once per context.

use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::atomic::{AtomicUsize, Ordering};

pub(crate) use cust_core::stack::RECORD_PREFIX;
use cust_core::stack::{FLOOR, Record};
use cust_raw::{CUdeviceptr, CUfunction, CUlimit, CUmodule, CUresult, CUstreamCaptureMode};

use crate::backend::Api;
use crate::context::{Context, CurrentContext, Extension, ResourceLimit, Slot};
use crate::error::{CudaError, CudaResult, DriverError};

/// The minimum number of bytes by which a limit is raised.
const LEAST_RAISE: usize = 16;

/// The stack that a kernel needs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Need {
    /// The number of bytes; 0 if the driver computes it.
    pub(crate) bytes: usize,
    /// Whether the kernel is recursive, so that it may need any number of bytes.
    pub(crate) recursive: bool,
}

/// The state of a context's stack limit.
#[derive(Default)]
pub(crate) struct Stack {
    /// Launches that need at most this number of bytes need no check. `usize::MAX` once the user
    /// has set the limit.
    enough: AtomicUsize,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    /// The limit before it was first raised.
    base: Option<usize>,
    /// Whether the user has set the limit.
    user: bool,
    /// The initial stack pointer of threads: `None` if it was not measured yet, and `Some(None)` if
    /// the measurement failed.
    start: Option<Option<u64>>,
    modules: Vec<Loaded>,
    /// Launched kernels that may need more stack than the limit.
    doubtful: Vec<String>,
    /// The largest need for which the device had no memory.
    missing: Option<usize>,
}

/// A module whose kernels need stack.
struct Loaded {
    module: usize,
    need: usize,
    /// The address of the module's [`FLOOR`].
    floor: Option<CUdeviceptr>,
}

impl Extension for Stack {}

impl Slot for Stack {
    const SLOT: usize = 1;
}

impl Stack {
    /// Returns those of `kernels` that may have had too little stack.
    pub(crate) fn doubtful_among(&self, kernels: &[String]) -> Vec<String> {
        let inner = self.lock();
        let known = |kernel: &&String| inner.doubtful.contains(kernel);
        kernels.iter().filter(known).cloned().collect()
    }

    /// Returns the largest need for which the device had no memory.
    pub(crate) fn missing(&self) -> Option<usize> {
        self.lock().missing
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(|e| e.into_inner())
    }
}

impl CurrentContext {
    /// See [`Context::set_resource_limit`].
    ///
    /// # Errors
    ///
    /// Returns [`Error::NoContext`](crate::error::Error::NoContext) without a context, and the
    /// errors of [`Context::set_resource_limit`].
    pub fn set_resource_limit(limit: ResourceLimit, value: usize) -> CudaResult<()> {
        CurrentContext::get()?.set_resource_limit(limit, value)
    }
}

impl Context {
    /// Sets a resource limit. The driver may round the value.
    ///
    /// After [`ResourceLimit::StackSize`] has been set, launches no longer raise the limit, and
    /// unloading modules no longer lowers it.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if the value is too large, or the limit can no longer be changed:
    /// [`ResourceLimit::MallocHeapSize`] and [`ResourceLimit::PrintfFifoSize`] are fixed by the
    /// first launch of a kernel that uses the heap or prints.
    pub fn set_resource_limit(&self, limit: ResourceLimit, value: usize) -> CudaResult<()> {
        let api = self.bind()?;
        // SAFETY: takes no pointers.
        let result = unsafe { api.driver.cuCtxSetLimit(limit.raw(), value) };
        api.check(result, || format!("setting the limit {limit:?} to {value}"))?;
        if limit == ResourceLimit::StackSize {
            self.user_set_stack();
        }
        Ok(())
    }

    pub(crate) fn stack(&self) -> &Stack {
        self.extension()
    }

    /// Raises the limit before a launch, if the kernel needs more.
    #[inline]
    pub(crate) fn ensure_stack(&self, need: Need, kernel: &str) -> CudaResult<()> {
        if need.bytes == 0 || need.bytes <= self.stack().enough.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.raise_stack(need, kernel)
    }

    #[cold]
    fn raise_stack(&self, need: Need, kernel: &str) -> CudaResult<()> {
        let api = self.bind()?;
        let mut inner = self.stack().lock();
        let limit = limit(api)?;
        inner.base.get_or_insert(limit);
        let mut now = limit;
        if need.bytes > limit && !inner.user {
            now = raise(limit, need.bytes, |bytes| set_limit(api, bytes)).or_else(|result| {
                api.check(result, || {
                    format!(
                        "reserving {} bytes of stack for each thread of the kernel `{kernel}`",
                        need.bytes
                    )
                })
                .map(|()| limit)
            })?;
        }
        if now < need.bytes && !inner.user {
            inner.missing = inner.missing.max(Some(need.bytes));
        }
        let doubtful = need.recursive || now < need.bytes;
        if doubtful && !inner.doubtful.iter().any(|known| known == kernel) {
            inner.doubtful.push(kernel.to_owned());
        }
        set_floors(api, &inner, now);
        self.stack()
            .enough
            .store(now.max(need.bytes), Ordering::Relaxed);
        Ok(())
    }

    /// Records that the user has set the limit, which is not changed from now on.
    fn user_set_stack(&self) {
        let stack = self.stack();
        let mut inner = stack.lock();
        inner.user = true;
        inner.missing = None;
        stack.enough.store(usize::MAX, Ordering::Relaxed);
        if let Ok(api) = self.bind()
            && let Ok(limit) = limit(api)
        {
            set_floors(api, &inner, limit);
        }
    }

    /// Records the need of a kernel of a module, so that the limit is not lowered below it.
    pub(crate) fn record_need(&self, module: CUmodule, need: Need) {
        let mut inner = self.stack().lock();
        if let Some(loaded) = inner
            .modules
            .iter_mut()
            .find(|m| m.module == module as usize)
        {
            loaded.need = loaded.need.max(need.bytes);
        }
    }

    /// Prepares a module with recursive functions or kernels that need stack.
    pub(crate) fn add_stack(&self, module: CUmodule) -> CudaResult<()> {
        let api = self.bind()?;
        let mut inner = self.stack().lock();
        let (mut address, mut size) = (0, 0);
        // SAFETY: the pointers are valid for the call, and the module is loaded.
        let found = unsafe {
            api.driver
                .cuModuleGetGlobal_v2(&mut address, &mut size, module, FLOOR.as_ptr())
        };
        let floor = (found == CUresult::CUDA_SUCCESS && size == 8).then_some(address);
        if floor.is_some() && inner.start.is_none() {
            inner.start = Some(measure(api));
        }
        inner.modules.push(Loaded {
            module: module as usize,
            need: 0,
            floor,
        });
        if floor.is_some() {
            let limit = limit(api)?;
            set_floors(api, &inner, limit);
        }
        Ok(())
    }

    /// Forgets a module that is about to be unloaded and has no pending kernels, and lowers the
    /// limit to the need of the remaining modules.
    pub(crate) fn remove_stack(&self, module: CUmodule) {
        let stack = self.stack();
        let mut inner = stack.lock();
        let before = inner.modules.len();
        inner
            .modules
            .retain(|loaded| loaded.module != module as usize);
        let (Some(base), false) = (inner.base, inner.user) else {
            return;
        };
        if inner.modules.len() == before {
            return;
        }
        let Ok(api) = self.bind() else {
            return;
        };
        let needed = inner
            .modules
            .iter()
            .map(|loaded| loaded.need)
            .max()
            .unwrap_or(0)
            .max(base);
        // The kernels that needed more are gone.
        inner.missing = inner.missing.filter(|&missing| missing <= needed);
        if limit(api).is_ok_and(|limit| limit > needed) {
            set_floors(api, &inner, needed);
            // On failure, the limit stays larger than necessary.
            if set_limit(api, needed) == CUresult::CUDA_SUCCESS {
                stack.enough.store(needed, Ordering::Relaxed);
            }
        }
    }

    /// Returns the limit, for error messages.
    pub(crate) fn stack_limit(&self) -> Option<usize> {
        limit(self.bind().ok()?).ok()
    }
}

fn limit(api: &Api) -> CudaResult<usize> {
    let mut value = 0;
    // SAFETY: the pointer is valid for the call, and a context is current.
    let result = unsafe {
        api.driver
            .cuCtxGetLimit(&mut value, CUlimit::CU_LIMIT_STACK_SIZE)
    };
    api.check(result, || "querying the stack limit".to_owned())?;
    Ok(value)
}

/// Raises the limit to `need`, or as far as the device's memory allows, and returns the new limit.
///
/// The need is an upper bound, so a smaller limit may suffice; an actual overflow is reported when
/// it occurs.
fn raise(
    limit: usize,
    need: usize,
    mut set: impl FnMut(usize) -> CUresult,
) -> Result<usize, CUresult> {
    let mut excess = need - limit;
    while excess >= LEAST_RAISE {
        match set(limit + excess) {
            CUresult::CUDA_SUCCESS => return Ok(limit + excess),
            CUresult::CUDA_ERROR_OUT_OF_MEMORY | CUresult::CUDA_ERROR_INVALID_VALUE => {
                // The driver rounds limits up to multiples of 16.
                excess = excess / 2 / 16 * 16;
            }
            result => return Err(result),
        }
    }
    Ok(limit)
}

/// Sets the limit. Allowed even during a stream capture by this thread.
fn set_limit(api: &Api, bytes: usize) -> CUresult {
    let _relaxed = Relaxed::new(api);
    // SAFETY: takes no pointers.
    unsafe {
        api.driver
            .cuCtxSetLimit(CUlimit::CU_LIMIT_STACK_SIZE, bytes)
    }
}

/// Writes the end of the stack to the [`FLOOR`] of all modules. Without a measured stack start, the
/// variables stay 0, and recursive functions do not check the stack.
fn set_floors(api: &Api, inner: &Inner, limit: usize) {
    let Some(Some(start)) = inner.start else {
        return;
    };
    let floor = start.wrapping_sub(limit as u64);
    let _relaxed = Relaxed::new(api);
    for address in inner.modules.iter().filter_map(|loaded| loaded.floor) {
        // SAFETY: the variable has 8 bytes. An error means that the context is lost.
        let _ = unsafe {
            api.driver
                .cuMemcpyHtoD_v2(address, (&raw const floor).cast(), 8)
        };
    }
}

/// Returns the bytes of a variable that describes a kernel, or `None` if the module has none with
/// this name.
pub(crate) fn read_variable(
    api: &Api,
    module: CUmodule,
    name: &str,
    doing: impl FnOnce() -> String,
) -> CudaResult<Option<Vec<u8>>> {
    let Ok(name) = std::ffi::CString::new(name) else {
        return Ok(None);
    };
    let (mut address, mut size) = (0, 0);
    // SAFETY: the pointers are valid for the call, and the module is loaded.
    let found = unsafe {
        api.driver
            .cuModuleGetGlobal_v2(&mut address, &mut size, module, name.as_ptr())
    };
    if found != CUresult::CUDA_SUCCESS {
        return Ok(None);
    }
    let mut bytes = vec![0u8; size];
    let _relaxed = Relaxed::new(api);
    // SAFETY: the variable has `size` bytes.
    let result = unsafe {
        api.driver
            .cuMemcpyDtoH_v2(bytes.as_mut_ptr().cast(), address, size)
    };
    api.check(result, doing)?;
    Ok(Some(bytes))
}

/// Reads the stack record of a kernel. Returns the default for a kernel without a record.
pub(crate) fn read_record(api: &Api, module: CUmodule, kernel: &str) -> CudaResult<Need> {
    let read = read_variable(api, module, &format!("{RECORD_PREFIX}{kernel}"), || {
        format!("reading how much stack the kernel `{kernel}` needs")
    })?;
    let Some(record) = read.filter(|bytes| bytes.len() == size_of::<Record>()) else {
        return Ok(Need::default());
    };
    // SAFETY: the bytes have the size of a record, for which any bytes are valid.
    let record = unsafe { record.as_ptr().cast::<Record>().read_unaligned() };
    Ok(Need {
        bytes: record.bytes as usize,
        recursive: record.recursive != 0,
    })
}

const PROBE: &str = ".version 7.5
.target sm_75
.address_size 64
.visible .global .align 8 .u64 __cuda_std_start;
.visible .entry __cuda_std_probe() {
    .reg .b64 %pointer;
    stacksave.u64 %pointer;
    st.global.u64 [__cuda_std_start], %pointer;
    ret;
}
\0";

/// Measures the initial stack pointer of threads, with a kernel that has an empty stack frame.
fn measure(api: &Api) -> Option<u64> {
    let _relaxed = Relaxed::new(api);
    let ok = |result| (result == CUresult::CUDA_SUCCESS).then_some(());
    let mut module: CUmodule = std::ptr::null_mut();
    let mut kernel: CUfunction = std::ptr::null_mut();
    let (mut address, mut size, mut start) = (0, 0, 0u64);
    let null = std::ptr::null_mut();
    // SAFETY: the pointers are valid for the calls, and the kernel has no parameters.
    unsafe {
        ok(api
            .driver
            .cuModuleLoadData(&mut module, PROBE.as_ptr().cast()))?;
        let measured = (|| {
            ok(api
                .driver
                .cuModuleGetFunction(&mut kernel, module, c"__cuda_std_probe".as_ptr()))?;
            ok((api.driver).cuModuleGetGlobal_v2(
                &mut address,
                &mut size,
                module,
                c"__cuda_std_start".as_ptr(),
            ))?;
            ok(api.driver.cuLaunchKernel(
                kernel,
                1,
                1,
                1,
                1,
                1,
                1,
                0,
                null,
                null.cast(),
                null.cast(),
            ))?;
            ok(api
                .driver
                .cuMemcpyDtoH_v2((&raw mut start).cast(), address, 8))?;
            Some(start)
        })();
        let _ = api.driver.cuModuleUnload(module);
        measured
    }
}

/// Switches this thread to the relaxed capture mode until it is dropped, so that calls are allowed
/// that a capture otherwise prohibits.
struct Relaxed<'a> {
    api: &'a Api,
    before: CUstreamCaptureMode,
}

impl<'a> Relaxed<'a> {
    fn new(api: &'a Api) -> Relaxed<'a> {
        let mut before = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        // SAFETY: the pointer is valid for the call. On failure, the mode is unchanged.
        let _ = unsafe { api.driver.cuThreadExchangeStreamCaptureMode(&mut before) };
        Relaxed { api, before }
    }
}

impl Drop for Relaxed<'_> {
    fn drop(&mut self) {
        // SAFETY: as above.
        let _ = unsafe {
            self.api
                .driver
                .cuThreadExchangeStreamCaptureMode(&mut self.before)
        };
    }
}

/// Adds a hint to an error that a stack overflow may have caused.
pub(crate) fn hint(error: &mut DriverError, kernels: &[String]) {
    if !matches!(
        error.code,
        CudaError::IllegalAddress | CudaError::LaunchFailed | CudaError::HardwareStackError
    ) {
        return;
    }
    let text = format!(
        "help: this may be a stack overflow, since `{}` is recursive or may need more stack than \
         the limit; set a larger stack size with `#[kernel(stack_size = BYTES)]` or \
         `ResourceLimit::StackSize`",
        kernels.join("`, `")
    );
    let detail = error.detail.take();
    let detail = detail.map_or(String::new(), |detail| detail + "; ");
    error.detail = Some(detail + &text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_that_is_too_large_is_raised_as_far_as_possible() {
        let raised = |available: usize, need| {
            raise(1024, need, |bytes| match bytes <= available {
                true => CUresult::CUDA_SUCCESS,
                false => CUresult::CUDA_ERROR_OUT_OF_MEMORY,
            })
        };
        assert_eq!(raised(1 << 20, 54_000), Ok(54_000));
        assert_eq!(raised(20_000, 1024 + 65_536), Ok(1024 + 16_384));
        assert_eq!(raised(1024, 1 << 20), Ok(1024));
        let lost = raise(1024, 4096, |_| CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
        assert_eq!(lost, Err(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS));
    }
}
