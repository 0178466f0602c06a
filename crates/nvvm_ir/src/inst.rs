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
    /// `!nonnull` and `!noundef` of a load: the result is not null. LLVM keeps the former when it
    /// removes the load only together with the latter.
    pub nonnull: bool,
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

impl IntPred {
    /// Returns whether the predicate orders signed integers.
    pub fn is_signed(self) -> bool {
        self.unsigned() != self
    }

    /// Returns the predicate that orders integers without sign in the same way.
    pub fn unsigned(self) -> IntPred {
        match self {
            IntPred::Sgt => IntPred::Ugt,
            IntPred::Sge => IntPred::Uge,
            IntPred::Slt => IntPred::Ult,
            IntPred::Sle => IntPred::Ule,
            other => other,
        }
    }

    /// Returns the predicate that holds where this one does not.
    pub fn inverse(self) -> IntPred {
        match self {
            IntPred::Eq => IntPred::Ne,
            IntPred::Ne => IntPred::Eq,
            IntPred::Ugt => IntPred::Ule,
            IntPred::Uge => IntPred::Ult,
            IntPred::Ult => IntPred::Uge,
            IntPred::Ule => IntPred::Ugt,
            IntPred::Sgt => IntPred::Sle,
            IntPred::Sge => IntPred::Slt,
            IntPred::Slt => IntPred::Sge,
            IntPred::Sle => IntPred::Sgt,
        }
    }

    /// Returns the predicate of the operands in the other order.
    pub fn swapped(self) -> IntPred {
        match self {
            IntPred::Eq => IntPred::Eq,
            IntPred::Ne => IntPred::Ne,
            IntPred::Ugt => IntPred::Ult,
            IntPred::Uge => IntPred::Ule,
            IntPred::Ult => IntPred::Ugt,
            IntPred::Ule => IntPred::Uge,
            IntPred::Sgt => IntPred::Slt,
            IntPred::Sge => IntPred::Sle,
            IntPred::Slt => IntPred::Sgt,
            IntPred::Sle => IntPred::Sge,
        }
    }
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
    /// Whether the results depend on the arguments only. Unlike inline PTX that merely lacks side
    /// effects, LLVM 7 moves such inline PTX out of loops.
    pub read_none: bool,
}

impl InlineAsm {
    /// Creates inline PTX whose results depend on the arguments only.
    pub fn pure(template: impl Into<String>, constraints: impl Into<String>) -> InlineAsm {
        InlineAsm {
            template: template.into(),
            constraints: constraints.into(),
            side_effects: false,
            convergent: false,
            read_none: true,
        }
    }
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
    /// The size in bytes of the elements of the slice that begins at this address, or of the value
    /// to which a kernel takes a reference; 0 if unknown. LLVM has no such attribute, so it is not
    /// written.
    pub element: u64,
    /// Whether the element is readable: a slice may be empty, a value to which a kernel takes a
    /// reference exists. Not written either.
    pub readable: bool,
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

/// The instructions. Each has its fields and, if its text is regular, its text: the reader, the
/// writer, and the functions that visit operands are generated from this table.
///
/// A text has the pattern of the fields, the keyword (or `<field>` for a field that is the keyword),
/// `{method}` of the reader for words that it skips, the parts in order, and the type of the result.
/// Parts and types are methods of `read::text::Text` and `write::text::Text`. `untyped` is an operand
/// with the type of the operand before; `address(ptr: value)` is the address of such a value.
macro_rules! instructions {
    ($callback:ident) => {
        $callback! {
            /// Returns from the function.
            Ret(value: Option<Value>);
            /// Unconditional branch.
            Br(to: Block);
            /// Conditional branch on an `i1`.
            CondBr {
                /// The condition.
                cond: Value,
                /// The target if the condition is true.
                then: Block,
                /// The target if the condition is false.
                otherwise: Block,
            };
            /// Multi-way branch on an integer.
            Switch {
                /// The integer.
                value: Value,
                /// The target if no case matches.
                default: Block,
                /// The cases with their targets.
                cases: Vec<(u128, Block)>,
            };
            /// Marks a point that execution never reaches.
            Unreachable;
            /// Allocates stack memory; the result is a pointer into [`crate::AddrSpace::Generic`].
            Alloca {
                /// The allocated type.
                ty: Type,
                /// The number of elements, for an allocation of variable size.
                count: Option<Value>,
                /// Alignment in bytes.
                align: u64,
            };
            /// Loads a value of the instruction's type.
            Load {
                /// The address.
                ptr: Value,
                /// The properties of the access.
                access: MemAccess,
            };
            /// Stores a value.
            Store {
                /// The value.
                value: Value,
                /// The address.
                ptr: Value,
                /// The properties of the access.
                access: MemAccess,
            };
            /// Computes an address, as LLVM's `getelementptr`.
            Gep {
                /// The type that the base is taken to point to.
                element: Type,
                /// The base address.
                base: Value,
                /// The indices: the first counts elements of type `element`, the others select
                /// within it.
                indices: Vec<Value>,
                /// Whether the result stays within the base's allocation.
                inbounds: bool,
            };
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
            } = [
                { op, ptr, value, ordering, scope }:
                "atomicrmw" word(op) address(ptr: value) typed(value) scope(scope) word(ordering)
                -> same(value)
            ];
            /// Atomic compare-and-exchange; the result is `{T, i1}`: the previous value, and whether
            /// the exchange took place.
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
            } = [
                { ptr, expected, new, success, failure, scope }:
                "cmpxchg" {skip_weak} address(ptr: new) typed(expected) typed(new) scope(scope)
                word(success) word(failure) -> exchange(new)
            ];
            /// Orders memory accesses.
            Fence {
                /// The memory ordering.
                ordering: Ordering,
                /// The scope.
                scope: Scope,
            } = [{ ordering, scope }: "fence" scope(scope) word(ordering) -> none()];
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
            } = [
                { op, lhs, rhs, flags }: <op> flags(flags) typed(lhs) untyped(rhs) -> same(lhs)
            ];
            /// Flips the sign of a float.
            FNeg(value: Value) = [(value): "fneg" {skip_flags} typed(value) -> same(value)];
            /// Converts a value to the instruction's type.
            Cast {
                /// The conversion.
                op: CastOp,
                /// The value.
                value: Value,
            } = [{ op, value }: <op> {skip_flags} typed(value) -> to()];
            /// Compares integers or pointers.
            ICmp {
                /// The predicate.
                pred: IntPred,
                /// The left operand.
                lhs: Value,
                /// The right operand.
                rhs: Value,
            } = [
                { pred, lhs, rhs }:
                "icmp" {skip_samesign} word(pred) typed(lhs) untyped(rhs) -> truth(lhs)
            ];
            /// Compares floats.
            FCmp {
                /// The predicate.
                pred: FloatPred,
                /// The left operand.
                lhs: Value,
                /// The right operand.
                rhs: Value,
            } = [
                { pred, lhs, rhs }:
                "fcmp" {skip_flags} word(pred) typed(lhs) untyped(rhs) -> truth(lhs)
            ];
            /// Selects one of two values by an `i1`, or element by element by a vector of `i1`.
            Select {
                /// The condition.
                cond: Value,
                /// The value if the condition is true.
                then: Value,
                /// The value if the condition is false.
                otherwise: Value,
            } = [
                { cond, then, otherwise }:
                "select" {skip_flags} typed(cond) typed(then) typed(otherwise) -> same(then)
            ];
            /// Selects the value of the edge through which the block was entered.
            Phi(incoming: Vec<(Value, Block)>);
            /// A call. The instruction's type is the call's return type.
            Call(call: Box<Call>);
            /// Extracts a field of an aggregate value.
            ExtractValue {
                /// The aggregate.
                aggregate: Value,
                /// The index of the field.
                index: u32,
            };
            /// Replaces a field of an aggregate value.
            InsertValue {
                /// The aggregate.
                aggregate: Value,
                /// The new field.
                value: Value,
                /// The index of the field.
                index: u32,
            };
            /// Extracts an element of a vector.
            ExtractElement {
                /// The vector.
                vector: Value,
                /// The index of the element.
                index: Value,
            } = [{ vector, index }: "extractelement" typed(vector) typed(index) -> element(vector)];
            /// Replaces an element of a vector.
            InsertElement {
                /// The vector.
                vector: Value,
                /// The new element.
                value: Value,
                /// The index of the element.
                index: Value,
            } = [
                { vector, value, index }:
                "insertelement" typed(vector) typed(value) typed(index) -> same(vector)
            ];
            /// Selects elements of two vectors by constant indices; `None` gives an undefined
            /// element.
            ShuffleVector {
                /// The first vector.
                a: Value,
                /// The second vector.
                b: Value,
                /// The indices. Those of `b` follow those of `a`.
                mask: Vec<Option<u32>>,
            };
            /// Turns an undefined value into an arbitrary but fixed one.
            Freeze(value: Value) = [(value): "freeze" typed(value) -> same(value)];
        }
    };
}
pub(crate) use instructions;

macro_rules! declare {
    ($(
        $(#[$doc:meta])*
        $name:ident
        $( ( $only:ident: $only_ty:ty ) )?
        $( { $( $(#[$field_doc:meta])* $field:ident: $ty:ty, )* } )?
        $( = $text:tt )?;
    )*) => {
        /// The operation of an instruction, with its operands.
        #[derive(Clone, Debug, PartialEq)]
        pub enum InstKind {
            $( $(#[$doc])* $name $( ($only_ty) )? $( { $( $(#[$field_doc])* $field: $ty, )* } )?, )*
        }

        impl Part for InstKind {
            fn operands(&self, f: &mut impl FnMut(Value)) {
                match self {$(
                    InstKind::$name $( ($only) )? $( { $($field,)* } )? => {
                        $( $only.operands(f); )?
                        $( $( $field.operands(f); )* )?
                    }
                )*}
            }

            fn operands_mut(&mut self, f: &mut impl FnMut(&mut Value)) {
                match self {$(
                    InstKind::$name $( ($only) )? $( { $($field,)* } )? => {
                        $( $only.operands_mut(f); )?
                        $( $( $field.operands_mut(f); )* )?
                    }
                )*}
            }

            fn successors(&self, f: &mut impl FnMut(Block)) {
                match self {$(
                    InstKind::$name $( ($only) )? $( { $($field,)* } )? => {
                        $( $only.successors(f); )?
                        $( $( $field.successors(f); )* )?
                    }
                )*}
            }

            fn successors_mut(&mut self, f: &mut impl FnMut(&mut Block)) {
                match self {$(
                    InstKind::$name $( ($only) )? $( { $($field,)* } )? => {
                        $( $only.successors_mut(f); )?
                        $( $( $field.successors_mut(f); )* )?
                    }
                )*}
            }

            fn types_mut(&mut self, f: &mut impl FnMut(&mut Type)) {
                match self {$(
                    InstKind::$name $( ($only) )? $( { $($field,)* } )? => {
                        $( $only.types_mut(f); )?
                        $( $( $field.types_mut(f); )* )?
                    }
                )*}
            }
        }
    };
}

instructions!(declare);

/// A part of an instruction: visits the values, blocks and types in it.
trait Part {
    /// Calls `f` with each operand that is a value.
    fn operands(&self, _f: &mut impl FnMut(Value)) {}
    /// Calls `f` with a mutable reference to each operand that is a value.
    fn operands_mut(&mut self, _f: &mut impl FnMut(&mut Value)) {}
    /// Calls `f` with each block that the instruction may branch to.
    fn successors(&self, _f: &mut impl FnMut(Block)) {}
    /// Calls `f` with a mutable reference to each block that the instruction may branch to.
    fn successors_mut(&mut self, _f: &mut impl FnMut(&mut Block)) {}
    /// Calls `f` with a mutable reference to each type.
    fn types_mut(&mut self, _f: &mut impl FnMut(&mut Type)) {}
}

macro_rules! without_values {
    ($($ty:ty),*) => { $( impl Part for $ty {} )* };
}
without_values!(bool, u32, u64, MemAccess, Flags, Ordering, Scope);
without_values!(BinOp, CastOp, IntPred, FloatPred, RmwOp);

impl Part for Value {
    fn operands(&self, f: &mut impl FnMut(Value)) {
        f(*self);
    }

    fn operands_mut(&mut self, f: &mut impl FnMut(&mut Value)) {
        f(self);
    }
}

impl Part for Block {
    fn successors(&self, f: &mut impl FnMut(Block)) {
        f(*self);
    }

    fn successors_mut(&mut self, f: &mut impl FnMut(&mut Block)) {
        f(self);
    }
}

impl Part for Type {
    fn types_mut(&mut self, f: &mut impl FnMut(&mut Type)) {
        f(self);
    }
}

/// An incoming value of a phi: the block is a predecessor.
impl Part for (Value, Block) {
    fn operands(&self, f: &mut impl FnMut(Value)) {
        f(self.0);
    }

    fn operands_mut(&mut self, f: &mut impl FnMut(&mut Value)) {
        f(&mut self.0);
    }
}

/// A case of a switch.
impl Part for (u128, Block) {
    fn successors(&self, f: &mut impl FnMut(Block)) {
        f(self.1);
    }

    fn successors_mut(&mut self, f: &mut impl FnMut(&mut Block)) {
        f(&mut self.1);
    }
}

macro_rules! containers {
    ($($ty:ty),*) => {$(
        impl<P: Part> Part for $ty {
            fn operands(&self, f: &mut impl FnMut(Value)) {
                self.iter().for_each(|part| part.operands(f));
            }

            fn operands_mut(&mut self, f: &mut impl FnMut(&mut Value)) {
                self.iter_mut().for_each(|part| part.operands_mut(f));
            }

            fn successors(&self, f: &mut impl FnMut(Block)) {
                self.iter().for_each(|part| part.successors(f));
            }

            fn successors_mut(&mut self, f: &mut impl FnMut(&mut Block)) {
                self.iter_mut().for_each(|part| part.successors_mut(f));
            }

            fn types_mut(&mut self, f: &mut impl FnMut(&mut Type)) {
                self.iter_mut().for_each(|part| part.types_mut(f));
            }
        }
    )*};
}
containers!(Option<P>, Vec<P>);

impl Part for Box<Call> {
    fn operands(&self, f: &mut impl FnMut(Value)) {
        if let Callee::Value(callee) = self.callee {
            f(callee);
        }
        self.args.operands(f);
    }

    fn operands_mut(&mut self, f: &mut impl FnMut(&mut Value)) {
        if let Callee::Value(callee) = &mut self.callee {
            f(callee);
        }
        self.args.operands_mut(f);
    }

    fn types_mut(&mut self, f: &mut impl FnMut(&mut Type)) {
        self.sig.types_mut(f);
        self.ret_attrs.types_mut(f);
        self.arg_attrs.types_mut(f);
    }
}

impl Part for ParamAttrs {
    fn types_mut(&mut self, f: &mut impl FnMut(&mut Type)) {
        self.byval.types_mut(f);
        self.sret.types_mut(f);
    }
}

impl ParamAttrs {
    /// Calls `f` with a mutable reference to each type in the attributes.
    pub(crate) fn for_each_type_mut(&mut self, mut f: impl FnMut(&mut Type)) {
        self.types_mut(&mut f);
    }
}

/// A call.
#[derive(Clone, Debug, PartialEq)]
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

impl Call {
    /// Creates a call without attributes.
    pub fn new(callee: Callee, sig: Type, args: Vec<Value>) -> Call {
        Call {
            callee,
            sig,
            args,
            arg_attrs: Vec::new(),
            ret_attrs: ParamAttrs::default(),
            noreturn: false,
            convergent: false,
            musttail: false,
        }
    }
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
        let mut blocks = Vec::new();
        Part::successors(self, &mut |block| blocks.push(block));
        blocks
    }

    /// Calls `f` with each operand that is a value. The callee is a call's first operand.
    pub fn for_each_operand(&self, mut f: impl FnMut(Value)) {
        self.operands(&mut f);
    }

    /// Calls `f` with a mutable reference to each operand that is a value.
    pub fn for_each_operand_mut(&mut self, mut f: impl FnMut(&mut Value)) {
        self.operands_mut(&mut f);
    }

    /// Calls `f` with a mutable reference to each block that the instruction may branch to.
    pub fn for_each_successor_mut(&mut self, mut f: impl FnMut(&mut Block)) {
        self.successors_mut(&mut f);
    }

    /// Calls `f` with a mutable reference to each type, except the type of the result.
    pub(crate) fn for_each_type_mut(&mut self, mut f: impl FnMut(&mut Type)) {
        self.types_mut(&mut f);
    }
}
