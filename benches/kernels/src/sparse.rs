//! Sparse matrices: products with vectors in compressed sparse row format (CSR), also of blocks (BSR),
//! and sampled products of dense matrices (SDDMM).

use cuda_std::group::{self, Lanes};
use cuda_std::prelude::*;
use cuda_std::vector::F32x4;
use cuda_std::{PerWarp, warp};

/// One thread per row, for matrices whose rows are short and of similar length.
#[kernel(block_size(256))]
pub fn spmv_banded_safe(
    rows: &[u32],
    columns: &[u32],
    values: &[f64],
    x: &[f64],
    mut y: PerThread<f64>,
) {
    y.each(|row, y| {
        let mut sum = 0.0;
        for i in rows[row] as usize..rows[row + 1] as usize {
            sum += values[i] * x[columns[i] as usize];
        }
        *y = sum;
    });
}

/// One thread per row.
#[kernel(block_size(256))]
pub unsafe fn spmv_banded_raw(
    rows: *const u32,
    columns: *const u32,
    values: *const f64,
    x: *const f64,
    y: *mut f64,
    n: usize,
) {
    let row = thread::index_1d() as usize;
    if row < n {
        let mut sum = 0.0;
        for i in *rows.add(row) as usize..*rows.add(row + 1) as usize {
            sum += *values.add(i) * *x.add(*columns.add(i) as usize);
        }
        *y.add(row) = sum;
    }
}

/// One warp per row, for matrices with some long rows.
#[kernel(block_size(256))]
pub fn spmv_power_law_safe(
    rows: &[u32],
    columns: &[u32],
    values: &[f64],
    x: &[f64],
    mut y: PerWarp<f64>,
) {
    let warp = group::warp();
    let row = thread::index() as usize / 32;
    if row < y.len() {
        let range = rows[row] as usize..rows[row + 1] as usize;
        let (columns, values) = (&columns[range.clone()], &values[range]);
        let mine: f64 = thread::warp_stride(columns.len())
            .map(|i| values[i] * x[columns[i] as usize])
            .sum();
        let sum = warp.reduce(mine, |a, b| a + b);
        y.each(|_, y| *y = sum);
    }
}

/// One warp per row.
#[kernel(block_size(256))]
pub unsafe fn spmv_power_law_raw(
    rows: *const u32,
    columns: *const u32,
    values: *const f64,
    x: *const f64,
    y: *mut f64,
    n: usize,
) {
    let row = thread::index_1d() as usize / 32;
    let lane = thread::lane_id();
    if row < n {
        let mut sum = 0.0;
        let mut i = (*rows.add(row) + lane) as usize;
        let end = *rows.add(row + 1) as usize;
        while i < end {
            sum += *values.add(i) * *x.add(*columns.add(i) as usize);
            i += 32;
        }
        let mut distance = 16;
        while distance > 0 {
            sum += warp::shuffle_down(warp::FULL, sum, distance);
            distance /= 2;
        }
        if lane == 0 {
            *y.add(row) = sum;
        }
    }
}

/// The number of columns of both factors of [`sddmm_safe()`].
pub const DEPTH: usize = 64;

/// The elements of a product of two dense matrices where a sparse matrix in coordinate format (COO)
/// has elements, times these. `b` is transposed. One warp per element.
#[kernel(block_size(256))]
pub fn sddmm_safe(
    rows: &[u32],
    columns: &[u32],
    values: &[f32],
    a: &[[f32; DEPTH]],
    b: &[[f32; DEPTH]],
    mut to: PerWarp<f32>,
) {
    let i = thread::index() as usize / 32;
    if i < to.len() {
        let (a, b) = (&a[rows[i] as usize], &b[columns[i] as usize]);
        let products: f32 = thread::warp_stride(DEPTH).map(|k| a[k] * b[k]).sum();
        let sum = group::warp().reduce(products, |a, b| a + b);
        to.each(|i, to| *to = values[i] * sum);
    }
}

/// The elements of a product of two dense matrices where a sparse matrix has elements: see
/// [`sddmm_safe()`].
#[kernel(block_size(256))]
pub unsafe fn sddmm_raw(
    rows: *const u32,
    columns: *const u32,
    values: *const f32,
    a: *const f32,
    b: *const f32,
    to: *mut f32,
    n: usize,
) {
    let i = thread::index_1d() as usize / 32;
    let lane = thread::lane_id() as usize;
    if i < n {
        let a = a.add(*rows.add(i) as usize * DEPTH);
        let b = b.add(*columns.add(i) as usize * DEPTH);
        let mut sum = 0.0;
        for k in (lane..DEPTH).step_by(32) {
            sum += *a.add(k) * *b.add(k);
        }
        for distance in [16, 8, 4, 2, 1] {
            sum += warp::shuffle_down(warp::FULL, sum, distance);
        }
        if lane == 0 {
            *to.add(i) = *values.add(i) * sum;
        }
    }
}

/// A block of a matrix, as its rows.
pub type Block = [F32x4; 4];

/// Returns the scalar product of two vectors.
#[inline(always)]
fn dot(a: F32x4, b: F32x4) -> f32 {
    a.0.iter().zip(b.0).map(|(a, b)| a * b).sum()
}

/// The product of a matrix of blocks with a vector, one thread per row. `rows` has the first block
/// of each row of blocks.
#[kernel(block_size(256))]
pub fn bsr_spmv_safe(
    rows: &[u32],
    columns: &[u32],
    blocks: &[Block],
    x: &[F32x4],
    mut y: PerThread<f32>,
) {
    y.each(|i, y| {
        let range = rows[i / 4] as usize..rows[i / 4 + 1] as usize;
        let blocks = blocks[range.clone()].iter().zip(&columns[range]);
        *y = blocks
            .map(|(block, &column)| dot(block[i % 4], x[column as usize]))
            .sum();
    });
}

/// The product of a matrix of blocks with a vector, one thread per row: see [`bsr_spmv_safe()`].
#[kernel(block_size(256))]
pub unsafe fn bsr_spmv_raw(
    rows: *const u32,
    columns: *const u32,
    blocks: *const Block,
    x: *const F32x4,
    y: *mut f32,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let mut sum = 0.0;
    for k in *rows.add(i / 4) as usize..*rows.add(i / 4 + 1) as usize {
        let row = (*blocks.add(k))[i % 4];
        sum += dot(row, *x.add(*columns.add(k) as usize));
    }
    *y.add(i) = sum;
}
