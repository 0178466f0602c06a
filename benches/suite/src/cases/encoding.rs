//! Text and sorted sequences: base64, sketches of DNA, and merged arrays.

use super::Scale;
use crate::case::{Args, Buffer, Case, close, random, upload, zeroed};
use bench_kernels::encoding::{K, Kmer, MERGED, READ, letters};
use cust::error::CudaResult;

pub fn base64_encode(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(1000, 1 << 26);
    let values: Vec<u8> = (0..(3 * n).div_ceil(8) as u64)
        .flat_map(|i| random(i).to_le_bytes())
        .take(3 * n)
        .collect();
    let from = upload(&values)?;
    let to: Buffer<u32> = zeroed(n)?;
    let pointers = Args::new().pointer(&from).pointer(&to);
    Ok(Case::new("base64_encode", n.div_ceil(256), 256)
        .args(
            pointers.clone().value(n as i32),
            pointers.value(n),
            Args::new().slice(&from).output(&to),
        )
        .input(&from)
        .output(&to)
        .bytes(7 * n)
        .check(move || {
            assert_eq!(letters(*b"Man").to_le_bytes(), *b"TWFu");
            close(&to, 0.0, 0.0, |i| {
                f64::from(letters(values.as_chunks::<3>().0[i]))
            })
        }))
}

pub fn min_hash(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(300, 1 << 20);
    let reads: Vec<[u8; READ]> = (0..n as u64)
        .map(|read| {
            core::array::from_fn(|i| {
                let random = random(read * READ as u64 + i as u64);
                match random % 100 {
                    0 => b'N',
                    _ => b"ACGT"[(random >> 60) as usize & 3],
                }
            })
        })
        .collect();
    let from = upload(&reads)?;
    let to: Buffer<u32> = zeroed(n)?;
    let pointers = Args::new().pointer(&from).pointer(&to);
    Ok(Case::new("min_hash", n.div_ceil(128), 128)
        .args(
            pointers.clone().value(n as i32),
            pointers.value(n),
            Args::new().slice(&from).output(&to),
        )
        .input(&from)
        .output(&to)
        .bytes((READ + 4) * n)
        .check(move || {
            close(&to, 0.0, 0.0, |i| {
                let mut least = u32::MAX;
                for word in reads[i].windows(K as usize) {
                    let mut kmer = Kmer::default();
                    let last = word.iter().map(|&letter| kmer.push(letter)).last();
                    least = least.min(last.flatten().unwrap_or(u32::MAX));
                }
                f64::from(least)
            })
        }))
}

pub fn merge_sorted(scale: Scale) -> CudaResult<Case> {
    let (a_len, b_len) = match scale.small {
        true => (700, 500),
        false => (10 << 20, 14 << 20),
    };
    let n = a_len + b_len;
    assert_eq!(n % MERGED, 0);
    let sorted = |len: usize, seed: u64| {
        let mut values: Vec<u32> = (0..len as u64)
            .map(|i| random(i ^ seed << 40) as u32)
            .collect();
        values.sort_unstable();
        values
    };
    let (a_values, b_values) = (sorted(a_len, 1), sorted(b_len, 2));
    let (a, b) = (upload(&a_values)?, upload(&b_values)?);
    let to: Buffer<u32> = zeroed(n)?;
    let mut expected = [a_values, b_values].concat();
    expected.sort_unstable();
    Ok(Case::new("merge_sorted", (n / MERGED).div_ceil(256), 256)
        .args(
            Args::new()
                .pointer(&a)
                .value(a_len as i32)
                .pointer(&b)
                .value(b_len as i32)
                .pointer(&to),
            Args::new()
                .pointer(&a)
                .value(a_len)
                .pointer(&b)
                .value(b_len)
                .pointer(&to),
            Args::new().slice(&a).slice(&b).output(&to),
        )
        .input(&a)
        .input(&b)
        .output(&to)
        .bytes(8 * n)
        .check(move || close(&to, 0.0, 0.0, |i| f64::from(expected[i]))))
}
