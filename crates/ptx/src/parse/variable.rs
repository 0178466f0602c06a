//! Variables, parameters, `.param` blocks, and initializers.

use super::{MAX_DEPTH, Parser, Result};
use crate::lexer::Kind;
use crate::{Init, Integer, Linkage, Pointer, Space, SymbolValue, Variable};

/// Returns the state space in which a directive declares variables.
pub(super) fn space(word: &str) -> Option<Space> {
    Some(match word {
        "global" => Space::Global,
        "const" => Space::Const,
        "shared" => Space::Shared,
        "local" => Space::Local,
        "param" => Space::Param,
        "tex" => Space::Tex,
        _ => return None,
    })
}

impl<'a> Parser<'a> {
    /// Parses the declaration after `.global` or another state space: a type and one or more names,
    /// up to the semicolon.
    pub(super) fn variables(
        &mut self,
        linkage: Linkage,
        space: Space,
    ) -> Result<Vec<Variable<'a>>> {
        let mut variable = self.variable(linkage, space)?;
        let mut variables = Vec::with_capacity(1);
        loop {
            if self.take(b'=')? {
                variable.init = Some(self.init(0)?);
            }
            let next = Variable {
                init: None,
                extents: Vec::new(),
                attributes: variable.attributes.clone(),
                ..variable
            };
            variables.push(variable);
            if !self.take(b',')? {
                break;
            }
            variable = next;
            self.declarator(&mut variable)?;
        }
        self.expect(b';')?;
        Ok(variables)
    }

    /// Parses a variable without its initializer. The state space has already been parsed.
    pub(super) fn variable(&mut self, linkage: Linkage, space: Space) -> Result<Variable<'a>> {
        let mut variable = Variable {
            linkage,
            space,
            align: None,
            attributes: Vec::new(),
            vector: None,
            ty: crate::Type::B8,
            pointer: None,
            name: "",
            extents: Vec::new(),
            init: None,
            line: self.token.line,
        };
        let mut typed = false;
        while let Some(word) = self.dotted() {
            match word {
                "align" => {
                    self.bump()?;
                    variable.align = Some(self.alignment()?);
                }
                "attribute" => {
                    self.bump()?;
                    variable.attributes = self.attributes()?;
                }
                "v2" | "v4" | "v8" => {
                    self.bump()?;
                    variable.vector = Some(u32::from(word.as_bytes()[1] - b'0'));
                }
                "ptr" => {
                    self.bump()?;
                    variable.pointer = Some(self.pointer()?);
                }
                _ => {
                    variable.ty = self.ty()?;
                    typed = true;
                }
            }
        }
        if !typed {
            return self.expected("a type");
        }
        self.declarator(&mut variable)?;
        Ok(variable)
    }

    fn declarator(&mut self, variable: &mut Variable<'a>) -> Result<()> {
        variable.line = self.token.line;
        variable.name = self.name("a variable's name")?;
        while self.take(b'[')? {
            let extent = if self.at(b']') {
                None
            } else {
                let extent = self.constant()?;
                if extent.negative {
                    return self.error("an array's extent cannot be negative");
                }
                Some(extent.bits)
            };
            self.expect(b']')?;
            variable.extents.push(extent);
        }
        Ok(())
    }

    pub(super) fn alignment(&mut self) -> Result<u32> {
        let align = self.unsigned_32("an alignment")?;
        if !align.is_power_of_two() {
            return self.error(format!("the alignment {align} is not a power of two"));
        }
        Ok(align)
    }

    /// Parses `(name, name(arguments))`; each attribute is unchanged text.
    pub(super) fn attributes(&mut self) -> Result<Vec<&'a str>> {
        self.expect(b'(')?;
        let mut attributes = Vec::new();
        loop {
            let start = self.token.start;
            let mut end = self.token.end;
            self.bump()?;
            if self.at(b'(') {
                while !self.at(b')') {
                    if self.token.kind == Kind::Eof {
                        return self.expected("`)`");
                    }
                    self.bump()?;
                }
                end = self.token.end;
                self.bump()?;
            }
            attributes.push(self.lexer.text(start, end));
            if !self.take(b',')? {
                break;
            }
        }
        self.expect(b')')?;
        Ok(attributes)
    }

    fn pointer(&mut self) -> Result<Pointer<'a>> {
        let mut pointer = Pointer {
            space: None,
            align: None,
        };
        while let Some(word) = self.dotted() {
            match word {
                "align" => {
                    self.bump()?;
                    pointer.align = Some(self.alignment()?);
                }
                "global" | "const" | "local" | "shared" | "generic" => {
                    self.bump()?;
                    pointer.space = Some(word);
                }
                _ => break,
            }
        }
        Ok(pointer)
    }

    fn init(&mut self, depth: u32) -> Result<Init<'a>> {
        if depth >= MAX_DEPTH {
            return self.error("this initializer nests too deeply");
        }
        match self.token.kind {
            Kind::Punct(b'{') => {
                self.bump()?;
                let mut values = Vec::new();
                while !self.at(b'}') {
                    values.push(self.init(depth + 1)?);
                    if !self.take(b',')? {
                        break;
                    }
                }
                self.expect(b'}')?;
                Ok(Init::List(values))
            }
            Kind::F32(bits) => {
                self.bump()?;
                Ok(Init::F32(bits))
            }
            Kind::F64(bits) => {
                self.bump()?;
                Ok(Init::F64(bits))
            }
            Kind::Punct(b'-')
                if matches!(self.lexer.byte_at(self.token.end), Some(b'0'..=b'9')) =>
            {
                self.negative()
            }
            Kind::Ident if self.text() != "WARP_SZ" => {
                Ok(Init::Symbol(Box::new(self.symbol(None)?)))
            }
            Kind::Int(mask) if self.lexer.byte_at(self.token.end) == Some(b'(') => {
                self.bump()?;
                self.expect(b'(')?;
                let value = if self.token.kind == Kind::Ident {
                    Init::Symbol(Box::new(self.symbol(Some(mask))?))
                } else {
                    // A byte of a pointer that is a number, such as a dangling pointer.
                    let bits = self.constant()?.bits;
                    Init::Integer(Integer::unsigned(
                        (bits & mask)
                            .checked_shr(mask.trailing_zeros())
                            .unwrap_or(0),
                    ))
                };
                self.expect(b')')?;
                Ok(value)
            }
            _ => Ok(Init::Integer(self.constant()?)),
        }
    }

    /// Parses a minus followed by a float or an integer.
    fn negative(&mut self) -> Result<Init<'a>> {
        // Only floats are handled here: the parser of constants accepts only integers.
        let rest = self.lexer.text(self.token.end, self.token.end + 1);
        debug_assert!(rest.as_bytes()[0].is_ascii_digit());
        let mut ahead = self.lexer.clone();
        Ok(match ahead.next()?.kind {
            Kind::F32(bits) => {
                self.bump()?;
                self.bump()?;
                Init::F32(bits ^ 1 << 31)
            }
            Kind::F64(bits) => {
                self.bump()?;
                self.bump()?;
                Init::F64(bits ^ 1 << 63)
            }
            _ => Init::Integer(self.constant()?),
        })
    }

    /// Parses `generic(name)+offset` or `name+offset`.
    fn symbol(&mut self, mask: Option<u64>) -> Result<SymbolValue<'a>> {
        let mut name = self.name("a symbol")?;
        let generic = name == "generic" && self.take(b'(')?;
        if generic {
            name = self.name("a symbol")?;
            self.expect(b')')?;
        }
        Ok(SymbolValue {
            name,
            generic,
            offset: self.offset()?,
            mask,
        })
    }
}
