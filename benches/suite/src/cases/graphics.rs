//! Graphics.

use super::Scale;
use crate::case::{Args, download, near, random, samples, uniform, uniform_f32, upload};
use crate::case::{Case, Check};
use bench_kernels::graphics::{Bone, Hit, Matrix, Ray, Triangle, Vertex};
use cust::error::CudaResult;
use cust::vector::{F32x4, U8x4};

/// Returns a vector with coordinates from `low` to `low + 1`, which `i` determines.
fn vector(i: usize, seed: u64, low: f64) -> [f32; 3] {
    std::array::from_fn(|k| (low + uniform((3 * i + k) as u64 ^ (seed << 40))) as f32)
}

/// Compares vector `i` with the CPU's.
fn near_vector(i: usize, result: [f32; 3], expected: [f64; 3]) -> Check {
    for (result, expected) in result.into_iter().zip(expected) {
        near(i, result, expected, 1e-5, 1e-5)?;
    }
    Ok(())
}

pub fn skinning(scale: Scale) -> CudaResult<Case> {
    const BONES: usize = 128;
    let n = scale.pick(300, 1 << 23);
    let values = uniform_f32(12 * BONES, 1);
    let palette: Vec<Bone> = (values.as_chunks::<4>().0.as_chunks::<3>().0.iter())
        .map(|&rows| Bone(rows))
        .collect();
    let mesh: Vec<Vertex> = (0..n)
        .map(|i| {
            // Away from zero, so that the length of the sum is not small.
            let normal = vector(i, 3, 0.5);
            let length = normal.iter().map(|x| x * x).sum::<f32>().sqrt();
            Vertex {
                position: vector(i, 2, -0.5),
                normal: normal.map(|x| x / length),
            }
        })
        .collect();
    let joint_of: Vec<U8x4> = (0..n as u64)
        .map(|i| U8x4(random(i).to_le_bytes().as_chunks::<4>().0[0].map(|byte| byte % BONES as u8)))
        .collect();
    let weight_of: Vec<F32x4> = (0..n as u64)
        .map(|i| {
            let weights: [f64; 4] = std::array::from_fn(|k| uniform(4 * i + k as u64));
            let sum: f64 = weights.iter().sum();
            F32x4(weights.map(|weight| (weight / sum) as f32))
        })
        .collect();
    let (bones, vertices) = (upload(&palette)?, upload(&mesh)?);
    let (joints, weights) = (upload(&joint_of)?, upload(&weight_of)?);
    let to = upload(&vec![Vertex::default(); n])?;
    let pointers = Args::new().pointer(&bones).pointer(&vertices);
    let pointers = pointers.pointer(&joints).pointer(&weights).pointer(&to);
    Ok(Case::new("skinning", n.div_ceil(256), 256)
        .args(
            pointers.clone().value(n as i32),
            pointers.value(n),
            Args::new()
                .slice(&bones)
                .slice(&vertices)
                .slice(&joints)
                .slice(&weights)
                .output(&to),
        )
        .input(&bones)
        .input(&vertices)
        .input(&joints)
        .input(&weights)
        .output(&to)
        .bytes(n * (24 + 4 + 16 + 24))
        .f32_operations(166.0 * n as f64)
        .check(move || {
            let results = download(&to)?;
            for i in samples(n) {
                let (mut position, mut normal) = ([0.0; 3], [0.0; 3]);
                let Vertex {
                    position: p,
                    normal: v,
                } = mesh[i];
                for (&joint, &weight) in joint_of[i].iter().zip(weight_of[i].iter()) {
                    for (k, row) in palette[usize::from(joint)].0.iter().enumerate() {
                        let row = row.map(|x| f64::from(x) * f64::from(weight));
                        let turned = |v: [f32; 3]| {
                            let products = row.iter().zip(v);
                            products.map(|(a, b)| a * f64::from(b)).sum::<f64>()
                        };
                        position[k] += turned(p) + row[3];
                        normal[k] += turned(v);
                    }
                }
                let length = normal.iter().map(|x| x * x).sum::<f64>().sqrt();
                near_vector(i, results[i].position, position)?;
                near_vector(i, results[i].normal, normal.map(|x| x / length))?;
            }
            Ok(())
        }))
}

/// Returns the distance of a ray and the nearest of the triangles, whose edges are moved outward by
/// `margin`, in multiples of their heights.
fn nearest(triangles: &[Triangle], ray: &Ray, margin: f64) -> f64 {
    let to_f64 = |v: [f32; 3]| v.map(f64::from);
    let dot = |a: [f64; 3], b: [f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    let cross = |a: [f64; 3], b: [f64; 3]| {
        [(1, 2), (2, 0), (0, 1)].map(|(i, j): (usize, usize)| a[i] * b[j] - a[j] * b[i])
    };
    let mut least = f64::INFINITY;
    for triangle in triangles {
        // The ray hits the plane where the volumes that it spans with the edges say.
        let [a, b] = triangle.edges.map(to_f64);
        let direction = to_f64(ray.direction);
        let origin = to_f64(ray.origin);
        let corner = to_f64(triangle.corner);
        let start = std::array::from_fn(|k| origin[k] - corner[k]);
        let normal = cross(a, b);
        let volume = -dot(direction, normal);
        let distance = dot(start, normal) / volume;
        let u = dot(cross(direction, start), b) / -volume;
        let v = dot(cross(direction, start), a) / volume;
        let inside = u >= -margin && v >= -margin && u + v <= 1.0 + margin;
        if inside && distance > 0.0 {
            least = least.min(distance);
        }
    }
    least
}

pub fn ray_triangles(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(300, 1 << 20);
    let count = scale.pick(20, 512);
    let size = if scale.small { 1.0 } else { 0.3 };
    let above = |[x, y, z]: [f32; 3]| [x, y, z + 1.0];
    let mesh: Vec<Triangle> = (0..count)
        .map(|i| Triangle {
            corner: above(vector(i, 1, -0.5)),
            edges: [2, 3].map(|seed| vector(i, seed, -0.5).map(|x| size * x)),
        })
        .collect();
    let lines: Vec<Ray> = (0..n)
        .map(|i| {
            let origin = [0.0; 3];
            let direction = above(vector(i, 4, -0.5).map(|x| 0.6 * x));
            Ray { origin, direction }
        })
        .collect();
    let (triangles, rays) = (upload(&mesh)?, upload(&lines)?);
    let to = upload(&vec![Hit::NONE; n])?;
    let pointers = Args::new().pointer(&triangles).value(count as u32);
    let pointers = pointers.pointer(&rays).pointer(&to);
    Ok(Case::new("ray_triangles", n.div_ceil(128), 128)
        .args(
            pointers.clone().value(n as i32),
            pointers.value(n),
            Args::new().slice(&triangles).slice(&rays).output(&to),
        )
        .input(&triangles)
        .input(&rays)
        .output(&to)
        .bytes(n * 32)
        .check(move || {
            let results = download(&to)?;
            for i in samples(n) {
                // Rays near an edge may hit the triangle or not.
                let [low, high] = [1e-4, -1e-4].map(|margin| nearest(&mesh, &lines[i], margin));
                let Hit { distance, triangle } = results[i];
                let distance = f64::from(distance);
                if distance < 0.9999 * low || distance > 1.0001 * high || distance.is_nan() {
                    return Err(format!(
                        "the distance of ray {i} is {distance}, but should be {low} to {high}"
                    ));
                }
                if distance.is_finite() {
                    let hit = mesh.get(triangle as usize..).and_then(|rest| rest.get(..1));
                    let expected = nearest(hit.unwrap_or_default(), &lines[i], 1e-4);
                    near(i, distance, expected, 1e-4, 0.0)?;
                }
            }
            Ok(())
        }))
}

pub fn inverse4x4(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(300, 1 << 22);
    let values = uniform_f32(16 * n, 1);
    let matrices: Vec<Matrix> = (values.as_chunks::<4>().0.as_chunks::<4>().0.iter())
        .map(|&rows| {
            let mut matrix = Matrix(rows);
            // Far from singular.
            for (i, row) in matrix.0.iter_mut().enumerate() {
                row[i] += 4.0;
            }
            matrix
        })
        .collect();
    let from = upload(&matrices)?;
    let to = upload(&vec![Matrix::default(); n])?;
    let pointers = Args::new().pointer(&from).pointer(&to);
    Ok(Case::new("inverse4x4", n.div_ceil(128), 128)
        .args(
            pointers.clone().value(n as i32),
            pointers.value(n),
            Args::new().slice(&from).output(&to),
        )
        .input(&from)
        .output(&to)
        .bytes(2 * 64 * n)
        .f32_operations(144.0 * n as f64)
        .check(move || {
            let results = download(&to)?;
            for i in samples(n) {
                // The product with the inverse is the identity.
                for (place, row) in (0..16).map(|place| (place, &matrices[i].0[place / 4])) {
                    let column = results[i].0.map(|row| row[place % 4]);
                    let products = row.iter().zip(column);
                    let sum: f64 = products.map(|(&a, b)| f64::from(a) * f64::from(b)).sum();
                    let expected = if place % 5 == 0 { 1.0 } else { 0.0 };
                    near(i, sum, expected, 0.0, 1e-5)?;
                }
            }
            Ok(())
        }))
}
