//! Cameras: colors of raw images, hue and saturation, and matched features.

use super::Scale;
use crate::case::{Args, Buffer, Case, download, near, random, samples, upload, zeroed};
use bench_kernels::camera::{Descriptor, Match, color, hsv};
use cust::error::CudaResult;

pub fn demosaic(scale: Scale) -> CudaResult<Case> {
    let (width, height) = match scale.small {
        true => (70, 21),
        false => (8192, 6144),
    };
    let n = width * height;
    let values: Vec<u16> = (0..n as u64).map(|i| random(i) as u16 & 4095).collect();
    let from = upload(&values)?;
    let to: Buffer<[u16; 3]> = zeroed(n)?;
    let pointers = Args::new().pointer(&from).pointer(&to);
    let grid = (width.div_ceil(32), height.div_ceil(8));
    Ok(Case::new("demosaic", grid, (32, 8))
        .args(
            pointers.clone().value(width as i32).value(height as i32),
            pointers.value(width).value(height),
            Args::new().slice(&from).rows(&to, width),
        )
        .input(&from)
        .output(&to)
        .bytes(8 * n)
        .check(move || {
            let results = download(&to)?;
            for i in samples(n) {
                let (x, y) = (i % width, i / width);
                let expected = color(x, y, width, height, |x, y| values[y * width + x]);
                for (result, expected) in results[i].into_iter().zip(expected) {
                    near(i, result, f64::from(expected), 0.0, 0.0)?;
                }
            }
            Ok(())
        }))
}

pub fn rgb_to_hsv(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(1000, 1 << 26);
    let values: Vec<[u8; 3]> = (0..n as u64)
        .map(|i| {
            let [r, g, b, kind, ..] = random(i).to_le_bytes();
            match kind % 16 {
                0 => [r; 3],
                1 => [r, r, b],
                _ => [r, g, b],
            }
        })
        .collect();
    let from = upload(&values)?;
    let to: Buffer<[u8; 3]> = zeroed(n)?;
    let pointers = Args::new().pointer(&from).pointer(&to);
    Ok(Case::new("rgb_to_hsv", n.div_ceil(256), 256)
        .args(
            pointers.clone().value(n as i32),
            pointers.value(n),
            Args::new().slice(&from).output(&to),
        )
        .input(&from)
        .output(&to)
        .bytes(6 * n)
        .check(move || {
            let results = download(&to)?;
            for i in samples(n) {
                for (result, expected) in results[i].into_iter().zip(hsv(values[i])) {
                    near(i, result, f64::from(expected), 0.0, 1.0)?;
                }
            }
            Ok(())
        }))
}

pub fn hamming_match(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(200, 1 << 16);
    let count = scale.pick(30, 1 << 12);
    let descriptors = |n: usize, seed: u64| -> Vec<Descriptor> {
        (0..n as u64)
            .map(|i| Descriptor {
                words: core::array::from_fn(|word| {
                    random(i * 8 + word as u64 + (seed << 40)) as u32
                }),
            })
            .collect()
    };
    let (own, other) = (descriptors(n, 1), descriptors(count, 2));
    let (features, others) = (upload(&own)?, upload(&other)?);
    let to = upload(&vec![Match::NONE; n])?;
    let pointers = Args::new().pointer(&features).pointer(&others).pointer(&to);
    Ok(Case::new("hamming_match", n.div_ceil(128), 128)
        .args(
            pointers.clone().value(count as i32).value(n as i32),
            pointers.value(count).value(n),
            Args::new().slice(&features).slice(&others).output(&to),
        )
        .input(&features)
        .input(&others)
        .output(&to)
        .bytes(44 * n)
        .check(move || {
            let results = download(&to)?;
            for i in samples(n) {
                let mut expected = Match::NONE;
                for (index, other) in other.iter().enumerate() {
                    expected.add(index as u32, own[i].distance(other));
                }
                if results[i] != expected {
                    return Err(format!("match {i} is {:?}, not {expected:?}", results[i]));
                }
            }
            Ok(())
        }))
}
