//! Images of bytes, and a ray tracer.

use cuda_std::prelude::*;
use cuda_std::shared::{Shared, Tile};
use cuda_std::{PerThread2d, PerTile};
use cust_core::DeviceCopy;

/// Returns the brightness of a color.
#[inline(always)]
pub fn gray([r, g, b]: [u8; 3]) -> u8 {
    ((77 * u32::from(r) + 150 * u32::from(g) + 29 * u32::from(b)) >> 8) as u8
}

/// The brightness of each pixel.
#[kernel(block_size(256))]
pub fn rgb_to_gray_safe(from: &[[u8; 3]], mut to: PerThread<u8>) {
    to.each_with(from, |_, to, pixel| *to = gray(*pixel));
}

/// The brightness of each pixel.
#[kernel(block_size(256))]
pub unsafe fn rgb_to_gray_raw(from: *const [u8; 3], to: *mut u8, n: usize) {
    let i = thread::index_1d() as usize;
    if i < n {
        *to.add(i) = gray(*from.add(i));
    }
}

/// The radius of the blur.
pub const RADIUS: usize = 4;
/// The number of weights of the blur.
pub const TAPS: usize = 2 * RADIUS + 1;
/// The weights of the blur, in 256ths.
pub const WEIGHTS: [u32; TAPS] = [1, 8, 28, 56, 70, 56, 28, 8, 1];

/// A Gaussian blur along the rows, through shared memory. Pixels of the edge are repeated.
#[kernel(block_size(32, 8))]
pub fn blur_rows_safe(
    #[shared] mut shared: Shared<Tile<u8, { 32 + 2 * RADIUS }, 8>>,
    from: &[u8],
    mut to: PerTile<u8, 32, 8>,
) {
    let (width, height) = (to.width(), to.height());
    for mut tile in to.tiles() {
        let (x0, y0) = (tile.x(), tile.y());
        shared.own().each(|(x, y), pixel| {
            let x = (x0 + x).saturating_sub(RADIUS).min(width - 1);
            let y = (y0 + y).min(height - 1);
            *pixel = from[y * width + x];
        });
        shared.read(|rows| {
            tile.each(|(x, y), to| {
                let pixels = rows[y][x..].iter();
                let sum: u32 = pixels.zip(WEIGHTS).map(|(&p, w)| w * u32::from(p)).sum();
                *to = (sum / 256) as u8;
            });
        });
    }
}

/// A Gaussian blur along the rows, through shared memory.
#[kernel(block_size(32, 8))]
pub unsafe fn blur_rows_raw(from: *const u8, to: *mut u8, width: i32, height: i32) {
    const PITCH: usize = 32 + 2 * RADIUS;
    let shared = shared_array![u8; PITCH * 8];
    let (tx, ty) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    let x0 = thread::block_idx_x() as i32 * 32;
    let y = thread::block_idx_y() as i32 * 8 + ty as i32;
    let mut i = tx;
    while i < PITCH {
        let x = (x0 + i as i32 - RADIUS as i32).max(0).min(width - 1);
        let y = y.min(height - 1);
        *shared.add(ty * PITCH + i) = *from.add(y as usize * width as usize + x as usize);
        i += 32;
    }
    thread::sync_threads();
    let x = x0 + tx as i32;
    if x < width && y < height {
        let mut sum = 0;
        for d in 0..TAPS {
            sum += WEIGHTS[d] * u32::from(*shared.add(ty * PITCH + tx + d));
        }
        *to.add(y as usize * width as usize + x as usize) = (sum / 256) as u8;
    }
}

/// A Gaussian blur along the columns. Pixels of the edge are repeated.
#[kernel(block_size(32, 8))]
pub fn blur_columns_safe(from: &[u8], mut to: PerThread2d<u8>) {
    let (width, height) = (to.width(), to.height());
    to.each(|(x, y), to| {
        let mut sum = 0;
        for (d, weight) in WEIGHTS.iter().enumerate() {
            let row = (y + d).saturating_sub(RADIUS).min(height - 1);
            sum += weight * u32::from(from[row * width + x]);
        }
        *to = (sum / 256) as u8;
    });
}

/// A Gaussian blur along the columns.
#[kernel(block_size(32, 8))]
pub unsafe fn blur_columns_raw(from: *const u8, to: *mut u8, width: i32, height: i32) {
    let at = thread::index_2d();
    let (x, y) = (at.x as i32, at.y as i32);
    if x < width && y < height {
        let mut sum = 0;
        for d in 0..TAPS {
            let row = (y + d as i32 - RADIUS as i32).max(0).min(height - 1);
            sum += WEIGHTS[d] * u32::from(*from.add(row as usize * width as usize + x as usize));
        }
        *to.add(y as usize * width as usize + x as usize) = (sum / 256) as u8;
    }
}

/// A vector in space.
#[derive(Clone, Copy, Debug, Default, PartialEq, DeviceCopy)]
#[repr(C)]
pub struct Vec3 {
    /// The first coordinate.
    pub x: f32,
    /// The second coordinate.
    pub y: f32,
    /// The third coordinate.
    pub z: f32,
}

impl Vec3 {
    /// Creates a vector.
    #[inline(always)]
    pub fn new(x: f32, y: f32, z: f32) -> Vec3 {
        Vec3 { x, y, z }
    }

    /// Returns the scalar product.
    #[inline(always)]
    pub fn dot(self, other: Vec3) -> f32 {
        self.x * other.x + self.y * other.y + self.z * other.z
    }

    /// Returns the vector of length 1 in the same direction.
    #[inline(always)]
    pub fn normalized(self) -> Vec3 {
        self * (1.0 / self.dot(self).sqrt())
    }
}

impl core::ops::Add for Vec3 {
    type Output = Vec3;

    #[inline(always)]
    fn add(self, other: Vec3) -> Vec3 {
        Vec3::new(self.x + other.x, self.y + other.y, self.z + other.z)
    }
}

impl core::ops::Sub for Vec3 {
    type Output = Vec3;

    #[inline(always)]
    fn sub(self, other: Vec3) -> Vec3 {
        Vec3::new(self.x - other.x, self.y - other.y, self.z - other.z)
    }
}

impl core::ops::Mul<f32> for Vec3 {
    type Output = Vec3;

    #[inline(always)]
    fn mul(self, by: f32) -> Vec3 {
        Vec3::new(self.x * by, self.y * by, self.z * by)
    }
}

/// A sphere.
#[derive(Clone, Copy, Debug, Default, PartialEq, DeviceCopy)]
#[repr(C)]
pub struct Sphere {
    /// The center.
    pub center: Vec3,
    /// The radius.
    pub radius: f32,
    /// The color.
    pub color: Vec3,
    /// The part of the light that is reflected.
    pub mirror: f32,
}

impl Sphere {
    /// Returns the distance along a ray to the sphere, if the ray hits it.
    #[inline(always)]
    pub fn hit(&self, origin: Vec3, direction: Vec3) -> Option<f32> {
        let to_origin = origin - self.center;
        let half = to_origin.dot(direction);
        let discriminant = half * half - (to_origin.dot(to_origin) - self.radius * self.radius);
        if discriminant < 0.0 {
            return None;
        }
        let distance = -half - discriminant.sqrt();
        (distance > 1e-3).then_some(distance)
    }
}

/// The number of reflections.
pub const BOUNCES: u32 = 4;

/// Returns the direction to the light.
#[inline(always)]
fn light() -> Vec3 {
    Vec3::new(0.577_350_3, 0.577_350_3, -0.577_350_3)
}

/// Returns the color of the sky.
#[inline(always)]
fn sky(direction: Vec3) -> Vec3 {
    let t = 0.5 * (direction.y + 1.0);
    Vec3::new(1.0, 1.0, 1.0) * (1.0 - t) + Vec3::new(0.5, 0.7, 1.0) * t
}

/// Returns the color of a sphere at a point, without its reflection.
#[inline(always)]
fn shade(sphere: &Sphere, normal: Vec3) -> Vec3 {
    sphere.color * (0.2 + 0.8 * normal.dot(light()).max(0.0))
}

/// Returns the direction of the ray through a pixel.
#[inline(always)]
fn primary(x: usize, y: usize, width: usize, height: usize) -> Vec3 {
    let u = (2.0 * (x as f32 + 0.5) - width as f32) / height as f32;
    let v = (2.0 * (y as f32 + 0.5) - height as f32) / height as f32;
    Vec3::new(u, v, 1.5).normalized()
}

/// Returns a color as a word.
#[inline(always)]
pub fn pack(color: Vec3) -> u32 {
    let byte = |x: f32| (x.clamp(0.0, 1.0) * 255.0) as u32;
    byte(color.x) | byte(color.y) << 8 | byte(color.z) << 16
}

/// Returns the color of a pixel. Shared by host and device.
#[inline(always)]
pub fn trace(spheres: &[Sphere], x: usize, y: usize, width: usize, height: usize) -> Vec3 {
    let mut origin = Vec3::default();
    let mut direction = primary(x, y, width, height);
    let mut color = Vec3::default();
    let mut light = 1.0;
    for _ in 0..BOUNCES {
        let mut nearest: Option<(f32, &Sphere)> = None;
        for sphere in spheres {
            if let Some(distance) = sphere.hit(origin, direction)
                && nearest.is_none_or(|(least, _)| distance < least)
            {
                nearest = Some((distance, sphere));
            }
        }
        let Some((distance, sphere)) = nearest else {
            color = color + sky(direction) * light;
            break;
        };
        let point = origin + direction * distance;
        let normal = (point - sphere.center) * (1.0 / sphere.radius);
        color = color + shade(sphere, normal) * (light * (1.0 - sphere.mirror));
        light *= sphere.mirror;
        origin = point;
        direction = direction - normal * (2.0 * direction.dot(normal));
    }
    color
}

/// A picture of mirroring spheres.
#[kernel(block_size(16, 16))]
pub fn ray_spheres_safe(spheres: &[Sphere], mut to: PerThread2d<u32>) {
    let (width, height) = (to.width(), to.height());
    to.each(|(x, y), to| *to = pack(trace(spheres, x, y, width, height)));
}

/// A picture of mirroring spheres.
#[kernel(block_size(16, 16))]
pub unsafe fn ray_spheres_raw(
    spheres: *const Sphere,
    count: usize,
    to: *mut u32,
    width: usize,
    height: usize,
) {
    let at = thread::index_2d();
    let (x, y) = (at.x as usize, at.y as usize);
    if x >= width || y >= height {
        return;
    }
    let mut origin = Vec3::default();
    let mut direction = primary(x, y, width, height);
    let mut color = Vec3::default();
    let mut light = 1.0;
    for _ in 0..BOUNCES {
        let (mut least, mut nearest) = (f32::INFINITY, count);
        for i in 0..count {
            if let Some(distance) = (*spheres.add(i)).hit(origin, direction)
                && distance < least
            {
                (least, nearest) = (distance, i);
            }
        }
        if nearest == count {
            color = color + sky(direction) * light;
            break;
        }
        let sphere = *spheres.add(nearest);
        let point = origin + direction * least;
        let normal = (point - sphere.center) * (1.0 / sphere.radius);
        color = color + shade(&sphere, normal) * (light * (1.0 - sphere.mirror));
        light *= sphere.mirror;
        origin = point;
        direction = direction - normal * (2.0 * direction.dot(normal));
    }
    *to.add(y * width + x) = pack(color);
}
