//! What the threads of a warp do together: shuffles, votes, matches, reductions.

cuda_std_macros::intrinsics! {
    for (OP, WHAT) in [
        (idx, "lane `b`"),
        (up, "the lane `b` below"),
        (down, "the lane `b` above"),
        (bfly, "the lane whose number differs in the bits of `b`")
    ] {
        /// `value` of <WHAT>. `c` has the segments' mask in its bits 8 to 12, and the last lane.
        #[volatile]
        #[convergent]
        #[cpu(cpu::shuffle("shfl.<OP>", value, b, c, mask).0)]
        fn shfl_sync_OP_b32(value: u32, b: u32, c: u32, mask: u32) -> u32 =
            "shfl.sync.<OP>.b32 {ret}, {value}, {b}, {c}, {mask};";
        /// `value` of <WHAT>, and whether that lane is in the segment. `c` has the segments' mask in
        /// its bits 8 to 12, and the last lane.
        #[volatile]
        #[convergent]
        #[cpu(cpu::shuffle("shfl.<OP>", value, b, c, mask))]
        fn shfl_sync_OP_b32_pred(value: u32, b: u32, c: u32, mask: u32) -> (u32, bool) =
            "shfl.sync.<OP>.b32 {ret.0}|{ret.1}, {value}, {b}, {c}, {mask};";
    }

    /// Whether the predicate is true for all lanes of the mask.
    #[volatile]
    #[convergent]
    #[cpu(cpu::vote(predicate, mask)[0])]
    fn vote_sync_all(predicate: bool, mask: u32) -> bool =
        "vote.sync.all.pred {ret}, {predicate}, {mask};";
    /// Whether the predicate is true for a lane of the mask.
    #[volatile]
    #[convergent]
    #[cpu(cpu::vote(predicate, mask)[1])]
    fn vote_sync_any(predicate: bool, mask: u32) -> bool =
        "vote.sync.any.pred {ret}, {predicate}, {mask};";
    /// Whether the predicate is the same for all lanes of the mask.
    #[volatile]
    #[convergent]
    #[cpu({ let [all, any] = cpu::vote(predicate, mask); all || !any })]
    fn vote_sync_uni(predicate: bool, mask: u32) -> bool =
        "vote.sync.uni.pred {ret}, {predicate}, {mask};";
    /// The lanes of the mask for which the predicate is true.
    #[volatile]
    #[convergent]
    #[cpu(cpu::ballot(predicate, mask))]
    fn vote_sync_ballot(predicate: bool, mask: u32) -> u32 =
        "vote.sync.ballot.b32 {ret}, {predicate}, {mask};";

    for (TY, RUST) in [(b32, u32), (b64, u64)] {
        /// The lanes of the mask that have the same value.
        #[volatile]
        #[convergent]
        #[cpu(cpu::match_any(value.into(), mask))]
        fn match_any_sync_TY(value: RUST, mask: u32) -> u32 =
            "match.any.sync.<TY> {ret}, {value}, {mask};";
        /// The mask if all its lanes have the same value, else 0; and whether they have.
        #[volatile]
        #[convergent]
        #[cpu(cpu::match_all(value.into(), mask))]
        fn match_all_sync_TY(value: RUST, mask: u32) -> (u32, bool) =
            "match.all.sync.<TY> {ret.0}|{ret.1}, {value}, {mask};";
    }

    for OP in [add, min, max] {
        for (TY, RUST) in [(u32, u32), (s32, i32)] {
            /// <OP> of the values of the mask's lanes.
            #[requires(sm_80)]
            #[volatile]
            #[convergent]
            #[cpu(cpu::reduce("redux.<OP>", value, mask, cpu::OP))]
            fn redux_sync_OP_TY(value: RUST, mask: u32) -> RUST =
                "redux.sync.<OP>.<TY> {ret}, {value}, {mask};";
        }
    }
    for OP in [and, or, xor] {
        /// <OP> of the values of the mask's lanes.
        #[requires(sm_80)]
        #[volatile]
        #[convergent]
        #[cpu(cpu::reduce("redux.<OP>", value, mask, cpu::OP))]
        fn redux_sync_OP_b32(value: u32, mask: u32) -> u32 =
            "redux.sync.<OP>.b32 {ret}, {value}, {mask};";
    }
    for OP in [min, max] {
        for (NAME, DOTS, WHAT) in [
            (f32, "", "values"),
            (abs_f32, ".abs", "absolute values"),
            (nan_f32, ".NaN", "values, or NaN if there is one,"),
            (abs_nan_f32, ".abs.NaN", "absolute values, or NaN if there is one,")
        ] {
            /// <OP> of the <WHAT> of the mask's lanes.
            #[requires(sm_100a, sm_100f)]
            #[volatile]
            #[convergent]
            fn redux_sync_OP_NAME(value: f32, mask: u32) -> f32 =
                "redux.sync.<OP><DOTS>.f32 {ret}, {value}, {mask};";
        }
    }

    /// The lanes that execute this together. Others may be on another path of the code.
    #[volatile]
    #[convergent]
    #[cpu(cpu::lanemask_eq())]
    fn activemask() -> u32 = "activemask.b32 {ret};";
    /// Waits for the lanes of the mask, and orders their accesses to memory.
    #[convergent]
    #[cpu({ cpu::lanes("bar.warp", mask, 0); })]
    fn bar_warp_sync(mask: u32) = "bar.warp.sync {mask};";
    /// One lane of the mask, and whether it is this one.
    #[requires(sm_90)]
    #[volatile]
    #[convergent]
    #[cpu(cpu::elect(mask))]
    fn elect_sync(mask: u32) -> (u32, bool) = "elect.sync {ret.0}|{ret.1}, {mask};";
}
