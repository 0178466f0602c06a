//! Conditional graphs, from the device: a kernel can decide which nodes of its graph run next.
//!
//! The host creates a condition and conditional nodes with `cust::graph::GraphBuilder`, and passes
//! the condition to the kernels that set it:
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
//! A module with such kernels must be linked with NVIDIA's `libcudadevrt`, because the driver has
//! the function only there. `cust` links it when it loads PTX, and searches for it in the CUDA
//! toolkit. Build such kernels as PTX.

use core::marker::PhantomData;

/// The handle of a number that conditional nodes of the kernel's graph test: see the [module's
/// documentation](self).
///
/// The handle is valid only for the launch that it is an argument of. Safe code cannot keep it for
/// a later launch: it is neither `Send` nor `Sync`, so it cannot be in a static, and it cannot be
/// an element of a buffer.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub struct Condition(u64, PhantomData<*const ()>);

// SAFETY: the type is the handle, and its only operation is to set the condition.
unsafe impl cust_core::kernel::SetsCondition for Condition {}

impl Condition {
    /// Sets the condition for the conditional nodes that depend on this kernel. If several threads
    /// set it, the result is one of their values.
    #[inline]
    pub fn set(self, value: u32) {
        // SAFETY: the host passed the handle of a condition of this launch's graph.
        unsafe { cudaGraphSetConditional(self.0, value) };
    }
}

cuda_std_macros::foreign! {
    /// A function of the device runtime library.
    #[allow(non_snake_case, reason = "as in CUDA")]
    unsafe fn cudaGraphSetConditional(handle: u64, value: u32);
}
