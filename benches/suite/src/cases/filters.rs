//! Filters.

use super::Scale;
use crate::case::{Args, Buffer, Case, close, random, upload, zeroed};
use bench_kernels::filters::{HALF, ROW, predict, update};
use cust::error::CudaResult;

pub fn median3x3(scale: Scale) -> CudaResult<Case> {
    let (width, height): (usize, usize) = match scale.small {
        true => (70, 20),
        false => (8192, 8192),
    };
    let n = width * height;
    let bytes: Vec<u8> = (0..n.div_ceil(8) as u64)
        .flat_map(|i| random(i).to_le_bytes())
        .take(n)
        .collect();
    let from = upload(&bytes)?;
    let to: Buffer<u8> = zeroed(n)?;
    let pointers = Args::new().pointer(&from).pointer(&to);
    let pointers = pointers.value(width as i32).value(height as i32);
    let grid = (width.div_ceil(32), height.div_ceil(8));
    Ok(Case::new("median3x3", grid, (32, 8))
        .args(
            pointers.clone(),
            pointers,
            Args::new().slice(&from).rows(&to, width),
        )
        .input(&from)
        .output(&to)
        .bytes(2 * n)
        .check(move || {
            close(&to, 0.0, 0.0, |i| {
                let (x, y) = (i % width, i / width);
                let mut pixels: [u8; 9] = std::array::from_fn(|k| {
                    let x = (x + k % 3).saturating_sub(1).min(width - 1);
                    let y = (y + k / 3).saturating_sub(1).min(height - 1);
                    bytes[y * width + x]
                });
                pixels.sort_unstable();
                pixels[4].into()
            })
        }))
}

pub fn wavelet53(scale: Scale) -> CudaResult<Case> {
    let rows = scale.pick(3, 1 << 17);
    let n = rows * ROW;
    // Without overflow.
    let samples: Vec<i16> = (0..n as u64).map(|i| random(i) as i16 / 4).collect();
    let from = upload(&samples)?;
    let to: Buffer<i16> = zeroed(n)?;
    let pointers = Args::new().pointer(&from).pointer(&to);
    Ok(Case::new("wavelet53", rows, 256)
        .args(
            pointers.clone(),
            pointers,
            Args::new().slice(&from).output(&to),
        )
        .input(&from)
        .output(&to)
        .bytes(4 * n)
        .check(move || {
            close(&to, 0.0, 0.0, |i| {
                let row = &samples[i / ROW * ROW..][..ROW];
                let difference = |i: usize| {
                    let right = if i + 1 < HALF { 2 * i + 2 } else { 2 * i };
                    predict(row[2 * i], row[2 * i + 1], row[right])
                };
                let i = i % ROW;
                let result = match i.checked_sub(HALF) {
                    None => {
                        let left = difference(i.saturating_sub(1));
                        update(left, row[2 * i], difference(i))
                    }
                    Some(i) => difference(i),
                };
                result.into()
            })
        }))
}
