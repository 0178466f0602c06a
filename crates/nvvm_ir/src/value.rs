//! Values: constants, globals, functions, parameters and the results of instructions, in one arena
//! of the module with one kind of handle.

use crate::inst::InstData;
use crate::types::Type;

/// A handle to a value.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(pub(crate) u32);

impl Value {
    /// The index of the value in its module's arena.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A handle to a global variable.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Global(pub(crate) u32);

/// A handle to a function.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Func(pub(crate) u32);

/// A handle to a basic block.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Block(pub(crate) u32);

/// A constant. Equal constants of one type are one value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Const {
    /// An integer, truncated to its type's width.
    Int(u128),
    /// A float by its bits in its own format.
    Float(u128),
    /// All bits zero, of any type: the null pointer, `zeroinitializer`.
    Zero,
    /// Any bits.
    Undef,
    /// A value that no well-defined program looks at.
    Poison,
    /// The fields of a struct, or the elements of an array or vector.
    Aggregate(Vec<Value>),
    /// An array of `i8`.
    Bytes(Vec<u8>),
    /// The address of a global or a function plus a byte offset. Its type is a pointer: into the
    /// global's own address space or generic, where it is an `addrspacecast`.
    Addr {
        /// The global or function (a value of kind [`ValueKind::Global`] or [`ValueKind::Func`]).
        base: Value,
        /// Bytes added to its address.
        offset: i64,
    },
    /// An integer made of a constant address.
    PtrToInt(Value),
    /// A pointer made of a constant integer.
    IntToPtr(u64),
}

/// What a value is.
#[derive(Clone, Debug)]
pub enum ValueKind {
    /// A constant.
    Const(Const),
    /// A global variable; used through [`Const::Addr`].
    Global(Global),
    /// A function; its own type is the generic pointer.
    Func(Func),
    /// A parameter of a function.
    Param(Func, u32),
    /// An instruction. Those without a result have type `void`.
    Inst(InstData),
}

/// A value with its type.
#[derive(Clone, Debug)]
pub struct ValueData {
    /// Its type.
    pub ty: Type,
    /// What it is.
    pub kind: ValueKind,
    /// A name for readers of the text; made unique by the writer.
    pub name: Option<Box<str>>,
}
