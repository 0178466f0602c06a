//! `raytracer`: spheres on a checkered floor, with shadows and reflections.
//!
//! Each thread follows the rays of its pixels. Look at `Scene::trace`: a loop in place of the
//! recursion, so a thread needs no stack, and at how little of the program is about the device. The
//! algorithm is that of Turner Whitted, "An improved illumination model for shaded display",
//! *Communications of the ACM* 23 (1980).

use core::ops::{Add, Mul, Sub};
use cuda_std::PerThread2d;
use cuda_std::prelude::*;
use cust_core::DeviceCopy;

/// The number of reflections that a ray is followed through.
const BOUNCES: usize = 3;
/// The distance from a surface at which rays start, so that they do not hit it again.
const OFFSET: f32 = 1e-3;

/// A vector, a point, or a color.
#[derive(Clone, Copy, Debug, Default, PartialEq, DeviceCopy)]
#[repr(C)]
pub struct Vec3 {
    /// The first component: to the right, or red.
    pub x: f32,
    /// The second component: up, or green.
    pub y: f32,
    /// The third component: towards the eye, or blue.
    pub z: f32,
}

/// Creates a vector.
#[must_use]
pub const fn vec3(x: f32, y: f32, z: f32) -> Vec3 {
    Vec3 { x, y, z }
}

impl Add for Vec3 {
    type Output = Vec3;

    fn add(self, other: Vec3) -> Vec3 {
        vec3(self.x + other.x, self.y + other.y, self.z + other.z)
    }
}

impl Sub for Vec3 {
    type Output = Vec3;

    fn sub(self, other: Vec3) -> Vec3 {
        vec3(self.x - other.x, self.y - other.y, self.z - other.z)
    }
}

impl Mul<f32> for Vec3 {
    type Output = Vec3;

    fn mul(self, factor: f32) -> Vec3 {
        vec3(self.x * factor, self.y * factor, self.z * factor)
    }
}

impl Vec3 {
    /// Returns the dot product.
    #[must_use]
    pub fn dot(self, other: Vec3) -> f32 {
        self.x * other.x + self.y * other.y + self.z * other.z
    }

    /// Returns the vector of length 1 in this direction.
    #[must_use]
    pub fn unit(self) -> Vec3 {
        self * (1.0 / self.dot(self).sqrt())
    }

    /// Returns the product of two colors.
    fn tint(self, other: Vec3) -> Vec3 {
        vec3(self.x * other.x, self.y * other.y, self.z * other.z)
    }
}

/// A sphere.
#[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
#[repr(C)]
pub struct Sphere {
    /// The center.
    pub center: Vec3,
    /// The radius.
    pub radius: f32,
    /// The color.
    pub color: Vec3,
    /// The part of the light that is reflected, from 0 to 1.
    pub mirror: f32,
}

impl Sphere {
    /// Returns the distance along a ray at which it enters the sphere.
    fn hit(&self, from: Vec3, direction: Vec3) -> Option<f32> {
        let to = self.center - from;
        let along = to.dot(direction);
        let inside = self.radius * self.radius - (to.dot(to) - along * along);
        let distance = along - inside.max(0.0).sqrt();
        (inside > 0.0 && distance > OFFSET).then_some(distance)
    }
}

/// The surface that a ray hits.
struct Surface {
    at: Vec3,
    normal: Vec3,
    color: Vec3,
    mirror: f32,
}

/// The scene: spheres above the floor `y = 0`.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    /// The spheres.
    pub spheres: &'a [Sphere],
    /// The direction to the light, of length 1.
    pub light: Vec3,
}

impl Scene<'_> {
    fn surface(&self, from: Vec3, direction: Vec3) -> Option<Surface> {
        let mut nearest = f32::INFINITY;
        let mut surface = None;
        if direction.y < -1e-3 {
            nearest = -from.y / direction.y;
            let at = from + direction * nearest;
            let odd = (at.x.floor() as i32 + at.z.floor() as i32) & 1 == 1;
            let gray = if odd { 0.25 } else { 0.85 };
            surface = Some(Surface {
                at,
                normal: vec3(0.0, 1.0, 0.0),
                color: vec3(gray, gray, gray),
                mirror: 0.15,
            });
        }
        for sphere in self.spheres {
            if let Some(distance) = sphere.hit(from, direction)
                && distance < nearest
            {
                nearest = distance;
                let at = from + direction * distance;
                surface = Some(Surface {
                    at,
                    normal: (at - sphere.center) * (1.0 / sphere.radius),
                    color: sphere.color,
                    mirror: sphere.mirror,
                });
            }
        }
        surface
    }

    /// Returns the color that arrives from a direction.
    fn trace(&self, mut from: Vec3, mut direction: Vec3) -> Vec3 {
        let mut color = Vec3::default();
        // The part of the light that reaches the eye.
        let mut part = vec3(1.0, 1.0, 1.0);
        for _ in 0..BOUNCES {
            let Some(surface) = self.surface(from, direction) else {
                let up = direction.y.max(0.0);
                let sky = vec3(0.85, 0.9, 1.0) * (1.0 - up) + vec3(0.3, 0.5, 0.9) * up;
                return color + part.tint(sky);
            };
            let start = surface.at + surface.normal * OFFSET;
            let mut light = surface.normal.dot(self.light).max(0.0);
            let shadow = |sphere: &Sphere| sphere.hit(start, self.light).is_some();
            if light > 0.0 && self.spheres.iter().any(shadow) {
                light = 0.0;
            }
            let own = surface.color * (0.2 + 0.8 * light);
            color = color + part.tint(own) * (1.0 - surface.mirror);
            part = part.tint(surface.color) * surface.mirror;
            direction = direction - surface.normal * (2.0 * surface.normal.dot(direction));
            from = start;
        }
        color
    }

    /// Returns the color of a pixel, the mean of four rays.
    #[must_use]
    pub fn pixel(&self, (x, y): (usize, usize), (width, height): (usize, usize)) -> [u8; 3] {
        let eye = vec3(0.0, 2.0, 6.0);
        let mut sum = Vec3::default();
        for ray in 0..4u8 {
            let right = x as f32 + 0.25 + 0.5 * f32::from(ray % 2) - width as f32 / 2.0;
            let down = y as f32 + 0.25 + 0.5 * f32::from(ray / 2) - height as f32 / 2.0;
            let scale = 1.2 / height as f32;
            let direction = vec3(right * scale, -down * scale - 0.2, -1.0);
            sum = sum + self.trace(eye, direction.unit());
        }
        // The square root is close to the gamma of sRGB.
        [sum.x, sum.y, sum.z].map(|sum| ((sum / 4.0).sqrt().min(1.0) * 255.0) as u8)
    }
}

/// Computes all pixels.
#[kernel]
pub fn render(light: Vec3, spheres: &[Sphere], mut image: PerThread2d<[u8; 3]>) {
    let size = (image.width(), image.height());
    let scene = Scene { spheres, light };
    image.each(|at, pixel| *pixel = scene.pixel(at, size));
}
