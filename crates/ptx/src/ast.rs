//! A PTX module as data: `parse` creates it, `dead` removes unreachable items, `write` prints it,
//! and the emulator decodes it. Names and opcodes are slices of the source text, so a module
//! borrows the text that it was parsed from.

use std::fmt;

macro_rules! scalar_types {
    ($($variant:ident $text:literal $bits:literal,)*) => {
        /// A fundamental or packed type of PTX.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs)]
        pub enum Type { $($variant,)* }

        impl Type {
            /// Returns the type with a name, which is given without its dot.
            pub fn from_name(name: &str) -> Option<Type> {
                match name { $($text => Some(Type::$variant),)* _ => None }
            }

            /// Returns the name without the dot.
            pub fn name(self) -> &'static str {
                match self { $(Type::$variant => $text,)* }
            }

            /// Returns the width in bits: 1 for a predicate, 64 for an opaque reference.
            pub fn bits(self) -> u32 {
                match self { $(Type::$variant => $bits,)* }
            }
        }
    };
}

scalar_types! {
    B8 "b8" 8, B16 "b16" 16, B32 "b32" 32, B64 "b64" 64, B128 "b128" 128,
    U8 "u8" 8, U16 "u16" 16, U32 "u32" 32, U64 "u64" 64,
    S8 "s8" 8, S16 "s16" 16, S32 "s32" 32, S64 "s64" 64,
    F16 "f16" 16, F16x2 "f16x2" 32, Bf16 "bf16" 16, Bf16x2 "bf16x2" 32, Tf32 "tf32" 32,
    F32 "f32" 32, F32x2 "f32x2" 64, F64 "f64" 64,
    U16x2 "u16x2" 32, S16x2 "s16x2" 32,
    E4m3 "e4m3" 8, E5m2 "e5m2" 8, E4m3x2 "e4m3x2" 16, E5m2x2 "e5m2x2" 16,
    Pred "pred" 1, TexRef "texref" 64, SamplerRef "samplerref" 64, SurfRef "surfref" 64,
}

impl Type {
    /// Returns the size in memory, in bytes.
    pub fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }

    /// Returns whether the type is a signed integer.
    pub fn is_signed(self) -> bool {
        matches!(
            self,
            Type::S8 | Type::S16 | Type::S32 | Type::S64 | Type::S16x2
        )
    }

    /// Returns whether the type is a floating-point type, including packed ones.
    pub fn is_float(self) -> bool {
        use Type::*;
        matches!(
            self,
            F16 | F16x2 | Bf16 | Bf16x2 | Tf32 | F32 | F32x2 | F64 | E4m3 | E5m2 | E4m3x2 | E5m2x2
        )
    }
}

/// A state space that holds variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Space {
    Reg,
    Global,
    Const,
    Shared,
    Local,
    Param,
    Tex,
}

impl Space {
    /// Returns the name without the dot.
    pub fn name(self) -> &'static str {
        match self {
            Space::Reg => "reg",
            Space::Global => "global",
            Space::Const => "const",
            Space::Shared => "shared",
            Space::Local => "local",
            Space::Param => "param",
            Space::Tex => "tex",
        }
    }
}

/// The linkage of a symbol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Linkage {
    #[default]
    Internal,
    Extern,
    Visible,
    Weak,
    Common,
}

/// An integer literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Integer {
    /// The value in two's complement.
    pub bits: u64,
    /// Whether `bits` is a negative number.
    pub negative: bool,
}

impl Integer {
    /// Creates a non-negative integer.
    pub fn unsigned(bits: u64) -> Integer {
        Integer {
            bits,
            negative: false,
        }
    }

    /// Creates a signed integer.
    pub fn signed(value: i64) -> Integer {
        Integer {
            bits: value as u64,
            negative: value < 0,
        }
    }
}

impl fmt::Display for Integer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.negative {
            write!(f, "{}", self.bits as i64)
        } else {
            write!(f, "{}", self.bits)
        }
    }
}

/// A PTX module: one file.
#[derive(Clone, Debug)]
pub struct Module<'a> {
    /// `.version major.minor`.
    pub version: (u32, u32),
    /// `.target`: the architecture, then options such as `debug`.
    pub target: Vec<&'a str>,
    /// `.address_size`: 32 or 64.
    pub address_size: u32,
    /// All other directives, in order.
    pub items: Vec<Item<'a>>,
}

/// A module-level directive.
#[derive(Clone, Debug)]
pub enum Item<'a> {
    /// A definition or declaration of a variable.
    Variable(Variable<'a>),
    /// A definition or declaration of a function or kernel.
    Function(Function<'a>),
    /// `.file`.
    File(File<'a>),
    /// `.section`, which holds DWARF.
    Section(Section<'a>),
    /// `.alias name, target;`
    Alias {
        /// The alias.
        name: &'a str,
        /// The function it stands for.
        target: &'a str,
    },
    /// `.pragma "text";`
    Pragma(Vec<&'a str>),
}

/// `.file index "name"[, time, size]`.
#[derive(Clone, Debug)]
pub struct File<'a> {
    /// The index that `.loc` uses.
    pub index: u32,
    /// The path, without quotes, with escapes unchanged.
    pub name: &'a str,
    /// The time stamp and the size, if given.
    pub stamp: Option<(u64, u64)>,
}

/// `.section .name { ... }`.
#[derive(Clone, Debug)]
pub struct Section<'a> {
    /// The name of the section, with its dot.
    pub name: &'a str,
    /// The labels and data.
    pub lines: Vec<SectionLine<'a>>,
    /// The line on which the section starts.
    pub line: u32,
}

/// A label or a row of data in a [`Section`].
#[derive(Clone, Debug)]
pub enum SectionLine<'a> {
    /// `label:`.
    Label(&'a str),
    /// `.b8 1,2,3`.
    Data(Type, Vec<SectionValue<'a>>),
}

/// A datum of a [`Section`].
#[derive(Clone, Debug)]
pub enum SectionValue<'a> {
    /// A number.
    Integer(Integer),
    /// A label, a symbol or a section (with its dot), plus an offset.
    Symbol(&'a str, i64),
    /// `label - label`.
    Difference(&'a str, &'a str),
}

/// A variable, parameter or `.param` block.
#[derive(Clone, Debug)]
pub struct Variable<'a> {
    /// The linkage.
    pub linkage: Linkage,
    /// The state space.
    pub space: Space,
    /// `.align`.
    pub align: Option<u32>,
    /// `.attribute(...)`: the names, with their arguments unchanged.
    pub attributes: Vec<&'a str>,
    /// The length of a vector type, `.v2` or `.v4`.
    pub vector: Option<u32>,
    /// The type of an element.
    pub ty: Type,
    /// The `.ptr` annotation of a kernel parameter.
    pub pointer: Option<Pointer<'a>>,
    /// The name.
    pub name: &'a str,
    /// The extents of the array, outermost first; `None` for `[]`.
    pub extents: Vec<Option<u64>>,
    /// The initializer.
    pub init: Option<Init<'a>>,
    /// The line of the declaration.
    pub line: u32,
}

/// `.ptr .space .align n` of a kernel parameter.
#[derive(Clone, Copy, Debug)]
pub struct Pointer<'a> {
    /// The state space of the pointee.
    pub space: Option<&'a str>,
    /// The alignment of the pointee.
    pub align: Option<u32>,
}

impl Variable<'_> {
    /// Returns the size of an element in bytes; vectors are one element.
    pub fn element_bytes(&self) -> u64 {
        u64::from(self.ty.bytes()) * u64::from(self.vector.unwrap_or(1))
    }

    /// Returns the size in bytes, or `None` if it exceeds 64 bits. `[]` has as many elements as the
    /// initializer.
    pub fn size(&self) -> Option<u64> {
        let mut size = self.element_bytes();
        for extent in &self.extents {
            let count = match (extent, &self.init) {
                (Some(count), _) => *count,
                (None, Some(Init::List(values))) => values.len() as u64,
                (None, _) => 0,
            };
            size = size.checked_mul(count)?;
        }
        Some(size)
    }

    /// Returns the alignment in bytes: that of `.align`, otherwise the element's size.
    pub fn alignment(&self) -> u32 {
        self.align
            .unwrap_or_else(|| (self.element_bytes() as u32).max(1))
    }
}

/// An initializer of a variable.
#[derive(Clone, Debug)]
pub enum Init<'a> {
    /// An integer.
    Integer(Integer),
    /// A 32-bit float's bits.
    F32(u32),
    /// A 64-bit float's bits.
    F64(u64),
    /// An address.
    Symbol(Box<SymbolValue<'a>>),
    /// `{a, b, ...}`.
    List(Vec<Init<'a>>),
}

/// `mask(generic(name)+offset)` in an initializer.
#[derive(Clone, Debug)]
pub struct SymbolValue<'a> {
    /// The symbol.
    pub name: &'a str,
    /// Whether the generic address is used.
    pub generic: bool,
    /// The offset added to the address.
    pub offset: i64,
    /// The mask of a single byte of the address, such as `0xFF00`.
    pub mask: Option<u64>,
}

/// A kernel (`.entry`) or function (`.func`).
#[derive(Clone, Debug)]
pub struct Function<'a> {
    /// The linkage.
    pub linkage: Linkage,
    /// Whether it is a kernel.
    pub entry: bool,
    /// `.attribute(...)`.
    pub attributes: Vec<&'a str>,
    /// The name.
    pub name: &'a str,
    /// The return parameters.
    pub returns: Vec<Variable<'a>>,
    /// The parameters.
    pub params: Vec<Variable<'a>>,
    /// `.maxntid` and other performance directives.
    pub directives: Vec<Directive<'a>>,
    /// The statements, or `None` for a declaration.
    pub body: Option<Vec<Statement<'a>>>,
    /// The line of the name.
    pub line: u32,
}

/// A directive between a function's head and body, such as `.maxntid 256, 1, 1`.
#[derive(Clone, Debug)]
pub struct Directive<'a> {
    /// The name, without the dot.
    pub name: &'a str,
    /// The numeric arguments.
    pub values: Vec<u64>,
    /// The string arguments, with their quotes.
    pub strings: Vec<&'a str>,
}

/// A statement in a function's body.
#[derive(Clone, Debug)]
pub enum Statement<'a> {
    /// `label:`.
    Label(&'a str),
    /// An instruction.
    Instruction(Instruction<'a>),
    /// `.reg`.
    Registers(Box<Registers<'a>>),
    /// A variable in `.local`, `.shared`, `.param` or another state space.
    Variable(Box<Variable<'a>>),
    /// `.loc`.
    Loc(Box<Loc<'a>>),
    /// `{ ... }`.
    Block(Vec<Statement<'a>>),
    /// `label: .branchtargets a, b;`
    BranchTargets {
        /// The label.
        label: &'a str,
        /// The possible targets of the branch.
        targets: Vec<&'a str>,
    },
    /// `label: .calltargets f, g;`
    CallTargets {
        /// The label.
        label: &'a str,
        /// The possible targets of the call.
        targets: Vec<&'a str>,
    },
    /// `label: .callprototype (...) _ (...);`
    CallPrototype(Box<Prototype<'a>>),
    /// `.pragma "text";`
    Pragma(Vec<&'a str>),
}

/// `.callprototype`.
#[derive(Clone, Debug)]
pub struct Prototype<'a> {
    /// The label.
    pub label: &'a str,
    /// The return parameters.
    pub returns: Vec<Variable<'a>>,
    /// The parameters.
    pub params: Vec<Variable<'a>>,
    /// `.noreturn`, `.abi_preserve n` and other directives.
    pub directives: Vec<Directive<'a>>,
}

/// `.reg .v2 .b32 a, b<10>;`
#[derive(Clone, Debug)]
pub struct Registers<'a> {
    /// The type of the registers.
    pub ty: Type,
    /// The length of a vector register.
    pub vector: Option<u32>,
    /// The names. With a count `n`, a name declares the registers `name0` to `name(n-1)`.
    pub names: Vec<(&'a str, Option<u32>)>,
    /// The line of the declaration.
    pub line: u32,
}

/// `.loc file line column, function_name label+offset, inlined_at file line column`.
#[derive(Clone, Debug)]
pub struct Loc<'a> {
    /// The index of a `.file`.
    pub file: u32,
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
    /// The function that the code was inlined from, if any.
    pub inlined: Option<Inlined<'a>>,
}

/// The part of a [`Loc`] about inlining.
#[derive(Clone, Copy, Debug)]
pub struct Inlined<'a> {
    /// The label in `.debug_str` of the inlined function's name, and an offset.
    pub function: (&'a str, i64),
    /// The file, line and column of the call.
    pub at: (u32, u32, u32),
}

/// `@!p opcode.modifier operands;`
#[derive(Clone, Debug)]
pub struct Instruction<'a> {
    /// The guard predicate.
    pub guard: Option<Guard<'a>>,
    /// The opcode: the first word.
    pub opcode: &'a str,
    /// The words after the opcode, without dots.
    pub modifiers: Vec<&'a str>,
    /// The operands, in order.
    pub operands: Vec<Operand<'a>>,
    /// The line on which the instruction begins.
    pub line: u32,
}

impl<'a> Instruction<'a> {
    /// Creates an instruction without a guard that no line of the text has.
    pub(crate) fn new(
        opcode: &'a str,
        modifiers: &[&'a str],
        operands: Vec<Operand<'a>>,
    ) -> Instruction<'a> {
        Instruction {
            guard: None,
            opcode,
            modifiers: modifiers.to_vec(),
            operands,
            line: 0,
        }
    }
}

/// `@p` or `@!p`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard<'a> {
    /// Whether it is `@!p`.
    pub negated: bool,
    /// The predicate register.
    pub register: &'a str,
}

impl<'a> Guard<'a> {
    /// Creates `@p`.
    pub fn new(register: &'a str) -> Guard<'a> {
        Guard {
            negated: false,
            register,
        }
    }
}

/// An operand of an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operand<'a> {
    /// A register, special register (with its dimension, as in `%tid.x`), symbol, label or `_`.
    Name(&'a str),
    /// A part of a register: a byte or half in a video instruction, as in `%r1.b0`, or an element
    /// of a vector register, as in `%v.x`. The second name has no period.
    Part(&'a str, &'a str),
    /// A symbol plus an offset, outside brackets.
    NameOffset(&'a str, i64),
    /// An integer.
    Integer(Integer),
    /// A 32-bit float's bits.
    F32(u32),
    /// A 64-bit float's bits.
    F64(u64),
    /// `[base+offset]`.
    Address(Base<'a>, i64),
    /// `[a, {b, c}]` of texture and tensor instructions.
    Compound(Vec<Operand<'a>>),
    /// `{a, b}`.
    Vector(Vec<Operand<'a>>),
    /// `a|b`.
    Pair(Box<(Operand<'a>, Operand<'a>)>),
    /// `!p`.
    Not(Box<Operand<'a>>),
    /// `(a, b)` of a call.
    List(Vec<Operand<'a>>),
}

/// The base of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base<'a> {
    /// A register or symbol.
    Name(&'a str),
    /// No base: the offset is an absolute address.
    Absolute,
}
