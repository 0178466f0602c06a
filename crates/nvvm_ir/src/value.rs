//! Values: constants, globals, functions, parameters and the results of instructions. All are in
//! one arena of the module and have one kind of handle.

use crate::inst::InstData;
use crate::types::Type;

/// A handle to a value.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(pub(crate) u32);

impl Value {
    /// Returns the index of the value in its module's arena.
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

/// A constant. Equal constants of one type are the same value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Const {
    /// An integer, truncated to its type's width.
    Int(u128),
    /// A float, given by the bits of its own format.
    Float(u128),
    /// All bits zero, of any type: the null pointer, `zeroinitializer`.
    Zero,
    /// Undefined bits: each use may see different ones.
    Undef,
    /// A value that no well-defined program observes.
    Poison,
    /// The fields of a struct, or the elements of an array or vector.
    Aggregate(Vec<Value>),
    /// An array of `i8`.
    Bytes(Vec<u8>),
    /// The address of a global or a function plus a byte offset. Its type is a pointer into the
    /// global's own address space, or a generic pointer, for which it is an `addrspacecast`.
    Addr {
        /// The global or function, a value of kind [`ValueKind::Global`] or [`ValueKind::Func`].
        base: Value,
        /// The offset in bytes.
        offset: i64,
    },
    /// A constant address converted to an integer.
    PtrToInt(Value),
    /// A constant integer converted to a pointer.
    IntToPtr(u64),
}

/// The kind of a value.
#[derive(Clone, Debug)]
pub enum ValueKind {
    /// A constant.
    Const(Const),
    /// A global variable, used through [`Const::Addr`].
    Global(Global),
    /// A function; its type is the generic pointer.
    Func(Func),
    /// A parameter of a function, with its index.
    Param(Func, u32),
    /// An instruction. An instruction without a result has type `void`.
    Inst(InstData),
}

/// A value with its type.
#[derive(Clone, Debug)]
pub struct ValueData {
    /// The type.
    pub ty: Type,
    /// The kind.
    pub kind: ValueKind,
    /// A name for readers of the text; the writer makes it unique.
    pub name: Option<Box<str>>,
}
