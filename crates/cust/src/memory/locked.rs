//! Pinned memory of the host.

use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use cust_core::kernel::Access;
use cust_raw::{
    CU_MEMHOSTALLOC_DEVICEMAP, CU_MEMHOSTREGISTER_DEVICEMAP, CU_MEMHOSTREGISTER_PORTABLE,
};

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
    /// The capacity of the vector that the memory is, if it is one that was pinned where it lies.
    vec: Option<usize>,
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
            let result = unsafe {
                api.driver
                    .cuMemHostAlloc(&mut raw, bytes, CU_MEMHOSTALLOC_DEVICEMAP)
            };
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
            vec: None,
        })
    }

    /// Pins a vector's memory where it lies. It takes the system longer than a copy of a few
    /// megabytes: for memory that is there already, and is copied from and to many times.
    pub fn from_vec(vec: Vec<T>) -> CudaResult<Self> {
        let context = Context::current("pinning memory")?;
        let mut vec = std::mem::ManuallyDrop::new(vec);
        let (pointer, len, capacity) = (vec.as_mut_ptr(), vec.len(), vec.capacity());
        let bytes = len * size_of::<T>();
        let registered = match bytes {
            0 => Ok(()),
            bytes => context.bind().and_then(|api| {
                let flags = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP;
                // SAFETY: the vector's memory, which stays until it is taken out again.
                let result = unsafe {
                    api.driver
                        .cuMemHostRegister_v2(pointer.cast(), bytes, flags)
                };
                api.check(result, || format!("pinning {bytes} bytes where they lie"))
            }),
        };
        if let Err(error) = registered {
            drop(std::mem::ManuallyDrop::into_inner(vec));
            return Err(error);
        }
        // SAFETY: a vector's pointer is never null.
        let pointer = unsafe { NonNull::new_unchecked(pointer) };
        Ok(LockedBuffer {
            tracker: Tracker::new(context),
            pointer,
            len,
            vec: Some(capacity),
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

    pub(crate) fn range_mut(&mut self) -> RangeOnDevice<'_, T> {
        self.range()
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
        let bytes = self.len * size_of::<T>();
        if bytes > 0 {
            // Memory that work may still use is leaked.
            if self.tracker.settle(Access::Write).is_err() {
                return;
            }
            // An error means that the context is gone, and what it had pinned with it.
            if let Ok(api) = self.tracker.context().bind() {
                let pointer = self.pointer.as_ptr().cast();
                // SAFETY: allocated or pinned once, given back once, and no longer in use.
                let _ = unsafe {
                    match self.vec {
                        Some(_) => api.driver.cuMemHostUnregister(pointer),
                        None => api.driver.cuMemFreeHost(pointer),
                    }
                };
            }
        }
        if let Some(capacity) = self.vec {
            // SAFETY: the parts of the vector that was taken apart in `from_vec`.
            drop(unsafe { Vec::from_raw_parts(self.pointer.as_ptr(), self.len, capacity) });
        }
    }
}

impl<T: std::fmt::Debug> std::fmt::Debug for LockedBuffer<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.deref().fmt(f)
    }
}
