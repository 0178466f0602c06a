//! Single values on the device.

use super::device_slice::RangeOnDevice;
use super::{DeviceBuffer, DeviceCopy, DevicePointer, DeviceSlice, DeviceSliceMut, Zeroable};
use crate::error::CudaResult;
use crate::stream::Stream;

/// One `T` in the device's memory.
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
    /// Allocates memory and copies the value into it.
    pub fn new(value: &T) -> CudaResult<Self> {
        let buffer = DeviceBuffer::from_slice(std::slice::from_ref(value))?;
        Ok(DeviceBox { buffer })
    }

    /// Allocates memory that belongs to no pool, and copies the value into it: what
    /// [`Stream::write_value`] needs. Freeing it waits for the work that uses it.
    pub fn outside_pools(value: &T) -> CudaResult<Self> {
        // SAFETY: the memory is the buffer's alone, which frees it, and the value is copied there
        // before anybody can read it.
        let buffer = unsafe { DeviceBuffer::from_raw_parts(super::cuda_malloc(1)?, 1)? };
        let mut this = DeviceBox { buffer };
        super::CopyDestination::copy_from(&mut this, value)?;
        Ok(this)
    }

    /// Allocates memory, and puts the copy of the value into it into a stream.
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

    /// Allocates memory without setting it.
    ///
    /// # Safety
    ///
    /// The value must be written before it is read.
    pub unsafe fn uninitialized() -> CudaResult<Self> {
        // SAFETY: as the caller promises.
        let buffer = unsafe { DeviceBuffer::uninitialized(1)? };
        Ok(DeviceBox { buffer })
    }

    /// Allocates memory and sets it to zero.
    pub fn zeroed() -> CudaResult<Self>
    where
        T: Zeroable,
    {
        let buffer = DeviceBuffer::zeroed(1)?;
        Ok(DeviceBox { buffer })
    }

    /// The value's address, as kernels take it.
    pub fn as_device_ptr(&self) -> DevicePointer<T> {
        self.buffer.as_device_ptr()
    }

    /// Copies the value to the host.
    pub fn as_host_value(&self) -> CudaResult<T> {
        let mut value = std::mem::MaybeUninit::<T>::uninit();
        let range = self.range();
        // SAFETY: the copy fills the value.
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
