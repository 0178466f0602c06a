//! Memory accesses with cache operators and eviction policies, prefetching, and state spaces of
//! pointers.
//!
//! ```
//! use cuda_std::memory;
//! use cuda_std::prelude::*;
//!
//! /// A copy that does not pollute the caches.
//! #[kernel]
//! pub fn copy(from: &[f64], mut to: PerThread<f64>) {
//!     for (i, to) in to.own() {
//!         memory::prefetch_l2(from.as_ptr().wrapping_add(i + 4096));
//!         memory::store_streaming(to, memory::load_streaming(&from[i]));
//!     }
//! }
//! # fn main() {}
//! ```
//!
//! Loads through `&T` parameters of kernels become `ld.global.nc` automatically; use these
//! functions for what the compiler cannot know. Cache operators are hints and do not change the
//! loaded value; outside global memory they have no effect.

use crate::bits::{AnyBits, read_part};
use crate::intrinsics::memory as intrinsics;
use crate::session::on_arch;
use core::mem::MaybeUninit;

/// Returns whether a pointer points to global memory.
#[inline(always)]
#[must_use]
pub fn is_global<T>(pointer: *const T) -> bool {
    intrinsics::isspacep_global(pointer.cast())
}

/// Returns whether a pointer points to the block's shared memory.
#[inline(always)]
#[must_use]
pub fn is_shared<T>(pointer: *const T) -> bool {
    intrinsics::isspacep_shared(pointer.cast())
}

/// Returns whether a pointer points to the shared memory of any block of the cluster. Requires
/// `sm_90`.
#[inline(always)]
#[must_use]
pub fn is_cluster_shared<T>(pointer: *const T) -> bool {
    intrinsics::isspacep_shared_cluster(pointer.cast())
}

/// Sets `count` elements of the block's shared memory to zero: one instruction on `sm_100` and
/// later (`st.bulk`), otherwise a loop. Other threads see the zeros after the next barrier.
///
/// The size and the alignment of `T` must be multiples of 8 bytes; other types do not compile.
///
/// # Safety
///
/// `to` must point to `count` elements of the block's shared memory, and must be aligned. No other
/// thread may access them between the previous barrier and the next one.
///
/// # Examples
///
/// ```
/// use cuda_std::prelude::*;
/// use cuda_std::{group, memory};
///
/// /// The sum of each warp, in the first element of each 32. Absent warps have the sum 0.
/// #[kernel]
/// pub fn warp_sums(from: &[u64], mut to: PerThread<u64>) {
///     let sums = shared_array![u64; 32];
///     if thread::index_in_block() == 0 {
///         // SAFETY: no other thread accesses the array before the barrier.
///         unsafe { memory::zero_shared(sums, 32) };
///     }
///     thread::sync_threads();
///     let value = from.get(thread::index_1d() as usize).copied().unwrap_or(0);
///     let sum = group::warp().reduce(value, |a, b| a + b);
///     if thread::lane_id() == 0 {
///         // SAFETY: each warp writes its own element, between two barriers.
///         unsafe { sums.add(thread::warp_id() as usize).write(sum) };
///     }
///     thread::sync_threads();
///     let lane = thread::lane_id() as usize;
///     // SAFETY: no thread writes the array after the barrier.
///     to.each(|_, to| *to = unsafe { *sums.add(lane) });
/// }
/// # fn main() {}
/// ```
#[inline(always)]
pub unsafe fn zero_shared<T: AnyBits>(to: *mut T, count: usize) {
    const {
        assert!(
            size_of::<T>().is_multiple_of(8) && align_of::<T>().is_multiple_of(8),
            "the size and the alignment must be multiples of 8 bytes"
        )
    };
    // SAFETY: as the caller promises. A block has less shared memory than the instruction's limit.
    unsafe {
        on_arch!(
            "sm_100",
            intrinsics::st_bulk_shared(to.cast(), (count * size_of::<T>()) as u64),
            to.write_bytes(0, count),
            to.write_bytes(0, count),
        )
    }
}

/// Returns whether a pointer points to the thread's local memory, such as its stack.
#[inline(always)]
#[must_use]
pub fn is_local<T>(pointer: *const T) -> bool {
    intrinsics::isspacep_local(pointer.cast())
}

/// Returns whether a pointer points to constant memory.
#[inline(always)]
#[must_use]
pub fn is_constant<T>(pointer: *const T) -> bool {
    intrinsics::isspacep_const(pointer.cast())
}

/// Returns whether a pointer points to the kernel's parameters.
#[inline(always)]
#[must_use]
pub fn is_parameter<T>(pointer: *const T) -> bool {
    intrinsics::isspacep_param(pointer.cast())
}

/// Declares the conversions between generic pointers and addresses in a state space (`cvta`).
macro_rules! addresses {
    ($($to:ident $from:ident $cvta_to:ident $cvta:ident $space:literal;)*) => {
        $(
            #[doc = concat!("Converts a pointer into ", $space, " to an address in that state space.")]
            #[inline(always)]
            #[must_use]
            pub fn $to<T>(pointer: *const T) -> u64 {
                intrinsics::$cvta_to(pointer.cast())
            }

            #[doc = concat!("Converts an address in ", $space, " to a generic pointer.")]
            #[inline(always)]
            #[must_use]
            pub fn $from<T>(address: u64) -> *mut T {
                intrinsics::$cvta(address).cast_mut().cast()
            }
        )*
    };
}
addresses! {
    global_address from_global_address cvta_to_global cvta_global "global memory";
    shared_address from_shared_address cvta_to_shared cvta_shared "shared memory";
    local_address from_local_address cvta_to_local cvta_local "local memory";
    constant_address from_constant_address cvta_to_const cvta_const "constant memory";
}

/// Loads a value with the widest accesses that its size and alignment allow: calls `$bN` with a
/// pointer to each part.
macro_rules! in_parts {
    ($T:ident, $from:expr, $b8:ident $b16:ident $b32:ident $b64:ident $v2l:ident) => {{
        let from: *const $T = $from;
        let mut value = MaybeUninit::<$T>::uninit();
        let to = value.as_mut_ptr();
        let (size, align) = const { (size_of::<$T>(), align_of::<$T>()) };
        let mut at = 0;
        // SAFETY: each part is within the value, at a multiple of the alignment.
        unsafe {
            while at < size {
                let (from, to) = (from.cast::<u8>().add(at), to.cast::<u8>().add(at));
                at += match align {
                    _ if align >= 16 && size % 16 == 0 => {
                        to.cast::<[u64; 2]>().write(intrinsics::$v2l(from.cast()));
                        16
                    }
                    8 | 16 => {
                        to.cast::<u64>().write(intrinsics::$b64(from.cast()));
                        8
                    }
                    4 => {
                        to.cast::<u32>().write(intrinsics::$b32(from.cast()));
                        4
                    }
                    2 => {
                        to.cast::<u16>().write(intrinsics::$b16(from.cast()));
                        2
                    }
                    _ => {
                        to.write(intrinsics::$b8(from));
                        1
                    }
                };
            }
            value.assume_init()
        }
    }};
}

macro_rules! loads {
    ($($(#[$doc:meta])* $name:ident
        $b8:ident $b16:ident $b32:ident $b64:ident $v2l:ident;)*) => {
        $(
            $(#[$doc])*
            #[inline(always)]
            #[must_use]
            pub fn $name<T: AnyBits + Copy>(from: &T) -> T {
                in_parts!(T, from, $b8 $b16 $b32 $b64 $v2l)
            }
        )*
    };
}
loads! {
    /// Loads, and caches at all levels (`ld.ca`).
    load_cached ld_ca_b8 ld_ca_b16 ld_ca_b32 ld_ca_b64
        ld_ca_v2_b64;
    /// Loads, and caches only in L2, which all multiprocessors share (`ld.cg`).
    load_l2 ld_cg_b8 ld_cg_b16 ld_cg_b32 ld_cg_b64
        ld_cg_v2_b64;
    /// Loads data that is probably accessed once, with an evict-first policy (`ld.cs`).
    load_streaming ld_cs_b8 ld_cs_b16 ld_cs_b32 ld_cs_b64
        ld_cs_v2_b64;
    /// Loads data that is not accessed again (`ld.lu`).
    load_last_use ld_lu_b8 ld_lu_b16 ld_lu_b32 ld_lu_b64
        ld_lu_v2_b64;
    /// Loads from memory again, ignoring cached lines (`ld.cv`).
    load_volatile ld_cv_b8 ld_cv_b16 ld_cv_b32 ld_cv_b64
        ld_cv_v2_b64;
}

/// Loads data that is read-only for the kernel's duration, through the non-coherent path
/// (`ld.global.nc`): CUDA's `__ldg()`.
///
/// # Safety
/// `from` must point to global memory, and no thread may write there while the kernel runs.
#[inline(always)]
#[must_use]
pub unsafe fn load_read_only<T: AnyBits + Copy>(from: &T) -> T {
    in_parts!(T, from, ld_global_nc_b8 ld_global_nc_b16 ld_global_nc_b32 ld_global_nc_b64
        ld_global_nc_v2_b64)
}

macro_rules! stores {
    ($($(#[$doc:meta])* $name:ident $b8:ident $b16:ident $b32:ident $b64:ident $v2l:ident;)*) => {
        $(
            $(#[$doc])*
            #[inline(always)]
            pub fn $name<T: AnyBits + Copy>(to: &mut T, value: T) {
                let (size, align) = const { (size_of::<T>(), align_of::<T>()) };
                let (to, from) = ((&raw mut *to).cast::<u8>(), (&raw const value).cast::<u8>());
                let mut at = 0;
                // SAFETY: each part is within the value, at a multiple of the alignment.
                unsafe {
                    while at < size {
                        let (to, from) = (to.add(at), from.add(at));
                        at += match align {
                            _ if align >= 16 && size % 16 == 0 => {
                                intrinsics::$v2l(to.cast(), read_part::<T, _>(from.cast::<[u64; 2]>()));
                                16
                            }
                            8 | 16 => {
                                intrinsics::$b64(to.cast(), read_part::<T, _>(from.cast::<u64>()));
                                8
                            }
                            4 => {
                                intrinsics::$b32(to.cast(), read_part::<T, _>(from.cast::<u32>()));
                                4
                            }
                            2 => {
                                intrinsics::$b16(to.cast(), read_part::<T, _>(from.cast::<u16>()));
                                2
                            }
                            _ => {
                                intrinsics::$b8(to, read_part::<T, _>(from));
                                1
                            }
                        };
                    }
                }
            }
        )*
    };
}
stores! {
    /// Stores with write-back at all coherent cache levels (`st.wb`).
    store_cached st_wb_b8 st_wb_b16 st_wb_b32 st_wb_b64 st_wb_v2_b64;
    /// Stores, and caches only in L2, which all multiprocessors share (`st.cg`).
    store_l2 st_cg_b8 st_cg_b16 st_cg_b32 st_cg_b64 st_cg_v2_b64;
    /// Stores data that is probably not accessed again soon, with an evict-first policy (`st.cs`).
    store_streaming st_cs_b8 st_cs_b16 st_cs_b32 st_cs_b64
        st_cs_v2_b64;
    /// Stores through L2 to memory (`st.wt`).
    store_through st_wt_b8 st_wt_b16 st_wt_b32 st_wt_b64
        st_wt_v2_b64;
}

/// Prefetches the cache line at `pointer` into L1.
#[inline(always)]
pub fn prefetch_l1<T>(pointer: *const T) {
    intrinsics::prefetch_l1(pointer.cast());
}

/// Prefetches the cache line at `pointer` into L2.
#[inline(always)]
pub fn prefetch_l2<T>(pointer: *const T) {
    intrinsics::prefetch_l2(pointer.cast());
}

/// Like [`prefetch_l2`], with an evict-last policy. Requires `sm_80`.
///
/// # Safety
/// `pointer` must point to global memory.
#[inline(always)]
pub unsafe fn prefetch_l2_to_stay<T>(pointer: *const T) {
    // SAFETY: the caller's guarantee.
    unsafe { intrinsics::prefetch_global_l2_evict_last(pointer.cast()) };
}

/// An L2 eviction policy (`createpolicy`). Requires `sm_80`.
#[derive(Clone, Copy, Debug)]
pub struct Policy(u64);

impl Policy {
    /// Creates a policy that marks a fraction of the accesses, from 0 to 1, as evict-last.
    #[inline(always)]
    #[must_use]
    pub fn evict_last(part: f32) -> Policy {
        Policy(intrinsics::createpolicy_fractional_evict_last(part))
    }

    /// Creates a policy that marks a fraction of the accesses, from 0 to 1, as evict-first.
    #[inline(always)]
    #[must_use]
    pub fn evict_first(part: f32) -> Policy {
        Policy(intrinsics::createpolicy_fractional_evict_first(part))
    }

    /// Returns the policy as the operand of instructions.
    #[inline(always)]
    #[must_use]
    pub fn bits(self) -> u64 {
        self.0
    }

    /// Loads with this policy.
    ///
    /// # Safety
    /// `from` must point to global memory.
    #[inline(always)]
    #[must_use]
    pub unsafe fn load<T: AnyBits + Copy>(self, from: &T) -> T {
        let mut value = MaybeUninit::<T>::uninit();
        let (size, align) = const { (size_of::<T>(), align_of::<T>()) };
        let (to, from) = (
            value.as_mut_ptr().cast::<u8>(),
            (&raw const *from).cast::<u8>(),
        );
        let mut at = 0;
        // SAFETY: each part is within the value, at a multiple of the alignment.
        unsafe {
            while at < size {
                let (to, from) = (to.add(at), from.add(at));
                at += match align {
                    8 | 16 => {
                        let part = intrinsics::ld_global_policy_b64(from.cast(), self.0);
                        to.cast::<u64>().write(part);
                        8
                    }
                    4 => {
                        let part = intrinsics::ld_global_policy_b32(from.cast(), self.0);
                        to.cast::<u32>().write(part);
                        4
                    }
                    2 => {
                        let part = intrinsics::ld_global_policy_b16(from.cast(), self.0);
                        to.cast::<u16>().write(part);
                        2
                    }
                    _ => {
                        to.write(intrinsics::ld_global_policy_b8(from, self.0));
                        1
                    }
                };
            }
            value.assume_init()
        }
    }
}
