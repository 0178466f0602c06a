//! Device memory pools, which keep freed memory for later allocations.
//!
//! By default, buffers are allocated from the context's own pool. A [`MemoryPool`] is a separate
//! pool that the program configures.

use std::ffi::c_void;
use std::sync::{Arc, OnceLock};

use cust_raw::{
    CUmemAllocationType, CUmemLocationType, CUmemPool_attribute, CUmemPoolProps, CUmemoryPool,
    CUresult,
};

use super::device_buffer::allocate_from;
use super::{DeviceBuffer, DeviceCopy, Zeroable, byte_size, elements_text};
use crate::backend::Api;
use crate::context::{Context, Extension, Handle, Slot};
use crate::device::DeviceAttribute;
use crate::error::CudaResult;

/// The reciprocal of the fraction of device memory that the pool keeps after it was freed.
const KEPT_FRACTION: usize = 16;

/// The pool of a context, or `None` if the device does not support memory pools; created on first
/// use.
#[derive(Default)]
struct DefaultPool(OnceLock<Option<Handle<CUmemoryPool>>>);

impl Slot for DefaultPool {
    const SLOT: usize = 3;
}

impl Extension for DefaultPool {
    fn release(&mut self, api: &Api) {
        if let Some(Handle(pool)) = self.0.take().flatten() {
            // SAFETY: created once, destroyed once. The driver releases the pool after the last of
            // its allocations is freed.
            let _ = unsafe { api.driver.cuMemPoolDestroy(pool) };
        }
    }
}

impl Context {
    /// Returns the pool that device memory is allocated from, or `None` if the device does not
    /// support memory pools.
    pub(crate) fn pool(&self) -> Option<CUmemoryPool> {
        let pool = self
            .extension::<DefaultPool>()
            .0
            .get_or_init(|| self.make_pool().map(Handle));
        pool.map(|Handle(pool)| pool)
    }

    fn make_pool(&self) -> Option<CUmemoryPool> {
        let api = self.bind().ok()?;
        let device = self.device();
        let supported = device
            .get_attribute(DeviceAttribute::MemoryPoolsSupported)
            .ok()?;
        if supported == 0 {
            return None;
        }
        // SAFETY: all-zero bytes are valid for these integers.
        let mut properties: CUmemPoolProps = unsafe { std::mem::zeroed() };
        properties.allocType = CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
        properties.location.type_ = CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
        properties.location.id = device.raw;
        let mut pool = std::ptr::null_mut();
        // SAFETY: the pointers are valid for the call.
        let result = unsafe { api.driver.cuMemPoolCreate(&mut pool, &properties) };
        if result != CUresult::CUDA_SUCCESS {
            return None;
        }
        // Keep freed memory up to a fraction of the device's memory. The host waits for
        // allocations, so an allocation must not depend on a free in a busy stream.
        let mut kept = (device.total_memory().unwrap_or(0) / KEPT_FRACTION) as u64;
        let mut no = 0i32;
        use cust_raw::CUmemPool_attribute as Attribute;
        let threshold = Attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
        let dependencies = Attribute::CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES;
        // SAFETY: the values have the attributes' types. Errors are ignored: the attributes affect
        // only performance.
        unsafe {
            let _ = api
                .driver
                .cuMemPoolSetAttribute(pool, threshold, (&raw mut kept).cast());
            let _ = api
                .driver
                .cuMemPoolSetAttribute(pool, dependencies, (&raw mut no).cast());
        }
        Some(pool)
    }

    /// Releases freed device memory that is kept for later buffers to the system, except for `keep`
    /// bytes.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if the context was reset or lost.
    pub fn trim_memory(&self, keep: usize) -> CudaResult<()> {
        let api = self.bind()?;
        let Some(pool) = self.pool() else {
            return Ok(());
        };
        // SAFETY: the pool is alive.
        let result = unsafe { api.driver.cuMemPoolTrimTo(pool, keep) };
        api.check(result, || "trimming the memory pool".to_owned())
    }
}

/// An attribute of a memory pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PoolAttribute {
    /// The number of bytes that the pool keeps reserved when the program synchronizes. Unused
    /// memory above the threshold is released to the system.
    ReleaseThreshold,
    /// The number of bytes that are currently reserved from the system.
    ReservedMemCurrent,
    /// The high watermark of reserved bytes. Can be reset to 0.
    ReservedMemHigh,
    /// The number of bytes that are currently allocated from the pool.
    UsedMemCurrent,
    /// The high watermark of allocated bytes. Can be reset to 0.
    UsedMemHigh,
}

impl PoolAttribute {
    fn raw(self) -> CUmemPool_attribute {
        use CUmemPool_attribute as A;
        match self {
            PoolAttribute::ReleaseThreshold => A::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
            PoolAttribute::ReservedMemCurrent => A::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT,
            PoolAttribute::ReservedMemHigh => A::CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH,
            PoolAttribute::UsedMemCurrent => A::CU_MEMPOOL_ATTR_USED_MEM_CURRENT,
            PoolAttribute::UsedMemHigh => A::CU_MEMPOOL_ATTR_USED_MEM_HIGH,
        }
    }
}

/// A pool of device memory. Buffers allocated from it stay valid after the pool is dropped.
///
/// # Examples
///
/// ```
/// use cust::prelude::*;
/// use cust::memory::{MemoryPool, PoolAttribute};
///
/// let _context = cust::quick_init_on(Backend::Emulator)?;
/// let pool = MemoryPool::new()?;
/// let buffer = pool.zeroed::<u32>(1000)?;
/// assert!(pool.get_attribute(PoolAttribute::UsedMemCurrent)? >= 4000);
/// drop(pool);
/// assert_eq!(buffer.as_host_vec()?, [0; 1000]);
/// # Ok::<(), cust::error::Error>(())
/// ```
#[derive(Clone)]
pub struct MemoryPool {
    inner: Arc<Inner>,
}

struct Inner {
    raw: CUmemoryPool,
    context: Context,
}

// SAFETY: the driver's pools may be used from any thread.
unsafe impl Send for Inner {}
// SAFETY: as above.
unsafe impl Sync for Inner {}

impl MemoryPool {
    /// Creates a pool on the current context's device.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if the device does not support memory pools.
    pub fn new() -> CudaResult<MemoryPool> {
        let context = Context::current("creating a memory pool")?;
        let api = context.bind()?;
        // SAFETY: all-zero bytes are valid for these integers.
        let mut properties: CUmemPoolProps = unsafe { std::mem::zeroed() };
        properties.allocType = CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
        properties.location.type_ = CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
        properties.location.id = context.device().as_raw();
        let mut raw = std::ptr::null_mut();
        // SAFETY: the pointers are valid for the call.
        let result = unsafe { api.driver.cuMemPoolCreate(&mut raw, &properties) };
        api.check(result, || "creating a memory pool".to_owned())?;
        let inner = Arc::new(Inner { raw, context });
        Ok(MemoryPool { inner })
    }

    /// Allocates a buffer of `len` zeroed elements from the pool.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`MemoryPool::uninitialized`].
    pub fn zeroed<T: DeviceCopy + Zeroable>(&self, len: usize) -> CudaResult<DeviceBuffer<T>> {
        // SAFETY: the elements are set immediately.
        let mut buffer = unsafe { self.uninitialized(len)? };
        buffer.set_zero()?;
        Ok(buffer)
    }

    /// Allocates a buffer of `len` uninitialized elements from the pool.
    ///
    /// # Errors
    ///
    /// Returns [`Error::AllocationTooLarge`] and [`Error::Alignment`] for sizes and types that
    /// cannot be allocated, and the driver's error if it is out of memory.
    ///
    /// [`Error::AllocationTooLarge`]: crate::error::Error::AllocationTooLarge
    /// [`Error::Alignment`]: crate::error::Error::Alignment
    ///
    /// # Safety
    ///
    /// The elements must be written before they are read as `T`.
    pub unsafe fn uninitialized<T: DeviceCopy>(&self, len: usize) -> CudaResult<DeviceBuffer<T>> {
        let bytes = byte_size::<T>(len)?;
        let context = &self.inner.context;
        let address = match bytes {
            0 => 0,
            bytes => allocate_from(context, self.inner.raw, bytes, || {
                let elements = elements_text::<T>(len);
                format!("allocating a buffer of {elements} ({bytes} bytes) in a pool")
            })?,
        };
        Ok(DeviceBuffer::of_pool(context.clone(), address, len))
    }

    /// Returns an attribute of the pool.
    ///
    /// # Errors
    ///
    /// Returns the driver's error for an attribute that it does not know.
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::memory::{MemoryPool, PoolAttribute};
    /// use cust::prelude::*;
    ///
    /// let _context = cust::quick_init_on(Backend::Emulator)?;
    /// let pool = MemoryPool::new()?;
    /// let buffer = pool.zeroed::<u32>(1000)?;
    /// assert!(pool.get_attribute(PoolAttribute::UsedMemCurrent)? >= 4000);
    /// drop(buffer);
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub fn get_attribute(&self, attribute: PoolAttribute) -> CudaResult<u64> {
        let api = self.inner.context.bind()?;
        let mut value = 0u64;
        let pointer: *mut c_void = (&raw mut value).cast();
        // SAFETY: all attributes of the enum are 64-bit integers.
        let result = unsafe {
            api.driver
                .cuMemPoolGetAttribute(self.inner.raw, attribute.raw(), pointer)
        };
        api.check(result, || format!("querying {attribute:?} of a pool"))?;
        Ok(value)
    }

    /// Sets an attribute of the pool.
    ///
    /// # Errors
    ///
    /// Returns the driver's error for a read-only attribute, or for a high watermark that is set to
    /// another value than 0.
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::memory::{MemoryPool, PoolAttribute};
    /// use cust::prelude::*;
    ///
    /// let _context = cust::quick_init_on(Backend::Emulator)?;
    /// let pool = MemoryPool::new()?;
    /// // Keep up to 64 MiB of freed memory for later buffers.
    /// pool.set_attribute(PoolAttribute::ReleaseThreshold, 64 << 20)?;
    /// assert_eq!(pool.get_attribute(PoolAttribute::ReleaseThreshold)?, 64 << 20);
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub fn set_attribute(&self, attribute: PoolAttribute, mut value: u64) -> CudaResult<()> {
        let api = self.inner.context.bind()?;
        let pointer: *mut c_void = (&raw mut value).cast();
        // SAFETY: as above.
        let result = unsafe {
            api.driver
                .cuMemPoolSetAttribute(self.inner.raw, attribute.raw(), pointer)
        };
        api.check(result, || {
            format!("setting {attribute:?} of a pool to {value}")
        })
    }

    /// Releases unused memory to the system, except for `keep` bytes.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if the context was reset or lost.
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::memory::MemoryPool;
    /// use cust::prelude::*;
    ///
    /// let _context = cust::quick_init_on(Backend::Emulator)?;
    /// let pool = MemoryPool::new()?;
    /// drop(pool.zeroed::<u8>(1 << 20)?);
    /// pool.trim_to(0)?; // returns the freed memory to the system
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub fn trim_to(&self, keep: usize) -> CudaResult<()> {
        let api = self.inner.context.bind()?;
        // SAFETY: the pool is alive.
        let result = unsafe { api.driver.cuMemPoolTrimTo(self.inner.raw, keep) };
        api.check(result, || "trimming a memory pool".to_owned())
    }

    /// Returns the driver's handle.
    pub fn as_raw(&self) -> CUmemoryPool {
        self.inner.raw
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // An error means that the context is gone, and the pool with it.
        if let Ok(api) = self.context.bind() {
            // SAFETY: created once, destroyed once; memory in use stays valid until it is freed.
            let _ = unsafe { api.driver.cuMemPoolDestroy(self.raw) };
        }
    }
}

impl std::fmt::Debug for MemoryPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "MemoryPool({:p})", self.inner.raw)
    }
}
