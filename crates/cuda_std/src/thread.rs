//! Thread and block indices, dimensions, block-wide barriers and fences.
//!
//! A launch runs a *grid* of *blocks* of *threads*, each with up to three dimensions. The threads
//! of a block share memory ([`shared`](mod@crate::shared)) and can synchronize with each other
//! ([`sync_threads`]); blocks run in any order.
//!
//! ```
//! use cuda_std::prelude::*;
//!
//! #[kernel]
//! pub fn transpose(n: u32, from: &[f32], to: *mut f32) {
//!     let at = thread::index_2d();
//!     if at.x < n && at.y < n {
//!         unsafe { *to.add((at.x * n + at.y) as usize) = from[(at.y * n + at.x) as usize] };
//!     }
//! }
//! # fn main() {}
//! ```

use crate::intrinsics::{special, synchronization};

/// An unsigned vector with two components.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct UVec2 {
    /// The dimension that varies fastest.
    pub x: u32,
    /// The second dimension.
    pub y: u32,
}

/// An unsigned vector with three components.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct UVec3 {
    /// The dimension that varies fastest.
    pub x: u32,
    /// The second dimension.
    pub y: u32,
    /// The third dimension.
    pub z: u32,
}

/// Defines one function for each special register, and one that returns all three dimensions.
macro_rules! indices {
    ($($all:ident: $what:literal = $($name:ident $intrinsic:ident),*;)*) => {
        $(
            $(
                #[doc = concat!("Returns ", $what, ", in this dimension.")]
                #[inline(always)]
                #[must_use]
                pub fn $name() -> u32 {
                    special::$intrinsic()
                }
            )*
            indices!(@all $all $what $($name)*);
        )*
    };
    (@all $all:ident $what:literal $x:ident $y:ident $z:ident) => {
        #[doc = concat!("Returns ", $what, ", in all three dimensions.")]
        #[inline(always)]
        #[must_use]
        pub fn $all() -> UVec3 {
            UVec3 { x: $x(), y: $y(), z: $z() }
        }
    };
}

indices! {
    thread_idx: "the index of this thread in its block" =
        thread_idx_x tid_x,
        thread_idx_y tid_y,
        thread_idx_z tid_z;
    block_idx: "the index of this thread's block in the grid" =
        block_idx_x ctaid_x,
        block_idx_y ctaid_y,
        block_idx_z ctaid_z;
    block_dim: "the number of threads in a block" =
        block_dim_x ntid_x,
        block_dim_y ntid_y,
        block_dim_z ntid_z;
    grid_dim: "the number of blocks in the grid" =
        grid_dim_x nctaid_x,
        grid_dim_y nctaid_y,
        grid_dim_z nctaid_z;
}

/// Returns the index of this thread in the grid along `x`: the usual index for a one-dimensional
/// launch.
///
/// The result wraps if the grid has 2³² threads or more along `x`.
#[inline(always)]
#[must_use]
pub fn index_1d() -> u32 {
    block_idx_x()
        .wrapping_mul(block_dim_x())
        .wrapping_add(thread_idx_x())
}

/// Returns the index of this thread in the grid along `x` and `y`.
#[inline(always)]
#[must_use]
pub fn index_2d() -> UVec2 {
    let y = block_idx_y()
        .wrapping_mul(block_dim_y())
        .wrapping_add(thread_idx_y());
    UVec2 { x: index_1d(), y }
}

/// Returns the index of this thread in the grid along all three dimensions.
#[inline(always)]
#[must_use]
pub fn index_3d() -> UVec3 {
    let UVec2 { x, y } = index_2d();
    let z = block_idx_z()
        .wrapping_mul(block_dim_z())
        .wrapping_add(thread_idx_z());
    UVec3 { x, y, z }
}

/// Returns the linear index of this thread in the grid, for grids of any shape: unique, and less
/// than [`grid_size`].
///
/// Blocks are numbered in the order of [`block_index`], the threads of a block in that of
/// [`index_in_block`].
#[inline(always)]
#[must_use]
pub fn index() -> u64 {
    let (blocks, threads, block) = (grid_dim(), block_dim(), block_idx());
    // A grid has fewer than 2¹⁶ blocks along `y` and `z`, and a block has at most 1024 threads, so
    // these products fit 32 bits, which cost a quarter of 64-bit products. A fast path for
    // one-dimensional launches would not pay: testing for it costs more than it saves.
    let row = block.z.wrapping_mul(blocks.y).wrapping_add(block.y);
    let block = u64::from(row) * u64::from(blocks.x) + u64::from(block.x);
    let per_block = threads.x.wrapping_mul(threads.y).wrapping_mul(threads.z);
    block * u64::from(per_block) + u64::from(index_in_block())
}

/// Returns the linear index of this thread in its block, for blocks of any shape: `x` varies
/// fastest, `z` slowest.
#[inline(always)]
#[must_use]
pub fn index_in_block() -> u32 {
    let (thread, threads) = (thread_idx(), block_dim());
    let row = thread.z.wrapping_mul(threads.y).wrapping_add(thread.y);
    row.wrapping_mul(threads.x).wrapping_add(thread.x)
}

/// Returns the number of threads of the grid along `x`: the stride of a grid-stride loop.
#[inline(always)]
#[must_use]
pub fn grid_size_1d() -> u32 {
    grid_dim_x().wrapping_mul(block_dim_x())
}

/// Returns whether this is the first thread of the grid.
#[inline(always)]
#[must_use]
pub fn first() -> bool {
    block_idx() == UVec3::default() && thread_idx() == UVec3::default()
}

/// Returns the index of this thread in its warp.
#[inline(always)]
#[must_use]
pub fn lane_id() -> u32 {
    special::laneid()
}

/// Returns the number of threads in a warp: 32 on every GPU so far.
#[inline(always)]
#[must_use]
pub fn warp_size() -> u32 {
    special::warpsize()
}

/// Returns the index of this thread's warp in its block.
#[inline(always)]
#[must_use]
pub fn warp_id() -> u32 {
    index_in_block() / warp_size()
}

/// Waits until every thread of the block has reached this barrier, and makes all their earlier
/// memory accesses visible to each other: CUDA's `__syncthreads()`.
///
/// Every thread of the block that has not exited must reach the same call. In a branch that only
/// some of the threads take, the block hangs.
#[inline(always)]
pub fn sync_threads() {
    synchronization::barrier0();
}

/// Synchronizes as [`sync_threads`] does, and returns the number of threads of the block whose
/// `value` is not zero: CUDA's `__syncthreads_count()`.
#[inline(always)]
pub fn sync_threads_count(value: u32) -> u32 {
    synchronization::barrier0_popc(value)
}

/// Synchronizes as [`sync_threads`] does, and returns 1 if `value` is not zero for every thread of
/// the block, otherwise 0.
#[inline(always)]
pub fn sync_threads_and(value: u32) -> u32 {
    u32::from(synchronization::barrier0_and(value) != 0)
}

/// Synchronizes as [`sync_threads`] does, and returns 1 if `value` is not zero for at least one
/// thread of the block, otherwise 0.
#[inline(always)]
pub fn sync_threads_or(value: u32) -> u32 {
    u32::from(synchronization::barrier0_or(value) != 0)
}

/// Orders this thread's memory accesses before the fence and those after it, as observed by the
/// threads of its block: CUDA's `__threadfence_block()`. It does not wait for other threads.
#[inline(always)]
pub fn block_fence() {
    synchronization::membar_cta();
}

/// Orders this thread's memory accesses before the fence and those after it, as observed by all
/// threads of the device: CUDA's `__threadfence()`.
#[inline(always)]
pub fn device_fence() {
    synchronization::membar_gl();
}

/// Orders this thread's memory accesses before the fence and those after it, as observed by the
/// host and other devices: CUDA's `__threadfence_system()`.
#[inline(always)]
pub fn system_fence() {
    synchronization::membar_sys();
}

/// Exits this thread. The other threads continue, and barriers no longer wait for this one.
///
/// No destructors run. To exit with an error that the host receives, panic instead.
#[inline(always)]
pub fn exit() -> ! {
    synchronization::exit()
}

/// The linear index of this thread in the grid ([`index`]), as a token that only this thread can
/// obtain: the argument of [`PerThread::get_mut`](crate::PerThread::get_mut).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UniqueIndex {
    index: u64,
    // Neither `Send` nor `Sync`: the token must stay with its thread.
    not_sent: core::marker::PhantomData<*mut ()>,
}

impl UniqueIndex {
    /// Returns the index of the calling thread.
    #[inline(always)]
    #[must_use]
    #[expect(
        clippy::new_without_default,
        reason = "each thread has a different value"
    )]
    pub fn new() -> UniqueIndex {
        UniqueIndex {
            index: index(),
            not_sent: core::marker::PhantomData,
        }
    }

    /// Returns the index as a number.
    #[inline(always)]
    #[must_use]
    pub fn get(self) -> usize {
        self.index as usize
    }

    /// Returns the index as a number. On the CPU, asserts that it is the index of the running
    /// thread: host code can pass the token to another emulated thread through a thread-local
    /// variable of the OS thread that runs both.
    #[inline(always)]
    pub(crate) fn checked(self) -> usize {
        crate::session::on_device!((), {
            let is_own = self.index == index();
            assert!(
                is_own,
                "a `UniqueIndex` was used by a thread other than its own"
            );
        });
        self.get()
    }
}

/// Returns the number of threads in the grid, for grids of any shape.
#[inline(always)]
#[must_use]
pub fn grid_size() -> u64 {
    u64::from(threads_in_block()) * blocks_in_grid()
}

/// Returns the number of threads in the block, for blocks of any shape.
#[inline(always)]
#[must_use]
pub fn threads_in_block() -> u32 {
    let threads = block_dim();
    threads.x.wrapping_mul(threads.y).wrapping_mul(threads.z)
}

/// Returns the number of blocks in the grid, for grids of any shape.
#[inline(always)]
#[must_use]
pub fn blocks_in_grid() -> u64 {
    let blocks = grid_dim();
    u64::from(blocks.y.wrapping_mul(blocks.z)) * u64::from(blocks.x)
}

/// Returns the linear index of this thread's block in the grid, for grids of any shape: `x` varies
/// fastest, `z` slowest.
#[inline(always)]
#[must_use]
pub fn block_index() -> u64 {
    let (block, blocks) = (block_idx(), grid_dim());
    let row = block.z.wrapping_mul(blocks.y).wrapping_add(block.y);
    u64::from(row) * u64::from(blocks.x) + u64::from(block.x)
}

/// Returns an iterator over this thread's indices below `len` in a grid-stride loop: [`index`],
/// then every [`grid_size`]-th index after it. The threads of the grid together visit each index
/// exactly once.
///
/// ```
/// use cuda_std::prelude::*;
///
/// #[kernel]
/// pub fn count(data: &[u32], zeros: &core::sync::atomic::AtomicU32) {
///     let mine = thread::grid_stride(data.len()).filter(|&i| data[i] == 0);
///     zeros.fetch_add(mine.count() as u32, core::sync::atomic::Ordering::Relaxed);
/// }
/// # fn main() {}
/// ```
#[inline(always)]
pub fn grid_stride(len: usize) -> Strided {
    Strided {
        next: index(),
        step: grid_size(),
        len: below_2_63(len),
    }
}

/// Returns `index`, which must be less than `N`, in a form whose upper bound the compiler sees.
/// libnvvm loses the bound that follows from the block's size and would check array bounds again.
#[inline(always)]
pub(crate) fn bounded<const N: usize>(index: usize) -> usize {
    index & const { N.next_power_of_two() - 1 }
}

/// Calls `f` with `first`, `first + step` and so on below `N`; `first` is less than `step`, the
/// number of threads of a block along some dimensions. A counted loop: if the block's size is
/// constant, so is the trip count, and LLVM unrolls short loops completely.
#[inline(always)]
pub(crate) fn each_below<const N: usize>(first: usize, step: usize, mut f: impl FnMut(usize)) {
    let mut index = first;
    if const { N <= 1 << 20 } {
        let count = (N as u32).div_ceil(step as u32);
        let mut i = 0;
        while i < count {
            if index < N {
                f(index);
            }
            // At most 2²⁰ + 1024.
            index = index.wrapping_add(step);
            i += 1;
        }
    } else {
        while index < N {
            f(index);
            index = index.saturating_add(step);
        }
    }
}

/// Returns an iterator over this thread's indices below `len` in a block-stride loop:
/// [`index_in_block`], then every [`threads_in_block`]-th index after it.
#[inline(always)]
pub fn block_stride(len: usize) -> Strided {
    Strided {
        next: index_in_block().into(),
        step: threads_in_block().into(),
        len: below_2_63(len),
    }
}

/// Returns an iterator over this lane's indices below `len` in a warp-stride loop: [`lane_id`], then
/// every 32nd index after it. The 32 lanes of a warp together visit each index exactly once, and at
/// each step they visit consecutive indices.
///
/// If the number of threads in the block is not a multiple of 32, the last warp visits only the
/// indices of the lanes that it has.
///
/// ```
/// use cuda_std::prelude::*;
/// use cuda_std::{PerWarp, group};
///
/// /// The sum of each row of a matrix with `width` columns, computed by a warp.
/// #[kernel(block_size(256))]
/// pub fn row_sums(width: usize, matrix: &[f32], mut to: PerWarp<f32>) {
///     let row = thread::index() as usize / 32;
///     if row < to.len() {
///         let row = &matrix[row * width..][..width];
///         let mine: f32 = thread::warp_stride(width).map(|x| row[x]).sum();
///         let sum = group::warp().reduce(mine, |a, b| a + b);
///         to.each(|_, to| *to = sum);
///     }
/// }
/// # fn main() {}
/// ```
#[inline(always)]
pub fn warp_stride(len: usize) -> Strided {
    Strided {
        next: lane_id().into(),
        step: 32,
        len: below_2_63(len),
    }
}

/// Returns an iterator over the indices below `len` that belong to this thread's block in a loop
/// over the blocks of the grid.
#[inline(always)]
pub(crate) fn block_chunks(len: usize) -> Strided {
    Strided {
        next: block_index(),
        step: blocks_in_grid(),
        len: below_2_63(len),
    }
}

/// Returns an iterator over this thread's elements of a slice in the order of [`grid_stride`], each
/// with its index, without bounds checks.
///
/// ```
/// use cuda_std::prelude::*;
/// use cuda_std::{PerBlock, group};
///
/// /// The sum of each block's elements.
/// #[kernel]
/// pub fn sum(from: &[f32], mut to: PerBlock<f32>) {
///     let mine = thread::elements(from).fold(0.0, |sum, (_, x)| sum + x);
///     let sum = group::block().reduce(mine, |a, b| a + b);
///     to.each(|_, to| *to = sum);
/// }
/// # fn main() {}
/// ```
#[inline(always)]
pub fn elements<T>(slice: &[T]) -> Elements<'_, T> {
    Elements {
        indices: grid_stride_of::<T>(slice.len()),
        slice,
    }
}

/// An iterator over a thread's elements of a slice. Created by [`elements`].
#[derive(Clone, Debug)]
pub struct Elements<'a, T> {
    indices: Strided,
    slice: &'a [T],
}

impl<'a, T> Iterator for Elements<'a, T> {
    type Item = (usize, &'a T);

    #[inline(always)]
    fn next(&mut self) -> Option<(usize, &'a T)> {
        let index = self.indices.next()?;
        // SAFETY: indices are below the slice's length.
        Some((index, unsafe { self.slice.get_unchecked(index) }))
    }

    // Avoids the `Option`s of `next`, which libnvvm does not always optimize away.
    #[inline(always)]
    fn fold<B, F: FnMut(B, (usize, &'a T)) -> B>(self, start: B, mut f: F) -> B {
        let mut result = start;
        for index in self.indices {
            // SAFETY: indices are below the slice's length.
            result = f(result, (index, unsafe { self.slice.get_unchecked(index) }));
        }
        result
    }
}

/// Returns [`grid_stride`] for the elements of a slice in memory, whose length is known to be less
/// than 2⁶³ unless `T` is zero-sized.
#[inline(always)]
pub(crate) fn grid_stride_of<T>(len: usize) -> Strided {
    Strided {
        next: index(),
        step: grid_size(),
        len: len_of::<T>(len),
    }
}

/// Returns the length of a slice in memory, clamped to less than 2⁶³. Only slices of zero-sized
/// elements can be longer.
#[inline(always)]
pub(crate) fn len_of<T>(len: usize) -> u64 {
    match size_of::<T>() {
        0 => below_2_63(len),
        _ => len as u64,
    }
}

/// Clamps a length to less than 2⁶³. Only slices of zero-sized elements can be longer.
#[inline(always)]
pub(crate) fn below_2_63(len: usize) -> u64 {
    (len as u64).min(i64::MAX as u64)
}

/// An iterator over indices with a constant stride. Created by [`grid_stride`], [`block_stride`] and
/// [`warp_stride`].
#[derive(Clone, Debug)]
pub struct Strided {
    pub(crate) next: u64,
    pub(crate) step: u64,
    pub(crate) len: u64,
}

/// Returns `index`, opaque to the optimizer. Otherwise libnvvm turns each address that depends on
/// an element's index, such as those of a stencil's neighbors, into an induction variable of the
/// loop over the elements, with 64-bit multiplications before a loop that mostly has one iteration.
#[inline(always)]
pub(crate) fn opaque(index: usize) -> usize {
    crate::session::on_device!(on_device::opaque(index), index)
}

#[cfg(any(target_arch = "nvptx64", nvvm_single_source))]
mod on_device {
    #[inline(always)]
    pub(super) fn opaque(index: usize) -> usize {
        let same;
        // SAFETY: the instruction copies a register. With the mark of tested rows (see the backend's
        // `asm.rs`), the backend does not run ptxas to check it in each build.
        unsafe {
            crate::ptx!(
                "//@ tested divergent\nmov.b64 {}, {};",
                out(reg64) same,
                in(reg64) index,
                options(pure, nomem, nostack, preserves_flags)
            );
        }
        same
    }
}

impl Iterator for Strided {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        if self.next >= self.len {
            return None;
        }
        let index = self.next as usize;
        // SAFETY: `len` is less than 2⁶³, and so is the number of threads: the launch checks it.
        self.next = unsafe { self.next.unchecked_add(self.step) };
        Some(index)
    }
}
