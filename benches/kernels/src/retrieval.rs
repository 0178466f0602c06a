//! Retrieval: distances of compressed vectors, and the similarity of rows.

use core::ops::Add;
use cuda_std::group::{self, Lanes};
use cuda_std::prelude::*;
use cuda_std::shared::{Array, Shared};
use cuda_std::{AnyBits, PerWarp, warp};
use cust_core::DeviceCopy;

/// The number of parts of a compressed vector.
pub const PARTS: usize = 16;
/// The number of centroids of a part.
pub const CENTROIDS: usize = 256;

/// A vector compressed by product quantization: the nearest centroid of each part.
#[derive(Clone, Copy, Debug, Default, DeviceCopy)]
#[repr(C, align(16))]
pub struct Code(pub [u8; PARTS]);

/// The distances of compressed vectors to a query, whose parts have the distances in `tables` to
/// each centroid.
#[kernel(block_size(256))]
pub fn pq_distance_safe(
    #[shared] mut shared: Shared<Array<f32, { PARTS * CENTROIDS }>>,
    tables: &[f32; PARTS * CENTROIDS],
    codes: &[Code],
    mut distances: PerThread<f32>,
) {
    shared.own().each(|i, distance| *distance = tables[i]);
    let shared = shared.share();
    let (tables, _) = shared.as_chunks::<CENTROIDS>();
    distances.each_with(codes, |_, distance, code| {
        let parts = code.0.iter().zip(tables);
        *distance = parts.map(|(&part, table)| table[usize::from(part)]).sum();
    });
}

/// The distances of compressed vectors to a query: see [`pq_distance_safe()`].
#[kernel(block_size(256))]
pub unsafe fn pq_distance_raw(
    tables: *const f32,
    codes: *const Code,
    distances: *mut f32,
    n: usize,
) {
    let shared = shared_array![f32; PARTS * CENTROIDS];
    let thread = thread::thread_idx_x() as usize;
    for i in (thread..PARTS * CENTROIDS).step_by(256) {
        *shared.add(i) = *tables.add(i);
    }
    thread::sync_threads();
    let step = thread::grid_dim_x() as usize * 256;
    for i in (thread::index_1d() as usize..n).step_by(step) {
        let code = *codes.add(i);
        let mut sum = 0.0;
        for (part, &centroid) in code.0.iter().enumerate() {
            sum += *shared.add(part * CENTROIDS + centroid as usize);
        }
        *distances.add(i) = sum;
    }
}

/// The sums of products of two rows.
#[derive(Clone, Copy, Debug, Default, AnyBits)]
#[repr(C)]
pub struct Products {
    ab: f32,
    aa: f32,
    bb: f32,
}

impl Products {
    /// Adds the products of two elements.
    #[inline(always)]
    pub fn with(self, a: f32, b: f32) -> Products {
        Products {
            ab: self.ab + a * b,
            aa: self.aa + a * a,
            bb: self.bb + b * b,
        }
    }

    /// Returns the cosine of the angle between the rows.
    #[inline(always)]
    pub fn cosine(self) -> f32 {
        self.ab / (self.aa * self.bb).sqrt().max(1e-8)
    }
}

impl Add for Products {
    type Output = Products;

    #[inline(always)]
    fn add(self, other: Products) -> Products {
        Products {
            ab: self.ab + other.ab,
            aa: self.aa + other.aa,
            bb: self.bb + other.bb,
        }
    }
}

/// The cosine similarity of each row of one matrix with that of another one. A warp has one row.
#[kernel(block_size(256))]
pub fn cosine_rows_safe(a: &[f32], b: &[f32], width: usize, mut to: PerWarp<f32>) {
    let row = thread::index() as usize / 32;
    if row >= to.len() {
        return;
    }
    let (a, b) = (&a[row * width..][..width], &b[row * width..][..width]);
    let products = thread::warp_stride(width)
        .fold(Products::default(), |products, i| products.with(a[i], b[i]));
    let products = group::warp().reduce(products, |a, b| a + b);
    to.each(|_, to| *to = products.cosine());
}

/// The cosine similarity of each row: see [`cosine_rows_safe()`].
#[kernel(block_size(256))]
pub unsafe fn cosine_rows_raw(
    a: *const f32,
    b: *const f32,
    width: usize,
    to: *mut f32,
    rows: usize,
) {
    let row = thread::index_1d() as usize / 32;
    let lane = thread::lane_id() as usize;
    if row >= rows {
        return;
    }
    let (a, b) = (a.add(row * width), b.add(row * width));
    let mut products = Products::default();
    for i in (lane..width).step_by(32) {
        products = products.with(*a.add(i), *b.add(i));
    }
    for distance in [16, 8, 4, 2, 1] {
        products = products + warp::shuffle_xor(warp::FULL, products, distance);
    }
    if lane == 0 {
        *to.add(row) = products.cosine();
    }
}
