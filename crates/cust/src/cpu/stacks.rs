//! The stacks of the threads of a block that wait at the same time.
//!
//! Exactly one stack of a [`Threads`] runs at a time; [`Stacks::switch`] continues another one.
//! Each stack belongs to an OS thread of its own ([`OsThreads`]), or all stacks belong to one OS
//! thread ([`Fibers`]).

use std::cell::{Cell, RefCell};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, Builder, JoinHandle, Thread};

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use cust_core::cpu::{self, Current};

use super::block::Threads;

/// The size of a stack: at least twice the maximum of a thread on a device. The system allocates
/// pages on first use, and an overflow hits a guard page, which aborts the process.
pub(super) const STACK: usize = 1 << 20;

/// The kind of stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    OsThreads,
    Fibers,
}

pub(super) enum Stacks {
    OsThreads(OsThreads),
    Fibers(Fibers),
}

impl Stacks {
    pub(super) fn new(kind: Kind) -> Stacks {
        match kind {
            Kind::OsThreads => Stacks::OsThreads(OsThreads::default()),
            Kind::Fibers => Stacks::Fibers(Fibers::default()),
        }
    }

    /// Creates stack 0, calls [`Threads::run`] on it, and returns when all stacks have returned
    /// from this function.
    pub(super) fn run(&self, threads: &Threads<'_>) -> io::Result<()> {
        match self {
            Stacks::OsThreads(stacks) => {
                stacks.run(threads);
                Ok(())
            }
            Stacks::Fibers(stacks) => stacks.run(threads),
        }
    }

    /// Creates a stack, which calls [`Threads::run`] when it first continues. `slot` is the number
    /// of existing stacks. The next call of [`Stacks::switch`] continues the new stack.
    pub(super) fn create(&self, threads: &Threads<'_>, slot: usize) -> io::Result<()> {
        match self {
            Stacks::OsThreads(stacks) => stacks.create(threads, slot),
            Stacks::Fibers(stacks) => stacks.create(),
        }
    }

    /// Continues the stack `to`. Returns when another stack continues `from`, which is running.
    pub(super) fn switch(&self, from: usize, to: usize) {
        match self {
            Stacks::OsThreads(stacks) => stacks.switch(from, to),
            Stacks::Fibers(stacks) => stacks.switch(from, to),
        }
    }
}

/// Aborts the process if a stack unwinds, which would be a bug of this crate: panics of kernels are
/// caught for each thread. The other stacks would wait forever.
struct AbortOnUnwind;

impl Drop for AbortOnUnwind {
    fn drop(&mut self) {
        if thread::panicking() {
            std::process::abort();
        }
    }
}

/// OS threads that pass a baton: only its holder runs.
///
/// Stack 0 is the thread of the launch's worker. The other threads are created when a thread of the
/// kernel first has to wait while others have not started, and exit at the end of the launch.
#[derive(Default)]
pub(super) struct OsThreads {
    batons: RefCell<Vec<Arc<Baton>>>,
    handles: RefCell<Vec<JoinHandle<()>>>,
}

/// Whether an OS thread may run.
#[derive(Default)]
struct Baton {
    passed: AtomicBool,
    /// The thread that waits for this baton.
    thread: OnceLock<Thread>,
}

impl Baton {
    /// Lets the thread run. The caller must not access the state of the block from here on.
    fn pass(&self) {
        self.passed.store(true, Ordering::Release);
        let thread = self.thread.get();
        thread.expect("`create` sets it").unpark();
    }

    fn wait(&self) {
        // The kernel may have left a token, and may have been given one.
        while !self.passed.swap(false, Ordering::Acquire) {
            thread::park();
        }
    }
}

/// The threads of a block, for another OS thread.
struct Shared<'t, 'l>(&'t Threads<'l>);

// SAFETY: only the holder of the baton accesses the value, and passing it synchronizes. The
// arguments of the launch can be shared by OS threads, as for workers.
unsafe impl Send for Shared<'_, '_> {}

impl<'t, 'l> Shared<'t, 'l> {
    /// Unlike an access of the field, makes a closure capture the whole value.
    fn get(self) -> &'t Threads<'l> {
        self.0
    }
}

impl OsThreads {
    fn run(&self, threads: &Threads<'_>) {
        let _abort = AbortOnUnwind;
        let own = Arc::new(Baton::default());
        own.thread.get_or_init(thread::current);
        self.batons.borrow_mut().push(own);
        let current = Current::new(0, threads);
        // SAFETY: `current` is of this stack.
        unsafe { cpu::enter(&current, || threads.run(&current)) };
        // All other stacks are idle or have returned.
        for baton in &self.batons.borrow()[1..] {
            baton.pass();
        }
        // Also waits for the destructors of thread-local variables.
        for handle in self.handles.take() {
            handle.join().expect("a stack aborts instead of unwinding");
        }
    }

    fn create(&self, threads: &Threads<'_>, slot: usize) -> io::Result<()> {
        let own = Arc::new(Baton::default());
        let first = self.batons.borrow()[0].clone();
        let (baton, threads) = (own.clone(), Shared(threads));
        let body = move || {
            let _abort = AbortOnUnwind;
            let threads = threads.get();
            baton.wait();
            let current = Current::new(slot, threads);
            // SAFETY: `current` is of this stack.
            let last = unsafe { cpu::enter(&current, || threads.run(&current)) };
            if last {
                first.pass();
            }
        };
        let builder = Builder::new().name(threads_name()).stack_size(STACK);
        // SAFETY: `run` joins the thread before the objects that the closure refers to are dropped.
        let handle = unsafe { builder.spawn_unchecked(body) }?;
        own.thread.get_or_init(|| handle.thread().clone());
        self.batons.borrow_mut().push(own);
        self.handles.borrow_mut().push(handle);
        Ok(())
    }

    fn switch(&self, from: usize, to: usize) {
        let batons = self.batons.borrow();
        let (from, to) = (batons[from].clone(), batons[to].clone());
        drop(batons);
        to.pass();
        from.wait();
    }
}

/// Names a thread after the worker's, which has the kernel's name.
fn threads_name() -> String {
    thread::current().name().unwrap_or("kernel").to_owned()
}

type Switch = Yielder<(), usize>;
type Fiber = Coroutine<(), usize, ()>;

/// Coroutines with stacks of their own, on the thread of the launch's worker.
#[derive(Default)]
pub(super) struct Fibers {
    /// The memory of the fiber that `run` creates next.
    stack: Cell<Option<DefaultStack>>,
    switches: RefCell<Vec<*const Switch>>,
}

impl Fibers {
    fn run(&self, threads: &Threads<'_>) -> io::Result<()> {
        let _abort = AbortOnUnwind;
        let mut fibers: Vec<(Box<Current<'_>>, Fiber)> = Vec::new();
        self.create()?;
        let mut slot = 0;
        loop {
            if let Some(stack) = self.stack.take() {
                let current = Box::new(Current::new(fibers.len(), threads));
                let own: *const Current<'_> = &raw const *current;
                let body = move |switch: &Switch, ()| {
                    self.switches.borrow_mut().push(switch);
                    // SAFETY: the box lives as long as the fiber.
                    threads.run(unsafe { &*own });
                };
                // SAFETY: the fiber is dropped at the end of this function, before the objects that
                // the closure refers to.
                let fiber = unsafe { Fiber::with_stack_unchecked(stack, body) };
                fibers.push((current, fiber));
            }
            let (current, fiber) = &mut fibers[slot];
            // SAFETY: `current` is the fiber's.
            match unsafe { cpu::enter(current, || fiber.resume(())) } {
                CoroutineResult::Yield(to) => slot = to,
                CoroutineResult::Return(()) => break,
            }
        }
        for (_, fiber) in &mut fibers {
            if !fiber.done() {
                fiber.resume(());
            }
        }
        Ok(())
    }

    fn create(&self) -> io::Result<()> {
        self.stack.set(Some(DefaultStack::new(STACK)?));
        Ok(())
    }

    fn switch(&self, from: usize, to: usize) {
        let switch = self.switches.borrow()[from];
        // SAFETY: the switch belongs to the running fiber.
        unsafe { &*switch }.suspend(to);
    }
}
