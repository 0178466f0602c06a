//! The block as a group.

use core::mem::MaybeUninit;

use super::{Group, Lanes, warp};
use crate::AnyBits;
use crate::intrinsics::synchronization;
use crate::thread;

/// The threads of this block.
#[derive(Clone, Copy, Debug)]
pub struct Block(());

/// The group of this thread's block.
#[inline(always)]
#[must_use]
pub fn block() -> Block {
    Block(())
}

/// The barrier of reductions and scans of blocks, and of nothing else: it alternates between the
/// phase in which warps write what they have come to and the one in which all read. (As in
/// [`crate::shared`], where the reason is.)
pub(crate) const BARRIER: u32 = 1;

/// A value of up to 16 bytes for each warp.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
struct Slot([u8; 16]);

#[crate::address_space(shared)]
static mut SLOTS: MaybeUninit<[Slot; 32]> = MaybeUninit::uninit();

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

impl Block {
    /// The block's number in the grid, and so in the group of the grid's blocks.
    #[inline(always)]
    #[must_use]
    pub fn number(&self) -> u64 {
        thread::block_index()
    }

    /// All values in one, which every thread gets.
    #[inline(always)]
    pub fn reduce<T: AnyBits + Copy>(&self, value: T, f: impl Fn(T, T) -> T) -> T {
        let warp = warp();
        let of_warp = warp.reduce(value, &f);
        let (_, all) = exchange(warp.number(), warp.count(), of_warp, warp.is_first(), &f);
        all
    }

    /// The values of all threads up to this one in one.
    #[inline(always)]
    pub fn inclusive_scan<T: AnyBits + Copy>(&self, value: T, f: impl Fn(T, T) -> T) -> T {
        let warp = warp();
        let up_to = warp.inclusive_scan(value, &f);
        let last = warp.rank() + 1 == warp.size();
        let (before, _) = exchange(warp.number(), warp.count(), up_to, last, &f);
        match before {
            Some(before) => f(before, up_to),
            None => up_to,
        }
    }

    /// The values of all threads before this one in one; `start` for the first.
    #[inline(always)]
    pub fn exclusive_scan<T: AnyBits + Copy>(
        &self,
        value: T,
        start: T,
        f: impl Fn(T, T) -> T,
    ) -> T {
        self.exclusive_scan_with_total(value, start, f).0
    }

    /// [`Block::exclusive_scan`], and beside it all values, without `start`, in one, which every thread
    /// gets: for the price of the scan.
    #[inline(always)]
    pub fn exclusive_scan_with_total<T: AnyBits + Copy>(
        &self,
        value: T,
        start: T,
        f: impl Fn(T, T) -> T,
    ) -> (T, T) {
        let warp = warp();
        let up_to = warp.inclusive_scan(value, &f);
        let last = warp.rank() + 1 == warp.size();
        let (before, all) = exchange(warp.number(), warp.count(), up_to, last, &f);
        let in_warp = warp.shuffle_up(up_to, 1);
        let start = match before {
            Some(before) => f(start, before),
            None => start,
        };
        let own = if warp.is_first() {
            start
        } else {
            f(start, in_warp)
        };
        (own, all)
    }
}

/// Hands a value of each warp to all threads: those of the warps before in one, if there are any,
/// and those of all warps in one. `gives` is true for the thread of each warp that has the warp's
/// value.
#[inline(always)]
fn exchange<T: AnyBits + Copy>(
    number: u32,
    count: u32,
    value: T,
    gives: bool,
    f: &impl Fn(T, T) -> T,
) -> (Option<T>, T) {
    const {
        assert!(
            size_of::<T>() <= 16 && align_of::<T>() <= 16,
            "blocks reduce and scan values of up to 16 bytes"
        )
    };
    let slots = (&raw mut SLOTS).cast::<Slot>();
    // SAFETY: there is a slot for each warp, which one thread writes, and barriers are between this
    // and the reads of this and the call before.
    unsafe {
        if gives {
            slots.add(number as usize).cast::<T>().write(value);
        }
        synchronization::barrier_sync::<BARRIER>();
        let mut all = slots.cast::<T>().read();
        let mut before = if number == 0 { None } else { Some(all) };
        let mut i = 1;
        while i < count {
            all = f(all, slots.add(i as usize).cast::<T>().read());
            if i < number {
                before = Some(all);
            }
            i += 1;
        }
        synchronization::barrier_sync::<BARRIER>();
        (before, all)
    }
}
