//! LLVM's keywords for kinds of operations, for the writer and the reader.

use crate::inst::*;

macro_rules! words {
    ($(#[$doc:meta])* $name:ident, $from:ident, $ty:ident { $($variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        pub(crate) fn $name(value: $ty) -> &'static str {
            match value { $($ty::$variant => $text,)* }
        }

        /// The inverse.
        pub(crate) fn $from(text: &str) -> Option<$ty> {
            Some(match text { $($text => $ty::$variant,)* _ => return None })
        }
    };
}

words! {
    /// Returns LLVM's keyword for a binary operation.
    bin_name, bin_from_name, BinOp {
        Add = "add", Sub = "sub", Mul = "mul", UDiv = "udiv", SDiv = "sdiv", URem = "urem",
        SRem = "srem", Shl = "shl", LShr = "lshr", AShr = "ashr", And = "and", Or = "or",
        Xor = "xor", FAdd = "fadd", FSub = "fsub", FMul = "fmul", FDiv = "fdiv", FRem = "frem",
    }
}
words! {
    /// Returns LLVM's keyword for a conversion.
    cast_name, cast_from_name, CastOp {
        Trunc = "trunc", ZExt = "zext", SExt = "sext", FpTrunc = "fptrunc", FpExt = "fpext",
        FpToUi = "fptoui", FpToSi = "fptosi", UiToFp = "uitofp", SiToFp = "sitofp",
        PtrToInt = "ptrtoint", IntToPtr = "inttoptr", Bitcast = "bitcast",
        AddrSpaceCast = "addrspacecast",
    }
}
words! {
    /// Returns LLVM's keyword for a comparison of integers.
    int_pred_name, int_pred_from_name, IntPred {
        Eq = "eq", Ne = "ne", Ugt = "ugt", Uge = "uge", Ult = "ult", Ule = "ule", Sgt = "sgt",
        Sge = "sge", Slt = "slt", Sle = "sle",
    }
}
words! {
    /// Returns LLVM's keyword for a comparison of floats.
    float_pred_name, float_pred_from_name, FloatPred {
        False = "false", Oeq = "oeq", Ogt = "ogt", Oge = "oge", Olt = "olt", Ole = "ole",
        One = "one", Ord = "ord", Uno = "uno", Ueq = "ueq", Ugt = "ugt", Uge = "uge",
        Ult = "ult", Ule = "ule", Une = "une", True = "true",
    }
}
words! {
    /// Returns LLVM's keyword for a read-modify-write operation.
    rmw_name, rmw_from_name, RmwOp {
        Xchg = "xchg", Add = "add", Sub = "sub", And = "and", Nand = "nand", Or = "or",
        Xor = "xor", Max = "max", Min = "min", UMax = "umax", UMin = "umin", FAdd = "fadd",
    }
}
words! {
    /// Returns LLVM's keyword for a memory ordering.
    ordering_name, ordering_from_name, Ordering {
        Relaxed = "monotonic", Acquire = "acquire", Release = "release", AcqRel = "acq_rel",
        SeqCst = "seq_cst",
    }
}
