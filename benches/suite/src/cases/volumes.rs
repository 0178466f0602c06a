//! Volumes: interpolated samples, and the cells that a surface crosses.

use super::Scale;
use crate::case::{Args, Buffer, Case, close, random, uniform, uniform_f32, upload, zeroed};
use bench_kernels::images::Vec3;
use bench_kernels::volumes::{CORNERS, Volume};
use cust::error::CudaResult;

pub fn volume_sample(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(1000, 1 << 23);
    let size @ [width, height, depth] = match scale.small {
        true => [20, 14, 9],
        false => [320, 256, 240],
    };
    let values = uniform_f32(width * height * depth, 1);
    // Rows of an oblique plane, some of which leave the volume.
    let columns = scale.pick(40, 4096);
    let places: Vec<Vec3> = (0..n)
        .map(|i| {
            let u = (i % columns) as f32 / columns as f32;
            let v = (i / columns) as f32 / (n / columns) as f32;
            let noise = uniform(i as u64) as f32;
            Vec3::new(
                (1.1 * u - 0.03) * width as f32 + noise,
                v * 0.9 * height as f32 + noise,
                (0.3 + 0.3 * u + 0.3 * v) * depth as f32,
            )
        })
        .collect();
    let (voxels, points) = (upload(&values)?, upload(&places)?);
    let to: Buffer<f32> = zeroed(n)?;
    let sizes = |args: Args| args.value(width).value(height).value(depth);
    Ok(Case::new("volume_sample", n.div_ceil(256), 256)
        .args(
            Args::new()
                .pointer(&voxels)
                .value(width as i32)
                .value(height as i32)
                .value(depth as i32)
                .pointer(&points)
                .pointer(&to)
                .value(n as i32),
            sizes(Args::new().pointer(&voxels))
                .pointer(&points)
                .pointer(&to)
                .value(n),
            sizes(Args::new().slice(&voxels)).slice(&points).output(&to),
        )
        .input(&voxels)
        .input(&points)
        .output(&to)
        .bytes(16 * n + 4 * width * height * depth)
        .check(move || {
            let volume = Volume::new(&values, size);
            close(&to, 1e-5, 1e-5, |i| {
                f64::from(volume.sample(places[i]).unwrap_or(0.0))
            })
        }))
}

pub fn marching_cubes(scale: Scale) -> CudaResult<Case> {
    const LEVEL: f32 = 0.5;
    let (width, height, depth) = match scale.small {
        true => (40, 10, 3),
        false => (511, 511, 255),
    };
    let (row, plane) = (width + 1, (width + 1) * (height + 1));
    let values = uniform_f32(plane * (depth + 1), 1);
    // Any table is as fast as the real one.
    let table: Vec<u8> = (0..256).map(|i| (random(i) % 6) as u8).collect();
    let (field, counts) = (upload(&values)?, upload(&table)?);
    let to: Buffer<u8> = zeroed(width * height * depth)?;
    let pointers = Args::new()
        .pointer(&field)
        .value(LEVEL)
        .pointer(&counts)
        .pointer(&to);
    let grid = (width.div_ceil(32), height.div_ceil(8), depth);
    Ok(Case::new("marching_cubes", grid, (32, 8))
        .args(
            (pointers.clone().value(width as i32)).value(height as i32),
            pointers.value(width).value(height),
            Args::new()
                .slice(&field)
                .value(LEVEL)
                .slice(&counts)
                .volume(&to, width, height),
        )
        .input(&field)
        .input(&counts)
        .output(&to)
        .bytes(4 * values.len() + width * height * depth)
        .check(move || {
            close(&to, 0.0, 0.0, |i| {
                let (x, y, z) = (i % width, i / width % height, i / (width * height));
                let below = CORNERS.iter().rev().fold(0, |below, (dx, dy, dz)| {
                    let value = values[(z + dz) * plane + (y + dy) * row + x + dx];
                    2 * below + usize::from(value < LEVEL)
                });
                f64::from(table[below])
            })
        }))
}
