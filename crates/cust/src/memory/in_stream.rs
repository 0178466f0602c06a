//! Safe asynchronous copies: buffers track pending work, so explicit synchronization is not needed.
//!
//! ```
//! use cust::prelude::*;
//!
//! let _context = cust::quick_init_on(Backend::Emulator)?;
//! let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
//! let from = LockedBuffer::from_slice(&[1u32, 2, 3])?;
//! let mut device = DeviceBuffer::<u32>::zeroed(3)?;
//! let mut back = LockedBuffer::<u32>::zeroed(3)?;
//! stream.upload(&from, &mut device)?;
//! stream.download(&device, &mut back)?;
//! // The host's access waits for the copy.
//! assert_eq!(back[..], [1, 2, 3]);
//! # Ok::<(), cust::error::Error>(())
//! ```

use cust_core::kernel::Access;

use super::copy::{FROM_DEVICE, ON_DEVICE, TO_DEVICE, copy_size};
use super::{
    DeviceBuffer, DeviceCopy, DeviceSlice, DeviceSliceMut, LockedBuffer, Zeroable, transfer,
};
use crate::error::CudaResult;
use crate::stream::Stream;
use crate::tracker::{Captured, Dependency};

impl<'a, T: DeviceCopy> From<&'a DeviceBuffer<T>> for DeviceSlice<'a, T> {
    fn from(buffer: &'a DeviceBuffer<T>) -> Self {
        buffer.as_slice()
    }
}

impl<'a, T: DeviceCopy> From<&'a mut DeviceBuffer<T>> for DeviceSliceMut<'a, T> {
    fn from(buffer: &'a mut DeviceBuffer<T>) -> Self {
        buffer.as_mut_slice()
    }
}

impl Stream {
    /// Enqueues a copy from pinned host memory to the device.
    ///
    /// The host does not wait. A later mutable access to `from` waits for the copy.
    ///
    /// # Errors
    ///
    /// Returns [`Error::SizeMismatch`] if the lengths differ, [`Error::WrongContext`] for memory of
    /// another context, and [`Error::Capturing`] while the stream is being captured.
    ///
    /// [`Error::SizeMismatch`]: crate::error::Error::SizeMismatch
    /// [`Error::WrongContext`]: crate::error::Error::WrongContext
    /// [`Error::Capturing`]: crate::error::Error::Capturing
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::prelude::*;
    ///
    /// let _context = cust::quick_init_on(Backend::Emulator)?;
    /// let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    /// let mut pinned = LockedBuffer::from_slice(&[1u32, 2, 3])?;
    /// let mut device = DeviceBuffer::<u32>::zeroed(3)?;
    /// stream.upload(&pinned, &mut device)?;
    /// pinned[0] = 9; // waits for the copy
    /// assert_eq!(device.as_host_vec()?, [1, 2, 3]);
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub fn upload<'a, T: DeviceCopy + 'a>(
        &self,
        from: &LockedBuffer<T>,
        to: impl Into<DeviceSliceMut<'a, T>>,
    ) -> CudaResult<()> {
        let (host, to) = (from.range(), to.into());
        let to = to.into_range();
        let bytes = copy_size::<T>(TO_DEVICE, host.len, to.len)?;
        let pinned = Dependency::new(host.tracker, Access::Read, host.address, bytes);
        let pointer = from.as_pointer().cast();
        // SAFETY: the lengths agree, and the pinned memory tracks the copy.
        unsafe {
            let refused = Captured::Refused;
            transfer::host_to_device_async(to, pointer, bytes, Some(pinned), self, refused)
        }
    }

    /// Enqueues a copy from the device to pinned host memory.
    ///
    /// The host does not wait. A later access to `to` waits for the copy.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Stream::upload`].
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::prelude::*;
    ///
    /// let _context = cust::quick_init_on(Backend::Emulator)?;
    /// let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    /// let device = DeviceBuffer::from_slice(&[1u32, 2, 3, 4])?;
    /// let mut pinned = LockedBuffer::<u32>::zeroed(2)?;
    /// stream.download(device.index(1..3)?, &mut pinned)?;
    /// assert_eq!(pinned[..], [2, 3]); // waits for the copy
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub fn download<'a, T: DeviceCopy + 'a>(
        &self,
        from: impl Into<DeviceSlice<'a, T>>,
        to: &mut LockedBuffer<T>,
    ) -> CudaResult<()> {
        let from = from.into().range();
        let host = to.range();
        let bytes = copy_size::<T>(FROM_DEVICE, from.len, host.len)?;
        let pinned = Dependency::new(host.tracker, Access::Write, host.address, bytes);
        let pointer = to.as_pointer().cast_mut().cast();
        // SAFETY: the lengths agree, and the pinned memory tracks the copy.
        unsafe {
            let refused = Captured::Refused;
            transfer::device_to_host_async(pointer, from, bytes, Some(pinned), self, refused)
        }
    }

    /// Enqueues a copy on the device.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Stream::upload`].
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::prelude::*;
    ///
    /// let _context = cust::quick_init_on(Backend::Emulator)?;
    /// let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    /// let from = DeviceBuffer::from_slice(&[1u32, 2, 3])?;
    /// let mut to = DeviceBuffer::<u32>::zeroed(3)?;
    /// stream.copy(&from, &mut to)?;
    /// assert_eq!(to.as_host_vec()?, [1, 2, 3]); // waits for the copy
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub fn copy<'a, 'b, T: DeviceCopy + 'a + 'b>(
        &self,
        from: impl Into<DeviceSlice<'a, T>>,
        to: impl Into<DeviceSliceMut<'b, T>>,
    ) -> CudaResult<()> {
        let (from, to) = (from.into().range(), to.into().into_range());
        let bytes = copy_size::<T>(ON_DEVICE, from.len, to.len)?;
        // SAFETY: the lengths agree.
        unsafe { transfer::device_to_device_async(to, from, bytes, self, Captured::Refused) }
    }

    /// Enqueues setting every byte to zero.
    ///
    /// # Errors
    ///
    /// Returns [`Error::WrongContext`](crate::error::Error::WrongContext) for memory of another
    /// context, and [`Error::Capturing`](crate::error::Error::Capturing) while the stream is being
    /// captured.
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::prelude::*;
    ///
    /// let _context = cust::quick_init_on(Backend::Emulator)?;
    /// let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    /// let mut buffer = DeviceBuffer::from_slice(&[1u32, 2, 3, 4])?;
    /// stream.set_zero(buffer.as_mut_slice().index_mut(1..3)?)?;
    /// assert_eq!(buffer.as_host_vec()?, [1, 0, 0, 4]);
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub fn set_zero<'a, T: DeviceCopy + Zeroable + 'a>(
        &self,
        to: impl Into<DeviceSliceMut<'a, T>>,
    ) -> CudaResult<()> {
        let to = to.into().into_range();
        // SAFETY: `T` is `Zeroable`.
        unsafe { transfer::set_8_async(to, 0, to.len * size_of::<T>(), self, Captured::Refused) }
    }
}
