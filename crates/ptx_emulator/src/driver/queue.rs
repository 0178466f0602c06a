//! The queues behind streams: in which order work is done, and when.
//!
//! Each piece of work gets a number in its stream, and is done after those before it. By default
//! ([`Schedule::Eager`]) that is when it is put in, on the calling thread. With [`Schedule::Late`]
//! it is when somebody waits for it: the host, or another stream's work that is being done. Both
//! are schedules that a GPU could choose. The late one shows what a program forgot to wait for,
//! each time it runs.
//!
//! Host functions run on a thread of their own, since a caller may hold locks that they take.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock};

use cust_raw::{CUgraphNodeType, CUresult, CUstream_flags};

use super::Outcome;
use super::state::{Context, State, Stream, lock};

/// The environment variable that says when work is done: `eager` or `late`.
const VARIABLE: &str = "PTX_EMULATOR_SCHEDULE";

/// When work that was put into a stream is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Schedule {
    /// At once.
    Eager,
    /// When somebody waits for it.
    Late,
}

static SCHEDULE: AtomicU8 = AtomicU8::new(0);

/// Says when work that is put into streams from now on is done, in the whole process. Until it is
/// called the environment variable `PTX_EMULATOR_SCHEDULE` says so: `eager`, as without it, or
/// `late`.
pub fn set_schedule(schedule: Schedule) {
    SCHEDULE.store(1 + schedule as u8, Ordering::SeqCst);
}

pub(super) fn is_late() -> bool {
    match SCHEDULE.load(Ordering::SeqCst) {
        0 => {
            let late = std::env::var(VARIABLE).is_ok_and(|value| value == "late");
            let schedule = if late {
                Schedule::Late
            } else {
                Schedule::Eager
            };
            set_schedule(schedule);
            late
        }
        schedule => schedule == 1 + Schedule::Late as u8,
    }
}

/// Something to do, once or, in a graph, again and again.
pub(super) type Work = Arc<dyn Fn() -> Outcome + Send + Sync>;

/// What a closure captures that is not `Send`, but is the caller's promise to be usable on
/// whichever thread does the work.
#[derive(Clone, Copy)]
pub(super) struct Promised<T>(T);

// SAFETY: the API hands it to the device by contract.
unsafe impl<T> Send for Promised<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Promised<T> {}

impl<T: Copy> Promised<T> {
    pub(super) fn new(value: T) -> Promised<T> {
        Promised(value)
    }

    /// A method, so that closures capture the whole.
    pub(super) fn get(&self) -> T {
        self.0
    }
}

enum Item {
    Do(Work, Arc<OnceLock<Outcome>>),
    /// A function of the host's, which has a thread of its own.
    Call(Work),
    /// A call of the host that is made whatever happened before; it is told of that.
    Tell(Box<dyn FnOnce(CUresult) + Send>),
    /// Another stream has to have done its work up to a number.
    WaitFor(Arc<Stream>, u64),
}

/// A stream's work.
#[derive(Default)]
pub(super) struct Queue {
    state: Mutex<QueueState>,
    changed: Condvar,
}

#[derive(Default)]
struct QueueState {
    items: VecDeque<Item>,
    /// How many were put in.
    issued: u64,
    /// How many are done.
    done: u64,
    /// One is being done now.
    running: bool,
}

impl Queue {
    fn push(&self, item: Item) -> u64 {
        let mut state = lock(&self.state);
        state.items.push_back(item);
        state.issued += 1;
        state.issued
    }

    /// The number of what was put in last.
    pub(super) fn issued(&self) -> u64 {
        lock(&self.state).issued
    }

    pub(super) fn is_done(&self, number: u64) -> bool {
        lock(&self.state).done >= number
    }
}

impl Stream {
    /// Whether it is the default stream, or waits for it.
    fn blocks(&self) -> bool {
        self.flags & CUstream_flags::CU_STREAM_NON_BLOCKING.0 == 0
    }

    /// Does all work up to the number, unless it is done; returns when it is.
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
            // Without the lock: what is waited for may wait for earlier work of this stream.
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
        // A lost context does nothing more.
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

    /// Does one piece of work, if there is some and nobody else does one. It does not wait for
    /// functions of the host's, which may wait for the caller.
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

    /// Whether its work up to the number is done. Asking often enough gets it done: with the late
    /// schedule each question does one piece.
    pub(super) fn query(&self, context: &Context, number: u64) -> bool {
        if self.queue.is_done(number) {
            return true;
        }
        if is_late() {
            self.step(context);
        }
        false
    }

    /// Waits for all that is in the stream now.
    pub(super) fn finish(&self, context: &Context) {
        self.run_up_to(context, self.queue.issued());
    }
}

/// Puts work into a stream: after what is in it, and beside other streams as CUDA allows. What
/// goes wrong when it is put in is returned; with the late schedule it goes well. A capture of the
/// stream records a node of the kind.
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
    let late = is_late();
    if late {
        wait_for_default(state, context, stream);
    }
    let outcome = Arc::new(OnceLock::new());
    if late {
        // Nobody is there any more to return an error to.
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

/// Puts a function of the host's into a stream.
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

/// Puts a function of the host's into a stream that is called whatever happened before.
pub(super) fn callback(
    state: &State,
    context: &Arc<Context>,
    stream: &Arc<Stream>,
    call: Box<dyn FnOnce(CUresult) + Send>,
) -> Outcome {
    stream.refuse_capture()?;
    spawn(state, context, stream, Item::Tell(call))
}

/// Puts something in, and gets a thread of its own to do it when its turn comes.
fn spawn(state: &State, context: &Arc<Context>, stream: &Arc<Stream>, item: Item) -> Outcome {
    if is_late() {
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

/// Lets a stream that is destroyed run to its end; nobody waits for it here.
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
    // Else whoever waits for the context does its work.
    let _ = thread.spawn(run);
}

/// Lets later work of a stream come after another's up to the number.
pub(super) fn wait_for(context: &Context, stream: &Stream, other: &Arc<Stream>, number: u64) {
    if std::ptr::eq(stream, &**other) || other.queue.is_done(number) {
        return;
    }
    let own = stream.queue.push(Item::WaitFor(Arc::clone(other), number));
    if !is_late() {
        stream.run_up_to(context, own);
    }
}

/// Work in the default stream comes after that in streams which wait for it, and the other way
/// round.
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

/// Waits until the work in all streams of a context is done.
pub(super) fn wait_for_all(state: &State, context: &Context) {
    for stream in state.streams(context) {
        stream.finish(context);
    }
}
