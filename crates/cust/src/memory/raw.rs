//! Manual memory management: allocation, copies and memset on raw addresses in the current context.

use std::ffi::c_void;

use super::device_slice::RangeOnDevice;
use super::{DeviceCopy, DevicePointer, byte_size, elements_text, transfer};
use crate::context::Context;
use crate::error::CudaResult;
use crate::tracker::Tracker;

/// Allocates device memory for `count` elements. [`cuda_free`] frees it.
///
/// # Errors
///
/// Returns the driver's error if the device is out of memory, or for a size of zero bytes.
///
/// # Safety
///
/// The memory is uninitialized: it must be written before it is read.
///
/// # Examples
///
/// ```
/// use cust::memory::{cuda_free, cuda_malloc, memcpy_dtoh, memcpy_htod};
/// use cust::prelude::*;
///
/// let _context = cust::quick_init_on(Backend::Emulator)?;
/// let (from, mut to) = ([1u32, 2], [0u32; 2]);
/// // SAFETY: all memory has 8 bytes, and the device memory is written before it is read.
/// unsafe {
///     let memory = cuda_malloc::<u32>(2)?;
///     memcpy_htod(memory.as_raw(), from.as_ptr().cast(), 8)?;
///     memcpy_dtoh(to.as_mut_ptr().cast(), memory.as_raw(), 8)?;
///     cuda_free(memory)?;
/// }
/// assert_eq!(to, from);
/// # Ok::<(), cust::error::Error>(())
/// ```
pub unsafe fn cuda_malloc<T: DeviceCopy>(count: usize) -> CudaResult<DevicePointer<T>> {
    let bytes = byte_size::<T>(count)?;
    let api = Context::current("allocating device memory")?.bind()?;
    let mut address = 0;
    // SAFETY: the pointer is valid for the call.
    let result = unsafe { api.driver.cuMemAlloc_v2(&mut address, bytes) };
    api.check(result, || {
        let elements = elements_text::<T>(count);
        format!("allocating device memory for {elements} ({bytes} bytes)")
    })?;
    Ok(DevicePointer::from_raw(address))
}

/// Frees memory allocated by [`cuda_malloc`].
///
/// # Errors
///
/// Returns the driver's error for memory that [`cuda_malloc`] did not allocate.
///
/// # Safety
///
/// The memory must not be used afterwards, and no pending work may use it.
pub unsafe fn cuda_free<T>(pointer: DevicePointer<T>) -> CudaResult<()> {
    let api = Context::current("freeing device memory")?.bind()?;
    // SAFETY: as the caller promises.
    let result = unsafe { api.driver.cuMemFree_v2(pointer.as_raw()) };
    api.check(result, || {
        format!("freeing the device memory at {pointer:?}")
    })
}

/// Copies `size` bytes from the host to the device, and waits.
///
/// # Errors
///
/// Returns [`Error::NoContext`](crate::error::Error::NoContext) without a context, and the driver's
/// error if the copy fails.
///
/// # Safety
///
/// Source and destination must be valid for `size` bytes.
pub unsafe fn memcpy_htod(
    destination: cust_raw::CUdeviceptr,
    source: *const c_void,
    size: usize,
) -> CudaResult<()> {
    let tracker = Tracker::new(Context::current("copying to the device")?);
    let to = RangeOnDevice::<u8>::new(&tracker, destination, size);
    // SAFETY: as the caller promises.
    unsafe { transfer::host_to_device(to, source, size) }
}

/// Copies `size` bytes from the device to the host, and waits.
///
/// # Errors
///
/// Returns [`Error::NoContext`](crate::error::Error::NoContext) without a context, and the driver's
/// error if the copy fails.
///
/// # Safety
///
/// Source and destination must be valid for `size` bytes.
pub unsafe fn memcpy_dtoh(
    destination: *mut c_void,
    source: cust_raw::CUdeviceptr,
    size: usize,
) -> CudaResult<()> {
    let tracker = Tracker::new(Context::current("copying from the device")?);
    let from = RangeOnDevice::<u8>::new(&tracker, source, size);
    // SAFETY: as the caller promises.
    unsafe { transfer::device_to_host(destination, from, size) }
}

/// Sets `count` bytes on the device to `value`.
///
/// # Errors
///
/// Returns [`Error::NoContext`](crate::error::Error::NoContext) without a context, and the driver's
/// error if the fill fails.
///
/// # Safety
///
/// The memory must be valid for writes of `count` bytes.
pub unsafe fn memset_d8(
    destination: cust_raw::CUdeviceptr,
    value: u8,
    count: usize,
) -> CudaResult<()> {
    let api = Context::current("setting device memory")?.bind()?;
    // SAFETY: as the caller promises.
    let result = unsafe { api.driver.cuMemsetD8_v2(destination, value, count) };
    api.check(result, || format!("setting {count} bytes to {value:#x}"))
}

/// Sets `count` 32-bit words on the device to `value`.
///
/// # Errors
///
/// Returns [`Error::NoContext`](crate::error::Error::NoContext) without a context, and the driver's
/// error if the fill fails.
///
/// # Safety
///
/// The memory must be valid for writes of `count` words, and aligned to 4 bytes.
pub unsafe fn memset_d32(
    destination: cust_raw::CUdeviceptr,
    value: u32,
    count: usize,
) -> CudaResult<()> {
    let api = Context::current("setting device memory")?.bind()?;
    // SAFETY: as the caller promises.
    let result = unsafe { api.driver.cuMemsetD32_v2(destination, value, count) };
    api.check(result, || format!("setting {count} words to {value:#x}"))
}
