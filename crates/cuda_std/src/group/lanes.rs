//! Groups within a warp.

use super::Group;
use crate::AnyBits;
use crate::intrinsics::special;
use crate::{thread, warp};

/// `N` lanes of the warp in a row, from a multiple of `N` on. `Tile<32>` is the warp.
///
/// Where the block's last warp has less lanes than 32, the tile has those that are there.
#[derive(Clone, Copy, Debug)]
pub struct Tile<const N: u32> {
    mask: u32,
}

/// Some lanes of the warp.
#[derive(Clone, Copy, Debug)]
pub struct Coalesced {
    mask: u32,
}

/// This thread's tile of `N` lanes: 1, 2, 4, 8, 16 or 32. Others do not compile.
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
    // The lanes that the block has in this warp.
    let behind = thread::threads_in_block() - (thread::index_in_block() - lane);
    let there = if behind >= 32 {
        u32::MAX
    } else {
        (1 << behind) - 1
    };
    Tile {
        mask: lanes & there,
    }
}

/// This thread's warp.
#[inline(always)]
#[must_use]
pub fn warp() -> Tile<32> {
    tile()
}

/// The lanes of the warp that are here together with this one.
#[inline(always)]
#[must_use]
pub fn coalesced() -> Coalesced {
    Coalesced {
        mask: warp::active_mask(),
    }
}

impl<const N: u32> Tile<N> {
    /// The number of this tile among those of its block.
    #[inline(always)]
    #[must_use]
    pub fn number(&self) -> u32 {
        thread::index_in_block() / N
    }

    /// The number of tiles in the block.
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

/// Groups within a warp: what their lanes do together.
pub trait Lanes: Group + Copy {
    /// The mask of the group's lanes.
    fn mask(&self) -> u32;

    /// The lane of a rank; any lane of the group where there is no such rank.
    fn lane_of(&self, rank: u32) -> u32;

    /// The value of the thread with that rank, which is below the size. From a thread that has exited
    /// come any bits, in this shuffle and in the others.
    #[inline(always)]
    fn shuffle<T: AnyBits + Copy>(&self, value: T, rank: u32) -> T {
        warp::shuffle(self.mask(), value, self.lane_of(rank))
    }

    /// The value of the thread `distance` below; the thread's own where there is none.
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

    /// The value of the thread `distance` above; the thread's own where there is none.
    #[inline(always)]
    fn shuffle_down<T: AnyBits + Copy>(&self, value: T, distance: u32) -> T {
        let rank = self.rank();
        let from = rank.saturating_add(distance);
        let from = if from < self.size() { from } else { rank };
        warp::shuffle(self.mask(), value, self.lane_of(from))
    }

    /// The value of the thread whose rank is this one's with the bits of `bits` flipped; the thread's
    /// own where there is none.
    #[inline(always)]
    fn shuffle_xor<T: AnyBits + Copy>(&self, value: T, bits: u32) -> T {
        let rank = self.rank();
        let from = rank ^ bits;
        let from = if from < self.size() { from } else { rank };
        warp::shuffle(self.mask(), value, self.lane_of(from))
    }

    /// Whether the predicate is true for all threads.
    #[inline(always)]
    fn all(&self, predicate: bool) -> bool {
        warp::all(self.mask(), predicate)
    }

    /// Whether the predicate is true for some thread.
    #[inline(always)]
    fn any(&self, predicate: bool) -> bool {
        warp::any(self.mask(), predicate)
    }

    /// A bit for each rank: whether the predicate is true for that thread.
    #[inline(always)]
    fn ballot(&self, predicate: bool) -> u32 {
        let lanes = warp::ballot(self.mask(), predicate);
        self.ranks_of(lanes)
    }

    /// A bit for each rank: whether that thread's value is the same as this one's, bit by bit.
    #[inline(always)]
    fn match_any<T: AnyBits + Copy>(&self, value: T) -> u32 {
        let lanes = warp::match_any(self.mask(), value);
        self.ranks_of(lanes)
    }

    /// Whether all threads have the same value, bit by bit.
    #[inline(always)]
    fn match_all<T: AnyBits + Copy>(&self, value: T) -> bool {
        warp::match_all(self.mask(), value)
    }

    /// A mask of lanes of the group as one of ranks.
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

    /// The group's threads that have the same label as this one.
    #[inline(always)]
    fn partition<T: AnyBits + Copy>(&self, label: T) -> Coalesced {
        Coalesced {
            mask: warp::match_any(self.mask(), label),
        }
    }

    /// All values in one, which every thread gets.
    #[inline(always)]
    fn reduce<T: AnyBits + Copy>(&self, value: T, f: impl Fn(T, T) -> T) -> T {
        Present::of(self).reduce(value, &f)
    }

    /// The values of all threads up to this one in one.
    #[inline(always)]
    fn inclusive_scan<T: AnyBits + Copy>(&self, value: T, f: impl Fn(T, T) -> T) -> T {
        Present::of(self).inclusive_scan(value, &f)
    }

    /// The values of all threads before this one in one; `start` for the first.
    #[inline(always)]
    fn exclusive_scan<T: AnyBits + Copy>(&self, value: T, start: T, f: impl Fn(T, T) -> T) -> T {
        let present = Present::of(self);
        let up_to = present.inclusive_scan(value, &f);
        match present.before(up_to) {
            Some(before) => f(start, before),
            None => start,
        }
    }

    /// The group is within a segment of so many lanes, a power of two.
    #[doc(hidden)]
    const SEGMENT: u32 = 32;
}

/// The lanes of a group that have not exited: a shuffle from one that has exited gives any bits. All of
/// them have come here.
#[derive(Clone, Copy)]
pub(super) struct Present {
    lanes: u32,
    lane: u32,
    /// The size of the segment that the group is within.
    segment: u32,
}

/// A mask of the lowest lanes.
#[inline(always)]
fn lowest(count: u32) -> u32 {
    // Not 32 of them at once, which a shift cannot do.
    u32::MAX >> (32 - count)
}

impl Present {
    #[inline(always)]
    pub(super) fn of<G: Lanes>(group: &G) -> Present {
        Present {
            lanes: warp::ballot(group.mask(), true),
            lane: thread::lane_id(),
            segment: G::SEGMENT,
        }
    }

    /// Their mask.
    #[inline(always)]
    pub(super) fn all(self) -> u32 {
        self.lanes
    }

    /// Whether this is the first of the lanes.
    #[inline(always)]
    pub(super) fn is_first(self) -> bool {
        self.lanes & special::lanemask_lt() == 0
    }

    /// Whether this is the last of the lanes.
    #[inline(always)]
    pub(super) fn is_last(self) -> bool {
        self.lanes & special::lanemask_gt() == 0
    }

    /// The lanes, counted from the segment's first.
    #[inline(always)]
    fn in_segment(self) -> u32 {
        self.lanes >> (self.lane & !(self.segment - 1))
    }

    /// All values in one, which every lane gets.
    #[inline(always)]
    pub(super) fn reduce<T: AnyBits + Copy>(self, value: T, f: &impl Fn(T, T) -> T) -> T {
        let mut value = value;
        let mut distance = 1;
        // After each step all lanes of an aligned part of `2 * distance` have the value of that part.
        if self.in_segment() == lowest(self.segment) {
            while distance < self.segment {
                let other = warp::shuffle_xor(self.lanes, value, distance);
                let (low, high) = match self.lane & distance {
                    0 => (value, other),
                    _ => (other, value),
                };
                value = f(low, high);
                distance *= 2;
            }
            return value;
        }
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

    /// The values of all lanes up to this one in one.
    #[inline(always)]
    pub(super) fn inclusive_scan<T: AnyBits + Copy>(self, value: T, f: &impl Fn(T, T) -> T) -> T {
        let mut value = value;
        let mut distance = 1;
        let present = self.in_segment();
        // The first ones of the segment, without a gap.
        if present & present.wrapping_add(1) == 0 {
            let rank = self.lane & (self.segment - 1);
            while distance < self.segment {
                let takes = rank >= distance;
                let from = if takes {
                    self.lane - distance
                } else {
                    self.lane
                };
                let other = warp::shuffle(self.lanes, value, from);
                if takes {
                    value = f(other, value);
                }
                distance *= 2;
            }
            return value;
        }
        // After each step the lanes of an aligned part of `2 * distance` have the values up to them in
        // that part.
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

    /// The value of the lane before this one; nothing for the first.
    #[inline(always)]
    pub(super) fn before<T: AnyBits + Copy>(self, value: T) -> Option<T> {
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

    /// The lane of the bit of that number, by halves.
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
