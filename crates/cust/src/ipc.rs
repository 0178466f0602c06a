//! Memory and events of other processes, on Linux. The emulator has no other process to share with.

use cust_raw::{CUdeviceptr, CUipcEventHandle, CUipcMem_flags, CUipcMemHandle};

use crate::context::Context;
use crate::error::CudaResult;
use crate::event::Event;
use crate::memory::{DeviceCopy, DevicePointer};

/// Names memory of a process to others: 64 bytes to send them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IpcMemory(pub [u8; 64]);

/// Names an event of a process to others: 64 bytes to send them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IpcEvent(pub [u8; 64]);

/// The name of memory that [`cuda_malloc`](crate::memory::cuda_malloc) allocated; that of a
/// `DeviceBuffer` is a pool's, and cannot be shared so.
pub fn share_memory<T>(pointer: DevicePointer<T>) -> CudaResult<IpcMemory> {
    let api = Context::current("sharing memory with other processes")?.bind()?;
    // SAFETY: zeros are valid for these plain bytes.
    let mut handle: CUipcMemHandle = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is valid for the call; an address that is none is an error.
    let result = unsafe { api.driver.cuIpcGetMemHandle(&mut handle, pointer.as_raw()) };
    api.check(result, || format!("sharing the memory at {pointer:?}"))?;
    Ok(IpcMemory(handle.reserved.map(|byte| byte as u8)))
}

/// The name of an event that was made with
/// [`EventFlags::INTERPROCESS`](crate::event::EventFlags::INTERPROCESS).
pub fn share_event(event: &Event) -> CudaResult<IpcEvent> {
    let api = event.context().bind()?;
    // SAFETY: zeros are valid for these plain bytes.
    let mut handle: CUipcEventHandle = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is valid for the call, and the event is alive.
    let result = unsafe { api.driver.cuIpcGetEventHandle(&mut handle, event.as_raw()) };
    api.check(result, || "sharing an event".to_owned())?;
    Ok(IpcEvent(handle.reserved.map(|byte| byte as u8)))
}

/// An event of another process.
pub fn open_event(name: IpcEvent) -> CudaResult<Event> {
    let context = Context::current("opening an event of another process")?;
    let api = context.bind()?;
    let handle = CUipcEventHandle {
        reserved: name.0.map(|byte| byte as std::ffi::c_char),
    };
    let mut raw = std::ptr::null_mut();
    // SAFETY: the pointer is valid for the call; a name that is none is an error.
    let result = unsafe { api.driver.cuIpcOpenEventHandle(&mut raw, handle) };
    api.check(result, || "opening an event of another process".to_owned())?;
    Ok(Event::of_raw(raw, context, true))
}

/// Memory of another process.
#[derive(Debug)]
pub struct OpenedMemory<T> {
    address: CUdeviceptr,
    context: Context,
    elements: std::marker::PhantomData<*mut T>,
}

impl<T: DeviceCopy> OpenedMemory<T> {
    /// Opens it.
    ///
    /// # Safety
    ///
    /// The other process keeps the memory as long as this lives, and both agree on what is in it
    /// and who accesses it when.
    pub unsafe fn open(name: IpcMemory) -> CudaResult<OpenedMemory<T>> {
        let context = Context::current("opening memory of another process")?;
        let api = context.bind()?;
        let handle = CUipcMemHandle {
            reserved: name.0.map(|byte| byte as std::ffi::c_char),
        };
        let flags = CUipcMem_flags::CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS.0;
        let mut address = 0;
        // SAFETY: the pointer is valid for the call; a name that is none is an error.
        let result = unsafe {
            api.driver
                .cuIpcOpenMemHandle_v2(&mut address, handle, flags)
        };
        api.check(result, || "opening memory of another process".to_owned())?;
        Ok(OpenedMemory {
            address,
            context,
            elements: std::marker::PhantomData,
        })
    }

    /// Its address, as kernels take it.
    pub fn as_device_ptr(&self) -> DevicePointer<T> {
        DevicePointer::from_raw(self.address)
    }
}

impl<T> Drop for OpenedMemory<T> {
    fn drop(&mut self) {
        // An error means that the context is gone, and the mapping with it.
        if let Ok(api) = self.context.bind() {
            // SAFETY: opened once, closed once.
            let _ = unsafe { api.driver.cuIpcCloseMemHandle(self.address) };
        }
    }
}
