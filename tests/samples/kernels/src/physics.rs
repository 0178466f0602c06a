//! Physics: n-body, heat, waves.

use cuda_std::prelude::*;
use cuda_std::shared::{Array, Shared};
use cuda_std::{AnyBits, MatrixView, PerThread2d};
use cust_core::DeviceCopy;

/// A body's place and mass.
#[derive(Clone, Copy, Debug, DeviceCopy, AnyBits)]
#[repr(C, align(16))]
pub struct Body {
    /// Where it is.
    pub place: [f32; 3],
    /// How heavy.
    pub mass: f32,
}

/// Bodies in a tile of shared memory.
pub const BODIES: usize = 64;

/// How a body draws on another one that is at a place.
#[inline(always)]
pub fn pull(on: [f32; 3], by: Body) -> [f32; 3] {
    let [dx, dy, dz] = core::array::from_fn(|i| by.place[i] - on[i]);
    let squared = dx * dx + dy * dy + dz * dz + 0.01;
    let factor = by.mass / (squared * squared.sqrt());
    [dx * factor, dy * factor, dz * factor]
}

/// The acceleration of each body by all, tile by tile.
#[kernel(block_size(64))]
pub fn n_body(
    #[shared] mut tile: Shared<Array<Body, 64>>,
    bodies: &[Body],
    mut to: PerThread<[f32; 3]>,
) {
    let mine = bodies
        .get(thread::index() as usize)
        .map_or([0.0; 3], |body| body.place);
    let mut sum = [0.0; 3];
    for start in (0..bodies.len()).step_by(BODIES) {
        tile.own().each(|i, to| {
            let none = Body {
                place: [0.0; 3],
                mass: 0.0,
            };
            *to = bodies.get(start + i).copied().unwrap_or(none);
        });
        tile.read(|tile| {
            for &body in tile {
                let pull = pull(mine, body);
                for (sum, pull) in sum.iter_mut().zip(pull) {
                    *sum += pull;
                }
            }
        });
    }
    to.each(|_, to| *to = sum);
}

/// Elements along each dimension of a volume.
#[derive(Clone, Copy, Debug, DeviceCopy)]
#[repr(C)]
pub struct Volume {
    /// The dimension that varies fastest.
    pub x: usize,
    /// The second one.
    pub y: usize,
    /// The slowest.
    pub z: usize,
}

/// A step of a seven-point stencil in three dimensions; the edge stays.
#[kernel]
pub fn stencil_3d(volume: Volume, from: &[f32], mut to: PerThread<f32>) {
    let Volume {
        x: nx,
        y: ny,
        z: nz,
    } = volume;
    to.each(|i, to| {
        let (x, y, z) = (i % nx, i / nx % ny, i / (nx * ny));
        let inside = |at: usize, n: usize| 0 < at && at + 1 < n;
        *to = if inside(x, nx) && inside(y, ny) && inside(z, nz) {
            let plane = nx * ny;
            let around = from[i - 1]
                + from[i + 1]
                + from[i - nx]
                + from[i + nx]
                + from[i - plane]
                + from[i + plane];
            0.4 * from[i] + 0.1 * around
        } else {
            from[i]
        };
    });
}

/// A step of the heat equation; beyond the edges it is cold.
#[kernel]
pub fn heat(rate: f32, from: &[f32], mut to: PerThread2d<f32>) {
    let from = MatrixView::new(from, to.width(), to.height());
    to.each(|(x, y), to| {
        let at = |x, y| from.get(x, y).unwrap_or(0.0);
        let here = at(x, y);
        let around =
            at(x.wrapping_sub(1), y) + at(x + 1, y) + at(x, y.wrapping_sub(1)) + at(x, y + 1);
        *to = here + rate * (around - 4.0 * here);
    });
}

/// A step of heat along a rod, for the graph: ends stay.
#[kernel]
pub fn heat_rod(rate: f32, from: &[f32], mut to: PerThread<f32>) {
    let last = from.len() - 1;
    to.each(|i, to| {
        *to = match i {
            0 => from[0],
            i if i == last => from[last],
            i => from[i] + rate * (from[i - 1] - 2.0 * from[i] + from[i + 1]),
        };
    });
}

/// A sweep over the black or the white fields of a magnet: each turns if chance wants it.
#[kernel]
pub fn ising(sweep: u32, width: usize, beta: f32, spins: &[core::sync::atomic::AtomicI8]) {
    use core::sync::atomic::Ordering::Relaxed;
    use cuda_std::random::{Distribution, HalfOpen, Philox};
    let height = spins.len() / width;
    for i in thread::grid_stride(spins.len()) {
        let (x, y) = (i % width, i / width);
        if (x + y) % 2 == sweep as usize % 2 {
            let at =
                |x: usize, y: usize| i32::from(spins[y % height * width + x % width].load(Relaxed));
            let around = at(x + 1, y) + at(x + width - 1, y) + at(x, y + 1) + at(x, y + height - 1);
            let own = at(x, y);
            let chance = (-2.0 * beta * (own * around) as f32).exp();
            let draw: f32 = HalfOpen.sample(&mut Philox::new(1, i as u64, u64::from(sweep) * 4));
            if draw < chance {
                spins[i].store(-own as i8, Relaxed);
            }
        }
    }
}

/// A wave on a rod, many steps in one cooperative launch; three rows of elements in turns.
#[kernel]
pub fn wave(
    steps: usize,
    speed: f32,
    rows: &[cuda_std::atomic::Atomic<f32, cuda_std::scope::Device>],
) {
    use cuda_std::atomic::Ordering::Relaxed;
    use cuda_std::group::{self, Group};
    let n = rows.len() / 3;
    for step in 0..steps {
        let at = |time: usize, i: usize| &rows[(step + time) % 3 * n + i];
        for i in thread::grid_stride(n) {
            if 0 < i && i + 1 < n {
                let here = at(1, i).load(Relaxed);
                let bend = at(1, i - 1).load(Relaxed) - 2.0 * here + at(1, i + 1).load(Relaxed);
                at(2, i).store(2.0 * here - at(0, i).load(Relaxed) + speed * bend, Relaxed);
            }
        }
        group::grid().sync();
    }
}
