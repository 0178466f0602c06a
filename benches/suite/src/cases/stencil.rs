//! Stencils.

use super::Scale;
use crate::case::{Args, Buffer, Case, close, uniform_f32, uniform_f64, upload, zeroed};
use bench_kernels::stencil::TAPS;
use cust::error::CudaResult;

macro_rules! stencil7 {
    ($name:ident $ty:ty, $uniform:ident, $operations:ident, $tolerance:literal) => {
        pub fn $name(scale: Scale) -> CudaResult<Case> {
            let [nx, ny, nz] = match scale.small {
                true => [40, 9, 10],
                false => [512; 3],
            };
            let n = nx * ny * nz;
            let values = $uniform(n, 1);
            let from = upload(&values)?;
            let to: Buffer<$ty> = zeroed(n)?;
            let grid = (nx.div_ceil(32), ny.div_ceil(4), nz.div_ceil(4));
            let pointers = Args::new().pointer(&from).pointer(&to);
            Ok(Case::new(stringify!($name), grid, (32, 4, 4))
                .args(
                    pointers
                        .clone()
                        .value(nx as i32)
                        .value(ny as i32)
                        .value(nz as i32),
                    pointers.value(nx).value(ny).value(nz),
                    Args::new().slice(&from).volume(&to, nx, ny),
                )
                .input(&from)
                .output_from(&to, 0)
                .bytes(2 * n * size_of::<$ty>())
                .$operations(8.0 * n as f64)
                .check(move || {
                    close(&to, $tolerance, 0.0, |i| {
                        let (x, y, z) = (i % nx, i / nx % ny, i / (nx * ny));
                        let inside = |at: usize, n: usize| at > 0 && at + 1 < n;
                        if !(inside(x, nx) && inside(y, ny) && inside(z, nz)) {
                            return 0.0;
                        }
                        let at = |i: usize| f64::from(values[i]);
                        let around = at(i - 1)
                            + at(i + 1)
                            + at(i - nx)
                            + at(i + nx)
                            + at(i - nx * ny)
                            + at(i + nx * ny);
                        0.4 * at(i) + 0.1 * around
                    })
                }))
        }
    };
}
stencil7!(stencil7_f32 f32, uniform_f32, f32_operations, 1e-5);
stencil7!(stencil7_f64 f64, uniform_f64, f64_operations, 1e-13);

pub fn jacobi(scale: Scale) -> CudaResult<Case> {
    let (width, height) = match scale.small {
        true => (70, 20),
        false => (16384, 8192),
    };
    let n = width * height;
    let values = uniform_f64(n, 1);
    let from = upload(&values)?;
    let to: Buffer<f64> = zeroed(n)?;
    let pointers = Args::new().pointer(&from).pointer(&to);
    Ok(
        Case::new("jacobi", (width.div_ceil(32), height.div_ceil(8)), (32, 8))
            .args(
                pointers.clone().value(width as i32).value(height as i32),
                pointers.value(width).value(height),
                Args::new().slice(&from).rows(&to, width),
            )
            .input(&from)
            .output_from(&to, 0)
            .bytes(16 * n)
            .f64_operations(4.0 * n as f64)
            .check(move || {
                close(&to, 1e-14, 0.0, |i| {
                    let (x, y) = (i % width, i / width);
                    if x == 0 || x + 1 == width || y == 0 || y + 1 == height {
                        return 0.0;
                    }
                    0.25 * (values[i - 1] + values[i + 1] + values[i - width] + values[i + width])
                })
            }),
    )
}

pub fn convolution(scale: Scale) -> CudaResult<Case> {
    let (width, height) = match scale.small {
        true => (70, 20),
        false => (16384, 8192),
    };
    let n = width * height;
    let values = uniform_f32(n, 1);
    let weights = uniform_f32(TAPS * TAPS, 2);
    let (from, filter) = (upload(&values)?, upload(&weights)?);
    let to: Buffer<f32> = zeroed(n)?;
    let pointers = Args::new()
        .pointer(&from)
        .pointer(&filter)
        .pointer(&to)
        .value(width as i32)
        .value(height as i32);
    Ok(Case::new(
        "convolution",
        (width.div_ceil(32), height.div_ceil(8)),
        (32, 8),
    )
    .args(
        pointers.clone(),
        pointers,
        Args::new().slice(&from).pointer(&filter).rows(&to, width),
    )
    .input(&from)
    .input(&filter)
    .output(&to)
    .bytes(8 * n)
    .f32_operations((2 * TAPS * TAPS * n) as f64)
    .check(move || {
        close(&to, 1e-5, 0.0, |i| {
            let mut sum = 0.0;
            for dy in 0..TAPS {
                for dx in 0..TAPS {
                    let (x, y) = (i % width + dx, i / width + dy);
                    if (2..width + 2).contains(&x) && (2..height + 2).contains(&y) {
                        let value = values[(y - 2) * width + x - 2];
                        sum += f64::from(weights[dy * TAPS + dx]) * f64::from(value);
                    }
                }
            }
            sum
        })
    }))
}
