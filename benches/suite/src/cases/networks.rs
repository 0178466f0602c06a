//! Networks: a normalization with a residual, and the cell of a recurrent network.

use super::Scale;
use crate::case::{Args, Buffer, Case, close, uniform_f32, upload, zeroed};
use bench_kernels::networks::{EPSILON, GATES, HIDDEN};
use cust::error::CudaResult;

pub fn rms_norm(scale: Scale) -> CudaResult<Case> {
    let rows = scale.pick(2, 8192);
    let n = rows * HIDDEN;
    let (inputs, residuals) = (uniform_f32(n, 1), uniform_f32(n, 2));
    let factors = uniform_f32(HIDDEN, 3);
    let (from, residual) = (upload(&inputs)?, upload(&residuals)?);
    let weights = upload(&factors)?;
    let (sums, to): (Buffer<f32>, Buffer<f32>) = (zeroed(n)?, zeroed(n)?);
    let pointers = Args::new()
        .pointer(&from)
        .pointer(&residual)
        .pointer(&weights)
        .pointer(&sums)
        .pointer(&to);
    Ok(Case::new("rms_norm", rows, 512)
        .args(
            pointers.clone(),
            pointers,
            Args::new()
                .slice(&from)
                .slice(&residual)
                .slice(&weights)
                .output(&sums)
                .output(&to),
        )
        .input(&from)
        .input(&residual)
        .input(&weights)
        .output(&sums)
        .output(&to)
        .bytes(16 * n)
        .check(move || {
            let sum = |i: usize| f64::from(inputs[i] + residuals[i]);
            close(&sums, 0.0, 0.0, sum)?;
            close(&to, 1e-4, 0.0, |i| {
                let start = i / HIDDEN * HIDDEN;
                let squares: f64 = (start..start + HIDDEN).map(|i| sum(i).powi(2)).sum();
                let scale = (squares / HIDDEN as f64 + f64::from(EPSILON)).sqrt();
                sum(i) / scale * f64::from(factors[i - start])
            })
        }))
}

pub fn lstm_cell(scale: Scale) -> CudaResult<Case> {
    let (width, rows) = match scale.small {
        true => (300, 4),
        false => (1024, 8192),
    };
    let n = width * rows;
    let numbers = |n: usize, seed: u64| -> Vec<f32> {
        let values = uniform_f32(n, seed).into_iter();
        values.map(|x| 4.0 * x - 2.0).collect()
    };
    let (inputs, recurrent) = (numbers(n * GATES, 1), numbers(n * GATES, 2));
    let (offsets, states) = (numbers(width * GATES, 3), numbers(n, 4));
    let (from_input, from_hidden) = (upload(&inputs)?, upload(&recurrent)?);
    let (biases, old) = (upload(&offsets)?, upload(&states)?);
    let (cells, hidden): (Buffer<f32>, Buffer<f32>) = (zeroed(n)?, zeroed(n)?);
    let pointers = Args::new()
        .pointer(&from_input)
        .pointer(&from_hidden)
        .pointer(&biases)
        .pointer(&old)
        .pointer(&cells)
        .pointer(&hidden);
    Ok(Case::new("lstm_cell", (width.div_ceil(256), rows), 256)
        .args(
            pointers.clone().value(width as i32),
            pointers.value(width),
            Args::new()
                .slice(&from_input)
                .slice(&from_hidden)
                .slice(&biases)
                .slice(&old)
                .rows(&cells, width)
                .rows(&hidden, width),
        )
        .input(&from_input)
        .input(&from_hidden)
        .input(&biases)
        .input(&old)
        .output(&cells)
        .output(&hidden)
        .bytes((2 * GATES + 3) * 4 * n)
        .check(move || {
            let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
            let gate = |i: usize, gate: usize| {
                let column = gate * width + i % width;
                let at = i / width * GATES * width + column;
                f64::from(inputs[at]) + f64::from(recurrent[at]) + f64::from(offsets[column])
            };
            let cell = |i: usize| {
                sigmoid(gate(i, 1)) * f64::from(states[i]) + sigmoid(gate(i, 0)) * gate(i, 2).tanh()
            };
            close(&cells, 1e-5, 1e-6, cell)?;
            close(&hidden, 1e-5, 1e-6, |i| {
                sigmoid(gate(i, 3)) * cell(i).tanh()
            })
        }))
}
