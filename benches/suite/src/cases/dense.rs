//! Dense matrices.

use super::Scale;
use crate::case::{Args, Buffer, Case, close, uniform_f32, upload, zeroed};
use bench_kernels::dense::{GEMM, GEMM_BLOCK, GEMM_THREADS, TRANSPOSE};
use cust::error::CudaResult;

pub fn transpose(scale: Scale) -> CudaResult<Case> {
    let (width, height) = match scale.small {
        true => (70, 40),
        false => (16384, 16384),
    };
    let n = width * height;
    let values = uniform_f32(n, 1);
    let from = upload(&values)?;
    let to: Buffer<f32> = zeroed(n)?;
    let grid = (width.div_ceil(TRANSPOSE), height.div_ceil(TRANSPOSE));
    let pointers = Args::new().pointer(&from).pointer(&to);
    Ok(Case::new("transpose", grid, (32, 8))
        .args(
            pointers.clone().value(width as i32).value(height as i32),
            pointers.value(width).value(height),
            Args::new().slice(&from).rows(&to, width),
        )
        .input(&from)
        .output(&to)
        .bytes(8 * n)
        .check(move || {
            close(&to, 0.0, 0.0, |i| {
                f64::from(values[i % width * height + i / width])
            })
        }))
}

pub fn gemv(scale: Scale) -> CudaResult<Case> {
    let (rows, columns) = match scale.small {
        true => (300, 37),
        false => (1 << 16, 4096),
    };
    let (a, x) = (uniform_f32(rows * columns, 1), uniform_f32(columns, 2));
    let (from_a, from_x) = (upload(&a)?, upload(&x)?);
    let to: Buffer<f32> = zeroed(rows)?;
    let pointers = Args::new().pointer(&from_a).pointer(&from_x).pointer(&to);
    Ok(Case::new("gemv", rows.div_ceil(128), 128)
        .args(
            pointers.clone().value(rows as i32).value(columns as i32),
            pointers.value(rows).value(columns),
            Args::new().slice(&from_a).slice(&from_x).output(&to),
        )
        .input(&from_a)
        .input(&from_x)
        .output(&to)
        .bytes(4 * (rows * columns + columns + rows))
        .f32_operations(2.0 * (rows * columns) as f64)
        .check(move || {
            close(&to, 1e-4, 0.0, |row| {
                (0..columns)
                    .map(|column| f64::from(a[column * rows + row]) * f64::from(x[column]))
                    .sum()
            })
        }))
}

/// Multiplication of square matrices; `tile` is the side of a block's part of the result.
fn product(name: &'static str, n: usize, tile: usize, block: (usize, usize)) -> CudaResult<Case> {
    let (a, b) = (uniform_f32(n * n, 1), uniform_f32(n * n, 2));
    let (from_a, from_b) = (upload(&a)?, upload(&b)?);
    let to: Buffer<f32> = zeroed(n * n)?;
    let pointers = Args::new().pointer(&from_a).pointer(&from_b).pointer(&to);
    Ok(Case::new(name, (n.div_ceil(tile), n.div_ceil(tile)), block)
        .args(
            pointers.clone().value(n as i32),
            pointers.value(n),
            Args::new().slice(&from_a).slice(&from_b).rows(&to, n),
        )
        .input(&from_a)
        .input(&from_b)
        .output(&to)
        .bytes(12 * n * n)
        .f32_operations(2.0 * (n as f64).powi(3))
        .check(move || {
            close(&to, 1e-4, 0.0, |i| {
                let (row, column) = (i / n, i % n);
                (0..n)
                    .map(|k| f64::from(a[row * n + k]) * f64::from(b[k * n + column]))
                    .sum()
            })
        }))
}

pub fn sgemm(scale: Scale) -> CudaResult<Case> {
    product("sgemm", scale.pick(40, 4096), GEMM, (GEMM, GEMM))
}

pub fn sgemm_registers(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(140, 4096);
    product(
        "sgemm_registers",
        n,
        GEMM_BLOCK,
        (GEMM_THREADS, GEMM_THREADS),
    )
}
