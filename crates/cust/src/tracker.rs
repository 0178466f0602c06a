//! Dependency tracking: prevents data races between streams in safe code, and deallocation of
//! memory that pending work uses.
//!
//! Every buffer has a [`Tracker`], which records its *uses*: the streams that last read and wrote
//! the buffer, each with the sequence number of the work. Before new work uses a buffer, its stream
//! waits for conflicting uses by means of an event. It waits only for uses in other streams that
//! are not known to be complete and that it has not waited for already, so a program with one
//! stream makes no extra driver calls.
//!
//! The work of a stream is numbered in the order in which it is enqueued. An event recorded in a
//! stream covers all earlier work in it, so a stream stores only the highest number that it has
//! waited for, per other stream.
//!
//! The borrow checker does the rest: enqueuing work borrows its buffers, mutably if the work writes
//! them, so two threads cannot enqueue conflicting work on the same elements at the same time.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use cust_core::kernel::Access;
use cust_raw::{CUresult, CUstream};

use crate::backend::Api;
use crate::context::Context;
use crate::error::{CudaResult, Error};
use crate::report::Waited;
use crate::stream::{StreamInner, is_captured, wait_surely};

/// The number of uses at which they are merged, so that the list stays short.
const MANY_USES: usize = 64;

/// One use of memory by work in a stream.
#[derive(Clone)]
struct Use {
    stream: Arc<StreamInner>,
    /// The sequence number of the work in its stream, or `ALL`.
    number: u64,
    access: Access,
    /// The range of addresses.
    start: u64,
    end: u64,
}

/// Instead of a sequence number: all work in the stream.
const ALL: u64 = u64::MAX;

impl Use {
    /// Returns the sequence number of the last work that belongs to this use.
    fn number(&self) -> u64 {
        if self.number == ALL {
            self.stream.issued()
        } else {
            self.number
        }
    }

    fn is_complete(&self) -> bool {
        self.stream.is_complete(self.number())
    }
}

/// An access of work to memory: a range of addresses, and whether it is read or written.
#[derive(Clone, Copy)]
pub(crate) struct Dependency<'a> {
    pub(crate) tracker: &'a Tracker,
    pub(crate) access: Access,
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl<'a> Dependency<'a> {
    pub(crate) fn new(tracker: &'a Tracker, access: Access, start: u64, bytes: usize) -> Self {
        Dependency {
            tracker,
            access,
            start,
            end: start.saturating_add(bytes as u64),
        }
    }

    /// Returns whether the access is to a whole resource, like those of textures and surfaces.
    pub(crate) fn is_whole(&self) -> bool {
        self.end == u64::MAX
    }

    fn conflicts(&self, other: &Use) -> bool {
        (self.access == Access::Write || other.access == Access::Write)
            && self.start < other.end
            && other.start < self.end
    }
}

/// The uses of one allocation.
pub(crate) struct Tracker {
    context: Context,
    uses: Mutex<Vec<Use>>,
    /// Whether there may be uses that read. With `written`, makes accesses by the host to pinned
    /// and unified memory cheap.
    read: AtomicBool,
    /// Whether there may be uses that write.
    written: AtomicBool,
    /// The ID of the stream that all uses are in, `NOBODY`, or `SEVERAL`. A stream that uses the
    /// memory alone need not search the list.
    user: AtomicU64,
    /// A lock for memory that work can write through a shared reference. It is held from checking
    /// the uses until the new use is recorded; for other memory, the borrow checker guarantees
    /// exclusion.
    turns: Option<Mutex<()>>,
}

/// The value of `user` if no use is known.
const NOBODY: u64 = 0;
/// The value of `user` if several streams use the memory, or did so recently.
const SEVERAL: u64 = u64::MAX;

impl Tracker {
    /// Creates a tracker for memory in `context` that nothing uses yet.
    pub(crate) fn new(context: Context) -> Tracker {
        Tracker {
            context,
            uses: Mutex::new(Vec::new()),
            read: AtomicBool::new(false),
            written: AtomicBool::new(false),
            user: AtomicU64::new(NOBODY),
            turns: None,
        }
    }

    /// Creates a tracker for memory with shared ownership, which work of any owner may write.
    pub(crate) fn shared(context: Context) -> Tracker {
        Tracker {
            turns: Some(Mutex::new(())),
            ..Tracker::new(context)
        }
    }

    pub(crate) fn context(&self) -> &Context {
        &self.context
    }

    fn uses(&self) -> MutexGuard<'_, Vec<Use>> {
        self.uses.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Records a use by work that was enqueued into a stream.
    #[inline]
    fn note(&self, stream: &Arc<StreamInner>, number: u64, dependency: &Dependency<'_>) {
        let mut uses = self.uses();
        // Fast path: the stream repeats a use.
        let repeated = |known: &&mut Use| {
            Arc::ptr_eq(&known.stream, stream)
                && known.start == dependency.start
                && known.end == dependency.end
                && known.access == dependency.access
        };
        match uses.iter_mut().find(repeated) {
            Some(known) => known.number = known.number.max(number),
            None => self.note_new(&mut uses, stream, number, dependency),
        }
    }

    /// Adds a use to `uses`, which lack it.
    #[inline(never)]
    fn note_new(
        &self,
        uses: &mut Vec<Use>,
        stream: &Arc<StreamInner>,
        number: u64,
        dependency: &Dependency<'_>,
    ) {
        let Dependency {
            access, start, end, ..
        } = *dependency;
        // From here on, `record_stream` must not rely on its use being recorded.
        self.user.store(SEVERAL, Ordering::SeqCst);
        // Uses that are complete, and uses that this work waits for and overwrites, can be dropped.
        uses.retain(|known| {
            let inside = start <= known.start && known.end <= end;
            let replaced =
                access == Access::Write && inside && stream.is_after(&known.stream, known.number());
            !replaced && !known.is_complete()
        });
        if uses.len() >= MANY_USES {
            merge(uses);
        }
        uses.push(Use {
            stream: Arc::clone(stream),
            number,
            access,
            start,
            end,
        });
        self.record_uses(uses);
    }

    /// Updates `read`, `written` and `user` to match the uses.
    fn record_uses(&self, uses: &[Use]) {
        let is = |access| uses.iter().any(|known| known.access == access);
        self.read.store(is(Access::Read), Ordering::Release);
        self.written.store(is(Access::Write), Ordering::Release);
        let user = match uses.split_first() {
            None => NOBODY,
            Some((first, rest)) => {
                let same = |other: &Use| other.stream.id() == first.stream.id();
                if rest.iter().all(same) {
                    first.stream.id()
                } else {
                    SEVERAL
                }
            }
        };
        self.user.store(user, Ordering::SeqCst);
    }

    /// Records that all work in a stream, including work enqueued later, uses the whole memory, as
    /// long as the stream has pending work. Called after work was enqueued; cheap for a stream that
    /// is recorded already.
    #[inline]
    pub(crate) fn record_stream(&self, stream: &Arc<StreamInner>) {
        // Code that removes uses first resets `user`, then reads the sequence number of the
        // enqueued work; here, the work was enqueued first. So either `user` is reset, or the work
        // is seen.
        if self.user.load(Ordering::SeqCst) != stream.id() {
            self.record_new_stream(stream);
        }
    }

    #[cold]
    fn record_new_stream(&self, stream: &Arc<StreamInner>) {
        let everything = Dependency {
            tracker: self,
            access: Access::Write,
            start: 0,
            end: u64::MAX,
        };
        self.note(stream, ALL, &everything);
    }

    /// Appends the uses that conflict with `dependency` and are not known to be complete: each
    /// stream once, with the highest sequence number.
    fn conflicts(&self, dependency: &Dependency<'_>, into: &mut Vec<(Arc<StreamInner>, u64)>) {
        for known in self.uses().iter() {
            if !dependency.conflicts(known) || known.is_complete() {
                continue;
            }
            let last = known.number();
            let same =
                |(stream, _): &&mut (Arc<StreamInner>, u64)| Arc::ptr_eq(stream, &known.stream);
            match into.iter_mut().find(same) {
                Some((_, number)) => *number = (*number).max(last),
                None => into.push((Arc::clone(&known.stream), last)),
            }
        }
    }

    /// Returns whether work in `stream` may access the memory without locking `turns` and without
    /// waiting: the memory belongs to the stream's context, and no other stream uses it, or no work
    /// writes it.
    #[inline]
    fn is_free_for(&self, stream: &StreamInner, access: Access) -> bool {
        // All conflicting uses are recorded by now: the borrow of the buffer guarantees it, unless
        // there are `turns`.
        let user = self.user.load(Ordering::Acquire);
        let only_read = || access == Access::Read && !self.written.load(Ordering::Acquire);
        (user == NOBODY || user == stream.id() || only_read())
            && self.turns.is_none()
            && self.context.is_same(&stream.context)
    }

    /// Orders later work in `stream` after the uses that conflict with `dependency`.
    fn order(&self, stream: &Arc<StreamInner>, dependency: &Dependency<'_>) -> CudaResult<()> {
        // All conflicting uses are recorded by now: the borrow of the buffer guarantees it.
        let user = self.user.load(Ordering::Acquire);
        if user == NOBODY || user == stream.id() {
            return Ok(());
        }
        let waits = {
            let uses = self.uses();
            let missing = |known: &&Use| {
                dependency.conflicts(known) && !stream.is_after(&known.stream, known.number())
            };
            // The common case does not allocate.
            if !uses.iter().any(|known| missing(&known)) {
                return Ok(());
            }
            let missing = uses.iter().filter(missing);
            missing.map(|k| Arc::clone(&k.stream)).collect::<Vec<_>>()
        };
        for other in waits {
            stream.wait_for(&other)?;
        }
        Ok(())
    }

    /// Waits on the host until all uses that conflict with an access by the host are complete. In a
    /// lost context, all work counts as complete.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if it cannot wait. The memory may then still be in use.
    pub(crate) fn settle(&self, access: Access) -> CudaResult<()> {
        let everything = Dependency {
            tracker: self,
            access,
            start: 0,
            end: u64::MAX,
        };
        let mut waits = Vec::new();
        self.conflicts(&everything, &mut waits);
        let waited = waits.iter().try_for_each(|(stream, _)| stream.settle());
        let mut uses = self.uses();
        self.user.store(SEVERAL, Ordering::SeqCst);
        // If only writers were waited for, pending readers remain.
        uses.retain(|known| !known.is_complete());
        self.record_uses(&uses);
        waited
    }

    /// Waits until the host may access the memory.
    ///
    /// # Panics
    ///
    /// Panics if the driver cannot wait for the work that uses the memory.
    #[inline]
    #[track_caller]
    pub(crate) fn settle_for_host(&self, access: Access) {
        let written = self.written.load(Ordering::Acquire);
        let read = access == Access::Write && self.read.load(Ordering::Acquire);
        if (written || read)
            && let Err(error) = self.settle(access)
        {
            panic!("cannot access memory that pending work uses: {error}");
        }
    }

    /// Frees pool memory in stream order, after all its uses, in one of the streams that use it.
    pub(crate) fn free_in_order(&self, address: u64) {
        // An error means that the context is gone, and the memory with it.
        let Ok(api) = self.context.bind() else {
            return;
        };
        let mut waits = Vec::new();
        let everything = Dependency {
            tracker: self,
            access: Access::Write,
            start: 0,
            end: u64::MAX,
        };
        self.conflicts(&everything, &mut waits);
        let freed = match waits.split_first() {
            None => (self.context.private_stream())
                .is_ok_and(|stream| free_in(api, address, stream.raw())),
            Some(((stream, _), others)) => others
                .iter()
                .try_for_each(|(other, _)| stream.wait_for(other))
                .is_ok_and(|()| {
                    let freed = free_in(api, address, stream.raw);
                    stream.next_number();
                    freed
                }),
        };
        // Memory that work may still use is leaked.
        if !freed && self.settle(Access::Write).is_ok() {
            // SAFETY: allocated once, freed once, and no longer in use.
            let _ = unsafe { api.driver.cuMemFree_v2(address) };
        }
    }
}

fn free_in(api: &Api, address: u64, stream: CUstream) -> bool {
    // SAFETY: allocated from a pool, freed once; all uses precede the free in the stream.
    let result = unsafe { api.driver.cuMemFreeAsync(address, stream) };
    result == CUresult::CUDA_SUCCESS
}

/// Merges the uses into one per stream and kind of access, whose range covers those of the merged
/// uses.
fn merge(uses: &mut Vec<Use>) {
    let mut merged: Vec<Use> = Vec::new();
    for known in uses.drain(..) {
        let same = |m: &&mut Use| Arc::ptr_eq(&m.stream, &known.stream) && m.access == known.access;
        match merged.iter_mut().find(same) {
            Some(m) => {
                m.number = m.number.max(known.number);
                m.start = m.start.min(known.start);
                m.end = m.end.max(known.end);
            }
            None => merged.push(known),
        }
    }
    *uses = merged;
}

/// How to handle work for a stream that is being captured into a graph.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Captured {
    /// Return an error: nothing would keep the buffers alive until the graph is launched.
    Refused,
    /// Record the work: the caller guarantees that the buffers stay alive.
    Recorded,
}

/// Enqueues work into a stream, after all uses that it conflicts with.
///
/// # Safety
///
/// `work` must enqueue work into the stream that it is passed. The work must access tracked memory
/// only as `dependencies` declares.
pub(crate) unsafe fn enqueue(
    stream: &Arc<StreamInner>,
    dependencies: &[Dependency<'_>],
    captured: Captured,
    doing: impl Fn() -> String,
    work: impl FnOnce(&'static Api, CUstream) -> CUresult,
) -> CudaResult<()> {
    let api = stream.context.bind()?;
    // SAFETY: as the caller promises.
    unsafe { enqueue_bound(api, stream, dependencies, captured, doing, work) }
}

/// Like [`enqueue`], for launches: does not make the context current if this crate last made it
/// current on this thread; see `Context::launch`.
///
/// # Safety
///
/// As for [`enqueue`]. In addition, if another context is current, `work` must fail without effect.
pub(crate) unsafe fn enqueue_launch(
    stream: &Arc<StreamInner>,
    dependencies: &[Dependency<'_>],
    captured: Captured,
    doing: impl Fn() -> String,
    mut work: impl FnMut(&'static Api, CUstream) -> CUresult,
) -> CudaResult<()> {
    let (api, sure) = stream.context.bind_for_launch()?;
    let work = |api, raw| stream.context.launch(sure, || work(api, raw));
    // SAFETY: as the caller promises.
    unsafe { enqueue_bound(api, stream, dependencies, captured, doing, work) }
}

/// Locks the `turns` of all dependencies that have one.
fn take_turns<'a>(dependencies: &[Dependency<'a>]) -> Vec<MutexGuard<'a, ()>> {
    let turns = |dependency: &Dependency<'a>| dependency.tracker.turns.as_ref();
    let mut all: Vec<&Mutex<()>> = dependencies.iter().filter_map(turns).collect();
    if all.is_empty() {
        return Vec::new();
    }
    // Lock each once, and in the same order on all threads, to avoid deadlocks.
    all.sort_by_key(|turns| std::ptr::from_ref(*turns));
    all.dedup_by_key(|turns| std::ptr::from_ref(*turns));
    let lock = |turns: &'a Mutex<()>| turns.lock().unwrap_or_else(|e| e.into_inner());
    all.into_iter().map(lock).collect()
}

fn require_same_context(
    stream: &StreamInner,
    dependencies: &[Dependency<'_>],
    doing: &impl Fn() -> String,
) -> CudaResult<()> {
    dependencies.iter().try_for_each(|dependency| {
        let context = dependency.tracker.context();
        stream.context.require_same(context, doing)
    })
}

/// Orders later work in a stream after all uses that conflict with `dependencies`. The locks that
/// are returned must be held until the work's uses are recorded.
#[inline(never)]
fn order_after_uses<'a>(
    stream: &Arc<StreamInner>,
    dependencies: &[Dependency<'a>],
) -> CudaResult<Vec<MutexGuard<'a, ()>>> {
    let turns = take_turns(dependencies);
    for dependency in dependencies {
        dependency.tracker.order(stream, dependency)?;
    }
    Ok(turns)
}

/// Enqueues work, for [`enqueue`] and [`enqueue_launch`].
///
/// # Safety
///
/// As for [`enqueue`].
#[inline]
unsafe fn enqueue_bound(
    api: &'static Api,
    stream: &Arc<StreamInner>,
    dependencies: &[Dependency<'_>],
    captured: Captured,
    doing: impl Fn() -> String,
    work: impl FnOnce(&'static Api, CUstream) -> CUresult,
) -> CudaResult<()> {
    let is_free = |d: &Dependency<'_>| d.tracker.is_free_for(stream, d.access);
    let all_free = dependencies.iter().all(is_free);
    if !all_free {
        require_same_context(stream, dependencies, &doing)?;
    }
    if stream.is_capturing() {
        return match captured {
            Captured::Refused => Err(Error::Capturing { doing: doing() }),
            Captured::Recorded => api.check(work(api, stream.raw), &doing),
        };
    }
    let _turns = match all_free {
        true => Vec::new(),
        false => order_after_uses(stream, dependencies)?,
    };
    api.check(work(api, stream.raw), &doing)?;
    // The number is taken after the work was enqueued: code that sees the number relies on that.
    let number = stream.next_number();
    for dependency in dependencies {
        dependency.tracker.note(stream, number, dependency);
    }
    Ok(())
}

/// Executes work after all uses that it conflicts with, and waits for it. If a kernel that was
/// waited for panicked, the panic is returned as the error.
///
/// # Safety
///
/// As for [`enqueue`].
pub(crate) unsafe fn run(
    context: &Context,
    dependencies: &[Dependency<'_>],
    doing: impl Fn() -> String,
    work: impl FnOnce(&'static Api, CUstream) -> CUresult,
) -> CudaResult<()> {
    let mut waits = Vec::new();
    // Before locking: inside a host function, `bind` releases the blocked stream, which a thread
    // that holds the locks may be waiting for.
    let api = context.bind()?;
    let _turns = take_turns(dependencies);
    for dependency in dependencies {
        context.require_same(dependency.tracker.context(), &doing)?;
        dependency.tracker.conflicts(dependency, &mut waits);
    }
    // If one stream uses the memory, run the work in that stream, where it is ordered already.
    let private;
    let (stream, issued) = match &waits[..] {
        [(stream, _)] => {
            // The work would become a part of the graph, and access the caller's memory whenever
            // the graph is launched.
            if is_captured(api, stream) {
                return Err(Error::Capturing { doing: doing() });
            }
            (stream.raw, stream.issued())
        }
        streams => {
            private = context.private_stream()?;
            for (stream, _) in streams {
                context.order(private.raw(), stream)?;
            }
            (private.raw(), 0)
        }
    };
    api.check(work(api, stream), &doing)?;
    // The work may access memory that the caller has only borrowed.
    // SAFETY: the stream is alive.
    let waited = unsafe { wait_surely(context, stream, &doing) };
    match &waits[..] {
        [] => waited,
        [(stream, _)] => {
            if waited.is_ok() {
                stream.mark_complete(issued);
            }
            context.finish_wait(waited, Waited::Stream(stream.id()))
        }
        streams => {
            if waited.is_ok() {
                for (stream, number) in streams {
                    stream.mark_complete(*number);
                }
            }
            context.finish_wait(waited, Waited::Unknown)
        }
    }
}
