//! Sparse matrices: products with vectors in compressed sparse row format (CSR), and sampled products
//! of dense matrices (SDDMM).

use cuda_std::group::{self, Lanes};
use cuda_std::prelude::*;
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
