//! What the 32 threads of a warp do together, without shared memory: they shuffle values between
//! lanes, vote, match and reduce.
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
//! Every function takes the mask of the lanes that take part: bit `i` is lane `i`. Each of these
//! lanes must come to the same call with the same mask, those aside that have ended. Until they
//! have come, the others wait; a lane whose own bit is missing makes the launch fail.
//! [`crate::group`] has types that know their mask.
//!
//! # Types
//! Values of any size are moved, in 32-bit words. What a lane reads from one that does not take
//! part is any bits, so shuffles are for types that any bits are a value of ([`AnyBits`]); others
//! go through as `MaybeUninit`.

use crate::bits::{AnyBits, map_words};
use crate::intrinsics::{special, warp};

pub use crate::thread::{lane_id, warp_size};

/// The mask of all lanes.
pub const FULL: u32 = u32::MAX;

/// Declares a shuffle of the whole warp, one within segments of it, and one that also says whether
/// the lane was there.
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

        #[doc = concat!("[`", stringify!($name), "`], within each segment of `WIDTH` lanes: a")]
        /// power of two up to 32. Lanes are counted from the segment's first.
        #[inline(always)]
        pub fn $segments<const WIDTH: u32, T: AnyBits + Copy>(mask: u32, value: T, $arg: u32) -> T {
            check_width::<WIDTH>();
            let c = segments(WIDTH, $last);
            let moved = map_words(value, |word| warp::$intrinsic(word, $arg, c, mask));
            // SAFETY: any bits are a value of the type.
            unsafe { moved.assume_init() }
        }

        #[doc = concat!("[`", stringify!($segments), "`], and whether the lane that was asked for is")]
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
    /// The value of another lane, by its number modulo 32.
    shuffle, shuffle_in, shuffle_checked, lane,
    shfl_sync_idx_b32, shfl_sync_idx_b32_pred, 31
}
shuffle! {
    /// The value of the lane `distance` below; of the lane itself where there is none.
    shuffle_up, shuffle_up_in, shuffle_up_checked, distance,
    shfl_sync_up_b32, shfl_sync_up_b32_pred, 0
}
shuffle! {
    /// The value of the lane `distance` above; of the lane itself where there is none.
    shuffle_down, shuffle_down_in, shuffle_down_checked, distance,
    shfl_sync_down_b32, shfl_sync_down_b32_pred, 31
}
shuffle! {
    /// The value of the lane whose number is this one's with the bits of `bits` flipped.
    shuffle_xor, shuffle_xor_in, shuffle_xor_checked, bits,
    shfl_sync_bfly_b32, shfl_sync_bfly_b32_pred, 31
}

/// A width that is no power of two up to 32 does not compile.
#[inline(always)]
const fn check_width<const WIDTH: u32>() {
    const {
        assert!(
            WIDTH.is_power_of_two() && WIDTH <= 32,
            "a warp is divided into segments of 1, 2, 4, 8, 16 or 32 lanes"
        )
    };
}

/// The operand `c` of `shfl`.
const fn segments(width: u32, last: u32) -> u32 {
    (32 - width) << 8 | last
}

/// Whether the predicate is true for all lanes of the mask.
#[inline(always)]
pub fn all(mask: u32, predicate: bool) -> bool {
    warp::vote_sync_all(predicate, mask)
}

/// Whether the predicate is true for some lane of the mask.
#[inline(always)]
pub fn any(mask: u32, predicate: bool) -> bool {
    warp::vote_sync_any(predicate, mask)
}

/// Whether the predicate is the same for all lanes of the mask.
#[inline(always)]
pub fn uniform(mask: u32, predicate: bool) -> bool {
    warp::vote_sync_uni(predicate, mask)
}

/// The lanes of the mask for which the predicate is true.
#[inline(always)]
pub fn ballot(mask: u32, predicate: bool) -> u32 {
    warp::vote_sync_ballot(predicate, mask)
}

/// The lanes of the mask that have the same value as this one, bit by bit. Floats are compared as
/// their bits. Padding counts as well and has any bits, so the result for types with padding is
/// unspecified.
#[inline(always)]
pub fn match_any<T: AnyBits + Copy>(mask: u32, value: T) -> u32 {
    let mut same = mask;
    if size_of::<T>() == 8 && T::INITIALIZED {
        // SAFETY: 8 bytes, all of which are initialized.
        let bits = unsafe { (&raw const value).cast::<u64>().read_unaligned() };
        return warp::match_any_sync_b64(bits, mask);
    }
    let _ = map_words(value, |word| {
        same &= warp::match_any_sync_b32(word, mask);
        word
    });
    same
}

/// Whether all lanes of the mask have the same value, bit by bit. As with [`match_any`], padding counts.
#[inline(always)]
pub fn match_all<T: AnyBits + Copy>(mask: u32, value: T) -> bool {
    let mut same = true;
    if size_of::<T>() == 8 && T::INITIALIZED {
        // SAFETY: 8 bytes, all of which are initialized.
        let bits = unsafe { (&raw const value).cast::<u64>().read_unaligned() };
        return warp::match_all_sync_b64(bits, mask).1;
    }
    let _ = map_words(value, |word| {
        same &= warp::match_all_sync_b32(word, mask).1;
        word
    });
    same
}

/// Waits for all lanes of the mask, and makes what they wrote before visible to all of them after.
#[inline(always)]
pub fn sync(mask: u32) {
    warp::bar_warp_sync(mask);
}

/// The lanes that execute this call together. It says nothing of which lanes will be together
/// later, or would be if the code were compiled in another way.
#[inline(always)]
pub fn active_mask() -> u32 {
    warp::activemask()
}

/// Chooses one lane of the mask; true for that lane alone. Needs `sm_90`.
#[inline(always)]
pub fn elect(mask: u32) -> bool {
    warp::elect_sync(mask).1
}

/// A 32-bit integer that warps reduce in one instruction.
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

/// The sum of the values of the mask's lanes; it wraps. Needs `sm_80`; `group` has reductions of
/// every type for every architecture.
#[inline(always)]
pub fn reduce_add<T: Reduce>(mask: u32, value: T) -> T {
    value.add(mask)
}

/// The least of the values of the mask's lanes. Needs `sm_80`.
#[inline(always)]
pub fn reduce_min<T: Reduce>(mask: u32, value: T) -> T {
    value.min(mask)
}

/// The largest of the values of the mask's lanes. Needs `sm_80`.
#[inline(always)]
pub fn reduce_max<T: Reduce>(mask: u32, value: T) -> T {
    value.max(mask)
}

/// The bits that all values of the mask's lanes have. Needs `sm_80`.
#[inline(always)]
pub fn reduce_and<T: Reduce>(mask: u32, value: T) -> T {
    T::from_bits(warp::redux_sync_and_b32(value.bits(), mask))
}

/// The bits that some value of the mask's lanes has. Needs `sm_80`.
#[inline(always)]
pub fn reduce_or<T: Reduce>(mask: u32, value: T) -> T {
    T::from_bits(warp::redux_sync_or_b32(value.bits(), mask))
}

/// The bits that an odd number of the values of the mask's lanes have. Needs `sm_80`.
#[inline(always)]
pub fn reduce_xor<T: Reduce>(mask: u32, value: T) -> T {
    T::from_bits(warp::redux_sync_xor_b32(value.bits(), mask))
}

/// Declares the masks that compare lanes' numbers with this lane's.
macro_rules! lane_masks {
    ($($name:ident $intrinsic:ident $what:literal;)*) => {
        $(
            #[doc = concat!("The mask of ", $what, ".")]
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
    lanes_below lanemask_lt "the lanes before this one";
    lanes_up_to lanemask_le "the lanes up to this one";
    lanes_above lanemask_gt "the lanes behind this one";
    lanes_from lanemask_ge "this lane and those behind it";
}
