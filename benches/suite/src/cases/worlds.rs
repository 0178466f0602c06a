//! Worlds: the game of life, noise for terrain, and rays through voxels.

use super::Scale;
use crate::case::{Args, Buffer, Case, close, random, uniform, upload, zeroed};
use bench_kernels::images::Vec3;
use bench_kernels::worlds::{Noise, first_solid};
use cust::error::CudaResult;

pub fn game_of_life(scale: Scale) -> CudaResult<Case> {
    let (width, height) = match scale.small {
        true => (40, 30),
        false => (2048, 24576),
    };
    let n = width * height;
    let words: Vec<u32> = (0..n as u64).map(|i| random(i) as u32).collect();
    let from = upload(&words)?;
    let to: Buffer<u32> = zeroed(n)?;
    let pointers = Args::new().pointer(&from).pointer(&to);
    let grid = (width.div_ceil(32), height.div_ceil(8));
    Ok(Case::new("game_of_life", grid, (32, 8))
        .args(
            (pointers.clone().value(width as i32)).value(height as i32),
            pointers.value(width).value(height),
            Args::new().slice(&from).rows(&to, width),
        )
        .input(&from)
        .output(&to)
        .bytes(8 * n)
        .check(move || {
            let columns = 32 * width;
            let cell = |x: usize, y: usize| {
                let (x, y) = (x % columns, y % height);
                words[y * width + x / 32] >> (x % 32) & 1
            };
            close(&to, 0.0, 0.0, |i| {
                let next = (0..32).map(|bit| {
                    let (x, y) = (i % width * 32 + bit, i / width);
                    let around =
                        (0..9).map(|at| cell(x + columns + at % 3 - 1, y + height + at / 3 - 1));
                    let count = around.sum::<u32>() - cell(x, y);
                    u32::from(count == 3 || count == 2 && cell(x, y) == 1) << bit
                });
                next.sum::<u32>().into()
            })
        }))
}

pub fn perlin_noise(scale: Scale) -> CudaResult<Case> {
    const SCALE: f32 = 1.0 / 128.0;
    const OCTAVES: u32 = 6;
    let (width, height) = match scale.small {
        true => (50, 20),
        false => (4096, 4096),
    };
    let n = width * height;
    let mut numbers: [u8; 256] = std::array::from_fn(|i| i as u8);
    for i in (1..256).rev() {
        numbers.swap(i, random(i as u64) as usize % (i + 1));
    }
    let permutation = upload(&numbers)?;
    let to: Buffer<f32> = zeroed(n)?;
    let inputs = Args::new()
        .pointer(&permutation)
        .value(SCALE)
        .value(OCTAVES);
    let pointers = inputs.clone().pointer(&to);
    let grid = (width.div_ceil(32), height.div_ceil(8));
    Ok(Case::new("perlin_noise", grid, (32, 8))
        .args(
            (pointers.clone().value(width as i32)).value(height as i32),
            pointers.value(width).value(height),
            inputs.rows(&to, width),
        )
        .input(&permutation)
        .output(&to)
        .bytes(4 * n)
        .check(move || {
            let noise = Noise::new(&numbers);
            close(&to, 1e-4, 1e-4, |i| {
                let (x, y) = ((i % width) as f32, (i / width) as f32);
                noise.octaves(x * SCALE, y * SCALE, OCTAVES).into()
            })
        }))
}

pub fn voxel_traversal(scale: Scale) -> CudaResult<Case> {
    let size = scale.pick(20, 512);
    let (width, height) = match scale.small {
        true => (40, 30),
        false => (2048, 1536),
    };
    let n = width * height;
    // One in 200 voxels is solid.
    let solid: Vec<u8> = (0..size.pow(3) as u64)
        .map(|i| u8::from(random(i) % 200 == 0))
        .collect();
    let eye = Vec3::new(
        0.013 * size as f32,
        0.521 * size as f32,
        0.479 * size as f32,
    );
    let rays: Vec<Vec3> = (0..n)
        .map(|i| {
            let (x, y) = ((i % width) as f32, (i / width) as f32);
            let noise = 1e-4 * uniform(i as u64) as f32;
            let u = (x + 0.5) / width as f32 - 0.5 + noise;
            let v = (y + 0.5) / height as f32 - 0.5 + noise;
            Vec3::new(1.0, u, v).normalized()
        })
        .collect();
    let (voxels, directions) = (upload(&solid)?, upload(&rays)?);
    let depths: Buffer<f32> = zeroed(n)?;
    let pointers = |args: Args| args.pointer(&directions).pointer(&depths);
    Ok(Case::new("voxel_traversal", n.div_ceil(128), 128)
        .args(
            pointers(Args::new().pointer(&voxels).value(size as i32).value(eye)).value(n as i32),
            pointers(Args::new().pointer(&voxels).value(size).value(eye)).value(n),
            (Args::new().slice(&voxels).value(size).value(eye))
                .slice(&directions)
                .output(&depths),
        )
        .input(&voxels)
        .input(&directions)
        .output(&depths)
        .bytes(16 * n)
        .check(move || {
            close(&depths, 1e-4, 1e-4, |i| {
                first_solid(&solid, size, eye, rays[i])
                    .unwrap_or(-1.0)
                    .into()
            })
        }))
}
