//! Atomic operations: `core::sync::atomic` as it is, and [`Atomic`] with a scope.
//!
//! The types of `core::sync::atomic`, which this module re-exports, are for all threads of the
//! system, the host's included. Where the threads of a block or of the device are all there is, an
//! [`Atomic`] with that scope is cheaper, and it has what PTX has beside: sums of floats and halves,
//! counting up and down to a limit, and 128 bits.
//!
//! ```
//! use cuda_std::atomic::{Atomic, Ordering};
//! use cuda_std::prelude::*;
//! use cuda_std::scope::Device;
//!
//! /// The sum of all elements.
//! #[kernel]
//! pub fn sum(from: &[f32], to: &Atomic<f32, Device>) {
//!     for i in thread::grid_stride(from.len()) {
//!         to.fetch_add(from[i], Ordering::Relaxed);
//!     }
//! }
//! # fn main() {}
//! ```
//!
//! On the host the kernel's parameter takes a `&mut DeviceBox<f32>`, and `&[Atomic<f32, Device>]` a
//! `&mut DeviceBuffer<f32>`.
//!
//! # Shared memory
//! An [`Atomic`] with the scope `Block` has no `new`, since a static would be for all blocks. It is in shared
//! memory, and each thread writes first values to its own elements through `get_mut`:
//!
//! ```
//! use cuda_std::atomic::{Atomic, Ordering};
//! use cuda_std::prelude::*;
//! use cuda_std::scope::{Block, Device};
//! use cuda_std::shared::{Array, Shared};
//!
//! /// How often each byte occurs.
//! #[kernel]
//! pub fn histogram(
//!     #[shared] mut counts: Shared<Array<Atomic<u32, Block>, 256>>,
//!     from: &[u8],
//!     to: &[Atomic<u32, Device>],
//! ) {
//!     counts.own().each(|_, count| *count.get_mut() = 0);
//!     counts.read(|counts| {
//!         for (_, &byte) in thread::elements(from) {
//!             counts[usize::from(byte)].fetch_add(1, Ordering::Relaxed);
//!         }
//!     });
//!     counts.own().each(|i, count| {
//!         to[i].fetch_add(*count.get_mut(), Ordering::Relaxed);
//!     });
//! }
//! # fn main() {}
//! ```
//!
//! # Orderings
//! All of Rust's orderings are there. A sequentially consistent operation is a fence and then the
//! operation, which is what PTX's memory model asks for. Operations on floats and halves are relaxed
//! in PTX; with another ordering they come with fences.

// The types of the lists below are in turn those that PTX has and others.
#![allow(clippy::unnecessary_cast)]

use core::cell::UnsafeCell;
use core::marker::PhantomData;

use crate::bits::AnyBits;
use crate::intrinsics::atomic as raw;
use crate::scope::{Block, Cluster, Device, Scope, System};

pub use core::sync::atomic::*;

/// A value that the threads of a scope may change at the same time.
///
/// Atomic operations of different scopes on one value are atomic with respect to each other only
/// for threads within both.
///
/// Atomics of a block or a cluster have no `new`: whatever memory they were put into, threads of other
/// blocks might reach it. They are elements of shared memory:
///
/// ```
/// use cuda_std::atomic::{Atomic, Ordering};
/// use cuda_std::prelude::*;
/// use cuda_std::scope::Block;
/// use cuda_std::shared::{Array, Shared};
///
/// /// How many of each block's elements have each of four values.
/// #[kernel]
/// pub fn count(
///     #[shared] mut counts: Shared<Array<Atomic<u32, Block>, 4>>,
///     from: &[u32],
///     mut to: cuda_std::PerBlock<u32, 4>,
/// ) {
///     counts.own().each(|_, count| *count.get_mut() = 0);
///     let counts = counts.share();
///     for i in thread::grid_stride(from.len()) {
///         counts[from[i] as usize % 4].fetch_add(1, Ordering::Relaxed);
///     }
///     let mut counts = counts.reclaim();
///     counts.read(|counts| {
///         to.each(|i, to| *to = counts[i % 4].load(Ordering::Relaxed));
///     });
/// }
/// # fn main() {}
/// ```
#[repr(transparent)]
pub struct Atomic<T, S: Scope = System> {
    value: UnsafeCell<T>,
    scope: PhantomData<S>,
}

// SAFETY: all accesses through shared references are atomic. Those of a scope smaller than the device
// are in shared memory, where only the threads of the scope come, or made by `from_ptr`.
unsafe impl<T: Send, S: Scope> Sync for Atomic<T, S> {}
// SAFETY: any bits are one of the value's.
unsafe impl<T: AnyBits, S: Scope> AnyBits for Atomic<T, S> {}

impl<T, S: Scope> Atomic<T, S> {
    /// The value, which nobody else has.
    #[inline(always)]
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    /// The value.
    #[inline(always)]
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }

    /// A pointer to the value.
    #[inline(always)]
    pub const fn as_ptr(&self) -> *mut T {
        self.value.get()
    }

    /// A value somewhere in memory.
    ///
    /// # Safety
    /// The pointer is valid and aligned to the type's size for as long as the result is used, and all
    /// other accesses meanwhile are atomic and of threads in the scope.
    #[inline(always)]
    pub const unsafe fn from_ptr<'a>(pointer: *mut T) -> &'a Self {
        // SAFETY: the caller's promise, and the types have one layout.
        unsafe { &*pointer.cast() }
    }
}

// Of a block's or a cluster's there are none to be put anywhere: a static would be for all blocks.
// They come of shared memory.
cuda_std_macros::repeat! {
    for SCOPE in [Device, System] {
        impl<T> Atomic<T, SCOPE> {
            /// A value.
            #[inline(always)]
            pub const fn new(value: T) -> Self {
                Atomic {
                    value: UnsafeCell::new(value),
                    scope: PhantomData,
                }
            }
        }
    }
}

/// What the fence before an operation has to be.
#[inline(always)]
fn fence_before<S: Scope>(order: Ordering) {
    match order {
        Ordering::SeqCst => S::fence_sequentially_consistent(),
        Ordering::Release | Ordering::AcqRel => S::fence_acquire_release(),
        _ => {}
    }
}

/// What the fence behind an operation has to be.
#[inline(always)]
fn fence_after<S: Scope>(order: Ordering) {
    if matches!(
        order,
        Ordering::SeqCst | Ordering::Acquire | Ordering::AcqRel
    ) {
        S::fence_acquire_release();
    }
}

/// Instructions by ordering: `$relaxed` and so on are called with the operands.
macro_rules! ordered {
    ($scope:ty, $order:expr, $module:ident, $relaxed:ident $acquire:ident $release:ident $acq_rel:ident ($($arg:expr),*)) => {{
        match $order {
            Ordering::Relaxed => $module::$relaxed($($arg),*),
            Ordering::Acquire => $module::$acquire($($arg),*),
            Ordering::Release => $module::$release($($arg),*),
            Ordering::SeqCst => {
                <$scope>::fence_sequentially_consistent();
                $module::$acquire($($arg),*)
            }
            // Acquire and release, and what core may add.
            _ => $module::$acq_rel($($arg),*),
        }
    }};
}

use raw::cluster as raw_cluster;

cuda_std_macros::repeat! {
    for (SCOPE, TYPE, RAW) in [
        (cta, Block, raw),
        (cluster, Cluster, raw_cluster),
        (gpu, Device, raw),
        (sys, System, raw)
    ] {
        // Integers: everything.
        for (RUST, BITS, BTY, ADD, MIN) in [
            (u32, u32, b32, u32, u32),
            (i32, u32, b32, u32, s32),
            (u64, u64, b64, u64, u64),
            (i64, u64, b64, u64, s64)
        ] {
            impl Atomic<RUST, TYPE> {
                /// Adds, wrapping; what was there before.
                #[inline(always)]
                pub fn fetch_add(&self, value: RUST, order: Ordering) -> RUST {
                    let (to, value) = (self.as_ptr().cast::<BITS>(), value as BITS);
                    // SAFETY: a reference is valid.
                    let old = unsafe {
                        ordered!(TYPE, order, RAW,
                            atom_add_ADD_relaxed_SCOPE atom_add_ADD_acquire_SCOPE
                            atom_add_ADD_release_SCOPE atom_add_ADD_acq_rel_SCOPE (to, value))
                    };
                    old as RUST
                }

                /// Subtracts, wrapping; what was there before.
                #[inline(always)]
                pub fn fetch_sub(&self, value: RUST, order: Ordering) -> RUST {
                    self.fetch_add(value.wrapping_neg(), order)
                }

                for (NAME, OP, DOC) in [
                    (fetch_and, and, "Keeps the bits that both have; what was there before."),
                    (fetch_or, or, "Adds the bits that the other has; what was there before."),
                    (fetch_xor, xor, "Flips the bits that the other has; what was there before."),
                    (swap, exch, "Puts another value there; what was there before.")
                ] {
                    #[doc = DOC]
                    #[inline(always)]
                    pub fn NAME(&self, value: RUST, order: Ordering) -> RUST {
                        let (to, value) = (self.as_ptr().cast::<BITS>(), value as BITS);
                        // SAFETY: a reference is valid.
                        let old = unsafe {
                            ordered!(TYPE, order, RAW,
                                atom_OP_BTY_relaxed_SCOPE atom_OP_BTY_acquire_SCOPE
                                atom_OP_BTY_release_SCOPE atom_OP_BTY_acq_rel_SCOPE (to, value))
                        };
                        old as RUST
                    }
                }

                for (NAME, OP, DOC) in [
                    (fetch_min, min, "The smaller one of both stays; what was there before."),
                    (fetch_max, max, "The larger one of both stays; what was there before.")
                ] {
                    #[doc = DOC]
                    #[inline(always)]
                    pub fn NAME(&self, value: RUST, order: Ordering) -> RUST {
                        let to = self.as_ptr();
                        // SAFETY: a reference is valid.
                        unsafe {
                            ordered!(TYPE, order, RAW,
                                atom_OP_MIN_relaxed_SCOPE atom_OP_MIN_acquire_SCOPE
                                atom_OP_MIN_release_SCOPE atom_OP_MIN_acq_rel_SCOPE (to, value))
                        }
                    }
                }
            }
        }

        impl Atomic<u32, TYPE> {
            /// One more, or 0 if that was `last` or more; what was there before. Relaxed.
            #[inline(always)]
            pub fn fetch_inc(&self, last: u32) -> u32 {
                // SAFETY: a reference is valid.
                unsafe { RAW::atom_inc_u32_relaxed_SCOPE(self.as_ptr(), last) }
            }

            /// One less, or `last` if that was 0 or more than `last`; what was there before. Relaxed.
            #[inline(always)]
            pub fn fetch_dec(&self, last: u32) -> u32 {
                // SAFETY: a reference is valid.
                unsafe { RAW::atom_dec_u32_relaxed_SCOPE(self.as_ptr(), last) }
            }
        }

        for (RUST, BITS, BTY) in [
            (u8, u8, b8),
            (u16, u16, b16),
            (i16, u16, b16),
            (u32, u32, b32),
            (i32, u32, b32),
            (u64, u64, b64),
            (i64, u64, b64),
            (f32, u32, b32),
            (f64, u64, b64)
        ] {
            impl Atomic<RUST, TYPE> {
                /// The value.
                ///
                /// # Panics
                /// A load has no release to order: with `Release` and `AcqRel`.
                #[inline(always)]
                pub fn load(&self, order: Ordering) -> RUST {
                    let from = self.as_ptr().cast_const().cast::<BITS>();
                    // SAFETY: a reference is valid.
                    let bits: BITS = unsafe {
                        match order {
                            Ordering::Relaxed => RAW::ld_BTY_relaxed_SCOPE(from),
                            Ordering::Acquire => RAW::ld_BTY_acquire_SCOPE(from),
                            Ordering::SeqCst => {
                                TYPE::fence_sequentially_consistent();
                                RAW::ld_BTY_acquire_SCOPE(from)
                            }
                            _ => panic!("there is no such thing as a release load"),
                        }
                    };
                    <RUST as Bits<BITS>>::from(bits)
                }

                /// Puts a value there.
                ///
                /// # Panics
                /// A store has no acquire to order: with `Acquire` and `AcqRel`.
                #[inline(always)]
                pub fn store(&self, value: RUST, order: Ordering) {
                    let (to, bits) = (self.as_ptr().cast::<BITS>(), <RUST as Bits<BITS>>::bits(value));
                    // SAFETY: a reference is valid.
                    unsafe {
                        match order {
                            Ordering::Relaxed => RAW::st_BTY_relaxed_SCOPE(to, bits),
                            Ordering::Release => RAW::st_BTY_release_SCOPE(to, bits),
                            Ordering::SeqCst => {
                                TYPE::fence_sequentially_consistent();
                                RAW::st_BTY_relaxed_SCOPE(to, bits);
                            }
                            _ => panic!("there is no such thing as an acquire store"),
                        }
                    }
                }
            }
        }

        for (RUST, BITS, BTY) in [
            (u16, u16, b16),
            (i16, u16, b16),
            (u32, u32, b32),
            (i32, u32, b32),
            (u64, u64, b64),
            (i64, u64, b64),
            (f32, u32, b32),
            (f64, u64, b64),
            (u128, u128, b128),
            (i128, u128, b128)
        ] {
            impl Atomic<RUST, TYPE> {
                /// Puts `new` there if the bits of `expected` are; what was there before, as `Ok` if
                /// that was so. (With 128 bits it needs `sm_90`.)
                #[inline(always)]
                pub fn compare_exchange(
                    &self,
                    expected: RUST,
                    new: RUST,
                    success: Ordering,
                    failure: Ordering,
                ) -> Result<RUST, RUST> {
                    let to = self.as_ptr().cast::<BITS>();
                    let (bits, new) = (<RUST as Bits<BITS>>::bits(expected), <RUST as Bits<BITS>>::bits(new));
                    let order = stronger(success, failure);
                    // SAFETY: a reference is valid.
                    let old: BITS = unsafe {
                        ordered!(TYPE, order, RAW,
                            atom_cas_BTY_relaxed_SCOPE atom_cas_BTY_acquire_SCOPE
                            atom_cas_BTY_release_SCOPE atom_cas_BTY_acq_rel_SCOPE (to, bits, new))
                    };
                    let value = <RUST as Bits<BITS>>::from(old);
                    if old == bits { Ok(value) } else { Err(value) }
                }

                /// Puts there what a function makes of the value, again until nobody came between;
                /// what was there before. (With 128 bits it needs `sm_90`.)
                #[inline(always)]
                pub fn fetch_map(&self, order: Ordering, mut f: impl FnMut(RUST) -> RUST) -> RUST {
                    // What is there at first is found out by an exchange that changes nothing.
                    let zero: RUST = <RUST as Bits<BITS>>::from(0);
                    let start = self.compare_exchange(zero, zero, Ordering::Relaxed, Ordering::Relaxed);
                    let mut old = match start {
                        Ok(old) | Err(old) => old,
                    };
                    loop {
                        match self.compare_exchange(old, f(old), order, Ordering::Relaxed) {
                            Ok(old) => return old,
                            Err(now) => old = now,
                        }
                    }
                }
            }
        }

        for RUST in [u128, i128] {
            impl Atomic<RUST, TYPE> {
                /// Puts another value there; what was there before. Needs `sm_90`.
                #[inline(always)]
                pub fn swap(&self, value: RUST, order: Ordering) -> RUST {
                    let (to, value) = (self.as_ptr().cast::<u128>(), value as u128);
                    // SAFETY: a reference is valid.
                    let old = unsafe {
                        ordered!(TYPE, order, RAW,
                            atom_exch_b128_relaxed_SCOPE atom_exch_b128_acquire_SCOPE
                            atom_exch_b128_release_SCOPE atom_exch_b128_acq_rel_SCOPE (to, value))
                    };
                    old as RUST
                }
            }
        }

        for (RUST, BITS, BTY) in [(f32, u32, b32), (f64, u64, b64)] {
            impl Atomic<RUST, TYPE> {
                /// Adds; what was there before.
                #[inline(always)]
                pub fn fetch_add(&self, value: RUST, order: Ordering) -> RUST {
                    fence_before::<TYPE>(order);
                    // SAFETY: a reference is valid.
                    let old = unsafe { RAW::atom_add_RUST_relaxed_SCOPE(self.as_ptr(), value) };
                    fence_after::<TYPE>(order);
                    old
                }

                /// Subtracts; what was there before.
                #[inline(always)]
                pub fn fetch_sub(&self, value: RUST, order: Ordering) -> RUST {
                    self.fetch_add(-value, order)
                }

                /// Puts another value there; what was there before.
                #[inline(always)]
                pub fn swap(&self, value: RUST, order: Ordering) -> RUST {
                    let (to, bits) = (self.as_ptr().cast::<BITS>(), value.to_bits());
                    // SAFETY: a reference is valid.
                    let old = unsafe {
                        ordered!(TYPE, order, RAW,
                            atom_exch_BTY_relaxed_SCOPE atom_exch_BTY_acquire_SCOPE
                            atom_exch_BTY_release_SCOPE atom_exch_BTY_acq_rel_SCOPE (to, bits))
                    };
                    RUST::from_bits(old)
                }

                for (NAME, CMP, DOC) in [
                    (fetch_min, lt, "The smaller one of both stays, a number rather than NaN; what was there before."),
                    (fetch_max, gt, "The larger one of both stays, a number rather than NaN; what was there before.")
                ] {
                    #[doc = DOC]
                    /// PTX has no such instruction: it tries until nobody comes between.
                    #[inline(always)]
                    pub fn NAME(&self, value: RUST, order: Ordering) -> RUST {
                        let better = |old: RUST| value.CMP(&old) || old.is_nan();
                        self.fetch_map(order, |old| if better(old) { value } else { old })
                    }
                }
            }
        }

        impl Halves<TYPE> {
            /// Adds two `f16`, each by itself; what was there before. Relaxed.
            #[inline(always)]
            pub fn fetch_add_f16(&self, value: u32) -> u32 {
                // SAFETY: a reference is valid.
                unsafe { RAW::atom_add_f16x2_relaxed_SCOPE(self.0.as_ptr(), value) }
            }

            /// Adds two `bf16`, each by itself; what was there before. Relaxed. Needs `sm_90`.
            #[inline(always)]
            pub fn fetch_add_bf16(&self, value: u32) -> u32 {
                // SAFETY: a reference is valid.
                unsafe { RAW::atom_add_bf16x2_relaxed_SCOPE(self.0.as_ptr(), value) }
            }
        }

        impl Half<TYPE> {
            /// Adds an `f16`; what was there before. Relaxed.
            #[inline(always)]
            pub fn fetch_add_f16(&self, value: u16) -> u16 {
                // SAFETY: a reference is valid.
                unsafe { RAW::atom_add_f16_relaxed_SCOPE(self.0.as_ptr(), value) }
            }

            /// Adds a `bf16`; what was there before. Relaxed. Needs `sm_90`.
            #[inline(always)]
            pub fn fetch_add_bf16(&self, value: u16) -> u16 {
                // SAFETY: a reference is valid.
                unsafe { RAW::atom_add_bf16_relaxed_SCOPE(self.0.as_ptr(), value) }
            }
        }
    }
}

/// A half-precision float, as its bits, that the threads of a scope add to.
#[repr(transparent)]
pub struct Half<S: Scope = System>(pub Atomic<u16, S>);

/// Two half-precision floats, as their bits, that the threads of a scope add to.
#[repr(transparent)]
pub struct Halves<S: Scope = System>(pub Atomic<u32, S>);

// SAFETY: any bits are one of the floats.
unsafe impl<S: Scope> AnyBits for Half<S> {}
// SAFETY: as above.
unsafe impl<S: Scope> AnyBits for Halves<S> {}

/// A type that PTX has as bits.
trait Bits<B> {
    fn bits(self) -> B;
    fn from(bits: B) -> Self;
}

cuda_std_macros::repeat! {
    for (RUST, BITS) in [
        (u8, u8), (u16, u16), (i16, u16), (u32, u32), (i32, u32), (u64, u64), (i64, u64),
        (u128, u128), (i128, u128)
    ] {
        impl Bits<BITS> for RUST {
            #[inline(always)]
            fn bits(self) -> BITS {
                self as BITS
            }
            #[inline(always)]
            fn from(bits: BITS) -> RUST {
                bits as RUST
            }
        }
    }
    for (RUST, BITS) in [(f32, u32), (f64, u64)] {
        impl Bits<BITS> for RUST {
            #[inline(always)]
            fn bits(self) -> BITS {
                self.to_bits()
            }
            #[inline(always)]
            fn from(bits: BITS) -> RUST {
                RUST::from_bits(bits)
            }
        }
    }
}

/// One ordering for both outcomes of an exchange.
#[inline(always)]
fn stronger(success: Ordering, failure: Ordering) -> Ordering {
    match (success, failure) {
        (Ordering::SeqCst, _) | (_, Ordering::SeqCst) => Ordering::SeqCst,
        (Ordering::Relaxed, Ordering::Acquire) => Ordering::Acquire,
        (Ordering::Release, Ordering::Acquire) => Ordering::AcqRel,
        (success, _) => success,
    }
}

cuda_std_macros::repeat! {
    for SCOPE in [Device, System] {
        for RUST in [u8, u16, i16, u32, i32, u64, i64, f32, f64, u128, i128] {
            // SAFETY: it is a value of the type, with another name.
            unsafe impl cust_core::kernel::Atomic for Atomic<RUST, SCOPE> {
                type Value = RUST;
            }
        }
        // SAFETY: as above.
        unsafe impl cust_core::kernel::Atomic for Half<SCOPE> {
            type Value = u16;
        }
        // SAFETY: as above.
        unsafe impl cust_core::kernel::Atomic for Halves<SCOPE> {
            type Value = u32;
        }
    }
}
