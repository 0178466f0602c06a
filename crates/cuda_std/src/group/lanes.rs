//! Groups within a warp.

use super::Group;
use crate::AnyBits;
use crate::intrinsics::special;
use crate::thread;
use crate::warp::{self, FULL};

/// A group of `N` consecutive lanes of a warp, starting at a multiple of `N`. `Tile<32>` is the
/// warp.
///
/// If the block's last warp has fewer than 32 lanes, the tile contains only the lanes that exist.
#[derive(Clone, Copy, Debug)]
pub struct Tile<const N: u32> {
    mask: u32,
}

/// A group of any lanes of a warp.
#[derive(Clone, Copy, Debug)]
pub struct Coalesced {
    mask: u32,
}

/// Returns this thread's tile of `N` lanes, where `N` is 1, 2, 4, 8, 16 or 32. Other values are
/// compile-time errors.
#[inline(always)]
#[must_use]
pub fn tile<const N: u32>() -> Tile<N> {
    const {
        assert!(
            N.is_power_of_two() && N <= 32,
            "a warp is divided into tiles of 1, 2, 4, 8, 16 or 32 lanes"
        )
    };
    let lane = thread::lane_id();
    let lanes = if N == 32 {
        u32::MAX
    } else {
        ((1u32 << (N % 32)) - 1) << (lane & !(N - 1))
    };
    // The lanes that exist in this warp of the block: a constant if the block's size is a constant
    // multiple of 32.
    let threads = thread::threads_in_block();
    let behind = threads - (thread::index_in_block() - lane);
    let there = if threads % 32 == 0 || behind >= 32 {
        u32::MAX
    } else {
        (1 << behind) - 1
    };
    Tile {
        mask: lanes & there,
    }
}

/// Returns this thread's warp.
#[inline(always)]
#[must_use]
pub fn warp() -> Tile<32> {
    tile()
}

/// Returns the group of the lanes that currently execute together with this one.
#[inline(always)]
#[must_use]
pub fn coalesced() -> Coalesced {
    Coalesced {
        mask: warp::active_mask(),
    }
}

impl<const N: u32> Tile<N> {
    /// Returns the index of this tile among the tiles of its block.
    #[inline(always)]
    #[must_use]
    pub fn number(&self) -> u32 {
        thread::index_in_block() / N
    }

    /// Returns the number of tiles in the block.
    #[inline(always)]
    #[must_use]
    pub fn count(&self) -> u32 {
        thread::threads_in_block().div_ceil(N)
    }
}

impl<const N: u32> Group for Tile<N> {
    #[inline(always)]
    fn size(&self) -> u32 {
        self.mask.count_ones()
    }

    #[inline(always)]
    fn rank(&self) -> u32 {
        thread::lane_id() % N
    }

    #[inline(always)]
    fn sync(&self) {
        warp::sync(self.mask);
    }
}

impl Group for Coalesced {
    #[inline(always)]
    fn size(&self) -> u32 {
        self.mask.count_ones()
    }

    #[inline(always)]
    fn rank(&self) -> u32 {
        (self.mask & special::lanemask_lt()).count_ones()
    }

    #[inline(always)]
    fn sync(&self) {
        warp::sync(self.mask);
    }
}

/// The interface of groups within a warp: shuffles, votes, matches, reductions and scans.
///
/// ```
/// use cuda_std::group;
/// use cuda_std::prelude::*;
///
/// /// Sums each group of eight elements.
/// #[kernel(block_size(128))]
/// pub fn sums(from: &[f32], mut to: PerThread<f32>) {
///     let tile = group::tile::<8>();
///     let x = from.get(thread::index() as usize).copied().unwrap_or(0.0);
///     let sum = tile.reduce(x, |a, b| a + b);
///     if let Some((_, to)) = to.first() {
///         *to = sum;
///     }
/// }
/// # fn main() {}
/// ```
pub trait Lanes: Group + Copy {
    /// Returns the mask of the group's lanes.
    fn mask(&self) -> u32;

    /// Returns the lane of a rank. If the group has no such rank, returns any lane of the group.
    fn lane_of(&self, rank: u32) -> u32;

    /// Returns the value of the thread with rank `rank`, which must be less than the size. Here and
    /// in the other shuffles, the value from a thread that has exited is unspecified.
    #[inline(always)]
    fn shuffle<T: AnyBits + Copy>(&self, value: T, rank: u32) -> T {
        warp::shuffle(self.mask(), value, self.lane_of(rank))
    }

    /// Returns the value of the thread whose rank is lower by `distance`, or this thread's own
    /// value if that rank does not exist.
    #[inline(always)]
    fn shuffle_up<T: AnyBits + Copy>(&self, value: T, distance: u32) -> T {
        let rank = self.rank();
        let from = if distance <= rank {
            rank - distance
        } else {
            rank
        };
        warp::shuffle(self.mask(), value, self.lane_of(from))
    }

    /// Returns the value of the thread whose rank is higher by `distance`, or this thread's own
    /// value if that rank does not exist.
    #[inline(always)]
    fn shuffle_down<T: AnyBits + Copy>(&self, value: T, distance: u32) -> T {
        let rank = self.rank();
        let from = rank.saturating_add(distance);
        let from = if from < self.size() { from } else { rank };
        warp::shuffle(self.mask(), value, self.lane_of(from))
    }

    /// Returns the value of the thread whose rank is this thread's rank XOR `bits`, or this
    /// thread's own value if that rank does not exist.
    #[inline(always)]
    fn shuffle_xor<T: AnyBits + Copy>(&self, value: T, bits: u32) -> T {
        let rank = self.rank();
        let from = rank ^ bits;
        let from = if from < self.size() { from } else { rank };
        warp::shuffle(self.mask(), value, self.lane_of(from))
    }

    /// Returns whether `predicate` is true for all threads of the group.
    #[inline(always)]
    fn all(&self, predicate: bool) -> bool {
        warp::all(self.mask(), predicate)
    }

    /// Returns whether `predicate` is true for at least one thread of the group.
    #[inline(always)]
    fn any(&self, predicate: bool) -> bool {
        warp::any(self.mask(), predicate)
    }

    /// Returns a mask with one bit for each rank: whether `predicate` is true for that thread.
    #[inline(always)]
    fn ballot(&self, predicate: bool) -> u32 {
        let lanes = warp::ballot(self.mask(), predicate);
        self.ranks_of(lanes)
    }

    /// Returns a mask with one bit for each rank: whether that thread's value is bitwise equal to
    /// this one's.
    #[inline(always)]
    fn match_any<T: AnyBits + Copy>(&self, value: T) -> u32 {
        let lanes = warp::match_any(self.mask(), value);
        self.ranks_of(lanes)
    }

    /// Returns whether all threads have bitwise equal values.
    #[inline(always)]
    fn match_all<T: AnyBits + Copy>(&self, value: T) -> bool {
        warp::match_all(self.mask(), value)
    }

    /// Converts a mask of lanes of the group to a mask of ranks.
    #[doc(hidden)]
    #[inline(always)]
    fn ranks_of(&self, lanes: u32) -> u32 {
        let mut ranks = 0;
        let (mut mask, mut rank) = (self.mask(), 0);
        while mask != 0 {
            let lane = mask.trailing_zeros();
            ranks |= (lanes >> lane & 1) << rank;
            rank += 1;
            mask &= mask - 1;
        }
        ranks
    }

    /// Returns the group of the threads that have the same label as this one.
    #[inline(always)]
    fn partition<T: AnyBits + Copy>(&self, label: T) -> Coalesced {
        Coalesced {
            mask: warp::match_any(self.mask(), label),
        }
    }

    /// Combines the values of all threads with `f`, and returns the result in every thread.
    #[inline(always)]
    fn reduce<T: AnyBits + Copy>(&self, value: T, f: impl Fn(T, T) -> T) -> T {
        Present::of(self).reduce(value, &f)
    }

    /// Combines the values of all threads with ranks up to and including this thread's.
    #[inline(always)]
    fn inclusive_scan<T: AnyBits + Copy>(&self, value: T, f: impl Fn(T, T) -> T) -> T {
        Present::of(self).inclusive_scan(value, &f)
    }

    /// Combines `start` with the values of all threads with lower ranks. Returns `start` in the
    /// first thread.
    #[inline(always)]
    fn exclusive_scan<T: AnyBits + Copy>(&self, value: T, start: T, f: impl Fn(T, T) -> T) -> T {
        let present = Present::of(self);
        let up_to = present.inclusive_scan(value, &f);
        match present.before(up_to) {
            Some(before) => f(start, before),
            None => start,
        }
    }

    /// The group lies within an aligned segment of this many lanes, a power of two.
    #[doc(hidden)]
    const SEGMENT: u32 = 32;
}

/// The lanes of a group that have not exited; a shuffle from an exited lane returns unspecified
/// bits. All of these lanes are at this call.
#[derive(Clone, Copy)]
pub(super) struct Present {
    lanes: u32,
    lane: u32,
    /// Whether the group is a segment of a warp all of whose lanes execute this together.
    with_whole_warp: bool,
    /// The size of the segment that contains the group.
    segment: u32,
}

/// Returns a mask of the `count` lowest lanes.
#[inline(always)]
fn lowest(count: u32) -> u32 {
    // `(1 << count) - 1` would overflow for 32.
    u32::MAX >> (32 - count)
}

/// Calls `step` with the distances of the steps of a reduction or scan over 32 lanes. Written out,
/// so that it does not depend on LLVM whether the steps are unrolled.
#[inline(always)]
pub(super) fn distances(mut step: impl FnMut(u32)) {
    step(1);
    step(2);
    step(4);
    step(8);
    step(16);
}

impl Present {
    #[inline(always)]
    pub(super) fn of<G: Lanes>(group: &G) -> Present {
        let with_whole_warp = G::SEGMENT < 32 && warp::active_mask() == FULL;
        let lanes = match with_whole_warp {
            true => group.mask(),
            false => warp::ballot(group.mask(), true),
        };
        Present {
            lanes,
            lane: thread::lane_id(),
            with_whole_warp,
            segment: G::SEGMENT,
        }
    }

    /// Returns the mask of the lanes.
    #[inline(always)]
    pub(super) fn all(self) -> u32 {
        self.lanes
    }

    /// Returns whether this is the last of the lanes.
    #[inline(always)]
    pub(super) fn is_last(self) -> bool {
        self.lanes & special::lanemask_gt() == 0
    }

    /// Returns whether the segment is whole and all 32 lanes of the warp are here. Then the mask of a
    /// shuffle can be a constant. ptxas 13.0 first compares other masks among the lanes, and repeats
    /// the shuffles for lanes that run apart: 15 instructions for each.
    #[inline(always)]
    fn is_whole(self) -> bool {
        self.with_whole_warp || (self.segment == 32 && self.lanes == FULL)
    }

    /// Calls `step` with the distances of the steps of a reduction or scan of a segment.
    #[inline(always)]
    fn distances(self, mut step: impl FnMut(u32)) {
        distances(|distance| {
            if distance < self.segment {
                step(distance);
            }
        });
    }

    /// Returns the value of the lane that is lower by `distance` in a whole segment, and whether it
    /// exists.
    #[inline(always)]
    fn previous<T: AnyBits + Copy>(self, value: T, distance: u32) -> (T, bool) {
        // The shuffle's predicate saves the comparison of the lane with the distance.
        match self.segment {
            1 => (value, false),
            2 => warp::shuffle_up_checked::<2, T>(FULL, value, distance),
            4 => warp::shuffle_up_checked::<4, T>(FULL, value, distance),
            8 => warp::shuffle_up_checked::<8, T>(FULL, value, distance),
            16 => warp::shuffle_up_checked::<16, T>(FULL, value, distance),
            _ => warp::shuffle_up_checked::<32, T>(FULL, value, distance),
        }
    }

    /// Combines the values of all lanes, and returns the result in every lane.
    #[inline(always)]
    pub(super) fn reduce<T: AnyBits + Copy>(self, value: T, f: &impl Fn(T, T) -> T) -> T {
        let mut value = value;
        if self.is_whole() {
            self.distances(|distance| {
                let other = warp::shuffle_xor(FULL, value, distance);
                let (low, high) = match self.lane & distance {
                    0 => (value, other),
                    _ => (other, value),
                };
                value = f(low, high);
            });
            return value;
        }
        let mut distance = 1;
        // After each step, all lanes of an aligned segment of `2 * distance` lanes have the value
        // of that segment.
        while distance < self.segment {
            let start = (self.lane ^ distance) & !(distance - 1);
            let others = self.lanes & lowest(distance) << start;
            let from = match others {
                0 => self.lane,
                _ => others.trailing_zeros(),
            };
            let other = warp::shuffle(self.lanes, value, from);
            if others != 0 {
                let (low, high) = match self.lane & distance {
                    0 => (value, other),
                    _ => (other, value),
                };
                value = f(low, high);
            }
            distance *= 2;
        }
        value
    }

    /// Combines the values of all lanes up to and including this one.
    #[inline(always)]
    pub(super) fn inclusive_scan<T: AnyBits + Copy>(self, value: T, f: &impl Fn(T, T) -> T) -> T {
        let mut value = value;
        if self.is_whole() {
            self.distances(|distance| {
                let (other, exists) = self.previous(value, distance);
                if exists {
                    value = f(other, value);
                }
            });
            return value;
        }
        let mut distance = 1;
        // After each step, the lanes of an aligned segment of `2 * distance` lanes have the
        // combined values up to their own within that segment.
        while distance < self.segment {
            let start = self.lane & !(2 * distance - 1);
            let below = self.lanes & lowest(distance) << start;
            let takes = self.lane & distance != 0 && below != 0;
            let from = match takes {
                true => 31 - below.leading_zeros(),
                false => self.lane,
            };
            let other = warp::shuffle(self.lanes, value, from);
            if takes {
                value = f(other, value);
            }
            distance *= 2;
        }
        value
    }

    /// Returns the value of the previous lane, or `None` in the first.
    #[inline(always)]
    pub(super) fn before<T: AnyBits + Copy>(self, value: T) -> Option<T> {
        if self.is_whole() {
            let (before, exists) = self.previous(value, 1);
            return exists.then_some(before);
        }
        let below = self.lanes & special::lanemask_lt();
        let from = match below {
            0 => self.lane,
            _ => 31 - below.leading_zeros(),
        };
        let before = warp::shuffle(self.lanes, value, from);
        (below != 0).then_some(before)
    }
}

impl<const N: u32> Lanes for Tile<N> {
    const SEGMENT: u32 = N;

    #[inline(always)]
    fn mask(&self) -> u32 {
        self.mask
    }

    #[inline(always)]
    fn lane_of(&self, rank: u32) -> u32 {
        (thread::lane_id() & !(N - 1)) | (rank & (N - 1))
    }

    #[inline(always)]
    fn ranks_of(&self, lanes: u32) -> u32 {
        lanes >> (thread::lane_id() & !(N - 1))
    }
}

impl Lanes for Coalesced {
    #[inline(always)]
    fn mask(&self) -> u32 {
        self.mask
    }

    /// Returns the lane of the `rank`-th set bit, by binary search.
    #[inline(always)]
    fn lane_of(&self, rank: u32) -> u32 {
        let (mut mask, mut rank, mut lane) = (self.mask, rank, 0);
        for half in [16, 8, 4, 2, 1] {
            let low = (mask & ((1 << half) - 1)).count_ones();
            if rank >= low {
                rank -= low;
                mask >>= half;
                lane += half;
            }
        }
        lane
    }
}
