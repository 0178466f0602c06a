//! Scenes of signed distances: rays that march until they are near a surface.

use crate::images::Vec3;
use cuda_std::PerThread2d;
use cuda_std::prelude::*;

/// The maximum number of steps of a ray.
pub const STEPS: u32 = 96;
/// The maximum number of steps of a ray to the light.
pub const SHADOW_STEPS: u32 = 32;
/// The distance from a surface at which a ray hits it.
pub const NEAR: f32 = 1e-3;
/// The length of a ray that hits nothing.
pub const FAR: f32 = 20.0;

/// Returns the length of a vector in the plane.
#[inline(always)]
fn length(x: f32, y: f32) -> f32 {
    (x * x + y * y).sqrt()
}

/// Returns the smaller of two distances, with a smooth transition.
#[inline(always)]
fn smooth_min(a: f32, b: f32, width: f32) -> f32 {
    let h = (0.5 + 0.5 * (b - a) / width).clamp(0.0, 1.0);
    b + (a - b) * h - width * h * (1.0 - h)
}

/// Returns the distance from a point to the nearest surface: a ground, a torus that melts into a
/// box with round edges, and a lattice of spheres on the ground.
#[inline(always)]
pub fn distance(p: Vec3) -> f32 {
    let ground = p.y + 1.0;
    let torus = length(length(p.x, p.z) - 1.5, p.y) - 0.3;
    let (bx, by, bz) = (p.x.abs() - 0.6, (p.y - 0.4).abs() - 0.6, p.z.abs() - 0.6);
    let outside = Vec3::new(bx.max(0.0), by.max(0.0), bz.max(0.0));
    let inside = bx.max(by.max(bz)).min(0.0);
    let cube = outside.dot(outside).sqrt() + inside - 0.1;
    let around = |x: f32| x - 4.0 * (x * 0.25).floor() - 2.0;
    let center = Vec3::new(around(p.x), p.y + 0.6, around(p.z));
    let spheres = center.dot(center).sqrt() - 0.4;
    smooth_min(torus, cube, 0.3).min(spheres).min(ground)
}

/// Returns the direction in which the distance at a point grows.
#[inline(always)]
fn normal(p: Vec3) -> Vec3 {
    let along = |step: Vec3| distance(p + step) - distance(p - step);
    let x = along(Vec3::new(NEAR, 0.0, 0.0));
    let y = along(Vec3::new(0.0, NEAR, 0.0));
    let z = along(Vec3::new(0.0, 0.0, NEAR));
    Vec3::new(x, y, z).normalized()
}

/// Returns the part of the light that reaches a point.
#[inline(always)]
fn shadow(point: Vec3, light: Vec3) -> f32 {
    let (mut part, mut along) = (1.0f32, 0.05);
    for _ in 0..SHADOW_STEPS {
        let near = distance(point + light * along);
        part = part.min(8.0 * near / along);
        along += near.clamp(0.02, 0.5);
        if part < NEAR || along > 8.0 {
            break;
        }
    }
    part.max(0.0)
}

/// Returns the brightness of a pixel, seen from a camera that `angle` has turned around the scene.
#[inline(always)]
pub fn render(x: usize, y: usize, width: usize, height: usize, angle: f32) -> f32 {
    let u = (2.0 * (x as f32 + 0.5) - width as f32) / height as f32;
    let v = (height as f32 - 2.0 * (y as f32 + 0.5)) / height as f32;
    let (sin, cos) = angle.sin_cos();
    let eye = Vec3::new(5.0 * cos, 2.0, 5.0 * sin);
    let forward = (Vec3::default() - eye).normalized();
    let right = Vec3::new(-forward.z, 0.0, forward.x).normalized();
    let up = Vec3::new(
        right.y * forward.z - right.z * forward.y,
        right.z * forward.x - right.x * forward.z,
        right.x * forward.y - right.y * forward.x,
    );
    let direction = (right * u + up * v + forward * 1.8).normalized();
    let light = Vec3::new(0.577_350_3, 0.577_350_3, -0.577_350_3);

    let mut along = 0.0;
    for _ in 0..STEPS {
        let point = eye + direction * along;
        let near = distance(point);
        if near < NEAR {
            let normal = normal(point);
            let diffuse = normal.dot(light).max(0.0);
            return 0.15 + 0.85 * diffuse * shadow(point, light);
        }
        along += near;
        if along > FAR {
            break;
        }
    }
    0.5 + 0.3 * direction.y
}

/// Returns a brightness as a byte.
#[inline(always)]
pub fn to_byte(brightness: f32) -> u8 {
    (brightness.clamp(0.0, 1.0) * 255.0) as u8
}

/// A picture of a scene of signed distances, by sphere tracing, with shadows.
#[kernel(block_size(16, 16))]
pub fn ray_march_safe(angle: f32, mut to: PerThread2d<u8>) {
    let (width, height) = (to.width(), to.height());
    to.each(|(x, y), to| *to = to_byte(render(x, y, width, height, angle)));
}

/// A picture of a scene of signed distances, by sphere tracing, with shadows.
#[kernel(block_size(16, 16))]
pub unsafe fn ray_march_raw(angle: f32, to: *mut u8, width: usize, height: usize) {
    let at = thread::index_2d();
    let (x, y) = (at.x as usize, at.y as usize);
    if x < width && y < height {
        *to.add(y * width + x) = to_byte(render(x, y, width, height, angle));
    }
}
