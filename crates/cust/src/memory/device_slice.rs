//! Borrowed parts of device buffers.

use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};

use cust_raw::CUdeviceptr;

use super::copy::{FROM_DEVICE, copy_range, copy_size};
use super::{DeviceCopy, DevicePointer, empty_address, transfer};
use crate::context::Context;
use crate::error::{CudaResult, Error};
use crate::stream::Stream;
use crate::tracker::{Captured, Tracker};
use crate::vector::Vector;

/// A contiguous range of elements in device memory, to which all typed memory converts.
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

    /// Returns the address for kernels: aligned and not null even if the range is empty.
    pub(crate) fn kernel_address(&self) -> CUdeviceptr {
        match self.address {
            0 => empty_address(align_of::<T>()),
            address => address,
        }
    }

    /// Returns the elements from `start` to `end`.
    fn part(self, start: usize, end: usize) -> Self {
        let address = self.address + (start * size_of::<T>()) as u64;
        RangeOnDevice::new(self.tracker, address, end - start)
    }

    /// Views the scalars as vectors.
    pub(super) fn vectors<V: Vector<Scalar = T>>(self) -> CudaResult<RangeOnDevice<'a, V>> {
        let (lanes, align) = (V::LANES, align_of::<V>());
        let aligned = self.address.is_multiple_of(align as u64) || self.len == 0;
        if !aligned || !self.len.is_multiple_of(lanes) {
            return Err(Error::NotVectors {
                type_name: std::any::type_name::<V>(),
                len: self.len,
                address: self.address,
                lanes,
                align,
            });
        }
        let address = match self.len {
            // The address of an empty range must be aligned, too.
            0 => self.address.next_multiple_of(align as u64),
            _ => self.address,
        };
        Ok(RangeOnDevice::new(self.tracker, address, self.len / lanes))
    }

    /// Views the vectors as scalars.
    pub(super) fn scalars(self) -> RangeOnDevice<'a, T::Scalar>
    where
        T: Vector,
    {
        RangeOnDevice::new(self.tracker, self.address, self.len * T::LANES)
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

/// A borrowed part of a device buffer, like `&[T]`.
///
/// # Examples
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

/// A mutably borrowed part of a device buffer, like `&mut [T]`.
pub struct DeviceSliceMut<'a, T> {
    range: RangeOnDevice<'a, T>,
}

// SAFETY: these types represent shared and exclusive references to elements.
unsafe impl<T: Sync> Send for DeviceSlice<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for DeviceSlice<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for DeviceSliceMut<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for DeviceSliceMut<'_, T> {}

impl<'a, T: DeviceCopy> DeviceSlice<'a, T> {
    /// Creates a slice. The range must stay borrowed for `'a`.
    pub(super) fn new(range: RangeOnDevice<'a, T>) -> Self {
        DeviceSlice { range }
    }

    pub(crate) fn range(&self) -> RangeOnDevice<'a, T> {
        self.range
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.range.len
    }

    /// Returns whether the slice has no elements.
    pub fn is_empty(&self) -> bool {
        self.range.len == 0
    }

    /// Returns the address of the first element, for kernel arguments. It is aligned and not null
    /// even if the slice is empty.
    pub fn as_device_ptr(&self) -> DevicePointer<T> {
        DevicePointer::from_raw(self.range.kernel_address())
    }

    /// Returns a range of the elements.
    ///
    /// # Errors
    ///
    /// Returns [`Error::OutOfBounds`] if the range is not inside the slice.
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::prelude::*;
    ///
    /// let _context = cust::quick_init_on(Backend::Emulator)?;
    /// let buffer = DeviceBuffer::from_slice(&[1u32, 2, 3, 4])?;
    /// assert_eq!(buffer.as_slice().index(1..3)?.as_host_vec()?, [2, 3]);
    /// assert!(buffer.as_slice().index(3..5).is_err());
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub fn index(&self, range: impl RangeBounds<usize>) -> CudaResult<DeviceSlice<'a, T>> {
        let (start, end) = self.range.resolve(range)?;
        Ok(DeviceSlice::new(self.range.part(start, end)))
    }

    /// Splits the slice into two at the index `middle`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::OutOfBounds`] if `middle > self.len()`.
    pub fn split_at(&self, middle: usize) -> CudaResult<(DeviceSlice<'a, T>, DeviceSlice<'a, T>)> {
        Ok((self.index(..middle)?, self.index(middle..)?))
    }

    /// Views the elements as vectors, such as [`F32x4`](crate::vector::F32x4) for `f32`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::NotVectors`] if the number of elements is not a multiple of the vector's,
    /// or the address is not a multiple of the vector's alignment. The elements of a
    /// [`DeviceBuffer`](super::DeviceBuffer) are aligned for every vector type.
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::prelude::*;
    /// use cust::vector::F32x4;
    ///
    /// let _context = cust::quick_init_on(Backend::Emulator)?;
    /// let buffer = DeviceBuffer::from_slice(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])?;
    /// let vectors = buffer.as_slice().as_vectors::<F32x4>()?;
    /// assert_eq!(vectors.index(1..)?.as_host_vec()?, [F32x4::new(5.0, 6.0, 7.0, 8.0)]);
    ///
    /// // The address of the second element is not a multiple of 16.
    /// assert!(buffer.index(1..5)?.as_vectors::<F32x4>().is_err());
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub fn as_vectors<V: Vector<Scalar = T>>(&self) -> CudaResult<DeviceSlice<'a, V>> {
        Ok(DeviceSlice::new(self.range.vectors()?))
    }

    /// Views the elements of all vectors as one slice.
    pub fn as_scalars(&self) -> DeviceSlice<'a, T::Scalar>
    where
        T: Vector,
    {
        DeviceSlice::new(self.range.scalars())
    }

    /// Copies the elements to `destination`, after all pending work that writes them, and waits.
    ///
    /// # Errors
    ///
    /// Returns [`Error::SizeMismatch`] if the lengths differ.
    pub fn copy_to(&self, destination: &mut [T]) -> CudaResult<()> {
        let bytes = copy_size::<T>(FROM_DEVICE, self.len(), destination.len())?;
        let destination = destination.as_mut_ptr().cast();
        let range = self.range;
        // SAFETY: the lengths agree.
        unsafe { transfer::device_to_host(destination, range, bytes) }
    }

    /// Copies the elements to a `Vec` on the host, after all pending work that writes them.
    ///
    /// # Errors
    ///
    /// Returns the errors of the kernels that the call waits for, and the driver's error if the
    /// copy fails.
    pub fn as_host_vec(&self) -> CudaResult<Vec<T>> {
        host_vec(self.range)
    }
}

impl<'a, T: DeviceCopy> DeviceSliceMut<'a, T> {
    /// Creates a slice. The range must stay mutably borrowed for `'a`.
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

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.range.len
    }

    /// Returns whether the slice has no elements.
    pub fn is_empty(&self) -> bool {
        self.range.len == 0
    }

    /// Returns the address of the first element, for kernel arguments. It is aligned and not null
    /// even if the slice is empty.
    pub fn as_device_ptr(&self) -> DevicePointer<T> {
        DevicePointer::from_raw(self.range.kernel_address())
    }

    /// Borrows the elements as a shared slice.
    pub fn as_slice(&self) -> DeviceSlice<'_, T> {
        DeviceSlice::new(self.range)
    }

    /// Borrows a range of the elements as a mutable slice.
    ///
    /// # Errors
    ///
    /// Returns [`Error::OutOfBounds`] if the range is not inside the slice.
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::prelude::*;
    ///
    /// let _context = cust::quick_init_on(Backend::Emulator)?;
    /// let mut buffer = DeviceBuffer::from_slice(&[1u32, 2, 3, 4])?;
    /// buffer.as_mut_slice().index_mut(1..3)?.copy_from(&[7, 8])?;
    /// assert_eq!(buffer.as_host_vec()?, [1, 7, 8, 4]);
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub fn index_mut(
        &mut self,
        range: impl RangeBounds<usize>,
    ) -> CudaResult<DeviceSliceMut<'_, T>> {
        let (start, end) = self.range.resolve(range)?;
        Ok(DeviceSliceMut::new(self.range.part(start, end)))
    }

    /// Splits the slice into two at the index `middle`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::OutOfBounds`] if `middle > self.len()`.
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::prelude::*;
    ///
    /// let _context = cust::quick_init_on(Backend::Emulator)?;
    /// let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    /// let mut buffer = DeviceBuffer::from_slice(&[1u32, 2, 3, 4])?;
    /// let (first, second) = buffer.as_mut_slice().split_at_mut(2)?;
    /// stream.set_zero(first)?;
    /// stream.set_zero(second)?; // borrowed at the same time as `first`
    /// assert_eq!(buffer.as_host_vec()?, [0; 4]);
    /// # Ok::<(), cust::error::Error>(())
    /// ```
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

    /// Views the elements as vectors: see [`DeviceSlice::as_vectors`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`DeviceSlice::as_vectors`].
    pub fn as_vectors_mut<V: Vector<Scalar = T>>(&mut self) -> CudaResult<DeviceSliceMut<'_, V>> {
        Ok(DeviceSliceMut::new(self.range.vectors()?))
    }

    /// Views the elements of all vectors as one slice.
    pub fn as_scalars_mut(&mut self) -> DeviceSliceMut<'_, T::Scalar>
    where
        T: Vector,
    {
        DeviceSliceMut::new(self.range.scalars())
    }

    /// Copies the elements of another device slice into this one, and waits.
    ///
    /// # Errors
    ///
    /// Returns [`Error::SizeMismatch`] if the lengths differ, and [`Error::WrongContext`] if the
    /// slices belong to different contexts.
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::prelude::*;
    ///
    /// let _context = cust::quick_init_on(Backend::Emulator)?;
    /// let from = DeviceBuffer::from_slice(&[1u32, 2, 3])?;
    /// let mut to = DeviceBuffer::<u32>::zeroed(4)?;
    /// to.as_mut_slice().index_mut(1..)?.copy_from_device(from.as_slice())?;
    /// assert_eq!(to.as_host_vec()?, [0, 1, 2, 3]);
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub fn copy_from_device(&mut self, source: DeviceSlice<'_, T>) -> CudaResult<()> {
        copy_range(source.range, self.range)
    }

    /// Copies the elements to a `Vec` on the host, after all pending work that writes them.
    ///
    /// # Errors
    ///
    /// Returns the errors of the kernels that the call waits for, and the driver's error if the
    /// copy fails.
    pub fn as_host_vec(&self) -> CudaResult<Vec<T>> {
        host_vec(self.range)
    }

    /// Sets every byte to `value`, and waits.
    ///
    /// # Errors
    ///
    /// Returns the errors of the kernels that the call waits for, and the driver's error if the
    /// fill fails.
    ///
    /// # Safety
    ///
    /// The bytes must form valid values of `T`.
    pub unsafe fn set_8(&mut self, value: u8) -> CudaResult<()> {
        let (range, bytes) = (self.range, self.range.len * size_of::<T>());
        // SAFETY: the range has this number of bytes.
        unsafe { transfer::set_8(range, value, bytes) }
    }

    /// Sets every 32-bit word to `value`, and waits.
    ///
    /// # Errors
    ///
    /// Returns [`Error::SizeMismatch`] if the size in bytes or the address is not a multiple of 4.
    ///
    /// # Safety
    ///
    /// The bytes must form valid values of `T`.
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::prelude::*;
    ///
    /// let _context = cust::quick_init_on(Backend::Emulator)?;
    /// let mut buffer = DeviceBuffer::<u32>::zeroed(2)?;
    /// // SAFETY: every bit pattern is a valid `u32`.
    /// unsafe { buffer.as_mut_slice().set_32(7)? };
    /// assert_eq!(buffer.as_host_vec()?, [7, 7]);
    /// # Ok::<(), cust::error::Error>(())
    /// ```
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
        // SAFETY: the range has this number of words, and is aligned.
        unsafe { transfer::set_32(range, value, bytes / 4) }
    }

    /// Enqueues setting every byte to `value` into a stream.
    ///
    /// # Errors
    ///
    /// Returns [`Error::WrongContext`] if the stream belongs to another context, and the driver's
    /// error if it cannot enqueue the fill.
    ///
    /// # Safety
    ///
    /// The bytes must form valid values of `T`. The memory must stay alive and unused until the
    /// operation is complete.
    pub unsafe fn set_8_async(&mut self, value: u8, stream: &Stream) -> CudaResult<()> {
        let (range, bytes) = (self.range, self.range.len * size_of::<T>());
        // SAFETY: the range has this number of bytes.
        unsafe { transfer::set_8_async(range, value, bytes, stream, Captured::Recorded) }
    }

    /// Sets every byte to zero, and waits.
    ///
    /// # Errors
    ///
    /// Returns the errors of the kernels that the call waits for, and the driver's error if the
    /// fill fails.
    pub fn set_zero(&mut self) -> CudaResult<()>
    where
        T: super::Zeroable,
    {
        // SAFETY: `T` is `Zeroable`.
        unsafe { self.set_8(0) }
    }
}

/// Copies a range to a `Vec` on the host.
pub(super) fn host_vec<T: DeviceCopy>(range: RangeOnDevice<'_, T>) -> CudaResult<Vec<T>> {
    let mut vec = Vec::with_capacity(range.len);
    let bytes = range.len * size_of::<T>();
    // SAFETY: the vector has capacity for the elements, and the copy initializes them.
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

/// Formats the address and the length, not the elements, which are in device memory.
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
