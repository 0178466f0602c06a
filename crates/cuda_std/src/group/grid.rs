//! All threads of a cooperative launch as a group.

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

/// Each counts the blocks that have come in its lower bits, and flips its highest bit when all have.
static BARRIER: [Atomic<u32, Device>; BARRIERS] =
    [const { Atomic::<u32, Device>::new(0) }; BARRIERS];

const FLIP: u32 = 1 << 31;

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
    before: u32,
}

impl Grid {
    /// This launch's barrier.
    #[inline(always)]
    fn barrier() -> &'static Atomic<u32, Device> {
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

    /// Arrives at the grid's barrier, after the whole block has come, and goes on without waiting for
    /// other blocks. Each thread arrives once and then waits once.
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
            // All blocks together add 2³¹: each 1, and the first the rest.
            let blocks = thread::blocks_in_grid() as u32;
            let own = match thread::block_index() {
                0 => FLIP - (blocks - 1),
                _ => 1,
            };
            before = Self::barrier().fetch_add(own, Ordering::AcqRel);
        }
        Arrival { before }
    }

    /// Waits until all threads of the grid have arrived. What they wrote before they did is visible
    /// after it.
    #[inline(always)]
    pub fn wait(&self, arrival: Arrival) {
        if thread::index_in_block() == 0 {
            let barrier = Self::barrier();
            while (barrier.load(Ordering::Acquire) ^ arrival.before) & FLIP == 0 {}
        }
        thread::sync_threads();
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
