//! Events: marks in streams, to wait for and to measure time between.

use std::time::Duration;

use cust_raw::{CUevent, CUresult};

use crate::context::Context;
use crate::error::CudaResult;
use crate::stream::Stream;

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
#[derive(Debug)]
pub struct Event {
    raw: CUevent,
    context: Context,
}

// SAFETY: the driver's events may be used from any thread.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

impl Event {
    /// Makes an event in the current context.
    pub fn new(flags: EventFlags) -> CudaResult<Event> {
        let context = Context::current("making an event")?;
        let api = context.bind()?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: the pointer is valid for the call.
        let result = unsafe { api.driver.cuEventCreate(&mut raw, flags.bits()) };
        api.check(result, || format!("making an event with flags {flags:?}"))?;
        Ok(Event { raw, context })
    }

    /// Puts the mark into a stream, after the work that is in it now.
    pub fn record(&self, stream: &Stream) -> CudaResult<()> {
        let doing = || "recording an event".to_owned();
        self.context.require_same(stream.context(), doing)?;
        let api = self.context.bind()?;
        // SAFETY: both are alive.
        let result = unsafe { api.driver.cuEventRecord(self.raw, stream.as_inner()) };
        api.check(result, doing)
    }

    /// Whether the work before the mark is done.
    pub fn query(&self) -> CudaResult<EventStatus> {
        let api = self.context.bind()?;
        // SAFETY: the event is alive.
        let result = unsafe { api.driver.cuEventQuery(self.raw) };
        if result == CUresult::CUDA_ERROR_NOT_READY {
            return Ok(EventStatus::NotReady);
        }
        api.check(result, || "asking for an event's status".to_owned())?;
        Ok(EventStatus::Ready)
    }

    /// Waits until the work before the mark is done; errors as [`Stream::synchronize`].
    pub fn synchronize(&self) -> CudaResult<()> {
        let api = self.context.bind()?;
        // SAFETY: the event is alive.
        let result = unsafe { api.driver.cuEventSynchronize(self.raw) };
        let waited = api.check(result, || "waiting for an event".to_owned());
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
