//! Memory and semaphores of other interfaces, such as Vulkan, by file descriptors.
//!
//! The other interface allocates memory that may be exported, and CUDA maps it, as a buffer or as
//! an array. Semaphores, exported likewise, order what both do with it: a stream waits for one that
//! the other interface signals, and signals one that the other waits for. `tests/interop` shows it
//! with Vulkan.

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
};
use crate::stream::Stream;

/// Memory that another interface allocated. What is mapped of it keeps it.
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
    /// Imports memory of `size` bytes, which another interface exported as an opaque file
    /// descriptor. `dedicated` says whether the memory is dedicated to one resource there.
    ///
    /// # Safety
    ///
    /// The descriptor is of such memory, of that size.
    pub unsafe fn from_fd(fd: OwnedFd, size: u64, dedicated: bool) -> CudaResult<ExternalMemory> {
        let context = Context::current("importing external memory")?;
        let api = context.bind()?;
        // SAFETY: zeros are valid for these plain numbers and pointers.
        let mut description: CUDA_EXTERNAL_MEMORY_HANDLE_DESC = unsafe { std::mem::zeroed() };
        description.type_ = CUexternalMemoryHandleType::CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
        description.size = size;
        description.flags = u32::from(dedicated) * cust_raw::CUDA_EXTERNAL_MEMORY_DEDICATED;
        // The driver owns the descriptor if it takes it. If it does not, `cuda.h` leaves it to the
        // caller, but a driver of series 580 closes it all the same: so nobody closes it then.
        description.handle.fd = fd.into_raw_fd();
        let mut raw = std::ptr::null_mut();
        // SAFETY: the pointers are valid for the call; the descriptor is as the caller promises.
        let result = unsafe { api.driver.cuImportExternalMemory(&mut raw, &description) };
        api.check(result, || format!("importing {size} bytes of memory"))?;
        let imported = Arc::new(Imported { raw, context, size });
        Ok(ExternalMemory { imported })
    }

    /// The memory from `offset` bytes on as elements of the device's.
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
        // SAFETY: zeros are valid for these plain numbers.
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

    /// The memory from `offset` bytes on as an array with levels: an image of the other interface.
    /// One without smaller images has one level.
    ///
    /// # Errors
    ///
    /// The driver's, for instance for an array that does not fit into the memory.
    ///
    /// # Safety
    ///
    /// There is such an image in the memory: of this extent, with so many levels, of elements of
    /// this type, laid out as the device likes best (in Vulkan `OPTIMAL` tiling). Who accesses it
    /// when is agreed upon with the other interface.
    pub unsafe fn map_array<T: ArrayElement>(
        &self,
        offset: u64,
        extent: impl Into<Extent>,
        levels: u32,
        flags: ArrayFlags,
    ) -> CudaResult<MipmappedArray<T>> {
        let (memory, extent) = (&self.imported, extent.into());
        let api = memory.context.bind()?;
        // SAFETY: zeros are valid for these plain numbers.
        let mut description: CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC =
            unsafe { std::mem::zeroed() };
        description.offset = offset;
        description.arrayDesc = array_description::<T>(extent, flags);
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
            // SAFETY: imported once, destroyed once; what was mapped has kept it until now.
            let _ = unsafe { api.driver.cuDestroyExternalMemory(self.raw) };
        }
    }
}

/// A part of [`ExternalMemory`], mapped. Who accesses it when is agreed upon with the other
/// interface, usually by an [`ExternalSemaphore`].
#[derive(Debug)]
pub struct MappedMemory<T> {
    memory: Arc<Imported>,
    address: CUdeviceptr,
    len: usize,
    elements: std::marker::PhantomData<*mut T>,
}

impl<T: DeviceCopy> MappedMemory<T> {
    /// Its address, as kernels take it.
    pub fn as_device_ptr(&self) -> DevicePointer<T> {
        DevicePointer::from_raw(self.address)
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl<T> Drop for MappedMemory<T> {
    fn drop(&mut self) {
        if let Ok(api) = self.memory.context.bind() {
            // SAFETY: mapped once, freed once, as `cuda.h` asks for mapped buffers.
            let _ = unsafe { api.driver.cuMemFree_v2(self.address) };
        }
    }
}

/// A semaphore of another interface.
///
/// One that is dropped while a stream has still to signal it or to wait for it stays with the
/// driver until the context ends.
#[derive(Debug)]
pub struct ExternalSemaphore {
    raw: CUexternalSemaphore,
    context: Context,
    /// For each use that may not be over an event behind it; `None` where there could be none.
    uses: Mutex<Vec<Option<Event>>>,
}

// SAFETY: the driver's handles may be used from any thread.
unsafe impl Send for ExternalSemaphore {}
// SAFETY: as above.
unsafe impl Sync for ExternalSemaphore {}

impl ExternalSemaphore {
    /// Imports a semaphore, which another interface exported as an opaque file descriptor;
    /// `timeline` says whether it counts.
    ///
    /// # Safety
    ///
    /// The descriptor is of such a semaphore.
    pub unsafe fn from_fd(fd: OwnedFd, timeline: bool) -> CudaResult<ExternalSemaphore> {
        use CUexternalSemaphoreHandleType as Type;
        let context = Context::current("importing an external semaphore")?;
        let api = context.bind()?;
        // SAFETY: zeros are valid for these plain numbers and pointers.
        let mut description: CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC = unsafe { std::mem::zeroed() };
        description.type_ = if timeline {
            Type::CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD
        } else {
            Type::CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD
        };
        // As for memory.
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

    /// The driver's handle.
    pub fn as_raw(&self) -> CUexternalSemaphore {
        self.raw
    }

    pub(crate) fn context(&self) -> &Context {
        &self.context
    }

    /// Puts signalling it, with a value if it counts, into a stream.
    pub fn signal(&self, value: u64, stream: &Stream) -> CudaResult<()> {
        let doing = || "enqueuing a signal of an external semaphore".to_owned();
        self.context.require_same(stream.context(), doing)?;
        let api = self.context.bind()?;
        // SAFETY: zeros are valid for these plain numbers and pointers.
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

    /// Lets the work put into a stream from now on wait for it, until it has the value if it
    /// counts.
    pub fn wait(&self, value: u64, stream: &Stream) -> CudaResult<()> {
        let doing = || "making a stream wait for an external semaphore".to_owned();
        self.context.require_same(stream.context(), doing)?;
        let api = self.context.bind()?;
        // SAFETY: zeros are valid for these plain numbers and pointers.
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

    /// Notes that the stream uses it.
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

/// Whether what comes before the event may not be over. A graph that is being captured may use it
/// at any time.
fn in_use(mark: &Option<Event>) -> bool {
    !matches!(
        mark.as_ref().map(Event::query),
        Some(Ok(EventStatus::Ready))
    )
}

impl Drop for ExternalSemaphore {
    fn drop(&mut self) {
        let uses = self.uses.get_mut().unwrap_or_else(|e| e.into_inner());
        // The driver wants all uses to be over, and one may wait for what never comes.
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
