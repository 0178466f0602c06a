//! `wgmma`: asynchronous products of 64 rows by the 128 threads of a warpgroup, of matrices in
//! shared memory (A may be in registers instead). [`wgmma`](crate::wgmma) has the descriptors.
//!
//! Names are `wgmma_mNNN_D_A_B`; with the suffix `ra`, A is in registers. `SCALEA` and `SCALEB` are
//! 1, or -1 to negate. `TRANSA` and `TRANSB` are 1 for a transposed matrix, which only 16-bit types
//! support. If `accumulate` is false, the product replaces D instead of being added. `wgmma_sp_`
//! are products with a sparse A of twice the columns: two of each four elements (for `tf32`, one of
//! each two) are stored, and the metadata `places` has their indices; `PLACES` selects the lanes
//! that provide the metadata. The emulator implements none of these instructions.

cuda_std_macros::intrinsics! {
    /// Returns the address in shared memory of a pointer.
    #[pure]
    unsafe fn wgmma_address(pointer: *const u8) -> u64 = "mov.u64 {ret}, {pointer:shared};";
    /// Orders earlier accesses to registers and shared memory before the following products.
    #[requires(sm_90a)]
    #[convergent]
    fn wgmma_fence() = "wgmma.fence.sync.aligned;";
    /// Commits the preceding products as one group.
    #[requires(sm_90a)]
    #[convergent]
    fn wgmma_commit_group() = "wgmma.commit_group.sync.aligned;";
    /// Waits until at most the `N` most recent groups are pending.
    #[requires(sm_90a)]
    #[convergent]
    fn wgmma_wait_group<const N: u32 in 0..=7>() = "wgmma.wait_group.sync.aligned {N};";

    for (N, NF, NH) in [
        (n8, 4, 2), (n16, 8, 4), (n24, 12, 6), (n32, 16, 8), (n40, 20, 10), (n48, 24, 12),
        (n56, 28, 14), (n64, 32, 16), (n72, 36, 18), (n80, 40, 20), (n88, 44, 22), (n96, 48,
        24), (n104, 52, 26), (n112, 56, 28), (n120, 60, 30), (n128, 64, 32), (n136, 68, 34),
        (n144, 72, 36), (n152, 76, 38), (n160, 80, 40), (n168, 84, 42), (n176, 88, 44),
        (n184, 92, 46), (n192, 96, 48), (n200, 100, 50), (n208, 104, 52), (n216, 108, 54),
        (n224, 112, 56), (n232, 116, 58), (n240, 120, 60), (n248, 124, 62), (n256, 128, 64)
    ] {
        /// Adds the product of matrices of `f16` to D of `f32`.
        #[requires(sm_90a)]
        #[convergent]
        unsafe fn wgmma_m64_N_k16_f32_f16_f16<const SCALEA: i32 in -1..=1, const SCALEB: i32 in -1..=1, const TRANSA: i32 in 0..=1, const TRANSB: i32 in 0..=1>(d: &mut [f32; NF], a: u64, b: u64, accumulate: bool) =
            "wgmma.mma_async.sync.aligned.m64<N>k16.f32.f16.f16 {d}, {a}, {b}, {accumulate}, {SCALEA}, {SCALEB}, {TRANSA}, {TRANSB};";
        /// Adds the product of a sparse A and a dense B of `f16` to D of `f32`.
        #[requires(sm_90a)]
        #[convergent]
        unsafe fn wgmma_sp_m64_N_k32_f32_f16_f16<const PLACES: u32 in 0..=1, const SCALEA: i32 in -1..=1, const SCALEB: i32 in -1..=1, const TRANSA: i32 in 0..=1, const TRANSB: i32 in 0..=1>(d: &mut [f32; NF], a: u64, b: u64, places: u32, accumulate: bool) =
            "wgmma.mma_async.sp.sync.aligned.m64<N>k32.f32.f16.f16 {d}, {a}, {b}, {places}, {PLACES}, {accumulate}, {SCALEA}, {SCALEB}, {TRANSA}, {TRANSB};";
        /// Adds the product of matrices of `f16` to D of `f32`.
        #[requires(sm_90a)]
        #[convergent]
        unsafe fn wgmma_m64_N_k16_f32_f16_f16_ra<const SCALEA: i32 in -1..=1, const SCALEB: i32 in -1..=1, const TRANSB: i32 in 0..=1>(d: &mut [f32; NF], a: [u32; 4], b: u64, accumulate: bool) =
            "wgmma.mma_async.sync.aligned.m64<N>k16.f32.f16.f16 {d}, {a}, {b}, {accumulate}, {SCALEA}, {SCALEB}, {TRANSB};";
        /// Adds the product of a sparse A and a dense B of `f16` to D of `f32`.
        #[requires(sm_90a)]
        #[convergent]
        unsafe fn wgmma_sp_m64_N_k32_f32_f16_f16_ra<const PLACES: u32 in 0..=1, const SCALEA: i32 in -1..=1, const SCALEB: i32 in -1..=1, const TRANSB: i32 in 0..=1>(d: &mut [f32; NF], a: [u32; 4], b: u64, places: u32, accumulate: bool) =
            "wgmma.mma_async.sp.sync.aligned.m64<N>k32.f32.f16.f16 {d}, {a}, {b}, {places}, {PLACES}, {accumulate}, {SCALEA}, {SCALEB}, {TRANSB};";
        /// Adds the product of matrices of `f16` to D of `f16`.
        #[requires(sm_90a)]
        #[convergent]
        unsafe fn wgmma_m64_N_k16_f16_f16_f16<const SCALEA: i32 in -1..=1, const SCALEB: i32 in -1..=1, const TRANSA: i32 in 0..=1, const TRANSB: i32 in 0..=1>(d: &mut [u32; NH], a: u64, b: u64, accumulate: bool) =
            "wgmma.mma_async.sync.aligned.m64<N>k16.f16.f16.f16 {d}, {a}, {b}, {accumulate}, {SCALEA}, {SCALEB}, {TRANSA}, {TRANSB};";
        /// Adds the product of a sparse A and a dense B of `f16` to D of `f16`.
        #[requires(sm_90a)]
        #[convergent]
        unsafe fn wgmma_sp_m64_N_k32_f16_f16_f16<const PLACES: u32 in 0..=1, const SCALEA: i32 in -1..=1, const SCALEB: i32 in -1..=1, const TRANSA: i32 in 0..=1, const TRANSB: i32 in 0..=1>(d: &mut [u32; NH], a: u64, b: u64, places: u32, accumulate: bool) =
            "wgmma.mma_async.sp.sync.aligned.m64<N>k32.f16.f16.f16 {d}, {a}, {b}, {places}, {PLACES}, {accumulate}, {SCALEA}, {SCALEB}, {TRANSA}, {TRANSB};";
        /// Adds the product of matrices of `f16` to D of `f16`.
        #[requires(sm_90a)]
        #[convergent]
        unsafe fn wgmma_m64_N_k16_f16_f16_f16_ra<const SCALEA: i32 in -1..=1, const SCALEB: i32 in -1..=1, const TRANSB: i32 in 0..=1>(d: &mut [u32; NH], a: [u32; 4], b: u64, accumulate: bool) =
            "wgmma.mma_async.sync.aligned.m64<N>k16.f16.f16.f16 {d}, {a}, {b}, {accumulate}, {SCALEA}, {SCALEB}, {TRANSB};";
        /// Adds the product of a sparse A and a dense B of `f16` to D of `f16`.
        #[requires(sm_90a)]
        #[convergent]
        unsafe fn wgmma_sp_m64_N_k32_f16_f16_f16_ra<const PLACES: u32 in 0..=1, const SCALEA: i32 in -1..=1, const SCALEB: i32 in -1..=1, const TRANSB: i32 in 0..=1>(d: &mut [u32; NH], a: [u32; 4], b: u64, places: u32, accumulate: bool) =
            "wgmma.mma_async.sp.sync.aligned.m64<N>k32.f16.f16.f16 {d}, {a}, {b}, {places}, {PLACES}, {accumulate}, {SCALEA}, {SCALEB}, {TRANSB};";
        /// Adds the product of matrices of `bf16` to D.
        #[requires(sm_90a)]
        #[convergent]
        unsafe fn wgmma_m64_N_k16_f32_bf16_bf16<const SCALEA: i32 in -1..=1, const SCALEB: i32 in -1..=1, const TRANSA: i32 in 0..=1, const TRANSB: i32 in 0..=1>(d: &mut [f32; NF], a: u64, b: u64, accumulate: bool) =
            "wgmma.mma_async.sync.aligned.m64<N>k16.f32.bf16.bf16 {d}, {a}, {b}, {accumulate}, {SCALEA}, {SCALEB}, {TRANSA}, {TRANSB};";
        /// Adds the product of a sparse A and a dense B of `bf16` to D.
        #[requires(sm_90a)]
        #[convergent]
        unsafe fn wgmma_sp_m64_N_k32_f32_bf16_bf16<const PLACES: u32 in 0..=1, const SCALEA: i32 in -1..=1, const SCALEB: i32 in -1..=1, const TRANSA: i32 in 0..=1, const TRANSB: i32 in 0..=1>(d: &mut [f32; NF], a: u64, b: u64, places: u32, accumulate: bool) =
            "wgmma.mma_async.sp.sync.aligned.m64<N>k32.f32.bf16.bf16 {d}, {a}, {b}, {places}, {PLACES}, {accumulate}, {SCALEA}, {SCALEB}, {TRANSA}, {TRANSB};";
        /// Adds the product of matrices of `bf16` to D.
        #[requires(sm_90a)]
        #[convergent]
        unsafe fn wgmma_m64_N_k16_f32_bf16_bf16_ra<const SCALEA: i32 in -1..=1, const SCALEB: i32 in -1..=1, const TRANSB: i32 in 0..=1>(d: &mut [f32; NF], a: [u32; 4], b: u64, accumulate: bool) =
            "wgmma.mma_async.sync.aligned.m64<N>k16.f32.bf16.bf16 {d}, {a}, {b}, {accumulate}, {SCALEA}, {SCALEB}, {TRANSB};";
        /// Adds the product of a sparse A and a dense B of `bf16` to D.
        #[requires(sm_90a)]
        #[convergent]
        unsafe fn wgmma_sp_m64_N_k32_f32_bf16_bf16_ra<const PLACES: u32 in 0..=1, const SCALEA: i32 in -1..=1, const SCALEB: i32 in -1..=1, const TRANSB: i32 in 0..=1>(d: &mut [f32; NF], a: [u32; 4], b: u64, places: u32, accumulate: bool) =
            "wgmma.mma_async.sp.sync.aligned.m64<N>k32.f32.bf16.bf16 {d}, {a}, {b}, {places}, {PLACES}, {accumulate}, {SCALEA}, {SCALEB}, {TRANSB};";
        /// Adds the product of matrices of `tf32` to D.
        #[requires(sm_90a)]
        #[convergent]
        unsafe fn wgmma_m64_N_k8_f32_tf32_tf32<const SCALEA: i32 in -1..=1, const SCALEB: i32 in -1..=1>(d: &mut [f32; NF], a: u64, b: u64, accumulate: bool) =
            "wgmma.mma_async.sync.aligned.m64<N>k8.f32.tf32.tf32 {d}, {a}, {b}, {accumulate}, {SCALEA}, {SCALEB};";
        /// Adds the product of a sparse A and a dense B of `tf32` to D.
        #[requires(sm_90a)]
        #[convergent]
        unsafe fn wgmma_sp_m64_N_k16_f32_tf32_tf32<const PLACES: u32 in 0..=1, const SCALEA: i32 in -1..=1, const SCALEB: i32 in -1..=1>(d: &mut [f32; NF], a: u64, b: u64, places: u32, accumulate: bool) =
            "wgmma.mma_async.sp.sync.aligned.m64<N>k16.f32.tf32.tf32 {d}, {a}, {b}, {places}, {PLACES}, {accumulate}, {SCALEA}, {SCALEB};";
        /// Adds the product of matrices of `tf32` to D.
        #[requires(sm_90a)]
        #[convergent]
        unsafe fn wgmma_m64_N_k8_f32_tf32_tf32_ra<const SCALEA: i32 in -1..=1, const SCALEB: i32 in -1..=1>(d: &mut [f32; NF], a: [u32; 4], b: u64, accumulate: bool) =
            "wgmma.mma_async.sync.aligned.m64<N>k8.f32.tf32.tf32 {d}, {a}, {b}, {accumulate}, {SCALEA}, {SCALEB};";
        /// Adds the product of a sparse A and a dense B of `tf32` to D.
        #[requires(sm_90a)]
        #[convergent]
        unsafe fn wgmma_sp_m64_N_k16_f32_tf32_tf32_ra<const PLACES: u32 in 0..=1, const SCALEA: i32 in -1..=1, const SCALEB: i32 in -1..=1>(d: &mut [f32; NF], a: [u32; 4], b: u64, places: u32, accumulate: bool) =
            "wgmma.mma_async.sp.sync.aligned.m64<N>k16.f32.tf32.tf32 {d}, {a}, {b}, {places}, {PLACES}, {accumulate}, {SCALEA}, {SCALEB};";
        for TA in [e4m3, e5m2] {
        for TB in [e4m3, e5m2] {
        /// Adds the product of matrices of `<TA>` and `<TB>` to D of `f32`.
        #[requires(sm_90a)]
        #[convergent]
        unsafe fn wgmma_m64_N_k32_f32_TA_TB<const SCALEA: i32 in -1..=1, const SCALEB: i32 in -1..=1>(d: &mut [f32; NF], a: u64, b: u64, accumulate: bool) =
            "wgmma.mma_async.sync.aligned.m64<N>k32.f32.<TA>.<TB> {d}, {a}, {b}, {accumulate}, {SCALEA}, {SCALEB};";
        /// Adds the product of a sparse A and a dense B of `<TA>` and `<TB>` to D of `f32`.
        #[requires(sm_90a)]
        #[convergent]
        unsafe fn wgmma_sp_m64_N_k64_f32_TA_TB<const SCALEA: i32 in -1..=1, const SCALEB: i32 in -1..=1>(d: &mut [f32; NF], a: u64, b: u64, places: u32, accumulate: bool) =
            "wgmma.mma_async.sp.sync.aligned.m64<N>k64.f32.<TA>.<TB> {d}, {a}, {b}, {places}, 0, {accumulate}, {SCALEA}, {SCALEB};";
        /// Adds the product of matrices of `<TA>` and `<TB>` to D of `f32`.
        #[requires(sm_90a)]
        #[convergent]
        unsafe fn wgmma_m64_N_k32_f32_TA_TB_ra<const SCALEA: i32 in -1..=1, const SCALEB: i32 in -1..=1>(d: &mut [f32; NF], a: [u32; 4], b: u64, accumulate: bool) =
            "wgmma.mma_async.sync.aligned.m64<N>k32.f32.<TA>.<TB> {d}, {a}, {b}, {accumulate}, {SCALEA}, {SCALEB};";
        /// Adds the product of a sparse A and a dense B of `<TA>` and `<TB>` to D of `f32`.
        #[requires(sm_90a)]
        #[convergent]
        unsafe fn wgmma_sp_m64_N_k64_f32_TA_TB_ra<const SCALEA: i32 in -1..=1, const SCALEB: i32 in -1..=1>(d: &mut [f32; NF], a: [u32; 4], b: u64, places: u32, accumulate: bool) =
            "wgmma.mma_async.sp.sync.aligned.m64<N>k64.f32.<TA>.<TB> {d}, {a}, {b}, {places}, 0, {accumulate}, {SCALEA}, {SCALEB};";
        /// Adds the product of matrices of `<TA>` and `<TB>` to D of `f16`.
        #[requires(sm_90a)]
        #[convergent]
        unsafe fn wgmma_m64_N_k32_f16_TA_TB<const SCALEA: i32 in -1..=1, const SCALEB: i32 in -1..=1>(d: &mut [u32; NH], a: u64, b: u64, accumulate: bool) =
            "wgmma.mma_async.sync.aligned.m64<N>k32.f16.<TA>.<TB> {d}, {a}, {b}, {accumulate}, {SCALEA}, {SCALEB};";
        /// Adds the product of a sparse A and a dense B of `<TA>` and `<TB>` to D of `f16`.
        #[requires(sm_90a)]
        #[convergent]
        unsafe fn wgmma_sp_m64_N_k64_f16_TA_TB<const SCALEA: i32 in -1..=1, const SCALEB: i32 in -1..=1>(d: &mut [u32; NH], a: u64, b: u64, places: u32, accumulate: bool) =
            "wgmma.mma_async.sp.sync.aligned.m64<N>k64.f16.<TA>.<TB> {d}, {a}, {b}, {places}, 0, {accumulate}, {SCALEA}, {SCALEB};";
        /// Adds the product of matrices of `<TA>` and `<TB>` to D of `f16`.
        #[requires(sm_90a)]
        #[convergent]
        unsafe fn wgmma_m64_N_k32_f16_TA_TB_ra<const SCALEA: i32 in -1..=1, const SCALEB: i32 in -1..=1>(d: &mut [u32; NH], a: [u32; 4], b: u64, accumulate: bool) =
            "wgmma.mma_async.sync.aligned.m64<N>k32.f16.<TA>.<TB> {d}, {a}, {b}, {accumulate}, {SCALEA}, {SCALEB};";
        /// Adds the product of a sparse A and a dense B of `<TA>` and `<TB>` to D of `f16`.
        #[requires(sm_90a)]
        #[convergent]
        unsafe fn wgmma_sp_m64_N_k64_f16_TA_TB_ra<const SCALEA: i32 in -1..=1, const SCALEB: i32 in -1..=1>(d: &mut [u32; NH], a: [u32; 4], b: u64, places: u32, accumulate: bool) =
            "wgmma.mma_async.sp.sync.aligned.m64<N>k64.f16.<TA>.<TB> {d}, {a}, {b}, {places}, 0, {accumulate}, {SCALEA}, {SCALEB};";
        }
        }
    }
    for (N, NF) in [
        (n8, 4), (n16, 8), (n24, 12), (n32, 16), (n48, 24), (n64, 32), (n80, 40), (n96, 48),
        (n112, 56), (n128, 64), (n144, 72), (n160, 80), (n176, 88), (n192, 96), (n208, 104),
        (n224, 112), (n240, 120), (n256, 128)
    ] {
        for TA in [s8, u8] {
        for TB in [s8, u8] {
        /// Adds the product of matrices of `<TA>` and `<TB>` to D.
        #[requires(sm_90a)]
        #[convergent]
        unsafe fn wgmma_m64_N_k32_s32_TA_TB(d: &mut [i32; NF], a: u64, b: u64, accumulate: bool) =
            "wgmma.mma_async.sync.aligned.m64<N>k32.s32.<TA>.<TB> {d}, {a}, {b}, {accumulate};";
        /// Adds the product of a sparse A and a dense B of `<TA>` and `<TB>` to D.
        #[requires(sm_90a)]
        #[convergent]
        unsafe fn wgmma_sp_m64_N_k64_s32_TA_TB(d: &mut [i32; NF], a: u64, b: u64, places: u32, accumulate: bool) =
            "wgmma.mma_async.sp.sync.aligned.m64<N>k64.s32.<TA>.<TB> {d}, {a}, {b}, {places}, 0, {accumulate};";
        /// Adds the product of matrices of `<TA>` and `<TB>` to D.
        #[requires(sm_90a)]
        #[convergent]
        unsafe fn wgmma_m64_N_k32_s32_TA_TB_ra(d: &mut [i32; NF], a: [u32; 4], b: u64, accumulate: bool) =
            "wgmma.mma_async.sync.aligned.m64<N>k32.s32.<TA>.<TB> {d}, {a}, {b}, {accumulate};";
        /// Adds the product of a sparse A and a dense B of `<TA>` and `<TB>` to D.
        #[requires(sm_90a)]
        #[convergent]
        unsafe fn wgmma_sp_m64_N_k64_s32_TA_TB_ra(d: &mut [i32; NF], a: [u32; 4], b: u64, places: u32, accumulate: bool) =
            "wgmma.mma_async.sp.sync.aligned.m64<N>k64.s32.<TA>.<TB> {d}, {a}, {b}, {places}, 0, {accumulate};";
        /// Adds the product of matrices of `<TA>` and `<TB>` to D, saturating.
        #[requires(sm_90a)]
        #[convergent]
        unsafe fn wgmma_m64_N_k32_s32_TA_TB_satfinite(d: &mut [i32; NF], a: u64, b: u64, accumulate: bool) =
            "wgmma.mma_async.sync.aligned.m64<N>k32.s32.<TA>.<TB>.satfinite {d}, {a}, {b}, {accumulate};";
        /// Adds the product of a sparse A and a dense B of `<TA>` and `<TB>` to D, saturating.
        #[requires(sm_90a)]
        #[convergent]
        unsafe fn wgmma_sp_m64_N_k64_s32_TA_TB_satfinite(d: &mut [i32; NF], a: u64, b: u64, places: u32, accumulate: bool) =
            "wgmma.mma_async.sp.sync.aligned.m64<N>k64.s32.<TA>.<TB>.satfinite {d}, {a}, {b}, {places}, 0, {accumulate};";
        /// Adds the product of matrices of `<TA>` and `<TB>` to D, saturating.
        #[requires(sm_90a)]
        #[convergent]
        unsafe fn wgmma_m64_N_k32_s32_TA_TB_satfinite_ra(d: &mut [i32; NF], a: [u32; 4], b: u64, accumulate: bool) =
            "wgmma.mma_async.sync.aligned.m64<N>k32.s32.<TA>.<TB>.satfinite {d}, {a}, {b}, {accumulate};";
        /// Adds the product of a sparse A and a dense B of `<TA>` and `<TB>` to D, saturating.
        #[requires(sm_90a)]
        #[convergent]
        unsafe fn wgmma_sp_m64_N_k64_s32_TA_TB_satfinite_ra(d: &mut [i32; NF], a: [u32; 4], b: u64, places: u32, accumulate: bool) =
            "wgmma.mma_async.sp.sync.aligned.m64<N>k64.s32.<TA>.<TB>.satfinite {d}, {a}, {b}, {places}, 0, {accumulate};";
        }
        }
        /// Adds the product of matrices of single bits (the population counts of row `and` column)
        /// to D.
        #[requires(sm_90a)]
        #[convergent]
        unsafe fn wgmma_m64_N_k256_s32_b1_b1(d: &mut [i32; NF], a: u64, b: u64, accumulate: bool) =
            "wgmma.mma_async.sync.aligned.m64<N>k256.s32.b1.b1.and.popc {d}, {a}, {b}, {accumulate};";
        /// Adds the product of matrices of single bits (the population counts of row `and` column)
        /// to D.
        #[requires(sm_90a)]
        #[convergent]
        unsafe fn wgmma_m64_N_k256_s32_b1_b1_ra(d: &mut [i32; NF], a: [u32; 4], b: u64, accumulate: bool) =
            "wgmma.mma_async.sync.aligned.m64<N>k256.s32.b1.b1.and.popc {d}, {a}, {b}, {accumulate};";
    }
}
