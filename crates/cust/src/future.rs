//! Futures for streams and events. Awaiting one does not block a thread.
//!
//! The driver's callback wakes the task when the work is complete. Dropping or leaking a future is
//! safe: it shares ownership of its state with the callback, and buffers track pending work
//! independently of the future.
//!
//! # Examples
//!
//! ```
//! use cust::prelude::*;
//!
//! # fn block_on<F: Future>(future: F) -> F::Output {
//! #     use std::task::{Context, Poll, Wake, Waker};
//! #     struct Unpark(std::thread::Thread);
//! #     impl Wake for Unpark {
//! #         fn wake(self: std::sync::Arc<Self>) { self.0.unpark(); }
//! #     }
//! #     let waker = Waker::from(std::sync::Arc::new(Unpark(std::thread::current())));
//! #     let mut future = std::pin::pin!(future);
//! #     loop {
//! #         match future.as_mut().poll(&mut Context::from_waker(&waker)) {
//! #             Poll::Ready(value) => return value,
//! #             Poll::Pending => std::thread::park(),
//! #         }
//! #     }
//! # }
//! async fn round_trip(stream: &Stream) -> CudaResult<Vec<u32>> {
//!     let from = LockedBuffer::from_slice(&[1u32, 2, 3])?;
//!     let mut device = DeviceBuffer::<u32>::zeroed(3)?;
//!     let mut back = LockedBuffer::<u32>::zeroed(3)?;
//!     stream.upload(&from, &mut device)?;
//!     stream.download(&device, &mut back)?;
//!     stream.completion()?.await?;
//!     Ok(back.to_vec())
//! }
//!
//! let _context = cust::quick_init_on(Backend::Emulator)?;
//! let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
//! assert_eq!(block_on(round_trip(&stream))?, [1, 2, 3]);
//! # Ok::<(), cust::error::Error>(())
//! ```

use std::ffi::c_void;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use cust_raw::{CUresult, CUstream};

use crate::context::Context;
use crate::error::CudaResult;
use crate::event::Event;
use crate::report::Waited;
use crate::stream::{Stream, StreamInner};
use crate::waker::Waiting;

/// A future that completes when the work that was pending in a stream, or before an event, is
/// complete. Its output is the result of `synchronize` of the same object.
///
/// The work proceeds even if the future is dropped or never polled.
#[must_use = "a future waits for nothing unless it is awaited"]
pub struct Completion {
    shared: Arc<Waiting>,
    context: Context,
    /// The stream, and the sequence number up to which its work is then complete.
    stream: Option<(Arc<StreamInner>, u64)>,
    doing: &'static str,
}

impl Stream {
    /// Returns a future that completes when all work that is pending in the stream now is complete.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if it cannot add a callback to the stream.
    pub fn completion(&self) -> CudaResult<Completion> {
        let doing = "waiting for a stream";
        let issued = self.inner().issued();
        let shared = Arc::new(Waiting::default());
        call_back(self.context(), self.as_inner(), Arc::clone(&shared))?;
        Ok(Completion {
            shared,
            context: self.context().clone(),
            stream: Some((Arc::clone(self.inner()), issued)),
            doing,
        })
    }
}

impl Event {
    /// Returns a future that completes when the work before the event is complete.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if it cannot create a stream that waits for the event.
    pub fn completion(&self) -> CudaResult<Completion> {
        // The driver supports callbacks only in streams: use one that waits for the event.
        let flags = crate::stream::StreamFlags::NON_BLOCKING;
        let helper = (self.context()).with_current(|| Stream::new(flags, None))?;
        let flags = crate::stream::StreamWaitEventFlags::DEFAULT;
        helper.wait_event(self, flags)?;
        let shared = Arc::new(Waiting::default());
        call_back(self.context(), helper.as_inner(), Arc::clone(&shared))?;
        Ok(Completion {
            shared,
            context: self.context().clone(),
            // Another thread may have recorded the event again, so its position is not known.
            stream: None,
            doing: "waiting for an event",
        })
    }
}

/// Makes the driver finish `shared` when the stream's pending work completes or fails.
fn call_back(context: &Context, stream: CUstream, shared: Arc<Waiting>) -> CudaResult<()> {
    unsafe extern "C" fn call(_stream: CUstream, result: CUresult, shared: *mut c_void) {
        // SAFETY: created by `Arc::into_raw` below, and passed here once.
        let shared = unsafe { Arc::from_raw(shared.cast::<Waiting>().cast_const()) };
        shared.finish(result);
    }
    let api = context.bind()?;
    context.record_waiting(&shared);
    let raw = Arc::into_raw(shared);
    // Unlike `cuLaunchHostFunc`, `cuStreamAddCallback` also calls back if the context is lost, so
    // that the waiting task is woken.
    // SAFETY: `call` takes exactly this pointer, once.
    let result = unsafe {
        api.driver
            .cuStreamAddCallback(stream, Some(call), raw.cast_mut().cast(), 0)
    };
    if result != CUresult::CUDA_SUCCESS {
        // SAFETY: the driver rejected the callback, and will not call it.
        drop(unsafe { Arc::from_raw(raw) });
    }
    api.check(result, || "adding a callback to a stream".to_owned())
}

impl Future for Completion {
    type Output = CudaResult<()>;

    fn poll(self: Pin<&mut Self>, context: &mut std::task::Context<'_>) -> Poll<CudaResult<()>> {
        // Cloning and dropping a waker calls code of the executor, which may wait for the stream.
        // The driver's callback takes the lock, so it must not be held here.
        let new = context.waker().clone();
        let result = {
            let mut state = self.shared.lock();
            match state.result {
                Some(result) => result,
                None => {
                    let old = state.waker.replace(new);
                    drop(state);
                    drop(old);
                    return Poll::Pending;
                }
            }
        };
        let waited = self.context.check(result, || self.doing.to_owned());
        let mut waited_for = Waited::Unknown;
        if let (Ok(()), Some((stream, number))) = (&waited, &self.stream) {
            stream.mark_complete(*number);
            waited_for = Waited::Stream(stream.id());
        }
        Poll::Ready(self.context.finish_wait(waited, waited_for))
    }
}

impl std::fmt::Debug for Completion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Completion")
            .field("result", &self.shared.lock().result)
            .finish_non_exhaustive()
    }
}
