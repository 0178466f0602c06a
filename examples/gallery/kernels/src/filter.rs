//! `filter`: a Gaussian blur, and the gradient of the result by the Sobel operator.
//!
//! A block loads a tile and its halo into shared memory. The Gaussian is separable, so the block
//! first blurs the tile's rows into a second tile and then the columns of that: 2 × 7 products for
//! each pixel instead of 7 × 7. Look at how the second tile is written while the first is read. The
//! Sobel operator is that of Irwin Sobel and Gary Feldman, "A 3 × 3 isotropic gradient operator for
//! image processing" (1968).

use cuda_std::prelude::*;
use cuda_std::shared::{Shared, Tile};
use cuda_std::{MatrixView, PerThread2d, PerTile};

/// The pixels on each side that the blur reads.
pub const RADIUS: usize = 3;
/// The weights of the blur: the number of weights is odd.
pub type Weights = [f32; 2 * RADIUS + 1];
/// Rows and columns of a tile, and threads of a block along both axes.
pub const TILE: usize = 16;
/// The same with the halo.
pub const WIDE: usize = TILE + 2 * RADIUS;

/// Returns the sum of the weighted values.
#[must_use]
pub fn weighted(weights: &Weights, value: impl Fn(usize) -> f32) -> f32 {
    let mut sum = 0.0;
    for (i, weight) in weights.iter().enumerate() {
        sum += weight * value(i);
    }
    sum
}

/// Returns `i - before`, at least 0 and less than `n`: pixels past an edge repeat the edge.
#[must_use]
pub fn clamped(i: usize, before: usize, n: usize) -> usize {
    i.saturating_sub(before).min(n - 1)
}

/// Returns the length of the gradient at a pixel, whose neighborhood `at` returns by column and
/// row.
pub fn gradient(at: impl Fn(usize, usize) -> f32) -> f32 {
    let x = (at(2, 0) + 2.0 * at(2, 1) + at(2, 2)) - (at(0, 0) + 2.0 * at(0, 1) + at(0, 2));
    let y = (at(0, 2) + 2.0 * at(1, 2) + at(2, 2)) - (at(0, 0) + 2.0 * at(1, 0) + at(2, 0));
    (x * x + y * y).sqrt()
}

/// Blurs an image.
#[kernel(block_size(16, 16))]
pub fn blur(
    #[shared] mut source: Shared<Tile<f32, WIDE, WIDE>>,
    #[shared] mut rows: Shared<Tile<f32, TILE, WIDE>>,
    weights: Weights,
    from: &[f32],
    mut to: PerTile<f32, TILE, TILE>,
) {
    let (width, height) = (to.width(), to.height());
    let from = MatrixView::new(from, width, height);
    for mut tile in to.tiles() {
        let (x0, y0) = (tile.x(), tile.y());
        source.own().each(|(x, y), pixel| {
            let (x, y) = (
                clamped(x0 + x, RADIUS, width),
                clamped(y0 + y, RADIUS, height),
            );
            *pixel = from.get(x, y).unwrap_or(0.0);
        });
        source.read(|source| {
            rows.own()
                .each(|(x, y), sum| *sum = weighted(&weights, |i| source[y][x + i]));
        });
        rows.read(|rows| {
            tile.each(|(x, y), to| *to = weighted(&weights, |i| rows[y + i][x]));
        });
    }
}

/// Computes the length of the gradient at each pixel.
#[kernel]
pub fn sobel(from: &[f32], mut to: PerThread2d<f32>) {
    let (width, height) = (to.width(), to.height());
    let from = MatrixView::new(from, width, height);
    to.each(|(x, y), to| {
        *to = gradient(|i, j| {
            let (x, y) = (clamped(x + i, 1, width), clamped(y + j, 1, height));
            from.get(x, y).unwrap_or(0.0)
        });
    });
}
