//! Memory and semaphores of other interfaces, such as Vulkan, by file descriptors.

use std::os::fd::{IntoRawFd, OwnedFd};

use cust_raw::{
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC, CUDA_EXTERNAL_MEMORY_HANDLE_DESC,
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC, CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS,
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS, CUdeviceptr, CUexternalMemory, CUexternalMemoryHandleType,
    CUexternalSemaphore, CUexternalSemaphoreHandleType,
};

use crate::context::Context;
use crate::error::{CudaResult, Error};
use crate::memory::{DeviceCopy, DevicePointer};
use crate::stream::Stream;

/// Memory that another interface allocated.
#[derive(Debug)]
pub struct ExternalMemory {
    raw: CUexternalMemory,
    context: Context,
    size: u64,
}

// SAFETY: the driver's handles may be used from any thread.
unsafe impl Send for ExternalMemory {}
// SAFETY: as above.
unsafe impl Sync for ExternalMemory {}

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
        // The driver owns the descriptor if it takes it.
        let fd = fd.into_raw_fd();
        description.handle.fd = fd;
        let mut raw = std::ptr::null_mut();
        // SAFETY: the pointers are valid for the call; the descriptor is as the caller promises.
        let result = unsafe { api.driver.cuImportExternalMemory(&mut raw, &description) };
        let imported = api.check(result, || format!("importing {size} bytes of memory"));
        if let Err(error) = imported {
            // SAFETY: the driver did not take it.
            drop(unsafe { <OwnedFd as std::os::fd::FromRawFd>::from_raw_fd(fd) });
            return Err(error);
        }
        Ok(ExternalMemory { raw, context, size })
    }

    /// The memory from `offset` bytes on as elements of the device's, good as long as this lives.
    pub fn map<T: DeviceCopy>(&self, offset: u64, len: usize) -> CudaResult<MappedMemory<'_, T>> {
        let bytes = (len as u64).checked_mul(size_of::<T>() as u64);
        let end = bytes.and_then(|bytes| bytes.checked_add(offset));
        let (Some(bytes), true) = (bytes, end.is_some_and(|end| end <= self.size)) else {
            return Err(Error::OutOfBounds {
                start: offset as usize,
                end: end.unwrap_or(u64::MAX) as usize,
                len: self.size as usize,
            });
        };
        let api = self.context.bind()?;
        // SAFETY: zeros are valid for these plain numbers.
        let mut description: CUDA_EXTERNAL_MEMORY_BUFFER_DESC = unsafe { std::mem::zeroed() };
        (description.offset, description.size) = (offset, bytes);
        let mut address = 0;
        // SAFETY: the memory is alive, and the pointers are valid for the call.
        let result = unsafe {
            api.driver
                .cuExternalMemoryGetMappedBuffer(&mut address, self.raw, &description)
        };
        api.check(result, || {
            format!("mapping {bytes} bytes of external memory")
        })?;
        Ok(MappedMemory {
            memory: self,
            address,
            len,
            elements: std::marker::PhantomData,
        })
    }
}

impl Drop for ExternalMemory {
    fn drop(&mut self) {
        // An error means that the context is gone, and the handle with it.
        if let Ok(api) = self.context.bind() {
            // SAFETY: imported once, destroyed once; what was mapped borrowed it.
            let _ = unsafe { api.driver.cuDestroyExternalMemory(self.raw) };
        }
    }
}

/// A part of [`ExternalMemory`], mapped. Who accesses it when is agreed upon with the other
/// interface, usually by an [`ExternalSemaphore`].
#[derive(Debug)]
pub struct MappedMemory<'a, T> {
    memory: &'a ExternalMemory,
    address: CUdeviceptr,
    len: usize,
    elements: std::marker::PhantomData<*mut T>,
}

impl<T: DeviceCopy> MappedMemory<'_, T> {
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

impl<T> Drop for MappedMemory<'_, T> {
    fn drop(&mut self) {
        if let Ok(api) = self.memory.context.bind() {
            // SAFETY: mapped once, freed once, as `cuda.h` asks for mapped buffers.
            let _ = unsafe { api.driver.cuMemFree_v2(self.address) };
        }
    }
}

/// A semaphore of another interface.
#[derive(Debug)]
pub struct ExternalSemaphore {
    raw: CUexternalSemaphore,
    context: Context,
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
        let fd = fd.into_raw_fd();
        description.handle.fd = fd;
        let mut raw = std::ptr::null_mut();
        // SAFETY: the pointers are valid for the call; the descriptor is as the caller promises.
        let result = unsafe { api.driver.cuImportExternalSemaphore(&mut raw, &description) };
        let imported = api.check(result, || "importing an external semaphore".to_owned());
        if let Err(error) = imported {
            // SAFETY: the driver did not take it.
            drop(unsafe { <OwnedFd as std::os::fd::FromRawFd>::from_raw_fd(fd) });
            return Err(error);
        }
        Ok(ExternalSemaphore { raw, context })
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
        let doing = || "putting signalling of an external semaphore into a stream".to_owned();
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
        api.check(result, doing)
    }

    /// Lets the work put into a stream from now on wait for it, until it has the value if it
    /// counts.
    pub fn wait(&self, value: u64, stream: &Stream) -> CudaResult<()> {
        let doing = || "letting a stream wait for an external semaphore".to_owned();
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
        api.check(result, doing)
    }
}

impl Drop for ExternalSemaphore {
    fn drop(&mut self) {
        // An error means that the context is gone, and the handle with it.
        if let Ok(api) = self.context.bind() {
            // SAFETY: imported once, destroyed once.
            let _ = unsafe { api.driver.cuDestroyExternalSemaphore(self.raw) };
        }
    }
}
