//! Linear algebra.

use cuda_std::atomic::{Atomic, Ordering::*};
use cuda_std::copy;
use cuda_std::group::{self, Group, Lanes};
use cuda_std::half::{F16, F16x2};
use cuda_std::matrix::{self, Mma, Multiply, wmma};
use cuda_std::prelude::*;
use cuda_std::scope::Device;
use cuda_std::shared::{Array, Dynamic, Shared, Tile};
use cuda_std::unroll::unroll;
use cuda_std::vector::F32x4;
use cuda_std::{MatrixView, PerThreadChunk, PerTile};
use num_complex::Complex;

/// Rows and columns of the products' tiles.
pub const TILE: usize = 16;

/// `c = a * b` for matrices of any size, of which `a` has `k` columns, by tiles in shared memory.
#[kernel(block_size(16, 16))]
pub fn matmul(
    #[shared] mut tiles: Shared<(Tile<f32, 16, 16>, Tile<f32, 16, 16>)>,
    a: &[f32],
    b: &[f32],
    k: usize,
    mut c: PerTile<f32, 16, 16>,
) {
    let a = MatrixView::new(a, k, c.height());
    let b = MatrixView::new(b, c.width(), k);
    for mut tile in c.tiles() {
        let (x0, y0) = (tile.x(), tile.y());
        let (tx, ty) = (
            thread::thread_idx_x() as usize,
            thread::thread_idx_y() as usize,
        );
        let mut sum = 0.0;
        for k0 in (0..k).step_by(TILE) {
            let (own_a, own_b) = tiles.own();
            own_a.each(|(x, y), e| *e = a.get(k0 + x, y0 + y).unwrap_or(0.0));
            own_b.each(|(x, y), e| *e = b.get(x0 + x, k0 + y).unwrap_or(0.0));
            tiles.read(|(a, b)| {
                for k in 0..TILE {
                    sum += a[ty][k] * b[k][tx];
                }
            });
        }
        tile.each(|_, to| *to = sum);
    }
}

/// `c = a * b` for square matrices whose sides are multiples of the tile's, which the launch chooses by
/// the size of the shared memory.
#[kernel]
pub fn matmul_dynamic(
    #[shared] mut tiles: Shared<Dynamic<f32>>,
    n: usize,
    a: &[f32],
    b: &[f32],
    mut c: cuda_std::PerThread2d<f32>,
) {
    let side = thread::block_dim_x() as usize;
    let (tx, ty) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    let at = thread::index_2d();
    let mut sum = 0.0;
    for k0 in (0..n).step_by(side) {
        tiles.own().each(|i, element| {
            let (x, y) = (i % side, i / side % side);
            *element = match i / (side * side) {
                0 => a[(at.y as usize - ty + y) * n + k0 + x],
                _ => b[(k0 + y) * n + at.x as usize - tx + x],
            };
        });
        sum += tiles.read(|tiles| {
            let (a, b) = tiles.split_at(side * side);
            (0..side)
                .map(|k| a[ty * side + k] * b[k * side + tx])
                .sum::<f32>()
        });
    }
    c.each(|_, to| *to = sum);
}

/// The transpose of a matrix, in shared memory with a column that nobody uses.
#[kernel]
pub fn transpose(
    #[shared] mut shared: Shared<Tile<f32, 32, 32, 33>>,
    from: &[f32],
    mut to: PerTile<f32, 32, 32>,
) {
    let from = MatrixView::new(from, to.height(), to.width());
    for mut tile in to.tiles() {
        let (x0, y0) = (tile.x(), tile.y());
        shared
            .own()
            .each(|(x, y), element| *element = from.get(y0 + x, x0 + y).unwrap_or(0.0));
        shared.read(|rows| tile.each(|(x, y), to| *to = rows[x][y]));
    }
}

/// A sparse matrix times a vector, a thread for each row.
#[kernel]
pub fn spmv(rows: &[u32], columns: &[u32], values: &[f32], x: &[f32], mut y: PerThread<f32>) {
    y.each(|row, y| {
        let range = rows[row] as usize..rows[row + 1] as usize;
        *y = range.map(|i| values[i] * x[columns[i] as usize]).sum();
    });
}

/// A sparse matrix times a vector, a warp for each row.
#[kernel]
pub fn spmv_warps(
    rows: &[u32],
    columns: &[u32],
    values: &[f32],
    x: &[f32],
    y: &[Atomic<f32, Device>],
) {
    let warp = group::warp();
    let row = thread::index() as usize / 32;
    if row + 1 < rows.len() {
        let range = rows[row] as usize + warp.rank() as usize..rows[row + 1] as usize;
        let mine = range
            .step_by(32)
            .map(|i| values[i] * x[columns[i] as usize])
            .sum();
        let sum = warp.reduce(mine, |a: f32, b| a + b);
        if warp.is_first() {
            y[row].store(sum, Relaxed);
        }
    }
}

/// The method of conjugate gradients, all of it in one cooperative launch. The solution starts at zero,
/// and the residual and the direction at the right side. Of `dots`, each step takes two.
#[kernel]
#[allow(clippy::too_many_arguments)]
pub fn conjugate_gradient(
    rows: &[u32],
    columns: &[u32],
    values: &[f32],
    mut x: PerThread<f32>,
    mut r: PerThread<f32>,
    p: &[Atomic<f32, Device>],
    mut product: PerThread<f32>,
    dots: &[Atomic<f32, Device>],
    steps: usize,
) {
    let grid = group::grid();
    let block = group::block();
    let dot = |mine: f32, to: &Atomic<f32, Device>| {
        let sum = block.reduce(mine, |a, b| a + b);
        if block.is_first() {
            to.fetch_add(sum, Relaxed);
        }
        grid.sync();
        to.load(Relaxed)
    };
    let mut mine = 0.0;
    r.each(|_, r| mine += *r * *r);
    let mut rr = dot(mine, &dots[0]);
    for step in 0..steps {
        let mut mine = 0.0;
        product.each(|row, product| {
            let range = rows[row] as usize..rows[row + 1] as usize;
            *product = range
                .map(|i| values[i] * p[columns[i] as usize].load(Relaxed))
                .sum();
            mine += *product * p[row].load(Relaxed);
        });
        let alpha = rr / dot(mine, &dots[2 * step + 1]);
        x.each(|i, x| *x += alpha * p[i].load(Relaxed));
        let mut mine = 0.0;
        let index = thread::UniqueIndex::new();
        if let (Some(r), Some(product)) = (r.get_mut(index), product.get_mut(index)) {
            *r -= alpha * *product;
            mine = *r * *r;
        }
        let new = dot(mine, &dots[2 * step + 2]);
        let beta = new / rr;
        rr = new;
        r.each(|i, r| p[i].store(*r + beta * p[i].load(Relaxed), Relaxed));
        grid.sync();
    }
}

/// A product of 16×16 tiles on tensor cores by `wmma`: a warp for each.
///
/// # Safety
/// All matrices are square with sides of `n`, a multiple of 16.
#[kernel]
pub unsafe fn gemm_wmma(n: u32, a: &[F16], b: &[F16], c: *mut f32) {
    type Tile = wmma::Wmma<16, 16, 16, F16, f32>;
    let (row, column) = (thread::block_idx_y() * 16, thread::block_idx_x() * 16);
    let mut sum = wmma::Accumulator::<Tile>::zero();
    for k in (0..n).step_by(16) {
        // SAFETY: tiles within the matrices.
        sum = unsafe {
            let a =
                wmma::A::<Tile, wmma::RowMajor>::load(a.as_ptr().add((row * n + k) as usize), n);
            let b =
                wmma::B::<Tile, wmma::RowMajor>::load(b.as_ptr().add((k * n + column) as usize), n);
            wmma::Multiply::multiply(a, b, sum)
        };
    }
    // SAFETY: as above.
    unsafe { sum.store(c.add((row * n + column) as usize), n) };
}

/// A product by `mma`: a warp for each tile of 16×8.
#[kernel]
pub fn gemm_mma(n: usize, a: &[F16], b: &[F16], c: &[Atomic<f32, Device>]) {
    type Tile = Mma<16, 8, 8, F16, F16, f32>;
    let (y, x) = (
        thread::block_idx_y() as usize * 16,
        thread::block_idx_x() as usize * 8,
    );
    let mut sum = matrix::Accumulator::<Tile>::zero();
    for k in (0..n).step_by(8) {
        let a = matrix::A::from_fn(|row, column| a[(y + row) * n + k + column]);
        let b = matrix::B::from_fn(|row, column| b[(k + row) * n + x + column]);
        sum = Tile::multiply(a, b, sum);
    }
    sum.for_each(|row, column, value| c[(y + row) * n + x + column].store(value, Relaxed));
}

/// Each block's sums of rows of 64 numbers, of which the next is on its way while one is added.
///
/// # Safety
/// There are `rounds` numbers for each thread of the grid, and blocks have 64 threads.
#[kernel(block_size(64))]
pub unsafe fn pipeline(from: *const f32, rounds: usize, mut to: PerThread<f32>) {
    const STAGES: usize = 3;
    let stages = shared_array![f32; STAGES * 64];
    let (thread, threads) = (thread::index() as usize, thread::grid_size() as usize);
    let own = thread::thread_idx_x() as usize;
    // SAFETY: within both, and a thread reads what it copied itself.
    let sum = unsafe {
        let begin = |round: usize| {
            if round < rounds {
                copy::begin(
                    stages.add(round % STAGES * 64 + own),
                    from.add(round * threads + thread),
                );
            }
            copy::commit();
        };
        begin(0);
        begin(1);
        let mut sum = 0.0;
        for round in 0..rounds {
            begin(round + 2);
            copy::wait::<2>();
            sum += *stages.add(round % STAGES * 64 + own);
        }
        sum
    };
    to.each(|_, to| *to = sum);
}

/// `y = a * x + y`, four numbers in one access.
#[kernel]
pub fn saxpy4(a: f32, x: &[F32x4], mut y: PerThread<F32x4>) {
    y.each_with(x, |_, y, x| *y += a * *x);
}

/// As [`saxpy4()`], over plain floats.
#[kernel]
pub fn saxpy_chunks(a: f32, x: &[f32], mut y: PerThreadChunk<f32, 4>) {
    let add = |start: usize, y: &mut [f32]| {
        for (y, x) in y.iter_mut().zip(&x[start..]) {
            *y += a * x;
        }
    };
    y.each(|start, y| add(start, y), add);
}

/// The sum of the products of halves, two at a time.
#[kernel(block_size(128))]
pub fn dot_halves(
    #[shared] mut sums: Shared<Array<F16x2, 128>>,
    a: &[F16x2],
    b: &[F16x2],
    mut to: PerThread<f32>,
) {
    let mut mine = F16x2::splat(F16::from_f32(0.0));
    for (i, &a) in thread::elements(a) {
        mine = a.mul_add(b[i], mine);
    }
    sums.own().each(|_, sum| *sum = mine);
    let sums = sums.share();
    to.each(|_, to| {
        *to = sums
            .iter()
            .map(|sum| sum.low().to_f32() + sum.high().to_f32())
            .sum()
    });
}

/// The products of complex numbers, and the sum of their absolute values squared.
#[kernel]
pub fn complex_products(
    a: &[Complex<f32>],
    b: &[Complex<f32>],
    mut to: PerThread<Complex<f32>>,
    norm: &Atomic<f32, Device>,
) {
    let mut mine = 0.0;
    to.each_with((a, b), |_, to, (a, b)| {
        *to = a * b.conj();
        mine += to.norm_sqr();
    });
    let sum = group::block().reduce(mine, |a, b| a + b);
    if group::block().is_first() {
        norm.fetch_add(sum, Relaxed);
    }
}

/// The eigenvalues of a symmetric tridiagonal matrix, each by bisection between bounds of all.
#[kernel]
pub fn eigenvalues(diagonal: &[f32], off: &[f32], low: f32, high: f32, mut to: PerThread<f32>) {
    // How many are below: by the signs of the leading minors.
    let below = |x: f32| {
        let mut count = 0;
        let mut minor = 1.0;
        for (i, d) in diagonal.iter().enumerate() {
            let left = if i == 0 {
                0.0
            } else {
                off[i - 1] * off[i - 1] / minor
            };
            minor = d - x - left;
            if minor == 0.0 {
                minor = 1e-20;
            }
            count += usize::from(minor < 0.0);
        }
        count
    };
    to.each(|k, to| {
        let (mut low, mut high) = (low, high);
        for _ in 0..40 {
            let middle = f32::midpoint(low, high);
            if below(middle) > k {
                high = middle;
            } else {
                low = middle;
            }
        }
        *to = f32::midpoint(low, high);
    });
}

/// Inverses of small matrices, one for each thread, with pivots.
#[kernel]
pub fn inverses(from: &[[[f32; 4]; 4]], mut to: PerThread<[[f32; 4]; 4]>) {
    to.each_with(from, |_, to, from| {
        let mut left = *from;
        let mut right =
            core::array::from_fn(|y| core::array::from_fn(|x| f32::from(u8::from(x == y))));
        for column in 0..4 {
            let pivot = (column..4)
                .max_by(|&a, &b| left[a][column].abs().total_cmp(&left[b][column].abs()));
            left.swap(column, pivot.unwrap_or(column));
            right.swap(column, pivot.unwrap_or(column));
            let factor = 1.0 / left[column][column];
            left[column] = left[column].map(|x| x * factor);
            right[column] = right[column].map(|x: f32| x * factor);
            for row in (0..4).filter(|&row| row != column) {
                let factor = left[row][column];
                for x in 0..4 {
                    left[row][x] -= factor * left[column][x];
                    right[row][x] -= factor * right[column][x];
                }
            }
        }
        *to = right;
    });
}

/// A product with 4 by 4 elements in registers for each thread: a block of 8 by 8 threads has a tile of
/// 32 by 32.
#[kernel(block_size(8, 8))]
pub fn matmul_registers(
    #[shared] mut tiles: Shared<(Tile<f32, 8, 32>, Tile<f32, 32, 8>)>,
    n: usize,
    a: &[f32],
    b: &[f32],
    c: &[Atomic<f32, Device>],
) {
    let (x0, y0) = (
        thread::block_idx_x() as usize * 32,
        thread::block_idx_y() as usize * 32,
    );
    let (tx, ty) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    let mut sums = [[0.0f32; 4]; 4];
    for k0 in (0..n).step_by(8) {
        let (own_a, own_b) = tiles.own();
        own_a.each(|(x, y), e| *e = a[(y0 + y) * n + k0 + x]);
        own_b.each(|(x, y), e| *e = b[(k0 + y) * n + x0 + x]);
        tiles.read(|(a, b)| {
            for k in 0..8 {
                let column: [f32; 4] = core::array::from_fn(|i| a[ty * 4 + i][k]);
                let row: [f32; 4] = core::array::from_fn(|i| b[k][tx * 4 + i]);
                unroll::<4>(|i| unroll::<4>(|j| sums[i][j] += column[i] * row[j]));
            }
        });
    }
    unroll::<4>(|y| {
        unroll::<4>(|x| {
            c[(y0 + ty * 4 + y) * n + x0 + tx * 4 + x].store(sums[y][x], Relaxed);
        });
    });
}

/// Scalar products of bytes, four at a time.
#[kernel]
pub fn dot_bytes(a: &[u32], b: &[i32], sum: &Atomic<i32, Device>) {
    let mut mine = 0;
    for (i, &a) in thread::elements(a) {
        mine = cuda_std::intrinsics::integer::dp4a_u32_s32(a, b[i], mine);
    }
    let all = group::block().reduce(mine, |a, b| a + b);
    if group::block().is_first() {
        sum.fetch_add(all, Relaxed);
    }
}

/// A product of bytes on tensor cores: a warp for each tile of 8×8.
#[kernel]
pub fn gemm_bytes(n: usize, a: &[i8], b: &[i8], c: &[Atomic<i32, Device>]) {
    type Tile = Mma<8, 8, 16, i8, i8, i32>;
    let (y, x) = (
        thread::block_idx_y() as usize * 8,
        thread::block_idx_x() as usize * 8,
    );
    let mut sum = matrix::Accumulator::<Tile>::zero();
    for k in (0..n).step_by(16) {
        let a = matrix::A::from_fn(|row, column| a[(y + row) * n + k + column]);
        let b = matrix::B::from_fn(|row, column| b[(k + row) * n + x + column]);
        sum = Tile::multiply(a, b, sum);
    }
    sum.for_each(|row, column, value| c[(y + row) * n + x + column].store(value, Relaxed));
}

/// A step of an LU decomposition of a matrix without pivots: below and to the right of a column.
#[kernel]
pub fn eliminate(n: usize, column: usize, matrix: &[Atomic<f32, Device>]) {
    let at = |y: usize, x: usize| &matrix[y * n + x];
    let row = column + 1 + thread::index_1d() as usize;
    if row < n {
        let factor = at(row, column).load(Relaxed) / at(column, column).load(Relaxed);
        at(row, column).store(factor, Relaxed);
        for x in column + 1..n {
            let value = at(row, x).load(Relaxed) - factor * at(column, x).load(Relaxed);
            at(row, x).store(value, Relaxed);
        }
    }
}
