//! Instructions.

use crate::intrinsic::Intrinsic;
use crate::metadata::Di;
use crate::types::Type;
use crate::value::{Block, Value};

/// An instruction with its block and its source location.
#[derive(Clone, Debug)]
pub struct InstData {
    /// The operation.
    pub kind: InstKind,
    /// The block that contains it.
    pub block: Block,
    /// The source location, if known.
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
    /// All threads of the device.
    Device,
    /// All threads of the system, including the host's.
    System,
}

/// The properties of a load or store.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct MemAccess {
    /// Alignment in bytes.
    pub align: u64,
    /// Whether the access is volatile.
    pub volatile: bool,
    /// The ordering and scope of an atomic access.
    pub atomic: Option<(Ordering, Scope)>,
    /// `!invariant.load`: the memory does not change while the kernel runs.
    pub invariant: bool,
    /// `!range` of a load: the result is in `start..=end` (wrapping).
    pub range: Option<(u128, u128)>,
}

/// Binary operations on integers and floats; both operands have the same type.
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
    /// Returns whether the operands are floats.
    pub fn is_float(self) -> bool {
        use BinOp::*;
        matches!(self, FAdd | FSub | FMul | FDiv | FRem)
    }
}

/// Assumptions about an operation's operands and result.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Flags {
    /// No unsigned overflow.
    pub nuw: bool,
    /// No signed overflow.
    pub nsw: bool,
    /// Division or right shift has no remainder.
    pub exact: bool,
    /// All fast-math assumptions (Rust's `f*_fast` intrinsics).
    pub fast: bool,
    /// Reassociation, contraction and other algebraic transformations (Rust's `f*_algebraic`
    /// intrinsics).
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

/// Comparisons of floats: `O…` is false if an operand is NaN, `U…` true.
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

/// The target of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Callee {
    /// A function or a function pointer.
    Value(Value),
    /// An intrinsic of the table in [`crate::Intrinsic`].
    Intrinsic(Intrinsic),
    /// Inline PTX.
    Asm(Box<InlineAsm>),
}

/// Inline PTX with LLVM's constraint language.
#[derive(Clone, Debug, PartialEq)]
pub struct InlineAsm {
    /// The template; `$0` and so on are operands.
    pub template: String,
    /// The constraints, for example `=r,l,~{memory}`.
    pub constraints: String,
    /// Whether it must not be removed or merged.
    pub side_effects: bool,
    /// Whether it must not be made control-dependent on additional conditions.
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
    /// `align` in bytes, 0 if absent.
    pub align: u64,
    /// `dereferenceable` in bytes, 0 if absent.
    pub dereferenceable: u64,
    /// `byval` with this type: an aggregate that a kernel takes by value.
    pub byval: Option<Type>,
    /// For a kernel's `byval`: the parameter is not written, so its address may be taken without a
    /// copy.
    pub grid_constant: bool,
    /// `sret` with this type.
    pub sret: Option<Type>,
    /// Marks a pointer to an argument passed by value, which the callee may modify, or to the
    /// result. The memory is not accessed through the argument after the call. LLVM has no such
    /// attribute, so it is not written.
    pub by_value: Option<ByValue>,
}

/// The meaning of a parameter that is passed by address.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum ByValue {
    /// An argument of this many bytes.
    Argument(u64),
    /// The result, of this many bytes.
    Result(u64),
}

/// The operation of an instruction, with its operands.
#[derive(Clone, Debug)]
pub enum InstKind {
    /// Returns from the function.
    Ret(Option<Value>),
    /// Unconditional branch.
    Br(Block),
    /// Conditional branch on an `i1`.
    CondBr {
        /// The condition.
        cond: Value,
        /// The target if the condition is true.
        then: Block,
        /// The target if the condition is false.
        otherwise: Block,
    },
    /// Multi-way branch on an integer.
    Switch {
        /// The integer.
        value: Value,
        /// The target if no case matches.
        default: Block,
        /// The cases with their targets.
        cases: Vec<(u128, Block)>,
    },
    /// Marks a point that execution never reaches.
    Unreachable,
    /// Allocates stack memory; the result is a pointer into [`crate::AddrSpace::Generic`].
    Alloca {
        /// The allocated type.
        ty: Type,
        /// The number of elements, for an allocation of variable size.
        count: Option<Value>,
        /// Alignment in bytes.
        align: u64,
    },
    /// Loads a value of the instruction's type.
    Load {
        /// The address.
        ptr: Value,
        /// The properties of the access.
        access: MemAccess,
    },
    /// Stores a value.
    Store {
        /// The value.
        value: Value,
        /// The address.
        ptr: Value,
        /// The properties of the access.
        access: MemAccess,
    },
    /// Computes an address, as LLVM's `getelementptr`.
    Gep {
        /// The type that the base is taken to point to.
        element: Type,
        /// The base address.
        base: Value,
        /// The indices: the first counts elements of type `element`, the others select within it.
        indices: Vec<Value>,
        /// Whether the result stays within the base's allocation.
        inbounds: bool,
    },
    /// Atomic read-modify-write; the result is the previous value.
    AtomicRmw {
        /// The operation.
        op: RmwOp,
        /// The address.
        ptr: Value,
        /// The operand.
        value: Value,
        /// The memory ordering.
        ordering: Ordering,
        /// The scope.
        scope: Scope,
    },
    /// Atomic compare-and-exchange; the result is `{T, i1}`: the previous value, and whether the
    /// exchange took place.
    CmpXchg {
        /// The address.
        ptr: Value,
        /// The expected value.
        expected: Value,
        /// The value to write if the previous value is as expected.
        new: Value,
        /// The ordering on success.
        success: Ordering,
        /// The ordering on failure.
        failure: Ordering,
        /// The scope.
        scope: Scope,
    },
    /// Orders memory accesses.
    Fence {
        /// The memory ordering.
        ordering: Ordering,
        /// The scope.
        scope: Scope,
    },
    /// A binary operation.
    Bin {
        /// The operation.
        op: BinOp,
        /// The left operand.
        lhs: Value,
        /// The right operand.
        rhs: Value,
        /// The assumptions.
        flags: Flags,
    },
    /// Flips the sign of a float.
    FNeg(Value),
    /// Converts a value to the instruction's type.
    Cast {
        /// The conversion.
        op: CastOp,
        /// The value.
        value: Value,
    },
    /// Compares integers or pointers.
    ICmp {
        /// The predicate.
        pred: IntPred,
        /// The left operand.
        lhs: Value,
        /// The right operand.
        rhs: Value,
    },
    /// Compares floats.
    FCmp {
        /// The predicate.
        pred: FloatPred,
        /// The left operand.
        lhs: Value,
        /// The right operand.
        rhs: Value,
    },
    /// Selects one of two values by an `i1`, or element by element by a vector of `i1`.
    Select {
        /// The condition.
        cond: Value,
        /// The value if the condition is true.
        then: Value,
        /// The value if the condition is false.
        otherwise: Value,
    },
    /// Selects the value of the edge through which the block was entered.
    Phi(Vec<(Value, Block)>),
    /// A call. The instruction's type is the call's return type.
    Call(Box<Call>),
    /// Extracts a field of an aggregate value.
    ExtractValue {
        /// The aggregate.
        aggregate: Value,
        /// The index of the field.
        index: u32,
    },
    /// Replaces a field of an aggregate value.
    InsertValue {
        /// The aggregate.
        aggregate: Value,
        /// The new field.
        value: Value,
        /// The index of the field.
        index: u32,
    },
    /// Extracts an element of a vector.
    ExtractElement {
        /// The vector.
        vector: Value,
        /// The index of the element.
        index: Value,
    },
    /// Replaces an element of a vector.
    InsertElement {
        /// The vector.
        vector: Value,
        /// The new element.
        value: Value,
        /// The index of the element.
        index: Value,
    },
    /// Selects elements of two vectors by constant indices; `None` gives an undefined element.
    ShuffleVector {
        /// The first vector.
        a: Value,
        /// The second vector.
        b: Value,
        /// The indices. Those of `b` follow those of `a`.
        mask: Vec<Option<u32>>,
    },
    /// Turns an undefined value into an arbitrary but fixed one.
    Freeze(Value),
}

/// A call.
#[derive(Clone, Debug)]
pub struct Call {
    /// The target.
    pub callee: Callee,
    /// The signature of the call.
    pub sig: Type,
    /// The arguments.
    pub args: Vec<Value>,
    /// The attributes of the arguments: empty, or as long as `args`.
    pub arg_attrs: Vec<ParamAttrs>,
    /// The attributes of the result.
    pub ret_attrs: ParamAttrs,
    /// `noreturn`.
    pub noreturn: bool,
    /// `convergent`.
    pub convergent: bool,
    /// `tail`/`musttail`.
    pub musttail: bool,
}

impl InstKind {
    /// Returns whether the instruction ends a block.
    pub fn is_terminator(&self) -> bool {
        use InstKind::*;
        matches!(
            self,
            Ret(_) | Br(_) | CondBr { .. } | Switch { .. } | Unreachable
        )
    }

    /// Returns the blocks that the instruction may branch to.
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

    /// Calls `f` with each operand that is a value.
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

    /// Calls `f` with a mutable reference to each operand that is a value.
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

    /// Calls `f` with a mutable reference to each block that the instruction may branch to.
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
