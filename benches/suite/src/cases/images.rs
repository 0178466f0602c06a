//! Images of bytes, and a ray tracer.

use super::Scale;
use crate::case::{Args, Buffer, Case, close, download, random, samples, uniform, upload, zeroed};
use bench_kernels::images::{RADIUS, Sphere, Vec3, WEIGHTS, gray, pack, trace};
use cust::error::CudaResult;

fn bytes(n: usize) -> Vec<u8> {
    (0..n.div_ceil(8) as u64)
        .flat_map(|i| random(i).to_le_bytes())
        .take(n)
        .collect()
}

pub fn rgb_to_gray(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(1000, 1 << 27);
    let values: Vec<[u8; 3]> = bytes(3 * n).as_chunks::<3>().0.to_vec();
    let from = upload(&values)?;
    let to: Buffer<u8> = zeroed(n)?;
    let pointers = Args::new().pointer(&from).pointer(&to);
    Ok(Case::new("rgb_to_gray", n.div_ceil(256), 256)
        .args(
            pointers.clone().value(n as i32),
            pointers.value(n),
            Args::new().slice(&from).output(&to),
        )
        .input(&from)
        .output(&to)
        .bytes(4 * n)
        .check(move || close(&to, 0.0, 0.0, |i| f64::from(gray(values[i])))))
}

/// A blur whose taps are `step` in the given dimension.
fn blur(name: &'static str, scale: Scale, along_rows: bool) -> CudaResult<Case> {
    let (width, height) = match scale.small {
        true => (70, 20),
        false => (16384, 8192),
    };
    let n = width * height;
    let values = bytes(n);
    let from = upload(&values)?;
    let to: Buffer<u8> = zeroed(n)?;
    let pointers = Args::new()
        .pointer(&from)
        .pointer(&to)
        .value(width as i32)
        .value(height as i32);
    let grid = (width.div_ceil(32), height.div_ceil(8));
    Ok(Case::new(name, grid, (32, 8))
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
                let mut sum = 0;
                for (d, weight) in WEIGHTS.iter().enumerate() {
                    let near = |at: usize, n: usize| (at + d).saturating_sub(RADIUS).min(n - 1);
                    let (x, y) = match along_rows {
                        true => (near(x, width), y),
                        false => (x, near(y, height)),
                    };
                    sum += weight * u32::from(values[y * width + x]);
                }
                f64::from(sum / 256)
            })
        }))
}

pub fn blur_rows(scale: Scale) -> CudaResult<Case> {
    blur("blur_rows", scale, true)
}

pub fn blur_columns(scale: Scale) -> CudaResult<Case> {
    blur("blur_columns", scale, false)
}

pub fn ray_spheres(scale: Scale) -> CudaResult<Case> {
    let (width, height) = match scale.small {
        true => (50, 40),
        false => (2048, 2048),
    };
    let count = scale.pick(20, 64);
    let values: Vec<Sphere> = (0..count as u64)
        .map(|i| {
            let number = |field: u64, low: f64, high: f64| {
                (low + (high - low) * uniform(8 * i + field)) as f32
            };
            Sphere {
                center: Vec3::new(
                    number(0, -4.0, 4.0),
                    number(1, -4.0, 4.0),
                    number(2, 6.0, 12.0),
                ),
                radius: number(3, 0.3, 1.2),
                color: Vec3::new(
                    number(4, 0.2, 1.0),
                    number(5, 0.2, 1.0),
                    number(6, 0.2, 1.0),
                ),
                mirror: number(7, 0.1, 0.6),
            }
        })
        .collect();
    let spheres = upload(&values)?;
    let to: Buffer<u32> = zeroed(width * height)?;
    let pointers = Args::new().pointer(&spheres);
    let grid = (width.div_ceil(16), height.div_ceil(16));
    Ok(Case::new("ray_spheres", grid, (16, 16))
        .args(
            pointers
                .clone()
                .value(count as i32)
                .pointer(&to)
                .value(width as i32)
                .value(height as i32),
            pointers
                .value(count)
                .pointer(&to)
                .value(width)
                .value(height),
            Args::new().slice(&spheres).rows(&to, width),
        )
        .input(&spheres)
        .output(&to)
        .bytes(4 * width * height)
        // The first rays; reflections are not counted.
        .f32_operations(18.0 * (count * width * height) as f64)
        .check(move || {
            let results = download(&to)?;
            let (mut different, mut total) = (0, 0);
            for i in samples(results.len()) {
                let expected = pack(trace(&values, i % width, i / width, width, height));
                let near = |shift: u32| {
                    let byte = |word: u32| (word >> shift & 255) as i32;
                    (byte(results[i]) - byte(expected)).abs() <= 2
                };
                different += u32::from(!(near(0) && near(8) && near(16)));
                total += 1;
            }
            // Rays near the edge of a sphere hit it or not.
            match 30 * different <= total {
                true => Ok(()),
                false => Err(format!("{different} of {total} pixels differ")),
            }
        }))
}
