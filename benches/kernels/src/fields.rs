//! Fields in physics: quarks on a lattice, the charge density of particles, and electric fields.

use core::ops::{Add, Mul, Sub};
use cuda_std::atomic::{Atomic, Ordering::Relaxed};
use cuda_std::prelude::*;
use cuda_std::scope::Device;
use cuda_std::{PerColumn, PerThread3d};
use cust_core::DeviceCopy;

/// A complex number.
#[derive(Clone, Copy, Debug, Default, PartialEq, DeviceCopy)]
#[repr(C, align(8))]
pub struct Complex {
    /// The real part.
    pub re: f32,
    /// The imaginary part.
    pub im: f32,
}

impl Complex {
    /// Returns the complex conjugate.
    #[inline(always)]
    #[must_use]
    pub fn conjugate(self) -> Complex {
        Complex {
            re: self.re,
            im: -self.im,
        }
    }
}

impl Add for Complex {
    type Output = Complex;

    #[inline(always)]
    fn add(self, other: Complex) -> Complex {
        Complex {
            re: self.re + other.re,
            im: self.im + other.im,
        }
    }
}

impl Sub for Complex {
    type Output = Complex;

    #[inline(always)]
    fn sub(self, other: Complex) -> Complex {
        Complex {
            re: self.re - other.re,
            im: self.im - other.im,
        }
    }
}

impl Mul for Complex {
    type Output = Complex;

    #[inline(always)]
    fn mul(self, other: Complex) -> Complex {
        Complex {
            re: self.re * other.re - self.im * other.im,
            im: self.re * other.im + self.im * other.re,
        }
    }
}

/// The number of colors of a quark.
pub const COLORS: usize = 3;
/// The number of dimensions of the lattice.
pub const DIMENSIONS: usize = 4;

/// Returns the sites after and before a site along a dimension of a periodic lattice. `stride` is
/// the distance between neighbors, and `at` is the site's coordinate.
#[inline(always)]
pub fn neighbors(site: usize, at: usize, size: usize, stride: usize) -> (usize, usize) {
    let around = (size - 1) * stride;
    let after = if at + 1 == size {
        site - around
    } else {
        site + stride
    };
    let before = if at == 0 {
        site + around
    } else {
        site - stride
    };
    (after, before)
}

/// The staggered Dslash operator of lattice quantum chromodynamics without phases: each site
/// collects the quarks of its eight neighbors, multiplied by the 3×3 matrices of the links to them.
/// The rows of `links`, `from` and `to` are the elements of matrices and vectors, and the columns
/// are sites.
#[kernel(block_size(128))]
pub fn dslash_safe(
    links: &[Complex],
    from: &[Complex],
    nx: usize,
    ny: usize,
    nz: usize,
    nt: usize,
    mut to: PerColumn<Complex>,
) {
    let volume = to.width();
    to.each(|site, mut column| {
        let mut sums = [Complex::default(); COLORS];
        let (mut rest, mut stride) = (site, 1);
        for (dimension, size) in [nx, ny, nz, nt].into_iter().enumerate() {
            let (after, before) = neighbors(site, rest % size, size, stride);
            rest /= size;
            stride *= size;
            let link = |row: usize, column: usize, site: usize| {
                links[((dimension * COLORS + row) * COLORS + column) * volume + site]
            };
            for (row, sum) in sums.iter_mut().enumerate() {
                for color in 0..COLORS {
                    let forward = link(row, color, site) * from[color * volume + after];
                    let backward =
                        link(color, row, before).conjugate() * from[color * volume + before];
                    *sum = *sum + forward - backward;
                }
            }
        }
        for (to, sum) in column.iter_mut().zip(sums) {
            *to = sum;
        }
    });
}

/// The staggered Dslash operator: see [`dslash_safe()`].
#[kernel(block_size(128))]
pub unsafe fn dslash_raw(
    links: *const Complex,
    from: *const Complex,
    nx: usize,
    ny: usize,
    nz: usize,
    nt: usize,
    to: *mut Complex,
) {
    let volume = nx * ny * nz * nt;
    let site = thread::index_1d() as usize;
    if site >= volume {
        return;
    }
    let sizes = [nx, ny, nz, nt];
    let mut sums = [Complex::default(); COLORS];
    let (mut rest, mut stride) = (site, 1);
    for dimension in 0..DIMENSIONS {
        let size = sizes[dimension];
        let (after, before) = neighbors(site, rest % size, size, stride);
        rest /= size;
        stride *= size;
        let links = links.add(dimension * COLORS * COLORS * volume);
        for row in 0..COLORS {
            for color in 0..COLORS {
                let link = *links.add((row * COLORS + color) * volume + site);
                let forward = link * *from.add(color * volume + after);
                let link = *links.add((color * COLORS + row) * volume + before);
                let backward = link.conjugate() * *from.add(color * volume + before);
                sums[row] = sums[row] + forward - backward;
            }
        }
    }
    for row in 0..COLORS {
        *to.add(row * volume + site) = sums[row];
    }
}

/// A charged particle.
#[derive(Clone, Copy, Debug, Default, PartialEq, DeviceCopy)]
#[repr(C, align(16))]
pub struct Particle {
    /// The position, in cells.
    pub place: [f32; 3],
    /// The charge.
    pub charge: f32,
}

/// Returns the two grid points around a coordinate of a periodic grid, with their weights.
#[inline(always)]
pub fn shares(at: f32, side: usize) -> [(usize, f32); 2] {
    let low = at as usize;
    let weight = at - low as f32;
    let high = if low + 1 == side { 0 } else { low + 1 };
    [(low, 1.0 - weight), (high, weight)]
}

/// Adds the charge of each particle to the eight grid points around it, in a periodic cube with
/// `side` grid points per dimension.
#[kernel(block_size(256))]
pub fn charge_deposit_safe(particles: &[Particle], side: usize, density: &[Atomic<f32, Device>]) {
    for (_, particle) in thread::elements(particles) {
        let [xs, ys, zs] = particle.place.map(|at| shares(at, side));
        for (z, wz) in zs {
            for (y, wy) in ys {
                for (x, wx) in xs {
                    let charge = particle.charge * wz * wy * wx;
                    density[(z * side + y) * side + x].fetch_add(charge, Relaxed);
                }
            }
        }
    }
}

/// Adds the charge of each particle to the eight grid points around it.
#[kernel(block_size(256))]
pub unsafe fn charge_deposit_raw(
    particles: *const Particle,
    side: usize,
    density: *mut f32,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let particle = *particles.add(i);
    let xs = shares(particle.place[0], side);
    let ys = shares(particle.place[1], side);
    let zs = shares(particle.place[2], side);
    for (z, wz) in zs {
        for (y, wy) in ys {
            for (x, wx) in xs {
                let charge = particle.charge * wz * wy * wx;
                let to = density.add((z * side + y) * side + x);
                Atomic::<f32, Device>::from_ptr(to).fetch_add(charge, Relaxed);
            }
        }
    }
}

/// The factor of the electric field in a step, which conductivity makes less than 1.
pub const DECAY: f32 = 0.98;
/// The factor of the differences of the magnetic field in a step.
pub const CURL: f32 = 0.495;

/// A step of the electric field in Maxwell's equations, by finite differences in the time domain
/// (FDTD) on Yee's lattice. The fields keep their values at the lower faces of the volume.
#[kernel(block_size(32, 8))]
pub fn fdtd3d_safe(
    hx: &[f32],
    hy: &[f32],
    hz: &[f32],
    mut ex: PerThread3d<f32>,
    mut ey: PerThread3d<f32>,
    mut ez: PerThread3d<f32>,
) {
    let (nx, ny) = (ex.width(), ex.height());
    let fields = ex.own().zip(ey.own()).zip(ez.own());
    for ((((x, y, z), ex), (_, ey)), (_, ez)) in fields {
        if x > 0 && y > 0 && z > 0 {
            let i = (z * ny + y) * nx + x;
            let (left, above, below) = (i - 1, i - nx, i - nx * ny);
            *ex = DECAY * *ex + CURL * (hz[i] - hz[above] - hy[i] + hy[below]);
            *ey = DECAY * *ey + CURL * (hx[i] - hx[below] - hz[i] + hz[left]);
            *ez = DECAY * *ez + CURL * (hy[i] - hy[left] - hx[i] + hx[above]);
        }
    }
}

/// A step of the electric field in Maxwell's equations: see [`fdtd3d_safe()`].
#[kernel(block_size(32, 8))]
pub unsafe fn fdtd3d_raw(
    hx: *const f32,
    hy: *const f32,
    hz: *const f32,
    ex: *mut f32,
    ey: *mut f32,
    ez: *mut f32,
    nx: usize,
    ny: usize,
    nz: usize,
) {
    let at = thread::index_3d();
    let (x, y, z) = (at.x as usize, at.y as usize, at.z as usize);
    if x > 0 && x < nx && y > 0 && y < ny && z > 0 && z < nz {
        let i = (z * ny + y) * nx + x;
        let (hx, hy, hz) = (hx.add(i), hy.add(i), hz.add(i));
        let (ex, ey, ez) = (ex.add(i), ey.add(i), ez.add(i));
        let below = nx * ny;
        *ex = DECAY * *ex + CURL * (*hz - *hz.sub(nx) - *hy + *hy.sub(below));
        *ey = DECAY * *ey + CURL * (*hx - *hx.sub(below) - *hz + *hz.sub(1));
        *ez = DECAY * *ez + CURL * (*hy - *hy.sub(1) - *hx + *hx.sub(nx));
    }
}
