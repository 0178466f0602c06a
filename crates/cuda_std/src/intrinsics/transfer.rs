//! Asynchronous copies, the barriers that tell of their end, bulk and tensor copies, proxies'
//! fences, and clusters' shared memory. [`copy`](crate::copy), [`mbarrier`](crate::mbarrier) and
//! [`cluster`](crate::cluster) have better faces.

cuda_std_macros::intrinsics! {
    // Copies of 4 to 16 bytes by each thread.
    for N in [4, 8, 16] {
        /// Begins a copy of <N> bytes to shared memory.
        #[requires(sm_80)]
        unsafe fn cp_async_ca_N(to: *mut u8, from: *const u8) =
            "cp.async.ca.shared.global [{to:shared}], [{from:global}], <N>;";
        /// Begins a copy of <N> bytes to shared memory, of which only so many are read and the rest
        /// is zero.
        #[requires(sm_80)]
        unsafe fn cp_async_ca_N_zero_fill(to: *mut u8, from: *const u8, bytes: u32) =
            "cp.async.ca.shared.global [{to:shared}], [{from:global}], <N>, {bytes};";
    }
    /// Begins a copy of 16 bytes to shared memory, past the first-level cache.
    #[requires(sm_80)]
    unsafe fn cp_async_cg_16(to: *mut u8, from: *const u8) =
        "cp.async.cg.shared.global [{to:shared}], [{from:global}], 16;";
    /// Begins a copy of 16 bytes to shared memory, past the first-level cache, of which only so many
    /// are read and the rest is zero.
    #[requires(sm_80)]
    unsafe fn cp_async_cg_16_zero_fill(to: *mut u8, from: *const u8, bytes: u32) =
        "cp.async.cg.shared.global [{to:shared}], [{from:global}], 16, {bytes};";
    for SIZE in [64, 128, 256] {
        /// Begins a copy of 16 bytes to shared memory, and has the second-level cache fetch <SIZE>.
        #[requires(sm_80)]
        unsafe fn cp_async_cg_16_prefetch_SIZE(to: *mut u8, from: *const u8) =
            "cp.async.cg.shared.global.L2::<SIZE>B [{to:shared}], [{from:global}], 16;";
    }
    /// Makes a group of the copies that this thread began since the last one.
    #[requires(sm_80)]
    fn cp_async_commit_group() = "cp.async.commit_group;";
    /// Waits until all but the newest `N` groups of this thread are there.
    #[requires(sm_80)]
    fn cp_async_wait_group<const N: u32 in 0..=7>() = "cp.async.wait_group {N};";
    /// Waits until all copies that this thread began are there.
    #[requires(sm_80)]
    fn cp_async_wait_all() = "cp.async.wait_all;";
    for (NAME, WORD) in [(arrive, ""), (arrive_noinc, ".noinc")] {
        /// Arrives at a barrier when the copies that this thread began before are there; without
        /// `noinc` the barrier awaits one arrival more for it.
        #[requires(sm_80)]
        unsafe fn cp_async_mbarrier_NAME(barrier: *mut u64) =
            "cp.async.mbarrier.arrive<WORD>.shared.b64 [{barrier:shared}];";
    }

    // Barriers in shared memory.
    /// Makes a barrier for so many arrivals.
    #[requires(sm_80)]
    unsafe fn mbarrier_init(barrier: *mut u64, count: u32) = "mbarrier.init.shared.b64 [{barrier:shared}], {count};";
    /// Ends a barrier, whose memory is then free for other use.
    #[requires(sm_80)]
    unsafe fn mbarrier_inval(barrier: *mut u64) = "mbarrier.inval.shared.b64 [{barrier:shared}];";
    for OP in [arrive, arrive_drop] {
        for (NAME, WORD, ARCH) in [("", "", sm_90), (nocomplete, ".noComplete", sm_80)] {
            /// Arrives so many times, and returns the phase's state.
            #[requires(ARCH)]
            unsafe fn mbarrier_OP_NAME_many(barrier: *mut u64, count: u32) -> u64 =
                "mbarrier.<OP><WORD>.shared.b64 {ret}, [{barrier:shared}], {count};";
        }
        /// Arrives, and returns the phase's state.
        #[requires(sm_80)]
        unsafe fn mbarrier_OP(barrier: *mut u64) -> u64 = "mbarrier.<OP>.shared.b64 {ret}, [{barrier:shared}];";
        /// Arrives and says how many bytes are to come, and returns the phase's state.
        #[requires(sm_90)]
        unsafe fn mbarrier_OP_expect_tx(barrier: *mut u64, bytes: u32) -> u64 =
            "mbarrier.<OP>.expect_tx.release.cta.shared::cta.b64 {ret}, [{barrier:shared}], {bytes};";
        for SCOPE in [cta, cluster] {
            /// Arrives at a barrier of any block of the cluster; `release` for the <SCOPE>.
            #[requires(sm_90)]
            unsafe fn mbarrier_OP_release_SCOPE_remote(barrier: *mut u64, count: u32) =
                "{ .reg .b64 %t; cvta.to.shared::cluster.u64 %t, {barrier}; mbarrier.<OP>.release.<SCOPE>.shared::cluster.b64 _, [%t], {count}; }";
            /// Arrives at a barrier of any block of the cluster, and says how many bytes are to come.
            #[requires(sm_90)]
            unsafe fn mbarrier_OP_expect_tx_release_SCOPE_remote(barrier: *mut u64, bytes: u32) =
                "{ .reg .b64 %t; cvta.to.shared::cluster.u64 %t, {barrier}; mbarrier.<OP>.expect_tx.release.<SCOPE>.shared::cluster.b64 _, [%t], {bytes}; }";
        }
    }
    for OP in [expect_tx, complete_tx] {
        /// Says that so many bytes more are to come, or have come.
        #[requires(sm_90)]
        unsafe fn mbarrier_OP(barrier: *mut u64, bytes: u32) =
            "mbarrier.<OP>.relaxed.cta.shared::cta.b64 [{barrier:shared}], {bytes};";
        /// Says so to a barrier of any block of the cluster.
        #[requires(sm_90)]
        unsafe fn mbarrier_OP_remote(barrier: *mut u64, bytes: u32) =
            "{ .reg .b64 %t; cvta.to.shared::cluster.u64 %t, {barrier}; mbarrier.<OP>.relaxed.cluster.shared::cluster.b64 [%t], {bytes}; }";
    }
    /// Whether the phase of a state is over.
    #[requires(sm_80)]
    unsafe fn mbarrier_test_wait(barrier: *mut u64, state: u64) -> bool =
        "mbarrier.test_wait.shared.b64 {ret}, [{barrier:shared}], {state};";
    /// Whether the phase of this parity is over.
    #[requires(sm_80)]
    unsafe fn mbarrier_test_wait_parity(barrier: *mut u64, parity: u32) -> bool =
        "mbarrier.test_wait.parity.shared.b64 {ret}, [{barrier:shared}], {parity};";
    for SCOPE in [cta, cluster] {
        /// Whether the phase of a state is over; waits a while for it. `acquire` for the <SCOPE>.
        #[requires(sm_90)]
        unsafe fn mbarrier_try_wait_SCOPE(barrier: *mut u64, state: u64) -> bool =
            "mbarrier.try_wait.acquire.<SCOPE>.shared::cta.b64 {ret}, [{barrier:shared}], {state};";
        /// Whether the phase of this parity is over; waits a while for it. `acquire` for the <SCOPE>.
        #[requires(sm_90)]
        unsafe fn mbarrier_try_wait_parity_SCOPE(barrier: *mut u64, parity: u32) -> bool =
            "mbarrier.try_wait.parity.acquire.<SCOPE>.shared::cta.b64 {ret}, [{barrier:shared}], {parity};";
        /// Whether the phase of this parity is over; waits so many nanoseconds for it.
        #[requires(sm_90)]
        unsafe fn mbarrier_try_wait_parity_SCOPE_for(barrier: *mut u64, parity: u32, nanoseconds: u32) -> bool =
            "mbarrier.try_wait.parity.acquire.<SCOPE>.shared::cta.b64 {ret}, [{barrier:shared}], {parity}, {nanoseconds};";
    }
    /// How many arrivals a state still awaits.
    #[requires(sm_80)]
    #[pure]
    fn mbarrier_pending_count(state: u64) -> u32 = "mbarrier.pending_count.b64 {ret}, {state};";

    // Bulk copies.
    /// Begins a copy to shared memory, of which a barrier learns; all a multiple of 16 bytes.
    #[requires(sm_90)]
    unsafe fn cp_async_bulk_shared_global(to: *mut u8, from: *const u8, bytes: u32, barrier: *mut u64) =
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [{to:shared}], [{from:global}], {bytes}, [{barrier:shared}];";
    /// Begins a copy to the same place in all blocks of the mask.
    #[requires(sm_90)]
    unsafe fn cp_async_bulk_shared_global_multicast(to: *mut u8, from: *const u8, bytes: u32, barrier: *mut u64, blocks: u16) =
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [{to:shared}], [{from:global}], {bytes}, [{barrier:shared}], {blocks};";
    /// Begins a copy to shared memory, with a policy of the second-level cache.
    #[requires(sm_90)]
    unsafe fn cp_async_bulk_shared_global_hint(to: *mut u8, from: *const u8, bytes: u32, barrier: *mut u64, policy: u64) =
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [{to:shared}], [{from:global}], {bytes}, [{barrier:shared}], {policy};";
    /// Begins a copy to any block's shared memory, whose barrier learns of it. The launch has to be
    /// one of clusters, be they of one block: an H200 finds the instruction illegal otherwise.
    #[requires(sm_90)]
    unsafe fn cp_async_bulk_cluster_shared(to: *mut u8, from: *const u8, bytes: u32, barrier: *mut u64) =
        "{ .reg .b64 %t, %b; cvta.to.shared::cluster.u64 %t, {to}; cvta.to.shared::cluster.u64 %b, {barrier}; cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%t], [{from:shared}], {bytes}, [%b]; }";
    /// Begins a copy from shared memory, as part of a bulk group.
    #[requires(sm_90)]
    unsafe fn cp_async_bulk_global_shared(to: *mut u8, from: *const u8, bytes: u32) =
        "cp.async.bulk.global.shared::cta.bulk_group [{to:global}], [{from:shared}], {bytes};";
    /// Begins a copy from shared memory of those bytes of each 16 that the mask says.
    #[requires(sm_100)]
    unsafe fn cp_async_bulk_global_shared_masked(to: *mut u8, from: *const u8, bytes: u32, mask: u16) =
        "cp.async.bulk.global.shared::cta.bulk_group.cp_mask [{to:global}], [{from:shared}], {bytes}, {mask};";
    /// Fetches memory into the second-level cache.
    #[requires(sm_90)]
    unsafe fn cp_async_bulk_prefetch(from: *const u8, bytes: u32) =
        "cp.async.bulk.prefetch.L2.global [{from:global}], {bytes};";
    for (OP, NAME, TY) in [
        (add, u32, "u32"), (add, s32, "s32"), (add, u64, "u64"), (add, f32, "f32"), (add, f64, "f64"), (add, f16, "noftz.f16"),
        (add, bf16, "noftz.bf16"), (min, u32, "u32"), (min, s32, "s32"), (min, u64, "u64"), (min, s64, "s64"), (min, f16, "f16"),
        (min, bf16, "bf16"), (max, u32, "u32"), (max, s32, "s32"), (max, u64, "u64"), (max, s64, "s64"), (max, f16, "f16"),
        (max, bf16, "bf16"), (inc, u32, "u32"), (dec, u32, "u32"), (and, b32, "b32"), (and, b64, "b64"), (or, b32, "b32"), (or, b64, "b64"),
        (xor, b32, "b32"), (xor, b64, "b64")
    ] {
        /// Begins a reduction (`<OP>` of `<TY>`) of shared memory into global memory.
        #[requires(sm_90)]
        unsafe fn cp_reduce_async_bulk_global_shared_OP_NAME(to: *mut u8, from: *const u8, bytes: u32) =
            "cp.reduce.async.bulk.global.shared::cta.bulk_group.<OP>.<TY> [{to:global}], [{from:shared}], {bytes};";
    }
    for (OP, TY) in [
        (add, u32), (add, s32), (add, u64), (min, u32), (min, s32), (max, u32), (max, s32), (inc, u32),
        (dec, u32), (and, b32), (or, b32), (xor, b32)
    ] {
        /// Begins a reduction (`<OP>` of `<TY>`) of shared memory into that of any block. The launch has to
        /// be one of clusters.
        #[requires(sm_90)]
        unsafe fn cp_reduce_async_bulk_cluster_shared_OP_TY(to: *mut u8, from: *const u8, bytes: u32, barrier: *mut u64) =
            "{ .reg .b64 %t, %b; cvta.to.shared::cluster.u64 %t, {to}; cvta.to.shared::cluster.u64 %b, {barrier}; cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.<OP>.<TY> [%t], [{from:shared}], {bytes}, [%b]; }";
    }
    /// Makes a group of the bulk copies from shared memory that this thread began.
    #[requires(sm_90)]
    fn cp_async_bulk_commit_group() = "cp.async.bulk.commit_group;";
    /// Waits until all but the newest `N` groups are done.
    #[requires(sm_90)]
    fn cp_async_bulk_wait_group<const N: u32 in 0..=7>() = "cp.async.bulk.wait_group {N};";
    /// Waits until all but the newest `N` groups have read their shared memory.
    #[requires(sm_90)]
    fn cp_async_bulk_wait_group_read<const N: u32 in 0..=7>() = "cp.async.bulk.wait_group.read {N};";

    // Tensors, by maps that the host made.
    for (D, C) in [
        ("1d", 1), ("2d", 2), ("3d", 3), ("4d", 4), ("5d", 5)
    ] {
        /// Begins a copy of a box at the coordinates `x` to shared memory.
        #[requires(sm_90)]
        unsafe fn cp_async_bulk_tensor_D_shared_global(to: *mut u8, map: *const u8, x: [i32; C], barrier: *mut u64) =
            "cp.async.bulk.tensor.<D>.shared::cluster.global.tile.mbarrier::complete_tx::bytes [{to:shared}], [{map}, {x}], [{barrier:shared}];";
        /// Begins a copy of a box to the same place in all blocks of the mask.
        #[requires(sm_90)]
        unsafe fn cp_async_bulk_tensor_D_shared_global_multicast(to: *mut u8, map: *const u8, x: [i32; C], barrier: *mut u64, blocks: u16) =
            "cp.async.bulk.tensor.<D>.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [{to:shared}], [{map}, {x}], [{barrier:shared}], {blocks};";
        /// Begins a copy of a box, with a policy of the second-level cache.
        #[requires(sm_90)]
        unsafe fn cp_async_bulk_tensor_D_shared_global_hint(to: *mut u8, map: *const u8, x: [i32; C], barrier: *mut u64, policy: u64) =
            "cp.async.bulk.tensor.<D>.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint [{to:shared}], [{map}, {x}], [{barrier:shared}], {policy};";
        /// Begins a copy of a box from shared memory, as part of a bulk group.
        #[requires(sm_90)]
        unsafe fn cp_async_bulk_tensor_D_global_shared(map: *const u8, x: [i32; C], from: *const u8) =
            "cp.async.bulk.tensor.<D>.global.shared::cta.tile.bulk_group [{map}, {x}], [{from:shared}];";
        for OP in [add, min, max, inc, dec, and, or, xor] {
            /// Begins a reduction (`<OP>`) of a box from shared memory, as part of a bulk group.
            #[requires(sm_90)]
            unsafe fn cp_reduce_async_bulk_tensor_D_OP(map: *const u8, x: [i32; C], from: *const u8) =
                "cp.reduce.async.bulk.tensor.<D>.global.shared::cta.<OP>.tile.bulk_group [{map}, {x}], [{from:shared}];";
        }
        /// Fetches a box into the second-level cache.
        #[requires(sm_90)]
        unsafe fn cp_async_bulk_prefetch_tensor_D(map: *const u8, x: [i32; C]) =
            "cp.async.bulk.prefetch.tensor.<D>.L2.global.tile [{map}, {x}];";
    }
    for (D, C, O) in [("3d", 3, 1), ("4d", 4, 2), ("5d", 5, 3)] {
        /// Begins a copy of the columns of pixels from `x` on, each shifted by `offset`.
        #[requires(sm_90)]
        unsafe fn cp_async_bulk_tensor_D_im2col_shared_global(to: *mut u8, map: *const u8, x: [i32; C], barrier: *mut u64, offset: [u16; O]) =
            "cp.async.bulk.tensor.<D>.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [{to:shared}], [{map}, {x}], [{barrier:shared}], {offset};";
        /// Begins a copy of the columns of pixels to the same place in all blocks of the mask.
        #[requires(sm_90)]
        unsafe fn cp_async_bulk_tensor_D_im2col_shared_global_multicast(to: *mut u8, map: *const u8, x: [i32; C], barrier: *mut u64, offset: [u16; O], blocks: u16) =
            "cp.async.bulk.tensor.<D>.shared::cluster.global.im2col.mbarrier::complete_tx::bytes.multicast::cluster [{to:shared}], [{map}, {x}], [{barrier:shared}], {offset}, {blocks};";
        /// Begins a copy of columns of pixels from shared memory, as part of a bulk group.
        #[requires(sm_90)]
        unsafe fn cp_async_bulk_tensor_D_im2col_global_shared(map: *const u8, x: [i32; C], from: *const u8) =
            "cp.async.bulk.tensor.<D>.global.shared::cta.im2col_no_offs.bulk_group [{map}, {x}], [{from:shared}];";
        for OP in [add, min, max, inc, dec, and, or, xor] {
            /// Begins a reduction (`<OP>`) of columns of pixels from shared memory.
            #[requires(sm_90)]
            unsafe fn cp_reduce_async_bulk_tensor_D_im2col_OP(map: *const u8, x: [i32; C], from: *const u8) =
                "cp.reduce.async.bulk.tensor.<D>.global.shared::cta.<OP>.im2col_no_offs.bulk_group [{map}, {x}], [{from:shared}];";
        }
        /// Fetches columns of pixels into the second-level cache.
        #[requires(sm_90)]
        unsafe fn cp_async_bulk_prefetch_tensor_D_im2col(map: *const u8, x: [i32; C], offset: [u16; O]) =
            "cp.async.bulk.prefetch.tensor.<D>.L2.global.im2col [{map}, {x}], {offset};";
    }
    /// Fetches a tensor map.
    #[requires(sm_90)]
    unsafe fn prefetch_tensormap(map: *const u8) = "prefetch.tensormap [{map}];";
    for (FIELD, TY, RUST) in [(global_address, b64, u64), (rank, b32, u32)] {
        /// Changes the <FIELD> of a tensor map in shared memory.
        #[requires(sm_90a, sm_100a, sm_110a, sm_120a)]
        unsafe fn tensormap_replace_FIELD(map: *mut u8, value: RUST) =
            "tensormap.replace.tile.<FIELD>.shared::cta.b1024.<TY> [{map:shared}], {value};";
    }
    for (FIELD, TY, RUST, LAST) in [(box_dim, b32, u32, 4), (global_dim, b32, u32, 4), (global_stride, b64, u64, 3), (element_stride, b32, u32, 4)] {
        /// Changes the <FIELD> of a dimension of a tensor map in shared memory.
        #[requires(sm_90a, sm_100a, sm_110a, sm_120a)]
        unsafe fn tensormap_replace_FIELD<const DIMENSION: u32 in 0..=LAST>(map: *mut u8, value: RUST) =
            "tensormap.replace.tile.<FIELD>.shared::cta.b1024.<TY> [{map:shared}], {DIMENSION}, {value};";
    }
    for (FIELD, LAST) in [(elemtype, 12), (interleave_layout, 2), (swizzle_mode, 3), (fill_mode, 1)] {
        /// Changes the <FIELD> of a tensor map in shared memory, to the number of the driver's.
        #[requires(sm_90a, sm_100a, sm_110a, sm_120a)]
        unsafe fn tensormap_replace_FIELD<const VALUE: u32 in 0..=LAST>(map: *mut u8) =
            "tensormap.replace.tile.<FIELD>.shared::cta.b1024.b32 [{map:shared}], {VALUE};";
    }
    for SCOPE in [cta, cluster, gpu, sys] {
        /// Copies a changed tensor map of 128 bytes to global memory, for use by tensor copies of the <SCOPE>.
        #[requires(sm_90)]
        #[convergent]
        unsafe fn tensormap_cp_fenceproxy_SCOPE(to: *mut u8, from: *const u8) =
            "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.<SCOPE>.sync.aligned [{to:global}], [{from:shared}], 128;";
        /// Orders changes of a tensor map before its use by tensor copies.
        #[requires(sm_90)]
        unsafe fn fence_proxy_tensormap_acquire_SCOPE(map: *const u8) =
            "fence.proxy.tensormap::generic.acquire.<SCOPE> [{map}], 128;";
        /// Orders changes of tensor maps before what is released.
        #[requires(sm_90)]
        fn fence_proxy_tensormap_release_SCOPE() = "fence.proxy.tensormap::generic.release.<SCOPE>;";
    }

    // Stores that tell a barrier of themselves.
    for (TY, RUST) in [(b32, u32), (b64, u64)] {
        /// Begins a store to any block's shared memory, whose barrier learns of it. The launch has to
        /// be one of clusters, be they of one block: an H200 finds the instruction illegal otherwise.
        #[requires(sm_90)]
        unsafe fn st_async_TY(to: *mut RUST, value: RUST, barrier: *mut u64) =
            "{ .reg .b64 %t, %b; cvta.to.shared::cluster.u64 %t, {to}; cvta.to.shared::cluster.u64 %b, {barrier}; st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.<TY> [%t], {value}, [%b]; }";
    }
    for (TY, RUST, V) in [(b32, u32, 2), (b32, u32, 4), (b64, u64, 2)] {
        /// Begins a store of <V> values. The launch has to be one of clusters.
        #[requires(sm_90)]
        unsafe fn st_async_TY_v_V(to: *mut RUST, values: [RUST; V], barrier: *mut u64) =
            "{ .reg .b64 %t, %b; cvta.to.shared::cluster.u64 %t, {to}; cvta.to.shared::cluster.u64 %b, {barrier}; st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v<V>.<TY> [%t], {values}, [%b]; }";
    }
    for (OP, TY, RUST) in [
        (add, u32, u32), (add, s32, i32), (add, u64, u64), (min, u32, u32), (min, s32, i32),
        (max, u32, u32), (max, s32, i32), (inc, u32, u32), (dec, u32, u32), (and, b32, u32),
        (or, b32, u32), (xor, b32, u32)
    ] {
        /// Begins a reduction into any block's shared memory, whose barrier learns of it. The launch
        /// has to be one of clusters.
        #[requires(sm_90)]
        unsafe fn red_async_OP_TY(to: *mut RUST, value: RUST, barrier: *mut u64) =
            "{ .reg .b64 %t, %b; cvta.to.shared::cluster.u64 %t, {to}; cvta.to.shared::cluster.u64 %b, {barrier}; red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.<OP>.<TY> [%t], {value}, [%b]; }";
    }

    // Fences between the ways to memory.
    /// Orders accesses through different addresses of the same memory.
    #[requires(sm_75)]
    fn fence_proxy_alias() = "fence.proxy.alias;";
    /// Orders accesses of this thread with asynchronous copies.
    #[requires(sm_90)]
    fn fence_proxy_async() = "fence.proxy.async;";
    for (NAME, SPACE) in [(global, "global"), (shared, "shared::cta"), (cluster, "shared::cluster")] {
        /// Orders accesses of this thread to `<SPACE>` memory with asynchronous copies.
        #[requires(sm_90)]
        fn fence_proxy_async_NAME() = "fence.proxy.async.<SPACE>;";
    }
    /// Orders the making of a barrier before its use by other blocks of the cluster.
    #[requires(sm_90)]
    fn fence_mbarrier_init() = "fence.mbarrier_init.release.cluster;";

    // Clusters.
    /// The address of what a pointer into shared memory is in another block of the cluster.
    #[requires(sm_90)]
    #[pure]
    fn mapa(pointer: *mut u8, rank: u32) -> *mut u8 = "mapa.u64 {ret}, {pointer}, {rank};";
    /// The block of the cluster that shared memory belongs to.
    #[requires(sm_90)]
    #[pure]
    fn getctarank(pointer: *const u8) -> u32 = "getctarank.u64 {ret}, {pointer};";
    for (TY, RUST) in [(b8, u8), (b16, u16), (b32, u32), (b64, u64)] {
        /// Loads from the shared memory of any block of the cluster.
        #[requires(sm_90)]
        #[reads]
        unsafe fn ld_cluster_TY(from: *const RUST) -> RUST =
            "{ .reg .b64 %t; cvta.to.shared::cluster.u64 %t, {from}; ld.shared::cluster.<TY> {ret}, [%t]; }";
        /// Stores to the shared memory of any block of the cluster.
        #[requires(sm_90)]
        unsafe fn st_cluster_TY(to: *mut RUST, value: RUST) =
            "{ .reg .b64 %t; cvta.to.shared::cluster.u64 %t, {to}; st.shared::cluster.<TY> [%t], {value}; }";
    }
    for (NAME, WORD) in [("", ""), (aligned, ".aligned")] {
        /// Arrives at the cluster's barrier.
        #[requires(sm_90)]
        #[convergent]
        unsafe fn barrier_cluster_arrive_NAME() = "barrier.cluster.arrive.release<WORD>;";
        /// Arrives at the cluster's barrier, without ordering memory.
        #[requires(sm_90)]
        #[convergent]
        unsafe fn barrier_cluster_arrive_relaxed_NAME() = "barrier.cluster.arrive.relaxed<WORD>;";
        /// Waits for all threads of the cluster to have arrived.
        #[requires(sm_90)]
        #[convergent]
        unsafe fn barrier_cluster_wait_NAME() = "barrier.cluster.wait.acquire<WORD>;";
    }
    /// Lets the next kernel of the stream begin, if it was launched so.
    #[requires(sm_90)]
    fn griddepcontrol_launch_dependents() = "griddepcontrol.launch_dependents;";
    /// Waits for the kernels before in the stream, if this one was launched to begin earlier.
    #[requires(sm_90)]
    fn griddepcontrol_wait() = "griddepcontrol.wait;";
}
