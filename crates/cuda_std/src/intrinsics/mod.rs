//! The device's instructions and functions, as they are: the one table of PTX, libdevice's math and
//! the system calls. Everything here has a better face in the other modules.
//!
//! # The table
//! An instruction is a row of an `intrinsics!` table, in one of the files of this folder:
//!
//! ```text
//! /// The sum of a number over the threads of `mask`.
//! #[requires(sm_80)]
//! #[convergent]
//! fn redux_sync_add_u32(value: u32, mask: u32) -> u32 = "redux.sync.add.u32 {ret}, {value}, {mask};";
//! ```
//!
//! From it come the device's function, which is that one instruction; a function of the same name
//! and type for the host, which panics, so that code that mentions it compiles for both; the check
//! that the architecture has it, which is an error at the line of whoever calls it; and the row of
//! [`rows`], from which `docs/intrinsics.md` and the tests come. A test assembles every row for the
//! oldest and the newest architecture that has it.
//!
//! - *Operands* stand in braces: `{value}`, the result is `{ret}`. An array is a vector of
//!   operands, braces included, and `{a.1}` one of it; `{ret.0}` is the first of several results.
//!   `bool` is a predicate, `u128` a `.b128` register, and `&mut` an operand that is read and
//!   written. Halves are `u16`, a pair of them a `u32`. `{p:shared}` is the pointer `p` as an
//!   address of shared memory (also `global`, `const`, `local`).
//! - *Immediates* are const parameters, and a range makes other values compile errors:
//!   `fn f<const N: u32 in 0..=15>()`.
//! - *Effects*: `#[pure]`: only the result counts; `#[reads]`: so, but it reads memory;
//!   `#[volatile]`: it does something, not to memory; else it may read and write memory.
//!   `#[convergent]`: the threads of a warp execute it together.
//! - *Architectures*: `#[requires(sm_80)]`, or several of which one is enough:
//!   `#[requires(sm_90a, sm_100f)]`.
//! - `#[cpu(EXPRESSION)]`: the row's value in a thread of a kernel on the CPU (`cust::launch_cpu`), made
//!   of the arguments and of functions of the module `cpu`. Rows without it end the launch with an error.
//! - A row may name an intrinsic of NVVM's instead, `= nvvm "llvm.nvvm.…"`, where libnvvm knows more
//!   of it than an assembly would tell.
//! - `for OP in [add, min] { … }` repeats rows: `OP` is a word of a name (`redux_OP`), or `<OP>` in a
//!   text.

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

/// All rows of the table.
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

// The system calls that every GPU program has: CUDA's `printf` and its device heap.
cuda_std_macros::foreign! {
    /// Prints `format` (C's `printf` format, NUL-terminated) with `arguments`, a pointer to the
    /// arguments laid out as a C struct.
    ///
    /// # Safety
    /// The arguments are what the format says.
    pub unsafe fn vprintf(format: *const u8, arguments: *const u8) -> i32;
    /// Memory of the device heap, aligned to 16 bytes, or null.
    ///
    /// # Safety
    /// As C's function.
    pub unsafe fn malloc(size: usize) -> *mut u8;
    /// Gives back what `malloc` returned.
    ///
    /// # Safety
    /// The pointer is null or from `malloc`, and not given back yet.
    pub unsafe fn free(pointer: *mut u8);
    /// Ends the launch as a failed `assert`, with texts that end with a NUL and whose characters have
    /// `char_size` bytes.
    ///
    /// # Safety
    /// The pointers are to such texts.
    pub unsafe fn __assertfail(
        message: *const u8,
        file: *const u8,
        line: u32,
        function: *const u8,
        char_size: usize,
    );
}

/// libdevice's functions, under their own names: NVIDIA's `libm` for the device.
/// [`GpuFloat`](crate::GpuFloat) has them as methods that exist on the host too.
pub mod libdevice {
    /// Declares one libdevice function for each width: `name f64, name f32 (arguments)`.
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
        /// `x` times two to a power.
        pub fn __nv_ldexp(x: f64, power: i32) -> f64;
        /// `x` times two to a power.
        pub fn __nv_ldexpf(x: f32, power: i32) -> f32;
        /// The exponent of `x`.
        pub fn __nv_ilogb(x: f64) -> i32;
        /// The exponent of `x`.
        pub fn __nv_ilogbf(x: f32) -> i32;
        /// `x` to an integer power.
        pub fn __nv_powi(x: f64, power: i32) -> f64;
        /// `x` to an integer power.
        pub fn __nv_powif(x: f32, power: i32) -> f32;
        /// The Bessel function of the first kind of order `n`.
        pub fn __nv_jn(n: i32, x: f64) -> f64;
        /// The Bessel function of the first kind of order `n`.
        pub fn __nv_jnf(n: i32, x: f32) -> f32;
        /// The Bessel function of the second kind of order `n`.
        pub fn __nv_yn(n: i32, x: f64) -> f64;
        /// The Bessel function of the second kind of order `n`.
        pub fn __nv_ynf(n: i32, x: f32) -> f32;
        /// The sine, quick and rough.
        pub fn __nv_fast_sinf(x: f32) -> f32;
        /// The cosine, quick and rough.
        pub fn __nv_fast_cosf(x: f32) -> f32;
        /// The tangent, quick and rough.
        pub fn __nv_fast_tanf(x: f32) -> f32;
        /// `e` to the power of `x`, quick and rough.
        pub fn __nv_fast_expf(x: f32) -> f32;
        /// 10 to the power of `x`, quick and rough.
        pub fn __nv_fast_exp10f(x: f32) -> f32;
        /// The natural logarithm, quick and rough.
        pub fn __nv_fast_logf(x: f32) -> f32;
        /// The logarithm to base 2, quick and rough.
        pub fn __nv_fast_log2f(x: f32) -> f32;
        /// The logarithm to base 10, quick and rough.
        pub fn __nv_fast_log10f(x: f32) -> f32;
        /// `x` to the power of `y`, quick and rough.
        pub fn __nv_fast_powf(x: f32, y: f32) -> f32;
        /// `x / y`, quick and rough.
        pub fn __nv_fast_fdividef(x: f32, y: f32) -> f32;
    }

    /// Declares libdevice's functions with results through pointers.
    macro_rules! with_pointers {
        ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $ty:ty),*) $(-> $ret:ty)?;)*) => {
            cuda_std_macros::foreign! {
                $(
                    $(#[$doc])*
                    ///
                    /// # Safety
                    /// The pointers are good for writes.
                    pub unsafe fn $name($($arg: $ty),*) $(-> $ret)?;
                )*
            }
        };
    }
    with_pointers! {
        /// `x` as a number from 0.5 to 1 and a power of two.
        fn __nv_frexp(x: f64, power: *mut i32) -> f64;
        /// `x` as a number from 0.5 to 1 and a power of two.
        fn __nv_frexpf(x: f32, power: *mut i32) -> f32;
        /// The fractional part of `x`, and the integer part.
        fn __nv_modf(x: f64, integer: *mut f64) -> f64;
        /// The fractional part of `x`, and the integer part.
        fn __nv_modff(x: f32, integer: *mut f32) -> f32;
        /// The remainder, and the lowest bits of the quotient.
        fn __nv_remquo(x: f64, y: f64, quotient: *mut i32) -> f64;
        /// The remainder, and the lowest bits of the quotient.
        fn __nv_remquof(x: f32, y: f32, quotient: *mut i32) -> f32;
        /// Sine and cosine.
        fn __nv_sincos(x: f64, sine: *mut f64, cosine: *mut f64);
        /// Sine and cosine.
        fn __nv_sincosf(x: f32, sine: *mut f32, cosine: *mut f32);
        /// Sine and cosine of `x` times π.
        fn __nv_sincospi(x: f64, sine: *mut f64, cosine: *mut f64);
        /// Sine and cosine of `x` times π.
        fn __nv_sincospif(x: f32, sine: *mut f32, cosine: *mut f32);
        /// Sine and cosine, quick and rough.
        fn __nv_fast_sincosf(x: f32, sine: *mut f32, cosine: *mut f32);
    }
}
