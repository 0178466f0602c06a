//! Products of sparse matrices in compressed sparse row format (CSR) and vectors.

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
