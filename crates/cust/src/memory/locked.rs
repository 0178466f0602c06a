//! Pinned memory of the host.

use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use cust_core::kernel::Access;

use super::{DeviceCopy, RangeOnDevice, Zeroable, byte_size, elements_text};
use crate::context::Context;
use crate::error::CudaResult;
use crate::tracker::Tracker;

/// A buffer in pinned memory of the host. Copies between it and the device run at full speed, and
/// beside other work. It is a slice in every other respect; an access waits for the copies in
/// streams that use it.
///
/// ```
/// use cust::prelude::*;
///
/// let _context = cust::quick_init_on(Backend::Emulator)?;
/// let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
/// let mut pinned = LockedBuffer::new(&7u32, 100)?;
/// let device = DeviceBuffer::from_slice(&[8u32; 100])?;
/// stream.download(&device, &mut pinned)?;
/// assert_eq!(pinned[99], 8); // waits for the copy
/// # Ok::<(), cust::error::Error>(())
/// ```
pub struct LockedBuffer<T> {
    tracker: Tracker,
    pointer: NonNull<T>,
    len: usize,
}

// SAFETY: it owns its elements.
unsafe impl<T: Send> Send for LockedBuffer<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for LockedBuffer<T> {}

impl<T: DeviceCopy> LockedBuffer<T> {
    /// Allocates `len` elements and sets each to `value`.
    pub fn new(value: &T, len: usize) -> CudaResult<Self> {
        // SAFETY: all elements are set at once.
        let buffer = unsafe { LockedBuffer::<T>::uninitialized(len)? };
        for index in 0..len {
            // SAFETY: `index` is inside the allocation.
            unsafe { buffer.pointer.add(index).write(*value) };
        }
        Ok(buffer)
    }

    /// Allocates as many elements as `source` has and copies them.
    pub fn from_slice(source: &[T]) -> CudaResult<Self> {
        // SAFETY: all elements are set at once, from a slice of the same length.
        unsafe {
            let buffer = LockedBuffer::<T>::uninitialized(source.len())?;
            let to = buffer.pointer.as_ptr();
            to.copy_from_nonoverlapping(source.as_ptr(), source.len());
            Ok(buffer)
        }
    }

    /// Allocates `len` elements of zeros.
    pub fn zeroed(len: usize) -> CudaResult<Self>
    where
        T: Zeroable,
    {
        LockedBuffer::new(&T::zeroed(), len)
    }

    /// Allocates `len` elements without setting them.
    ///
    /// # Safety
    ///
    /// The elements must be written before they are read.
    pub unsafe fn uninitialized(len: usize) -> CudaResult<Self> {
        let context = Context::current("allocating pinned memory")?;
        let bytes = byte_size::<T>(len)?;
        let mut pointer = NonNull::dangling();
        if bytes > 0 {
            let api = context.bind()?;
            let doing = || {
                let elements = elements_text::<T>(len);
                format!("allocating a pinned buffer of {elements} ({bytes} bytes)")
            };
            let mut raw = std::ptr::null_mut();
            // SAFETY: the pointer is valid for the call. The driver aligns to pages.
            let result = unsafe { api.driver.cuMemHostAlloc(&mut raw, bytes, 0) };
            api.check(result, doing)?;
            let Some(allocated) = NonNull::new(raw.cast()) else {
                let out_of_memory = cust_raw::CUresult::CUDA_ERROR_OUT_OF_MEMORY;
                return Err(api.check(out_of_memory, doing).unwrap_err());
            };
            pointer = allocated;
        }
        Ok(LockedBuffer {
            tracker: Tracker::new(context),
            pointer,
            len,
        })
    }

    /// The elements.
    pub fn as_slice(&self) -> &[T] {
        self
    }

    /// The elements.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        self
    }
}

impl<T> LockedBuffer<T> {
    pub(crate) fn range(&self) -> RangeOnDevice<'_, T> {
        let address = self.pointer.as_ptr().expose_provenance() as u64;
        RangeOnDevice::new(&self.tracker, address, self.len)
    }

    /// The address, without waiting for what uses the memory.
    pub(crate) fn as_pointer(&self) -> *const T {
        self.pointer.as_ptr()
    }
}

impl<T> Deref for LockedBuffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.tracker.settle_for_host(Access::Read);
        // SAFETY: the allocation holds `len` elements, and nothing writes to them: that would need
        // the buffer mutably.
        unsafe { std::slice::from_raw_parts(self.pointer.as_ptr(), self.len) }
    }
}

impl<T> DerefMut for LockedBuffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.tracker.settle_for_host(Access::Write);
        // SAFETY: as above, and nothing reads them either.
        unsafe { std::slice::from_raw_parts_mut(self.pointer.as_ptr(), self.len) }
    }
}

impl<T> AsRef<[T]> for LockedBuffer<T> {
    fn as_ref(&self) -> &[T] {
        self
    }
}

impl<T> AsMut<[T]> for LockedBuffer<T> {
    fn as_mut(&mut self) -> &mut [T] {
        self
    }
}

impl<T> Drop for LockedBuffer<T> {
    fn drop(&mut self) {
        if self.len == 0 || size_of::<T>() == 0 {
            return;
        }
        self.tracker.settle(Access::Write);
        // An error means that the context is gone, and the memory with it.
        if let Ok(api) = self.tracker.context().bind() {
            // SAFETY: allocated once, freed once.
            let _ = unsafe { api.driver.cuMemFreeHost(self.pointer.as_ptr().cast()) };
        }
    }
}

impl<T: std::fmt::Debug> std::fmt::Debug for LockedBuffer<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.deref().fmt(f)
    }
}
