//! Asynchronous copies, mbarriers, bulk and tensor copies, proxy fences, and the shared memory of
//! clusters. The modules [`copy`](crate::copy), [`mbarrier`](crate::mbarrier) and
//! [`cluster`](crate::cluster) are easier to use.

cuda_std_macros::intrinsics! {
    // Copies of 4 to 16 bytes per thread.
    for N in [4, 8, 16] {
        /// Starts a copy of <N> bytes to shared memory.
        #[requires(sm_80)]
        unsafe fn cp_async_ca_N(to: *mut u8, from: *const u8) =
            "cp.async.ca.shared.global [{to:shared}], [{from:global}], <N>;";
        /// Starts a copy to shared memory that reads `bytes` bytes and fills the rest of <N> bytes
        /// with zeros.
        #[requires(sm_80)]
        unsafe fn cp_async_ca_N_zero_fill(to: *mut u8, from: *const u8, bytes: u32) =
            "cp.async.ca.shared.global [{to:shared}], [{from:global}], <N>, {bytes};";
    }
    /// Starts a copy of 16 bytes to shared memory, bypassing L1.
    #[requires(sm_80)]
    unsafe fn cp_async_cg_16(to: *mut u8, from: *const u8) =
        "cp.async.cg.shared.global [{to:shared}], [{from:global}], 16;";
    /// Starts a copy to shared memory, bypassing L1, that reads `bytes` bytes and fills the rest of
    /// 16 bytes with zeros.
    #[requires(sm_80)]
    unsafe fn cp_async_cg_16_zero_fill(to: *mut u8, from: *const u8, bytes: u32) =
        "cp.async.cg.shared.global [{to:shared}], [{from:global}], 16, {bytes};";
    for SIZE in [64, 128, 256] {
        /// Starts a copy of 16 bytes to shared memory, bypassing L1, and prefetches <SIZE> bytes
        /// into L2.
        #[requires(sm_80)]
        unsafe fn cp_async_cg_16_prefetch_SIZE(to: *mut u8, from: *const u8) =
            "cp.async.cg.shared.global.L2::<SIZE>B [{to:shared}], [{from:global}], 16;";
    }
    /// Commits the copies that this thread has started since the last commit as one group.
    #[requires(sm_80)]
    fn cp_async_commit_group() = "cp.async.commit_group;";
    /// Waits until at most the `N` most recent groups of this thread are pending.
    #[requires(sm_80)]
    fn cp_async_wait_group<const N: u32 in 0..=7>() = "cp.async.wait_group {N};";
    /// Waits for all copies that this thread has started.
    #[requires(sm_80)]
    fn cp_async_wait_all() = "cp.async.wait_all;";
    for (NAME, WORD) in [(arrive, ""), (arrive_noinc, ".noinc")] {
        /// Arrives at a barrier when all copies that this thread has started have completed.
        /// Without `noinc`, also increases the number of pending arrivals of the phase by one.
        #[requires(sm_80)]
        unsafe fn cp_async_mbarrier_NAME(barrier: *mut u64) =
            "cp.async.mbarrier.arrive<WORD>.shared.b64 [{barrier:shared}];";
    }

    // Barriers in shared memory.
    /// Initializes a barrier for `count` arrivals per phase.
    #[requires(sm_80)]
    unsafe fn mbarrier_init(barrier: *mut u64, count: u32) = "mbarrier.init.shared.b64 [{barrier:shared}], {count};";
    /// Invalidates a barrier, so that its memory can be reused.
    #[requires(sm_80)]
    unsafe fn mbarrier_inval(barrier: *mut u64) = "mbarrier.inval.shared.b64 [{barrier:shared}];";
    for OP in [arrive, arrive_drop] {
        for (NAME, WORD, ARCH) in [("", "", sm_90), (nocomplete, ".noComplete", sm_80)] {
            /// Arrives `count` times, and returns the state of the phase.
            #[requires(ARCH)]
            unsafe fn mbarrier_OP_NAME_many(barrier: *mut u64, count: u32) -> u64 =
                "mbarrier.<OP><WORD>.shared.b64 {ret}, [{barrier:shared}], {count};";
        }
        /// Arrives, and returns the state of the phase.
        #[requires(sm_80)]
        unsafe fn mbarrier_OP(barrier: *mut u64) -> u64 = "mbarrier.<OP>.shared.b64 {ret}, [{barrier:shared}];";
        /// Increases the bytes that the phase expects, arrives, and returns the state of the phase.
        #[requires(sm_90)]
        unsafe fn mbarrier_OP_expect_tx(barrier: *mut u64, bytes: u32) -> u64 =
            "mbarrier.<OP>.expect_tx.release.cta.shared::cta.b64 {ret}, [{barrier:shared}], {bytes};";
        for SCOPE in [cta, cluster] {
            /// Arrives `count` times at a barrier of any block of the cluster, with release
            /// semantics for the <SCOPE>.
            #[requires(sm_90)]
            unsafe fn mbarrier_OP_release_SCOPE_remote(barrier: *mut u64, count: u32) =
                "{ .reg .b64 %t; cvta.to.shared::cluster.u64 %t, {barrier}; mbarrier.<OP>.release.<SCOPE>.shared::cluster.b64 _, [%t], {count}; }";
            /// Increases the bytes that the phase of a barrier of any block of the cluster expects,
            /// and arrives.
            #[requires(sm_90)]
            unsafe fn mbarrier_OP_expect_tx_release_SCOPE_remote(barrier: *mut u64, bytes: u32) =
                "{ .reg .b64 %t; cvta.to.shared::cluster.u64 %t, {barrier}; mbarrier.<OP>.expect_tx.release.<SCOPE>.shared::cluster.b64 _, [%t], {bytes}; }";
        }
    }
    for OP in [expect_tx, complete_tx] {
        /// Increases (`expect_tx`) or decreases (`complete_tx`) the bytes that the phase expects.
        #[requires(sm_90)]
        unsafe fn mbarrier_OP(barrier: *mut u64, bytes: u32) =
            "mbarrier.<OP>.relaxed.cta.shared::cta.b64 [{barrier:shared}], {bytes};";
        /// Increases (`expect_tx`) or decreases (`complete_tx`) the bytes that the phase of a
        /// barrier of any block of the cluster expects.
        #[requires(sm_90)]
        unsafe fn mbarrier_OP_remote(barrier: *mut u64, bytes: u32) =
            "{ .reg .b64 %t; cvta.to.shared::cluster.u64 %t, {barrier}; mbarrier.<OP>.relaxed.cluster.shared::cluster.b64 [%t], {bytes}; }";
    }
    /// Returns whether the phase of a state has completed.
    #[requires(sm_80)]
    unsafe fn mbarrier_test_wait(barrier: *mut u64, state: u64) -> bool =
        "mbarrier.test_wait.shared.b64 {ret}, [{barrier:shared}], {state};";
    /// Returns whether the phase of this parity has completed.
    #[requires(sm_80)]
    unsafe fn mbarrier_test_wait_parity(barrier: *mut u64, parity: u32) -> bool =
        "mbarrier.test_wait.parity.shared.b64 {ret}, [{barrier:shared}], {parity};";
    for SCOPE in [cta, cluster] {
        /// Waits for a limited time for the phase of a state, and returns whether it has completed,
        /// with acquire semantics for the <SCOPE>.
        #[requires(sm_90)]
        unsafe fn mbarrier_try_wait_SCOPE(barrier: *mut u64, state: u64) -> bool =
            "mbarrier.try_wait.acquire.<SCOPE>.shared::cta.b64 {ret}, [{barrier:shared}], {state};";
        /// Waits for a limited time for the phase of this parity, and returns whether it has
        /// completed, with acquire semantics for the <SCOPE>.
        #[requires(sm_90)]
        unsafe fn mbarrier_try_wait_parity_SCOPE(barrier: *mut u64, parity: u32) -> bool =
            "mbarrier.try_wait.parity.acquire.<SCOPE>.shared::cta.b64 {ret}, [{barrier:shared}], {parity};";
        /// Waits up to `nanoseconds` for the phase of this parity, and returns whether it has
        /// completed, with acquire semantics for the <SCOPE>.
        #[requires(sm_90)]
        unsafe fn mbarrier_try_wait_parity_SCOPE_for(barrier: *mut u64, parity: u32, nanoseconds: u32) -> bool =
            "mbarrier.try_wait.parity.acquire.<SCOPE>.shared::cta.b64 {ret}, [{barrier:shared}], {parity}, {nanoseconds};";
    }
    /// Returns the number of pending arrivals of a state.
    #[requires(sm_80)]
    #[pure]
    fn mbarrier_pending_count(state: u64) -> u32 = "mbarrier.pending_count.b64 {ret}, {state};";

    // Bulk copies.
    /// Starts a copy to shared memory that completes at a barrier. The size is a multiple of 16
    /// bytes.
    #[requires(sm_90)]
    unsafe fn cp_async_bulk_shared_global(to: *mut u8, from: *const u8, bytes: u32, barrier: *mut u64) =
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [{to:shared}], [{from:global}], {bytes}, [{barrier:shared}];";
    /// Starts a copy to the same offset in the shared memory of all blocks of the mask.
    #[requires(sm_90)]
    unsafe fn cp_async_bulk_shared_global_multicast(to: *mut u8, from: *const u8, bytes: u32, barrier: *mut u64, blocks: u16) =
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [{to:shared}], [{from:global}], {bytes}, [{barrier:shared}], {blocks};";
    /// Starts a copy to shared memory, with an L2 eviction policy.
    #[requires(sm_90)]
    unsafe fn cp_async_bulk_shared_global_hint(to: *mut u8, from: *const u8, bytes: u32, barrier: *mut u64, policy: u64) =
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [{to:shared}], [{from:global}], {bytes}, [{barrier:shared}], {policy};";
    /// Starts a copy to the shared memory of any block of the cluster, which completes at a barrier
    /// of that block. The launch must specify a cluster size, even if it is 1: otherwise an H200
    /// reports an illegal instruction.
    #[requires(sm_90)]
    unsafe fn cp_async_bulk_cluster_shared(to: *mut u8, from: *const u8, bytes: u32, barrier: *mut u64) =
        "{ .reg .b64 %t, %b; cvta.to.shared::cluster.u64 %t, {to}; cvta.to.shared::cluster.u64 %b, {barrier}; cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%t], [{from:shared}], {bytes}, [%b]; }";
    /// Starts a copy from shared memory, as part of a bulk group.
    #[requires(sm_90)]
    unsafe fn cp_async_bulk_global_shared(to: *mut u8, from: *const u8, bytes: u32) =
        "cp.async.bulk.global.shared::cta.bulk_group [{to:global}], [{from:shared}], {bytes};";
    /// Starts a copy from shared memory of the bytes of each 16 that the mask selects.
    #[requires(sm_100)]
    unsafe fn cp_async_bulk_global_shared_masked(to: *mut u8, from: *const u8, bytes: u32, mask: u16) =
        "cp.async.bulk.global.shared::cta.bulk_group.cp_mask [{to:global}], [{from:shared}], {bytes}, {mask};";
    /// Prefetches memory into L2.
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
        /// Starts a reduction (`<OP>` of `<TY>`) of shared memory into global memory.
        #[requires(sm_90)]
        unsafe fn cp_reduce_async_bulk_global_shared_OP_NAME(to: *mut u8, from: *const u8, bytes: u32) =
            "cp.reduce.async.bulk.global.shared::cta.bulk_group.<OP>.<TY> [{to:global}], [{from:shared}], {bytes};";
    }
    for (OP, TY) in [
        (add, u32), (add, s32), (add, u64), (min, u32), (min, s32), (max, u32), (max, s32), (inc, u32),
        (dec, u32), (and, b32), (or, b32), (xor, b32)
    ] {
        /// Starts a reduction (`<OP>` of `<TY>`) of shared memory into the shared memory of any
        /// block of the cluster. The launch must specify a cluster size.
        #[requires(sm_90)]
        unsafe fn cp_reduce_async_bulk_cluster_shared_OP_TY(to: *mut u8, from: *const u8, bytes: u32, barrier: *mut u64) =
            "{ .reg .b64 %t, %b; cvta.to.shared::cluster.u64 %t, {to}; cvta.to.shared::cluster.u64 %b, {barrier}; cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.<OP>.<TY> [%t], [{from:shared}], {bytes}, [%b]; }";
    }
    /// Commits the bulk copies from shared memory that this thread has started as one group.
    #[requires(sm_90)]
    fn cp_async_bulk_commit_group() = "cp.async.bulk.commit_group;";
    /// Waits until at most the `N` most recent bulk groups are pending.
    #[requires(sm_90)]
    fn cp_async_bulk_wait_group<const N: u32 in 0..=7>() = "cp.async.bulk.wait_group {N};";
    /// Waits until at most the `N` most recent bulk groups still read shared memory.
    #[requires(sm_90)]
    fn cp_async_bulk_wait_group_read<const N: u32 in 0..=7>() = "cp.async.bulk.wait_group.read {N};";

    // Tensor copies. The host creates the tensor maps.
    for (D, C) in [
        ("1d", 1), ("2d", 2), ("3d", 3), ("4d", 4), ("5d", 5)
    ] {
        /// Starts a copy of the box at the coordinates `x` to shared memory.
        #[requires(sm_90)]
        unsafe fn cp_async_bulk_tensor_D_shared_global(to: *mut u8, map: *const u8, x: [i32; C], barrier: *mut u64) =
            "cp.async.bulk.tensor.<D>.shared::cluster.global.tile.mbarrier::complete_tx::bytes [{to:shared}], [{map}, {x}], [{barrier:shared}];";
        /// Starts a copy of a box to the same offset in the shared memory of all blocks of the
        /// mask.
        #[requires(sm_90)]
        unsafe fn cp_async_bulk_tensor_D_shared_global_multicast(to: *mut u8, map: *const u8, x: [i32; C], barrier: *mut u64, blocks: u16) =
            "cp.async.bulk.tensor.<D>.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [{to:shared}], [{map}, {x}], [{barrier:shared}], {blocks};";
        /// Starts a copy of a box to shared memory, with an L2 eviction policy.
        #[requires(sm_90)]
        unsafe fn cp_async_bulk_tensor_D_shared_global_hint(to: *mut u8, map: *const u8, x: [i32; C], barrier: *mut u64, policy: u64) =
            "cp.async.bulk.tensor.<D>.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint [{to:shared}], [{map}, {x}], [{barrier:shared}], {policy};";
        /// Starts a copy of a box from shared memory, as part of a bulk group.
        #[requires(sm_90)]
        unsafe fn cp_async_bulk_tensor_D_global_shared(map: *const u8, x: [i32; C], from: *const u8) =
            "cp.async.bulk.tensor.<D>.global.shared::cta.tile.bulk_group [{map}, {x}], [{from:shared}];";
        for OP in [add, min, max, inc, dec, and, or, xor] {
            /// Starts a reduction (`<OP>`) of a box from shared memory, as part of a bulk group.
            #[requires(sm_90)]
            unsafe fn cp_reduce_async_bulk_tensor_D_OP(map: *const u8, x: [i32; C], from: *const u8) =
                "cp.reduce.async.bulk.tensor.<D>.global.shared::cta.<OP>.tile.bulk_group [{map}, {x}], [{from:shared}];";
        }
        /// Prefetches a box into L2.
        #[requires(sm_90)]
        unsafe fn cp_async_bulk_prefetch_tensor_D(map: *const u8, x: [i32; C]) =
            "cp.async.bulk.prefetch.tensor.<D>.L2.global.tile [{map}, {x}];";
    }
    for (D, C, O) in [("3d", 3, 1), ("4d", 4, 2), ("5d", 5, 3)] {
        /// Starts a copy in im2col mode: of the pixels starting at `x`, each displaced by `offset`.
        #[requires(sm_90)]
        unsafe fn cp_async_bulk_tensor_D_im2col_shared_global(to: *mut u8, map: *const u8, x: [i32; C], barrier: *mut u64, offset: [u16; O]) =
            "cp.async.bulk.tensor.<D>.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [{to:shared}], [{map}, {x}], [{barrier:shared}], {offset};";
        /// Starts a copy in im2col mode to the same offset in the shared memory of all blocks of
        /// the mask.
        #[requires(sm_90)]
        unsafe fn cp_async_bulk_tensor_D_im2col_shared_global_multicast(to: *mut u8, map: *const u8, x: [i32; C], barrier: *mut u64, offset: [u16; O], blocks: u16) =
            "cp.async.bulk.tensor.<D>.shared::cluster.global.im2col.mbarrier::complete_tx::bytes.multicast::cluster [{to:shared}], [{map}, {x}], [{barrier:shared}], {offset}, {blocks};";
        /// Starts a copy in im2col mode from shared memory, as part of a bulk group.
        #[requires(sm_90)]
        unsafe fn cp_async_bulk_tensor_D_im2col_global_shared(map: *const u8, x: [i32; C], from: *const u8) =
            "cp.async.bulk.tensor.<D>.global.shared::cta.im2col_no_offs.bulk_group [{map}, {x}], [{from:shared}];";
        for OP in [add, min, max, inc, dec, and, or, xor] {
            /// Starts a reduction (`<OP>`) in im2col mode from shared memory, as part of a bulk
            /// group.
            #[requires(sm_90)]
            unsafe fn cp_reduce_async_bulk_tensor_D_im2col_OP(map: *const u8, x: [i32; C], from: *const u8) =
                "cp.reduce.async.bulk.tensor.<D>.global.shared::cta.<OP>.im2col_no_offs.bulk_group [{map}, {x}], [{from:shared}];";
        }
        /// Prefetches pixels in im2col mode into L2.
        #[requires(sm_90)]
        unsafe fn cp_async_bulk_prefetch_tensor_D_im2col(map: *const u8, x: [i32; C], offset: [u16; O]) =
            "cp.async.bulk.prefetch.tensor.<D>.L2.global.im2col [{map}, {x}], {offset};";
    }
    /// Prefetches a tensor map.
    #[requires(sm_90)]
    unsafe fn prefetch_tensormap(map: *const u8) = "prefetch.tensormap [{map}];";
    for (FIELD, TY, RUST) in [(global_address, b64, u64), (rank, b32, u32)] {
        /// Replaces the field `<FIELD>` of a tensor map in shared memory.
        #[requires(sm_90a, sm_100a, sm_110a, sm_120a)]
        unsafe fn tensormap_replace_FIELD(map: *mut u8, value: RUST) =
            "tensormap.replace.tile.<FIELD>.shared::cta.b1024.<TY> [{map:shared}], {value};";
    }
    for (FIELD, TY, RUST, LAST) in [(box_dim, b32, u32, 4), (global_dim, b32, u32, 4), (global_stride, b64, u64, 3), (element_stride, b32, u32, 4)] {
        /// Replaces the field `<FIELD>` of a dimension of a tensor map in shared memory.
        #[requires(sm_90a, sm_100a, sm_110a, sm_120a)]
        unsafe fn tensormap_replace_FIELD<const DIMENSION: u32 in 0..=LAST>(map: *mut u8, value: RUST) =
            "tensormap.replace.tile.<FIELD>.shared::cta.b1024.<TY> [{map:shared}], {DIMENSION}, {value};";
    }
    for (FIELD, LAST) in [(elemtype, 12), (interleave_layout, 2), (swizzle_mode, 3), (fill_mode, 1)] {
        /// Replaces the field `<FIELD>` of a tensor map in shared memory with one of the driver's
        /// enumerators.
        #[requires(sm_90a, sm_100a, sm_110a, sm_120a)]
        unsafe fn tensormap_replace_FIELD<const VALUE: u32 in 0..=LAST>(map: *mut u8) =
            "tensormap.replace.tile.<FIELD>.shared::cta.b1024.b32 [{map:shared}], {VALUE};";
    }
    for SCOPE in [cta, cluster, gpu, sys] {
        /// Copies a modified tensor map of 128 bytes to global memory, and releases it to tensor
        /// copies of the <SCOPE>.
        #[requires(sm_90)]
        #[convergent]
        unsafe fn tensormap_cp_fenceproxy_SCOPE(to: *mut u8, from: *const u8) =
            "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.<SCOPE>.sync.aligned [{to:global}], [{from:shared}], 128;";
        /// Orders modifications of a tensor map before tensor copies that use it.
        #[requires(sm_90)]
        unsafe fn fence_proxy_tensormap_acquire_SCOPE(map: *const u8) =
            "fence.proxy.tensormap::generic.acquire.<SCOPE> [{map}], 128;";
        /// Orders modifications of tensor maps before a later release.
        #[requires(sm_90)]
        fn fence_proxy_tensormap_release_SCOPE() = "fence.proxy.tensormap::generic.release.<SCOPE>;";
    }

    // Asynchronous stores that complete at a barrier.
    for (TY, RUST) in [(b32, u32), (b64, u64)] {
        /// Starts a store to the shared memory of any block of the cluster, which completes at a
        /// barrier of that block. The launch must specify a cluster size, even if it is 1:
        /// otherwise an H200 reports an illegal instruction.
        #[requires(sm_90)]
        unsafe fn st_async_TY(to: *mut RUST, value: RUST, barrier: *mut u64) =
            "{ .reg .b64 %t, %b; cvta.to.shared::cluster.u64 %t, {to}; cvta.to.shared::cluster.u64 %b, {barrier}; st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.<TY> [%t], {value}, [%b]; }";
    }
    for (TY, RUST, V) in [(b32, u32, 2), (b32, u32, 4), (b64, u64, 2)] {
        /// Starts a store of <V> values. The launch must specify a cluster size.
        #[requires(sm_90)]
        unsafe fn st_async_TY_v_V(to: *mut RUST, values: [RUST; V], barrier: *mut u64) =
            "{ .reg .b64 %t, %b; cvta.to.shared::cluster.u64 %t, {to}; cvta.to.shared::cluster.u64 %b, {barrier}; st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v<V>.<TY> [%t], {values}, [%b]; }";
    }
    for (OP, TY, RUST) in [
        (add, u32, u32), (add, s32, i32), (add, u64, u64), (min, u32, u32), (min, s32, i32),
        (max, u32, u32), (max, s32, i32), (inc, u32, u32), (dec, u32, u32), (and, b32, u32),
        (or, b32, u32), (xor, b32, u32)
    ] {
        /// Starts a reduction into the shared memory of any block of the cluster, which completes
        /// at a barrier of that block. The launch must specify a cluster size.
        #[requires(sm_90)]
        unsafe fn red_async_OP_TY(to: *mut RUST, value: RUST, barrier: *mut u64) =
            "{ .reg .b64 %t, %b; cvta.to.shared::cluster.u64 %t, {to}; cvta.to.shared::cluster.u64 %b, {barrier}; red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.<OP>.<TY> [%t], {value}, [%b]; }";
    }

    // Proxy fences.
    /// Orders accesses through different virtual addresses of the same memory.
    #[requires(sm_75)]
    fn fence_proxy_alias() = "fence.proxy.alias;";
    /// Orders this thread's accesses and asynchronous copies.
    #[requires(sm_90)]
    fn fence_proxy_async() = "fence.proxy.async;";
    for (NAME, SPACE) in [(global, "global"), (shared, "shared::cta"), (cluster, "shared::cluster")] {
        /// Orders this thread's accesses to `<SPACE>` memory and asynchronous copies.
        #[requires(sm_90)]
        fn fence_proxy_async_NAME() = "fence.proxy.async.<SPACE>;";
    }
    /// Orders the initialization of barriers before their use by other blocks of the cluster.
    #[requires(sm_90)]
    fn fence_mbarrier_init() = "fence.mbarrier_init.release.cluster;";

    // Clusters.
    /// Returns the address in another block of the cluster that corresponds to a pointer into
    /// shared memory.
    #[requires(sm_90)]
    #[pure]
    fn mapa(pointer: *mut u8, rank: u32) -> *mut u8 = "mapa.u64 {ret}, {pointer}, {rank};";
    /// Returns the rank of the block that owns the shared memory at `pointer`.
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
        /// Arrives at the cluster's barrier, without ordering memory accesses.
        #[requires(sm_90)]
        #[convergent]
        unsafe fn barrier_cluster_arrive_relaxed_NAME() = "barrier.cluster.arrive.relaxed<WORD>;";
        /// Waits until all threads of the cluster have arrived.
        #[requires(sm_90)]
        #[convergent]
        unsafe fn barrier_cluster_wait_NAME() = "barrier.cluster.wait.acquire<WORD>;";
    }
    /// Lets the dependent kernel of the stream start, if it was launched with programmatic
    /// dependent launch.
    #[requires(sm_90)]
    fn griddepcontrol_launch_dependents() = "griddepcontrol.launch_dependents;";
    /// Waits for the preceding kernels of the stream, if this kernel was launched with programmatic
    /// dependent launch.
    #[requires(sm_90)]
    fn griddepcontrol_wait() = "griddepcontrol.wait;";
}
