//! Graphs, as the kernels in them see them: a kernel can decide what the graph does next.
//!
//! The host makes a condition and conditional nodes with `cust::graph::GraphBuilder`, and passes the
//! condition to the kernels that set it:
//!
//! ```ignore
//! #[kernel]
//! pub fn step(mut state: PerThread<u32>, more: Condition) {
//!     // …
//!     if thread::index_1d() == 0 {
//!         more.set(u32::from(changed));
//!     }
//! }
//! ```
//!
//! A module with such kernels is linked with NVIDIA's `libcudadevrt`, which `cust` looks for where
//! the CUDA toolkit is when it loads PTX: the driver has the function there alone. Build such kernels
//! as PTX.

use core::marker::PhantomData;

/// A number that conditional nodes of the kernel's graph look at: see the
/// [module's documentation](self).
///
/// It is good for the launch that it is an argument of, so safe code cannot keep it for a later one:
/// it is neither `Send` nor `Sync`, as what a static holds has to be, and no element of a buffer.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub struct Condition(u64, PhantomData<*const ()>);

// SAFETY: it is the handle, and all it does is to set the condition.
unsafe impl cust_core::kernel::SetsCondition for Condition {}

impl Condition {
    /// Sets the condition, for the conditional nodes that come after this kernel. If several
    /// threads do so, it is one of their values.
    #[inline]
    pub fn set(self, value: u32) {
        // SAFETY: the host passed the handle of a condition of this launch's graph.
        unsafe { cudaGraphSetConditional(self.0, value) };
    }
}

cuda_std_macros::foreign! {
    /// Of the device's runtime library.
    #[allow(non_snake_case, reason = "as in CUDA")]
    unsafe fn cudaGraphSetConditional(handle: u64, value: u32);
}
