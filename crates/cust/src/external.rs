//! External resource interoperability: importing memory and semaphores of other APIs, such as
//! Vulkan, through file descriptors.
//!
//! The other API allocates exportable memory, and CUDA maps it as a buffer or as an array. Exported
//! semaphores synchronize the two APIs: a stream waits for a semaphore that the other API signals,
//! and signals a semaphore that the other API waits for. `tests/interop` is an example with Vulkan.
//!
//! # Examples
//!
//! ```no_run
//! use std::os::fd::OwnedFd;
//!
//! use cust::external::{ExternalMemory, ExternalSemaphore};
//! use cust::prelude::*;
//!
//! fn work(memory: OwnedFd, semaphore: OwnedFd) -> CudaResult<()> {
//!     let _context = cust::quick_init()?;
//!     let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
//!     // SAFETY: the other API exported 4096 bytes of memory and a timeline semaphore.
//!     let (memory, semaphore) = unsafe {
//!         (
//!             ExternalMemory::from_fd(memory, 4096, false)?,
//!             ExternalSemaphore::from_fd(semaphore, true)?,
//!         )
//!     };
//!     let elements = memory.map::<f32>(0, 1024)?;
//!     semaphore.wait(1, &stream)?; // until the other API has written the memory
//!     // … launches that use `elements.as_device_ptr()` …
//!     semaphore.signal(2, &stream)?;
//!     stream.synchronize()
//! }
//! ```

use std::os::fd::{IntoRawFd, OwnedFd};
use std::sync::{Arc, Mutex};

use cust_raw::{
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC, CUDA_EXTERNAL_MEMORY_HANDLE_DESC,
    CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC, CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC,
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS, CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS, CUdeviceptr,
    CUexternalMemory, CUexternalMemoryHandleType, CUexternalSemaphore,
    CUexternalSemaphoreHandleType,
};

use crate::context::Context;
use crate::error::{CudaResult, Error};
use crate::event::{Event, EventFlags, EventStatus};
use crate::memory::{
    ArrayElement, ArrayFlags, DeviceCopy, DevicePointer, Extent, MipmappedArray, array_description,
    check_levels,
};
use crate::stream::Stream;

/// Memory that another API allocated. Mappings keep it alive.
#[derive(Debug)]
pub struct ExternalMemory {
    imported: Arc<Imported>,
}

#[derive(Debug)]
struct Imported {
    raw: CUexternalMemory,
    context: Context,
    size: u64,
}

// SAFETY: the driver's handles may be used from any thread.
unsafe impl Send for Imported {}
// SAFETY: as above.
unsafe impl Sync for Imported {}

impl ExternalMemory {
    /// Imports `size` bytes of memory that another API exported as an opaque file descriptor.
    ///
    /// `dedicated` states whether the memory is a dedicated allocation of one resource.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if it cannot import the memory.
    ///
    /// # Safety
    ///
    /// The descriptor must refer to exported memory of this size.
    pub unsafe fn from_fd(fd: OwnedFd, size: u64, dedicated: bool) -> CudaResult<ExternalMemory> {
        let context = Context::current("importing external memory")?;
        let api = context.bind()?;
        // SAFETY: all-zero bytes are valid for these integers and pointers.
        let mut description: CUDA_EXTERNAL_MEMORY_HANDLE_DESC = unsafe { std::mem::zeroed() };
        description.type_ = CUexternalMemoryHandleType::CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
        description.size = size;
        description.flags = u32::from(dedicated) * cust_raw::CUDA_EXTERNAL_MEMORY_DEDICATED;
        // On success, the driver owns the descriptor. On failure, `cuda.h` leaves it to the caller,
        // but drivers of series 580 close it anyway, so leak it rather than close it twice.
        description.handle.fd = fd.into_raw_fd();
        let mut raw = std::ptr::null_mut();
        // SAFETY: the pointers are valid for the call; the descriptor is as the caller promises.
        let result = unsafe { api.driver.cuImportExternalMemory(&mut raw, &description) };
        api.check(result, || format!("importing {size} bytes of memory"))?;
        let imported = Arc::new(Imported { raw, context, size });
        Ok(ExternalMemory { imported })
    }

    /// Maps `len` elements, starting at `offset` bytes, as device memory.
    ///
    /// # Errors
    ///
    /// Returns [`Error::OutOfBounds`] if the range is not inside the memory, and the driver's error
    /// if it cannot map the memory.
    pub fn map<T: DeviceCopy>(&self, offset: u64, len: usize) -> CudaResult<MappedMemory<T>> {
        let memory = &self.imported;
        let bytes = (len as u64).checked_mul(size_of::<T>() as u64);
        let end = bytes.and_then(|bytes| bytes.checked_add(offset));
        let (Some(bytes), true) = (bytes, end.is_some_and(|end| end <= memory.size)) else {
            return Err(Error::OutOfBounds {
                start: offset as usize,
                end: end.unwrap_or(u64::MAX) as usize,
                len: memory.size as usize,
            });
        };
        let api = memory.context.bind()?;
        // SAFETY: all-zero bytes are valid for these integers.
        let mut description: CUDA_EXTERNAL_MEMORY_BUFFER_DESC = unsafe { std::mem::zeroed() };
        (description.offset, description.size) = (offset, bytes);
        let mut address = 0;
        // SAFETY: the memory is alive, and the pointers are valid for the call.
        let result = unsafe {
            api.driver
                .cuExternalMemoryGetMappedBuffer(&mut address, memory.raw, &description)
        };
        api.check(result, || {
            format!("mapping {bytes} bytes of external memory")
        })?;
        Ok(MappedMemory {
            memory: Arc::clone(memory),
            address,
            len,
            elements: std::marker::PhantomData,
        })
    }

    /// Maps an image of the other API at `offset` bytes as a mipmapped array. An image without mip
    /// levels has one level.
    ///
    /// # Errors
    ///
    /// Returns the driver's error, for example if the array does not fit into the memory.
    ///
    /// # Safety
    ///
    /// The memory must contain an image with this extent, number of mip levels and element type, in
    /// the device's optimal layout (`VK_IMAGE_TILING_OPTIMAL` in Vulkan). Accesses must be
    /// synchronized with the other API.
    pub unsafe fn map_array<T: ArrayElement>(
        &self,
        offset: u64,
        extent: impl Into<Extent>,
        levels: u32,
        flags: ArrayFlags,
    ) -> CudaResult<MipmappedArray<T>> {
        let (memory, extent) = (&self.imported, extent.into());
        let api = memory.context.bind()?;
        // SAFETY: all-zero bytes are valid for these integers.
        let mut description: CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC =
            unsafe { std::mem::zeroed() };
        description.offset = offset;
        description.arrayDesc = array_description::<T>(extent, flags)?;
        check_levels(extent, levels)?;
        description.numLevels = levels;
        let mut handle = std::ptr::null_mut();
        // SAFETY: the memory is alive, and the pointers are valid for the call.
        let result = unsafe {
            let map = api.driver.cuExternalMemoryGetMappedMipmappedArray;
            map(&mut handle, memory.raw, &description)
        };
        api.check(result, || {
            format!("mapping an array of {extent:?} with {levels} levels in external memory")
        })?;
        let keep: Arc<dyn Send + Sync> = memory.clone();
        MipmappedArray::of_raw(memory.context.clone(), handle, extent, levels, flags, keep)
    }
}

impl Drop for Imported {
    fn drop(&mut self) {
        // An error means that the context is gone, and the handle with it.
        if let Ok(api) = self.context.bind() {
            // SAFETY: imported once, destroyed once; all mappings are dropped, since they keep it
            // alive.
            let _ = unsafe { api.driver.cuDestroyExternalMemory(self.raw) };
        }
    }
}

/// A mapping of [`ExternalMemory`]. Accesses must be synchronized with the other API, usually with
/// an [`ExternalSemaphore`].
#[derive(Debug)]
pub struct MappedMemory<T> {
    memory: Arc<Imported>,
    address: CUdeviceptr,
    len: usize,
    elements: std::marker::PhantomData<*mut T>,
}

impl<T: DeviceCopy> MappedMemory<T> {
    /// Returns the address of the first element, for kernel arguments.
    pub fn as_device_ptr(&self) -> DevicePointer<T> {
        DevicePointer::from_raw(self.address)
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether the mapping has no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl<T> Drop for MappedMemory<T> {
    fn drop(&mut self) {
        if let Ok(api) = self.memory.context.bind() {
            // SAFETY: mapped once, freed once; `cuda.h` requires freeing mapped buffers.
            let _ = unsafe { api.driver.cuMemFree_v2(self.address) };
        }
    }
}

/// A semaphore of another API.
///
/// If a semaphore is dropped while a pending signal or wait uses it, the driver keeps it until the
/// context is destroyed.
#[derive(Debug)]
pub struct ExternalSemaphore {
    raw: CUexternalSemaphore,
    context: Context,
    /// For each use that may be pending, an event recorded after it; `None` if no event could be
    /// recorded.
    uses: Mutex<Vec<Option<Event>>>,
}

// SAFETY: the driver's handles may be used from any thread.
unsafe impl Send for ExternalSemaphore {}
// SAFETY: as above.
unsafe impl Sync for ExternalSemaphore {}

impl ExternalSemaphore {
    /// Imports a semaphore that another API exported as an opaque file descriptor.
    ///
    /// `timeline` states whether it is a timeline semaphore.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if it cannot import the semaphore.
    ///
    /// # Safety
    ///
    /// The descriptor must refer to an exported semaphore of this kind.
    pub unsafe fn from_fd(fd: OwnedFd, timeline: bool) -> CudaResult<ExternalSemaphore> {
        use CUexternalSemaphoreHandleType as Type;
        let context = Context::current("importing an external semaphore")?;
        let api = context.bind()?;
        // SAFETY: all-zero bytes are valid for these integers and pointers.
        let mut description: CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC = unsafe { std::mem::zeroed() };
        description.type_ = if timeline {
            Type::CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD
        } else {
            Type::CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD
        };
        // On failure, the descriptor is leaked, as in `ExternalMemory::from_fd`.
        description.handle.fd = fd.into_raw_fd();
        let mut raw = std::ptr::null_mut();
        // SAFETY: the pointers are valid for the call; the descriptor is as the caller promises.
        let result = unsafe { api.driver.cuImportExternalSemaphore(&mut raw, &description) };
        api.check(result, || "importing an external semaphore".to_owned())?;
        Ok(ExternalSemaphore {
            raw,
            context,
            uses: Mutex::default(),
        })
    }

    /// Returns the driver's handle.
    pub fn as_raw(&self) -> CUexternalSemaphore {
        self.raw
    }

    pub(crate) fn context(&self) -> &Context {
        &self.context
    }

    /// Enqueues a signal of the semaphore into a stream. For a timeline semaphore, `value` is the
    /// new value.
    ///
    /// # Errors
    ///
    /// Returns [`Error::WrongContext`] if the stream belongs to another context.
    pub fn signal(&self, value: u64, stream: &Stream) -> CudaResult<()> {
        let doing = || "enqueuing a signal of an external semaphore".to_owned();
        self.context.require_same(stream.context(), doing)?;
        let api = self.context.bind()?;
        // SAFETY: all-zero bytes are valid for these integers and pointers.
        let mut signal: CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS = unsafe { std::mem::zeroed() };
        signal.params.fence.value = value;
        // SAFETY: both are alive, and the lists of one live through the call.
        let result = unsafe {
            api.driver
                .cuSignalExternalSemaphoresAsync(&self.raw, &signal, 1, stream.as_inner())
        };
        self.used(stream);
        api.check(result, doing)
    }

    /// Makes later work in a stream wait for the semaphore. For a timeline semaphore, the stream
    /// waits until the semaphore has at least the value `value`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::WrongContext`] if the stream belongs to another context.
    pub fn wait(&self, value: u64, stream: &Stream) -> CudaResult<()> {
        let doing = || "making a stream wait for an external semaphore".to_owned();
        self.context.require_same(stream.context(), doing)?;
        let api = self.context.bind()?;
        // SAFETY: all-zero bytes are valid for these integers and pointers.
        let mut wait: CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS = unsafe { std::mem::zeroed() };
        wait.params.fence.value = value;
        // SAFETY: both are alive, and the lists of one live through the call.
        let result = unsafe {
            api.driver
                .cuWaitExternalSemaphoresAsync(&self.raw, &wait, 1, stream.as_inner())
        };
        self.used(stream);
        api.check(result, doing)
    }

    /// Records that pending work in the stream uses the semaphore.
    fn used(&self, stream: &Stream) {
        let mut uses = self.uses.lock().unwrap_or_else(|e| e.into_inner());
        uses.retain(in_use);
        let mark = || {
            let event = Event::new_in(self.context.clone(), EventFlags::DISABLE_TIMING)?;
            event.record(stream)?;
            CudaResult::Ok(event)
        };
        uses.push(mark().ok());
    }
}

/// Returns whether the use before the event may be pending. Without an event, as for a use captured
/// into a graph, it may be pending at any time.
fn in_use(mark: &Option<Event>) -> bool {
    !matches!(
        mark.as_ref().map(Event::query),
        Some(Ok(EventStatus::Ready))
    )
}

impl Drop for ExternalSemaphore {
    fn drop(&mut self) {
        let uses = self.uses.get_mut().unwrap_or_else(|e| e.into_inner());
        // The driver requires that all uses are complete. Waiting for them could block forever.
        if uses.iter().any(in_use) {
            return;
        }
        // An error means that the context is gone, and the handle with it.
        if let Ok(api) = self.context.bind() {
            // SAFETY: imported once, destroyed once.
            let _ = unsafe { api.driver.cuDestroyExternalSemaphore(self.raw) };
        }
    }
}
