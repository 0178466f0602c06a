//! Output partitioned among blocks, among warps, or in chunks among threads. Like
//! [`PerThread`](crate::PerThread), with other partitions.
//!
//! ```
//! use cuda_std::prelude::*;
//! use cuda_std::{PerBlock, group};
//!
//! /// The sum of each block's elements.
//! #[kernel]
//! pub fn sums(from: &[u32], mut to: PerBlock<u32>) {
//!     let mine = from.get(thread::index() as usize).copied().unwrap_or(0);
//!     let sum = group::block().reduce(mine, u32::wrapping_add);
//!     to.each(|_, to| *to = sum);
//! }
//! # fn main() {}
//! ```
//!
//! Each of these types has exactly one partition: with two partitions of the same elements, two
//! threads could own the same element.

use core::marker::PhantomData;
use core::ptr::NonNull;

use crate::group::{self, Group};
use crate::thread::{self, Strided};

/// Declares a type of output parameters and implements the traits that a launch requires.
macro_rules! output {
    ($(#[$doc:meta])* $name:ident, const $n:ident = $default:literal) => {
        $(#[$doc])*
        ///
        /// On the host, the argument for this parameter is a `&mut DeviceBuffer<T>`.
        #[repr(C)]
        pub struct $name<'k, T, const $n: usize = $default> {
            pointer: NonNull<T>,
            length: usize,
            elements: PhantomData<(*mut T, &'k mut ())>,
        }

        crate::per_thread_2d::same_layout!($name<'static, u8, 1>; elements);

        impl<T, const $n: usize> crate::kernel::KernelParam for $name<'_, T, $n> {}

        // SAFETY: the layout is the one that `Output` requires, and no two threads access the same
        // element.
        unsafe impl<T, const $n: usize> cust_core::kernel::Output for $name<'_, T, $n> {
            type Element = T;
            const WIDE: bool = false;
        }

        impl<T, const $n: usize> $name<'_, T, $n> {
            /// Returns the number of elements, of all threads together.
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

output! {
    /// Elements in device memory, partitioned into chunks of `N` among the blocks of the grid; each
    /// chunk is partitioned among the threads of its block. Block `b` of `m` owns the chunks `b`,
    /// `b + m` and so on; in each of them, thread `i` of `n` owns the elements `i`, `i + n` and so
    /// on.
    ///
    /// With the default of one element per chunk, the first thread of a block owns the block's
    /// element.
    PerBlock, const N = 1
}

output! {
    /// Elements in device memory, partitioned into chunks of `N` consecutive elements among the
    /// threads of the grid: thread `i` of `n` owns the chunks `i`, `i + n` and so on. The first
    /// thread of the grid owns the remainder at the end, which is shorter than a chunk.
    ///
    /// Chunks of two or four numbers that are aligned to the chunk's size are loaded and stored
    /// with one vector instruction.
    PerThreadChunk, const N = 4
}

output! {
    /// Elements in device memory, partitioned into chunks of `N` among the warps of the grid; each
    /// chunk is partitioned among the lanes of its warp, as [`PerBlock`] does with blocks and
    /// threads. If a block's size is not a multiple of 32, its last, partial warp counts as a warp.
    ///
    /// With the default of one element per chunk, the first lane of a warp owns the warp's element.
    PerWarp, const N = 1
}

impl<T, const N: usize> PerBlock<'_, T, N> {
    /// Returns an iterator over the block's chunks. A [`Piece`] gives access to this thread's
    /// elements of the chunk. All threads of a block get the same chunks, so the loop's body may
    /// contain barriers.
    #[inline(always)]
    pub fn pieces(&mut self) -> impl Iterator<Item = Piece<'_, T, N>> {
        const { assert!(N > 0, "pieces have at least one element") };
        let (length, pointer) = (self.length, self.pointer);
        let first = thread::index_in_block() as usize;
        let step = thread::threads_in_block() as usize;
        thread::block_chunks(length.div_ceil(N))
            .map(move |piece| Piece::new(pointer, length, piece, first, step))
    }

    /// Calls `f` with the index and a reference for each of this thread's elements of all chunks.
    #[inline(always)]
    pub fn each(&mut self, mut f: impl FnMut(usize, &mut T)) {
        for mut piece in self.pieces() {
            piece.each(&mut f);
        }
    }

    /// Returns an iterator over these elements: like [`PerBlock::each`], for loops that exit early.
    #[inline(always)]
    pub fn own(&mut self) -> impl Iterator<Item = (usize, &mut T)> {
        const { assert!(N > 0, "pieces have at least one element") };
        let pieces = thread::block_chunks(self.length.div_ceil(N));
        let places = Own::<N>::new::<T>(pieces, thread::block_stride(N), self.length);
        let pointer = self.pointer;
        // SAFETY: in bounds, and exclusive to this thread: block indices are unique in the grid, and
        // thread indices in the block.
        places.map(move |index| (index, unsafe { pointer.add(index).as_mut() }))
    }
}

/// An iterator over a thread's indices in the chunks of `N` elements that its block or warp owns.
struct Own<const N: usize> {
    /// The chunks after this one.
    pieces: Strided,
    /// The first place in each chunk, and the step from one to the next.
    first: usize,
    step: usize,
    /// The place in this chunk.
    place: usize,
    /// The index of this chunk's first element, and the number of its elements.
    start: usize,
    count: usize,
    /// The number of elements of all chunks.
    length: usize,
}

impl<const N: usize> Own<N> {
    #[inline(always)]
    fn new<T>(pieces: Strided, places: Strided, length: usize) -> Own<N> {
        let mut own = Own {
            pieces,
            first: places.next as usize,
            step: places.step as usize,
            place: 0,
            start: 0,
            count: 0,
            length: thread::len_of::<T>(length) as usize,
        };
        own.next_piece();
        own
    }

    /// Begins the next chunk, which is empty if there is none. Returns whether there is one.
    #[inline(always)]
    fn next_piece(&mut self) -> bool {
        let (piece, count) = (self.pieces.next, self.pieces.len);
        let start = piece.min(count) as usize;
        self.start = match const { N <= 1 << 32 } {
            // There are fewer than 2⁶³ elements.
            true => start.wrapping_mul(N),
            false => start.saturating_mul(N),
        };
        self.count = self.length.saturating_sub(self.start).min(N);
        self.place = self.first;
        // SAFETY: `count` is less than 2⁶³, and so is the number of threads: the launch checks it.
        self.pieces.next = unsafe { piece.unchecked_add(self.pieces.step) };
        piece < count
    }
}

impl<const N: usize> Iterator for Own<N> {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        while self.place >= self.count {
            // If the grid has a block or a warp for each chunk, there is no second one. The
            // compiler's copy of a kernel for ordinary launches knows that.
            if self.pieces.step >= self.pieces.len || !self.next_piece() {
                return None;
            }
        }
        let index = self.start + self.place;
        self.place += self.step;
        Some(index)
    }
}

/// A chunk of a [`PerBlock`] or [`PerWarp`] that belongs to this thread's block or warp: `N` elements,
/// or fewer at the end.
pub struct Piece<'a, T, const N: usize = 1> {
    start: usize,
    length: usize,
    /// This thread's first place in the chunk, and the step from one to the next.
    first: usize,
    step: usize,
    pointer: NonNull<T>,
    elements: PhantomData<&'a mut [T]>,
}

impl<'a, T, const N: usize> Piece<'a, T, N> {
    /// Creates the chunk of that number, of an output of `length` elements at `pointer`.
    #[inline(always)]
    fn new(pointer: NonNull<T>, length: usize, piece: usize, first: usize, step: usize) -> Self {
        let start = piece * N;
        Piece {
            start,
            length: N.min(length - start),
            first,
            step,
            pointer,
            elements: PhantomData,
        }
    }

    /// Returns the index of the chunk's first element.
    #[inline(always)]
    #[must_use]
    pub fn start(&self) -> usize {
        self.start
    }

    /// Returns the number of elements: `N`, or less for the last chunk.
    #[inline(always)]
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Returns `false`: chunks are not empty.
    #[inline(always)]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Calls `f` with the index and a reference for each of this thread's elements. Indices count
    /// from the start of the whole output; [`Piece::start`] is the first of this chunk.
    #[inline(always)]
    pub fn each(&mut self, mut f: impl FnMut(usize, &mut T)) {
        // Iterate over a full chunk, and skip what is past the end: if the block's size is
        // constant, so is the trip count.
        let (start, length, pointer) = (self.start, self.length, self.pointer);
        thread::each_below::<N>(self.first, self.step, |i| {
            let i = thread::bounded::<N>(i);
            let index = start + i;
            if i < length {
                // SAFETY: in bounds, and exclusive to this thread: indices of blocks and warps are
                // unique in the grid, and those of threads and lanes in their block or warp.
                f(index, unsafe { pointer.add(index).as_mut() });
            }
        });
    }

    /// Returns an iterator over these elements: like [`Piece::each`], for loops that exit early.
    #[inline(always)]
    pub fn own(&mut self) -> impl Iterator<Item = (usize, &mut T)> {
        let (start, pointer) = (self.start, self.pointer);
        let places = Strided {
            next: self.first as u64,
            step: self.step as u64,
            len: thread::below_2_63(self.length),
        };
        places.map(move |i| {
            // SAFETY: in bounds, and exclusive to this thread: indices of blocks and warps are
            // unique in the grid, and those of threads and lanes in their block or warp.
            (start + i, unsafe { pointer.add(start).add(i).as_mut() })
        })
    }
}

/// Returns the indices of the warp's parts among `parts`, and this lane's places in a part of `len`
/// elements.
#[inline(always)]
pub(crate) fn warp_strides(parts: usize, len: usize) -> (Strided, Strided) {
    let warp = group::warp();
    let warps = u64::from(warp.count());
    let parts = Strided {
        next: thread::block_index() * warps + u64::from(warp.number()),
        step: thread::blocks_in_grid() * warps,
        len: thread::below_2_63(parts),
    };
    let lanes = Strided {
        next: warp.rank().into(),
        // The last warp of a block may have fewer than 32 lanes.
        step: warp.size().into(),
        len: thread::below_2_63(len),
    };
    (parts, lanes)
}

impl<T, const N: usize> PerWarp<'_, T, N> {
    /// Returns the indices of the warp's chunks, and this lane's indices in a chunk. All lanes of a
    /// warp get the same chunks.
    #[inline(always)]
    fn strides(&self) -> (Strided, Strided) {
        const { assert!(N > 0, "pieces have at least one element") };
        warp_strides(self.length.div_ceil(N), N)
    }

    /// Returns an iterator over the warp's chunks. A [`Piece`] gives access to this lane's elements
    /// of the chunk. All lanes of a warp get the same chunks, so the loop's body may contain the
    /// warp's reductions and shuffles.
    #[inline(always)]
    pub fn pieces(&mut self) -> impl Iterator<Item = Piece<'_, T, N>> {
        let (length, pointer) = (self.length, self.pointer);
        let (pieces, lanes) = self.strides();
        let (first, step) = (lanes.next as usize, lanes.step as usize);
        pieces.map(move |piece| Piece::new(pointer, length, piece, first, step))
    }

    /// Calls `f` with the index and a reference for each of this lane's elements of the warp's
    /// chunks.
    #[inline(always)]
    pub fn each(&mut self, mut f: impl FnMut(usize, &mut T)) {
        let (pieces, lanes) = self.strides();
        for piece in pieces {
            for i in lanes.clone() {
                let index = piece * N + i;
                if index < self.length {
                    // SAFETY: in bounds, and exclusive to this lane: warp indices are unique in the
                    // grid, and lane indices in the warp.
                    f(index, unsafe { self.pointer.add(index).as_mut() });
                }
            }
        }
    }

    /// Returns an iterator over these elements: like [`PerWarp::each`], for loops that exit early.
    #[inline(always)]
    pub fn own(&mut self) -> impl Iterator<Item = (usize, &mut T)> {
        let (pieces, lanes) = self.strides();
        let pointer = self.pointer;
        // SAFETY: as in `each`.
        (Own::<N>::new::<T>(pieces, lanes, self.length))
            .map(move |index| (index, unsafe { pointer.add(index).as_mut() }))
    }
}

impl<T, const N: usize> PerThreadChunk<'_, T, N> {
    /// Calls `f` with each of this thread's full chunks and the index of its first element. Then,
    /// in the first thread of the grid, calls `rest` with the elements after the last full chunk,
    /// if there are any.
    ///
    /// ```
    /// use cuda_std::PerThreadChunk;
    /// use cuda_std::prelude::*;
    ///
    /// #[kernel]
    /// pub fn double(mut to: PerThreadChunk<u32, 4>) {
    ///     to.each(
    ///         |_, chunk| *chunk = chunk.map(|x| 2 * x),
    ///         |_, rest| rest.iter_mut().for_each(|x| *x *= 2),
    ///     );
    /// }
    /// # fn main() {}
    /// ```
    #[inline(always)]
    pub fn each(
        &mut self,
        mut f: impl FnMut(usize, &mut [T; N]),
        rest: impl FnOnce(usize, &mut [T]),
    ) {
        const { assert!(N > 0, "pieces have at least one element") };
        for piece in thread::grid_stride_of::<T>(self.length / N) {
            let start = piece * N;
            // SAFETY: in bounds, and exclusive to this thread: thread indices are unique in the
            // grid.
            f(start, unsafe {
                self.pointer.add(start).cast::<[T; N]>().as_mut()
            });
        }
        let (start, elements) = self.rest();
        if !elements.is_empty() {
            rest(start, elements);
        }
    }

    /// Returns an iterator over this thread's full chunks, each with the index of its first
    /// element. [`PerThreadChunk::rest`] returns the elements after the last full chunk.
    #[inline(always)]
    pub fn whole(&mut self) -> impl Iterator<Item = (usize, &mut [T; N])> {
        const { assert!(N > 0, "pieces have at least one element") };
        let pointer = self.pointer;
        thread::grid_stride_of::<T>(self.length / N).map(move |piece| {
            let start = piece * N;
            // SAFETY: in bounds, and exclusive to this thread: thread indices are unique in the
            // grid.
            (start, unsafe {
                pointer.add(start).cast::<[T; N]>().as_mut()
            })
        })
    }

    /// Returns the elements after the last full chunk, with the index of the first: an empty slice
    /// in all threads but the first thread of the grid.
    #[inline(always)]
    pub fn rest(&mut self) -> (usize, &mut [T]) {
        let start = self.length / N * N;
        let length = match thread::index() {
            0 => self.length - start,
            _ => 0,
        };
        // SAFETY: in bounds, exclusive to the first thread, and not part of a chunk.
        (start, unsafe {
            core::slice::from_raw_parts_mut(self.pointer.add(start).as_ptr(), length)
        })
    }
}
