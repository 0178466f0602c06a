//! Three-dimensional output: [`PerThread3d`].
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
//! On the host, the argument for this parameter is `buffer.volume_mut(width, height)`. Width and
//! height are part of the argument, so all threads have the same ones.

use core::marker::PhantomData;
use core::ptr::NonNull;

use crate::per_thread_2d::{matrix, same_layout};
use crate::thread::{self, Strided};

/// A volume in device memory, partitioned among the threads of the grid by three dimensions: with
/// `nx` by `ny` by `nz` threads, thread (`x`, `y`, `z`) owns the elements in the columns `x`,
/// `x + nx` and so on of the rows `y`, `y + ny` and so on of the layers `z`, `z + nz` and so on.
#[repr(C)]
pub struct PerThread3d<'k, T> {
    pointer: NonNull<T>,
    length: usize,
    width: usize,
    height: usize,
    depth: usize,
    elements: PhantomData<(*mut T, &'k mut ())>,
}

same_layout! {
    PerThread3d<'static, u8>: Volume
    pointer = rows.elements.address; length = rows.elements.len; width = rows.width;
    height = rows.height; depth = depth;
}
matrix!(OutputVolume PerThread3d [] []);

impl<T> PerThread3d<'_, T> {
    /// Returns the number of layers. The last layer may be partial.
    #[inline(always)]
    #[must_use]
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// Returns this thread's columns, rows and layers.
    #[inline(always)]
    fn places(&self) -> [Strided; 3] {
        let (thread, threads) = (thread::thread_idx(), thread::block_dim());
        let (block, blocks) = (thread::block_idx(), thread::grid_dim());
        let along = |block: u32, blocks: u32, thread: u32, threads: u32, len: usize| Strided {
            next: u64::from(block) * u64::from(threads) + u64::from(thread),
            step: u64::from(blocks) * u64::from(threads),
            len: len as u64,
        };
        [
            along(block.x, blocks.x, thread.x, threads.x, self.width),
            along(block.y, blocks.y, thread.y, threads.y, self.height),
            along(block.z, blocks.z, thread.z, threads.z, self.depth),
        ]
    }

    /// Calls `f` with (column, row, layer) and a reference for each of this thread's elements.
    #[inline(always)]
    pub fn each(&mut self, mut f: impl FnMut((usize, usize, usize), &mut T)) {
        let [xs, ys, zs] = self.places();
        for z in zs {
            for y in ys.clone() {
                for x in xs.clone() {
                    let [x, y, z] = [x, y, z].map(thread::opaque);
                    let index = (z * self.height + y) * self.width + x;
                    // The last layer may be partial.
                    if index < self.length {
                        // SAFETY: in bounds, and exclusive to this thread: columns are less than
                        // the width and rows less than the height, so different positions have
                        // different indices.
                        f((x, y, z), unsafe { self.pointer.add(index).as_mut() });
                    }
                }
            }
        }
    }

    /// Returns an iterator over this thread's elements, each with its (column, row, layer): like
    /// [`PerThread3d::each`], for loops that exit early.
    #[inline(always)]
    pub fn own(&mut self) -> impl Iterator<Item = ((usize, usize, usize), &mut T)> {
        let pointer = self.pointer;
        let along = self.places();
        let places = Places {
            begun: false,
            last: along.each_ref().map(|it| it.next),
            along,
            length: self.length as u64,
        };
        // SAFETY: as in `each`.
        places.map(move |(place, index)| (place, unsafe { pointer.add(index).as_mut() }))
    }

    /// Returns the element at this thread's indices along `x`, `y` and `z`, with these indices: for
    /// launches with at least as many threads in each dimension as elements. Returns `None` for
    /// threads outside the volume.
    #[inline(always)]
    pub fn first(&mut self) -> Option<((usize, usize, usize), &mut T)> {
        self.own().next()
    }
}

/// An iterator over (column, row, layer) triples, column by column, row by row, with the indices of their
/// elements.
struct Places {
    begun: bool,
    /// The triple that was returned last, or the first one.
    last: [u64; 3],
    along: [Strided; 3],
    /// The number of elements.
    length: u64,
}

impl Iterator for Places {
    type Item = ((usize, usize, usize), usize);

    #[inline(always)]
    fn next(&mut self) -> Option<((usize, usize, usize), usize)> {
        let [xs, ys, zs] = &self.along;
        // The next position is computed only when it is needed, and only if there may be one: see
        // `per_thread_2d`.
        let [mut x, mut y, mut z] = self.last;
        if self.begun {
            if self.along.iter().all(|it| it.step >= it.len) {
                return None;
            }
            // SAFETY: positions are those of elements in memory, and a grid has fewer than 2⁶³ threads.
            let after = |at: u64, all: &Strided| unsafe { at.unchecked_add(all.step) };
            [x, y, z] = match (after(x, xs), after(y, ys)) {
                (x, _) if x < xs.len => [x, y, z],
                (_, y) if y < ys.len => [xs.next, y, z],
                _ => [xs.next, ys.next, after(z, zs)],
            };
        }
        self.begun = true;
        // Without columns or rows, there are no elements.
        if xs.next >= xs.len || ys.next >= ys.len || z >= zs.len {
            return None;
        }
        // The last layer may be partial. Indices increase, so none that follows is less. Where the indices
        // fit 32 bits, so do the positions in `last`: passes narrow them.
        let index = (z * ys.len + y) * xs.len + x;
        if index >= self.length {
            return None;
        }
        self.last = [x, y, z];
        Some(((x as usize, y as usize, z as usize), index as usize))
    }
}
