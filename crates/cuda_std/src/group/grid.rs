//! All threads of a cooperative launch as a group.

use cust_core::emulator;

use super::Group;
use crate::atomic::{Atomic, Ordering};
use crate::intrinsics::special;
use crate::scope::Device;
use crate::thread;

/// All threads of the grid.
#[derive(Clone, Copy, Debug)]
pub struct Grid(());

/// The group of all threads of the grid.
///
/// Its barrier needs a cooperative launch (`LaunchConfig::cooperative` of `cust`), which has all blocks
/// run at the same time: in another, blocks may wait for such that cannot start before these are
/// done. Where a launch is known not to be cooperative, the barrier panics.
#[inline(always)]
#[must_use]
pub fn grid() -> Grid {
    Grid(())
}

/// How many launches may wait at barriers of their own at the same time. A launch takes the one of its
/// number.
const BARRIERS: usize = 1024;

/// The lower half of each names the launch whose it is. The upper half counts the blocks that have come,
/// and flips its highest bit when all have. What a launch leaves behind, whose blocks exited without
/// having come, is another launch's, so the next one begins anew.
static BARRIER: [Atomic<u64, Device>; BARRIERS] =
    [const { Atomic::<u64, Device>::new(0) }; BARRIERS];

/// One block.
const ONE: u64 = 1 << 32;
const FLIP: u64 = 1 << 63;
/// What names the launch.
const NAME: u64 = ONE - 1;

/// How many blocks of a launch wait for an opening of its barrier that leaves the highest bit 1, or 0; on the
/// emulator, of those that have waited for some time.
static WAITING: [[Atomic<u32, Device>; 2]; BARRIERS] =
    [const { [const { Atomic::<u32, Device>::new(0) }; 2] }; BARRIERS];

/// How often a block looks at the barrier before it looks whether a thread of the launch has panicked,
/// after which the barrier may never open.
const LOOKS: u32 = 64;

impl Group for Grid {
    /// The number of threads; more than 2³² wrap.
    #[inline(always)]
    fn size(&self) -> u32 {
        thread::grid_size() as u32
    }

    /// The thread's number; more than 2³² wrap.
    #[inline(always)]
    fn rank(&self) -> u32 {
        thread::index() as u32
    }

    #[inline(always)]
    fn sync(&self) {
        self.wait(self.arrive());
    }
}

/// That this thread has arrived at the grid's barrier: what [`Grid::arrive`] returns.
#[must_use = "each thread that arrives has to wait"]
#[derive(Debug)]
pub struct Arrival {
    /// What the first thread of the block found.
    before: u64,
}

impl Grid {
    /// This launch's barrier.
    #[inline(always)]
    fn barrier() -> &'static Atomic<u64, Device> {
        &BARRIER[special::gridid() as usize % BARRIERS]
    }

    /// Whether this may be a cooperative launch, whose blocks can wait for each other. Where it says
    /// no, it is none. Where it says yes, a launch before may have been cooperative instead: drivers
    /// leave behind what tells.
    #[inline(always)]
    #[must_use]
    pub fn is_valid(&self) -> bool {
        special::envreg_1() | special::envreg_2() != 0
    }

    /// What this block adds when it comes: all blocks together add 2³¹, each 1, and the first the rest.
    #[inline(always)]
    fn own() -> u64 {
        match thread::block_index() {
            0 => FLIP - (thread::blocks_in_grid() - 1) * ONE,
            _ => ONE,
        }
    }

    /// What names this launch at its barrier: not zero, and another one than that of the launches which
    /// had the barrier before, but for the same node of a graph.
    #[inline(always)]
    fn name() -> u64 {
        (special::gridid() / BARRIERS as u64) & (NAME >> 1) | (ONE >> 1)
    }

    /// Arrives at the grid's barrier, after the whole block has come, and goes on without waiting for
    /// other blocks. Each thread arrives once and then waits once.
    ///
    /// # Panics
    /// If the launch is known not to be cooperative.
    #[inline(always)]
    pub fn arrive(&self) -> Arrival {
        // Whatever the block's threads wrote comes before what its first thread says.
        thread::sync_threads();
        let mut before = 0;
        if thread::index_in_block() == 0 {
            assert!(
                self.is_valid(),
                "the grid's barrier needs a cooperative launch"
            );
            let (barrier, name, own) = (Self::barrier(), Self::name(), Self::own());
            before = barrier.fetch_add(own, Ordering::AcqRel);
            if before & NAME != name {
                // Another launch's: what was added there counts for nothing.
                before = take(barrier, before.wrapping_add(own), name, own);
            }
        }
        Arrival { before }
    }

    /// Waits until all threads of the grid have arrived. What they wrote before they did is visible
    /// after it. After a panic of a thread of the grid, threads that would wait forever exit.
    ///
    /// A block that returns without having arrived keeps the barrier closed: on a GPU the others wait
    /// forever.
    ///
    /// # Panics
    /// If the block's first thread has exited, or another launch has taken the barrier, as the 1024th
    /// cooperative launch after this one does. On the emulator also if all other blocks wait or have
    /// ended, so that the barrier cannot open.
    #[inline(always)]
    pub fn wait(&self, arrival: Arrival) {
        let mut open = false;
        if thread::index_in_block() == 0 {
            let barrier = Self::barrier();
            let (mut looks, mut counted) = (0, false);
            loop {
                let changed = barrier.load(Ordering::Acquire) ^ arrival.before;
                if changed & (FLIP | NAME) != 0 {
                    open = changed & NAME == 0;
                    break;
                }
                looks += 1;
                if looks == LOOKS {
                    looks = 0;
                    if crate::panic::launch_has_panicked() {
                        // As if the block had not come: the same node of a graph has the same name.
                        barrier.fetch_sub(Self::own(), Ordering::Relaxed);
                        break;
                    }
                    if special::envreg_29() == emulator::MARK
                        && is_stuck(arrival.before, &mut counted)
                    {
                        barrier.fetch_sub(Self::own(), Ordering::Relaxed);
                        break;
                    }
                }
            }
            if counted {
                waiting(arrival.before).fetch_sub(1, Ordering::AcqRel);
            }
        }
        if thread::sync_threads_or(open.into()) == 0 {
            exit_after_panic();
            panic!(
                "the grid's barrier cannot open: a block, or the first thread of this one, has exited \
                 before it came, or another launch has the barrier"
            );
        }
    }

    /// The number of threads.
    #[inline(always)]
    #[must_use]
    pub fn size_64(&self) -> u64 {
        thread::grid_size()
    }

    /// This thread's number.
    #[inline(always)]
    #[must_use]
    pub fn rank_64(&self) -> u64 {
        thread::index()
    }
}

/// Makes the barrier, whose word was `word`, this launch's if no other block has, and comes there; what
/// the word was before that.
#[cold]
#[inline(never)]
fn take(barrier: &Atomic<u64, Device>, word: u64, name: u64, own: u64) -> u64 {
    let mut word = word;
    while word & NAME != name {
        match barrier.compare_exchange(word, name + own, Ordering::AcqRel, Ordering::Relaxed) {
            Ok(_) => return name,
            Err(now) => word = now,
        }
    }
    barrier.fetch_add(own, Ordering::AcqRel)
}

/// How many blocks of the launch wait for the same opening as one that found this word.
#[inline(always)]
fn waiting(before: u64) -> &'static Atomic<u32, Device> {
    &WAITING[special::gridid() as usize % BARRIERS][(before >> 63) as usize]
}

/// Whether each block that has not ended waits for this opening, which then never comes. Counts this block
/// among them.
///
/// A block counts itself out before it comes to the barrier again, and those of the opening before this
/// one are counted elsewhere. So if as many wait or have ended as there are, and the barrier is closed
/// after that, nobody is left who could open it.
#[cold]
#[inline(never)]
fn is_stuck(before: u64, counted: &mut bool) -> bool {
    let waiting = waiting(before);
    if !*counted {
        *counted = true;
        waiting.fetch_add(1, Ordering::AcqRel);
    }
    let ended = u64::from(special::envreg_30());
    let all = u64::from(waiting.load(Ordering::Acquire)) + ended;
    let changed = Grid::barrier().load(Ordering::Acquire) ^ before;
    ended > 0 && all >= thread::blocks_in_grid() && changed & (FLIP | NAME) == 0
}

/// Ends a thread for which the barrier never opens, if that is for a panic, which is reported.
#[cold]
#[inline(never)]
fn exit_after_panic() {
    if crate::panic::launch_has_panicked() {
        thread::exit();
    }
}
