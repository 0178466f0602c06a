//! Kernels of the chapter "Shared memory and barriers".

// ANCHOR: smooth
use cuda_std::PerBlock;
use cuda_std::prelude::*;
use cuda_std::shared::{Array, Shared};

/// Elements that a block computes.
pub const CHUNK: usize = 256;

/// The mean of each element and its two neighbors. The ends repeat the first and last element.
#[kernel(block_size(256))]
pub fn smooth(
    #[shared] mut tile: Shared<Array<f32, { CHUNK + 2 }>>,
    from: &[f32],
    mut to: PerBlock<f32, CHUNK>,
) {
    for mut chunk in to.pieces() {
        let start = chunk.start();
        // Phase 1: each thread writes its own elements of the tile.
        tile.own().each(|i, element| {
            let i = (start + i).saturating_sub(1).min(from.len() - 1);
            *element = from[i];
        });
        // Phase 2: all threads read the whole tile. `read` has a barrier before and after.
        tile.read(|tile| {
            chunk.each(|i, to| {
                let i = i - start;
                *to = (tile[i] + tile[i + 1] + tile[i + 2]) / 3.0;
            });
        });
    }
}
// ANCHOR_END: smooth

// ANCHOR: transpose
use cuda_std::PerTile;
use cuda_std::shared::Tile;

/// Transposes a matrix. A row of the tile has 33 elements in memory, so that the 32 elements of a
/// column are in different banks.
#[kernel(block_size(32, 8))]
pub fn transpose(
    #[shared] mut shared: Shared<Tile<f32, 32, 32, 33>>,
    from: &[f32],
    mut to: PerTile<f32, 32, 32>,
) {
    let (width, height) = (to.width(), to.height());
    for mut tile in to.tiles() {
        let (x0, y0) = (tile.x(), tile.y());
        shared.own().each(|(x, y), element| {
            if x0 + y < width && y0 + x < height {
                *element = from[(x0 + y) * height + (y0 + x)];
            }
        });
        shared.read(|rows| tile.each(|(x, y), to| *to = rows[x][y]));
    }
}
// ANCHOR_END: transpose

// ANCHOR: raw
/// Sums each block's 256 elements by a tree in shared memory.
///
/// # Safety
/// Blocks have 256 threads; `from` has 256 elements for each block and `to` one, which nothing else
/// accesses.
#[kernel(block_size(256))]
pub unsafe fn block_sums_raw(from: *const f32, to: *mut f32) {
    let sums = shared_array![f32; 256];
    let i = thread::thread_idx_x() as usize;
    // SAFETY: in bounds; `sync_threads` separates each write from the reads by other threads.
    unsafe {
        *sums.add(i) = *from.add(thread::index_1d() as usize);
        let mut half = 128;
        while half > 0 {
            thread::sync_threads();
            if i < half {
                *sums.add(i) += *sums.add(i + half);
            }
            half /= 2;
        }
        if i == 0 {
            *to.add(thread::block_idx_x() as usize) = *sums;
        }
    }
}
// ANCHOR_END: raw

// ANCHOR: group
use cuda_std::group;

/// Sums the elements of each block.
#[kernel]
pub fn block_sums(from: &[f32], mut to: PerBlock<f32>) {
    // Each thread adds up its elements of a grid-stride loop, then the block adds the sums.
    let own = thread::elements(from).fold(0.0, |sum, (_, x)| sum + x);
    let sum = group::block().reduce(own, |a, b| a + b);
    to.each(|_, to| *to = sum);
}
// ANCHOR_END: group
