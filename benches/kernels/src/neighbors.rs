//! Neighbors: densities of particles in cells, nearest points by a tree, and places in a sorted
//! array.

use cuda_std::prelude::*;
use cuda_std::vector::F32x4;
use cust_core::DeviceCopy;

/// Adds the contribution of a particle at `other`, whose fourth element is its mass, to the density
/// at `own` (poly6 kernel without its constant factor).
#[inline(always)]
fn contribute(sum: &mut f32, own: &F32x4, other: &F32x4, radius: f32) {
    let (dx, dy, dz) = (other[0] - own[0], other[1] - own[1], other[2] - own[2]);
    let difference = radius * radius - (dx * dx + dy * dy + dz * dz);
    if difference > 0.0 {
        *sum += other[3] * difference * difference * difference;
    }
}

/// The density at each particle: smoothed-particle hydrodynamics (SPH). Particles are sorted by
/// cells of a cube with `side` cells per dimension, whose size is `radius`; the particles of cell
/// `i` are those from `starts[i]` to `starts[i + 1]`.
#[kernel(block_size(128))]
pub fn sph_density_safe(
    particles: &[F32x4],
    starts: &[u32],
    side: usize,
    radius: f32,
    scale: f32,
    mut to: PerThread<f32>,
) {
    to.each_with(particles, |_, to, own| {
        let cell_of = |coordinate: f32| ((coordinate / radius) as usize).min(side - 1);
        let (cx, cy, cz) = (cell_of(own[0]), cell_of(own[1]), cell_of(own[2]));
        let mut sum = 0.0;
        for z in cz.saturating_sub(1)..=(cz + 1).min(side - 1) {
            for y in cy.saturating_sub(1)..=(cy + 1).min(side - 1) {
                for x in cx.saturating_sub(1)..=(cx + 1).min(side - 1) {
                    let cell = (z * side + y) * side + x;
                    for other in &particles[starts[cell] as usize..starts[cell + 1] as usize] {
                        contribute(&mut sum, own, other, radius);
                    }
                }
            }
        }
        *to = sum * scale;
    });
}

/// The density at each particle: see [`sph_density_safe()`].
#[kernel(block_size(128))]
pub unsafe fn sph_density_raw(
    particles: *const F32x4,
    starts: *const u32,
    side: usize,
    radius: f32,
    scale: f32,
    to: *mut f32,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let own = *particles.add(i);
    let cell_of = |coordinate: f32| ((coordinate / radius) as usize).min(side - 1);
    let (cx, cy, cz) = (cell_of(own[0]), cell_of(own[1]), cell_of(own[2]));
    let mut sum = 0.0;
    for z in cz.saturating_sub(1)..=(cz + 1).min(side - 1) {
        for y in cy.saturating_sub(1)..=(cy + 1).min(side - 1) {
            for x in cx.saturating_sub(1)..=(cx + 1).min(side - 1) {
                let cell = (z * side + y) * side + x;
                for j in *starts.add(cell)..*starts.add(cell + 1) {
                    contribute(&mut sum, &own, &*particles.add(j as usize), radius);
                }
            }
        }
    }
    *to.add(i) = sum * scale;
}

/// A node of a bounding volume hierarchy.
#[derive(Clone, Copy, Debug, Default, PartialEq, DeviceCopy)]
#[repr(C, align(16))]
pub struct Node {
    /// The least coordinates of the node's points.
    pub low: [f32; 3],
    /// The index of the first point of a leaf, or of the first of two children.
    pub first: u32,
    /// The largest coordinates of the node's points.
    pub high: [f32; 3],
    /// The number of points of a leaf, or zero.
    pub count: u32,
}

impl Node {
    /// Returns the squared distance of a point and the node's box.
    #[inline(always)]
    fn distance(&self, point: &F32x4) -> f32 {
        let mut sum = 0.0;
        for k in 0..3 {
            let outside = (self.low[k] - point[k])
                .max(point[k] - self.high[k])
                .max(0.0);
            sum += outside * outside;
        }
        sum
    }
}

/// The nearest point of a query.
#[derive(Clone, Copy, Debug, Default, PartialEq, DeviceCopy)]
#[repr(C, align(8))]
pub struct Nearest {
    /// The squared distance.
    pub distance: f32,
    /// The index of the point.
    pub point: u32,
}

/// Returns the squared distance of two points.
#[inline(always)]
fn distance(a: &F32x4, b: &F32x4) -> f32 {
    let (dx, dy, dz) = (a[0] - b[0], a[1] - b[1], a[2] - b[2]);
    dx * dx + dy * dy + dz * dz
}

/// The maximum number of nodes on the stack of a search.
pub const DEPTH: usize = 32;

/// The nearest point of each query, by a depth-first search of a bounding volume hierarchy that
/// visits the nearer child first. Node 0 is the root.
#[kernel(block_size(128))]
pub fn bvh_nearest_safe(
    nodes: &[Node],
    points: &[F32x4],
    queries: &[F32x4],
    mut to: PerThread<Nearest>,
) {
    to.each_with(queries, |_, to, query| {
        let mut nearest = Nearest {
            distance: f32::INFINITY,
            point: u32::MAX,
        };
        let mut stack = [0; DEPTH];
        let mut depth = 1;
        while depth > 0 {
            depth -= 1;
            let node = &nodes[stack[depth] as usize];
            if node.distance(query) >= nearest.distance {
                continue;
            }
            if node.count > 0 {
                let leaf = &points[node.first as usize..][..node.count as usize];
                for (index, point) in (node.first..).zip(leaf) {
                    let distance = distance(point, query);
                    if distance < nearest.distance {
                        nearest = Nearest {
                            distance,
                            point: index,
                        };
                    }
                }
            } else {
                let (mut near, mut far) = (node.first, node.first + 1);
                let [to_near, to_far] = [near, far].map(|i| nodes[i as usize].distance(query));
                if to_far < to_near {
                    (near, far) = (far, near);
                }
                stack[depth] = far;
                stack[depth + 1] = near;
                depth += 2;
            }
        }
        *to = nearest;
    });
}

/// The nearest point of each query: see [`bvh_nearest_safe()`].
#[kernel(block_size(128))]
pub unsafe fn bvh_nearest_raw(
    nodes: *const Node,
    points: *const F32x4,
    queries: *const F32x4,
    to: *mut Nearest,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let query = *queries.add(i);
    let mut nearest = Nearest {
        distance: f32::INFINITY,
        point: u32::MAX,
    };
    let mut entries = [0; DEPTH];
    let stack = entries.as_mut_ptr();
    let mut depth = 1;
    while depth > 0 {
        depth -= 1;
        let node = *nodes.add(*stack.add(depth) as usize);
        if node.distance(&query) >= nearest.distance {
            continue;
        }
        if node.count > 0 {
            for index in node.first..node.first + node.count {
                let distance = distance(&*points.add(index as usize), &query);
                if distance < nearest.distance {
                    nearest = Nearest {
                        distance,
                        point: index,
                    };
                }
            }
        } else {
            let (mut near, mut far) = (node.first, node.first + 1);
            let to_near = (*nodes.add(near as usize)).distance(&query);
            let to_far = (*nodes.add(far as usize)).distance(&query);
            if to_far < to_near {
                (near, far) = (far, near);
            }
            *stack.add(depth) = far;
            *stack.add(depth + 1) = near;
            depth += 2;
        }
    }
    *to.add(i) = nearest;
}

/// The number of elements of a sorted array that are less than each key.
#[kernel(block_size(256))]
pub fn lower_bound_safe(sorted: &[u32], keys: &[u32], mut to: PerThread<u32>) {
    to.each_with(keys, |_, to, &key| {
        *to = sorted.partition_point(|&x| x < key) as u32;
    });
}

/// The number of elements of a sorted array that are less than each key.
#[kernel(block_size(256))]
pub unsafe fn lower_bound_raw(
    sorted: *const u32,
    len: usize,
    keys: *const u32,
    to: *mut u32,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let key = *keys.add(i);
    let (mut low, mut high) = (0, len);
    while low < high {
        let middle = low + (high - low) / 2;
        if *sorted.add(middle) < key {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    *to.add(i) = low as u32;
}
