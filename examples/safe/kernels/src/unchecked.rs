//! The unchecked versions, with raw pointers and explicit barriers.

// The whole body of each is unsafe: the caller must ensure the sizes that the safe version
// checks.
#![allow(unsafe_op_in_unsafe_fn, clippy::missing_safety_doc)]

use crate::{PRODUCT, REDUCTION, STENCIL, TILE};
use cuda_std::prelude::*;
use cuda_std::warp;

/// The sum of two vectors.
#[kernel(block_size(256), min_blocks = 8)]
pub unsafe fn vecadd_unchecked(a: &[f32], b: &[f32], sum: *mut f32, n: usize) {
    let step = thread::grid_size_1d() as usize;
    let mut i = thread::index_1d() as usize;
    while i < n {
        *sum.add(i) = *a.get_unchecked(i) + *b.get_unchecked(i);
        i += step;
    }
}

/// The transpose of a matrix.
#[kernel(block_size(32, 8), min_blocks = 4)]
pub unsafe fn transpose_unchecked(from: &[f32], to: *mut f32, width: usize, height: usize) {
    let shared = shared_array![f32; TILE * 33];
    let (thread_x, thread_y) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    let threads_y = thread::block_dim_y() as usize;
    let mut y0 = thread::block_idx_y() as usize * TILE;
    while y0 < height {
        let mut x0 = thread::block_idx_x() as usize * TILE;
        while x0 < width {
            let mut y = thread_y;
            while y < TILE {
                if x0 + y < width && y0 + thread_x < height {
                    *shared.add(y * 33 + thread_x) =
                        *from.get_unchecked((x0 + y) * height + (y0 + thread_x));
                }
                y += threads_y;
            }
            thread::sync_threads();
            let mut y = thread_y;
            while y < TILE {
                if x0 + thread_x < width && y0 + y < height {
                    *to.add((y0 + y) * width + x0 + thread_x) = *shared.add(thread_x * 33 + y);
                }
                y += threads_y;
            }
            thread::sync_threads();
            x0 += thread::grid_dim_x() as usize * TILE;
        }
        y0 += thread::grid_dim_y() as usize * TILE;
    }
}

/// The mean of each element and its neighbors.
#[kernel(block_size(256), min_blocks = 4)]
pub unsafe fn stencil_unchecked(from: &[f32], to: *mut f32) {
    let n = from.len();
    let shared = shared_array![f32; STENCIL + 2];
    let (thread, threads) = (
        thread::thread_idx_x() as usize,
        thread::block_dim_x() as usize,
    );
    let mut start = thread::block_idx_x() as usize * STENCIL;
    while start < n {
        let mut i = thread;
        while i < STENCIL + 2 {
            *shared.add(i) = *from.get_unchecked((start + i).saturating_sub(1).min(n - 1));
            i += threads;
        }
        thread::sync_threads();
        let mut i = thread;
        while i < STENCIL && start + i < n {
            *to.add(start + i) = (*shared.add(i) + *shared.add(i + 1) + *shared.add(i + 2)) / 3.0;
            i += threads;
        }
        thread::sync_threads();
        start += thread::grid_dim_x() as usize * STENCIL;
    }
}

/// The sum of each block's part.
#[kernel(block_size(256), min_blocks = 8)]
pub unsafe fn reduction_unchecked(from: &[f32], to: *mut f32) {
    let shared = shared_array![f32; REDUCTION / 32];
    let step = thread::grid_size_1d() as usize;
    let mut i = thread::index_1d() as usize;
    let mut sum = 0.0f32;
    while i < from.len() {
        sum += *from.get_unchecked(i);
        i += step;
    }
    let mut distance = 1;
    while distance < 32 {
        sum += warp::shuffle_down(warp::FULL, sum, distance);
        distance *= 2;
    }
    let thread = thread::thread_idx_x() as usize;
    if thread % 32 == 0 {
        *shared.add(thread / 32) = sum;
    }
    thread::sync_threads();
    if thread == 0 {
        let mut all = *shared;
        for i in 1..REDUCTION / 32 {
            all += *shared.add(i);
        }
        *to.add(thread::block_idx_x() as usize) = all;
    }
}

/// The product of two square matrices.
#[kernel(block_size(16, 16), min_blocks = 5)]
pub unsafe fn product_unchecked(a: &[f32], b: &[f32], to: *mut f32, n: usize) {
    let tile_a = shared_array![f32; PRODUCT * PRODUCT];
    let tile_b = shared_array![f32; PRODUCT * PRODUCT];
    let (x, y) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    let (column, row) = (
        thread::block_idx_x() as usize * PRODUCT + x,
        thread::block_idx_y() as usize * PRODUCT + y,
    );
    let mut sum = 0.0f32;
    let mut k0 = 0;
    while k0 < n {
        let at = y * PRODUCT + x;
        *tile_a.add(at) = match row < n && k0 + x < n {
            true => *a.get_unchecked(row * n + k0 + x),
            false => 0.0,
        };
        *tile_b.add(at) = match k0 + y < n && column < n {
            true => *b.get_unchecked((k0 + y) * n + column),
            false => 0.0,
        };
        thread::sync_threads();
        for k in 0..PRODUCT {
            sum += *tile_a.add(y * PRODUCT + k) * *tile_b.add(k * PRODUCT + x);
        }
        thread::sync_threads();
        k0 += PRODUCT;
    }
    if row < n && column < n {
        *to.add(row * n + column) = sum;
    }
}
