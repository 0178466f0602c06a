//! The raw functions of the device: NVVM's intrinsics, libdevice's math and the system calls.
//!
//! On the device they are foreign functions, which the compiler's backend turns into the
//! instructions or resolves when it links libdevice. On the host there is a function of the same
//! name and type that panics, so that code which mentions them compiles for both.
//! Everything here has a better face in the other modules.

/// Declares foreign functions for the device, and their panicking twins for the host.
macro_rules! device_functions {
    ($($(#[$attribute:meta])* fn $name:ident($($arg:ident: $ty:ty),*) $(-> $ret:ty)?;)*) => {
        #[cfg(target_arch = "nvptx64")]
        unsafe extern "C" {
            $($(#[$attribute])* pub safe fn $name($($arg: $ty),*) $(-> $ret)?;)*
        }
        $(
            $(#[$attribute])*
            #[cfg(not(target_arch = "nvptx64"))]
            #[track_caller]
            pub fn $name($(_: $ty),*) $(-> $ret)? {
                crate::intrinsics::only_on_device(stringify!($name))
            }
        )*
    };
}

/// The end of every function that only a GPU has, when the host calls it.
#[cold]
#[track_caller]
#[cfg_attr(target_arch = "nvptx64", allow(dead_code))]
pub(crate) fn only_on_device(name: &str) -> ! {
    panic!("`{name}` works only in a kernel, and was called on the host")
}

device_functions! {
    /// `%tid.x`: the thread's index in its block.
    fn __nvvm_read_ptx_sreg_tid_x() -> i32;
    /// `%tid.y`: the thread's index in its block.
    fn __nvvm_read_ptx_sreg_tid_y() -> i32;
    /// `%tid.z`: the thread's index in its block.
    fn __nvvm_read_ptx_sreg_tid_z() -> i32;
    /// `%ntid.x`: the block's size.
    fn __nvvm_read_ptx_sreg_ntid_x() -> i32;
    /// `%ntid.y`: the block's size.
    fn __nvvm_read_ptx_sreg_ntid_y() -> i32;
    /// `%ntid.z`: the block's size.
    fn __nvvm_read_ptx_sreg_ntid_z() -> i32;
    /// `%ctaid.x`: the block's index in the grid.
    fn __nvvm_read_ptx_sreg_ctaid_x() -> i32;
    /// `%ctaid.y`: the block's index in the grid.
    fn __nvvm_read_ptx_sreg_ctaid_y() -> i32;
    /// `%ctaid.z`: the block's index in the grid.
    fn __nvvm_read_ptx_sreg_ctaid_z() -> i32;
    /// `%nctaid.x`: the grid's size in blocks.
    fn __nvvm_read_ptx_sreg_nctaid_x() -> i32;
    /// `%nctaid.y`: the grid's size in blocks.
    fn __nvvm_read_ptx_sreg_nctaid_y() -> i32;
    /// `%nctaid.z`: the grid's size in blocks.
    fn __nvvm_read_ptx_sreg_nctaid_z() -> i32;
    /// `%laneid`: the thread's index in its warp.
    fn __nvvm_read_ptx_sreg_laneid() -> i32;
    /// `WARP_SZ`: the number of threads in a warp.
    fn __nvvm_read_ptx_sreg_warpsize() -> i32;
    /// `bar.sync 0`: waits for all threads of the block.
    fn __nvvm_barrier0();
    /// `bar.red.popc.u32`: the barrier, and how many threads brought a non-zero value.
    fn __nvvm_barrier0_popc(value: i32) -> i32;
    /// `bar.red.and.pred`: the barrier, and whether every thread brought a non-zero value.
    fn __nvvm_barrier0_and(value: i32) -> i32;
    /// `bar.red.or.pred`: the barrier, and whether any thread brought a non-zero value.
    fn __nvvm_barrier0_or(value: i32) -> i32;
    /// `membar.cta`: orders this thread's memory accesses for its block.
    fn __nvvm_membar_cta();
    /// `membar.gl`: orders this thread's memory accesses for its device.
    fn __nvvm_membar_gl();
    /// `membar.sys`: orders this thread's memory accesses for the whole system.
    fn __nvvm_membar_sys();
    /// `exit`: ends this thread; the others go on.
    fn __nvvm_exit() -> !;
    /// `trap`: ends the launch with an error that the context does not survive.
    fn __nvvm_trap() -> !;
}

/// The system calls that every GPU program has: CUDA's `printf` and its device heap.
#[cfg(target_arch = "nvptx64")]
mod system {
    unsafe extern "C" {
        /// Prints `format` (C's `printf` format, NUL-terminated) with `arguments`, a pointer to
        /// the arguments laid out as a C struct.
        pub fn vprintf(format: *const u8, arguments: *const u8) -> i32;
        /// Memory of the device heap, aligned to 16 bytes, or null.
        pub fn malloc(size: usize) -> *mut u8;
        /// Gives back what `malloc` returned.
        pub fn free(pointer: *mut u8);
        /// Ends the launch as a failed `assert`, with texts that end with a NUL and whose
        /// characters have `char_size` bytes.
        pub fn __assertfail(
            message: *const u8,
            file: *const u8,
            line: u32,
            function: *const u8,
            char_size: usize,
        );
    }
}
#[cfg(target_arch = "nvptx64")]
pub use system::{__assertfail, free, malloc, vprintf};

/// libdevice's functions, under their own names: NVIDIA's `libm` for the device.
/// [`GpuFloat`](crate::GpuFloat) has them as methods that exist on the host too.
pub mod libdevice {
    /// Declares one libdevice function for each width: `name f64, name f32 (arguments)`.
    macro_rules! libdevice {
        ($($f64:ident $f32:ident($($arg:ident),*);)*) => {
            device_functions! {
                $(
                    #[doc = concat!("`", stringify!($f64), "` of libdevice.")]
                    fn $f64($($arg: f64),*) -> f64;
                    #[doc = concat!("`", stringify!($f32), "` of libdevice.")]
                    fn $f32($($arg: f32),*) -> f32;
                )*
            }
        };
    }

    libdevice! {
        __nv_acos __nv_acosf(x);
        __nv_acosh __nv_acoshf(x);
        __nv_asin __nv_asinf(x);
        __nv_asinh __nv_asinhf(x);
        __nv_atan __nv_atanf(x);
        __nv_atan2 __nv_atan2f(y, x);
        __nv_atanh __nv_atanhf(x);
        __nv_cbrt __nv_cbrtf(x);
        __nv_ceil __nv_ceilf(x);
        __nv_cos __nv_cosf(x);
        __nv_cosh __nv_coshf(x);
        __nv_erf __nv_erff(x);
        __nv_erfc __nv_erfcf(x);
        __nv_exp __nv_expf(x);
        __nv_exp10 __nv_exp10f(x);
        __nv_exp2 __nv_exp2f(x);
        __nv_expm1 __nv_expm1f(x);
        __nv_floor __nv_floorf(x);
        __nv_fma __nv_fmaf(x, y, z);
        __nv_hypot __nv_hypotf(x, y);
        __nv_j0 __nv_j0f(x);
        __nv_j1 __nv_j1f(x);
        __nv_lgamma __nv_lgammaf(x);
        __nv_log __nv_logf(x);
        __nv_log10 __nv_log10f(x);
        __nv_log1p __nv_log1pf(x);
        __nv_log2 __nv_log2f(x);
        __nv_pow __nv_powf(x, y);
        __nv_rcbrt __nv_rcbrtf(x);
        __nv_rint __nv_rintf(x);
        __nv_round __nv_roundf(x);
        __nv_rsqrt __nv_rsqrtf(x);
        __nv_sin __nv_sinf(x);
        __nv_sinh __nv_sinhf(x);
        __nv_sqrt __nv_sqrtf(x);
        __nv_tan __nv_tanf(x);
        __nv_tanh __nv_tanhf(x);
        __nv_tgamma __nv_tgammaf(x);
        __nv_trunc __nv_truncf(x);
        __nv_y0 __nv_y0f(x);
        __nv_y1 __nv_y1f(x);
    }
}
