//! Pinned host memory.

use std::ffi::c_void;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use cust_core::kernel::Access;
use cust_raw::{
    CU_MEMHOSTALLOC_DEVICEMAP, CU_MEMHOSTREGISTER_DEVICEMAP, CU_MEMHOSTREGISTER_PORTABLE,
};

use super::{DeviceCopy, MOST_ALIGNMENT, RangeOnDevice, Zeroable, byte_size, elements_text};
use crate::context::Context;
use crate::error::{CudaResult, Error};
use crate::tracker::Tracker;

/// A buffer in pinned (page-locked) host memory.
///
/// Copies between pinned memory and the device run at full bandwidth and overlap with other work.
/// The buffer dereferences to a slice; dereferencing waits for pending work that uses the memory.
///
/// # Panics
///
/// Dereferencing panics if the driver cannot wait for the pending work.
///
/// # Examples
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
    /// The device's address of the elements, which differs from the host's for a pinned `Vec` if
    /// the device's attribute `CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM` is 0.
    device: u64,
    len: usize,
    /// The capacity of the vector, if the memory is that of a pinned `Vec`.
    vec: Option<usize>,
}

// SAFETY: the buffer owns its elements.
unsafe impl<T: Send> Send for LockedBuffer<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for LockedBuffer<T> {}

impl<T: DeviceCopy> LockedBuffer<T> {
    /// Allocates `len` elements and sets each to `value`.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`LockedBuffer::uninitialized`].
    pub fn new(value: &T, len: usize) -> CudaResult<Self> {
        // SAFETY: all elements are set immediately.
        let buffer = unsafe { LockedBuffer::<T>::uninitialized(len)? };
        // Elements without bytes may be too many to visit.
        let visited = if size_of::<T>() == 0 { 0 } else { len };
        for index in 0..visited {
            // SAFETY: `index` is inside the allocation.
            unsafe { buffer.pointer.add(index).write(*value) };
        }
        Ok(buffer)
    }

    /// Allocates a buffer and copies the elements of `source` into it.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`LockedBuffer::uninitialized`].
    pub fn from_slice(source: &[T]) -> CudaResult<Self> {
        // SAFETY: all elements are set immediately, from a slice of the same length.
        unsafe {
            let buffer = LockedBuffer::<T>::uninitialized(source.len())?;
            let to = buffer.pointer.as_ptr();
            to.copy_from_nonoverlapping(source.as_ptr(), source.len());
            Ok(buffer)
        }
    }

    /// Allocates `len` zeroed elements.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`LockedBuffer::uninitialized`].
    pub fn zeroed(len: usize) -> CudaResult<Self>
    where
        T: Zeroable,
    {
        LockedBuffer::new(&T::zeroed(), len)
    }

    /// Allocates `len` uninitialized elements.
    ///
    /// # Errors
    ///
    /// Returns [`Error::NoContext`] without a context, [`Error::AllocationTooLarge`] and
    /// [`Error::Alignment`] for sizes and types that cannot be allocated, and the driver's error if
    /// the memory cannot be allocated.
    ///
    /// [`Error::NoContext`]: crate::error::Error::NoContext
    /// [`Error::AllocationTooLarge`]: crate::error::Error::AllocationTooLarge
    /// [`Error::Alignment`]: crate::error::Error::Alignment
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
            // Memory that the driver allocated has one address for host and device.
            device: pointer.as_ptr().expose_provenance() as u64,
            len,
            vec: None,
        })
    }

    /// Pins a vector's memory in place.
    ///
    /// Pinning takes longer than copying a few megabytes. It pays off for existing memory that is
    /// copied from and to repeatedly.
    ///
    /// # Errors
    ///
    /// Returns [`Error::NoContext`] without a context, [`Error::Alignment`] for elements with a
    /// larger alignment than the memory has on the device, and the driver's error if it cannot pin
    /// the memory. The vector is then dropped.
    ///
    /// [`Error::NoContext`]: crate::error::Error::NoContext
    /// [`Error::Alignment`]: crate::error::Error::Alignment
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::prelude::*;
    ///
    /// let _context = cust::quick_init_on(Backend::Emulator)?;
    /// let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    /// let pinned = LockedBuffer::from_vec(vec![1u32, 2, 3])?;
    /// let mut device = DeviceBuffer::<u32>::zeroed(3)?;
    /// stream.upload(&pinned, &mut device)?;
    /// assert_eq!(device.as_host_vec()?, pinned[..]);
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub fn from_vec(vec: Vec<T>) -> CudaResult<Self> {
        let context = Context::current("pinning memory")?;
        let mut vec = std::mem::ManuallyDrop::new(vec);
        let (pointer, len, capacity) = (vec.as_mut_ptr(), vec.len(), vec.capacity());
        let bytes = len * size_of::<T>();
        let registered = match bytes {
            0 => Ok(pointer.expose_provenance() as u64),
            // SAFETY: this is the vector's memory, which stays allocated until it is unregistered.
            bytes => unsafe { register(&context, pointer, bytes) },
        };
        let device = match registered {
            Ok(device) => device,
            Err(error) => {
                drop(std::mem::ManuallyDrop::into_inner(vec));
                return Err(error);
            }
        };
        // SAFETY: a vector's pointer is never null.
        let pointer = unsafe { NonNull::new_unchecked(pointer) };
        Ok(LockedBuffer {
            tracker: Tracker::new(context),
            pointer,
            device,
            len,
            vec: Some(capacity),
        })
    }

    /// Returns the elements as a slice, after waiting for all pending work that writes them.
    pub fn as_slice(&self) -> &[T] {
        self
    }

    /// Returns the elements as a mutable slice, after waiting for all pending work that uses them.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        self
    }
}

/// Pins host memory and returns its address on the device.
///
/// # Safety
///
/// The memory must stay allocated until it is unregistered.
unsafe fn register<T>(context: &Context, pointer: *mut T, bytes: usize) -> CudaResult<u64> {
    let api = context.bind()?;
    let doing = || format!("pinning a vector of {bytes} bytes");
    let flags = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP;
    let pointer: *mut c_void = pointer.cast();
    // SAFETY: as the caller promises.
    let result = unsafe { api.driver.cuMemHostRegister_v2(pointer, bytes, flags) };
    api.check(result, doing)?;
    let mut device = 0;
    // SAFETY: the memory is registered, and the pointer to the address is valid for the call.
    let result = unsafe {
        api.driver
            .cuMemHostGetDevicePointer_v2(&mut device, pointer, 0)
    };
    let found = api.check(result, doing).and_then(|()| {
        // If the device's address differs from the host's, it is aligned to pages only.
        match device.is_multiple_of(align_of::<T>() as u64) {
            true => Ok(device),
            false => Err(Error::Alignment {
                type_name: std::any::type_name::<T>(),
                align: align_of::<T>(),
                most: MOST_ALIGNMENT,
            }),
        }
    });
    found.inspect_err(|_| {
        // SAFETY: registered above, and not in use.
        let _ = unsafe { api.driver.cuMemHostUnregister(pointer) };
    })
}

impl<T> LockedBuffer<T> {
    pub(crate) fn range(&self) -> RangeOnDevice<'_, T> {
        RangeOnDevice::new(&self.tracker, self.device, self.len)
    }

    pub(crate) fn range_mut(&mut self) -> RangeOnDevice<'_, T> {
        self.range()
    }

    /// Returns the address without waiting for pending work.
    pub(crate) fn as_pointer(&self) -> *const T {
        self.pointer.as_ptr()
    }
}

impl<T> Deref for LockedBuffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.tracker.settle_for_host(Access::Read);
        // SAFETY: the allocation holds `len` elements, and no work that writes them is pending or
        // can be enqueued during the borrow.
        unsafe { std::slice::from_raw_parts(self.pointer.as_ptr(), self.len) }
    }
}

impl<T> DerefMut for LockedBuffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.tracker.settle_for_host(Access::Write);
        // SAFETY: as above, and no work that reads them is pending.
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
            // Leak memory that pending work may use.
            if self.tracker.settle(Access::Write).is_err() {
                return;
            }
            // An error means that the context is gone, and its pinned memory with it.
            if let Ok(api) = self.tracker.context().bind() {
                let pointer = self.pointer.as_ptr().cast();
                // SAFETY: allocated or registered once, released once, and no longer in use.
                let _ = unsafe {
                    match self.vec {
                        Some(_) => api.driver.cuMemHostUnregister(pointer),
                        None => api.driver.cuMemFreeHost(pointer),
                    }
                };
            }
        }
        if let Some(capacity) = self.vec {
            // SAFETY: these are the raw parts of the vector that `from_vec` decomposed.
            drop(unsafe { Vec::from_raw_parts(self.pointer.as_ptr(), self.len, capacity) });
        }
    }
}

impl<T: std::fmt::Debug> std::fmt::Debug for LockedBuffer<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.deref().fmt(f)
    }
}
