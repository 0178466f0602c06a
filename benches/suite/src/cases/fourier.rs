//! Fourier transforms.

use super::Scale;
use crate::case::{Args, Buffer, Case, download, samples, uniform_f32, upload, zeroed};
use bench_kernels::fourier::POINTS;
use cust::error::CudaResult;

/// Returns the `number`-th root of unity.
fn turn(number: usize) -> [f64; 2] {
    let angle = -std::f64::consts::TAU * (number % POINTS) as f64 / POINTS as f64;
    [angle.cos(), angle.sin()]
}

pub fn fft(scale: Scale) -> CudaResult<Case> {
    let batch = scale.pick(3, 1 << 18);
    let n = batch * POINTS;
    let values: Vec<[f32; 2]> = uniform_f32(2 * n, 1)
        .as_chunks::<2>()
        .0
        .iter()
        .map(|pair| [pair[0] - 0.5, pair[1] - 0.5])
        .collect();
    let turns: Vec<[f32; 2]> = (0..POINTS / 2).map(|i| turn(i).map(|x| x as f32)).collect();
    let (from, turns_there) = (upload(&values)?, upload(&turns)?);
    let to: Buffer<[f32; 2]> = zeroed(n)?;
    let pointers = Args::new()
        .pointer(&from)
        .pointer(&turns_there)
        .pointer(&to);
    Ok(Case::new("fft", batch, POINTS / 2)
        .args(
            pointers.clone(),
            pointers,
            Args::new().slice(&from).slice(&turns_there).output(&to),
        )
        .input(&from)
        .input(&turns_there)
        .output(&to)
        .bytes(16 * n)
        .f32_operations(5.0 * n as f64 * f64::from(POINTS.ilog2()))
        .check(move || {
            let results = download(&to)?;
            for i in samples(n) {
                let (start, bin) = (i / POINTS * POINTS, i % POINTS);
                let mut sum = [0.0; 2];
                for (k, value) in values[start..][..POINTS].iter().enumerate() {
                    let ([x, y], [c, s]) = (value.map(f64::from), turn(k * bin));
                    sum = [sum[0] + x * c - y * s, sum[1] + x * s + y * c];
                }
                for d in 0..2 {
                    let fits = (f64::from(results[i][d]) - sum[d]).abs() <= 1e-4;
                    if !fits {
                        let result = results[i];
                        return Err(format!("element {i} is {result:?}, but should be {sum:?}"));
                    }
                }
            }
            Ok(())
        }))
}
