//! Lattices: a step of the Ising model, the restriction of a multigrid method, and a bilateral
//! filter.

use cuda_std::prelude::*;
use cuda_std::{PerThread2d, PerThread3d};

/// A step of the Ising model by the method of Metropolis: the spins of one color of a checkerboard,
/// whose opposite edges are connected. Both colors have half of each row. `parity` is that of the
/// rows in which a spin's other neighbor is to the right.
#[kernel(block_size(32, 8))]
pub fn ising_sweep_safe(
    others: &[i8],
    uniforms: &[f32],
    beta: f32,
    parity: u32,
    mut spins: PerThread2d<i8>,
) {
    let (width, height) = (spins.width(), spins.height());
    spins.each(|(x, y), spin| {
        let above = if y == 0 { height - 1 } else { y - 1 };
        let below = if y + 1 == height { 0 } else { y + 1 };
        let left = if x == 0 { width - 1 } else { x - 1 };
        let right = if x + 1 == width { 0 } else { x + 1 };
        let side = if y % 2 == parity as usize {
            right
        } else {
            left
        };
        let sum = others[above * width + x]
            + others[y * width + x]
            + others[below * width + x]
            + others[y * width + side];
        let energy = 2.0 * f32::from(sum * *spin);
        if uniforms[y * width + x] < (-beta * energy).exp() {
            *spin = -*spin;
        }
    });
}

/// A step of the Ising model: see [`ising_sweep_safe()`].
#[kernel(block_size(32, 8))]
pub unsafe fn ising_sweep_raw(
    others: *const i8,
    uniforms: *const f32,
    beta: f32,
    parity: u32,
    spins: *mut i8,
    width: usize,
    height: usize,
) {
    let at = thread::index_2d();
    let (x, y) = (at.x as usize, at.y as usize);
    if x >= width || y >= height {
        return;
    }
    let above = if y == 0 { height - 1 } else { y - 1 };
    let below = if y + 1 == height { 0 } else { y + 1 };
    let left = if x == 0 { width - 1 } else { x - 1 };
    let right = if x + 1 == width { 0 } else { x + 1 };
    let side = if y % 2 == parity as usize {
        right
    } else {
        left
    };
    let sum = *others.add(above * width + x)
        + *others.add(y * width + x)
        + *others.add(below * width + x)
        + *others.add(y * width + side);
    let spin = spins.add(y * width + x);
    let energy = 2.0 * f32::from(sum * *spin);
    if *uniforms.add(y * width + x) < (-beta * energy).exp() {
        *spin = -*spin;
    }
}

/// The weights of three neighbors along a dimension.
pub const WEIGHTS: [f32; 3] = [0.25, 0.5, 0.25];

/// The restriction of a multigrid method with full weighting. The fine grid has `2 n + 1` points
/// along each dimension if the coarse one has `n`.
#[kernel(block_size(32, 4))]
pub fn restrict_3d_safe(fine: &[f32], mut coarse: PerThread3d<f32>) {
    let (width, height) = (2 * coarse.width() + 1, 2 * coarse.height() + 1);
    coarse.each(|(x, y, z), coarse| {
        let mut sum = 0.0;
        for (dz, z_weight) in WEIGHTS.into_iter().enumerate() {
            for (dy, y_weight) in WEIGHTS.into_iter().enumerate() {
                let start = ((2 * z + dz) * height + 2 * y + dy) * width + 2 * x;
                let row = &fine[start..start + 3];
                let terms = row
                    .iter()
                    .zip(WEIGHTS)
                    .map(|(value, weight)| value * weight);
                sum += z_weight * y_weight * terms.sum::<f32>();
            }
        }
        *coarse = sum;
    });
}

/// The restriction of a multigrid method: see [`restrict_3d_safe()`].
#[kernel(block_size(32, 4))]
pub unsafe fn restrict_3d_raw(fine: *const f32, coarse: *mut f32, nx: usize, ny: usize, nz: usize) {
    let at = thread::index_3d();
    let (x, y, z) = (at.x as usize, at.y as usize, at.z as usize);
    if x >= nx || y >= ny || z >= nz {
        return;
    }
    let (width, height) = (2 * nx + 1, 2 * ny + 1);
    let mut sum = 0.0;
    for dz in 0..3 {
        for dy in 0..3 {
            let row = fine.add(((2 * z + dz) * height + 2 * y + dy) * width + 2 * x);
            let mut terms = 0.0;
            for dx in 0..3 {
                terms += *row.add(dx) * WEIGHTS[dx];
            }
            sum += WEIGHTS[dz] * WEIGHTS[dy] * terms;
        }
    }
    *coarse.add((z * ny + y) * nx + x) = sum;
}

/// The distance from the center of a window to its edge.
pub const RADIUS: isize = 3;
/// Half of the reciprocal of the squared scale of distances.
pub const SPACE: f32 = 0.08;
/// Half of the reciprocal of the squared scale of differences.
pub const RANGE: f32 = 12.0;

/// Returns the weight of a pixel at a distance from the center, with a difference from it.
#[inline(always)]
pub fn weight(dx: isize, dy: isize, difference: f32) -> f32 {
    let distance = (dx * dx + dy * dy) as f32;
    (-SPACE * distance - RANGE * difference * difference).exp()
}

/// A filter that keeps edges: averages of neighbors, weighted by distance and difference. Pixels
/// past the edges are the nearest ones within the image.
#[kernel(block_size(32, 8))]
pub fn bilateral_safe(image: &[f32], mut to: PerThread2d<f32>) {
    let (width, height) = (to.width(), to.height());
    to.each(|(x, y), to| {
        let at = |dx: isize, dy: isize| {
            let x = (x as isize + dx).clamp(0, width as isize - 1) as usize;
            let y = (y as isize + dy).clamp(0, height as isize - 1) as usize;
            image[y * width + x]
        };
        let center = at(0, 0);
        let (mut sum, mut total) = (0.0, 0.0);
        for dy in -RADIUS..=RADIUS {
            for dx in -RADIUS..=RADIUS {
                let pixel = at(dx, dy);
                let weight = weight(dx, dy, pixel - center);
                sum += weight * pixel;
                total += weight;
            }
        }
        *to = sum / total;
    });
}

/// A filter that keeps edges: see [`bilateral_safe()`].
#[kernel(block_size(32, 8))]
pub unsafe fn bilateral_raw(image: *const f32, to: *mut f32, width: usize, height: usize) {
    let at = thread::index_2d();
    let (x, y) = (at.x as usize, at.y as usize);
    if x >= width || y >= height {
        return;
    }
    let center = *image.add(y * width + x);
    let (mut sum, mut total) = (0.0, 0.0);
    for dy in -RADIUS..=RADIUS {
        let row = (y as isize + dy).clamp(0, height as isize - 1) as usize;
        for dx in -RADIUS..=RADIUS {
            let column = (x as isize + dx).clamp(0, width as isize - 1) as usize;
            let pixel = *image.add(row * width + column);
            let weight = weight(dx, dy, pixel - center);
            sum += weight * pixel;
            total += weight;
        }
    }
    *to.add(y * width + x) = sum / total;
}
