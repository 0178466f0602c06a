//! Traits for copies between typed memory, and their implementations for buffers and slices.

use super::device_slice::RangeOnDevice;
use super::{DeviceBox, DeviceBuffer, DeviceCopy, DeviceSliceMut, transfer};
use crate::error::{CudaResult, Error};
use crate::stream::Stream;
use crate::tracker::Captured;

/// Synchronous copies between device memory and an `O`.
///
/// A copy runs after all pending work that uses the memory, and waits until it is complete.
///
/// # Examples
///
/// ```
/// use cust::prelude::*;
///
/// let _context = cust::quick_init_on(Backend::Emulator)?;
/// let mut device = DeviceBuffer::from_slice(&[1u32, 2, 3])?;
/// device.copy_from(&[4, 5, 6])?;
/// let mut host = [0; 3];
/// device.copy_to(&mut host)?;
/// assert_eq!(host, [4, 5, 6]);
/// # Ok::<(), cust::error::Error>(())
/// ```
pub trait CopyDestination<O: ?Sized> {
    /// Copies `source` into this memory, and waits.
    ///
    /// # Errors
    ///
    /// Returns [`Error::SizeMismatch`] if the lengths differ, and the driver's error if the copy
    /// fails.
    fn copy_from(&mut self, source: &O) -> CudaResult<()>;
    /// Copies this memory into `destination`, and waits.
    ///
    /// # Errors
    ///
    /// Returns [`Error::SizeMismatch`] if the lengths differ, the driver's error if the copy fails,
    /// and the panic if a kernel that the copy waits for panicked.
    fn copy_to(&self, destination: &mut O) -> CudaResult<()>;
}

/// Asynchronous copies between device memory and an `O`, in a stream.
///
/// A copy overlaps with other work only if its host memory is pinned: see
/// [`LockedBuffer`](super::LockedBuffer).
///
/// # Examples
///
/// ```
/// use cust::prelude::*;
///
/// let _context = cust::quick_init_on(Backend::Emulator)?;
/// let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
/// let host = [1u32, 2, 3];
/// let mut device = DeviceBuffer::<u32>::zeroed(3)?;
/// // SAFETY: the slice stays alive and unchanged until the copy is complete.
/// unsafe { device.async_copy_from(&host, &stream)? };
/// stream.synchronize()?;
/// assert_eq!(device.as_host_vec()?, host);
/// # Ok::<(), cust::error::Error>(())
/// ```
pub trait AsyncCopyDestination<O: ?Sized> {
    /// Enqueues a copy of `source` into this memory.
    ///
    /// # Errors
    ///
    /// Returns [`Error::SizeMismatch`] if the lengths differ, and [`Error::WrongContext`] if the
    /// memory and the stream belong to different contexts.
    ///
    /// # Safety
    ///
    /// Source and destination must stay alive and unchanged until the copy is complete.
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::memory::AsyncCopyDestination;
    /// use cust::prelude::*;
    ///
    /// let _context = cust::quick_init_on(Backend::Emulator)?;
    /// let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    /// let source = LockedBuffer::from_slice(&[1u32, 2])?;
    /// let mut buffer = DeviceBuffer::<u32>::zeroed(2)?;
    /// // SAFETY: neither buffer is used until the stream is synchronized.
    /// unsafe { buffer.async_copy_from(&source[..], &stream)? };
    /// stream.synchronize()?;
    /// assert_eq!(buffer.as_host_vec()?, [1, 2]);
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    unsafe fn async_copy_from(&mut self, source: &O, stream: &Stream) -> CudaResult<()>;

    /// Enqueues a copy of this memory into `destination`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::SizeMismatch`] if the lengths differ, and [`Error::WrongContext`] if the
    /// memory and the stream belong to different contexts.
    ///
    /// # Safety
    ///
    /// Until the copy is complete, source and destination must stay alive, the source must not be
    /// changed, and the destination must not be accessed.
    unsafe fn async_copy_to(&self, destination: &mut O, stream: &Stream) -> CudaResult<()>;
}

/// Returns the number of bytes to copy, or an error if the lengths differ.
pub(super) fn copy_size<T>(
    doing: &'static str,
    source_len: usize,
    destination_len: usize,
) -> CudaResult<usize> {
    if source_len != destination_len {
        return Err(Error::SizeMismatch {
            doing,
            source_len,
            destination_len,
        });
    }
    Ok(source_len * size_of::<T>())
}

pub(super) const TO_DEVICE: &str = "copying to the device";
pub(super) const FROM_DEVICE: &str = "copying from the device";
pub(super) const ON_DEVICE: &str = "copying on the device";

/// Implements the copies for a type of device memory.
macro_rules! impl_copies {
    ([$($generics:tt)*] $type:ty) => {
        impl<$($generics)* T: DeviceCopy, I: ?Sized + AsRef<[T]> + AsMut<[T]>> CopyDestination<I>
            for $type
        {
            fn copy_from(&mut self, source: &I) -> CudaResult<()> {
                let (source, own) = (source.as_ref(), self.range());
                let bytes = copy_size::<T>(TO_DEVICE, source.len(), own.len)?;
                // SAFETY: the lengths agree.
                unsafe {
                    let source = source.as_ptr().cast();
                    transfer::host_to_device(own, source, bytes)
                }
            }

            fn copy_to(&self, destination: &mut I) -> CudaResult<()> {
                let (destination, own) = (destination.as_mut(), self.range());
                let bytes = copy_size::<T>(FROM_DEVICE, own.len, destination.len())?;
                // SAFETY: the lengths agree, and the memory holds valid values of `T`.
                unsafe {
                    let destination = destination.as_mut_ptr().cast();
                    transfer::device_to_host(destination, own, bytes)
                }
            }
        }

        impl<$($generics)* T: DeviceCopy, I: ?Sized + AsRef<[T]> + AsMut<[T]>>
            AsyncCopyDestination<I> for $type
        {
            unsafe fn async_copy_from(&mut self, source: &I, stream: &Stream) -> CudaResult<()> {
                let (source, own) = (source.as_ref(), self.range());
                let bytes = copy_size::<T>(TO_DEVICE, source.len(), own.len)?;
                // SAFETY: the lengths agree; the rest as the caller promises.
                unsafe {
                    let source = source.as_ptr().cast();
                    transfer::host_to_device_async(
                        own, source, bytes, None, stream, Captured::Recorded,
                    )
                }
            }

            unsafe fn async_copy_to(&self, destination: &mut I, stream: &Stream) -> CudaResult<()> {
                let (destination, own) = (destination.as_mut(), self.range());
                let bytes = copy_size::<T>(FROM_DEVICE, own.len, destination.len())?;
                // SAFETY: the lengths agree; the rest as the caller promises.
                unsafe {
                    let to = destination.as_mut_ptr().cast();
                    transfer::device_to_host_async(
                        to, own, bytes, None, stream, Captured::Recorded,
                    )
                }
            }
        }

        impl_copies!(@device [$($generics)*] $type, [] DeviceBuffer<T>);
        impl_copies!(@device [$($generics)*] $type, ['s,] DeviceSliceMut<'s, T>);
    };

    (@device [$($generics:tt)*] $type:ty, [$($other_generics:tt)*] $other:ty) => {
        impl<$($generics)* $($other_generics)* T: DeviceCopy> CopyDestination<$other> for $type {
            fn copy_from(&mut self, source: &$other) -> CudaResult<()> {
                copy_range(source.range(), self.range())
            }

            fn copy_to(&self, destination: &mut $other) -> CudaResult<()> {
                copy_range(self.range(), destination.range())
            }
        }

        impl<$($generics)* $($other_generics)* T: DeviceCopy> AsyncCopyDestination<$other>
            for $type
        {
            unsafe fn async_copy_from(
                &mut self,
                source: &$other,
                stream: &Stream,
            ) -> CudaResult<()> {
                // SAFETY: as the caller promises.
                unsafe { copy_range_async(source.range(), self.range(), stream) }
            }

            unsafe fn async_copy_to(
                &self,
                destination: &mut $other,
                stream: &Stream,
            ) -> CudaResult<()> {
                // SAFETY: as the caller promises.
                unsafe { copy_range_async(self.range(), destination.range(), stream) }
            }
        }
    };
}

impl_copies!([] DeviceBuffer<T>);
impl_copies!(['a,] DeviceSliceMut<'a, T>);

/// Copies a range of device memory to another, and waits.
pub(super) fn copy_range<T: DeviceCopy>(
    source: RangeOnDevice<'_, T>,
    destination: RangeOnDevice<'_, T>,
) -> CudaResult<()> {
    let bytes = copy_size::<T>(ON_DEVICE, source.len, destination.len)?;
    // SAFETY: the lengths agree.
    unsafe { transfer::device_to_device(destination, source, bytes) }
}

/// Enqueues a copy of a range of device memory to another into a stream.
///
/// # Safety
///
/// As for [`AsyncCopyDestination`].
unsafe fn copy_range_async<T: DeviceCopy>(
    source: RangeOnDevice<'_, T>,
    destination: RangeOnDevice<'_, T>,
    stream: &Stream,
) -> CudaResult<()> {
    let bytes = copy_size::<T>(ON_DEVICE, source.len, destination.len)?;
    // SAFETY: the lengths agree.
    unsafe {
        transfer::device_to_device_async(destination, source, bytes, stream, Captured::Recorded)
    }
}

impl<T: DeviceCopy> CopyDestination<T> for DeviceBox<T> {
    fn copy_from(&mut self, source: &T) -> CudaResult<()> {
        self.as_mut_slice().copy_from(std::slice::from_ref(source))
    }

    fn copy_to(&self, destination: &mut T) -> CudaResult<()> {
        self.as_slice().copy_to(std::slice::from_mut(destination))
    }
}

impl<T: DeviceCopy> CopyDestination<DeviceBox<T>> for DeviceBox<T> {
    fn copy_from(&mut self, source: &DeviceBox<T>) -> CudaResult<()> {
        copy_range(source.range(), self.range())
    }

    fn copy_to(&self, destination: &mut DeviceBox<T>) -> CudaResult<()> {
        copy_range(self.range(), destination.range())
    }
}

impl<T: DeviceCopy> AsyncCopyDestination<T> for DeviceBox<T> {
    unsafe fn async_copy_from(&mut self, source: &T, stream: &Stream) -> CudaResult<()> {
        let source = std::slice::from_ref(source);
        // SAFETY: as the caller promises.
        unsafe { self.as_mut_slice().async_copy_from(source, stream) }
    }

    unsafe fn async_copy_to(&self, destination: &mut T, stream: &Stream) -> CudaResult<()> {
        let (own, to) = (self.range(), (destination as *mut T).cast());
        // SAFETY: source and destination are one `T`; the caller guarantees the rest.
        unsafe {
            transfer::device_to_host_async(
                to,
                own,
                size_of::<T>(),
                None,
                stream,
                Captured::Recorded,
            )
        }
    }
}
