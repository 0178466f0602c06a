//! A spectrogram: the spectra of the parts of a signal, each multiplied by a window.
use num_complex::{Complex, Complex32};
use rayon::prelude::*;
use std::f32::consts::TAU;

/// The number of samples of a part.
const SIZE: usize = 64;

trait Window {
    fn at(&self, x: f32) -> f32;
}

struct Hann;

struct Gauss {
    sigma: f32,
}

impl Window for Hann {
    fn at(&self, x: f32) -> f32 {
        0.5 - 0.5 * (TAU * x).cos()
    }
}

impl Window for Gauss {
    fn at(&self, x: f32) -> f32 {
        (-0.5 * ((x - 0.5) / self.sigma).powi(2)).exp()
    }
}

fn fft(x: &mut [Complex32]) {
    let n = x.len();
    if n == 1 {
        return;
    }
    let (mut even, mut odd): (Vec<_>, Vec<_>) = x.chunks(2).map(|pair| (pair[0], pair[1])).unzip();
    fft(&mut even);
    fft(&mut odd);
    for k in 0..n / 2 {
        let turned = Complex::from_polar(1.0, -TAU * k as f32 / n as f32) * odd[k];
        x[k] = even[k] + turned;
        x[k + n / 2] = even[k] - turned;
    }
}

fn spectrum(samples: &[f32], window: &dyn Window, powers: &mut [f32]) {
    let n = samples.len();
    let mut x: Vec<Complex32> = (samples.iter().enumerate())
        .map(|(i, sample)| Complex::new(sample * window.at(i as f32 / n as f32), 0.0))
        .collect();
    fft(&mut x);
    for (power, x) in powers.iter_mut().zip(x) {
        *power = x.norm_sqr();
    }
}

fn spectrogram(samples: &[f32], sigma: Option<f32>) -> Vec<f32> {
    let gauss = sigma.map(|sigma| Gauss { sigma });
    let window: &(dyn Window + Sync) = match &gauss {
        Some(gauss) => gauss,
        None => &Hann,
    };
    let mut powers = vec![0.0; samples.len() / 2];
    powers
        .par_chunks_mut(SIZE / 2)
        .zip(samples.par_chunks(SIZE))
        .for_each(|(powers, samples)| spectrum(samples, window, powers));
    powers
}

fn main() {
    let chirp = |i| (i as f32 * 0.1).sin() + (i as f32 * i as f32 * 1e-3).sin();
    let samples: Vec<f32> = (0..1024).map(chirp).collect();
    for sigma in [None, Some(0.2)] {
        let powers = spectrogram(&samples, sigma);
        let strongest = (powers.chunks(SIZE / 2))
            .map(|powers| (0..SIZE / 2).max_by(|&a, &b| powers[a].total_cmp(&powers[b])));
        println!("{:?}", strongest.collect::<Vec<_>>());
    }
}
