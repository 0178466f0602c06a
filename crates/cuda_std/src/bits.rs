//! Types that are valid for any bit pattern: the types that shuffles and special loads can move.

use core::mem::MaybeUninit;
use core::num::Wrapping;

use crate::vector::{
    F32x2, F32x4, F64x2, I8x4, I16x2, I16x4, I32x2, I32x4, I64x2, U8x4, U16x2, U16x4, U32x2, U32x4,
    U64x2,
};

/// A type for which every bit pattern of its size is a valid value: numbers, arrays and tuples of
/// them, and structs that derive it. Such types can be stored in shared memory, and be used in
/// shuffles, reductions and scans.
///
/// ```
/// use cuda_std::{AnyBits, group, prelude::*};
///
/// /// A value and its index.
/// #[derive(Clone, Copy, AnyBits)]
/// struct Found {
///     value: f32,
///     index: u32,
/// }
///
/// /// The index of each block's largest element.
/// #[kernel]
/// pub fn largest(from: &[f32], mut to: cuda_std::PerBlock<u32>) {
///     let index = thread::index_1d();
///     let value = from.get(index as usize).copied().unwrap_or(f32::NEG_INFINITY);
///     let found = group::block().reduce(Found { value, index }, |a, b| {
///         if b.value > a.value { b } else { a }
///     });
///     to.each(|_, to| *to = found.index);
/// }
/// # fn main() {}
/// ```
///
/// Shuffles move such values as 32-bit words. The value that a lane receives from a lane that does
/// not participate is unspecified. Therefore types with invalid bit patterns (`bool`, references,
/// enums) are moved as `MaybeUninit<T>`, and the caller asserts when the value is valid.
///
/// # Safety
/// Every bit pattern must be a valid value of the type.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not `AnyBits`, so it cannot be in shared memory or a shuffle",
    label = "not `AnyBits`",
    note = "structs of numbers can have `#[derive(cuda_std::AnyBits)]`",
    note = "`cuda_std`'s features `glam`, `half` and `num-complex` implement it for these crates' types",
    note = "`MaybeUninit<{Self}>` is valid for any bit pattern"
)]
pub unsafe trait AnyBits {
    /// Whether all bytes of a value are initialized. Padding is not, nor is the content of a
    /// `MaybeUninit`: such bytes are not integers, and are frozen before an instruction reads them.
    #[doc(hidden)]
    const INITIALIZED: bool = false;
}

macro_rules! any_bits {
    ($($ty:ty)*) => {
        $(
            // SAFETY: every bit pattern is a number, or an array of numbers without padding.
            unsafe impl AnyBits for $ty {
                const INITIALIZED: bool = true;
            }
        )*
    };
}
any_bits!(u8 i8 u16 i16 u32 i32 u64 i64 u128 i128 usize isize f32 f64);
any_bits! {
    F32x2 F32x4 F64x2 I8x4 I16x2 I16x4 I32x2 I32x4 I64x2 U8x4 U16x2 U16x4 U32x2 U32x4 U64x2
}
// SAFETY: the type has no bits.
unsafe impl AnyBits for () {
    const INITIALIZED: bool = true;
}

// SAFETY: a raw pointer may hold any address; dereferencing it is unsafe.
unsafe impl<T> AnyBits for *const T {
    const INITIALIZED: bool = true;
}
// SAFETY: as above.
unsafe impl<T> AnyBits for *mut T {
    const INITIALIZED: bool = true;
}
// SAFETY: the layout is that of `T`.
unsafe impl<T: AnyBits> AnyBits for Wrapping<T> {
    const INITIALIZED: bool = T::INITIALIZED;
}
// SAFETY: arrays have no padding between elements.
unsafe impl<T: AnyBits, const N: usize> AnyBits for [T; N] {
    const INITIALIZED: bool = T::INITIALIZED;
}
// SAFETY: the bytes need not be a valid `T`.
unsafe impl<T: Copy> AnyBits for MaybeUninit<T> {}

macro_rules! atomics {
    ($($bits:literal $($ty:ident)*;)*) => {
        $($(
            #[cfg(target_has_atomic = $bits)]
            // SAFETY: every bit pattern is a number.
            unsafe impl AnyBits for core::sync::atomic::$ty {}
        )*)*
    };
}
atomics! {
    "8" AtomicU8 AtomicI8;
    "16" AtomicU16 AtomicI16;
    "32" AtomicU32 AtomicI32;
    "64" AtomicU64 AtomicI64;
    "ptr" AtomicUsize AtomicIsize;
}

#[cfg(feature = "glam")]
any_bits! {
    glam::Vec2 glam::Vec3 glam::Vec4 glam::Mat2 glam::Mat3 glam::Mat4 glam::Quat
    glam::DVec2 glam::DVec3 glam::DVec4 glam::DMat2 glam::DMat3 glam::DMat4 glam::DQuat
    glam::IVec2 glam::IVec3 glam::IVec4 glam::UVec2 glam::UVec3 glam::UVec4
}
#[cfg(feature = "glam")]
macro_rules! padded {
    ($($ty:ty)*) => {
        // SAFETY: the type consists of numbers, and of padding on some targets.
        $(unsafe impl AnyBits for $ty {})*
    };
}
#[cfg(feature = "glam")]
padded!(glam::Vec3A glam::Mat3A glam::Affine2 glam::Affine3A);
#[cfg(feature = "half")]
any_bits!(half::f16 half::bf16);
#[cfg(feature = "num-complex")]
// SAFETY: the type consists of two `T` without padding between them.
unsafe impl<T: AnyBits> AnyBits for num_complex::Complex<T> {
    const INITIALIZED: bool = T::INITIALIZED;
}

macro_rules! tuples {
    ($($($name:ident)*;)*) => {
        // SAFETY: every field is valid for any bit pattern, and padding has no meaning.
        $(unsafe impl<$($name: AnyBits),*> AnyBits for ($($name,)*) {
            const INITIALIZED: bool =
                $($name::INITIALIZED)&&* && size_of::<Self>() == 0 $(+ size_of::<$name>())*;
        })*
    };
}
tuples! { A; A B; A B C; A B C D; }

/// A variable whose words are aligned. `read_unaligned` would read a packed struct, and the compiler
/// does not vectorize loads and stores of functions that handle packed structs.
#[repr(C, align(16))]
pub(crate) struct Aligned<T>(pub(crate) T);

/// Applies `f` to each 32-bit word of a value, and returns the resulting value. If the size is not
/// a multiple of 4, the remaining bytes are passed as one zero-extended word.
#[inline(always)]
pub(crate) fn map_words<T: AnyBits + Copy>(
    value: T,
    mut f: impl FnMut(u32) -> u32,
) -> MaybeUninit<T> {
    if !T::INITIALIZED {
        return map_uninit_words(value, |word| MaybeUninit::new(f(freeze(word))));
    }
    let value = Aligned(value);
    let mut result = Aligned(MaybeUninit::<T>::uninit());
    let size = size_of::<T>();
    let from = (&raw const value).cast::<u8>();
    let to = (&raw mut result).cast::<u8>();
    // SAFETY: accesses are within the `size` bytes of both values, all of which are initialized,
    // and aligned, because the values are and each offset is a multiple of the word's size.
    // Types that fit a register have no loop, so that the value does not go through memory.
    unsafe {
        match size {
            4 => {
                let word = from.cast::<u32>().read();
                to.cast::<u32>().write(f(word));
            }
            8 => {
                let bits = from.cast::<u64>().read();
                let (low, high) = (f(bits as u32), f((bits >> 32) as u32));
                to.cast::<u64>()
                    .write(u64::from(low) | u64::from(high) << 32);
            }
            1 => to.write(f(from.read().into()) as u8),
            2 => {
                let bits = from.cast::<u16>().read();
                to.cast::<u16>().write(f(bits.into()) as u16);
            }
            _ => {
                let mut at = 0;
                while at + 4 <= size {
                    let word = from.add(at).cast::<u32>().read();
                    to.add(at).cast::<u32>().write(f(word));
                    at += 4;
                }
                if at < size {
                    let mut last = [0u8; 4];
                    let mut i = 0;
                    while at + i < size {
                        last[i] = from.add(at + i).read();
                        i += 1;
                    }
                    let last = f(u32::from_le_bytes(last)).to_le_bytes();
                    let mut i = 0;
                    while at + i < size {
                        to.add(at + i).write(last[i]);
                        i += 1;
                    }
                }
            }
        }
    }
    result.0
}

/// Reads a part of a `T` as one or more integers. Uninitialized bytes have an arbitrary value.
///
/// # Safety
/// `from` must point to a part of a `T` and be aligned for `P`, which must be an integer or an
/// array of integers.
#[inline(always)]
pub(crate) unsafe fn read_part<T: AnyBits, P: Copy>(from: *const P) -> P {
    // SAFETY: the caller's guarantee; if bytes may be uninitialized, the part is read as
    // `MaybeUninit`.
    unsafe {
        if T::INITIALIZED {
            return from.read();
        }
        let part = from.cast::<MaybeUninit<P>>().read();
        let frozen = map_uninit_words(part, |word| MaybeUninit::new(freeze(word)));
        frozen.assume_init().assume_init()
    }
}

/// Like [`map_words`], for values with bytes that may be uninitialized.
#[inline(always)]
fn map_uninit_words<T: Copy>(
    value: T,
    mut f: impl FnMut(MaybeUninit<u32>) -> MaybeUninit<u32>,
) -> MaybeUninit<T> {
    let value = Aligned(value);
    let mut result = Aligned(MaybeUninit::<T>::uninit());
    let size = size_of::<T>();
    let from = (&raw const value).cast::<MaybeUninit<u8>>();
    let to = (&raw mut result).cast::<MaybeUninit<u8>>();
    let mut at = 0;
    while at < size {
        // SAFETY: accesses are within the `size` bytes of both values, and aligned as in `map_words`.
        unsafe {
            let (from, to) = (from.add(at), to.add(at));
            if at + 4 <= size {
                let word = from.cast::<MaybeUninit<u32>>().read();
                to.cast::<MaybeUninit<u32>>().write(f(word));
            } else {
                let mut word = MaybeUninit::<u32>::zeroed();
                let bytes = word.as_mut_ptr().cast();
                from.copy_to_nonoverlapping(bytes, size - at);
                word = f(word);
                let bytes = word.as_ptr().cast();
                to.copy_from_nonoverlapping(bytes, size - at);
            }
        }
        at += 4;
    }
    result.0
}

/// Freezes a word: replaces uninitialized bits with arbitrary ones. In Rust, only an operand of
/// inline assembly has this effect.
#[inline(always)]
fn freeze(word: MaybeUninit<u32>) -> u32 {
    let frozen;
    // SAFETY: the instruction copies a register.
    unsafe {
        crate::ptx!(
            "mov.b32 {}, {};",
            out(reg32) frozen,
            in(reg32) word,
            options(nomem, nostack, preserves_flags)
        );
    }
    frozen
}

#[cfg(test)]
mod tests {
    use core::mem::MaybeUninit;

    use super::{map_uninit_words, map_words};
    use crate::AnyBits;

    #[derive(Clone, Copy, PartialEq, Debug, AnyBits)]
    struct Padded(u8, u32, u8);

    #[expect(dead_code, reason = "only its layout counts")]
    #[derive(Clone, Copy, AnyBits)]
    struct Whole(u8, u8, [u16; 3]);

    #[test]
    fn padding_is_known() {
        const {
            assert!(<[u64; 3]>::INITIALIZED && <(u32, f32)>::INITIALIZED && Whole::INITIALIZED);
            assert!(!<(u8, u32)>::INITIALIZED && !Padded::INITIALIZED);
            assert!(!<[Padded; 2]>::INITIALIZED && !<((u8, u32), u32)>::INITIALIZED);
            assert!(!MaybeUninit::<u32>::INITIALIZED);
        }
    }

    /// Miri detects if padding is read as an integer.
    #[test]
    fn padding_stays_uninitialized() {
        let value = Padded(1, 2, 3);
        // SAFETY: the words are unchanged.
        assert_eq!(
            unsafe { map_uninit_words(value, |word| word).assume_init() },
            value
        );
        let value = (7u16, 8u8);
        // SAFETY: the words are unchanged.
        assert_eq!(
            unsafe { map_uninit_words(value, |word| word).assume_init() },
            value
        );
    }

    fn added<T: AnyBits + Copy>(value: T) -> T {
        // SAFETY: every bit pattern is an integer.
        unsafe { map_words(value, |word| word.wrapping_add(1)).assume_init() }
    }

    #[test]
    fn words_of_all_sizes_go_through() {
        assert_eq!(added(5u8), 6);
        assert_eq!(added(5u16), 6);
        assert_eq!(added(5u32), 6);
        assert_eq!(added(5u64), 6 | 1 << 32);
        assert_eq!(added(0u128), 1 | 1 << 32 | 1 << 64 | 1 << 96);
        assert_eq!(added([1u8, 2, 3, 4, 5, 6, 7]), [2, 2, 3, 4, 6, 6, 7]);
        assert_eq!(added([1u16, 2, 3]), [2, 2, 4]);
    }
}
