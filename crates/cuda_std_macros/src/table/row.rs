//! Parses a row of the table.

use proc_macro2::Span;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Attribute, Error, Ident, LitInt, LitStr, Result, Token, Type};

/// The effects of an instruction besides its results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// None: calls with equal operands may be merged, and calls whose result is unused removed.
    Pure,
    /// Reads memory.
    Reads,
    /// Has effects, but not on memory.
    Volatile,
    /// Reads and writes memory, or orders memory accesses.
    Memory,
}

/// A const parameter: an immediate operand, with its minimum and maximum.
pub struct Immediate {
    pub name: Ident,
    pub ty: Type,
    pub range: Option<(LitInt, LitInt)>,
}

/// The kind and width of a value in one or two registers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scalar {
    /// A predicate.
    Bool,
    /// An integer of 8, 16, 32 or 64 bits.
    Int { bits: u8, signed: bool },
    /// A float of 32 or 64 bits.
    Float { bits: u8 },
    /// A pointer.
    Pointer,
    /// An integer of 128 bits.
    Wide { signed: bool },
}

/// The shape of an operand's type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    pub scalar: Scalar,
    /// The length of an array, which becomes a vector of operands.
    pub array: Option<usize>,
}

/// A parameter.
pub struct Arg {
    pub name: Ident,
    pub ty: Type,
    pub shape: Shape,
    /// Whether it is a `&mut`: the instruction reads and writes it.
    pub in_out: bool,
}

/// The return type of a row's function.
pub enum Ret {
    Nothing,
    Never,
    One(Shape),
    Several(Vec<Shape>),
}

/// The body of the device's function.
pub enum Body {
    /// PTX, with its operands in braces.
    Ptx(String),
    /// An NVVM intrinsic, by name.
    Nvvm(String),
}

/// A row.
pub struct Row {
    pub docs: Vec<Attribute>,
    pub doc: String,
    /// The architectures of which one is required.
    pub requires: Vec<Ident>,
    pub effect: Effect,
    pub convergent: bool,
    /// The implementation for threads of a kernel on the CPU, if there is one.
    pub cpu: Option<proc_macro2::TokenStream>,
    pub is_unsafe: bool,
    pub name: Ident,
    pub immediates: Vec<Immediate>,
    pub args: Vec<Arg>,
    pub ret_type: Option<Type>,
    pub ret: Ret,
    pub body: Body,
}

impl Parse for Row {
    fn parse(input: ParseStream<'_>) -> Result<Row> {
        let attributes = Attributes::parse(input)?;
        let is_unsafe = input.parse::<Option<Token![unsafe]>>()?.is_some();
        input.parse::<Token![fn]>()?;
        let name: Ident = input.parse()?;
        let immediates = immediates(input)?;
        let content;
        syn::parenthesized!(content in input);
        let args = Punctuated::<Arg, Token![,]>::parse_terminated(&content)?;
        let (ret_type, ret) = ret(input)?;
        input.parse::<Token![=]>()?;
        let body = if input.peek(Ident) {
            let word: Ident = input.parse()?;
            if word != "nvvm" {
                return Err(Error::new_spanned(word, "`nvvm \"name\"`, or PTX"));
            }
            Body::Nvvm(input.parse::<LitStr>()?.value())
        } else {
            let mut text = input.parse::<LitStr>()?.value();
            while input.peek(LitStr) {
                text.push_str(&input.parse::<LitStr>()?.value());
            }
            Body::Ptx(text)
        };
        input.parse::<Token![;]>()?;
        Ok(Row {
            docs: attributes.docs,
            doc: attributes.doc,
            requires: attributes.requires,
            effect: attributes.effect,
            convergent: attributes.convergent,
            cpu: attributes.cpu,
            is_unsafe,
            name,
            immediates,
            args: args.into_iter().collect(),
            ret_type,
            ret,
            body,
        })
    }
}

/// The attributes of a row.
struct Attributes {
    docs: Vec<Attribute>,
    doc: String,
    requires: Vec<Ident>,
    effect: Effect,
    convergent: bool,
    cpu: Option<proc_macro2::TokenStream>,
}

impl Attributes {
    fn parse(input: ParseStream<'_>) -> Result<Attributes> {
        let mut result = Attributes {
            docs: Vec::new(),
            doc: String::new(),
            requires: Vec::new(),
            effect: Effect::Memory,
            convergent: false,
            cpu: None,
        };
        for attribute in input.call(Attribute::parse_outer)? {
            let name = attribute.path().get_ident().map(Ident::to_string);
            match name.as_deref() {
                Some("doc") => {
                    result.add_doc(&attribute)?;
                    result.docs.push(attribute);
                }
                Some("requires") => {
                    let list = attribute.parse_args_with(
                        Punctuated::<Ident, Token![,]>::parse_separated_nonempty,
                    )?;
                    result.requires.extend(list);
                }
                Some("pure") => result.effect = Effect::Pure,
                Some("reads") => result.effect = Effect::Reads,
                Some("volatile") => result.effect = Effect::Volatile,
                Some("convergent") => result.convergent = true,
                Some("cpu") => result.cpu = Some(attribute.meta.require_list()?.tokens.clone()),
                _ => {
                    let message = "a row has `requires(..)`, `pure`, `reads`, `volatile`, \
                                   `convergent`, `cpu(..)` and documentation";
                    return Err(Error::new_spanned(attribute, message));
                }
            }
        }
        if result.doc.is_empty() {
            return Err(input.error("a row must have a doc comment"));
        }
        if result.convergent && matches!(result.effect, Effect::Pure | Effect::Reads) {
            return Err(input.error("a convergent instruction cannot be `pure` or `reads`"));
        }
        Ok(result)
    }

    fn add_doc(&mut self, attribute: &Attribute) -> Result<()> {
        let value = &attribute.meta.require_name_value()?.value;
        if let syn::Expr::Lit(syn::ExprLit {
            lit: syn::Lit::Str(text),
            ..
        }) = value
        {
            if !self.doc.is_empty() {
                self.doc.push('\n');
            }
            self.doc.push_str(text.value().trim());
        }
        Ok(())
    }
}

fn immediates(input: ParseStream<'_>) -> Result<Vec<Immediate>> {
    let mut list = Vec::new();
    if !input.peek(Token![<]) {
        return Ok(list);
    }
    input.parse::<Token![<]>()?;
    while !input.peek(Token![>]) {
        input.parse::<Token![const]>()?;
        let name = input.parse()?;
        input.parse::<Token![:]>()?;
        let ty = input.parse()?;
        let mut range = None;
        if input.parse::<Option<Token![in]>>()?.is_some() {
            let first = input.parse()?;
            input.parse::<Token![..=]>()?;
            range = Some((first, input.parse()?));
        }
        list.push(Immediate { name, ty, range });
        if !input.peek(Token![>]) {
            input.parse::<Token![,]>()?;
        }
    }
    input.parse::<Token![>]>()?;
    Ok(list)
}

impl Parse for Arg {
    fn parse(input: ParseStream<'_>) -> Result<Arg> {
        let name = input.call(Ident::parse_any)?;
        input.parse::<Token![:]>()?;
        let ty: Type = input.parse()?;
        let (in_out, inner) = match &ty {
            Type::Reference(reference) if reference.mutability.is_some() => {
                (true, &*reference.elem)
            }
            other => (false, other),
        };
        let shape = shape(inner)?;
        let narrow =
            |bits| matches!(shape.scalar, Scalar::Int { bits: found, .. } if found == bits);
        if in_out && (matches!(shape.scalar, Scalar::Bool | Scalar::Wide { .. }) || narrow(8)) {
            return Err(Error::new_spanned(
                &ty,
                "an operand of this type cannot be both input and output",
            ));
        }
        Ok(Arg {
            name,
            shape,
            in_out,
            ty,
        })
    }
}

fn ret(input: ParseStream<'_>) -> Result<(Option<Type>, Ret)> {
    if input.parse::<Option<Token![->]>>()?.is_none() {
        return Ok((None, Ret::Nothing));
    }
    let ty: Type = input.parse()?;
    let ret = match &ty {
        Type::Never(_) => Ret::Never,
        Type::Tuple(tuple) => Ret::Several(tuple.elems.iter().map(shape).collect::<Result<_>>()?),
        other => Ret::One(shape(other)?),
    };
    Ok((Some(ty), ret))
}

/// Parses the shape of a type.
fn shape(ty: &Type) -> Result<Shape> {
    match ty {
        Type::Array(array) => {
            let length = match &array.len {
                syn::Expr::Lit(syn::ExprLit {
                    lit: syn::Lit::Int(length),
                    ..
                }) => length.base10_parse()?,
                other => return Err(Error::new_spanned(other, "a number")),
            };
            let element = shape(&array.elem)?;
            if element.array.is_some() || element.scalar == Scalar::Bool {
                return Err(Error::new_spanned(ty, "an array of numbers or pointers"));
            }
            Ok(Shape {
                scalar: element.scalar,
                array: Some(length),
            })
        }
        Type::Group(group) => shape(&group.elem),
        Type::Paren(paren) => shape(&paren.elem),
        Type::Ptr(_) => Ok(Shape {
            scalar: Scalar::Pointer,
            array: None,
        }),
        Type::Path(path) => {
            let name = path
                .path
                .get_ident()
                .map(Ident::to_string)
                .unwrap_or_default();
            let int = |bits, signed| Scalar::Int { bits, signed };
            let scalar = match name.as_str() {
                "bool" => Scalar::Bool,
                "u8" => int(8, false),
                "i8" => int(8, true),
                "u16" => int(16, false),
                "i16" => int(16, true),
                "u32" => int(32, false),
                "i32" => int(32, true),
                "u64" | "usize" => int(64, false),
                "i64" | "isize" => int(64, true),
                "u128" => Scalar::Wide { signed: false },
                "i128" => Scalar::Wide { signed: true },
                "f32" => Scalar::Float { bits: 32 },
                "f64" => Scalar::Float { bits: 64 },
                _ => return Err(no_operand(ty)),
            };
            Ok(Shape {
                scalar,
                array: None,
            })
        }
        other => Err(no_operand(other)),
    }
}

fn no_operand(ty: &Type) -> Error {
    let message = "no operand of an instruction: there are numbers (halves as `u16`), `bool`, \
                   pointers, arrays of them, and `&mut` to them";
    Error::new_spanned(ty, message)
}

impl Row {
    /// Returns the span for errors.
    pub fn span(&self) -> Span {
        self.name.span()
    }
}
