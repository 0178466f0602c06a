//! Kernels without `unsafe`: each thread writes its own elements, shared memory is accessed in
//! phases,
//! and indices are checked.

#![forbid(unsafe_code)]

use crate::{PRODUCT, STENCIL, TILE};
use cuda_std::prelude::*;
use cuda_std::shared::{Array, Shared, Tile};
use cuda_std::{MatrixView, PerBlock, PerTile, Window, group};

/// The sum of two vectors.
#[kernel(block_size(256), min_blocks = 8)]
pub fn vecadd(a: &[f32], b: &[f32], mut sum: PerThread<f32>) {
    sum.each_with((a, b), |_, sum, (a, b)| *sum = a + b);
}

/// The transpose of a matrix, so that both sides' accesses are in order.
#[kernel(block_size(32, 8), min_blocks = 4)]
pub fn transpose(
    #[shared] mut shared: Shared<Tile<f32, TILE, TILE, 33>>,
    from: &[f32],
    mut to: PerTile<f32, TILE, TILE>,
) {
    let from = MatrixView::new(from, to.height(), to.width());
    for mut tile in to.tiles() {
        let (x0, y0) = (tile.x(), tile.y());
        shared.own().each(|(x, y), element| {
            if let Some(from) = from.get(y0 + x, x0 + y) {
                *element = from;
            }
        });
        shared.read(|rows| tile.each(|(x, y), to| *to = rows[x][y]));
    }
}

/// The mean of each element and its neighbors.
#[kernel(block_size(256), min_blocks = 4)]
pub fn stencil(
    #[shared] mut shared: Shared<Array<f32, 258>>,
    from: &[f32],
    mut to: PerBlock<f32, STENCIL>,
) {
    for mut piece in to.pieces() {
        let start = piece.start();
        shared.own().each(|i, element| {
            // At the ends the neighbor is the element itself.
            let neighbor = from.get((start + i).saturating_sub(1)).copied();
            *element = neighbor.or_else(|| from.last().copied()).unwrap_or(0.0);
        });
        shared.read(|all| {
            piece.each(|i, to| {
                let [before, own, after] = all.window(i - start);
                *to = (before + own + after) / 3.0;
            });
        });
    }
}

/// The sum of each block's part.
#[kernel(block_size(256), min_blocks = 8)]
pub fn reduction(from: &[f32], mut to: PerBlock<f32>) {
    let sum = thread::elements(from).fold(0.0, |sum, (_, x)| sum + x);
    let sum = group::block().reduce(sum, |a, b| a + b);
    to.each(|_, to| *to = sum);
}

/// The product of two square matrices.
#[kernel(block_size(16, 16), min_blocks = 5)]
pub fn product(
    #[shared] mut shared: Shared<(Tile<f32, PRODUCT, PRODUCT>, Tile<f32, PRODUCT, PRODUCT>)>,
    a: &[f32],
    b: &[f32],
    mut to: PerTile<f32, PRODUCT, PRODUCT>,
) {
    let n = to.width();
    let (a, b) = (MatrixView::new(a, n, n), MatrixView::new(b, n, n));
    let (x, y) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    for mut tile in to.tiles() {
        let (x0, y0) = (tile.x(), tile.y());
        let mut sum = 0.0f32;
        let mut k0 = 0;
        while k0 < n {
            let (own_a, own_b) = shared.own();
            own_a.each(|(x, y), element| {
                *element = a.get(k0 + x, y0 + y).unwrap_or(0.0);
            });
            own_b.each(|(x, y), element| {
                *element = b.get(x0 + x, k0 + y).unwrap_or(0.0);
            });
            sum = shared.read(|(a, b)| (0..PRODUCT).fold(sum, |sum, k| sum + a[y][k] * b[k][x]));
            k0 += PRODUCT;
        }
        tile.each(|_, to| *to = sum);
    }
}
