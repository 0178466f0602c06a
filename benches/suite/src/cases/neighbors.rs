//! Neighbors in space and in sorted arrays.

use super::Scale;
use crate::case::{Args, Buffer, Case, close, download, near, random, uniform, upload, zeroed};
use bench_kernels::neighbors::{Nearest, Node};
use cust::error::CudaResult;
use cust::vector::F32x4;
use std::f32::consts::PI;

/// Returns a point of a cube.
fn point(i: usize, seed: u64, size: f64, w: f32) -> F32x4 {
    let [x, y, z] = [0, 1, 2].map(|k| (size * uniform((4 * i as u64 + k) ^ (seed << 40))) as f32);
    F32x4::new(x, y, z, w)
}

/// Returns the squared distance of two points.
fn squared(a: F32x4, b: F32x4) -> f64 {
    (0..3)
        .map(|k| (f64::from(a[k]) - f64::from(b[k])).powi(2))
        .sum()
}

pub fn sph_density(scale: Scale) -> CudaResult<Case> {
    const RADIUS: f32 = 0.1;
    let side = scale.pick(4, 50);
    let n = scale.pick(500, 1 << 20);
    let size = f64::from(RADIUS) * side as f64;
    let cell_of = |particle: &F32x4| {
        let [x, y, z] = [0, 1, 2].map(|k| ((particle[k] / RADIUS) as usize).min(side - 1));
        (z * side + y) * side + x
    };
    let mut particles: Vec<F32x4> = (0..n)
        .map(|i| point(i, 1, size, 0.5 + uniform(i as u64) as f32))
        .collect();
    particles.sort_by_key(cell_of);
    let mut starts = vec![0u32; side.pow(3) + 1];
    for particle in &particles {
        starts[cell_of(particle) + 1] += 1;
    }
    for cell in 0..side.pow(3) {
        starts[cell + 1] += starts[cell];
    }
    let factor = 315.0 / (64.0 * PI * RADIUS.powi(9));
    let from = upload(&particles)?;
    let from_starts = upload(&starts)?;
    let to: Buffer<f32> = zeroed(n)?;
    let pointers = Args::new().pointer(&from).pointer(&from_starts);
    let grid = Args::new().value(RADIUS).value(factor);
    let raw_grid = Args::new().value(side).and(grid.clone());
    Ok(Case::new("sph_density", n.div_ceil(128), 128)
        .args(
            pointers
                .clone()
                .value(side as i32)
                .and(grid)
                .pointer(&to)
                .value(n as i32),
            pointers.and(raw_grid.clone()).pointer(&to).value(n),
            Args::new()
                .slice(&from)
                .slice(&from_starts)
                .and(raw_grid)
                .output(&to),
        )
        .input(&from)
        .input(&from_starts)
        .output(&to)
        .bytes(20 * n + 4 * starts.len())
        // The neighbors in 27 cells.
        .f32_operations(9.0 * n as f64 * 27.0 * n as f64 / side.pow(3) as f64)
        .check(move || {
            let results = download(&to)?;
            for i in (0..n).step_by(n.div_ceil(100)) {
                let sum: f64 = (particles.iter())
                    .map(|other| {
                        let difference = f64::from(RADIUS).powi(2) - squared(particles[i], *other);
                        f64::from(other[3]) * difference.max(0.0).powi(3)
                    })
                    .sum();
                near(i, results[i], sum * f64::from(factor), 1e-4, 0.0)?;
            }
            Ok(())
        }))
}

/// Appends the nodes below node `at`, whose points are those from `first`.
fn build(nodes: &mut Vec<Node>, at: usize, points: &mut [F32x4], first: usize) {
    const LEAF: usize = 8;
    let mut low = [f32::INFINITY; 3];
    let mut high = [f32::NEG_INFINITY; 3];
    for point in points.iter() {
        for k in 0..3 {
            low[k] = low[k].min(point[k]);
            high[k] = high[k].max(point[k]);
        }
    }
    if points.len() <= LEAF {
        nodes[at] = Node {
            low,
            first: first as u32,
            high,
            count: points.len() as u32,
        };
        return;
    }
    let widest = (0..3)
        .max_by(|&a, &b| (high[a] - low[a]).total_cmp(&(high[b] - low[b])))
        .expect("there are three dimensions");
    let middle = points.len() / 2;
    points.select_nth_unstable_by(middle, |a, b| a[widest].total_cmp(&b[widest]));
    let children = nodes.len();
    nodes[at] = Node {
        low,
        first: children as u32,
        high,
        count: 0,
    };
    nodes.extend([Node::default(); 2]);
    let (left, right) = points.split_at_mut(middle);
    build(nodes, children, left, first);
    build(nodes, children + 1, right, first + middle);
}

pub fn bvh_nearest(scale: Scale) -> CudaResult<Case> {
    let count = scale.pick(500, 1 << 20);
    let mut points: Vec<F32x4> = (0..count).map(|i| point(i, 1, 1.0, 0.0)).collect();
    let mut nodes = vec![Node::default()];
    build(&mut nodes, 0, &mut points, 0);
    // Queries near each other are near each other in memory, as in a scan: each is in its own cell
    // of a cube, in the order of 4 x 4 x 4 cells.
    let side = scale.pick(8, 80);
    let n = side * side * side;
    let queries: Vec<F32x4> = (0..n)
        .map(|i| {
            let (cube, inner) = (i / 64, i % 64);
            let cubes = side / 4;
            let corner = [cube % cubes, cube / cubes % cubes, cube / cubes / cubes];
            let offset = [inner % 4, inner / 4 % 4, inner / 16];
            let inside = point(i, 2, 1.0, 0.0);
            let [x, y, z] =
                [0, 1, 2].map(|k| ((4 * corner[k] + offset[k]) as f32 + inside[k]) / side as f32);
            F32x4::new(x, y, z, 0.0)
        })
        .collect();
    let (from_nodes, from_points) = (upload(&nodes)?, upload(&points)?);
    let from = upload(&queries)?;
    let to: Buffer<Nearest> = upload(&vec![Nearest::default(); n])?;
    let pointers = Args::new()
        .pointer(&from_nodes)
        .pointer(&from_points)
        .pointer(&from)
        .pointer(&to);
    Ok(Case::new("bvh_nearest", n.div_ceil(128), 128)
        .args(
            pointers.clone().value(n as i32),
            pointers.value(n),
            Args::new()
                .slice(&from_nodes)
                .slice(&from_points)
                .slice(&from)
                .output(&to),
        )
        .input(&from_nodes)
        .input(&from_points)
        .input(&from)
        .output(&to)
        .bytes(size_of_val(&nodes[..]) + 16 * count + 24 * n)
        .check(move || {
            let results = download(&to)?;
            for i in (0..n).step_by(n.div_ceil(100)) {
                let distances = points.iter().map(|&point| squared(point, queries[i]));
                let nearest = distances.fold(f64::INFINITY, f64::min);
                near(i, results[i].distance, nearest, 1e-4, 1e-12)?;
                let Some(&found) = points.get(results[i].point as usize) else {
                    return Err(format!("query {i} has no nearest point"));
                };
                near(i, squared(found, queries[i]) as f32, nearest, 1e-4, 1e-12)?;
            }
            Ok(())
        }))
}

pub fn lower_bound(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(1000, 1 << 23);
    let len = scale.pick(300, 1 << 22);
    let mut sorted: Vec<u32> = (0..len as u64).map(|i| (random(i) >> 32) as u32).collect();
    sorted.sort_unstable();
    // Half of the keys are elements.
    let keys: Vec<u32> = (0..n)
        .map(|i| match random(i as u64 ^ (1 << 40)) {
            random if random % 2 == 0 => sorted[random as usize / 2 % len],
            random => (random >> 32) as u32,
        })
        .collect();
    let (from_sorted, from) = (upload(&sorted)?, upload(&keys)?);
    let to: Buffer<u32> = zeroed(n)?;
    Ok(Case::new("lower_bound", n.div_ceil(256), 256)
        .args(
            Args::new()
                .pointer(&from_sorted)
                .value(len as i32)
                .pointer(&from)
                .pointer(&to)
                .value(n as i32),
            Args::new()
                .pointer(&from_sorted)
                .value(len)
                .pointer(&from)
                .pointer(&to)
                .value(n),
            Args::new().slice(&from_sorted).slice(&from).output(&to),
        )
        .input(&from_sorted)
        .input(&from)
        .output(&to)
        .bytes(4 * len + 8 * n)
        .check(move || {
            close(&to, 0.0, 0.0, |i| {
                sorted.partition_point(|&x| x < keys[i]) as f64
            })
        }))
}
