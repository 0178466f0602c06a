//! Asynchronous warpgroup matrix products of matrices in shared memory (`wgmma`). Requires the
//! architecture `sm_90a` and this crate's feature `wgmma`. The instructions are in
//! [`intrinsics::wgmma`](crate::intrinsics::wgmma); this module has their operands and
//! synchronization.
//!
//! ```
//! # #[cfg(feature = "wgmma")] mod m {
//! use cuda_std::copy;
//! use cuda_std::half::F16;
//! use cuda_std::intrinsics::wgmma as raw;
//! use cuda_std::prelude::*;
//! use cuda_std::wgmma::{self, Descriptor, Swizzle};
//!
//! /// The product of a 64×16 and a 16×8 matrix, both in core matrices of 8 rows (columns) of
//! /// 16 bytes, by 128 threads.
//! #[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
//! #[kernel]
//! pub unsafe fn product(a: *const F16, b: *const F16, c: *mut f32) {
//!     let (tile_a, tile_b) = (shared_array![u128; 128], shared_array![u128; 16]);
//!     let thread = thread::thread_idx_x() as usize;
//!     unsafe {
//!         *tile_a.add(thread) = *a.cast::<u128>().add(thread);
//!         if thread < 16 {
//!             *tile_b.add(thread) = *b.cast::<u128>().add(thread);
//!         }
//!         copy::fence();
//!         thread::sync_threads();
//!         let a = Descriptor::new(tile_a.cast::<F16>(), 128, 256, Swizzle::None);
//!         let b = Descriptor::new(tile_b.cast::<F16>(), 128, 256, Swizzle::None);
//!         let mut sum = [0.0; 4];
//!         wgmma::fence();
//!         raw::wgmma_m64_n8_k16_f32_f16_f16::<1, 1, 0, 0>(&mut sum, a.bits(), b.bits(), false);
//!         wgmma::commit();
//!         wgmma::wait::<0>();
//!         for index in 0..4 {
//!             let (row, column) = wgmma::position(thread, index);
//!             *c.add(row * 8 + column) = sum[index];
//!         }
//!     }
//! }
//! # }
//! # fn main() {}
//! ```
//!
//! A warpgroup consists of four consecutive warps; the index of the first is a multiple of four.
//! All 128 threads of a warpgroup execute these functions together. The registers of D must not be
//! accessed between a product and the wait for it.

use crate::intrinsics::wgmma as raw;

/// How 16-byte units of a matrix's rows are permuted (swizzled) in shared memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Swizzle {
    /// No swizzle: core matrices of eight rows of 16 bytes are contiguous.
    #[default]
    None = 0,
    /// 128-byte swizzle: rows of 128 bytes.
    Bytes128 = 1,
    /// 64-byte swizzle: rows of 64 bytes.
    Bytes64 = 2,
    /// 32-byte swizzle: rows of 32 bytes.
    Bytes32 = 3,
}

/// A matrix descriptor: describes a matrix in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Descriptor(u64);

impl Descriptor {
    /// Creates the descriptor of a K-major matrix (the elements of a row of A or a column of B are
    /// contiguous). `leading` is the distance in bytes between consecutive 16-byte units of a row,
    /// if there is no swizzle; `stride` is the distance between consecutive groups of eight rows.
    /// Address and distances must be multiples of 16 below 2¹⁸. With a swizzle, the address must be
    /// a multiple of the size of eight rows.
    ///
    /// # Safety
    /// `start` must point into shared memory.
    #[inline(always)]
    #[must_use]
    pub unsafe fn new<T>(start: *const T, leading: u32, stride: u32, swizzle: Swizzle) -> Self {
        // SAFETY: the caller's guarantee.
        let start = unsafe { raw::wgmma_address(start.cast()) };
        Self::from_address(start, leading, stride, swizzle)
    }

    /// Like [`Descriptor::new`], from an address in shared memory.
    #[inline(always)]
    #[must_use]
    pub const fn from_address(start: u64, leading: u32, stride: u32, swizzle: Swizzle) -> Self {
        const fn field(bytes: u64) -> u64 {
            bytes >> 4 & 0x3fff
        }
        Descriptor(
            field(start)
                | field(leading as u64) << 16
                | field(stride as u64) << 32
                | (swizzle as u64) << 62,
        )
    }

    /// Returns the descriptor of the matrix that starts `bytes` bytes later, a multiple of 16: the
    /// next columns.
    #[inline(always)]
    #[must_use]
    pub const fn offset(self, bytes: u32) -> Self {
        Descriptor(self.0 + (bytes as u64 >> 4))
    }

    /// Returns the descriptor as the operand of intrinsics.
    #[inline(always)]
    #[must_use]
    pub const fn bits(self) -> u64 {
        self.0
    }
}

/// Orders earlier accesses to registers and shared memory before the following products
/// (`wgmma.fence`).
#[inline(always)]
pub fn fence() {
    raw::wgmma_fence();
}

/// Commits the preceding products as one group.
#[inline(always)]
pub fn commit() {
    raw::wgmma_commit_group();
}

/// Waits until at most the `N` most recent groups are pending. `N` is at most 7.
#[inline(always)]
pub fn wait<const N: u32>() {
    raw::wgmma_wait_group::<N>();
}

/// Returns row and column of the 32-bit element of D with index `index` in thread `thread` of the
/// 128.
#[inline(always)]
#[must_use]
pub const fn position(thread: usize, index: usize) -> (usize, usize) {
    (
        thread / 32 * 16 + thread % 32 / 4 + index / 2 % 2 * 8,
        index / 4 * 8 + thread % 4 * 2 + index % 2,
    )
}
