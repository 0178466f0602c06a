//! Estimates: the power of tones, and the coefficients of polynomials.

use cuda_std::prelude::*;
use cuda_std::vector::F32x2;

/// The number of tones.
pub const TONES: usize = 8;

/// A resonator at the frequency of a tone, whose `coefficient` is twice the cosine of the phase
/// between samples.
#[derive(Clone, Copy, Debug, Default)]
pub struct Resonator {
    last: f32,
    before: f32,
}

impl Resonator {
    /// Adds a sample.
    #[inline(always)]
    pub fn push(&mut self, sample: f32, coefficient: f32) {
        let next = sample + coefficient * self.last - self.before;
        *self = Resonator {
            last: next,
            before: self.last,
        };
    }

    /// Returns the power of the tone.
    #[inline(always)]
    pub fn power(&self, coefficient: f32) -> f32 {
        self.last * self.last + self.before * self.before - coefficient * self.last * self.before
    }
}

/// The power of tones by Goertzel's method, one channel per thread. A frame has a sample of each
/// channel.
#[kernel(block_size(128))]
pub fn goertzel_safe(
    samples: &[i16],
    coefficients: &[f32; TONES],
    mut powers: PerThread<[f32; TONES]>,
) {
    let channels = powers.len();
    powers.each(|channel, powers| {
        let mut tones = [Resonator::default(); TONES];
        for frame in samples.chunks_exact(channels) {
            let sample = f32::from(frame[channel]);
            for (tone, &coefficient) in tones.iter_mut().zip(coefficients) {
                tone.push(sample, coefficient);
            }
        }
        *powers = core::array::from_fn(|i| tones[i].power(coefficients[i]));
    });
}

/// The power of tones by Goertzel's method: see [`goertzel_safe()`].
#[kernel(block_size(128))]
pub unsafe fn goertzel_raw(
    samples: *const i16,
    frames: usize,
    coefficients: *const f32,
    powers: *mut f32,
    channels: usize,
) {
    let channel = thread::index_1d() as usize;
    if channel >= channels {
        return;
    }
    let mut tones = [Resonator::default(); TONES];
    for frame in 0..frames {
        let sample = f32::from(*samples.add(frame * channels + channel));
        for i in 0..TONES {
            tones[i].push(sample, *coefficients.add(i));
        }
    }
    for i in 0..TONES {
        *powers.add(channel * TONES + i) = tones[i].power(*coefficients.add(i));
    }
}

/// The number of points of a fit.
pub const POINTS: usize = 8;
/// The number of coefficients of a polynomial.
pub const COEFFICIENTS: usize = 4;

/// `M` linear equations with `N` unknowns.
#[derive(Clone, Copy, Debug)]
pub struct Equations<const M: usize, const N: usize> {
    rows: [[f32; N]; M],
    right: [f32; M],
}

impl<const M: usize, const N: usize> Equations<M, N> {
    /// Creates the equations of a polynomial through points.
    #[inline(always)]
    pub fn through(points: &[F32x2; M]) -> Equations<M, N> {
        let mut equations = Equations {
            rows: [[1.0; N]; M],
            right: [0.0; M],
        };
        for (i, point) in points.iter().enumerate() {
            for j in 1..N {
                equations.rows[i][j] = equations.rows[i][j - 1] * point.x();
            }
            equations.right[i] = point.y();
        }
        equations
    }

    /// Returns the solution with the least squares, unless the equations are singular: by rotations
    /// of rows that make the matrix triangular.
    #[inline(always)]
    pub fn solve(mut self) -> Option<[f32; N]> {
        for k in 0..N {
            for i in k + 1..M {
                let (a, b) = (self.rows[k][k], self.rows[i][k]);
                let length = (a * a + b * b).sqrt();
                if length == 0.0 {
                    continue;
                }
                let (cos, sin) = (a / length, b / length);
                for j in k..N {
                    let (upper, lower) = (self.rows[k][j], self.rows[i][j]);
                    self.rows[k][j] = cos * upper + sin * lower;
                    self.rows[i][j] = cos * lower - sin * upper;
                }
                let (upper, lower) = (self.right[k], self.right[i]);
                self.right[k] = cos * upper + sin * lower;
                self.right[i] = cos * lower - sin * upper;
            }
        }
        let mut solution = [0.0; N];
        for k in (0..N).rev() {
            let pivot = self.rows[k][k];
            if pivot.abs() < 1e-6 {
                return None;
            }
            let mut rest = self.right[k];
            for j in k + 1..N {
                rest -= self.rows[k][j] * solution[j];
            }
            solution[k] = rest / pivot;
        }
        Some(solution)
    }
}

/// The polynomials of least squares through points, one polynomial per thread; zero if the points
/// do not determine it.
#[kernel(block_size(128))]
pub fn least_squares_safe(points: &[[F32x2; POINTS]], mut to: PerThread<[f32; COEFFICIENTS]>) {
    to.each_with(points, |_, to, points| {
        let equations = Equations::<POINTS, COEFFICIENTS>::through(points);
        let Some(solution) = equations.solve() else {
            *to = [0.0; COEFFICIENTS];
            return;
        };
        *to = solution;
    });
}

/// The polynomials of least squares through points: see [`least_squares_safe()`].
#[kernel(block_size(128))]
pub unsafe fn least_squares_raw(
    points: *const [F32x2; POINTS],
    to: *mut [f32; COEFFICIENTS],
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let equations = Equations::<POINTS, COEFFICIENTS>::through(&*points.add(i));
    *to.add(i) = equations.solve().unwrap_or_default();
}
