//! Fences: they order this thread's accesses to memory, as the threads of a scope see them.
//!
//! ```
//! use cuda_std::fence;
//! use cuda_std::prelude::*;
//! use cuda_std::scope::Device;
//!
//! #[kernel]
//! pub unsafe fn publish(data: *mut u32, flag: *mut u32) {
//!     if thread::first() {
//!         unsafe { *data = 7 };
//!         fence::acquire_release(Device);
//!         unsafe { flag.write_volatile(1) };
//!     }
//! }
//! # fn main() {}
//! ```
//!
//! Nobody waits at a fence. `core::sync::atomic::fence` is that of the whole system.

use crate::scope::Scope;

/// Orders what stands before against what stands after: what `core::sync::atomic`'s orderings
/// acquire, release and both of them ask for.
#[inline(always)]
pub fn acquire_release<S: Scope>(_scope: S) {
    S::fence_acquire_release();
}

/// The same, and all threads of the scope see such fences in one order.
#[inline(always)]
pub fn sequentially_consistent<S: Scope>(_scope: S) {
    S::fence_sequentially_consistent();
}
