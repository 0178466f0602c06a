//! Events: marks in streams, to wait for and to measure time between.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use cust_raw::{CUevent, CUresult};

use crate::context::Context;
use crate::error::CudaResult;
use crate::stream::{Stream, StreamInner};

bitflags::bitflags! {
    /// What an event is for.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub struct EventFlags: u32 {
        /// Waiting spins; time is measured.
        const DEFAULT = 0;
        /// Waiting sleeps.
        const BLOCKING_SYNC = 1;
        /// No time is measured, which makes the event cheaper.
        const DISABLE_TIMING = 2;
        /// Other processes may use it.
        const INTERPROCESS = 4;
    }
}

/// Whether the work before an event is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventStatus {
    /// All of it is done.
    Ready,
    /// Some of it is not.
    NotReady,
}

/// A mark in a stream.
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
    /// Another process may record it: what it stands for is never known.
    interprocess: bool,
}

/// Where an event was recorded last.
#[derive(Clone, Default)]
pub(crate) struct Mark {
    /// The stream, and the number of the last work before the mark.
    pub(crate) at: Option<(Arc<StreamInner>, u64)>,
    /// How often it was recorded.
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
    /// Makes an event in the current context.
    pub fn new(flags: EventFlags) -> CudaResult<Event> {
        Event::new_in(Context::current("making an event")?, flags)
    }

    pub(crate) fn new_in(context: Context, flags: EventFlags) -> CudaResult<Event> {
        let api = context.bind()?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: the pointer is valid for the call.
        let result = unsafe { api.driver.cuEventCreate(&mut raw, flags.bits()) };
        api.check(result, || format!("making an event with flags {flags:?}"))?;
        let interprocess = flags.contains(EventFlags::INTERPROCESS);
        Ok(Event::of_raw(raw, context, interprocess))
    }

    /// An event that the driver made.
    pub(crate) fn of_raw(raw: CUevent, context: Context, interprocess: bool) -> Event {
        Event {
            raw,
            context,
            mark: Mutex::default(),
            interprocess,
        }
    }

    /// Puts the mark into a stream, after the work that is in it now.
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

    /// Calls `f` with where the event was recorded last; nobody records it meanwhile.
    pub(crate) fn with_mark<R>(&self, f: impl FnOnce(&mut Mark) -> R) -> R {
        f(&mut self.mark.lock().unwrap_or_else(|e| e.into_inner()))
    }

    /// Notes that the event is being recorded by something whose place in a stream is not known.
    /// Nobody records it or looks where it is until the guard is dropped.
    pub(crate) fn forget_mark(&self) -> MutexGuard<'_, Mark> {
        let mut mark = self.mark.lock().unwrap_or_else(|e| e.into_inner());
        mark.at = None;
        mark.count += 1;
        mark
    }

    /// What is before the mark is done, unless somebody has recorded it anew since: then which
    /// mark was waited for is not known.
    fn mark_past(&self, waited: &Mark) {
        let same = self.with_mark(|mark| mark.count == waited.count);
        if let Some((stream, number)) = &waited.at
            && same
        {
            stream.mark_past(*number);
        }
    }

    /// Whether the work before the mark is done.
    pub fn query(&self) -> CudaResult<EventStatus> {
        let api = self.context.bind()?;
        let mark = self.with_mark(|mark| mark.clone());
        // SAFETY: the event is alive.
        let result = unsafe { api.driver.cuEventQuery(self.raw) };
        if result == CUresult::CUDA_ERROR_NOT_READY {
            return Ok(EventStatus::NotReady);
        }
        api.check(result, || "asking for an event's status".to_owned())?;
        self.mark_past(&mark);
        Ok(EventStatus::Ready)
    }

    /// Waits until the work before the mark is done; errors as [`Stream::synchronize`].
    pub fn synchronize(&self) -> CudaResult<()> {
        let api = self.context.bind()?;
        let mark = self.with_mark(|mark| mark.clone());
        // SAFETY: the event is alive.
        let result = unsafe { api.driver.cuEventSynchronize(self.raw) };
        let waited = api.check(result, || "waiting for an event".to_owned());
        if waited.is_ok() {
            self.mark_past(&mark);
        }
        // Which launches lie before the mark is not known: forget none of them.
        self.context.finish_wait(waited, Some(usize::MAX))
    }

    /// Milliseconds from `start` to this event; both have to have happened.
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

    /// The time from `start` to this event; both have to have happened.
    pub fn elapsed(&self, start: &Event) -> CudaResult<Duration> {
        let milliseconds = self.elapsed_time_f32(start)?;
        Ok(Duration::from_secs_f64(
            f64::from(milliseconds.max(0.0)) / 1000.0,
        ))
    }

    /// The driver's handle.
    pub fn as_raw(&self) -> CUevent {
        self.raw
    }

    pub(crate) fn context(&self) -> &Context {
        &self.context
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // An error means that the context is gone, and the event with it.
        if let Ok(api) = self.context.bind() {
            // SAFETY: made by `new`, destroyed once.
            let _ = unsafe { api.driver.cuEventDestroy_v2(self.raw) };
        }
    }
}
