//! What host and device code share without depending on each other: the [`DeviceCopy`] trait and
//! its derive macro.
//!
//! A crate of kernels whose types the host passes by value or in buffers derives it there:
//!
//! ```
//! use cust_core::DeviceCopy;
//!
//! #[derive(Clone, Copy, DeviceCopy)]
//! #[repr(C)]
//! pub struct Particle {
//!     pub position: [f32; 3],
//!     pub mass: f32,
//! }
//! ```
//!
//! A host program can use the same trait as `cust::memory::DeviceCopy`.

#![no_std]

mod ecosystem;
pub mod global;
pub mod kernel;

pub use cust_derive::DeviceCopyCore as DeviceCopy;
pub use traits::DeviceCopy;

/// The traits alone, without the derive macros of the same names.
pub mod traits {
    use core::cmp::{Ordering, Reverse};
    use core::marker::PhantomData;
    use core::mem::{ManuallyDrop, MaybeUninit};
    use core::num::{
        NonZeroI8, NonZeroI16, NonZeroI32, NonZeroI64, NonZeroI128, NonZeroIsize, NonZeroU8,
        NonZeroU16, NonZeroU32, NonZeroU64, NonZeroU128, NonZeroUsize, Saturating, Wrapping,
    };
    use core::ptr::NonNull;
    use core::time::Duration;

    /// A type whose values may be copied to a device, and back, as bytes.
    ///
    /// # Safety
    ///
    /// A value must mean the same on the device as on the host: no references and no handles to
    /// the host's resources. Raw pointers may be in it; whose memory they point to is the
    /// business of whoever dereferences them.
    pub unsafe trait DeviceCopy: Copy {}

    macro_rules! plain {
        ($($type:ty)*) => {
            // SAFETY: plain numbers without pointers.
            $(unsafe impl DeviceCopy for $type {})*
        };
    }
    plain! {
        u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64 bool char
        NonZeroU8 NonZeroU16 NonZeroU32 NonZeroU64 NonZeroU128 NonZeroUsize
        NonZeroI8 NonZeroI16 NonZeroI32 NonZeroI64 NonZeroI128 NonZeroIsize
    }

    // SAFETY: a number of three values.
    unsafe impl DeviceCopy for Ordering {}
    // SAFETY: two numbers.
    unsafe impl DeviceCopy for Duration {}
    // SAFETY: no bytes at all.
    unsafe impl DeviceCopy for () {}

    macro_rules! tuple {
        ($($name:ident)*) => {
            // SAFETY: every field is `DeviceCopy`.
            unsafe impl<$($name: DeviceCopy),*> DeviceCopy for ($($name,)*) {}
        };
    }
    tuple!(A);
    tuple!(A B);
    tuple!(A B C);
    tuple!(A B C D);
    tuple!(A B C D E);
    tuple!(A B C D E F);
    tuple!(A B C D E F G);
    tuple!(A B C D E F G H);

    // SAFETY: nothing but values that are `DeviceCopy` themselves, and tags.
    unsafe impl<T: DeviceCopy, const N: usize> DeviceCopy for [T; N] {}
    // SAFETY: as above.
    unsafe impl<T: DeviceCopy> DeviceCopy for Option<T> {}
    // SAFETY: as above.
    unsafe impl<T: DeviceCopy, E: DeviceCopy> DeviceCopy for Result<T, E> {}
    // SAFETY: as above.
    unsafe impl<T: DeviceCopy> DeviceCopy for Wrapping<T> {}
    // SAFETY: as above.
    unsafe impl<T: DeviceCopy> DeviceCopy for Saturating<T> {}
    // SAFETY: as above.
    unsafe impl<T: DeviceCopy> DeviceCopy for Reverse<T> {}
    // SAFETY: as above.
    unsafe impl<T: DeviceCopy> DeviceCopy for MaybeUninit<T> {}
    // SAFETY: as above.
    unsafe impl<T: DeviceCopy> DeviceCopy for ManuallyDrop<T> {}
    // SAFETY: no bytes at all.
    unsafe impl<T: ?Sized> DeviceCopy for PhantomData<T> {}
    // SAFETY: an address is a number; dereferencing it is unsafe.
    unsafe impl<T> DeviceCopy for *const T {}
    // SAFETY: as above.
    unsafe impl<T> DeviceCopy for *mut T {}
    // SAFETY: as above.
    unsafe impl<T> DeviceCopy for NonNull<T> {}
}
