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
use crate::vector::Vector;

/// A buffer of fixed length in device memory.
///
/// Dropping the buffer frees the memory once all pending work that uses it is complete; the host
/// does not wait.
///
/// # Examples
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
    /// Whether the memory was allocated from a pool, instead of by `cuMemAlloc`.
    pooled: bool,
    elements: PhantomData<T>,
}

impl<T: DeviceCopy> DeviceBuffer<T> {
    /// Allocates a buffer of `len` uninitialized elements.
    ///
    /// # Errors
    ///
    /// Returns [`Error::NoContext`] without a context, [`Error::AllocationTooLarge`] and
    /// [`Error::Alignment`] for sizes and types that cannot be allocated, and the driver's error if
    /// the device is out of memory.
    ///
    /// [`Error::NoContext`]: crate::error::Error::NoContext
    /// [`Error::AllocationTooLarge`]: crate::error::Error::AllocationTooLarge
    /// [`Error::Alignment`]: crate::error::Error::Alignment
    ///
    /// # Safety
    ///
    /// The elements must be written before they are read as `T`.
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::prelude::*;
    ///
    /// let _context = cust::quick_init_on(Backend::Emulator)?;
    /// // SAFETY: the copy writes all elements.
    /// let mut buffer = unsafe { DeviceBuffer::<u32>::uninitialized(2)? };
    /// buffer.copy_from(&[1, 2])?;
    /// assert_eq!(buffer.as_host_vec()?, [1, 2]);
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub unsafe fn uninitialized(len: usize) -> CudaResult<Self> {
        let context = Context::current("allocating a device buffer")?;
        let bytes = byte_size::<T>(len)?;
        // The driver rejects allocations of zero bytes.
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

    /// Allocates a buffer of `len` zeroed elements.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`DeviceBuffer::uninitialized`].
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::prelude::*;
    ///
    /// let _context = cust::quick_init_on(Backend::Emulator)?;
    /// let buffer = DeviceBuffer::<f32>::zeroed(3)?;
    /// assert_eq!(buffer.as_host_vec()?, [0.0; 3]);
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub fn zeroed(len: usize) -> CudaResult<Self>
    where
        T: Zeroable,
    {
        // SAFETY: the elements are set immediately.
        let mut buffer = unsafe { DeviceBuffer::uninitialized(len)? };
        buffer.as_mut_slice().set_zero()?;
        Ok(buffer)
    }

    /// Allocates a buffer and copies the elements of `source` into it.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`DeviceBuffer::uninitialized`].
    ///
    /// # Examples
    ///
    /// Types that own host memory are not [`DeviceCopy`], so this does not compile:
    ///
    /// ```compile_fail,E0277
    /// use cust::prelude::*;
    ///
    /// fn copy(strings: &[String]) -> CudaResult<DeviceBuffer<String>> {
    ///     DeviceBuffer::from_slice(strings)
    /// }
    /// ```
    pub fn from_slice(source: &[T]) -> CudaResult<Self> {
        // SAFETY: the elements are set immediately, or the buffer is dropped.
        let mut buffer = unsafe { DeviceBuffer::uninitialized(source.len())? };
        buffer.copy_from(source)?;
        Ok(buffer)
    }

    /// Allocates a buffer, and enqueues a copy of `source` to it into a stream.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`DeviceBuffer::uninitialized`], and the driver's error if it cannot
    /// enqueue the copy.
    ///
    /// # Safety
    ///
    /// Until the copy is complete, `source` must stay alive and unchanged, and the buffer must be
    /// used only in the stream.
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::prelude::*;
    ///
    /// let _context = cust::quick_init_on(Backend::Emulator)?;
    /// let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    /// let source = [1u32, 2, 3];
    /// // SAFETY: `source` is alive and unchanged until the stream is synchronized.
    /// let buffer = unsafe { DeviceBuffer::from_slice_async(&source, &stream)? };
    /// stream.synchronize()?;
    /// assert_eq!(buffer.as_host_vec()?, source);
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub unsafe fn from_slice_async(source: &[T], stream: &Stream) -> CudaResult<Self> {
        // SAFETY: the elements are set in the stream; the caller guarantees the rest.
        unsafe {
            let mut buffer = DeviceBuffer::uninitialized(source.len())?;
            buffer.async_copy_from(source, stream)?;
            Ok(buffer)
        }
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether the buffer has no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the address of the first element, for kernel arguments. It is aligned and not null
    /// even if the buffer is empty.
    pub fn as_device_ptr(&self) -> DevicePointer<T> {
        DevicePointer::from_raw(self.range().kernel_address())
    }

    /// Borrows all elements as a slice.
    pub fn as_slice(&self) -> DeviceSlice<'_, T> {
        DeviceSlice::new(self.range())
    }

    /// Borrows all elements as a mutable slice.
    pub fn as_mut_slice(&mut self) -> DeviceSliceMut<'_, T> {
        DeviceSliceMut::new(self.range())
    }

    /// Views all elements as vectors, such as [`F32x4`](crate::vector::F32x4) for `f32`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::NotVectors`](crate::error::Error::NotVectors) if the number of elements is
    /// not a multiple of the vector's.
    pub fn as_vectors<V: Vector<Scalar = T>>(&self) -> CudaResult<DeviceSlice<'_, V>> {
        self.as_slice().as_vectors()
    }

    /// Views all elements as vectors, for a kernel that writes them.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`DeviceBuffer::as_vectors`].
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::prelude::*;
    /// use cust::vector::F32x4;
    ///
    /// let _context = cust::quick_init_on(Backend::Emulator)?;
    /// let mut buffer = DeviceBuffer::<f32>::zeroed(8)?;
    /// let source = DeviceBuffer::from_slice(&[F32x4::splat(1.0), F32x4::splat(2.0)])?;
    /// buffer.as_vectors_mut::<F32x4>()?.copy_from_device(source.as_slice())?;
    /// assert_eq!(buffer.as_host_vec()?, [1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0]);
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub fn as_vectors_mut<V: Vector<Scalar = T>>(&mut self) -> CudaResult<DeviceSliceMut<'_, V>> {
        Ok(DeviceSliceMut::new(
            self.as_mut_slice().into_range().vectors()?,
        ))
    }

    /// Views the elements of all vectors as one slice.
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::vector::F32x2;
    /// use cust::prelude::*;
    ///
    /// let _context = cust::quick_init_on(Backend::Emulator)?;
    /// let buffer = DeviceBuffer::from_slice(&[F32x2::new(1.0, 2.0), F32x2::new(3.0, 4.0)])?;
    /// assert_eq!(buffer.as_scalars().as_host_vec()?, [1.0, 2.0, 3.0, 4.0]);
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub fn as_scalars(&self) -> DeviceSlice<'_, T::Scalar>
    where
        T: Vector,
    {
        self.as_slice().as_scalars()
    }

    /// Views the elements of all vectors as one mutable slice.
    pub fn as_scalars_mut(&mut self) -> DeviceSliceMut<'_, T::Scalar>
    where
        T: Vector,
    {
        DeviceSliceMut::new(self.as_mut_slice().into_range().scalars())
    }

    /// Borrows a range of the elements as a slice.
    ///
    /// # Errors
    ///
    /// Returns [`Error::OutOfBounds`](crate::error::Error::OutOfBounds) if the range is not inside
    /// the buffer.
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::prelude::*;
    ///
    /// let _context = cust::quick_init_on(Backend::Emulator)?;
    /// let buffer = DeviceBuffer::from_slice(&[1u32, 2, 3, 4])?;
    /// assert_eq!(buffer.index(1..3)?.as_host_vec()?, [2, 3]);
    /// assert!(buffer.index(3..5).is_err());
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub fn index(&self, range: impl RangeBounds<usize>) -> CudaResult<DeviceSlice<'_, T>> {
        self.as_slice().index(range)
    }

    /// Splits the elements into two slices at the index `middle`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::OutOfBounds`](crate::error::Error::OutOfBounds) if `middle > self.len()`.
    pub fn split_at(&self, middle: usize) -> CudaResult<(DeviceSlice<'_, T>, DeviceSlice<'_, T>)> {
        self.as_slice().split_at(middle)
    }

    /// Splits the elements into two mutable slices at the index `middle`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::OutOfBounds`](crate::error::Error::OutOfBounds) if `middle > self.len()`.
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::prelude::*;
    ///
    /// let _context = cust::quick_init_on(Backend::Emulator)?;
    /// let mut buffer = DeviceBuffer::from_slice(&[1u32, 2, 3])?;
    /// let (mut first, rest) = buffer.split_at_mut(1)?;
    /// first.copy_from(&[7])?;
    /// assert_eq!(rest.as_host_vec()?, [2, 3]);
    /// assert_eq!(buffer.as_host_vec()?, [7, 2, 3]);
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub fn split_at_mut(
        &mut self,
        middle: usize,
    ) -> CudaResult<(DeviceSliceMut<'_, T>, DeviceSliceMut<'_, T>)> {
        self.as_mut_slice().split_at_mut(middle)
    }

    /// Copies the elements to a `Vec` on the host, after all pending work that writes them.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if the copy fails, and the panic if a kernel that the copy waits
    /// for panicked.
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::prelude::*;
    ///
    /// let _context = cust::quick_init_on(Backend::Emulator)?;
    /// let buffer = DeviceBuffer::from_slice(&[1.5f32, 2.5])?;
    /// assert_eq!(buffer.as_host_vec()?, [1.5, 2.5]);
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub fn as_host_vec(&self) -> CudaResult<Vec<T>> {
        host_vec(self.range())
    }

    /// Sets all elements to zero, and waits.
    ///
    /// # Errors
    ///
    /// Returns the errors of the kernels that the call waits for, and the driver's error if the
    /// fill fails.
    pub fn set_zero(&mut self) -> CudaResult<()>
    where
        T: Zeroable,
    {
        self.as_mut_slice().set_zero()
    }

    /// Returns the context that the buffer belongs to.
    pub fn context(&self) -> &Context {
        self.tracker.context()
    }

    /// Waits for all pending work that uses the buffer, and releases ownership of its memory.
    ///
    /// The memory stays allocated until [`cuda_free`](super::cuda_free) is called.
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::prelude::*;
    ///
    /// let _context = cust::quick_init_on(Backend::Emulator)?;
    /// let buffer = DeviceBuffer::from_slice(&[1u32, 2, 3])?;
    /// let pointer = buffer.into_device_ptr();
    /// // SAFETY: the pointer owns the three elements.
    /// let buffer = unsafe { DeviceBuffer::from_raw_parts(pointer, 3)? };
    /// assert_eq!(buffer.as_host_vec()?, [1, 2, 3]);
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub fn into_device_ptr(self) -> DevicePointer<T> {
        // If waiting fails, the user of the pointer has to wait.
        let _ = self.tracker.settle(Access::Write);
        let mut this = std::mem::ManuallyDrop::new(self);
        let address = this.address;
        // SAFETY: the tracker is not used again, since `this` is never dropped.
        unsafe { std::ptr::drop_in_place(&mut this.tracker) };
        DevicePointer::from_raw(address)
    }

    /// Takes ownership of memory in the current context.
    ///
    /// # Errors
    ///
    /// Returns [`Error::NoContext`](crate::error::Error::NoContext) without a context.
    ///
    /// # Safety
    ///
    /// The memory must have been allocated in the current context with
    /// [`cuda_malloc`](super::cuda_malloc), or been returned by
    /// [`into_device_ptr`](Self::into_device_ptr). It must hold `len` valid elements, have no other
    /// owner, and not be used by pending work.
    pub unsafe fn from_raw_parts(pointer: DevicePointer<T>, len: usize) -> CudaResult<Self> {
        Ok(DeviceBuffer {
            tracker: Tracker::new(Context::current("taking ownership of device memory")?),
            address: pointer.as_raw(),
            len,
            pooled: false,
            elements: PhantomData,
        })
    }

    /// Waits for all pending work that uses the buffer.
    pub(crate) fn settle(&self) -> CudaResult<()> {
        self.tracker.settle(Access::Write)
    }

    /// Reinterprets the memory as `len` elements of another type, whose values its bytes must be.
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

    /// Wraps memory that was allocated from a pool.
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

/// Allocates device memory that any stream may use immediately. Returns the address, and whether
/// the memory is from the context's pool.
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

/// Like [`allocate`], from the given pool.
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
        // Memory freed in stream order becomes available when the streams reach the frees.
        // SAFETY: takes no arguments.
        let _ = unsafe { api.driver.cuCtxSynchronize() };
        result = from_pool();
    }
    api.check(result, &doing)?;
    // The stream has no other work, so this waits only for the allocation.
    // SAFETY: the stream is alive.
    let result = unsafe { api.driver.cuStreamSynchronize(stream.raw()) };
    api.check(result, &doing)?;
    Ok(address)
}

/// Frees memory that [`allocate`] allocated, after all pending work that uses it.
pub(super) fn free(tracker: &Tracker, address: CUdeviceptr, pooled: bool) {
    if address == 0 {
        return;
    }
    if pooled {
        return tracker.free_in_order(address);
    }
    // Leak memory that pending work may use. An error of `bind` means that the context is gone, and
    // the memory with it.
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
