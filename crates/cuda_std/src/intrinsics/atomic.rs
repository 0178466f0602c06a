//! Atomic operations of PTX, by scope and ordering.

cuda_std_macros::intrinsics! {
    for SCOPE in [cta, gpu, sys] {
        for SEM in [relaxed, acquire, release, acq_rel] {
            for (TY, RUST) in [(u32, u32), (u64, u64)] {
                /// Adds; what was there before.
                #[cpu(cpu::Atom::update(to, |old| cpu::add(old, value)))]
                unsafe fn atom_add_TY_SEM_SCOPE(to: *mut RUST, value: RUST) -> RUST =
                    "atom.<SEM>.<SCOPE>.add.<TY> {ret}, [{to}], {value};";
            }
            for OP in [min, max] {
                for (TY, RUST) in [(u32, u32), (u64, u64), (s32, i32), (s64, i64)] {
                    /// The <OP> of what is there and a number; what was there before.
                    #[cpu(cpu::update(to, |old| cpu::OP(old, value)))]
                    unsafe fn atom_OP_TY_SEM_SCOPE(to: *mut RUST, value: RUST) -> RUST =
                        "atom.<SEM>.<SCOPE>.<OP>.<TY> {ret}, [{to}], {value};";
                }
            }
            for (TY, RUST) in [(b32, u32), (b64, u64)] {
                for OP in [and, or, xor, exch] {
                    /// <OP> of what is there and a number; what was there before.
                    #[cpu(cpu::update(to, |old| cpu::OP(old, value)))]
                    unsafe fn atom_OP_TY_SEM_SCOPE(to: *mut RUST, value: RUST) -> RUST =
                        "atom.<SEM>.<SCOPE>.<OP>.<TY> {ret}, [{to}], {value};";
                }
            }
            for (TY, RUST) in [(b16, u16), (b32, u32), (b64, u64)] {
                /// Puts `new` there if `expected` is; what was there before.
                #[cpu(cpu::compare_exchange(to, expected, new))]
                unsafe fn atom_cas_TY_SEM_SCOPE(to: *mut RUST, expected: RUST, new: RUST) -> RUST =
                    "atom.<SEM>.<SCOPE>.cas.<TY> {ret}, [{to}], {expected}, {new};";
            }
            /// Puts a number there; what was there before.
            #[requires(sm_90)]
            unsafe fn atom_exch_b128_SEM_SCOPE(to: *mut u128, value: u128) -> u128 =
                "atom.<SEM>.<SCOPE>.exch.b128 {ret}, [{to}], {value};";
            /// Puts `new` there if `expected` is; what was there before.
            #[requires(sm_90)]
            unsafe fn atom_cas_b128_SEM_SCOPE(to: *mut u128, expected: u128, new: u128) -> u128 =
                "atom.<SEM>.<SCOPE>.cas.b128 {ret}, [{to}], {expected}, {new};";
        }
        /// One more, or 0 if `last` was there; what was there before.
        #[cpu(cpu::update(to, |old| if old >= last { 0 } else { old + 1 }))]
        unsafe fn atom_inc_u32_relaxed_SCOPE(to: *mut u32, last: u32) -> u32 =
            "atom.relaxed.<SCOPE>.inc.u32 {ret}, [{to}], {last};";
        /// One less, or `last` if 0 or more than that was there; what was there before.
        #[cpu(cpu::update(to, |old| if old == 0 || old > last { last } else { old - 1 }))]
        unsafe fn atom_dec_u32_relaxed_SCOPE(to: *mut u32, last: u32) -> u32 =
            "atom.relaxed.<SCOPE>.dec.u32 {ret}, [{to}], {last};";
        for (TY, RUST) in [(f32, f32), (f64, f64)] {
            /// Adds; what was there before.
            #[cpu(cpu::Atom::update(to, |old| cpu::add(old, value)))]
            unsafe fn atom_add_TY_relaxed_SCOPE(to: *mut RUST, value: RUST) -> RUST =
                "atom.relaxed.<SCOPE>.add.<TY> {ret}, [{to}], {value};";
        }
        for (TY, RUST) in [(f16, u16), (f16x2, u32)] {
            /// Adds halves, each by itself; what was there before.
            unsafe fn atom_add_TY_relaxed_SCOPE(to: *mut RUST, value: RUST) -> RUST =
                "atom.relaxed.<SCOPE>.add.noftz.<TY> {ret}, [{to}], {value};";
        }
        for (TY, RUST) in [(bf16, u16), (bf16x2, u32)] {
            /// Adds `bf16`, each by itself; what was there before.
            #[requires(sm_90)]
            unsafe fn atom_add_TY_relaxed_SCOPE(to: *mut RUST, value: RUST) -> RUST =
                "atom.relaxed.<SCOPE>.add.noftz.<TY> {ret}, [{to}], {value};";
        }
        for (TY, RUST) in [(b8, u8), (b16, u16), (b32, u32), (b64, u64)] {
            for SEM in [relaxed, acquire] {
                /// Loads.
                #[cpu(cpu::load(from))]
                unsafe fn ld_TY_SEM_SCOPE(from: *const RUST) -> RUST =
                    "ld.<SEM>.<SCOPE>.<TY> {ret}, [{from}];";
            }
            for SEM in [relaxed, release] {
                /// Stores.
                #[cpu(cpu::Atom::store(to, value))]
                unsafe fn st_TY_SEM_SCOPE(to: *mut RUST, value: RUST) =
                    "st.<SEM>.<SCOPE>.<TY> [{to}], {value};";
            }
        }
    }

    for (VEC, VALUES) in [(v2, [f32; 2]), (v4, [f32; 4])] {
        /// Adds to neighbouring numbers of global memory, each by itself; what was there before.
        #[requires(sm_90)]
        unsafe fn atom_add_VEC_f32_relaxed_gpu(to: *mut VALUES, value: VALUES) -> VALUES =
            "atom.relaxed.gpu.global.add.<VEC>.f32 {ret}, [{to:global}], {value};";
    }
    for TY in [f16x2, bf16x2] {
        for OP in [add, min, max] {
            for (VEC, VALUES) in [(v2, [u32; 2]), (v4, [u32; 4])] {
                /// <OP> of pairs of halves in global memory, each by itself; what was there before.
                #[requires(sm_90)]
                unsafe fn atom_OP_VEC_TY_relaxed_gpu(to: *mut VALUES, value: VALUES) -> VALUES =
                    "atom.relaxed.gpu.global.<OP>.noftz.<VEC>.<TY> {ret}, [{to:global}], {value};";
            }
        }
    }
}

/// The scope of a cluster, which needs `sm_90`: the operations of the other scopes.
pub mod cluster {
    cuda_std_macros::intrinsics! {
        for SEM in [relaxed, acquire, release, acq_rel] {
            for (TY, RUST) in [(u32, u32), (u64, u64)] {
                /// Adds; what was there before.
                #[requires(sm_90)]
                unsafe fn atom_add_TY_SEM_cluster(to: *mut RUST, value: RUST) -> RUST =
                    "atom.<SEM>.cluster.add.<TY> {ret}, [{to}], {value};";
            }
            for OP in [min, max] {
                for (TY, RUST) in [(u32, u32), (u64, u64), (s32, i32), (s64, i64)] {
                    /// The <OP> of what is there and a number; what was there before.
                    #[requires(sm_90)]
                    unsafe fn atom_OP_TY_SEM_cluster(to: *mut RUST, value: RUST) -> RUST =
                        "atom.<SEM>.cluster.<OP>.<TY> {ret}, [{to}], {value};";
                }
            }
            for (TY, RUST) in [(b32, u32), (b64, u64)] {
                for OP in [and, or, xor, exch] {
                    /// <OP> of what is there and a number; what was there before.
                    #[requires(sm_90)]
                    unsafe fn atom_OP_TY_SEM_cluster(to: *mut RUST, value: RUST) -> RUST =
                        "atom.<SEM>.cluster.<OP>.<TY> {ret}, [{to}], {value};";
                }
            }
            for (TY, RUST) in [(b16, u16), (b32, u32), (b64, u64), (b128, u128)] {
                /// Puts `new` there if `expected` is; what was there before.
                #[requires(sm_90)]
                unsafe fn atom_cas_TY_SEM_cluster(
                    to: *mut RUST,
                    expected: RUST,
                    new: RUST,
                ) -> RUST = "atom.<SEM>.cluster.cas.<TY> {ret}, [{to}], {expected}, {new};";
            }
            /// Puts a number there; what was there before.
            #[requires(sm_90)]
            unsafe fn atom_exch_b128_SEM_cluster(to: *mut u128, value: u128) -> u128 =
                "atom.<SEM>.cluster.exch.b128 {ret}, [{to}], {value};";
        }
        /// One more, or 0 if `last` was there; what was there before.
        #[requires(sm_90)]
        unsafe fn atom_inc_u32_relaxed_cluster(to: *mut u32, last: u32) -> u32 =
            "atom.relaxed.cluster.inc.u32 {ret}, [{to}], {last};";
        /// One less, or `last` if 0 or more than that was there; what was there before.
        #[requires(sm_90)]
        unsafe fn atom_dec_u32_relaxed_cluster(to: *mut u32, last: u32) -> u32 =
            "atom.relaxed.cluster.dec.u32 {ret}, [{to}], {last};";
        for (TY, RUST) in [(f32, f32), (f64, f64)] {
            /// Adds; what was there before.
            #[requires(sm_90)]
            unsafe fn atom_add_TY_relaxed_cluster(to: *mut RUST, value: RUST) -> RUST =
                "atom.relaxed.cluster.add.<TY> {ret}, [{to}], {value};";
        }
        for (TY, RUST) in [(f16, u16), (f16x2, u32), (bf16, u16), (bf16x2, u32)] {
            /// Adds halves, each by itself; what was there before.
            #[requires(sm_90)]
            unsafe fn atom_add_TY_relaxed_cluster(to: *mut RUST, value: RUST) -> RUST =
                "atom.relaxed.cluster.add.noftz.<TY> {ret}, [{to}], {value};";
        }
        for (TY, RUST) in [(b8, u8), (b16, u16), (b32, u32), (b64, u64)] {
            for SEM in [relaxed, acquire] {
                /// Loads.
                #[requires(sm_90)]
                unsafe fn ld_TY_SEM_cluster(from: *const RUST) -> RUST =
                    "ld.<SEM>.cluster.<TY> {ret}, [{from}];";
            }
            for SEM in [relaxed, release] {
                /// Stores.
                #[requires(sm_90)]
                unsafe fn st_TY_SEM_cluster(to: *mut RUST, value: RUST) =
                    "st.<SEM>.cluster.<TY> [{to}], {value};";
            }
        }
    }
}
