//! Cooperative groups: each thread's results for every group.

use crate::random;
use cuda_std::group::{self, Group, Lanes};
use cuda_std::prelude::*;

/// A linear function, as slope and intercept. Composition is associative but not commutative.
pub type Linear = [u32; 2];

/// Applies one function, then the other.
#[inline(always)]
pub fn compose(first: Linear, then: Linear) -> Linear {
    [
        first[0].wrapping_mul(then[0]),
        first[1].wrapping_mul(then[0]).wrapping_add(then[1]),
    ]
}

/// Returns a thread's function.
#[inline(always)]
pub fn linear(thread: u32) -> Linear {
    let x = random(thread);
    [x as u32 | 1, (x >> 32) as u32]
}

#[inline(always)]
fn bits(f: Linear) -> u64 {
    u64::from(f[0]) << 32 | u64::from(f[1])
}

/// Returns all results of a group within a warp.
#[inline(always)]
fn of_lanes(group: impl Lanes, i: u32) -> [u64; 16] {
    let f = linear(i);
    let rank = group.rank();
    [
        group.size().into(),
        rank.into(),
        group.is_first().into(),
        bits(group.reduce(f, compose)),
        bits(group.inclusive_scan(f, compose)),
        bits(group.exclusive_scan(f, [3, 5], compose)),
        group.shuffle(random(i), 0),
        group.shuffle(random(i), group.size() - 1 - rank),
        group.shuffle_up(random(i), 2),
        group.shuffle_down(random(i), 3),
        group.shuffle_xor(random(i), 1),
        group.all(rank < 100).into(),
        group.any(rank == 1).into(),
        group.ballot(rank != 1).into(),
        group.match_any(rank % 3).into(),
        group.match_all(u64::from(rank == 0)).into(),
    ]
}

macro_rules! tiles {
    ($($name:ident $n:literal;)*) => {$(
        /// Tiles with this number of lanes.
        #[kernel]
        pub fn $name(mut to: PerThread<[u64; 16]>) {
            let tile = group::tile::<$n>();
            tile.sync();
            let found = of_lanes(tile, thread::index() as u32);
            to.each(|_, to| *to = found);
        }
    )*};
}
tiles! {
    group_tile_1 1;
    group_tile_2 2;
    group_tile_4 4;
    group_tile_8 8;
    group_tile_16 16;
    group_tile_32 32;
}

/// The lanes that are together in a branch: every third lane, or the others.
#[kernel]
pub fn group_coalesced(mut to: PerThread<[u64; 16]>) {
    let i = thread::index() as u32;
    let found = if thread::lane_id() % 3 == 0 {
        let group = group::coalesced();
        group.sync();
        of_lanes(group, i)
    } else {
        let group = group::coalesced();
        group.sync();
        of_lanes(group, i)
    };
    to.each(|_, to| *to = found);
}

/// The lanes of a warp, partitioned by a label.
#[kernel]
pub fn group_partition(mut to: PerThread<[u64; 16]>) {
    let i = thread::index() as u32;
    let label = random(i) % 4;
    let group = group::warp().partition(label);
    // Lanes with different labels form different groups at the same call.
    let mut found = [0; 16];
    for this in 0..4 {
        if label == this {
            found = of_lanes(group, i);
        }
    }
    to.each(|_, to| *to = found);
}

/// Adds values of 32 bytes.
fn add_wide(a: [u128; 2], b: [u128; 2]) -> [u128; 2] {
    [a[0].wrapping_add(b[0]), a[1].wrapping_add(b[1])]
}

/// The block, this thread, and the indices of the tiles.
#[kernel]
pub fn group_block(mut to: PerThread<[u64; 16]>) {
    let i = thread::index() as u32;
    let block = group::block();
    let (f, me) = (linear(i), group::thread());
    block.sync();
    let found = [
        block.size().into(),
        block.rank().into(),
        block.number(),
        bits(block.reduce(f, compose)),
        bits(block.inclusive_scan(f, compose)),
        bits(block.exclusive_scan(f, [3, 5], compose)),
        block.reduce(random(i) as u8, u8::max).into(),
        block.reduce(u128::from(random(i)) << 50, u128::wrapping_add) as u64,
        (block.inclusive_scan([1, u128::from(random(i)) << 50], add_wide)[1] >> 50) as u64,
        block.reduce((i + 1) as f64, f64::min).to_bits(),
        (me.size() + me.rank()).into(),
        me.reduce(7u32, |_, _| 8).into(),
        group::tile::<8>().number().into(),
        group::tile::<8>().count().into(),
        group::warp().number().into(),
        group::warp().count().into(),
    ];
    to.each(|_, to| *to = found);
}

/// Returns the row of a thread.
#[inline(always)]
pub fn row(thread: u32) -> [u32; 16] {
    core::array::from_fn(|k| random(16 * thread + k as u32) as u32)
}

/// Combines the columns of a matrix with a row in each lane, as the Gram-Schmidt process does. A
/// thread whose index modulo 32 is `exits` has exited before. The compiler unrolls a copy of the loops
/// for whole warps, since the number of threads is constant.
#[kernel(block_size(64))]
pub fn group_columns(exits: &[u64], mut to: PerThread<[u64; 16]>) {
    let i = thread::index() as u32;
    if exits[0] == u64::from(i % 32) {
        return;
    }
    let warp = group::warp();
    let mut row = row(i);
    let sum = |x: u32| warp.reduce(x, u32::wrapping_add);
    for column in 0..16 {
        let (done, rest) = row.split_at_mut(column + 1);
        let own = &mut done[column];
        *own ^= sum(*own);
        for x in rest {
            *x = x.wrapping_sub(sum(own.wrapping_mul(*x)));
        }
    }
    let found = row.map(u64::from);
    to.each(|_, to| *to = found);
}

/// Returns the numbers of threads of the block with a property, and the results of a scan.
#[inline(always)]
fn counts(i: u32) -> [u64; 4] {
    let block = group::block();
    let (before, all) = block.exclusive_count(random(i) % 3 == 0);
    let (sum, total) = block.exclusive_scan_with_total(random(i) as u32, 7, u32::wrapping_add);
    [before, all, sum, total].map(u64::from)
}

/// Blocks of any size.
#[kernel]
pub fn group_count(mut to: PerThread<[u64; 4]>) {
    let found = counts(thread::index() as u32);
    to.each(|_, to| *to = found);
}

macro_rules! sized {
    ($($name:ident $n:literal;)*) => {$(
        /// Blocks of this number of threads.
        #[kernel(block_size($n))]
        pub fn $name(mut to: PerThread<[u64; 4]>) {
            let found = counts(thread::index() as u32);
            to.each(|_, to| *to = found);
        }
    )*};
}
sized! {
    group_count_1 1;
    group_count_32 32;
    group_count_50 50;
    group_count_256 256;
    group_count_992 992;
}

/// Each block adds to the values that all blocks wrote in the previous round: five rounds,
/// separated by the grid barrier.
#[kernel]
pub unsafe fn group_grid(data: *mut u32, mut to: PerThread<[u64; 2]>) {
    let grid = group::grid();
    let (i, n) = (grid.rank_64() as usize, grid.size_64() as usize);
    for round in 0..5 {
        // SAFETY: each thread has a number in each half; rounds alternate between the halves, and
        // the barrier separates them.
        unsafe {
            let (from, into) = (data.add(round % 2 * n), data.add((round + 1) % 2 * n));
            *into.add(i) = (*from.add((i + n - 77) % n)).wrapping_mul(3) + i as u32;
        }
        grid.sync();
    }
    // SAFETY: no thread writes any more.
    let last = unsafe { *data.add(n + i) };
    to.each(|_, to| {
        *to = [
            last.into(),
            u64::from(grid.rank()) << 32 | u64::from(grid.size()),
        ]
    });
}

/// Queries about the launch, and the grid barrier.
#[kernel]
pub fn group_grid_alone(mut valid: PerThread<u32>) {
    let grid = group::grid();
    valid.each(|_, valid| *valid = 1 + u32::from(grid.is_valid()));
    grid.sync();
}
