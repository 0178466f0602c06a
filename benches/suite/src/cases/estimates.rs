//! Estimates: the power of tones, and the coefficients of polynomials.

use super::Scale;
use crate::case::{
    Args, Buffer, Case, download, near, random, samples, uniform_f32, upload, zeroed,
};
use bench_kernels::estimates::{COEFFICIENTS, POINTS, Resonator, TONES};
use cust::error::CudaResult;
use cust::vector::F32x2;

pub fn goertzel(scale: Scale) -> CudaResult<Case> {
    let channels = scale.pick(300, 1 << 18);
    let frames = scale.pick(20, 205);
    let values: Vec<i16> = (0..(frames * channels) as u64)
        .map(|i| random(i) as i16 / 64)
        .collect();
    // The tones of telephone keys, at 8000 samples per second.
    let tones = [
        697.0f32, 770.0, 852.0, 941.0, 1209.0, 1336.0, 1477.0, 1633.0,
    ];
    let numbers = tones.map(|tone| 2.0 * (core::f32::consts::TAU * tone / 8000.0).cos());
    let (samples, coefficients) = (upload(&values)?, upload(&numbers)?);
    let powers: Buffer<[f32; TONES]> = zeroed(channels)?;
    let args = |frames: Args| {
        (Args::new().pointer(&samples).and(frames))
            .pointer(&coefficients)
            .pointer(&powers)
    };
    Ok(Case::new("goertzel", channels.div_ceil(128), 128)
        .args(
            args(Args::new().value(frames as i32)).value(channels as i32),
            args(Args::new().value(frames)).value(channels),
            (Args::new().slice(&samples).pointer(&coefficients)).output(&powers),
        )
        .input(&samples)
        .input(&coefficients)
        .output(&powers)
        .bytes(2 * frames * channels + 4 * TONES * channels)
        .f32_operations((3 * frames * channels * TONES) as f64)
        .check(move || {
            let results = download(&powers)?;
            for channel in crate::case::samples(channels) {
                for (&result, &coefficient) in results[channel].iter().zip(&numbers) {
                    let mut resonator = Resonator::default();
                    for frame in values.chunks_exact(channels) {
                        resonator.push(f32::from(frame[channel]), coefficient);
                    }
                    let expected = resonator.power(coefficient);
                    near(channel, result, expected.into(), 1e-2, 1e3)?;
                }
            }
            Ok(())
        }))
}

pub fn least_squares(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(1000, 1 << 21);
    let numbers = uniform_f32(2 * POINTS * n, 1);
    let values: Vec<[F32x2; POINTS]> = (numbers.as_chunks::<{ 2 * POINTS }>().0.iter())
        .map(|numbers| {
            core::array::from_fn(|i| {
                // The points have different places from -1 to 1.
                let x = (i as f32 + 0.5 * numbers[2 * i]) / 4.0 - 1.0;
                F32x2::new(x, numbers[2 * i + 1])
            })
        })
        .collect();
    let points = upload(&values)?;
    let to: Buffer<[f32; COEFFICIENTS]> = zeroed(n)?;
    let pointers = Args::new().pointer(&points).pointer(&to);
    Ok(Case::new("least_squares", n.div_ceil(128), 128)
        .args(
            pointers.clone().value(n as i32),
            pointers.value(n),
            Args::new().slice(&points).output(&to),
        )
        .input(&points)
        .output(&to)
        .bytes((8 * POINTS + 4 * COEFFICIENTS) * n)
        .check(move || {
            let results = download(&to)?;
            for i in samples(n) {
                // The differences of a solution are orthogonal to each power of x.
                for power in 0..COEFFICIENTS as i32 {
                    let mut sum = 0.0;
                    for point in &values[i] {
                        let x = f64::from(point.x());
                        let terms = results[i].iter().rev();
                        let value = terms.fold(0.0, |sum, &term| sum * x + f64::from(term));
                        sum += (f64::from(point.y()) - value) * x.powi(power);
                    }
                    near(i, sum, 0.0, 0.0, 1e-4)?;
                }
            }
            Ok(())
        }))
}
