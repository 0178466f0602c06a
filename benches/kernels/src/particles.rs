//! Forces between bodies.

use cuda_std::AnyBits;
use cuda_std::prelude::*;
use cuda_std::shared::{Array, Shared};
use cust_core::DeviceCopy;

/// The number of bodies per tile in shared memory, and of threads per block.
pub const BODIES: usize = 256;

/// The softening, which keeps the force between near bodies finite.
pub const SOFTENING: f32 = 1e-3;

/// The position and the mass of a body.
#[derive(Clone, Copy, Debug, Default, PartialEq, DeviceCopy, AnyBits)]
#[repr(C, align(16))]
pub struct Body {
    /// The position in the first dimension.
    pub x: f32,
    /// The position in the second dimension.
    pub y: f32,
    /// The position in the third dimension.
    pub z: f32,
    /// The mass.
    pub mass: f32,
}

/// Adds the acceleration of a body at `on` by another body to `sum`.
#[inline(always)]
pub fn pull(sum: [f32; 3], on: Body, by: Body) -> [f32; 3] {
    let (dx, dy, dz) = (by.x - on.x, by.y - on.y, by.z - on.z);
    let squared = dx * dx + dy * dy + dz * dz + SOFTENING;
    let inverse = squared.rsqrt();
    let factor = by.mass * inverse * inverse * inverse;
    [
        sum[0] + dx * factor,
        sum[1] + dy * factor,
        sum[2] + dz * factor,
    ]
}

/// The acceleration of each body by all bodies, tile by tile.
#[kernel(block_size(256))]
pub fn nbody_safe(
    #[shared] mut tile: Shared<Array<Body, BODIES>>,
    bodies: &[Body],
    mut to: PerThread<[f32; 3]>,
) {
    let mine = bodies
        .get(thread::index() as usize)
        .copied()
        .unwrap_or_default();
    let mut sum = [0.0; 3];
    for start in (0..bodies.len()).step_by(BODIES) {
        tile.own().each(|i, to| {
            *to = bodies.get(start + i).copied().unwrap_or_default();
        });
        tile.read(|tile| {
            for &body in tile {
                sum = pull(sum, mine, body);
            }
        });
    }
    to.each(|_, to| *to = sum);
}

/// The acceleration of each body by all bodies, tile by tile.
#[kernel(block_size(256))]
pub unsafe fn nbody_raw(bodies: *const Body, to: *mut f32, n: usize) {
    let tile = shared_array![Body; BODIES];
    let thread = thread::thread_idx_x() as usize;
    let i = thread::index_1d() as usize;
    let mine = if i < n {
        *bodies.add(i)
    } else {
        Body::default()
    };
    let mut sum = [0.0; 3];
    let mut start = 0;
    while start < n {
        let other = start + thread;
        *tile.add(thread) = if other < n {
            *bodies.add(other)
        } else {
            Body::default()
        };
        thread::sync_threads();
        for j in 0..BODIES {
            sum = pull(sum, mine, *tile.add(j));
        }
        thread::sync_threads();
        start += BODIES;
    }
    if i < n {
        *to.add(3 * i) = sum[0];
        *to.add(3 * i + 1) = sum[1];
        *to.add(3 * i + 2) = sum[2];
    }
}
