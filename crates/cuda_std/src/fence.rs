//! Memory fences with a scope.
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
//! A fence does not wait for other threads. `core::sync::atomic::fence` is a fence with system
//! scope.

use crate::scope::Scope;

/// Orders this thread's memory accesses before the fence and those after it, as observed by the
/// threads of the scope: a fence with the orderings `Acquire`, `Release` and `AcqRel` of
/// `core::sync::atomic`.
#[inline(always)]
pub fn acquire_release<S: Scope>(_scope: S) {
    S::fence_acquire_release();
}

/// Like [`acquire_release`], and takes part in a single total order of all sequentially consistent
/// fences of the scope: a fence with the ordering `SeqCst`.
#[inline(always)]
pub fn sequentially_consistent<S: Scope>(_scope: S) {
    S::fence_sequentially_consistent();
}
