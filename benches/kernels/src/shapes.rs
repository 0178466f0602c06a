//! Shapes: points in a polygon, and lines in an image.

use cuda_std::PerBlock;
use cuda_std::atomic::{Atomic, Ordering::Relaxed};
use cuda_std::prelude::*;
use cuda_std::scope::Block;
use cuda_std::shared::{Array, Shared};
use cust_core::DeviceCopy;

/// A point in the plane.
#[derive(Clone, Copy, Debug, Default, PartialEq, DeviceCopy)]
#[repr(C, align(8))]
pub struct Point {
    /// The first coordinate.
    pub x: f32,
    /// The second coordinate.
    pub y: f32,
}

impl Point {
    /// Returns whether a ray from the point to the right crosses an edge.
    #[inline(always)]
    pub fn crosses(self, a: Point, b: Point) -> bool {
        (a.y > self.y) != (b.y > self.y)
            && self.x < (b.x - a.x) * (self.y - a.y) / (b.y - a.y) + a.x
    }
}

/// Whether each point is in a polygon, whose last corner is the first one.
#[kernel(block_size(256))]
pub fn point_in_polygon_safe(points: &[Point], polygon: &[Point], mut inside: PerThread<u8>) {
    inside.each_with(points, |_, inside, &point| {
        let edges = polygon.windows(2);
        let crossed = edges.filter(|edge| point.crosses(edge[0], edge[1]));
        *inside = u8::from(crossed.count() % 2 == 1);
    });
}

/// Whether each point is in a polygon, whose last corner is the first one.
#[kernel(block_size(256))]
pub unsafe fn point_in_polygon_raw(
    points: *const Point,
    polygon: *const Point,
    corners: usize,
    inside: *mut u8,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let point = *points.add(i);
    let mut crossed = 0;
    for k in 1..corners {
        if point.crosses(*polygon.add(k - 1), *polygon.add(k)) {
            crossed += 1;
        }
    }
    *inside.add(i) = crossed % 2;
}

/// The number of distances of lines, two pixels each.
pub const DISTANCES: usize = 1280;
/// The largest negative distance in pixels.
pub const OFFSET: f32 = 1024.0;

/// A pixel of an edge.
#[derive(Clone, Copy, Debug, Default, PartialEq, DeviceCopy)]
#[repr(C, align(4))]
pub struct Pixel {
    /// The column.
    pub x: u16,
    /// The row.
    pub y: u16,
}

/// The direction that is perpendicular to a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, DeviceCopy)]
#[repr(C, align(8))]
pub struct Direction {
    /// The cosine of the angle.
    pub cos: f32,
    /// The sine of the angle.
    pub sin: f32,
}

impl Direction {
    /// Returns the number of the line through a pixel.
    #[inline(always)]
    pub fn line(&self, pixel: Pixel) -> usize {
        let distance = f32::from(pixel.x) * self.cos + f32::from(pixel.y) * self.sin;
        ((distance + OFFSET) * 0.5) as usize
    }
}

/// The number of pixels on each line: Hough's transform. A block has one direction.
#[kernel(block_size(256))]
pub fn hough_lines_safe(
    #[shared] mut votes: Shared<Array<Atomic<u32, Block>, DISTANCES>>,
    pixels: &[Pixel],
    directions: &[Direction],
    mut to: PerBlock<u32, DISTANCES>,
) {
    for mut lines in to.pieces() {
        let start = lines.start();
        let direction = &directions[start / DISTANCES];
        votes.own().each(|_, votes| *votes.get_mut() = 0);
        votes.read(|votes| {
            for i in thread::block_stride(pixels.len()) {
                votes[direction.line(pixels[i])].fetch_add(1, Relaxed);
            }
        });
        votes.read(|votes| {
            lines.each(|i, to| *to = votes[i - start].load(Relaxed));
        });
    }
}

/// The number of pixels on each line: see [`hough_lines_safe()`].
#[kernel(block_size(256))]
pub unsafe fn hough_lines_raw(
    pixels: *const Pixel,
    directions: *const Direction,
    to: *mut u32,
    n: usize,
) {
    let votes = shared_array![u32; DISTANCES];
    let thread = thread::thread_idx_x() as usize;
    let block = thread::block_idx_x() as usize;
    let direction = *directions.add(block);
    for i in (thread..DISTANCES).step_by(256) {
        *votes.add(i) = 0;
    }
    thread::sync_threads();
    let mut i = thread;
    while i < n {
        let line = direction.line(*pixels.add(i));
        Atomic::<u32, Block>::from_ptr(votes.add(line)).fetch_add(1, Relaxed);
        i += 256;
    }
    thread::sync_threads();
    for i in (thread..DISTANCES).step_by(256) {
        *to.add(block * DISTANCES + i) = *votes.add(i);
    }
}
