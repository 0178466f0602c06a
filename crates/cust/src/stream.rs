//! Streams: queues of work that a device does in order.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};

use cust_raw::{CUresult, CUstream};

use crate::context::Context;
use crate::error::CudaResult;
use crate::event::Event;
use crate::function::{BlockSize, Function, GridSize};

bitflags::bitflags! {
    /// How a stream behaves towards the default stream.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub struct StreamFlags: u32 {
        /// Its work waits for the default stream's, and the other way round.
        const DEFAULT = 0;
        /// Its work runs beside the default stream's.
        const NON_BLOCKING = 1;
    }
}

bitflags::bitflags! {
    /// How a stream waits for an event. No flags are defined.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub struct StreamWaitEventFlags: u32 {
        /// As usual.
        const DEFAULT = 0;
    }
}

/// A queue of work. Copies and kernels put into it run in order; those of different streams may
/// run at the same time.
///
/// ```
/// use cust::prelude::*;
///
/// let _context = cust::quick_init_on(Backend::Emulator)?;
/// let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
/// stream.synchronize()?;
/// # Ok::<(), cust::error::Error>(())
/// ```
#[derive(Debug)]
pub struct Stream {
    raw: CUstream,
    context: Context,
}

// SAFETY: the driver's streams may be used from any thread.
unsafe impl Send for Stream {}
// SAFETY: as above.
unsafe impl Sync for Stream {}

impl Stream {
    /// Makes a stream in the current context, with a priority if given: lower numbers are served
    /// first (see [`Context::stream_priority_range`]).
    pub fn new(flags: StreamFlags, priority: Option<i32>) -> CudaResult<Stream> {
        let context = Context::current("making a stream")?;
        let api = context.bind()?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: the pointer is valid for the call.
        let result = unsafe {
            let priority = priority.unwrap_or(0);
            api.driver
                .cuStreamCreateWithPriority(&mut raw, flags.bits(), priority)
        };
        api.check(result, || "making a stream".to_owned())?;
        Ok(Stream { raw, context })
    }

    /// Waits until all work in the stream is done. Returns a panic that a kernel of the context
    /// reported, or the fault that stopped one, as an error.
    pub fn synchronize(&self) -> CudaResult<()> {
        let api = self.context.bind()?;
        // SAFETY: the stream is alive.
        let result = unsafe { api.driver.cuStreamSynchronize(self.raw) };
        let waited = api.check(result, || "waiting for a stream".to_owned());
        self.context.finish_wait(waited, Some(self.raw as usize))
    }

    /// Whether all work in the stream is done.
    pub fn query(&self) -> CudaResult<bool> {
        let api = self.context.bind()?;
        // SAFETY: the stream is alive.
        let result = unsafe { api.driver.cuStreamQuery(self.raw) };
        if result == CUresult::CUDA_ERROR_NOT_READY {
            return Ok(false);
        }
        api.check(result, || "asking whether a stream is done".to_owned())?;
        Ok(true)
    }

    /// Lets the work put into the stream from now on wait for the event. The host does not wait.
    pub fn wait_event(&self, event: &Event, flags: StreamWaitEventFlags) -> CudaResult<()> {
        let doing = || "letting a stream wait for an event".to_owned();
        self.context.require_same(event.context(), doing)?;
        let api = self.context.bind()?;
        // SAFETY: both are alive, and the driver keeps what it needs of the event.
        let result = unsafe {
            api.driver
                .cuStreamWaitEvent(self.raw, event.as_raw(), flags.bits())
        };
        api.check(result, doing)
    }

    /// Calls `callback` on a thread of the driver when all work put into the stream so far is
    /// done. It must not call the driver. A panic in it is caught and dropped; if the context is
    /// lost before its turn comes, it is not called.
    pub fn add_callback<F>(&self, callback: F) -> CudaResult<()>
    where
        F: FnOnce() + Send + 'static,
    {
        unsafe extern "C" fn call<F: FnOnce()>(callback: *mut c_void) {
            // SAFETY: made by `Box::into_raw` below, and passed here once.
            let callback = unsafe { Box::from_raw(callback.cast::<F>()) };
            // Unwinding into the driver would be undefined.
            let _ = catch_unwind(AssertUnwindSafe(callback));
        }
        let api = self.context.bind()?;
        let callback = Box::into_raw(Box::new(callback));
        // SAFETY: `call` takes exactly this pointer, once.
        let result = unsafe {
            api.driver
                .cuLaunchHostFunc(self.raw, Some(call::<F>), callback.cast())
        };
        if result != CUresult::CUDA_SUCCESS {
            // SAFETY: the driver did not take it.
            drop(unsafe { Box::from_raw(callback) });
        }
        api.check(result, || "adding a callback to a stream".to_owned())
    }

    /// Launches a kernel with raw pointers to its arguments; `launch!` is the checked form.
    ///
    /// # Safety
    ///
    /// Each element of `args` points to an argument of the size and type of the kernel's
    /// parameter, and what the kernel does with them has to be sound.
    pub unsafe fn launch<G, B>(
        &self,
        function: &Function<'_>,
        grid_size: G,
        block_size: B,
        shared_mem_bytes: u32,
        args: &[*mut c_void],
    ) -> CudaResult<()>
    where
        G: Into<GridSize>,
        B: Into<BlockSize>,
    {
        // SAFETY: as the caller promises.
        unsafe {
            crate::launch::launch_raw(
                function,
                grid_size.into(),
                block_size.into(),
                shared_mem_bytes,
                self,
                args,
            )
        }
    }

    /// The context that it belongs to.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The driver's handle.
    pub fn as_inner(&self) -> CUstream {
        self.raw
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // Work in the stream still completes. An error means that the context is gone, and the
        // stream with it.
        if let Ok(api) = self.context.bind() {
            // SAFETY: the stream is alive.
            if unsafe { api.driver.cuStreamQuery(self.raw) } == CUresult::CUDA_SUCCESS {
                // A later stream may get the same handle.
                self.context.forget_stream(self.raw as usize);
            }
            // SAFETY: made by `new`, destroyed once.
            let _ = unsafe { api.driver.cuStreamDestroy_v2(self.raw) };
        }
    }
}
