//! Buffers that grow without moving: a large reserved range of virtual addresses, which is backed
//! by memory as needed.

use std::marker::PhantomData;

use cust_core::kernel::Access;
use cust_raw::{
    CUdeviceptr, CUmemAccess_flags, CUmemAccessDesc, CUmemAllocationGranularity_flags,
    CUmemAllocationProp, CUmemAllocationType, CUmemGenericAllocationHandle, CUmemLocationType,
};

use super::{DeviceCopy, DeviceSlice, DeviceSliceMut, RangeOnDevice, Zeroable, byte_size};
use crate::context::Context;
use crate::error::{CudaResult, Error};
use crate::tracker::Tracker;

/// A buffer in device memory that grows up to a fixed capacity without moving, so that addresses in
/// it stay valid.
///
/// Memory is allocated in multiples of the device's allocation granularity, usually 2 MiB.
///
/// # Examples
///
/// ```
/// use cust::prelude::*;
/// use cust::memory::GrowableBuffer;
///
/// let _context = cust::quick_init_on(Backend::Emulator)?;
/// let mut buffer = GrowableBuffer::<u32>::with_capacity(100_000_000)?;
/// buffer.extend_from_slice(&[1, 2, 3])?;
/// let address = buffer.as_slice().as_device_ptr();
/// buffer.extend_zeroed(1_000_000)?;
/// assert_eq!(buffer.len(), 1_000_003);
/// assert_eq!(buffer.as_slice().as_device_ptr(), address);
/// assert_eq!(buffer.as_slice().index(..4)?.as_host_vec()?, [1, 2, 3, 0]);
/// # Ok::<(), cust::error::Error>(())
/// ```
pub struct GrowableBuffer<T> {
    tracker: Tracker,
    address: CUdeviceptr,
    /// The size of the reserved address range in bytes.
    reserved: usize,
    capacity: usize,
    len: usize,
    /// The allocations that are mapped into the range, in order, with their sizes.
    pieces: Vec<(CUmemGenericAllocationHandle, usize)>,
    /// The number of bytes that are backed by memory.
    backed: usize,
    granularity: usize,
    elements: PhantomData<T>,
}

fn properties(context: &Context) -> CUmemAllocationProp {
    // SAFETY: all-zero bytes are valid for these integers and pointers.
    let mut properties: CUmemAllocationProp = unsafe { std::mem::zeroed() };
    properties.type_ = CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type_ = CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
    properties.location.id = context.device().as_raw();
    properties
}

impl<T: DeviceCopy> GrowableBuffer<T> {
    /// Creates an empty buffer that reserves addresses for up to `capacity` elements, but allocates
    /// no memory.
    ///
    /// # Errors
    ///
    /// Returns [`Error::NoContext`] without a context, [`Error::AllocationTooLarge`] if the
    /// capacity overflows the address space, and the driver's error if it cannot reserve the
    /// addresses.
    pub fn with_capacity(capacity: usize) -> CudaResult<Self> {
        let context = Context::current("reserving addresses")?;
        let api = context.bind()?;
        let mut granularity = 0;
        // SAFETY: the pointers are valid for the call.
        let result = unsafe {
            let option = CUmemAllocationGranularity_flags::CU_MEM_ALLOC_GRANULARITY_RECOMMENDED;
            let properties = properties(&context);
            api.driver
                .cuMemGetAllocationGranularity(&mut granularity, &properties, option)
        };
        api.check(result, || "querying the allocation granularity".to_owned())?;
        let bytes = byte_size::<T>(capacity)?.max(1);
        let reserved = bytes.checked_next_multiple_of(granularity.max(1));
        let reserved = reserved.ok_or(Error::AllocationTooLarge {
            len: capacity,
            element_size: size_of::<T>(),
        })?;
        let mut address = 0;
        // SAFETY: the pointer is valid for the call.
        let result = unsafe {
            api.driver
                .cuMemAddressReserve(&mut address, reserved, 0, 0, 0)
        };
        api.check(result, || {
            format!("reserving {reserved} bytes of addresses")
        })?;
        Ok(GrowableBuffer {
            tracker: Tracker::new(context),
            address,
            reserved,
            capacity,
            len: 0,
            pieces: Vec::new(),
            backed: 0,
            granularity,
            elements: PhantomData,
        })
    }

    /// Ensures that `count` more elements are backed by memory, and returns the new length.
    fn back(&mut self, count: usize) -> CudaResult<usize> {
        let len = self.len.checked_add(count);
        let Some(len) = len.filter(|&len| len <= self.capacity) else {
            return Err(Error::OutOfBounds {
                start: self.len,
                end: self.len.saturating_add(count),
                len: self.capacity,
            });
        };
        let needed = byte_size::<T>(len)?;
        if needed <= self.backed {
            return Ok(len);
        }
        let context = self.tracker.context();
        let api = context.bind()?;
        let size = (needed - self.backed).next_multiple_of(self.granularity);
        let at = self.address + self.backed as u64;
        let mut handle = 0;
        // SAFETY: the pointers are valid for the call.
        let result = unsafe {
            api.driver
                .cuMemCreate(&mut handle, size, &properties(context), 0)
        };
        api.check(result, || format!("allocating {size} bytes"))?;
        // SAFETY: the addresses are reserved and not backed yet.
        let mapped = unsafe { api.driver.cuMemMap(at, size, 0, handle, 0) };
        let mapped = api.check(mapped, || format!("mapping {size} bytes"));
        if let Err(error) = mapped {
            // SAFETY: created above, and not mapped.
            let _ = unsafe { api.driver.cuMemRelease(handle) };
            return Err(error);
        }
        let access = CUmemAccessDesc {
            location: properties(context).location,
            flags: CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
        };
        // SAFETY: the pointer is valid for the call, and the range is mapped.
        let result = unsafe { api.driver.cuMemSetAccess(at, size, &access, 1) };
        if let Err(error) = api.check(result, || format!("making {size} bytes accessible")) {
            // SAFETY: created and mapped above, and not in use.
            unsafe {
                let _ = api.driver.cuMemUnmap(at, size);
                let _ = api.driver.cuMemRelease(handle);
            }
            return Err(error);
        }
        self.pieces.push((handle, size));
        self.backed += size;
        Ok(len)
    }

    /// Appends a copy of `elements`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::OutOfBounds`] if the capacity is exceeded, and the driver's error if the
    /// device is out of memory.
    pub fn extend_from_slice(&mut self, elements: &[T]) -> CudaResult<()> {
        let old = self.len;
        self.len = self.back(elements.len())?;
        let copied = (self.as_mut_slice().index_mut(old..)).and_then(|mut added| {
            use super::transfer;
            let bytes = std::mem::size_of_val(elements);
            let range = added.range_mut();
            // SAFETY: both ranges have `bytes` bytes.
            unsafe { transfer::host_to_device(range, elements.as_ptr().cast(), bytes) }
        });
        if copied.is_err() {
            self.len = old;
        }
        copied
    }

    /// Appends `count` zeroed elements.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`GrowableBuffer::extend_from_slice`].
    pub fn extend_zeroed(&mut self, count: usize) -> CudaResult<()>
    where
        T: Zeroable,
    {
        let old = self.len;
        self.len = self.back(count)?;
        let set = (self.as_mut_slice().index_mut(old..)).and_then(|mut added| added.set_zero());
        if set.is_err() {
            self.len = old;
        }
        set
    }

    /// Shortens the buffer to `len` elements. The memory stays allocated for later elements.
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::memory::GrowableBuffer;
    /// use cust::prelude::*;
    ///
    /// let _context = cust::quick_init_on(Backend::Emulator)?;
    /// let mut buffer = GrowableBuffer::<u32>::with_capacity(1000)?;
    /// buffer.extend_from_slice(&[1, 2, 3])?;
    /// buffer.truncate(1);
    /// buffer.extend_zeroed(1)?;
    /// assert_eq!(buffer.as_slice().as_host_vec()?, [1, 0]);
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether the buffer has no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the maximum number of elements.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Borrows all elements as a slice.
    pub fn as_slice(&self) -> DeviceSlice<'_, T> {
        DeviceSlice::new(RangeOnDevice::new(&self.tracker, self.address, self.len))
    }

    /// Borrows all elements as a mutable slice.
    pub fn as_mut_slice(&mut self) -> DeviceSliceMut<'_, T> {
        DeviceSliceMut::new(RangeOnDevice::new(&self.tracker, self.address, self.len))
    }
}

impl<T> Drop for GrowableBuffer<T> {
    fn drop(&mut self) {
        // Leak memory that pending work may use.
        if self.tracker.settle(Access::Write).is_err() {
            return;
        }
        // An error means that the context is gone, and the memory with it.
        let Ok(api) = self.tracker.context().bind() else {
            return;
        };
        // SAFETY: all were created once, are released once, and are no longer in use.
        unsafe {
            if self.backed > 0 {
                let _ = api.driver.cuMemUnmap(self.address, self.backed);
            }
            for (handle, _) in &self.pieces {
                let _ = api.driver.cuMemRelease(*handle);
            }
            let _ = api.driver.cuMemAddressFree(self.address, self.reserved);
        }
    }
}

impl<T> std::fmt::Debug for GrowableBuffer<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GrowableBuffer")
            .field("address", &format_args!("{:#x}", self.address))
            .field("len", &self.len)
            .field("capacity", &self.capacity)
            .finish_non_exhaustive()
    }
}
