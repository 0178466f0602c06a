//! Events: markers in streams, for synchronization and timing.
//!
//! # Examples
//!
//! ```
//! use cust::prelude::*;
//!
//! let _context = cust::quick_init_on(Backend::Emulator)?;
//! let (first, second) = (
//!     Stream::new(StreamFlags::NON_BLOCKING, None)?,
//!     Stream::new(StreamFlags::NON_BLOCKING, None)?,
//! );
//! let event = Event::new(EventFlags::DISABLE_TIMING)?;
//! // … enqueue work into `first` …
//! event.record(&first)?;
//! // … enqueue work into `first` that `second` need not wait for …
//! second.wait_event(&event, StreamWaitEventFlags::DEFAULT)?;
//! // … enqueue work into `second` that starts after the event …
//! second.synchronize()?;
//! assert_eq!(event.query()?, EventStatus::Ready);
//! # Ok::<(), cust::error::Error>(())
//! ```

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use cust_raw::{CUevent, CUresult};

use crate::context::Context;
use crate::error::CudaResult;
use crate::report::Waited;
use crate::stream::{Stream, StreamInner, StreamWaitEventFlags};

bitflags::bitflags! {
    /// Properties of an event.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub struct EventFlags: u32 {
        /// A host thread that waits spins, and the event records a timestamp.
        const DEFAULT = 0;
        /// A host thread that waits sleeps.
        const BLOCKING_SYNC = 1;
        /// The event records no timestamp, which makes it cheaper.
        const DISABLE_TIMING = 2;
        /// The event can be shared with other processes. Requires `DISABLE_TIMING`.
        const INTERPROCESS = 4;
    }
}

/// The status of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventStatus {
    /// All work before the event is complete.
    Ready,
    /// Some work before the event is pending.
    NotReady,
}

/// A marker in a stream.
///
/// Recording an event into a stream places it after all work that is pending in the stream. The
/// event completes when this work is complete. Recording an event again moves it.
///
/// # Examples
///
/// ```
/// use cust::prelude::*;
///
/// let _context = cust::quick_init_on(Backend::Emulator)?;
/// let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
/// let (start, stop) = (Event::new(EventFlags::DEFAULT)?, Event::new(EventFlags::DEFAULT)?);
/// start.record(&stream)?;
/// // … launches …
/// stop.record(&stream)?;
/// stop.synchronize()?;
/// println!("{:?}", stop.elapsed(&start)?);
/// # Ok::<(), cust::error::Error>(())
/// ```
pub struct Event {
    raw: CUevent,
    context: Context,
    mark: Mutex<Mark>,
    /// Whether another process may record the event, so that its position is never known.
    interprocess: bool,
}

/// The position at which an event was last recorded.
#[derive(Clone, Default)]
pub(crate) struct Mark {
    /// The stream, and the sequence number of the last work before the event.
    pub(crate) at: Option<(Arc<StreamInner>, u64)>,
    /// How many times the event was recorded.
    count: u64,
}

impl std::fmt::Debug for Event {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Event")
            .field("raw", &self.raw)
            .field("context", &self.context)
            .finish_non_exhaustive()
    }
}

// SAFETY: the driver's events may be used from any thread.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

impl Event {
    /// Creates an event in the current context.
    ///
    /// # Errors
    ///
    /// Returns [`Error::NoContext`](crate::error::Error::NoContext) without a context, and the
    /// driver's error if it cannot create the event.
    pub fn new(flags: EventFlags) -> CudaResult<Event> {
        Event::new_in(Context::current("creating an event")?, flags)
    }

    pub(crate) fn new_in(context: Context, flags: EventFlags) -> CudaResult<Event> {
        let api = context.bind()?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: the pointer is valid for the call.
        let result = unsafe { api.driver.cuEventCreate(&mut raw, flags.bits()) };
        api.check(result, || format!("creating an event with flags {flags:?}"))?;
        let interprocess = flags.contains(EventFlags::INTERPROCESS);
        Ok(Event::of_raw(raw, context, interprocess))
    }

    /// Wraps the driver's handle of an event.
    pub(crate) fn of_raw(raw: CUevent, context: Context, interprocess: bool) -> Event {
        Event {
            raw,
            context,
            mark: Mutex::default(),
            interprocess,
        }
    }

    /// Records the event into a stream, after all work that is pending in it.
    ///
    /// # Errors
    ///
    /// Returns [`Error::WrongContext`](crate::error::Error::WrongContext) if the stream belongs to
    /// another context.
    pub fn record(&self, stream: &Stream) -> CudaResult<()> {
        let doing = || "recording an event".to_owned();
        self.context.require_same(stream.context(), doing)?;
        let api = self.context.bind()?;
        self.with_mark(|mark| {
            let issued = stream.inner().issued();
            // SAFETY: both are alive.
            let result = unsafe { api.driver.cuEventRecord(self.raw, stream.as_inner()) };
            api.check(result, doing)?;
            mark.at = (!self.interprocess).then(|| (Arc::clone(stream.inner()), issued));
            mark.count += 1;
            Ok(())
        })
    }

    /// Calls `f` with the position at which the event was last recorded. No other thread records
    /// the event during the call.
    pub(crate) fn with_mark<R>(&self, f: impl FnOnce(&mut Mark) -> R) -> R {
        f(&mut self.mark.lock().unwrap_or_else(|e| e.into_inner()))
    }

    /// Forgets the event's position, because the caller records it at a position that is not known.
    /// Until the guard is dropped, no other thread records the event or reads its position.
    pub(crate) fn forget_mark(&self) -> MutexGuard<'_, Mark> {
        let mut mark = self.mark.lock().unwrap_or_else(|e| e.into_inner());
        mark.at = None;
        mark.count += 1;
        mark
    }

    /// Records that the work before `waited` is complete, unless the event was recorded again in
    /// the meantime: then it is not known which position the driver waited for.
    fn mark_complete(&self, waited: &Mark) {
        let same = self.with_mark(|mark| mark.count == waited.count);
        if let Some((stream, number)) = &waited.at
            && same
        {
            stream.mark_complete(*number);
        }
    }

    /// Returns whether the work before the event is complete, without waiting.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if a kernel faulted, or if the context was reset or lost.
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::prelude::*;
    ///
    /// let _context = cust::quick_init_on(Backend::Emulator)?;
    /// let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    /// let event = Event::new(EventFlags::DEFAULT)?;
    /// event.record(&stream)?;
    /// event.synchronize()?;
    /// assert_eq!(event.query()?, EventStatus::Ready);
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub fn query(&self) -> CudaResult<EventStatus> {
        let api = self.context.bind()?;
        let mark = self.with_mark(|mark| mark.clone());
        // SAFETY: the event is alive.
        let result = unsafe { api.driver.cuEventQuery(self.raw) };
        if result == CUresult::CUDA_ERROR_NOT_READY {
            return Ok(EventStatus::NotReady);
        }
        api.check(result, || "querying an event's status".to_owned())?;
        self.mark_complete(&mark);
        Ok(EventStatus::Ready)
    }

    /// Waits until the work before the event is complete.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Stream::synchronize`].
    pub fn synchronize(&self) -> CudaResult<()> {
        let api = self.context.bind()?;
        let mark = self.with_mark(|mark| mark.clone());
        // SAFETY: the event is alive.
        let result = unsafe { api.driver.cuEventSynchronize(self.raw) };
        let waited = api.check(result, || "waiting for an event".to_owned());
        if waited.is_ok() {
            self.mark_complete(&mark);
        }
        // It is not known which launches precede the event, so forget none of them.
        self.context.finish_wait(waited, Waited::Unknown)
    }

    /// Returns the time from `start` to this event in milliseconds.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if one of the events was not recorded, is not complete, or has
    /// the flag [`EventFlags::DISABLE_TIMING`].
    pub fn elapsed_time_f32(&self, start: &Event) -> CudaResult<f32> {
        let doing = || "measuring the time between two events".to_owned();
        self.context.require_same(&start.context, doing)?;
        let api = self.context.bind()?;
        let mut milliseconds = 0.0;
        // SAFETY: both events are alive, and the pointer is valid for the call.
        let result = unsafe {
            api.driver
                .cuEventElapsedTime_v2(&mut milliseconds, start.raw, self.raw)
        };
        api.check(result, doing)?;
        Ok(milliseconds)
    }

    /// Returns the time from `start` to this event.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Event::elapsed_time_f32`].
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::prelude::*;
    ///
    /// let _context = cust::quick_init_on(Backend::Emulator)?;
    /// let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    /// let (start, stop) = (Event::new(EventFlags::DEFAULT)?, Event::new(EventFlags::DEFAULT)?);
    /// start.record(&stream)?;
    /// // … launches …
    /// stop.record(&stream)?;
    /// stop.synchronize()?;
    /// assert!(stop.elapsed(&start)? < std::time::Duration::from_secs(60));
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub fn elapsed(&self, start: &Event) -> CudaResult<Duration> {
        let milliseconds = self.elapsed_time_f32(start)?;
        Ok(Duration::from_secs_f64(
            f64::from(milliseconds.max(0.0)) / 1000.0,
        ))
    }

    /// Returns the driver's handle.
    pub fn as_raw(&self) -> CUevent {
        self.raw
    }

    pub(crate) fn context(&self) -> &Context {
        &self.context
    }
}

impl Stream {
    /// Makes later work in the stream wait for the event. The host does not wait.
    ///
    /// # Errors
    ///
    /// Returns [`Error::WrongContext`](crate::error::Error::WrongContext) if the event belongs to
    /// another context, and the driver's error for unknown flags.
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::prelude::*;
    ///
    /// let _context = cust::quick_init_on(Backend::Emulator)?;
    /// let copies = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    /// let kernels = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    /// let copied = Event::new(EventFlags::DISABLE_TIMING)?;
    /// copied.record(&copies)?;
    /// // Later work in `kernels` runs after the work that is pending in `copies`.
    /// kernels.wait_event(&copied, StreamWaitEventFlags::DEFAULT)?;
    /// kernels.synchronize()?;
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub fn wait_event(&self, event: &Event, flags: StreamWaitEventFlags) -> CudaResult<()> {
        let doing = || "making a stream wait for an event".to_owned();
        let context = self.context();
        if flags != StreamWaitEventFlags::DEFAULT {
            // An external wait, during a capture, is not a wait of this stream.
            let invalid = CUresult::CUDA_ERROR_INVALID_VALUE;
            return context.api().check(invalid, doing);
        }
        context.require_same(event.context(), doing)?;
        let api = context.bind()?;
        event.with_mark(|mark| {
            // SAFETY: both are alive, and the event may be destroyed while a stream waits for it.
            let result = unsafe {
                api.driver
                    .cuStreamWaitEvent(self.as_inner(), event.raw, flags.bits())
            };
            api.check(result, doing)?;
            // During a capture, only launches of the graph wait.
            if let Some((stream, number)) = &mark.at
                && !self.inner().is_capturing()
            {
                self.inner().record_seen(stream, *number);
            }
            Ok(())
        })
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // An error means that the context is gone, and the event with it.
        if let Ok(api) = self.context.bind() {
            // SAFETY: created by `new`, destroyed once.
            let _ = unsafe { api.driver.cuEventDestroy_v2(self.raw) };
        }
    }
}
