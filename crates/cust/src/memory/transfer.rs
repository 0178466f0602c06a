//! The copies that all memory types are made of: addresses and byte counts, nothing typed.

use std::ffi::c_void;

use cust_raw::CUdeviceptr;

use crate::context::Context;
use crate::error::CudaResult;
use crate::stream::Stream;

/// Copies to the device and waits.
///
/// # Safety
///
/// Both sides have `bytes` bytes.
pub(crate) unsafe fn host_to_device(
    context: &Context,
    destination: CUdeviceptr,
    source: *const c_void,
    bytes: usize,
) -> CudaResult<()> {
    if bytes == 0 {
        return Ok(());
    }
    let api = context.bind()?;
    // SAFETY: as the caller promises.
    let result = unsafe { api.driver.cuMemcpyHtoD_v2(destination, source, bytes) };
    api.check(result, || format!("copying {bytes} bytes to the device"))
}

/// Copies from the device and waits.
///
/// # Safety
///
/// Both sides have `bytes` bytes.
pub(crate) unsafe fn device_to_host(
    context: &Context,
    destination: *mut c_void,
    source: CUdeviceptr,
    bytes: usize,
) -> CudaResult<()> {
    if bytes == 0 {
        return Ok(());
    }
    let api = context.bind()?;
    // SAFETY: as the caller promises.
    let result = unsafe { api.driver.cuMemcpyDtoH_v2(destination, source, bytes) };
    api.check(result, || format!("copying {bytes} bytes from the device"))
}

/// Copies on the device.
///
/// # Safety
///
/// Both sides have `bytes` bytes.
pub(crate) unsafe fn device_to_device(
    context: &Context,
    destination: CUdeviceptr,
    source: CUdeviceptr,
    bytes: usize,
) -> CudaResult<()> {
    if bytes == 0 {
        return Ok(());
    }
    let api = context.bind()?;
    // SAFETY: as the caller promises.
    let result = unsafe { api.driver.cuMemcpyDtoD_v2(destination, source, bytes) };
    api.check(result, || format!("copying {bytes} bytes on the device"))
}

/// Puts a copy to the device into a stream.
///
/// # Safety
///
/// Both sides have `bytes` bytes, and stay alive and unchanged until the stream is past the copy.
pub(crate) unsafe fn host_to_device_async(
    context: &Context,
    destination: CUdeviceptr,
    source: *const c_void,
    bytes: usize,
    stream: &Stream,
) -> CudaResult<()> {
    let doing = || format!("putting a copy of {bytes} bytes to the device into a stream");
    context.require_same(stream.context(), doing)?;
    if bytes == 0 {
        return Ok(());
    }
    let api = context.bind()?;
    // SAFETY: as the caller promises.
    let result = unsafe {
        api.driver
            .cuMemcpyHtoDAsync_v2(destination, source, bytes, stream.as_inner())
    };
    api.check(result, doing)
}

/// Puts a copy from the device into a stream.
///
/// # Safety
///
/// Both sides have `bytes` bytes, and stay alive and unused until the stream is past the copy.
pub(crate) unsafe fn device_to_host_async(
    context: &Context,
    destination: *mut c_void,
    source: CUdeviceptr,
    bytes: usize,
    stream: &Stream,
) -> CudaResult<()> {
    let doing = || format!("putting a copy of {bytes} bytes from the device into a stream");
    context.require_same(stream.context(), doing)?;
    if bytes == 0 {
        return Ok(());
    }
    let api = context.bind()?;
    // SAFETY: as the caller promises.
    let result = unsafe {
        api.driver
            .cuMemcpyDtoHAsync_v2(destination, source, bytes, stream.as_inner())
    };
    api.check(result, doing)
}

/// Puts a copy on the device into a stream.
///
/// # Safety
///
/// Both sides have `bytes` bytes, and stay alive and unused until the stream is past the copy.
pub(crate) unsafe fn device_to_device_async(
    context: &Context,
    destination: CUdeviceptr,
    source: CUdeviceptr,
    bytes: usize,
    stream: &Stream,
) -> CudaResult<()> {
    let doing = || format!("putting a copy of {bytes} bytes on the device into a stream");
    context.require_same(stream.context(), doing)?;
    if bytes == 0 {
        return Ok(());
    }
    let api = context.bind()?;
    // SAFETY: as the caller promises.
    let result = unsafe {
        api.driver
            .cuMemcpyDtoDAsync_v2(destination, source, bytes, stream.as_inner())
    };
    api.check(result, doing)
}
