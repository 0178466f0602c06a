//! The threads of a block, which take turns.
//!
//! A stack runs threads of the block one after the other until one of them has to wait; then
//! another stack continues with the threads that have not started. A kernel without barriers is
//! therefore a loop on one stack, and a kernel with barriers has a stack per thread of a block.
//! Stacks are reused for later blocks.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::Ordering;

use cust_core::cpu::{self, Arrived, Block, Current, End, Key, Lanes, Place};
use cust_core::kernel::Parameters;

use super::Launch;
use super::hook::{self, Panic};
use super::stacks::{Kind, Stacks};
use crate::error::{CpuFault, KernelPanic};

/// The number of barriers per block.
const BARRIERS: usize = 16;

/// The payload with which a thread unwinds that exits without a panic.
struct Ended;

/// Runs blocks of a launch one after the other, until none are left.
pub(super) fn work(launch: &Launch<'_>, kind: Kind) {
    hook::install();
    let threads = Threads::new(launch, kind);
    if let Err(error) = threads.stacks.run(&threads) {
        threads.fail(CpuFault::System(error.to_string()));
    }
}

/// The threads of the blocks that a worker runs.
///
/// Only the running stack accesses it. The stacks may be of different OS threads.
pub(super) struct Threads<'l> {
    launch: &'l Launch<'l>,
    stacks: Stacks,
    /// The blocks that the worker has taken and not started.
    blocks: Cell<Range<u64>>,
    /// Whether the worker has no more blocks, so that its stacks return.
    finished: Cell<bool>,
    number: Cell<u64>,
    index: Cell<[u32; 3]>,
    /// The linear index of the next thread to start.
    next: Cell<u32>,
    /// The three-dimensional index of the next thread to start.
    next_index: Cell<[u32; 3]>,
    /// The number of threads that have not exited, including those that have not started.
    live: Cell<u32>,
    /// Whether the launch has failed in this block, so that its threads exit.
    canceled: Cell<bool>,
    state: RefCell<State>,
}

/// The mutable state. It is borrowed briefly, and never while a thread of the kernel runs.
#[derive(Default)]
struct State {
    /// The stacks that can continue.
    ready: VecDeque<usize>,
    /// The stacks without a thread.
    idle: Vec<usize>,
    seats: Vec<Seat>,
    barriers: [Barrier; BARRIERS],
    /// The barriers at which threads have arrived, as a bit mask.
    used: u16,
    warps: Vec<Warp>,
    /// Shared memory by key, size and alignment.
    memory: BTreeMap<(Key, usize, usize), Memory>,
}

/// The state of a stack's thread.
#[derive(Default)]
struct Seat {
    /// Whether the thread has started and does not run.
    suspended: bool,
    /// The result of the barrier that the thread waited at.
    arrived: Arrived,
    /// The result of the warp operation that the thread waited at.
    lanes: Lanes,
    /// Whether the wait is over.
    done: bool,
}

#[derive(Default)]
struct Barrier {
    /// The waiting stacks, with the linear indices of their threads.
    waiting: Vec<(usize, u32)>,
    /// The number of waiting threads whose predicate is true.
    predicates: u32,
    /// The number of threads that have arrived without waiting.
    arrived: u32,
    /// The number of participating threads; 0 for all.
    expected: u32,
}

#[derive(Default)]
struct Warp {
    /// A mask of the lanes that have exited or do not exist in the block.
    ended: u32,
    exchanges: Vec<Exchange>,
}

/// A warp operation at which some lanes have arrived.
struct Exchange {
    operation: &'static str,
    mask: u32,
    lanes: Lanes,
    slots: Vec<usize>,
}

/// A shared memory allocation of a block.
struct Memory {
    pointer: *mut u8,
    layout: Layout,
}

impl Drop for Memory {
    fn drop(&mut self) {
        if self.layout.size() > 0 {
            // SAFETY: the memory was allocated with this layout.
            unsafe { dealloc(self.pointer, self.layout) };
        }
    }
}

impl<'l> Threads<'l> {
    fn new(launch: &'l Launch<'l>, kind: Kind) -> Self {
        Threads {
            launch,
            stacks: Stacks::new(kind),
            blocks: Cell::default(),
            finished: Cell::new(false),
            number: Cell::new(0),
            index: Cell::default(),
            next: Cell::new(launch.threads),
            next_index: Cell::default(),
            live: Cell::new(0),
            canceled: Cell::new(false),
            state: RefCell::default(),
        }
    }

    /// Prepares the state for a block.
    fn start(&self, number: u64) {
        let [x, y, _] = self.launch.place.grid_dim.map(u64::from);
        self.number.set(number);
        let index = [number % x, number / x % y, number / x / y];
        self.index.set(index.map(|index| index as u32));
        let threads = self.launch.threads;
        self.next.set(0);
        self.next_index.set([0; 3]);
        self.live.set(threads);
        let mut state = self.state.borrow_mut();
        state.warps.clear();
        state
            .warps
            .extend((0..threads.div_ceil(32)).map(|warp| Warp {
                ended: !(u32::MAX >> (32 - (threads - warp * 32).min(32))),
                exchanges: Vec::new(),
            }));
        // Threads may have arrived at a barrier with `barrier.arrive` without a waiting thread.
        if std::mem::take(&mut state.used) != 0 {
            state.barriers = Default::default();
        }
    }

    /// The body of a stack: runs threads, until the worker has no more blocks. Returns whether this
    /// stack has run the last thread.
    pub(super) fn run(&self, current: &Current<'_>) -> bool {
        self.state.borrow_mut().seats.push(Seat::default());
        loop {
            while let Some((number, thread)) = self.next_thread() {
                self.run_thread(current, number, thread);
            }
            if let Some(slot) = self.choose() {
                self.state.borrow_mut().idle.push(current.slot());
                self.stacks.switch(current.slot(), slot);
                if self.finished.get() {
                    return false;
                }
            } else if !self.next_block() {
                self.finished.set(true);
                return true;
            }
        }
    }

    /// Starts the next block. Returns whether there is one.
    fn next_block(&self) -> bool {
        if self.canceled.get() {
            return false;
        }
        let mut blocks = self.blocks.take();
        if blocks.is_empty() {
            blocks = self.launch.take_blocks();
        }
        let block = blocks.next();
        self.blocks.set(blocks);
        block.map(|block| self.start(block)).is_some()
    }

    /// Returns the stack to run next, or `None` if all threads of the block have exited.
    fn choose(&self) -> Option<usize> {
        loop {
            let mut state = self.state.borrow_mut();
            let next = if self.canceled.get() {
                // All waiting threads exit.
                Some(state.seats.iter().position(|seat| seat.suspended)?)
            } else if self.next.get() < self.launch.threads {
                // Threads that have not started come first: others may wait for them.
                state.idle.pop()
            } else {
                state.ready.pop_front()
            };
            if let Some(slot) = next {
                state.seats[slot].suspended = false;
                return Some(slot);
            }
            let slot = state.seats.len();
            drop(state);
            if self.next.get() < self.launch.threads {
                match self.stacks.create(self, slot) {
                    Ok(()) => return Some(slot),
                    Err(error) => self.fail(CpuFault::System(error.to_string())),
                }
            } else if self.live.get() == 0 {
                return None;
            } else {
                self.fail(self.deadlock());
            }
        }
    }

    fn next_thread(&self) -> Option<(u32, [u32; 3])> {
        let number = self.next.get();
        if number >= self.launch.threads || self.canceled.get() {
            return None;
        }
        self.next.set(number + 1);
        let thread = self.next_index.get();
        let [width, height, _] = self.launch.place.block_dim;
        self.next_index.set(match thread {
            [x, y, z] if x + 1 < width => [x + 1, y, z],
            [_, y, z] if y + 1 < height => [0, y + 1, z],
            [_, _, z] => [0, 0, z + 1],
        });
        Some((number, thread))
    }

    fn run_thread(&self, current: &Current<'_>, number: u32, thread: [u32; 3]) {
        let place = Place {
            thread,
            block: self.index.get(),
            ..self.launch.place
        };
        // SAFETY: `next_thread` returns each index of the block once, and each block runs once.
        unsafe { current.start(place) };
        let run = self.launch.run;
        let result = catch_unwind(AssertUnwindSafe(|| {
            let mut parameters = Parameters::new(self.launch.bytes, self.launch.places);
            // SAFETY: the arguments have the types of the kernel's parameters, and this thread runs
            // once.
            unsafe { run(&mut parameters) };
        }));
        let recorded = current.panic.take();
        if let Err(payload) = result
            && !payload.is::<Ended>()
        {
            self.panicked(place, payload, recorded);
        }
        self.ended(number);
    }

    fn panicked(&self, place: Place, payload: Box<dyn Any + Send>, recorded: Option<Box<dyn Any>>) {
        let panic = match recorded.and_then(|panic| panic.downcast::<Panic>().ok()) {
            Some(panic) => *panic,
            None => Panic::of(&*payload),
        };
        // Leak payloads of other types, whose drop may panic.
        if !payload.is::<&str>() && !payload.is::<String>() {
            std::mem::forget(payload);
        }
        let panic = KernelPanic {
            message: panic.message,
            truncated: 0,
            file: panic.file,
            line: panic.line,
            column: panic.column,
            block: place.block,
            thread: place.thread,
            kernels: vec![self.launch.kernel.to_owned()],
        };
        let number =
            self.number.get() * u64::from(self.launch.threads) + u64::from(place.index_in_block());
        self.launch.panicked(number, panic);
    }

    /// Records that a thread has exited, which may complete barriers and warp operations that other
    /// threads wait at.
    fn ended(&self, number: u32) {
        self.live.set(self.live.get() - 1);
        let mut state = self.state.borrow_mut();
        let warp = (number / 32) as usize;
        state.warps[warp].ended |= 1 << (number % 32);
        let used = state.used;
        for barrier in (0..BARRIERS).filter(|barrier| used >> barrier & 1 != 0) {
            self.try_barrier(&mut state, barrier, None);
        }
        for exchange in (0..state.warps[warp].exchanges.len()).rev() {
            try_exchange(&mut state, warp, exchange, None);
        }
    }

    /// Completes a barrier if all participating threads have arrived. `last` is the stack that is
    /// running, if it is one of them.
    fn try_barrier(&self, state: &mut State, number: usize, last: Option<usize>) {
        let State {
            barriers,
            warps,
            seats,
            ready,
            used,
            ..
        } = state;
        let barrier = &mut barriers[number];
        let here = barrier.waiting.len() as u32 + barrier.arrived;
        let complete = match barrier.expected {
            0 => here >= self.live.get(),
            expected if here >= expected => true,
            expected => {
                // A GPU counts whole warps: exited lanes of participating warps count as arrived.
                let mut of: Vec<usize> = (barrier.waiting.iter())
                    .map(|&(_, thread)| (thread / 32) as usize)
                    .collect();
                of.sort_unstable();
                of.dedup();
                let ended = of.iter().map(|&warp| warps[warp].ended.count_ones());
                here + ended.sum::<u32>() >= expected
            }
        };
        if !complete {
            return;
        }
        let barrier = std::mem::take(barrier);
        *used &= !(1 << number);
        let arrived = Arrived {
            threads: barrier.waiting.len() as u32,
            predicates: barrier.predicates,
        };
        for (slot, _) in barrier.waiting {
            seats[slot].arrived = arrived;
            seats[slot].done = true;
            if Some(slot) != last {
                ready.push_back(slot);
            }
        }
    }

    /// Returns the error for a deadlock: what the remaining threads wait for.
    fn deadlock(&self) -> CpuFault {
        let state = self.state.borrow();
        let waiting = |(number, barrier): (usize, &Barrier)| {
            let threads = barrier.waiting.len();
            (threads > 0).then(|| format!("{threads} threads wait at barrier {number}"))
        };
        let mut what: Vec<String> = (state.barriers.iter().enumerate())
            .filter_map(waiting)
            .collect();
        for (warp, Warp { exchanges, .. }) in state.warps.iter().enumerate() {
            what.extend(exchanges.iter().map(|exchange| {
                let Exchange {
                    operation, mask, ..
                } = exchange;
                format!(
                    "{} lanes of warp {warp} wait at `{operation}` with mask {mask:#010x}",
                    exchange.slots.len()
                )
            }));
        }
        CpuFault::Deadlock {
            block: self.index.get(),
            waiting: what.join(", "),
        }
    }

    /// Stops the launch with an error.
    fn fail(&self, reason: CpuFault) {
        self.launch.fail(reason);
        self.canceled.set(true);
    }

    /// Returns the linear index of the running thread in its block.
    fn thread(current: &Current<'_>) -> u32 {
        current.place().index_in_block()
    }

    /// Suspends the thread, so that other threads run, until it is resumed.
    fn suspend(&self, current: &Current<'_>) {
        let slot = current.slot();
        self.state.borrow_mut().seats[slot].suspended = true;
        let next = self.choose().expect("this thread has not exited");
        if next != slot {
            self.stacks.switch(slot, next);
        }
        if self.canceled.get() {
            current.kill();
        }
        if current.is_dead() {
            self.leave();
        }
    }

    /// Waits until `done` is set for the thread.
    fn wait(&self, current: &Current<'_>) {
        while !std::mem::take(&mut self.state.borrow_mut().seats[current.slot()].done) {
            self.suspend(current);
        }
    }

    fn fail_thread(&self, current: &Current<'_>, reason: CpuFault) -> ! {
        self.fail(reason);
        current.kill();
        self.leave()
    }
}

/// Completes a warp operation if all lanes of its mask have arrived or exited. `last` is the stack
/// that is running, if it is one of them.
fn try_exchange(state: &mut State, warp: usize, index: usize, last: Option<usize>) {
    let Warp { ended, exchanges } = &mut state.warps[warp];
    let Exchange { mask, lanes, .. } = &exchanges[index];
    if mask & !(lanes.present | *ended) != 0 {
        return;
    }
    let exchange = exchanges.remove(index);
    for slot in exchange.slots {
        state.seats[slot].lanes = exchange.lanes;
        state.seats[slot].done = true;
        if Some(slot) != last {
            state.ready.push_back(slot);
        }
    }
}

/// Calls `f` with the running thread of the kernel.
fn current<R>(f: impl FnOnce(&Current<'_>) -> R) -> R {
    cpu::with(f).expect("a thread of a kernel is running")
}

// SAFETY: the functions follow their documentation.
unsafe impl Block for Threads<'_> {
    fn leave(&self) -> ! {
        if std::thread::panicking() {
            // The thread no longer takes part in barriers and warp operations, and cannot exit by
            // another unwind.
            eprintln!("error: a destructor called a device function while a kernel was unwinding");
            std::process::abort();
        }
        resume_unwind(Box::new(Ended))
    }

    unsafe fn barrier(
        &self,
        number: u32,
        count: Option<u32>,
        waits: bool,
        predicate: bool,
    ) -> Arrived {
        current(|current| {
            let expected = count.unwrap_or(0);
            if count.is_some_and(|count| count == 0 || count % 32 != 0) {
                let text = format!(
                    "barrier {number} for {expected} threads: must be a nonzero multiple of the \
                     warp size"
                );
                self.fail_thread(current, CpuFault::Invalid(text));
            }
            let mut state = self.state.borrow_mut();
            let barrier = &mut state.barriers[number as usize];
            let here = barrier.waiting.len() as u32 + barrier.arrived;
            if here > 0 && barrier.expected != expected {
                let text = format!(
                    "barrier {number} for {expected} threads, while others wait at it for {}",
                    barrier.expected
                );
                drop(state);
                self.fail_thread(current, CpuFault::Invalid(text));
            }
            barrier.expected = expected;
            state.used |= 1 << number;
            let barrier = &mut state.barriers[number as usize];
            if waits {
                barrier
                    .waiting
                    .push((current.slot(), Self::thread(current)));
                barrier.predicates += u32::from(predicate);
            } else {
                barrier.arrived += 1;
            }
            self.try_barrier(&mut state, number as usize, Some(current.slot()));
            drop(state);
            if waits {
                self.wait(current);
            }
            self.state.borrow().seats[current.slot()].arrived
        })
    }

    fn exchange(&self, operation: &'static str, mask: u32, value: u64) -> Lanes {
        current(|current| {
            let thread = Self::thread(current);
            let (warp, lane) = ((thread / 32) as usize, thread % 32);
            if mask >> lane & 1 == 0 {
                let text = format!(
                    "`{operation}` with mask {mask:#010x}, which lacks the thread's own lane {lane}"
                );
                self.fail_thread(current, CpuFault::Invalid(text));
            }
            let mut state = self.state.borrow_mut();
            let exchanges = &mut state.warps[warp].exchanges;
            let found = (exchanges.iter()).position(|other| {
                other.mask == mask
                    && other.operation == operation
                    && other.lanes.present >> lane & 1 == 0
            });
            let index = found.unwrap_or_else(|| {
                exchanges.push(Exchange {
                    operation,
                    mask,
                    lanes: Lanes::default(),
                    slots: Vec::new(),
                });
                exchanges.len() - 1
            });
            let exchange = &mut exchanges[index];
            exchange.lanes.present |= 1 << lane;
            exchange.lanes.values[lane as usize] = value;
            exchange.slots.push(current.slot());
            try_exchange(&mut state, warp, index, Some(current.slot()));
            drop(state);
            self.wait(current);
            self.state.borrow().seats[current.slot()].lanes
        })
    }

    fn shared(&self, key: Key, layout: Layout) -> *mut u8 {
        let size = match key {
            Key::Dynamic => self.launch.dynamic_shared as usize,
            _ => layout.size(),
        };
        let layout = Layout::from_size_align(size, layout.align()).expect("shared memory is small");
        let mut state = self.state.borrow_mut();
        let key = (key, layout.size(), layout.align());
        let memory = state.memory.entry(key).or_insert_with(|| {
            if size == 0 {
                let pointer = std::ptr::without_provenance_mut(layout.align());
                return Memory { pointer, layout };
            }
            // SAFETY: the layout has a nonzero size.
            let pointer = unsafe { alloc_zeroed(layout) };
            if pointer.is_null() {
                handle_alloc_error(layout);
            }
            Memory { pointer, layout }
        });
        memory.pointer
    }

    fn dynamic_shared(&self) -> u32 {
        self.launch.dynamic_shared
    }

    fn pause(&self) {
        current(|current| {
            if self.launch.stopped.load(Ordering::Relaxed) {
                self.canceled.set(true);
                current.kill();
                self.leave();
            }
            let mut state = self.state.borrow_mut();
            if state.ready.is_empty() && self.next.get() >= self.launch.threads {
                drop(state);
                // The thread waits for another block.
                std::thread::yield_now();
                return;
            }
            state.ready.push_back(current.slot());
            drop(state);
            self.suspend(current);
        });
    }

    fn end(&self, end: End<'_>) -> ! {
        current(|current| match end {
            End::Exit => {
                current.kill();
                self.leave()
            }
            End::Trap => self.fail_thread(current, CpuFault::Trap),
            End::Unsupported(name) => {
                self.fail_thread(current, CpuFault::Unsupported(format!("`{name}`")))
            }
        })
    }
}
