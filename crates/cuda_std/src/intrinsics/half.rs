//! Halves (`f16`), `bf16`, pairs of them, and the floats of 8, 6 and 4 bits. A half is a `u16` here,
//! a pair a `u32`, the first in the lower bits. [`halves`](crate::halves) has types for them.

cuda_std_macros::intrinsics! {
    // `f16`, alone and in pairs.
    for (TY, RUST) in [(f16, u16), (f16x2, u32)] {
        for OP in [add, sub, mul] {
            for (MODE, M) in [("", ""), (ftz, ".ftz"), (sat, ".sat")] {
                /// `<OP>`. <MODE>
                #[pure]
                fn OP_rn_MODE_TY(a: RUST, b: RUST) -> RUST = "<OP>.rn<M>.<TY> {ret}, {a}, {b};";
            }
        }
        for (MODE, M) in [("", ""), (ftz, ".ftz"), (sat, ".sat")] {
            /// `a * b + c`, rounded once. <MODE>
            #[pure]
            fn fma_rn_MODE_TY(a: RUST, b: RUST, c: RUST) -> RUST = "fma.rn<M>.<TY> {ret}, {a}, {b}, {c};";
        }
        /// `a * b + c`, rounded once, and not below zero.
        #[requires(sm_80)]
        #[pure]
        fn fma_rn_relu_TY(a: RUST, b: RUST, c: RUST) -> RUST = "fma.rn.relu.<TY> {ret}, {a}, {b}, {c};";
        for OP in [abs, neg] {
            /// `<OP>`.
            #[pure]
            fn OP_TY(a: RUST) -> RUST = "<OP>.<TY> {ret}, {a};";
        }
        for OP in [ex2, tanh] {
            /// `<OP>`, by the hardware's approximation.
            #[requires(sm_75)]
            #[pure]
            fn OP_approx_TY(a: RUST) -> RUST = "<OP>.approx.<TY> {ret}, {a};";
        }
        for OP in [min, max] {
            for (MODE, M) in [("", ""), (ftz, ".ftz"), (nan, ".NaN")] {
                /// `<OP>`. <MODE>
                #[requires(sm_80)]
                #[pure]
                fn OP_MODE_TY(a: RUST, b: RUST) -> RUST = "<OP><M>.<TY> {ret}, {a}, {b};";
            }
            /// `<OP>` of the magnitudes, with the signs' product.
            #[requires(sm_86)]
            #[pure]
            fn OP_xorsign_abs_TY(a: RUST, b: RUST) -> RUST = "<OP>.xorsign.abs.<TY> {ret}, {a}, {b};";
        }
    }
    // `bf16`, alone and in pairs.
    for (TY, RUST) in [(bf16, u16), (bf16x2, u32)] {
        for OP in [add, sub, mul] {
            /// `<OP>`.
            #[requires(sm_90)]
            #[pure]
            fn OP_rn_TY(a: RUST, b: RUST) -> RUST = "<OP>.rn.<TY> {ret}, {a}, {b};";
        }
        for (MODE, M) in [("", ""), (relu, ".relu")] {
            /// `a * b + c`, rounded once. <MODE>
            #[requires(sm_80)]
            #[pure]
            fn fma_rn_MODE_TY(a: RUST, b: RUST, c: RUST) -> RUST = "fma.rn<M>.<TY> {ret}, {a}, {b}, {c};";
        }
        for OP in [abs, neg] {
            /// `<OP>`.
            #[requires(sm_80)]
            #[pure]
            fn OP_TY(a: RUST) -> RUST = "<OP>.<TY> {ret}, {a};";
        }
        /// 2 to a power, by the hardware's approximation.
        #[requires(sm_90)]
        #[pure]
        fn ex2_approx_ftz_TY(a: RUST) -> RUST = "ex2.approx.ftz.<TY> {ret}, {a};";
        /// The hyperbolic tangent, by the hardware's approximation.
        #[requires(sm_90)]
        #[pure]
        fn tanh_approx_TY(a: RUST) -> RUST = "tanh.approx.<TY> {ret}, {a};";
        for OP in [min, max] {
            for (MODE, M) in [("", ""), (nan, ".NaN")] {
                /// `<OP>`. <MODE>
                #[requires(sm_80)]
                #[pure]
                fn OP_MODE_TY(a: RUST, b: RUST) -> RUST = "<OP><M>.<TY> {ret}, {a}, {b};";
            }
            /// `<OP>` of the magnitudes, with the signs' product.
            #[requires(sm_86)]
            #[pure]
            fn OP_xorsign_abs_TY(a: RUST, b: RUST) -> RUST = "<OP>.xorsign.abs.<TY> {ret}, {a}, {b};";
        }
    }
    // Fused multiply-adds that ignore a product that is out of range.
    for (TY, RUST) in [(f16, u16), (f16x2, u32), (bf16, u16), (bf16x2, u32)] {
        for (MODE, M) in [("", ""), (relu, ".relu")] {
            /// `a * b + c`, where an overflow becomes the largest number. <MODE>
            #[requires(sm_90)]
            #[pure]
            fn fma_rn_oob_MODE_TY(a: RUST, b: RUST, c: RUST) -> RUST = "fma.rn.oob<M>.<TY> {ret}, {a}, {b}, {c};";
        }
    }

    // Comparisons: all ones or 1.0 for each.
    for CMP in [eq, ne, lt, le, gt, ge, equ, neu, ltu, leu, gtu, geu, num, nan] {
        /// Whether two halves compare so.
        #[pure]
        fn setp_CMP_f16(a: u16, b: u16) -> bool = "setp.<CMP>.f16 {ret}, {a}, {b};";
        /// For each of two halves 1 or 0.
        #[pure]
        fn set_CMP_f16x2(a: u32, b: u32) -> u32 = "set.<CMP>.f16x2.f16x2 {ret}, {a}, {b};";
        /// Whether two `bf16` compare so.
        #[requires(sm_90)]
        #[pure]
        fn setp_CMP_bf16(a: u16, b: u16) -> bool = "setp.<CMP>.bf16 {ret}, {a}, {b};";
        /// For each of two `bf16` 1 or 0.
        #[requires(sm_90)]
        #[pure]
        fn set_CMP_bf16x2(a: u32, b: u32) -> u32 = "set.<CMP>.bf16x2.bf16x2 {ret}, {a}, {b};";
    }

    // Conversions.
    for R in [rn, rz, rm, rp] {
        /// An `f32` as a half, by <R>.
        #[pure]
        fn cvt_R_f16_f32(a: f32) -> u16 = "cvt.<R>.f16.f32 {ret}, {a};";
        /// An `f64` as a half, by <R>.
        #[pure]
        fn cvt_R_f16_f64(a: f64) -> u16 = "cvt.<R>.f16.f64 {ret}, {a};";
        for (INT, RUST) in [(s16, i16), (u16, u16), (s32, i32), (u32, u32), (s64, i64), (u64, u64)] {
            /// An integer as a half, by <R>.
            #[pure]
            fn cvt_R_f16_INT(a: RUST) -> u16 = "cvt.<R>.f16.<INT> {ret}, {a};";
        }
    }
    for R in [rni, rzi, rmi, rpi] {
        for (INT, RUST) in [(s16, i16), (u16, u16), (s32, i32), (u32, u32), (s64, i64), (u64, u64)] {
            /// A half as an integer, by <R>.
            #[pure]
            fn cvt_R_INT_f16(a: u16) -> RUST = "cvt.<R>.<INT>.f16 {ret}, {a};";
        }
        /// A half made integral, by <R>.
        #[pure]
        fn cvt_R_f16_f16(a: u16) -> u16 = "cvt.<R>.f16.f16 {ret}, {a};";
    }
    /// A half as an `f32`.
    #[pure]
    fn cvt_f32_f16(a: u16) -> f32 = "cvt.f32.f16 {ret}, {a};";
    /// A half as an `f64`.
    #[pure]
    fn cvt_f64_f16(a: u16) -> f64 = "cvt.f64.f16 {ret}, {a};";
    /// A `bf16` as an `f32`.
    #[requires(sm_90)]
    #[pure]
    fn cvt_f32_bf16(a: u16) -> f32 = "cvt.f32.bf16 {ret}, {a};";
    for R in [rn, rz] {
        for (MODE, M) in [("", ""), (relu, ".relu")] {
            /// An `f32` as a `bf16`, by <R>. <MODE>
            #[requires(sm_80)]
            #[pure]
            fn cvt_R_MODE_bf16_f32(a: f32) -> u16 = "cvt.<R><M>.bf16.f32 {ret}, {a};";
            for TY in [f16x2, bf16x2] {
                /// Two `f32` as a pair, the first above the second, by <R>. <MODE>
                #[requires(sm_80)]
                #[pure]
                fn cvt_R_MODE_TY_f32(high: f32, low: f32) -> u32 = "cvt.<R><M>.<TY>.f32 {ret}, {high}, {low};";
            }
        }
    }
    for (MODE, M) in [("", ""), (relu, ".relu")] {
        for TY in [f16x2, bf16x2] {
            /// Two `f32` as a pair, the first above the second, rounded up or down by chance: by 32
            /// random bits. <MODE>
            #[requires(sm_100a, sm_103a)]
            #[pure]
            fn cvt_rs_MODE_TY_f32(high: f32, low: f32, random: u32) -> u32 =
                "cvt.rs<M>.<TY>.f32 {ret}, {high}, {low}, {random};";
        }
        for TY in [e4m3x2, e5m2x2] {
            /// Two `f32` as `<TY>`, the first above the second; the largest number for what is too
            /// large. <MODE>
            #[requires(sm_89)]
            #[pure]
            fn cvt_rn_satfinite_MODE_TY_f32(high: f32, low: f32) -> u16 =
                "cvt.rn.satfinite<M>.<TY>.f32 {ret}, {high}, {low};";
            /// Two halves as `<TY>`. <MODE>
            #[requires(sm_89)]
            #[pure]
            fn cvt_rn_satfinite_MODE_TY_f16x2(a: u32) -> u16 = "cvt.rn.satfinite<M>.<TY>.f16x2 {ret}, {a};";
            /// `<TY>` as two halves. <MODE>
            #[requires(sm_89)]
            #[pure]
            fn cvt_rn_MODE_f16x2_TY(a: u16) -> u32 = "cvt.rn<M>.f16x2.<TY> {ret}, {a};";
        }
        for TY in [e2m3x2, e3m2x2] {
            /// Two `f32` as `<TY>`, the first above the second, each in a byte. <MODE>
            #[requires(sm_100a, sm_110a, sm_120a)]
            #[pure]
            fn cvt_rn_satfinite_MODE_TY_f32(high: f32, low: f32) -> u16 =
                "cvt.rn.satfinite<M>.<TY>.f32 {ret}, {high}, {low};";
            /// `<TY>` as two halves. <MODE>
            #[requires(sm_100a, sm_110a, sm_120a)]
            #[pure]
            fn cvt_rn_MODE_f16x2_TY(a: u16) -> u32 = "cvt.rn<M>.f16x2.<TY> {ret}, {a};";
        }
        /// Two `f32` as `e2m1`, the first above the second, in one byte. <MODE>
        #[requires(sm_100a, sm_110a, sm_120a)]
        #[pure]
        fn cvt_rn_satfinite_MODE_e2m1x2_f32(high: f32, low: f32) -> u16 =
            "{ .reg .b8 %t; cvt.rn.satfinite<M>.e2m1x2.f32 %t, {high}, {low}; cvt.u16.u8 {ret}, %t; }";
        /// A byte of two `e2m1` as two halves. <MODE>
        #[requires(sm_100a, sm_110a, sm_120a)]
        #[pure]
        fn cvt_rn_MODE_f16x2_e2m1x2(a: u16) -> u32 =
            "{ .reg .b8 %t; cvt.u8.u16 %t, {a}; cvt.rn<M>.f16x2.e2m1x2 {ret}, %t; }";
    }
    for R in [rz, rp] {
        /// Two `f32` as powers of two, the first above the second, by <R>.
        #[requires(sm_100a, sm_110a, sm_120a)]
        #[pure]
        fn cvt_R_satfinite_ue8m0x2_f32(high: f32, low: f32) -> u16 =
            "cvt.<R>.satfinite.ue8m0x2.f32 {ret}, {high}, {low};";
        /// Two `bf16` as powers of two, by <R>.
        #[requires(sm_100a, sm_110a, sm_120a)]
        #[pure]
        fn cvt_R_satfinite_ue8m0x2_bf16x2(a: u32) -> u16 = "cvt.<R>.satfinite.ue8m0x2.bf16x2 {ret}, {a};";
    }
    /// Two powers of two as `bf16`.
    #[requires(sm_100a, sm_110a, sm_120a)]
    #[pure]
    fn cvt_rn_bf16x2_ue8m0x2(a: u16) -> u32 = "cvt.rn.bf16x2.ue8m0x2 {ret}, {a};";
}
