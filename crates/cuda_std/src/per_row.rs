//! Output in which each thread owns whole rows ([`PerRow`]) or columns ([`PerColumn`]) of a matrix, or
//! each block ([`PerBlockRow`]) or warp ([`PerWarpRow`]) whole rows: for results, or scratch memory,
//! whose size is known only on the host.
//!
//! ```
//! use cuda_std::PerColumn;
//! use cuda_std::prelude::*;
//!
//! /// The first numbers of the Collatz sequence of each start, one sequence in each column.
//! #[kernel]
//! pub fn collatz(starts: &[u32], mut to: PerColumn<u32>) {
//!     to.each(|x, mut column| {
//!         let mut n = starts[x];
//!         for to in column.iter_mut() {
//!             *to = n;
//!             n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 };
//!         }
//!     });
//! }
//! # fn main() {}
//! ```
//!
//! On the host, the argument for these parameters is `buffer.rows_mut(width)`. Prefer columns for
//! speed: if all threads write their columns from top to bottom, the accesses of a warp are
//! coalesced. A row is a slice, but the accesses of neighboring threads are `width` elements apart.

use core::iter::FusedIterator;
use core::marker::PhantomData;
use core::ops::{Index, IndexMut};
use core::ptr::NonNull;

use crate::per_block::warp_strides;
use crate::per_thread_2d::{matrix, same_layout};
use crate::thread::{self, Strided};

/// A row-major matrix in device memory, partitioned among the threads of the grid by rows: thread
/// `i` of `n` owns the rows `i`, `i + n` and so on, for grids of any shape.
#[repr(C)]
pub struct PerRow<'k, T> {
    pointer: NonNull<T>,
    length: usize,
    width: usize,
    height: usize,
    elements: PhantomData<(*mut T, &'k mut ())>,
}

/// A row-major matrix in device memory, partitioned among the threads of the grid by columns:
/// thread `i` of `n` owns the columns `i`, `i + n` and so on, for grids of any shape.
#[repr(C)]
pub struct PerColumn<'k, T> {
    pointer: NonNull<T>,
    length: usize,
    width: usize,
    height: usize,
    elements: PhantomData<(*mut T, &'k mut ())>,
}

/// A row-major matrix in device memory, partitioned among the blocks of the grid by rows: block `b`
/// of `m` owns the rows `b`, `b + m` and so on; in each of them, thread `i` of `n` owns the elements
/// `i`, `i + n` and so on. For rows of constant length, see [`PerBlock`](crate::PerBlock).
///
/// ```
/// use cuda_std::{PerBlockRow, group};
/// use cuda_std::prelude::*;
///
/// /// Divides each row by its sum.
/// #[kernel(block_size(256))]
/// pub fn normalize(mut matrix: PerBlockRow<f32>) {
///     for mut row in matrix.rows() {
///         let mine: f32 = row.own().map(|(_, x)| *x).sum();
///         let sum = group::block().reduce(mine, |a, b| a + b);
///         row.each(|_, x| *x /= sum);
///     }
/// }
/// # fn main() {}
/// ```
#[repr(C)]
pub struct PerBlockRow<'k, T> {
    pointer: NonNull<T>,
    length: usize,
    width: usize,
    height: usize,
    elements: PhantomData<(*mut T, &'k mut ())>,
}

/// A row-major matrix in device memory, partitioned among the warps of the grid by rows: like
/// [`PerBlockRow`], with warps and lanes instead of blocks and threads. If a block's size is not a
/// multiple of 32, its last, partial warp counts as a warp. For rows of constant length, see
/// [`PerWarp`](crate::PerWarp).
#[repr(C)]
pub struct PerWarpRow<'k, T> {
    pointer: NonNull<T>,
    length: usize,
    width: usize,
    height: usize,
    elements: PhantomData<(*mut T, &'k mut ())>,
}

same_layout!(
    PerRow<'static, u8> PerColumn<'static, u8> PerBlockRow<'static, u8> PerWarpRow<'static, u8>;
    rows
);
matrix!(OutputRows PerRow [] []);
matrix!(OutputRows PerColumn [] []);
matrix!(OutputRows PerBlockRow [] []);
matrix!(OutputRows PerWarpRow [] []);

impl<T> PerRow<'_, T> {
    /// Calls `f` with the index and the elements of each of this thread's rows. The last row may be
    /// partial.
    #[inline(always)]
    pub fn each(&mut self, mut f: impl FnMut(usize, &mut [T])) {
        for (y, row) in self.own() {
            f(y, row);
        }
    }

    /// Returns an iterator over this thread's rows, each with its index: like [`PerRow::each`], for
    /// loops that exit early.
    #[inline(always)]
    pub fn own(&mut self) -> impl Iterator<Item = (usize, &mut [T])> {
        let (pointer, length, width) = (self.pointer, self.length, self.width);
        thread::grid_stride(self.height).map(move |y| {
            let start = y * width;
            // SAFETY: in bounds, and exclusive to this thread: thread indices are unique in the
            // grid.
            let row = unsafe {
                core::slice::from_raw_parts_mut(
                    pointer.add(start).as_ptr(),
                    width.min(length - start),
                )
            };
            (y, row)
        })
    }
}

impl<T> PerColumn<'_, T> {
    /// Calls `f` with the index and the elements of each of this thread's columns.
    #[inline(always)]
    pub fn each(&mut self, mut f: impl FnMut(usize, Column<'_, T>)) {
        for (x, column) in self.own() {
            f(x, column);
        }
    }

    /// Returns an iterator over this thread's columns, each with its index: like
    /// [`PerColumn::each`], for loops that exit early.
    #[inline(always)]
    pub fn own(&mut self) -> impl Iterator<Item = (usize, Column<'_, T>)> {
        let (pointer, width) = (self.pointer, self.width);
        let last = self.height.saturating_sub(1);
        let in_last = self.length - last * width;
        thread::grid_stride(width).map(move |x| {
            let column = Column {
                pointer,
                x,
                // If there is less than one row, a column may start past the end; then it is empty.
                length: last + usize::from(x < in_last),
                step: width,
                elements: PhantomData,
            };
            (x, column)
        })
    }
}

/// Implements the outputs whose rows belong to teams of threads. `$strides` returns the indices of
/// the team's rows among a number of rows, and this thread's places in a row of some length.
macro_rules! team_rows {
    ($name:ident $team:literal $strides:expr) => {
        impl<T> $name<'_, T> {
            #[doc = concat!("Returns an iterator over the ", $team, "'s rows. A [`TeamRow`] gives \
                access to this thread's elements of the row. All threads of a ", $team, " get the \
                same rows, so the loop's body may contain the ", $team, "'s barriers and \
                reductions.")]
            #[inline(always)]
            pub fn rows(&mut self) -> impl Iterator<Item = TeamRow<'_, T>> {
                let (pointer, length, width) = (self.pointer, self.length, self.width);
                let (rows, places) = $strides(self.height, width);
                rows.map(move |y| {
                    let start = y * width;
                    TeamRow {
                        pointer,
                        y,
                        start,
                        places: Strided {
                            // The last row may be partial.
                            len: places.len.min(thread::below_2_63(length - start)),
                            ..places
                        },
                        elements: PhantomData,
                    }
                })
            }

            /// Calls `f` with (column, row) and a reference for each of this thread's elements.
            #[inline(always)]
            pub fn each(&mut self, mut f: impl FnMut((usize, usize), &mut T)) {
                for mut row in self.rows() {
                    let y = row.y();
                    row.each(|x, to| f((x, y), to));
                }
            }
        }
    };
}
team_rows!(PerBlockRow "block" |height, width| {
    (thread::block_chunks(height), thread::block_stride(width))
});
team_rows!(PerWarpRow "warp" warp_strides);

/// A row of a [`PerBlockRow`] or [`PerWarpRow`], which belongs to this thread's block or warp.
pub struct TeamRow<'a, T> {
    /// The first element of the matrix.
    pointer: NonNull<T>,
    y: usize,
    /// The index of the row's first element.
    start: usize,
    /// This thread's places in the row.
    places: Strided,
    elements: PhantomData<&'a mut [T]>,
}

impl<T> TeamRow<'_, T> {
    /// Returns the row's index in the matrix.
    #[inline(always)]
    #[must_use]
    pub fn y(&self) -> usize {
        self.y
    }

    /// Returns the number of elements, of all threads together: the width of the matrix, or less if
    /// this is the last row.
    #[inline(always)]
    #[must_use]
    pub fn len(&self) -> usize {
        self.places.len as usize
    }

    /// Returns whether the row has no elements.
    #[inline(always)]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.places.len == 0
    }

    /// Calls `f` with the column and a reference for each of this thread's elements.
    #[inline(always)]
    pub fn each(&mut self, mut f: impl FnMut(usize, &mut T)) {
        for (x, to) in self.own() {
            f(x, to);
        }
    }

    /// Returns an iterator over this thread's elements, each with its column: like
    /// [`TeamRow::each`], for loops that exit early.
    #[inline(always)]
    pub fn own(&mut self) -> impl Iterator<Item = (usize, &mut T)> {
        let (pointer, start) = (self.pointer, self.start);
        self.places.clone().map(move |x| {
            // Two additions, since LLVM splits that of `start + x`, and no longer knows then that the
            // address is not null: `None` of the iterator would be tested for.
            //
            // SAFETY: in bounds, and exclusive to this thread: indices of blocks and warps are
            // unique in the grid, and those of threads and lanes in their block or warp.
            (x, unsafe { pointer.add(start).add(x).as_mut() })
        })
    }
}

/// A column of a [`PerColumn`] that belongs to this thread.
pub struct Column<'a, T> {
    /// The first element of the matrix. The address of the column's first element is not a field:
    /// LLVM would compute it as an integer when it optimizes copies of the struct, and the accesses
    /// would lose their state space.
    pointer: NonNull<T>,
    x: usize,
    length: usize,
    step: usize,
    elements: PhantomData<&'a mut [T]>,
}

impl<'a, T> Column<'a, T> {
    /// Returns the number of elements: the number of rows, or one less if the last row is partial.
    #[inline(always)]
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Returns whether the column has no elements.
    #[inline(always)]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Returns a reference to the element in row `y`, or `None` if `y` is out of bounds.
    #[inline(always)]
    #[must_use]
    pub fn get(&self, y: usize) -> Option<&T> {
        // SAFETY: in bounds, and no other thread has this column.
        (y < self.length).then(|| unsafe { element(self.pointer, self.x, y * self.step).as_ref() })
    }

    /// Returns a mutable reference to the element in row `y`, or `None` if `y` is out of bounds.
    #[inline(always)]
    #[must_use]
    pub fn get_mut(&mut self, y: usize) -> Option<&mut T> {
        // SAFETY: in bounds, and no other thread has this column.
        (y < self.length).then(|| unsafe { element(self.pointer, self.x, y * self.step).as_mut() })
    }

    /// Returns an iterator over the elements from top to bottom.
    #[inline(always)]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &T> + FusedIterator {
        let (pointer, x, step) = (self.pointer, self.x, self.step);
        // SAFETY: in bounds, and no other thread has this column.
        (0..self.length).map(move |y| unsafe { element(pointer, x, y * step).as_ref() })
    }

    /// Returns an iterator over mutable references to the elements from top to bottom.
    #[inline(always)]
    pub fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = &mut T> + FusedIterator {
        let (pointer, x, step) = (self.pointer, self.x, self.step);
        // SAFETY: in bounds, no other thread has this column, and the iterator returns each element
        // once.
        (0..self.length).map(move |y| unsafe { element(pointer, x, y * step).as_mut() })
    }

    /// Returns a slice of `len` zero-sized elements: indexing it is a bounds check with the usual
    /// panic message.
    #[inline(always)]
    fn rows(&self) -> &'a [()] {
        // SAFETY: a slice of zero-sized elements accesses no memory.
        unsafe { core::slice::from_raw_parts(core::ptr::dangling(), self.length) }
    }
}

/// Returns the address of the element in column `x` whose row starts at the element `row`.
///
/// # Safety
///
/// The matrix must start at `pointer` and have the element.
#[inline(always)]
unsafe fn element<T>(pointer: NonNull<T>, x: usize, row: usize) -> NonNull<T> {
    // SAFETY: as the caller promises.
    unsafe { pointer.add(x).add(row) }
}

impl<T> Index<usize> for Column<'_, T> {
    type Output = T;

    #[inline(always)]
    #[track_caller]
    fn index(&self, y: usize) -> &T {
        let () = self.rows()[y];
        // SAFETY: in bounds, and no other thread has this column.
        unsafe { element(self.pointer, self.x, y * self.step).as_ref() }
    }
}

impl<T> IndexMut<usize> for Column<'_, T> {
    #[inline(always)]
    #[track_caller]
    fn index_mut(&mut self, y: usize) -> &mut T {
        let () = self.rows()[y];
        // SAFETY: in bounds, and no other thread has this column.
        unsafe { element(self.pointer, self.x, y * self.step).as_mut() }
    }
}
