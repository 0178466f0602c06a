//! Shared memory, partitions of output, groups and panics.

use core::fmt;
use core::mem;

use cuda_std::barrier::Barrier;
use cuda_std::prelude::*;
use cuda_std::shared::{Array, Shared};
use cuda_std::{PerThread2d, PerThread3d, PerThreadChunk, PerTile, group};

/// This kernel's block has 32 threads, so the index is in bounds. Blocks of other kernels may be
/// larger.
#[kernel(block_size(32))]
pub fn narrow(mut to: PerThread<u32>) {
    let squares: [u32; 32] = core::array::from_fn(|i| (i * i) as u32);
    to.each(|_, to| *to = squares[thread::thread_idx_x() as usize]);
}

#[kernel]
pub fn calls_narrow(to: PerThread<u32>) {
    narrow(to);
}

/// Calls itself with the only handle, which returns to the phase in which it started.
#[kernel(block_size(64))]
pub fn recursive(depth: u32, #[shared] mut tile: Shared<Array<u32, 64>>, mut to: PerThread<u32>) {
    tile.own().each(|i, element| *element = i as u32 + depth);
    let sum = tile.read(|tile| tile.iter().sum::<u32>());
    if depth > 0 {
        recursive(depth - 1, tile, to);
    } else {
        to.each(|_, to| *to = sum);
    }
}

/// Swaps handles of the same type in some threads.
#[kernel(block_size(64))]
pub fn swapped<'k>(
    #[shared] mut a: Shared<'k, Array<u32, 64>>,
    #[shared] mut b: Shared<'k, Array<u32, 64>>,
    mut to: PerThread<u32>,
) {
    if thread::thread_idx_x() % 2 == 0 {
        mem::swap(&mut a, &mut b);
    }
    a.own().each(|_, x| *x = 1);
    b.own().each(|_, x| *x = 2);
    // The threads wait at different barriers, which complete when the other threads arrive.
    if thread::thread_idx_x() % 2 == 0 {
        mem::swap(&mut a, &mut b);
    }
    let a = a.share();
    to.each(|i, to| *to = a[i % 64]);
}

/// Counts the visits of each element, for every width.
#[kernel]
pub fn visit_tiles(mut to: PerTile<u32, 2, 3>) {
    for mut tile in to.tiles() {
        tile.each(|_, to| *to += 1);
        for (_, to) in tile.own() {
            *to += 0x100;
        }
    }
}

#[kernel]
pub fn visit_2d(mut to: PerThread2d<u32>) {
    to.each(|_, to| *to += 1);
    for (_, to) in to.own() {
        *to += 0x100;
    }
}

#[kernel]
pub fn visit_3d(mut to: PerThread3d<u32>) {
    to.each(|_, to| *to += 1);
    for (_, to) in to.own() {
        *to += 0x100;
    }
}

#[kernel]
pub fn visit_chunks(mut to: PerThreadChunk<u32, 4>) {
    to.each(
        |_, chunk| chunk.iter_mut().for_each(|to| *to += 1),
        |_, rest| rest.iter_mut().for_each(|to| *to += 1),
    );
}

/// The threads that exit before the reductions: one bit for each.
fn exits(exit: &[u32]) -> bool {
    let thread = thread::index_in_block() as usize;
    exit[thread / 32] >> (thread % 32) & 1 != 0
}

/// Reductions and scans of the remaining threads. The function is associative but not commutative:
/// it keeps the first operand's upper half and the last operand's lower half, and adds the values
/// between.
fn join(a: [u16; 4], b: [u16; 4]) -> [u16; 4] {
    [a[0], b[1], a[2].wrapping_add(b[2]), a[3].max(b[3])]
}

#[kernel]
pub fn reduce(exit: &[u32], mut to: PerThread<[[u16; 4]; 6]>) {
    if exits(exit) {
        return;
    }
    let thread = thread::index_in_block() as u16;
    let value = [thread, thread, 1, thread];
    let start = [1000, 1000, 0, 0];
    let (block, warp, tile) = (group::block(), group::warp(), group::tile::<8>());
    let result = [
        block.reduce(value, join),
        block.inclusive_scan(value, join),
        block.exclusive_scan_with_total(value, start, join).0,
        warp.reduce(value, join),
        tile.exclusive_scan(value, start, join),
        group::coalesced().inclusive_scan(value, join),
    ];
    to.each(|_, to| *to = result);
}

/// Reductions after some threads have returned, in one of two ways that depends on the block alone.
#[kernel(block_size(128))]
pub fn return_in_two_ways(limit: u32, from: &[u32], mut to: PerThread<[u32; 2]>) {
    // No check that panics precedes the reductions.
    let thread = thread::index_in_block() as usize;
    if from.get(thread).is_some_and(|&x| x > 7) {
        if limit > 3 {
            to.each(|_, to| *to = [limit, 0]);
        }
        return;
    }
    let sum = group::block().reduce(1, u32::wrapping_add);
    let lanes = group::warp().reduce(1, u32::wrapping_add);
    to.each(|_, to| *to = [sum, lanes]);
}

/// Counts at a barrier at which one warp arrives before and the others after.
#[kernel(block_size(64))]
pub fn count_in_turns(mut to: PerThread<u32>) {
    let (barrier, thread) = (Barrier::<1>, thread::index_in_block());
    if thread < 32 {
        let _ = barrier.count_block(false);
    }
    let count = barrier.count_block(true);
    if thread >= 32 {
        let _ = barrier.count_block(false);
    }
    to.each(|_, to| *to = count);
}

/// Warps that reduce values of different sizes at the same time. The results are unspecified.
#[kernel]
pub fn reduce_different_sizes(mut to: PerThread<u64>) {
    let (block, thread) = (group::block(), thread::index_in_block());
    let mut found = 0;
    for round in 0..4 {
        found += match (thread / 32 + round) % 3 {
            0 => u64::from(block.reduce(thread as u8, u8::max)),
            1 => block.reduce(u64::from(thread), u64::max) >> 1,
            _ => block.reduce([thread; 4], |a, b| if a < b { b } else { a })[0].into(),
        } & 1;
    }
    to.each(|_, to| *to = found);
}

/// Reductions within the function of a reduction.
#[kernel]
pub fn reduce_in_reduce(mut to: PerThread<u32>) {
    let block = group::block();
    let sum = block.reduce(1, |a, b| block.reduce(a + b, u32::max));
    to.each(|_, to| *to = sum);
}

/// A block that returns before a grid barrier at which the others wait.
#[kernel]
pub fn return_before_grid_sync(block: u32, mut to: PerThread<u32>) {
    group::grid().sync();
    if thread::block_index() == u64::from(block) {
        return;
    }
    group::grid().sync();
    to.each(|i, to| *to = i as u32);
}

/// Blocks that arrive and return without waiting.
#[kernel]
pub fn return_after_arrival(mut to: PerThread<u32>) {
    let arrival = group::grid().arrive();
    if thread::block_index() != 0 {
        return;
    }
    group::grid().wait(arrival);
    to.each(|i, to| *to = i as u32);
}

/// Whether a thread panics before the grid barrier.
#[kernel]
pub fn grid_sync(panics: u32, mut to: PerThread<u32>) {
    assert!(thread::index() != u64::from(panics), "before the barrier");
    for _ in 0..3 {
        group::grid().sync();
    }
    to.each(|i, to| *to = i as u32);
}

/// Elements at indices that the lanes of a warp exchange: those of `count` lanes, then of five. A lane
/// whose index is outside panics, while the others wait for it at the next exchange.
#[kernel]
pub fn exchange_indices(count: u32, indices: &[u32], xs: &[u32], mut to: PerThread<u32>) {
    let warp = group::warp();
    let lane = thread::lane_id();
    let own = indices[thread::index() as usize];
    let mut sum = 0u32;
    for k in 0..count {
        let index = warp.shuffle(own, k) + lane;
        sum = sum.wrapping_mul(31).wrapping_add(xs[index as usize]);
    }
    for k in 8..13 {
        let index = warp.shuffle(own, k) + lane;
        sum = sum.wrapping_mul(17).wrapping_add(xs[index as usize]);
    }
    to.each(|_, to| *to = sum);
}

/// Sums of elements at given indices, whose results choose elements of a second slice. A thread whose
/// index is outside panics before the others reduce.
#[kernel(block_size(128))]
pub fn reduce_after_checks(indices: &[u32], xs: &[u32], mut to: PerThread<u32>) {
    let thread = thread::index_in_block() as usize;
    let x = xs[indices[thread] as usize];
    let place = group::block().exclusive_scan(1, 0, |a, b| a + b);
    let sum = group::block().reduce(x, u32::wrapping_add);
    let lanes = group::warp().inclusive_scan(x, u32::wrapping_add);
    let other = xs[place as usize];
    to.each(|_, to| *to = sum.wrapping_add(lanes).wrapping_add(other));
}

/// The arrival of one block, for which no block waits.
#[kernel]
pub fn forget_arrival() {
    if thread::block_index() == 0 {
        #[allow(clippy::forget_non_drop, reason = "what is forgotten says so")]
        mem::forget(group::grid().arrive());
    }
}

/// A message whose formatting does not terminate.
struct Odd(u32);

impl fmt::Display for Odd {
    // The infinite loop is the purpose of the test.
    #[allow(clippy::print_in_format_impl)]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("half a message")?;
        match self.0 {
            0 => thread::exit(),
            1 => panic!("within a message"),
            2 => {
                println!("printed within a message");
                Ok(())
            }
            _ => Err(fmt::Error),
        }
    }
}

#[kernel]
pub fn odd_message(kind: u32) {
    if thread::first() {
        panic!("{}, and more", Odd(kind));
    }
}
