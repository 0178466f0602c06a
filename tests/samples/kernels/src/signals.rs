//! Transforms and convolutions.

use cuda_std::prelude::*;
use cuda_std::shared::{Array, Shared, Tile};
use cuda_std::{MatrixView, PerBlock, PerTile};
use num_complex::Complex;

/// Points of a transform.
pub const POINTS: usize = 256;

/// Fourier transforms of 256 points, each by a block, in shared memory.
#[kernel(block_size(256))]
pub fn fft(
    #[shared] mut shared: Shared<Array<Complex<f32>, 256>>,
    from: &[Complex<f32>],
    mut to: PerThread<Complex<f32>>,
) {
    let i = thread::index_in_block() as usize;
    let base = thread::block_index() as usize * POINTS;
    let mut value = from[base + (i.reverse_bits() >> (usize::BITS - POINTS.ilog2()))];
    let mut half = 1;
    while half < POINTS {
        shared.own().each(|_, to| *to = value);
        shared.read(|all| {
            let angle = -core::f32::consts::PI * (i % half) as f32 / half as f32;
            let (even, odd) = (all[i & !half], all[i | half] * Complex::cis(angle));
            value = if i & half == 0 {
                even + odd
            } else {
                even - odd
            };
        });
        half *= 2;
    }
    to.each(|_, to| *to = value);
}

/// A step of the Walsh transform: sums and differences of elements at a distance.
#[kernel]
pub fn walsh_step(distance: usize, from: &[f32], mut to: PerThread<f32>) {
    to.each(|i, to| {
        let (a, b) = (from[i & !distance], from[i | distance]);
        *to = if i & distance == 0 { a + b } else { a - b };
    });
}

/// Haar's wavelet transform of blocks of 128 elements: the mean first, then details, finer and finer.
#[kernel(block_size(128))]
pub fn haar(
    #[shared] mut shared: Shared<Array<f32, 128>>,
    from: &[f32],
    mut to: PerBlock<f32, 128>,
) {
    for mut piece in to.pieces() {
        let start = piece.start();
        shared.own().each(|i, to| *to = from[start + i]);
        let i = thread::index_in_block() as usize;
        let mut len = 128;
        while len > 1 {
            let half = len / 2;
            let value = shared.read(|all| match i {
                i if i < half => (all[2 * i] + all[2 * i + 1]) * core::f32::consts::FRAC_1_SQRT_2,
                i if i < len => {
                    let i = i - half;
                    (all[2 * i] - all[2 * i + 1]) * core::f32::consts::FRAC_1_SQRT_2
                }
                i => all[i],
            });
            shared.own().each(|_, to| *to = value);
            len = half;
        }
        shared.read(|all| piece.each(|i, to| *to = all[i - start]));
    }
}

/// How far the convolution's kernel reaches.
pub const RADIUS: usize = 4;

/// The convolution's coefficients, which the host puts there.
#[constant]
pub static COEFFICIENTS: [f32; 2 * RADIUS + 1] = [0.0; 2 * RADIUS + 1];

/// A convolution along the rows, zeros beyond the edges.
#[kernel(block_size(32, 8))]
pub fn convolve_rows(
    #[shared] mut shared: Shared<Tile<f32, { 32 + 2 * RADIUS }, 8>>,
    from: &[f32],
    mut to: PerTile<f32, 32, 8>,
) {
    let from = MatrixView::new(from, to.width(), to.height());
    for mut tile in to.tiles() {
        let (x0, y0) = (tile.x(), tile.y());
        shared.own().each(|(x, y), e| {
            *e = from
                .get((x0 + x).wrapping_sub(RADIUS), y0 + y)
                .unwrap_or(0.0);
        });
        shared.read(|rows| {
            tile.each(|(x, y), to| {
                let near = rows[y][x..].iter();
                *to = near.zip(COEFFICIENTS.iter()).map(|(a, b)| a * b).sum();
            });
        });
    }
}

/// A convolution along the columns, zeros beyond the edges.
#[kernel(block_size(32, 8))]
pub fn convolve_columns(
    #[shared] mut shared: Shared<Tile<f32, 32, { 8 + 2 * RADIUS }>>,
    from: &[f32],
    mut to: PerTile<f32, 32, 8>,
) {
    let from = MatrixView::new(from, to.width(), to.height());
    for mut tile in to.tiles() {
        let (x0, y0) = (tile.x(), tile.y());
        shared.own().each(|(x, y), e| {
            *e = from
                .get(x0 + x, (y0 + y).wrapping_sub(RADIUS))
                .unwrap_or(0.0);
        });
        shared.read(|rows| {
            tile.each(|(x, y), to| {
                let near = rows[y..].iter().map(|row| row[x]);
                *to = near.zip(COEFFICIENTS.iter()).map(|(a, b)| a * b).sum();
            });
        });
    }
}

/// The cosine of a discrete cosine transform: of a frequency, at a place.
pub fn basis(frequency: usize, place: usize) -> f32 {
    let angle = (2 * place + 1) as f32 * frequency as f32 * core::f32::consts::PI / 16.0;
    let scale = if frequency == 0 { 0.125f32.sqrt() } else { 0.5 };
    scale * angle.cos()
}

/// Discrete cosine transforms of squares of 8 by 8 elements, along rows and then columns.
#[kernel(block_size(8, 8))]
pub fn dct(
    #[shared] mut basis_of: Shared<Tile<f32, 8, 8>>,
    #[shared] mut square: Shared<Tile<f32, 8, 8, 9>>,
    from: &[f32],
    mut to: PerTile<f32, 8, 8>,
) {
    basis_of
        .own()
        .each(|(place, frequency), to| *to = basis(frequency, place));
    let basis = basis_of.share();
    let width = to.width();
    let (tx, ty) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    for mut tile in to.tiles() {
        let (x0, y0) = (tile.x(), tile.y());
        square
            .own()
            .each(|(x, y), to| *to = from[(y0 + y) * width + x0 + x]);
        let of_row = square.read(|square| (0..8).map(|i| basis[tx][i] * square[ty][i]).sum());
        square.own().each(|_, to| *to = of_row);
        square.read(|square| {
            tile.each(|(x, y), to| *to = (0..8).map(|i| basis[y][i] * square[i][x]).sum());
        });
    }
}

/// A recursive filter down each column and up again: `y[i] = a * x[i] + (1 - a) * y[i - 1]`. A column is
/// a thread's.
#[kernel]
pub fn recursive_columns(
    a: f32,
    width: usize,
    from: &[f32],
    to: &[cuda_std::atomic::Atomic<f32, cuda_std::scope::Device>],
) {
    use core::sync::atomic::Ordering::Relaxed;
    for x in thread::grid_stride(width) {
        let mut y = from[x];
        for i in (x..from.len()).step_by(width) {
            y = a * from[i] + (1.0 - a) * y;
            to[i].store(y, Relaxed);
        }
        for i in (x..from.len()).step_by(width).rev() {
            y = a * to[i].load(Relaxed) + (1.0 - a) * y;
            to[i].store(y, Relaxed);
        }
    }
}
