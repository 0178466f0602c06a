//! Loads and stores with hints for the caches, prefetching, and addresses of the state spaces.

cuda_std_macros::intrinsics! {
    for SPACE in [global, shared, local, const] {
        /// Whether a pointer points to memory of the state space `<SPACE>`.
        #[pure]
        fn isspacep_SPACE(pointer: *const u8) -> bool = "isspacep.<SPACE> {ret}, {pointer};";
        /// The address in the state space `<SPACE>` of what a pointer points to.
        #[pure]
        fn cvta_to_SPACE(pointer: *const u8) -> u64 = "cvta.to.<SPACE>.u64 {ret}, {pointer};";
        /// A pointer to what is at an address of the state space `<SPACE>`.
        #[pure]
        fn cvta_SPACE(address: u64) -> *const u8 = "cvta.<SPACE>.u64 {ret}, {address};";
    }
    /// Whether a pointer points to shared memory of the thread's cluster.
    #[requires(sm_90)]
    #[pure]
    fn isspacep_shared_cluster(pointer: *const u8) -> bool =
        "isspacep.shared::cluster {ret}, {pointer};";
    /// Whether a pointer points to a kernel's parameters.
    #[pure]
    fn isspacep_param(pointer: *const u8) -> bool = "isspacep.param {ret}, {pointer};";

    for (TY, RUST) in [(b8, u8), (b16, u16), (b32, u32), (b64, u64)] {
        for (OP, WHAT) in [
            (ca, "into all caches, to be used again"),
            (cg, "into the second-level cache alone"),
            (cs, "that are not used again: first to leave the caches"),
            (lu, "that are not used again, and whose line of the cache need not be written back"),
            (cv, "anew from memory each time")
        ] {
            /// Loads values <WHAT>.
            #[reads]
            #[cpu(from.read())]
            unsafe fn ld_OP_TY(from: *const RUST) -> RUST = "ld.<OP>.<TY> {ret}, [{from}];";
        }
        /// Loads values that nobody writes while the kernel runs.
        #[pure]
        #[cpu(from.read())]
        unsafe fn ld_global_nc_TY(from: *const RUST) -> RUST =
            "ld.global.nc.<TY> {ret}, [{from:global}];";
        for (OP, WHAT) in [
            (wb, "into the caches"),
            (cg, "into the second-level cache"),
            (cs, "that are not used again soon"),
            (wt, "through the second-level cache to memory")
        ] {
            /// Stores values <WHAT>.
            #[cpu(to.write(value))]
            unsafe fn st_OP_TY(to: *mut RUST, value: RUST) = "st.<OP>.<TY> [{to}], {value};";
        }
        for (OP, HINT) in [
            (evict_first, "L1::evict_first"),
            (evict_last, "L1::evict_last"),
            (evict_unchanged, "L1::evict_unchanged"),
            (no_allocate, "L1::no_allocate")
        ] {
            /// Loads with the priority `<HINT>`.
            #[reads]
            #[cpu(from.read())]
            unsafe fn ld_global_OP_TY(from: *const RUST) -> RUST =
                "ld.global.<HINT>.<TY> {ret}, [{from:global}];";
            /// Stores with the priority `<HINT>`.
            #[cpu(to.write(value))]
            unsafe fn st_global_OP_TY(to: *mut RUST, value: RUST) =
                "st.global.<HINT>.<TY> [{to:global}], {value};";
        }
        /// Loads with a policy for the second-level cache.
        #[requires(sm_80)]
        #[reads]
        unsafe fn ld_global_policy_TY(from: *const RUST, policy: u64) -> RUST =
            "ld.global.L2::cache_hint.<TY> {ret}, [{from:global}], {policy};";
        /// Stores with a policy for the second-level cache.
        #[requires(sm_80)]
        unsafe fn st_global_policy_TY(to: *mut RUST, value: RUST, policy: u64) =
            "st.global.L2::cache_hint.<TY> [{to:global}], {value}, {policy};";
    }
    for (VEC, TY, VALUES) in [(v2, b32, [u32; 2]), (v4, b32, [u32; 4]), (v2, b64, [u64; 2])] {
        for OP in [ca, cg, cs, lu, cv] {
            /// Loads several values at once, as `ld.<OP>` loads one.
            #[reads]
            #[cpu(from.read())]
            unsafe fn ld_OP_VEC_TY(from: *const VALUES) -> VALUES =
                "ld.<OP>.<VEC>.<TY> {ret}, [{from}];";
        }
        /// Loads several values at once that nobody writes while the kernel runs.
        #[pure]
        #[cpu(from.read())]
        unsafe fn ld_global_nc_VEC_TY(from: *const VALUES) -> VALUES =
            "ld.global.nc.<VEC>.<TY> {ret}, [{from:global}];";
        for OP in [wb, cg, cs, wt] {
            /// Stores several values at once, as `st.<OP>` stores one.
            #[cpu(to.write(value))]
            unsafe fn st_OP_VEC_TY(to: *mut VALUES, value: VALUES) =
                "st.<OP>.<VEC>.<TY> [{to}], {value};";
        }
    }

    for (NAME, LEVEL) in [(l1, L1), (l2, L2)] {
        /// Brings the cache line of an address into the cache `<LEVEL>`.
        #[volatile]
        #[cpu({ let _ = pointer; })]
        fn prefetch_NAME(pointer: *const u8) = "prefetch.<LEVEL> [{pointer}];";
    }
    for PRIORITY in [evict_last, evict_normal] {
        /// Brings the cache line of an address into the second-level cache, to be evicted so.
        #[requires(sm_80)]
        #[volatile]
        unsafe fn prefetch_global_l2_PRIORITY(pointer: *const u8) =
            "prefetch.global.L2::<PRIORITY> [{pointer:global}];";
    }
    /// Brings the cache line of an address into the cache of constants and parameters.
    #[volatile]
    #[cpu({ let _ = pointer; })]
    fn prefetchu_l1(pointer: *const u8) = "prefetchu.L1 [{pointer}];";
    /// Takes back the priority that keeps a cache line of 128 bytes.
    #[requires(sm_80)]
    #[volatile]
    unsafe fn applypriority_evict_normal(pointer: *const u8) =
        "applypriority.global.L2::evict_normal [{pointer:global}], 128;";
    /// Gives up the contents of a cache line of 128 bytes: it need not be written back.
    #[requires(sm_80)]
    unsafe fn discard_l2(pointer: *mut u8) = "discard.global.L2 [{pointer:global}], 128;";

    for PRIORITY in [evict_last, evict_normal, evict_first, evict_unchanged] {
        /// A policy by which this part of the accesses has the priority, and others are as usual.
        #[requires(sm_80)]
        #[volatile]
        fn createpolicy_fractional_PRIORITY(part: f32) -> u64 =
            "createpolicy.fractional.L2::<PRIORITY>.b64 {ret}, {part};";
    }
    for PRIORITY in [evict_last, evict_normal, evict_first, evict_unchanged] {
        /// A policy by which accesses to the first `primary` of `size` bytes have the priority, and
        /// those to the others are evicted first.
        #[requires(sm_80)]
        #[volatile]
        fn createpolicy_range_PRIORITY(start: *const u8, primary: u32, size: u32) -> u64 =
            "createpolicy.range.global.L2::<PRIORITY>.L2::evict_first.b64 {ret}, [{start:global}], {primary}, {size};";
    }
}
