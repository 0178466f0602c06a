//! Debug information: the metadata nodes for line tables and variables.

use crate::types::Type;

/// A handle to a debug-information node.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Di(pub(crate) u32);

/// A debug-information node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum DiNode {
    /// A source file.
    File {
        /// Its name.
        name: String,
        /// The folder the name is relative to.
        directory: String,
    },
    /// The compile unit; a module has one at most.
    CompileUnit {
        /// Its main file.
        file: Di,
        /// The compiler.
        producer: String,
        /// Whether the code is optimized.
        optimized: bool,
        /// Whether only line tables are wanted.
        line_tables_only: bool,
    },
    /// A function.
    Subprogram {
        /// The name people know it by.
        name: String,
        /// Its symbol.
        linkage_name: String,
        /// Where it is declared.
        file: Di,
        /// The line.
        line: u32,
        /// Its compile unit.
        unit: Di,
        /// Whether the function is seen only in this module.
        local: bool,
        /// Whether the code is optimized.
        optimized: bool,
    },
    /// A block of a function.
    LexicalBlock {
        /// What it stands in.
        scope: Di,
        /// Its file.
        file: Di,
        /// The line.
        line: u32,
        /// The column.
        column: u32,
    },
    /// A place in a source file.
    Location {
        /// The line.
        line: u32,
        /// The column.
        column: u32,
        /// The subprogram or block.
        scope: Di,
        /// The place it was inlined at.
        inlined_at: Option<Di>,
    },
    /// A basic type of a variable.
    BasicType {
        /// Its name.
        name: String,
        /// Its size in bits.
        bits: u64,
        /// DWARF's encoding.
        encoding: u32,
    },
    /// A pointer's type.
    PointerType {
        /// Its name.
        name: String,
        /// What it points to.
        to: Di,
        /// Its size in bits.
        bits: u64,
    },
    /// An array's type.
    ArrayType {
        /// The type of the elements.
        element: Di,
        /// How many there are.
        count: u64,
        /// Its size in bits.
        bits: u64,
    },
    /// A struct's type; without members, one of which no more is known.
    StructType {
        /// Its name.
        name: String,
        /// Its size in bits.
        bits: u64,
        /// Its members, each a [`DiNode::Member`].
        members: Vec<Di>,
    },
    /// A member of a struct.
    Member {
        /// Its name.
        name: String,
        /// Its type.
        ty: Di,
        /// Its size in bits.
        bits: u64,
        /// Where it begins, in bits.
        offset: u64,
    },
    /// A local variable or a parameter (number from 1).
    LocalVariable {
        /// Its name.
        name: String,
        /// Its scope.
        scope: Di,
        /// Its file.
        file: Di,
        /// The line.
        line: u32,
        /// Its type.
        ty: Di,
        /// The number of the parameter, 0 if it is none.
        arg: u32,
    },
}

/// A step from an address to a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DwarfOp {
    /// `DW_OP_plus_uconst`: add a number of bytes.
    Plus(u64),
    /// `DW_OP_deref`: load the address that is there.
    Deref,
}

/// `llvm.dbg.declare`: a variable lives at an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DbgDeclare {
    /// The variable.
    pub variable: Di,
    /// How to come from the address to the variable.
    pub expression: Vec<DwarfOp>,
    /// The type at the address.
    pub ty: Type,
}
