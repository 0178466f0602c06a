//! Queues, hash tables, graphs.

use cuda_std::atomic::{Atomic, Ordering::*};
use cuda_std::prelude::*;
use cuda_std::scope::Device;
use cuda_std::shared::{Array, Shared};
use cuda_std::time;

/// Every thread puts the numbers that it finds into a queue with room for them, and takes one out for
/// each: whichever comes first. A slot is ready when it is not 0.
#[kernel]
pub fn queue(
    from: &[u32],
    slots: &[Atomic<u32, Device>],
    tail: &Atomic<u32, Device>,
    head: &Atomic<u32, Device>,
    mut to: PerThread<u32>,
) {
    for (_, &x) in thread::elements(from) {
        let slot = tail.fetch_add(1, Relaxed);
        slots[slot as usize].store(x + 1, Release);
    }
    to.each(|_, to| {
        let slot = &slots[head.fetch_add(1, Relaxed) as usize];
        let mut x = slot.load(Acquire);
        while x == 0 {
            time::nanosleep(100);
            x = slot.load(Acquire);
        }
        *to = x - 1;
    });
}

/// A slot of the table that nobody uses.
pub const EMPTY: u32 = u32::MAX;

/// Where a key's search starts: what host and device share.
pub fn hash(key: u32) -> u32 {
    let key = (key ^ (key >> 16)).wrapping_mul(0x85eb_ca6b);
    (key ^ (key >> 13)).wrapping_mul(0xc2b2_ae35) >> 7
}

/// Puts pairs into a table with open addressing; of equal keys, the values are added.
#[kernel]
pub fn table_insert(
    pairs: &[[u32; 2]],
    keys: &[Atomic<u32, Device>],
    values: &[Atomic<u32, Device>],
) {
    let mask = keys.len() - 1;
    for (_, &[key, value]) in thread::elements(pairs) {
        let mut slot = hash(key) as usize & mask;
        loop {
            match keys[slot].compare_exchange(EMPTY, key, Relaxed, Relaxed) {
                Ok(_) => break,
                Err(found) if found == key => break,
                Err(_) => slot = (slot + 1) & mask,
            }
        }
        values[slot].fetch_add(value, Relaxed);
    }
}

/// The values of keys, or [`EMPTY`].
#[kernel]
pub fn table_find(wanted: &[u32], keys: &[u32], values: &[u32], mut to: PerThread<u32>) {
    let mask = keys.len() - 1;
    to.each(|i, to| {
        let mut slot = hash(wanted[i]) as usize & mask;
        while keys[slot] != wanted[i] && keys[slot] != EMPTY {
            slot = (slot + 1) & mask;
        }
        *to = if keys[slot] == EMPTY {
            EMPTY
        } else {
            values[slot]
        };
    });
}

/// A level of a search in breadth: who is at this level gives the next one to those beside it that have
/// none, and puts them on the next list.
#[kernel]
pub fn bfs_level(
    level: u32,
    rows: &[u32],
    columns: &[u32],
    frontier: &[u32],
    levels: &[Atomic<u32, Device>],
    next: &[Atomic<u32, Device>],
    count: &Atomic<u32, Device>,
) {
    for (_, &node) in thread::elements(frontier) {
        let edges = rows[node as usize] as usize..rows[node as usize + 1] as usize;
        for &other in &columns[edges] {
            if levels[other as usize]
                .compare_exchange(u32::MAX, level + 1, Relaxed, Relaxed)
                .is_ok()
            {
                next[count.fetch_add(1, Relaxed) as usize].store(other, Relaxed);
            }
        }
    }
}

/// Where each cell's particles begin and end, of particles that are sorted by their cells.
#[kernel(block_size(128))]
pub fn cell_bounds(
    #[shared] mut shared: Shared<Array<u32, 129>>,
    cells: &[u32],
    starts: &[Atomic<u32, Device>],
    ends: &[Atomic<u32, Device>],
) {
    let base = thread::block_index() as usize * 128;
    // The cell of the particle before the block's first one comes first.
    shared.own().each(|i, to| {
        *to = (base + i)
            .checked_sub(1)
            .and_then(|i| cells.get(i))
            .copied()
            .unwrap_or(u32::MAX);
    });
    let shared = shared.share();
    let i = thread::index() as usize;
    if let Some(&cell) = cells.get(i) {
        let before = shared[thread::index_in_block() as usize];
        if before != cell {
            starts[cell as usize].store(i as u32, Relaxed);
            if before != u32::MAX {
                ends[before as usize].store(i as u32, Relaxed);
            }
        }
        if i + 1 == cells.len() {
            ends[cell as usize].store(i as u32 + 1, Relaxed);
        }
    }
}

/// The occurrences of a string in another one: a bit for each position.
#[kernel]
pub fn find_text(text: &[u8], wanted: &[u8], places: &[Atomic<u32, Device>]) {
    for i in thread::grid_stride(text.len()) {
        if text[i..].starts_with(wanted) {
            places[i / 32].fetch_or(1 << (i % 32), Relaxed);
        }
    }
}

/// How many changes make one text of another, by one block: diagonals one after the other.
#[kernel(block_size(64))]
pub fn edit_distance(
    #[shared] mut diagonals: Shared<Array<[u32; 3], 64>>,
    a: &[u8],
    b: &[u8],
    mut to: PerThread<u32>,
) {
    // Row `i` of the table is thread `i`'s; of its last three numbers the newest is `row[2]`.
    let i = thread::index_in_block() as usize;
    let mut row = [0u32; 3];
    for diagonal in 0..a.len() + b.len() + 1 {
        diagonals.own().each(|_, own| *own = row);
        let above = diagonals.read(|rows| rows[i.saturating_sub(1)]);
        let value = match diagonal.checked_sub(i) {
            Some(j) if j <= b.len() && i <= a.len() => match (i, j) {
                (0, j) => j as u32,
                (i, 0) => i as u32,
                (i, j) => {
                    let replaced = above[1] + u32::from(a[i - 1] != b[j - 1]);
                    replaced.min(above[2] + 1).min(row[2] + 1)
                }
            },
            _ => row[2],
        };
        row = [row[1], row[2], value];
    }
    if i == a.len() {
        to.each(|_, to| *to = row[2]);
    }
}

/// A step of k-means: each point is added to the center that is nearest.
#[kernel]
pub fn nearest(
    points: &[[f32; 2]],
    centers: &[[f32; 2]],
    mut labels: PerThread<u32>,
    sums: &[Atomic<f32, Device>],
    counts: &[Atomic<u32, Device>],
) {
    labels.each_with(points, |_, label, point| {
        let distance = |center: &[f32; 2]| {
            let [dx, dy] = [center[0] - point[0], center[1] - point[1]];
            dx * dx + dy * dy
        };
        let nearest = centers
            .iter()
            .enumerate()
            .min_by(|(_, a), (_, b)| distance(a).total_cmp(&distance(b)))
            .map_or(0, |(i, _)| i);
        *label = nearest as u32;
        sums[2 * nearest].fetch_add(point[0], Relaxed);
        sums[2 * nearest + 1].fetch_add(point[1], Relaxed);
        counts[nearest].fetch_add(1, Relaxed);
    });
}

/// A balance that is changed under a lock, by threads of one warp as well: who has the lock goes on while
/// the others wait.
#[kernel]
pub fn locked(lock: &Atomic<u32, Device>, balance: &[Atomic<u32, Device>]) {
    let i = thread::index_1d() as usize;
    while lock.compare_exchange(0, 1, Acquire, Relaxed).is_err() {
        time::nanosleep(50);
    }
    let from = &balance[i % balance.len()];
    let to = &balance[(i + 1) % balance.len()];
    from.store(from.load(Relaxed) - 1, Relaxed);
    to.store(to.load(Relaxed) + 1, Relaxed);
    lock.store(0, Release);
}
