//! 32-bit and 64-bit floats: arithmetic with all rounding modes, the hardware's approximations, and
//! conversions. [`GpuFloat`](crate::GpuFloat) and [`FloatExt`](crate::FloatExt) have many of them
//! as methods.
//!
//! Suffixes of names: `rn` rounds to nearest even, `rz` toward zero, `rm` toward minus infinity,
//! `rp` toward infinity; `ftz` flushes subnormal numbers to zero; `sat` clamps to 0..=1 and
//! converts NaN to 0; `relu` clamps negative results to 0.

cuda_std_macros::intrinsics! {
    for (R, WHERE) in [(rn, "to nearest"), (rz, "toward zero"), (rm, "toward minus infinity"), (rp, "toward infinity")] {
        for OP in [add, sub, mul] {
            for (MODE, M) in [("", ""), (ftz, ".ftz"), (sat, ".sat"), (ftz_sat, ".ftz.sat")] {
                /// Computes `<OP>` of `f32`, rounded <WHERE>.
                #[pure]
                fn OP_R_MODE_f32(a: f32, b: f32) -> f32 = "<OP>.<R><M>.f32 {ret}, {a}, {b};";
            }
            /// Computes `<OP>` of `f64`, rounded <WHERE>.
            #[pure]
            fn OP_R_f64(a: f64, b: f64) -> f64 = "<OP>.<R>.f64 {ret}, {a}, {b};";
            /// Computes `<OP>` of two packed `f32`, rounded <WHERE>.
            #[requires(sm_100)]
            #[pure]
            fn OP_R_f32x2(a: u64, b: u64) -> u64 = "<OP>.<R>.f32x2 {ret}, {a}, {b};";
        }
        for (MODE, M) in [("", ""), (ftz, ".ftz"), (sat, ".sat"), (ftz_sat, ".ftz.sat")] {
            /// Returns `a * b + c` of `f32`, rounded once, <WHERE>.
            #[pure]
            fn fma_R_MODE_f32(a: f32, b: f32, c: f32) -> f32 = "fma.<R><M>.f32 {ret}, {a}, {b}, {c};";
        }
        /// Returns `a * b + c` of `f64`, rounded once, <WHERE>.
        #[pure]
        fn fma_R_f64(a: f64, b: f64, c: f64) -> f64 = "fma.<R>.f64 {ret}, {a}, {b}, {c};";
        /// Returns `a * b + c` of two packed `f32`, rounded once, <WHERE>.
        #[requires(sm_100)]
        #[pure]
        fn fma_R_f32x2(a: u64, b: u64, c: u64) -> u64 = "fma.<R>.f32x2 {ret}, {a}, {b}, {c};";
        for (MODE, M) in [("", ""), (ftz, ".ftz")] {
            /// Returns the quotient, rounded <WHERE>.
            #[pure]
            fn div_R_MODE_f32(a: f32, b: f32) -> f32 = "div.<R><M>.f32 {ret}, {a}, {b};";
            for OP in [rcp, sqrt] {
                /// Computes `<OP>` (the reciprocal or the square root), rounded <WHERE>.
                #[pure]
                fn OP_R_MODE_f32(a: f32) -> f32 = "<OP>.<R><M>.f32 {ret}, {a};";
            }
        }
        /// Returns the quotient, rounded <WHERE>.
        #[pure]
        fn div_R_f64(a: f64, b: f64) -> f64 = "div.<R>.f64 {ret}, {a}, {b};";
        for OP in [rcp, sqrt] {
            /// Computes `<OP>` (the reciprocal or the square root), rounded <WHERE>.
            #[pure]
            fn OP_R_f64(a: f64) -> f64 = "<OP>.<R>.f64 {ret}, {a};";
        }
        for TY in [f16, bf16] {
            /// Returns `a * b + c`, with `a` and `b` in `<TY>`, rounded <WHERE>.
            #[requires(sm_100)]
            #[pure]
            fn fma_R_f32_TY(a: u16, b: u16, c: f32) -> f32 = "fma.<R>.f32.<TY> {ret}, {a}, {b}, {c};";
            for OP in [add, sub] {
                /// Computes `<OP>` of a `<TY>` and an `f32`, rounded <WHERE>.
                #[requires(sm_100)]
                #[pure]
                fn OP_R_f32_TY(a: u16, c: f32) -> f32 = "<OP>.<R>.f32.<TY> {ret}, {a}, {c};";
            }
        }
        // Conversions.
        for (INT, RUST) in [(s32, i32), (u32, u32), (s64, i64), (u64, u64)] {
            for (TY, FLOAT) in [(f32, f32), (f64, f64)] {
                /// Converts an integer to a float, rounded <WHERE>.
                #[pure]
                fn cvt_R_TY_INT(a: RUST) -> FLOAT = "cvt.<R>.<TY>.<INT> {ret}, {a};";
            }
        }
        /// Converts `f64` to `f32`, rounded <WHERE>.
        #[pure]
        fn cvt_R_f32_f64(a: f64) -> f32 = "cvt.<R>.f32.f64 {ret}, {a};";
    }
    for (R, WHERE) in [(rni, "to nearest"), (rzi, "toward zero"), (rmi, "toward minus infinity"), (rpi, "toward infinity")] {
        for (INT, RUST) in [(s32, i32), (u32, u32), (s64, i64), (u64, u64)] {
            for (TY, FLOAT) in [(f32, f32), (f64, f64)] {
                /// Converts a float to an integer, rounded <WHERE>. Saturates values out of range;
                /// the result for NaN is the hardware's.
                #[pure]
                fn cvt_R_INT_TY(a: FLOAT) -> RUST = "cvt.<R>.<INT>.<TY> {ret}, {a};";
            }
        }
        for (TY, FLOAT) in [(f32, f32), (f64, f64)] {
            /// Rounds a float <WHERE>, to an integral value.
            #[pure]
            fn cvt_R_TY_TY(a: FLOAT) -> FLOAT = "cvt.<R>.<TY>.<TY> {ret}, {a};";
        }
    }
    for (MODE, M) in [("", ""), (ftz, ".ftz")] {
        for OP in [rcp, sqrt, rsqrt, sin, cos, lg2, ex2] {
            /// Computes `<OP>` with the hardware's approximation.
            #[pure]
            fn OP_approx_MODE_f32(a: f32) -> f32 = "<OP>.approx<M>.f32 {ret}, {a};";
        }
        for OP in [approx, full] {
            /// Returns the quotient, with the approximation `<OP>`.
            #[pure]
            fn div_OP_MODE_f32(a: f32, b: f32) -> f32 = "div.<OP><M>.f32 {ret}, {a}, {b};";
        }
        for OP in [min, max] {
            /// Computes the <OP>. If one operand is NaN, returns the other.
            #[pure]
            fn OP_MODE_f32(a: f32, b: f32) -> f32 = "<OP><M>.f32 {ret}, {a}, {b};";
            /// Computes the <OP>. If one operand is NaN, returns NaN.
            #[requires(sm_80)]
            #[pure]
            fn OP_MODE_nan_f32(a: f32, b: f32) -> f32 = "<OP><M>.NaN.f32 {ret}, {a}, {b};";
            /// Computes the <OP> of the absolute values, with the XOR of the signs.
            #[requires(sm_86)]
            #[pure]
            fn OP_MODE_xorsign_abs_f32(a: f32, b: f32) -> f32 = "<OP><M>.xorsign.abs.f32 {ret}, {a}, {b};";
            /// Computes the <OP> of three values.
            #[requires(sm_100)]
            #[pure]
            fn OP_MODE_three_f32(a: f32, b: f32, c: f32) -> f32 = "<OP><M>.f32 {ret}, {a}, {b}, {c};";
            /// Computes the <OP> of three absolute values.
            #[requires(sm_100)]
            #[pure]
            fn OP_MODE_abs_three_f32(a: f32, b: f32, c: f32) -> f32 = "<OP><M>.abs.f32 {ret}, {a}, {b}, {c};";
        }
        for OP in [abs, neg] {
            /// Computes `<OP>`.
            #[pure]
            fn OP_MODE_f32(a: f32) -> f32 = "<OP><M>.f32 {ret}, {a};";
        }
    }
    /// Computes the hyperbolic tangent with the hardware's approximation.
    #[requires(sm_75)]
    #[pure]
    fn tanh_approx_f32(a: f32) -> f32 = "tanh.approx.f32 {ret}, {a};";
    for OP in [rcp, rsqrt] {
        /// Computes `<OP>` with 20 bits of fraction.
        #[pure]
        fn OP_approx_ftz_f64(a: f64) -> f64 = "<OP>.approx.ftz.f64 {ret}, {a};";
    }
    /// Computes the reciprocal square root, with an error of a few ulps.
    #[pure]
    fn rsqrt_approx_f64(a: f64) -> f64 = "rsqrt.approx.f64 {ret}, {a};";
    for OP in [min, max] {
        /// Computes the <OP>. If one operand is NaN, returns the other.
        #[pure]
        fn OP_f64(a: f64, b: f64) -> f64 = "<OP>.f64 {ret}, {a}, {b};";
    }
    for (TY, FLOAT) in [(f32, f32), (f64, f64)] {
        /// Returns `b` with the sign of `a`.
        #[pure]
        fn copysign_TY(a: FLOAT, b: FLOAT) -> FLOAT = "copysign.<TY> {ret}, {a}, {b};";
        for KIND in [finite, infinite, number, notanumber, normal, subnormal] {
            /// Returns whether `a` has the property `<KIND>`.
            #[pure]
            fn testp_KIND_TY(a: FLOAT) -> bool = "testp.<KIND>.<TY> {ret}, {a};";
        }
    }
    /// Converts to TF32 (10 bits of fraction), rounded to nearest, ties away from zero.
    #[requires(sm_80)]
    #[pure]
    fn cvt_rna_tf32_f32(a: f32) -> u32 = "cvt.rna.tf32.f32 {ret}, {a};";
    for R in [rn, rz] {
        for (MODE, M) in [("", ""), (relu, ".relu")] {
            /// Converts to TF32 (10 bits of fraction), with rounding mode `<R>`.
            #[requires(sm_90)]
            #[pure]
            fn cvt_R_MODE_tf32_f32(a: f32) -> u32 = "cvt.<R><M>.tf32.f32 {ret}, {a};";
        }
    }
}
