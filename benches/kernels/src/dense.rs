//! Dense matrices: transpose, matrix-vector and matrix-matrix products.

use cuda_std::prelude::*;
use cuda_std::shared::{Shared, Tile};
use cuda_std::unroll::unroll;
use cuda_std::{MatrixView, PerTile};

/// The number of rows and columns of the transpose's tiles.
pub const TRANSPOSE: usize = 32;
/// The number of rows and columns of the tiles of [`sgemm_safe()`].
pub const GEMM: usize = 32;

/// The number of rows and columns of a block's part of the result in [`sgemm_registers_safe()`].
pub const GEMM_BLOCK: usize = 128;
/// The number of threads per dimension in [`sgemm_registers_safe()`], and of columns per step.
pub const GEMM_THREADS: usize = 16;
/// The number of rows and columns of a thread's sums.
pub const SUMS: usize = GEMM_BLOCK / GEMM_THREADS;

/// The transpose of a matrix, with tiles in shared memory.
#[kernel(block_size(32, 8))]
pub fn transpose_safe(
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

/// The transpose of a matrix, with tiles in shared memory.
#[kernel(block_size(32, 8))]
pub unsafe fn transpose_raw(from: *const f32, to: *mut f32, width: usize, height: usize) {
    let shared = shared_array![f32; 32 * 33];
    let (tx, ty) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    let x0 = thread::block_idx_x() as usize * TRANSPOSE;
    let y0 = thread::block_idx_y() as usize * TRANSPOSE;
    for y in (0..TRANSPOSE).step_by(8) {
        let y = y + ty;
        if x0 + y < width && y0 + tx < height {
            *shared.add(y * 33 + tx) = *from.add((x0 + y) * height + (y0 + tx));
        }
    }
    thread::sync_threads();
    for y in (0..TRANSPOSE).step_by(8) {
        let y = y + ty;
        if x0 + tx < width && y0 + y < height {
            *to.add((y0 + y) * width + (x0 + tx)) = *shared.add(tx * 33 + y);
        }
    }
}

/// `y = a * x`, where `a` is column-major.
#[kernel(block_size(128))]
pub fn gemv_safe(a: &[f32], x: &[f32], mut y: PerThread<f32>) {
    let rows = y.len();
    y.each(|row, y| {
        let mut sum = 0.0;
        for (column, x) in a.chunks_exact(rows).zip(x) {
            sum += column[row] * x;
        }
        *y = sum;
    });
}

/// `y = a * x`, where `a` is column-major.
#[kernel(block_size(128))]
pub unsafe fn gemv_raw(a: *const f32, x: *const f32, y: *mut f32, rows: usize, columns: usize) {
    let row = thread::index_1d() as usize;
    if row < rows {
        let mut sum = 0.0;
        for column in 0..columns {
            sum += *a.add(column * rows + row) * *x.add(column);
        }
        *y.add(row) = sum;
    }
}

/// `c = a * b` of square matrices, with tiles in shared memory and one thread per element.
#[kernel(block_size(32, 32))]
pub fn sgemm_safe(
    #[shared] mut tiles: Shared<(Tile<f32, GEMM, GEMM>, Tile<f32, GEMM, GEMM>)>,
    a: &[f32],
    b: &[f32],
    mut c: PerTile<f32, GEMM, GEMM>,
) {
    let n = c.width();
    let (a, b) = (MatrixView::new(a, n, n), MatrixView::new(b, n, n));
    let (tx, ty) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    for mut tile in c.tiles() {
        let (x0, y0) = (tile.x(), tile.y());
        let mut sum = 0.0;
        for k0 in (0..n).step_by(GEMM) {
            let (own_a, own_b) = tiles.own();
            own_a.each(|(x, y), e| *e = a.get(k0 + x, y0 + y).unwrap_or(0.0));
            own_b.each(|(x, y), e| *e = b.get(x0 + x, k0 + y).unwrap_or(0.0));
            tiles.read(|(a, b)| {
                for k in 0..GEMM {
                    sum += a[ty][k] * b[k][tx];
                }
            });
        }
        tile.each(|_, to| *to = sum);
    }
}

/// `c = a * b` of square matrices, with tiles in shared memory and one thread per element.
#[kernel(block_size(32, 32))]
pub unsafe fn sgemm_raw(a: *const f32, b: *const f32, c: *mut f32, n: usize) {
    let tile_a = shared_array![f32; GEMM * GEMM];
    let tile_b = shared_array![f32; GEMM * GEMM];
    let (tx, ty) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    let column = thread::block_idx_x() as usize * GEMM + tx;
    let row = thread::block_idx_y() as usize * GEMM + ty;
    let mut sum = 0.0;
    for k0 in (0..n).step_by(GEMM) {
        let inside_a = row < n && k0 + tx < n;
        let inside_b = k0 + ty < n && column < n;
        *tile_a.add(ty * GEMM + tx) = if inside_a {
            *a.add(row * n + k0 + tx)
        } else {
            0.0
        };
        *tile_b.add(ty * GEMM + tx) = if inside_b {
            *b.add((k0 + ty) * n + column)
        } else {
            0.0
        };
        thread::sync_threads();
        for k in 0..GEMM {
            sum += *tile_a.add(ty * GEMM + k) * *tile_b.add(k * GEMM + tx);
        }
        thread::sync_threads();
    }
    if row < n && column < n {
        *c.add(row * n + column) = sum;
    }
}

/// `c = a * b` of square matrices, with 8×8 sums per thread in registers.
#[kernel(block_size(16, 16))]
pub fn sgemm_registers_safe(
    #[shared] mut tiles: Shared<(
        Tile<f32, GEMM_THREADS, GEMM_BLOCK>,
        Tile<f32, GEMM_BLOCK, GEMM_THREADS>,
    )>,
    a: &[f32],
    b: &[f32],
    mut c: PerTile<f32, GEMM_BLOCK, GEMM_BLOCK>,
) {
    let n = c.width();
    let (a, b) = (MatrixView::new(a, n, n), MatrixView::new(b, n, n));
    let (tx, ty) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    for mut tile in c.tiles() {
        let (x0, y0) = (tile.x(), tile.y());
        let mut sums = [[0.0; SUMS]; SUMS];
        for k0 in (0..n).step_by(GEMM_THREADS) {
            let (own_a, own_b) = tiles.own();
            own_a.each(|(x, y), e| *e = a.get(k0 + x, y0 + y).unwrap_or(0.0));
            own_b.each(|(x, y), e| *e = b.get(x0 + x, k0 + y).unwrap_or(0.0));
            tiles.read(|(a, b)| {
                for k0 in (0..GEMM_THREADS).step_by(4) {
                    unroll::<4>(|k| {
                        let k = k0 + k;
                        let column: [f32; SUMS] =
                            core::array::from_fn(|j| a[ty + j * GEMM_THREADS][k]);
                        let row: [f32; SUMS] =
                            core::array::from_fn(|i| b[k][tx + i * GEMM_THREADS]);
                        for (sums, a) in sums.iter_mut().zip(column) {
                            for (sum, b) in sums.iter_mut().zip(row) {
                                *sum += a * b;
                            }
                        }
                    });
                }
            });
        }
        tile.each(|(x, y), to| *to = sums[y / GEMM_THREADS][x / GEMM_THREADS]);
    }
}

/// `c = a * b` of square matrices, with 8×8 sums per thread in registers.
#[kernel(block_size(16, 16))]
pub unsafe fn sgemm_registers_raw(a: *const f32, b: *const f32, c: *mut f32, n: usize) {
    let tile_a = shared_array![f32; GEMM_BLOCK * GEMM_THREADS];
    let tile_b = shared_array![f32; GEMM_BLOCK * GEMM_THREADS];
    let (tx, ty) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    let x0 = thread::block_idx_x() as usize * GEMM_BLOCK;
    let y0 = thread::block_idx_y() as usize * GEMM_BLOCK;
    let mut sums = [[0.0; SUMS]; SUMS];
    for k0 in (0..n).step_by(GEMM_THREADS) {
        for j in 0..SUMS {
            let y = ty + j * GEMM_THREADS;
            let inside = y0 + y < n && k0 + tx < n;
            *tile_a.add(y * GEMM_THREADS + tx) = if inside {
                *a.add((y0 + y) * n + k0 + tx)
            } else {
                0.0
            };
            let x = tx + j * GEMM_THREADS;
            let inside = k0 + ty < n && x0 + x < n;
            *tile_b.add(ty * GEMM_BLOCK + x) = if inside {
                *b.add((k0 + ty) * n + x0 + x)
            } else {
                0.0
            };
        }
        thread::sync_threads();
        for k in 0..GEMM_THREADS {
            let (mut column, mut row) = ([0.0; SUMS], [0.0; SUMS]);
            for i in 0..SUMS {
                column[i] = *tile_a.add((ty + i * GEMM_THREADS) * GEMM_THREADS + k);
                row[i] = *tile_b.add(k * GEMM_BLOCK + tx + i * GEMM_THREADS);
            }
            for j in 0..SUMS {
                for i in 0..SUMS {
                    sums[j][i] += column[j] * row[i];
                }
            }
        }
        thread::sync_threads();
    }
    for j in 0..SUMS {
        for i in 0..SUMS {
            let (x, y) = (x0 + tx + i * GEMM_THREADS, y0 + ty + j * GEMM_THREADS);
            if x < n && y < n {
                *c.add(y * n + x) = sums[j][i];
            }
        }
    }
}
