//! `spectrogram`: Fourier transforms of overlapping windows of a signal, one in each block.
//!
//! The transform is in shared memory: each stage reads one array and writes the other, so that a
//! stage needs no temporary values in registers. Look at `stage`, which computes an output from its
//! two inputs: the outputs of a thread are then its own elements. The algorithm is Stockham's,
//! which needs no reordering of the result; see Van Loan, *Computational Frameworks for the Fast
//! Fourier Transform* (1992), section 1.7.

use cuda_std::PerBlock;
use cuda_std::prelude::*;
use cuda_std::shared::{Array, Shared};

/// Samples of a window: 2 to the power of an even number, since the stages alternate between two
/// arrays.
pub const WINDOW: usize = 256;
/// Samples between the starts of two windows.
pub const HOP: usize = WINDOW / 4;
/// Frequencies, and threads of a block. The upper half of a real signal's spectrum is a reflection.
pub const BINS: usize = WINDOW / 2;
/// The number of stages.
pub const STAGES: usize = WINDOW.ilog2() as usize;

/// A complex number: the real and the imaginary part.
pub type Complex = [f32; 2];

/// Returns element `i` of the output of a stage. `twiddles` are the first half of the roots of
/// unity.
#[must_use]
pub fn stage(stage: usize, i: usize, from: &[Complex; WINDOW], twiddles: &[Complex]) -> Complex {
    let stride = 1 << stage;
    let (column, row) = (i % stride, i / stride);
    let first = column + stride * (row / 2);
    let ([a, b], [c, d]) = (from[first], from[first + WINDOW / 2]);
    if row % 2 == 0 {
        return [a + c, b + d];
    }
    let (re, im) = (a - c, b - d);
    let [cos, sin] = twiddles[row / 2 * stride];
    [re * cos - im * sin, re * sin + im * cos]
}

/// Returns the power of a complex amplitude in decibels, at least -60.
#[must_use]
pub fn decibels([re, im]: Complex) -> f32 {
    10.0 * (re * re + im * im + 1e-6).log10()
}

/// Computes the spectrum of each window, of [`BINS`] elements. `shape` has the weights of a
/// window's samples.
#[kernel(block_size(128))]
pub fn spectra(
    #[shared] mut even: Shared<Array<Complex, WINDOW>>,
    #[shared] mut odd: Shared<Array<Complex, WINDOW>>,
    signal: &[f32],
    shape: &[f32],
    twiddles: &[Complex],
    mut to: PerBlock<f32, BINS>,
) {
    for mut bins in to.pieces() {
        let start = bins.start() / BINS * HOP;
        even.own().each(|i, element| {
            let sample = signal.get(start + i).copied().unwrap_or(0.0);
            *element = [sample * shape[i], 0.0];
        });
        for pair in 0..STAGES / 2 {
            even.read(|even| {
                odd.own()
                    .each(|i, to| *to = stage(2 * pair, i, even, twiddles));
            });
            odd.read(|odd| {
                even.own()
                    .each(|i, to| *to = stage(2 * pair + 1, i, odd, twiddles));
            });
        }
        even.read(|spectrum| bins.each(|i, bin| *bin = decibels(spectrum[i % BINS])));
    }
}
