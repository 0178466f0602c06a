//! Audio and images.

use super::Scale;
use crate::case::{Args, Buffer, Case, close, download, near, random, samples, upload, zeroed};
use bench_kernels::signals::{Rgba, SAMPLES, SIDE, TAPS, between, mix, to_sample};
use cust::error::CudaResult;
use std::f64::consts::PI;

pub fn fir_i16(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(1000, 1 << 25);
    // A square wave with noise, and a low-pass filter that amplifies, so that some sums are clamped.
    // The coefficients' absolute values add up to less than 65536, so no sum overflows.
    let values: Vec<i16> = (0..n as u64)
        .map(|i| {
            let wave = if i / 100 % 2 == 0 { 24000 } else { -24000 };
            wave + (random(i) as i16 >> 2)
        })
        .collect();
    let taps: [i16; TAPS] = std::array::from_fn(|k| {
        let x = (k as f64 - (TAPS - 1) as f64 / 2.0) / 4.0;
        let window = 0.5 - 0.5 * (2.0 * PI * (k as f64 + 0.5) / TAPS as f64).cos();
        (9000.0 * (PI * x).sin() / (PI * x) * window) as i16
    });
    let from = upload(&values)?;
    let from_taps = upload(&taps)?;
    let to: Buffer<i16> = zeroed(n)?;
    let pointers = Args::new().pointer(&from).pointer(&from_taps).pointer(&to);
    Ok(Case::new("fir_i16", n.div_ceil(SAMPLES), SAMPLES)
        .args(
            pointers.clone().value(n as i32),
            pointers.value(n),
            Args::new().slice(&from).pointer(&from_taps).output(&to),
        )
        .input(&from)
        .input(&from_taps)
        .output(&to)
        .bytes(4 * n)
        .check(move || {
            close(&to, 0.0, 0.0, |i| {
                let sum = (taps.iter().enumerate())
                    .filter_map(|(k, &tap)| {
                        let sample = values[(i + k).checked_sub(TAPS - 1)?];
                        Some(i32::from(sample) * i32::from(tap))
                    })
                    .sum();
                to_sample(sum).into()
            })
        }))
}

pub fn dct8x8(scale: Scale) -> CudaResult<Case> {
    let (width, height) = match scale.small {
        true => (64, 24),
        false => (8192, 8192),
    };
    let n = width * height;
    let values: Vec<u8> = (0..n as u64).map(|i| random(i) as u8).collect();
    let steps: [[f32; SIDE]; SIDE] =
        std::array::from_fn(|v| std::array::from_fn(|u| (10 + 3 * u + 2 * v) as f32));
    let from = upload(&values)?;
    let from_steps = upload(&steps)?;
    let to: Buffer<i16> = zeroed(n)?;
    let pointers = Args::new().pointer(&from).pointer(&from_steps).pointer(&to);
    Ok(Case::new("dct8x8", (width / 32, height / SIDE), (32, SIDE))
        .args(
            pointers.clone().value(width as i32).value(height as i32),
            pointers.value(width).value(height),
            Args::new()
                .slice(&from)
                .pointer(&from_steps)
                .rows(&to, width),
        )
        .input(&from)
        .input(&from_steps)
        .output(&to)
        .bytes(3 * n)
        .f32_operations(34.0 * n as f64)
        .check(move || {
            let cosines = |frequency: usize| -> [f64; SIDE] {
                let scale = if frequency == 0 { 0.125f64 } else { 0.25 }.sqrt();
                std::array::from_fn(|k| {
                    scale * ((2 * k + 1) as f64 * frequency as f64 * PI / 16.0).cos()
                })
            };
            let results = download(&to)?;
            for i in samples(n) {
                let (x, y) = (i % width, i / width);
                let (u, v) = (x % SIDE, y % SIDE);
                let mut sum = 0.0;
                for (dy, cy) in cosines(v).into_iter().enumerate() {
                    for (dx, cx) in cosines(u).into_iter().enumerate() {
                        let pixel = values[(y - v + dy) * width + x - u + dx];
                        sum += (f64::from(pixel) - 128.0) * cx * cy;
                    }
                }
                // Rounded to the nearest number, of a sum with a small error.
                near(i, results[i], sum / f64::from(steps[v][u]), 0.0, 0.501)?;
            }
            Ok(())
        }))
}

pub fn resize_bilinear(scale: Scale) -> CudaResult<Case> {
    let ([width, height], [to_width, to_height]) = match scale.small {
        true => ([50, 31], [77, 43]),
        false => ([4096, 2304], [7680, 4320]),
    };
    let values: Vec<Rgba> = (0..(width * height) as u64)
        .map(|i| Rgba((random(i) as u32).to_le_bytes()))
        .collect();
    let n = to_width * to_height;
    let from = upload(&values)?;
    let to = upload(&vec![Rgba::default(); n])?;
    let (scale_x, scale_y) = (
        width as f32 / to_width as f32,
        height as f32 / to_height as f32,
    );
    let grid = (to_width.div_ceil(32), to_height.div_ceil(8));
    Ok(Case::new("resize_bilinear", grid, (32, 8))
        .args(
            Args::new()
                .pointer(&from)
                .value(width as i32)
                .value(height as i32)
                .value(scale_x)
                .value(scale_y)
                .pointer(&to)
                .value(to_width as i32)
                .value(to_height as i32),
            Args::new()
                .pointer(&from)
                .value(width)
                .value(height)
                .value(scale_x)
                .value(scale_y)
                .pointer(&to)
                .value(to_width)
                .value(to_height),
            Args::new()
                .slice(&from)
                .value(width)
                .value(height)
                .value(scale_x)
                .value(scale_y)
                .rows(&to, to_width),
        )
        .input(&from)
        .output(&to)
        .bytes(4 * values.len() + 4 * n)
        .f32_operations(40.0 * n as f64)
        .check(move || {
            let results = download(&to)?;
            for i in samples(n) {
                let (left, right, fx) = between(i % to_width, scale_x, width);
                let (up, down, fy) = between(i / to_width, scale_y, height);
                let pixels = |y: usize| [values[y * width + left], values[y * width + right]];
                let expected = mix(pixels(up), pixels(down), fx, fy);
                for (result, expected) in results[i].0.into_iter().zip(expected.0) {
                    // Multiply-adds are contracted on the device.
                    near(i, result, expected.into(), 0.0, 1.0)?;
                }
            }
            Ok(())
        }))
}
