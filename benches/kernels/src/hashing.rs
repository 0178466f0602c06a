//! SHA-256 of many messages, a hash table into which threads insert concurrently, and hashes of
//! strings.

use cuda_std::atomic::{Atomic, Ordering::Relaxed};
use cuda_std::prelude::*;
use cuda_std::scope::Device;
use cuda_std::unroll::unroll;

/// The number of bytes per message.
pub const MESSAGE: usize = 64;

const START: [u32; 8] = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];

const ROUNDS: [u32; 64] = [
    0x428a_2f98,
    0x7137_4491,
    0xb5c0_fbcf,
    0xe9b5_dba5,
    0x3956_c25b,
    0x59f1_11f1,
    0x923f_82a4,
    0xab1c_5ed5,
    0xd807_aa98,
    0x1283_5b01,
    0x2431_85be,
    0x550c_7dc3,
    0x72be_5d74,
    0x80de_b1fe,
    0x9bdc_06a7,
    0xc19b_f174,
    0xe49b_69c1,
    0xefbe_4786,
    0x0fc1_9dc6,
    0x240c_a1cc,
    0x2de9_2c6f,
    0x4a74_84aa,
    0x5cb0_a9dc,
    0x76f9_88da,
    0x983e_5152,
    0xa831_c66d,
    0xb003_27c8,
    0xbf59_7fc7,
    0xc6e0_0bf3,
    0xd5a7_9147,
    0x06ca_6351,
    0x1429_2967,
    0x27b7_0a85,
    0x2e1b_2138,
    0x4d2c_6dfc,
    0x5338_0d13,
    0x650a_7354,
    0x766a_0abb,
    0x81c2_c92e,
    0x9272_2c85,
    0xa2bf_e8a1,
    0xa81a_664b,
    0xc24b_8b70,
    0xc76c_51a3,
    0xd192_e819,
    0xd699_0624,
    0xf40e_3585,
    0x106a_a070,
    0x19a4_c116,
    0x1e37_6c08,
    0x2748_774c,
    0x34b0_bcb5,
    0x391c_0cb3,
    0x4ed8_aa4a,
    0x5b9c_ca4f,
    0x682e_6ff3,
    0x748f_82ee,
    0x78a5_636f,
    0x84c8_7814,
    0x8cc7_0208,
    0x90be_fffa,
    0xa450_6ceb,
    0xbef9_a3f7,
    0xc671_78f2,
];

/// Adds a block of 16 words to a hash.
#[inline(always)]
fn compress(state: [u32; 8], mut w: [u32; 16]) -> [u32; 8] {
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = state;
    unroll::<64>(|i| {
        if i >= 16 {
            let (w1, w14) = (w[(i + 1) % 16], w[(i + 14) % 16]);
            let s0 = w1.rotate_right(7) ^ w1.rotate_right(18) ^ (w1 >> 3);
            let s1 = w14.rotate_right(17) ^ w14.rotate_right(19) ^ (w14 >> 10);
            w[i % 16] = w[i % 16]
                .wrapping_add(s0)
                .wrapping_add(w[(i + 9) % 16])
                .wrapping_add(s1);
        }
        let s1 = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
        let choice = (e & f) ^ (!e & g);
        let t1 = h
            .wrapping_add(s1)
            .wrapping_add(choice)
            .wrapping_add(ROUNDS[i])
            .wrapping_add(w[i % 16]);
        let s0 = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
        let majority = (a & b) ^ (a & c) ^ (b & c);
        let t2 = s0.wrapping_add(majority);
        (h, g, f, e) = (g, f, e, d.wrapping_add(t1));
        (d, c, b, a) = (c, b, a, t1.wrapping_add(t2));
    });
    let added = [a, b, c, d, e, f, g, h];
    core::array::from_fn(|i| state[i].wrapping_add(added[i]))
}

/// Returns the hash of a 64-byte message. Message and result are little-endian words.
#[inline(always)]
pub fn sha256(message: [u32; 16]) -> [u32; 8] {
    let state = compress(START, message.map(u32::from_be));
    let mut end = [0; 16];
    end[0] = 0x8000_0000;
    end[15] = MESSAGE as u32 * 8;
    compress(state, end).map(u32::to_be)
}

/// The hash of each message.
#[kernel(block_size(256))]
pub fn sha256_safe(messages: &[[u32; 16]], mut to: PerThread<[u32; 8]>) {
    to.each_with(messages, |_, to, message| *to = sha256(*message));
}

/// The hash of each message.
#[kernel(block_size(256))]
pub unsafe fn sha256_raw(messages: *const [u32; 16], to: *mut [u32; 8], n: usize) {
    let i = thread::index_1d() as usize;
    if i < n {
        *to.add(i) = sha256(*messages.add(i));
    }
}

/// The value of an empty slot.
pub const EMPTY: u32 = u32::MAX;

/// Returns the first slot of the search for a key.
#[inline(always)]
pub fn hash(mut key: u32) -> u32 {
    key ^= key >> 16;
    key = key.wrapping_mul(0x85eb_ca6b);
    key ^= key >> 13;
    key = key.wrapping_mul(0xc2b2_ae35);
    key ^ key >> 16
}

/// Inserts keys with values into a table whose number of slots is a power of two.
#[kernel(block_size(256))]
pub fn hash_insert_safe(
    keys: &[u32],
    values: &[u32],
    slots: &[Atomic<u32, Device>],
    slot_values: &[Atomic<u32, Device>],
) {
    for (i, &key) in thread::elements(keys) {
        let mut slot = hash(key) as usize & (slots.len() - 1);
        loop {
            match slots[slot].compare_exchange(EMPTY, key, Relaxed, Relaxed) {
                Err(other) if other != key => slot = (slot + 1) & (slots.len() - 1),
                _ => break,
            }
        }
        slot_values[slot].store(values[i], Relaxed);
    }
}

/// Inserts keys with values into a table whose number of slots is a power of two.
#[kernel(block_size(256))]
pub unsafe fn hash_insert_raw(
    keys: *const u32,
    values: *const u32,
    slots: *mut u32,
    slot_values: *mut u32,
    capacity: usize,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i < n {
        let key = *keys.add(i);
        let mut slot = hash(key) as usize & (capacity - 1);
        loop {
            let at = Atomic::<u32, Device>::from_ptr(slots.add(slot));
            match at.compare_exchange(EMPTY, key, Relaxed, Relaxed) {
                Err(other) if other != key => slot = (slot + 1) & (capacity - 1),
                _ => break,
            }
        }
        *slot_values.add(slot) = *values.add(i);
    }
}

const PRIMES: [u64; 5] = [
    0x9e37_79b1_85eb_ca87,
    0xc2b2_ae3d_27d4_eb4f,
    0x1656_67b1_9e37_79f9,
    0x85eb_ca77_c2b2_ae63,
    0x27d4_eb2f_1656_67c5,
];

/// Adds a word to a lane of XXH64.
#[inline(always)]
fn add_word(lane: u64, word: u64) -> u64 {
    let sum = lane.wrapping_add(word.wrapping_mul(PRIMES[1]));
    sum.rotate_left(31).wrapping_mul(PRIMES[0])
}

/// Returns the four lanes of XXH64 before the first word.
#[inline(always)]
fn lanes_of(seed: u64) -> [u64; 4] {
    [
        seed.wrapping_add(PRIMES[0]).wrapping_add(PRIMES[1]),
        seed.wrapping_add(PRIMES[1]),
        seed,
        seed.wrapping_sub(PRIMES[0]),
    ]
}

/// Returns the hash of four lanes.
#[inline(always)]
fn merge(lanes: [u64; 4]) -> u64 {
    let mut hash = lanes[0]
        .rotate_left(1)
        .wrapping_add(lanes[1].rotate_left(7))
        .wrapping_add(lanes[2].rotate_left(12))
        .wrapping_add(lanes[3].rotate_left(18));
    for lane in lanes {
        hash = (hash ^ add_word(0, lane))
            .wrapping_mul(PRIMES[0])
            .wrapping_add(PRIMES[3]);
    }
    hash
}

/// Adds eight bytes after the last stripe to a hash.
#[inline(always)]
fn add_8(hash: u64, word: u64) -> u64 {
    (hash ^ add_word(0, word))
        .rotate_left(27)
        .wrapping_mul(PRIMES[0])
        .wrapping_add(PRIMES[3])
}

/// Adds four bytes to a hash.
#[inline(always)]
fn add_4(hash: u64, word: u32) -> u64 {
    (hash ^ u64::from(word).wrapping_mul(PRIMES[0]))
        .rotate_left(23)
        .wrapping_mul(PRIMES[1])
        .wrapping_add(PRIMES[2])
}

/// Adds a byte to a hash.
#[inline(always)]
fn add_1(hash: u64, byte: u8) -> u64 {
    (hash ^ u64::from(byte).wrapping_mul(PRIMES[4]))
        .rotate_left(11)
        .wrapping_mul(PRIMES[0])
}

/// Mixes the bits of a hash.
#[inline(always)]
fn mix(mut hash: u64) -> u64 {
    hash = (hash ^ hash >> 33).wrapping_mul(PRIMES[1]);
    hash = (hash ^ hash >> 29).wrapping_mul(PRIMES[2]);
    hash ^ hash >> 32
}

/// Returns the hash XXH64 of a string.
#[inline(always)]
pub fn xxhash64(string: &[u8], seed: u64) -> u64 {
    let (stripes, rest) = string.as_chunks::<32>();
    let mut hash = if stripes.is_empty() {
        seed.wrapping_add(PRIMES[4])
    } else {
        let mut lanes = lanes_of(seed);
        for stripe in stripes {
            for (lane, word) in lanes.iter_mut().zip(stripe.as_chunks().0) {
                *lane = add_word(*lane, u64::from_le_bytes(*word));
            }
        }
        merge(lanes)
    };
    hash = hash.wrapping_add(string.len() as u64);
    let (words, rest) = rest.as_chunks();
    for &word in words {
        hash = add_8(hash, u64::from_le_bytes(word));
    }
    let (words, rest) = rest.as_chunks();
    for &word in words {
        hash = add_4(hash, u32::from_le_bytes(word));
    }
    for &byte in rest {
        hash = add_1(hash, byte);
    }
    mix(hash)
}

/// The hash XXH64 of each string. The bytes of string `i` are those of `text` from `offsets[i]` to
/// `offsets[i + 1]`.
#[kernel(block_size(256))]
pub fn xxhash64_safe(text: &[u8], offsets: &[u32], seed: u64, mut to: PerThread<u64>) {
    to.each(|i, to| {
        let string = &text[offsets[i] as usize..offsets[i + 1] as usize];
        *to = xxhash64(string, seed);
    });
}

/// The hash XXH64 of each string: see [`xxhash64_safe()`].
#[kernel(block_size(256))]
pub unsafe fn xxhash64_raw(
    text: *const u8,
    offsets: *const u32,
    seed: u64,
    to: *mut u64,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let start = *offsets.add(i) as usize;
    let len = *offsets.add(i + 1) as usize - start;
    let string = text.add(start);
    let mut hash = seed.wrapping_add(PRIMES[4]);
    let mut at = 0;
    if len >= 32 {
        let mut lanes = lanes_of(seed);
        while at + 32 <= len {
            for k in 0..4 {
                let word = string.add(at + 8 * k).cast::<u64>().read_unaligned();
                lanes[k] = add_word(lanes[k], word);
            }
            at += 32;
        }
        hash = merge(lanes);
    }
    hash = hash.wrapping_add(len as u64);
    while at + 8 <= len {
        hash = add_8(hash, string.add(at).cast::<u64>().read_unaligned());
        at += 8;
    }
    if at + 4 <= len {
        hash = add_4(hash, string.add(at).cast::<u32>().read_unaligned());
        at += 4;
    }
    while at < len {
        hash = add_1(hash, *string.add(at));
        at += 1;
    }
    *to.add(i) = mix(hash);
}
