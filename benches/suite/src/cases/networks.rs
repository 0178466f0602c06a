//! Networks: a normalization with a residual, the cell of a recurrent network, and an activation.

use super::Scale;
use crate::case::{
    Args, Buffer, Case, close, download, near, samples, uniform_f32, upload, zeroed,
};
use bench_kernels::networks::{EPSILON, GATES, HIDDEN, pair};
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

pub fn gelu_residual(scale: Scale) -> CudaResult<Case> {
    let width = scale.pick(300, 2048);
    let rows = scale.pick(5, 1 << 14);
    let numbers = |n: usize, seed: u64| -> Vec<_> {
        let numbers: Vec<f32> = (uniform_f32(2 * n, seed).into_iter())
            .map(|x| 4.0 * x - 2.0)
            .collect();
        (numbers.as_chunks::<2>().0.iter())
            .map(|&[x, y]| pair(x, y))
            .collect()
    };
    let (inputs, offsets) = (numbers(rows * width, 1), numbers(width, 2));
    let rests = numbers(rows * width, 3);
    let (from, biases, residual) = (upload(&inputs)?, upload(&offsets)?, upload(&rests)?);
    let to = upload(&vec![pair(0.0, 0.0); rows * width])?;
    let pointers = Args::new().pointer(&from).pointer(&biases);
    let pointers = pointers.pointer(&residual).pointer(&to);
    Ok(Case::new("gelu_residual", (width.div_ceil(256), rows), 256)
        .args(
            pointers.clone().value(width as i32),
            pointers.value(width),
            Args::new()
                .slice(&from)
                .slice(&biases)
                .slice(&residual)
                .rows(&to, width),
        )
        .input(&from)
        .input(&biases)
        .input(&residual)
        .output(&to)
        .bytes(12 * rows * width)
        .check(move || {
            let gelu = |x: f64| {
                let inner = 0.797_884_560_8 * (x + 0.044_715 * x * x * x);
                0.5 * x * (1.0 + inner.tanh())
            };
            let results = download(&to)?;
            for i in samples(results.len()) {
                let pairs = [inputs[i], offsets[i % width], rests[i], results[i]];
                let [input, bias, rest, result] =
                    pairs.map(|pair| [pair.low(), pair.high()].map(|x| f64::from(x.to_f32())));
                for k in 0..2 {
                    // `bf16` has 8 bits.
                    near(i, result[k], gelu(input[k] + bias[k]) + rest[k], 4e-3, 1e-5)?;
                }
            }
            Ok(())
        }))
}
