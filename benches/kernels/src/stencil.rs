//! Stencils: seven-point in three dimensions, five-point in two, and a convolution.

use cuda_std::prelude::*;
use cuda_std::{MatrixView, PerThread2d, PerThread3d};

macro_rules! stencil7 {
    ($ty:ty, $safe:ident $raw:ident) => {
        /// A step of a seven-point stencil. The edge of `to` keeps its values.
        #[kernel(block_size(32, 4, 4))]
        pub fn $safe(from: &[$ty], mut to: PerThread3d<$ty>) {
            let (nx, ny, nz) = (to.width(), to.height(), to.depth());
            to.each(|(x, y, z), to| {
                if x > 0 && x + 1 < nx && y > 0 && y + 1 < ny && z > 0 && z + 1 < nz {
                    let i = (z * ny + y) * nx + x;
                    *to = 0.4 * from[i]
                        + 0.1
                            * (from[i - 1]
                                + from[i + 1]
                                + from[i - nx]
                                + from[i + nx]
                                + from[i - nx * ny]
                                + from[i + nx * ny]);
                }
            });
        }

        /// A step of a seven-point stencil. The edge of `to` keeps its values.
        #[kernel(block_size(32, 4, 4))]
        pub unsafe fn $raw(from: *const $ty, to: *mut $ty, nx: usize, ny: usize, nz: usize) {
            let at = thread::index_3d();
            let (x, y, z) = (at.x as usize, at.y as usize, at.z as usize);
            if x > 0 && x + 1 < nx && y > 0 && y + 1 < ny && z > 0 && z + 1 < nz {
                let from = from.add((z * ny + y) * nx + x);
                *to.add((z * ny + y) * nx + x) = 0.4 * *from
                    + 0.1
                        * (*from.sub(1)
                            + *from.add(1)
                            + *from.sub(nx)
                            + *from.add(nx)
                            + *from.sub(nx * ny)
                            + *from.add(nx * ny));
            }
        }
    };
}
stencil7!(f32, stencil7_f32_safe stencil7_f32_raw);
stencil7!(f64, stencil7_f64_safe stencil7_f64_raw);

/// A step of Jacobi's method for Laplace's equation. The edge of `to` keeps its values.
#[kernel(block_size(32, 8))]
pub fn jacobi_safe(from: &[f64], mut to: PerThread2d<f64>) {
    let (width, height) = (to.width(), to.height());
    let from = &from[..width * height];
    to.each(|(x, y), to| {
        if x > 0 && x + 1 < width && y > 0 && y + 1 < height {
            let i = y * width + x;
            *to = 0.25 * (from[i - 1] + from[i + 1] + from[i - width] + from[i + width]);
        }
    });
}

/// A step of Jacobi's method for Laplace's equation. The edge of `to` keeps its values.
#[kernel(block_size(32, 8))]
pub unsafe fn jacobi_raw(from: *const f64, to: *mut f64, width: usize, height: usize) {
    let at = thread::index_2d();
    let (x, y) = (at.x as usize, at.y as usize);
    if x > 0 && x + 1 < width && y > 0 && y + 1 < height {
        let from = from.add(y * width + x);
        *to.add(y * width + x) =
            0.25 * (*from.sub(1) + *from.add(1) + *from.sub(width) + *from.add(width));
    }
}

/// The number of weights of the convolution along each side.
pub const TAPS: usize = 5;

/// The convolution with a filter of 5×5 weights, with zeros outside the matrix.
#[kernel(block_size(32, 8))]
pub fn convolution_safe(from: &[f32], weights: &[[f32; TAPS]; TAPS], mut to: PerThread2d<f32>) {
    let from = MatrixView::new(from, to.width(), to.height());
    to.each(|(x, y), to| {
        let mut sum = 0.0;
        for (dy, row) in weights.iter().enumerate() {
            for (dx, weight) in row.iter().enumerate() {
                let (x, y) = ((x + dx).wrapping_sub(2), (y + dy).wrapping_sub(2));
                sum += weight * from.get(x, y).unwrap_or(0.0);
            }
        }
        *to = sum;
    });
}

/// The convolution with a filter of 5×5 weights, with zeros outside the matrix.
#[kernel(block_size(32, 8))]
pub unsafe fn convolution_raw(
    from: *const f32,
    weights: *const f32,
    to: *mut f32,
    width: i32,
    height: i32,
) {
    let at = thread::index_2d();
    let (x, y) = (at.x as i32, at.y as i32);
    if x >= width || y >= height {
        return;
    }
    let mut sum = 0.0;
    for dy in 0..TAPS as i32 {
        for dx in 0..TAPS as i32 {
            let (x, y) = (x + dx - 2, y + dy - 2);
            if x >= 0 && x < width && y >= 0 && y < height {
                let weight = *weights.add((dy * TAPS as i32 + dx) as usize);
                sum += weight * *from.add(y as usize * width as usize + x as usize);
            }
        }
    }
    *to.add(y as usize * width as usize + x as usize) = sum;
}
