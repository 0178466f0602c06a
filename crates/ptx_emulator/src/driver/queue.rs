//! The queues of streams: the order in which work runs, and when.
//!
//! Each item of work gets a number in its stream and runs after its predecessors. By default
//! ([`Schedule::Eager`]) it runs when it is enqueued, on the calling thread. With
//! [`Schedule::Deferred`] it runs when something waits for it: the host, or running work of another
//! stream. A GPU could choose either schedule. The deferred schedule exposes missing
//! synchronization in a program, deterministically.
//!
//! Host functions run on a separate thread, since a caller may hold locks that they acquire.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock};

use cust_raw::{CUgraphNodeType, CUresult, CUstream_flags};

use super::Outcome;
use super::state::{Context, State, Stream, lock};

/// The environment variable that selects the schedule: `eager` or `deferred`.
const VARIABLE: &str = "PTX_EMULATOR_SCHEDULE";

/// When work that was enqueued in a stream runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Schedule {
    /// Immediately.
    Eager,
    /// When something waits for it.
    Deferred,
}

static SCHEDULE: AtomicU8 = AtomicU8::new(0);

/// Sets the schedule of work enqueued from now on, in the whole process.
///
/// By default, the environment variable `PTX_EMULATOR_SCHEDULE` selects the schedule: `eager` or
/// `deferred`. Without it, the schedule is eager.
pub fn set_schedule(schedule: Schedule) {
    SCHEDULE.store(1 + schedule as u8, Ordering::SeqCst);
}

pub(super) fn is_deferred() -> bool {
    match SCHEDULE.load(Ordering::SeqCst) {
        0 => {
            let deferred = std::env::var(VARIABLE).is_ok_and(|value| value == "deferred");
            let schedule = if deferred {
                Schedule::Deferred
            } else {
                Schedule::Eager
            };
            set_schedule(schedule);
            deferred
        }
        schedule => schedule == 1 + Schedule::Deferred as u8,
    }
}

/// Work that runs once or, in a graph, repeatedly.
pub(super) type Work = Arc<dyn Fn() -> Outcome + Send + Sync>;

/// A captured value that is not `Send`. The caller promises that it is usable on any thread that
/// runs the work.
#[derive(Clone, Copy)]
pub(super) struct Promised<T>(T);

// SAFETY: the API's contract lets any thread use the value.
unsafe impl<T> Send for Promised<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Promised<T> {}

impl<T: Copy> Promised<T> {
    pub(super) fn new(value: T) -> Promised<T> {
        Promised(value)
    }

    /// Returns the value. Closures that call this method capture the whole struct.
    pub(super) fn get(&self) -> T {
        self.0
    }
}

enum Item {
    Do(Work, Arc<OnceLock<Outcome>>),
    /// A host function, which has its own thread.
    Call(Work),
    /// A host callback that is called even after an error, with the error code.
    Tell(Box<dyn FnOnce(CUresult) + Send>),
    /// Waits until another stream has completed its work up to a number.
    WaitFor(Arc<Stream>, u64),
}

/// The work of a stream.
#[derive(Default)]
pub(super) struct Queue {
    state: Mutex<QueueState>,
    changed: Condvar,
}

#[derive(Default)]
struct QueueState {
    items: VecDeque<Item>,
    /// The number of enqueued items.
    issued: u64,
    /// The number of completed items.
    done: u64,
    /// Whether an item is running.
    running: bool,
}

impl Queue {
    fn push(&self, item: Item) -> u64 {
        let mut state = lock(&self.state);
        state.items.push_back(item);
        state.issued += 1;
        state.issued
    }

    /// Returns the number of the last enqueued item.
    pub(super) fn issued(&self) -> u64 {
        lock(&self.state).issued
    }

    pub(super) fn is_done(&self, number: u64) -> bool {
        lock(&self.state).done >= number
    }
}

impl Stream {
    /// Returns whether the stream is the default stream or synchronizes with it.
    fn blocks(&self) -> bool {
        self.flags & CUstream_flags::CU_STREAM_NON_BLOCKING.0 == 0
    }

    /// Runs all work up to `number` that has not completed, and returns when it has.
    pub(super) fn run_up_to(&self, context: &Context, number: u64) {
        let mut state = lock(&self.queue.state);
        while state.done < number {
            if state.running {
                state = (self.queue.changed.wait(state)).unwrap_or_else(|e| e.into_inner());
                continue;
            }
            let Some(item) = state.items.pop_front() else {
                return;
            };
            state.running = true;
            drop(state);
            // Without the lock: the work that is waited for may wait for earlier work of this
            // stream.
            self.run(context, item);
            state = lock(&self.queue.state);
            state.running = false;
            state.done += 1;
            self.queue.changed.notify_all();
        }
    }

    fn run(&self, context: &Context, item: Item) {
        let (work, outcome) = match item {
            Item::WaitFor(stream, number) => return stream.run_up_to(context, number),
            Item::Tell(call) => {
                return call(context.check().err().unwrap_or(CUresult::CUDA_SUCCESS));
            }
            Item::Do(work, outcome) => (work, outcome),
            Item::Call(work) => (work, Arc::default()),
        };
        // A context after a fault runs no more work.
        if let Err(code) = context.check() {
            let _ = outcome.set(Err(code));
            return;
        }
        let is_default = std::ptr::eq(self, &*context.null_stream);
        let result = if is_default {
            let _legacy = context.legacy.write().unwrap_or_else(|e| e.into_inner());
            work()
        } else if self.blocks() {
            let _legacy = context.legacy.read().unwrap_or_else(|e| e.into_inner());
            work()
        } else {
            work()
        };
        let _ = outcome.set(result);
    }

    /// Runs one item of work, unless there is none or one is already running. Does not wait for
    /// host functions, which may wait for the caller.
    fn step(&self, context: &Context) {
        let state = lock(&self.queue.state);
        if state.running {
            return;
        }
        match state.items.front() {
            None | Some(Item::Call(_) | Item::Tell(_)) => {}
            Some(Item::WaitFor(other, number)) if !other.queue.is_done(*number) => {
                let other = Arc::clone(other);
                drop(state);
                other.step(context);
            }
            Some(_) => {
                let next = state.done + 1;
                drop(state);
                self.run_up_to(context, next);
            }
        }
    }

    /// Returns whether the work up to `number` has completed. With the deferred schedule each query
    /// runs one item, so that repeated queries complete the work.
    pub(super) fn query(&self, context: &Context, number: u64) -> bool {
        if self.queue.is_done(number) {
            return true;
        }
        if is_deferred() {
            self.step(context);
        }
        false
    }

    /// Waits for all work that is in the stream now.
    pub(super) fn finish(&self, context: &Context) {
        self.run_up_to(context, self.queue.issued());
    }
}

/// Enqueues work in a stream, after the work in it and concurrent with other streams as in CUDA.
/// Returns the work's error if it runs immediately; with the deferred schedule, the call succeeds.
/// A stream capture records a node of kind `kind`.
pub(super) fn in_stream(
    state: &State,
    context: &Arc<Context>,
    stream: &Arc<Stream>,
    kind: CUgraphNodeType,
    work: Work,
) -> Outcome {
    if let Some(capture) = stream.capture() {
        return capture.record(stream, kind, work);
    }
    let deferred = is_deferred();
    if deferred {
        wait_for_default(state, context, stream);
    }
    let outcome = Arc::new(OnceLock::new());
    if deferred {
        // There is no call left that could return an error.
        let (context, inner) = (Arc::downgrade(context), work);
        let work: Work = Arc::new(move || {
            let result = inner();
            if let (Err(_), Some(context)) = (result, context.upgrade()) {
                let code = CUresult::CUDA_ERROR_ILLEGAL_ADDRESS;
                lock(&context.sticky).get_or_insert(code);
            }
            result
        });
        stream.queue.push(Item::Do(work, outcome));
        return Ok(());
    }
    let number = stream.queue.push(Item::Do(work, Arc::clone(&outcome)));
    stream.run_up_to(context, number);
    outcome.get().copied().unwrap_or(Ok(()))
}

/// Enqueues a host function in a stream.
pub(super) fn host_function(
    state: &State,
    context: &Arc<Context>,
    stream: &Arc<Stream>,
    kind: CUgraphNodeType,
    work: Work,
) -> Outcome {
    if let Some(capture) = stream.capture() {
        return capture.record(stream, kind, work);
    }
    spawn(state, context, stream, Item::Call(work))
}

/// Enqueues a host callback in a stream, which is called even after an error.
pub(super) fn callback(
    state: &State,
    context: &Arc<Context>,
    stream: &Arc<Stream>,
    call: Box<dyn FnOnce(CUresult) + Send>,
) -> Outcome {
    stream.refuse_capture()?;
    spawn(state, context, stream, Item::Tell(call))
}

/// Enqueues an item, and starts a thread that runs it when its turn comes.
fn spawn(state: &State, context: &Arc<Context>, stream: &Arc<Stream>, item: Item) -> Outcome {
    if is_deferred() {
        wait_for_default(state, context, stream);
    }
    let number = stream.queue.push(item);
    let (context, stream) = (Arc::clone(context), Arc::clone(stream));
    let thread = std::thread::Builder::new().name("host function".to_owned());
    let thread = thread.spawn(move || stream.run_up_to(&context, number));
    match thread {
        Ok(_) => Ok(()),
        Err(_) => Err(CUresult::CUDA_ERROR_OPERATING_SYSTEM),
    }
}

/// Completes the work of a destroyed stream in the background.
pub(super) fn leave(context: &Arc<Context>, stream: Arc<Stream>) {
    let number = stream.queue.issued();
    if stream.queue.is_done(number) {
        return;
    }
    lock(&context.leaving).push(Arc::clone(&stream));
    let owner = Arc::clone(context);
    let run = move || {
        stream.run_up_to(&owner, number);
        lock(&owner.leaving).retain(|other| !Arc::ptr_eq(other, &stream));
    };
    let thread = std::thread::Builder::new().name("destroyed stream".to_owned());
    // If the thread cannot be started, waiting for the context runs the work.
    let _ = thread.spawn(run);
}

/// Makes subsequent work of a stream wait for another stream's work up to `number`.
pub(super) fn wait_for(context: &Context, stream: &Stream, other: &Arc<Stream>, number: u64) {
    if std::ptr::eq(stream, &**other) || other.queue.is_done(number) {
        return;
    }
    let own = stream.queue.push(Item::WaitFor(Arc::clone(other), number));
    if !is_deferred() {
        stream.run_up_to(context, own);
    }
}

/// Makes work in the default stream wait for the streams that synchronize with it, and vice versa.
fn wait_for_default(state: &State, context: &Context, stream: &Arc<Stream>) {
    let default = &context.null_stream;
    if Arc::ptr_eq(stream, default) {
        for other in state.streams(context) {
            if other.blocks() && !Arc::ptr_eq(&other, default) {
                wait_for(context, stream, &other, other.queue.issued());
            }
        }
    } else if stream.blocks() {
        wait_for(context, stream, default, default.queue.issued());
    }
}

/// Waits until the work in all streams of a context has completed.
pub(super) fn wait_for_all(state: &State, context: &Context) {
    for stream in state.streams(context) {
        stream.finish(context);
    }
}
