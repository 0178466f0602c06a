//! `wave`: the wave equation in two dimensions, by finite differences.
//!
//! Each thread computes the next value of its points from the current values and the previous one.
//! Look at `next`: it contains the previous values when the kernel starts, and each thread replaces
//! only its own. So two buffers suffice for three steps in time. The scheme is the explicit one of
//! Courant, Friedrichs and Lewy, "Über die partiellen Differenzengleichungen der mathematischen
//! Physik", *Mathematische Annalen* 100 (1928), which also derives its condition of stability.

use cuda_std::prelude::*;
use cuda_std::{MatrixView, PerThread2d};
use cust_core::DeviceCopy;

/// The square of the Courant number; the scheme is stable up to 0.5.
const SQUARE: f32 = 0.25;
/// The points at each side over which waves are absorbed.
const SPONGE: usize = 12;

/// A basin with a wall that has two openings.
#[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
#[repr(C)]
pub struct Basin {
    /// The number of columns.
    pub width: usize,
    /// The number of rows.
    pub height: usize,
}

impl Basin {
    /// Returns whether a point belongs to the wall.
    #[must_use]
    pub fn is_wall(&self, x: usize, y: usize) -> bool {
        let middle = self.height / 2;
        let from_middle = y.abs_diff(middle);
        let (apart, half) = (self.height / 8, self.height / 40 + 1);
        let open = from_middle + half > apart && from_middle < apart + half;
        x / 2 == self.width / 6 && !open
    }

    /// Returns the part of a point's motion that remains after a step: less than 1 near the sides.
    fn damping(&self, x: usize, y: usize) -> f32 {
        let side = x.min(self.width - 1 - x).min(y.min(self.height - 1 - y));
        if side < SPONGE {
            let depth = (SPONGE - side) as f32 / SPONGE as f32;
            1.0 - 0.3 * depth * depth
        } else {
            1.0
        }
    }

    /// Returns the next value at a point. `now` returns the current value of a point by column and
    /// row, and 0 outside the basin. `driven` is the value of the column of the source.
    pub fn next(
        &self,
        (x, y): (usize, usize),
        driven: f32,
        previous: f32,
        now: impl Fn(usize, usize) -> f32,
    ) -> f32 {
        if self.is_wall(x, y) {
            return 0.0;
        }
        if x == SPONGE {
            return driven;
        }
        let own = now(x, y);
        let around =
            now(x.wrapping_sub(1), y) + now(x + 1, y) + now(x, y.wrapping_sub(1)) + now(x, y + 1);
        let next = 2.0 * own - previous + SQUARE * (around - 4.0 * own);
        next * self.damping(x, y)
    }
}

/// Computes a step. `next` contains the previous values.
#[kernel]
pub fn wave_step(driven: f32, now: &[f32], mut next: PerThread2d<f32>) {
    let basin = Basin {
        width: next.width(),
        height: next.height(),
    };
    let now = MatrixView::new(now, basin.width, basin.height);
    next.each(|at, next| {
        *next = basin.next(at, driven, *next, |x, y| now.get(x, y).unwrap_or(0.0));
    });
}
