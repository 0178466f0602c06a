//! `wmma`: the older warp-level matrix products, with opaque fragments whose layout only the
//! hardware knows. [`matrix::wmma`](crate::matrix::wmma) has types for them. All 32 threads of the
//! warp execute each instruction together. The stride is the distance between rows (or columns, for
//! a column-major layout), in elements.

cuda_std_macros::intrinsics! {
    for L in [row, col] {
        // fp16: A and B always have eight registers.
        for SHAPE in [m16n16k16, m32n8k16, m8n32k16] {
            for OPERAND in [a, b] {
                /// Loads a fragment of factor `<OPERAND>` of `f16`, with layout `<L>`.
                #[convergent]
                unsafe fn wmma_load_OPERAND_SHAPE_L_f16(from: *const u16, stride: u32) -> [u32; 8] =
                    "wmma.load.<OPERAND>.sync.aligned.<L>.<SHAPE>.f16 {ret}, [{from}], {stride};";
            }
            for (TC, CELL, REGS) in [(f16, u16, [u32; 4]), (f32, f32, [f32; 8]), (s32, i32, [i32; 8])] {
                /// Loads an accumulator of `<TC>`, with layout `<L>`.
                #[convergent]
                unsafe fn wmma_load_c_SHAPE_L_TC(from: *const CELL, stride: u32) -> REGS =
                    "wmma.load.c.sync.aligned.<L>.<SHAPE>.<TC> {ret}, [{from}], {stride};";
                /// Stores an accumulator of `<TC>`, with layout `<L>`.
                #[convergent]
                unsafe fn wmma_store_d_SHAPE_L_TC(to: *mut CELL, fragment: REGS, stride: u32) =
                    "wmma.store.d.sync.aligned.<L>.<SHAPE>.<TC> [{to}], {fragment}, {stride};";
            }
        }
        for (OPERAND, SHAPE, N8, N16) in [
            (a, m16n16k16, 2, 4), (b, m16n16k16, 2, 4), (a, m32n8k16, 4, 8), (b, m32n8k16, 1, 2),
            (a, m8n32k16, 1, 2), (b, m8n32k16, 4, 8)
        ] {
            for TY in [s8, u8] {
                /// Loads a fragment of factor `<OPERAND>` of `<TY>`, with layout `<L>`.
                #[convergent]
                unsafe fn wmma_load_OPERAND_SHAPE_L_TY(from: *const u8, stride: u32) -> [u32; N8] =
                    "wmma.load.<OPERAND>.sync.aligned.<L>.<SHAPE>.<TY> {ret}, [{from}], {stride};";
            }
            /// Loads a fragment of factor `<OPERAND>` of `bf16`, with layout `<L>`.
            #[requires(sm_80)]
            #[convergent]
            unsafe fn wmma_load_OPERAND_SHAPE_L_bf16(from: *const u16, stride: u32) -> [u32; N16] =
                "wmma.load.<OPERAND>.sync.aligned.<L>.<SHAPE>.bf16 {ret}, [{from}], {stride};";
        }
        for OPERAND in [a, b] {
            /// Loads a fragment of factor `<OPERAND>` of `tf32`, with layout `<L>`.
            #[requires(sm_80)]
            #[convergent]
            unsafe fn wmma_load_OPERAND_m16n16k8_L_tf32(from: *const f32, stride: u32) -> [u32; 4] =
                "wmma.load.<OPERAND>.sync.aligned.<L>.m16n16k8.tf32 {ret}, [{from}], {stride};";
            /// Loads a fragment of factor `<OPERAND>` of `f64`, with layout `<L>`.
            #[requires(sm_80)]
            #[convergent]
            unsafe fn wmma_load_OPERAND_m8n8k4_L_f64(from: *const f64, stride: u32) -> f64 =
                "wmma.load.<OPERAND>.sync.aligned.<L>.m8n8k4.f64 {{ret}}, [{from}], {stride};";
        }
        for (SHAPE, TC, CELL, REGS, ARCH) in [
            (m16n16k8, f32, f32, [f32; 8], sm_80), (m8n8k4, f64, f64, [f64; 2], sm_80),
            (m8n8k32, s32, i32, [i32; 2], sm_75), (m8n8k128, s32, i32, [i32; 2], sm_75)
        ] {
            /// Loads an accumulator of `<TC>`, with layout `<L>`.
            #[requires(ARCH)]
            #[convergent]
            unsafe fn wmma_load_c_SHAPE_L_TC(from: *const CELL, stride: u32) -> REGS =
                "wmma.load.c.sync.aligned.<L>.<SHAPE>.<TC> {ret}, [{from}], {stride};";
            /// Stores an accumulator of `<TC>`, with layout `<L>`.
            #[requires(ARCH)]
            #[convergent]
            unsafe fn wmma_store_d_SHAPE_L_TC(to: *mut CELL, fragment: REGS, stride: u32) =
                "wmma.store.d.sync.aligned.<L>.<SHAPE>.<TC> [{to}], {fragment}, {stride};";
        }
    }
    // Elements below 8 bits: A must be row-major and B column-major.
    for (OPERAND, L) in [(a, row), (b, col)] {
        for (SHAPE, TY) in [(m8n8k32, s4), (m8n8k32, u4), (m8n8k128, b1)] {
            /// Loads a fragment of factor `<OPERAND>` of `<TY>`, with layout `<L>`.
            #[requires(sm_75)]
            #[convergent]
            unsafe fn wmma_load_OPERAND_SHAPE_L_TY(from: *const u32, stride: u32) -> u32 =
                "wmma.load.<OPERAND>.sync.aligned.<L>.<SHAPE>.<TY> {{ret}}, [{from}], {stride};";
        }
    }

    for (LA, LB) in [(row, row), (row, col), (col, row), (col, col)] {
        for SHAPE in [m16n16k16, m32n8k16, m8n32k16] {
            for (TD, RD) in [(f16, [u32; 4]), (f32, [f32; 8])] {
                for (TC, RC) in [(f16, [u32; 4]), (f32, [f32; 8])] {
                    /// Returns the product of fragments of `f16` with layouts `<LA>` and `<LB>`,
                    /// plus `c`.
                    #[volatile]
                    #[convergent]
                    fn wmma_mma_SHAPE_LA_LB_TD_TC(a: [u32; 8], b: [u32; 8], c: RC) -> RD =
                        "wmma.mma.sync.aligned.<LA>.<LB>.<SHAPE>.<TD>.<TC> {ret}, {a}, {b}, {c};";
                }
            }
        }
        for (SHAPE, NA8, NB8, NA, NB) in [(m16n16k16, 2, 2, 4, 4), (m32n8k16, 4, 1, 8, 2), (m8n32k16, 1, 4, 2, 8)] {
            for TY in [s8, u8] {
                for (SUFFIX, SAT) in [(wrapping, ""), (satfinite, ".satfinite")] {
                    /// Returns the product of fragments of `<TY>` with layouts `<LA>` and `<LB>`,
                    /// plus `c`.
                    #[volatile]
                    #[convergent]
                    fn wmma_mma_SHAPE_LA_LB_s32_TY_SUFFIX(a: [u32; NA8], b: [u32; NB8], c: [i32; 8]) -> [i32; 8] =
                        "wmma.mma.sync.aligned.<LA>.<LB>.<SHAPE>.s32.<TY>.<TY>.s32<SAT> {ret}, {a}, {b}, {c};";
                }
            }
            /// Returns the product of fragments of `bf16` with layouts `<LA>` and `<LB>`, plus `c`.
            #[requires(sm_80)]
            #[volatile]
            #[convergent]
            fn wmma_mma_SHAPE_LA_LB_f32_bf16(a: [u32; NA], b: [u32; NB], c: [f32; 8]) -> [f32; 8] =
                "wmma.mma.sync.aligned.<LA>.<LB>.<SHAPE>.f32.bf16.bf16.f32 {ret}, {a}, {b}, {c};";
        }
        /// Returns the product of fragments of `tf32` with layouts `<LA>` and `<LB>`, plus `c`.
        #[requires(sm_80)]
        #[volatile]
        #[convergent]
        fn wmma_mma_m16n16k8_LA_LB_f32_tf32(a: [u32; 4], b: [u32; 4], c: [f32; 8]) -> [f32; 8] =
            "wmma.mma.sync.aligned.<LA>.<LB>.m16n16k8.f32.tf32.tf32.f32 {ret}, {a}, {b}, {c};";
        for (NAME, RND) in [(rn, ".rn"), (rz, ".rz"), (rm, ".rm"), (rp, ".rp")] {
            /// Returns the product of fragments of `f64` with layouts `<LA>` and `<LB>`, plus `c`,
            /// with rounding mode `<NAME>`.
            #[requires(sm_80)]
            #[volatile]
            #[convergent]
            fn wmma_mma_m8n8k4_LA_LB_f64_NAME(a: f64, b: f64, c: [f64; 2]) -> [f64; 2] =
                "wmma.mma.sync.aligned.<LA>.<LB>.m8n8k4<RND>.f64.f64.f64.f64 {ret}, {{a}}, {{b}}, {c};";
        }
    }
    for TY in [s4, u4] {
        for (SUFFIX, SAT) in [(wrapping, ""), (satfinite, ".satfinite")] {
            /// Returns the product of fragments of `<TY>`, plus `c`.
            #[requires(sm_75)]
            #[volatile]
            #[convergent]
            fn wmma_mma_m8n8k32_row_col_s32_TY_SUFFIX(a: u32, b: u32, c: [i32; 2]) -> [i32; 2] =
                "wmma.mma.sync.aligned.row.col.m8n8k32.s32.<TY>.<TY>.s32<SAT> {ret}, {{a}}, {{b}}, {c};";
        }
    }
    for (OP, ARCH) in [(xor, sm_75), (and, sm_80)] {
        /// Returns the product of fragments of single bits (the population counts of row `<OP>`
        /// column), plus `c`.
        #[requires(ARCH)]
        #[volatile]
        #[convergent]
        fn wmma_mma_m8n8k128_row_col_s32_b1_OP(a: u32, b: u32, c: [i32; 2]) -> [i32; 2] =
            "wmma.mma.<OP>.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32 {ret}, {{a}}, {{b}}, {c};";
    }
}
