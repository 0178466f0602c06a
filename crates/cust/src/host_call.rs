//! Host functions that streams and graphs call.
//!
//! The driver calls host functions on its own thread, on which CUDA functions must not be called:
//! for example, dropping a buffer there would wait for the stream, which waits for the host
//! function. Host functions therefore run on this module's threads, and the driver's thread, and
//! with it later work in the stream, waits for them. When a host function first calls the driver,
//! it releases its stream ([`release_stream`]), so that it cannot deadlock.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex};

/// A call of a host function, which blocks the stream until it is released.
#[derive(Default)]
struct Held {
    released: Mutex<bool>,
    changed: Condvar,
}

impl Held {
    fn release(&self) {
        *lock(&self.released) = true;
        self.changed.notify_all();
    }

    fn wait(&self) {
        let mut released = lock(&self.released);
        while !*released {
            released = (self.changed.wait(released)).unwrap_or_else(|e| e.into_inner());
        }
    }
}

type Call = Box<dyn FnOnce() + Send>;
type Job = (Call, Arc<Held>);

thread_local! {
    /// The call that the host function running on this thread belongs to.
    static HELD: RefCell<Option<Arc<Held>>> = const { RefCell::new(None) };
}

/// The idle threads. Each call gets an idle thread or a new one, since a call may wait for a later
/// call.
static IDLE: Mutex<Vec<Sender<Job>>> = Mutex::new(Vec::new());
/// The maximum number of idle threads that are kept.
const KEPT: usize = 8;

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}

/// If this thread runs a host function, releases the stream that it blocks. Called before every
/// call of the driver.
#[inline]
pub(crate) fn release_stream() {
    // The access fails on a thread that is exiting, which blocks no stream.
    let _ = HELD.try_with(|held| {
        if held.borrow().is_some()
            && let Some(held) = held.take()
        {
            held.release();
        }
    });
}

/// Calls `function` on another thread, and waits until it returns or calls the driver. A panic in
/// `function` is caught and discarded.
pub(crate) fn call_and_wait(function: impl FnOnce() + Send + 'static) {
    start(Box::new(function)).wait();
}

/// Calls `function` on another thread, without waiting.
pub(crate) fn call(function: impl FnOnce() + Send + 'static) {
    start(Box::new(function));
}

fn start(call: Call) -> Arc<Held> {
    let held = Arc::new(Held::default());
    let mut job = (call, Arc::clone(&held));
    loop {
        let idle = lock(&IDLE).pop();
        let Some(thread) = idle else { break };
        match thread.send(job) {
            Ok(()) => return held,
            // The thread exited: threads may be stopped when the process exits.
            Err(refused) => job = refused.0,
        }
    }
    let job = Arc::new(Mutex::new(Some(job)));
    let own = Arc::clone(&job);
    let take = |job: &Mutex<Option<_>>| lock(job).take();
    let thread = std::thread::Builder::new().name("cust callback".to_owned());
    let started = thread.spawn(move || {
        if let Some(job) = take(&own) {
            run_and_serve(job);
        }
    });
    // If no thread can be created, run the function on the driver's thread. A function that waits
    // for its own stream then deadlocks.
    if started.is_err()
        && let Some((call, held)) = take(&job)
    {
        run(call, &held);
    }
    held
}

fn run(call: Call, held: &Arc<Held>) {
    // The function's captures are dropped inside `catch_unwind`. Release the stream before dropping
    // the panic's payload, whose drop may panic.
    let result = catch_unwind(AssertUnwindSafe(call));
    held.release();
    let _ = catch_unwind(AssertUnwindSafe(|| drop(result)));
}

fn run_and_serve(mut job: Job) {
    loop {
        let (call, held) = job;
        crate::bound_context::forget();
        HELD.set(Some(Arc::clone(&held)));
        run(call, &held);
        HELD.set(None);
        let (sender, receiver) = channel();
        {
            let mut idle = lock(&IDLE);
            if idle.len() >= KEPT {
                return;
            }
            idle.push(sender);
        }
        match receiver.recv() {
            Ok(next) => job = next,
            Err(_) => return,
        }
    }
}
