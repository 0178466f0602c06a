//! Floats of 32 and 64 bits: arithmetic with every rounding, the hardware's approximations, and
//! conversions. [`GpuFloat`](crate::GpuFloat) and [`FloatExt`](crate::FloatExt) have much of it as
//! methods.
//!
//! `rn` rounds to nearest, `rz` towards zero, `rm` down, `rp` up; `ftz` makes subnormal numbers
//! zero, `sat` clamps to 0..=1 and makes NaN 0.

cuda_std_macros::intrinsics! {
    for (R, WHERE) in [(rn, "nearest"), (rz, "zero"), (rm, "minus infinity"), (rp, "infinity")] {
        for OP in [add, sub, mul] {
            for (MODE, M) in [("", ""), (ftz, ".ftz"), (sat, ".sat"), (ftz_sat, ".ftz.sat")] {
                /// `<OP>` of `f32`, rounded to <WHERE>. <MODE>
                #[pure]
                fn OP_R_MODE_f32(a: f32, b: f32) -> f32 = "<OP>.<R><M>.f32 {ret}, {a}, {b};";
            }
            /// `<OP>` of `f64`, rounded to <WHERE>.
            #[pure]
            fn OP_R_f64(a: f64, b: f64) -> f64 = "<OP>.<R>.f64 {ret}, {a}, {b};";
            /// `<OP>` of two `f32` in 64 bits, rounded to <WHERE>.
            #[requires(sm_100)]
            #[pure]
            fn OP_R_f32x2(a: u64, b: u64) -> u64 = "<OP>.<R>.f32x2 {ret}, {a}, {b};";
        }
        for (MODE, M) in [("", ""), (ftz, ".ftz"), (sat, ".sat"), (ftz_sat, ".ftz.sat")] {
            /// `a * b + c` of `f32`, rounded once, to <WHERE>. <MODE>
            #[pure]
            fn fma_R_MODE_f32(a: f32, b: f32, c: f32) -> f32 = "fma.<R><M>.f32 {ret}, {a}, {b}, {c};";
        }
        /// `a * b + c` of `f64`, rounded once, to <WHERE>.
        #[pure]
        fn fma_R_f64(a: f64, b: f64, c: f64) -> f64 = "fma.<R>.f64 {ret}, {a}, {b}, {c};";
        /// `a * b + c` of two `f32` in 64 bits, rounded once, to <WHERE>.
        #[requires(sm_100)]
        #[pure]
        fn fma_R_f32x2(a: u64, b: u64, c: u64) -> u64 = "fma.<R>.f32x2 {ret}, {a}, {b}, {c};";
        for (MODE, M) in [("", ""), (ftz, ".ftz")] {
            /// The quotient, rounded to <WHERE>. <MODE>
            #[pure]
            fn div_R_MODE_f32(a: f32, b: f32) -> f32 = "div.<R><M>.f32 {ret}, {a}, {b};";
            for OP in [rcp, sqrt] {
                /// `<OP>`: the reciprocal or the square root, rounded to <WHERE>. <MODE>
                #[pure]
                fn OP_R_MODE_f32(a: f32) -> f32 = "<OP>.<R><M>.f32 {ret}, {a};";
            }
        }
        /// The quotient, rounded to <WHERE>.
        #[pure]
        fn div_R_f64(a: f64, b: f64) -> f64 = "div.<R>.f64 {ret}, {a}, {b};";
        for OP in [rcp, sqrt] {
            /// `<OP>`: the reciprocal or the square root, rounded to <WHERE>.
            #[pure]
            fn OP_R_f64(a: f64) -> f64 = "<OP>.<R>.f64 {ret}, {a};";
        }
        for TY in [f16, bf16] {
            /// `a * b + c`, with `a` and `b` in `<TY>`, rounded to <WHERE>.
            #[requires(sm_100)]
            #[pure]
            fn fma_R_f32_TY(a: u16, b: u16, c: f32) -> f32 = "fma.<R>.f32.<TY> {ret}, {a}, {b}, {c};";
            for OP in [add, sub] {
                /// `<OP>` of a `<TY>` and an `f32`, rounded to <WHERE>.
                #[requires(sm_100)]
                #[pure]
                fn OP_R_f32_TY(a: u16, c: f32) -> f32 = "<OP>.<R>.f32.<TY> {ret}, {a}, {c};";
            }
        }
        // Conversions.
        for (INT, RUST) in [(s32, i32), (u32, u32), (s64, i64), (u64, u64)] {
            for (TY, FLOAT) in [(f32, f32), (f64, f64)] {
                /// An integer as a float, rounded to <WHERE>.
                #[pure]
                fn cvt_R_TY_INT(a: RUST) -> FLOAT = "cvt.<R>.<TY>.<INT> {ret}, {a};";
            }
        }
        /// A narrower float, rounded to <WHERE>.
        #[pure]
        fn cvt_R_f32_f64(a: f64) -> f32 = "cvt.<R>.f32.f64 {ret}, {a};";
    }
    for (R, WHERE) in [(rni, "the nearest"), (rzi, "that towards zero"), (rmi, "the one below"), (rpi, "the one above")] {
        for (INT, RUST) in [(s32, i32), (u32, u32), (s64, i64), (u64, u64)] {
            for (TY, FLOAT) in [(f32, f32), (f64, f64)] {
                /// A float as an integer: <WHERE>; the nearest end of those that are too large, and
                /// the one that the hardware has for NaN.
                #[pure]
                fn cvt_R_INT_TY(a: FLOAT) -> RUST = "cvt.<R>.<INT>.<TY> {ret}, {a};";
            }
        }
        for (TY, FLOAT) in [(f32, f32), (f64, f64)] {
            /// A float made integral: <WHERE>.
            #[pure]
            fn cvt_R_TY_TY(a: FLOAT) -> FLOAT = "cvt.<R>.<TY>.<TY> {ret}, {a};";
        }
    }
    for (MODE, M) in [("", ""), (ftz, ".ftz")] {
        for OP in [rcp, sqrt, rsqrt, sin, cos, lg2, ex2] {
            /// `<OP>`, by the hardware's approximation. <MODE>
            #[pure]
            fn OP_approx_MODE_f32(a: f32) -> f32 = "<OP>.approx<M>.f32 {ret}, {a};";
        }
        for OP in [approx, full] {
            /// The quotient, by the approximation `<OP>`. <MODE>
            #[pure]
            fn div_OP_MODE_f32(a: f32, b: f32) -> f32 = "div.<OP><M>.f32 {ret}, {a}, {b};";
        }
        for OP in [min, max] {
            /// `<OP>`: a number if one of both is. <MODE>
            #[pure]
            fn OP_MODE_f32(a: f32, b: f32) -> f32 = "<OP><M>.f32 {ret}, {a}, {b};";
            /// `<OP>`: a NaN if one of both is. <MODE>
            #[requires(sm_80)]
            #[pure]
            fn OP_MODE_nan_f32(a: f32, b: f32) -> f32 = "<OP><M>.NaN.f32 {ret}, {a}, {b};";
            /// `<OP>` of the magnitudes, with the signs' product. <MODE>
            #[requires(sm_86)]
            #[pure]
            fn OP_MODE_xorsign_abs_f32(a: f32, b: f32) -> f32 = "<OP><M>.xorsign.abs.f32 {ret}, {a}, {b};";
            /// `<OP>` of three. <MODE>
            #[requires(sm_100)]
            #[pure]
            fn OP_MODE_three_f32(a: f32, b: f32, c: f32) -> f32 = "<OP><M>.f32 {ret}, {a}, {b}, {c};";
            /// `<OP>` of the magnitudes of three. <MODE>
            #[requires(sm_100)]
            #[pure]
            fn OP_MODE_abs_three_f32(a: f32, b: f32, c: f32) -> f32 = "<OP><M>.abs.f32 {ret}, {a}, {b}, {c};";
        }
        for OP in [abs, neg] {
            /// `<OP>`. <MODE>
            #[pure]
            fn OP_MODE_f32(a: f32) -> f32 = "<OP><M>.f32 {ret}, {a};";
        }
    }
    /// The hyperbolic tangent, by the hardware's approximation.
    #[requires(sm_75)]
    #[pure]
    fn tanh_approx_f32(a: f32) -> f32 = "tanh.approx.f32 {ret}, {a};";
    for OP in [rcp, rsqrt] {
        /// `<OP>`, with 20 bits of fraction.
        #[pure]
        fn OP_approx_ftz_f64(a: f64) -> f64 = "<OP>.approx.ftz.f64 {ret}, {a};";
    }
    /// The reciprocal of the square root, nearly to the last place.
    #[pure]
    fn rsqrt_approx_f64(a: f64) -> f64 = "rsqrt.approx.f64 {ret}, {a};";
    for OP in [min, max] {
        /// `<OP>`: a number if one of both is.
        #[pure]
        fn OP_f64(a: f64, b: f64) -> f64 = "<OP>.f64 {ret}, {a}, {b};";
    }
    for (TY, FLOAT) in [(f32, f32), (f64, f64)] {
        /// `b` with the sign of `a`.
        #[pure]
        fn copysign_TY(a: FLOAT, b: FLOAT) -> FLOAT = "copysign.<TY> {ret}, {a}, {b};";
        for KIND in [finite, infinite, number, notanumber, normal, subnormal] {
            /// Whether it is `<KIND>`.
            #[pure]
            fn testp_KIND_TY(a: FLOAT) -> bool = "testp.<KIND>.<TY> {ret}, {a};";
        }
    }
    /// A `tf32`: 10 bits of fraction, to nearest, halves away from zero.
    #[requires(sm_80)]
    #[pure]
    fn cvt_rna_tf32_f32(a: f32) -> u32 = "cvt.rna.tf32.f32 {ret}, {a};";
    for R in [rn, rz] {
        for (MODE, M) in [("", ""), (relu, ".relu")] {
            /// A `tf32`: 10 bits of fraction, by <R>. <MODE>
            #[requires(sm_90)]
            #[pure]
            fn cvt_R_MODE_tf32_f32(a: f32) -> u32 = "cvt.<R><M>.tf32.f32 {ret}, {a};";
        }
    }
}
