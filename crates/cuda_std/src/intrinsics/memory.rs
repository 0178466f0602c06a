//! Loads and stores with cache operators, prefetching, and addresses in state spaces.

cuda_std_macros::intrinsics! {
    for SPACE in [global, shared, local, const] {
        /// Returns whether a pointer points to the state space `<SPACE>`.
        #[pure]
        fn isspacep_SPACE(pointer: *const u8) -> bool = "isspacep.<SPACE> {ret}, {pointer};";
        /// Converts a pointer into the state space `<SPACE>` to an address in that space.
        #[pure]
        fn cvta_to_SPACE(pointer: *const u8) -> u64 = "cvta.to.<SPACE>.u64 {ret}, {pointer};";
        /// Converts an address in the state space `<SPACE>` to a pointer.
        #[pure]
        fn cvta_SPACE(address: u64) -> *const u8 = "cvta.<SPACE>.u64 {ret}, {address};";
    }
    /// Returns whether a pointer points to the shared memory of any block of the cluster.
    #[requires(sm_90)]
    #[pure]
    fn isspacep_shared_cluster(pointer: *const u8) -> bool =
        "isspacep.shared::cluster {ret}, {pointer};";
    /// Returns whether a pointer points to the kernel's parameters.
    #[pure]
    fn isspacep_param(pointer: *const u8) -> bool = "isspacep.param {ret}, {pointer};";

    for (TY, RUST) in [(b8, u8), (b16, u16), (b32, u32), (b64, u64)] {
        for (OP, WHAT) in [
            (ca, "caches at all levels"),
            (cg, "caches only in L2"),
            (cs, "with an evict-first policy: the data is probably accessed once"),
            (lu, "for the last time: the cache line need not be written back"),
            (cv, "from memory again, ignoring cached lines")
        ] {
            /// Loads a value, `.<OP>`: <WHAT>.
            #[reads]
            #[cpu(from.read())]
            unsafe fn ld_OP_TY(from: *const RUST) -> RUST = "ld.<OP>.<TY> {ret}, [{from}];";
        }
        /// Loads a value that is read-only for the kernel's duration, through the non-coherent
        /// path.
        #[pure]
        #[cpu(from.read())]
        unsafe fn ld_global_nc_TY(from: *const RUST) -> RUST =
            "ld.global.nc.<TY> {ret}, [{from:global}];";
        for (OP, WHAT) in [
            (wb, "with write-back at all coherent levels"),
            (cg, "caches only in L2"),
            (cs, "with an evict-first policy: the data is probably not accessed again soon"),
            (wt, "through L2 to memory")
        ] {
            /// Stores a value, `.<OP>`: <WHAT>.
            #[cpu(to.write(value))]
            unsafe fn st_OP_TY(to: *mut RUST, value: RUST) = "st.<OP>.<TY> [{to}], {value};";
        }
        for (OP, HINT) in [
            (evict_first, "L1::evict_first"),
            (evict_last, "L1::evict_last"),
            (evict_unchanged, "L1::evict_unchanged"),
            (no_allocate, "L1::no_allocate")
        ] {
            /// Loads with the eviction priority `<HINT>`.
            #[reads]
            #[cpu(from.read())]
            unsafe fn ld_global_OP_TY(from: *const RUST) -> RUST =
                "ld.global.<HINT>.<TY> {ret}, [{from:global}];";
            /// Stores with the eviction priority `<HINT>`.
            #[cpu(to.write(value))]
            unsafe fn st_global_OP_TY(to: *mut RUST, value: RUST) =
                "st.global.<HINT>.<TY> [{to:global}], {value};";
        }
        /// Loads with an L2 eviction policy.
        #[requires(sm_80)]
        #[reads]
        unsafe fn ld_global_policy_TY(from: *const RUST, policy: u64) -> RUST =
            "ld.global.L2::cache_hint.<TY> {ret}, [{from:global}], {policy};";
        /// Stores with an L2 eviction policy.
        #[requires(sm_80)]
        unsafe fn st_global_policy_TY(to: *mut RUST, value: RUST, policy: u64) =
            "st.global.L2::cache_hint.<TY> [{to:global}], {value}, {policy};";
    }
    for (VEC, TY, VALUES) in [(v2, b32, [u32; 2]), (v4, b32, [u32; 4]), (v2, b64, [u64; 2])] {
        for OP in [ca, cg, cs, lu, cv] {
            /// Loads a vector, with the cache operator `.<OP>`.
            #[reads]
            #[cpu(from.read())]
            unsafe fn ld_OP_VEC_TY(from: *const VALUES) -> VALUES =
                "ld.<OP>.<VEC>.<TY> {ret}, [{from}];";
        }
        /// Loads a vector that is read-only for the kernel's duration, through the non-coherent
        /// path.
        #[pure]
        #[cpu(from.read())]
        unsafe fn ld_global_nc_VEC_TY(from: *const VALUES) -> VALUES =
            "ld.global.nc.<VEC>.<TY> {ret}, [{from:global}];";
        for OP in [wb, cg, cs, wt] {
            /// Stores a vector, with the cache operator `.<OP>`.
            #[cpu(to.write(value))]
            unsafe fn st_OP_VEC_TY(to: *mut VALUES, value: VALUES) =
                "st.<OP>.<VEC>.<TY> [{to}], {value};";
        }
    }

    for (NAME, LEVEL) in [(l1, L1), (l2, L2)] {
        /// Prefetches the cache line of an address into <LEVEL>.
        #[volatile]
        #[cpu({ let _ = pointer; })]
        fn prefetch_NAME(pointer: *const u8) = "prefetch.<LEVEL> [{pointer}];";
    }
    for PRIORITY in [evict_last, evict_normal] {
        /// Prefetches the cache line of an address into L2, with the eviction priority
        /// `<PRIORITY>`.
        #[requires(sm_80)]
        #[volatile]
        unsafe fn prefetch_global_l2_PRIORITY(pointer: *const u8) =
            "prefetch.global.L2::<PRIORITY> [{pointer:global}];";
    }
    /// Prefetches the cache line of an address into the uniform cache (constants and parameters).
    #[volatile]
    #[cpu({ let _ = pointer; })]
    fn prefetchu_l1(pointer: *const u8) = "prefetchu.L1 [{pointer}];";
    /// Resets the eviction priority of a 128-byte cache line from `evict_last` to `evict_normal`.
    #[requires(sm_80)]
    #[volatile]
    unsafe fn applypriority_evict_normal(pointer: *const u8) =
        "applypriority.global.L2::evict_normal [{pointer:global}], 128;";
    /// Discards the contents of a 128-byte cache line: it need not be written back.
    #[requires(sm_80)]
    unsafe fn discard_l2(pointer: *mut u8) = "discard.global.L2 [{pointer:global}], 128;";

    /// Sets bytes of the block's shared memory to zero. The address and the number of bytes are
    /// multiples of 8; the number is at most 16,777,216.
    #[requires(sm_100)]
    unsafe fn st_bulk_shared(to: *mut u8, bytes: u64) =
        "st.bulk.weak.shared::cta [{to:shared}], {bytes}, 0;";

    for PRIORITY in [evict_last, evict_normal, evict_first, evict_unchanged] {
        /// Creates a policy that gives this fraction of the accesses the eviction priority
        /// `<PRIORITY>`.
        #[requires(sm_80)]
        #[volatile]
        fn createpolicy_fractional_PRIORITY(part: f32) -> u64 =
            "createpolicy.fractional.L2::<PRIORITY>.b64 {ret}, {part};";
    }
    for PRIORITY in [evict_last, evict_normal, evict_first, evict_unchanged] {
        /// Creates a policy that gives accesses to the first `primary` of `size` bytes the eviction
        /// priority `<PRIORITY>`, and those to the other bytes `evict_first`.
        #[requires(sm_80)]
        #[volatile]
        fn createpolicy_range_PRIORITY(start: *const u8, primary: u32, size: u32) -> u64 =
            "createpolicy.range.global.L2::<PRIORITY>.L2::evict_first.b64 {ret}, [{start:global}], {primary}, {size};";
    }
}
