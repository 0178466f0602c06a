//! The streams and the event with which this crate itself waits and orders streams.

use std::sync::Mutex;

use cust_raw::{CUevent, CUevent_flags, CUstream, CUstream_flags};

use crate::backend::Api;
use crate::context::{Context, Extension, Handle, Slot, lock};
use crate::error::CudaResult;
use crate::stream::StreamInner;

/// The driver's objects that order the streams of a context.
#[derive(Default)]
struct Ordering {
    /// The event that orders streams; created on first use.
    event: Mutex<Option<Handle<CUevent>>>,
    /// The idle private streams: see [`Context::private_stream`].
    private_streams: Mutex<Vec<Handle<CUstream>>>,
}

impl Slot for Ordering {
    const SLOT: usize = 2;
}

impl Extension for Ordering {
    fn release(&mut self, api: &Api) {
        // SAFETY: all were created in this context, which is alive, and are destroyed only here.
        unsafe {
            for Handle(stream) in lock(&self.private_streams).drain(..) {
                let _ = api.driver.cuStreamDestroy_v2(stream);
            }
            if let Some(Handle(event)) = lock(&self.event).take() {
                let _ = api.driver.cuEventDestroy_v2(event);
            }
        }
    }
}

impl Context {
    /// Returns an idle stream, for work that the calling thread waits for, or that does not depend
    /// on other work.
    ///
    /// The driver's per-thread default stream does not serve: a thread that used it in a context
    /// that is lost afterwards never exits, because libcuda's thread-local destructor waits for the
    /// stream (driver 580.159.04, `tests/fault_kinds.rs`).
    pub(crate) fn private_stream(&self) -> CudaResult<PrivateStream<'_>> {
        let unused = lock(&self.extension::<Ordering>().private_streams).pop();
        let raw = match unused {
            Some(Handle(raw)) => raw,
            None => {
                let api = self.bind()?;
                let mut raw = std::ptr::null_mut();
                let flags = CUstream_flags::CU_STREAM_DEFAULT.0;
                // SAFETY: the pointer is valid for the call.
                let result = unsafe { api.driver.cuStreamCreate(&mut raw, flags) };
                api.check(result, || "creating a stream for copies".to_owned())?;
                raw
            }
        };
        Ok(PrivateStream { context: self, raw })
    }

    /// Orders later work in a stream after all pending work in `other`.
    pub(crate) fn order(&self, stream: CUstream, other: &StreamInner) -> CudaResult<()> {
        let doing = || "making a stream wait for another stream".to_owned();
        let api = self.bind()?;
        // One event serves all calls: `cuStreamWaitEvent` captures the event's position, so the
        // event may be recorded again at once. The lock prevents recording it between the two
        // calls.
        let mut ordering = lock(&self.extension::<Ordering>().event);
        let event = match *ordering {
            Some(Handle(event)) => event,
            None => {
                let mut event = std::ptr::null_mut();
                let flags = CUevent_flags::CU_EVENT_DISABLE_TIMING.0;
                // SAFETY: the pointer is valid for the call.
                let result = unsafe { api.driver.cuEventCreate(&mut event, flags) };
                api.check(result, doing)?;
                *ordering = Some(Handle(event));
                event
            }
        };
        // SAFETY: all handles are alive.
        unsafe {
            api.check(api.driver.cuEventRecord(event, other.raw), doing)?;
            api.check(api.driver.cuStreamWaitEvent(stream, event, 0), doing)
        }
    }
}

/// A private stream in use by one call; returned to the context on drop. See
/// [`Context::private_stream`].
pub(crate) struct PrivateStream<'a> {
    context: &'a Context,
    raw: CUstream,
}

impl PrivateStream<'_> {
    pub(crate) fn raw(&self) -> CUstream {
        self.raw
    }
}

impl Drop for PrivateStream<'_> {
    fn drop(&mut self) {
        let ordering = self.context.extension::<Ordering>();
        lock(&ordering.private_streams).push(Handle(self.raw));
    }
}
