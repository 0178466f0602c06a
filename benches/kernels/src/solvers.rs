//! Solvers of many small systems: Cholesky and LU factorizations, tridiagonal systems, and inverses.

use cuda_std::prelude::*;
use cuda_std::shared::{Shared, Tile};
use cuda_std::{PerBlock, PerColumn};

/// The number of rows and columns of a matrix of [`cholesky_safe()`].
pub const ORDER: usize = 16;

/// The lower Cholesky factors of symmetric matrices, one matrix per block and one element per
/// thread. The upper triangles of the factors are zero.
#[kernel(block_size(16, 16))]
pub fn cholesky_safe(
    #[shared] mut shared: Shared<Tile<f64, ORDER, ORDER>>,
    from: &[[f64; ORDER * ORDER]],
    mut to: PerBlock<f64, { ORDER * ORDER }>,
) {
    let (x, y) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    for mut piece in to.pieces() {
        let matrix = &from[piece.start() / (ORDER * ORDER)];
        shared
            .own()
            .each(|(x, y), element| *element = matrix[y * ORDER + x]);
        for k in 0..ORDER {
            shared.own().each(|(x, y), element| {
                if x == k && y == k {
                    *element = element.sqrt();
                }
            });
            let pivot = shared.read(|a| a[k][k]);
            shared.own().each(|(x, y), element| {
                if x == k && y > k {
                    *element /= pivot;
                }
            });
            // Only these threads read: the rows of a column are in the same bank.
            let product = shared.read(|a| {
                let is_left = x > k && y >= x;
                is_left.then(|| a[y][k] * a[x][k])
            });
            shared.own().each(|_, element| {
                if let Some(product) = product {
                    *element -= product;
                }
            });
        }
        let element = shared.read(|a| if x <= y { a[y][x] } else { 0.0 });
        piece.each(|_, to| *to = element);
    }
}

/// The lower Cholesky factors of symmetric matrices: see [`cholesky_safe()`].
#[kernel(block_size(16, 16))]
pub unsafe fn cholesky_raw(from: *const f64, to: *mut f64) {
    let a = shared_array![f64; ORDER * ORDER];
    let (x, y) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    let own = y * ORDER + x;
    let start = thread::block_idx_x() as usize * ORDER * ORDER;
    *a.add(own) = *from.add(start + own);
    thread::sync_threads();
    for k in 0..ORDER {
        if x == k && y == k {
            *a.add(own) = (*a.add(own)).sqrt();
        }
        thread::sync_threads();
        if x == k && y > k {
            *a.add(own) /= *a.add(k * ORDER + k);
        }
        thread::sync_threads();
        if x > k && y >= x {
            *a.add(own) -= *a.add(y * ORDER + k) * *a.add(x * ORDER + k);
        }
        thread::sync_threads();
    }
    *to.add(start + own) = if x <= y { *a.add(own) } else { 0.0 };
}

/// The solutions of tridiagonal systems by Thomas's algorithm, one system per thread. Each system
/// is a column of the matrices: `a`, `b` and `c` are the diagonals below, on and above the main
/// diagonal, and `d` is the right-hand side.
#[kernel(block_size(128))]
pub fn thomas_safe(
    a: &[f32],
    b: &[f32],
    c: &[f32],
    d: &[f32],
    mut scratch: PerColumn<f32>,
    mut to: PerColumn<f32>,
) {
    let systems = to.width();
    for ((system, mut x), (_, mut factors)) in to.own().zip(scratch.own()) {
        let (mut factor, mut value) = (0.0, 0.0);
        for row in 0..x.len() {
            let i = row * systems + system;
            let scale = 1.0 / (b[i] - a[i] * factor);
            factor = c[i] * scale;
            value = (d[i] - a[i] * value) * scale;
            factors[row] = factor;
            x[row] = value;
        }
        for row in (0..x.len()).rev().skip(1) {
            value = x[row] - factors[row] * value;
            x[row] = value;
        }
    }
}

/// The solutions of tridiagonal systems: see [`thomas_safe()`].
#[kernel(block_size(128))]
pub unsafe fn thomas_raw(
    a: *const f32,
    b: *const f32,
    c: *const f32,
    d: *const f32,
    scratch: *mut f32,
    to: *mut f32,
    rows: usize,
    systems: usize,
) {
    let system = thread::index_1d() as usize;
    if system >= systems {
        return;
    }
    let (mut factor, mut value) = (0.0, 0.0);
    for row in 0..rows {
        let i = row * systems + system;
        let scale = 1.0 / (*b.add(i) - *a.add(i) * factor);
        factor = *c.add(i) * scale;
        value = (*d.add(i) - *a.add(i) * value) * scale;
        *scratch.add(i) = factor;
        *to.add(i) = value;
    }
    for row in (0..rows - 1).rev() {
        let i = row * systems + system;
        value = *to.add(i) - *scratch.add(i) * value;
        *to.add(i) = value;
    }
}

/// A square matrix.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<const N: usize>(pub [[f32; N]; N]);

impl<const N: usize> Matrix<N> {
    /// Replaces the matrix by its factors: U, and L without its diagonal of ones.
    #[inline(always)]
    pub fn factor(&mut self) {
        let rows = &mut self.0;
        for k in 0..N {
            let scale = 1.0 / rows[k][k];
            for i in k + 1..N {
                let factor = rows[i][k] * scale;
                rows[i][k] = factor;
                for j in k + 1..N {
                    rows[i][j] -= factor * rows[k][j];
                }
            }
        }
    }
}

/// The number of rows and columns of a matrix of [`lu8x8_safe()`].
pub const SIDE: usize = 8;

/// The LU factors of small matrices without pivoting, one matrix per thread. Column `i` of `from`
/// and `to` has the elements of matrix `i`.
#[kernel(block_size(128))]
pub fn lu8x8_safe(from: &[f32], mut to: PerColumn<f32>) {
    let count = to.width();
    to.each(|i, mut to| {
        let element = |row, column| from[(row * SIDE + column) * count + i];
        let mut matrix = Matrix::<SIDE>(core::array::from_fn(|row| {
            core::array::from_fn(|column| element(row, column))
        }));
        matrix.factor();
        for (to, &element) in to.iter_mut().zip(matrix.0.as_flattened()) {
            *to = element;
        }
    });
}

/// The LU factors of small matrices: see [`lu8x8_safe()`].
#[kernel(block_size(128))]
pub unsafe fn lu8x8_raw(from: *const f32, to: *mut f32, n: usize) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let mut matrix = Matrix([[0.0; SIDE]; SIDE]);
    for row in 0..SIDE {
        for column in 0..SIDE {
            matrix.0[row][column] = *from.add((row * SIDE + column) * n + i);
        }
    }
    matrix.factor();
    for row in 0..SIDE {
        for column in 0..SIDE {
            *to.add((row * SIDE + column) * n + i) = matrix.0[row][column];
        }
    }
}

/// The number of rows and columns of a matrix of [`gauss_jordan_safe()`].
pub const INVERTED: usize = 32;
/// The number of rows of a block of threads, each of which has every eighth row of a column.
const STEP: usize = 8;
/// The number of elements of a thread.
const OWN: usize = INVERTED / STEP;

/// The inverses of matrices by the method of Gauss and Jordan without pivoting, one matrix per block.
#[kernel(block_size(32, 8))]
pub fn gauss_jordan_safe(
    #[shared] mut matrix: Shared<Tile<f32, INVERTED, INVERTED, { INVERTED + 1 }>>,
    from: &[[[f32; INVERTED]; INVERTED]],
    mut to: PerBlock<f32, { INVERTED * INVERTED }>,
) {
    let (column, first) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    for mut inverse in to.pieces() {
        let from = &from[inverse.start() / (INVERTED * INVERTED)];
        matrix.own().each(|(x, y), element| *element = from[y][x]);
        for k in 0..INVERTED {
            let (scaled, factors) = matrix.read(|a| {
                let own = if column == k { 1.0 } else { a[k][column] };
                let factors: [f32; OWN] = core::array::from_fn(|i| a[first + i * STEP][k]);
                (own / a[k][k], factors)
            });
            matrix.own().each(|(x, y), element| {
                if y == k {
                    *element = scaled;
                } else {
                    let old = if x == k { 0.0 } else { *element };
                    *element = old - factors[y / STEP] * scaled;
                }
            });
        }
        matrix.read(|a| {
            let start = inverse.start();
            inverse.each(|i, to| *to = a[(i - start) / INVERTED][i % INVERTED]);
        });
    }
}

/// The inverses of matrices: see [`gauss_jordan_safe()`].
#[kernel(block_size(32, 8))]
pub unsafe fn gauss_jordan_raw(from: *const f32, to: *mut f32) {
    let a = shared_array![[f32; INVERTED + 1]; INVERTED];
    let (x, first) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    let start = thread::block_idx_x() as usize * INVERTED * INVERTED;
    for i in 0..OWN {
        let y = first + i * STEP;
        (*a.add(y))[x] = *from.add(start + y * INVERTED + x);
    }
    thread::sync_threads();
    for k in 0..INVERTED {
        let own = if x == k { 1.0 } else { (*a.add(k))[x] };
        let scaled = own / (*a.add(k))[k];
        let mut factors = [0.0; OWN];
        for i in 0..OWN {
            factors[i] = (*a.add(first + i * STEP))[k];
        }
        thread::sync_threads();
        for i in 0..OWN {
            let y = first + i * STEP;
            let element = &mut (*a.add(y))[x];
            if y == k {
                *element = scaled;
            } else {
                let old = if x == k { 0.0 } else { *element };
                *element = old - factors[i] * scaled;
            }
        }
        thread::sync_threads();
    }
    for i in 0..OWN {
        let y = first + i * STEP;
        *to.add(start + y * INVERTED + x) = (*a.add(y))[x];
    }
}
