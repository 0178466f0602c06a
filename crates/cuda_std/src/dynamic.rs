//! Dynamic parallelism: kernels that launch kernels.
//!
//! ```ignore
//! #[kernel(device_launch)]
//! pub unsafe fn fill(value: u32, to: *mut u32) {
//!     unsafe { *to.add(thread::index_1d() as usize) = value };
//! }
//!
//! /// Launches a grid whose size is known only on the device.
//! #[kernel]
//! pub unsafe fn decide(blocks: &u32, to: *mut u32) {
//!     if thread::first() {
//!         let shape = dynamic::Shape::new(*blocks, 128);
//!         let launched = unsafe { dynamic::launch::<fill, _>(shape, fill::parameters(7, to)) };
//!         assert!(launched.is_ok());
//!     }
//! }
//! ```
//!
//! With `device_launch`, a kernel's name is also a type on the device: `fill::parameters(..)` takes
//! the kernel's parameters, and `dynamic::launch::<fill, _>(shape, fill::parameters(..))` launches
//! the kernel. The function returns when the launch is enqueued. The launch completes before the
//! launch of its parent kernel completes; the device cannot wait for it. The thread's earlier
//! writes are visible to it.
//!
//! A module that launches kernels calls CUDA's device runtime, `libcudadevrt.a`. `cust` links it
//! when it loads PTX, and searches for it in the CUDA toolkit (NVIDIA's package
//! `nvidia-cuda-runtime` also contains it). Build such kernels as PTX. The emulator has no device
//! runtime: there, a launch by a kernel fails with an error that says so.

use core::ffi::c_void;

use crate::session::on_device;

/// The size of a launch: blocks, threads per block and dynamic shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The number of blocks along `x`, `y` and `z`.
    pub grid: [u32; 3],
    /// The number of threads per block along `x`, `y` and `z`.
    pub block: [u32; 3],
    /// The size of dynamic shared memory in bytes.
    pub shared: u32,
}

impl Shape {
    /// Creates a one-dimensional shape without dynamic shared memory.
    #[inline(always)]
    #[must_use]
    pub const fn new(blocks: u32, threads: u32) -> Shape {
        Shape {
            grid: [blocks, 1, 1],
            block: [threads, 1, 1],
            shared: 0,
        }
    }
}

/// The error of a launch that the device runtime rejected: CUDA's error code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchError(pub u32);

/// A kernel of this crate that device code can launch. `#[kernel(device_launch)]` implements it for
/// a type with the kernel's name.
///
/// # Safety
/// `entry` must return the kernel's entry in PTX.
pub unsafe trait Launchable {
    /// Returns the address of the kernel.
    fn entry() -> *const c_void;
}

/// CUDA's `dim3`.
#[repr(C)]
#[derive(Clone, Copy)]
#[cfg(any(target_arch = "nvptx64", nvvm_single_source))]
struct Dim3 {
    x: u32,
    y: u32,
    z: u32,
}

#[cfg(any(target_arch = "nvptx64", nvvm_single_source))]
cuda_std_macros::foreign! {
    #[allow(non_snake_case, reason = "as in CUDA")]
    unsafe fn __cudaCDP2GetParameterBufferV2(
        entry: *const c_void,
        grid: Dim3,
        block: Dim3,
        shared: u32,
    ) -> *mut c_void;
    #[allow(non_snake_case, reason = "as in CUDA")]
    unsafe fn __cudaCDP2LaunchDeviceV2(parameters: *mut c_void, stream: *mut c_void) -> i32;
}

/// Launches a kernel in the block's default stream.
///
/// # Errors
/// Returns an error if the device runtime has no space for the launch or rejects the shape.
///
/// # Safety
/// `parameters` must come from `K::parameters(..)`, and the launch must be sound with them.
#[inline(always)]
pub unsafe fn launch<K: Launchable, P>(shape: Shape, parameters: P) -> Result<(), LaunchError> {
    on_device!(
        {
            let three = |[x, y, z]: [u32; 3]| Dim3 { x, y, z };
            // SAFETY: `K::entry()` is a kernel's entry, and the buffer has space for its
            // parameters.
            let error = unsafe {
                let buffer = __cudaCDP2GetParameterBufferV2(
                    K::entry(),
                    three(shape.grid),
                    three(shape.block),
                    shape.shared,
                );
                if buffer.is_null() {
                    // `cudaErrorInvalidConfiguration`, the most common reason for a missing buffer.
                    return Err(LaunchError(9));
                }
                buffer.cast::<P>().write(parameters);
                __cudaCDP2LaunchDeviceV2(buffer, core::ptr::null_mut())
            };
            match error {
                0 => Ok(()),
                error => Err(LaunchError(error as u32)),
            }
        },
        {
            let _ = (shape, parameters, K::entry());
            crate::intrinsics::only_on_device("dynamic::launch")
        },
    )
}
