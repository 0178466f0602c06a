//! Output in three dimensions: [`PerThread3d`].
//!
//! ```
//! use cuda_std::PerThread3d;
//! use cuda_std::prelude::*;
//!
//! /// The distance of each point of a grid from a point.
//! #[kernel]
//! pub fn distance(from: [f32; 3], mut to: PerThread3d<f32>) {
//!     to.each(|(x, y, z), to| {
//!         let [dx, dy, dz] = [x as f32 - from[0], y as f32 - from[1], z as f32 - from[2]];
//!         *to = (dx * dx + dy * dy + dz * dz).sqrt();
//!     });
//! }
//! # fn main() {}
//! ```
//!
//! On the host the parameter takes `buffer.volume_mut(width, height)`: width and height are part of the
//! argument, so that all threads have the same ones.

use core::marker::PhantomData;

use crate::per_thread_2d::matrix;
use crate::thread::{self, Strided};

/// A volume in the device's memory, shared out among the threads of the grid by their three
/// dimensions: with `nx` by `ny` by `nz` threads, thread (`x`, `y`, `z`) owns the elements in the
/// columns `x`, `x + nx` and so on of the rows `y`, `y + ny` and so on of the layers `z`, `z + nz` and
/// so on.
#[repr(C)]
pub struct PerThread3d<'k, T> {
    pointer: *mut T,
    length: usize,
    width: usize,
    height: usize,
    depth: usize,
    elements: PhantomData<(*mut T, &'k mut ())>,
}

matrix!(OutputVolume PerThread3d [] []);

impl<T> PerThread3d<'_, T> {
    /// The number of layers. The last one may be short.
    #[inline(always)]
    #[must_use]
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// This thread's columns, rows and layers.
    #[inline(always)]
    fn places(&self) -> [Strided; 3] {
        let (thread, threads) = (thread::thread_idx(), thread::block_dim());
        let (block, blocks) = (thread::block_idx(), thread::grid_dim());
        let along = |block: u32, blocks: u32, thread: u32, threads: u32, len: usize| Strided {
            next: u64::from(block) * u64::from(threads) + u64::from(thread),
            step: u64::from(blocks) * u64::from(threads),
            len: len as u64,
        };
        // Without a column or a row there is no layer either, as numbers of them are not of memory.
        let depth = if self.length == 0 { 0 } else { self.depth };
        [
            // No row has more columns, and no layer more rows, than there are elements.
            along(
                block.x,
                blocks.x,
                thread.x,
                threads.x,
                self.width.min(self.length),
            ),
            along(
                block.y,
                blocks.y,
                thread.y,
                threads.y,
                self.height.min(self.length),
            ),
            along(block.z, blocks.z, thread.z, threads.z, depth),
        ]
    }

    /// Calls a function with each of this thread's elements, and its column, row and layer.
    #[inline(always)]
    pub fn each(&mut self, mut f: impl FnMut((usize, usize, usize), &mut T)) {
        let [xs, ys, zs] = self.places();
        for z in zs {
            for y in ys.clone() {
                for x in xs.clone() {
                    let [x, y, z] = [x, y, z].map(thread::opaque);
                    let index = (z * self.height + y) * self.width + x;
                    // The last layer may be short.
                    if index < self.length {
                        // SAFETY: inside, and of this thread alone: columns are below the width and
                        // rows below the height, so no two places are the same element.
                        f((x, y, z), unsafe { &mut *self.pointer.add(index) });
                    }
                }
            }
        }
    }

    /// This thread's elements, each with its column, row and layer: as [`PerThread3d::each`], for loops
    /// that end early.
    #[inline(always)]
    pub fn own(&mut self) -> impl Iterator<Item = ((usize, usize, usize), &mut T)> {
        let (pointer, length, width, height) = (self.pointer, self.length, self.width, self.height);
        let [xs, ys, zs] = self.places();
        let rows = zs.flat_map(move |z| ys.clone().map(move |y| (y, z)));
        let places = rows.flat_map(move |(y, z)| xs.clone().map(move |x| (x, y, z)));
        places.filter_map(move |(x, y, z)| {
            let index = (z * height + y) * width + x;
            // SAFETY: as above.
            (index < length).then(|| ((x, y, z), unsafe { &mut *pointer.add(index) }))
        })
    }

    /// The element at this thread's indices along `x`, `y` and `z`, with these: for launches with as
    /// many threads in each dimension as there are elements.
    #[inline(always)]
    pub fn first(&mut self) -> Option<((usize, usize, usize), &mut T)> {
        self.own().next()
    }
}
