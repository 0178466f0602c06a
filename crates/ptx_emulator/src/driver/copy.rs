//! Copies and memset, every range of device memory checked against what is allocated.

use std::ffi::{c_uchar, c_uint, c_ushort, c_void};

use cust_raw::{CUDA_MEMCPY2D, CUdeviceptr, CUmemorytype, CUresult, CUstream};

use super::state::{Context, from_pointer, state};
use super::stream::in_stream;
use super::{Outcome, api};

/// The pointer to a range of device memory that is allocated in full.
fn device(context: &Context, address: u64, size: usize) -> Result<*mut u8, CUresult> {
    let invalid = CUresult::CUDA_ERROR_INVALID_VALUE;
    let (base, len) = context.memory.range_of(address).ok_or(invalid)?;
    let end = ((address - base) as usize)
        .checked_add(size)
        .ok_or(invalid)?;
    if end > len {
        return Err(invalid);
    }
    Ok(std::ptr::with_exposed_provenance_mut(address as usize))
}

/// The pointer to an address that may be the device's or the host's: unified addressing.
fn any(context: &Context, address: u64, size: usize) -> Result<*mut u8, CUresult> {
    if context.memory.range_of(address).is_some() {
        return device(context, address, size);
    }
    host(std::ptr::with_exposed_provenance_mut::<c_void>(
        address as usize,
    ))
}

fn host(pointer: *mut c_void) -> Result<*mut u8, CUresult> {
    if pointer.is_null() {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    Ok(pointer.cast())
}

/// The two sides of a copy.
type Sides = (*mut u8, *const u8);

/// Copies in a stream. `sides` finds both in the context and checks them.
///
/// # Safety
///
/// Both sides have `size` bytes.
unsafe fn copy(
    stream: CUstream,
    size: usize,
    sides: impl FnOnce(&Context) -> Result<Sides, CUresult>,
) -> Outcome {
    let (context, stream) = state()?.stream(from_pointer(stream))?;
    context.check()?;
    if size == 0 {
        return Ok(());
    }
    in_stream(&context, &stream, || {
        // What another thread frees meanwhile stays until the guard is gone.
        let _active = context.memory.enter();
        let (to, from) = sides(&context)?;
        // SAFETY: device memory was checked; the host's is the caller's promise.
        unsafe { to.copy_from(from, size) };
        Ok(())
    })?
}

/// Sets `count` elements in a stream.
fn set<T: Copy>(stream: CUstream, address: u64, value: T, count: usize) -> Outcome {
    set_rows(stream, address, 0, value, count, 1)
}

/// Sets `height` rows of `width` elements, `pitch` bytes apart.
fn set_rows<T: Copy>(
    stream: CUstream,
    address: u64,
    pitch: usize,
    value: T,
    width: usize,
    height: usize,
) -> Outcome {
    let invalid = CUresult::CUDA_ERROR_INVALID_VALUE;
    let (context, stream) = state()?.stream(from_pointer(stream))?;
    context.check()?;
    let row = width.checked_mul(size_of::<T>()).ok_or(invalid)?;
    if !address.is_multiple_of(align_of::<T>() as u64) || !pitch.is_multiple_of(align_of::<T>()) {
        return Err(invalid);
    }
    if row == 0 || height == 0 {
        return Ok(());
    }
    let size = (pitch.checked_mul(height - 1))
        .and_then(|rows| rows.checked_add(row))
        .ok_or(invalid)?;
    in_stream(&context, &stream, || {
        let _active = context.memory.enter();
        let start = device(&context, address, size)?;
        if size_of::<T>() == 1 && height == 1 {
            // SAFETY: inside the range that was checked.
            unsafe { start.write_bytes(std::mem::transmute_copy::<T, u8>(&value), width) };
            return Ok(());
        }
        for y in 0..height {
            for x in 0..width {
                // SAFETY: inside the range that was checked, and aligned.
                unsafe { start.add(y * pitch).cast::<T>().add(x).write(value) };
            }
        }
        Ok(())
    })?
}

/// The default stream, for calls without one.
const NULL: CUstream = std::ptr::null_mut();

/// One side of a 2D copy: where its first byte is, and how far apart its rows are.
struct Plane {
    start: *mut u8,
    pitch: usize,
}

/// Finds one side of a 2D copy and checks it.
#[allow(clippy::too_many_arguments)]
fn plane(
    context: &Context,
    kind: CUmemorytype,
    host_pointer: *mut c_void,
    device_pointer: CUdeviceptr,
    pitch: usize,
    x: usize,
    y: usize,
    (width, height): (usize, usize),
) -> Result<Plane, CUresult> {
    let invalid = CUresult::CUDA_ERROR_INVALID_VALUE;
    let pitch = if pitch == 0 { x + width } else { pitch };
    if x.checked_add(width).is_none_or(|end| end > pitch) {
        return Err(invalid);
    }
    let skip = y
        .checked_mul(pitch)
        .and_then(|rows| rows.checked_add(x))
        .ok_or(invalid)?;
    let size = (pitch.checked_mul(height - 1))
        .and_then(|rows| rows.checked_add(width))
        .ok_or(invalid)?;
    let start = match kind {
        CUmemorytype::CU_MEMORYTYPE_HOST => host(host_pointer)?.wrapping_add(skip),
        CUmemorytype::CU_MEMORYTYPE_DEVICE => device(context, device_pointer + skip as u64, size)?,
        CUmemorytype::CU_MEMORYTYPE_UNIFIED => any(context, device_pointer + skip as u64, size)?,
        _ => return Err(CUresult::CUDA_ERROR_NOT_SUPPORTED),
    };
    Ok(Plane { start, pitch })
}

/// A 2D copy in a stream.
///
/// # Safety
///
/// `copy` is null or a description whose host sides are as large as it says.
unsafe fn copy_2d(copy: *const CUDA_MEMCPY2D, stream: CUstream) -> Outcome {
    if copy.is_null() {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    // SAFETY: as the caller promises.
    let copy = unsafe { &*copy };
    let (context, stream) = state()?.stream(from_pointer(stream))?;
    context.check()?;
    let extent = (copy.WidthInBytes, copy.Height);
    if extent.0 == 0 || extent.1 == 0 {
        return Ok(());
    }
    in_stream(&context, &stream, || {
        let _active = context.memory.enter();
        let from = plane(
            &context,
            copy.srcMemoryType,
            copy.srcHost.cast_mut(),
            copy.srcDevice,
            copy.srcPitch,
            copy.srcXInBytes,
            copy.srcY,
            extent,
        )?;
        let to = plane(
            &context,
            copy.dstMemoryType,
            copy.dstHost,
            copy.dstDevice,
            copy.dstPitch,
            copy.dstXInBytes,
            copy.dstY,
            extent,
        )?;
        for y in 0..extent.1 {
            // SAFETY: device memory was checked; the host's is the caller's promise.
            unsafe {
                let to = to.start.add(y * to.pitch);
                to.copy_from(from.start.add(y * from.pitch), extent.0);
            }
        }
        Ok(())
    })?
}

api! {
    fn cuMemcpyHtoD_v2(to: CUdeviceptr, from: *const c_void, size: usize) {
        // SAFETY: the caller's pointers, as `cuda.h` asks for them.
        unsafe { copy(NULL, size, |c| Ok((device(c, to, size)?, host(from.cast_mut())?))) }
    }

    fn cuMemcpyDtoH_v2(to: *mut c_void, from: CUdeviceptr, size: usize) {
        // SAFETY: as above.
        unsafe { copy(NULL, size, |c| Ok((host(to)?, device(c, from, size)?))) }
    }

    fn cuMemcpyDtoD_v2(to: CUdeviceptr, from: CUdeviceptr, size: usize) {
        // SAFETY: as above.
        unsafe { copy(NULL, size, |c| Ok((device(c, to, size)?, device(c, from, size)?))) }
    }

    fn cuMemcpy(to: CUdeviceptr, from: CUdeviceptr, size: usize) {
        // SAFETY: as above.
        unsafe { copy(NULL, size, |c| Ok((any(c, to, size)?, any(c, from, size)?))) }
    }

    fn cuMemcpyHtoDAsync_v2(to: CUdeviceptr, from: *const c_void, size: usize, stream: CUstream) {
        // SAFETY: as above.
        unsafe { copy(stream, size, |c| Ok((device(c, to, size)?, host(from.cast_mut())?))) }
    }

    fn cuMemcpyDtoHAsync_v2(to: *mut c_void, from: CUdeviceptr, size: usize, stream: CUstream) {
        // SAFETY: as above.
        unsafe { copy(stream, size, |c| Ok((host(to)?, device(c, from, size)?))) }
    }

    fn cuMemcpyDtoDAsync_v2(to: CUdeviceptr, from: CUdeviceptr, size: usize, stream: CUstream) {
        // SAFETY: as above.
        unsafe { copy(stream, size, |c| Ok((device(c, to, size)?, device(c, from, size)?))) }
    }

    fn cuMemcpyAsync(to: CUdeviceptr, from: CUdeviceptr, size: usize, stream: CUstream) {
        // SAFETY: as above.
        unsafe { copy(stream, size, |c| Ok((any(c, to, size)?, any(c, from, size)?))) }
    }

    fn cuMemcpy2D_v2(copy: *const CUDA_MEMCPY2D) {
        // SAFETY: as above.
        unsafe { copy_2d(copy, NULL) }
    }

    fn cuMemcpy2DUnaligned_v2(copy: *const CUDA_MEMCPY2D) {
        // SAFETY: as above.
        unsafe { copy_2d(copy, NULL) }
    }

    fn cuMemcpy2DAsync_v2(copy: *const CUDA_MEMCPY2D, stream: CUstream) {
        // SAFETY: as above.
        unsafe { copy_2d(copy, stream) }
    }

    fn cuMemsetD8_v2(address: CUdeviceptr, value: c_uchar, count: usize) {
        set(NULL, address, value, count)
    }

    fn cuMemsetD16_v2(address: CUdeviceptr, value: c_ushort, count: usize) {
        set(NULL, address, value, count)
    }

    fn cuMemsetD32_v2(address: CUdeviceptr, value: c_uint, count: usize) {
        set(NULL, address, value, count)
    }

    fn cuMemsetD8Async(address: CUdeviceptr, value: c_uchar, count: usize, stream: CUstream) {
        set(stream, address, value, count)
    }

    fn cuMemsetD16Async(address: CUdeviceptr, value: c_ushort, count: usize, stream: CUstream) {
        set(stream, address, value, count)
    }

    fn cuMemsetD32Async(address: CUdeviceptr, value: c_uint, count: usize, stream: CUstream) {
        set(stream, address, value, count)
    }

    fn cuMemsetD2D8_v2(
        address: CUdeviceptr,
        pitch: usize,
        value: c_uchar,
        width: usize,
        height: usize,
    ) {
        set_rows(NULL, address, pitch, value, width, height)
    }

    fn cuMemsetD2D16_v2(
        address: CUdeviceptr,
        pitch: usize,
        value: c_ushort,
        width: usize,
        height: usize,
    ) {
        set_rows(NULL, address, pitch, value, width, height)
    }

    fn cuMemsetD2D32_v2(
        address: CUdeviceptr,
        pitch: usize,
        value: c_uint,
        width: usize,
        height: usize,
    ) {
        set_rows(NULL, address, pitch, value, width, height)
    }
}
