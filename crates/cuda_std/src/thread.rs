//! Which thread this is, of how many, and how the threads of a block wait for each other.
//!
//! A launch runs a *grid* of *blocks* of *threads*, each in up to three dimensions. Threads of one
//! block share memory ([`shared`](mod@crate::shared)) and can wait for each other
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

/// Two coordinates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct UVec2 {
    /// The dimension that varies fastest.
    pub x: u32,
    /// The second dimension.
    pub y: u32,
}

/// Three coordinates.
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

/// A function for each special register, and one for the three of a kind.
macro_rules! indices {
    ($($all:ident: $what:literal = $($name:ident $intrinsic:ident),*;)*) => {
        $(
            $(
                #[doc = concat!($what, ", in this dimension.")]
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
        #[doc = concat!($what, ", in all three dimensions.")]
        #[inline(always)]
        #[must_use]
        pub fn $all() -> UVec3 {
            UVec3 { x: $x(), y: $y(), z: $z() }
        }
    };
}

indices! {
    thread_idx: "This thread's index in its block" =
        thread_idx_x tid_x,
        thread_idx_y tid_y,
        thread_idx_z tid_z;
    block_idx: "The index of this thread's block in the grid" =
        block_idx_x ctaid_x,
        block_idx_y ctaid_y,
        block_idx_z ctaid_z;
    block_dim: "The number of threads in a block" =
        block_dim_x ntid_x,
        block_dim_y ntid_y,
        block_dim_z ntid_z;
    grid_dim: "The number of blocks in the grid" =
        grid_dim_x nctaid_x,
        grid_dim_y nctaid_y,
        grid_dim_z nctaid_z;
}

/// The thread's index in the whole grid, along `x`: the usual index for a one-dimensional launch.
///
/// It wraps where the grid has 2³² threads or more along `x`.
#[inline(always)]
#[must_use]
pub fn index_1d() -> u32 {
    block_idx_x()
        .wrapping_mul(block_dim_x())
        .wrapping_add(thread_idx_x())
}

/// The thread's index in the whole grid, along `x` and `y`.
#[inline(always)]
#[must_use]
pub fn index_2d() -> UVec2 {
    let y = block_idx_y()
        .wrapping_mul(block_dim_y())
        .wrapping_add(thread_idx_y());
    UVec2 { x: index_1d(), y }
}

/// The thread's index in the whole grid, along all three dimensions.
#[inline(always)]
#[must_use]
pub fn index_3d() -> UVec3 {
    let UVec2 { x, y } = index_2d();
    let z = block_idx_z()
        .wrapping_mul(block_dim_z())
        .wrapping_add(thread_idx_z());
    UVec3 { x, y, z }
}

/// One number for each thread of the grid, whatever its shape: blocks in order, and within a block
/// `x` fastest, `z` slowest.
#[inline(always)]
#[must_use]
pub fn index() -> u64 {
    let (blocks, threads, block) = (grid_dim(), block_dim(), block_idx());
    // `y` and `z` of a grid are less than 2¹⁶, and a block has 1024 threads at most: 32 bits have
    // room, and are a quarter of the work. There is no shorter way for launches of one dimension:
    // to find out that it may be taken costs more than it spares.
    let row = block.z.wrapping_mul(blocks.y).wrapping_add(block.y);
    let block = u64::from(row) * u64::from(blocks.x) + u64::from(block.x);
    let per_block = threads.x.wrapping_mul(threads.y).wrapping_mul(threads.z);
    block * u64::from(per_block) + u64::from(index_in_block())
}

/// One number for each thread of the block, whatever its shape: `x` fastest, `z` slowest.
#[inline(always)]
#[must_use]
pub fn index_in_block() -> u32 {
    let (thread, threads) = (thread_idx(), block_dim());
    let row = thread.z.wrapping_mul(threads.y).wrapping_add(thread.y);
    row.wrapping_mul(threads.x).wrapping_add(thread.x)
}

/// The number of threads along `x` in the whole grid: the stride of a grid-stride loop.
#[inline(always)]
#[must_use]
pub fn grid_size_1d() -> u32 {
    grid_dim_x().wrapping_mul(block_dim_x())
}

/// Whether this is the grid's first thread.
#[inline(always)]
#[must_use]
pub fn first() -> bool {
    block_idx() == UVec3::default() && thread_idx() == UVec3::default()
}

/// This thread's index in its warp.
#[inline(always)]
#[must_use]
pub fn lane_id() -> u32 {
    special::laneid()
}

/// The number of threads in a warp: 32 on every GPU so far.
#[inline(always)]
#[must_use]
pub fn warp_size() -> u32 {
    special::warpsize()
}

/// The index of this thread's warp in its block.
#[inline(always)]
#[must_use]
pub fn warp_id() -> u32 {
    index_in_block() / warp_size()
}

/// Waits until every thread of the block has come here, and makes what they wrote before visible
/// to all of them after.
///
/// Every thread of the block that has not ended must reach the same call: inside a branch that
/// only some of them take, the block hangs.
#[inline(always)]
pub fn sync_threads() {
    synchronization::barrier0();
}

/// [`sync_threads`], and then for how many threads of the block `value` was not zero.
#[inline(always)]
pub fn sync_threads_count(value: u32) -> u32 {
    synchronization::barrier0_popc(value)
}

/// [`sync_threads`], and then 1 if `value` was not zero for every thread of the block, else 0.
#[inline(always)]
pub fn sync_threads_and(value: u32) -> u32 {
    u32::from(synchronization::barrier0_and(value) != 0)
}

/// [`sync_threads`], and then 1 if `value` was not zero for some thread of the block, else 0.
#[inline(always)]
pub fn sync_threads_or(value: u32) -> u32 {
    u32::from(synchronization::barrier0_or(value) != 0)
}

/// Orders this thread's memory accesses before and after, as the other threads of the block see
/// them. Nobody waits.
#[inline(always)]
pub fn block_fence() {
    synchronization::membar_cta();
}

/// Orders this thread's memory accesses before and after, as all threads of the device see them.
#[inline(always)]
pub fn device_fence() {
    synchronization::membar_gl();
}

/// Orders this thread's memory accesses before and after, as the host and other devices see them.
#[inline(always)]
pub fn system_fence() {
    synchronization::membar_sys();
}

/// Ends this thread. The others go on, and barriers no longer wait for it.
///
/// Nothing is dropped. To end a thread with an error that the host sees, panic.
#[inline(always)]
pub fn exit() -> ! {
    synchronization::exit()
}

/// This thread's number in the grid, [`index`], as something that no other thread has and nobody can
/// make up: what [`PerThread::get_mut`](crate::PerThread::get_mut) takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UniqueIndex {
    index: u64,
    // It must stay with its thread.
    not_sent: core::marker::PhantomData<*mut ()>,
}

impl UniqueIndex {
    /// The index of the thread that asks.
    #[inline(always)]
    #[must_use]
    #[expect(
        clippy::new_without_default,
        reason = "it is no default: each thread has its own"
    )]
    pub fn new() -> UniqueIndex {
        UniqueIndex {
            index: index(),
            not_sent: core::marker::PhantomData,
        }
    }

    /// As a number.
    #[inline(always)]
    #[must_use]
    pub fn get(self) -> usize {
        self.index as usize
    }

    /// As a number, which on the CPU has to be that of the thread that runs: there code for the
    /// host can pass it on in a variable of the operating system's thread.
    #[inline(always)]
    pub(crate) fn checked(self) -> usize {
        crate::session::on_device!((), {
            let is_own = self.index == index();
            assert!(
                is_own,
                "a `UniqueIndex` was used by another thread than its own"
            );
        });
        self.get()
    }
}

/// The number of threads in the grid, whatever its shape.
#[inline(always)]
#[must_use]
pub fn grid_size() -> u64 {
    u64::from(threads_in_block()) * blocks_in_grid()
}

/// The number of threads in the block, whatever its shape.
#[inline(always)]
#[must_use]
pub fn threads_in_block() -> u32 {
    let threads = block_dim();
    threads.x.wrapping_mul(threads.y).wrapping_mul(threads.z)
}

/// The number of blocks in the grid, whatever its shape.
#[inline(always)]
#[must_use]
pub fn blocks_in_grid() -> u64 {
    let blocks = grid_dim();
    u64::from(blocks.y.wrapping_mul(blocks.z)) * u64::from(blocks.x)
}

/// One number for each block of the grid, whatever its shape: `x` fastest, `z` slowest.
#[inline(always)]
#[must_use]
pub fn block_index() -> u64 {
    let (block, blocks) = (block_idx(), grid_dim());
    let row = block.z.wrapping_mul(blocks.y).wrapping_add(block.y);
    u64::from(row) * u64::from(blocks.x) + u64::from(block.x)
}

/// The indices below `len` that are this thread's in a grid-stride loop: its own number, and on from
/// there in steps of the number of threads. All threads together have each index once.
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

/// An index below `N`, as it is, in a form that shows the compiler a bound: libnvvm forgets what it
/// proved by the block's size, and would check bounds of arrays again.
#[inline(always)]
pub(crate) fn bounded<const N: usize>(index: usize) -> usize {
    index & const { N.next_power_of_two() - 1 }
}

/// The indices below `len` that are this thread's in a loop of its block: its number in the block,
/// and on from there in steps of the block's size.
#[inline(always)]
pub fn block_stride(len: usize) -> Strided {
    Strided {
        next: index_in_block().into(),
        step: threads_in_block().into(),
        len: below_2_63(len),
    }
}

/// The indices below `len` that are this thread's block's in a loop of the grid's blocks.
#[inline(always)]
pub(crate) fn pieces(len: usize) -> Strided {
    Strided {
        next: block_index(),
        step: blocks_in_grid(),
        len: below_2_63(len),
    }
}

/// [`grid_stride`], over the elements of a slice: each of this thread's, with its index, and without a check
/// of bounds.
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

/// A thread's elements of a slice: what [`elements`] returns.
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

    // Without an `Option` on the way, which libnvvm does not always see through.
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

/// [`grid_stride`] for a number of elements that are in memory, of which there are less than 2⁶³ if
/// they have a size.
#[inline(always)]
pub(crate) fn grid_stride_of<T>(len: usize) -> Strided {
    Strided {
        next: index(),
        step: grid_size(),
        len: match size_of::<T>() {
            0 => below_2_63(len),
            _ => len as u64,
        },
    }
}

/// A length, of which no memory has 2⁶³, elements without a size aside.
#[inline(always)]
pub(crate) fn below_2_63(len: usize) -> u64 {
    (len as u64).min(i64::MAX as u64)
}

/// Indices in steps: what [`grid_stride`] and [`block_stride`] return.
#[derive(Clone, Debug)]
pub struct Strided {
    pub(crate) next: u64,
    pub(crate) step: u64,
    pub(crate) len: u64,
}

/// The same number, of which the compiler does not know where it comes from. libnvvm otherwise turns
/// each address that an element's index goes into, such as those of a stencil's neighbours, into a
/// variable of its own of the loop over the elements, with multiplications in 64 bits in front of a
/// loop that mostly runs once.
#[inline(always)]
pub(crate) fn opaque(index: usize) -> usize {
    crate::session::on_device!(on_device::opaque(index), index)
}

#[cfg(any(target_arch = "nvptx64", nvvm_single_source))]
mod on_device {
    #[inline(always)]
    pub(super) fn opaque(index: usize) -> usize {
        let same;
        // SAFETY: it copies a register.
        unsafe {
            crate::ptx!(
                "mov.b64 {}, {};",
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
        // SAFETY: `len` is below 2⁶³, as is the number of threads, which launches are checked for.
        self.next = unsafe { self.next.unchecked_add(self.step) };
        Some(index)
    }
}
