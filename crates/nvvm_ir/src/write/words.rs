//! LLVM's keywords for kinds of operations, for the writer and the reader.

use crate::inst::*;

/// A kind of operation that LLVM's text gives as a keyword.
pub(crate) trait Word: Copy {
    /// A noun for the kinds, for error messages.
    const WHAT: &'static str;

    /// Returns LLVM's keyword.
    fn name(self) -> &'static str;

    /// Returns the kind with a keyword.
    fn from_name(text: &str) -> Option<Self>;
}

macro_rules! words {
    ($what:literal $ty:ident { $($variant:ident = $text:literal,)* }) => {
        impl Word for $ty {
            const WHAT: &'static str = $what;

            fn name(self) -> &'static str {
                match self { $($ty::$variant => $text,)* }
            }

            fn from_name(text: &str) -> Option<Self> {
                Some(match text { $($text => $ty::$variant,)* _ => return None })
            }
        }
    };
}

words! {
    "an operation" BinOp {
        Add = "add", Sub = "sub", Mul = "mul", UDiv = "udiv", SDiv = "sdiv", URem = "urem",
        SRem = "srem", Shl = "shl", LShr = "lshr", AShr = "ashr", And = "and", Or = "or",
        Xor = "xor", FAdd = "fadd", FSub = "fsub", FMul = "fmul", FDiv = "fdiv", FRem = "frem",
    }
}
words! {
    "a conversion" CastOp {
        Trunc = "trunc", ZExt = "zext", SExt = "sext", FpTrunc = "fptrunc", FpExt = "fpext",
        FpToUi = "fptoui", FpToSi = "fptosi", UiToFp = "uitofp", SiToFp = "sitofp",
        PtrToInt = "ptrtoint", IntToPtr = "inttoptr", Bitcast = "bitcast",
        AddrSpaceCast = "addrspacecast",
    }
}
words! {
    "a predicate" IntPred {
        Eq = "eq", Ne = "ne", Ugt = "ugt", Uge = "uge", Ult = "ult", Ule = "ule", Sgt = "sgt",
        Sge = "sge", Slt = "slt", Sle = "sle",
    }
}
words! {
    "a predicate" FloatPred {
        False = "false", Oeq = "oeq", Ogt = "ogt", Oge = "oge", Olt = "olt", Ole = "ole",
        One = "one", Ord = "ord", Uno = "uno", Ueq = "ueq", Ugt = "ugt", Uge = "uge",
        Ult = "ult", Ule = "ule", Une = "une", True = "true",
    }
}
words! {
    "an operation" RmwOp {
        Xchg = "xchg", Add = "add", Sub = "sub", And = "and", Nand = "nand", Or = "or",
        Xor = "xor", Max = "max", Min = "min", UMax = "umax", UMin = "umin", FAdd = "fadd",
    }
}
words! {
    "an ordering" Ordering {
        Relaxed = "monotonic", Acquire = "acquire", Release = "release", AcqRel = "acq_rel",
        SeqCst = "seq_cst",
    }
}
