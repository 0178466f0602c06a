//! Streams, events and host functions. `queue.rs` runs their work.

use std::ffi::{c_int, c_uint, c_ulonglong, c_void};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use cust_raw::{
    CUcontext, CUdevice, CUdeviceptr, CUevent, CUevent_flags, CUgraphNodeType, CUhostFn, CUresult,
    CUstream, CUstream_flags, CUstreamCallback,
};

use super::queue::{self, Promised, Work, host_function, in_stream, wait_for};
use super::state::{
    Context, Event, Handle, Object, State, Stream, from_pointer, lock, state, to_pointer,
};
use super::{Outcome, api, put};
use crate::memory::host_address;

/// The greatest priority of streams; 0 is the least.
pub(super) const GREATEST_PRIORITY: c_int = -5;

/// The supported event flags.
const EVENT_FLAGS: u32 = CUevent_flags::CU_EVENT_BLOCKING_SYNC.0
    | CUevent_flags::CU_EVENT_DISABLE_TIMING.0
    | CUevent_flags::CU_EVENT_INTERPROCESS.0;

/// Returns a host function as work.
pub(super) fn host_work(function: unsafe extern "C" fn(*mut c_void), data: *mut c_void) -> Work {
    let data = Promised::new(data);
    Arc::new(move || {
        // SAFETY: the caller's function and pointer, as `cuda.h` requires.
        unsafe { function(data.get()) };
        Ok(())
    })
}

fn create_stream(stream: *mut CUstream, flags: c_uint, priority: c_int) -> Outcome {
    let state = state()?;
    let context = state.usable()?;
    create_stream_in(state, context.handle, stream, flags, priority)
}

/// Creates a stream in a context.
pub(super) fn create_stream_in(
    state: &State,
    context: Handle,
    stream: *mut CUstream,
    flags: c_uint,
    priority: c_int,
) -> Outcome {
    if stream.is_null() || flags & !CUstream_flags::CU_STREAM_NON_BLOCKING.0 != 0 {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    let priority = priority.clamp(GREATEST_PRIORITY, 0);
    let made = Stream::new(context, flags, priority);
    let handle = state.add(Object::Stream(Arc::new(made)));
    // SAFETY: the caller's pointer, as `cuda.h` requires.
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
    if let Some(capture) = stream.capture() {
        let nodes = capture.last_of(&stream);
        *lock(&event.captured) = Some((capture, nodes));
        return Ok(());
    }
    *lock(&event.captured) = None;
    // The lock prevents that the event is recorded elsewhere before its mark is set.
    let mut mark = lock(&event.mark);
    let happens = Arc::clone(&event);
    let work = Arc::new(move || {
        *lock(&happens.happened) = Some(Instant::now());
        Ok(())
    });
    let kind = CUgraphNodeType::CU_GRAPH_NODE_TYPE_EVENT_RECORD;
    in_stream(state, &context, &stream, kind, work)?;
    let number = stream.queue.issued();
    *mark = Some((stream, number));
    Ok(())
}

impl Event {
    /// Returns whether all work before the event's mark has completed; `ask` is [`Stream::query`]
    /// or waits.
    pub(super) fn is_over(&self, ask: impl FnOnce(&Stream, u64) -> bool) -> bool {
        let mark = lock(&self.mark).clone();
        match mark {
            // An event that was not recorded counts as completed.
            None => true,
            Some((stream, number)) => ask(&stream, number),
        }
    }
}

/// Returns an event and its context.
fn event_of(event: CUevent) -> Result<(Arc<Context>, Arc<Event>), CUresult> {
    let state = state()?;
    let event = state.event(from_pointer(event))?;
    let context = state.context(event.context);
    let context = context.ok_or(CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED)?;
    context.check()?;
    Ok((context, event))
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
        // The work in the stream still completes.
        let (context, stream) = state.stream(handle)?;
        state.remove(handle);
        queue::leave(&context, stream);
        context.check()
    }

    fn cuStreamSynchronize(stream: CUstream) {
        let (context, stream) = state()?.stream(from_pointer(stream))?;
        stream.refuse_capture()?;
        stream.finish(&context);
        context.check()
    }

    fn cuStreamQuery(stream: CUstream) {
        let (context, stream) = state()?.stream(from_pointer(stream))?;
        context.check()?;
        stream.refuse_capture()?;
        if !stream.query(&context, stream.queue.issued()) {
            return Err(CUresult::CUDA_ERROR_NOT_READY);
        }
        Ok(())
    }

    fn cuStreamWaitEvent(stream: CUstream, event: CUevent, flags: c_uint) {
        let state = state()?;
        if flags > 1 {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let event = state.event(from_pointer(event))?;
        let (context, stream) = state.stream(from_pointer(stream))?;
        context.check()?;
        let captured = lock(&event.captured).clone();
        if let Some((capture, nodes)) = captured {
            return capture.join(&stream, &nodes);
        }
        stream.refuse_capture()?;
        let mark = lock(&event.mark).clone();
        if let Some((other, number)) = mark {
            wait_for(&context, &stream, &other, number);
        }
        Ok(())
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
        let (handle, data) = (from_pointer(stream), Promised::new(data));
        let call = Box::new(move |result| {
            // SAFETY: the caller's function and pointer, as `cuda.h` requires.
            unsafe { callback(to_pointer(handle), result, data.get()) }
        });
        queue::callback(state()?, &context, &found, call)
    }

    fn cuLaunchHostFunc(stream: CUstream, function: CUhostFn, data: *mut c_void) {
        let function = function.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
        let (context, stream) = state()?.stream(from_pointer(stream))?;
        context.check()?;
        let kind = CUgraphNodeType::CU_GRAPH_NODE_TYPE_HOST;
        host_function(state()?, &context, &stream, kind, host_work(function, data))
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
            happened: Mutex::default(),
            mark: Mutex::default(),
            captured: Mutex::default(),
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
        let (context, event) = event_of(event)?;
        if event.is_over(|stream, number| stream.query(&context, number)) {
            return context.check();
        }
        Err(CUresult::CUDA_ERROR_NOT_READY)
    }

    fn cuEventSynchronize(event: CUevent) {
        let (context, event) = event_of(event)?;
        event.is_over(|stream, number| {
            stream.run_up_to(&context, number);
            true
        });
        context.check()
    }

    fn cuEventElapsedTime_v2(milliseconds: *mut f32, start: CUevent, end: CUevent) {
        let ((_, start), (_, end)) = (event_of(start)?, event_of(end)?);
        let done = |stream: &Stream, number| stream.queue.is_done(number);
        if !start.is_over(done) || !end.is_over(done) {
            return Err(CUresult::CUDA_ERROR_NOT_READY);
        }
        let timed = |event: &Event| {
            event.flags & CUevent_flags::CU_EVENT_DISABLE_TIMING.0 == 0
        };
        // One after the other, since both may be the same event.
        let from = *lock(&start.happened);
        let to = *lock(&end.happened);
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

    fn cuStreamWriteValue32_v2(stream: CUstream, to: CUdeviceptr, value: u32, _flags: c_uint) {
        write_value(stream, to, move |word: &AtomicU32| word.store(value, Ordering::SeqCst))
    }

    fn cuStreamWriteValue64_v2(stream: CUstream, to: CUdeviceptr, value: u64, _flags: c_uint) {
        write_value(stream, to, move |word: &AtomicU64| word.store(value, Ordering::SeqCst))
    }

    fn cuStreamWaitValue32_v2(stream: CUstream, of: CUdeviceptr, value: u32, flags: c_uint) {
        wait_value(stream, of, move |word: &AtomicU32| {
            let found = word.load(Ordering::SeqCst);
            is_reached(flags, found.wrapping_sub(value) as i32 >= 0, found.into(), value.into())
        })
    }

    fn cuStreamWaitValue64_v2(stream: CUstream, of: CUdeviceptr, value: u64, flags: c_uint) {
        wait_value(stream, of, move |word: &AtomicU64| {
            let found = word.load(Ordering::SeqCst);
            is_reached(flags, found.wrapping_sub(value) as i64 >= 0, found, value)
        })
    }
}

/// Returns whether a value satisfies a stream's wait.
fn is_reached(flags: c_uint, at_least: bool, found: u64, value: u64) -> bool {
    match flags & 3 {
        0 => at_least,
        1 => found == value,
        2 => found & value != 0,
        _ => !(found | value) != 0,
    }
}

/// Returns the word at a device address, if it is allocated and aligned.
pub(super) fn word_at<W>(context: &Context, address: u64) -> Result<Promised<*const W>, CUresult> {
    let invalid = CUresult::CUDA_ERROR_INVALID_VALUE;
    let (base, size) = context.memory.range_of(address).ok_or(invalid)?;
    let inside = (address - base) as usize + size_of::<W>() <= size;
    if !inside || !address.is_multiple_of(size_of::<W>() as u64) {
        return Err(invalid);
    }
    let host = host_address(address);
    Ok(Promised::new(std::ptr::with_exposed_provenance(
        host as usize,
    )))
}

fn write_value<W: 'static>(
    stream: CUstream,
    to: u64,
    write: impl Fn(&W) + Send + Sync + 'static,
) -> Outcome {
    let state = state()?;
    let (context, stream) = state.stream(from_pointer(stream))?;
    context.check()?;
    let word = word_at::<W>(&context, to)?;
    // As NVIDIA's driver, which rejects memory allocated from pools.
    if context
        .block_of(to)
        .is_some_and(|(_, block)| block.pool.is_some())
    {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    let work = Arc::new(move || {
        // SAFETY: the address was checked when the work was enqueued, and the caller must keep the
        // memory until the work completes.
        write(unsafe { &*word.get() });
        Ok(())
    });
    let kind = CUgraphNodeType::CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
    in_stream(state, &context, &stream, kind, work)
}

fn wait_value<W: 'static>(
    stream: CUstream,
    of: u64,
    reached: impl Fn(&W) -> bool + Send + Sync + 'static,
) -> Outcome {
    let state = state()?;
    let (context, stream) = state.stream(from_pointer(stream))?;
    context.check()?;
    let word = word_at::<W>(&context, of)?;
    let work = Arc::new(move || {
        // SAFETY: as above.
        while !reached(unsafe { &*word.get() }) {
            std::thread::yield_now();
        }
        Ok(())
    });
    // On a separate thread: the caller continues, and may be the one that writes the value.
    let kind = CUgraphNodeType::CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
    host_function(state, &context, &stream, kind, work)
}
