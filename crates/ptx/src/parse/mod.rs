//! Parses tokens into a [`Module`]: module level, variables and debug sections here and in
//! `variable`, function headers and bodies in `function`, operands in `operand`, constants in
//! `constant`. Nesting depth is bounded, so that no input can exhaust the stack.

mod constant;
mod function;
mod operand;
mod variable;

use crate::lexer::{Kind, Lexer, Token};
use crate::{
    Error, File, Integer, Item, Linkage, Module, Section, SectionLine, SectionValue, Type,
};

/// The maximum nesting depth of blocks, lists and parentheses.
const MAX_DEPTH: u32 = 64;

pub(crate) fn module(text: &str) -> Result<Module<'_>, Error> {
    let mut parser = Parser::new(text)?;
    parser.module()
}

/// The lexer with one token of look-ahead.
struct Parser<'a> {
    lexer: Lexer<'a>,
    token: Token,
}

type Result<T, E = Error> = std::result::Result<T, E>;

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Result<Self> {
        let mut lexer = Lexer::new(text);
        let token = lexer.next()?;
        Ok(Parser { lexer, token })
    }

    /// Returns the text of the current token.
    fn text(&self) -> &'a str {
        self.lexer.text(self.token.start, self.token.end)
    }

    /// Advances, and returns the previous token.
    fn bump(&mut self) -> Result<Token> {
        let token = self.token;
        self.token = self.lexer.next()?;
        Ok(token)
    }

    fn error<T>(&self, message: impl Into<String>) -> Result<T> {
        Err(Error {
            line: self.token.line,
            message: message.into(),
        })
    }

    /// Returns the error that something else was expected here.
    fn expected<T>(&self, what: &str) -> Result<T> {
        match self.token.kind {
            Kind::Eof => self.error(format!("expected {what}, but the file ends here")),
            _ => {
                let mut found = self.text();
                if found.len() > 60 {
                    let end = (0..=60)
                        .rev()
                        .find(|&at| found.is_char_boundary(at))
                        .unwrap_or(0);
                    found = &found[..end];
                }
                self.error(format!("expected {what}, found `{found}`"))
            }
        }
    }

    fn at(&self, punct: u8) -> bool {
        self.token.kind == Kind::Punct(punct)
    }

    /// Consumes the punctuation if it is the current token.
    fn take(&mut self, punct: u8) -> Result<bool> {
        let found = self.at(punct);
        if found {
            self.bump()?;
        }
        Ok(found)
    }

    fn expect(&mut self, punct: u8) -> Result<()> {
        if self.take(punct)? {
            return Ok(());
        }
        self.expected(&format!("`{}`", punct as char))
    }

    /// Returns the word of a `.word` token, without its dot.
    fn dotted(&self) -> Option<&'a str> {
        (self.token.kind == Kind::Dotted).then(|| &self.text()[1..])
    }

    /// Consumes `.word` if it is the current token.
    fn take_dotted(&mut self, word: &str) -> Result<bool> {
        let found = self.dotted() == Some(word);
        if found {
            self.bump()?;
        }
        Ok(found)
    }

    fn name(&mut self, what: &str) -> Result<&'a str> {
        if self.token.kind != Kind::Ident {
            return self.expected(what);
        }
        let text = self.text();
        self.bump()?;
        Ok(text)
    }

    fn unsigned(&mut self, what: &str) -> Result<u64> {
        let Kind::Int(value) = self.token.kind else {
            return self.expected(what);
        };
        self.bump()?;
        Ok(value)
    }

    fn unsigned_32(&mut self, what: &str) -> Result<u32> {
        let line = self.token.line;
        let value = self.unsigned(what)?;
        u32::try_from(value).map_err(|_| Error {
            line,
            message: format!("{value} is too large for {what}"),
        })
    }

    fn string(&mut self) -> Result<&'a str> {
        if self.token.kind != Kind::Str {
            return self.expected("a string");
        }
        let text = self.text();
        self.bump()?;
        Ok(&text[1..text.len() - 1])
    }

    /// Parses a type name, such as `.b32`.
    fn ty(&mut self) -> Result<Type> {
        let Some(ty) = self.dotted().and_then(Type::from_name) else {
            return self.expected("a type");
        };
        self.bump()?;
        Ok(ty)
    }

    /// Parses the optional offset after a name: `+4`, `-4` or `+-4`.
    fn offset(&mut self) -> Result<i64> {
        let mut offset = 0i64;
        while self.at(b'+') || self.at(b'-') {
            let negative = self.bump()?.kind == Kind::Punct(b'-');
            let value = self.constant_operand()?.bits as i64;
            offset = if negative {
                offset.wrapping_sub(value)
            } else {
                offset.wrapping_add(value)
            };
        }
        Ok(offset)
    }

    fn module(&mut self) -> Result<Module<'a>> {
        let mut module = Module {
            version: (0, 0),
            target: Vec::new(),
            address_size: 64,
            items: Vec::new(),
        };
        if self.dotted() != Some("version") {
            return self.expected("`.version`, with which PTX begins");
        }
        self.bump()?;
        module.version = self.version()?;
        while self.token.kind != Kind::Eof {
            self.item(&mut module)?;
        }
        if module.target.is_empty() {
            return self.error("missing `.target`");
        }
        Ok(module)
    }

    /// Parses a version such as `9.0`, which is a float to the lexer.
    fn version(&mut self) -> Result<(u32, u32)> {
        let text = self.text();
        let parts = text
            .split_once('.')
            .and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
        match parts {
            Some(version) if matches!(self.token.kind, Kind::F64(_)) => {
                self.bump()?;
                Ok(version)
            }
            _ => self.expected("a version such as `8.0`"),
        }
    }

    fn item(&mut self, module: &mut Module<'a>) -> Result<()> {
        if self.take(b';')? {
            return Ok(());
        }
        let Some(mut word) = self.dotted() else {
            return self.expected("a directive");
        };
        match word {
            "target" => {
                self.bump()?;
                loop {
                    let target = self.name("an architecture such as `sm_75`")?;
                    module.target.push(target);
                    if !self.take(b',')? {
                        return Ok(());
                    }
                }
            }
            "address_size" => {
                self.bump()?;
                module.address_size = self.unsigned_32("an address size")?;
                return Ok(());
            }
            "file" => {
                self.bump()?;
                let file = self.file()?;
                module.items.push(Item::File(file));
                return Ok(());
            }
            "section" => {
                self.bump()?;
                let section = self.section()?;
                module.items.push(Item::Section(section));
                return Ok(());
            }
            "alias" => {
                self.bump()?;
                let name = self.name("a function's name")?;
                self.expect(b',')?;
                let target = self.name("a function's name")?;
                self.expect(b';')?;
                module.items.push(Item::Alias { name, target });
                return Ok(());
            }
            "pragma" => {
                self.bump()?;
                let texts = self.pragma()?;
                module.items.push(Item::Pragma(texts));
                return Ok(());
            }
            _ => {}
        }
        let linkage = match word {
            "extern" => Linkage::Extern,
            "visible" => Linkage::Visible,
            "weak" => Linkage::Weak,
            "common" => Linkage::Common,
            _ => Linkage::Internal,
        };
        if linkage != Linkage::Internal {
            self.bump()?;
            word = match self.dotted() {
                Some(word) => word,
                None => return self.expected("`.func`, `.entry` or a state space"),
            };
        }
        match word {
            "func" | "entry" => {
                self.bump()?;
                let function = self.function(linkage, word == "entry")?;
                module.items.push(Item::Function(function));
            }
            _ => match variable::space(word) {
                Some(space) => {
                    self.bump()?;
                    for variable in self.variables(linkage, space)? {
                        module.items.push(Item::Variable(variable));
                    }
                }
                None => return self.error(format!("unknown directive `.{word}`")),
            },
        }
        Ok(())
    }

    fn pragma(&mut self) -> Result<Vec<&'a str>> {
        let mut texts = vec![self.string()?];
        while self.take(b',')? {
            texts.push(self.string()?);
        }
        self.expect(b';')?;
        Ok(texts)
    }

    fn file(&mut self) -> Result<File<'a>> {
        let index = self.unsigned_32("a file's number")?;
        let name = self.string()?;
        let mut stamp = None;
        if self.take(b',')? {
            let time = self.unsigned("a time stamp")?;
            self.expect(b',')?;
            stamp = Some((time, self.unsigned("a file's size")?));
        }
        Ok(File { index, name, stamp })
    }

    fn section(&mut self) -> Result<Section<'a>> {
        let Some(_) = self.dotted() else {
            return self.expected("a section's name");
        };
        let name = self.text();
        let line = self.token.line;
        self.bump()?;
        self.expect(b'{')?;
        let mut lines = Vec::new();
        while !self.take(b'}')? {
            if self.token.kind == Kind::Ident {
                let label = self.name("a label")?;
                self.expect(b':')?;
                lines.push(SectionLine::Label(label));
                continue;
            }
            let ty = self.ty()?;
            let mut values = Vec::new();
            loop {
                let value = self.section_value()?;
                values.push(value);
                if !self.take(b',')? {
                    break;
                }
            }
            self.take(b';')?;
            lines.push(SectionLine::Data(ty, values));
        }
        Ok(Section { name, lines, line })
    }

    fn section_value(&mut self) -> Result<SectionValue<'a>> {
        let negative = self.take(b'-')?;
        match self.token.kind {
            Kind::Int(value) => {
                self.bump()?;
                let value = if negative {
                    Integer::signed((value as i64).wrapping_neg())
                } else {
                    Integer::unsigned(value)
                };
                Ok(SectionValue::Integer(value))
            }
            Kind::Ident | Kind::Dotted if !negative => {
                let name = self.text();
                self.bump()?;
                if self.at(b'-') {
                    self.bump()?;
                    if self.token.kind == Kind::Ident {
                        let other = self.name("a label")?;
                        return Ok(SectionValue::Difference(name, other));
                    }
                    let value = self.unsigned("a number")?;
                    return Ok(SectionValue::Symbol(name, (value as i64).wrapping_neg()));
                }
                Ok(SectionValue::Symbol(name, self.offset()?))
            }
            _ => self.expected("a number or a label"),
        }
    }
}
