//! Atomic operations: re-exports of `core::sync::atomic`, and [`Atomic`], which has a scope.
//!
//! The types of `core::sync::atomic` have system scope: they synchronize all threads, including the
//! host's. If only the threads of a block or of the device take part, an [`Atomic`] with that scope
//! is cheaper. It also has the operations that only PTX has: floating-point and half-precision
//! additions, increments and decrements with a limit, and 128-bit exchanges.
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
//! On the host, the argument for this parameter is a `&mut DeviceBox<f32>`; for
//! `&[Atomic<f32, Device>]` it is a `&mut DeviceBuffer<f32>`.
//!
//! # Shared memory
//! An [`Atomic`] with the scope `Block` has no `new`, because all blocks share a static. Such
//! atomics live in shared memory; each thread initializes its own elements through `get_mut`:
//!
//! ```
//! use cuda_std::atomic::{Atomic, Ordering};
//! use cuda_std::prelude::*;
//! use cuda_std::scope::{Block, Device};
//! use cuda_std::shared::{Array, Shared};
//!
//! /// The number of occurrences of each byte.
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
//! All orderings of Rust are supported. A sequentially consistent operation is a `fence.sc`
//! followed by the operation, as PTX's memory model requires. PTX's floating-point and
//! half-precision atomics are relaxed; stronger orderings add fences.

// The lists below contain types for which a cast to PTX's type does nothing.
#![allow(clippy::unnecessary_cast)]

use core::cell::UnsafeCell;
use core::marker::PhantomData;

use crate::bits::AnyBits;
use crate::intrinsics::atomic as raw;
use crate::scope::{Block, Cluster, Device, Scope, System};

pub use core::sync::atomic::*;

/// A value that the threads of scope `S` can modify concurrently.
///
/// Operations of different scopes on the same value are atomic with respect to each other only for
/// threads in both scopes.
///
/// Atomics with block or cluster scope have no `new`: threads of other blocks could reach them,
/// whatever memory they were in. They are elements of shared memory:
///
/// ```
/// use cuda_std::atomic::{Atomic, Ordering};
/// use cuda_std::prelude::*;
/// use cuda_std::scope::Block;
/// use cuda_std::shared::{Array, Shared};
///
/// /// The number of elements with each of four values, for each block.
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

// SAFETY: all accesses through shared references are atomic. An atomic whose scope is smaller than
// the device is either in shared memory, which only threads of the scope access, or was created by
// `from_ptr`.
unsafe impl<T: Send, S: Scope> Sync for Atomic<T, S> {}
// SAFETY: `T` is valid for any bit pattern.
unsafe impl<T: AnyBits, S: Scope> AnyBits for Atomic<T, S> {}

impl<T, S: Scope> Atomic<T, S> {
    /// Returns a mutable reference to the value. No other thread can access the value, because
    /// `&mut self` is exclusive.
    #[inline(always)]
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    /// Consumes the atomic and returns the value.
    #[inline(always)]
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }

    /// Returns a pointer to the value.
    #[inline(always)]
    pub const fn as_ptr(&self) -> *mut T {
        self.value.get()
    }

    /// Creates a reference to an atomic from a pointer.
    ///
    /// # Safety
    /// `pointer` must be valid and aligned to the size of `T` for `'a`. During `'a`, all other
    /// accesses must be atomic and by threads in the scope.
    #[inline(always)]
    pub const unsafe fn from_ptr<'a>(pointer: *mut T) -> &'a Self {
        // SAFETY: the caller guarantees validity, and the types have the same layout.
        unsafe { &*pointer.cast() }
    }
}

// Atomics with block or cluster scope cannot be created outside shared memory: all blocks share a
// static.
cuda_std_macros::repeat! {
    for SCOPE in [Device, System] {
        impl<T> Atomic<T, SCOPE> {
            /// Creates an atomic with an initial value.
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

/// Emits the fence that an operation needs before it.
#[inline(always)]
fn fence_before<S: Scope>(order: Ordering) {
    match order {
        Ordering::SeqCst => S::fence_sequentially_consistent(),
        Ordering::Release | Ordering::AcqRel => S::fence_acquire_release(),
        _ => {}
    }
}

/// Emits the fence that an operation needs after it.
#[inline(always)]
fn fence_after<S: Scope>(order: Ordering) {
    if matches!(
        order,
        Ordering::SeqCst | Ordering::Acquire | Ordering::AcqRel
    ) {
        S::fence_acquire_release();
    }
}

/// Selects the instruction for an ordering: calls `$relaxed` and so on with the operands.
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
            // `AcqRel`, and orderings that `core` may add.
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
        // Integers: all operations.
        for (RUST, BITS, BTY, ADD, MIN) in [
            (u32, u32, b32, u32, u32),
            (i32, u32, b32, u32, s32),
            (u64, u64, b64, u64, u64),
            (i64, u64, b64, u64, s64)
        ] {
            impl Atomic<RUST, TYPE> {
                /// Atomically adds `value`, wrapping on overflow, and returns the previous value.
                #[inline(always)]
                pub fn fetch_add(&self, value: RUST, order: Ordering) -> RUST {
                    let (to, value) = (self.as_ptr().cast::<BITS>(), value as BITS);
                    // SAFETY: the pointer comes from a reference, so it is valid.
                    let old = unsafe {
                        ordered!(TYPE, order, RAW,
                            atom_add_ADD_relaxed_SCOPE atom_add_ADD_acquire_SCOPE
                            atom_add_ADD_release_SCOPE atom_add_ADD_acq_rel_SCOPE (to, value))
                    };
                    old as RUST
                }

                /// Atomically subtracts `value`, wrapping on overflow, and returns the previous
                /// value.
                #[inline(always)]
                pub fn fetch_sub(&self, value: RUST, order: Ordering) -> RUST {
                    self.fetch_add(value.wrapping_neg(), order)
                }

                for (NAME, OP, DOC) in [
                    (fetch_and, and, "Computes the bitwise AND with `value`, and returns the previous value."),
                    (fetch_or, or, "Computes the bitwise OR with `value`, and returns the previous value."),
                    (fetch_xor, xor, "Computes the bitwise XOR with `value`, and returns the previous value."),
                    (swap, exch, "Stores `value`, and returns the previous value.")
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
                    (fetch_min, min, "Stores the minimum of the current value and `value`, and returns the previous value."),
                    (fetch_max, max, "Stores the maximum of the current value and `value`, and returns the previous value.")
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
            /// Increments the value, or sets it to 0 if it is at least `last`, and returns the
            /// previous value: CUDA's `atomicInc()`. Relaxed.
            #[inline(always)]
            pub fn fetch_inc(&self, last: u32) -> u32 {
                // SAFETY: a reference is valid.
                unsafe { RAW::atom_inc_u32_relaxed_SCOPE(self.as_ptr(), last) }
            }

            /// Decrements the value, or sets it to `last` if it is 0 or greater than `last`, and
            /// returns the previous value: CUDA's `atomicDec()`. Relaxed.
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
                /// Loads the value.
                ///
                /// # Panics
                /// Panics if `order` is `Release` or `AcqRel`.
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

                /// Stores `value`.
                ///
                /// # Panics
                /// Panics if `order` is `Acquire` or `AcqRel`.
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
                /// Stores `new` if the current value is bitwise equal to `expected`. Returns the
                /// previous value if `new` was stored. 128-bit values require `sm_90`.
                ///
                /// # Errors
                ///
                /// Returns the current value if it differs from `expected`.
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

                /// Replaces the value with `f(value)`, and returns the previous value. Calls `f`
                /// again if another thread changes the value in the meantime. 128-bit values
                /// require `sm_90`.
                #[inline(always)]
                pub fn fetch_map(&self, order: Ordering, mut f: impl FnMut(RUST) -> RUST) -> RUST {
                    // An exchange that changes nothing loads the initial value; there is no 128-bit
                    // load.
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
                /// Stores `value`, and returns the previous value. Requires `sm_90`.
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
                /// Atomically adds `value`, and returns the previous value.
                #[inline(always)]
                pub fn fetch_add(&self, value: RUST, order: Ordering) -> RUST {
                    fence_before::<TYPE>(order);
                    // SAFETY: a reference is valid.
                    let old = unsafe { RAW::atom_add_RUST_relaxed_SCOPE(self.as_ptr(), value) };
                    fence_after::<TYPE>(order);
                    old
                }

                /// Atomically subtracts `value`, and returns the previous value.
                #[inline(always)]
                pub fn fetch_sub(&self, value: RUST, order: Ordering) -> RUST {
                    self.fetch_add(-value, order)
                }

                /// Stores `value`, and returns the previous value.
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
                    (fetch_min, lt, "Stores the minimum of the current value and `value`, ignoring NaN, and returns the previous value."),
                    (fetch_max, gt, "Stores the maximum of the current value and `value`, ignoring NaN, and returns the previous value.")
                ] {
                    #[doc = DOC]
                    /// PTX has no such instruction, so this is a compare-and-swap loop.
                    #[inline(always)]
                    pub fn NAME(&self, value: RUST, order: Ordering) -> RUST {
                        let better = |old: RUST| value.CMP(&old) || old.is_nan();
                        self.fetch_map(order, |old| if better(old) { value } else { old })
                    }
                }
            }
        }

        impl Halves<TYPE> {
            /// Adds two `f16`, each separately atomic, and returns the previous values. Relaxed.
            #[inline(always)]
            pub fn fetch_add_f16(&self, value: u32) -> u32 {
                // SAFETY: a reference is valid.
                unsafe { RAW::atom_add_f16x2_relaxed_SCOPE(self.0.as_ptr(), value) }
            }

            /// Adds two `bf16`, each separately atomic, and returns the previous values. Relaxed.
            /// Requires `sm_90`.
            #[inline(always)]
            pub fn fetch_add_bf16(&self, value: u32) -> u32 {
                // SAFETY: a reference is valid.
                unsafe { RAW::atom_add_bf16x2_relaxed_SCOPE(self.0.as_ptr(), value) }
            }
        }

        impl Half<TYPE> {
            /// Adds an `f16`, and returns the previous value. Relaxed.
            #[inline(always)]
            pub fn fetch_add_f16(&self, value: u16) -> u16 {
                // SAFETY: a reference is valid.
                unsafe { RAW::atom_add_f16_relaxed_SCOPE(self.0.as_ptr(), value) }
            }

            /// Adds a `bf16`, and returns the previous value. Relaxed. Requires `sm_90`.
            #[inline(always)]
            pub fn fetch_add_bf16(&self, value: u16) -> u16 {
                // SAFETY: a reference is valid.
                unsafe { RAW::atom_add_bf16_relaxed_SCOPE(self.0.as_ptr(), value) }
            }
        }
    }
}

/// An fp16 or bf16 value, stored as its bits, to which the threads of a scope add.
#[repr(transparent)]
pub struct Half<S: Scope = System>(pub Atomic<u16, S>);

/// Two packed fp16 or bf16 values, stored as their bits, to which the threads of a scope add.
#[repr(transparent)]
pub struct Halves<S: Scope = System>(pub Atomic<u32, S>);

// SAFETY: any bit pattern is a float.
unsafe impl<S: Scope> AnyBits for Half<S> {}
// SAFETY: as above.
unsafe impl<S: Scope> AnyBits for Halves<S> {}

/// Conversion to and from the unsigned integer type that PTX's `.bN` instructions use.
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

/// Combines the success and failure orderings of a compare-and-exchange.
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
            // SAFETY: a `repr(transparent)` wrapper of the value.
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
