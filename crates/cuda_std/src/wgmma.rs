//! Matrix products of four warps at once, asynchronously, of matrices in shared memory: `wgmma`, of
//! compute capability 9.0a, with the crate's feature `wgmma`. The instructions are the rows of
//! [`intrinsics::wgmma`](crate::intrinsics::wgmma); here is what they take.
//!
//! ```
//! # #[cfg(feature = "wgmma")] mod m {
//! use cuda_std::copy;
//! use cuda_std::halves::F16;
//! use cuda_std::intrinsics::wgmma as rows;
//! use cuda_std::prelude::*;
//! use cuda_std::wgmma::{self, Descriptor, Swizzle};
//!
//! /// A 64×16 by a 16×8 matrix, both in pieces of 8 rows (columns) of 16 bytes; 128 threads.
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
//!         rows::wgmma_m64_n8_k16_f32_f16_f16::<1, 1, 0, 0>(&mut sum, a.bits(), b.bits(), false);
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
//! All 128 threads of four consecutive warps, the first of which has a number that four divides,
//! execute these together. D's registers may not be touched between a product and the wait for it.

use crate::intrinsics::wgmma as rows;

/// How 16-byte pieces of a matrix's rows are permuted in shared memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Swizzle {
    /// Not at all: pieces of eight rows of 16 bytes lie one after the other.
    #[default]
    None = 0,
    /// Rows of 128 bytes.
    Bytes128 = 1,
    /// Rows of 64 bytes.
    Bytes64 = 2,
    /// Rows of 32 bytes.
    Bytes32 = 3,
}

/// A matrix in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Descriptor(u64);

impl Descriptor {
    /// A matrix whose rows (of A, or columns of B) have their elements side by side. `leading` are
    /// the bytes from one piece of 16 bytes of a row to the next where there is no swizzle, `stride`
    /// those from eight rows to the next eight. All are multiples of 16 below 2¹⁸; with a swizzle the
    /// address is a multiple of eight rows.
    ///
    /// # Safety
    /// The pointer is into shared memory.
    #[inline(always)]
    #[must_use]
    pub unsafe fn new<T>(start: *const T, leading: u32, stride: u32, swizzle: Swizzle) -> Self {
        // SAFETY: the caller's promise.
        let start = unsafe { rows::wgmma_address(start.cast()) };
        Self::from_address(start, leading, stride, swizzle)
    }

    /// The same, of an address in shared memory.
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

    /// The matrix that begins so many bytes further on, a multiple of 16: the next columns.
    #[inline(always)]
    #[must_use]
    pub const fn offset(self, bytes: u32) -> Self {
        Descriptor(self.0 + (bytes as u64 >> 4))
    }

    /// As the intrinsics take it.
    #[inline(always)]
    #[must_use]
    pub const fn bits(self) -> u64 {
        self.0
    }
}

/// Orders accesses to registers and shared memory before the products that follow.
#[inline(always)]
pub fn fence() {
    rows::wgmma_fence();
}

/// Makes a group of the products before.
#[inline(always)]
pub fn commit() {
    rows::wgmma_commit_group();
}

/// Waits until all but the newest `N` groups are done; `N` is at most 7.
#[inline(always)]
pub fn wait<const N: u32>() {
    rows::wgmma_wait_group::<N>();
}

/// Row and column of a 32-bit element of D that a thread of the 128 holds.
#[inline(always)]
#[must_use]
pub const fn position(thread: usize, index: usize) -> (usize, usize) {
    (
        thread / 32 * 16 + thread % 32 / 4 + index / 2 % 2 * 8,
        index / 4 * 8 + thread % 4 * 2 + index % 2,
    )
}
