//! Instructions.

use crate::intrinsic::Intrinsic;
use crate::metadata::Di;
use crate::types::Type;
use crate::value::{Block, Value};

/// An instruction, the block it stands in and its source location.
#[derive(Clone, Debug)]
pub struct InstData {
    /// What it does.
    pub kind: InstKind,
    /// Where it stands.
    pub block: Block,
    /// Where it came from, if known.
    pub loc: Option<Di>,
}

/// Memory orderings of atomic operations.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Ordering {
    Relaxed,
    Acquire,
    Release,
    AcqRel,
    SeqCst,
}

/// The set of threads that an atomic operation or a fence synchronizes with (PTX ISA, "Scope").
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// The thread block.
    Block,
    /// The cluster of blocks.
    Cluster,
    /// The device.
    Device,
    /// Every thread of the system, the host's too.
    System,
}

/// How a load or store reaches memory.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct MemAccess {
    /// Alignment in bytes.
    pub align: u64,
    /// Whether it is volatile.
    pub volatile: bool,
    /// Whether it is atomic, and how.
    pub atomic: Option<(Ordering, Scope)>,
    /// `!invariant.load`: the memory never changes while the kernel runs.
    pub invariant: bool,
    /// A load whose result is known to lie in `start..=end` (wrapping), as `!range`.
    pub range: Option<(u128, u128)>,
}

/// Integer and float operations of two operands of one type.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum BinOp {
    Add,
    Sub,
    Mul,
    UDiv,
    SDiv,
    URem,
    SRem,
    Shl,
    LShr,
    AShr,
    And,
    Or,
    Xor,
    FAdd,
    FSub,
    FMul,
    FDiv,
    FRem,
}

impl BinOp {
    /// Whether it takes floats.
    pub fn is_float(self) -> bool {
        use BinOp::*;
        matches!(self, FAdd | FSub | FMul | FDiv | FRem)
    }
}

/// What may be assumed of an operation's operands and result.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Flags {
    /// No unsigned overflow.
    pub nuw: bool,
    /// No signed overflow.
    pub nsw: bool,
    /// Division or right shift without remainder.
    pub exact: bool,
    /// Every fast-math assumption (Rust's `f*_fast` intrinsics).
    pub fast: bool,
    /// Reassociation, contraction and the like (Rust's `f*_algebraic` intrinsics).
    pub algebraic: bool,
}

/// Conversions.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum CastOp {
    Trunc,
    ZExt,
    SExt,
    FpTrunc,
    FpExt,
    FpToUi,
    FpToSi,
    UiToFp,
    SiToFp,
    PtrToInt,
    IntToPtr,
    Bitcast,
    AddrSpaceCast,
}

/// Comparisons of integers and pointers.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum IntPred {
    Eq,
    Ne,
    Ugt,
    Uge,
    Ult,
    Ule,
    Sgt,
    Sge,
    Slt,
    Sle,
}

/// Comparisons of floats: `O…` false with a NaN, `U…` true.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum FloatPred {
    False,
    Oeq,
    Ogt,
    Oge,
    Olt,
    Ole,
    One,
    Ord,
    Uno,
    Ueq,
    Ugt,
    Uge,
    Ult,
    Ule,
    Une,
    True,
}

/// Read-modify-write operations.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum RmwOp {
    Xchg,
    Add,
    Sub,
    And,
    Nand,
    Or,
    Xor,
    Max,
    Min,
    UMax,
    UMin,
    FAdd,
}

/// What a call calls.
#[derive(Clone, Debug, PartialEq)]
pub enum Callee {
    /// A function, or a pointer to one.
    Value(Value),
    /// An operation of the table in [`crate::Intrinsic`].
    Intrinsic(Intrinsic),
    /// Inline PTX.
    Asm(Box<InlineAsm>),
}

/// Inline PTX with LLVM's constraint language.
#[derive(Clone, Debug, PartialEq)]
pub struct InlineAsm {
    /// The template, `$0` and so on for operands.
    pub template: String,
    /// The constraints, `=r,l,~{memory}` and so on.
    pub constraints: String,
    /// Whether it may not be dropped or merged.
    pub side_effects: bool,
    /// Whether it must not be made control-dependent on more conditions.
    pub convergent: bool,
}

/// Attributes of a parameter, an argument or a result.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct ParamAttrs {
    /// `noalias`.
    pub noalias: bool,
    /// `nonnull`.
    pub nonnull: bool,
    /// `readonly`.
    pub readonly: bool,
    /// `nocapture`.
    pub nocapture: bool,
    /// `zeroext`.
    pub zeroext: bool,
    /// `signext`.
    pub signext: bool,
    /// `align`, 0 if none.
    pub align: u64,
    /// `dereferenceable`, 0 if none.
    pub dereferenceable: u64,
    /// `byval` of that type: a kernel's by-value aggregate.
    pub byval: Option<Type>,
    /// Of a kernel's `byval`: nobody writes there, so that its address may be taken without a copy.
    pub grid_constant: bool,
    /// `sret` of that type.
    pub sret: Option<Type>,
    /// The address of an argument that is passed by value, so that the callee may change it, or of
    /// the result. Nobody uses it after the call. LLVM has no such attribute; it is not written.
    pub by_value: Option<ByValue>,
}

/// What a parameter that is passed by its address stands for.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum ByValue {
    /// An argument, of this many bytes.
    Argument(u64),
    /// The result, of this many bytes.
    Result(u64),
}

/// The instructions.
#[derive(Clone, Debug)]
pub enum InstKind {
    /// Returns from the function.
    Ret(Option<Value>),
    /// Jumps.
    Br(Block),
    /// Jumps by an `i1`.
    CondBr {
        /// The condition.
        cond: Value,
        /// Where to, if true.
        then: Block,
        /// Where to, if false.
        otherwise: Block,
    },
    /// Jumps by an integer.
    Switch {
        /// The integer.
        value: Value,
        /// Where to, if no case fits.
        default: Block,
        /// The cases.
        cases: Vec<(u128, Block)>,
    },
    /// Control never comes here.
    Unreachable,
    /// Memory of the function's frame; a pointer into [`crate::AddrSpace::Generic`].
    Alloca {
        /// What is put there.
        ty: Type,
        /// How many of them (bytes of a variable-sized one).
        count: Option<Value>,
        /// Alignment in bytes.
        align: u64,
    },
    /// Reads the instruction's type from memory.
    Load {
        /// Where from.
        ptr: Value,
        /// How.
        access: MemAccess,
    },
    /// Writes to memory.
    Store {
        /// What.
        value: Value,
        /// Where to.
        ptr: Value,
        /// How.
        access: MemAccess,
    },
    /// Computes an address.
    Gep {
        /// The type that the base is taken to point to.
        element: Type,
        /// The base.
        base: Value,
        /// The indices: the first in units of `element`, the rest into it.
        indices: Vec<Value>,
        /// Whether the result stays within the allocation of the base.
        inbounds: bool,
    },
    /// Atomically reads, modifies and writes; the old value is the result.
    AtomicRmw {
        /// What to do.
        op: RmwOp,
        /// Where.
        ptr: Value,
        /// The other operand.
        value: Value,
        /// Its ordering.
        ordering: Ordering,
        /// Its scope.
        scope: Scope,
    },
    /// Atomically compares and exchanges; the result is `{T, i1}`: the old value, and whether it was equal.
    CmpXchg {
        /// Where.
        ptr: Value,
        /// What is expected.
        expected: Value,
        /// What to write then.
        new: Value,
        /// The ordering on success.
        success: Ordering,
        /// The ordering on failure.
        failure: Ordering,
        /// Its scope.
        scope: Scope,
    },
    /// Orders memory accesses.
    Fence {
        /// Its ordering.
        ordering: Ordering,
        /// Its scope.
        scope: Scope,
    },
    /// An operation of two operands.
    Bin {
        /// Which.
        op: BinOp,
        /// The left operand.
        lhs: Value,
        /// The right operand.
        rhs: Value,
        /// What may be assumed.
        flags: Flags,
    },
    /// Flips the sign of a float.
    FNeg(Value),
    /// Converts to the instruction's type.
    Cast {
        /// How.
        op: CastOp,
        /// What.
        value: Value,
    },
    /// Compares integers or pointers.
    ICmp {
        /// How.
        pred: IntPred,
        /// The left operand.
        lhs: Value,
        /// The right operand.
        rhs: Value,
    },
    /// Compares floats.
    FCmp {
        /// How.
        pred: FloatPred,
        /// The left operand.
        lhs: Value,
        /// The right operand.
        rhs: Value,
    },
    /// One of two values by an `i1` (or a vector of them).
    Select {
        /// The condition.
        cond: Value,
        /// The value, if true.
        then: Value,
        /// The value, if false.
        otherwise: Value,
    },
    /// The value that belongs to the block from which control came.
    Phi(Vec<(Value, Block)>),
    /// A call. The instruction's type is what it returns.
    Call(Box<Call>),
    /// A field of an aggregate in registers.
    ExtractValue {
        /// The aggregate.
        aggregate: Value,
        /// The path to the field.
        index: u32,
    },
    /// An aggregate with one field replaced.
    InsertValue {
        /// The aggregate.
        aggregate: Value,
        /// The new field.
        value: Value,
        /// Which field.
        index: u32,
    },
    /// An element of a vector.
    ExtractElement {
        /// The vector.
        vector: Value,
        /// Which.
        index: Value,
    },
    /// A vector with one element replaced.
    InsertElement {
        /// The vector.
        vector: Value,
        /// The new element.
        value: Value,
        /// Which.
        index: Value,
    },
    /// Elements of two vectors by constant indices; `None` is undefined.
    ShuffleVector {
        /// The first vector.
        a: Value,
        /// The second.
        b: Value,
        /// The indices, those of `b` after those of `a`.
        mask: Vec<Option<u32>>,
    },
    /// A fixed value for an undefined one.
    Freeze(Value),
}

/// A call.
#[derive(Clone, Debug)]
pub struct Call {
    /// What is called.
    pub callee: Callee,
    /// The signature it is called by.
    pub sig: Type,
    /// The arguments.
    pub args: Vec<Value>,
    /// Attributes of the arguments; empty or as long as `args`.
    pub arg_attrs: Vec<ParamAttrs>,
    /// Attributes of the result.
    pub ret_attrs: ParamAttrs,
    /// `noreturn`.
    pub noreturn: bool,
    /// `convergent`.
    pub convergent: bool,
    /// `tail`/`musttail`.
    pub musttail: bool,
}

impl InstKind {
    /// Whether it ends a block.
    pub fn is_terminator(&self) -> bool {
        use InstKind::*;
        matches!(
            self,
            Ret(_) | Br(_) | CondBr { .. } | Switch { .. } | Unreachable
        )
    }

    /// The blocks it may go to.
    pub fn successors(&self) -> Vec<Block> {
        match self {
            InstKind::Br(block) => vec![*block],
            InstKind::CondBr {
                then, otherwise, ..
            } => vec![*then, *otherwise],
            InstKind::Switch { default, cases, .. } => std::iter::once(*default)
                .chain(cases.iter().map(|c| c.1))
                .collect(),
            _ => Vec::new(),
        }
    }

    /// Calls `f` on every operand that is a value.
    pub fn for_each_operand(&self, mut f: impl FnMut(Value)) {
        use InstKind::*;
        match self {
            Ret(value) => value.iter().for_each(|&v| f(v)),
            Br(_) | Unreachable | Fence { .. } => {}
            CondBr { cond, .. } => f(*cond),
            Switch { value, .. } => f(*value),
            Alloca { count, .. } => count.iter().for_each(|&v| f(v)),
            Load { ptr, .. } => f(*ptr),
            Store { value, ptr, .. } => {
                f(*value);
                f(*ptr)
            }
            Gep { base, indices, .. } => {
                f(*base);
                indices.iter().for_each(|&v| f(v))
            }
            AtomicRmw { ptr, value, .. } => {
                f(*ptr);
                f(*value)
            }
            CmpXchg {
                ptr, expected, new, ..
            } => {
                f(*ptr);
                f(*expected);
                f(*new)
            }
            Bin { lhs, rhs, .. } | ICmp { lhs, rhs, .. } | FCmp { lhs, rhs, .. } => {
                f(*lhs);
                f(*rhs)
            }
            FNeg(v) | Freeze(v) => f(*v),
            Cast { value, .. } => f(*value),
            Select {
                cond,
                then,
                otherwise,
            } => {
                f(*cond);
                f(*then);
                f(*otherwise)
            }
            Phi(incoming) => incoming.iter().for_each(|&(v, _)| f(v)),
            Call(call) => {
                if let Callee::Value(v) = call.callee {
                    f(v)
                }
                call.args.iter().for_each(|&v| f(v))
            }
            ExtractValue { aggregate, .. } => f(*aggregate),
            InsertValue {
                aggregate, value, ..
            } => {
                f(*aggregate);
                f(*value)
            }
            ExtractElement { vector, index } => {
                f(*vector);
                f(*index)
            }
            InsertElement {
                vector,
                value,
                index,
            } => {
                f(*vector);
                f(*value);
                f(*index)
            }
            ShuffleVector { a, b, .. } => {
                f(*a);
                f(*b)
            }
        }
    }

    /// Calls `f` on every operand that is a value, to replace it.
    pub fn for_each_operand_mut(&mut self, mut f: impl FnMut(&mut Value)) {
        use InstKind::*;
        match self {
            Ret(value) => value.iter_mut().for_each(&mut f),
            Br(_) | Unreachable | Fence { .. } => {}
            CondBr { cond, .. } => f(cond),
            Switch { value, .. } => f(value),
            Alloca { count, .. } => count.iter_mut().for_each(&mut f),
            Load { ptr, .. } => f(ptr),
            Store { value, ptr, .. } => {
                f(value);
                f(ptr)
            }
            Gep { base, indices, .. } => {
                f(base);
                indices.iter_mut().for_each(&mut f)
            }
            AtomicRmw { ptr, value, .. } => {
                f(ptr);
                f(value)
            }
            CmpXchg {
                ptr, expected, new, ..
            } => {
                f(ptr);
                f(expected);
                f(new)
            }
            Bin { lhs, rhs, .. } | ICmp { lhs, rhs, .. } | FCmp { lhs, rhs, .. } => {
                f(lhs);
                f(rhs)
            }
            FNeg(v) | Freeze(v) => f(v),
            Cast { value, .. } => f(value),
            Select {
                cond,
                then,
                otherwise,
            } => {
                f(cond);
                f(then);
                f(otherwise)
            }
            Phi(incoming) => incoming.iter_mut().for_each(|(v, _)| f(v)),
            Call(call) => {
                if let Callee::Value(v) = &mut call.callee {
                    f(v)
                }
                call.args.iter_mut().for_each(&mut f)
            }
            ExtractValue { aggregate, .. } => f(aggregate),
            InsertValue {
                aggregate, value, ..
            } => {
                f(aggregate);
                f(value)
            }
            ExtractElement { vector, index } => {
                f(vector);
                f(index)
            }
            InsertElement {
                vector,
                value,
                index,
            } => {
                f(vector);
                f(value);
                f(index)
            }
            ShuffleVector { a, b, .. } => {
                f(a);
                f(b)
            }
        }
    }

    /// Calls `f` on every block it may go to, to replace it.
    pub fn for_each_successor_mut(&mut self, mut f: impl FnMut(&mut Block)) {
        match self {
            InstKind::Br(block) => f(block),
            InstKind::CondBr {
                then, otherwise, ..
            } => {
                f(then);
                f(otherwise)
            }
            InstKind::Switch { default, cases, .. } => {
                f(default);
                cases.iter_mut().for_each(|(_, block)| f(block))
            }
            _ => {}
        }
    }
}
