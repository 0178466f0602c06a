//! Untyped copies and fills on addresses and byte counts, which all memory types use. Each is
//! ordered after pending work that uses the same memory.

use std::ffi::c_void;

use cust_core::kernel::Access;

use super::device_slice::RangeOnDevice;
use crate::error::CudaResult;
use crate::stream::Stream;
use crate::tracker::{self, Captured, Dependency};

fn reads<'a, T>(range: RangeOnDevice<'a, T>, bytes: usize) -> Dependency<'a> {
    Dependency::new(range.tracker, Access::Read, range.address, bytes)
}

fn writes<'a, T>(range: RangeOnDevice<'a, T>, bytes: usize) -> Dependency<'a> {
    Dependency::new(range.tracker, Access::Write, range.address, bytes)
}

/// Copies to the device and waits.
///
/// # Safety
///
/// Source and destination must have `bytes` bytes.
pub(crate) unsafe fn host_to_device<T>(
    to: RangeOnDevice<'_, T>,
    from: *const c_void,
    bytes: usize,
) -> CudaResult<()> {
    if bytes == 0 {
        return Ok(());
    }
    let doing = || format!("copying {bytes} bytes to the device");
    // SAFETY: the work writes only this range, as the caller promises.
    unsafe {
        tracker::run(to.context(), &[writes(to, bytes)], doing, |api, stream| {
            api.driver
                .cuMemcpyHtoDAsync_v2(to.address, from, bytes, stream)
        })
    }
}

/// Copies from the device and waits.
///
/// # Safety
///
/// Source and destination must have `bytes` bytes.
pub(crate) unsafe fn device_to_host<T>(
    to: *mut c_void,
    from: RangeOnDevice<'_, T>,
    bytes: usize,
) -> CudaResult<()> {
    if bytes == 0 {
        return Ok(());
    }
    let doing = || format!("copying {bytes} bytes from the device");
    // SAFETY: the work reads only this range, as the caller promises.
    unsafe {
        tracker::run(
            from.context(),
            &[reads(from, bytes)],
            doing,
            |api, stream| {
                api.driver
                    .cuMemcpyDtoHAsync_v2(to, from.address, bytes, stream)
            },
        )
    }
}

/// Copies on the device and waits.
///
/// # Safety
///
/// Source and destination must have `bytes` bytes.
pub(crate) unsafe fn device_to_device<T>(
    to: RangeOnDevice<'_, T>,
    from: RangeOnDevice<'_, T>,
    bytes: usize,
) -> CudaResult<()> {
    if bytes == 0 {
        return Ok(());
    }
    let doing = || format!("copying {bytes} bytes on the device");
    let dependencies = [writes(to, bytes), reads(from, bytes)];
    // SAFETY: the work accesses only these ranges, as the caller promises.
    unsafe {
        tracker::run(to.context(), &dependencies, doing, |api, stream| {
            api.driver
                .cuMemcpyDtoDAsync_v2(to.address, from.address, bytes, stream)
        })
    }
}

/// Sets bytes on the device and waits.
///
/// # Safety
///
/// The memory must have `bytes` bytes, which may take any value.
pub(crate) unsafe fn set_8<T>(to: RangeOnDevice<'_, T>, value: u8, bytes: usize) -> CudaResult<()> {
    if bytes == 0 {
        return Ok(());
    }
    let doing = || format!("setting {bytes} bytes to {value:#x}");
    // SAFETY: the work writes only this range, as the caller promises.
    unsafe {
        tracker::run(to.context(), &[writes(to, bytes)], doing, |api, stream| {
            api.driver.cuMemsetD8Async(to.address, value, bytes, stream)
        })
    }
}

/// Sets 32-bit words on the device and waits.
///
/// # Safety
///
/// The memory must have `words` words, which may take any value, at an address that is a multiple
/// of 4.
pub(crate) unsafe fn set_32<T>(
    to: RangeOnDevice<'_, T>,
    value: u32,
    words: usize,
) -> CudaResult<()> {
    if words == 0 {
        return Ok(());
    }
    let doing = || format!("setting {words} words to {value:#x}");
    // SAFETY: the work writes only this range, as the caller promises.
    unsafe {
        tracker::run(
            to.context(),
            &[writes(to, words * 4)],
            doing,
            |api, stream| {
                api.driver
                    .cuMemsetD32Async(to.address, value, words, stream)
            },
        )
    }
}

/// Enqueues a copy to the device into a stream. `host` is the dependency on the host memory, if it
/// is tracked.
///
/// # Safety
///
/// Source and destination must have `bytes` bytes. The host memory must stay alive and unchanged
/// until the copy is complete.
pub(crate) unsafe fn host_to_device_async<T>(
    to: RangeOnDevice<'_, T>,
    from: *const c_void,
    bytes: usize,
    host: Option<Dependency<'_>>,
    stream: &Stream,
    captured: Captured,
) -> CudaResult<()> {
    let doing = || format!("enqueuing a copy of {bytes} bytes to the device");
    to.context().require_same(stream.context(), doing)?;
    if bytes == 0 {
        return Ok(());
    }
    let device = writes(to, bytes);
    let both = [device, host.unwrap_or(device)];
    let dependencies = &both[..1 + usize::from(host.is_some())];
    // SAFETY: as the caller promises.
    unsafe {
        tracker::enqueue(
            stream.inner(),
            dependencies,
            captured,
            doing,
            |api, stream| {
                api.driver
                    .cuMemcpyHtoDAsync_v2(to.address, from, bytes, stream)
            },
        )
    }
}

/// Enqueues a copy from the device into a stream. `host` is the dependency on the host memory, if
/// it is tracked.
///
/// # Safety
///
/// Source and destination must have `bytes` bytes. The host memory must stay alive and unused until
/// the copy is complete.
pub(crate) unsafe fn device_to_host_async<T>(
    to: *mut c_void,
    from: RangeOnDevice<'_, T>,
    bytes: usize,
    host: Option<Dependency<'_>>,
    stream: &Stream,
    captured: Captured,
) -> CudaResult<()> {
    let doing = || format!("enqueuing a copy of {bytes} bytes from the device");
    from.context().require_same(stream.context(), doing)?;
    if bytes == 0 {
        return Ok(());
    }
    let device = reads(from, bytes);
    let both = [device, host.unwrap_or(device)];
    let dependencies = &both[..1 + usize::from(host.is_some())];
    // SAFETY: as the caller promises.
    unsafe {
        tracker::enqueue(
            stream.inner(),
            dependencies,
            captured,
            doing,
            |api, stream| {
                api.driver
                    .cuMemcpyDtoHAsync_v2(to, from.address, bytes, stream)
            },
        )
    }
}

/// Enqueues a copy on the device into a stream.
///
/// # Safety
///
/// Source and destination must have `bytes` bytes.
pub(crate) unsafe fn device_to_device_async<T>(
    to: RangeOnDevice<'_, T>,
    from: RangeOnDevice<'_, T>,
    bytes: usize,
    stream: &Stream,
    captured: Captured,
) -> CudaResult<()> {
    let doing = || format!("enqueuing a copy of {bytes} bytes on the device");
    to.context().require_same(stream.context(), doing)?;
    if bytes == 0 {
        return Ok(());
    }
    let dependencies = [writes(to, bytes), reads(from, bytes)];
    // SAFETY: as the caller promises.
    unsafe {
        tracker::enqueue(
            stream.inner(),
            &dependencies,
            captured,
            doing,
            |api, stream| {
                api.driver
                    .cuMemcpyDtoDAsync_v2(to.address, from.address, bytes, stream)
            },
        )
    }
}

/// Enqueues a fill of bytes into a stream.
///
/// # Safety
///
/// The memory must have `bytes` bytes, which may take any value.
pub(crate) unsafe fn set_8_async<T>(
    to: RangeOnDevice<'_, T>,
    value: u8,
    bytes: usize,
    stream: &Stream,
    captured: Captured,
) -> CudaResult<()> {
    let doing = || format!("enqueuing a fill of {bytes} bytes with {value:#x}");
    to.context().require_same(stream.context(), doing)?;
    if bytes == 0 {
        return Ok(());
    }
    // SAFETY: as the caller promises.
    unsafe {
        tracker::enqueue(
            stream.inner(),
            &[writes(to, bytes)],
            captured,
            doing,
            |api, stream| api.driver.cuMemsetD8Async(to.address, value, bytes, stream),
        )
    }
}
