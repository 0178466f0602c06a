//! BabelStream.

use super::Scale;
use crate::case::{Args, Buffer, Case, close, uniform_f64, upload, zeroed};
use bench_kernels::stream::{BLOCK, SCALAR};
use cust::error::CudaResult;

fn len(scale: Scale) -> usize {
    scale.pick(3000, 1 << 25)
}

/// Kernels with one input.
fn one(name: &'static str, scale: Scale, f: impl Fn(f64) -> f64 + 'static) -> CudaResult<Case> {
    let n = len(scale);
    let values = uniform_f64(n, 1);
    let (from, to): (_, Buffer<f64>) = (upload(&values)?, zeroed(n)?);
    let pointers = Args::new().pointer(&from).pointer(&to);
    Ok(Case::new(name, n.div_ceil(BLOCK), BLOCK)
        .args(
            pointers.clone().value(n as i32),
            pointers.value(n),
            Args::new().slice(&from).output(&to),
        )
        .input(&from)
        .output(&to)
        .bytes(16 * n)
        .check(move || close(&to, 1e-15, 0.0, |i| f(values[i]))))
}

/// Kernels with two inputs.
fn two(
    name: &'static str,
    scale: Scale,
    f: impl Fn(f64, f64) -> f64 + 'static,
) -> CudaResult<Case> {
    let n = len(scale);
    let (a, b) = (uniform_f64(n, 1), uniform_f64(n, 2));
    let (from_a, from_b) = (upload(&a)?, upload(&b)?);
    let to: Buffer<f64> = zeroed(n)?;
    let pointers = Args::new().pointer(&from_a).pointer(&from_b).pointer(&to);
    Ok(Case::new(name, n.div_ceil(BLOCK), BLOCK)
        .args(
            pointers.clone().value(n as i32),
            pointers.value(n),
            Args::new().slice(&from_a).slice(&from_b).output(&to),
        )
        .input(&from_a)
        .input(&from_b)
        .output(&to)
        .bytes(24 * n)
        .check(move || close(&to, 1e-15, 0.0, |i| f(a[i], b[i]))))
}

pub fn copy(scale: Scale) -> CudaResult<Case> {
    one("stream_copy", scale, |a| a)
}

pub fn mul(scale: Scale) -> CudaResult<Case> {
    one("stream_mul", scale, |c| SCALAR * c)
}

pub fn add(scale: Scale) -> CudaResult<Case> {
    two("stream_add", scale, |a, b| a + b)
}

pub fn triad(scale: Scale) -> CudaResult<Case> {
    two("stream_triad", scale, |b, c| b + SCALAR * c)
}

pub fn dot(scale: Scale) -> CudaResult<Case> {
    let n = len(scale);
    let blocks = scale.blocks(4);
    let (a, b) = (uniform_f64(n, 1), uniform_f64(n, 2));
    let (from_a, from_b) = (upload(&a)?, upload(&b)?);
    let to: Buffer<f64> = zeroed(blocks)?;
    let expected: f64 = a.iter().zip(&b).map(|(a, b)| a * b).sum();
    let pointers = Args::new().pointer(&from_a).pointer(&from_b).pointer(&to);
    Ok(Case::new("stream_dot", blocks, BLOCK)
        .args(
            pointers.clone().value(n as i32),
            pointers.value(n),
            Args::new().slice(&from_a).slice(&from_b).output(&to),
        )
        .input(&from_a)
        .input(&from_b)
        .output(&to)
        .bytes(16 * n)
        .check(move || super::total(&to, expected, 1e-10)))
}
