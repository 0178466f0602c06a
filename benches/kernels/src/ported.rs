//! Kernels after those of other suites of benchmarks (Parboil, PolyBench, Rodinia), in the style of
//! a first port: grids, statistics, samples of k-space, cells, and particles.

use core::f32::consts::PI;
use cuda_std::atomic::{Atomic, Ordering::Relaxed};
use cuda_std::prelude::*;
use cuda_std::scope::{Block, Device};
use cuda_std::shared::{Array, Shared};
use cuda_std::{PerThread2d, PerThread3d};
use cust_core::DeviceCopy;

/// A step of heat conduction in a chip: Rodinia's hotspot3D. Cells past the edges are the nearest
/// ones within the chip.
#[kernel(block_size(64, 4))]
pub fn hotspot3d_safe(
    temp: &[f32],
    power: &[f32],
    cc: f32,
    cn: f32,
    ct: f32,
    ambient: f32,
    mut to: PerThread3d<f32>,
) {
    let (nx, ny, nz) = (to.width(), to.height(), to.depth());
    to.each(|(x, y, z), to| {
        let at = |x: usize, y: usize, z: usize| temp[(z * ny + y) * nx + x];
        let c = (z * ny + y) * nx + x;
        let w = at(x.saturating_sub(1), y, z);
        let e = at((x + 1).min(nx - 1), y, z);
        let n = at(x, y.saturating_sub(1), z);
        let s = at(x, (y + 1).min(ny - 1), z);
        let b = at(x, y, z.saturating_sub(1));
        let t = at(x, y, (z + 1).min(nz - 1));
        *to = cc * temp[c] + cn * (n + s + e + w) + ct * (t + b) + ct * ambient + power[c] * 0.1;
    });
}

/// A step of heat conduction in a chip: see [`hotspot3d_safe()`].
#[kernel(block_size(64, 4))]
pub unsafe fn hotspot3d_raw(
    temp: *const f32,
    power: *const f32,
    cc: f32,
    cn: f32,
    ct: f32,
    ambient: f32,
    to: *mut f32,
    nx: usize,
    ny: usize,
    nz: usize,
) {
    let at = thread::index_3d();
    let (x, y, z) = (at.x as usize, at.y as usize, at.z as usize);
    if x >= nx || y >= ny || z >= nz {
        return;
    }
    let at = |x: usize, y: usize, z: usize| *temp.add((z * ny + y) * nx + x);
    let c = (z * ny + y) * nx + x;
    let w = at(x.saturating_sub(1), y, z);
    let e = at((x + 1).min(nx - 1), y, z);
    let n = at(x, y.saturating_sub(1), z);
    let s = at(x, (y + 1).min(ny - 1), z);
    let b = at(x, y, z.saturating_sub(1));
    let t = at(x, y, (z + 1).min(nz - 1));
    *to.add(c) = cc * *temp.add(c)
        + cn * (n + s + e + w)
        + ct * (t + b)
        + ct * ambient
        + *power.add(c) * 0.1;
}

/// The diffusion coefficients of an image with speckles: the first kernel of Rodinia's srad.
#[kernel(block_size(32, 8))]
pub fn srad_safe(image: &[f32], q0: f32, mut to: PerThread2d<f32>) {
    let (width, height) = (to.width(), to.height());
    to.each(|(x, y), to| {
        let j = image[y * width + x];
        let up = if y == 0 { 0 } else { y - 1 };
        let down = if y == height - 1 { height - 1 } else { y + 1 };
        let left = if x == 0 { 0 } else { x - 1 };
        let right = if x == width - 1 { width - 1 } else { x + 1 };
        let dn = image[up * width + x] - j;
        let ds = image[down * width + x] - j;
        let dw = image[y * width + left] - j;
        let de = image[y * width + right] - j;
        let g2 = (dn * dn + ds * ds + dw * dw + de * de) / (j * j);
        let l = (dn + ds + dw + de) / j;
        let num = 0.5 * g2 - 1.0 / 16.0 * (l * l);
        let den = 1.0 + 0.25 * l;
        let q = num / (den * den);
        let den = (q - q0) / (q0 * (1.0 + q0));
        *to = (1.0 / (1.0 + den)).clamp(0.0, 1.0);
    });
}

/// The diffusion coefficients of an image: see [`srad_safe()`].
#[kernel(block_size(32, 8))]
pub unsafe fn srad_raw(image: *const f32, q0: f32, to: *mut f32, width: usize, height: usize) {
    let at = thread::index_2d();
    let (x, y) = (at.x as usize, at.y as usize);
    if x >= width || y >= height {
        return;
    }
    let j = *image.add(y * width + x);
    let up = if y == 0 { 0 } else { y - 1 };
    let down = if y == height - 1 { height - 1 } else { y + 1 };
    let left = if x == 0 { 0 } else { x - 1 };
    let right = if x == width - 1 { width - 1 } else { x + 1 };
    let dn = *image.add(up * width + x) - j;
    let ds = *image.add(down * width + x) - j;
    let dw = *image.add(y * width + left) - j;
    let de = *image.add(y * width + right) - j;
    let g2 = (dn * dn + ds * ds + dw * dw + de * de) / (j * j);
    let l = (dn + ds + dw + de) / j;
    let num = 0.5 * g2 - 1.0 / 16.0 * (l * l);
    let den = 1.0 + 0.25 * l;
    let q = num / (den * den);
    let den = (q - q0) / (q0 * (1.0 + q0));
    *to.add(y * width + x) = (1.0 / (1.0 + den)).clamp(0.0, 1.0);
}

/// The covariance matrix of the columns of `data`, one element per thread, as in PolyBench.
#[kernel(block_size(32, 8))]
pub fn covariance_safe(data: &[f32], means: &[f32], rows: usize, mut to: PerThread2d<f32>) {
    let m = to.width();
    to.each(|(x, y), to| {
        let mut sum = 0.0;
        for i in 0..rows {
            sum += (data[i * m + x] - means[x]) * (data[i * m + y] - means[y]);
        }
        *to = sum / (rows as f32 - 1.0);
    });
}

/// The covariance matrix of columns: see [`covariance_safe()`].
#[kernel(block_size(32, 8))]
pub unsafe fn covariance_raw(
    data: *const f32,
    means: *const f32,
    rows: usize,
    to: *mut f32,
    m: usize,
) {
    let at = thread::index_2d();
    let (x, y) = (at.x as usize, at.y as usize);
    if x >= m || y >= m {
        return;
    }
    let mut sum = 0.0;
    for i in 0..rows {
        sum += (*data.add(i * m + x) - *means.add(x)) * (*data.add(i * m + y) - *means.add(y));
    }
    *to.add(y * m + x) = sum / (rows as f32 - 1.0);
}

/// A sample of k-space.
#[derive(Clone, Copy, Debug, Default, PartialEq, DeviceCopy)]
#[repr(C)]
pub struct Sample {
    /// The first coordinate.
    pub kx: f32,
    /// The second coordinate.
    pub ky: f32,
    /// The third coordinate.
    pub kz: f32,
    /// The squared magnitude.
    pub phi: f32,
}

/// The matrix Q of the reconstruction of images from samples in k-space: Parboil's mri-q.
#[kernel(block_size(256))]
pub fn mriq_safe(
    xs: &[f32],
    ys: &[f32],
    zs: &[f32],
    samples: &[Sample],
    mut real: PerThread<f32>,
    mut imag: PerThread<f32>,
) {
    for ((i, real), (_, imag)) in real.own().zip(imag.own()) {
        let (x, y, z) = (xs[i], ys[i], zs[i]);
        let (mut re, mut im) = (0.0, 0.0);
        for s in samples {
            let arg = 2.0 * PI * (s.kx * x + s.ky * y + s.kz * z);
            re += s.phi * arg.cos();
            im += s.phi * arg.sin();
        }
        *real = re;
        *imag = im;
    }
}

/// The matrix Q of the reconstruction of images: see [`mriq_safe()`].
#[kernel(block_size(256))]
pub unsafe fn mriq_raw(
    xs: *const f32,
    ys: *const f32,
    zs: *const f32,
    samples: *const Sample,
    count: usize,
    real: *mut f32,
    imag: *mut f32,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let (x, y, z) = (*xs.add(i), *ys.add(i), *zs.add(i));
    let (mut re, mut im) = (0.0, 0.0);
    for k in 0..count {
        let s = *samples.add(k);
        let arg = 2.0 * PI * (s.kx * x + s.ky * y + s.kz * z);
        re += s.phi * arg.cos();
        im += s.phi * arg.sin();
    }
    *real.add(i) = re;
    *imag.add(i) = im;
}

/// The number of bins of the histogram of angles.
pub const ANGLES: usize = 32;

/// The number of pairs of points by the cosine of their angle, from `bounds` in descending order:
/// Parboil's tpacf.
#[kernel(block_size(256))]
pub fn tpacf_safe(
    #[shared] mut counts: Shared<Array<Atomic<u32, Block>, ANGLES>>,
    points: &[[f32; 3]],
    others: &[[f32; 3]],
    bounds: &[f32; ANGLES],
    to: &[Atomic<u32, Device>],
) {
    counts.own().each(|_, count| *count.get_mut() = 0);
    counts.read(|counts| {
        for (_, p) in thread::elements(points) {
            for q in others {
                let dot = p[0] * q[0] + p[1] * q[1] + p[2] * q[2];
                let (mut low, mut high) = (0, ANGLES - 1);
                while low < high {
                    let middle = (low + high) / 2;
                    if dot >= bounds[middle] {
                        high = middle
                    } else {
                        low = middle + 1
                    }
                }
                counts[low].fetch_add(1, Relaxed);
            }
        }
    });
    counts.own().each(|i, count| {
        to[i].fetch_add(*count.get_mut(), Relaxed);
    });
}

/// The number of pairs of points by the cosine of their angle: see [`tpacf_safe()`].
#[kernel(block_size(256))]
pub unsafe fn tpacf_raw(
    points: *const [f32; 3],
    n: usize,
    others: *const [f32; 3],
    m: usize,
    bounds: *const f32,
    to: *mut u32,
) {
    let counts = shared_array![u32; ANGLES];
    let thread = thread::thread_idx_x() as usize;
    if thread < ANGLES {
        *counts.add(thread) = 0;
    }
    thread::sync_threads();
    let step = thread::grid_size_1d() as usize;
    let mut i = thread::index_1d() as usize;
    while i < n {
        let p = *points.add(i);
        for j in 0..m {
            let q = *others.add(j);
            let dot = p[0] * q[0] + p[1] * q[1] + p[2] * q[2];
            let (mut low, mut high) = (0, ANGLES - 1);
            while low < high {
                let middle = (low + high) / 2;
                if dot >= *bounds.add(middle) {
                    high = middle
                } else {
                    low = middle + 1
                }
            }
            Atomic::<u32, Block>::from_ptr(counts.add(low)).fetch_add(1, Relaxed);
        }
        i += step;
    }
    thread::sync_threads();
    if thread < ANGLES {
        Atomic::<u32, Device>::from_ptr(to.add(thread)).fetch_add(*counts.add(thread), Relaxed);
    }
}

/// The flux of each cell from its four neighbors, after Rodinia's cfd. A neighbor of -1 is a wall,
/// one of -2 is the far field. The variables and the normals are columns of `cells` elements.
#[kernel(block_size(128))]
pub fn cfd_safe(
    neighbors: &[i32],
    normals: &[f32],
    vars: &[f32],
    cells: usize,
    mut to: PerThread<[f32; 2]>,
) {
    to.each(|i, to| {
        let (rho, mx, my, e) = (
            vars[i],
            vars[cells + i],
            vars[2 * cells + i],
            vars[3 * cells + i],
        );
        let p = 0.4 * (e - 0.5 * (mx * mx + my * my) / rho);
        let (mut f0, mut f1) = (0.0, 0.0);
        for k in 0..4 {
            let (nx, ny) = (normals[2 * k * cells + i], normals[(2 * k + 1) * cells + i]);
            let j = neighbors[k * cells + i];
            if j >= 0 {
                let j = j as usize;
                let (rho_j, mx_j, my_j, e_j) = (
                    vars[j],
                    vars[cells + j],
                    vars[2 * cells + j],
                    vars[3 * cells + j],
                );
                let p_j = 0.4 * (e_j - 0.5 * (mx_j * mx_j + my_j * my_j) / rho_j);
                f0 += nx * (mx + mx_j) + ny * (my + my_j) - 0.2 * (rho - rho_j);
                f1 += (nx + ny) * (p + p_j);
            } else if j == -1 {
                f1 += nx * p;
            } else {
                f0 += nx * mx + ny * my;
            }
        }
        *to = [f0, f1];
    });
}

/// The flux of each cell from its four neighbors: see [`cfd_safe()`].
#[kernel(block_size(128))]
pub unsafe fn cfd_raw(
    neighbors: *const i32,
    normals: *const f32,
    vars: *const f32,
    cells: usize,
    to: *mut [f32; 2],
) {
    let i = thread::index_1d() as usize;
    if i >= cells {
        return;
    }
    let (rho, mx, my, e) = (
        *vars.add(i),
        *vars.add(cells + i),
        *vars.add(2 * cells + i),
        *vars.add(3 * cells + i),
    );
    let p = 0.4 * (e - 0.5 * (mx * mx + my * my) / rho);
    let (mut f0, mut f1) = (0.0, 0.0);
    for k in 0..4 {
        let (nx, ny) = (
            *normals.add(2 * k * cells + i),
            *normals.add((2 * k + 1) * cells + i),
        );
        let j = *neighbors.add(k * cells + i);
        if j >= 0 {
            let j = j as usize;
            let (rho_j, mx_j, my_j, e_j) = (
                *vars.add(j),
                *vars.add(cells + j),
                *vars.add(2 * cells + j),
                *vars.add(3 * cells + j),
            );
            let p_j = 0.4 * (e_j - 0.5 * (mx_j * mx_j + my_j * my_j) / rho_j);
            f0 += nx * (mx + mx_j) + ny * (my + my_j) - 0.2 * (rho - rho_j);
            f1 += (nx + ny) * (p + p_j);
        } else if j == -1 {
            f1 += nx * p;
        } else {
            f0 += nx * mx + ny * my;
        }
    }
    *to.add(i) = [f0, f1];
}

/// The particles that a particle filter draws: for each number in `u`, the first particle whose
/// cumulative probability is at least that number, as in Rodinia's particlefilter.
#[kernel(block_size(128))]
pub fn resample_safe(cdf: &[f32], u: &[f32], xs: &[f32], ys: &[f32], mut to: PerThread<[f32; 2]>) {
    to.each_with(u, |_, to, &u| {
        let index = cdf.iter().position(|&c| c >= u).unwrap_or(cdf.len() - 1);
        *to = [xs[index], ys[index]];
    });
}

/// The particles that a particle filter draws: see [`resample_safe()`].
#[kernel(block_size(128))]
pub unsafe fn resample_raw(
    cdf: *const f32,
    count: usize,
    u: *const f32,
    xs: *const f32,
    ys: *const f32,
    to: *mut [f32; 2],
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let u = *u.add(i);
    let mut index = count - 1;
    for k in 0..count {
        if *cdf.add(k) >= u {
            index = k;
            break;
        }
    }
    *to.add(i) = [*xs.add(index), *ys.add(index)];
}

/// The gain of each point if it moves to a new center: Rodinia's streamcluster. The coordinates are
/// columns.
#[kernel(block_size(256))]
pub fn cluster_safe(
    coords: &[f32],
    weights: &[f32],
    center: &[f32],
    costs: &[f32],
    mut to: PerThread<f32>,
) {
    let n = to.len();
    to.each(|i, to| {
        let distance: f32 = center
            .iter()
            .enumerate()
            .map(|(d, c)| (coords[d * n + i] - c).powi(2))
            .sum();
        *to = (distance * weights[i] - costs[i]).min(0.0);
    });
}

/// The gain of each point if it moves to a new center: see [`cluster_safe()`].
#[kernel(block_size(256))]
pub unsafe fn cluster_raw(
    coords: *const f32,
    weights: *const f32,
    center: *const f32,
    dims: usize,
    costs: *const f32,
    to: *mut f32,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let mut distance = 0.0;
    for d in 0..dims {
        let x = *coords.add(d * n + i) - *center.add(d);
        distance += x * x;
    }
    *to.add(i) = (distance * *weights.add(i) - *costs.add(i)).min(0.0);
}
