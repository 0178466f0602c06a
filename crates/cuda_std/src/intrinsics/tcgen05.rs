//! `tcgen05`: tensor memory and the products of the fifth generation of tensor cores, asynchronously
//! by one thread, of matrices in shared or tensor memory. From compute capability 10.0a on; the
//! emulator has none of it, and says so when a kernel comes to it.
//!
//! An address in tensor memory is a `u32`: columns in the lower half, lanes in the upper one.
//! Descriptors of matrices in shared memory (`u64`) and of instructions (`u32`) are as the PTX ISA
//! lays them out. Names say whose tensor memory it is, `cta_1` or the pair of blocks `cta_2`; `ta`
//! says that A is in tensor memory instead of shared memory.
//!
//! Nothing here waits: registers of a load are there after [`tcgen05_wait_ld`], and products and
//! copies are done when the barrier of a [`tcgen05_commit_cta_1`] says so.

cuda_std_macros::intrinsics! {
    for G in [1, 2] {
        /// Takes 32, 64, 128, 256 or 512 columns of tensor memory, waiting until there are as many,
        /// and writes their address to shared memory. By a whole warp.
        #[requires(sm_100f, sm_110f)]
        #[convergent]
        unsafe fn tcgen05_alloc_cta_G(to: *mut u32, columns: u32) =
            "tcgen05.alloc.cta_group::<G>.sync.aligned.shared::cta.b32 [{to:shared}], {columns};";
        /// Gives so many columns back. By a whole warp.
        #[requires(sm_100f, sm_110f)]
        #[convergent]
        unsafe fn tcgen05_dealloc_cta_G(columns_at: u32, columns: u32) =
            "tcgen05.dealloc.cta_group::<G>.sync.aligned.b32 {columns_at}, {columns};";
        /// Promises that the block takes no more columns. By a whole warp.
        #[requires(sm_100f, sm_110f)]
        #[convergent]
        fn tcgen05_relinquish_alloc_permit_cta_G() =
            "tcgen05.relinquish_alloc_permit.cta_group::<G>.sync.aligned;";
        /// Has a barrier count one arrival when this thread's products and copies so far are done.
        #[requires(sm_100f, sm_110f)]
        unsafe fn tcgen05_commit_cta_G(barrier: *mut u64) =
            "tcgen05.commit.cta_group::<G>.mbarrier::arrive::one.shared::cluster.b64 [{barrier:shared}];";
        /// The same for the barriers at this place in the cluster's blocks of the mask.
        #[requires(sm_100f, sm_110f)]
        unsafe fn tcgen05_commit_cta_G_multicast(barrier: *mut u64, blocks: u16) =
            "tcgen05.commit.cta_group::<G>.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [{barrier:shared}], {blocks};";
        /// Moves rows of 32 bytes down by one.
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
                /// Begins a copy from shared to tensor memory (`from6` and `from4`: numbers of 6 and 4
                /// bits become bytes).
                #[requires(sm_100f, sm_110f)]
                unsafe fn tcgen05_cp_NAME_AS_cta_G(to: u32, from: u64) =
                    "tcgen05.cp.cta_group::<G>.<SHAPE><FORMAT> [{to}], {from};";
            }
        }
    }

    /// Orders this thread's earlier accesses to tensor memory before barriers that follow.
    #[requires(sm_100f, sm_110f)]
    fn tcgen05_fence_before_thread_sync() = "tcgen05.fence::before_thread_sync;";
    /// Orders accesses to tensor memory that follow after barriers before.
    #[requires(sm_100f, sm_110f)]
    fn tcgen05_fence_after_thread_sync() = "tcgen05.fence::after_thread_sync;";
    for WHAT in [ld, st] {
        /// Waits for all of this thread's `<WHAT>` from or to tensor memory. By a whole warp.
        #[requires(sm_100f, sm_110f)]
        #[convergent]
        fn tcgen05_wait_WHAT() = "tcgen05.wait::<WHAT>.sync.aligned;";
    }

    for (SHAPE, NUM, COUNT) in [
        (b32x32, x1, 1), (b32x32, x2, 2), (b32x32, x4, 4), (b32x32, x8, 8), (b32x32, x16, 16),
        (b32x32, x32, 32), (b32x32, x64, 64), (b32x32, x128, 128)
    ] {
        /// Begins to load words of this warp's lanes, `<NUM>` from each.
        #[requires(sm_100f, sm_110f)]
        #[convergent]
        unsafe fn tcgen05_ld_SHAPE_NUM(from: u32) -> [u32; COUNT] =
            "tcgen05.ld.sync.aligned.32x32b.<NUM>.b32 {ret}, [{from}];";
        /// The same, two columns of 16 bits in each register.
        #[requires(sm_100f, sm_110f)]
        #[convergent]
        unsafe fn tcgen05_ld_SHAPE_NUM_pack(from: u32) -> [u32; COUNT] =
            "tcgen05.ld.sync.aligned.32x32b.<NUM>.pack::16b.b32 {ret}, [{from}];";
        /// Begins to store words to this warp's lanes, `<NUM>` to each.
        #[requires(sm_100f, sm_110f)]
        #[convergent]
        unsafe fn tcgen05_st_SHAPE_NUM(to: u32, values: [u32; COUNT]) =
            "tcgen05.st.sync.aligned.32x32b.<NUM>.b32 [{to}], {values};";
        /// The same, each register to two columns of 16 bits.
        #[requires(sm_100f, sm_110f)]
        #[convergent]
        unsafe fn tcgen05_st_SHAPE_NUM_unpack(to: u32, values: [u32; COUNT]) =
            "tcgen05.st.sync.aligned.32x32b.<NUM>.unpack::16b.b32 [{to}], {values};";
        /// Begins to load words of 16 lanes, and of as many columns from `SPLIT` on.
        #[requires(sm_100f, sm_110f)]
        #[convergent]
        unsafe fn tcgen05_ld_b16x32x2_NUM<const SPLIT: u32 in 0..=512>(from: u32) -> [u32; COUNT] =
            "tcgen05.ld.sync.aligned.16x32bx2.<NUM>.b32 {ret}, [{from}], {SPLIT};";
        /// Begins to store words to 16 lanes, and to as many columns from `SPLIT` on.
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
        /// Begins to load `<NUM>` pieces of `<TEXT>` of 16 lanes, shared out over the warp.
        #[requires(sm_100f, sm_110f)]
        #[convergent]
        unsafe fn tcgen05_ld_SHAPE_NUM(from: u32) -> [u32; COUNT] =
            "tcgen05.ld.sync.aligned.<TEXT>.<NUM>.b32 {ret}, [{from}];";
        /// The same, two columns of 16 bits in each register.
        #[requires(sm_100f, sm_110f)]
        #[convergent]
        unsafe fn tcgen05_ld_SHAPE_NUM_pack(from: u32) -> [u32; COUNT] =
            "tcgen05.ld.sync.aligned.<TEXT>.<NUM>.pack::16b.b32 {ret}, [{from}];";
        /// Begins to store `<NUM>` pieces of `<TEXT>` to 16 lanes.
        #[requires(sm_100f, sm_110f)]
        #[convergent]
        unsafe fn tcgen05_st_SHAPE_NUM(to: u32, values: [u32; COUNT]) =
            "tcgen05.st.sync.aligned.<TEXT>.<NUM>.b32 [{to}], {values};";
        /// The same, each register to two columns of 16 bits.
        #[requires(sm_100f, sm_110f)]
        #[convergent]
        unsafe fn tcgen05_st_SHAPE_NUM_unpack(to: u32, values: [u32; COUNT]) =
            "tcgen05.st.sync.aligned.<TEXT>.<NUM>.unpack::16b.b32 [{to}], {values};";
    }

    // `i8` is not everywhere.
    for (KIND, ARCH, OTHER) in [
        (f16, sm_100f, sm_110f), (tf32, sm_100f, sm_110f), (f8f6f4, sm_100f, sm_110f),
        (i8, sm_100a, sm_110a)
    ] {
        for (WHERE, A, RUST) in [(sa, "{a}", u64), (ta, "[{a}]", u32)] {
            for (G, LANES) in [(1, 4), (2, 8)] {
                /// Begins `d = a * b`, or with `accumulate` `d += a * b`.
                #[requires(ARCH, OTHER)]
                unsafe fn tcgen05_mma_KIND_WHERE_cta_G(d: u32, a: RUST, b: u64, instruction: u32, accumulate: bool) =
                    "tcgen05.mma.cta_group::<G>.kind::<KIND> [{d}], <A>, {b}, {instruction}, {accumulate};";
                /// The same, but for the lanes of D whose bits are set.
                #[requires(ARCH, OTHER)]
                unsafe fn tcgen05_mma_KIND_WHERE_cta_G_lanes(d: u32, a: RUST, b: u64, instruction: u32, without: [u32; LANES], accumulate: bool) =
                    "tcgen05.mma.cta_group::<G>.kind::<KIND> [{d}], <A>, {b}, {instruction}, {without}, {accumulate};";
                /// The same with a sparse A, whose places are in tensor memory.
                #[requires(ARCH, OTHER)]
                unsafe fn tcgen05_mma_sp_KIND_WHERE_cta_G(d: u32, a: RUST, b: u64, places: u32, instruction: u32, accumulate: bool) =
                    "tcgen05.mma.sp.cta_group::<G>.kind::<KIND> [{d}], <A>, {b}, [{places}], {instruction}, {accumulate};";
                for (USE, TEXT) in [(fill, "fill"), (reuse, "use"), (last, "lastuse"), (discard, "discard")] {
                    /// The same, saying what the buffer of A is for: it is filled, used (again or for the
                    /// last time), or of no use later.
                    #[requires(ARCH, OTHER)]
                    unsafe fn tcgen05_mma_KIND_WHERE_cta_G_USE(d: u32, a: RUST, b: u64, instruction: u32, accumulate: bool) =
                        "tcgen05.mma.cta_group::<G>.kind::<KIND>.collector::a::<TEXT> [{d}], <A>, {b}, {instruction}, {accumulate};";
                }
            }
            /// Begins a product whose A stays where it is over several of them ("weight stationary").
            #[requires(ARCH, OTHER)]
            unsafe fn tcgen05_mma_ws_KIND_WHERE(d: u32, a: RUST, b: u64, instruction: u32, accumulate: bool) =
                "tcgen05.mma.ws.cta_group::1.kind::<KIND> [{d}], <A>, {b}, {instruction}, {accumulate};";
            /// The same, with columns of B taken for zeros.
            #[requires(ARCH, OTHER)]
            unsafe fn tcgen05_mma_ws_KIND_WHERE_zeros(d: u32, a: RUST, b: u64, instruction: u32, accumulate: bool, zeros: u64) =
                "tcgen05.mma.ws.cta_group::1.kind::<KIND> [{d}], <A>, {b}, {instruction}, {accumulate}, {zeros};";
            /// The same with a sparse A, whose places are in tensor memory.
            #[requires(ARCH, OTHER)]
            unsafe fn tcgen05_mma_ws_sp_KIND_WHERE(d: u32, a: RUST, b: u64, places: u32, instruction: u32, accumulate: bool) =
                "tcgen05.mma.ws.sp.cta_group::1.kind::<KIND> [{d}], <A>, {b}, [{places}], {instruction}, {accumulate};";
            for (USE, TEXT) in [(fill, "fill"), (reuse, "use"), (last, "lastuse"), (discard, "discard")] {
                for BUFFER in [b0, b1, b2, b3] {
                    /// The same, saying what the buffer `<BUFFER>` is for.
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
                /// Begins `d = d / 2^SCALE + a * b`, or without `accumulate` `d = a * b`.
                #[requires(sm_100f, sm_103a)]
                unsafe fn tcgen05_mma_KIND_WHERE_cta_G_scaled<const SCALE: u32 in 0..=15>(d: u32, a: RUST, b: u64, instruction: u32, accumulate: bool) =
                    "tcgen05.mma.cta_group::<G>.kind::<KIND> [{d}], <A>, {b}, {instruction}, {accumulate}, {SCALE};";
            }
            for (KIND, SIZE) in [
                (mxf8f6f4, block32), (mxf4, block32), (mxf4nvf4, block16), (mxf4nvf4, block32)
            ] {
                /// Begins `d = a * b`, or with `accumulate` `d += a * b`, where pieces of the size in the
                /// name share a scale, which is in tensor memory.
                #[requires(sm_100f, sm_110f)]
                unsafe fn tcgen05_mma_KIND_SIZE_WHERE_cta_G(d: u32, a: RUST, b: u64, instruction: u32, scales_a: u32, scales_b: u32, accumulate: bool) =
                    "tcgen05.mma.cta_group::<G>.kind::<KIND>.block_scale.<SIZE> [{d}], <A>, {b}, {instruction}, [{scales_a}], [{scales_b}], {accumulate};";
            }
            for (KIND, SIZE, ARCH, OTHER, THIRD) in [
                (mxf8f6f4, block32, sm_100f, sm_103f, sm_110f), (mxf4, block32, sm_100a, sm_103a, sm_110a),
                (mxf4nvf4, block16, sm_100a, sm_103a, sm_110a), (mxf4nvf4, block32, sm_100a, sm_103a, sm_110a)
            ] {
                /// The same with a sparse A, whose places are in tensor memory.
                #[requires(ARCH, OTHER, THIRD)]
                unsafe fn tcgen05_mma_sp_KIND_SIZE_WHERE_cta_G(d: u32, a: RUST, b: u64, places: u32, instruction: u32, scales_a: u32, scales_b: u32, accumulate: bool) =
                    "tcgen05.mma.sp.cta_group::<G>.kind::<KIND>.block_scale.<SIZE> [{d}], <A>, {b}, [{places}], {instruction}, [{scales_a}], [{scales_b}], {accumulate};";
            }
        }
    }
}
