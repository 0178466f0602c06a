//! Output in which each thread has whole rows of a matrix, [`PerRow`], or whole columns, [`PerColumn`]:
//! for results, or room to work in, whose size only the host knows.
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
//! On the host these parameters take `buffer.rows_mut(width)`. Threads that write their columns from the
//! top do so side by side, which is what memory is fast at; a row is a slice, but the neighbours of what
//! a thread writes there are its own.

use core::iter::FusedIterator;
use core::marker::PhantomData;
use core::ops::{Index, IndexMut};

use crate::per_thread_2d::matrix;
use crate::thread;

/// A matrix in the device's memory, shared out among the threads of the grid by its rows: thread `i`
/// of `n` owns the rows `i`, `i + n` and so on, whatever the shape of blocks and grid.
#[repr(C)]
pub struct PerRow<'k, T> {
    pointer: *mut T,
    length: usize,
    width: usize,
    height: usize,
    elements: PhantomData<(*mut T, &'k mut ())>,
}

/// A matrix in the device's memory, shared out among the threads of the grid by its columns: thread
/// `i` of `n` owns the columns `i`, `i + n` and so on, whatever the shape of blocks and grid.
#[repr(C)]
pub struct PerColumn<'k, T> {
    pointer: *mut T,
    length: usize,
    width: usize,
    height: usize,
    elements: PhantomData<(*mut T, &'k mut ())>,
}

matrix!(OutputRows PerRow [] []);
matrix!(OutputRows PerColumn [] []);

impl<T> PerRow<'_, T> {
    /// Calls a function with each of this thread's rows, and its number. The last row may be short.
    #[inline(always)]
    pub fn each(&mut self, mut f: impl FnMut(usize, &mut [T])) {
        for (y, row) in self.own() {
            f(y, row);
        }
    }

    /// This thread's rows, each with its number: as [`PerRow::each`], for loops that end early.
    #[inline(always)]
    pub fn own(&mut self) -> impl Iterator<Item = (usize, &mut [T])> {
        let (pointer, length, width) = (self.pointer, self.length, self.width);
        thread::grid_stride(self.height).map(move |y| {
            let start = y * width;
            // SAFETY: inside, and of this thread alone: of one number in the grid.
            let row = unsafe {
                core::slice::from_raw_parts_mut(pointer.add(start), width.min(length - start))
            };
            (y, row)
        })
    }
}

impl<T> PerColumn<'_, T> {
    /// Calls a function with each of this thread's columns, and its number.
    #[inline(always)]
    pub fn each(&mut self, mut f: impl FnMut(usize, Column<'_, T>)) {
        for (x, column) in self.own() {
            f(x, column);
        }
    }

    /// This thread's columns, each with its number: as [`PerColumn::each`], for loops that end early.
    #[inline(always)]
    pub fn own(&mut self) -> impl Iterator<Item = (usize, Column<'_, T>)> {
        let (pointer, length, width) = (self.pointer, self.length, self.width);
        thread::grid_stride(width).map(move |x| {
            let column = Column {
                // Where there is less than a row, columns may begin behind the end, and have nothing.
                pointer: pointer.wrapping_add(x),
                // Only for widths above zero there are columns.
                length: length.saturating_sub(x).div_ceil(width),
                step: width,
                elements: PhantomData,
            };
            (x, column)
        })
    }
}

/// A column of a [`PerColumn`], the thread's own.
pub struct Column<'a, T> {
    pointer: *mut T,
    length: usize,
    step: usize,
    elements: PhantomData<&'a mut [T]>,
}

impl<'a, T> Column<'a, T> {
    /// The number of elements: of rows, or one less where the last row is short.
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

    /// The element in row `y`.
    #[inline(always)]
    #[must_use]
    pub fn get(&self, y: usize) -> Option<&T> {
        // SAFETY: inside; nobody else has this column.
        (y < self.length).then(|| unsafe { &*self.pointer.add(y * self.step) })
    }

    /// The element in row `y`.
    #[inline(always)]
    #[must_use]
    pub fn get_mut(&mut self, y: usize) -> Option<&mut T> {
        // SAFETY: inside; nobody else has this column.
        (y < self.length).then(|| unsafe { &mut *self.pointer.add(y * self.step) })
    }

    /// The elements from the top.
    #[inline(always)]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &T> + FusedIterator {
        let (pointer, step) = (self.pointer, self.step);
        // SAFETY: inside; nobody else has this column.
        (0..self.length).map(move |y| unsafe { &*pointer.add(y * step) })
    }

    /// The elements from the top.
    #[inline(always)]
    pub fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = &mut T> + FusedIterator {
        let (pointer, step) = (self.pointer, self.step);
        // SAFETY: inside, nobody else has this column, and each element comes once.
        (0..self.length).map(move |y| unsafe { &mut *pointer.add(y * step) })
    }

    /// A slice of as many nothings: its check of bounds is the one that everybody knows.
    #[inline(always)]
    fn rows(&self) -> &'a [()] {
        // SAFETY: nothing is anywhere.
        unsafe { core::slice::from_raw_parts(core::ptr::dangling(), self.length) }
    }
}

impl<T> Index<usize> for Column<'_, T> {
    type Output = T;

    #[inline(always)]
    #[track_caller]
    fn index(&self, y: usize) -> &T {
        let () = self.rows()[y];
        // SAFETY: inside; nobody else has this column.
        unsafe { &*self.pointer.add(y * self.step) }
    }
}

impl<T> IndexMut<usize> for Column<'_, T> {
    #[inline(always)]
    #[track_caller]
    fn index_mut(&mut self, y: usize) -> &mut T {
        let () = self.rows()[y];
        // SAFETY: inside; nobody else has this column.
        unsafe { &mut *self.pointer.add(y * self.step) }
    }
}
