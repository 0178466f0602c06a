//! Asynchronous copies: of 4 to 16 bytes per thread ([`begin`]), of a block of memory by one thread
//! ([`bulk_in`], [`bulk_out`]), or of a box of a tensor by the Tensor Memory Accelerator
//! ([`TensorMap`]).
//!
//! ```
//! use cuda_std::copy;
//! use cuda_std::prelude::*;
//!
//! /// The sum of each thread's numbers. The next number is copied while the previous one is added.
//! #[kernel]
//! pub unsafe fn sums(from: *const u32, rounds: u32, mut to: PerThread<u32>) {
//!     let stages = shared_array![u32; 2 * 128];
//!     let (thread, threads) = (thread::index_1d() as usize, thread::grid_dim_x() as usize * 128);
//!     let slot = |round: u32| unsafe { stages.add((round % 2 * 128 + thread::thread_idx_x()) as usize) };
//!     let mut sum = 0;
//!     unsafe {
//!         copy::begin(slot(0), from.add(thread));
//!         copy::commit();
//!         for round in 0..rounds {
//!             if round + 1 < rounds {
//!                 copy::begin(slot(round + 1), from.add((round + 1) as usize * threads + thread));
//!             }
//!             copy::commit();
//!             copy::wait::<1>();
//!             sum += *slot(round);
//!         }
//!     }
//!     for (_, to) in to.own() {
//!         *to = sum;
//!     }
//! }
//! # fn main() {}
//! ```
//!
//! [`begin`] and its groups work on all architectures: before compute capability 8.0 the copy is
//! synchronous. All other functions require compute capability 9.0.

use crate::intrinsics::transfer as raw;
use crate::mbarrier::Mbarrier;
use crate::session::on_newer;

/// Starts a copy of one value of 4, 8 or 16 bytes from global to shared memory (`cp.async`).
///
/// # Safety
/// Both pointers must be valid and aligned to the value's size. Nothing else may access the
/// destination until this thread has waited for the copy; other threads need a barrier after that.
#[inline(always)]
pub unsafe fn begin<T: Copy>(to: *mut T, from: *const T) {
    const {
        assert!(
            matches!(size_of::<T>(), 4 | 8 | 16),
            "asynchronous copies are of 4, 8 or 16 bytes"
        )
    };
    on_newer!(
        "sm_80",
        // SAFETY: the caller's guarantee.
        unsafe {
            let (to, from) = (to.cast(), from.cast());
            match size_of::<T>() {
                4 => raw::cp_async_ca_4(to, from),
                8 => raw::cp_async_ca_8(to, from),
                _ => raw::cp_async_cg_16(to, from),
            }
        },
        // SAFETY: the caller's guarantee.
        unsafe { *to = *from }
    );
}

/// Commits the copies that this thread has started since the last commit as one group.
#[inline(always)]
pub fn commit() {
    on_newer!("sm_80", raw::cp_async_commit_group(), {});
}

/// Waits until at most the `N` most recent groups of this thread are pending. `N` is at most 7.
#[inline(always)]
pub fn wait<const N: u32>() {
    on_newer!("sm_80", raw::cp_async_wait_group::<N>(), {});
}

/// Waits for all copies that this thread has started.
#[inline(always)]
pub fn wait_all() {
    on_newer!("sm_80", raw::cp_async_wait_all(), {});
}

/// Starts a bulk copy from global to shared memory. When it completes, it subtracts `bytes` from
/// the bytes that the barrier's phase expects; the barrier must expect them (see
/// [`Mbarrier::expect`]).
///
/// # Safety
/// Both pointers must be valid for `bytes` bytes, a multiple of 16, and aligned to 16 bytes.
/// Nothing else may access the destination until the barrier's phase completes. A [`fence`] must
/// separate earlier accesses to the destination from the copy.
#[inline(always)]
pub unsafe fn bulk_in<T>(to: *mut T, from: *const T, bytes: u32, barrier: &Mbarrier) {
    // SAFETY: the caller's guarantee.
    unsafe { raw::cp_async_bulk_shared_global(to.cast(), from.cast(), bytes, barrier.as_ptr()) }
}

/// Starts a bulk copy from shared to global memory.
///
/// # Safety
/// Both pointers must be valid for `bytes` bytes, a multiple of 16, and aligned to 16 bytes.
/// Nothing may modify the source before [`wait_bulk_read`], or access the destination before
/// [`wait_bulk`]. A [`fence`] must separate earlier writes to the source from the copy.
#[inline(always)]
pub unsafe fn bulk_out<T>(to: *mut T, from: *const T, bytes: u32) {
    // SAFETY: the caller's guarantee.
    unsafe { raw::cp_async_bulk_global_shared(to.cast(), from.cast(), bytes) }
}

/// Commits the bulk copies from shared memory that this thread has started as one group.
#[inline(always)]
pub fn commit_bulk() {
    raw::cp_async_bulk_commit_group();
}

/// Waits until at most the `N` most recent bulk groups are pending. `N` is at most 7.
#[inline(always)]
pub fn wait_bulk<const N: u32>() {
    raw::cp_async_bulk_wait_group::<N>();
}

/// Waits until at most the `N` most recent bulk groups still read their source. `N` is at most 7.
#[inline(always)]
pub fn wait_bulk_read<const N: u32>() {
    raw::cp_async_bulk_wait_group_read::<N>();
}

/// Orders this thread's earlier writes to shared memory before later bulk copies that read it
/// (`fence.proxy.async`).
#[inline(always)]
pub fn fence() {
    raw::fence_proxy_async_shared();
}

/// A descriptor of a tensor in global memory and of the boxes to copy. The host creates it as
/// `cust::tensor_map::TensorMap`, which has the same layout. It must be in global or constant
/// memory, or a kernel parameter: kernels take it as `#[grid_constant] map: &TensorMap`, for which
/// the host passes a `TensorMap::from_words(map.to_words())`.
#[repr(C, align(64))]
#[derive(Clone, Copy)]
pub struct TensorMap([u64; 16]);

// SAFETY: it consists of integers.
unsafe impl cust_core::DeviceCopy for TensorMap {}

impl TensorMap {
    /// Creates the map from the words that the driver encoded.
    #[must_use]
    pub const fn from_words(words: [u64; 16]) -> TensorMap {
        TensorMap(words)
    }
}

/// Coordinates in a tensor of one to five dimensions, innermost (contiguous) dimension first.
pub trait Coordinates: sealed::Sealed {
    /// Starts the copy of [`TensorMap::load`].
    ///
    /// # Safety
    /// As for [`TensorMap::load`].
    #[doc(hidden)]
    unsafe fn load(self, map: *const u8, to: *mut u8, barrier: *mut u64);
    /// Starts the copy of [`TensorMap::store`].
    ///
    /// # Safety
    /// As for [`TensorMap::store`].
    #[doc(hidden)]
    unsafe fn store(self, map: *const u8, from: *const u8);
    /// Starts the reduction of [`TensorMap::add`].
    ///
    /// # Safety
    /// As for [`TensorMap::add`].
    #[doc(hidden)]
    unsafe fn add(self, map: *const u8, from: *const u8);
    /// Prefetches the box into L2.
    ///
    /// # Safety
    /// `map` must point to a tensor map.
    #[doc(hidden)]
    unsafe fn prefetch(self, map: *const u8);
}

mod sealed {
    pub trait Sealed {}
}

cuda_std_macros::repeat! {
    for (N, D) in [(1, "1d"), (2, "2d"), (3, "3d"), (4, "4d"), (5, "5d")] {
        impl sealed::Sealed for [i32; N] {}
        impl Coordinates for [i32; N] {
            #[inline(always)]
            unsafe fn load(self, map: *const u8, to: *mut u8, barrier: *mut u64) {
                // SAFETY: the caller's promise.
                unsafe { raw::cp_async_bulk_tensor_D_shared_global(to, map, self, barrier) }
            }
            #[inline(always)]
            unsafe fn store(self, map: *const u8, from: *const u8) {
                // SAFETY: the caller's promise.
                unsafe { raw::cp_async_bulk_tensor_D_global_shared(map, self, from) }
            }
            #[inline(always)]
            unsafe fn add(self, map: *const u8, from: *const u8) {
                // SAFETY: the caller's promise.
                unsafe { raw::cp_reduce_async_bulk_tensor_D_add(map, self, from) }
            }
            #[inline(always)]
            unsafe fn prefetch(self, map: *const u8) {
                // SAFETY: the caller's promise.
                unsafe { raw::cp_async_bulk_prefetch_tensor_D(map, self) }
            }
        }
    }
}

/// Coordinates of a pixel in a batch of images with one to three spatial dimensions: channel,
/// position, image.
pub trait Pixel: Coordinates {
    /// The offset of pixels along each spatial dimension.
    type Offsets;
    /// Starts the copy of [`TensorMap::load_pixels`].
    ///
    /// # Safety
    /// As for [`TensorMap::load_pixels`].
    #[doc(hidden)]
    unsafe fn load_pixels(
        self,
        map: *const u8,
        to: *mut u8,
        barrier: *mut u64,
        offsets: Self::Offsets,
    );
    /// Starts the copy of [`TensorMap::store_pixels`].
    ///
    /// # Safety
    /// As for [`TensorMap::store_pixels`].
    #[doc(hidden)]
    unsafe fn store_pixels(self, map: *const u8, from: *const u8);
}

cuda_std_macros::repeat! {
    for (N, D, O) in [(3, "3d", 1), (4, "4d", 2), (5, "5d", 3)] {
        impl Pixel for [i32; N] {
            type Offsets = [u16; O];
            #[inline(always)]
            unsafe fn load_pixels(
                self,
                map: *const u8,
                to: *mut u8,
                barrier: *mut u64,
                offsets: [u16; O],
            ) {
                // SAFETY: the caller's guarantee.
                unsafe {
                    raw::cp_async_bulk_tensor_D_im2col_shared_global(to, map, self, barrier, offsets);
                }
            }
            #[inline(always)]
            unsafe fn store_pixels(self, map: *const u8, from: *const u8) {
                // SAFETY: the caller's promise.
                unsafe { raw::cp_async_bulk_tensor_D_im2col_global_shared(map, self, from) }
            }
        }
    }
}

impl TensorMap {
    #[inline(always)]
    fn address(&self) -> *const u8 {
        (&raw const self.0).cast()
    }

    /// Starts a copy of the box at these coordinates to shared memory. When it completes, it
    /// subtracts the size of the box from the bytes that the barrier's phase expects; the barrier
    /// must expect them. The size includes elements outside the tensor, which are filled.
    ///
    /// # Safety
    /// The destination must have space for a box and be aligned to 128 bytes, and nothing else may
    /// access it until the barrier's phase completes. The tensor must have as many dimensions as
    /// `at`, and must be live. The first coordinate must be at a multiple of 16 bytes; otherwise an
    /// H200 fails the launch with an illegal instruction.
    #[inline(always)]
    pub unsafe fn load<T>(&self, to: *mut T, at: impl Coordinates, barrier: &Mbarrier) {
        // SAFETY: the caller's promise.
        unsafe { at.load(self.address(), to.cast(), barrier.as_ptr()) }
    }

    /// Starts a copy of a box from shared memory to these coordinates, as [`bulk_out`] does.
    /// Elements outside the tensor are not written.
    ///
    /// # Safety
    /// The source must be a box, aligned to 128 bytes. The requirements of [`bulk_out`] apply. The
    /// tensor must have as many dimensions as `at`, and must be live. The first coordinate must be
    /// at a multiple of 16 bytes, and no coordinate may be negative: GPUs support negative
    /// coordinates only for loads, and fail such a launch with an illegal instruction.
    #[inline(always)]
    pub unsafe fn store<T>(&self, at: impl Coordinates, from: *const T) {
        // SAFETY: the caller's promise.
        unsafe { at.store(self.address(), from.cast()) }
    }

    /// Starts a reduction that adds a box in shared memory to the elements at these coordinates,
    /// each element atomically.
    ///
    /// # Safety
    /// As for [`TensorMap::store`].
    #[inline(always)]
    pub unsafe fn add<T>(&self, at: impl Coordinates, from: *const T) {
        // SAFETY: the caller's promise.
        unsafe { at.add(self.address(), from.cast()) }
    }

    /// Starts a copy of pixels to shared memory, starting at the pixel at these coordinates, each
    /// displaced by the offsets. The map must be of images (`cust::tensor_map::TensorMap::im2col`).
    /// The barrier counts the bytes as for [`TensorMap::load`].
    ///
    /// # Safety
    /// As for [`TensorMap::load`], and the map must be of images.
    #[inline(always)]
    pub unsafe fn load_pixels<T, P: Pixel>(
        &self,
        to: *mut T,
        at: P,
        offsets: P::Offsets,
        barrier: &Mbarrier,
    ) {
        // SAFETY: the caller's promise.
        unsafe { at.load_pixels(self.address(), to.cast(), barrier.as_ptr(), offsets) }
    }

    /// Starts a copy of pixels from shared memory to the pixel at these coordinates and those after
    /// it. Elements outside the images are not written.
    ///
    /// # Safety
    /// As for [`TensorMap::store`], and the map must be of images, with both corners of its
    /// bounding box inside the image: other maps are for loads only, and an H200 fails a store
    /// through them with an illegal instruction.
    #[inline(always)]
    pub unsafe fn store_pixels<T>(&self, at: impl Pixel, from: *const T) {
        // SAFETY: the caller's promise.
        unsafe { at.store_pixels(self.address(), from.cast()) }
    }

    /// Prefetches the box at these coordinates into L2.
    #[inline(always)]
    pub fn prefetch_box(&self, at: impl Coordinates) {
        // SAFETY: `self` is a tensor map.
        unsafe { at.prefetch(self.address()) }
    }

    /// Prefetches the tensor map itself.
    #[inline(always)]
    pub fn prefetch(&self) {
        // SAFETY: `self` is a tensor map.
        unsafe { raw::prefetch_tensormap(self.address()) }
    }
}
