//! AES-128 in counter mode.

use cuda_std::prelude::*;
use cuda_std::shared::{Array, Shared};
use cuda_std::vector::U32x4;

/// The number of rounds.
pub const ROUNDS: usize = 10;

/// Encrypts a block of four big-endian words. `table` combines the substitution of bytes with the
/// mixing of columns, and `substitutes` is the substitution alone.
#[inline(always)]
fn encrypt(
    table: &[u32; 256],
    substitutes: &[u8; 256],
    keys: &[[u32; 4]; ROUNDS + 1],
    block: [u32; 4],
) -> [u32; 4] {
    let mut state: [u32; 4] = core::array::from_fn(|j| block[j] ^ keys[0][j]);
    for key in &keys[1..ROUNDS] {
        let bytes = state.map(u32::to_be_bytes);
        state = core::array::from_fn(|j| {
            table[usize::from(bytes[j][0])]
                ^ table[usize::from(bytes[(j + 1) % 4][1])].rotate_right(8)
                ^ table[usize::from(bytes[(j + 2) % 4][2])].rotate_right(16)
                ^ table[usize::from(bytes[(j + 3) % 4][3])].rotate_right(24)
                ^ key[j]
        });
    }
    let bytes = state.map(u32::to_be_bytes);
    core::array::from_fn(|j| {
        let column = core::array::from_fn(|k| substitutes[usize::from(bytes[(j + k) % 4][k])]);
        u32::from_be_bytes(column) ^ keys[ROUNDS][j]
    })
}

/// Encrypts blocks of 16 bytes with AES-128 in counter mode, with the tables in shared memory. The
/// last word of a counter is the index of its block, and the other words are `nonce`.
#[kernel(block_size(256))]
pub fn aes_ctr_safe(
    #[shared] mut tables: Shared<(Array<u32, 256>, Array<u8, 256>)>,
    table: &[u32; 256],
    substitutes: &[u8; 256],
    keys: &[[u32; 4]; ROUNDS + 1],
    nonce: &[u32; 3],
    from: &[U32x4],
    mut to: PerThread<U32x4>,
) {
    let (own_table, own_substitutes) = tables.own();
    own_table.each(|i, entry| *entry = table[i]);
    own_substitutes.each(|i, entry| *entry = substitutes[i]);
    let tables = tables.share();
    let (table, substitutes) = tables.view();
    to.each_with(from, |i, to, plain| {
        let counter = [nonce[0], nonce[1], nonce[2], i as u32];
        let stream = encrypt(table, substitutes, keys, counter);
        *to = U32x4(core::array::from_fn(|j| plain[j] ^ stream[j].to_be()));
    });
}

/// Encrypts blocks of 16 bytes with AES-128 in counter mode: see [`aes_ctr_safe()`].
#[kernel(block_size(256))]
pub unsafe fn aes_ctr_raw(
    from_table: *const u32,
    from_substitutes: *const u8,
    keys: *const u32,
    nonce: *const u32,
    from: *const U32x4,
    to: *mut U32x4,
    n: usize,
) {
    let table = shared_array![u32; 256];
    let substitutes = shared_array![u8; 256];
    let thread = thread::thread_idx_x() as usize;
    *table.add(thread) = *from_table.add(thread);
    *substitutes.add(thread) = *from_substitutes.add(thread);
    thread::sync_threads();
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let mut state = [*nonce, *nonce.add(1), *nonce.add(2), i as u32];
    for j in 0..4 {
        state[j] ^= *keys.add(j);
    }
    for round in 1..ROUNDS {
        let old = state;
        for j in 0..4 {
            state[j] = *table.add((old[j] >> 24) as usize)
                ^ (*table.add((old[(j + 1) % 4] >> 16 & 255) as usize)).rotate_right(8)
                ^ (*table.add((old[(j + 2) % 4] >> 8 & 255) as usize)).rotate_right(16)
                ^ (*table.add((old[(j + 3) % 4] & 255) as usize)).rotate_right(24)
                ^ *keys.add(4 * round + j);
        }
    }
    let mut result = *from.add(i);
    for j in 0..4 {
        let word = u32::from(*substitutes.add((state[j] >> 24) as usize)) << 24
            | u32::from(*substitutes.add((state[(j + 1) % 4] >> 16 & 255) as usize)) << 16
            | u32::from(*substitutes.add((state[(j + 2) % 4] >> 8 & 255) as usize)) << 8
            | u32::from(*substitutes.add((state[(j + 3) % 4] & 255) as usize));
        result[j] ^= (word ^ *keys.add(4 * ROUNDS + j)).swap_bytes();
    }
    *to.add(i) = result;
}
