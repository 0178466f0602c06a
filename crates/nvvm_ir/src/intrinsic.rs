//! LLVM's target-independent intrinsics, one row each.
//!
//! The legalizer knows which dialect supports which intrinsic and how to replace the others; the
//! writer knows their names. Target intrinsics (`llvm.nvvm.…`) and libdevice functions are ordinary
//! functions, declared with that name.

/// Which types appear in the name of an intrinsic.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Overload {
    /// None.
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
        /// A target-independent LLVM intrinsic.
        #[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs)]
        pub enum Intrinsic { $($variant,)* }

        impl Intrinsic {
            /// All intrinsics.
            pub const ALL: &'static [Intrinsic] = &[$(Intrinsic::$variant,)*];

            /// Returns the name without the prefix `llvm.` and without type suffixes.
            pub fn base_name(self) -> &'static str {
                match self { $(Intrinsic::$variant => $name,)* }
            }

            /// Returns the intrinsic with a full name, such as `llvm.smax.i32`.
            pub fn named(name: &str) -> Option<Intrinsic> {
                let name = name.strip_prefix("llvm.")?;
                let is = |intrinsic: &Intrinsic| {
                    let rest = name.strip_prefix(intrinsic.base_name());
                    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
                };
                let named = Intrinsic::ALL.iter().copied().filter(is);
                named.max_by_key(|intrinsic| intrinsic.base_name().len())
            }

            /// Returns which types appear in the intrinsic's full name.
            pub fn overload(self) -> Overload {
                match self { $(Intrinsic::$variant => Overload::$overload,)* }
            }

            /// Returns the signature as one letter for the result and one for each parameter: `v`
            /// nothing, `p` a pointer, `b` an `i1`, `c` an `i8`, `q` an `i64`, `n` any integer, `I`
            /// integers or vectors of integers, all of one type, `F` floats likewise, `O` the pair
            /// of an `I` and an overflow flag.
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
    IsConstant = "is.constant", Arg, "bI";
    Trap = "trap", None, "v";
    LifetimeStart = "lifetime.start", Lifetime, "vqp";
    LifetimeEnd = "lifetime.end", Lifetime, "vqp";
}
