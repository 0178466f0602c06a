//! All threads of a cooperative launch as a group.

use cust_core::emulator;

use super::Group;
use crate::atomic::{Atomic, Ordering};
use crate::intrinsics::special;
use crate::scope::Device;
use crate::thread;

/// The group of all threads of the grid.
#[derive(Clone, Copy, Debug)]
pub struct Grid(());

/// Returns the group of all threads of the grid.
///
/// Its barrier requires a cooperative launch (`LaunchConfig::cooperative` of `cust`), in which all
/// blocks are resident at the same time. In other launches, blocks may wait for blocks that cannot
/// start before the waiting ones exit. If the launch is known not to be cooperative, the barrier
/// panics.
///
/// ```
/// use cuda_std::atomic::{Atomic, Ordering};
/// use cuda_std::group;
/// use cuda_std::prelude::*;
/// use cuda_std::scope::Device;
///
/// /// Divides each element by the sum of all elements.
/// #[kernel]
/// pub fn normalize(from: &[f32], sum: &Atomic<f32, Device>, mut to: PerThread<f32>) {
///     let own = thread::elements(from).fold(0.0, |sum, (_, x)| sum + x);
///     sum.fetch_add(own, Ordering::Relaxed);
///     group::grid().sync();
///     let sum = sum.load(Ordering::Relaxed);
///     to.each_with(from, |_, to, x| *to = x / sum);
/// }
/// # fn main() {}
/// ```
#[inline(always)]
#[must_use]
pub fn grid() -> Grid {
    Grid(())
}

/// The number of grid barriers: how many launches can use one concurrently. A launch uses the
/// barrier whose index is its grid ID modulo this number.
const BARRIERS: usize = 1024;

/// The lower 32 bits identify the launch that owns the barrier. The upper 32 bits count the blocks
/// that have arrived; their highest bit flips when all have. If blocks exit without arriving, the
/// remaining count belongs to that launch, and the next launch starts anew.
static BARRIER: [Atomic<u64, Device>; BARRIERS] =
    [const { Atomic::<u64, Device>::new(0) }; BARRIERS];

/// The increment for one block.
const ONE: u64 = 1 << 32;
const FLIP: u64 = 1 << 63;
/// The bits that identify the launch.
const NAME: u64 = ONE - 1;

/// For each barrier, the number of blocks that wait for a completion that leaves the highest bit 1,
/// or 0. Used only on the emulator, for blocks that have waited for some time.
static WAITING: [[Atomic<u32, Device>; 2]; BARRIERS] =
    [const { [const { Atomic::<u32, Device>::new(0) }; 2] }; BARRIERS];

/// The number of polls of the barrier between checks for a panic in the launch, after which the
/// barrier may never complete.
const POLLS: u32 = 64;

impl Group for Grid {
    /// Returns the number of threads, modulo 2³².
    #[inline(always)]
    fn size(&self) -> u32 {
        thread::grid_size() as u32
    }

    /// Returns this thread's rank, modulo 2³².
    #[inline(always)]
    fn rank(&self) -> u32 {
        thread::index() as u32
    }

    #[inline(always)]
    fn sync(&self) {
        self.wait(self.arrive());
    }
}

/// A token for this thread's arrival at the grid barrier. Created by [`Grid::arrive`].
#[must_use = "each thread that arrives has to wait"]
#[derive(Debug)]
pub struct Arrival {
    /// The barrier's value before the first thread of the block arrived.
    before: u64,
}

impl Grid {
    /// Returns this launch's barrier.
    #[inline(always)]
    fn barrier() -> &'static Atomic<u64, Device> {
        &BARRIER[special::gridid() as usize % BARRIERS]
    }

    /// Returns whether this may be a cooperative launch, whose blocks can wait for each other.
    /// `false` is certain. `true` may be wrong after an earlier cooperative launch: drivers do not
    /// reset the registers that tell.
    #[inline(always)]
    #[must_use]
    pub fn is_valid(&self) -> bool {
        special::envreg_1() | special::envreg_2() != 0
    }

    /// Returns what this block adds to the barrier when it arrives. All blocks together add 2³¹ to
    /// the count: 1 each, and the first block the remainder.
    #[inline(always)]
    fn own() -> u64 {
        match thread::block_index() {
            0 => FLIP - (thread::blocks_in_grid() - 1) * ONE,
            _ => ONE,
        }
    }

    /// Returns the bits that identify this launch at its barrier. They are not zero, and differ
    /// from those of earlier launches that used this barrier, except for launches of the same graph
    /// node.
    #[inline(always)]
    fn name() -> u64 {
        (special::gridid() / BARRIERS as u64) & (NAME >> 1) | (ONE >> 1)
    }

    /// Waits for all threads of the block, arrives at the grid barrier, and returns without waiting
    /// for other blocks. Each thread must call `arrive` once and then [`wait`](Grid::wait) once.
    ///
    /// # Panics
    /// Panics if the launch is known not to be cooperative.
    #[inline(always)]
    pub fn arrive(&self) -> Arrival {
        // All writes of the block must come before the arrival of its first thread.
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
                // Another launch's count, which is discarded.
                before = take(barrier, before.wrapping_add(own), name, own);
            }
        }
        Arrival { before }
    }

    /// Waits until all threads of the grid have arrived. Their writes before their arrival are
    /// visible after `wait` returns. If a thread of the grid has panicked, threads that would wait
    /// forever exit.
    ///
    /// If a block exits without arriving, the barrier does not complete: on a GPU the other blocks
    /// hang.
    ///
    /// # Panics
    /// Panics if the block's first thread has exited, or if another launch has taken the barrier,
    /// as the 1024th cooperative launch after this one does. On the emulator, also panics if all
    /// other blocks wait or have exited, so that the barrier cannot complete.
    #[inline(always)]
    pub fn wait(&self, arrival: Arrival) {
        let mut open = false;
        if thread::index_in_block() == 0 {
            let barrier = Self::barrier();
            let (mut polls, mut counted) = (0, false);
            loop {
                let changed = barrier.load(Ordering::Acquire) ^ arrival.before;
                if changed & (FLIP | NAME) != 0 {
                    open = changed & NAME == 0;
                    break;
                }
                polls += 1;
                if polls == POLLS {
                    polls = 0;
                    if crate::panic::launch_has_panicked() {
                        // Undo the arrival: the next launch of the same graph node has the same
                        // identifying bits.
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

    /// Returns the number of threads.
    #[inline(always)]
    #[must_use]
    pub fn size_64(&self) -> u64 {
        thread::grid_size()
    }

    /// Returns this thread's rank.
    #[inline(always)]
    #[must_use]
    pub fn rank_64(&self) -> u64 {
        thread::index()
    }
}

/// Claims the barrier, whose value was `word`, for this launch unless another block has done so,
/// and arrives. Returns the value before the arrival.
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

/// Returns the number of blocks of the launch that wait for the same completion as a block that
/// read `before` on arrival.
#[inline(always)]
fn waiting(before: u64) -> &'static Atomic<u32, Device> {
    &WAITING[special::gridid() as usize % BARRIERS][(before >> 63) as usize]
}

/// Returns whether every block that has not exited waits for this completion, which then never
/// comes. Counts this block as waiting.
///
/// A block removes itself from the count before it arrives at the barrier again, and blocks that
/// wait for the previous completion are counted separately. So if the waiting and the exited blocks
/// are all blocks, and the barrier is still incomplete after that, no block is left to complete it.
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

/// Exits this thread if the barrier does not complete because of a panic, which is reported.
#[cold]
#[inline(never)]
fn exit_after_panic() {
    if crate::panic::launch_has_panicked() {
        thread::exit();
    }
}
