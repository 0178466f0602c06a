//! Programs for compute capability 9.0: asynchronous copies, clusters, wide atomics.

#![no_std]

use cuda_std::AnyBits;
use cuda_std::atomic::{Atomic, Halves, Ordering::*};
use cuda_std::copy::{self, TensorMap};
use cuda_std::group::{self, Group};
use cuda_std::half::{Bf16, Bf16x2};
use cuda_std::intrinsics;
use cuda_std::matrix::{self, Mma, Multiply, Tf32};
use cuda_std::mbarrier::Mbarrier;
use cuda_std::memory::{self, Policy};
use cuda_std::prelude::*;
use cuda_std::scope::{Block, Cluster, Device};
use cuda_std::shared::{Array, Shared};
use cuda_std::{PerBlock, cluster};

/// Bins of each block of [`histogram_cluster()`].
pub const BINS: usize = 64;

/// A histogram with more bins than a block has: each block of a cluster has some of them, and the others add
/// to them where they are.
#[kernel(block_size(128))]
pub fn histogram_cluster(
    #[shared] mut bins: Shared<Array<Atomic<u32, Cluster>, 64>>,
    data: &[u32],
    total: &[Atomic<u32, Device>],
) {
    bins.own().each(|_, bin| *bin.get_mut() = 0);
    let bins = bins.share();
    cluster::sync();
    for (_, &x) in thread::elements(data) {
        let bin = x as usize % (BINS * cluster::blocks() as usize);
        // SAFETY: all have zeros now, and the blocks wait for each other before they end.
        let there = unsafe { cluster::map_shared_ref(&bins[bin % BINS], (bin / BINS) as u32) };
        there.fetch_add(1, Relaxed);
    }
    cluster::sync();
    let mut bins = bins.reclaim();
    let first = cluster::block_rank() as usize * BINS;
    bins.own().each(|i, bin| {
        total[first + i].fetch_add(*bin.get_mut(), Relaxed);
    });
}

/// Rows of numbers in flight.
const STAGES: usize = 4;
/// Numbers of a row.
pub const ROW: usize = 96;

/// The largest sum of a block's rows, by a warp that fetches and three that add: a barrier for each stage
/// that is full, and one for each that is empty.
///
/// # Safety
/// There are as many rows of [`ROW`] floats as the grid has blocks, times `rounds`.
#[kernel(block_size(128))]
pub unsafe fn specialised_warps(from: *const f32, rounds: u32, mut to: PerBlock<f32, 96>) {
    let stages = shared_array![u128; STAGES * ROW / 4].cast::<f32>();
    let barriers = shared_array![Mbarrier; 2 * STAGES];
    let warp = group::warp();
    let block = thread::block_index() as usize;
    // SAFETY: made by one thread before others use them.
    let (full, empty) = unsafe {
        if thread::index_in_block() == 0 {
            for stage in 0..STAGES {
                Mbarrier::init(barriers.add(stage), 1);
                Mbarrier::init(barriers.add(STAGES + stage), 3);
            }
            Mbarrier::fence_init();
        }
        thread::sync_threads();
        core::slice::from_raw_parts(barriers, 2 * STAGES).split_at(STAGES)
    };
    let mut sum = 0.0;
    if warp.number() == 3 {
        if warp::elect(u32::MAX) {
            for round in 0..rounds as usize {
                let (stage, pass) = (round % STAGES, round / STAGES);
                // The first time nobody has used the stage.
                if pass > 0 {
                    empty[stage].wait_parity(pass % 2 == 0);
                }
                let bytes = (ROW * 4) as u32;
                full[stage].arrive_expect(bytes);
                // SAFETY: a row of the block, and nobody reads the stage before the barrier.
                unsafe {
                    let row = from.add((block * rounds as usize + round) * ROW);
                    copy::bulk_in(stages.add(stage * ROW), row, bytes, &full[stage]);
                }
            }
        }
    } else {
        for round in 0..rounds as usize {
            let (stage, pass) = (round % STAGES, round / STAGES);
            full[stage].wait_parity(pass % 2 == 1);
            let own = stage * ROW + thread::index_in_block() as usize;
            // SAFETY: it has come.
            sum += unsafe { stages.add(own).read() };
            warp.sync();
            if warp.is_first() {
                empty[stage].arrive();
            }
        }
    }
    to.each(|_, to| *to = sum);
}

/// Sides of the stencil's tiles.
pub const WIDTH: usize = 32;
/// Rows of a tile.
pub const HEIGHT: usize = 8;
/// Columns of a box: with those beside it, which the hardware wants at multiples of 16 bytes.
pub const BOX: usize = WIDTH + 8;

/// Five-point sums of a picture, a column of tiles for each block: boxes with their edges come while the one
/// before is worked on, with zeros outside, and leave in the same way.
///
/// # Safety
/// `from` is a map of boxes of [`BOX`] by [`HEIGHT`] + 2, `to` of [`WIDTH`] by [`HEIGHT`].
#[kernel(block_size(32, 8))]
pub unsafe fn stencil_boxes(
    #[grid_constant] from: &TensorMap,
    #[grid_constant] to: &TensorMap,
    tiles: i32,
) {
    const FROM: usize = BOX * (HEIGHT + 2);
    // Boxes are aligned to 128 bytes.
    #[repr(align(128))]
    struct In([f32; FROM]);
    #[repr(align(128))]
    struct Out([f32; WIDTH * HEIGHT]);
    let boxes = shared_array![In; 2];
    let results = shared_array![Out; 2];
    let barriers = shared_array![Mbarrier; 2];
    let x0 = thread::block_idx_x() as i32 * WIDTH as i32;
    let first = thread::index_in_block() == 0;
    let (tx, ty) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    // SAFETY: barriers are between all accesses.
    unsafe {
        let begin = |tile: i32| {
            if first && tile < tiles {
                let stage = tile as usize % 2;
                let barrier = &*barriers.add(stage);
                barrier.arrive_expect((FROM * 4) as u32);
                let at = [x0 - 4, tile * HEIGHT as i32 - 1];
                from.load(boxes.add(stage), at, barrier);
            }
        };
        if first {
            Mbarrier::init(barriers, 1);
            Mbarrier::init(barriers.add(1), 1);
            Mbarrier::fence_init();
        }
        thread::sync_threads();
        begin(0);
        for tile in 0..tiles {
            let stage = tile as usize % 2;
            begin(tile + 1);
            (*barriers.add(stage)).wait_parity(tile / 2 % 2 == 1);
            let at =
                |x: usize, y: usize| (&raw const (*boxes.add(stage)).0[y * BOX + x + 3]).read();
            let (x, y) = (tx + 1, ty + 1);
            let sum = at(x, y) + at(x - 1, y) + at(x + 1, y) + at(x, y - 1) + at(x, y + 1);
            // The copy out of the tile before the last one has read it.
            if first {
                copy::wait_bulk_read::<1>();
            }
            thread::sync_threads();
            (&raw mut (*results.add(stage)).0[ty * WIDTH + tx]).write(sum);
            copy::fence();
            thread::sync_threads();
            if first {
                to.store([x0, tile * HEIGHT as i32], results.add(stage).cast::<f32>());
                copy::commit_bulk();
            }
        }
        if first {
            copy::wait_bulk::<0>();
        }
    }
}

/// Who holds a slot of the table: nobody.
pub const EMPTY: u128 = u128::MAX;

/// Puts keys and values into a table whose slots hold both: of equal keys the largest value stays.
#[kernel]
pub fn table_of_pairs(pairs: &[[u64; 2]], slots: &[Atomic<u128, Device>]) {
    let mask = slots.len() - 1;
    for (_, &[key, value]) in thread::elements(pairs) {
        let own = u128::from(key) << 64 | u128::from(value);
        let mut slot = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize & mask;
        let mut seen = EMPTY;
        loop {
            match slots[slot].compare_exchange(seen, own, Relaxed, Relaxed) {
                Ok(_) => break,
                Err(found) if found == EMPTY => seen = EMPTY,
                Err(found) if (found >> 64) as u64 == key => {
                    if found as u64 >= value {
                        break;
                    }
                    seen = found;
                }
                Err(_) => {
                    slot = (slot + 1) & mask;
                    seen = EMPTY;
                }
            }
        }
    }
}

/// A layer of a network on tensor cores: `gelu(a * b + bias)` by tiles of 16 by 8 for each of four warps,
/// whose rows of `a` come by copies that are three stages ahead.
///
/// # Safety
/// The matrices have sides of `n`, a multiple of 32, and are aligned to 16 bytes.
#[kernel(block_size(128))]
pub unsafe fn layer_tf32(n: usize, a: &[f32], b: &[f32], bias: &[f32], to: &[Atomic<f32, Device>]) {
    type Tile = Mma<16, 8, 8, Tf32, Tf32, f32>;
    const AHEAD: usize = 3;
    const COLUMNS: usize = 8;
    let stages = shared_array![[[u128; 2]; 16]; AHEAD];
    let warp = group::warp();
    let y0 = thread::block_idx_y() as usize * 16;
    let x0 = thread::block_idx_x() as usize * 32 + warp.number() as usize * 8;
    let i = thread::index_in_block() as usize;
    let steps = n / COLUMNS;
    // SAFETY: within the matrices, and a barrier is between copies and reads.
    let begin = |step: usize| unsafe {
        if step < steps && i < 32 {
            let from = a
                .as_ptr()
                .add((y0 + i / 2) * n + step * COLUMNS + i % 2 * 4);
            let to = stages.add(step % AHEAD).cast::<u128>().add(i);
            copy::begin(to, from.cast::<u128>());
        }
        copy::commit();
    };
    begin(0);
    begin(1);
    let mut sum = matrix::Accumulator::<Tile>::from_fn(|_, column| bias[x0 + column]);
    for step in 0..steps {
        copy::wait::<1>();
        thread::sync_threads();
        begin(step + 2);
        let rows = stages.wrapping_add(step % AHEAD).cast::<[f32; COLUMNS]>();
        // SAFETY: it has come.
        let a = matrix::A::from_fn(|row, column| Tf32::new(unsafe { (*rows.add(row))[column] }));
        let b = matrix::B::from_fn(|row, column| {
            Tf32::new(b[(step * COLUMNS + row) * n + x0 + column])
        });
        sum = Tile::multiply(a, b, sum);
    }
    sum.for_each(|row, column, x| {
        let cubic = 0.797_884_6 * (x + 0.044_715 * x * x * x);
        to[(y0 + row) * n + x0 + column].store(0.5 * x * (1.0 + cubic.tanh()), Relaxed);
    });
}

/// The first of two launches of which the second begins before the first one ends.
///
/// # Safety
/// Nobody else accesses `to`, which has an element for each thread.
#[kernel]
pub unsafe fn programmatic_first(from: &[u32], to: *mut u32) {
    let i = thread::index_1d() as usize;
    // SAFETY: the caller's promise.
    unsafe { to.add(i).write(from[i] * 3) };
    intrinsics::transfer::griddepcontrol_launch_dependents();
}

/// The second, which waits before it reads the first one's output.
///
/// # Safety
/// As for [`programmatic_first()`].
#[kernel]
pub unsafe fn programmatic_second(between: *const u32, mut to: PerThread<u32>) {
    let mut sum = thread::index_1d();
    // SAFETY: after the wait nobody writes.
    unsafe {
        intrinsics::transfer::griddepcontrol_wait();
        sum += between.add(thread::index_1d() as usize).read();
    }
    to.each(|_, to| *to = sum);
}

/// The sum of all numbers by clusters: warps by one instruction, blocks by shared memory, and a cluster's
/// blocks by telling the first one, which waits for them.
#[kernel(block_size(64))]
pub fn reduce_clusters(
    #[shared] mut sums: Shared<Array<Atomic<u32, Cluster>, 1>>,
    from: &[u32],
    to: &[Atomic<u32, Device>],
) {
    sums.own().each(|_, sum| *sum.get_mut() = 0);
    let sums = sums.share();
    cluster::sync();
    let mine = thread::elements(from).fold(0u32, |sum, (_, x)| sum.wrapping_add(*x));
    let of_warp = warp::reduce_add(u32::MAX, mine);
    if warp::elect(u32::MAX) {
        // SAFETY: it has a zero now, and the first block waits for the others.
        let first = unsafe { cluster::map_shared_ref(&sums[0], 0) };
        first.fetch_add(of_warp, Relaxed);
    }
    cluster::sync();
    if group::cluster().is_first() {
        let number = thread::block_index() as usize / cluster::blocks() as usize;
        to[number].store(sums[0].load(Relaxed), Relaxed);
    }
}

/// Adds gradients of two halves at once to those of the places they are for.
#[kernel]
pub fn scatter_gradients(places: &[u32], gradients: &[Bf16x2], scale: f32, to: &[Halves<Device>]) {
    for (i, &place) in thread::elements(places) {
        let scale = Bf16x2::splat(Bf16::from_f32(scale));
        to[place as usize].fetch_add_bf16((gradients[i] * scale).to_bits());
    }
}

/// A place in memory that blocks have in turn, in the order in which they came.
#[kernel]
pub fn tickets(
    #[shared] mut ticket: Shared<Array<Atomic<u32, Block>, 1>>,
    next: &Atomic<u32, Device>,
    serving: &Atomic<u32, Device>,
    list: &[Atomic<u32, Device>],
) {
    let block = group::block();
    ticket
        .own()
        .each(|_, ticket| *ticket.get_mut() = next.fetch_add(1, Relaxed));
    let ticket = ticket.share()[0].load(Relaxed);
    if block.is_first() {
        while serving.load(Acquire) != ticket {
            cuda_std::time::nanosleep(50);
        }
    }
    block.sync();
    // The previous kernel's writes are visible.
    let before = match ticket {
        0 => 0,
        ticket => list[ticket as usize - 1].load(Relaxed),
    };
    block.sync();
    if block.is_first() {
        list[ticket as usize].store(before + ticket, Relaxed);
        serving.store(ticket + 1, Release);
    }
}

/// A number for each key, as all blocks of a cluster add to them.
#[derive(AnyBits)]
#[repr(C)]
struct Bucket {
    count: Atomic<u32, Block>,
    sum: Atomic<f32, Block>,
}

/// Keys of [`group_by()`].
pub const KEYS: usize = 16;

/// How many numbers each key has, and their sum: in structs of shared memory, then in global memory.
#[kernel(block_size(64))]
pub fn group_by(
    #[shared] mut buckets: Shared<Array<Bucket, 16>>,
    keys: &[u8],
    values: &[f32],
    to: &[[Atomic<f32, Device>; 2]],
) {
    buckets.own().each(|_, bucket| {
        *bucket.count.get_mut() = 0;
        *bucket.sum.get_mut() = 0.0;
    });
    buckets.read(|buckets| {
        for (i, &key) in thread::elements(keys) {
            let bucket = &buckets[usize::from(key) % KEYS];
            bucket.count.fetch_add(1, Relaxed);
            bucket.sum.fetch_add(values[i], Relaxed);
        }
    });
    buckets.own().each(|key, bucket| {
        to[key][0].fetch_add(*bucket.count.get_mut() as f32, Relaxed);
        to[key][1].fetch_add(*bucket.sum.get_mut(), Relaxed);
    });
}

/// Numbers that go once around the ring of a cluster's blocks, each block adding its own: a barrier in each
/// block says that its neighbor has written, and nobody waits for all. A block may be steps ahead
/// of its neighbor, so each step has a barrier.
///
/// # Safety
/// There is an element for each thread.
#[kernel(cluster_dims(4, 1, 1), block_size(32))]
pub unsafe fn ring(from: &[u32], mut to: PerThread<u32>) {
    let inbox = shared_array![u32; 3 * 32];
    let barriers = shared_array![Mbarrier; 3];
    let lane = thread::index_in_block() as usize;
    let next = (cluster::block_rank() + 1) % cluster::blocks();
    let own = from[thread::index() as usize];
    let mut sum = own;
    // SAFETY: each step has a place of its own, and the blocks wait for each other before they end.
    unsafe {
        if lane == 0 {
            for step in 0..3 {
                Mbarrier::init(barriers.add(step), 32);
            }
            Mbarrier::fence_init();
        }
        cluster::sync();
        for step in 0..3 {
            let barrier = &*barriers.add(step);
            let place = inbox.add(step * 32 + lane);
            cluster::map_shared(place, next).write(sum);
            barrier.arrive_at(next);
            barrier.wait_parity_cluster(false);
            sum = own + place.read();
        }
        cluster::sync();
    }
    to.each(|_, to| *to = sum);
}

/// Rows that copies of all threads bring while others are added up: the barrier knows when they are there.
///
/// # Safety
/// There are `rounds` rows of 64 numbers for each block.
#[kernel(block_size(64))]
pub unsafe fn copies_that_arrive(from: *const u32, rounds: usize, mut to: PerBlock<u32, 64>) {
    let stages = shared_array![u32; 2 * 64];
    let barriers = shared_array![Mbarrier; 2];
    let own = thread::index_in_block() as usize;
    let base = thread::block_index() as usize * rounds * 64;
    let mut sum = 0u32;
    // SAFETY: a stage is written again after all have read it.
    unsafe {
        if own == 0 {
            Mbarrier::init(barriers, 64);
            Mbarrier::init(barriers.add(1), 64);
        }
        thread::sync_threads();
        let begin = |round: usize| {
            if round < rounds {
                let stage = round % 2;
                copy::begin(
                    stages.add(stage * 64 + own),
                    from.add(base + round * 64 + own),
                );
                (*barriers.add(stage)).arrive_after_copies();
            }
        };
        begin(0);
        for round in 0..rounds {
            begin(round + 1);
            (*barriers.add(round % 2)).wait_parity(round / 2 % 2 == 1);
            sum = sum.wrapping_mul(3) + stages.add(round % 2 * 64 + 63 - own).read();
            thread::sync_threads();
        }
    }
    to.each(|_, to| *to = sum);
}

/// Adds tiles of all blocks to one, by the unit that copies tensors, and leaves the block's own by a bulk
/// copy.
///
/// # Safety
/// The map is of boxes of 32 by 4 numbers; there is room for such a box of each block at `own`.
#[kernel(block_size(32, 4))]
pub unsafe fn add_boxes(#[grid_constant] sum: &TensorMap, own: *mut i32, factor: i32) {
    #[repr(align(128))]
    struct Box([i32; 128]);
    let tile = shared_array![Box; 1];
    let i = thread::index_in_block() as usize;
    let block = thread::block_index() as i32;
    // SAFETY: a barrier is between the writes and the copies.
    unsafe {
        (&raw mut (*tile).0[i]).write((block + 1) * i as i32 * factor);
        copy::fence();
        thread::sync_threads();
        if i == 0 {
            sum.add([32 * (block % 2), 0], tile.cast::<i32>());
            copy::bulk_out(own.add(128 * block as usize), tile.cast(), 512);
            copy::commit_bulk();
            copy::wait_bulk::<0>();
        }
    }
}

/// A scaled copy that asks the caches to forget what it reads and to keep what all read again.
#[kernel]
pub fn streaming(from: &[[f32; 4]], table: &[f32], mut to: PerThread<[f32; 4]>) {
    let keep = Policy::evict_last(1.0);
    to.each_with(from, |i, to, from| {
        let x = memory::load_streaming(from);
        // SAFETY: global memory, which nobody writes.
        let factor = unsafe { keep.load(&table[i % table.len()]) };
        memory::store_streaming(to, x.map(|x| x * factor));
    });
}
