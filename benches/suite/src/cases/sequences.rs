//! Sequences: differences, sums of segments, a filter that reduces the sample rate, a pass of a radix
//! sort, maxima of windows, and counts of short sequences of DNA.

use super::Scale;
use crate::case::{Args, Buffer, Case, close, random, uniform_f32, upload, zeroed};
use bench_kernels::sequences::{
    BASES, DIGIT_BITS, FACTOR, Kmer, PAGE, SEQUENCES, WINDOW, from_zigzag,
};
use cust::error::CudaResult;

pub fn delta_decode(scale: Scale) -> CudaResult<Case> {
    let pages = scale.pick(3, 1 << 16);
    let n = pages * PAGE;
    let first_values: Vec<u32> = (0..pages as u64).map(|i| random(i) as u32).collect();
    let values: Vec<u16> = (0..n as u64).map(|i| random(i ^ 1 << 40) as u16).collect();
    let (firsts, codes) = (upload(&first_values)?, upload(&values)?);
    let to: Buffer<u32> = zeroed(n)?;
    let pointers = Args::new().pointer(&firsts).pointer(&codes).pointer(&to);
    Ok(Case::new("delta_decode", pages, 256)
        .args(
            pointers.clone(),
            pointers,
            Args::new().slice(&firsts).slice(&codes).output(&to),
        )
        .input(&firsts)
        .input(&codes)
        .output(&to)
        .bytes(6 * n)
        .check(move || {
            close(&to, 0.0, 0.0, |i| {
                let page = i / PAGE;
                let codes = &values[page * PAGE..=i];
                let add = |sum: u32, &code: &u16| sum.wrapping_add(from_zigzag(code));
                f64::from(codes.iter().fold(first_values[page], add))
            })
        }))
}

pub fn segmented_sum(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(3000, 1 << 26);
    let mut key = 0;
    let key_values: Vec<u32> = (0..n as u64)
        .map(|i| {
            key += u32::from(random(i) % 20 == 0);
            key
        })
        .collect();
    let numbers = uniform_f32(n, 1);
    let mut expected = vec![0.0; key as usize + 1];
    for (&key, &number) in key_values.iter().zip(&numbers) {
        expected[key as usize] += f64::from(number);
    }
    let (keys, values) = (upload(&key_values)?, upload(&numbers)?);
    let sums: Buffer<f32> = zeroed(expected.len())?;
    let pointers = Args::new().pointer(&keys).pointer(&values).pointer(&sums);
    Ok(Case::new("segmented_sum", n.div_ceil(256), 256)
        .args(
            pointers.clone().value(n as i32),
            pointers.value(n),
            Args::new().slice(&keys).slice(&values).slice(&sums),
        )
        .input(&keys)
        .input(&values)
        .output_from(&sums, 0)
        .reset()
        .bytes(8 * n + 4 * expected.len())
        .check(move || close(&sums, 1e-5, 1e-5, |i| expected[i])))
}

pub fn fir_decimate(scale: Scale) -> CudaResult<Case> {
    let count = scale.pick(21, 96);
    let n = scale.pick(1000, 1 << 23);
    let values = uniform_f32(n * FACTOR + count, 1);
    let weights = uniform_f32(count, 2);
    let (from, taps) = (upload(&values)?, upload(&weights)?);
    let to: Buffer<f32> = zeroed(n)?;
    let pointers = || Args::new().pointer(&from).pointer(&taps);
    Ok(Case::new("fir_decimate", n.div_ceil(256), 256)
        .args(
            (pointers().value(count as i32).pointer(&to)).value(n as i32),
            pointers().value(count).pointer(&to).value(n),
            Args::new().slice(&from).slice(&taps).output(&to),
        )
        .input(&from)
        .input(&taps)
        .output(&to)
        .bytes(4 * n * (FACTOR + 1))
        .f32_operations(2.0 * (n * count) as f64)
        .check(move || {
            close(&to, 1e-5, 0.0, |i| {
                let samples = &values[i * FACTOR..][..count];
                let terms = samples.iter().zip(&weights);
                terms.map(|(&x, &tap)| f64::from(x) * f64::from(tap)).sum()
            })
        }))
}

pub fn radix_scatter(scale: Scale) -> CudaResult<Case> {
    const SHIFT: u32 = 6;
    const DIGITS: usize = 1 << DIGIT_BITS;
    let n = scale.pick(1000, 1 << 26);
    let values: Vec<u32> = (0..n as u64).map(|i| random(i) as u32).collect();
    let digit = |key: u32| (key >> SHIFT) as usize % DIGITS;
    let blocks = n.div_ceil(256);
    let mut counts = vec![0; DIGITS * blocks];
    for (i, &key) in values.iter().enumerate() {
        counts[digit(key) * blocks + i / 256] += 1;
    }
    let mut sum = 0;
    let places: Vec<u32> = (counts.iter())
        .map(|count| {
            let place = sum;
            sum += count;
            place
        })
        .collect();
    let (keys, starts) = (upload(&values)?, upload(&places)?);
    let to: Buffer<u32> = zeroed(n)?;
    let pointers = Args::new()
        .pointer(&keys)
        .pointer(&starts)
        .value(SHIFT)
        .pointer(&to);
    let mut sorted = values;
    sorted.sort_by_key(|&key| digit(key));
    Ok(Case::new("radix_scatter", blocks, 256)
        .args(
            pointers.clone().value(n as i32),
            pointers.value(n),
            (Args::new().slice(&keys).slice(&starts).value(SHIFT)).slice(&to),
        )
        .input(&keys)
        .input(&starts)
        .output(&to)
        .bytes(8 * n + 4 * places.len())
        .check(move || close(&to, 0.0, 0.0, |i| sorted[i].into())))
}

pub fn sliding_max(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(1000, 1 << 26);
    let values = uniform_f32(n + WINDOW - 1, 1);
    let from = upload(&values)?;
    let to: Buffer<f32> = zeroed(n)?;
    let start = Args::new().pointer(&from);
    Ok(Case::new("sliding_max", n.div_ceil(256), 256)
        .args(
            (start.clone().value(values.len() as i32).pointer(&to)).value(n as i32),
            start.value(values.len()).pointer(&to).value(n),
            Args::new().slice(&from).output(&to),
        )
        .input(&from)
        .output(&to)
        .bytes(8 * n)
        .check(move || {
            close(&to, 0.0, 0.0, |i| {
                let window = values[i..i + WINDOW].iter().copied();
                window.fold(f32::NEG_INFINITY, f32::max).into()
            })
        }))
}

pub fn kmer_count(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(1000, 1 << 22);
    let bases: Vec<u32> = (0..n as u64).map(|i| random(i) as u32).collect();
    let words = upload(&bases)?;
    let counts: Buffer<u32> = zeroed(SEQUENCES)?;
    let pointers = Args::new().pointer(&words).pointer(&counts);
    let mut expected = vec![0u32; SEQUENCES];
    let mut kmer = Kmer::<BASES>::default();
    let bases = (bases.iter()).flat_map(|&word| (0..16).map(move |k| word >> (2 * k) & 3));
    for (i, base) in bases.take(16 * (n - 1) + BASES - 1).enumerate() {
        kmer.push(base);
        if i >= BASES - 1 {
            expected[kmer.number()] += 1;
        }
    }
    Ok(Case::new("kmer_count", n.div_ceil(256), 256)
        .args(
            pointers.clone().value(n as i32),
            pointers.value(n),
            Args::new().slice(&words).slice(&counts),
        )
        .input(&words)
        .output_from(&counts, 0)
        .reset()
        .bytes(4 * n)
        .check(move || close(&counts, 0.0, 0.0, |i| expected[i].into())))
}
