//! Who uses which memory: how safe code is kept from races between streams, and from freeing
//! memory that work in a stream still needs.
//!
//! Every buffer has a [`Tracker`], which remembers the streams that last read and wrote it and how
//! far in each stream's work the use lies. Before new work uses a buffer, the work's stream is made
//! to wait for the uses that it conflicts with: by an event, and only if they lie in another
//! stream, are not known to be done, and were not waited for already. So a program with one stream
//! pays for no driver call.
//!
//! A stream's work is numbered as it is put in. An event recorded in a stream stands for all work
//! in it so far, so a stream remembers of each other stream only the highest number that it has
//! waited for.
//!
//! Borrows do the rest: a buffer is borrowed, mutably by a writer, while work is put into a stream,
//! so no two threads put in conflicting work on the same elements at the same time.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use cust_core::kernel::Access;
use cust_raw::{CUresult, CUstream};

use crate::backend::Api;
use crate::context::Context;
use crate::error::{CudaResult, Error};
use crate::stream::StreamInner;

/// More uses than this are merged, so that the list stays short.
const MANY_USES: usize = 64;

/// One use of memory by work in a stream.
#[derive(Clone)]
struct Use {
    stream: Arc<StreamInner>,
    /// The number of the work in its stream, or `ALL`.
    number: u64,
    access: Access,
    /// The addresses used.
    start: u64,
    end: u64,
}

/// Instead of a number: all work that is in the stream.
const ALL: u64 = u64::MAX;

impl Use {
    /// The number of the last work that uses it.
    fn number(&self) -> u64 {
        if self.number == ALL {
            self.stream.issued()
        } else {
            self.number
        }
    }

    fn is_past(&self) -> bool {
        self.stream.is_past(self.number())
    }
}

/// What work does to memory: a range of addresses and how it is accessed.
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

    /// Whether it is of a whole resource, as textures and surfaces are.
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
    /// Whether there may be uses that read, or write: for the host's accesses to memory that it
    /// shares with the device, which should cost next to nothing.
    read: AtomicBool,
    written: AtomicBool,
    /// The stream that all uses are in, by its number: `NOBODY`, or `SEVERAL`. It spares a stream
    /// that uses the memory alone the look at the list.
    user: AtomicU64,
    /// For memory that work may write to which was put in by shared reference: held from looking at
    /// the uses until the new one is noted, for which otherwise the borrow sees.
    turns: Option<Mutex<()>>,
}

/// No use is known.
const NOBODY: u64 = 0;
/// Several streams use it, or did so not long ago.
const SEVERAL: u64 = u64::MAX;

impl Tracker {
    /// Of memory in this context that nothing uses yet.
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

    /// As [`Tracker::new`], of memory that several own, and that work of any of them may write to.
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

    /// Remembers a use by work that was put into a stream.
    fn note(&self, stream: &Arc<StreamInner>, number: u64, dependency: &Dependency<'_>) {
        let mut uses = self.uses();
        let Dependency {
            access, start, end, ..
        } = *dependency;
        let flag = match access {
            Access::Read => &self.read,
            Access::Write => &self.written,
        };
        flag.store(true, Ordering::Release);
        for known in uses.iter_mut() {
            let same_place = known.start == start && known.end == end && known.access == access;
            if same_place && Arc::ptr_eq(&known.stream, stream) {
                known.number = known.number.max(number);
                return;
            }
        }
        // Whoever counts on its use being noted has to look again from here on.
        self.user.store(SEVERAL, Ordering::SeqCst);
        // What is over, and what this work waits for and overwrites, need not be remembered.
        uses.retain(|known| {
            let inside = start <= known.start && known.end <= end;
            let replaced =
                access == Access::Write && inside && stream.is_after(&known.stream, known.number());
            !replaced && !known.is_past()
        });
        if uses.len() >= MANY_USES {
            merge(&mut uses);
        }
        uses.push(Use {
            stream: Arc::clone(stream),
            number,
            access,
            start,
            end,
        });
        self.note_user(&uses);
    }

    /// Brings `user` in line with the uses.
    fn note_user(&self, uses: &[Use]) {
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

    /// Remembers that all work in a stream, also what is put in later, uses everything: as long as
    /// the last of it is not over. Called after work was put in, and cheap for a stream that is
    /// known.
    #[inline]
    pub(crate) fn note_stream(&self, stream: &Arc<StreamInner>) {
        // Who forgets uses takes the number away first, then looks what was put in; here it was
        // put in first. So either the number is gone, or the work is seen.
        if self.user.load(Ordering::SeqCst) != stream.id() {
            self.note_new_stream(stream);
        }
    }

    #[cold]
    fn note_new_stream(&self, stream: &Arc<StreamInner>) {
        let everything = Dependency {
            tracker: self,
            access: Access::Write,
            start: 0,
            end: u64::MAX,
        };
        self.note(stream, ALL, &everything);
    }

    /// The uses that are not known to be over, of the memory that `dependency` tells of.
    fn conflicts(&self, dependency: &Dependency<'_>, into: &mut Vec<(Arc<StreamInner>, u64)>) {
        for known in self.uses().iter() {
            if !dependency.conflicts(known) || known.is_past() {
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

    /// Lets later work in `stream` come after the uses that conflict.
    fn order(&self, stream: &Arc<StreamInner>, dependency: &Dependency<'_>) -> CudaResult<()> {
        // What this work conflicts with is noted before it is put in: the borrow sees to that.
        let user = self.user.load(Ordering::Acquire);
        if user == NOBODY || user == stream.id() {
            return Ok(());
        }
        let waits = {
            let uses = self.uses();
            let missing = |known: &&Use| {
                dependency.conflicts(known) && !stream.is_after(&known.stream, known.number())
            };
            // The usual case takes no allocation.
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

    /// Waits on the host until the uses are over that an access by the host would conflict with.
    /// The work of a context that is lost is over.
    ///
    /// # Errors
    ///
    /// The driver's, if it cannot wait: the memory may still be in use.
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
        // Readers stay where only a writer was waited for.
        uses.retain(|known| !known.is_past());
        let is = |access| uses.iter().any(|known| known.access == access);
        self.read.store(is(Access::Read), Ordering::Release);
        self.written.store(is(Access::Write), Ordering::Release);
        self.note_user(&uses);
        waited
    }

    /// Waits on the host until it may access the memory itself.
    ///
    /// # Panics
    ///
    /// If the driver cannot wait for the work that uses the memory.
    #[inline]
    #[track_caller]
    pub(crate) fn settle_for_host(&self, access: Access) {
        let written = self.written.load(Ordering::Acquire);
        let read = access == Access::Write && self.read.load(Ordering::Acquire);
        if (written || read)
            && let Err(error) = self.settle(access)
        {
            panic!("memory that pending work uses cannot be accessed: {error}");
        }
    }

    /// Frees memory of a pool after all its uses, in one of the streams that use it.
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
    // SAFETY: allocated from a pool, freed once; what uses it comes before in the stream.
    let result = unsafe { api.driver.cuMemFreeAsync(address, stream) };
    result == CUresult::CUDA_SUCCESS
}

/// One use for each stream and kind of access, of all that the stream's uses cover together.
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

/// What to do with work for a stream that is being captured into a graph.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Captured {
    /// Refuse it: nothing would keep the buffers until the graph is launched.
    Refused,
    /// Record it: the caller vouches for the buffers.
    Recorded,
}

/// Puts work into a stream, after everything that it conflicts with.
///
/// # Safety
///
/// `work` puts into the stream that it gets what accesses memory as `dependencies` says, and
/// nothing else of tracked memory.
pub(crate) unsafe fn enqueue(
    stream: &Arc<StreamInner>,
    dependencies: &[Dependency<'_>],
    captured: Captured,
    doing: impl Fn() -> String,
    work: impl FnOnce(&'static Api, CUstream) -> CUresult,
) -> CudaResult<()> {
    require_same_context(stream, dependencies, &doing)?;
    let api = stream.context.bind()?;
    // SAFETY: as the caller promises.
    unsafe { enqueue_bound(api, stream, dependencies, captured, doing, work) }
}

/// As [`enqueue`], for launches: the context is not made current again for a thread for which this
/// crate did so before; see `Context::launch`.
///
/// # Safety
///
/// As for [`enqueue`]; and `work` does nothing that depends on the current context unless it fails.
pub(crate) unsafe fn enqueue_launch(
    stream: &Arc<StreamInner>,
    dependencies: &[Dependency<'_>],
    captured: Captured,
    doing: impl Fn() -> String,
    mut work: impl FnMut(&'static Api, CUstream) -> CUresult,
) -> CudaResult<()> {
    require_same_context(stream, dependencies, &doing)?;
    let (api, sure) = stream.context.bind_for_launch()?;
    let work = |api, raw| stream.context.launch(sure, || work(api, raw));
    // SAFETY: as the caller promises.
    unsafe { enqueue_bound(api, stream, dependencies, captured, doing, work) }
}

/// Takes turns with other threads at the memory that needs it.
fn take_turns<'a>(dependencies: &[Dependency<'a>]) -> Vec<MutexGuard<'a, ()>> {
    let turns = |dependency: &Dependency<'a>| dependency.tracker.turns.as_ref();
    let mut all: Vec<&Mutex<()>> = dependencies.iter().filter_map(turns).collect();
    // Each once, and by everybody in the same order.
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
    if stream.is_capturing() {
        return match captured {
            Captured::Refused => Err(Error::Capturing { doing: doing() }),
            Captured::Recorded => api.check(work(api, stream.raw), &doing),
        };
    }
    let _turns = take_turns(dependencies);
    for dependency in dependencies {
        dependency.tracker.order(stream, dependency)?;
    }
    api.check(work(api, stream.raw), &doing)?;
    // The number comes after the work: who sees the number can count on the work's being there.
    let number = stream.next_number();
    for dependency in dependencies {
        dependency.tracker.note(stream, number, dependency);
    }
    Ok(())
}

/// Does work and waits for it, after everything that it conflicts with. A panic of a kernel that
/// was waited for is the error.
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
    // First, since who holds the turns may wait for a function of the host's that is here.
    let api = context.bind()?;
    let _turns = take_turns(dependencies);
    for dependency in dependencies {
        context.require_same(dependency.tracker.context(), &doing)?;
        dependency.tracker.conflicts(dependency, &mut waits);
    }
    // In the stream that used it, the order is there already.
    let private;
    let (stream, issued) = match &waits[..] {
        [(stream, _)] => (stream.raw, stream.issued()),
        streams => {
            private = context.private_stream()?;
            for (stream, _) in streams {
                context.order(private.raw(), stream)?;
            }
            (private.raw(), 0)
        }
    };
    api.check(work(api, stream), &doing)?;
    // SAFETY: the stream is alive.
    let waited = unsafe { api.driver.cuStreamSynchronize(stream) };
    let waited = api.check(waited, &doing);
    match &waits[..] {
        [] => waited,
        [(stream, _)] => {
            if waited.is_ok() {
                stream.mark_past(issued);
            }
            context.finish_wait(waited, Some(stream.raw as usize))
        }
        streams => {
            if waited.is_ok() {
                for (stream, number) in streams {
                    stream.mark_past(*number);
                }
            }
            context.finish_wait(waited, Some(usize::MAX))
        }
    }
}
