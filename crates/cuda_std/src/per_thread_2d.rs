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
//!     to.each(|(x, y), to| *to = from[x * height + y]);
//! }
//! # fn main() {}
//! ```
//!
//! On the host these parameters take `buffer.rows_mut(width)`: the width is part of the argument, so
//! that all threads have the same one.

use core::marker::PhantomData;

use crate::thread;

/// A matrix in the device's memory, shared out among the threads of the grid by their two
/// dimensions: with `nx` by `ny` threads, thread (`x`, `y`) owns the elements in the columns `x`,
/// `x + nx` and so on of the rows `y`, `y + ny` and so on. A grid's third dimension goes on with the
/// rows.
#[repr(C)]
pub struct PerThread2d<'k, T> {
    pointer: *mut T,
    length: usize,
    width: usize,
    height: usize,
    elements: PhantomData<(*mut T, &'k mut ())>,
}

/// A matrix in the device's memory, shared out among the blocks of the grid in tiles of `W` columns
/// and `H` rows, and each tile among its block's threads. Blocks get tiles as threads get elements
/// of a [`PerThread2d`]: the block (`x`, `y`) that in column `x` and row `y` of tiles, and on from there.
#[repr(C)]
pub struct PerTile<'k, T, const W: usize, const H: usize> {
    pointer: *mut T,
    length: usize,
    width: usize,
    height: usize,
    elements: PhantomData<(*mut T, &'k mut ())>,
}

/// What all types with rows have: `$output` is how the host passes them.
macro_rules! matrix {
    ($output:ident $name:ident [$($generics:tt)*] [$($names:tt)*]) => {
        impl<T, $($generics)*> crate::kernel::KernelParam for $name<'_, T, $($names)*> {}

        // SAFETY: the layout is as asked for; threads reach no element that another one reaches.
        unsafe impl<T, $($generics)*> cust_core::kernel::$output for $name<'_, T, $($names)*> {
            type Element = T;
        }

        #[cfg(not(target_arch = "nvptx64"))]
        // SAFETY: references that it gives live no longer than its lifetime.
        unsafe impl<'p, T, $($generics)*> cust_core::kernel::OutputOf<'p>
            for $name<'p, T, $($names)*>
        {
        }

        impl<T, $($generics)*> $name<'_, T, $($names)*> {
            /// The number of columns.
            #[inline(always)]
            #[must_use]
            pub fn width(&self) -> usize {
                self.width
            }

            /// The number of rows; of a volume, of those of a layer. The last one may be short.
            #[inline(always)]
            #[must_use]
            pub fn height(&self) -> usize {
                self.height
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
pub(crate) use matrix;
matrix!(OutputRows PerThread2d [] []);
matrix!(OutputRows PerTile [const W: usize, const H: usize] [W, H]);

/// Columns and rows in steps, row by row.
#[derive(Clone, Copy)]
struct Places {
    first_x: usize,
    x: usize,
    y: usize,
    step_x: usize,
    step_y: usize,
    end_x: usize,
    end_y: usize,
    begun: bool,
}

impl Places {
    /// The place of the block among all blocks; the third dimension goes on with the rows.
    #[inline(always)]
    fn of_block() -> Places {
        let (block, blocks) = (thread::block_idx(), thread::grid_dim());
        Places::new(
            block.x as usize,
            // As for `thread::index`, 32 bits have room.
            block.z.wrapping_mul(blocks.y).wrapping_add(block.y) as usize,
            blocks.x as usize,
            blocks.y.wrapping_mul(blocks.z) as usize,
        )
    }

    /// That of the thread in its block.
    #[inline(always)]
    fn of_thread() -> Places {
        let (thread, threads) = (thread::thread_idx(), thread::block_dim());
        Places::new(
            thread.x as usize,
            (thread.z * threads.y + thread.y) as usize,
            threads.x as usize,
            (threads.y * threads.z) as usize,
        )
    }

    /// That of the thread in the grid.
    #[inline(always)]
    fn of_thread_in_grid() -> Places {
        let (block, thread) = (Places::of_block(), Places::of_thread());
        Places::new(
            block.x * thread.step_x + thread.x,
            block.y * thread.step_y + thread.y,
            block.step_x * thread.step_x,
            block.step_y * thread.step_y,
        )
    }

    #[inline(always)]
    fn new(x: usize, y: usize, step_x: usize, step_y: usize) -> Places {
        Places {
            first_x: x,
            x,
            y,
            step_x,
            step_y,
            end_x: 0,
            end_y: 0,
            begun: false,
        }
    }

    #[inline(always)]
    fn up_to(mut self, end_x: usize, end_y: usize) -> Places {
        (self.end_x, self.end_y) = (end_x, end_y);
        self
    }
}

impl Iterator for Places {
    type Item = (usize, usize);

    #[inline(always)]
    fn next(&mut self) -> Option<(usize, usize)> {
        // The next place is not computed before it is needed: a loop's body has enough in registers.
        if self.begun {
            // SAFETY: a column of something in memory, and less threads than 2⁶³.
            self.x = unsafe { self.x.unchecked_add(self.step_x) };
            if self.x >= self.end_x {
                self.x = self.first_x;
                self.y += self.step_y;
            }
        }
        self.begun = true;
        // Without a column there is no row either.
        let inside = self.first_x < self.end_x && self.y < self.end_y;
        inside.then_some((self.x, self.y))
    }
}

/// The elements at these places of a matrix, or of a part of it that starts at `pointer`.
#[derive(Clone, Copy)]
struct Elements<T> {
    pointer: *mut T,
    length: usize,
    width: usize,
    places: Places,
}

impl<T> Elements<T> {
    #[inline(always)]
    fn each<'a>(self, mut f: impl FnMut((usize, usize), &'a mut T))
    where
        T: 'a,
    {
        let mut y = self.places.y;
        while y < self.places.end_y {
            let mut x = self.places.x;
            while x < self.places.end_x {
                let (own_x, own_y) = (thread::opaque(x), thread::opaque(y));
                let index = own_y * self.width + own_x;
                // The last row may be short.
                if index < self.length {
                    // SAFETY: inside, and of this thread alone: columns are below the width, so no
                    // two pairs of a column and a row are the same element.
                    f((own_x, own_y), unsafe { &mut *self.pointer.add(index) });
                }
                // SAFETY: a column of something in memory, and less threads than 2⁶³.
                x = unsafe { x.unchecked_add(self.places.step_x) };
            }
            // SAFETY: as for the columns.
            y = unsafe { y.unchecked_add(self.places.step_y) };
        }
    }

    #[inline(always)]
    fn iter<'a>(self) -> impl Iterator<Item = ((usize, usize), &'a mut T)>
    where
        T: 'a,
    {
        self.places.filter_map(move |(x, y)| {
            let index = y * self.width + x;
            // SAFETY: as above.
            (index < self.length).then(|| ((x, y), unsafe { &mut *self.pointer.add(index) }))
        })
    }
}

impl<T> PerThread2d<'_, T> {
    #[inline(always)]
    fn elements(&mut self) -> Elements<T> {
        Elements {
            pointer: self.pointer,
            length: self.length,
            width: self.width,
            // No row has more columns than there are elements, however wide it is.
            places: Places::of_thread_in_grid().up_to(self.width.min(self.length), self.height()),
        }
    }

    /// Calls a function with each of this thread's elements, and its column and row.
    #[inline(always)]
    pub fn each(&mut self, f: impl FnMut((usize, usize), &mut T)) {
        self.elements().each(f);
    }

    /// This thread's elements, each with its column and row: as [`PerThread2d::each`], for loops that
    /// end early.
    #[inline(always)]
    pub fn own(&mut self) -> impl Iterator<Item = ((usize, usize), &mut T)> {
        self.elements().iter()
    }

    /// The element at this thread's indices along `x` and `y`, with these: for launches with as many
    /// threads in both dimensions as there are columns and rows, and one in the third.
    #[inline(always)]
    pub fn first(&mut self) -> Option<((usize, usize), &mut T)> {
        self.own().next()
    }
}

impl<T, const W: usize, const H: usize> PerTile<'_, T, W, H> {
    /// The block's tiles. All threads of a block get the same ones, so there may be barriers between
    /// them.
    #[inline(always)]
    pub fn tiles(&mut self) -> impl Iterator<Item = Tile<'_, T, W, H>> {
        const {
            assert!(W > 0 && H > 0, "tiles have at least one element");
            // So that no index of a row behind the end wraps; hosts tell of 2⁴⁰ columns at most.
            assert!(
                W <= 1 << 20 && H <= 1 << 20,
                "tiles have at most 2²⁰ columns and rows"
            );
        }
        let (pointer, length, width, height) =
            (self.pointer, self.length, self.width, self.height());
        // No row has more columns than there are elements, however wide it is.
        let columns = width.min(length).div_ceil(W);
        let places = Places::of_block().up_to(columns, height.div_ceil(H));
        places.map(move |(x, y)| {
            let (x, y) = (x * W, y * H);
            Tile {
                pointer,
                length,
                width,
                x,
                y,
                columns: W.min(width - x),
                rows: H.min(height - y),
                elements: PhantomData,
            }
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
    columns: usize,
    rows: usize,
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
        (self.columns, self.rows)
    }

    #[inline(always)]
    fn elements(&self) -> Elements<T> {
        let start = self.y * self.width + self.x;
        Elements {
            // In a short last row the tile may start behind the end, and then has none.
            pointer: self.pointer.wrapping_add(start),
            length: self.length.saturating_sub(start),
            width: self.width,
            places: Places::of_thread().up_to(self.columns, self.rows),
        }
    }

    /// Calls a function with each of this thread's elements, and its column and row in the tile: with
    /// `nx` by `ny` threads in the block, every `nx`-th column of every `ny`-th row, from its own on.
    #[inline(always)]
    pub fn each(&mut self, mut f: impl FnMut((usize, usize), &mut T)) {
        // As far as whole tiles go: with a block of known size the compiler then knows how often.
        let places = Places::of_thread();
        let mut y = places.y;
        while y < H {
            let mut x = places.x;
            while x < W {
                let (x_in, y_in) = (thread::bounded::<W>(x), thread::bounded::<H>(y));
                let index = (self.y + y) * self.width + self.x + x;
                // Nothing beyond the end is in a row, the short last one included.
                if x < self.columns && index < self.length {
                    // SAFETY: inside, and of this thread alone: columns are below the width, so no
                    // two pairs of a column and a row are the same element.
                    f((x_in, y_in), unsafe { &mut *self.pointer.add(index) });
                }
                // SAFETY: a column of a tile, and the number of threads in a block.
                x = unsafe { x.unchecked_add(places.step_x) };
            }
            // SAFETY: as for the columns.
            y = unsafe { y.unchecked_add(places.step_y) };
        }
    }

    /// These elements: as [`Tile::each`], for loops that end early.
    #[inline(always)]
    pub fn own(&mut self) -> impl Iterator<Item = ((usize, usize), &mut T)> {
        self.elements().iter()
    }
}
