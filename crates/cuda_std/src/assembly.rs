//! Support for expansions of [`ptx!`](crate::ptx).

use core::mem::MaybeUninit;

#[cfg(target_arch = "nvptx64")]
pub use core::arch::asm;

/// Types that fit a register of the class `regBITS`, as rustc defines them for `asm!` on nvptx64.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an operand in a register of {BITS} bits",
    label = "not an integer, float or pointer of at most {BITS} bits",
    note = "`bool` and `char` must be cast; `f32` needs `reg32`, `f64` and pointers need `reg64`"
)]
pub trait Operand<const BITS: u32>: Copy {}

macro_rules! operands {
    ($($($ty:ty),*: $($bits:literal)*;)*) => {
        operands!(@each $([$($ty)*] [$($bits)*])*);
    };
    (@each $([$($ty:ty)*] $all:tt)*) => {
        $($(operands!(@one $ty, $all);)*)*
    };
    (@one $ty:ty, [$($bits:literal)*]) => {$(
        impl Operand<$bits> for $ty {}
        impl Operand<$bits> for MaybeUninit<$ty> {}
    )*};
}
operands! {
    i8, u8, i16, u16: 16 32 64;
    i32, u32, f32: 32 64;
    i64, u64, isize, usize, f64: 64;
}
impl<T> Operand<64> for *const T {}
impl<T> Operand<64> for *mut T {}
impl<T> Operand<64> for MaybeUninit<*const T> {}
impl<T> Operand<64> for MaybeUninit<*mut T> {}
