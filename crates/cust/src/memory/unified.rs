//! Unified memory, which host and device access at the same address.
//!
//! The driver migrates the memory to the processor that accesses it. A read by the host waits for
//! all pending work that writes the memory, and a mutable access for all pending work that uses it.
//! Launches by `launch!` are not tracked: their caller must ensure that the host does not access
//! the memory while the kernel is pending.
//!
//! On a device without concurrent managed access (on Windows, and on some integrated devices), the
//! host must not access managed memory while any kernel runs, even one that does not use the
//! memory: references to the elements would have to prevent all launches. There, the memory is
//! pinned host memory, which has one address as well, and which the driver does not migrate.

use std::ffi::c_void;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use cust_core::kernel::Access;
use cust_raw::{
    CU_MEMHOSTALLOC_DEVICEMAP, CU_MEMHOSTALLOC_PORTABLE, CUmem_advise, CUmemAttach_flags,
    CUmemLocation, CUmemLocationType,
};

use super::{DeviceCopy, DevicePointer, RangeOnDevice, Zeroable, byte_size, elements_text};
use crate::context::Context;
use crate::device::{Device, DeviceAttribute};
use crate::error::CudaResult;
use crate::stream::Stream;
use crate::tracker::{self, Captured, Dependency, Tracker};

/// A buffer in unified memory, which host and device access at the same address.
///
/// It dereferences to a slice. Dereferencing waits for pending work that uses the memory.
///
/// The driver migrates the memory between host and device. If a device of the system lacks the
/// attribute [`ConcurrentManagedAccess`](crate::device::DeviceAttribute::ConcurrentManagedAccess),
/// as on Windows, the memory is pinned host memory instead: kernels access it through the bus.
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
/// let mut buffer = UnifiedBuffer::new(&1u32, 10)?;
/// buffer[3] = 4;
/// assert_eq!(buffer.iter().sum::<u32>(), 13);
/// # Ok::<(), cust::error::Error>(())
/// ```
pub struct UnifiedBuffer<T> {
    tracker: Tracker,
    pointer: NonNull<T>,
    len: usize,
    /// Whether the driver migrates the memory; otherwise, it is pinned host memory.
    managed: bool,
}

// SAFETY: the buffer owns its elements.
unsafe impl<T: Send> Send for UnifiedBuffer<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for UnifiedBuffer<T> {}

impl<T: DeviceCopy> UnifiedBuffer<T> {
    /// Allocates `len` elements and sets each to `value`.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`UnifiedBuffer::uninitialized`].
    pub fn new(value: &T, len: usize) -> CudaResult<Self> {
        // SAFETY: all elements are set immediately.
        let buffer = unsafe { UnifiedBuffer::<T>::uninitialized(len)? };
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
    /// Returns the errors of [`UnifiedBuffer::uninitialized`].
    pub fn from_slice(source: &[T]) -> CudaResult<Self> {
        // SAFETY: all elements are set immediately, from a slice of the same length.
        unsafe {
            let buffer = UnifiedBuffer::<T>::uninitialized(source.len())?;
            let to = buffer.pointer.as_ptr();
            to.copy_from_nonoverlapping(source.as_ptr(), source.len());
            Ok(buffer)
        }
    }

    /// Allocates `len` zeroed elements.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`UnifiedBuffer::uninitialized`].
    pub fn zeroed(len: usize) -> CudaResult<Self>
    where
        T: Zeroable,
    {
        UnifiedBuffer::new(&T::zeroed(), len)
    }

    /// Allocates `len` uninitialized elements.
    ///
    /// # Errors
    ///
    /// Returns [`Error::NoContext`] without a context, [`Error::AllocationTooLarge`] and
    /// [`Error::Alignment`] for sizes and types that cannot be allocated, and the driver's error if
    /// it is out of memory.
    ///
    /// [`Error::NoContext`]: crate::error::Error::NoContext
    /// [`Error::AllocationTooLarge`]: crate::error::Error::AllocationTooLarge
    /// [`Error::Alignment`]: crate::error::Error::Alignment
    ///
    /// # Safety
    ///
    /// The elements must be written before they are read.
    pub unsafe fn uninitialized(len: usize) -> CudaResult<Self> {
        let context = Context::current("allocating unified memory")?;
        let bytes = byte_size::<T>(len)?;
        let mut pointer = NonNull::dangling();
        let mut managed = false;
        if bytes > 0 {
            let api = context.bind()?;
            let doing = || {
                let elements = elements_text::<T>(len);
                format!("allocating a unified buffer of {elements} ({bytes} bytes)")
            };
            let mut raw: *mut c_void = std::ptr::null_mut();
            managed = can_share_managed_memory(&context)?;
            let result = if managed {
                let flags = CUmemAttach_flags::CU_MEM_ATTACH_GLOBAL;
                let mut address = 0;
                // SAFETY: the pointer is valid for the call.
                let result = unsafe { api.driver.cuMemAllocManaged(&mut address, bytes, flags.0) };
                raw = std::ptr::with_exposed_provenance_mut(address as usize);
                result
            } else {
                // With unified addressing, which all 64-bit systems have, its address is the same
                // for host and device.
                let flags = CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_PORTABLE;
                // SAFETY: the pointer is valid for the call.
                unsafe { api.driver.cuMemHostAlloc(&mut raw, bytes, flags) }
            };
            api.check(result, doing)?;
            let Some(allocated) = NonNull::new(raw.cast()) else {
                let out_of_memory = cust_raw::CUresult::CUDA_ERROR_OUT_OF_MEMORY;
                return Err(api.check(out_of_memory, doing).unwrap_err());
            };
            pointer = allocated;
        }
        Ok(UnifiedBuffer {
            tracker: Tracker::new(context),
            pointer,
            len,
            managed,
        })
    }

    /// Returns the elements as a slice, after waiting for all pending work that writes them.
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::prelude::*;
    ///
    /// let _context = cust::quick_init_on(Backend::Emulator)?;
    /// let mut buffer = UnifiedBuffer::from_slice(&[1u32, 2])?;
    /// buffer.as_mut_slice()[0] = 7;
    /// assert_eq!(buffer.as_slice(), [7, 2]);
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub fn as_slice(&self) -> &[T] {
        self
    }

    /// Returns the elements as a mutable slice, after waiting for all pending work that uses them.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        self
    }

    /// Returns the address of the first element, for kernel arguments.
    pub fn as_device_ptr(&self) -> DevicePointer<T> {
        DevicePointer::from_raw(self.pointer.as_ptr().expose_provenance() as u64)
    }
}

/// Returns whether the host may access managed memory while kernels run. Kernels on any device of
/// the system count.
fn can_share_managed_memory(context: &Context) -> CudaResult<bool> {
    for device in context.device().all_of_backend()? {
        if device?.get_attribute(DeviceAttribute::ConcurrentManagedAccess)? == 0 {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Advice to the driver about the usage of unified memory. It affects performance, never results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum MemoryAdvice {
    /// Sets or unsets that the memory is mostly read, so that the driver may create read-only
    /// copies on each processor.
    ReadMostly(bool),
    /// Sets the preferred location of the memory, or unsets it with `None`.
    PreferredLocation(Option<MemoryLocation>),
    /// Sets or unsets that a processor accesses the memory, which keeps it mapped there.
    AccessedBy(MemoryLocation, bool),
}

/// A location of unified memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryLocation {
    /// Host memory.
    Host,
    /// The memory of a device.
    Device(Device),
}

impl MemoryLocation {
    /// Returns the driver's description, for memory of `context`.
    fn raw(self, context: &Context, doing: impl FnOnce() -> String) -> CudaResult<CUmemLocation> {
        Ok(match self {
            MemoryLocation::Host => CUmemLocation {
                type_: CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST,
                id: 0,
            },
            MemoryLocation::Device(device) => {
                context.device().require_same_backend(&device, doing)?;
                CUmemLocation {
                    type_: CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE,
                    id: device.as_raw(),
                }
            }
        })
    }
}

impl<T: DeviceCopy> UnifiedBuffer<T> {
    /// Advises the driver about the usage of the memory. This affects performance, never results,
    /// and has no effect on pinned host memory.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if the device does not support the advice, and
    /// [`Error::WrongBackend`](crate::error::Error::WrongBackend) for a device of another backend.
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::memory::MemoryAdvice;
    /// use cust::prelude::*;
    ///
    /// let _context = cust::quick_init_on(Backend::Emulator)?;
    /// let table = UnifiedBuffer::from_slice(&[1.0f32, 2.0, 4.0])?;
    /// table.advise(MemoryAdvice::ReadMostly(true))?;
    /// assert_eq!(table[2], 4.0);
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub fn advise(&self, advice: MemoryAdvice) -> CudaResult<()> {
        use CUmem_advise as A;
        let (advice_raw, location) = match advice {
            MemoryAdvice::ReadMostly(true) => (A::CU_MEM_ADVISE_SET_READ_MOSTLY, None),
            MemoryAdvice::ReadMostly(false) => (A::CU_MEM_ADVISE_UNSET_READ_MOSTLY, None),
            MemoryAdvice::PreferredLocation(Some(at)) => {
                (A::CU_MEM_ADVISE_SET_PREFERRED_LOCATION, Some(at))
            }
            MemoryAdvice::PreferredLocation(None) => {
                (A::CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, None)
            }
            MemoryAdvice::AccessedBy(at, true) => (A::CU_MEM_ADVISE_SET_ACCESSED_BY, Some(at)),
            MemoryAdvice::AccessedBy(at, false) => (A::CU_MEM_ADVISE_UNSET_ACCESSED_BY, Some(at)),
        };
        let range = self.range();
        let bytes = range.len * size_of::<T>();
        let context = self.tracker.context();
        let own = MemoryLocation::Device(context.device());
        let doing = || format!("advising the driver of {advice:?}");
        let location = location.unwrap_or(own).raw(context, doing)?;
        if !self.managed {
            return Ok(());
        }
        let api = context.bind()?;
        // SAFETY: the range is this buffer's allocation.
        let result = unsafe {
            api.driver
                .cuMemAdvise_v2(range.address, bytes, advice_raw, location)
        };
        api.check(result, doing)
    }

    /// Enqueues a migration of the memory to the location where it will be used. This affects
    /// performance, never results, and has no effect on pinned host memory.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if the device does not support prefetching,
    /// [`Error::WrongBackend`](crate::error::Error::WrongBackend) for a device of another backend,
    /// and [`Error::Capturing`](crate::error::Error::Capturing) while the stream is being captured.
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::memory::MemoryLocation;
    /// use cust::prelude::*;
    ///
    /// let _context = cust::quick_init_on(Backend::Emulator)?;
    /// let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    /// let mut buffer = UnifiedBuffer::new(&1u32, 1000)?;
    /// let device = MemoryLocation::Device(stream.context().device());
    /// buffer.prefetch(device, &stream)?;
    /// // … launches that use the buffer …
    /// buffer.prefetch(MemoryLocation::Host, &stream)?;
    /// buffer[0] = 2;
    /// assert_eq!(buffer[..2], [2, 1]);
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub fn prefetch(&self, to: MemoryLocation, stream: &Stream) -> CudaResult<()> {
        let range = self.range();
        let bytes = range.len * size_of::<T>();
        let doing = || format!("enqueuing a prefetch of {bytes} bytes to {to:?}");
        let to = to.raw(self.tracker.context(), doing)?;
        if !self.managed {
            return Ok(());
        }
        let read = Dependency::new(range.tracker, Access::Read, range.address, bytes);
        // SAFETY: the range is this buffer's allocation, which stays alive while the work is
        // pending.
        unsafe {
            let refused = Captured::Refused;
            tracker::enqueue(stream.inner(), &[read], refused, doing, |api, stream| {
                api.driver
                    .cuMemPrefetchAsync_v2(range.address, bytes, to, 0, stream)
            })
        }
    }
}

impl<T> UnifiedBuffer<T> {
    pub(crate) fn range(&self) -> RangeOnDevice<'_, T> {
        let address = self.pointer.as_ptr().expose_provenance() as u64;
        RangeOnDevice::new(&self.tracker, address, self.len)
    }

    pub(crate) fn range_mut(&mut self) -> RangeOnDevice<'_, T> {
        self.range()
    }
}

impl<T> Deref for UnifiedBuffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.tracker.settle_for_host(Access::Read);
        // SAFETY: the allocation holds `len` elements, and no work that writes them is pending or
        // can be enqueued during the borrow.
        unsafe { std::slice::from_raw_parts(self.pointer.as_ptr(), self.len) }
    }
}

impl<T> DerefMut for UnifiedBuffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.tracker.settle_for_host(Access::Write);
        // SAFETY: as above, and no work that reads them is pending.
        unsafe { std::slice::from_raw_parts_mut(self.pointer.as_ptr(), self.len) }
    }
}

impl<T> AsRef<[T]> for UnifiedBuffer<T> {
    fn as_ref(&self) -> &[T] {
        self
    }
}

impl<T> AsMut<[T]> for UnifiedBuffer<T> {
    fn as_mut(&mut self) -> &mut [T] {
        self
    }
}

impl<T> Drop for UnifiedBuffer<T> {
    fn drop(&mut self) {
        if self.len == 0 || size_of::<T>() == 0 {
            return;
        }
        // Leak memory that pending work may use. An error of `bind` means that the context is gone,
        // and the memory with it.
        if self.tracker.settle(Access::Write).is_ok()
            && let Ok(api) = self.tracker.context().bind()
        {
            let pointer = self.pointer.as_ptr();
            // SAFETY: allocated once, freed once.
            let _ = unsafe {
                match self.managed {
                    true => api.driver.cuMemFree_v2(pointer.addr() as u64),
                    false => api.driver.cuMemFreeHost(pointer.cast()),
                }
            };
        }
    }
}

impl<T: std::fmt::Debug> std::fmt::Debug for UnifiedBuffer<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.deref().fmt(f)
    }
}

/// A single value in unified memory, which host and device access at the same address.
///
/// Dereferencing waits for pending work, and panics, as described for [`UnifiedBuffer`].
pub struct UnifiedBox<T> {
    buffer: UnifiedBuffer<T>,
}

impl<T: DeviceCopy> UnifiedBox<T> {
    /// Allocates unified memory and moves the value into it.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`UnifiedBuffer::uninitialized`].
    pub fn new(value: T) -> CudaResult<Self> {
        let buffer = UnifiedBuffer::new(&value, 1)?;
        Ok(UnifiedBox { buffer })
    }

    /// Returns the value's address, for kernel arguments.
    pub fn as_device_ptr(&self) -> DevicePointer<T> {
        self.buffer.as_device_ptr()
    }

    pub(crate) fn range(&self) -> RangeOnDevice<'_, T> {
        self.buffer.range()
    }

    pub(crate) fn range_mut(&mut self) -> RangeOnDevice<'_, T> {
        self.buffer.range()
    }
}

impl<T> Deref for UnifiedBox<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.buffer[0]
    }
}

impl<T> DerefMut for UnifiedBox<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.buffer[0]
    }
}

impl<T: std::fmt::Debug> std::fmt::Debug for UnifiedBox<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.deref().fmt(f)
    }
}
