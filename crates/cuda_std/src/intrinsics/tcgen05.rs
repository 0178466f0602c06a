//! `tcgen05`: tensor memory and the matrix products of fifth-generation tensor cores. One thread
//! starts a product of matrices in shared or tensor memory, which runs asynchronously. Requires
//! compute capability 10.0a or later. The emulator implements none of these instructions, and
//! reports an error when a kernel executes one.
//!
//! An address in tensor memory is a `u32`: the column in the lower half, the lane in the upper
//! half. Descriptors of matrices in shared memory (`u64`) and of instructions (`u32`) have the
//! formats of the PTX ISA. Suffixes of names: `cta_1` for the tensor memory of one block, `cta_2`
//! for that of a pair of blocks; `ta` if A is in tensor memory instead of shared memory.
//!
//! All operations are asynchronous: the registers of a load are valid after [`tcgen05_wait_ld`],
//! and products and copies have completed when the barrier of a [`tcgen05_commit_cta_1`] says so.

cuda_std_macros::intrinsics! {
    for G in [1, 2] {
        /// Allocates 32, 64, 128, 256 or 512 columns of tensor memory, waiting until they are
        /// available, and writes their address to shared memory. The whole warp must call it
        /// together.
        #[requires(sm_100f, sm_110f)]
        #[convergent]
        unsafe fn tcgen05_alloc_cta_G(to: *mut u32, columns: u32) =
            "tcgen05.alloc.cta_group::<G>.sync.aligned.shared::cta.b32 [{to:shared}], {columns};";
        /// Deallocates columns. The whole warp must call it together.
        #[requires(sm_100f, sm_110f)]
        #[convergent]
        unsafe fn tcgen05_dealloc_cta_G(columns_at: u32, columns: u32) =
            "tcgen05.dealloc.cta_group::<G>.sync.aligned.b32 {columns_at}, {columns};";
        /// Promises that the block allocates no more columns. The whole warp must call it together.
        #[requires(sm_100f, sm_110f)]
        #[convergent]
        fn tcgen05_relinquish_alloc_permit_cta_G() =
            "tcgen05.relinquish_alloc_permit.cta_group::<G>.sync.aligned;";
        /// Arrives at a barrier when the products and copies that this thread has started have
        /// completed.
        #[requires(sm_100f, sm_110f)]
        unsafe fn tcgen05_commit_cta_G(barrier: *mut u64) =
            "tcgen05.commit.cta_group::<G>.mbarrier::arrive::one.shared::cluster.b64 [{barrier:shared}];";
        /// Arrives at the barriers at the same offset in all blocks of the mask when the products
        /// and copies that this thread has started have completed.
        #[requires(sm_100f, sm_110f)]
        unsafe fn tcgen05_commit_cta_G_multicast(barrier: *mut u64, blocks: u16) =
            "tcgen05.commit.cta_group::<G>.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [{barrier:shared}], {blocks};";
        /// Shifts 32-byte rows down by one row.
        #[requires(sm_100a, sm_103a, sm_110a)]
        unsafe fn tcgen05_shift_down_cta_G(at: u32) = "tcgen05.shift.cta_group::<G>.down [{at}];";

        for (SHAPE, NAME) in [
            ("128x256b", b128x256), ("4x256b", b4x256), ("128x128b", b128x128),
            ("64x128b.warpx2::02_13", b64x128_halves), ("64x128b.warpx2::01_23", b64x128_pairs),
            ("32x128b.warpx4", b32x128_all)
        ] {
            for (FORMAT, AS) in [
                ("", plain), (".b8x16.b6x16_p32", from6), (".b8x16.b4x16_p64", from4)
            ] {
                /// Starts a copy from shared to tensor memory. `from6` and `from4` expand elements
                /// of 6 and 4 bits to bytes.
                #[requires(sm_100f, sm_110f)]
                unsafe fn tcgen05_cp_NAME_AS_cta_G(to: u32, from: u64) =
                    "tcgen05.cp.cta_group::<G>.<SHAPE><FORMAT> [{to}], {from};";
            }
        }
    }

    /// Orders this thread's earlier accesses to tensor memory before later barriers.
    #[requires(sm_100f, sm_110f)]
    fn tcgen05_fence_before_thread_sync() = "tcgen05.fence::before_thread_sync;";
    /// Orders later accesses to tensor memory after earlier barriers.
    #[requires(sm_100f, sm_110f)]
    fn tcgen05_fence_after_thread_sync() = "tcgen05.fence::after_thread_sync;";
    for WHAT in [ld, st] {
        /// Waits for all of this thread's `<WHAT>` operations on tensor memory. The whole warp must
        /// call it together.
        #[requires(sm_100f, sm_110f)]
        #[convergent]
        fn tcgen05_wait_WHAT() = "tcgen05.wait::<WHAT>.sync.aligned;";
    }

    for (SHAPE, NUM, COUNT) in [
        (b32x32, x1, 1), (b32x32, x2, 2), (b32x32, x4, 4), (b32x32, x8, 8), (b32x32, x16, 16),
        (b32x32, x32, 32), (b32x32, x64, 64), (b32x32, x128, 128)
    ] {
        /// Starts a load of `<NUM>` words from each of this warp's lanes.
        #[requires(sm_100f, sm_110f)]
        #[convergent]
        unsafe fn tcgen05_ld_SHAPE_NUM(from: u32) -> [u32; COUNT] =
            "tcgen05.ld.sync.aligned.32x32b.<NUM>.b32 {ret}, [{from}];";
        /// Starts a load of `<NUM>` words from each of this warp's lanes, packing two 16-bit
        /// columns in each register.
        #[requires(sm_100f, sm_110f)]
        #[convergent]
        unsafe fn tcgen05_ld_SHAPE_NUM_pack(from: u32) -> [u32; COUNT] =
            "tcgen05.ld.sync.aligned.32x32b.<NUM>.pack::16b.b32 {ret}, [{from}];";
        /// Starts a store of `<NUM>` words to each of this warp's lanes.
        #[requires(sm_100f, sm_110f)]
        #[convergent]
        unsafe fn tcgen05_st_SHAPE_NUM(to: u32, values: [u32; COUNT]) =
            "tcgen05.st.sync.aligned.32x32b.<NUM>.b32 [{to}], {values};";
        /// Starts a store of `<NUM>` words to each of this warp's lanes, unpacking each register to
        /// two 16-bit columns.
        #[requires(sm_100f, sm_110f)]
        #[convergent]
        unsafe fn tcgen05_st_SHAPE_NUM_unpack(to: u32, values: [u32; COUNT]) =
            "tcgen05.st.sync.aligned.32x32b.<NUM>.unpack::16b.b32 [{to}], {values};";
        /// Starts a load of words from 16 lanes, and from as many columns starting at `SPLIT`.
        #[requires(sm_100f, sm_110f)]
        #[convergent]
        unsafe fn tcgen05_ld_b16x32x2_NUM<const SPLIT: u32 in 0..=512>(from: u32) -> [u32; COUNT] =
            "tcgen05.ld.sync.aligned.16x32bx2.<NUM>.b32 {ret}, [{from}], {SPLIT};";
        /// Starts a store of words to 16 lanes, and to as many columns starting at `SPLIT`.
        #[requires(sm_100f, sm_110f)]
        #[convergent]
        unsafe fn tcgen05_st_b16x32x2_NUM<const SPLIT: u32 in 0..=512>(to: u32, values: [u32; COUNT]) =
            "tcgen05.st.sync.aligned.16x32bx2.<NUM>.b32 [{to}], {SPLIT}, {values};";
    }
    for (SHAPE, TEXT, NUM, COUNT) in [
        (b16x64, "16x64b", x1, 1), (b16x64, "16x64b", x2, 2), (b16x64, "16x64b", x4, 4),
        (b16x64, "16x64b", x8, 8), (b16x64, "16x64b", x16, 16), (b16x64, "16x64b", x32, 32),
        (b16x64, "16x64b", x64, 64), (b16x64, "16x64b", x128, 128),
        (b16x128, "16x128b", x1, 2), (b16x128, "16x128b", x2, 4), (b16x128, "16x128b", x4, 8),
        (b16x128, "16x128b", x8, 16), (b16x128, "16x128b", x16, 32), (b16x128, "16x128b", x32, 64),
        (b16x128, "16x128b", x64, 128),
        (b16x256, "16x256b", x1, 4), (b16x256, "16x256b", x2, 8), (b16x256, "16x256b", x4, 16),
        (b16x256, "16x256b", x8, 32), (b16x256, "16x256b", x16, 64), (b16x256, "16x256b", x32, 128)
    ] {
        /// Starts a load of `<NUM>` matrices of shape `<TEXT>` from 16 lanes, distributed over the
        /// warp.
        #[requires(sm_100f, sm_110f)]
        #[convergent]
        unsafe fn tcgen05_ld_SHAPE_NUM(from: u32) -> [u32; COUNT] =
            "tcgen05.ld.sync.aligned.<TEXT>.<NUM>.b32 {ret}, [{from}];";
        /// Starts a load of `<NUM>` matrices of shape `<TEXT>` from 16 lanes, packing two 16-bit
        /// columns in each register.
        #[requires(sm_100f, sm_110f)]
        #[convergent]
        unsafe fn tcgen05_ld_SHAPE_NUM_pack(from: u32) -> [u32; COUNT] =
            "tcgen05.ld.sync.aligned.<TEXT>.<NUM>.pack::16b.b32 {ret}, [{from}];";
        /// Starts a store of `<NUM>` matrices of shape `<TEXT>` to 16 lanes.
        #[requires(sm_100f, sm_110f)]
        #[convergent]
        unsafe fn tcgen05_st_SHAPE_NUM(to: u32, values: [u32; COUNT]) =
            "tcgen05.st.sync.aligned.<TEXT>.<NUM>.b32 [{to}], {values};";
        /// Starts a store of `<NUM>` matrices of shape `<TEXT>` to 16 lanes, unpacking each
        /// register to two 16-bit columns.
        #[requires(sm_100f, sm_110f)]
        #[convergent]
        unsafe fn tcgen05_st_SHAPE_NUM_unpack(to: u32, values: [u32; COUNT]) =
            "tcgen05.st.sync.aligned.<TEXT>.<NUM>.unpack::16b.b32 [{to}], {values};";
    }

    // Fewer architectures support `i8`.
    for (KIND, ARCH, OTHER) in [
        (f16, sm_100f, sm_110f), (tf32, sm_100f, sm_110f), (f8f6f4, sm_100f, sm_110f),
        (i8, sm_100a, sm_110a)
    ] {
        for (WHERE, A, RUST) in [(sa, "{a}", u64), (ta, "[{a}]", u32)] {
            for (G, LANES) in [(1, 4), (2, 8)] {
                /// Starts `d = a * b`, or `d += a * b` if `accumulate` is true.
                #[requires(ARCH, OTHER)]
                unsafe fn tcgen05_mma_KIND_WHERE_cta_G(d: u32, a: RUST, b: u64, instruction: u32, accumulate: bool) =
                    "tcgen05.mma.cta_group::<G>.kind::<KIND> [{d}], <A>, {b}, {instruction}, {accumulate};";
                /// Starts `d = a * b`, or `d += a * b` if `accumulate` is true, except for the
                /// lanes of D whose bits are set in `without`.
                #[requires(ARCH, OTHER)]
                unsafe fn tcgen05_mma_KIND_WHERE_cta_G_lanes(d: u32, a: RUST, b: u64, instruction: u32, without: [u32; LANES], accumulate: bool) =
                    "tcgen05.mma.cta_group::<G>.kind::<KIND> [{d}], <A>, {b}, {instruction}, {without}, {accumulate};";
                /// Starts `d = a * b`, or `d += a * b` if `accumulate` is true, with a sparse A
                /// whose metadata is in tensor memory.
                #[requires(ARCH, OTHER)]
                unsafe fn tcgen05_mma_sp_KIND_WHERE_cta_G(d: u32, a: RUST, b: u64, places: u32, instruction: u32, accumulate: bool) =
                    "tcgen05.mma.sp.cta_group::<G>.kind::<KIND> [{d}], <A>, {b}, [{places}], {instruction}, {accumulate};";
                for (USE, TEXT) in [(fill, "fill"), (reuse, "use"), (last, "lastuse"), (discard, "discard")] {
                    /// Starts `d = a * b`, or `d += a * b` if `accumulate` is true, and controls
                    /// the collector buffer of A: fill it, use it, use it for the last time, or
                    /// discard it.
                    #[requires(ARCH, OTHER)]
                    unsafe fn tcgen05_mma_KIND_WHERE_cta_G_USE(d: u32, a: RUST, b: u64, instruction: u32, accumulate: bool) =
                        "tcgen05.mma.cta_group::<G>.kind::<KIND>.collector::a::<TEXT> [{d}], <A>, {b}, {instruction}, {accumulate};";
                }
            }
            /// Starts a weight-stationary product.
            #[requires(ARCH, OTHER)]
            unsafe fn tcgen05_mma_ws_KIND_WHERE(d: u32, a: RUST, b: u64, instruction: u32, accumulate: bool) =
                "tcgen05.mma.ws.cta_group::1.kind::<KIND> [{d}], <A>, {b}, {instruction}, {accumulate};";
            /// Starts a weight-stationary product in which the columns of B that `zeros` selects
            /// count as zeros.
            #[requires(ARCH, OTHER)]
            unsafe fn tcgen05_mma_ws_KIND_WHERE_zeros(d: u32, a: RUST, b: u64, instruction: u32, accumulate: bool, zeros: u64) =
                "tcgen05.mma.ws.cta_group::1.kind::<KIND> [{d}], <A>, {b}, {instruction}, {accumulate}, {zeros};";
            /// Starts a weight-stationary product with a sparse A whose metadata is in tensor
            /// memory.
            #[requires(ARCH, OTHER)]
            unsafe fn tcgen05_mma_ws_sp_KIND_WHERE(d: u32, a: RUST, b: u64, places: u32, instruction: u32, accumulate: bool) =
                "tcgen05.mma.ws.sp.cta_group::1.kind::<KIND> [{d}], <A>, {b}, [{places}], {instruction}, {accumulate};";
            for (USE, TEXT) in [(fill, "fill"), (reuse, "use"), (last, "lastuse"), (discard, "discard")] {
                for BUFFER in [b0, b1, b2, b3] {
                    /// Starts a weight-stationary product, and controls the collector buffer
                    /// `<BUFFER>`: fill it, use it, use it for the last time, or discard it.
                    #[requires(ARCH, OTHER)]
                    unsafe fn tcgen05_mma_ws_KIND_WHERE_BUFFER_USE(d: u32, a: RUST, b: u64, instruction: u32, accumulate: bool) =
                        "tcgen05.mma.ws.cta_group::1.kind::<KIND>.collector::<BUFFER>::<TEXT> [{d}], <A>, {b}, {instruction}, {accumulate};";
                }
            }
        }
    }
    for (WHERE, A, RUST) in [(sa, "{a}", u64), (ta, "[{a}]", u32)] {
        for G in [1, 2] {
            for KIND in [f16, tf32] {
                /// Starts `d = a * b`, or `d = d / 2^SCALE + a * b` if `accumulate` is true.
                #[requires(sm_100f, sm_103a)]
                unsafe fn tcgen05_mma_KIND_WHERE_cta_G_scaled<const SCALE: u32 in 0..=15>(d: u32, a: RUST, b: u64, instruction: u32, accumulate: bool) =
                    "tcgen05.mma.cta_group::<G>.kind::<KIND> [{d}], <A>, {b}, {instruction}, {accumulate}, {SCALE};";
            }
            for (KIND, SIZE) in [
                (mxf8f6f4, block32), (mxf4, block32), (mxf4nvf4, block16), (mxf4nvf4, block32)
            ] {
                /// Starts `d = a * b`, or `d += a * b` if `accumulate` is true, with block scaling:
                /// blocks of the size in the name share a scale, which is in tensor memory.
                #[requires(sm_100f, sm_110f)]
                unsafe fn tcgen05_mma_KIND_SIZE_WHERE_cta_G(d: u32, a: RUST, b: u64, instruction: u32, scales_a: u32, scales_b: u32, accumulate: bool) =
                    "tcgen05.mma.cta_group::<G>.kind::<KIND>.block_scale.<SIZE> [{d}], <A>, {b}, {instruction}, [{scales_a}], [{scales_b}], {accumulate};";
            }
            for (KIND, SIZE, ARCH, OTHER, THIRD) in [
                (mxf8f6f4, block32, sm_100f, sm_103f, sm_110f), (mxf4, block32, sm_100a, sm_103a, sm_110a),
                (mxf4nvf4, block16, sm_100a, sm_103a, sm_110a), (mxf4nvf4, block32, sm_100a, sm_103a, sm_110a)
            ] {
                /// Starts a block-scaled product with a sparse A whose metadata is in tensor
                /// memory.
                #[requires(ARCH, OTHER, THIRD)]
                unsafe fn tcgen05_mma_sp_KIND_SIZE_WHERE_cta_G(d: u32, a: RUST, b: u64, places: u32, instruction: u32, scales_a: u32, scales_b: u32, accumulate: bool) =
                    "tcgen05.mma.sp.cta_group::<G>.kind::<KIND>.block_scale.<SIZE> [{d}], <A>, {b}, [{places}], {instruction}, [{scales_a}], [{scales_b}], {accumulate};";
            }
        }
    }
}
