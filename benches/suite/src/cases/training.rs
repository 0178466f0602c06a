//! Training of networks: an optimizer's step, the loss of classifiers, and quantized rows.

use super::Scale;
use crate::case::{
    Args, Buffer, Case, close, download, near, random, samples, uniform_f32, upload, zeroed,
};
use bench_kernels::training::{BETA1, BETA2, DECAY, EPSILON, IGNORED, VECTORS};
use cust::error::CudaResult;
use cust::vector::{F32x4, I8x4};

pub fn adam_step(scale: Scale) -> CudaResult<Case> {
    /// The initial value of each byte of the state.
    const FILL: u8 = 0x3d;
    let n = scale.pick(1000, 1 << 25);
    let (rate, correction1, correction2) = (1e-3f32, 0.271f32, 2.997e-3f32);
    let values = uniform_f32(n, 1);
    let gradients = upload(&values)?;
    let (means, squares, weights): (Buffer<f32>, Buffer<f32>, Buffer<f32>) =
        (zeroed(n)?, zeroed(n)?, zeroed(n)?);
    let with_numbers = |args: Args| args.value(rate).value(correction1).value(correction2);
    let pointers = with_numbers(Args::new().pointer(&gradients))
        .pointer(&means)
        .pointer(&squares)
        .pointer(&weights);
    Ok(Case::new("adam_step", n.div_ceil(256), 256)
        .args(
            pointers.clone().value(n as i32),
            pointers.value(n),
            with_numbers(Args::new().slice(&gradients))
                .output(&means)
                .output(&squares)
                .output(&weights),
        )
        .input(&gradients)
        .output_from(&means, FILL)
        .output_from(&squares, FILL)
        .output_from(&weights, FILL)
        .bytes(28 * n)
        .check(move || {
            let old = f64::from(f32::from_ne_bytes([FILL; 4]));
            let (beta1, beta2) = (f64::from(BETA1), f64::from(BETA2));
            let mean = |i: usize| beta1 * old + (1.0 - beta1) * f64::from(values[i]);
            let square = |i: usize| beta2 * old + (1.0 - beta2) * f64::from(values[i]).powi(2);
            close(&means, 1e-5, 0.0, mean)?;
            close(&squares, 1e-5, 0.0, square)?;
            close(&weights, 1e-5, 0.0, |i| {
                let root = (square(i) / f64::from(correction2)).sqrt();
                let step = mean(i) / f64::from(correction1) / (root + f64::from(EPSILON));
                old - f64::from(rate) * (f64::from(DECAY) * old + step)
            })
        }))
}

pub fn cross_entropy(scale: Scale) -> CudaResult<Case> {
    let classes = scale.pick(700, 32_000);
    let rows = scale.pick(6, 2048);
    let values: Vec<f32> = uniform_f32(rows * classes, 2)
        .into_iter()
        .map(|x| 20.0 * x - 10.0)
        .collect();
    let classes_of: Vec<i32> = (0..rows as u64)
        .map(|row| match random(row) % 16 {
            0 => IGNORED,
            _ => (random(row ^ 1 << 40) % classes as u64) as i32,
        })
        .collect();
    let (logits, labels) = (upload(&values)?, upload(&classes_of)?);
    let losses: Buffer<f32> = zeroed(rows)?;
    let with_classes = |classes: Args| Args::new().pointer(&logits).and(classes);
    Ok(Case::new("cross_entropy", rows, 256)
        .args(
            with_classes(Args::new().value(classes as i32))
                .pointer(&labels)
                .pointer(&losses),
            with_classes(Args::new().value(classes))
                .pointer(&labels)
                .pointer(&losses),
            Args::new()
                .slice(&logits)
                .value(classes)
                .slice(&labels)
                .output(&losses),
        )
        .input(&logits)
        .input(&labels)
        .output(&losses)
        .bytes(4 * rows * classes)
        .check(move || {
            let results = download(&losses)?;
            for row in (0..rows).step_by(rows.div_ceil(50)) {
                let logits = &values[row * classes..][..classes];
                let sum: f64 = logits.iter().map(|&x| f64::from(x).exp()).sum();
                let expected = match usize::try_from(classes_of[row]) {
                    Ok(label) => sum.ln() - f64::from(logits[label]),
                    Err(_) => 0.0,
                };
                near(row, results[row], expected, 1e-5, 1e-5)?;
            }
            Ok(())
        }))
}

pub fn quantize_rows(scale: Scale) -> CudaResult<Case> {
    let rows = scale.pick(3, 1 << 14);
    let columns = 4 * VECTORS;
    let values: Vec<f32> = uniform_f32(rows * columns, 3)
        .into_iter()
        .map(|x| x - 0.5)
        .collect();
    let from = upload(&values)?;
    let scales: Buffer<f32> = zeroed(rows)?;
    let to: Buffer<i8> = zeroed(rows * columns)?;
    let pointers = Args::new().pointer(&from).pointer(&scales).pointer(&to);
    Ok(Case::new("quantize_rows", rows, 256)
        .args(
            pointers.clone().value(VECTORS as i32),
            pointers.value(VECTORS),
            Args::new()
                .vectors::<F32x4>(&from)
                .output(&scales)
                .output_vectors::<I8x4>(&to),
        )
        .input(&from)
        .output(&scales)
        .output(&to)
        .bytes(5 * rows * columns)
        .check(move || {
            let largest = |row: usize| {
                let row = &values[row * columns..][..columns];
                row.iter().fold(0.0f32, |largest, x| largest.max(x.abs()))
            };
            close(&scales, 1e-6, 0.0, |row| f64::from(largest(row)) / 127.0)?;
            let results = download(&to)?;
            for i in samples(results.len()) {
                let factor = 127.0 / f64::from(largest(i / columns));
                let expected = (f64::from(values[i]) * factor).round_ties_even();
                // Numbers in the middle of two bytes may become either.
                near(i, f64::from(results[i]), expected, 0.0, 1.0)?;
            }
            Ok(())
        }))
}
