//! Two-dimensional output: [`PerThread2d`] partitions a matrix by elements, [`PerTile`] by tiles.
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
//! On the host, the argument for these parameters is `buffer.rows_mut(width)`. The width is part of
//! the argument, so all threads have the same one.

use core::marker::PhantomData;
use core::ptr::NonNull;

use crate::thread;

/// A row-major matrix in device memory, partitioned among the threads of the grid by two
/// dimensions: with `nx` by `ny` threads, thread (`x`, `y`) owns the elements in the columns `x`,
/// `x + nx` and so on of the rows `y`, `y + ny` and so on. Threads along the grid's third dimension
/// continue the numbering along `y`.
#[repr(C)]
pub struct PerThread2d<'k, T> {
    pointer: NonNull<T>,
    length: usize,
    width: usize,
    height: usize,
    elements: PhantomData<(*mut T, &'k mut ())>,
}

/// A row-major matrix in device memory, partitioned into tiles of `W` columns and `H` rows among
/// the blocks of the grid; each tile is partitioned among the threads of its block. Blocks own
/// tiles as threads own elements of a [`PerThread2d`]: with `nx` by `ny` blocks, block (`x`, `y`)
/// owns the tiles in the tile columns `x`, `x + nx` and so on of the tile rows `y`, `y + ny` and so
/// on.
#[repr(C)]
pub struct PerTile<'k, T, const W: usize, const H: usize> {
    pointer: NonNull<T>,
    length: usize,
    width: usize,
    height: usize,
    elements: PhantomData<(*mut T, &'k mut ())>,
}

/// Checks at compile time that a type has the layout in which the host passes it.
macro_rules! same_layout {
    ($ty:ty: $shared:ident $($own:ident = $($field:ident).+;)*) => {
        #[cfg(target_pointer_width = "64")]
        const _: () = {
            use core::mem::offset_of;
            use cust_core::parameters::$shared;
            $(assert!(offset_of!($ty, $own) == offset_of!($shared, $($field).+));)*
            assert!(size_of::<$ty>() == size_of::<$shared>());
        };
    };
    ($($ty:ty)*; elements) => {$(
        crate::per_thread_2d::same_layout! { $ty: Elements pointer = address; length = len; }
    )*};
    ($($ty:ty)*; rows) => {$(
        crate::per_thread_2d::same_layout! {
            $ty: Rows
            pointer = elements.address; length = elements.len; width = width; height = height;
        }
    )*};
}
pub(crate) use same_layout;

same_layout!(PerThread2d<'static, u8> PerTile<'static, u8, 1, 1>; rows);

/// Implements what all types with rows share. `$output` is the trait that says how the host passes
/// the argument.
macro_rules! matrix {
    ($output:ident $name:ident [$($generics:tt)*] [$($names:tt)*]) => {
        impl<T, $($generics)*> crate::kernel::KernelParam for $name<'_, T, $($names)*> {}

        // SAFETY: the layout is the one that the trait requires, and no two threads access the same
        // element.
        unsafe impl<T, $($generics)*> cust_core::kernel::$output for $name<'_, T, $($names)*> {
            type Element = T;
        }

        #[cfg(not(target_arch = "nvptx64"))]
        // SAFETY: the references that it returns do not outlive `'p`.
        unsafe impl<'p, T, $($generics)*> cust_core::kernel::OutputOf<'p>
            for $name<'p, T, $($names)*>
        {
        }

        impl<T, $($generics)*> $name<'_, T, $($names)*> {
            /// Returns the number of columns.
            #[inline(always)]
            #[must_use]
            pub fn width(&self) -> usize {
                self.width
            }

            /// Returns the number of rows (of a volume: the rows of one layer). The last row may be
            /// partial.
            #[inline(always)]
            #[must_use]
            pub fn height(&self) -> usize {
                self.height
            }

            /// Returns the number of elements.
            #[inline(always)]
            #[must_use]
            pub fn len(&self) -> usize {
                self.length
            }

            /// Returns whether `self` has no elements.
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

/// An iterator over (column, row) pairs with a constant stride in each dimension, row by row.
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
    /// Whether the places are those of a block or a thread in the grid.
    of_grid: bool,
}

impl Places {
    /// Starts at the block's position in the grid. The third dimension continues the rows.
    #[inline(always)]
    fn of_block() -> Places {
        let (block, blocks) = (thread::block_idx(), thread::grid_dim());
        let of_grid = true;
        Places {
            of_grid,
            ..Places::new(
                block.x as usize,
                // 32 bits suffice, as in `thread::index`.
                block.z.wrapping_mul(blocks.y).wrapping_add(block.y) as usize,
                blocks.x as usize,
                blocks.y.wrapping_mul(blocks.z) as usize,
            )
        }
    }

    /// Starts at the thread's position in its block.
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

    /// Starts at the thread's position in the grid.
    #[inline(always)]
    fn of_thread_in_grid() -> Places {
        let (block, thread) = (Places::of_block(), Places::of_thread());
        let of_grid = true;
        Places {
            of_grid,
            ..Places::new(
                block.x * thread.step_x + thread.x,
                block.y * thread.step_y + thread.y,
                block.step_x * thread.step_x,
                block.step_y * thread.step_y,
            )
        }
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
            of_grid: false,
        }
    }

    #[inline(always)]
    fn up_to(mut self, end_x: usize, end_y: usize) -> Places {
        (self.end_x, self.end_y) = (end_x, end_y);
        self
    }

    /// Returns whether the grid has a block or a thread for each place. The compiler's copy of a
    /// kernel for ordinary launches knows that.
    #[inline(always)]
    fn is_covered(&self) -> bool {
        self.of_grid && self.step_x >= self.end_x && self.step_y >= self.end_y
    }
}

impl Iterator for Places {
    type Item = (usize, usize);

    #[inline(always)]
    fn next(&mut self) -> Option<(usize, usize)> {
        // Compute the next position only when it is needed: this keeps it out of registers in the
        // loop's body.
        if self.begun {
            if self.is_covered() {
                return None;
            }
            // SAFETY: `x` is a column of a matrix in memory, and a grid has fewer than 2⁶³ threads.
            self.x = unsafe { self.x.unchecked_add(self.step_x) };
            if self.x >= self.end_x {
                self.x = self.first_x;
                self.y += self.step_y;
            }
        }
        self.begun = true;
        // Without columns, rows have no elements either.
        let inside = self.first_x < self.end_x && self.y < self.end_y;
        inside.then_some((self.x, self.y))
    }
}

/// The elements at `places` of a matrix, or of a part of a matrix that starts at `pointer`.
#[derive(Clone, Copy)]
struct Elements<T> {
    pointer: NonNull<T>,
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
                // The last row may be partial.
                if index < self.length {
                    // SAFETY: in bounds, and exclusive to this thread: columns are less than the
                    // width, so different (column, row) pairs have different indices.
                    f((own_x, own_y), unsafe { self.pointer.add(index).as_mut() });
                }
                // SAFETY: `x` is a column of a matrix in memory, and a grid has fewer than 2⁶³
                // threads.
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
            // SAFETY: as in `each`.
            (index < self.length).then(|| ((x, y), unsafe { self.pointer.add(index).as_mut() }))
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
            places: Places::of_thread_in_grid().up_to(self.width, self.height),
        }
    }

    /// Calls `f` with (column, row) and a reference for each of this thread's elements.
    #[inline(always)]
    pub fn each(&mut self, f: impl FnMut((usize, usize), &mut T)) {
        self.elements().each(f);
    }

    /// Returns an iterator over this thread's elements, each with its (column, row): like
    /// [`PerThread2d::each`], for loops that exit early.
    #[inline(always)]
    pub fn own(&mut self) -> impl Iterator<Item = ((usize, usize), &mut T)> {
        self.elements().iter()
    }

    /// Returns the element at this thread's indices along `x` and `y`, with these indices: for
    /// launches with at least as many threads along `x` and `y` as columns and rows, and one along
    /// `z`. Returns `None` for threads outside the matrix.
    #[inline(always)]
    pub fn first(&mut self) -> Option<((usize, usize), &mut T)> {
        self.own().next()
    }
}

impl<T, const W: usize, const H: usize> PerTile<'_, T, W, H> {
    /// Returns an iterator over the block's tiles. All threads of a block get the same tiles, so
    /// the loop's body may contain barriers.
    #[inline(always)]
    pub fn tiles(&mut self) -> impl Iterator<Item = Tile<'_, T, W, H>> {
        const {
            assert!(W > 0 && H > 0, "tiles have at least one element");
            // Prevents overflow of the index of a row past the end: the host accepts at most 2⁴⁰
            // columns.
            assert!(
                W <= 1 << 20 && H <= 1 << 20,
                "tiles have at most 2²⁰ columns and rows"
            );
        }
        let (pointer, length, width, height) =
            (self.pointer, self.length, self.width, self.height());
        let places = Places::of_block().up_to(width.div_ceil(W), height.div_ceil(H));
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

/// A tile of a [`PerTile`] that belongs to this thread's block.
pub struct Tile<'a, T, const W: usize, const H: usize> {
    pointer: NonNull<T>,
    length: usize,
    width: usize,
    x: usize,
    y: usize,
    columns: usize,
    rows: usize,
    elements: PhantomData<&'a mut [T]>,
}

impl<T, const W: usize, const H: usize> Tile<'_, T, W, H> {
    /// Returns the column of the tile's first element.
    #[inline(always)]
    #[must_use]
    pub fn x(&self) -> usize {
        self.x
    }

    /// Returns the row of the tile's first element.
    #[inline(always)]
    #[must_use]
    pub fn y(&self) -> usize {
        self.y
    }

    /// Returns the number of columns and rows, which are less than `W` and `H` for tiles at the
    /// edge of the matrix.
    #[inline(always)]
    #[must_use]
    pub fn size(&self) -> (usize, usize) {
        (self.columns, self.rows)
    }

    #[inline(always)]
    fn elements(&self) -> Elements<T> {
        // If the last row is partial, the tile may start past the end; then it has no elements.
        let start = self.length.min(self.y * self.width + self.x);
        Elements {
            // SAFETY: in bounds, or the end.
            pointer: unsafe { self.pointer.add(start) },
            length: self.length - start,
            width: self.width,
            places: Places::of_thread().up_to(self.columns, self.rows),
        }
    }

    /// Calls `f` with (column, row) in the tile and a reference for each of this thread's elements:
    /// with `nx` by `ny` threads in the block, every `nx`-th column of every `ny`-th row, starting
    /// at the thread's own position.
    #[inline(always)]
    pub fn each(&mut self, mut f: impl FnMut((usize, usize), &mut T)) {
        // Iterate over a full tile, and skip what is outside: if the block's size is constant, so
        // is the trip count.
        let places = Places::of_thread();
        thread::each_below::<H>(places.y, places.step_y, |y| {
            thread::each_below::<W>(places.x, places.step_x, |x| {
                let (x_in, y_in) = (thread::bounded::<W>(x), thread::bounded::<H>(y));
                let index = (self.y + y) * self.width + self.x + x;
                // `index < length` alone also excludes the end of a partial last row.
                if x < self.columns && index < self.length {
                    // SAFETY: in bounds, and exclusive to this thread: columns are less than the
                    // width, so different (column, row) pairs have different indices.
                    f((x_in, y_in), unsafe { self.pointer.add(index).as_mut() });
                }
            });
        });
    }

    /// Returns an iterator over these elements: like [`Tile::each`], for loops that exit early.
    #[inline(always)]
    pub fn own(&mut self) -> impl Iterator<Item = ((usize, usize), &mut T)> {
        self.elements().iter()
    }
}
