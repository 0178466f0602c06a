//! Splits PTX text into tokens. `parse` requests one token at a time, so a file is scanned once and
//! nothing is copied; a token's text is a slice of the source.

use crate::Error;

/// The kind of a token. [`Token::start`] and [`Token::end`] delimit its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A name: register, symbol, label or the first part of an opcode.
    Ident,
    /// `.word`, with `::` parts (`.shared::cta`).
    Dotted,
    /// An integer literal.
    Int(u64),
    /// `0fXXXXXXXX`.
    F32(u32),
    /// `0dXXXXXXXXXXXXXXXX`, or a decimal floating-point literal.
    F64(u64),
    /// A quoted string; the text includes the quotes.
    Str,
    /// One punctuation character; `<<`, `>>`, `<=`, `>=`, `==`, `!=`, `&&`, `||` are two tokens.
    Punct(u8),
    /// The end of the file.
    Eof,
}

/// A token and its position in the source.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub kind: Kind,
    pub start: usize,
    pub end: usize,
    pub line: u32,
}

/// The state of scanning a source text.
#[derive(Clone)]
pub(crate) struct Lexer<'a> {
    source: &'a str,
    bytes: &'a [u8],
    position: usize,
    line: u32,
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'%')
}

impl<'a> Lexer<'a> {
    pub fn new(source: &'a str) -> Self {
        Lexer {
            source,
            bytes: source.as_bytes(),
            position: 0,
            line: 1,
        }
    }

    /// Returns the source text between two byte offsets.
    pub fn text(&self, start: usize, end: usize) -> &'a str {
        &self.source[start..end]
    }

    /// Returns the byte at an offset.
    pub fn byte_at(&self, position: usize) -> Option<u8> {
        self.bytes.get(position).copied()
    }

    fn error<T>(&self, message: impl Into<String>) -> Result<T, Error> {
        Err(Error {
            line: self.line,
            message: message.into(),
        })
    }

    fn byte(&self, position: usize) -> u8 {
        self.bytes.get(position).copied().unwrap_or(0)
    }

    fn skip_blank(&mut self) -> Result<(), Error> {
        loop {
            match self.byte(self.position) {
                b'\n' => {
                    self.line += 1;
                    self.position += 1;
                }
                b' ' | b'\t' | b'\r' | 0x0b | 0x0c => self.position += 1,
                // libnvvm's raw output ends in a NUL byte.
                0 if self.position < self.bytes.len() => self.position += 1,
                b'/' if self.byte(self.position + 1) == b'/' => {
                    while self.position < self.bytes.len() && self.bytes[self.position] != b'\n' {
                        self.position += 1;
                    }
                }
                b'/' if self.byte(self.position + 1) == b'*' => {
                    let start = self.line;
                    self.position += 2;
                    loop {
                        if self.position >= self.bytes.len() {
                            return Err(Error {
                                line: start,
                                message: "unterminated comment".into(),
                            });
                        }
                        match self.bytes[self.position] {
                            b'\n' => self.line += 1,
                            b'*' if self.byte(self.position + 1) == b'/' => {
                                self.position += 2;
                                break;
                            }
                            _ => {}
                        }
                        self.position += 1;
                    }
                }
                _ => return Ok(()),
            }
        }
    }

    /// Returns whether the next character after white space and comments is a single `:`, which
    /// makes the preceding name a label.
    pub fn colon_follows(&mut self) -> Result<bool, Error> {
        self.skip_blank()?;
        Ok(self.byte(self.position) == b':' && self.byte(self.position + 1) != b':')
    }

    pub fn next(&mut self) -> Result<Token, Error> {
        self.skip_blank()?;
        let start = self.position;
        let line = self.line;
        let first = self.byte(start);
        let kind = match first {
            0 if start >= self.bytes.len() => Kind::Eof,
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' | b'%' => {
                self.skip_name();
                Kind::Ident
            }
            b'.' if is_name_byte(self.byte(start + 1)) => {
                self.position += 1;
                self.skip_name();
                while self.byte(self.position) == b':'
                    && self.byte(self.position + 1) == b':'
                    && is_name_byte(self.byte(self.position + 2))
                {
                    self.position += 2;
                    self.skip_name();
                }
                Kind::Dotted
            }
            b'0'..=b'9' => self.number()?,
            b'"' => {
                self.position += 1;
                loop {
                    match self.bytes.get(self.position) {
                        None | Some(b'\n') => return self.error("unterminated string"),
                        Some(b'\\') => self.position += 2,
                        Some(b'"') => break,
                        Some(_) => self.position += 1,
                    }
                }
                self.position += 1;
                Kind::Str
            }
            _ if first.is_ascii() && first > b' ' => {
                self.position += 1;
                Kind::Punct(first)
            }
            _ => {
                let found = self
                    .source
                    .get(start..)
                    .and_then(|rest| rest.chars().next());
                let found = found.unwrap_or(char::REPLACEMENT_CHARACTER);
                return self.error(format!("unexpected character {found:?}"));
            }
        };
        Ok(Token {
            kind,
            start,
            end: self.position,
            line,
        })
    }

    fn skip_name(&mut self) {
        while is_name_byte(self.byte(self.position)) {
            self.position += 1;
        }
    }

    fn number(&mut self) -> Result<Kind, Error> {
        let start = self.position;
        let (radix, digits) = match (self.byte(start), self.byte(start + 1)) {
            (b'0', b'f' | b'F') => return self.hex_float(8),
            (b'0', b'd' | b'D') => return self.hex_float(16),
            (b'0', b'x' | b'X') => (16, start + 2),
            (b'0', b'b' | b'B') => (2, start + 2),
            (b'0', b'0'..=b'7') => (8, start + 1),
            _ => (10, start),
        };
        let mut end = digits;
        while self.byte(end).is_ascii_hexdigit() && (radix == 16 || self.byte(end).is_ascii_digit())
        {
            end += 1;
        }
        // A decimal fraction or exponent. No other token starts with `.` directly after a number.
        let fraction = self.byte(end) == b'.' && !is_name_byte(self.byte(end + 1))
            || self.byte(end) == b'.' && self.byte(end + 1).is_ascii_digit();
        if radix != 16 && radix != 2 && (fraction || matches!(self.byte(end), b'e' | b'E')) {
            return self.decimal_float(start);
        }
        self.position = end;
        let text = &self.source[digits..end];
        let Ok(value) = u64::from_str_radix(text, radix) else {
            let text = &self.source[start..end];
            return self.error(format!("`{text}` is not a number of at most 64 bits"));
        };
        // The suffix of an unsigned constant.
        if matches!(self.byte(self.position), b'U' | b'u') {
            self.position += 1;
        }
        if is_name_byte(self.byte(self.position)) {
            self.skip_name();
            let text = &self.source[start..self.position];
            return self.error(format!("`{text}` is not a number"));
        }
        Ok(Kind::Int(value))
    }

    fn hex_float(&mut self, digits: usize) -> Result<Kind, Error> {
        let start = self.position;
        self.position += 2;
        self.skip_name();
        let text = &self.source[start + 2..self.position];
        let value = (text.len() == digits)
            .then(|| u64::from_str_radix(text, 16).ok())
            .flatten();
        match value {
            Some(value) if digits == 8 => Ok(Kind::F32(value as u32)),
            Some(value) => Ok(Kind::F64(value)),
            None => {
                let text = &self.source[start..self.position];
                self.error(format!(
                    "`{text}` is not a float of {digits} hexadecimal digits"
                ))
            }
        }
    }

    fn decimal_float(&mut self, start: usize) -> Result<Kind, Error> {
        let mut end = start;
        while self.byte(end).is_ascii_digit() || self.byte(end) == b'.' {
            end += 1;
        }
        if matches!(self.byte(end), b'e' | b'E') {
            end += 1;
            if matches!(self.byte(end), b'+' | b'-') {
                end += 1;
            }
            while self.byte(end).is_ascii_digit() {
                end += 1;
            }
        }
        self.position = end;
        let text = &self.source[start..end];
        match text.parse::<f64>() {
            Ok(value) => Ok(Kind::F64(value.to_bits())),
            Err(_) => self.error(format!("`{text}` is not a number")),
        }
    }
}
