//! LLVM's target-independent intrinsics, one row each.
//!
//! The legalizer knows which dialect has which intrinsic and how to replace a missing one; the
//! writer knows their names. Target intrinsics (`llvm.nvvm.…`) and libdevice functions are declared
//! functions of that name.

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
    ($($variant:ident = $name:literal, $overload:ident, $signature:literal;)*) => {
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

            /// The one of a name with `llvm.` and types, such as `llvm.smax.i32`.
            pub fn named(name: &str) -> Option<Intrinsic> {
                let name = name.strip_prefix("llvm.")?;
                let is = |intrinsic: &Intrinsic| {
                    let rest = name.strip_prefix(intrinsic.base_name());
                    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
                };
                let named = Intrinsic::ALL.iter().copied().filter(is);
                named.max_by_key(|intrinsic| intrinsic.base_name().len())
            }

            /// How its types appear in its name.
            pub fn overload(self) -> Overload {
                match self { $(Intrinsic::$variant => Overload::$overload,)* }
            }

            /// Its signature, a letter for the result and one for each parameter: `v` nothing,
            /// `p` a pointer, `b` an `i1`, `c` an `i8`, `q` an `i64`, `n` any integer, `I` integers
            /// (or vectors of them) all of one type, `F` floats likewise, `O` the pair of an `I`
            /// and whether it overflowed.
            pub fn signature(self) -> &'static str {
                match self { $(Intrinsic::$variant => $signature,)* }
            }
        }
    };
}

intrinsics! {
    Memcpy = "memcpy", Copy, "vppnb";
    Memmove = "memmove", Copy, "vppnb";
    Memset = "memset", Set, "vpcnb";
    Ctpop = "ctpop", Result, "II";
    Ctlz = "ctlz", Result, "IIb";
    Cttz = "cttz", Result, "IIb";
    Bswap = "bswap", Result, "II";
    Bitreverse = "bitreverse", Result, "II";
    Fshl = "fshl", Result, "IIII";
    Fshr = "fshr", Result, "IIII";
    Abs = "abs", Result, "IIb";
    SMax = "smax", Result, "III";
    SMin = "smin", Result, "III";
    UMax = "umax", Result, "III";
    UMin = "umin", Result, "III";
    UAddOverflow = "uadd.with.overflow", Arg, "OII";
    SAddOverflow = "sadd.with.overflow", Arg, "OII";
    USubOverflow = "usub.with.overflow", Arg, "OII";
    SSubOverflow = "ssub.with.overflow", Arg, "OII";
    UMulOverflow = "umul.with.overflow", Arg, "OII";
    SMulOverflow = "smul.with.overflow", Arg, "OII";
    UAddSat = "uadd.sat", Result, "III";
    SAddSat = "sadd.sat", Result, "III";
    USubSat = "usub.sat", Result, "III";
    SSubSat = "ssub.sat", Result, "III";
    FpToSiSat = "fptosi.sat", ResultAndArg, "IF";
    FpToUiSat = "fptoui.sat", ResultAndArg, "IF";
    Sqrt = "sqrt", Result, "FF";
    Fma = "fma", Result, "FFFF";
    Fabs = "fabs", Result, "FF";
    Floor = "floor", Result, "FF";
    Ceil = "ceil", Result, "FF";
    Trunc = "trunc", Result, "FF";
    Rint = "rint", Result, "FF";
    Round = "round", Result, "FF";
    RoundEven = "roundeven", Result, "FF";
    Copysign = "copysign", Result, "FFF";
    MinNum = "minnum", Result, "FFF";
    MaxNum = "maxnum", Result, "FFF";
    Minimum = "minimum", Result, "FFF";
    Maximum = "maximum", Result, "FFF";
    Assume = "assume", None, "vb";
    Expect = "expect", Result, "III";
    Trap = "trap", None, "v";
    LifetimeStart = "lifetime.start", Lifetime, "vqp";
    LifetimeEnd = "lifetime.end", Lifetime, "vqp";
}
