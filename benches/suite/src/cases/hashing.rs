//! Hashes and hash tables.

use super::Scale;
use crate::case::{Args, Buffer, Case, download, random, samples, upload, zeroed};
use bench_kernels::hashing;
use cust::error::CudaResult;

pub fn sha256(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(300, 1 << 22);
    let messages: Vec<[u32; 16]> = (0..n as u64)
        .map(|i| std::array::from_fn(|word| random(i << 4 | word as u64) as u32))
        .collect();
    let from = upload(&messages)?;
    let to: Buffer<[u32; 8]> = zeroed(n)?;
    let pointers = Args::new().pointer(&from).pointer(&to);
    Ok(Case::new("sha256", n.div_ceil(256), 256)
        .args(
            pointers.clone().value(n as i32),
            pointers.value(n),
            Args::new().slice(&from).output(&to),
        )
        .input(&from)
        .output(&to)
        .bytes(96 * n)
        .check(move || {
            let results = download(&to)?;
            match samples(n).find(|&i| results[i] != hashing::sha256(messages[i])) {
                None => Ok(()),
                Some(i) => Err(format!("the hash of message {i} differs")),
            }
        }))
}

pub fn insert(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(1000, 1 << 24);
    let capacity = 2 * n.next_power_of_two();
    let value_of = |key: u32| key ^ 0x5555_5555;
    let keys: Vec<u32> = (0..n as u64)
        .map(|i| random(i) as u32 & !(1 << 31))
        .collect();
    let values: Vec<u32> = keys.iter().map(|&key| value_of(key)).collect();
    let (from, from_values) = (upload(&keys)?, upload(&values)?);
    let (slots, slot_values): (Buffer<u32>, Buffer<u32>) = (zeroed(capacity)?, zeroed(capacity)?);
    let mut distinct = keys.clone();
    distinct.sort_unstable();
    distinct.dedup();
    let pointers = Args::new()
        .pointer(&from)
        .pointer(&from_values)
        .pointer(&slots)
        .pointer(&slot_values);
    Ok(Case::new("hash_insert", n.div_ceil(256), 256)
        .args(
            pointers.clone().value(capacity as u32).value(n as i32),
            pointers.value(capacity).value(n),
            Args::new()
                .slice(&from)
                .slice(&from_values)
                .slice(&slots)
                .slice(&slot_values),
        )
        .input(&from)
        .input(&from_values)
        .output_from(&slots, 0xff)
        .output_from(&slot_values, 0xff)
        .reset()
        // For each key, one 32-byte sector of the slots and one of the values of the table, read
        // and written.
        .bytes(8 * n + 128 * n)
        .check(move || {
            let (slots, slot_values) = (download(&slots)?, download(&slot_values)?);
            let mut found: Vec<u32> = (slots.iter().copied())
                .filter(|&key| key != hashing::EMPTY)
                .collect();
            found.sort_unstable();
            if found != distinct {
                return Err("the table's keys are not those that were inserted".to_owned());
            }
            for i in samples(n) {
                let mut slot = hashing::hash(keys[i]) as usize & (capacity - 1);
                while slots[slot] != keys[i] {
                    if slots[slot] == hashing::EMPTY {
                        return Err(format!("key {i} is not found"));
                    }
                    slot = (slot + 1) & (capacity - 1);
                }
                if slot_values[slot] != value_of(keys[i]) {
                    return Err(format!("the value of key {i} differs"));
                }
            }
            Ok(())
        }))
}

pub fn xxhash64(scale: Scale) -> CudaResult<Case> {
    const SEED: u64 = 42;
    let n = scale.pick(300, 1 << 21);
    let mut text = Vec::new();
    let mut offsets = vec![0];
    for string in 0..n as u64 {
        let len = random(string) as usize % 96;
        let words = (0..12).map(|i| random(string * 16 + i).to_le_bytes());
        text.extend(words.flatten().take(len));
        offsets.push(text.len() as u32);
    }
    let (from, from_offsets) = (upload(&text)?, upload(&offsets)?);
    let to: Buffer<u64> = zeroed(n)?;
    let pointers = Args::new().pointer(&from).pointer(&from_offsets);
    let pointers = pointers.value(SEED).pointer(&to);
    Ok(Case::new("xxhash64", n.div_ceil(256), 256)
        .args(
            pointers.clone().value(n as i32),
            pointers.value(n),
            Args::new()
                .slice(&from)
                .slice(&from_offsets)
                .value(SEED)
                .output(&to),
        )
        .input(&from)
        .input(&from_offsets)
        .output(&to)
        .bytes(text.len() + 12 * n)
        .check(move || {
            // The hash of the specification's algorithm, which the kernels share with the check.
            if hashing::xxhash64(b"abc", 0) != 0x44bc_2cf5_ad77_0999 {
                return Err("the hash of \"abc\" is wrong".to_owned());
            }
            let results = download(&to)?;
            let string = |i: usize| &text[offsets[i] as usize..offsets[i + 1] as usize];
            match samples(n).find(|&i| results[i] != hashing::xxhash64(string(i), SEED)) {
                None => Ok(()),
                Some(i) => Err(format!("the hash of string {i} differs")),
            }
        }))
}
