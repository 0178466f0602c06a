//! Copies and memset. Each range of device memory is checked against the allocations.

use std::ffi::{c_uchar, c_uint, c_ushort, c_void};
use std::sync::Arc;

use cust_raw::{
    CUDA_MEMCPY2D, CUDA_MEMCPY3D, CUarray, CUdeviceptr, CUgraphNodeType, CUmemorytype, CUresult,
    CUstream,
};

use super::queue::{Promised, Work, in_stream, is_deferred};
use super::state::{Array, Context, State, from_pointer, state};
use super::{Outcome, api};
use crate::memory::{alias_of, host_address};

const MEMCPY: CUgraphNodeType = CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEMCPY;
const MEMSET: CUgraphNodeType = CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEMSET;
const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

/// Returns the pointer to a range of device memory, all of which must be allocated.
fn device(context: &Context, address: u64, size: usize) -> Result<*mut u8, CUresult> {
    let (base, len) = context.memory.range_of(address).ok_or(INVALID)?;
    let end = ((address - base) as usize)
        .checked_add(size)
        .ok_or(INVALID)?;
    if end > len {
        return Err(INVALID);
    }
    let host = host_address(address);
    Ok(std::ptr::with_exposed_provenance_mut(host as usize))
}

/// The source or destination of a copy.
#[derive(Clone)]
enum Side {
    Device(u64),
    Host(Promised<*mut c_void>),
    /// A unified address, of the device or the host.
    Any(u64),
    Array(Arc<Array>),
}

impl Side {
    fn host(pointer: *const c_void) -> Side {
        Side::Host(Promised::new(pointer.cast_mut()))
    }

    /// Returns the pointer `skip` bytes after the start, from which `size` bytes are accessed.
    fn pointer(&self, context: &Context, skip: usize, size: usize) -> Result<*mut u8, CUresult> {
        let host = |pointer: *mut c_void| {
            if pointer.is_null() {
                return Err(INVALID);
            }
            Ok(pointer.cast::<u8>().wrapping_add(skip))
        };
        let on_device = |address: u64| {
            let address = address.checked_add(skip as u64).ok_or(INVALID)?;
            device(context, address, size)
        };
        match self {
            Side::Device(address) => on_device(*address),
            Side::Host(pointer) => host(pointer.get()),
            Side::Any(address) if context.memory.range_of(*address).is_some() => {
                on_device(*address)
            }
            Side::Any(address) => host(std::ptr::with_exposed_provenance_mut(*address as usize)),
            Side::Array(array) => on_device(array.address),
        }
    }

    /// Returns whether it is pageable host memory, which the device cannot access directly.
    fn is_pageable(&self, context: &Context) -> bool {
        match self {
            Side::Device(_) | Side::Array(_) => false,
            Side::Host(pointer) => {
                let address = pointer.get().addr() as u64;
                let at = |address| context.memory.range_of(address);
                at(address).or_else(|| at(alias_of(address))).is_none()
            }
            Side::Any(address) => context.memory.range_of(*address).is_none(),
        }
    }
}

/// The source or destination of a 3D copy: the pitch of rows, the size of layers, and the offset of
/// the first byte.
#[derive(Clone)]
struct Volume {
    side: Side,
    pitch: usize,
    layer: usize,
    skip: usize,
}

/// A 3D copy. `extent` is the bytes in a row, the rows in a layer, and the layers.
#[derive(Clone)]
struct Copy {
    to: Volume,
    from: Volume,
    extent: [usize; 3],
}

impl Volume {
    /// Returns a contiguous range of `size` bytes.
    fn flat(side: Side, size: usize) -> Volume {
        Volume {
            side,
            pitch: size,
            layer: size,
            skip: 0,
        }
    }

    /// Returns the number of bytes from the first to the last that a copy accesses.
    fn span(&self, [width, height, depth]: [usize; 3]) -> Option<usize> {
        let rows = self.pitch.checked_mul(height - 1)?;
        let layers = self.layer.checked_mul(depth - 1)?;
        rows.checked_add(layers)?.checked_add(width)
    }

    fn pointer(&self, context: &Context, extent: [usize; 3]) -> Result<*mut u8, CUresult> {
        let span = self.span(extent).ok_or(INVALID)?;
        self.side.pointer(context, self.skip, span)
    }
}

impl Copy {
    fn is_empty(&self) -> bool {
        self.extent.contains(&0)
    }

    /// Checks both ranges and returns their pointers.
    fn pointers(&self, context: &Context) -> Result<(*mut u8, *const u8), CUresult> {
        let to = self.to.pointer(context, self.extent)?;
        Ok((to, self.from.pointer(context, self.extent)?.cast_const()))
    }

    fn run(&self, context: &Context) -> Outcome {
        // Memory that another thread frees meanwhile is kept until the guard is dropped.
        let _active = context.memory.enter();
        let (to, from) = self.pointers(context)?;
        let [width, height, depth] = self.extent;
        for z in 0..depth {
            for y in 0..height {
                let (to_row, from_row) = (
                    z * self.to.layer + y * self.to.pitch,
                    z * self.from.layer + y * self.from.pitch,
                );
                // SAFETY: device memory was checked; the caller guarantees host memory.
                unsafe { to.add(to_row).copy_from(from.add(from_row), width) };
            }
        }
        Ok(())
    }

    /// Returns the copy as work of a stream.
    fn work(self, context: &Arc<Context>) -> Work {
        let context = Arc::downgrade(context);
        Arc::new(move || match context.upgrade() {
            Some(context) => self.run(&context),
            None => Ok(()),
        })
    }

    /// Enqueues the copy. As with the driver, pageable host memory is read and written before the
    /// call returns.
    fn put_into(mut self, stream: CUstream) -> Outcome {
        let state = state()?;
        let (context, stream) = state.stream(from_pointer(stream))?;
        context.check()?;
        if self.is_empty() {
            return Ok(());
        }
        let (_, from) = self.pointers(&context)?;
        let captured = stream.capture().is_some();
        let waits = !captured && self.to.side.is_pageable(&context);
        let mut work = None;
        if is_deferred() && !captured && self.from.side.is_pageable(&context) {
            let span = self.from.span(self.extent).ok_or(INVALID)?;
            // SAFETY: the caller guarantees that the memory has this size.
            let bytes = unsafe { std::slice::from_raw_parts(from, span) }.to_vec();
            let pointer: *const u8 = bytes.as_ptr();
            self.from.side = Side::host(pointer.cast());
            self.from.skip = 0;
            let inner = self.clone().work(&context);
            let kept: Work = Arc::new(move || {
                let _ = &bytes;
                inner()
            });
            work = Some(kept);
        }
        let work = work.unwrap_or_else(|| self.work(&context));
        in_stream(state, &context, &stream, MEMCPY, work)?;
        if waits {
            stream.finish(&context);
            context.check()?;
        }
        Ok(())
    }
}

/// Enqueues a copy of `size` bytes.
fn copy(stream: CUstream, size: usize, to: Side, from: Side) -> Outcome {
    let copy = Copy {
        to: Volume::flat(to, size),
        from: Volume::flat(from, size),
        extent: [size, 1, 1],
    };
    copy.put_into(stream)
}

/// As [`copy`], and waits for completion, as calls without a stream do if host memory is involved.
fn copy_and_wait(size: usize, to: Side, from: Side) -> Outcome {
    copy(NULL, size, to, from)?;
    let (context, stream) = state()?.stream(0)?;
    stream.finish(&context);
    context.check()
}

/// A memset of `height` rows of `width` elements, `pitch` bytes apart.
#[derive(Clone, Copy)]
struct Set<T> {
    address: u64,
    pitch: usize,
    value: T,
    width: usize,
    height: usize,
}

impl<T: std::marker::Copy + Send + Sync + 'static> Set<T> {
    fn is_empty(&self) -> bool {
        self.width == 0 || self.height == 0
    }

    fn start(&self, context: &Context) -> Result<*mut u8, CUresult> {
        let row = self.width.checked_mul(size_of::<T>()).ok_or(INVALID)?;
        let size = (self.pitch.checked_mul(self.height - 1))
            .and_then(|rows| rows.checked_add(row))
            .ok_or(INVALID)?;
        device(context, self.address, size)
    }

    fn check(&self, context: &Context) -> Outcome {
        let aligned = self.address.is_multiple_of(align_of::<T>() as u64)
            && self.pitch.is_multiple_of(align_of::<T>());
        if !aligned {
            return Err(INVALID);
        }
        if !self.is_empty() {
            self.start(context)?;
        }
        Ok(())
    }

    fn run(&self, context: &Context) -> Outcome {
        let _active = context.memory.enter();
        let start = self.start(context)?;
        if size_of::<T>() == 1 && self.height == 1 {
            // SAFETY: inside the checked range.
            unsafe { start.write_bytes(std::mem::transmute_copy(&self.value), self.width) };
            return Ok(());
        }
        for y in 0..self.height {
            for x in 0..self.width {
                // SAFETY: inside the checked range, and aligned.
                unsafe {
                    start
                        .add(y * self.pitch)
                        .cast::<T>()
                        .add(x)
                        .write(self.value)
                };
            }
        }
        Ok(())
    }

    fn work(self, context: &Arc<Context>) -> Work {
        let context = Arc::downgrade(context);
        Arc::new(move || match context.upgrade() {
            Some(context) if !self.is_empty() => self.run(&context),
            _ => Ok(()),
        })
    }

    fn put_into(self, stream: CUstream) -> Outcome {
        let state = state()?;
        let (context, stream) = state.stream(from_pointer(stream))?;
        context.check()?;
        self.check(&context)?;
        if self.is_empty() {
            return Ok(());
        }
        in_stream(state, &context, &stream, MEMSET, self.work(&context))
    }
}

/// Enqueues a memset of `count` elements.
fn set<T: std::marker::Copy + Send + Sync + 'static>(
    stream: CUstream,
    address: u64,
    value: T,
    count: usize,
) -> Outcome {
    set_rows(stream, address, 0, value, count, 1)
}

fn set_rows<T: std::marker::Copy + Send + Sync + 'static>(
    stream: CUstream,
    address: u64,
    pitch: usize,
    value: T,
    width: usize,
    height: usize,
) -> Outcome {
    let set = Set {
        address,
        pitch,
        value,
        width,
        height,
    };
    set.put_into(stream)
}

/// Returns the work of a memset node.
pub(super) fn set_node(
    context: &Arc<Context>,
    node: &cust_raw::CUDA_MEMSET_NODE_PARAMS,
) -> Result<Work, CUresult> {
    fn make<T: std::marker::Copy + Send + Sync + 'static>(
        context: &Arc<Context>,
        node: &cust_raw::CUDA_MEMSET_NODE_PARAMS,
        value: T,
    ) -> Result<Work, CUresult> {
        let set = Set {
            address: node.dst,
            pitch: if node.height <= 1 { 0 } else { node.pitch },
            value,
            width: node.width,
            height: node.height,
        };
        set.check(context)?;
        Ok(set.work(context))
    }
    match node.elementSize {
        1 => make(context, node, node.value as u8),
        2 => make(context, node, node.value as u16),
        4 => make(context, node, node.value),
        _ => Err(INVALID),
    }
}

/// Returns the work of a copy node.
///
/// # Safety
///
/// The host memory of the description must have the described size whenever the work runs.
pub(super) unsafe fn copy_node(
    state: &State,
    context: &Arc<Context>,
    description: &CUDA_MEMCPY3D,
) -> Result<Work, CUresult> {
    let copy = copy_of_3d(state, description)?;
    if !copy.is_empty() {
        copy.pointers(context)?;
    }
    Ok(copy.work(context))
}

/// The default stream, for calls without one.
const NULL: CUstream = std::ptr::null_mut();

/// One side of a copy description.
struct Described {
    kind: CUmemorytype,
    host: *const c_void,
    device: CUdeviceptr,
    array: CUarray,
    pitch: usize,
    height: usize,
    at: [usize; 3],
}

impl Described {
    fn volume(self, state: &State, [width, height, _]: [usize; 3]) -> Result<Volume, CUresult> {
        let [x, y, z] = self.at;
        let mut pitch = self.pitch;
        let mut rows = self.height;
        let side = match self.kind {
            CUmemorytype::CU_MEMORYTYPE_HOST => Side::host(self.host),
            CUmemorytype::CU_MEMORYTYPE_DEVICE => Side::Device(self.device),
            CUmemorytype::CU_MEMORYTYPE_UNIFIED => Side::Any(self.device),
            CUmemorytype::CU_MEMORYTYPE_ARRAY => {
                let array = state.array(from_pointer(self.array))?;
                pitch = array.row;
                rows = array.height.max(1);
                Side::Array(array)
            }
            _ => return Err(INVALID),
        };
        if pitch == 0 {
            pitch = x + width;
        }
        if rows == 0 {
            rows = y + height;
        }
        let fits = |start: usize, size: usize, all: usize| {
            start.checked_add(size).is_some_and(|end| end <= all)
        };
        if !fits(x, width, pitch) || !fits(y, height, rows) {
            return Err(INVALID);
        }
        let layer = pitch.checked_mul(rows).ok_or(INVALID)?;
        let skip = (layer.checked_mul(z))
            .and_then(|skip| skip.checked_add(y.checked_mul(pitch)?))
            .and_then(|skip| skip.checked_add(x))
            .ok_or(INVALID)?;
        Ok(Volume {
            side,
            pitch,
            layer,
            skip,
        })
    }
}

fn copy_of_3d(state: &State, c: &CUDA_MEMCPY3D) -> Result<Copy, CUresult> {
    let extent = [c.WidthInBytes, c.Height, c.Depth];
    let from = Described {
        kind: c.srcMemoryType,
        host: c.srcHost,
        device: c.srcDevice,
        array: c.srcArray,
        pitch: c.srcPitch,
        height: c.srcHeight,
        at: [c.srcXInBytes, c.srcY, c.srcZ],
    };
    let to = Described {
        kind: c.dstMemoryType,
        host: c.dstHost.cast_const(),
        device: c.dstDevice,
        array: c.dstArray,
        pitch: c.dstPitch,
        height: c.dstHeight,
        at: [c.dstXInBytes, c.dstY, c.dstZ],
    };
    Ok(Copy {
        to: to.volume(state, extent)?,
        from: from.volume(state, extent)?,
        extent,
    })
}

/// Returns a range of bytes of a one-dimensional array.
fn array_row(array: CUarray, offset: usize, size: usize) -> Result<Side, CUresult> {
    let array = state()?.array(from_pointer(array))?;
    let inside = offset.checked_add(size).is_some_and(|end| end <= array.row);
    if !inside || array.height > 1 {
        return Err(INVALID);
    }
    Ok(Side::Device(array.address + offset as u64))
}

/// Enqueues a 3D copy.
///
/// # Safety
///
/// `copy` is null or a description whose host memory has the described size.
unsafe fn copy_3d(copy: *const CUDA_MEMCPY3D, stream: CUstream, waits: bool) -> Outcome {
    if copy.is_null() {
        return Err(INVALID);
    }
    // SAFETY: as the caller promises.
    let copy = copy_of_3d(state()?, unsafe { &*copy })?;
    copy.put_into(stream)?;
    if waits {
        let (context, stream) = state()?.stream(0)?;
        stream.finish(&context);
        context.check()?;
    }
    Ok(())
}

/// Enqueues a 2D copy.
///
/// # Safety
///
/// As for [`copy_3d`].
unsafe fn copy_2d(copy: *const CUDA_MEMCPY2D, stream: CUstream, waits: bool) -> Outcome {
    if copy.is_null() {
        return Err(INVALID);
    }
    // SAFETY: as the caller promises; zeros are a valid description.
    let (c, mut three) = unsafe { (&*copy, std::mem::zeroed::<CUDA_MEMCPY3D>()) };
    three.srcXInBytes = c.srcXInBytes;
    three.srcY = c.srcY;
    three.srcMemoryType = c.srcMemoryType;
    three.srcHost = c.srcHost;
    three.srcDevice = c.srcDevice;
    three.srcArray = c.srcArray;
    three.srcPitch = c.srcPitch;
    three.dstXInBytes = c.dstXInBytes;
    three.dstY = c.dstY;
    three.dstMemoryType = c.dstMemoryType;
    three.dstHost = c.dstHost;
    three.dstDevice = c.dstDevice;
    three.dstArray = c.dstArray;
    three.dstPitch = c.dstPitch;
    three.WidthInBytes = c.WidthInBytes;
    three.Height = c.Height;
    three.Depth = 1;
    // SAFETY: as the caller promises.
    unsafe { copy_3d(&three, stream, waits) }
}

api! {
    fn cuMemcpyHtoD_v2(to: CUdeviceptr, from: *const c_void, size: usize) {
        copy_and_wait(size, Side::Device(to), Side::host(from))
    }

    fn cuMemcpyDtoH_v2(to: *mut c_void, from: CUdeviceptr, size: usize) {
        copy_and_wait(size, Side::host(to), Side::Device(from))
    }

    fn cuMemcpyDtoD_v2(to: CUdeviceptr, from: CUdeviceptr, size: usize) {
        copy(NULL, size, Side::Device(to), Side::Device(from))
    }

    fn cuMemcpy(to: CUdeviceptr, from: CUdeviceptr, size: usize) {
        copy_and_wait(size, Side::Any(to), Side::Any(from))
    }

    fn cuMemcpyHtoDAsync_v2(to: CUdeviceptr, from: *const c_void, size: usize, stream: CUstream) {
        copy(stream, size, Side::Device(to), Side::host(from))
    }

    fn cuMemcpyDtoHAsync_v2(to: *mut c_void, from: CUdeviceptr, size: usize, stream: CUstream) {
        copy(stream, size, Side::host(to), Side::Device(from))
    }

    fn cuMemcpyDtoDAsync_v2(to: CUdeviceptr, from: CUdeviceptr, size: usize, stream: CUstream) {
        copy(stream, size, Side::Device(to), Side::Device(from))
    }

    fn cuMemcpyAsync(to: CUdeviceptr, from: CUdeviceptr, size: usize, stream: CUstream) {
        copy(stream, size, Side::Any(to), Side::Any(from))
    }

    fn cuMemcpy2D_v2(copy: *const CUDA_MEMCPY2D) {
        // SAFETY: the caller's pointers, as `cuda.h` requires.
        unsafe { copy_2d(copy, NULL, true) }
    }

    fn cuMemcpy2DUnaligned_v2(copy: *const CUDA_MEMCPY2D) {
        // SAFETY: as above.
        unsafe { copy_2d(copy, NULL, true) }
    }

    fn cuMemcpy2DAsync_v2(copy: *const CUDA_MEMCPY2D, stream: CUstream) {
        // SAFETY: as above.
        unsafe { copy_2d(copy, stream, false) }
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

    fn cuMemcpy3D_v2(copy: *const CUDA_MEMCPY3D) {
        // SAFETY: as above.
        unsafe { copy_3d(copy, NULL, true) }
    }

    fn cuMemcpy3DAsync_v2(copy: *const CUDA_MEMCPY3D, stream: CUstream) {
        // SAFETY: as above.
        unsafe { copy_3d(copy, stream, false) }
    }

    fn cuMemcpyDtoA_v2(to: CUarray, offset: usize, from: CUdeviceptr, size: usize) {
        let to = array_row(to, offset, size)?;
        copy(NULL, size, to, Side::Device(from))
    }

    fn cuMemcpyAtoD_v2(to: CUdeviceptr, from: CUarray, offset: usize, size: usize) {
        let from = array_row(from, offset, size)?;
        copy(NULL, size, Side::Device(to), from)
    }

    fn cuMemcpyHtoA_v2(to: CUarray, offset: usize, from: *const c_void, size: usize) {
        let to = array_row(to, offset, size)?;
        copy_and_wait(size, to, Side::host(from))
    }

    fn cuMemcpyAtoH_v2(to: *mut c_void, from: CUarray, offset: usize, size: usize) {
        let from = array_row(from, offset, size)?;
        copy_and_wait(size, Side::host(to), from)
    }

    fn cuMemcpyHtoAAsync_v2(
        to: CUarray,
        offset: usize,
        from: *const c_void,
        size: usize,
        stream: CUstream,
    ) {
        let to = array_row(to, offset, size)?;
        copy(stream, size, to, Side::host(from))
    }

    fn cuMemcpyAtoHAsync_v2(
        to: *mut c_void,
        from: CUarray,
        offset: usize,
        size: usize,
        stream: CUstream,
    ) {
        let from = array_row(from, offset, size)?;
        copy(stream, size, Side::host(to), from)
    }

    fn cuMemsetD2D8Async(
        address: CUdeviceptr,
        pitch: usize,
        value: c_uchar,
        width: usize,
        height: usize,
        stream: CUstream,
    ) {
        set_rows(stream, address, pitch, value, width, height)
    }

    fn cuMemsetD2D16Async(
        address: CUdeviceptr,
        pitch: usize,
        value: c_ushort,
        width: usize,
        height: usize,
        stream: CUstream,
    ) {
        set_rows(stream, address, pitch, value, width, height)
    }

    fn cuMemsetD2D32Async(
        address: CUdeviceptr,
        pitch: usize,
        value: c_uint,
        width: usize,
        height: usize,
        stream: CUstream,
    ) {
        set_rows(stream, address, pitch, value, width, height)
    }
}
