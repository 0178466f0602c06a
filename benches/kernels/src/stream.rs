//! The five kernels of BabelStream, with its block size.

use cuda_std::prelude::*;
use cuda_std::{PerBlock, group};

/// The scalar factor of BabelStream.
pub const SCALAR: f64 = 0.4;
/// The number of threads per block.
pub const BLOCK: usize = 1024;

/// `c = a`.
#[kernel(block_size(1024))]
pub fn stream_copy_safe(a: &[f64], mut c: PerThread<f64>) {
    c.each_with(a, |_, c, a| *c = *a);
}

/// `c = a`.
#[kernel(block_size(1024))]
pub unsafe fn stream_copy_raw(a: *const f64, c: *mut f64, n: usize) {
    let i = thread::index_1d() as usize;
    if i < n {
        *c.add(i) = *a.add(i);
    }
}

/// `b = SCALAR * c`.
#[kernel(block_size(1024))]
pub fn stream_mul_safe(c: &[f64], mut b: PerThread<f64>) {
    if let Some((i, b)) = b.first() {
        *b = SCALAR * c[i];
    }
}

/// `b = SCALAR * c`.
#[kernel(block_size(1024))]
pub unsafe fn stream_mul_raw(c: *const f64, b: *mut f64, n: usize) {
    let i = thread::index_1d() as usize;
    if i < n {
        *b.add(i) = SCALAR * *c.add(i);
    }
}

/// `c = a + b`.
#[kernel(block_size(1024))]
pub fn stream_add_safe(a: &[f64], b: &[f64], mut c: PerThread<f64>) {
    for (i, c) in c.own() {
        *c = a[i] + b[i];
    }
}

/// `c = a + b`.
#[kernel(block_size(1024))]
pub unsafe fn stream_add_raw(a: *const f64, b: *const f64, c: *mut f64, n: usize) {
    let i = thread::index_1d() as usize;
    if i < n {
        *c.add(i) = *a.add(i) + *b.add(i);
    }
}

/// `a = b + SCALAR * c`.
#[kernel(block_size(1024))]
pub fn stream_triad_safe(b: &[f64], c: &[f64], mut a: PerThread<f64>) {
    a.each(|i, a| *a = b[i] + SCALAR * c[i]);
}

/// `a = b + SCALAR * c`.
#[kernel(block_size(1024))]
pub unsafe fn stream_triad_raw(b: *const f64, c: *const f64, a: *mut f64, n: usize) {
    let i = thread::index_1d() as usize;
    if i < n {
        *a.add(i) = *b.add(i) + SCALAR * *c.add(i);
    }
}

/// The dot product of two vectors, one partial sum per block.
#[kernel(block_size(1024))]
pub fn stream_dot_safe(a: &[f64], b: &[f64], mut sums: PerBlock<f64>) {
    let mut sum = 0.0;
    for (i, a) in thread::elements(a) {
        sum += a * b[i];
    }
    let sum = group::block().reduce(sum, |a, b| a + b);
    sums.each(|_, to| *to = sum);
}

/// The dot product of two vectors, one partial sum per block.
#[kernel(block_size(1024))]
pub unsafe fn stream_dot_raw(a: *const f64, b: *const f64, sums: *mut f64, n: usize) {
    let shared = shared_array![f64; BLOCK];
    let thread = thread::thread_idx_x() as usize;
    let step = thread::grid_size_1d() as usize;
    let mut i = thread::index_1d() as usize;
    let mut sum = 0.0;
    while i < n {
        sum += *a.add(i) * *b.add(i);
        i += step;
    }
    *shared.add(thread) = sum;
    let mut offset = BLOCK / 2;
    while offset > 0 {
        thread::sync_threads();
        if thread < offset {
            *shared.add(thread) += *shared.add(thread + offset);
        }
        offset /= 2;
    }
    if thread == 0 {
        *sums.add(thread::block_idx_x() as usize) = *shared;
    }
}
