//! Warp-level matrix products: `mma`, including sparse and block-scaled products, and instructions
//! that move 8×8 matrices between registers and shared memory. [`matrix`](crate::matrix) has
//! fragments that know the positions of their elements. All 32 threads of the warp execute each
//! instruction together.
//!
//! Names are `mma_SHAPE_D_A_B_C`, with the types of the result, the two factors and the
//! accumulator. Elements narrower than 32 bits are packed, the first in the lowest bits.

cuda_std_macros::intrinsics! {
    // fp16 and bf16.
    for (SHAPE, NA, NB, ARCH) in [(m16n8k8, 2, 1, sm_75), (m16n8k16, 4, 2, sm_80)] {
        for (TC, REGS) in [(f16, [u32; 2]), (f32, [f32; 4])] {
            /// Returns the product of matrices of `f16` plus `c`, accumulated in `<TC>`.
            #[requires(ARCH)]
            #[volatile]
            #[convergent]
            fn mma_SHAPE_TC_f16_f16_TC(a: [u32; NA], b: [u32; NB], c: REGS) -> REGS =
                "mma.sync.aligned.<SHAPE>.row.col.<TC>.f16.f16.<TC> {ret}, {a}, {b}, {c};";
        }
        /// Returns the product of matrices of `bf16` plus `c`, accumulated in `f32`.
        #[requires(sm_80)]
        #[volatile]
        #[convergent]
        fn mma_SHAPE_f32_bf16_bf16_f32(a: [u32; NA], b: [u32; NB], c: [f32; 4]) -> [f32; 4] =
            "mma.sync.aligned.<SHAPE>.row.col.f32.bf16.bf16.f32 {ret}, {a}, {b}, {c};";
    }
    for (LA, LB) in [(row, row), (row, col), (col, row), (col, col)] {
        for (TD, RD, TC, RC) in [
            (f16, [u32; 4], f16, [u32; 4]), (f32, [f32; 8], f16, [u32; 4]),
            (f32, [f32; 8], f32, [f32; 8])
        ] {
            /// Returns four independent products of 8×4 and 4×8 matrices of `f16` plus `c`, with A
            /// in layout `<LA>` and B in layout `<LB>`. Product `i` belongs to threads 4i to 4i + 3
            /// and 4i + 16 to 4i + 19.
            #[volatile]
            #[convergent]
            fn mma_m8n8k4_LA_LB_TD_f16_f16_TC(a: [u32; 2], b: [u32; 2], c: RC) -> RD =
                "mma.sync.aligned.m8n8k4.<LA>.<LB>.<TD>.f16.f16.<TC> {ret}, {a}, {b}, {c};";
        }
    }

    // 32-bit and 64-bit floats.
    for (SHAPE, NA, NB) in [(m16n8k4, 2, 1), (m16n8k8, 4, 2)] {
        /// Returns the product of matrices of `tf32` (`f32` with 10 bits of fraction) plus `c`.
        #[requires(sm_80)]
        #[volatile]
        #[convergent]
        fn mma_SHAPE_f32_tf32_tf32_f32(a: [u32; NA], b: [u32; NB], c: [f32; 4]) -> [f32; 4] =
            "mma.sync.aligned.<SHAPE>.row.col.f32.tf32.tf32.f32 {ret}, {a}, {b}, {c};";
    }
    for (SHAPE, NA, NB, NC, ARCH) in [
        (m8n8k4, 1, 1, 2, sm_80), (m16n8k4, 2, 1, 4, sm_90), (m16n8k8, 4, 2, 4, sm_90),
        (m16n8k16, 8, 4, 4, sm_90)
    ] {
        /// Returns the product of matrices of `f64` plus `c`.
        #[requires(ARCH)]
        #[volatile]
        #[convergent]
        fn mma_SHAPE_f64_f64_f64_f64(a: [f64; NA], b: [f64; NB], c: [f64; NC]) -> [f64; NC] =
            "mma.sync.aligned.<SHAPE>.row.col.f64.f64.f64.f64 {ret}, {a}, {b}, {c};";
    }

    // fp8, fp6 and fp4.
    for (TC, REGS) in [(f16, [u32; 2]), (f32, [f32; 4])] {
        for (SHAPE, NA, NB) in [(m16n8k16, 2, 1), (m16n8k32, 4, 2)] {
            for TA in [e4m3, e5m2] {
                for TB in [e4m3, e5m2] {
                    /// Returns the product of matrices of `<TA>` and `<TB>` plus `c`.
                    #[requires(sm_89)]
                    #[volatile]
                    #[convergent]
                    fn mma_SHAPE_TC_TA_TB_TC(a: [u32; NA], b: [u32; NB], c: REGS) -> REGS =
                        "mma.sync.aligned.<SHAPE>.row.col.<TC>.<TA>.<TB>.<TC> {ret}, {a}, {b}, {c};";
                }
            }
        }
        for TA in [e4m3, e5m2, e3m2, e2m3, e2m1] {
            for TB in [e4m3, e5m2, e3m2, e2m3, e2m1] {
                /// Returns the product of matrices of `<TA>` and `<TB>`, each element in a byte,
                /// plus `c`.
                #[requires(sm_120a, sm_121a)]
                #[volatile]
                #[convergent]
                fn mma_f8f6f4_m16n8k32_TC_TA_TB_TC(a: [u32; 4], b: [u32; 2], c: REGS) -> REGS =
                    "mma.sync.aligned.kind::f8f6f4.m16n8k32.row.col.<TC>.<TA>.<TB>.<TC> {ret}, {a}, {b}, {c};";
                /// Returns the product of a sparse matrix of `<TA>` and a dense matrix of `<TB>`,
                /// each element in a byte, plus `c`.
                #[requires(sm_120a, sm_121a)]
                #[volatile]
                #[convergent]
                fn mma_sp_f8f6f4_m16n8k64_TC_TA_TB_TC<const SELECTOR: u32 in 0..=0>(
                    a: [u32; 4], b: [u32; 4], c: REGS, metadata: u32
                ) -> REGS =
                    "mma.sp::ordered_metadata.sync.aligned.kind::f8f6f4.m16n8k64.row.col.<TC>.<TA>.<TB>.<TC> {ret}, {a}, {b}, {c}, {metadata}, {SELECTOR};";
            }
        }
    }
    for TA in [e4m3, e5m2, e3m2, e2m3, e2m1] {
        for TB in [e4m3, e5m2, e3m2, e2m3, e2m1] {
            /// Returns the product of matrices of `<TA>` and `<TB>`, each element in a byte, plus
            /// `c`. Each row of A and each column of B has a scale of type `ue8m0`: in the byte of
            /// `scale_a` and `scale_b`, and of the pair and thread of each four threads, that the
            /// const parameters select.
            #[requires(sm_120a, sm_121a)]
            #[volatile]
            #[convergent]
            fn mma_mxf8f6f4_m16n8k32_f32_TA_TB_f32<
                const BYTEA: u16 in 0..=3, const PAIRA: u16 in 0..=1,
                const BYTEB: u16 in 0..=3, const THREADB: u16 in 0..=3
            >(a: [u32; 4], b: [u32; 2], c: [f32; 4], scale_a: u32, scale_b: u32) -> [f32; 4] =
                "mma.sync.aligned.kind::mxf8f6f4.block_scale.scale_vec::1X.m16n8k32.row.col.f32.<TA>.<TB>.f32.ue8m0 {ret}, {a}, {b}, {c}, {scale_a}, {{BYTEA}, {PAIRA}}, {scale_b}, {{BYTEB}, {THREADB}};";
            /// Returns the block-scaled product of a sparse matrix of `<TA>` and a dense matrix of
            /// `<TB>`, each element in a byte, plus `c`.
            #[requires(sm_120a, sm_121a)]
            #[volatile]
            #[convergent]
            fn mma_sp_mxf8f6f4_m16n8k64_f32_TA_TB_f32<
                const SELECTOR: u32 in 0..=0,
                const BYTEA: u16 in 0..=3, const PAIRA: u16 in 0..=1,
                const BYTEB: u16 in 0..=3, const THREADB: u16 in 0..=3
            >(a: [u32; 4], b: [u32; 4], c: [f32; 4], metadata: u32, scale_a: u32, scale_b: u32) -> [f32; 4] =
                "mma.sp::ordered_metadata.sync.aligned.kind::mxf8f6f4.block_scale.scale_vec::1X.m16n8k64.row.col.f32.<TA>.<TB>.f32.ue8m0 {ret}, {a}, {b}, {c}, {metadata}, {SELECTOR}, {scale_a}, {{BYTEA}, {PAIRA}}, {scale_b}, {{BYTEB}, {THREADB}};";
        }
    }
    for (KIND, BLOCKS, VEC, TS, LAST) in [
        (mxf4, "2x", "2X", ue8m0, 2), (mxf4nvf4, "2x", "2X", ue8m0, 2),
        (mxf4nvf4, "4x", "4X", ue4m3, 0)
    ] {
        /// Returns the product of matrices of `e2m1`, two elements in a byte, plus `c`. Blocks of
        /// each row of A and each column of B have scales of type `<TS>`: starting at the byte (an
        /// even one) of `scale_a` and `scale_b`, and of the pair and thread of each four threads,
        /// that the const parameters select.
        #[requires(sm_120a, sm_121a)]
        #[volatile]
        #[convergent]
        fn mma_KIND_BLOCKS_m16n8k64_f32_e2m1_e2m1_f32_TS<
            const BYTEA: u16 in 0..=LAST, const PAIRA: u16 in 0..=1,
            const BYTEB: u16 in 0..=LAST, const THREADB: u16 in 0..=3
        >(a: [u32; 4], b: [u32; 2], c: [f32; 4], scale_a: u32, scale_b: u32) -> [f32; 4] =
            "mma.sync.aligned.kind::<KIND>.block_scale.scale_vec::<VEC>.m16n8k64.row.col.f32.e2m1.e2m1.f32.<TS> {ret}, {a}, {b}, {c}, {scale_a}, {{BYTEA}, {PAIRA}}, {scale_b}, {{BYTEB}, {THREADB}};";
        /// Returns the block-scaled product of a sparse and a dense matrix of `e2m1`, two elements
        /// in a byte, plus `c`.
        #[requires(sm_120a, sm_121a)]
        #[volatile]
        #[convergent]
        fn mma_sp_KIND_BLOCKS_m16n8k128_f32_e2m1_e2m1_f32_TS<
            const SELECTOR: u32 in 0..=0,
            const BYTEA: u16 in 0..=LAST, const PAIRA: u16 in 0..=1,
            const BYTEB: u16 in 0..=LAST, const THREADB: u16 in 0..=3
        >(a: [u32; 4], b: [u32; 4], c: [f32; 4], metadata: u32, scale_a: u32, scale_b: u32) -> [f32; 4] =
            "mma.sp::ordered_metadata.sync.aligned.kind::<KIND>.block_scale.scale_vec::<VEC>.m16n8k128.row.col.f32.e2m1.e2m1.f32.<TS> {ret}, {a}, {b}, {c}, {metadata}, {SELECTOR}, {scale_a}, {{BYTEA}, {PAIRA}}, {scale_b}, {{BYTEB}, {THREADB}};";
    }

    // Integers. Sums wrap on overflow, or saturate with `satfinite`.
    for (SUFFIX, SAT) in [(wrapping, ""), (satfinite, ".satfinite")] {
        for (SHAPE, NA, NB, NC, ARCH) in [
            (m8n8k16, 1, 1, 2, sm_75), (m16n8k16, 2, 1, 4, sm_80), (m16n8k32, 4, 2, 4, sm_80)
        ] {
            for TA in [s8, u8] {
                for TB in [s8, u8] {
                    /// Returns the product of matrices of `<TA>` and `<TB>` plus `c`, accumulated
                    /// in `s32`.
                    #[requires(ARCH)]
                    #[volatile]
                    #[convergent]
                    fn mma_SHAPE_s32_TA_TB_s32_SUFFIX(a: [u32; NA], b: [u32; NB], c: [i32; NC]) -> [i32; NC] =
                        "mma.sync.aligned.<SHAPE>.row.col<SAT>.s32.<TA>.<TB>.s32 {ret}, {a}, {b}, {c};";
                }
            }
        }
        for (SHAPE, NA, NB, NC, ARCH) in [
            (m8n8k32, 1, 1, 2, sm_75), (m16n8k32, 2, 1, 4, sm_80), (m16n8k64, 4, 2, 4, sm_80)
        ] {
            for TA in [s4, u4] {
                for TB in [s4, u4] {
                    /// Returns the product of matrices of `<TA>` and `<TB>` plus `c`, accumulated
                    /// in `s32`.
                    #[requires(ARCH)]
                    #[volatile]
                    #[convergent]
                    fn mma_SHAPE_s32_TA_TB_s32_SUFFIX(a: [u32; NA], b: [u32; NB], c: [i32; NC]) -> [i32; NC] =
                        "mma.sync.aligned.<SHAPE>.row.col<SAT>.s32.<TA>.<TB>.s32 {ret}, {a}, {b}, {c};";
                }
            }
        }
    }
    for (SHAPE, NA, NB, NC, OP, ARCH) in [
        (m8n8k128, 1, 1, 2, xor, sm_75), (m8n8k128, 1, 1, 2, and, sm_80),
        (m16n8k128, 2, 1, 4, xor, sm_80), (m16n8k128, 2, 1, 4, and, sm_80),
        (m16n8k256, 4, 2, 4, xor, sm_80), (m16n8k256, 4, 2, 4, and, sm_80)
    ] {
        /// Returns the product of matrices of single bits (the population counts of row `<OP>`
        /// column) plus `c`.
        #[requires(ARCH)]
        #[volatile]
        #[convergent]
        fn mma_SHAPE_s32_b1_b1_s32_OP(a: [u32; NA], b: [u32; NB], c: [i32; NC]) -> [i32; NC] =
            "mma.sync.aligned.<SHAPE>.row.col.s32.b1.b1.s32.<OP>.popc {ret}, {a}, {b}, {c};";
    }

    // Sparse A: two of each four elements of a row are stored, and the metadata has their indices.
    // With `ordered`, indices are ascending, which is faster on newer architectures.
    for (SP, KIND) in [(sp, "sp"), (sp_ordered, "sp::ordered_metadata")] {
        for (SHAPE, N, LAST) in [(m16n8k16, 2, 3), (m16n8k32, 4, 1)] {
            for (TC, REGS) in [(f16, [u32; 2]), (f32, [f32; 4])] {
                /// Returns the product of a sparse and a dense matrix of `f16` plus `c`,
                /// accumulated in `<TC>`.
                #[requires(sm_80)]
                #[volatile]
                #[convergent]
                fn mma_SP_SHAPE_TC_f16_f16_TC<const SELECTOR: u32 in 0..=LAST>(
                    a: [u32; N], b: [u32; N], c: REGS, metadata: u32
                ) -> REGS =
                    "mma.<KIND>.sync.aligned.<SHAPE>.row.col.<TC>.f16.f16.<TC> {ret}, {a}, {b}, {c}, {metadata}, {SELECTOR};";
            }
            /// Returns the product of a sparse and a dense matrix of `bf16` plus `c`.
            #[requires(sm_80)]
            #[volatile]
            #[convergent]
            fn mma_SP_SHAPE_f32_bf16_bf16_f32<const SELECTOR: u32 in 0..=LAST>(
                a: [u32; N], b: [u32; N], c: [f32; 4], metadata: u32
            ) -> [f32; 4] =
                "mma.<KIND>.sync.aligned.<SHAPE>.row.col.f32.bf16.bf16.f32 {ret}, {a}, {b}, {c}, {metadata}, {SELECTOR};";
        }
        for (SHAPE, N, LAST) in [(m16n8k8, 2, 3), (m16n8k16, 4, 1)] {
            /// Returns the product of a sparse matrix of `tf32` (one of each two elements is
            /// stored) and a dense matrix plus `c`.
            #[requires(sm_80)]
            #[volatile]
            #[convergent]
            fn mma_SP_SHAPE_f32_tf32_tf32_f32<const SELECTOR: u32 in 0..=LAST>(
                a: [u32; N], b: [u32; N], c: [f32; 4], metadata: u32
            ) -> [f32; 4] =
                "mma.<KIND>.sync.aligned.<SHAPE>.row.col.f32.tf32.tf32.f32 {ret}, {a}, {b}, {c}, {metadata}, {SELECTOR};";
        }
        for (SUFFIX, SAT) in [(wrapping, ""), (satfinite, ".satfinite")] {
            for (SHAPE, N, LAST) in [(m16n8k32, 2, 1), (m16n8k64, 4, 0)] {
                for TA in [s8, u8] {
                    for TB in [s8, u8] {
                        /// Returns the product of a sparse matrix of `<TA>` and a dense matrix of
                        /// `<TB>` plus `c`.
                        #[requires(sm_80)]
                        #[volatile]
                        #[convergent]
                        fn mma_SP_SHAPE_s32_TA_TB_s32_SUFFIX<const SELECTOR: u32 in 0..=LAST>(
                            a: [u32; N], b: [u32; N], c: [i32; 4], metadata: u32
                        ) -> [i32; 4] =
                            "mma.<KIND>.sync.aligned.<SHAPE>.row.col<SAT>.s32.<TA>.<TB>.s32 {ret}, {a}, {b}, {c}, {metadata}, {SELECTOR};";
                    }
                }
            }
            for (SHAPE, N, LAST) in [(m16n8k64, 2, 1), (m16n8k128, 4, 0)] {
                for TA in [s4, u4] {
                    for TB in [s4, u4] {
                        /// Returns the product of a sparse matrix of `<TA>` (two pairs of each
                        /// eight elements are stored) and a dense matrix of `<TB>` plus `c`.
                        #[requires(sm_80)]
                        #[volatile]
                        #[convergent]
                        fn mma_SP_SHAPE_s32_TA_TB_s32_SUFFIX<const SELECTOR: u32 in 0..=LAST>(
                            a: [u32; N], b: [u32; N], c: [i32; 4], metadata: u32
                        ) -> [i32; 4] =
                            "mma.<KIND>.sync.aligned.<SHAPE>.row.col<SAT>.s32.<TA>.<TB>.s32 {ret}, {a}, {b}, {c}, {metadata}, {SELECTOR};";
                    }
                }
            }
        }
        for TA in [e4m3, e5m2] {
            for TB in [e4m3, e5m2] {
                /// Returns the product of a sparse matrix of `<TA>` and a dense matrix of `<TB>`
                /// plus `c`.
                #[requires(sm_89)]
                #[volatile]
                #[convergent]
                fn mma_SP_m16n8k64_f32_TA_TB_f32<const SELECTOR: u32 in 0..=0>(
                    a: [u32; 4], b: [u32; 4], c: [f32; 4], metadata: u32
                ) -> [f32; 4] =
                    "mma.<KIND>.sync.aligned.m16n8k64.row.col.f32.<TA>.<TB>.f32 {ret}, {a}, {b}, {c}, {metadata}, {SELECTOR};";
            }
        }
    }

    // 8×8 matrices of 16-bit elements between registers and shared memory.
    for N in [1, 2, 4] {
        for (NAME, TRANS) in [(ldmatrix, ""), (ldmatrix_trans, ".trans")] {
            /// Loads <N> matrices. Thread `i` provides the address of row `i % 8` of matrix
            /// `i / 8`.
            #[requires(sm_75)]
            #[convergent]
            unsafe fn NAME_x_N(rows: *const u16) -> [u32; N] =
                "ldmatrix.sync.aligned.m8n8.x<N><TRANS>.shared.b16 {ret}, [{rows:shared}];";
        }
        for (NAME, TRANS) in [(stmatrix, ""), (stmatrix_trans, ".trans")] {
            /// Stores <N> matrices. Thread `i` provides the address of row `i % 8` of matrix
            /// `i / 8`.
            #[requires(sm_90)]
            #[convergent]
            unsafe fn NAME_x_N(rows: *mut u16, fragment: [u32; N]) =
                "stmatrix.sync.aligned.m8n8.x<N><TRANS>.shared.b16 [{rows:shared}], {fragment};";
        }
        /// Stores <N> matrices of 16×8 bytes, transposed. Thread `i` provides the address of row
        /// `i % 8` of matrix `i / 8`.
        #[requires(sm_100a, sm_110a, sm_120a)]
        #[convergent]
        unsafe fn stmatrix_m16n8_trans_x_N(rows: *mut u8, fragment: [u32; N]) =
            "stmatrix.sync.aligned.m16n8.x<N>.trans.shared.b8 [{rows:shared}], {fragment};";
        for (NAME, FORMAT) in [(b6x16_p32, "b8x16.b6x16_p32"), (b4x16_p64, "b8x16.b4x16_p64")] {
            /// Loads <N> matrices of 8×16 elements of 4 or 6 bits, each into a byte.
            #[requires(sm_100a, sm_110a, sm_120a)]
            #[convergent]
            unsafe fn ldmatrix_m8n16_NAME_x_N(rows: *const u8) -> [u32; N] =
                "ldmatrix.sync.aligned.m8n16.x<N>.shared.<FORMAT> {ret}, [{rows:shared}];";
        }
    }
    for (N, REGS) in [(1, 2), (2, 4)] {
        /// Loads <N> matrices of 16×16 bytes, transposed. Each of 16 threads provides the address
        /// of a row.
        #[requires(sm_100a, sm_110a, sm_120a)]
        #[convergent]
        unsafe fn ldmatrix_m16n16_trans_b8_x_N(rows: *const u8) -> [u32; REGS] =
            "ldmatrix.sync.aligned.m16n16.x<N>.trans.shared.b8 {ret}, [{rows:shared}];";
        for (NAME, FORMAT) in [(b6x16_p32, "b8x16.b6x16_p32"), (b4x16_p64, "b8x16.b4x16_p64")] {
            /// Loads <N> matrices of 16×16 elements of 4 or 6 bits, transposed, each into a byte.
            #[requires(sm_100a, sm_110a, sm_120a)]
            #[convergent]
            unsafe fn ldmatrix_m16n16_trans_NAME_x_N(rows: *const u8) -> [u32; REGS] =
                "ldmatrix.sync.aligned.m16n16.x<N>.trans.shared.<FORMAT> {ret}, [{rows:shared}];";
        }
    }
    /// Transposes an 8×8 matrix of 16-bit elements across the warp.
    #[requires(sm_75)]
    #[volatile]
    #[convergent]
    fn movmatrix_trans(fragment: u32) -> u32 = "movmatrix.sync.aligned.m8n8.trans.b16 {ret}, {fragment};";
}
