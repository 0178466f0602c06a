//! fp16 (`f16`) and bf16 (`bf16`), pairs of them, and the fp8, fp6 and fp4 formats. An fp16 or bf16
//! value is a `u16` here, a pair a `u32` with the first value in the lower bits.
//! [`half`](crate::half) has types for them.
//!
//! Suffixes of names: `rn` rounds to nearest even, `rz` toward zero, `rm` toward minus infinity,
//! `rp` toward infinity; `ftz` flushes subnormal numbers to zero; `sat` clamps to 0..=1 and
//! converts NaN to 0; `relu` clamps negative results to 0; `nan` returns NaN if an operand is NaN.

cuda_std_macros::intrinsics! {
    // `f16` and pairs of them.
    for (TY, RUST) in [(f16, u16), (f16x2, u32)] {
        for OP in [add, sub, mul] {
            /// Computes `<OP>`, rounding to nearest even. With the option `fma`, a product that only
            /// one sum or difference uses is fused with it.
            #[pure]
            fn OP_TY(a: RUST, b: RUST) -> RUST = "<OP>.<TY> {ret}, {a}, {b};";
            for (MODE, M) in [("", ""), (ftz, ".ftz"), (sat, ".sat")] {
                /// Computes `<OP>`.
                #[pure]
                fn OP_rn_MODE_TY(a: RUST, b: RUST) -> RUST = "<OP>.rn<M>.<TY> {ret}, {a}, {b};";
            }
        }
        for (MODE, M) in [("", ""), (ftz, ".ftz"), (sat, ".sat")] {
            /// Returns `a * b + c`, rounded once.
            #[pure]
            fn fma_rn_MODE_TY(a: RUST, b: RUST, c: RUST) -> RUST = "fma.rn<M>.<TY> {ret}, {a}, {b}, {c};";
        }
        /// Returns `a * b + c`, rounded once, clamping negative results to 0.
        #[requires(sm_80)]
        #[pure]
        fn fma_rn_relu_TY(a: RUST, b: RUST, c: RUST) -> RUST = "fma.rn.relu.<TY> {ret}, {a}, {b}, {c};";
        for OP in [abs, neg] {
            /// Computes `<OP>`.
            #[pure]
            fn OP_TY(a: RUST) -> RUST = "<OP>.<TY> {ret}, {a};";
        }
        for OP in [ex2, tanh] {
            /// Computes `<OP>` with the hardware's approximation.
            #[requires(sm_75)]
            #[pure]
            fn OP_approx_TY(a: RUST) -> RUST = "<OP>.approx.<TY> {ret}, {a};";
        }
        for OP in [min, max] {
            for (MODE, M) in [("", ""), (ftz, ".ftz"), (nan, ".NaN")] {
                /// Computes the <OP>.
                #[requires(sm_80)]
                #[pure]
                fn OP_MODE_TY(a: RUST, b: RUST) -> RUST = "<OP><M>.<TY> {ret}, {a}, {b};";
            }
            /// Computes the <OP> of the absolute values, with the XOR of the signs.
            #[requires(sm_86)]
            #[pure]
            fn OP_xorsign_abs_TY(a: RUST, b: RUST) -> RUST = "<OP>.xorsign.abs.<TY> {ret}, {a}, {b};";
        }
    }
    // `bf16` and pairs of them.
    for (TY, RUST) in [(bf16, u16), (bf16x2, u32)] {
        for OP in [add, sub, mul] {
            /// Computes `<OP>`, rounding to nearest even. With the option `fma`, a product that only
            /// one sum or difference uses is fused with it.
            #[requires(sm_90)]
            #[pure]
            fn OP_TY(a: RUST, b: RUST) -> RUST = "<OP>.<TY> {ret}, {a}, {b};";
            /// Computes `<OP>`.
            #[requires(sm_90)]
            #[pure]
            fn OP_rn_TY(a: RUST, b: RUST) -> RUST = "<OP>.rn.<TY> {ret}, {a}, {b};";
        }
        for (MODE, M) in [("", ""), (relu, ".relu")] {
            /// Returns `a * b + c`, rounded once.
            #[requires(sm_80)]
            #[pure]
            fn fma_rn_MODE_TY(a: RUST, b: RUST, c: RUST) -> RUST = "fma.rn<M>.<TY> {ret}, {a}, {b}, {c};";
        }
        for OP in [abs, neg] {
            /// Computes `<OP>`.
            #[requires(sm_80)]
            #[pure]
            fn OP_TY(a: RUST) -> RUST = "<OP>.<TY> {ret}, {a};";
        }
        /// Returns 2 raised to the power of `a`, with the hardware's approximation.
        #[requires(sm_90)]
        #[pure]
        fn ex2_approx_ftz_TY(a: RUST) -> RUST = "ex2.approx.ftz.<TY> {ret}, {a};";
        /// Computes the hyperbolic tangent with the hardware's approximation.
        #[requires(sm_90)]
        #[pure]
        fn tanh_approx_TY(a: RUST) -> RUST = "tanh.approx.<TY> {ret}, {a};";
        for OP in [min, max] {
            for (MODE, M) in [("", ""), (nan, ".NaN")] {
                /// Computes the <OP>.
                #[requires(sm_80)]
                #[pure]
                fn OP_MODE_TY(a: RUST, b: RUST) -> RUST = "<OP><M>.<TY> {ret}, {a}, {b};";
            }
            /// Computes the <OP> of the absolute values, with the XOR of the signs.
            #[requires(sm_86)]
            #[pure]
            fn OP_xorsign_abs_TY(a: RUST, b: RUST) -> RUST = "<OP>.xorsign.abs.<TY> {ret}, {a}, {b};";
        }
    }
    // Fused multiply-adds with the PTX modifier `.oob`.
    for (TY, RUST) in [(f16, u16), (f16x2, u32), (bf16, u16), (bf16x2, u32)] {
        for (MODE, M) in [("", ""), (relu, ".relu")] {
            /// Returns `a * b + c`, or 0 if an operand is the special NaN that tensor copies fill
            /// in for elements out of bounds (the PTX modifier `.oob`).
            #[requires(sm_90)]
            #[pure]
            fn fma_rn_oob_MODE_TY(a: RUST, b: RUST, c: RUST) -> RUST = "fma.rn.oob<M>.<TY> {ret}, {a}, {b}, {c};";
        }
    }

    // Comparisons. Each result of a pair is 1.0 or 0.
    for CMP in [eq, ne, lt, le, gt, ge, equ, neu, ltu, leu, gtu, geu, num, nan] {
        /// Compares two `f16`.
        #[pure]
        fn setp_CMP_f16(a: u16, b: u16) -> bool = "setp.<CMP>.f16 {ret}, {a}, {b};";
        /// Compares two pairs of `f16`. Each half of the result is 1.0 or 0.
        #[pure]
        fn set_CMP_f16x2(a: u32, b: u32) -> u32 = "set.<CMP>.f16x2.f16x2 {ret}, {a}, {b};";
        /// Compares two `bf16`.
        #[requires(sm_90)]
        #[pure]
        fn setp_CMP_bf16(a: u16, b: u16) -> bool = "setp.<CMP>.bf16 {ret}, {a}, {b};";
        /// Compares two pairs of `bf16`. Each half of the result is 1.0 or 0.
        #[requires(sm_90)]
        #[pure]
        fn set_CMP_bf16x2(a: u32, b: u32) -> u32 = "set.<CMP>.bf16x2.bf16x2 {ret}, {a}, {b};";
    }

    // Conversions.
    for R in [rn, rz, rm, rp] {
        /// Converts `f32` to `f16`, with rounding mode `<R>`.
        #[pure]
        fn cvt_R_f16_f32(a: f32) -> u16 = "cvt.<R>.f16.f32 {ret}, {a};";
        /// Converts `f64` to `f16`, with rounding mode `<R>`.
        #[pure]
        fn cvt_R_f16_f64(a: f64) -> u16 = "cvt.<R>.f16.f64 {ret}, {a};";
        for (INT, RUST) in [(s16, i16), (u16, u16), (s32, i32), (u32, u32), (s64, i64), (u64, u64)] {
            /// Converts an integer to `f16`, with rounding mode `<R>`.
            #[pure]
            fn cvt_R_f16_INT(a: RUST) -> u16 = "cvt.<R>.f16.<INT> {ret}, {a};";
        }
    }
    for R in [rni, rzi, rmi, rpi] {
        for (INT, RUST) in [(s16, i16), (u16, u16), (s32, i32), (u32, u32), (s64, i64), (u64, u64)] {
            /// Converts `f16` to an integer, with rounding mode `<R>`.
            #[pure]
            fn cvt_R_INT_f16(a: u16) -> RUST = "cvt.<R>.<INT>.f16 {ret}, {a};";
        }
        /// Rounds an `f16` to an integral value, with rounding mode `<R>`.
        #[pure]
        fn cvt_R_f16_f16(a: u16) -> u16 = "cvt.<R>.f16.f16 {ret}, {a};";
    }
    /// Converts `f16` to `f32`.
    #[pure]
    fn cvt_f32_f16(a: u16) -> f32 = "cvt.f32.f16 {ret}, {a};";
    /// Converts `f16` to `f64`.
    #[pure]
    fn cvt_f64_f16(a: u16) -> f64 = "cvt.f64.f16 {ret}, {a};";
    /// Converts `bf16` to `f32`.
    #[requires(sm_90)]
    #[pure]
    fn cvt_f32_bf16(a: u16) -> f32 = "cvt.f32.bf16 {ret}, {a};";
    for R in [rn, rz] {
        for (MODE, M) in [("", ""), (relu, ".relu")] {
            /// Converts `f32` to `bf16`, with rounding mode `<R>`.
            #[requires(sm_80)]
            #[pure]
            fn cvt_R_MODE_bf16_f32(a: f32) -> u16 = "cvt.<R><M>.bf16.f32 {ret}, {a};";
            for TY in [f16x2, bf16x2] {
                /// Converts two `f32` to `<TY>`, the first to the upper half, with rounding mode
                /// `<R>`.
                #[requires(sm_80)]
                #[pure]
                fn cvt_R_MODE_TY_f32(high: f32, low: f32) -> u32 = "cvt.<R><M>.<TY>.f32 {ret}, {high}, {low};";
            }
        }
    }
    for (MODE, M) in [("", ""), (relu, ".relu")] {
        for TY in [f16x2, bf16x2] {
            /// Converts two `f32` to `<TY>`, the first to the upper half, with stochastic rounding
            /// by 32 random bits.
            #[requires(sm_100a, sm_103a)]
            #[pure]
            fn cvt_rs_MODE_TY_f32(high: f32, low: f32, random: u32) -> u32 =
                "cvt.rs<M>.<TY>.f32 {ret}, {high}, {low}, {random};";
        }
        for TY in [e4m3x2, e5m2x2] {
            /// Converts two `f32` to `<TY>`, the first to the upper byte. Values that are too large
            /// become the largest value.
            #[requires(sm_89)]
            #[pure]
            fn cvt_rn_satfinite_MODE_TY_f32(high: f32, low: f32) -> u16 =
                "cvt.rn.satfinite<M>.<TY>.f32 {ret}, {high}, {low};";
            /// Converts a pair of `f16` to `<TY>`.
            #[requires(sm_89)]
            #[pure]
            fn cvt_rn_satfinite_MODE_TY_f16x2(a: u32) -> u16 = "cvt.rn.satfinite<M>.<TY>.f16x2 {ret}, {a};";
            /// Converts `<TY>` to a pair of `f16`.
            #[requires(sm_89)]
            #[pure]
            fn cvt_rn_MODE_f16x2_TY(a: u16) -> u32 = "cvt.rn<M>.f16x2.<TY> {ret}, {a};";
        }
        for TY in [e2m3x2, e3m2x2] {
            /// Converts two `f32` to `<TY>`, each in a byte, the first to the upper byte.
            #[requires(sm_100a, sm_110a, sm_120a)]
            #[pure]
            fn cvt_rn_satfinite_MODE_TY_f32(high: f32, low: f32) -> u16 =
                "cvt.rn.satfinite<M>.<TY>.f32 {ret}, {high}, {low};";
            /// Converts `<TY>` to a pair of `f16`.
            #[requires(sm_100a, sm_110a, sm_120a)]
            #[pure]
            fn cvt_rn_MODE_f16x2_TY(a: u16) -> u32 = "cvt.rn<M>.f16x2.<TY> {ret}, {a};";
        }
        /// Converts two `f32` to `e2m1`, packed in one byte, the first to the upper half.
        #[requires(sm_100a, sm_110a, sm_120a)]
        #[pure]
        fn cvt_rn_satfinite_MODE_e2m1x2_f32(high: f32, low: f32) -> u16 =
            "{ .reg .b8 %t; cvt.rn.satfinite<M>.e2m1x2.f32 %t, {high}, {low}; cvt.u16.u8 {ret}, %t; }";
        /// Converts two `e2m1`, packed in one byte, to a pair of `f16`.
        #[requires(sm_100a, sm_110a, sm_120a)]
        #[pure]
        fn cvt_rn_MODE_f16x2_e2m1x2(a: u16) -> u32 =
            "{ .reg .b8 %t; cvt.u8.u16 %t, {a}; cvt.rn<M>.f16x2.e2m1x2 {ret}, %t; }";
    }
    for R in [rz, rp] {
        /// Converts two `f32` to `ue8m0` (powers of two), the first to the upper byte, with
        /// rounding mode `<R>`.
        #[requires(sm_100a, sm_110a, sm_120a)]
        #[pure]
        fn cvt_R_satfinite_ue8m0x2_f32(high: f32, low: f32) -> u16 =
            "cvt.<R>.satfinite.ue8m0x2.f32 {ret}, {high}, {low};";
        /// Converts a pair of `bf16` to `ue8m0` (powers of two), with rounding mode `<R>`.
        #[requires(sm_100a, sm_110a, sm_120a)]
        #[pure]
        fn cvt_R_satfinite_ue8m0x2_bf16x2(a: u32) -> u16 = "cvt.<R>.satfinite.ue8m0x2.bf16x2 {ret}, {a};";
    }
    /// Converts two `ue8m0` (powers of two) to a pair of `bf16`.
    #[requires(sm_100a, sm_110a, sm_120a)]
    #[pure]
    fn cvt_rn_bf16x2_ue8m0x2(a: u16) -> u32 = "cvt.rn.bf16x2.ue8m0x2 {ret}, {a};";
}
