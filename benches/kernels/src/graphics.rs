//! Graphics: skinned vertices, rays and triangles, and inverse transformations.

use core::array;
use cuda_std::prelude::*;
use cuda_std::vector::{F32x4, U8x4};
use cust_core::DeviceCopy;

/// A vector in space.
type Vec3 = [f32; 3];

/// Returns the difference of two vectors.
#[inline(always)]
fn subtract(a: Vec3, b: Vec3) -> Vec3 {
    array::from_fn(|k| a[k] - b[k])
}

/// Returns the sum of a vector and a multiple of another.
#[inline(always)]
fn add_scaled(a: Vec3, b: Vec3, scale: f32) -> Vec3 {
    array::from_fn(|k| a[k] + b[k] * scale)
}

/// Returns the scalar product.
#[inline(always)]
fn dot(a: Vec3, b: Vec3) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// Returns the vector that is perpendicular to both.
#[inline(always)]
fn cross(a: Vec3, b: Vec3) -> Vec3 {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

/// Returns the vector of length 1 in the same direction.
#[inline(always)]
fn normalized(v: Vec3) -> Vec3 {
    let scale = 1.0 / dot(v, v).sqrt();
    v.map(|x| x * scale)
}

/// A position and a normal.
#[derive(Clone, Copy, Debug, Default, PartialEq, DeviceCopy)]
#[repr(C)]
pub struct Vertex {
    /// The position.
    pub position: [f32; 3],
    /// The normal, which has length 1.
    pub normal: [f32; 3],
}

/// The transformation of a bone: the first three rows of a 4×4 matrix.
#[derive(Clone, Copy, Debug, DeviceCopy)]
#[repr(C, align(16))]
pub struct Bone(pub [[f32; 4]; 3]);

impl Bone {
    /// Returns the transformed direction.
    #[inline(always)]
    fn rotate(&self, v: Vec3) -> Vec3 {
        self.0.map(|[x, y, z, _]| dot([x, y, z], v))
    }

    /// Returns the transformed point.
    #[inline(always)]
    fn transform(&self, v: Vec3) -> Vec3 {
        self.0.map(|[x, y, z, offset]| dot([x, y, z], v) + offset)
    }
}

/// The vertices of a mesh after each followed its four bones, with the sum of their transformations
/// times `weights`.
#[kernel(block_size(256))]
pub fn skinning_safe(
    bones: &[Bone],
    vertices: &[Vertex],
    joints: &[U8x4],
    weights: &[F32x4],
    mut to: PerThread<Vertex>,
) {
    to.each_with(
        (vertices, joints, weights),
        |_, to, (vertex, joints, weights)| {
            let (mut position, mut normal) = ([0.0; 3], [0.0; 3]);
            for (&joint, &weight) in joints.iter().zip(weights.iter()) {
                let bone = &bones[usize::from(joint)];
                position = add_scaled(position, bone.transform(vertex.position), weight);
                normal = add_scaled(normal, bone.rotate(vertex.normal), weight);
            }
            let normal = normalized(normal);
            *to = Vertex { position, normal };
        },
    );
}

/// The vertices of a mesh after each followed its four bones: see [`skinning_safe()`].
#[kernel(block_size(256))]
pub unsafe fn skinning_raw(
    bones: *const Bone,
    vertices: *const Vertex,
    joints: *const U8x4,
    weights: *const F32x4,
    to: *mut Vertex,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let (vertex, joints, weights) = (*vertices.add(i), *joints.add(i), *weights.add(i));
    let (mut position, mut normal) = ([0.0; 3], [0.0; 3]);
    for k in 0..4 {
        let bone = &*bones.add(usize::from(joints[k]));
        position = add_scaled(position, bone.transform(vertex.position), weights[k]);
        normal = add_scaled(normal, bone.rotate(vertex.normal), weights[k]);
    }
    let normal = normalized(normal);
    *to.add(i) = Vertex { position, normal };
}

/// A ray.
#[derive(Clone, Copy, Debug, Default, PartialEq, DeviceCopy)]
#[repr(C)]
pub struct Ray {
    /// The start.
    pub origin: [f32; 3],
    /// The direction.
    pub direction: [f32; 3],
}

/// A triangle.
#[derive(Clone, Copy, Debug, Default, PartialEq, DeviceCopy)]
#[repr(C)]
pub struct Triangle {
    /// The first corner.
    pub corner: [f32; 3],
    /// The edges from the first corner to the others.
    pub edges: [[f32; 3]; 2],
}

impl Triangle {
    /// Returns the distance along a ray to the triangle, in multiples of the direction, if the ray
    /// hits it: the algorithm of Möller and Trumbore.
    #[inline(always)]
    pub fn hit(&self, ray: &Ray) -> Option<f32> {
        let [first, second] = self.edges;
        let perpendicular = cross(ray.direction, second);
        let determinant = dot(first, perpendicular);
        if determinant.abs() < 1e-7 {
            return None;
        }
        let inverse = 1.0 / determinant;
        let to_origin = subtract(ray.origin, self.corner);
        let u = dot(to_origin, perpendicular) * inverse;
        if !(0.0..=1.0).contains(&u) {
            return None;
        }
        let other = cross(to_origin, first);
        let v = dot(ray.direction, other) * inverse;
        if v < 0.0 || u + v > 1.0 {
            return None;
        }
        let distance = dot(second, other) * inverse;
        (distance > 0.0).then_some(distance)
    }
}

/// The first triangle that a ray hits.
#[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
#[repr(C, align(8))]
pub struct Hit {
    /// The distance, which is infinite if the ray hits no triangle.
    pub distance: f32,
    /// The triangle's index.
    pub triangle: u32,
}

impl Hit {
    /// The ray hits no triangle.
    pub const NONE: Hit = Hit {
        distance: f32::INFINITY,
        triangle: u32::MAX,
    };
}

/// The first triangle that each ray hits.
#[kernel(block_size(128))]
pub fn ray_triangles_safe(triangles: &[Triangle], rays: &[Ray], mut to: PerThread<Hit>) {
    to.each_with(rays, |_, to, ray| {
        let mut first = Hit::NONE;
        for (triangle, candidate) in (0..).zip(triangles) {
            if let Some(distance) = candidate.hit(ray)
                && distance < first.distance
            {
                first = Hit { distance, triangle };
            }
        }
        *to = first;
    });
}

/// The first triangle that each ray hits.
#[kernel(block_size(128))]
pub unsafe fn ray_triangles_raw(
    triangles: *const Triangle,
    count: u32,
    rays: *const Ray,
    to: *mut Hit,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let ray = *rays.add(i);
    let mut first = Hit::NONE;
    for triangle in 0..count {
        if let Some(distance) = (*triangles.add(triangle as usize)).hit(&ray)
            && distance < first.distance
        {
            first = Hit { distance, triangle };
        }
    }
    *to.add(i) = first;
}

/// A 4×4 matrix.
#[derive(Clone, Copy, Debug, Default, PartialEq, DeviceCopy)]
#[repr(C, align(16))]
pub struct Matrix(pub [[f32; 4]; 4]);

impl Matrix {
    /// Returns the inverse matrix, by the determinants of 2×2 matrices in the upper and the lower
    /// two rows.
    #[inline(always)]
    #[must_use]
    pub fn inverse(&self) -> Matrix {
        let [a, b, c, d] = self.0;
        let upper = |i: usize, j: usize| a[i] * b[j] - b[i] * a[j];
        let lower = |i: usize, j: usize| c[i] * d[j] - d[i] * c[j];
        let [s0, s1, s2] = [upper(0, 1), upper(0, 2), upper(0, 3)];
        let [s3, s4, s5] = [upper(1, 2), upper(1, 3), upper(2, 3)];
        let [c0, c1, c2] = [lower(0, 1), lower(0, 2), lower(0, 3)];
        let [c3, c4, c5] = [lower(1, 2), lower(1, 3), lower(2, 3)];
        let scale = 1.0 / (s0 * c5 - s1 * c4 + s2 * c3 + s3 * c2 - s4 * c1 + s5 * c0);
        Matrix([
            [
                (b[1] * c5 - b[2] * c4 + b[3] * c3) * scale,
                (-a[1] * c5 + a[2] * c4 - a[3] * c3) * scale,
                (d[1] * s5 - d[2] * s4 + d[3] * s3) * scale,
                (-c[1] * s5 + c[2] * s4 - c[3] * s3) * scale,
            ],
            [
                (-b[0] * c5 + b[2] * c2 - b[3] * c1) * scale,
                (a[0] * c5 - a[2] * c2 + a[3] * c1) * scale,
                (-d[0] * s5 + d[2] * s2 - d[3] * s1) * scale,
                (c[0] * s5 - c[2] * s2 + c[3] * s1) * scale,
            ],
            [
                (b[0] * c4 - b[1] * c2 + b[3] * c0) * scale,
                (-a[0] * c4 + a[1] * c2 - a[3] * c0) * scale,
                (d[0] * s4 - d[1] * s2 + d[3] * s0) * scale,
                (-c[0] * s4 + c[1] * s2 - c[3] * s0) * scale,
            ],
            [
                (-b[0] * c3 + b[1] * c1 - b[2] * c0) * scale,
                (a[0] * c3 - a[1] * c1 + a[2] * c0) * scale,
                (-d[0] * s3 + d[1] * s1 - d[2] * s0) * scale,
                (c[0] * s3 - c[1] * s1 + c[2] * s0) * scale,
            ],
        ])
    }
}

/// The inverse of each matrix.
#[kernel(block_size(128))]
pub fn inverse4x4_safe(from: &[Matrix], mut to: PerThread<Matrix>) {
    to.each_with(from, |_, to, matrix| *to = matrix.inverse());
}

/// The inverse of each matrix.
#[kernel(block_size(128))]
pub unsafe fn inverse4x4_raw(from: *const Matrix, to: *mut Matrix, n: usize) {
    let i = thread::index_1d() as usize;
    if i < n {
        *to.add(i) = (*from.add(i)).inverse();
    }
}
