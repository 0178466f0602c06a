//! `spectrogram`: the frequencies of a signal over time.
//!
//! The signal is a chirp whose frequency rises, a second one that falls and returns, and noise. The
//! device transforms overlapping windows ([the kernel](gallery_kernels::spectrogram)); in the
//! picture, time runs to the right and frequency upwards. The spectra agree with the same algorithm
//! on the CPU up to the logarithm, which differs in its last bits, and one of them with a Fourier
//! transform by its definition.

use crate::picture::{Color, Picture, gradient};
use crate::{Outcome, Program, Report, Setup, Sizes};
use cust::prelude::*;
use gallery_kernels::spectrogram::{BINS, Complex, HOP, STAGES, WINDOW, decibels, spectra, stage};
use gallery_kernels::uniform4;
use std::f64::consts::TAU;

/// The program.
pub const PROGRAM: Program = Program {
    name: "spectrogram",
    about: "spectrogram of two chirps, by Fourier transforms in shared memory",
    sizes: Sizes {
        unit: "windows",
        least: 2,
        emulator: 320,
        gpu: 2048,
        most: 1 << 14,
    },
    run,
};

fn run(setup: &Setup) -> Outcome<Report> {
    let windows = setup.size;
    let signal = chirps((windows - 1) * HOP + WINDOW);
    let shape = hann();
    let twiddles: Vec<Complex> = (0..WINDOW / 2)
        .map(|i| {
            let (sin, cos) = (TAU * i as f64 / WINDOW as f64).sin_cos();
            [cos as f32, -sin as f32]
        })
        .collect();
    let mut powers = vec![0.0; windows * BINS];
    let config = LaunchConfig::new(windows as u32, BINS as u32);
    let args = spectra::args(&signal, &shape, &twiddles, &mut powers);
    setup.module.launch(&setup.stream, config, args)?;

    let mut largest = 0.0f32;
    for (i, powers) in powers.chunks(BINS).enumerate() {
        let expected = transform_on_cpu(&signal[i * HOP..], &shape, &twiddles);
        for (power, expected) in powers.iter().zip(expected) {
            largest = largest.max((power - decibels(expected)).abs());
        }
    }
    // The logarithm has an error of 2 ulps on the device.
    if largest > 1e-4 {
        return Err(format!("the spectra differ from the CPU's by {largest} dB").into());
    }
    let middle = windows / 2;
    let window = &signal[middle * HOP..];
    let mut furthest = 0.0f64;
    for (bin, &power) in powers[middle * BINS..][..BINS].iter().enumerate() {
        let expected = by_definition(window, &shape, bin);
        furthest = furthest.max((amplitude(f64::from(power)) - expected).abs());
    }
    // In units of the largest possible amplitude, 64.
    if furthest > 1e-3 {
        return Err(format!("a spectrum differs from its definition by {furthest}").into());
    }

    let mut picture = Picture::new(windows, BINS, [0; 3]);
    for (x, powers) in powers.chunks(BINS).enumerate() {
        for (bin, &power) in powers.iter().enumerate() {
            picture.set(x as isize, (BINS - 1 - bin) as isize, color(power));
        }
    }
    Ok(Report {
        picture,
        notes: vec![
            format!("{windows} windows of {WINDOW} samples, {HOP} apart"),
            format!("at most {largest:.1e} dB from the same algorithm on the CPU"),
            format!("amplitudes of the middle window at most {furthest:.1e} from the definition"),
        ],
    })
}

/// The signal, between -2 and 2. Frequencies are in periods per sample.
fn chirps(count: usize) -> Vec<f32> {
    let (mut first, mut second) = (0.0f64, 0.0f64);
    let sample = |i: usize| {
        let t = i as f64 / count as f64;
        first += 0.03 + 0.4 * t * t;
        second += 0.25 + 0.15 * (TAU * 1.5 * t).cos();
        let noise = f64::from(uniform4(i as u32, 6)[0]) - 0.5;
        ((first * TAU).sin() + 0.4 * (second * TAU).sin() + 0.05 * noise) as f32
    };
    (0..count).map(sample).collect()
}

/// The window function of Julius von Hann.
fn hann() -> Vec<f32> {
    (0..WINDOW)
        .map(|i| (0.5 - 0.5 * (TAU * i as f64 / WINDOW as f64).cos()) as f32)
        .collect()
}

fn transform_on_cpu(signal: &[f32], shape: &[f32], twiddles: &[Complex]) -> [Complex; BINS] {
    let mut from: [Complex; WINDOW] = std::array::from_fn(|i| [signal[i] * shape[i], 0.0]);
    for number in 0..STAGES {
        from = std::array::from_fn(|i| stage(number, i, &from, twiddles));
    }
    std::array::from_fn(|bin| from[bin])
}

/// The absolute value of an element of the transform, in double precision.
fn by_definition(signal: &[f32], shape: &[f32], bin: usize) -> f64 {
    let (mut re, mut im) = (0.0, 0.0);
    for (i, (sample, weight)) in signal.iter().zip(shape).enumerate() {
        let (sin, cos) = (TAU * (i * bin % WINDOW) as f64 / WINDOW as f64).sin_cos();
        re += f64::from(sample * weight) * cos;
        im -= f64::from(sample * weight) * sin;
    }
    re.hypot(im)
}

/// The inverse of [`decibels`].
fn amplitude(decibels: f64) -> f64 {
    (10.0f64.powf(decibels / 10.0) - 1e-6).max(0.0).sqrt()
}

fn color(power: f32) -> Color {
    // Of 40 dB below the largest amplitude, in steps of a palette.
    let shade = ((power + 5.0) / 40.0).clamp(0.0, 1.0);
    gradient(
        &[[8, 8, 24], [70, 30, 120], [210, 70, 90], [255, 230, 150]],
        (shade * 15.0).round() / 15.0,
    )
}
