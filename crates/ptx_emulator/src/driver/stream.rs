//! Streams, events and host functions.
//!
//! Work is done when it is put into a stream, on the calling thread; a stream's lock keeps the
//! order when several threads use it. Host functions run on a thread of their own, and the
//! stream's next work waits for them.

use std::ffi::{c_int, c_uint, c_ulonglong, c_void};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Instant;

use cust_raw::{
    CUcontext, CUdevice, CUevent, CUevent_flags, CUhostFn, CUresult, CUstream, CUstream_flags,
    CUstreamCallback,
};

use super::state::{Context, Event, Object, State, Stream, from_pointer, lock, state, to_pointer};
use super::{Outcome, api, put};

/// The highest priority of streams; 0 is the lowest.
pub(super) const GREATEST_PRIORITY: c_int = -5;

/// The events' flags that this driver knows.
const EVENT_FLAGS: u32 = CUevent_flags::CU_EVENT_BLOCKING_SYNC.0
    | CUevent_flags::CU_EVENT_DISABLE_TIMING.0
    | CUevent_flags::CU_EVENT_INTERPROCESS.0;

impl Stream {
    /// Whether it is the default stream, or waits for it.
    fn blocks(&self) -> bool {
        self.flags & CUstream_flags::CU_STREAM_NON_BLOCKING.0 == 0
    }

    /// Waits for the stream's turn, and for a host function in it.
    fn take_turn(&self) -> MutexGuard<'_, Option<JoinHandle<()>>> {
        let mut turn = lock(&self.turn);
        if let Some(thread) = turn.take() {
            // A host function that unwinds would have ended the process.
            let _ = thread.join();
        }
        turn
    }
}

/// Does work in a stream: after what is in it, and beside other streams as CUDA allows.
pub(super) fn in_stream<T>(
    context: &Context,
    stream: &Stream,
    work: impl FnOnce() -> T,
) -> Result<T, CUresult> {
    let _turn = stream.take_turn();
    let is_default = std::ptr::eq(stream, &*context.null_stream);
    if is_default {
        let _legacy = context.legacy.write().unwrap_or_else(|e| e.into_inner());
        Ok(work())
    } else if stream.blocks() {
        let _legacy = context.legacy.read().unwrap_or_else(|e| e.into_inner());
        Ok(work())
    } else {
        Ok(work())
    }
}

/// Waits until the work in all streams of a context is done.
pub(super) fn wait_for_all(state: &State, context: &Context) {
    for stream in state.streams(context) {
        drop(stream.take_turn());
    }
}

/// A pointer of the caller's that a host function gets on another thread.
struct UserData(*mut c_void);

// SAFETY: the API hands it to another thread by contract.
unsafe impl Send for UserData {}

impl UserData {
    /// A method, so that closures capture the whole.
    fn get(&self) -> *mut c_void {
        self.0
    }
}

/// Runs `function` on a thread of its own; the stream's next work waits for it.
fn run_host_function(stream: &Stream, function: impl FnOnce() + Send + 'static) -> Outcome {
    let mut turn = stream.take_turn();
    let thread = std::thread::Builder::new().name("host function".to_owned());
    let thread = thread.spawn(function);
    *turn = Some(thread.map_err(|_| CUresult::CUDA_ERROR_OPERATING_SYSTEM)?);
    Ok(())
}

fn create_stream(stream: *mut CUstream, flags: c_uint, priority: c_int) -> Outcome {
    let state = state()?;
    let context = state.usable()?;
    if stream.is_null() || flags & !CUstream_flags::CU_STREAM_NON_BLOCKING.0 != 0 {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    let priority = priority.clamp(GREATEST_PRIORITY, 0);
    let made = Stream::new(context.handle, flags, priority);
    let handle = state.add(Object::Stream(Arc::new(made)));
    // SAFETY: the caller's pointer, as `cuda.h` asks for it.
    unsafe { put(stream, to_pointer(handle)) }
}

fn record(event: CUevent, stream: CUstream) -> Outcome {
    let state = state()?;
    let event = state.event(from_pointer(event))?;
    let (context, stream) = state.stream(from_pointer(stream))?;
    context.check()?;
    if event.context != context.handle {
        return Err(CUresult::CUDA_ERROR_INVALID_HANDLE);
    }
    in_stream(&context, &stream, || {
        *lock(&event.recorded) = Some(Instant::now());
    })
}

/// An event and the state of its context.
fn event_of(event: CUevent) -> Result<Arc<Event>, CUresult> {
    let state = state()?;
    let event = state.event(from_pointer(event))?;
    match state.context(event.context) {
        Some(context) => context.check()?,
        None => return Err(CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED),
    }
    Ok(event)
}

api! {
    fn cuStreamCreate(stream: *mut CUstream, flags: c_uint) {
        create_stream(stream, flags, 0)
    }

    fn cuStreamCreateWithPriority(stream: *mut CUstream, flags: c_uint, priority: c_int) {
        create_stream(stream, flags, priority)
    }

    fn cuStreamDestroy_v2(stream: CUstream) {
        let state = state()?;
        let handle = from_pointer(stream);
        if handle <= 2 {
            return Err(CUresult::CUDA_ERROR_INVALID_HANDLE);
        }
        // What is in it still runs to its end; nobody waits for it.
        let (_, _stream) = state.stream(handle)?;
        state.remove(handle);
        Ok(())
    }

    fn cuStreamSynchronize(stream: CUstream) {
        let (context, stream) = state()?.stream(from_pointer(stream))?;
        drop(stream.take_turn());
        context.check()
    }

    fn cuStreamQuery(stream: CUstream) {
        let (context, stream) = state()?.stream(from_pointer(stream))?;
        context.check()?;
        let busy = match stream.turn.try_lock() {
            Ok(turn) => turn.as_ref().is_some_and(|thread| !thread.is_finished()),
            Err(_) => true,
        };
        if busy {
            return Err(CUresult::CUDA_ERROR_NOT_READY);
        }
        Ok(())
    }

    fn cuStreamWaitEvent(stream: CUstream, event: CUevent, flags: c_uint) {
        let state = state()?;
        if flags > 1 {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        // What was recorded is done: there is nothing to wait for.
        state.event(from_pointer(event))?;
        let (context, _) = state.stream(from_pointer(stream))?;
        context.check()
    }

    fn cuStreamGetFlags(stream: CUstream, flags: *mut c_uint) {
        let (_, stream) = state()?.stream(from_pointer(stream))?;
        // SAFETY: as above.
        unsafe { put(flags, stream.flags) }
    }

    fn cuStreamGetPriority(stream: CUstream, priority: *mut c_int) {
        let (_, stream) = state()?.stream(from_pointer(stream))?;
        // SAFETY: as above.
        unsafe { put(priority, stream.priority) }
    }

    fn cuStreamGetId(stream: CUstream, id: *mut c_ulonglong) {
        let (_, stream) = state()?.stream(from_pointer(stream))?;
        // SAFETY: as above.
        unsafe { put(id, stream.id) }
    }

    fn cuStreamGetCtx(stream: CUstream, context: *mut CUcontext) {
        let (found, _) = state()?.stream(from_pointer(stream))?;
        // SAFETY: as above.
        unsafe { put(context, to_pointer(found.handle)) }
    }

    fn cuStreamGetDevice(stream: CUstream, device: *mut CUdevice) {
        state()?.stream(from_pointer(stream))?;
        // SAFETY: as above.
        unsafe { put(device, 0) }
    }

    fn cuStreamAddCallback(
        stream: CUstream,
        callback: CUstreamCallback,
        data: *mut c_void,
        flags: c_uint,
    ) {
        let callback = callback.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
        if flags != 0 {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let (context, found) = state()?.stream(from_pointer(stream))?;
        context.check()?;
        let (handle, data) = (from_pointer(stream), UserData(data));
        run_host_function(&found, move || {
            // SAFETY: the caller's function and pointer, as `cuda.h` asks for them.
            unsafe { callback(to_pointer(handle), CUresult::CUDA_SUCCESS, data.get()) }
        })
    }

    fn cuLaunchHostFunc(stream: CUstream, function: CUhostFn, data: *mut c_void) {
        let function = function.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
        let (context, stream) = state()?.stream(from_pointer(stream))?;
        context.check()?;
        let data = UserData(data);
        run_host_function(&stream, move || {
            // SAFETY: as above.
            unsafe { function(data.get()) }
        })
    }

    fn cuEventCreate(event: *mut CUevent, flags: c_uint) {
        let state = state()?;
        let context = state.usable()?;
        if event.is_null() || flags & !EVENT_FLAGS != 0 {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let handle = state.add(Object::Event(Arc::new(Event {
            context: context.handle,
            flags,
            recorded: Mutex::new(None),
        })));
        // SAFETY: as above.
        unsafe { put(event, to_pointer(handle)) }
    }

    fn cuEventDestroy_v2(event: CUevent) {
        let state = state()?;
        let handle = from_pointer(event);
        state.event(handle)?;
        state.remove(handle);
        Ok(())
    }

    fn cuEventRecord(event: CUevent, stream: CUstream) {
        record(event, stream)
    }

    fn cuEventRecordWithFlags(event: CUevent, stream: CUstream, _flags: c_uint) {
        record(event, stream)
    }

    fn cuEventQuery(event: CUevent) {
        // What was recorded is done, and what was not counts as done.
        event_of(event).map(|_| ())
    }

    fn cuEventSynchronize(event: CUevent) {
        event_of(event).map(|_| ())
    }

    fn cuEventElapsedTime_v2(milliseconds: *mut f32, start: CUevent, end: CUevent) {
        let (start, end) = (event_of(start)?, event_of(end)?);
        let timed = |event: &Event| {
            event.flags & CUevent_flags::CU_EVENT_DISABLE_TIMING.0 == 0
        };
        // One after the other: both may be the same event.
        let from = *lock(&start.recorded);
        let to = *lock(&end.recorded);
        let (Some(from), Some(to)) = (from, to) else {
            return Err(CUresult::CUDA_ERROR_INVALID_HANDLE);
        };
        if !timed(&start) || !timed(&end) {
            return Err(CUresult::CUDA_ERROR_INVALID_HANDLE);
        }
        let seconds = match to.checked_duration_since(from) {
            Some(elapsed) => elapsed.as_secs_f64(),
            None => -from.duration_since(to).as_secs_f64(),
        };
        // SAFETY: as above.
        unsafe { put(milliseconds, (seconds * 1000.0) as f32) }
    }

}
