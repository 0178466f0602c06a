//! Output that belongs to blocks or warps, or in pieces to threads: as [`PerThread`](crate::PerThread), for
//! other ways to share elements out.
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
//! Each of these types shares elements out in one way only. Two ways for the same elements would let
//! two threads have the same one.

use core::marker::PhantomData;

use crate::group::{self, Group};
use crate::thread;

/// Declares a type of kernel parameters that holds elements and implements what the host needs.
macro_rules! output {
    ($(#[$doc:meta])* $name:ident, const $n:ident = $default:literal) => {
        $(#[$doc])*
        ///
        /// On the host the kernel's parameter takes a `&mut DeviceBuffer<T>`.
        #[repr(C)]
        pub struct $name<'k, T, const $n: usize = $default> {
            pointer: *mut T,
            length: usize,
            elements: PhantomData<(*mut T, &'k mut ())>,
        }

        impl<T, const $n: usize> crate::kernel::KernelParam for $name<'_, T, $n> {}

        // SAFETY: the layout is as asked for; threads reach no element that another one reaches.
        unsafe impl<T, const $n: usize> cust_core::kernel::Output for $name<'_, T, $n> {
            type Element = T;
            const WIDE: bool = false;
        }

        impl<T, const $n: usize> $name<'_, T, $n> {
            /// The number of elements, of all threads together.
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

output! {
    /// Elements of the device's memory, shared out among the blocks in pieces of `N`, and those among
    /// a block's threads: block `b` of `m` owns the pieces `b`, `b + m` and so on, and in each of
    /// them thread `i` of `n` the elements `i`, `i + n` and so on.
    ///
    /// With the default of pieces of one element, a block's first thread owns one for its block.
    PerBlock, const N = 1
}

output! {
    /// Elements of the device's memory, shared out among all threads in pieces of `N` neighbours:
    /// thread `i` of `n` owns the pieces `i`, `i + n` and so on. The elements that remain at the end, fewer
    /// than one piece, are the grid's first thread's.
    ///
    /// Pieces of two or four numbers that start at multiples of their size are loaded and stored in
    /// one instruction.
    PerThreadChunk, const N = 4
}

output! {
    /// Elements of the device's memory, shared out among the warps of the grid in pieces of `N`, and
    /// those among a warp's lanes, as [`PerBlock`] does with blocks and threads. A block whose size is
    /// no multiple of 32 ends in a warp of less lanes, which is one of the warps all the same.
    ///
    /// With the default of pieces of one element, a warp's first lane owns one for its warp.
    PerWarp, const N = 1
}

impl<T, const N: usize> PerBlock<'_, T, N> {
    /// The block's pieces, each of which knows what of it is this thread's. All threads of a block
    /// get the same pieces, so there may be barriers between them.
    #[inline(always)]
    pub fn pieces(&mut self) -> impl Iterator<Item = Piece<'_, T, N>> {
        const { assert!(N > 0, "pieces have at least one element") };
        let (length, pointer) = (self.length, self.pointer);
        thread::pieces(length.div_ceil(N)).map(move |piece| {
            let start = piece * N;
            Piece {
                start,
                length: N.min(length - start),
                pointer,
                elements: PhantomData,
            }
        })
    }

    /// Calls a function with each of this thread's elements of all pieces, and its index.
    #[inline(always)]
    pub fn each(&mut self, mut f: impl FnMut(usize, &mut T)) {
        for mut piece in self.pieces() {
            piece.each(&mut f);
        }
    }

    /// These elements: as [`PerBlock::each`], for loops that end early.
    #[inline(always)]
    pub fn own(&mut self) -> impl Iterator<Item = (usize, &mut T)> {
        self.pieces().flat_map(Piece::into_own)
    }
}

/// A block's piece of a [`PerBlock`], of `N` elements or, at the end, less.
pub struct Piece<'a, T, const N: usize = 1> {
    start: usize,
    length: usize,
    pointer: *mut T,
    elements: PhantomData<&'a mut [T]>,
}

impl<'a, T, const N: usize> Piece<'a, T, N> {
    /// The index of the piece's first element.
    #[inline(always)]
    #[must_use]
    pub fn start(&self) -> usize {
        self.start
    }

    /// The number of elements, less than `N` for the last piece of all.
    #[inline(always)]
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Pieces are not empty.
    #[inline(always)]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Calls a function with each of this thread's elements, and its index among all.
    #[inline(always)]
    pub fn each(&mut self, mut f: impl FnMut(usize, &mut T)) {
        // As far as whole pieces go: with a block of known size the compiler then knows how often.
        for i in thread::block_stride(N) {
            let i = thread::bounded::<N>(i);
            let index = self.start + i;
            if i < self.length {
                // SAFETY: inside, and of this thread alone: of one block and one number in it.
                f(index, unsafe { &mut *self.pointer.add(index) });
            }
        }
    }

    /// These elements: as [`Piece::each`], for loops that end early.
    #[inline(always)]
    pub fn own(&mut self) -> impl Iterator<Item = (usize, &mut T)> {
        let piece: Piece<'_, T, N> = Piece { ..*self };
        piece.into_own()
    }

    #[inline(always)]
    fn into_own(self) -> impl Iterator<Item = (usize, &'a mut T)> {
        let Piece {
            start,
            length,
            pointer,
            ..
        } = self;
        thread::block_stride(length).map(move |i| {
            // SAFETY: inside, and of this thread alone: of one block and one number in it.
            (start + i, unsafe { &mut *(pointer.add(start + i)) })
        })
    }
}

impl<T, const N: usize> PerWarp<'_, T, N> {
    /// The warp's pieces, each with the index of its first element, and this lane's elements in it:
    /// every lane of a warp gets the same pieces.
    #[inline(always)]
    fn lines(&mut self) -> (thread::Strided, thread::Strided) {
        const { assert!(N > 0, "pieces have at least one element") };
        let warp = group::warp();
        let warps = u64::from(warp.count());
        let pieces = thread::Strided {
            next: thread::block_index() * warps + u64::from(warp.number()),
            step: thread::blocks_in_grid() * warps,
            len: thread::below_2_63(self.length.div_ceil(N)),
        };
        let lanes = thread::Strided {
            next: warp.rank().into(),
            // The last warp of a block may have less lanes than 32.
            step: warp.size().into(),
            len: thread::below_2_63(N),
        };
        (pieces, lanes)
    }

    /// Calls a function with each of this lane's elements of all of its warp's pieces, and its index.
    #[inline(always)]
    pub fn each(&mut self, mut f: impl FnMut(usize, &mut T)) {
        let (pieces, lanes) = self.lines();
        for piece in pieces {
            for i in lanes.clone() {
                let index = piece * N + i;
                if index < self.length {
                    // SAFETY: inside, and of this lane alone: of one warp and one number in it.
                    f(index, unsafe { &mut *self.pointer.add(index) });
                }
            }
        }
    }

    /// These elements: as [`PerWarp::each`], for loops that end early.
    #[inline(always)]
    pub fn own(&mut self) -> impl Iterator<Item = (usize, &mut T)> {
        let (pieces, lanes) = self.lines();
        let (pointer, length) = (self.pointer, self.length);
        pieces
            .flat_map(move |piece| lanes.clone().map(move |i| piece * N + i))
            .filter(move |&index| index < length)
            // SAFETY: inside, and of this lane alone: of one warp and one number in it.
            .map(move |index| (index, unsafe { &mut *pointer.add(index) }))
    }
}

impl<T, const N: usize> PerThreadChunk<'_, T, N> {
    /// Calls `f` with each of this thread's whole pieces, and the index of its first element; then, in
    /// the grid's first thread, `rest` with the elements behind the last whole piece, if there are any.
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
            // SAFETY: inside, and of this thread alone: of one number in the grid.
            f(start, unsafe {
                &mut *self.pointer.add(start).cast::<[T; N]>()
            });
        }
        let (start, elements) = self.rest();
        if !elements.is_empty() {
            rest(start, elements);
        }
    }

    /// This thread's whole pieces, each with the index of its first element. The elements behind the
    /// last one are [`PerThreadChunk::rest`].
    #[inline(always)]
    pub fn whole(&mut self) -> impl Iterator<Item = (usize, &mut [T; N])> {
        const { assert!(N > 0, "pieces have at least one element") };
        let pointer = self.pointer;
        thread::grid_stride_of::<T>(self.length / N).map(move |piece| {
            let start = piece * N;
            // SAFETY: inside, and of this thread alone: of one number in the grid.
            (start, unsafe {
                &mut *(pointer.add(start).cast::<[T; N]>())
            })
        })
    }

    /// The elements behind the last whole piece, with the index of the first: empty but for the
    /// grid's first thread.
    #[inline(always)]
    pub fn rest(&mut self) -> (usize, &mut [T]) {
        let start = self.length / N * N;
        let length = match thread::index() {
            0 => self.length - start,
            _ => 0,
        };
        // SAFETY: inside, and of the first thread alone; no piece reaches there.
        (start, unsafe {
            core::slice::from_raw_parts_mut(self.pointer.add(start), length)
        })
    }
}
