//! Single values in device memory.

use super::device_slice::RangeOnDevice;
use super::{DeviceBuffer, DeviceCopy, DevicePointer, DeviceSlice, DeviceSliceMut, Zeroable};
use crate::error::CudaResult;
use crate::stream::Stream;

/// A single value in device memory.
///
/// # Examples
///
/// ```
/// use cust::prelude::*;
///
/// let _context = cust::quick_init_on(Backend::Emulator)?;
/// let mut number = DeviceBox::new(&5u64)?;
/// assert_eq!(number.as_host_value()?, 5);
/// number.copy_from(&6)?;
/// assert_eq!(number.as_host_value()?, 6);
/// # Ok::<(), cust::error::Error>(())
/// ```
#[derive(Debug)]
pub struct DeviceBox<T> {
    buffer: DeviceBuffer<T>,
}

impl<T: DeviceCopy> DeviceBox<T> {
    /// Allocates device memory and copies the value into it.
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
    /// let value = DeviceBox::new(&1.5f32)?;
    /// assert_eq!(value.as_host_value()?, 1.5);
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub fn new(value: &T) -> CudaResult<Self> {
        let buffer = DeviceBuffer::from_slice(std::slice::from_ref(value))?;
        Ok(DeviceBox { buffer })
    }

    /// Allocates device memory that does not belong to a memory pool, and copies the value into it.
    ///
    /// [`Stream::write_value`] requires such memory. Dropping the box waits for the pending work
    /// that uses it.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`DeviceBuffer::uninitialized`].
    pub fn outside_pools(value: &T) -> CudaResult<Self> {
        // SAFETY: the buffer is the only owner of the memory, and the value is copied into it
        // before it can be read.
        let buffer = unsafe { DeviceBuffer::from_raw_parts(super::cuda_malloc(1)?, 1)? };
        let mut this = DeviceBox { buffer };
        super::CopyDestination::copy_from(&mut this, value)?;
        Ok(this)
    }

    /// Allocates device memory, and enqueues a copy of the value to it into a stream.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`DeviceBuffer::from_slice_async`].
    ///
    /// # Safety
    ///
    /// As for [`DeviceBuffer::from_slice_async`].
    pub unsafe fn new_async(value: &T, stream: &Stream) -> CudaResult<Self> {
        let value = std::slice::from_ref(value);
        // SAFETY: as the caller promises.
        let buffer = unsafe { DeviceBuffer::from_slice_async(value, stream)? };
        Ok(DeviceBox { buffer })
    }

    /// Allocates uninitialized device memory.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`DeviceBuffer::uninitialized`].
    ///
    /// # Safety
    ///
    /// The value must be written before it is read.
    pub unsafe fn uninitialized() -> CudaResult<Self> {
        // SAFETY: as the caller promises.
        let buffer = unsafe { DeviceBuffer::uninitialized(1)? };
        Ok(DeviceBox { buffer })
    }

    /// Allocates zeroed device memory.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`DeviceBuffer::zeroed`].
    pub fn zeroed() -> CudaResult<Self>
    where
        T: Zeroable,
    {
        let buffer = DeviceBuffer::zeroed(1)?;
        Ok(DeviceBox { buffer })
    }

    /// Returns the value's address, for kernel arguments.
    pub fn as_device_ptr(&self) -> DevicePointer<T> {
        self.buffer.as_device_ptr()
    }

    /// Copies the value to the host, after all pending work that writes it.
    ///
    /// # Errors
    ///
    /// Returns the errors of the kernels that the call waits for, and the driver's error if the
    /// copy fails.
    pub fn as_host_value(&self) -> CudaResult<T> {
        let mut value = std::mem::MaybeUninit::<T>::uninit();
        let range = self.range();
        // SAFETY: the copy initializes the value.
        unsafe {
            super::transfer::device_to_host(value.as_mut_ptr().cast(), range, size_of::<T>())?;
            Ok(value.assume_init())
        }
    }

    pub(super) fn as_slice(&self) -> DeviceSlice<'_, T> {
        self.buffer.as_slice()
    }

    pub(super) fn as_mut_slice(&mut self) -> DeviceSliceMut<'_, T> {
        self.buffer.as_mut_slice()
    }

    pub(crate) fn range_mut(&mut self) -> RangeOnDevice<'_, T> {
        self.buffer.range()
    }

    pub(crate) fn range(&self) -> RangeOnDevice<'_, T> {
        self.buffer.range()
    }
}
