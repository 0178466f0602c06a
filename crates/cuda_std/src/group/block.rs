//! The block as a group.

use core::mem::MaybeUninit;

use super::lanes::{Lanes, Present, distances};
use super::{Group, warp as own_warp};
use crate::AnyBits;
use crate::atomic::{Atomic, Ordering};
use crate::intrinsics::{special, synchronization};
use crate::{scope, session::of_block, thread, warp};

/// The threads of this block.
#[derive(Clone, Copy, Debug)]
pub struct Block(());

/// Returns the group of this thread's block.
#[inline(always)]
#[must_use]
pub fn block() -> Block {
    Block(())
}

/// The hardware barrier of block-wide reductions and scans. Nothing else uses it: it alternates
/// between the phase in which warps write their values and the phase in which all threads read
/// them. See [`crate::shared`] for the reason.
pub(crate) const BARRIER: u32 = 1;

/// Slots for one value per warp, without gaps: the values of several warps are one vector load.
#[repr(C, align(16))]
struct Slots<T>([T; 32]);

#[crate::address_space(shared)]
static mut SLOTS_4: MaybeUninit<Slots<u32>> = MaybeUninit::uninit();
#[crate::address_space(shared)]
static mut SLOTS_8: MaybeUninit<Slots<u64>> = MaybeUninit::uninit();
#[crate::address_space(shared)]
static mut SLOTS_16: MaybeUninit<Slots<u128>> = MaybeUninit::uninit();
#[crate::address_space(shared)]
static mut SLOTS_32: MaybeUninit<Slots<[u128; 2]>> = MaybeUninit::uninit();

/// Returns the slots for values of type `T`, and the distance between two slots in bytes. Values of
/// different sizes have different slots, so that a warp never writes the slot of another, even if
/// the warps reduce values of different types.
#[inline(always)]
fn slots<T>() -> (*mut u8, usize) {
    const {
        assert!(
            size_of::<T>() <= 32 && align_of::<T>() <= 16,
            "blocks reduce and scan values of at most 32 bytes: reduce the parts of a larger value \
             one after another"
        )
    };
    match size_of::<T>() {
        0..=4 => (of_block!(SLOTS_4).cast(), 4),
        5..=8 => (of_block!(SLOTS_8).cast(), 8),
        9..=16 => (of_block!(SLOTS_16).cast(), 16),
        _ => (of_block!(SLOTS_32).cast(), 32),
    }
}

impl Group for Block {
    #[inline(always)]
    fn size(&self) -> u32 {
        thread::threads_in_block()
    }

    #[inline(always)]
    fn rank(&self) -> u32 {
        thread::index_in_block()
    }

    #[inline(always)]
    fn sync(&self) {
        thread::sync_threads();
    }
}

/// Reductions and scans take values of at most 32 bytes with an alignment of at most 16; others are
/// compile-time errors.
impl Block {
    /// Returns the linear index of the block in the grid.
    #[inline(always)]
    #[must_use]
    pub fn number(&self) -> u64 {
        thread::block_index()
    }

    /// Combines the values of all threads with `f`, and returns the result in every thread. If `f`
    /// itself reduces or scans the block, the result is unspecified.
    #[inline(always)]
    pub fn reduce<T: AnyBits + Copy>(&self, value: T, f: impl Fn(T, T) -> T) -> T {
        let warp = own_warp();
        let lanes = Present::of(&warp);
        let of_warp = lanes.reduce(value, &f);
        let (_, all) = exchange(
            warp.number(),
            warp.count(),
            lanes,
            of_warp,
            lanes.is_last(),
            &f,
        );
        all
    }

    /// Combines the values of all threads with ranks up to and including this thread's.
    #[inline(always)]
    pub fn inclusive_scan<T: AnyBits + Copy>(&self, value: T, f: impl Fn(T, T) -> T) -> T {
        let warp = own_warp();
        let lanes = Present::of(&warp);
        let up_to = lanes.inclusive_scan(value, &f);
        let (before, _) = exchange(
            warp.number(),
            warp.count(),
            lanes,
            up_to,
            lanes.is_last(),
            &f,
        );
        match before {
            Some(before) => f(before, up_to),
            None => up_to,
        }
    }

    /// Combines `start` with the values of all threads with lower ranks. Returns `start` in the
    /// first thread.
    #[inline(always)]
    pub fn exclusive_scan<T: AnyBits + Copy>(
        &self,
        value: T,
        start: T,
        f: impl Fn(T, T) -> T,
    ) -> T {
        self.exclusive_scan_with_total(value, start, f).0
    }

    /// Returns the result of [`Block::exclusive_scan`], and the combination of all values without
    /// `start`, the same in every thread. Costs no more than the scan. [`Block::exclusive_count`]
    /// counts the threads with a property.
    #[inline(always)]
    pub fn exclusive_scan_with_total<T: AnyBits + Copy>(
        &self,
        value: T,
        start: T,
        f: impl Fn(T, T) -> T,
    ) -> (T, T) {
        let warp = own_warp();
        let lanes = Present::of(&warp);
        let up_to = lanes.inclusive_scan(value, &f);
        let (before, all) = exchange(
            warp.number(),
            warp.count(),
            lanes,
            up_to,
            lanes.is_last(),
            &f,
        );
        let in_warp = lanes.before(up_to);
        let start = match before {
            Some(before) => f(start, before),
            None => start,
        };
        let own = match in_warp {
            Some(in_warp) => f(start, in_warp),
            None => start,
        };
        (own, all)
    }

    /// Returns the number of threads with lower ranks for which `predicate` is true, and the number
    /// of all threads for which it is, the same in every thread.
    ///
    /// This is [`Block::exclusive_scan_with_total`] of zeros and ones with five shuffles fewer,
    /// because each warp counts with a ballot.
    ///
    /// ```
    /// use cuda_std::atomic::{Atomic, Ordering::Relaxed};
    /// use cuda_std::prelude::*;
    /// use cuda_std::{group, scope::Device};
    ///
    /// /// Copies the positive elements of a single block, in their order.
    /// #[kernel(block_size(256))]
    /// pub fn positive(from: &[f32], to: &[Atomic<f32, Device>]) {
    ///     let x = from.get(thread::index() as usize).copied().filter(|&x| x > 0.0);
    ///     let (place, _count) = group::block().exclusive_count(x.is_some());
    ///     if let Some(x) = x {
    ///         to[place as usize].store(x, Relaxed);
    ///     }
    /// }
    /// # fn main() {}
    /// ```
    #[inline(always)]
    #[must_use]
    pub fn exclusive_count(&self, predicate: bool) -> (u32, u32) {
        let warp = own_warp();
        let lanes = Present::of(&warp);
        let counted = warp::ballot(warp.mask(), predicate);
        let (before, all) = exchange(
            warp.number(),
            warp.count(),
            lanes,
            counted.count_ones(),
            lanes.is_last(),
            &|a: u32, b| a + b,
        );
        let in_warp = (counted & special::lanemask_lt()).count_ones();
        (before.unwrap_or(0) + in_warp, all)
    }
}

/// The largest number of warps whose values each thread combines by itself, which is faster than
/// shuffles.
const MAX_SEQUENTIAL: u32 = 8;

/// Distributes one value of each warp to all threads. Returns the combined values of the
/// lower-numbered warps, if there are any, and those of all warps. `gives` is true in the thread of
/// each warp that contributes the warp's value. Warps whose threads have all exited do not
/// contribute.
#[inline(always)]
fn exchange<T: AnyBits + Copy>(
    number: u32,
    count: u32,
    lanes: Present,
    value: T,
    gives: bool,
    f: &impl Fn(T, T) -> T,
) -> (Option<T>, T) {
    let (slots, size) = slots::<T>();
    // SAFETY: in bounds, because a block has at most 32 warps.
    let slot = |warp: u32| unsafe { slots.add(warp as usize * size).cast::<T>() };
    // SAFETY: each warp has a slot, which one thread writes between an odd and an even completion
    // of the barrier; all reads are between an even and an odd completion. This holds whatever
    // calls meet at the barrier, and also for calls within `f`: each call completes the barrier an
    // even number of times, and reads and calls `f` only at its end. If calls with values of
    // different sizes meet, the bits of a slot are unspecified, but `written` makes them initialized.
    unsafe {
        synchronization::barrier_sync::<BARRIER>();
        if gives {
            slot(number).write(value);
        }
        let arrived = synchronization::barrier_red_popc::<BARRIER>(true);
        synchronization::written(slots);
        if arrived != thread::threads_in_block() {
            let warps = warps_that_gave(number, gives);
            let (mut before, mut all) = (None, None);
            // Over the bits, because ptxas unrolls a loop over the warps of a block of known size.
            let mut left = warps;
            while left != 0 {
                let i = left.trailing_zeros();
                left &= left - 1;
                let of_warp = slot(i).read();
                if i == number {
                    before = all;
                }
                all = Some(match all {
                    Some(all) => f(all, of_warp),
                    None => of_warp,
                });
            }
            return (before, all.unwrap_or(value));
        }
        // Unrolled: a loop would load one value after the other.
        if count <= MAX_SEQUENTIAL {
            let mut all = slot(0).read();
            let mut before = if number == 0 { None } else { Some(all) };
            let mut next = |i: u32| {
                if i < count {
                    all = f(all, slot(i).read());
                    if i < number {
                        before = Some(all);
                    }
                }
            };
            next(1);
            next(2);
            next(3);
            next(4);
            next(5);
            next(6);
            next(7);
            return (before, all);
        }
        let lane = thread::lane_id();
        // The number of this warp's threads, which may be less than the number of warps in the last
        // warp.
        if thread::threads_in_block() - 32 * number >= count {
            // Each lane loads one warp's value; the distance doubles with each step.
            let mask = lanes.all();
            let mut up_to = slot(lane.min(count - 1)).read();
            distances(|distance| {
                if distance < count {
                    let takes = lane >= distance && lane < count;
                    let from = if takes { lane - distance } else { lane };
                    let other = warp::shuffle(mask, up_to, from);
                    if takes {
                        up_to = f(other, up_to);
                    }
                }
            });
            let before = warp::shuffle(mask, up_to, number.saturating_sub(1));
            let before = if number == 0 { None } else { Some(before) };
            return (before, warp::shuffle(mask, up_to, count - 1));
        }
        let mut all = slot(0).read();
        let mut before = if number == 0 { None } else { Some(all) };
        let mut i = 1;
        while i < count {
            all = f(all, slot(i).read());
            if i < number {
                before = Some(all);
            }
            i += 1;
        }
        (before, all)
    }
}

/// Returns the mask of the warps that contributed a value, for blocks with exited threads. All
/// other threads of the block call this function.
///
/// Inlined, because a kernel with a call in divergent code has fewer uniform registers.
#[inline(always)]
fn warps_that_gave(number: u32, gives: bool) -> u32 {
    #[crate::address_space(shared)]
    static mut WARPS: MaybeUninit<u32> = MaybeUninit::uninit();
    // SAFETY: all accesses are atomic, and barriers separate the stores of zero, the updates, and
    // the loads.
    unsafe {
        let warps = Atomic::<u32, scope::Block>::from_ptr(of_block!(WARPS).cast());
        warps.store(0, Ordering::Relaxed);
        synchronization::barrier_sync::<BARRIER>();
        if gives {
            warps.fetch_or(1 << number, Ordering::Relaxed);
        }
        synchronization::barrier_sync::<BARRIER>();
        warps.load(Ordering::Relaxed)
    }
}
