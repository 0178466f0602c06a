//! Warp-level instructions: shuffles, votes, matches and reductions.

cuda_std_macros::intrinsics! {
    for (OP, WHAT) in [
        (idx, "lane `b`"),
        (up, "the lane whose index is lower by `b`"),
        (down, "the lane whose index is higher by `b`"),
        (bfly, "the lane whose index is this lane's XOR `b`")
    ] {
        /// Returns `value` of <WHAT>. `c` has the segment mask in bits 8 to 12 and the clamp value
        /// in bits 0 to 4.
        #[volatile]
        #[convergent]
        #[cpu(cpu::shuffle("shfl.<OP>", value, b, c, mask).0)]
        fn shfl_sync_OP_b32(value: u32, b: u32, c: u32, mask: u32) -> u32 =
            "shfl.sync.<OP>.b32 {ret}, {value}, {b}, {c}, {mask};";
        /// Returns `value` of <WHAT>, and whether that lane is in the segment. `c` has the segment
        /// mask in bits 8 to 12 and the clamp value in bits 0 to 4.
        #[volatile]
        #[convergent]
        #[cpu(cpu::shuffle("shfl.<OP>", value, b, c, mask))]
        fn shfl_sync_OP_b32_pred(value: u32, b: u32, c: u32, mask: u32) -> (u32, bool) =
            "shfl.sync.<OP>.b32 {ret.0}|{ret.1}, {value}, {b}, {c}, {mask};";
    }

    /// Returns whether `predicate` is true for all lanes of the mask.
    #[volatile]
    #[convergent]
    #[cpu(cpu::vote(predicate, mask)[0])]
    fn vote_sync_all(predicate: bool, mask: u32) -> bool =
        "vote.sync.all.pred {ret}, {predicate}, {mask};";
    /// Returns whether `predicate` is true for at least one lane of the mask.
    #[volatile]
    #[convergent]
    #[cpu(cpu::vote(predicate, mask)[1])]
    fn vote_sync_any(predicate: bool, mask: u32) -> bool =
        "vote.sync.any.pred {ret}, {predicate}, {mask};";
    /// Returns whether `predicate` is the same for all lanes of the mask.
    #[volatile]
    #[convergent]
    #[cpu({ let [all, any] = cpu::vote(predicate, mask); all || !any })]
    fn vote_sync_uni(predicate: bool, mask: u32) -> bool =
        "vote.sync.uni.pred {ret}, {predicate}, {mask};";
    /// Returns the mask of the lanes for which `predicate` is true.
    #[volatile]
    #[convergent]
    #[cpu(cpu::ballot(predicate, mask))]
    fn vote_sync_ballot(predicate: bool, mask: u32) -> u32 =
        "vote.sync.ballot.b32 {ret}, {predicate}, {mask};";

    for (TY, RUST) in [(b32, u32), (b64, u64)] {
        /// Returns the mask of the lanes that have the same value as this one.
        #[volatile]
        #[convergent]
        #[cpu(cpu::match_any(value.into(), mask))]
        fn match_any_sync_TY(value: RUST, mask: u32) -> u32 =
            "match.any.sync.<TY> {ret}, {value}, {mask};";
        /// Returns the mask and `true` if all its lanes have the same value, otherwise 0 and
        /// `false`.
        #[volatile]
        #[convergent]
        #[cpu(cpu::match_all(value.into(), mask))]
        fn match_all_sync_TY(value: RUST, mask: u32) -> (u32, bool) =
            "match.all.sync.<TY> {ret.0}|{ret.1}, {value}, {mask};";
    }

    for OP in [add, min, max] {
        for (TY, RUST) in [(u32, u32), (s32, i32)] {
            /// Reduces the values of the mask's lanes with `<OP>`.
            #[requires(sm_80)]
            #[volatile]
            #[convergent]
            #[cpu(cpu::reduce("redux.<OP>", value, mask, cpu::OP))]
            fn redux_sync_OP_TY(value: RUST, mask: u32) -> RUST =
                "redux.sync.<OP>.<TY> {ret}, {value}, {mask};";
        }
    }
    for OP in [and, or, xor] {
        /// Reduces the values of the mask's lanes with `<OP>`.
        #[requires(sm_80)]
        #[volatile]
        #[convergent]
        #[cpu(cpu::reduce("redux.<OP>", value, mask, cpu::OP))]
        fn redux_sync_OP_b32(value: u32, mask: u32) -> u32 =
            "redux.sync.<OP>.b32 {ret}, {value}, {mask};";
    }
    for OP in [min, max] {
        for (NAME, DOTS, WHAT) in [
            (f32, "", "values of the mask's lanes"),
            (abs_f32, ".abs", "absolute values of the mask's lanes"),
            (nan_f32, ".NaN", "values of the mask's lanes, and returns NaN if one of them is NaN"),
            (abs_nan_f32, ".abs.NaN", "absolute values of the mask's lanes, and returns NaN if one of them is NaN")
        ] {
            /// Computes the <OP> of the <WHAT>.
            #[requires(sm_100a, sm_100f)]
            #[volatile]
            #[convergent]
            fn redux_sync_OP_NAME(value: f32, mask: u32) -> f32 =
                "redux.sync.<OP><DOTS>.f32 {ret}, {value}, {mask};";
        }
    }

    /// Returns the mask of the lanes that execute this call together. Other lanes may have
    /// diverged.
    #[volatile]
    #[convergent]
    #[cpu(cpu::lanemask_eq())]
    fn activemask() -> u32 = "activemask.b32 {ret};";
    /// Waits for the lanes of the mask, and orders their memory accesses.
    #[convergent]
    #[cpu({ cpu::lanes("bar.warp", mask, 0); })]
    fn bar_warp_sync(mask: u32) = "bar.warp.sync {mask};";
    /// Elects one lane of the mask. Returns its index, and whether it is this lane.
    #[requires(sm_90)]
    #[volatile]
    #[convergent]
    #[cpu(cpu::elect(mask))]
    fn elect_sync(mask: u32) -> (u32, bool) = "elect.sync {ret.0}|{ret.1}, {mask};";
}
