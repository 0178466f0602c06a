//! Scopes of fences and atomic operations: the set of threads that they synchronize with. A smaller
//! scope is cheaper.
//!
//! ```
//! use cuda_std::atomic::{Atomic, Ordering};
//! use cuda_std::prelude::*;
//! use cuda_std::scope::Device;
//!
//! /// Counts the negative elements. Only threads of the device access the counter.
//! #[kernel]
//! pub fn count_negative(data: &[i32], count: &Atomic<u32, Device>) {
//!     let own = thread::elements(data).filter(|(_, x)| **x < 0).count();
//!     count.fetch_add(own as u32, Ordering::Relaxed);
//! }
//! # fn main() {}
//! ```

use crate::intrinsics::synchronization;

/// The threads of the block.
#[derive(Clone, Copy, Debug, Default)]
pub struct Block;

/// The threads of the cluster. Requires `sm_90`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cluster;

/// The threads of the device.
#[derive(Clone, Copy, Debug, Default)]
pub struct Device;

/// All threads of all devices and the host: the scope of `core::sync::atomic`.
#[derive(Clone, Copy, Debug, Default)]
pub struct System;

/// A scope: [`Block`], [`Cluster`], [`Device`] or [`System`].
pub trait Scope: Copy + Default + sealed::Sealed {
    #[doc(hidden)]
    fn fence_acquire_release();
    #[doc(hidden)]
    fn fence_sequentially_consistent();
}

mod sealed {
    /// Prevents implementations outside this module.
    pub trait Sealed {}
}

macro_rules! scopes {
    ($($scope:ident $fence:ident $fence_sc:ident;)*) => {
        $(
            impl sealed::Sealed for $scope {}
            impl Scope for $scope {
                #[inline(always)]
                fn fence_acquire_release() {
                    synchronization::$fence();
                }
                #[inline(always)]
                fn fence_sequentially_consistent() {
                    synchronization::$fence_sc();
                }
            }
        )*
    };
}
scopes! {
    Block fence_acq_rel_cta fence_sc_cta;
    Cluster fence_acq_rel_cluster fence_sc_cluster;
    Device fence_acq_rel_gpu fence_sc_gpu;
    System fence_acq_rel_sys fence_sc_sys;
}
