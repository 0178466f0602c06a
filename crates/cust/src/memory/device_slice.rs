//! Parts of device buffers, borrowed.

use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};

use cust_raw::CUdeviceptr;

use super::copy::{FROM_DEVICE, copy_range, copy_size};
use super::{DeviceCopy, DevicePointer, transfer};
use crate::context::Context;
use crate::error::{CudaResult, Error};
use crate::stream::Stream;
use crate::tracker::{Captured, Tracker};

/// Consecutive elements on the device: what every typed memory boils down to.
pub(crate) struct RangeOnDevice<'a, T> {
    pub(crate) tracker: &'a Tracker,
    pub(crate) address: CUdeviceptr,
    pub(crate) len: usize,
    pub(crate) element: PhantomData<*mut T>,
}

impl<T> Clone for RangeOnDevice<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for RangeOnDevice<'_, T> {}

impl<'a, T> RangeOnDevice<'a, T> {
    pub(crate) fn new(tracker: &'a Tracker, address: CUdeviceptr, len: usize) -> Self {
        RangeOnDevice {
            tracker,
            address,
            len,
            element: PhantomData,
        }
    }

    pub(crate) fn context(&self) -> &'a Context {
        self.tracker.context()
    }

    /// The elements from `start` to `end`.
    fn part(self, start: usize, end: usize) -> Self {
        let address = self.address + (start * size_of::<T>()) as u64;
        RangeOnDevice::new(self.tracker, address, end - start)
    }

    fn resolve(self, range: impl RangeBounds<usize>) -> CudaResult<(usize, usize)> {
        let start = match range.start_bound() {
            Bound::Included(&start) => start,
            Bound::Excluded(&start) => start.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(&end) => end.saturating_add(1),
            Bound::Excluded(&end) => end,
            Bound::Unbounded => self.len,
        };
        if start > end || end > self.len {
            let len = self.len;
            return Err(Error::OutOfBounds { start, end, len });
        }
        Ok((start, end))
    }
}

/// A borrowed part of a device buffer.
///
/// ```
/// use cust::prelude::*;
///
/// let _context = cust::quick_init_on(Backend::Emulator)?;
/// let buffer = DeviceBuffer::from_slice(&[1u32, 2, 3, 4])?;
/// let slice = buffer.as_slice();
/// assert_eq!(slice.index(1..3)?.as_host_vec()?, [2, 3]);
/// # Ok::<(), cust::error::Error>(())
/// ```
pub struct DeviceSlice<'a, T> {
    range: RangeOnDevice<'a, T>,
}

impl<T> Clone for DeviceSlice<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for DeviceSlice<'_, T> {}

/// A mutably borrowed part of a device buffer.
pub struct DeviceSliceMut<'a, T> {
    range: RangeOnDevice<'a, T>,
}

// SAFETY: they stand for shared and exclusive references to elements.
unsafe impl<T: Sync> Send for DeviceSlice<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for DeviceSlice<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for DeviceSliceMut<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for DeviceSliceMut<'_, T> {}

impl<'a, T: DeviceCopy> DeviceSlice<'a, T> {
    /// The range has to stay borrowed for `'a`.
    pub(super) fn new(range: RangeOnDevice<'a, T>) -> Self {
        DeviceSlice { range }
    }

    pub(crate) fn range(&self) -> RangeOnDevice<'a, T> {
        self.range
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.range.len
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.range.len == 0
    }

    /// The address of the first element, as kernels take it.
    pub fn as_device_ptr(&self) -> DevicePointer<T> {
        DevicePointer::from_raw(self.range.address)
    }

    /// A part of it.
    pub fn index(&self, range: impl RangeBounds<usize>) -> CudaResult<DeviceSlice<'a, T>> {
        let (start, end) = self.range.resolve(range)?;
        Ok(DeviceSlice::new(self.range.part(start, end)))
    }

    /// The elements before and from `middle`.
    pub fn split_at(&self, middle: usize) -> CudaResult<(DeviceSlice<'a, T>, DeviceSlice<'a, T>)> {
        Ok((self.index(..middle)?, self.index(middle..)?))
    }

    /// Copies the elements to the host.
    pub fn copy_to(&self, destination: &mut [T]) -> CudaResult<()> {
        let bytes = copy_size::<T>(FROM_DEVICE, self.len(), destination.len())?;
        let destination = destination.as_mut_ptr().cast();
        let range = self.range;
        // SAFETY: the lengths agree.
        unsafe { transfer::device_to_host(destination, range, bytes) }
    }

    /// Copies the elements to the host.
    pub fn as_host_vec(&self) -> CudaResult<Vec<T>> {
        host_vec(self.range)
    }
}

impl<'a, T: DeviceCopy> DeviceSliceMut<'a, T> {
    /// The range has to stay mutably borrowed for `'a`.
    pub(super) fn new(range: RangeOnDevice<'a, T>) -> Self {
        DeviceSliceMut { range }
    }

    pub(crate) fn range_mut(&mut self) -> RangeOnDevice<'_, T> {
        self.range
    }

    pub(crate) fn into_range(self) -> RangeOnDevice<'a, T> {
        self.range
    }

    pub(crate) fn range(&self) -> RangeOnDevice<'_, T> {
        self.range
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.range.len
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.range.len == 0
    }

    /// The address of the first element, as kernels take it.
    pub fn as_device_ptr(&self) -> DevicePointer<T> {
        DevicePointer::from_raw(self.range.address)
    }

    /// The elements, to read.
    pub fn as_slice(&self) -> DeviceSlice<'_, T> {
        DeviceSlice::new(self.range)
    }

    /// A part of it.
    pub fn index_mut(
        &mut self,
        range: impl RangeBounds<usize>,
    ) -> CudaResult<DeviceSliceMut<'_, T>> {
        let (start, end) = self.range.resolve(range)?;
        Ok(DeviceSliceMut::new(self.range.part(start, end)))
    }

    /// The elements before and from `middle`.
    pub fn split_at_mut(
        self,
        middle: usize,
    ) -> CudaResult<(DeviceSliceMut<'a, T>, DeviceSliceMut<'a, T>)> {
        let (start, end) = self.range.resolve(..middle)?;
        let first = DeviceSliceMut::new(self.range.part(start, end));
        Ok((
            first,
            DeviceSliceMut::new(self.range.part(middle, self.range.len)),
        ))
    }

    /// Copies another part of a buffer into this one.
    pub fn copy_from_device(&mut self, source: DeviceSlice<'_, T>) -> CudaResult<()> {
        copy_range(source.range, self.range)
    }

    /// Copies the elements to the host.
    pub fn as_host_vec(&self) -> CudaResult<Vec<T>> {
        host_vec(self.range)
    }

    /// Sets every byte to `value`.
    ///
    /// # Safety
    ///
    /// The bytes have to make valid values of `T`.
    pub unsafe fn set_8(&mut self, value: u8) -> CudaResult<()> {
        let (range, bytes) = (self.range, self.range.len * size_of::<T>());
        // SAFETY: the range has this many bytes.
        unsafe { transfer::set_8(range, value, bytes) }
    }

    /// Sets every 32-bit word to `value`. The size in bytes has to be a multiple of four.
    ///
    /// # Safety
    ///
    /// The bytes have to make valid values of `T`.
    pub unsafe fn set_32(&mut self, value: u32) -> CudaResult<()> {
        let (range, bytes) = (self.range, self.range.len * size_of::<T>());
        if bytes == 0 {
            return Ok(());
        }
        if bytes % 4 != 0 || range.address % 4 != 0 {
            return Err(Error::SizeMismatch {
                doing: "setting 32-bit words",
                source_len: bytes / 4 * 4,
                destination_len: bytes,
            });
        }
        // SAFETY: the range has this many words, and is aligned.
        unsafe { transfer::set_32(range, value, bytes / 4) }
    }

    /// Puts setting every byte to `value` into a stream.
    ///
    /// # Safety
    ///
    /// The bytes have to make valid values of `T`, and the memory has to stay alive and unused
    /// until the stream is past it.
    pub unsafe fn set_8_async(&mut self, value: u8, stream: &Stream) -> CudaResult<()> {
        let (range, bytes) = (self.range, self.range.len * size_of::<T>());
        // SAFETY: the range has this many bytes.
        unsafe { transfer::set_8_async(range, value, bytes, stream, Captured::Recorded) }
    }

    /// Sets every byte to zero.
    pub fn set_zero(&mut self) -> CudaResult<()>
    where
        T: super::Zeroable,
    {
        // SAFETY: zeros are a valid `T`.
        unsafe { self.set_8(0) }
    }
}

/// Copies a range to the host.
pub(super) fn host_vec<T: DeviceCopy>(range: RangeOnDevice<'_, T>) -> CudaResult<Vec<T>> {
    let mut vec = Vec::with_capacity(range.len);
    let bytes = range.len * size_of::<T>();
    // SAFETY: the vector has room for this many, and the copy fills them.
    unsafe {
        let to = vec.as_mut_ptr() as *mut _;
        transfer::device_to_host(to, range, bytes)?;
        vec.set_len(range.len);
    }
    Ok(vec)
}

impl<T> std::fmt::Debug for DeviceSlice<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        debug(&self.range, "DeviceSlice", f)
    }
}

impl<T> std::fmt::Debug for DeviceSliceMut<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        debug(&self.range, "DeviceSliceMut", f)
    }
}

/// The address and the length: the elements are not on the host.
pub(super) fn debug<T>(
    range: &RangeOnDevice<'_, T>,
    name: &str,
    f: &mut std::fmt::Formatter<'_>,
) -> std::fmt::Result {
    f.debug_struct(name)
        .field("address", &format_args!("{:#x}", range.address))
        .field("len", &range.len)
        .finish()
}
