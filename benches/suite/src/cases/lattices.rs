//! Lattices: a step of the Ising model, the restriction of a multigrid method, and a bilateral
//! filter.

use super::Scale;
use crate::case::{Args, Buffer, Case, close, random, uniform_f32, upload, zeroed};
use bench_kernels::lattices::{RADIUS, WEIGHTS, weight};
use cust::error::CudaResult;

pub fn ising_sweep(scale: Scale) -> CudaResult<Case> {
    const BETA: f32 = 0.3;
    const PARITY: u32 = 1;
    let (width, height) = match scale.small {
        true => (70, 21),
        false => (8192, 8192),
    };
    let n = width * height;
    let other_spins: Vec<i8> = (0..n as u64).map(|i| 1 - (random(i) & 2) as i8).collect();
    let numbers = uniform_f32(n, 1);
    let (others, uniforms) = (upload(&other_spins)?, upload(&numbers)?);
    let spins: Buffer<i8> = zeroed(n)?;
    let start = || Args::new().value(BETA).value(PARITY);
    let pointers = (Args::new().pointer(&others).pointer(&uniforms)).and(start());
    let pointers = pointers.pointer(&spins);
    let grid = (width.div_ceil(32), height.div_ceil(8));
    Ok(Case::new("ising_sweep", grid, (32, 8))
        .args(
            pointers.clone().value(width as i32).value(height as i32),
            pointers.value(width).value(height),
            (Args::new().slice(&others).slice(&uniforms).and(start())).rows(&spins, width),
        )
        .input(&others)
        .input(&uniforms)
        .output_from(&spins, 1)
        .reset()
        .bytes(7 * n)
        .check(move || {
            close(&spins, 0.0, 0.0, |i| {
                let (x, y) = (i % width, i / width);
                let spin =
                    |x: usize, y: usize| i32::from(other_spins[y % height * width + x % width]);
                let side = if y % 2 == PARITY as usize {
                    1
                } else {
                    width - 1
                };
                let sum = spin(x, y + height - 1) + spin(x, y) + spin(x, y + 1) + spin(x + side, y);
                let accepts = numbers[i] < (-2.0 * BETA * sum as f32).exp();
                if accepts { -1.0 } else { 1.0 }
            })
        }))
}

pub fn restrict_3d(scale: Scale) -> CudaResult<Case> {
    let (nx, ny, nz) = match scale.small {
        true => (37, 6, 3),
        false => (256, 256, 128),
    };
    let n = nx * ny * nz;
    let (width, height) = (2 * nx + 1, 2 * ny + 1);
    let values = uniform_f32(width * height * (2 * nz + 1), 1);
    let fine = upload(&values)?;
    let coarse: Buffer<f32> = zeroed(n)?;
    let pointers = Args::new().pointer(&fine).pointer(&coarse);
    let grid = (nx.div_ceil(32), ny.div_ceil(4), nz);
    Ok(Case::new("restrict_3d", grid, (32, 4))
        .args(
            (pointers.clone().value(nx as i32).value(ny as i32)).value(nz as i32),
            pointers.value(nx).value(ny).value(nz),
            Args::new().slice(&fine).volume(&coarse, nx, ny),
        )
        .input(&fine)
        .output(&coarse)
        .bytes(4 * values.len() + 4 * n)
        .check(move || {
            close(&coarse, 1e-5, 0.0, |i| {
                let (x, y, z) = (i % nx, i / nx % ny, i / (nx * ny));
                let mut sum = 0.0;
                for k in 0..27 {
                    let (dx, dy, dz) = (k % 3, k / 3 % 3, k / 9);
                    let at = ((2 * z + dz) * height + 2 * y + dy) * width + 2 * x + dx;
                    let weight = WEIGHTS[dx] * WEIGHTS[dy] * WEIGHTS[dz];
                    sum += f64::from(weight) * f64::from(values[at]);
                }
                sum
            })
        }))
}

pub fn bilateral(scale: Scale) -> CudaResult<Case> {
    let (width, height) = match scale.small {
        true => (70, 21),
        false => (3840, 2160),
    };
    let n = width * height;
    let pixels = uniform_f32(n, 1);
    let image = upload(&pixels)?;
    let to: Buffer<f32> = zeroed(n)?;
    let pointers = Args::new().pointer(&image).pointer(&to);
    let grid = (width.div_ceil(32), height.div_ceil(8));
    Ok(Case::new("bilateral", grid, (32, 8))
        .args(
            pointers.clone().value(width as i32).value(height as i32),
            pointers.value(width).value(height),
            Args::new().slice(&image).rows(&to, width),
        )
        .input(&image)
        .output(&to)
        .bytes(8 * n)
        .f32_operations(49.0 * 8.0 * n as f64)
        .check(move || {
            close(&to, 1e-4, 0.0, |i| {
                let at = |dx: isize, dy: isize| {
                    let x = (i % width) as isize + dx;
                    let y = (i / width) as isize + dy;
                    let column = x.clamp(0, width as isize - 1) as usize;
                    pixels[y.clamp(0, height as isize - 1) as usize * width + column]
                };
                let (mut sum, mut total) = (0.0, 0.0);
                for dy in -RADIUS..=RADIUS {
                    for dx in -RADIUS..=RADIUS {
                        let weight = f64::from(weight(dx, dy, at(dx, dy) - pixels[i]));
                        sum += weight * f64::from(at(dx, dy));
                        total += weight;
                    }
                }
                sum / total
            })
        }))
}
