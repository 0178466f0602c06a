//! Items that host and device code share: the [`DeviceCopy`] trait and its derive macro, and the
//! types of [`vector`].
//!
//! A kernels crate derives it for types that the host passes by value or in buffers:
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

#[cfg(not(target_arch = "nvptx64"))]
extern crate alloc;
#[cfg(not(target_arch = "nvptx64"))]
extern crate std;

#[cfg(not(target_arch = "nvptx64"))]
#[doc(hidden)]
pub mod cpu;
#[doc(hidden)]
pub mod emulator;
mod foreign_types;
pub mod global;
pub mod kernel;
#[doc(hidden)]
pub mod layout;
#[doc(hidden)]
pub mod parameters;
#[cfg(feature = "bytemuck")]
mod plain;
pub mod report;
#[doc(hidden)]
pub mod signature;
#[doc(hidden)]
pub mod stack;
pub mod vector;

pub use cust_derive::DeviceCopyCore as DeviceCopy;
#[cfg(feature = "bytemuck")]
pub use plain::Plain;
pub use traits::DeviceCopy;

/// The traits, without the derive macros of the same names.
pub mod traits {
    use core::cmp::{Ordering, Reverse};
    use core::marker::PhantomData;
    use core::mem::{ManuallyDrop, MaybeUninit};
    use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
    use core::num::{
        NonZeroI8, NonZeroI16, NonZeroI32, NonZeroI64, NonZeroI128, NonZeroIsize, NonZeroU8,
        NonZeroU16, NonZeroU32, NonZeroU64, NonZeroU128, NonZeroUsize, Saturating, Wrapping,
    };
    use core::ops::{Bound, ControlFlow};
    use core::ptr::NonNull;
    use core::time::Duration;

    use crate::layout::{Kind, Layout, Part};

    /// A type whose values may be copied to a device, and back, as bytes.
    ///
    /// # Safety
    ///
    /// A value must have the same meaning on device and host: no references, and no handles of host
    /// resources. Raw pointers are allowed; code that dereferences them is responsible for their
    /// target.
    ///
    /// All threads of a launch receive the value, on the CPU as well, whether or not the type is
    /// `Send` and `Sync`: code that dereferences a raw pointer in it must not rely on these traits
    /// to exclude data races.
    #[diagnostic::on_unimplemented(
        message = "`{Self}` cannot be copied to a device: it is not `DeviceCopy`",
        label = "not `DeviceCopy`",
        note = "values are copied as bytes, so they cannot own host memory, as `Vec` and `String` do, \
                or refer to it; a kernel takes a `Vec<T>` as `&[T]`, and a `String` as `&str`",
        note = "structs and enums of `DeviceCopy` fields can derive it, beside `Copy`; \
                `Plain` of `cust::memory` has it for types of other crates"
    )]
    pub unsafe trait DeviceCopy: Copy {
        /// The layout that host and device must agree on. The derive macro describes fields and
        /// variants; manual implementations are compared by size and alignment only.
        #[doc(hidden)]
        const LAYOUT: Layout = Layout::new::<Self>(Kind::Opaque);
    }

    macro_rules! plain {
        ($kind:ident $($type:ty)*) => {
            // SAFETY: plain numbers without pointers.
            $(unsafe impl DeviceCopy for $type {
                const LAYOUT: Layout = Layout::new::<$type>(Kind::$kind(stringify!($type)));
            })*
        };
    }
    plain! {
        Scalar
        u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64 bool char Ordering
    }
    plain! {
        NonZero
        NonZeroU8 NonZeroU16 NonZeroU32 NonZeroU64 NonZeroU128 NonZeroUsize
        NonZeroI8 NonZeroI16 NonZeroI32 NonZeroI64 NonZeroI128 NonZeroIsize
    }

    // SAFETY: a type without bytes.
    unsafe impl DeviceCopy for () {
        const LAYOUT: Layout = Layout::core::<Self>("()", &[]);
    }

    macro_rules! chosen {
        ($($type:ident)*) => {
            // SAFETY: numbers, and for `IpAddr` a tag.
            $(unsafe impl DeviceCopy for $type {
                const LAYOUT: Layout = Layout::chosen::<Self>(stringify!($type), &[]);
            })*
        };
    }
    chosen!(Duration Ipv4Addr Ipv6Addr IpAddr);

    macro_rules! tuple {
        ($($name:ident $index:tt)*) => {
            // SAFETY: every field is `DeviceCopy`.
            unsafe impl<$($name: DeviceCopy),*> DeviceCopy for ($($name,)*) {
                const LAYOUT: Layout = Layout::core::<Self>(
                    "tuple",
                    const {
                        &[$(Part::Field(
                            stringify!($index),
                            core::mem::offset_of!(Self, $index),
                            &$name::LAYOUT,
                        )),*]
                    },
                );
            }
        };
    }
    tuple!(A 0);
    tuple!(A 0 B 1);
    tuple!(A 0 B 1 C 2);
    tuple!(A 0 B 1 C 2 D 3);
    tuple!(A 0 B 1 C 2 D 3 E 4);
    tuple!(A 0 B 1 C 2 D 3 E 4 F 5);
    tuple!(A 0 B 1 C 2 D 3 E 4 F 5 G 6);
    tuple!(A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7);
    tuple!(A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8);
    tuple!(A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 J 9);
    tuple!(A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 J 9 K 10);
    tuple!(A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 J 9 K 10 L 11);

    // SAFETY: consists of `DeviceCopy` values and tags.
    unsafe impl<T: DeviceCopy, const N: usize> DeviceCopy for [T; N] {
        const LAYOUT: Layout = Layout::new::<Self>(Kind::Array(&T::LAYOUT, N));
    }
    // SAFETY: as above.
    unsafe impl<T: DeviceCopy> DeviceCopy for Option<T> {
        const LAYOUT: Layout = Layout::option::<T>();
    }
    // SAFETY: as above.
    unsafe impl<T: DeviceCopy, E: DeviceCopy> DeviceCopy for Result<T, E> {
        const LAYOUT: Layout = Layout::chosen::<Self>(
            "Result",
            const {
                &[
                    Part::Inner("Ok", &T::LAYOUT),
                    Part::Inner("Err", &E::LAYOUT),
                ]
            },
        );
    }

    // SAFETY: as above.
    unsafe impl<B: DeviceCopy, C: DeviceCopy> DeviceCopy for ControlFlow<B, C> {
        const LAYOUT: Layout = Layout::chosen::<Self>(
            "ControlFlow",
            const {
                &[
                    Part::Inner("Continue", &C::LAYOUT),
                    Part::Inner("Break", &B::LAYOUT),
                ]
            },
        );
    }
    // SAFETY: as above.
    unsafe impl<T: DeviceCopy> DeviceCopy for Bound<T> {
        const LAYOUT: Layout = Layout::chosen::<Self>(
            "Bound",
            const {
                &[
                    Part::Inner("Included", &T::LAYOUT),
                    Part::Inner("Excluded", &T::LAYOUT),
                ]
            },
        );
    }

    // All of them are `repr(transparent)`.
    macro_rules! transparent {
        ($($type:ident)*) => {
            // SAFETY: as above.
            $(unsafe impl<T: DeviceCopy> DeviceCopy for $type<T> {
                const LAYOUT: Layout = Layout::core::<Self>(
                    stringify!($type),
                    const { &[Part::Field("0", 0, &T::LAYOUT)] },
                );
            })*
        };
    }
    transparent!(Wrapping Saturating Reverse MaybeUninit ManuallyDrop);

    // SAFETY: a type without bytes.
    unsafe impl<T: ?Sized> DeviceCopy for PhantomData<T> {
        const LAYOUT: Layout = Layout::core::<Self>("PhantomData", &[]);
    }
    // SAFETY: an address is a number; dereferencing it is unsafe.
    unsafe impl<T> DeviceCopy for *const T {
        const LAYOUT: Layout =
            Layout::new::<Self>(Kind::Pointer("*const", size_of::<T>(), align_of::<T>()));
    }
    // SAFETY: as above.
    unsafe impl<T> DeviceCopy for *mut T {
        const LAYOUT: Layout =
            Layout::new::<Self>(Kind::Pointer("*mut", size_of::<T>(), align_of::<T>()));
    }
    // SAFETY: as above.
    unsafe impl<T> DeviceCopy for NonNull<T> {
        const LAYOUT: Layout = Layout::new::<Self>(Kind::NonZero("NonNull"));
    }
}
