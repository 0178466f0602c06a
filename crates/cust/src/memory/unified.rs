//! Unified memory, which host and device access at the same address.
//!
//! The driver moves it to where it is accessed. An access of the host's waits for the work in
//! streams that writes it, and one that may write for all work that uses it. What `launch!` put in
//! is not known: that the host leaves the memory alone meanwhile is part of what it vouches for.

use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use cust_core::kernel::Access;
use cust_raw::{CUmem_advise, CUmemAttach_flags, CUmemLocation, CUmemLocationType};

use super::{DeviceCopy, DevicePointer, RangeOnDevice, Zeroable, byte_size, elements_text};
use crate::context::Context;
use crate::device::Device;
use crate::error::CudaResult;
use crate::stream::Stream;
use crate::tracker::{self, Captured, Dependency, Tracker};

/// A buffer that host and device access at the same address.
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
}

// SAFETY: it owns its elements.
unsafe impl<T: Send> Send for UnifiedBuffer<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for UnifiedBuffer<T> {}

impl<T: DeviceCopy> UnifiedBuffer<T> {
    /// Allocates `len` elements and sets each to `value`.
    pub fn new(value: &T, len: usize) -> CudaResult<Self> {
        // SAFETY: all elements are set at once.
        let buffer = unsafe { UnifiedBuffer::<T>::uninitialized(len)? };
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
            let buffer = UnifiedBuffer::<T>::uninitialized(source.len())?;
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
        UnifiedBuffer::new(&T::zeroed(), len)
    }

    /// Allocates `len` elements without setting them.
    ///
    /// # Safety
    ///
    /// The elements must be written before they are read.
    pub unsafe fn uninitialized(len: usize) -> CudaResult<Self> {
        let context = Context::current("allocating unified memory")?;
        let bytes = byte_size::<T>(len)?;
        let mut pointer = NonNull::dangling();
        if bytes > 0 {
            let api = context.bind()?;
            let doing = || {
                let elements = elements_text::<T>(len);
                format!("allocating a unified buffer of {elements} ({bytes} bytes)")
            };
            let flags = CUmemAttach_flags::CU_MEM_ATTACH_GLOBAL;
            let mut address = 0;
            // SAFETY: the pointer is valid for the call.
            let result = unsafe { api.driver.cuMemAllocManaged(&mut address, bytes, flags.0) };
            api.check(result, doing)?;
            let raw = std::ptr::with_exposed_provenance_mut(address as usize);
            let Some(allocated) = NonNull::new(raw) else {
                let out_of_memory = cust_raw::CUresult::CUDA_ERROR_OUT_OF_MEMORY;
                return Err(api.check(out_of_memory, doing).unwrap_err());
            };
            pointer = allocated;
        }
        Ok(UnifiedBuffer {
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

    /// The address of the first element, as kernels take it.
    pub fn as_device_ptr(&self) -> DevicePointer<T> {
        DevicePointer::from_raw(self.pointer.as_ptr().expose_provenance() as u64)
    }
}

/// What the driver is told of how unified memory is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum MemoryAdvice {
    /// It is mostly read: each side may have its own copy. Or no longer.
    ReadMostly(bool),
    /// It had best be there. `None`: there is no preference any more.
    PreferredLocation(Option<MemoryLocation>),
    /// That side accesses it, so it had best be mapped there. Or no longer.
    AccessedBy(MemoryLocation, bool),
}

/// Where unified memory can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryLocation {
    /// In the host's memory.
    Host,
    /// In a device's.
    Device(Device),
}

impl MemoryLocation {
    fn raw(self) -> CUmemLocation {
        match self {
            MemoryLocation::Host => CUmemLocation {
                type_: CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST,
                id: 0,
            },
            MemoryLocation::Device(device) => CUmemLocation {
                type_: CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE,
                id: device.as_raw(),
            },
        }
    }
}

impl<T: DeviceCopy> UnifiedBuffer<T> {
    /// Tells the driver how the memory is used. It changes no result.
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
        if bytes == 0 {
            return Ok(());
        }
        let own = MemoryLocation::Device(self.tracker.context().device());
        let api = self.tracker.context().bind()?;
        // SAFETY: the range is the buffer's.
        let result = unsafe {
            let location = location.unwrap_or(own).raw();
            api.driver
                .cuMemAdvise_v2(range.address, bytes, advice_raw, location)
        };
        api.check(result, || format!("advising the driver of {advice:?}"))
    }

    /// Puts moving the memory to where it will be used into a stream. It changes no result.
    pub fn prefetch(&self, to: MemoryLocation, stream: &Stream) -> CudaResult<()> {
        let range = self.range();
        let bytes = range.len * size_of::<T>();
        if bytes == 0 {
            return Ok(());
        }
        let doing = || format!("putting prefetching of {bytes} bytes to {to:?} into a stream");
        let read = Dependency::new(range.tracker, Access::Read, range.address, bytes);
        // SAFETY: the range is the buffer's, and the stream keeps it.
        unsafe {
            let refused = Captured::Refused;
            tracker::enqueue(stream.inner(), &[read], refused, doing, |api, stream| {
                let to = to.raw();
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
        // SAFETY: the allocation holds `len` elements, and nothing writes to them: that would need
        // the buffer mutably.
        unsafe { std::slice::from_raw_parts(self.pointer.as_ptr(), self.len) }
    }
}

impl<T> DerefMut for UnifiedBuffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.tracker.settle_for_host(Access::Write);
        // SAFETY: as above, and nothing reads them either.
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
        // Memory that work may still use is leaked. An error of `bind` means that the context is
        // gone, and the memory with it.
        if self.tracker.settle(Access::Write).is_ok()
            && let Ok(api) = self.tracker.context().bind()
        {
            let address = self.pointer.as_ptr().addr() as u64;
            // SAFETY: allocated once, freed once.
            let _ = unsafe { api.driver.cuMemFree_v2(address) };
        }
    }
}

impl<T: std::fmt::Debug> std::fmt::Debug for UnifiedBuffer<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.deref().fmt(f)
    }
}

/// One `T` that host and device access at the same address.
pub struct UnifiedBox<T> {
    buffer: UnifiedBuffer<T>,
}

impl<T: DeviceCopy> UnifiedBox<T> {
    /// Allocates memory and puts the value into it.
    pub fn new(value: T) -> CudaResult<Self> {
        let buffer = UnifiedBuffer::new(&value, 1)?;
        Ok(UnifiedBox { buffer })
    }

    /// The value's address, as kernels take it.
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
