//! Output without `unsafe`, and shared memory in phases: kernels as users write them.

#![forbid(unsafe_code)]

use cuda_std::prelude::*;
use cuda_std::shared::{Array, Dynamic, Shared, Tile};
use cuda_std::thread::UniqueIndex;
use cuda_std::{
    PerBlock, PerBlockRow, PerColumn, PerRow, PerThread2d, PerThread3d, PerThreadChunk, PerTile,
    PerWarp, PerWarpRow,
};

/// Adds its index and the thread's number to each element, so an element with two owners or none is
/// detected.
#[kernel]
pub fn out_per_thread(mut to: PerThread<u64>, mut also: PerThread<u64>) {
    let me = thread::index();
    for (i, to) in to.own() {
        *to += (i as u64) << 32 | me;
    }
    let index = UniqueIndex::new();
    if let Some(also) = also.get_mut(index) {
        *also += index.get() as u64 + 1;
    }
}

/// Writes elements up to the length of the shortest input; one thread of the grid is the first.
#[kernel]
pub fn out_each_with(a: &[u64], b: &[u64], mut to: PerThread<u64>, mut first: PerThread<u64>) {
    to.each_with((a, b), |_, to, (a, b)| *to += a + b);
    first.each(|_, to| *to += u64::from(thread::first()));
}

/// The same for chunks of three.
#[kernel]
pub fn out_per_thread_chunk(mut to: PerThreadChunk<u64, 3>) {
    let me = thread::index();
    for (i, to) in to.whole() {
        for (k, to) in to.iter_mut().enumerate() {
            *to += ((i + k) as u64) << 32 | me;
        }
    }
    let (start, rest) = to.rest();
    for (k, to) in rest.iter_mut().enumerate() {
        *to += ((start + k) as u64) << 32 | 0xffff;
    }
}

/// The same for blocks: one element per block, and chunks of ten.
#[kernel]
pub fn out_per_block(mut to: PerBlock<u64>, mut pieces: PerBlock<u64, 10>) {
    let (block, thread) = (thread::block_index(), u64::from(thread::index_in_block()));
    for (i, to) in to.own() {
        *to += (i as u64) << 32 | block << 16 | thread;
    }
    for mut piece in pieces.pieces() {
        thread::sync_threads();
        let start = piece.start() as u64;
        let len = piece.len() as u64;
        for (i, to) in piece.own() {
            *to += (i as u64) << 32 | start << 16 | len << 8 | thread;
        }
    }
}

/// The same for warps: by their first lane, and in chunks of forty.
#[kernel]
pub fn out_per_warp(mut to: PerWarp<u64>, mut pieces: PerWarp<u64, 40>, mut all: PerWarp<u64, 40>) {
    let warps = thread::threads_in_block().div_ceil(32);
    let warp = thread::block_index() * u64::from(warps) + u64::from(thread::warp_id());
    let me = warp << 16 | u64::from(thread::index_in_block());
    to.each(|i, to| *to += (i as u64) << 32 | me);
    for (i, to) in pieces.own() {
        *to += (i as u64) << 32 | me;
    }
    for mut piece in all.pieces() {
        let (start, len) = (piece.start(), piece.len());
        piece.each(|i, to| *to += (i as u64) << 32 | me);
        for (i, to) in piece.own() {
            *to += u64::from((start..start + len).contains(&i)) << 63;
        }
    }
}

/// The same for rows whose length is known at run time, of blocks and of warps.
#[kernel]
pub fn out_team_rows(
    mut blocks: PerBlockRow<u64>,
    mut warps: PerWarpRow<u64>,
    mut by_each: PerBlockRow<u64>,
    mut of_warps: PerWarpRow<u64>,
) {
    let in_warps = thread::threads_in_block().div_ceil(32);
    let warp = thread::block_index() * u64::from(in_warps) + u64::from(thread::warp_id());
    let of_block = thread::block_index() << 16 | u64::from(thread::index_in_block());
    let of_warp = warp << 16 | u64::from(thread::index_in_block());
    for mut row in blocks.rows() {
        thread::sync_threads();
        let (y, len) = (row.y() as u64, row.len() as u64);
        for (x, to) in row.own() {
            *to += (x as u64) << 56 | y << 48 | len << 32;
        }
        row.each(|_, to| *to += of_block);
    }
    for mut row in warps.rows() {
        cuda_std::group::warp().sync();
        let (y, len) = (row.y() as u64, row.len() as u64);
        row.each(|x, to| *to += (x as u64) << 56 | y << 48 | len << 32);
        row.own().for_each(|(_, to)| *to += of_warp);
    }
    by_each.each(|(x, y), to| *to += (x as u64) << 56 | (y as u64) << 48 | of_block);
    of_warps.each(|(x, y), to| *to += (x as u64) << 56 | (y as u64) << 48 | of_warp);
}

/// The same for rows and columns of a matrix.
#[kernel]
pub fn out_rows_columns(mut rows: PerRow<u64>, mut columns: PerColumn<u64>) {
    let me = thread::index();
    rows.each(|y, row| {
        for (x, to) in row.iter_mut().enumerate() {
            *to += (x as u64) << 48 | (y as u64) << 32 | me;
        }
    });
    columns.each(|x, mut column| {
        for (y, to) in column.iter_mut().enumerate() {
            *to += (x as u64) << 48 | (y as u64) << 32 | me;
        }
        let sum: u64 = column.iter().sum();
        if let Some(last) = column.len().checked_sub(1) {
            column[last] += sum ^ column[0];
        }
    });
}

/// The same for volumes.
#[kernel]
pub fn out_3d(mut to: PerThread3d<u64>, mut also: PerThread3d<u64>, mut first: PerThread3d<u64>) {
    let me = thread::index();
    let value = |(x, y, z): (usize, usize, usize)| {
        (x as u64) << 48 | (y as u64) << 40 | (z as u64) << 32 | me
    };
    let mut own = to.own();
    for (place, to) in own.by_ref() {
        *to += value(place);
    }
    // The iterator has ended for good.
    let more = u64::from(own.next().is_some()) + u64::from(own.next().is_some());
    also.each(|place, to| *to += value(place) + more);
    if let Some((place, to)) = first.first() {
        *to += value(place);
    }
}

/// Adds a thread's place to the elements that it has in three volumes, whose shapes may differ.
#[kernel]
pub fn out_3d_zipped(mut a: PerThread3d<u64>, mut b: PerThread3d<u64>, mut c: PerThread3d<u64>) {
    for ((((x, y, z), a), (_, b)), (_, c)) in a.own().zip(b.own()).zip(c.own()) {
        let value = (x as u64) << 48 | (y as u64) << 40 | (z as u64) << 32;
        *a += value | 1;
        *b += value | 2;
        *c += value | 3;
    }
}

/// As [`out_3d`], for matrices.
#[kernel]
pub fn out_2d(mut to: PerThread2d<u64>, mut tiles: PerTile<u64, 5, 3>) {
    let me = thread::index();
    for ((x, y), to) in to.own() {
        *to += (x as u64) << 48 | (y as u64) << 32 | me;
    }
    for mut tile in tiles.tiles() {
        thread::sync_threads();
        let (x0, y0) = (tile.x(), tile.y());
        for ((x, y), to) in tile.own() {
            *to += ((x0 + x) as u64) << 48 | ((y0 + y) as u64) << 32 | thread::block_index();
        }
    }
}

/// The sum of two vectors.
#[kernel]
pub fn safe_vecadd(a: &[f32], b: &[f32], mut to: PerThread<f32>) {
    for (i, to) in to.own() {
        *to = a[i] + b[i];
    }
}

/// The transpose of a matrix, through shared memory.
#[kernel]
pub fn safe_transpose(
    #[shared] mut shared: Shared<Tile<u32, 16, 16, 17>>,
    from: &[u32],
    mut to: PerTile<u32, 16, 16>,
) {
    let (width, height) = (to.width(), to.height());
    for mut tile in to.tiles() {
        let (x0, y0) = (tile.x(), tile.y());
        shared.own().each(|(x, y), element| {
            if x0 + y < width && y0 + x < height {
                *element = from[(x0 + y) * height + (y0 + x)];
            }
        });
        shared.read(|rows| {
            tile.each(|(x, y), to| {
                *to = rows[x][y];
            });
        });
    }
}

/// The mean of each element and its two neighbors, in blocks of 64.
#[kernel]
pub fn safe_stencil(
    #[shared] mut shared: Shared<Array<f32, 66>>,
    from: &[f32],
    mut to: PerBlock<f32, 64>,
) {
    for mut piece in to.pieces() {
        let start = piece.start();
        shared.own().each(|i, element| {
            // At the ends, the element replaces the missing neighbor.
            let at = (start + i).saturating_sub(1).min(from.len() - 1);
            *element = from[at];
        });
        let here = shared.share();
        piece.each(|i, to| {
            let i = i - start;
            *to = (here[i] + here[i + 1] + here[i + 2]) / 3.0;
        });
        shared = here.reclaim();
    }
}

/// The sum of each block's part of the data, as a tree in dynamic shared memory.
#[kernel]
pub fn safe_reduction(
    #[shared] mut shared: Shared<Dynamic<u64>>,
    from: &[u64],
    mut to: PerBlock<u64>,
) {
    let sum = thread::grid_stride(from.len()).fold(0u64, |sum, i| sum.wrapping_add(from[i]));
    shared.own().each(|_, element| {
        *element = sum;
    });
    let mut count = thread::threads_in_block() as usize;
    while count > 1 {
        let half = count.div_ceil(2);
        let other = shared.read(|all| {
            let i = thread::index_in_block() as usize;
            all.get(i + half).copied().filter(|_| i + half < count)
        });
        shared.own().each(|_, element| {
            if let Some(other) = other {
                *element = element.wrapping_add(other);
            }
        });
        count = half;
    }
    let all = shared.share();
    to.each(|_, to| {
        *to = all[0];
    });
}

/// The product of two square matrices, in tiles of 8 by 8.
#[kernel]
pub fn safe_matmul(
    #[shared] mut shared: Shared<(Tile<f32, 8, 8>, Tile<f32, 8, 8>)>,
    a: &[f32],
    b: &[f32],
    mut to: PerTile<f32, 8, 8>,
) {
    let n = to.width();
    for mut tile in to.tiles() {
        let (x0, y0) = (tile.x(), tile.y());
        let (x, y) = (
            thread::thread_idx_x() as usize,
            thread::thread_idx_y() as usize,
        );
        let mut sum = 0.0f32;
        for k0 in (0..n).step_by(8) {
            let (own_a, own_b) = shared.own();
            own_a.each(|(x, y), element| {
                let inside = y0 + y < n && k0 + x < n;
                *element = if inside {
                    a[(y0 + y) * n + k0 + x]
                } else {
                    0.0
                };
            });
            own_b.each(|(x, y), element| {
                let inside = k0 + y < n && x0 + x < n;
                *element = if inside {
                    b[(k0 + y) * n + x0 + x]
                } else {
                    0.0
                };
            });
            sum = shared.read(|(a, b)| (0..8).fold(sum, |sum, k| sum + a[y][k] * b[k][x]));
        }
        tile.each(|_, to| {
            *to = sum;
        });
    }
}

/// The number of occurrences of each byte in the data, counted in shared memory first.
#[kernel]
pub fn safe_histogram(
    #[shared] mut shared: Shared<Array<core::sync::atomic::AtomicU32, 16>>,
    from: &[u32],
    counts: &[core::sync::atomic::AtomicU32],
) {
    use core::sync::atomic::Ordering::Relaxed;
    shared.own().each(|_, count| {
        *count.get_mut() = 0;
    });
    shared.read(|own| {
        for i in thread::grid_stride(from.len()) {
            own[(from[i] % 16) as usize].fetch_add(1, Relaxed);
        }
    });
    shared.own().each(|i, count| {
        counts[i].fetch_add(*count.get_mut(), Relaxed);
    });
}
