//! Volumes: interpolated samples, and the cells that a surface crosses.

use crate::images::Vec3;
use cuda_std::PerThread3d;
use cuda_std::prelude::*;

/// A volume of voxels.
#[derive(Clone, Copy, Debug)]
pub struct Volume<'a> {
    voxels: &'a [f32],
    size: [usize; 3],
}

/// Returns the cell of a coordinate and the place in the cell, if there is such a cell.
#[inline(always)]
fn cell(at: f32, size: usize) -> Option<(usize, f32)> {
    let low = at.floor();
    if low < 0.0 || low as usize + 1 >= size {
        return None;
    }
    Some((low as usize, at - low))
}

/// Interpolates two numbers.
#[inline(always)]
fn mix(a: f32, b: f32, t: f32) -> f32 {
    a + (b - a) * t
}

impl<'a> Volume<'a> {
    /// Creates a volume. `voxels` are its planes, one after the other.
    #[inline(always)]
    pub fn new(voxels: &'a [f32], size: [usize; 3]) -> Volume<'a> {
        Volume { voxels, size }
    }

    #[inline(always)]
    fn at(&self, x: usize, y: usize, z: usize) -> f32 {
        let [width, height, _] = self.size;
        self.voxels[(z * height + y) * width + x]
    }

    /// Returns the interpolated value at a point, if the point is in the volume.
    #[inline(always)]
    pub fn sample(&self, point: Vec3) -> Option<f32> {
        let [width, height, depth] = self.size;
        let (x, tx) = cell(point.x, width)?;
        let (y, ty) = cell(point.y, height)?;
        let (z, tz) = cell(point.z, depth)?;
        let row = |y, z| mix(self.at(x, y, z), self.at(x + 1, y, z), tx);
        let plane = |z| mix(row(y, z), row(y + 1, z), ty);
        Some(mix(plane(z), plane(z + 1), tz))
    }
}

/// Samples a volume at points with linear interpolation. Points outside are zero.
#[kernel(block_size(256))]
pub fn volume_sample_safe(
    voxels: &[f32],
    width: usize,
    height: usize,
    depth: usize,
    points: &[Vec3],
    mut to: PerThread<f32>,
) {
    let volume = Volume::new(voxels, [width, height, depth]);
    to.each_with(points, |_, to, &point| {
        *to = volume.sample(point).unwrap_or(0.0);
    });
}

/// Samples a volume at points: see [`volume_sample_safe()`].
#[kernel(block_size(256))]
pub unsafe fn volume_sample_raw(
    voxels: *const f32,
    width: usize,
    height: usize,
    depth: usize,
    points: *const Vec3,
    to: *mut f32,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let point = *points.add(i);
    let mut value = 0.0;
    if let Some((x, tx)) = cell(point.x, width)
        && let Some((y, ty)) = cell(point.y, height)
        && let Some((z, tz)) = cell(point.z, depth)
    {
        let at = voxels.add((z * height + y) * width + x);
        let row = |at: *const f32| mix(*at, *at.add(1), tx);
        let plane = |at: *const f32| mix(row(at), row(at.add(width)), ty);
        value = mix(plane(at), plane(at.add(width * height)), tz);
    }
    *to.add(i) = value;
}

/// The corners of a cell.
pub const CORNERS: [(usize, usize, usize); 8] = [
    (0, 0, 0),
    (1, 0, 0),
    (1, 1, 0),
    (0, 1, 0),
    (0, 0, 1),
    (1, 0, 1),
    (1, 1, 1),
    (0, 1, 1),
];

/// The number of triangles of each cell of a surface: the first step of marching cubes. `counts`
/// has the number for each set of corners below `level`. The field has one more element than there
/// are cells, in each dimension.
#[kernel(block_size(32, 8))]
pub fn marching_cubes_safe(field: &[f32], level: f32, counts: &[u8], mut to: PerThread3d<u8>) {
    let (width, height) = (to.width() + 1, to.height() + 1);
    to.each(|(x, y, z), to| {
        let mut below = 0;
        for (corner, (dx, dy, dz)) in CORNERS.into_iter().enumerate() {
            let value = field[((z + dz) * height + y + dy) * width + x + dx];
            below |= usize::from(value < level) << corner;
        }
        *to = counts[below];
    });
}

/// The number of triangles of each cell of a surface: see [`marching_cubes_safe()`].
#[kernel(block_size(32, 8))]
pub unsafe fn marching_cubes_raw(
    field: *const f32,
    level: f32,
    counts: *const u8,
    to: *mut u8,
    width: usize,
    height: usize,
) {
    let at = thread::index_3d();
    let (x, y, z) = (at.x as usize, at.y as usize, at.z as usize);
    if x >= width || y >= height {
        return;
    }
    let mut below = 0;
    for corner in 0..8 {
        let (dx, dy, dz) = CORNERS[corner];
        let value = *field.add(((z + dz) * (height + 1) + y + dy) * (width + 1) + x + dx);
        if value < level {
            below |= 1 << corner;
        }
    }
    *to.add((z * height + y) * width + x) = *counts.add(below);
}
