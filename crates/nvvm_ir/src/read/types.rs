//! Types and parameter attributes.

use super::lexer::Tok;
use super::{Reader, Result};
use crate::inst::ParamAttrs;
use crate::types::{AddrSpace, Type, TypeKind};

/// A type as it stands in the text.
#[derive(Copy, Clone, Debug)]
pub(super) struct TextType {
    /// The type; a pointer is opaque.
    pub(super) ty: Type,
    /// The pointee of a typed pointer.
    pub(super) pointee: Option<Type>,
}

impl Reader<'_> {
    pub(super) fn ty(&mut self) -> Result<TextType> {
        self.enter()?;
        let ty = self.whole_type()?;
        self.depth -= 1;
        Ok(ty)
    }

    fn whole_type(&mut self) -> Result<TextType> {
        let mut ty = TextType {
            ty: self.plain_type()?,
            pointee: None,
        };
        loop {
            if self.eat(Tok::Punct('*')) {
                ty = TextType {
                    ty: self.m.types.ptr(),
                    pointee: Some(ty.ty),
                };
            } else if self.peek() == Tok::Word("addrspace") {
                let space = self.addr_space()?.unwrap_or(AddrSpace::Generic);
                self.punct('*')?;
                ty = TextType {
                    ty: self.m.types.ptr_in(space),
                    pointee: Some(ty.ty),
                };
            } else if self.eat(Tok::Punct('(')) {
                let mut params = Vec::new();
                let mut variadic = false;
                while !self.eat(Tok::Punct(')')) {
                    if !params.is_empty() || variadic {
                        self.punct(',')?;
                    }
                    if self.eat(Tok::Dots) {
                        variadic = true;
                    } else {
                        params.push(self.ty()?.ty);
                    }
                }
                ty = TextType {
                    ty: self.m.types.func(ty.ty, &params, variadic),
                    pointee: None,
                };
            } else {
                return Ok(ty);
            }
        }
    }

    fn plain_type(&mut self) -> Result<Type> {
        let kind = match self.peek() {
            Tok::Word("ptr") => {
                self.at += 1;
                let space = self.addr_space()?.unwrap_or(AddrSpace::Generic);
                return Ok(self.m.types.ptr_in(space));
            }
            Tok::Word("void") => TypeKind::Void,
            Tok::Word("half") => TypeKind::Half,
            Tok::Word("bfloat") => TypeKind::BFloat,
            Tok::Word("float") => TypeKind::Float,
            Tok::Word("double") => TypeKind::Double,
            Tok::Word("fp128") => TypeKind::Fp128,
            Tok::Word(word) => match word.strip_prefix('i').and_then(|bits| bits.parse().ok()) {
                Some(bits @ 1..=0xFF_FFFF) => TypeKind::Int(bits),
                _ => return self.expected("a type"),
            },
            Tok::Punct('[') => return self.sequence(']'),
            Tok::Punct('{') => return self.fields(false),
            Tok::Punct('<') => {
                if self.peek2() == Tok::Punct('{') {
                    self.at += 1;
                    let ty = self.fields(true)?;
                    self.punct('>')?;
                    return Ok(ty);
                }
                return self.sequence('>');
            }
            _ => return self.expected("a type"),
        };
        self.at += 1;
        Ok(self.m.types.intern(kind))
    }

    /// `[4 x i32]` or `<4 x i32>`, from the bracket on.
    fn sequence(&mut self, close: char) -> Result<Type> {
        self.at += 1;
        let at = self.at;
        let len: u64 = self.unsigned()?;
        self.expect(Tok::Word("x"))?;
        let element = self.ty()?.ty;
        self.punct(close)?;
        if close == ']' {
            return Ok(self.m.types.array(element, len));
        }
        match u32::try_from(len) {
            Ok(len) if len > 0 => Ok(self.m.types.vector(element, len)),
            _ => self.error_at(at, "no vector has this length"),
        }
    }

    fn fields(&mut self, packed: bool) -> Result<Type> {
        self.punct('{')?;
        let mut fields = Vec::new();
        while !self.eat(Tok::Punct('}')) {
            if !fields.is_empty() {
                self.punct(',')?;
            }
            fields.push(self.ty()?.ty);
        }
        Ok(self.m.types.structure(&fields, packed))
    }

    /// `addrspace(3)`, if it is there.
    pub(super) fn addr_space(&mut self) -> Result<Option<AddrSpace>> {
        if !self.eat_word("addrspace") {
            return Ok(None);
        }
        self.punct('(')?;
        let at = self.at;
        let number: u32 = self.unsigned()?;
        self.punct(')')?;
        match AddrSpace::from_number(number) {
            Some(space) => Ok(Some(space)),
            None => self.error_at(at, format!("there is no address space {number}")),
        }
    }

    /// Skips to behind the parenthesis that closes the one before.
    pub(super) fn skip_to_closing(&mut self) -> Result<()> {
        let mut depth = 1;
        while depth > 0 {
            match self.next() {
                Tok::Punct('(') => depth += 1,
                Tok::Punct(')') => depth -= 1,
                Tok::End => return self.expected("`)`"),
                _ => {}
            }
        }
        Ok(())
    }

    /// Attributes of a parameter, an argument or a result. `pointee` is what the text says that
    /// the pointer points to, for the dialect where `byval` does not say it.
    pub(super) fn param_attrs(&mut self, pointee: Option<Type>) -> Result<ParamAttrs> {
        let mut attrs = ParamAttrs::default();
        loop {
            // Tests have both; the writer has not.
            if self.eat(Tok::Str("readable")) {
                attrs.readable = true;
                continue;
            }
            if self.eat(Tok::Str("element")) {
                self.punct('=')?;
                let Tok::Str(size) = self.next() else {
                    return self.expected("a string");
                };
                match size.parse() {
                    Ok(size) => attrs.element = size,
                    Err(_) => return self.expected("a size"),
                }
                continue;
            }
            let Tok::Word(word) = self.peek() else {
                break;
            };
            let flag = match word {
                "zeroext" => &mut attrs.zeroext,
                "signext" => &mut attrs.signext,
                "noalias" => &mut attrs.noalias,
                "nonnull" => &mut attrs.nonnull,
                "readonly" => &mut attrs.readonly,
                "nocapture" => &mut attrs.nocapture,
                "captures" => {
                    self.at += 1;
                    self.punct('(')?;
                    let none = self.eat_word("none");
                    attrs.nocapture = none && self.peek() == Tok::Punct(')');
                    self.skip_to_closing()?;
                    continue;
                }
                // Attributes that LLVM infers and LLVM 7 does not know.
                "noundef" | "nofree" | "writeonly" | "readnone" | "returned" | "immarg"
                | "nosync" | "writable" | "dead_on_unwind" | "dead_on_return" | "noext"
                | "inreg" | "allocptr" | "allocalign" | "nest" | "nonlazybind" => {
                    self.at += 1;
                    continue;
                }
                "range" | "initializes" | "dereferenceable_or_null" | "nofpclass" => {
                    self.at += 1;
                    self.punct('(')?;
                    self.skip_to_closing()?;
                    continue;
                }
                "align" => {
                    self.at += 1;
                    attrs.align = self.unsigned()?;
                    continue;
                }
                "dereferenceable" => {
                    self.at += 1;
                    self.punct('(')?;
                    attrs.dereferenceable = self.unsigned()?;
                    self.punct(')')?;
                    continue;
                }
                "byval" | "sret" => {
                    self.at += 1;
                    let ty = if self.eat(Tok::Punct('(')) {
                        let ty = self.ty()?.ty;
                        self.punct(')')?;
                        ty
                    } else {
                        match pointee {
                            Some(pointee) => pointee,
                            None => return self.expected("a type in parentheses"),
                        }
                    };
                    if word == "byval" {
                        attrs.byval = Some(ty)
                    } else {
                        attrs.sret = Some(ty)
                    }
                    continue;
                }
                _ => break,
            };
            *flag = true;
            self.at += 1;
        }
        Ok(attrs)
    }
}
