//! LLVM's target-independent intrinsics, one row each. Which dialect has which, and what stands in
//! for it where it is missing, is the legalizer's matter; the name in the text is the writer's.
//!
//! Target intrinsics (`llvm.nvvm.…`) and libdevice functions are declared functions of that name.

/// How the types of an intrinsic appear in its name.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Overload {
    /// Not at all.
    None,
    /// The result's type.
    Result,
    /// The result's type, then the first argument's.
    ResultAndArg,
    /// The first argument's type.
    Arg,
    /// The two pointers and the length.
    Copy,
    /// The pointer and the length.
    Set,
    /// The pointer (second argument).
    Lifetime,
}

macro_rules! intrinsics {
    ($($variant:ident = $name:literal, $overload:ident;)*) => {
        /// An intrinsic.
        #[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs)]
        pub enum Intrinsic { $($variant,)* }

        impl Intrinsic {
            /// All of them.
            pub const ALL: &'static [Intrinsic] = &[$(Intrinsic::$variant,)*];

            /// Its name without `llvm.` and without the types.
            pub fn base_name(self) -> &'static str {
                match self { $(Intrinsic::$variant => $name,)* }
            }

            /// How its types appear in its name.
            pub fn overload(self) -> Overload {
                match self { $(Intrinsic::$variant => Overload::$overload,)* }
            }
        }
    };
}

intrinsics! {
    Memcpy = "memcpy", Copy;
    Memmove = "memmove", Copy;
    Memset = "memset", Set;
    Ctpop = "ctpop", Result;
    Ctlz = "ctlz", Result;
    Cttz = "cttz", Result;
    Bswap = "bswap", Result;
    Bitreverse = "bitreverse", Result;
    Fshl = "fshl", Result;
    Fshr = "fshr", Result;
    Abs = "abs", Result;
    SMax = "smax", Result;
    SMin = "smin", Result;
    UMax = "umax", Result;
    UMin = "umin", Result;
    UAddOverflow = "uadd.with.overflow", Arg;
    SAddOverflow = "sadd.with.overflow", Arg;
    USubOverflow = "usub.with.overflow", Arg;
    SSubOverflow = "ssub.with.overflow", Arg;
    UMulOverflow = "umul.with.overflow", Arg;
    SMulOverflow = "smul.with.overflow", Arg;
    UAddSat = "uadd.sat", Result;
    SAddSat = "sadd.sat", Result;
    USubSat = "usub.sat", Result;
    SSubSat = "ssub.sat", Result;
    FpToSiSat = "fptosi.sat", ResultAndArg;
    FpToUiSat = "fptoui.sat", ResultAndArg;
    Sqrt = "sqrt", Result;
    Fma = "fma", Result;
    Fabs = "fabs", Result;
    Floor = "floor", Result;
    Ceil = "ceil", Result;
    Trunc = "trunc", Result;
    Rint = "rint", Result;
    Round = "round", Result;
    RoundEven = "roundeven", Result;
    Copysign = "copysign", Result;
    MinNum = "minnum", Result;
    MaxNum = "maxnum", Result;
    Minimum = "minimum", Result;
    Maximum = "maximum", Result;
    Assume = "assume", None;
    Expect = "expect", Result;
    Trap = "trap", None;
    LifetimeStart = "lifetime.start", Lifetime;
    LifetimeEnd = "lifetime.end", Lifetime;
}
