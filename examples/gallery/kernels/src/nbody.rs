//! `nbody`: the gravity of all pairs of bodies.
//!
//! Each block loads a tile of bodies into shared memory once, and each of its threads adds up the
//! attraction of all bodies of the tile to its own body. Look at the two phases of `tile`: `own` to
//! load, `read` to compute. The algorithm is that of Nyland, Harris and Prins, "Fast N-body
//! simulation with CUDA", *GPU Gems 3*, chapter 31 (2007), with a leapfrog step.

use cuda_std::PerBlock;
use cuda_std::prelude::*;
use cuda_std::shared::{Array, Shared};
use cust_core::DeviceCopy;

/// Bodies of a tile, and threads of a block.
pub const TILE: usize = 128;

/// The square of the softening length, which bounds the attraction of close bodies.
const SOFTENING: f32 = 1e-3;

/// A body. The constant of gravity is 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, DeviceCopy)]
#[repr(C, align(16))]
pub struct Body {
    /// The position.
    pub position: [f32; 3],
    /// The mass.
    pub mass: f32,
    /// The velocity.
    pub velocity: [f32; 3],
}

impl Body {
    /// Returns the position and the mass.
    #[must_use]
    pub fn source(&self) -> [f32; 4] {
        let [x, y, z] = self.position;
        [x, y, z, self.mass]
    }

    /// Returns the body after a step of `dt`.
    #[must_use]
    pub fn advanced(mut self, acceleration: [f32; 3], dt: f32) -> Body {
        for axis in 0..3 {
            self.velocity[axis] += acceleration[axis] * dt;
            self.position[axis] += self.velocity[axis] * dt;
        }
        self
    }
}

/// Adds the acceleration at `at` by a source, a position and a mass, to `sum`.
#[must_use]
pub fn attract(sum: [f32; 3], at: [f32; 3], source: [f32; 4]) -> [f32; 3] {
    let [x, y, z] = [source[0] - at[0], source[1] - at[1], source[2] - at[2]];
    let squared = x * x + y * y + z * z + SOFTENING;
    let factor = source[3] / (squared * squared.sqrt());
    [
        sum[0] + x * factor,
        sum[1] + y * factor,
        sum[2] + z * factor,
    ]
}

/// Computes a step of `dt` for all bodies.
#[kernel(block_size(128))]
pub fn nbody_step(
    #[shared] mut tile: Shared<Array<[f32; 4], TILE>>,
    dt: f32,
    from: &[Body],
    mut to: PerBlock<Body, TILE>,
) {
    for mut bodies in to.pieces() {
        let own = bodies.start() + thread::index_in_block() as usize;
        // Threads without a body help to load tiles.
        let at = from.get(own).map_or([0.0; 3], |body| body.position);
        let mut sum = [0.0; 3];
        for start in (0..from.len()).step_by(TILE) {
            tile.own().each(|i, source| {
                // A source without mass attracts nothing.
                *source = from.get(start + i).map_or([0.0; 4], Body::source);
            });
            sum = tile.read(|tile| {
                tile.iter()
                    .fold(sum, |sum, &source| attract(sum, at, source))
            });
        }
        bodies.each(|i, body| *body = from[i].advanced(sum, dt));
    }
}
