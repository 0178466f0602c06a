//! The instructions and functions of the device: the single table of PTX instructions, libdevice's
//! math functions and system calls. The other modules of this crate are wrappers that are easier to
//! use.
//!
//! # The table
//! An instruction is a row of an `intrinsics!` table, in one of the files of this directory:
//!
//! ```text
//! /// Returns the sum of `value` over the threads of `mask`.
//! #[requires(sm_80)]
//! #[convergent]
//! fn redux_sync_add_u32(value: u32, mask: u32) -> u32 = "redux.sync.add.u32 {ret}, {value}, {mask};";
//! ```
//!
//! The macro generates from each row:
//!
//! - the device's function, which is this one instruction;
//! - a function with the same name and signature for the host, which panics, so that code that
//!   mentions it compiles for both;
//! - the check that the target architecture has the instruction, which otherwise is a compile-time
//!   error at the call;
//! - an entry of [`rows`], from which `docs/intrinsics.md` and the tests are generated. A test
//!   assembles every row for the oldest and the newest architecture that has it.
//!
//! The notation:
//!
//! - *Operands* are in braces: `{value}`; the result is `{ret}`. An array is a vector of operands,
//!   including PTX's braces; `{a.1}` is one of its elements, and `{ret.0}` the first of several
//!   results. `bool` is a predicate, `u128` a `.b128` register, and `&mut` an operand that is read
//!   and written. fp16 and bf16 values are `u16`, pairs of them `u32`. `{p:shared}` is the pointer
//!   `p` as an address in shared memory (also `global`, `const`, `local`).
//! - *Immediates* are const parameters. A range makes other values compile-time errors:
//!   `fn f<const N: u32 in 0..=15>()`.
//! - *Effects*: `#[pure]`: no effect besides the result; `#[reads]`: the same, but it reads memory;
//!   `#[volatile]`: it has effects, but not on memory; none of these: it may read and write memory.
//!   `#[convergent]`: the threads of a warp execute it together.
//! - *Architectures*: `#[requires(sm_80)]`, or a list of which one is sufficient:
//!   `#[requires(sm_90a, sm_100f)]`.
//! - `#[cpu(EXPRESSION)]`: the implementation for threads of a kernel on the CPU
//!   (`cust::launch_cpu`), an expression of the arguments and of functions of the module `cpu`.
//!   Rows without it fail the launch with an error.
//! - A row may name an NVVM intrinsic instead, `= nvvm "llvm.nvvm.…"`, if libnvvm knows more about
//!   it than about inline assembly.
//! - `for OP in [add, min] { … }` repeats rows: `OP` is a word of a name (`redux_OP`), or `<OP>` in
//!   a string.

pub mod atomic;
pub mod float;
pub mod half;
pub mod integer;
pub mod matrix;
pub mod memory;
mod row;
pub mod special;
pub mod synchronization;
#[cfg(feature = "tcgen05")]
pub mod tcgen05;
pub mod texture;
pub mod transfer;
pub mod warp;
#[cfg(feature = "wgmma")]
pub mod wgmma;
pub mod wmma;

#[cfg(not(target_arch = "nvptx64"))]
pub use row::{Effect, Register, Row};

/// Returns all rows of the table.
#[cfg(not(target_arch = "nvptx64"))]
pub fn rows() -> impl Iterator<Item = &'static Row> {
    let tables = [
        special::ROWS,
        synchronization::ROWS,
        warp::ROWS,
        memory::ROWS,
        atomic::ROWS,
        atomic::cluster::ROWS,
        integer::ROWS,
        float::ROWS,
        half::ROWS,
        matrix::ROWS,
        wmma::ROWS,
        #[cfg(feature = "wgmma")]
        wgmma::ROWS,
        #[cfg(feature = "tcgen05")]
        tcgen05::ROWS,
        transfer::ROWS,
        texture::ROWS,
    ];
    tables.into_iter().flatten()
}

#[cfg(not(target_arch = "nvptx64"))]
pub(crate) use crate::session::only_on_device;

// The system calls that every GPU program can use: CUDA's `printf` and its device heap.
cuda_std_macros::foreign! {
    /// Prints `format` (C's `printf` format, NUL-terminated) with `arguments`, a pointer to the
    /// arguments in the layout of a C struct.
    ///
    /// # Safety
    /// The arguments must match the format.
    pub unsafe fn vprintf(format: *const u8, arguments: *const u8) -> i32;
    /// Allocates memory of the device heap, aligned to 16 bytes, or returns null.
    ///
    /// # Safety
    /// As for C's `malloc`.
    pub unsafe fn malloc(size: usize) -> *mut u8;
    /// Frees memory that `malloc` returned.
    ///
    /// # Safety
    /// `pointer` must be null, or come from `malloc` and not have been freed.
    pub unsafe fn free(pointer: *mut u8);
    /// Fails the launch as a failed `assert` does. The strings are NUL-terminated and have
    /// characters of `char_size` bytes.
    ///
    /// # Safety
    /// The pointers must be to such strings.
    pub unsafe fn __assertfail(
        message: *const u8,
        file: *const u8,
        line: u32,
        function: *const u8,
        char_size: usize,
    );
}

/// libdevice's functions, under their own names: NVIDIA's `libm` for the device.
/// [`GpuFloat`](crate::GpuFloat) has them as methods that also exist on the host.
pub mod libdevice {
    /// Declares each libdevice function for both widths: `name f64, name f32 (arguments)`.
    macro_rules! libdevice {
        ($($f64:ident $f32:ident($($arg:ident),*);)*) => {
            cuda_std_macros::foreign! {
                $(
                    #[doc = concat!("`", stringify!($f64), "` of libdevice.")]
                    pub fn $f64($($arg: f64),*) -> f64;
                    #[doc = concat!("`", stringify!($f32), "` of libdevice.")]
                    pub fn $f32($($arg: f32),*) -> f32;
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
        __nv_copysign __nv_copysignf(x, y);
        __nv_cospi __nv_cospif(x);
        __nv_cyl_bessel_i0 __nv_cyl_bessel_i0f(x);
        __nv_cyl_bessel_i1 __nv_cyl_bessel_i1f(x);
        __nv_erfcinv __nv_erfcinvf(x);
        __nv_erfcx __nv_erfcxf(x);
        __nv_erfinv __nv_erfinvf(x);
        __nv_fabs __nv_fabsf(x);
        __nv_fdim __nv_fdimf(x, y);
        __nv_fmax __nv_fmaxf(x, y);
        __nv_fmin __nv_fminf(x, y);
        __nv_fmod __nv_fmodf(x, y);
        __nv_logb __nv_logbf(x);
        __nv_nearbyint __nv_nearbyintf(x);
        __nv_nextafter __nv_nextafterf(x, y);
        __nv_norm3d __nv_norm3df(x, y, z);
        __nv_norm4d __nv_norm4df(x, y, z, w);
        __nv_normcdf __nv_normcdff(x);
        __nv_normcdfinv __nv_normcdfinvf(x);
        __nv_remainder __nv_remainderf(x, y);
        __nv_rhypot __nv_rhypotf(x, y);
        __nv_rnorm3d __nv_rnorm3df(x, y, z);
        __nv_rnorm4d __nv_rnorm4df(x, y, z, w);
        __nv_sinpi __nv_sinpif(x);
    }

    cuda_std_macros::foreign! {
        /// Returns `x` multiplied by 2 raised to the power of `power`.
        pub fn __nv_ldexp(x: f64, power: i32) -> f64;
        /// Returns `x` multiplied by 2 raised to the power of `power`.
        pub fn __nv_ldexpf(x: f32, power: i32) -> f32;
        /// Returns the exponent of `x`.
        pub fn __nv_ilogb(x: f64) -> i32;
        /// Returns the exponent of `x`.
        pub fn __nv_ilogbf(x: f32) -> i32;
        /// Returns `x` raised to an integer power.
        pub fn __nv_powi(x: f64, power: i32) -> f64;
        /// Returns `x` raised to an integer power.
        pub fn __nv_powif(x: f32, power: i32) -> f32;
        /// Returns the Bessel function of the first kind of order `n`.
        pub fn __nv_jn(n: i32, x: f64) -> f64;
        /// Returns the Bessel function of the first kind of order `n`.
        pub fn __nv_jnf(n: i32, x: f32) -> f32;
        /// Returns the Bessel function of the second kind of order `n`.
        pub fn __nv_yn(n: i32, x: f64) -> f64;
        /// Returns the Bessel function of the second kind of order `n`.
        pub fn __nv_ynf(n: i32, x: f32) -> f32;
        /// Returns a fast approximation of the sine.
        pub fn __nv_fast_sinf(x: f32) -> f32;
        /// Returns a fast approximation of the cosine.
        pub fn __nv_fast_cosf(x: f32) -> f32;
        /// Returns a fast approximation of the tangent.
        pub fn __nv_fast_tanf(x: f32) -> f32;
        /// Returns a fast approximation of `e` raised to the power of `x`.
        pub fn __nv_fast_expf(x: f32) -> f32;
        /// Returns a fast approximation of 10 raised to the power of `x`.
        pub fn __nv_fast_exp10f(x: f32) -> f32;
        /// Returns a fast approximation of the natural logarithm.
        pub fn __nv_fast_logf(x: f32) -> f32;
        /// Returns a fast approximation of the base 2 logarithm.
        pub fn __nv_fast_log2f(x: f32) -> f32;
        /// Returns a fast approximation of the base 10 logarithm.
        pub fn __nv_fast_log10f(x: f32) -> f32;
        /// Returns a fast approximation of `x` raised to the power of `y`.
        pub fn __nv_fast_powf(x: f32, y: f32) -> f32;
        /// Returns a fast approximation of `x / y`.
        pub fn __nv_fast_fdividef(x: f32, y: f32) -> f32;
    }

    /// Declares libdevice functions that return results through pointers.
    macro_rules! with_pointers {
        ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $ty:ty),*) $(-> $ret:ty)?;)*) => {
            cuda_std_macros::foreign! {
                $(
                    $(#[$doc])*
                    ///
                    /// # Safety
                    /// The pointers must be valid for writes.
                    pub unsafe fn $name($($arg: $ty),*) $(-> $ret)?;
                )*
            }
        };
    }
    with_pointers! {
        /// Splits `x` into a significand from 0.5 to 1, which it returns, and a power of two.
        fn __nv_frexp(x: f64, power: *mut i32) -> f64;
        /// Splits `x` into a significand from 0.5 to 1, which it returns, and a power of two.
        fn __nv_frexpf(x: f32, power: *mut i32) -> f32;
        /// Splits `x` into its fractional part, which it returns, and its integer part.
        fn __nv_modf(x: f64, integer: *mut f64) -> f64;
        /// Splits `x` into its fractional part, which it returns, and its integer part.
        fn __nv_modff(x: f32, integer: *mut f32) -> f32;
        /// Computes the remainder, which it returns, and the lowest bits of the quotient.
        fn __nv_remquo(x: f64, y: f64, quotient: *mut i32) -> f64;
        /// Computes the remainder, which it returns, and the lowest bits of the quotient.
        fn __nv_remquof(x: f32, y: f32, quotient: *mut i32) -> f32;
        /// Computes the sine and the cosine.
        fn __nv_sincos(x: f64, sine: *mut f64, cosine: *mut f64);
        /// Computes the sine and the cosine.
        fn __nv_sincosf(x: f32, sine: *mut f32, cosine: *mut f32);
        /// Computes the sine and the cosine of `x` times π.
        fn __nv_sincospi(x: f64, sine: *mut f64, cosine: *mut f64);
        /// Computes the sine and the cosine of `x` times π.
        fn __nv_sincospif(x: f32, sine: *mut f32, cosine: *mut f32);
        /// Computes fast approximations of the sine and the cosine.
        fn __nv_fast_sincosf(x: f32, sine: *mut f32, cosine: *mut f32);
    }
}
