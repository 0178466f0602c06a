//! Futures of streams and events: awaiting them takes no thread.
//!
//! The driver calls back when the work is done, and that wakes the task. A future that is dropped
//! or leaked leaves nothing behind that could dangle: what the callback uses is shared with it and
//! goes when both are done with it, and buffers know by themselves what uses them.
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
//!     stream.finished()?.await?;
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
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Poll, Waker};

use cust_raw::{CUresult, CUstream};

use crate::context::Context;
use crate::error::CudaResult;
use crate::event::Event;
use crate::host_call;
use crate::stream::{Stream, StreamInner};

/// What a future and the driver's callback share.
#[derive(Default)]
pub(crate) struct Shared(Mutex<State>);

#[derive(Default)]
struct State {
    /// How it went, once it is over.
    result: Option<CUresult>,
    waker: Option<Waker>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Notes how it went, unless that is known, and wakes the task.
    pub(crate) fn finish(&self, result: CUresult) {
        let waker = {
            let mut state = self.lock();
            state.result.get_or_insert(result);
            state.waker.take()
        };
        // An executor may do or drop anything here, so it must not be on the driver's thread.
        if let Some(waker) = waker {
            host_call::call(move || waker.wake());
        }
    }
}

/// A future that is ready when the work that was in a stream, or before an event, is done. Its
/// result is that of the `synchronize` of the same object.
///
/// It does not have to be awaited: the work goes on without it.
#[must_use = "a future waits for nothing unless it is awaited"]
pub struct Finished {
    shared: Arc<Shared>,
    context: Context,
    /// The stream, and up to which number its work is then done.
    stream: Option<(Arc<StreamInner>, u64)>,
    doing: &'static str,
}

impl Stream {
    /// A future that is ready when the work that is in the stream now is done.
    pub fn finished(&self) -> CudaResult<Finished> {
        let doing = "waiting for a stream";
        let issued = self.inner().issued();
        let shared = Arc::new(Shared::default());
        call_back(self.context(), self.as_inner(), Arc::clone(&shared))?;
        Ok(Finished {
            shared,
            context: self.context().clone(),
            stream: Some((Arc::clone(self.inner()), issued)),
            doing,
        })
    }
}

impl Event {
    /// A future that is ready when the work before the event's mark is done.
    pub fn finished(&self) -> CudaResult<Finished> {
        // The driver calls back from streams only. This one has nothing else to do.
        let helper = Stream::new(crate::stream::StreamFlags::NON_BLOCKING, None)?;
        let flags = crate::stream::StreamWaitEventFlags::DEFAULT;
        helper.wait_event(self, flags)?;
        let shared = Arc::new(Shared::default());
        call_back(self.context(), helper.as_inner(), Arc::clone(&shared))?;
        Ok(Finished {
            shared,
            context: self.context().clone(),
            // Which mark of the event's it waits for, other threads may have changed since.
            stream: None,
            doing: "waiting for an event",
        })
    }
}

/// Lets the driver note in `shared` that the stream's work so far is done, also if it fails.
fn call_back(context: &Context, stream: CUstream, shared: Arc<Shared>) -> CudaResult<()> {
    unsafe extern "C" fn call(_stream: CUstream, result: CUresult, shared: *mut c_void) {
        // SAFETY: made by `Arc::into_raw` below, and passed here once.
        let shared = unsafe { Arc::from_raw(shared.cast::<Shared>().cast_const()) };
        shared.finish(result);
    }
    let api = context.bind()?;
    context.note_waiting(&shared);
    let raw = Arc::into_raw(shared);
    // This call, unlike that for host functions, is made when the context is lost as well: a task
    // that waits has to hear of it.
    // SAFETY: `call` takes exactly this pointer, once.
    let result = unsafe {
        api.driver
            .cuStreamAddCallback(stream, Some(call), raw.cast_mut().cast(), 0)
    };
    if result != CUresult::CUDA_SUCCESS {
        // SAFETY: the driver did not take it.
        drop(unsafe { Arc::from_raw(raw) });
    }
    api.check(result, || {
        "asking to be called when a stream is done".to_owned()
    })
}

impl Future for Finished {
    type Output = CudaResult<()>;

    fn poll(self: Pin<&mut Self>, context: &mut std::task::Context<'_>) -> Poll<CudaResult<()>> {
        // Cloning and dropping a waker calls code of the executor's, which may wait for the stream: the
        // lock is not held meanwhile, since the driver's thread takes it.
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
        let mut synchronized = usize::MAX;
        if let (Ok(()), Some((stream, number))) = (&waited, &self.stream) {
            stream.mark_past(*number);
            synchronized = stream.raw as usize;
        }
        Poll::Ready(self.context.finish_wait(waited, Some(synchronized)))
    }
}

impl std::fmt::Debug for Finished {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Finished")
            .field("result", &self.shared.lock().result)
            .finish_non_exhaustive()
    }
}
