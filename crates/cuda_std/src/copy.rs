//! Copies that go on while threads compute: by each thread a few bytes ([`begin`]), by one thread a
//! whole row ([`bulk_in`], [`bulk_out`]) or a box of a tensor ([`TensorMap`]).
//!
//! ```
//! use cuda_std::copy;
//! use cuda_std::prelude::*;
//!
//! /// The sum of each thread's numbers, of which the next is fetched while one is added.
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
//! [`begin`] and its groups work everywhere: before compute capability 8.0 the copy is done at once.
//! The others need 9.0.

use crate::intrinsics::transfer as rows;
use crate::mbarrier::Mbarrier;
use crate::session::on_newer;

/// Begins a copy of one value of 4, 8 or 16 bytes from global to shared memory.
///
/// # Safety
/// Both are valid and aligned to the value's size, and nobody else accesses the target until the
/// copy is waited for (by this thread; others need a barrier after that).
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
        // SAFETY: the caller's promise.
        unsafe {
            let (to, from) = (to.cast(), from.cast());
            match size_of::<T>() {
                4 => rows::cp_async_ca_4(to, from),
                8 => rows::cp_async_ca_8(to, from),
                _ => rows::cp_async_cg_16(to, from),
            }
        },
        // SAFETY: the caller's promise.
        unsafe { *to = *from }
    );
}

/// Makes a group of the copies that this thread began since the last one.
#[inline(always)]
pub fn commit() {
    on_newer!("sm_80", rows::cp_async_commit_group(), {});
}

/// Waits until all but the newest `N` groups of this thread are there; `N` is at most 7.
#[inline(always)]
pub fn wait<const N: u32>() {
    on_newer!("sm_80", rows::cp_async_wait_group::<N>(), {});
}

/// Waits until all copies that this thread began are there.
#[inline(always)]
pub fn wait_all() {
    on_newer!("sm_80", rows::cp_async_wait_all(), {});
}

/// Begins a copy from global to shared memory. The barrier learns of its bytes, which it must have
/// been told to expect.
///
/// # Safety
/// Both are valid for so many bytes, a multiple of 16, and aligned to 16; nobody else accesses the
/// target until the barrier's phase is over. Writes to shared memory before are ordered by
/// [`fence`].
#[inline(always)]
pub unsafe fn bulk_in<T>(to: *mut T, from: *const T, bytes: u32, barrier: &Mbarrier) {
    // SAFETY: the caller's promise.
    unsafe { rows::cp_async_bulk_shared_global(to.cast(), from.cast(), bytes, barrier.as_ptr()) }
}

/// Begins a copy from shared to global memory.
///
/// # Safety
/// Both are valid for so many bytes, a multiple of 16, and aligned to 16; nobody changes the source
/// until [`wait_bulk_read`], and nobody counts on the target until [`wait_bulk`]. Writes to the
/// source before are ordered by [`fence`].
#[inline(always)]
pub unsafe fn bulk_out<T>(to: *mut T, from: *const T, bytes: u32) {
    // SAFETY: the caller's promise.
    unsafe { rows::cp_async_bulk_global_shared(to.cast(), from.cast(), bytes) }
}

/// Makes a group of the bulk copies out of shared memory that this thread began.
#[inline(always)]
pub fn commit_bulk() {
    rows::cp_async_bulk_commit_group();
}

/// Waits until all but the newest `N` such groups are done; `N` is at most 7.
#[inline(always)]
pub fn wait_bulk<const N: u32>() {
    rows::cp_async_bulk_wait_group::<N>();
}

/// Waits until all but the newest `N` such groups have read their source; `N` is at most 7.
#[inline(always)]
pub fn wait_bulk_read<const N: u32>() {
    rows::cp_async_bulk_wait_group_read::<N>();
}

/// Orders what this thread wrote to shared memory before bulk copies that read it.
#[inline(always)]
pub fn fence() {
    rows::fence_proxy_async_shared();
}

/// A tensor in global memory and the boxes that are copied of it, as the host describes them:
/// `cust::tensor_map::TensorMap`, of the same layout. It must be in global or constant memory, or a
/// parameter of the launch: kernels take it as `#[grid_constant] map: &TensorMap`, for which the host
/// passes a `TensorMap::from_words(map.to_words())`.
#[repr(C, align(64))]
#[derive(Clone, Copy)]
pub struct TensorMap([u64; 16]);

// SAFETY: plain numbers.
unsafe impl cust_core::DeviceCopy for TensorMap {}

impl TensorMap {
    /// The map of these words, which the driver made.
    #[must_use]
    pub const fn from_words(words: [u64; 16]) -> TensorMap {
        TensorMap(words)
    }
}

/// Coordinates of a tensor of one to five dimensions, the one whose elements lie side by side first.
pub trait Coordinates: sealed::Sealed {
    /// # Safety
    /// As for [`TensorMap::load`].
    #[doc(hidden)]
    unsafe fn load(self, map: *const u8, to: *mut u8, barrier: *mut u64);
    /// # Safety
    /// As for [`TensorMap::store`].
    #[doc(hidden)]
    unsafe fn store(self, map: *const u8, from: *const u8);
    /// # Safety
    /// As for [`TensorMap::add`].
    #[doc(hidden)]
    unsafe fn add(self, map: *const u8, from: *const u8);
    /// # Safety
    /// The map is one.
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
                unsafe { rows::cp_async_bulk_tensor_D_shared_global(to, map, self, barrier) }
            }
            #[inline(always)]
            unsafe fn store(self, map: *const u8, from: *const u8) {
                // SAFETY: the caller's promise.
                unsafe { rows::cp_async_bulk_tensor_D_global_shared(map, self, from) }
            }
            #[inline(always)]
            unsafe fn add(self, map: *const u8, from: *const u8) {
                // SAFETY: the caller's promise.
                unsafe { rows::cp_reduce_async_bulk_tensor_D_add(map, self, from) }
            }
            #[inline(always)]
            unsafe fn prefetch(self, map: *const u8) {
                // SAFETY: the caller's promise.
                unsafe { rows::cp_async_bulk_prefetch_tensor_D(map, self) }
            }
        }
    }
}

/// Coordinates of a pixel in images of one to three dimensions: channel, place, image.
pub trait Pixel: Coordinates {
    /// By how much pixels are shifted, along each dimension of space.
    type Offsets;
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
                // SAFETY: the caller's promise.
                unsafe {
                    rows::cp_async_bulk_tensor_D_im2col_shared_global(to, map, self, barrier, offsets);
                }
            }
            #[inline(always)]
            unsafe fn store_pixels(self, map: *const u8, from: *const u8) {
                // SAFETY: the caller's promise.
                unsafe { rows::cp_async_bulk_tensor_D_im2col_global_shared(map, self, from) }
            }
        }
    }
}

impl TensorMap {
    #[inline(always)]
    fn address(&self) -> *const u8 {
        (&raw const self.0).cast()
    }

    /// Begins a copy of the box at these coordinates to shared memory. The barrier learns of its
    /// bytes, which it must have been told to expect: all of the box's, those outside of the tensor
    /// (which are filled) included.
    ///
    /// # Safety
    /// The target has room for a box and is aligned to 128 bytes; nobody else accesses it until the
    /// barrier's phase is over. The tensor has as many dimensions and is there. The first coordinate
    /// is at a multiple of 16 bytes: an H200 ends the launch as an illegal instruction otherwise.
    #[inline(always)]
    pub unsafe fn load<T>(&self, to: *mut T, at: impl Coordinates, barrier: &Mbarrier) {
        // SAFETY: the caller's promise.
        unsafe { at.load(self.address(), to.cast(), barrier.as_ptr()) }
    }

    /// Begins a copy of a box from shared memory to these coordinates, as [`bulk_out`]. What of the
    /// box is beyond the tensor's end is left out.
    ///
    /// # Safety
    /// The source is a box, aligned to 128 bytes; as for [`bulk_out`]. The tensor has as many
    /// dimensions and is there. The first coordinate is at a multiple of 16 bytes, and none is
    /// negative: GPUs can start a copy before a tensor's beginning in the other direction alone, and
    /// end such a launch as an illegal instruction.
    #[inline(always)]
    pub unsafe fn store<T>(&self, at: impl Coordinates, from: *const T) {
        // SAFETY: the caller's promise.
        unsafe { at.store(self.address(), from.cast()) }
    }

    /// Begins to add a box of shared memory to what is at these coordinates, each element atomically.
    ///
    /// # Safety
    /// As for [`TensorMap::store`].
    #[inline(always)]
    pub unsafe fn add<T>(&self, at: impl Coordinates, from: *const T) {
        // SAFETY: the caller's promise.
        unsafe { at.add(self.address(), from.cast()) }
    }

    /// Begins a copy of pixels to shared memory, from the one at these coordinates on, each shifted
    /// by the offsets: of a map of images (`cust::tensor_map::TensorMap::im2col`). The barrier learns
    /// of all bytes, as in [`TensorMap::load`].
    ///
    /// # Safety
    /// As for [`TensorMap::load`], and the map is of images.
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

    /// Begins a copy of pixels from shared memory, to the one at these coordinates and those after
    /// it; what is outside of the images is left out.
    ///
    /// # Safety
    /// As for [`TensorMap::store`], and the map is of images, neither of whose corners is outside of the
    /// image: such maps are for loads, an H200 ends a store by them as an illegal instruction.
    #[inline(always)]
    pub unsafe fn store_pixels<T>(&self, at: impl Pixel, from: *const T) {
        // SAFETY: the caller's promise.
        unsafe { at.store_pixels(self.address(), from.cast()) }
    }

    /// Fetches the box at these coordinates into the second-level cache.
    #[inline(always)]
    pub fn prefetch_box(&self, at: impl Coordinates) {
        // SAFETY: it is a map.
        unsafe { at.prefetch(self.address()) }
    }

    /// Fetches the map itself.
    #[inline(always)]
    pub fn prefetch(&self) {
        // SAFETY: it is a map.
        unsafe { rows::prefetch_tensormap(self.address()) }
    }
}
