//! Warp-level operations without shared memory: shuffles, votes, matches and reductions among the
//! 32 lanes of a warp.
//!
//! ```
//! use cuda_std::prelude::*;
//!
//! /// The sum of each warp's elements.
//! #[kernel]
//! pub fn warp_sums(from: &[u32], mut to: PerThread<u32>) {
//!     for (i, to) in to.own() {
//!         let mut sum = from[i];
//!         let mut distance = 16;
//!         while distance > 0 {
//!             sum += warp::shuffle_xor(warp::FULL, sum, distance);
//!             distance /= 2;
//!         }
//!         *to = sum;
//!     }
//! }
//! # fn main() {}
//! ```
//!
//! # Masks
//! Each function takes the mask of the participating lanes: bit `i` is lane `i`. Each of these
//! lanes that has not exited must reach the same call with the same mask; the call waits for all of
//! them. A lane that passes a mask without its own bit makes the launch fail. The types of
//! [`crate::group`] track their masks.
//!
//! # Types
//! Values can have any size and are moved in 32-bit words. The bits read from a lane that does not
//! participate are unspecified, so shuffles require types that are valid for any bit pattern
//! ([`AnyBits`]); wrap other types in `MaybeUninit`.

use crate::bits::{Aligned, AnyBits, map_words};
use crate::intrinsics::{special, warp};

pub use crate::thread::{lane_id, warp_size};

/// The mask of all lanes.
pub const FULL: u32 = u32::MAX;

/// Declares a shuffle of the whole warp, one within segments, and one that also returns whether the
/// source lane exists.
macro_rules! shuffle {
    (
        $(#[$doc:meta])* $name:ident, $segments:ident, $checked:ident, $arg:ident,
        $intrinsic:ident, $with_predicate:ident, $last:literal
    ) => {
        $(#[$doc])*
        #[inline(always)]
        pub fn $name<T: AnyBits + Copy>(mask: u32, value: T, $arg: u32) -> T {
            $segments::<32, T>(mask, value, $arg)
        }

        #[doc = concat!("Like [`", stringify!($name), "`], within each segment of `WIDTH` lanes, a")]
        /// power of two up to 32. Lanes are counted from the start of the segment.
        #[inline(always)]
        pub fn $segments<const WIDTH: u32, T: AnyBits + Copy>(mask: u32, value: T, $arg: u32) -> T {
            check_width::<WIDTH>();
            let c = segments(WIDTH, $last);
            let moved = map_words(value, |word| warp::$intrinsic(word, $arg, c, mask));
            // SAFETY: any bits are a value of the type.
            unsafe { moved.assume_init() }
        }

        #[doc = concat!("Like [`", stringify!($segments), "`], and also returns whether the source lane is")]
        /// in the segment. If not, the value is this lane's own.
        #[inline(always)]
        pub fn $checked<const WIDTH: u32, T: AnyBits + Copy>(
            mask: u32,
            value: T,
            $arg: u32,
        ) -> (T, bool) {
            check_width::<WIDTH>();
            let c = segments(WIDTH, $last);
            let mut inside = false;
            let moved = map_words(value, |word| {
                let (word, is_inside) = warp::$with_predicate(word, $arg, c, mask);
                inside = is_inside;
                word
            });
            // SAFETY: any bits are a value of the type.
            (unsafe { moved.assume_init() }, inside)
        }
    };
}

shuffle! {
    /// Returns the value of the lane with index `lane` modulo 32.
    shuffle, shuffle_in, shuffle_checked, lane,
    shfl_sync_idx_b32, shfl_sync_idx_b32_pred, 31
}
shuffle! {
    /// Returns the value of the lane whose index is lower by `distance`, or this lane's own value
    /// if that lane does not exist.
    shuffle_up, shuffle_up_in, shuffle_up_checked, distance,
    shfl_sync_up_b32, shfl_sync_up_b32_pred, 0
}
shuffle! {
    /// Returns the value of the lane whose index is higher by `distance`, or this lane's own value
    /// if that lane does not exist.
    shuffle_down, shuffle_down_in, shuffle_down_checked, distance,
    shfl_sync_down_b32, shfl_sync_down_b32_pred, 31
}
shuffle! {
    /// Returns the value of the lane whose index is this lane's index XOR `bits`.
    shuffle_xor, shuffle_xor_in, shuffle_xor_checked, bits,
    shfl_sync_bfly_b32, shfl_sync_bfly_b32_pred, 31
}

/// Rejects widths other than powers of two up to 32 at compile time.
#[inline(always)]
const fn check_width<const WIDTH: u32>() {
    const {
        assert!(
            WIDTH.is_power_of_two() && WIDTH <= 32,
            "a warp is divided into segments of 1, 2, 4, 8, 16 or 32 lanes"
        )
    };
}

/// Returns the operand `c` of `shfl`.
const fn segments(width: u32, last: u32) -> u32 {
    (32 - width) << 8 | last
}

/// Returns whether `predicate` is true for all lanes of the mask.
#[inline(always)]
pub fn all(mask: u32, predicate: bool) -> bool {
    warp::vote_sync_all(predicate, mask)
}

/// Returns whether `predicate` is true for at least one lane of the mask.
#[inline(always)]
pub fn any(mask: u32, predicate: bool) -> bool {
    warp::vote_sync_any(predicate, mask)
}

/// Returns whether `predicate` is the same for all lanes of the mask.
#[inline(always)]
pub fn uniform(mask: u32, predicate: bool) -> bool {
    warp::vote_sync_uni(predicate, mask)
}

/// Returns the mask of the lanes for which `predicate` is true.
#[inline(always)]
pub fn ballot(mask: u32, predicate: bool) -> u32 {
    warp::vote_sync_ballot(predicate, mask)
}

/// Returns the mask of the lanes whose value is bitwise equal to this lane's. Floats are compared
/// by their bits. Padding takes part in the comparison, and its bits are unspecified, so the result
/// for types with padding is unspecified.
#[inline(always)]
pub fn match_any<T: AnyBits + Copy>(mask: u32, value: T) -> u32 {
    let mut same = mask;
    if size_of::<T>() == 8 && T::INITIALIZED {
        let value = Aligned(value);
        // SAFETY: 8 bytes, all of which are initialized, and aligned.
        let bits = unsafe { (&raw const value).cast::<u64>().read() };
        return warp::match_any_sync_b64(bits, mask);
    }
    let _ = map_words(value, |word| {
        same &= warp::match_any_sync_b32(word, mask);
        word
    });
    same
}

/// Returns whether the values of all lanes of the mask are bitwise equal. As with [`match_any`],
/// padding takes part in the comparison.
#[inline(always)]
pub fn match_all<T: AnyBits + Copy>(mask: u32, value: T) -> bool {
    let mut same = true;
    if size_of::<T>() == 8 && T::INITIALIZED {
        let value = Aligned(value);
        // SAFETY: 8 bytes, all of which are initialized, and aligned.
        let bits = unsafe { (&raw const value).cast::<u64>().read() };
        return warp::match_all_sync_b64(bits, mask).1;
    }
    let _ = map_words(value, |word| {
        same &= warp::match_all_sync_b32(word, mask).1;
        word
    });
    same
}

/// Waits until all lanes of the mask have reached this barrier, and makes their earlier memory
/// accesses visible to each other: CUDA's `__syncwarp()`.
#[inline(always)]
pub fn sync(mask: u32) {
    warp::bar_warp_sync(mask);
}

/// Returns the mask of the lanes that execute this call together: CUDA's `__activemask()`. The
/// result depends on how the code was compiled, and says nothing about which lanes are converged
/// later.
#[inline(always)]
pub fn active_mask() -> u32 {
    warp::activemask()
}

/// Elects one lane of the mask, and returns true in that lane only. Requires `sm_90`.
#[inline(always)]
pub fn elect(mask: u32) -> bool {
    warp::elect_sync(mask).1
}

/// A 32-bit integer that a warp reduces with one instruction.
pub trait Reduce: Copy + sealed::Sealed {
    #[doc(hidden)]
    fn add(self, mask: u32) -> Self;
    #[doc(hidden)]
    fn min(self, mask: u32) -> Self;
    #[doc(hidden)]
    fn max(self, mask: u32) -> Self;
    #[doc(hidden)]
    fn bits(self) -> u32;
    #[doc(hidden)]
    fn from_bits(bits: u32) -> Self;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for u32 {}
    impl Sealed for i32 {}
}

macro_rules! reduce {
    ($ty:ident $add:ident $min:ident $max:ident) => {
        impl Reduce for $ty {
            #[inline(always)]
            fn add(self, mask: u32) -> $ty {
                warp::$add(self, mask)
            }
            #[inline(always)]
            fn min(self, mask: u32) -> $ty {
                warp::$min(self, mask)
            }
            #[inline(always)]
            fn max(self, mask: u32) -> $ty {
                warp::$max(self, mask)
            }
            #[inline(always)]
            fn bits(self) -> u32 {
                self as u32
            }
            #[inline(always)]
            fn from_bits(bits: u32) -> $ty {
                bits as $ty
            }
        }
    };
}
reduce!(u32 redux_sync_add_u32 redux_sync_min_u32 redux_sync_max_u32);
reduce!(i32 redux_sync_add_s32 redux_sync_min_s32 redux_sync_max_s32);

/// Returns the wrapping sum of the values of the mask's lanes. Requires `sm_80`; [`crate::group`]
/// has reductions of every type for every architecture.
#[inline(always)]
pub fn reduce_add<T: Reduce>(mask: u32, value: T) -> T {
    value.add(mask)
}

/// Returns the minimum of the values of the mask's lanes. Requires `sm_80`.
#[inline(always)]
pub fn reduce_min<T: Reduce>(mask: u32, value: T) -> T {
    value.min(mask)
}

/// Returns the maximum of the values of the mask's lanes. Requires `sm_80`.
#[inline(always)]
pub fn reduce_max<T: Reduce>(mask: u32, value: T) -> T {
    value.max(mask)
}

/// Returns the bitwise AND of the values of the mask's lanes. Requires `sm_80`.
#[inline(always)]
pub fn reduce_and<T: Reduce>(mask: u32, value: T) -> T {
    T::from_bits(warp::redux_sync_and_b32(value.bits(), mask))
}

/// Returns the bitwise OR of the values of the mask's lanes. Requires `sm_80`.
#[inline(always)]
pub fn reduce_or<T: Reduce>(mask: u32, value: T) -> T {
    T::from_bits(warp::redux_sync_or_b32(value.bits(), mask))
}

/// Returns the bitwise XOR of the values of the mask's lanes. Requires `sm_80`.
#[inline(always)]
pub fn reduce_xor<T: Reduce>(mask: u32, value: T) -> T {
    T::from_bits(warp::redux_sync_xor_b32(value.bits(), mask))
}

/// Declares the special registers that are masks of lanes relative to this one.
macro_rules! lane_masks {
    ($($name:ident $intrinsic:ident $what:literal;)*) => {
        $(
            #[doc = concat!("Returns the mask of ", $what, ".")]
            #[inline(always)]
            #[must_use]
            pub fn $name() -> u32 {
                special::$intrinsic()
            }
        )*
    };
}
lane_masks! {
    lane_mask lanemask_eq "this lane alone";
    lanes_below lanemask_lt "the lanes below this one";
    lanes_up_to lanemask_le "this lane and the lanes below it";
    lanes_above lanemask_gt "the lanes above this one";
    lanes_from lanemask_ge "this lane and the lanes above it";
}
