//! Atomic operations of PTX, by scope and ordering.

cuda_std_macros::intrinsics! {
    for SCOPE in [cta, gpu, sys] {
        for SEM in [relaxed, acquire, release, acq_rel] {
            for (TY, RUST) in [(u32, u32), (u64, u64)] {
                /// Atomically adds `value`, and returns the previous value.
                #[cpu(cpu::Atom::update(to, |old| cpu::add(old, value)))]
                unsafe fn atom_add_TY_SEM_SCOPE(to: *mut RUST, value: RUST) -> RUST =
                    "atom.<SEM>.<SCOPE>.add.<TY> {ret}, [{to}], {value};";
            }
            for OP in [min, max] {
                for (TY, RUST) in [(u32, u32), (u64, u64), (s32, i32), (s64, i64)] {
                    /// Atomically computes the <OP> with `value`, and returns the previous value.
                    #[cpu(cpu::update(to, |old| cpu::OP(old, value)))]
                    unsafe fn atom_OP_TY_SEM_SCOPE(to: *mut RUST, value: RUST) -> RUST =
                        "atom.<SEM>.<SCOPE>.<OP>.<TY> {ret}, [{to}], {value};";
                }
            }
            for (TY, RUST) in [(b32, u32), (b64, u64)] {
                for OP in [and, or, xor, exch] {
                    /// Atomically computes `<OP>` with `value`, and returns the previous value.
                    #[cpu(cpu::update(to, |old| cpu::OP(old, value)))]
                    unsafe fn atom_OP_TY_SEM_SCOPE(to: *mut RUST, value: RUST) -> RUST =
                        "atom.<SEM>.<SCOPE>.<OP>.<TY> {ret}, [{to}], {value};";
                }
            }
            for (TY, RUST) in [(b16, u16), (b32, u32), (b64, u64)] {
                /// Atomically stores `new` if the value equals `expected`, and returns the previous
                /// value.
                #[cpu(cpu::compare_exchange(to, expected, new))]
                unsafe fn atom_cas_TY_SEM_SCOPE(to: *mut RUST, expected: RUST, new: RUST) -> RUST =
                    "atom.<SEM>.<SCOPE>.cas.<TY> {ret}, [{to}], {expected}, {new};";
            }
            /// Atomically stores `value`, and returns the previous value.
            #[requires(sm_90)]
            unsafe fn atom_exch_b128_SEM_SCOPE(to: *mut u128, value: u128) -> u128 =
                "atom.<SEM>.<SCOPE>.exch.b128 {ret}, [{to}], {value};";
            /// Atomically stores `new` if the value equals `expected`, and returns the previous
            /// value.
            #[requires(sm_90)]
            unsafe fn atom_cas_b128_SEM_SCOPE(to: *mut u128, expected: u128, new: u128) -> u128 =
                "atom.<SEM>.<SCOPE>.cas.b128 {ret}, [{to}], {expected}, {new};";
        }
        /// Atomically increments the value, or sets it to 0 if it is at least `last`, and returns
        /// the previous value.
        #[cpu(cpu::update(to, |old| if old >= last { 0 } else { old + 1 }))]
        unsafe fn atom_inc_u32_relaxed_SCOPE(to: *mut u32, last: u32) -> u32 =
            "atom.relaxed.<SCOPE>.inc.u32 {ret}, [{to}], {last};";
        /// Atomically decrements the value, or sets it to `last` if it is 0 or greater than `last`,
        /// and returns the previous value.
        #[cpu(cpu::update(to, |old| if old == 0 || old > last { last } else { old - 1 }))]
        unsafe fn atom_dec_u32_relaxed_SCOPE(to: *mut u32, last: u32) -> u32 =
            "atom.relaxed.<SCOPE>.dec.u32 {ret}, [{to}], {last};";
        for (TY, RUST) in [(f32, f32), (f64, f64)] {
            /// Atomically adds `value`, and returns the previous value.
            #[cpu(cpu::Atom::update(to, |old| cpu::add(old, value)))]
            unsafe fn atom_add_TY_relaxed_SCOPE(to: *mut RUST, value: RUST) -> RUST =
                "atom.relaxed.<SCOPE>.add.<TY> {ret}, [{to}], {value};";
        }
        for (TY, RUST) in [(f16, u16), (f16x2, u32)] {
            /// Adds fp16 values, each separately atomic, and returns the previous values.
            unsafe fn atom_add_TY_relaxed_SCOPE(to: *mut RUST, value: RUST) -> RUST =
                "atom.relaxed.<SCOPE>.add.noftz.<TY> {ret}, [{to}], {value};";
        }
        for (TY, RUST) in [(bf16, u16), (bf16x2, u32)] {
            /// Adds bf16 values, each separately atomic, and returns the previous values.
            #[requires(sm_90)]
            unsafe fn atom_add_TY_relaxed_SCOPE(to: *mut RUST, value: RUST) -> RUST =
                "atom.relaxed.<SCOPE>.add.noftz.<TY> {ret}, [{to}], {value};";
        }
        for (TY, RUST) in [(b8, u8), (b16, u16), (b32, u32), (b64, u64)] {
            for SEM in [relaxed, acquire] {
                /// Loads the value.
                #[cpu(cpu::load(from))]
                unsafe fn ld_TY_SEM_SCOPE(from: *const RUST) -> RUST =
                    "ld.<SEM>.<SCOPE>.<TY> {ret}, [{from}];";
            }
            for SEM in [relaxed, release] {
                /// Stores `value`.
                #[cpu(cpu::Atom::store(to, value))]
                unsafe fn st_TY_SEM_SCOPE(to: *mut RUST, value: RUST) =
                    "st.<SEM>.<SCOPE>.<TY> [{to}], {value};";
            }
        }
    }

    for (VEC, VALUES) in [(v2, [f32; 2]), (v4, [f32; 4])] {
        /// Adds a vector in global memory, each element separately atomic, and returns the previous
        /// values.
        #[requires(sm_90)]
        unsafe fn atom_add_VEC_f32_relaxed_gpu(to: *mut VALUES, value: VALUES) -> VALUES =
            "atom.relaxed.gpu.global.add.<VEC>.f32 {ret}, [{to:global}], {value};";
    }
    for TY in [f16x2, bf16x2] {
        for OP in [add, min, max] {
            for (VEC, VALUES) in [(v2, [u32; 2]), (v4, [u32; 4])] {
                /// Computes `<OP>` of a vector of pairs in global memory, each element separately
                /// atomic, and returns the previous values.
                #[requires(sm_90)]
                unsafe fn atom_OP_VEC_TY_relaxed_gpu(to: *mut VALUES, value: VALUES) -> VALUES =
                    "atom.relaxed.gpu.global.<OP>.noftz.<VEC>.<TY> {ret}, [{to:global}], {value};";
            }
        }
    }
}

/// Atomic operations with cluster scope, which require `sm_90`.
pub mod cluster {
    cuda_std_macros::intrinsics! {
        for SEM in [relaxed, acquire, release, acq_rel] {
            for (TY, RUST) in [(u32, u32), (u64, u64)] {
                /// Atomically adds `value`, and returns the previous value.
                #[requires(sm_90)]
                unsafe fn atom_add_TY_SEM_cluster(to: *mut RUST, value: RUST) -> RUST =
                    "atom.<SEM>.cluster.add.<TY> {ret}, [{to}], {value};";
            }
            for OP in [min, max] {
                for (TY, RUST) in [(u32, u32), (u64, u64), (s32, i32), (s64, i64)] {
                    /// Atomically computes the <OP> with `value`, and returns the previous value.
                    #[requires(sm_90)]
                    unsafe fn atom_OP_TY_SEM_cluster(to: *mut RUST, value: RUST) -> RUST =
                        "atom.<SEM>.cluster.<OP>.<TY> {ret}, [{to}], {value};";
                }
            }
            for (TY, RUST) in [(b32, u32), (b64, u64)] {
                for OP in [and, or, xor, exch] {
                    /// Atomically computes `<OP>` with `value`, and returns the previous value.
                    #[requires(sm_90)]
                    unsafe fn atom_OP_TY_SEM_cluster(to: *mut RUST, value: RUST) -> RUST =
                        "atom.<SEM>.cluster.<OP>.<TY> {ret}, [{to}], {value};";
                }
            }
            for (TY, RUST) in [(b16, u16), (b32, u32), (b64, u64), (b128, u128)] {
                /// Atomically stores `new` if the value equals `expected`, and returns the previous
                /// value.
                #[requires(sm_90)]
                unsafe fn atom_cas_TY_SEM_cluster(
                    to: *mut RUST,
                    expected: RUST,
                    new: RUST,
                ) -> RUST = "atom.<SEM>.cluster.cas.<TY> {ret}, [{to}], {expected}, {new};";
            }
            /// Atomically stores `value`, and returns the previous value.
            #[requires(sm_90)]
            unsafe fn atom_exch_b128_SEM_cluster(to: *mut u128, value: u128) -> u128 =
                "atom.<SEM>.cluster.exch.b128 {ret}, [{to}], {value};";
        }
        /// Atomically increments the value, or sets it to 0 if it is at least `last`, and returns
        /// the previous value.
        #[requires(sm_90)]
        unsafe fn atom_inc_u32_relaxed_cluster(to: *mut u32, last: u32) -> u32 =
            "atom.relaxed.cluster.inc.u32 {ret}, [{to}], {last};";
        /// Atomically decrements the value, or sets it to `last` if it is 0 or greater than `last`,
        /// and returns the previous value.
        #[requires(sm_90)]
        unsafe fn atom_dec_u32_relaxed_cluster(to: *mut u32, last: u32) -> u32 =
            "atom.relaxed.cluster.dec.u32 {ret}, [{to}], {last};";
        for (TY, RUST) in [(f32, f32), (f64, f64)] {
            /// Atomically adds `value`, and returns the previous value.
            #[requires(sm_90)]
            unsafe fn atom_add_TY_relaxed_cluster(to: *mut RUST, value: RUST) -> RUST =
                "atom.relaxed.cluster.add.<TY> {ret}, [{to}], {value};";
        }
        for (TY, RUST) in [(f16, u16), (f16x2, u32), (bf16, u16), (bf16x2, u32)] {
            /// Adds fp16 or bf16 values, each separately atomic, and returns the previous values.
            #[requires(sm_90)]
            unsafe fn atom_add_TY_relaxed_cluster(to: *mut RUST, value: RUST) -> RUST =
                "atom.relaxed.cluster.add.noftz.<TY> {ret}, [{to}], {value};";
        }
        for (TY, RUST) in [(b8, u8), (b16, u16), (b32, u32), (b64, u64)] {
            for SEM in [relaxed, acquire] {
                /// Loads the value.
                #[requires(sm_90)]
                unsafe fn ld_TY_SEM_cluster(from: *const RUST) -> RUST =
                    "ld.<SEM>.cluster.<TY> {ret}, [{from}];";
            }
            for SEM in [relaxed, release] {
                /// Stores `value`.
                #[requires(sm_90)]
                unsafe fn st_TY_SEM_cluster(to: *mut RUST, value: RUST) =
                    "st.<SEM>.cluster.<TY> [{to}], {value};";
            }
        }
    }
}
