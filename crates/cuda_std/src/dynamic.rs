//! Dynamic parallelism: kernels that launch kernels.
//!
//! ```ignore
//! #[kernel(device_launch)]
//! pub unsafe fn fill(value: u32, to: *mut u32) {
//!     unsafe { *to.add(thread::index_1d() as usize) = value };
//! }
//!
//! /// One thread decides how much there is to do.
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
//! With `device_launch` a kernel's name is a type on the device as well, whose `parameters` are the kernel's own, and
//! `dynamic::launch::<fill, _>(shape, fill::parameters(..))` launches it. A launch has begun when the
//! function returns; it ends before the launch of the kernel that made it ends, and nobody on the
//! device waits for it. What the thread wrote before is visible to it.
//!
//! A module that launches calls CUDA's device runtime, `libcudadevrt.a`, which `cust` links when it
//! loads PTX and looks for where the CUDA toolkit is (NVIDIA's package `nvidia-cuda-runtime` has it,
//! too). Build such kernels as PTX. The emulator has no
//! device runtime: there a launch by a kernel is an error that says so.

use core::ffi::c_void;

use crate::session::on_device;

/// How many blocks of how many threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Blocks along `x`, `y` and `z`.
    pub grid: [u32; 3],
    /// Threads of a block along `x`, `y` and `z`.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared: u32,
}

impl Shape {
    /// Of one dimension, without dynamic shared memory.
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

/// Why the device runtime did not launch: CUDA's number for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchError(pub u32);

/// A kernel of this crate, as device code knows it. `#[kernel(device_launch)]` implements it for a
/// type of the kernel's name.
///
/// # Safety
/// `entry` is the kernel's entry in PTX.
pub unsafe trait Launchable {
    /// Where the kernel is.
    fn entry() -> *const c_void;
}

/// Three numbers, as the device runtime takes them.
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

/// Launches a kernel, in the stream of this block's launches.
///
/// # Errors
/// If the device runtime has no room for it or does not take the shape.
///
/// # Safety
/// The parameters are `K::parameters(..)`, and the launch is sound with them.
#[inline(always)]
pub unsafe fn launch<K: Launchable, P>(shape: Shape, parameters: P) -> Result<(), LaunchError> {
    on_device!(
        {
            let three = |[x, y, z]: [u32; 3]| Dim3 { x, y, z };
            // SAFETY: the entry is one, and the buffer has room for its parameters.
            let error = unsafe {
                let buffer = __cudaCDP2GetParameterBufferV2(
                    K::entry(),
                    three(shape.grid),
                    three(shape.block),
                    shape.shared,
                );
                if buffer.is_null() {
                    // `cudaErrorInvalidConfiguration`, which says most of why there is none.
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
