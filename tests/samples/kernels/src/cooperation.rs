//! Programs whose threads cooperate at several levels: warps, blocks and the grid.

use cuda_std::AnyBits;
use cuda_std::atomic::{Atomic, Ordering::*};
use cuda_std::barrier::Barrier;
use cuda_std::group::{self, Group, Lanes};
use cuda_std::prelude::*;
use cuda_std::scope::{Block, Device};
use cuda_std::shared::{Array, Dynamic, Shared};
use cuda_std::time;
use cust_core::DeviceCopy;

/// Numbers of a tile of [`scan_look_back()`].
pub const TILE: usize = 128;

/// A tile has said what its own sum is, above the sum.
const OWN: u64 = 1 << 32;
/// The tile has published its inclusive sum.
const UP_TO: u64 = 2 << 32;

/// The sum before a tile: its warp looks back at 32 tiles at a time, until one has its inclusive
/// sum.
fn look_back(tile: usize, sum: u32, states: &[Atomic<u64, Device>]) -> u32 {
    let warp = group::warp();
    let say = |kind: u64, sum: u32| {
        if warp.is_first() {
            states[tile].store(kind | u64::from(sum), Release);
        }
    };
    if tile == 0 {
        say(UP_TO, sum);
        return 0;
    }
    say(OWN, sum);
    let (mut before, mut end) = (0u32, tile);
    loop {
        // The nearest tile is the first lane's.
        let state = match end.checked_sub(warp.rank() as usize + 1) {
            Some(tile) => loop {
                match states[tile].load(Acquire) {
                    0 => time::nanosleep(20),
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

/// The exclusive scan of any number of elements in one pass: blocks take tiles in the order in which they
/// come, and look back at what the tiles before have said.
#[kernel(block_size(128))]
pub fn scan_look_back(
    #[shared] mut one: Shared<Array<u32, 1>>,
    from: &[u32],
    next: &Atomic<u32, Device>,
    states: &[Atomic<u64, Device>],
    to: &[Atomic<u32, Device>],
) {
    let block = group::block();
    one.own().each(|_, one| *one = next.fetch_add(1, Relaxed));
    let tile = one.read(|one| one[0]) as usize;
    let i = tile * TILE + block.rank() as usize;
    let x = from.get(i).copied().unwrap_or(0);
    let (in_tile, sum) = block.exclusive_scan_with_total(x, 0, u32::wrapping_add);
    let mut before = 0;
    if group::warp().number() == 0 {
        before = look_back(tile, sum, states);
    }
    one.own().each(|_, one| *one = before);
    let before = one.read(|one| one[0]);
    if i < from.len() {
        to[i].store(before.wrapping_add(in_tile), Relaxed);
    }
}

/// A key and what belongs to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, AnyBits, DeviceCopy)]
#[repr(C)]
pub struct Pair {
    /// The sort key.
    pub key: u32,
    /// The payload.
    pub value: u32,
}

/// Sorts a block's pairs by digits of four bits, equal keys in their order. A warp's lanes that have the
/// same digit find each other, and one counts for all.
#[kernel(block_size(256))]
pub fn radix_sort_block(
    #[shared] mut counts: Shared<Array<Atomic<u32, Block>, 128>>,
    #[shared] mut pairs: Shared<Array<Atomic<u64, Block>, 256>>,
    mut data: PerThread<Pair>,
) {
    let (block, warp) = (group::block(), group::warp());
    let (thread, number) = (block.rank() as usize, warp.number() as usize);
    let mut pair = Pair::default();
    data.each(|_, from| pair = *from);
    for shift in (0..32).step_by(4) {
        let digit = (pair.key >> shift) as usize % 16;
        counts.own().each(|_, count| *count.get_mut() = 0);
        let same = warp.match_any(digit as u8);
        let place = counts.read(|counts| {
            let rank = (same & warp::lanes_below()).count_ones();
            if rank == 0 {
                counts[digit * 8 + number].store(same.count_ones(), Relaxed);
            }
            thread::sync_threads();
            // All warps' zeros, then all warps' ones, and so on.
            let count = counts.get(thread).map_or(0, |count| count.load(Relaxed));
            let start = block.exclusive_scan(count, 0, |a, b| a + b);
            if let Some(count) = counts.get(thread) {
                count.store(start, Relaxed);
            }
            thread::sync_threads();
            counts[digit * 8 + number].load(Relaxed) + rank
        });
        pair = pairs.read(|pairs| {
            pairs[place as usize].store(u64::from(pair.key) << 32 | u64::from(pair.value), Relaxed);
            thread::sync_threads();
            let bits = pairs[thread].load(Relaxed);
            Pair {
                key: (bits >> 32) as u32,
                value: bits as u32,
            }
        });
    }
    data.each(|_, to| *to = pair);
}

/// A long key with what belongs to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, AnyBits, DeviceCopy)]
#[repr(C)]
pub struct Record {
    /// The sort key.
    pub key: u64,
    /// A place.
    pub place: [f32; 2],
    /// A name.
    pub name: u32,
    /// Some flags.
    pub flags: u16,
}

/// Sorts 32 records in the registers of a warp, by a bitonic network.
#[kernel]
pub fn sort_warps(mut data: PerThread<Record>) {
    let warp = group::warp();
    let lane = warp.rank();
    data.each(|_, record| {
        for size in [2, 4, 8, 16, 32] {
            let mut stride = size / 2;
            while stride > 0 {
                let other = warp.shuffle_xor(*record, stride);
                let wants_small = (lane & size == 0) == (lane & stride == 0);
                if (other.key < record.key) == wants_small && other.key != record.key {
                    *record = other;
                }
                stride /= 2;
            }
        }
    });
}

/// The sums of values whose keys, which lie side by side, are the same: a scan of pairs, of how many keys
/// began and of the last one's sum so far. By one block.
#[kernel(block_size(128))]
pub fn reduce_by_key(
    keys: &[u32],
    values: &[f64],
    unique: &[Atomic<u32, Device>],
    sums: &[Atomic<f64, Device>],
    count: &Atomic<u32, Device>,
) {
    let add = |(a_starts, a_sum): (u64, f64), (b_starts, b_sum): (u64, f64)| {
        let sum = if b_starts > 0 { b_sum } else { a_sum + b_sum };
        (a_starts + b_starts, sum)
    };
    let block = group::block();
    let mut before = (0, 0.0);
    for start in (0..keys.len()).step_by(128) {
        let i = start + block.rank() as usize;
        let mine = match keys.get(i) {
            Some(key) => {
                let begins = i == 0 || keys[i - 1] != *key;
                (u64::from(begins), values[i])
            }
            None => (0, 0.0),
        };
        let (up_to, all) = block.exclusive_scan_with_total(mine, before, add);
        let (starts, sum) = add(up_to, mine);
        if i < keys.len() && keys.get(i + 1) != Some(&keys[i]) {
            unique[starts as usize - 1].store(keys[i], Relaxed);
            sums[starts as usize - 1].store(sum, Relaxed);
        }
        before = add(before, all);
    }
    if block.is_first() {
        count.store(before.0 as u32, Relaxed);
    }
}

/// Not more than `permits` blocks work at the same time: a semaphore, which threads wait for longer and
/// longer.
#[kernel]
pub fn semaphore(
    permits: &Atomic<u32, Device>,
    inside: &Atomic<u32, Device>,
    most: &Atomic<u32, Device>,
    done: &Atomic<u32, Device>,
) {
    let block = group::block();
    if block.is_first() {
        let mut pause = 8;
        loop {
            let free = permits.load(Relaxed);
            if free > 0
                && permits
                    .compare_exchange(free, free - 1, Acquire, Relaxed)
                    .is_ok()
            {
                break;
            }
            time::nanosleep(pause);
            pause = (pause * 2).min(256);
        }
        let now = inside.fetch_add(1, Relaxed) + 1;
        most.fetch_max(now, Relaxed);
    }
    block.sync();
    done.fetch_add(1, Relaxed);
    time::nanosleep(100);
    block.sync();
    if block.is_first() {
        inside.fetch_sub(1, Relaxed);
        permits.fetch_add(1, Release);
    }
}

/// A warp that brings numbers and three that use them, with two places to put them, each with a barrier
/// for "full" and one for "empty": nobody waits for the whole block.
#[kernel(block_size(128))]
pub fn producer_and_consumers(
    #[shared] mut places: Shared<Array<[Atomic<u32, Block>; 96], 2>>,
    from: &[u32],
    sums: &[Atomic<u64, Device>],
) {
    const ALL: u32 = 128;
    let warp = group::warp();
    let rounds = from.len() / 96;
    places.read(|places| {
        if warp.number() == 0 {
            for round in 0..rounds {
                match round % 2 {
                    0 => Barrier::<3>.sync(ALL),
                    _ => Barrier::<4>.sync(ALL),
                }
                for i in (warp.rank() as usize..96).step_by(32) {
                    places[round % 2][i].store(from[round * 96 + i], Relaxed);
                }
                match round % 2 {
                    0 => Barrier::<1>.arrive(ALL),
                    _ => Barrier::<2>.arrive(ALL),
                }
            }
        } else {
            // Both places are empty.
            Barrier::<3>.arrive(ALL);
            Barrier::<4>.arrive(ALL);
            let own = thread::index_in_block() as usize - 32;
            let mut sum = 0;
            for round in 0..rounds {
                match round % 2 {
                    0 => Barrier::<1>.sync(ALL),
                    _ => Barrier::<2>.sync(ALL),
                }
                // Another thread's, as the producer brought it.
                sum += u64::from(places[round % 2][95 - own].load(Relaxed));
                if round + 2 < rounds {
                    match round % 2 {
                        0 => Barrier::<3>.arrive(ALL),
                        _ => Barrier::<4>.arrive(ALL),
                    }
                }
            }
            sums[own].store(sum, Relaxed);
        }
    });
}

/// The shortest ways between all places, by Floyd and Warshall: one cooperative launch. While a block
/// waits for the others it counts the ways that have become shorter.
#[kernel]
pub fn shortest_ways(
    places: usize,
    distances: &[Atomic<u32, Device>],
    shorter: &Atomic<u32, Device>,
) {
    let grid = group::grid();
    for middle in 0..places {
        let mut found = 0;
        for i in thread::grid_stride(places * places) {
            let (y, x) = (i / places, i % places);
            let at = |y: usize, x: usize| distances[y * places + x].load(Relaxed);
            let around = at(y, middle).saturating_add(at(middle, x));
            if around < at(y, x) {
                distances[i].store(around, Relaxed);
                found += 1;
            }
        }
        let arrival = grid.arrive();
        let found = group::block().reduce(found, |a, b| a + b);
        if group::block().is_first() {
            shorter.fetch_add(found, Relaxed);
        }
        grid.wait(arrival);
    }
}

/// Numbers of a query, a key and a value of [`attention()`].
pub const HEAD: usize = 32;

/// 32 of each, the keys' rows with a column that nobody uses.
type KeysAndValues = (Array<[f32; HEAD + 1], 32>, Array<[f32; HEAD], 32>);

/// Attention with an online softmax: a warp for each query, 32 keys at a time.
#[kernel(block_size(128))]
pub fn attention(
    #[shared] mut tiles: Shared<KeysAndValues>,
    queries: &[[f32; HEAD]],
    keys: &[[f32; HEAD]],
    values: &[[f32; HEAD]],
    to: &[[Atomic<f32, Device>; HEAD]],
) {
    let warp = group::warp();
    let lane = warp.rank() as usize;
    let query = thread::block_index() as usize * 4 + warp.number() as usize;
    let own = queries.get(query).map_or(0.0, |query| query[lane]);
    let (mut largest, mut total, mut sum) = (f32::NEG_INFINITY, 0.0, 0.0);
    for start in (0..keys.len()).step_by(32) {
        let (key_rows, value_rows) = tiles.own();
        key_rows.each(|i, row| match keys.get(start + i) {
            Some(key) => row[..32].copy_from_slice(key),
            None => row.fill(0.0),
        });
        value_rows.each(|i, row| *row = values.get(start + i).copied().unwrap_or([0.0; 32]));
        tiles.read(|(keys_here, values_here)| {
            // Each lane's key.
            let mut score = 0.0;
            for (i, key) in keys_here[lane][..HEAD].iter().enumerate() {
                score += warp.shuffle(own, i as u32) * key;
            }
            if start + lane >= keys.len() {
                score = f32::NEG_INFINITY;
            }
            let now = largest.max(warp.reduce(score, f32::max));
            let weight = (score - now).exp();
            let shrink = (largest - now).exp();
            total = total * shrink + warp.reduce(weight, |a, b| a + b);
            sum *= shrink;
            for (i, value) in values_here.iter().enumerate() {
                sum += warp.shuffle(weight, i as u32) * value[lane];
            }
            largest = now;
        });
    }
    if let Some(to) = to.get(query) {
        to[lane].store(sum / total, Relaxed);
    }
}

/// Counts, the mean and the squares' sum of some numbers.
#[derive(Clone, Copy, AnyBits)]
struct Moments {
    count: f32,
    mean: f32,
    squares: f32,
}

impl Moments {
    /// Of both.
    fn and(self, other: Moments) -> Moments {
        let count = self.count + other.count;
        if count == 0.0 {
            return self;
        }
        let delta = other.mean - self.mean;
        Moments {
            count,
            mean: self.mean + delta * other.count / count,
            squares: self.squares
                + other.squares
                + delta * delta * self.count * other.count / count,
        }
    }
}

/// Rows with a mean of 0 and a variance of 1, each by a block: in one pass over it.
#[kernel(block_size(64))]
pub fn normalize(from: &[f32], mut to: cuda_std::PerBlock<f32, 200>) {
    for mut row in to.pieces() {
        let numbers = &from[row.start()..row.start() + row.len()];
        let start = Moments {
            count: 0.0,
            mean: 0.0,
            squares: 0.0,
        };
        let mine = thread::block_stride(numbers.len()).fold(start, |all, i| {
            all.and(Moments {
                count: 1.0,
                mean: numbers[i],
                squares: 0.0,
            })
        });
        let all = group::block().reduce(mine, Moments::and);
        let scale = (all.squares / all.count + 1e-5).rsqrt();
        let base = row.start();
        row.each(|i, to| *to = (numbers[i - base] - all.mean) * scale);
    }
}

/// The k-th smallest number, in one block: digit by digit from the highest, by
/// a histogram of those that agree so far.
#[kernel(block_size(256))]
pub fn select(
    #[shared] mut counts: Shared<Array<Atomic<u32, Block>, 256>>,
    #[shared] mut chosen: Shared<Array<Atomic<u32, Block>, 2>>,
    data: &[u32],
    rank: u32,
    to: &Atomic<u32, Device>,
) {
    let block = group::block();
    let (mut found, mut rank) = (0u32, rank);
    for shift in [24, 16, 8, 0] {
        counts.own().each(|_, count| *count.get_mut() = 0);
        let (before, count) = counts.read(|counts| {
            for i in thread::block_stride(data.len()) {
                let x = data[i];
                if (x ^ found).checked_shr(shift + 8).unwrap_or(0) == 0 {
                    counts[(x >> shift) as usize % 256].fetch_add(1, Relaxed);
                }
            }
            thread::sync_threads();
            let count = counts[block.rank() as usize].load(Relaxed);
            (block.exclusive_scan(count, 0, |a, b| a + b), count)
        });
        [found, rank] = chosen.read(|chosen| {
            if before <= rank && rank < before + count {
                chosen[0].store(found | block.rank() << shift, Relaxed);
                chosen[1].store(rank - before, Relaxed);
            }
            thread::sync_threads();
            [chosen[0].load(Relaxed), chosen[1].load(Relaxed)]
        });
    }
    if block.is_first() {
        to.store(found, Relaxed);
    }
}

/// Merges two sorted lists: each block's and then each thread's part of the result is found on a diagonal.
#[kernel]
pub fn merge_path(a: &[u32], b: &[u32], mut to: cuda_std::PerThreadChunk<u32, 4>) {
    let merge = |start: usize, to: &mut [u32]| {
        // How many of `a` are among the first `start`.
        let (mut low, mut high) = (start.saturating_sub(b.len()), start.min(a.len()));
        while low < high {
            let middle = usize::midpoint(low, high);
            if a[middle] <= b[start - 1 - middle] {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let (mut i, mut j) = (low, start - low);
        for to in to {
            let from_a = j >= b.len() || (i < a.len() && a[i] <= b[j]);
            *to = if from_a { a[i] } else { b[j] };
            i += usize::from(from_a);
            j += usize::from(!from_a);
        }
    };
    to.each(|start, to| merge(start, to), merge);
}

/// Components of a graph by the lowest number in each: edges join trees, whose roots they look for.
#[kernel]
pub fn components(edges: &[[u32; 2]], parents: &[Atomic<u32, Device>]) {
    let root = |mut x: u32| {
        loop {
            let parent = parents[x as usize].load(Relaxed);
            if parent == x {
                return x;
            }
            // The way becomes shorter for who comes next.
            let above = parents[parent as usize].load(Relaxed);
            parents[x as usize].fetch_min(above, Relaxed);
            x = above;
        }
    };
    for (_, &[a, b]) in thread::elements(edges) {
        let (mut a, mut b) = (root(a), root(b));
        while a != b {
            let (low, high) = (a.min(b), a.max(b));
            match parents[high as usize].compare_exchange(high, low, Relaxed, Relaxed) {
                Ok(_) => break,
                Err(_) => (a, b) = (root(low), root(high)),
            }
        }
    }
}

/// Each one's component, after [`components()`].
#[kernel]
pub fn component_roots(parents: &[u32], mut to: PerThread<u32>) {
    to.each(|i, to| {
        let mut x = i as u32;
        while parents[x as usize] != x {
            x = parents[x as usize];
        }
        *to = x;
    });
}

/// Combines a byte, a half-word and a word of one allocation of dynamic shared memory.
///
/// # Safety
/// Blocks have 64 threads, and 64 * 7 bytes of shared memory.
#[kernel]
pub unsafe fn divided_memory(from: &[u32], mut to: PerThread<u32>) {
    let words = shared::dynamic_shared_mem::<u32>();
    let (i, n) = (thread::index_in_block() as usize, 64);
    // SAFETY: three parts behind each other, the widest numbers first.
    unsafe {
        let halves = words.add(n).cast::<u16>();
        let bytes = halves.add(n).cast::<u8>();
        let x = from[thread::index() as usize];
        words.add(i).write(x);
        halves.add(i).write(x as u16);
        bytes.add(i).write(x as u8);
        thread::sync_threads();
        let other = n - 1 - i;
        let sum = words.add(other).read()
            ^ u32::from(halves.add(i ^ 1).read()) << 8
            ^ u32::from(bytes.add(i ^ 2).read());
        to.each(|_, to| *to = sum);
    }
}

/// The same with the safe form, of one type.
#[kernel]
pub fn reverse_dynamic(#[shared] mut all: Shared<Dynamic<Pair>>, mut data: PerThread<Pair>) {
    let i = thread::index_in_block() as usize;
    let mut own = Pair::default();
    data.each(|_, pair| own = *pair);
    all.own().each(|_, to| *to = own);
    let all = all.share();
    data.each(|_, pair| *pair = all[all.len() - 1 - i]);
}
