//! Converts a row's PTX, with named operands in braces, to an `asm!` template and its operands.
//!
//! `{x}` is the operand `x`, `{ret}` the result. For an array it is the whole vector, braces
//! included, and `{x.1}` is one element; with several results, `{ret.0}` is the first. A `bool` is
//! a predicate register, a 128-bit integer a `.b128` register: they are assembled before the
//! instruction and split after it. `{p:shared}` is a pointer as an address in that space. All other
//! braces belong to PTX.

use std::collections::BTreeMap;
use std::fmt::Write;

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};
use syn::{Error, Ident, Result};

use super::row::{Ret, Row, Scalar, Shape};

/// The direction of a register operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    In,
    Out,
    InOut,
}

/// An operand of `asm!`.
pub struct Register {
    pub name: Ident,
    pub bits: u8,
    pub direction: Direction,
    /// The input value, or the variable or place of the output.
    pub value: TokenStream,
}

/// The parts of an `asm!` call.
pub struct Assembly {
    /// The template, in the syntax of `asm!`.
    pub text: String,
    pub registers: Vec<Register>,
    /// The expression that the function returns, made of the output variables.
    pub result: TokenStream,
}

#[derive(Default)]
struct Writer {
    registers: Vec<Register>,
    before: String,
    after: String,
    /// The substitution for each name in braces.
    names: BTreeMap<String, String>,
    /// The pointers, which can be used as addresses in a state space.
    pointers: Vec<String>,
}

/// Returns the `asm!` call of a row with PTX.
pub fn assemble(row: &Row, ptx: &str) -> Result<Assembly> {
    let mut writer = Writer::default();
    let result = match &row.ret {
        Ret::Nothing | Ret::Never => TokenStream::new(),
        Ret::One(shape) => writer.output("ret", shape),
        Ret::Several(shapes) => {
            let parts: Vec<TokenStream> = (shapes.iter().enumerate())
                .map(|(i, shape)| writer.output(&format!("ret.{i}"), shape))
                .collect();
            quote!((#(#parts),*))
        }
    };
    for arg in &row.args {
        writer.input(&arg.name, &arg.shape, arg.in_out);
    }
    for immediate in &row.immediates {
        let name = immediate.name.to_string();
        let placeholder = format!("{{{name}}}");
        writer.names.insert(name, placeholder);
    }
    let body = writer.substitute(ptx, row.span())?;
    let text = if writer.before.is_empty() && writer.after.is_empty() {
        body
    } else {
        format!("{{{{\n\t{}{body}\n\t{}}}}}", writer.before, writer.after)
    };
    Ok(Assembly {
        text,
        registers: writer.registers,
        result,
    })
}

impl Writer {
    fn register(&mut self, name: &str, bits: u8, direction: Direction, value: TokenStream) {
        let name = format_ident!("{name}");
        self.registers.push(Register {
            name,
            bits,
            direction,
            value,
        });
    }

    /// Declares an output, and returns the expression for its value.
    fn output(&mut self, name: &str, shape: &Shape) -> TokenStream {
        let Some(length) = shape.array else {
            return self.output_scalar(name, &shape.scalar);
        };
        let values: Vec<TokenStream> = (0..length)
            .map(|i| self.output_scalar(&format!("{name}.{i}"), &shape.scalar))
            .collect();
        self.vector(name, length);
        quote!([#(#values),*])
    }

    /// Makes the name of an array represent all its elements.
    fn vector(&mut self, name: &str, length: usize) {
        let elements: Vec<&str> = (0..length)
            .map(|i| &*self.names[&format!("{name}.{i}")])
            .collect();
        let vector = format!("{{{{{}}}}}", elements.join(", "));
        self.names.insert(name.to_owned(), vector);
    }

    fn output_scalar(&mut self, name: &str, scalar: &Scalar) -> TokenStream {
        let flat = flat(name);
        let variable = format_ident!("{flat}");
        let direct = format!("{{{flat}}}");
        let single = |this: &mut Self, bits, value| {
            this.register(&flat, bits, Direction::Out, quote!(#variable));
            this.names.insert(name.to_owned(), direct.clone());
            value
        };
        match scalar {
            Scalar::Bool => {
                self.register(&flat, 32, Direction::Out, quote!(#variable));
                let _ = write!(self.before, ".reg .pred %p_{flat};\n\t");
                let _ = write!(self.after, "selp.b32 {direct}, 1, 0, %p_{flat};\n\t");
                self.names.insert(name.to_owned(), format!("%p_{flat}"));
                quote!((#variable != 0))
            }
            Scalar::Int { bits: 8, signed } => {
                let ty = if *signed { quote!(i8) } else { quote!(u8) };
                single(self, 32, quote!((#variable as #ty)))
            }
            Scalar::Int { bits, .. } | Scalar::Float { bits } => {
                single(self, *bits, quote!(#variable))
            }
            Scalar::Pointer => single(self, 64, quote!(#variable)),
            Scalar::Wide { signed } => {
                let ty = if *signed { quote!(i128) } else { quote!(u128) };
                let (low, high) = (format!("{flat}_low"), format!("{flat}_high"));
                for half in [&low, &high] {
                    let variable = format_ident!("{half}");
                    self.register(half, 64, Direction::Out, quote!(#variable));
                }
                let _ = write!(self.before, ".reg .b128 %q_{flat};\n\t");
                let _ = write!(
                    self.after,
                    "mov.b128 {{{{{{{low}}}, {{{high}}}}}}}, %q_{flat};\n\t"
                );
                self.names.insert(name.to_owned(), format!("%q_{flat}"));
                let (low, high) = (format_ident!("{low}"), format_ident!("{high}"));
                quote!(((#high as u128) << 64 | #low as u128) as #ty)
            }
        }
    }

    fn input(&mut self, ident: &Ident, shape: &Shape, in_out: bool) {
        let name = ident.to_string();
        let Some(length) = shape.array else {
            let value = if in_out {
                quote!(*#ident)
            } else {
                quote!(#ident)
            };
            self.input_scalar(&name, &shape.scalar, in_out, value);
            return;
        };
        for i in 0..length {
            let element = format!("{name}.{i}");
            self.input_scalar(&element, &shape.scalar, in_out, quote!(#ident[#i]));
        }
        self.vector(&name, length);
    }

    fn input_scalar(&mut self, name: &str, scalar: &Scalar, in_out: bool, value: TokenStream) {
        let flat = flat(name);
        let direct = format!("{{{flat}}}");
        let direction = if in_out {
            Direction::InOut
        } else {
            Direction::In
        };
        match scalar {
            Scalar::Bool => {
                self.register(&flat, 32, direction, quote!(#value as u32));
                let setp = format!("setp.ne.b32 %p_{flat}, {direct}, 0;");
                let _ = write!(self.before, ".reg .pred %p_{flat};\n\t{setp}\n\t");
                self.names.insert(name.to_owned(), format!("%p_{flat}"));
                return;
            }
            Scalar::Int { bits: 8, .. } => {
                self.register(&flat, 32, direction, quote!(#value as u32));
            }
            Scalar::Int { bits, .. } | Scalar::Float { bits } => {
                self.register(&flat, *bits, direction, value);
            }
            Scalar::Pointer => {
                self.register(&flat, 64, direction, value);
                self.pointers.push(name.to_owned());
            }
            Scalar::Wide { .. } => {
                let (low, high) = (format!("{flat}_low"), format!("{flat}_high"));
                self.register(&low, 64, direction, quote!(#value as u64));
                self.register(&high, 64, direction, quote!((#value >> 64) as u64));
                let mov = format!("mov.b128 %q_{flat}, {{{{{{{low}}}, {{{high}}}}}}};");
                let _ = write!(self.before, ".reg .b128 %q_{flat};\n\t{mov}\n\t");
                self.names.insert(name.to_owned(), format!("%q_{flat}"));
                return;
            }
        }
        self.names.insert(name.to_owned(), direct);
    }

    /// Substitutes all names in the template.
    fn substitute(&mut self, ptx: &str, span: Span) -> Result<String> {
        let mut text = String::new();
        let mut rest = ptx;
        while let Some(at) = rest.find(['{', '}']) {
            let (plain, from) = rest.split_at(at);
            text.push_str(plain);
            let name = from
                .strip_prefix('{')
                .and_then(|inner| inner.split_once('}'))
                .map(|(name, _)| name)
                .filter(|name| is_name(name));
            let Some(name) = name else {
                // A brace of PTX.
                text.push_str(&from[..1].repeat(2));
                rest = &from[1..];
                continue;
            };
            text.push_str(
                &self
                    .named(name)
                    .ok_or_else(|| Error::new(span, format!("unknown operand `{name}`")))?,
            );
            rest = &from[name.len() + 2..];
        }
        text.push_str(rest);
        Ok(text)
    }

    fn named(&mut self, name: &str) -> Option<String> {
        let Some((pointer, space)) = name.split_once(':') else {
            return self.names.get(name).cloned();
        };
        if !self.pointers.iter().any(|known| known == pointer) {
            return None;
        }
        let flat = flat(pointer);
        let register = format!("%a_{flat}_{space}");
        let direct = &self.names[pointer];
        let cvta = match space {
            "shared" | "global" | "const" | "local" => {
                format!(".reg .b64 {register};\n\tcvta.to.{space}.u64 {register}, {direct};\n\t")
            }
            _ => return None,
        };
        if !self.before.contains(&format!("{register};")) {
            self.before.push_str(&cvta);
        }
        Some(register)
    }
}

/// Converts an operand's name to an identifier.
fn flat(name: &str) -> String {
    name.replace('.', "_")
}

/// Returns whether the text in braces is an operand's name: `.reg .pred p;` and `%r1, %r2` are not.
fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "_.:".contains(c))
}
