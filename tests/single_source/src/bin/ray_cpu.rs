//! Draws a scene of spheres over a plane, with shadows and mirrors, by marching rays on all cores.

use glam::Vec3;
use rayon::prelude::*;
use std::error::Error;
use std::io::Write;

const STEPS: usize = 96;
const FAR: f32 = 40.0;

#[derive(Clone, Copy, Debug)]
enum Shape {
    Sphere { center: Vec3, radius: f32 },
    Plane { height: f32 },
    Torus { center: Vec3, radii: (f32, f32) },
}

#[derive(Clone, Copy, Debug)]
struct Object {
    shape: Shape,
    color: Vec3,
    mirror: Option<f32>,
}

impl Shape {
    fn distance(&self, p: Vec3) -> f32 {
        match *self {
            Shape::Sphere { center, radius } => (p - center).length() - radius,
            Shape::Plane { height } => p.y - height,
            Shape::Torus { center, radii } => {
                let p = p - center;
                let around = p.x.hypot(p.z) - radii.0;
                around.hypot(p.y) - radii.1
            }
        }
    }
}

struct Scene<'a> {
    objects: &'a [Object],
    light: Vec3,
}

impl Scene<'_> {
    fn nearest(&self, p: Vec3) -> (f32, &Object) {
        self.objects
            .iter()
            .map(|object| (object.shape.distance(p), object))
            .min_by(|a, b| a.0.total_cmp(&b.0))
            .expect("a scene has objects")
    }

    fn march(&self, from: Vec3, direction: Vec3) -> Option<(Vec3, &Object)> {
        let mut t = 0.01;
        for _ in 0..STEPS {
            let p = from + direction * t;
            let (distance, object) = self.nearest(p);
            if distance < 1e-3 {
                return Some((p, object));
            }
            t += distance;
            if t > FAR {
                break;
            }
        }
        None
    }

    fn normal(&self, p: Vec3) -> Vec3 {
        const H: f32 = 1e-3;
        let along = |axis: Vec3| self.nearest(p + axis * H).0 - self.nearest(p - axis * H).0;
        Vec3::new(along(Vec3::X), along(Vec3::Y), along(Vec3::Z)).normalize()
    }

    fn trace(&self, mut from: Vec3, mut direction: Vec3) -> Vec3 {
        let mut color = Vec3::ZERO;
        let mut weight = 1.0;
        for _ in 0..4 {
            let Some((p, object)) = self.march(from, direction) else {
                color += weight * Vec3::new(0.5, 0.7, 1.0) * (0.5 + 0.5 * direction.y);
                break;
            };
            let normal = self.normal(p);
            let to_light = (self.light - p).normalize();
            let above = p + normal * 0.02;
            let lit = match self.march(above, to_light) {
                None => normal.dot(to_light).max(0.0),
                Some(_) => 0.0,
            };
            let mirror = object.mirror.unwrap_or(0.0);
            color += weight * (1.0 - mirror) * object.color * (0.1 + 0.9 * lit);
            weight *= mirror;
            if weight < 0.01 {
                break;
            }
            from = above;
            direction = direction - 2.0 * direction.dot(normal) * normal;
        }
        color
    }
}

fn scene() -> Vec<Object> {
    let plane = Object {
        shape: Shape::Plane { height: -1.0 },
        color: Vec3::new(0.8, 0.8, 0.7),
        mirror: None,
    };
    let ring = Object {
        shape: Shape::Torus {
            center: Vec3::new(0.0, -0.7, 5.0),
            radii: (2.0, 0.3),
        },
        color: Vec3::new(0.9, 0.3, 0.2),
        mirror: Some(0.3),
    };
    let sphere = |i: usize| Object {
        shape: Shape::Sphere {
            center: Vec3::new(
                i as f32 * 1.5 - 3.0,
                (i as f32).sin() * 0.4,
                5.0 + i as f32 * 0.3,
            ),
            radius: 0.6,
        },
        color: Vec3::new(0.2 * i as f32, 0.5, 1.0 - 0.2 * i as f32),
        mirror: (i % 2 == 0).then_some(0.5),
    };
    [plane, ring]
        .into_iter()
        .chain((0..5).map(sphere))
        .collect()
}

fn pixel(scene: &Scene, x: usize, y: usize, width: usize, height: usize) -> [u8; 3] {
    let u = (x as f32 + 0.5) / width as f32 * 2.0 - 1.0;
    let v = 1.0 - (y as f32 + 0.5) / height as f32 * 2.0;
    let direction = Vec3::new(u * width as f32 / height as f32, v, 1.6).normalize();
    let color = scene.trace(Vec3::new(0.0, 0.5, -1.0), direction);
    color
        .to_array()
        .map(|c| (c.clamp(0.0, 1.0).sqrt() * 255.0) as u8)
}

fn render(objects: &[Object], width: usize, height: usize) -> Vec<[u8; 3]> {
    let scene = Scene {
        objects,
        light: Vec3::new(4.0, 6.0, -2.0),
    };
    let mut image = vec![[0; 3]; width * height];
    image
        .par_chunks_mut(width)
        .enumerate()
        .for_each(|(y, row)| {
            for (x, to) in row.iter_mut().enumerate() {
                *to = pixel(&scene, x, y, width, height);
            }
        });
    image
}

fn main() -> Result<(), Box<dyn Error>> {
    let (width, height) = (160, 120);
    let image = render(&scene(), width, height);
    let mut file = std::fs::File::create(std::env::temp_dir().join("ray.ppm"))?;
    write!(file, "P6 {width} {height} 255\n")?;
    file.write_all(image.as_flattened())?;
    let sum: u64 = image.as_flattened().iter().map(|&c| u64::from(c)).sum();
    println!("ray: {width} x {height} pixels, sum {sum}");
    Ok(())
}
