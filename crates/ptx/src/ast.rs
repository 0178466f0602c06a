//! A PTX module as data: `parse` creates it, `dead` removes unreachable items, `write` prints it,
//! and the emulator decodes it. Names and opcodes are slices of the source text, so a module
//! borrows the text that it was read from.

use std::fmt;

macro_rules! scalar_types {
    ($($variant:ident $text:literal $bits:literal,)*) => {
        /// A fundamental or packed type of PTX.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs)]
        pub enum Type { $($variant,)* }

        impl Type {
            /// The type that is written `.name`; the name comes without its dot.
            pub fn from_name(name: &str) -> Option<Type> {
                match name { $($text => Some(Type::$variant),)* _ => None }
            }

            /// Its name without the dot.
            pub fn name(self) -> &'static str {
                match self { $(Type::$variant => $text,)* }
            }

            /// Its width; 1 for a predicate, 64 for an opaque reference.
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
    /// Its size in memory.
    pub fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }

    /// Whether it is a two's complement integer.
    pub fn is_signed(self) -> bool {
        matches!(
            self,
            Type::S8 | Type::S16 | Type::S32 | Type::S64 | Type::S16x2
        )
    }

    /// Whether it is a floating-point type, packed ones included.
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
    /// Its name without the dot.
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

/// How a symbol is seen by other modules.
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

/// An integer literal: its 64 bits, and whether it was written with a minus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Integer {
    /// Two's complement.
    pub bits: u64,
    /// Whether `bits` is to be read as a negative number.
    pub negative: bool,
}

impl Integer {
    /// A number that is not negative.
    pub fn unsigned(bits: u64) -> Integer {
        Integer {
            bits,
            negative: false,
        }
    }

    /// A number with a sign.
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

/// A whole PTX file.
#[derive(Clone, Debug)]
pub struct Module<'a> {
    /// `.version major.minor`.
    pub version: (u32, u32),
    /// `.target`: the architecture, then options such as `debug`.
    pub target: Vec<&'a str>,
    /// `.address_size`: 32 or 64.
    pub address_size: u32,
    /// Everything else, in order.
    pub items: Vec<Item<'a>>,
}

/// A directive at the module's level.
#[derive(Clone, Debug)]
pub enum Item<'a> {
    /// A variable's definition or declaration.
    Variable(Variable<'a>),
    /// A function's or kernel's definition or declaration.
    Function(Function<'a>),
    /// `.file`.
    File(File<'a>),
    /// `.section`: DWARF.
    Section(Section<'a>),
    /// `.alias name, target;`
    Alias {
        /// The new name.
        name: &'a str,
        /// The function that it means.
        target: &'a str,
    },
    /// `.pragma "text";`
    Pragma(Vec<&'a str>),
}

/// `.file index "name"[, time, size]`.
#[derive(Clone, Debug)]
pub struct File<'a> {
    /// What `.loc` refers to.
    pub index: u32,
    /// The path, without quotes, escapes as they stand.
    pub name: &'a str,
    /// Time stamp and size, where they are given.
    pub stamp: Option<(u64, u64)>,
}

/// `.section .name { ... }`.
#[derive(Clone, Debug)]
pub struct Section<'a> {
    /// The section's name, with its dot.
    pub name: &'a str,
    /// Its data.
    pub lines: Vec<SectionLine<'a>>,
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
    /// A label, symbol or section (with its dot), plus an offset.
    Symbol(&'a str, i64),
    /// `label - label`.
    Difference(&'a str, &'a str),
}

/// A variable, parameter or `.param` block.
#[derive(Clone, Debug)]
pub struct Variable<'a> {
    /// Who sees it.
    pub linkage: Linkage,
    /// Where it lives.
    pub space: Space,
    /// `.align`.
    pub align: Option<u32>,
    /// `.attribute(...)`: its names, arguments as they stand.
    pub attributes: Vec<&'a str>,
    /// The length of a vector type, `.v2` or `.v4`.
    pub vector: Option<u32>,
    /// The element's type.
    pub ty: Type,
    /// `.ptr` annotation of a kernel parameter: the words after it.
    pub pointer: Option<Pointer<'a>>,
    /// Its name.
    pub name: &'a str,
    /// The array's extents, outermost first; `None` for `[]`.
    pub extents: Vec<Option<u64>>,
    /// Its value at the start.
    pub init: Option<Init<'a>>,
    /// The line where it is declared.
    pub line: u32,
}

/// `.ptr .space .align n` of a kernel parameter.
#[derive(Clone, Copy, Debug)]
pub struct Pointer<'a> {
    /// The state space that it points into.
    pub space: Option<&'a str>,
    /// The alignment of what it points to.
    pub align: Option<u32>,
}

impl Variable<'_> {
    /// Size of one element, vectors included.
    pub fn element_bytes(&self) -> u64 {
        u64::from(self.ty.bytes()) * u64::from(self.vector.unwrap_or(1))
    }

    /// Size in bytes; `[]` counts as the number of values that initialise it. `None` if over 64
    /// bits.
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

    /// The alignment that it has: `.align`, or else the element's size.
    pub fn alignment(&self) -> u32 {
        self.align
            .unwrap_or_else(|| (self.element_bytes() as u32).max(1))
    }
}

/// The initial value of a variable.
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

/// `mask(generic(name)+offset)`, in an initialiser.
#[derive(Clone, Debug)]
pub struct SymbolValue<'a> {
    /// The symbol.
    pub name: &'a str,
    /// Whether its generic address is meant.
    pub generic: bool,
    /// What is added to the address.
    pub offset: i64,
    /// Which byte of the address is taken: a value such as `0xFF00`.
    pub mask: Option<u64>,
}

/// A kernel (`.entry`) or function (`.func`).
#[derive(Clone, Debug)]
pub struct Function<'a> {
    /// Who sees it.
    pub linkage: Linkage,
    /// Whether it is a kernel.
    pub entry: bool,
    /// `.attribute(...)`.
    pub attributes: Vec<&'a str>,
    /// Its name.
    pub name: &'a str,
    /// Return parameters.
    pub returns: Vec<Variable<'a>>,
    /// Parameters.
    pub params: Vec<Variable<'a>>,
    /// `.maxntid` and the like.
    pub directives: Vec<Directive<'a>>,
    /// `None` for a declaration.
    pub body: Option<Vec<Statement<'a>>>,
    /// The line of its name.
    pub line: u32,
}

/// A directive between a function's head and body, such as `.maxntid 256, 1, 1`.
#[derive(Clone, Debug)]
pub struct Directive<'a> {
    /// Its name, without the dot.
    pub name: &'a str,
    /// Its numbers.
    pub values: Vec<u64>,
    /// Its strings, with their quotes.
    pub strings: Vec<&'a str>,
}

/// A line of a function's body.
#[derive(Clone, Debug)]
pub enum Statement<'a> {
    /// `label:`.
    Label(&'a str),
    /// An instruction.
    Instruction(Instruction<'a>),
    /// `.reg`.
    Registers(Box<Registers<'a>>),
    /// `.local`, `.shared`, `.param` and the like.
    Variable(Box<Variable<'a>>),
    /// `.loc`.
    Loc(Box<Loc<'a>>),
    /// `{ ... }`.
    Block(Vec<Statement<'a>>),
    /// `label: .branchtargets a, b;`
    BranchTargets {
        /// Its name.
        label: &'a str,
        /// Where the branch may go.
        targets: Vec<&'a str>,
    },
    /// `label: .calltargets f, g;`
    CallTargets {
        /// Its name.
        label: &'a str,
        /// What may be called.
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
    /// Its name.
    pub label: &'a str,
    /// Return parameters.
    pub returns: Vec<Variable<'a>>,
    /// Parameters.
    pub params: Vec<Variable<'a>>,
    /// `.noreturn`, `.abi_preserve n` and the like.
    pub directives: Vec<Directive<'a>>,
}

/// `.reg .v2 .b32 a, b<10>;`
#[derive(Clone, Debug)]
pub struct Registers<'a> {
    /// The registers' type.
    pub ty: Type,
    /// The length of a vector register.
    pub vector: Option<u32>,
    /// Names; with a count `n`, the registers `name0` to `name(n-1)`.
    pub names: Vec<(&'a str, Option<u32>)>,
    /// The line of the declaration.
    pub line: u32,
}

/// `.loc file line column, function_name label+offset, inlined_at file line column`.
#[derive(Clone, Debug)]
pub struct Loc<'a> {
    /// Index of a `.file`.
    pub file: u32,
    /// Line.
    pub line: u32,
    /// Column.
    pub column: u32,
    /// Where this was inlined from.
    pub inlined: Option<Inlined<'a>>,
}

/// The second half of a [`Loc`].
#[derive(Clone, Copy, Debug)]
pub struct Inlined<'a> {
    /// Label in `.debug_str` of the inlined function's name, and an offset.
    pub function: (&'a str, i64),
    /// File, line and column of the call.
    pub at: (u32, u32, u32),
}

/// `@!p opcode.modifier operands;`
#[derive(Clone, Debug)]
pub struct Instruction<'a> {
    /// The predicate that guards it.
    pub guard: Option<Guard<'a>>,
    /// The first word.
    pub opcode: &'a str,
    /// The words after it, without dots.
    pub modifiers: Vec<&'a str>,
    /// Operands, in order.
    pub operands: Vec<Operand<'a>>,
    /// The line that it begins on.
    pub line: u32,
}

/// `@p` or `@!p`.
#[derive(Clone, Copy, Debug)]
pub struct Guard<'a> {
    /// Whether it is `@!p`.
    pub negated: bool,
    /// The predicate register.
    pub register: &'a str,
}

/// An operand of an instruction.
#[derive(Clone, Debug)]
pub enum Operand<'a> {
    /// A register, special register, symbol, label or `_`; with a component, as in `%tid.x`.
    Name(&'a str),
    /// A symbol and an offset, outside brackets.
    NameOffset(&'a str, i64),
    /// An integer.
    Integer(Integer),
    /// A 32-bit float's bits.
    F32(u32),
    /// A 64-bit float's bits.
    F64(u64),
    /// `[base+offset]`.
    Address(Base<'a>, i64),
    /// `[a, {b, c}]`, of texture and tensor instructions.
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

/// What an address is counted from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base<'a> {
    /// A register or symbol.
    Name(&'a str),
    /// A number.
    Absolute,
}
