//! Vision: histograms of oriented gradients, and optical flow.

use core::f32::consts::PI;
use cuda_std::prelude::*;
use cuda_std::vector::F32x2;
use cuda_std::{MatrixView, PerThread2d};

/// The number of columns and rows of a cell.
pub const CELL: usize = 8;
/// The number of directions of gradients.
pub const BINS: usize = 9;

/// A difference between neighbors along each dimension.
#[derive(Clone, Copy, Debug)]
pub struct Gradient {
    /// The difference along rows.
    pub x: f32,
    /// The difference along columns.
    pub y: f32,
}

impl Gradient {
    /// Returns the length.
    #[inline(always)]
    pub fn length(self) -> f32 {
        (self.x * self.x + self.y * self.y).sqrt()
    }

    /// Returns the direction, one of [`BINS`]. Opposite gradients have the same one.
    #[inline(always)]
    pub fn bin(self) -> usize {
        let angle = self.y.atan2(self.x);
        let half_turn = if angle < 0.0 { angle + PI } else { angle };
        (half_turn * (BINS as f32 / PI)) as usize % BINS
    }
}

/// Histograms of oriented gradients: the sum of the lengths of gradients in each direction, for each
/// cell of an image. Pixels past the edges are black.
#[kernel(block_size(32, 4))]
pub fn hog_cells_safe(image: &[u8], mut cells: PerThread2d<[f32; BINS]>) {
    let image = MatrixView::new(image, cells.width() * CELL, cells.height() * CELL);
    let at = |x: usize, y: usize| image.get(x, y).map_or(0.0, f32::from);
    cells.each(|(column, row), cell| {
        let mut bins = [0.0; BINS];
        for y in row * CELL..(row + 1) * CELL {
            for x in column * CELL..(column + 1) * CELL {
                let gradient = Gradient {
                    x: at(x + 1, y) - at(x.wrapping_sub(1), y),
                    y: at(x, y + 1) - at(x, y.wrapping_sub(1)),
                };
                bins[gradient.bin()] += gradient.length();
            }
        }
        *cell = bins;
    });
}

/// Histograms of oriented gradients: see [`hog_cells_safe()`].
#[kernel(block_size(32, 4))]
pub unsafe fn hog_cells_raw(
    image: *const u8,
    cells: *mut [f32; BINS],
    columns: usize,
    rows: usize,
) {
    let at = thread::index_2d();
    let (column, row) = (at.x as usize, at.y as usize);
    if column >= columns || row >= rows {
        return;
    }
    let (width, height) = (columns * CELL, rows * CELL);
    let at = |x: usize, y: usize| match x < width && y < height {
        true => f32::from(*image.add(y * width + x)),
        false => 0.0,
    };
    let mut bins = [0.0; BINS];
    for y in row * CELL..(row + 1) * CELL {
        for x in column * CELL..(column + 1) * CELL {
            let gradient = Gradient {
                x: at(x + 1, y) - at(x.wrapping_sub(1), y),
                y: at(x, y + 1) - at(x, y.wrapping_sub(1)),
            };
            bins[gradient.bin()] += gradient.length();
        }
    }
    *cells.add(row * columns + column) = bins;
}

/// The distance from the center of a window to its edge.
pub const RADIUS: usize = 2;
/// The distance from an image's edge at which windows and their neighbors are within the image.
pub const MARGIN: usize = RADIUS + 1;

/// The sums of the products of a window's derivatives.
#[derive(Clone, Copy, Debug, Default)]
pub struct Structure {
    xx: f32,
    xy: f32,
    yy: f32,
    xt: f32,
    yt: f32,
}

impl Structure {
    /// Adds the derivatives of a pixel.
    #[inline(always)]
    pub fn add(&mut self, x: f32, y: f32, t: f32) {
        self.xx += x * x;
        self.xy += x * y;
        self.yy += y * y;
        self.xt += x * t;
        self.yt += y * t;
    }

    /// Returns the motion with the least squares, unless the window has no texture.
    #[inline(always)]
    pub fn motion(&self) -> Option<F32x2> {
        let determinant = self.xx * self.yy - self.xy * self.xy;
        if determinant < 1e-3 {
            return None;
        }
        let scale = 1.0 / determinant;
        Some(F32x2([
            (self.xy * self.yt - self.yy * self.xt) * scale,
            (self.xy * self.xt - self.xx * self.yt) * scale,
        ]))
    }
}

/// The optical flow from one image to the next by the method of Lucas and Kanade. Pixels near the
/// edges have none.
#[kernel(block_size(32, 8))]
pub fn optical_flow_safe(before: &[f32], after: &[f32], mut flow: PerThread2d<F32x2>) {
    let (width, height) = (flow.width(), flow.height());
    flow.each(|(x, y), flow| {
        *flow = F32x2([0.0, 0.0]);
        if x < MARGIN || y < MARGIN || x + MARGIN >= width || y + MARGIN >= height {
            return;
        }
        let mut structure = Structure::default();
        for row in y - RADIUS..=y + RADIUS {
            for column in x - RADIUS..=x + RADIUS {
                let i = row * width + column;
                structure.add(
                    0.5 * (before[i + 1] - before[i - 1]),
                    0.5 * (before[i + width] - before[i - width]),
                    after[i] - before[i],
                );
            }
        }
        if let Some(motion) = structure.motion() {
            *flow = motion;
        }
    });
}

/// The optical flow from one image to the next: see [`optical_flow_safe()`].
#[kernel(block_size(32, 8))]
pub unsafe fn optical_flow_raw(
    before: *const f32,
    after: *const f32,
    flow: *mut F32x2,
    width: usize,
    height: usize,
) {
    let at = thread::index_2d();
    let (x, y) = (at.x as usize, at.y as usize);
    if x >= width || y >= height {
        return;
    }
    let mut motion = F32x2([0.0, 0.0]);
    if x >= MARGIN && y >= MARGIN && x + MARGIN < width && y + MARGIN < height {
        let mut structure = Structure::default();
        for row in y - RADIUS..=y + RADIUS {
            for column in x - RADIUS..=x + RADIUS {
                let at = before.add(row * width + column);
                structure.add(
                    0.5 * (*at.add(1) - *at.sub(1)),
                    0.5 * (*at.add(width) - *at.sub(width)),
                    *after.add(row * width + column) - *at,
                );
            }
        }
        motion = structure.motion().unwrap_or(motion);
    }
    *flow.add(y * width + x) = motion;
}
