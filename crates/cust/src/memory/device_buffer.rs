//! Buffers on the device.

use std::marker::PhantomData;
use std::ops::RangeBounds;

use cust_core::kernel::Access;
use cust_raw::{CUdeviceptr, CUmemoryPool, CUresult};

use super::device_slice::{RangeOnDevice, debug, host_vec};
use super::{
    AsyncCopyDestination, CopyDestination, DeviceCopy, DevicePointer, DeviceSlice, DeviceSliceMut,
    Zeroable, byte_size, elements_text,
};
use crate::context::Context;
use crate::error::CudaResult;
use crate::stream::Stream;
use crate::tracker::Tracker;

/// A buffer of `T` in the device's memory, of fixed length. Dropping it frees the memory, once the
/// work in streams that uses it is done; the host does not wait for that.
///
/// ```
/// use cust::prelude::*;
///
/// let _context = cust::quick_init_on(Backend::Emulator)?;
/// let mut buffer = DeviceBuffer::<u32>::zeroed(3)?;
/// buffer.copy_from(&[1, 2, 3])?;
/// let mut back = [0; 3];
/// buffer.copy_to(&mut back)?;
/// assert_eq!(back, [1, 2, 3]);
///
/// let error = buffer.copy_from(&[1, 2]).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "copying to the device: the source has 2 elements, the destination 3"
/// );
/// # Ok::<(), cust::error::Error>(())
/// ```
pub struct DeviceBuffer<T> {
    tracker: Tracker,
    address: CUdeviceptr,
    len: usize,
    /// Whether the memory is from the context's pool, or `cuMemAlloc`'s.
    pooled: bool,
    elements: PhantomData<T>,
}

impl<T: DeviceCopy> DeviceBuffer<T> {
    /// Allocates a buffer without setting its elements.
    ///
    /// # Safety
    ///
    /// The elements must be written before they are read as `T`.
    pub unsafe fn uninitialized(len: usize) -> CudaResult<Self> {
        let context = Context::current("allocating a device buffer")?;
        let bytes = byte_size::<T>(len)?;
        // The driver refuses to allocate nothing.
        let (address, pooled) = match bytes {
            0 => (0, false),
            bytes => allocate(&context, bytes, || {
                let elements = elements_text::<T>(len);
                format!("allocating a device buffer of {elements} ({bytes} bytes)")
            })?,
        };
        Ok(DeviceBuffer {
            tracker: Tracker::new(context),
            address,
            len,
            pooled,
            elements: PhantomData,
        })
    }

    /// Allocates a buffer of zeros.
    pub fn zeroed(len: usize) -> CudaResult<Self>
    where
        T: Zeroable,
    {
        // SAFETY: the elements are set at once.
        let mut buffer = unsafe { DeviceBuffer::uninitialized(len)? };
        buffer.as_mut_slice().set_zero()?;
        Ok(buffer)
    }

    /// Allocates a buffer and copies the elements of `source` into it. What owns memory of the host's
    /// is no element:
    ///
    /// ```compile_fail,E0277
    /// use cust::prelude::*;
    ///
    /// fn copy(strings: &[String]) -> CudaResult<DeviceBuffer<String>> {
    ///     DeviceBuffer::from_slice(strings)
    /// }
    /// ```
    pub fn from_slice(source: &[T]) -> CudaResult<Self> {
        // SAFETY: the elements are set at once.
        let mut buffer = unsafe { DeviceBuffer::uninitialized(source.len())? };
        buffer.copy_from(source)?;
        Ok(buffer)
    }

    /// Allocates a buffer, and puts the copy of `source` into it into a stream.
    ///
    /// # Safety
    ///
    /// `source` must stay alive and unchanged, and the buffer be used only in the stream, until
    /// the stream is past the copy.
    pub unsafe fn from_slice_async(source: &[T], stream: &Stream) -> CudaResult<Self> {
        // SAFETY: the elements are set in the stream; the rest as the caller promises.
        unsafe {
            let mut buffer = DeviceBuffer::uninitialized(source.len())?;
            buffer.async_copy_from(source, stream)?;
            Ok(buffer)
        }
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The address of the first element, as kernels take it.
    pub fn as_device_ptr(&self) -> DevicePointer<T> {
        DevicePointer::from_raw(self.address)
    }

    /// All elements, to read.
    pub fn as_slice(&self) -> DeviceSlice<'_, T> {
        DeviceSlice::new(self.range())
    }

    /// All elements.
    pub fn as_mut_slice(&mut self) -> DeviceSliceMut<'_, T> {
        DeviceSliceMut::new(self.range())
    }

    /// All elements as rows of `width`, for a kernel's parameter `PerThread2d`, `PerTile`, `PerRow` or
    /// `PerColumn`. The last row may be short. Widths above 2⁴⁰ count as 2⁴⁰.
    pub fn rows_mut(&mut self, width: usize) -> crate::kernel::RowsMut<'_, T> {
        crate::kernel::RowsMut::new(self.as_mut_slice(), width)
    }

    /// All elements as layers of `height` rows of `width`, for a kernel's parameter `PerThread3d`. The
    /// last layer may be short. A layer of more than 2⁴⁰ elements has the rows that the buffer has.
    pub fn volume_mut(&mut self, width: usize, height: usize) -> crate::kernel::VolumeMut<'_, T> {
        crate::kernel::VolumeMut::new(self.as_mut_slice(), width, height)
    }

    /// Some of the elements, to read.
    pub fn index(&self, range: impl RangeBounds<usize>) -> CudaResult<DeviceSlice<'_, T>> {
        self.as_slice().index(range)
    }

    /// The elements before and from `middle`.
    pub fn split_at(&self, middle: usize) -> CudaResult<(DeviceSlice<'_, T>, DeviceSlice<'_, T>)> {
        self.as_slice().split_at(middle)
    }

    /// The elements before and from `middle`.
    pub fn split_at_mut(
        &mut self,
        middle: usize,
    ) -> CudaResult<(DeviceSliceMut<'_, T>, DeviceSliceMut<'_, T>)> {
        self.as_mut_slice().split_at_mut(middle)
    }

    /// Copies the elements to the host.
    pub fn as_host_vec(&self) -> CudaResult<Vec<T>> {
        host_vec(self.range())
    }

    /// Sets every element to zero.
    pub fn set_zero(&mut self) -> CudaResult<()>
    where
        T: Zeroable,
    {
        self.as_mut_slice().set_zero()
    }

    /// The context that it belongs to.
    pub fn context(&self) -> &Context {
        self.tracker.context()
    }

    /// Gives up ownership: the memory stays allocated. Waits for the work that uses it.
    /// [`cuda_free`](super::cuda_free) frees it.
    pub fn into_device_ptr(self) -> DevicePointer<T> {
        // Where it cannot wait, whoever uses the pointer has to.
        let _ = self.tracker.settle(Access::Write);
        let mut this = std::mem::ManuallyDrop::new(self);
        let address = this.address;
        // SAFETY: the tracker is not used again: the value is never dropped.
        unsafe { std::ptr::drop_in_place(&mut this.tracker) };
        DevicePointer::from_raw(address)
    }

    /// Takes ownership of memory of the current context.
    ///
    /// # Safety
    ///
    /// The memory was allocated in the current context with [`cuda_malloc`](super::cuda_malloc), or
    /// is that of [`into_device_ptr`](Self::into_device_ptr); no work uses it; it holds `len` elements,
    /// and belongs to nobody else.
    pub unsafe fn from_raw_parts(pointer: DevicePointer<T>, len: usize) -> CudaResult<Self> {
        Ok(DeviceBuffer {
            tracker: Tracker::new(Context::current("taking ownership of device memory")?),
            address: pointer.as_raw(),
            len,
            pooled: false,
            elements: PhantomData,
        })
    }

    /// Waits for the work that uses it.
    pub(crate) fn settle(&self) -> CudaResult<()> {
        self.tracker.settle(Access::Write)
    }

    /// The same memory as `len` elements of another type, for which the bytes have to be good.
    pub(crate) fn with_elements<U>(self, len: usize) -> DeviceBuffer<U> {
        let this = std::mem::ManuallyDrop::new(self);
        DeviceBuffer {
            // SAFETY: moved out once: the old value is never dropped.
            tracker: unsafe { std::ptr::read(&this.tracker) },
            address: this.address,
            len,
            pooled: this.pooled,
            elements: PhantomData,
        }
    }

    /// A buffer of memory that was allocated from a pool.
    pub(super) fn of_pool(context: Context, address: CUdeviceptr, len: usize) -> Self {
        DeviceBuffer {
            tracker: Tracker::new(context),
            address,
            len,
            pooled: true,
            elements: PhantomData,
        }
    }

    pub(crate) fn range_mut(&mut self) -> RangeOnDevice<'_, T> {
        self.range()
    }

    pub(crate) fn range(&self) -> RangeOnDevice<'_, T> {
        RangeOnDevice::new(&self.tracker, self.address, self.len)
    }
}

/// Allocates device memory that any stream may use at once, from the context's pool if it has one;
/// says whether it has.
pub(super) fn allocate(
    context: &Context,
    bytes: usize,
    doing: impl Fn() -> String,
) -> CudaResult<(CUdeviceptr, bool)> {
    if let Some(pool) = context.pool() {
        return Ok((allocate_from(context, pool, bytes, doing)?, true));
    }
    let api = context.bind()?;
    let mut address = 0;
    // SAFETY: the pointer is valid for the call.
    let result = unsafe { api.driver.cuMemAlloc_v2(&mut address, bytes) };
    api.check(result, doing)?;
    Ok((address, false))
}

/// As [`allocate`], from a pool.
pub(super) fn allocate_from(
    context: &Context,
    pool: CUmemoryPool,
    bytes: usize,
    doing: impl Fn() -> String,
) -> CudaResult<CUdeviceptr> {
    let api = context.bind()?;
    let stream = context.private_stream()?;
    let mut address = 0;
    let mut from_pool = || {
        // SAFETY: the pointer is valid for the call, and the pool is alive.
        unsafe {
            api.driver
                .cuMemAllocFromPoolAsync(&mut address, bytes, pool, stream.raw())
        }
    };
    let mut result = from_pool();
    if result == CUresult::CUDA_ERROR_OUT_OF_MEMORY {
        // What was freed comes back when the streams get there.
        // SAFETY: takes no arguments.
        let _ = unsafe { api.driver.cuCtxSynchronize() };
        result = from_pool();
    }
    api.check(result, &doing)?;
    // The stream has nothing else to do: the wait is for the allocation alone.
    // SAFETY: the stream is alive.
    let result = unsafe { api.driver.cuStreamSynchronize(stream.raw()) };
    api.check(result, &doing)?;
    Ok(address)
}

/// Frees what [`allocate`] allocated, after the work that uses it.
pub(super) fn free(tracker: &Tracker, address: CUdeviceptr, pooled: bool) {
    if address == 0 {
        return;
    }
    if pooled {
        return tracker.free_in_order(address);
    }
    // Memory that work may still use is leaked. An error of `bind` means that the context is gone,
    // and the memory with it.
    if tracker.settle(Access::Write).is_ok()
        && let Ok(api) = tracker.context().bind()
    {
        // SAFETY: allocated once, freed once, and no longer in use.
        let _ = unsafe { api.driver.cuMemFree_v2(address) };
    }
}

impl<T> Drop for DeviceBuffer<T> {
    fn drop(&mut self) {
        free(&self.tracker, self.address, self.pooled);
    }
}

impl<T> std::fmt::Debug for DeviceBuffer<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let range = RangeOnDevice::<T>::new(&self.tracker, self.address, self.len);
        debug(&range, "DeviceBuffer", f)
    }
}
