//! The types of random programs, all of which are `Copy`.

use crate::random::Random;
use std::fmt::Write;

/// An integer type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Int {
    /// Its name.
    pub name: &'static str,
    /// Its width.
    pub bits: u32,
    /// Whether it has negative values.
    pub signed: bool,
}

/// All integer types.
pub const INTS: [Int; 12] = {
    const fn int(name: &'static str, bits: u32, signed: bool) -> Int {
        Int { name, bits, signed }
    }
    [
        int("i8", 8, true),
        int("u8", 8, false),
        int("i16", 16, true),
        int("u16", 16, false),
        int("i32", 32, true),
        int("u32", 32, false),
        int("i64", 64, true),
        int("u64", 64, false),
        int("isize", 64, true),
        int("usize", 64, false),
        int("i128", 128, true),
        int("u128", 128, false),
    ]
};

/// The type of counts.
pub const U32: Ty = Ty::Int(INTS[5]);
/// The type of indices.
pub const USIZE: Ty = Ty::Int(INTS[9]);
/// The return types of trait methods.
pub const I64: Ty = Ty::Int(INTS[6]);

/// A type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ty {
    Int(Int),
    Bool,
    Char,
    F32,
    F64,
    Tuple(Vec<Ty>),
    Array(Box<Ty>, usize),
    Option(Box<Ty>),
    /// The number of a struct of the program.
    Struct(usize),
    /// The number of an enum of the program.
    Enum(usize),
}

/// A struct.
#[derive(Clone, Debug)]
pub struct Struct {
    /// Its attributes.
    pub attributes: &'static str,
    /// The types of its fields `a`, `b`, …
    pub fields: Vec<Ty>,
}

impl Struct {
    /// Whether nothing may refer to its fields.
    pub fn is_packed(&self) -> bool {
        self.attributes.contains("packed")
    }
}

/// An enum.
#[derive(Clone, Debug)]
pub struct Enum {
    /// Its attributes.
    pub attributes: &'static str,
    /// The fields of its variants `A`, `B`, …
    pub variants: Vec<Vec<Ty>>,
}

/// The attributes of structs.
const ATTRIBUTES: [&str; 8] = [
    "",
    "",
    "#[repr(C)]\n",
    "#[repr(C, align(16))]\n",
    "#[repr(packed)]\n",
    "#[repr(C, packed)]\n",
    "#[repr(packed(2))]\n",
    "#[repr(C, packed(4))]\n",
];

/// Where those of packed structs begin.
const PACKED_FROM: usize = 4;

/// The types that a program declares.
#[derive(Clone, Debug, Default)]
pub struct Types {
    pub structs: Vec<Struct>,
    pub enums: Vec<Enum>,
}

/// The name of a field or parameter.
pub fn field(i: usize) -> char {
    (b'a' + i as u8) as char
}

/// The name of a variant.
pub fn variant(i: usize) -> char {
    (b'A' + i as u8) as char
}

impl Types {
    /// Some types.
    pub fn random(random: &mut Random, all_packed: bool) -> Types {
        let mut types = Types::default();
        for _ in 0..2 {
            let n = 1 + random.below(4);
            let fields = (0..n).map(|_| types.any(random, 2)).collect();
            let aligned = |other: &Struct| other.attributes.contains("align");
            // A packed type cannot contain a type with `align`.
            let choices = match types.structs.iter().any(aligned) {
                _ if all_packed => &ATTRIBUTES[PACKED_FROM..],
                true => &ATTRIBUTES[..PACKED_FROM],
                false => &ATTRIBUTES,
            };
            let attributes = *random.pick(choices);
            types.structs.push(Struct { attributes, fields });
            let variants = (0..2 + random.below(3))
                .map(|_| (0..random.below(3)).map(|_| types.any(random, 1)).collect())
                .collect();
            let attributes = *random.pick(&["", "", "#[repr(u8)]\n", "#[repr(i32)]\n"]);
            types.enums.push(Enum {
                attributes,
                variants,
            });
        }
        types
    }

    /// Any scalar type.
    pub fn scalar(&self, random: &mut Random) -> Ty {
        match random.below(20) {
            0..14 => Ty::Int(*random.pick(&INTS)),
            14 | 15 => Ty::Bool,
            16 => Ty::Char,
            17 => Ty::F32,
            _ => Ty::F64,
        }
    }

    /// Any type, put together of others down to a depth.
    pub fn any(&self, random: &mut Random, depth: u32) -> Ty {
        if depth == 0 || random.below(2) == 0 {
            return self.scalar(random);
        }
        match random.below(6) {
            0 => Ty::Tuple(
                (0..2 + random.below(2))
                    .map(|_| self.any(random, depth - 1))
                    .collect(),
            ),
            1 => Ty::Array(Box::new(self.any(random, depth - 1)), 1 + random.below(5)),
            2 => Ty::Option(Box::new(self.any(random, depth - 1))),
            3 | 4 if !self.structs.is_empty() => Ty::Struct(random.below(self.structs.len())),
            _ if !self.enums.is_empty() => Ty::Enum(random.below(self.enums.len())),
            _ => self.scalar(random),
        }
    }

    /// A type's name.
    pub fn name(&self, ty: &Ty) -> String {
        match ty {
            Ty::Int(int) => int.name.to_owned(),
            Ty::Bool => "bool".to_owned(),
            Ty::Char => "char".to_owned(),
            Ty::F32 => "f32".to_owned(),
            Ty::F64 => "f64".to_owned(),
            Ty::Tuple(parts) => {
                let parts: Vec<String> = parts.iter().map(|part| self.name(part)).collect();
                format!("({})", parts.join(", "))
            }
            Ty::Array(of, n) => format!("[{}; {n}]", self.name(of)),
            Ty::Option(of) => format!("Option<{}>", self.name(of)),
            Ty::Struct(i) => format!("S{i}"),
            Ty::Enum(i) => format!("E{i}"),
        }
    }

    /// A plain value.
    pub fn plain(&self, ty: &Ty) -> String {
        let list =
            |types: &[Ty]| -> Vec<String> { types.iter().map(|ty| self.plain(ty)).collect() };
        match ty {
            Ty::Int(int) => format!("0{}", int.name),
            Ty::Bool => "false".to_owned(),
            Ty::Char => "'a'".to_owned(),
            Ty::F32 => "0f32".to_owned(),
            Ty::F64 => "0f64".to_owned(),
            Ty::Tuple(parts) => format!("({})", list(parts).join(", ")),
            Ty::Array(of, n) => format!("[{}; {n}]", self.plain(of)),
            Ty::Option(of) => format!("None::<{}>", self.name(of)),
            Ty::Struct(i) => {
                let fields: Vec<String> = (list(&self.structs[*i].fields).iter().enumerate())
                    .map(|(k, value)| format!("{}: {value}", field(k)))
                    .collect();
                format!("(S{i} {{ {} }})", fields.join(", "))
            }
            Ty::Enum(i) => match &self.enums[*i].variants[0][..] {
                [] => format!("E{i}::A"),
                fields => format!("E{i}::A({})", list(fields).join(", ")),
            },
        }
    }

    /// The declarations, with what puts their values into the record.
    pub fn declarations(&self) -> String {
        let mut out = String::new();
        let names =
            |types: &[Ty]| -> Vec<String> { types.iter().map(|ty| self.name(ty)).collect() };
        for (i, of) in self.structs.iter().enumerate() {
            let Struct { attributes, fields } = of;
            let _ = writeln!(
                out,
                "{attributes}#[derive(Clone, Copy, PartialEq, PartialOrd)]"
            );
            let _ = writeln!(out, "pub struct S{i} {{");
            for (k, name) in names(fields).iter().enumerate() {
                let _ = writeln!(out, "    {}: {name},", field(k));
            }
            let _ = writeln!(out, "}}\nimpl Put for S{i} {{ fn put(&self, h: &H) {{");
            for k in 0..fields.len() {
                let _ = match of.is_packed() {
                    true => writeln!(out, "    {{ self.{} }}.put(h);", field(k)),
                    false => writeln!(out, "    self.{}.put(h);", field(k)),
                };
            }
            let _ = writeln!(out, "}} }}");
        }
        for (
            i,
            Enum {
                attributes,
                variants,
            },
        ) in self.enums.iter().enumerate()
        {
            let _ = writeln!(
                out,
                "{attributes}#[derive(Clone, Copy, PartialEq, PartialOrd)]"
            );
            let _ = writeln!(out, "pub enum E{i} {{");
            for (k, fields) in variants.iter().enumerate() {
                let list = names(fields).join(", ");
                let list = if fields.is_empty() {
                    list
                } else {
                    format!("({list})")
                };
                let _ = writeln!(out, "    {}{list},", variant(k));
            }
            let _ = writeln!(
                out,
                "}}\nimpl Put for E{i} {{ fn put(&self, h: &H) {{ match self {{"
            );
            for (k, fields) in variants.iter().enumerate() {
                let bound: Vec<String> = (0..fields.len()).map(|n| format!("x{n}")).collect();
                let puts: String = bound.iter().map(|x| format!("{x}.put(h); ")).collect();
                let bound = if fields.is_empty() {
                    String::new()
                } else {
                    format!("({})", bound.join(", "))
                };
                let _ = writeln!(
                    out,
                    "    E{i}::{}{bound} => {{ h.word({k}); {puts}}}",
                    variant(k)
                );
            }
            let _ = writeln!(out, "}} }} }}");
        }
        out
    }
}
