//! Queues, tables, graphs.

use cuda_std::atomic::{Atomic, Ordering::*};
use cuda_std::prelude::*;
use cuda_std::scope::Device;
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
