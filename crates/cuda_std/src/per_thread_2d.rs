//! Output in rows: [`PerThread2d`] for a matrix element by element, [`PerTile`] for one tile by tile.
//!
//! ```
//! use cuda_std::PerThread2d;
//! use cuda_std::prelude::*;
//!
//! /// The transpose of a matrix.
//! #[kernel]
//! pub fn transpose(from: &[f32], mut to: PerThread2d<f32>) {
//!     let height = to.height();
//!     for ((x, y), to) in to.own() {
//!         *to = from[x * height + y];
//!     }
//! }
//! # fn main() {}
//! ```
//!
//! On the host these parameters take `buffer.rows_mut(width)`: the width is part of the argument, so
//! that all threads have the same one.

use core::marker::PhantomData;

use crate::per_block::Steps;
use crate::thread;

/// A matrix in the device's memory, shared out among the threads of the grid by their two
/// dimensions: with `nx` by `ny` threads, thread (`x`, `y`) owns the elements in the columns `x`,
/// `x + nx` and so on of the rows `y`, `y + ny` and so on. A grid's third dimension goes on with the
/// rows.
#[repr(C)]
pub struct PerThread2d<T> {
    pointer: *mut T,
    length: usize,
    width: usize,
    elements: PhantomData<*mut T>,
}

/// A matrix in the device's memory, shared out among the blocks of the grid in tiles of `W` columns
/// and `H` rows, and each tile among its block's threads. Blocks get tiles as threads get elements
/// of a [`PerThread2d`]: the block (`x`, `y`) that in column `x` and row `y` of tiles, and on from there.
#[repr(C)]
pub struct PerTile<T, const W: usize, const H: usize> {
    pointer: *mut T,
    length: usize,
    width: usize,
    elements: PhantomData<*mut T>,
}

macro_rules! matrix {
    ($name:ident [$($generics:tt)*] [$($names:tt)*]) => {
        impl<T, $($generics)*> crate::kernel::KernelParam for $name<T, $($names)*> {}

        // SAFETY: the layout is as asked for; threads reach no element that another one reaches.
        #[cfg(not(target_arch = "nvptx64"))]
        unsafe impl<T, $($generics)*> cust_core::kernel::OutputRows for $name<T, $($names)*> {
            type Element = T;
        }

        impl<T, $($generics)*> $name<T, $($names)*> {
            /// The number of columns.
            #[inline(always)]
            #[must_use]
            pub fn width(&self) -> usize {
                self.width
            }

            /// The number of rows. The last one may be short.
            #[inline(always)]
            #[must_use]
            pub fn height(&self) -> usize {
                self.length.div_ceil(self.width.max(1))
            }

            /// The number of elements.
            #[inline(always)]
            #[must_use]
            pub fn len(&self) -> usize {
                self.length
            }

            /// Whether there are no elements.
            #[inline(always)]
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.length == 0
            }
        }
    };
}
matrix!(PerThread2d [] []);
matrix!(PerTile [const W: usize, const H: usize] [W, H]);

/// Where the thread or block is in two dimensions, of how many: the third goes on with the rows.
struct Place {
    at: [u64; 2],
    of: [u64; 2],
}

impl Place {
    #[inline(always)]
    fn of_block() -> Place {
        let (block, blocks) = (thread::block_idx(), thread::grid_dim());
        Place {
            at: [
                block.x.into(),
                u64::from(block.z) * u64::from(blocks.y) + u64::from(block.y),
            ],
            of: [blocks.x.into(), u64::from(blocks.y) * u64::from(blocks.z)],
        }
    }

    #[inline(always)]
    fn of_thread() -> Place {
        let (thread, threads) = (thread::thread_idx(), thread::block_dim());
        Place {
            at: [thread.x.into(), (thread.z * threads.y + thread.y).into()],
            of: [threads.x.into(), (threads.y * threads.z).into()],
        }
    }
}

impl<T> PerThread2d<T> {
    /// This thread's elements, each with its column and row.
    #[inline(always)]
    pub fn own(&mut self) -> impl Iterator<Item = ((usize, usize), &mut T)> {
        let (block, thread) = (Place::of_block(), Place::of_thread());
        let at = |k: usize| block.at[k] * thread.of[k] + thread.at[k];
        let columns = (at(0), block.of[0] * thread.of[0]);
        let rows = (at(1), block.of[1] * thread.of[1]);
        let size = (self.width, self.height());
        elements(self.pointer, self.length, self.width, size, columns, rows)
    }

    /// The element at this thread's indices along `x` and `y`, with these: for launches with as many
    /// threads in both dimensions as there are columns and rows, and one in the third.
    #[inline(always)]
    pub fn first(&mut self) -> Option<((usize, usize), &mut T)> {
        self.own().next()
    }
}

/// The elements in every so many columns and rows, each with both.
#[inline(always)]
fn elements<'a, T: 'a>(
    pointer: *mut T,
    length: usize,
    width: usize,
    (end_x, end_y): (usize, usize),
    (first_x, step_x): (u64, u64),
    (first_y, step_y): (u64, u64),
) -> impl Iterator<Item = ((usize, usize), &'a mut T)> {
    let steps = |next, step, end: usize| Steps {
        next,
        step,
        end: end as u64,
    };
    steps(first_y, step_y, end_y).flat_map(move |y| {
        steps(first_x, step_x, end_x).filter_map(move |x| {
            let (x, y) = (x as usize, y as usize);
            let index = y * width + x;
            // The last row may be short.
            (index < length).then(|| {
                // SAFETY: inside, and of this thread alone: columns are below the width, so no two
                // pairs of a column and a row are the same element.
                ((x, y), unsafe { &mut *pointer.add(index) })
            })
        })
    })
}

impl<T, const W: usize, const H: usize> PerTile<T, W, H> {
    /// The block's tiles. All threads of a block get the same ones, so there may be barriers between
    /// them.
    #[inline(always)]
    pub fn tiles(&mut self) -> impl Iterator<Item = Tile<'_, T, W, H>> {
        const { assert!(W > 0 && H > 0, "tiles have at least one element") };
        let block = Place::of_block();
        let (pointer, length, width) = (self.pointer, self.length, self.width);
        let height = self.height();
        let steps = move |k: usize, end: usize| Steps {
            next: block.at[k],
            step: block.of[k],
            end: end as u64,
        };
        steps(1, height.div_ceil(H)).flat_map(move |y| {
            steps(0, width.div_ceil(W)).map(move |x| Tile {
                pointer,
                length,
                width,
                x: x as usize * W,
                y: y as usize * H,
                size: (
                    W.min(width - x as usize * W),
                    H.min(height - y as usize * H),
                ),
                elements: PhantomData,
            })
        })
    }
}

/// A block's tile of a [`PerTile`].
pub struct Tile<'a, T, const W: usize, const H: usize> {
    pointer: *mut T,
    length: usize,
    width: usize,
    x: usize,
    y: usize,
    size: (usize, usize),
    elements: PhantomData<&'a mut [T]>,
}

impl<T, const W: usize, const H: usize> Tile<'_, T, W, H> {
    /// The column of the tile's first element.
    #[inline(always)]
    #[must_use]
    pub fn x(&self) -> usize {
        self.x
    }

    /// The row of the tile's first element.
    #[inline(always)]
    #[must_use]
    pub fn y(&self) -> usize {
        self.y
    }

    /// Columns and rows, which are fewer than `W` and `H` at the matrix's end.
    #[inline(always)]
    #[must_use]
    pub fn size(&self) -> (usize, usize) {
        self.size
    }

    /// This thread's elements, each with its column and row in the tile: with `nx` by `ny` threads in
    /// the block, every `nx`-th column of every `ny`-th row, from its own on.
    #[inline(always)]
    pub fn own(&mut self) -> impl Iterator<Item = ((usize, usize), &mut T)> {
        let place = Place::of_thread();
        let start = self.y * self.width + self.x;
        elements(
            // In a short last row the tile may start behind the end, and then has none.
            self.pointer.wrapping_add(start),
            self.length.saturating_sub(start),
            self.width,
            self.size,
            (place.at[0], place.of[0]),
            (place.at[1], place.of[1]),
        )
    }
}
