//! A single-pass scan of any length with decoupled look-back: tiles publish their sums, and look
//! back at those of earlier tiles.

use cuda_std::PerThreadChunk;
use cuda_std::atomic::{Atomic, Ordering::Relaxed};
use cuda_std::group::{self, Group, Lanes};
use cuda_std::prelude::*;
use cuda_std::scope::Device;
use cuda_std::shared::{Array, Shared};
use cuda_std::vector::{U32x4, Vector};
use cuda_std::warp;

/// The number of threads per block.
pub const THREADS: usize = 256;
/// The number of elements per thread.
pub const ITEMS: usize = 8;
/// The number of vectors of elements per thread.
const VECTORS: usize = ITEMS / U32x4::LANES;
/// The number of elements per block.
pub const TILE: usize = THREADS * ITEMS;

/// The flag of a tile that has published its own sum, which is in the lower 32 bits of the word.
const OWN: u64 = 1 << 32;
/// The flag of a tile that has published the sum up to its end.
const UP_TO: u64 = 2 << 32;

/// Returns the sum of all earlier tiles: the first warp looks at 32 tiles at a time, until one has
/// published its inclusive sum.
fn look_back(tile: usize, sum: u32, states: &[Atomic<u64, Device>]) -> u32 {
    let warp = group::warp();
    let say = |kind: u64, sum: u32| {
        if warp.is_first() {
            states[tile].store(kind | u64::from(sum), Relaxed);
        }
    };
    if tile == 0 {
        say(UP_TO, sum);
        return 0;
    }
    say(OWN, sum);
    let (mut before, mut end) = (0u32, tile);
    loop {
        // The first lane has the nearest tile.
        let state = match end.checked_sub(warp.rank() as usize + 1) {
            Some(tile) => loop {
                match states[tile].load(Relaxed) {
                    0 => {}
                    state => break state,
                }
            },
            None => UP_TO,
        };
        let complete = warp.ballot(state >= UP_TO);
        let counts = warp.rank() <= complete.trailing_zeros();
        let mine = if counts { state as u32 } else { 0 };
        before = before.wrapping_add(warp.reduce(mine, u32::wrapping_add));
        if complete != 0 {
            say(UP_TO, before.wrapping_add(sum));
            return before;
        }
        end -= 32;
    }
}

/// The exclusive scan. The grid has one block per tile, and one state per block, initially 0.
#[kernel(block_size(256))]
pub fn scan_safe(
    #[shared] mut shared: Shared<Array<u32, 1>>,
    from: &[U32x4],
    states: &[Atomic<u64, Device>],
    mut to: PerThreadChunk<U32x4, VECTORS>,
) {
    let block = group::block();
    let tile = thread::block_index() as usize;
    to.each(
        |start, to| {
            let mut mine: [U32x4; VECTORS] = core::array::from_fn(|i| from[start + i]);
            let own_sum = mine
                .as_scalars()
                .iter()
                .fold(0u32, |sum, x| sum.wrapping_add(*x));
            let (in_tile, all) = block.exclusive_scan_with_total(own_sum, 0, u32::wrapping_add);
            let mut before = 0;
            if group::warp().number() == 0 {
                before = look_back(tile, all, states);
            }
            shared.own().each(|_, to| *to = before);
            let mut sum = shared.read(|before| before[0]).wrapping_add(in_tile);
            for x in mine.as_scalars_mut() {
                sum = sum.wrapping_add(core::mem::replace(x, sum));
            }
            *to = mine;
        },
        |_, _| {},
    );
}

/// The exclusive scan: see [`scan_safe()`].
#[kernel(block_size(256))]
pub unsafe fn scan_raw(from: *const U32x4, states: *mut u64, to: *mut U32x4) {
    let shared = shared_array![u32; THREADS / 32 + 1];
    let before = shared.add(THREADS / 32);
    let (thread, lane) = (thread::thread_idx_x() as usize, thread::lane_id());
    let tile = thread::block_idx_x() as usize;
    let start = (tile * THREADS + thread) * VECTORS;
    let mine = *from.add(start).cast::<[U32x4; VECTORS]>();
    let mut sum = 0u32;
    for vector in mine {
        for x in vector.0 {
            sum += x;
        }
    }
    let mut up_to = sum;
    for distance in [1, 2, 4, 8, 16] {
        let other = warp::shuffle_up(warp::FULL, up_to, distance);
        if lane >= distance {
            up_to += other;
        }
    }
    if lane == 31 {
        *shared.add(thread / 32) = up_to;
    }
    thread::sync_threads();
    if thread < 32 {
        let mut sums = if thread < THREADS / 32 {
            *shared.add(thread)
        } else {
            0
        };
        for distance in [1, 2, 4] {
            let other = warp::shuffle_up(warp::FULL, sums, distance);
            if lane >= distance {
                sums += other;
            }
        }
        let all = warp::shuffle(warp::FULL, sums, THREADS as u32 / 32 - 1);
        if thread < THREADS / 32 {
            *shared.add(thread) = sums;
        }
        let found = look_back_raw(tile, all, states, lane);
        if lane == 0 {
            *before = found;
        }
    }
    thread::sync_threads();
    let of_warps = if thread < 32 {
        0
    } else {
        *shared.add(thread / 32 - 1)
    };
    let mut running = *before + of_warps + up_to - sum;
    for i in 0..VECTORS {
        let mut sums = U32x4::default();
        for k in 0..U32x4::LANES {
            sums[k] = running;
            running += mine[i][k];
        }
        *to.add(start + i) = sums;
    }
}

/// Like [`look_back`].
unsafe fn look_back_raw(tile: usize, sum: u32, states: *mut u64, lane: u32) -> u32 {
    let state = |tile: usize| Atomic::<u64, Device>::from_ptr(states.add(tile));
    let say = |kind: u64, sum: u32| {
        if lane == 0 {
            state(tile).store(kind | u64::from(sum), Relaxed);
        }
    };
    if tile == 0 {
        say(UP_TO, sum);
        return 0;
    }
    say(OWN, sum);
    let mut before = 0u32;
    let mut end = tile as i64;
    loop {
        let other = end - 1 - i64::from(lane);
        let mut found = UP_TO;
        if other >= 0 {
            loop {
                found = state(other as usize).load(Relaxed);
                if found != 0 {
                    break;
                }
            }
        }
        let complete = warp::ballot(warp::FULL, found >= UP_TO);
        let mut mine = if lane <= complete.trailing_zeros() {
            found as u32
        } else {
            0
        };
        for distance in [16, 8, 4, 2, 1] {
            mine += warp::shuffle_xor(warp::FULL, mine, distance);
        }
        before += mine;
        if complete != 0 {
            say(UP_TO, before + sum);
            return before;
        }
        end -= 32;
    }
}
