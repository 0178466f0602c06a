//! Inter-process communication: sharing device memory and events with other processes, on Linux.
//! The emulator does not support it.
//!
//! # Examples
//!
//! ```no_run
//! use cust::ipc::{IpcMemory, OpenedMemory, share_memory};
//! use cust::memory::cuda_malloc;
//! use cust::prelude::*;
//!
//! # fn send(_: [u8; 64]) {}
//! # fn receive() -> [u8; 64] { [0; 64] }
//! // In one process:
//! let _context = cust::quick_init()?;
//! // SAFETY: the memory is written before it is read.
//! let memory = unsafe { cuda_malloc::<u32>(1000)? };
//! send(share_memory(memory)?.0);
//!
//! // In another process:
//! let _context = cust::quick_init()?;
//! // SAFETY: the first process keeps the memory, which holds `u32`s, and the accesses of both
//! // processes are synchronized.
//! let memory = unsafe { OpenedMemory::<u32>::open(IpcMemory(receive()))? };
//! let address = memory.as_device_ptr(); // for kernel arguments
//! # Ok::<(), cust::error::Error>(())
//! ```

use cust_raw::{CUdeviceptr, CUipcEventHandle, CUipcMem_flags, CUipcMemHandle};

use crate::context::Context;
use crate::error::CudaResult;
use crate::event::Event;
use crate::memory::{DeviceCopy, DevicePointer};

/// An IPC handle of device memory, to be sent to another process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IpcMemory(pub [u8; 64]);

/// An IPC handle of an event, to be sent to another process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IpcEvent(pub [u8; 64]);

/// Returns an IPC handle of memory allocated by [`cuda_malloc`](crate::memory::cuda_malloc).
///
/// The memory of a `DeviceBuffer` comes from a memory pool and cannot be shared this way.
///
/// # Errors
///
/// Returns the driver's error if the memory cannot be shared.
pub fn share_memory<T>(pointer: DevicePointer<T>) -> CudaResult<IpcMemory> {
    let api = Context::current("sharing memory with other processes")?.bind()?;
    // SAFETY: all-zero bytes are valid for a byte array.
    let mut handle: CUipcMemHandle = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is valid for the call; the driver rejects invalid addresses.
    let result = unsafe { api.driver.cuIpcGetMemHandle(&mut handle, pointer.as_raw()) };
    api.check(result, || format!("sharing the memory at {pointer:?}"))?;
    Ok(IpcMemory(handle.reserved.map(|byte| byte as u8)))
}

/// Returns an IPC handle of an event that was created with
/// [`EventFlags::INTERPROCESS`](crate::event::EventFlags::INTERPROCESS).
///
/// # Errors
///
/// Returns the driver's error if the event cannot be shared.
pub fn share_event(event: &Event) -> CudaResult<IpcEvent> {
    let api = event.context().bind()?;
    // SAFETY: all-zero bytes are valid for a byte array.
    let mut handle: CUipcEventHandle = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is valid for the call, and the event is alive.
    let result = unsafe { api.driver.cuIpcGetEventHandle(&mut handle, event.as_raw()) };
    api.check(result, || "sharing an event".to_owned())?;
    Ok(IpcEvent(handle.reserved.map(|byte| byte as u8)))
}

/// Opens an event of another process in the current context.
///
/// # Errors
///
/// Returns the driver's error if the handle is invalid.
///
/// # Safety
///
/// [`share_event`] must have returned the handle in another process, which must not destroy its
/// event as long as this one exists: the driver does not check it.
///
/// ```compile_fail,E0133
/// use cust::ipc::{IpcEvent, open_event};
///
/// let event = open_event(IpcEvent([0; 64]));
/// ```
pub unsafe fn open_event(name: IpcEvent) -> CudaResult<Event> {
    let context = Context::current("opening an event of another process")?;
    let api = context.bind()?;
    let handle = CUipcEventHandle {
        reserved: name.0.map(|byte| byte as std::ffi::c_char),
    };
    let mut raw = std::ptr::null_mut();
    // SAFETY: the pointer is valid for the call; the driver rejects invalid handles.
    let result = unsafe { api.driver.cuIpcOpenEventHandle(&mut raw, handle) };
    api.check(result, || "opening an event of another process".to_owned())?;
    Ok(Event::of_raw(raw, context, true))
}

/// Device memory of another process, mapped into this one. Dropping it closes the mapping.
#[derive(Debug)]
pub struct OpenedMemory<T> {
    address: CUdeviceptr,
    context: Context,
    elements: std::marker::PhantomData<*mut T>,
}

impl<T: DeviceCopy> OpenedMemory<T> {
    /// Opens memory of another process in the current context.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if the handle is invalid.
    ///
    /// # Safety
    ///
    /// The other process must not free the memory while the `OpenedMemory` exists, the memory must
    /// hold values of type `T`, and the processes must synchronize their accesses.
    pub unsafe fn open(name: IpcMemory) -> CudaResult<OpenedMemory<T>> {
        let context = Context::current("opening memory of another process")?;
        let api = context.bind()?;
        let handle = CUipcMemHandle {
            reserved: name.0.map(|byte| byte as std::ffi::c_char),
        };
        let flags = CUipcMem_flags::CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS.0;
        let mut address = 0;
        // SAFETY: the pointer is valid for the call; the driver rejects invalid handles.
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

    /// Returns the address, for kernel arguments.
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
