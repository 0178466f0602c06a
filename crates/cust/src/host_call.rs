//! Functions of the host that streams and graphs call.
//!
//! The driver calls them on a thread of its own, on which CUDA's functions must not be called: a
//! buffer that is dropped there would wait for the stream that waits for the function. So the
//! functions run on threads of this module, and the driver's thread waits for them, as the stream's
//! later work does. Before a function first calls the driver, it stops holding its stream up
//! ([`let_stream_go_on`]), so whatever it then waits for can happen.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex};

/// A call, which holds up the stream that made it.
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
    /// What the function that runs on this thread holds up.
    static HELD: RefCell<Option<Arc<Held>>> = const { RefCell::new(None) };
}

/// The threads that have nothing to do. Each call gets one of them, or a new one, since a call may
/// wait for a later one.
static IDLE: Mutex<Vec<Sender<Job>>> = Mutex::new(Vec::new());
/// More idle threads than this are not kept.
const KEPT: usize = 8;

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}

/// Lets the stream that the function on this thread holds up go on, if there is one. Comes before
/// every call of the driver's.
#[inline]
pub(crate) fn let_stream_go_on() {
    // A thread that is ending holds nothing up.
    let _ = HELD.try_with(|held| {
        if held.borrow().is_some()
            && let Some(held) = held.take()
        {
            held.release();
        }
    });
}

/// Calls `function` on another thread, and waits until it returns or calls the driver. A panic in
/// it is caught and dropped.
pub(crate) fn call_and_wait(function: impl FnOnce() + Send + 'static) {
    start(Box::new(function)).wait();
}

/// Calls `function` on another thread.
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
            // It ended: at the end of the process threads may be stopped.
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
    // Without a thread the driver's has to do: only a function that waits for its own stream
    // cannot go on then.
    if started.is_err()
        && let Some((call, held)) = take(&job)
    {
        run(call, &held);
    }
    held
}

fn run(call: Call, held: &Arc<Held>) {
    // What the function captured is dropped by then. The panic's payload may panic when it is dropped,
    // so its stream goes on before that.
    let result = catch_unwind(AssertUnwindSafe(call));
    held.release();
    let _ = catch_unwind(AssertUnwindSafe(|| drop(result)));
}

fn run_and_serve(mut job: Job) {
    loop {
        let (call, held) = job;
        crate::context::forget_bound();
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
