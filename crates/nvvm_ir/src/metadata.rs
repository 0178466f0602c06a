//! Debug information: the metadata nodes for line tables and variables.

use crate::types::Type;

/// A handle to a debug information node.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Di(pub(crate) u32);

/// A debug information node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum DiNode {
    /// A source file.
    File {
        /// The file name.
        name: String,
        /// The directory that the name is relative to.
        directory: String,
    },
    /// The compile unit; a module has at most one.
    CompileUnit {
        /// The main file.
        file: Di,
        /// The compiler.
        producer: String,
        /// Whether the code is optimized.
        optimized: bool,
        /// Whether only line tables are emitted.
        line_tables_only: bool,
    },
    /// A function.
    Subprogram {
        /// The name in the source.
        name: String,
        /// The symbol.
        linkage_name: String,
        /// The file that contains the declaration.
        file: Di,
        /// The line.
        line: u32,
        /// The compile unit.
        unit: Di,
        /// Whether the function is local to the module.
        local: bool,
        /// Whether the code is optimized.
        optimized: bool,
    },
    /// A lexical block of a function.
    LexicalBlock {
        /// The enclosing scope.
        scope: Di,
        /// The file.
        file: Di,
        /// The line.
        line: u32,
        /// The column.
        column: u32,
    },
    /// A source location.
    Location {
        /// The line.
        line: u32,
        /// The column.
        column: u32,
        /// The subprogram or block.
        scope: Di,
        /// The location into which it was inlined.
        inlined_at: Option<Di>,
    },
    /// A basic type of a variable.
    BasicType {
        /// The name.
        name: String,
        /// The size in bits.
        bits: u64,
        /// The DWARF encoding.
        encoding: u32,
    },
    /// A pointer type.
    PointerType {
        /// The name.
        name: String,
        /// The pointee type.
        to: Di,
        /// The size in bits.
        bits: u64,
    },
    /// An array type.
    ArrayType {
        /// The element type.
        element: Di,
        /// The number of elements.
        count: u64,
        /// The size in bits.
        bits: u64,
    },
    /// A struct type; without members, an opaque type.
    StructType {
        /// The name.
        name: String,
        /// The size in bits.
        bits: u64,
        /// The members, each a [`DiNode::Member`].
        members: Vec<Di>,
    },
    /// A member of a struct.
    Member {
        /// The name.
        name: String,
        /// The type.
        ty: Di,
        /// The size in bits.
        bits: u64,
        /// The offset in bits.
        offset: u64,
    },
    /// A local variable or a parameter.
    LocalVariable {
        /// The name.
        name: String,
        /// The scope.
        scope: Di,
        /// The file.
        file: Di,
        /// The line.
        line: u32,
        /// The type.
        ty: Di,
        /// The one-based number of the parameter, or 0 for a local variable.
        arg: u32,
    },
}

/// An operation that leads from an address to a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DwarfOp {
    /// `DW_OP_plus_uconst`: adds a number of bytes.
    Plus(u64),
    /// `DW_OP_deref`: loads an address.
    Deref,
}

/// `llvm.dbg.declare`: the address of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DbgDeclare {
    /// The variable.
    pub variable: Di,
    /// The operations that lead from the address to the variable.
    pub expression: Vec<DwarfOp>,
    /// The type at the address.
    pub ty: Type,
}
