//! Splits the text into tokens.

use std::fmt;

use super::{ReadError, Result};

/// A word with its place.
#[derive(Copy, Clone, Debug)]
pub(super) struct Token<'t> {
    pub(super) tok: Tok<'t>,
    pub(super) line: u32,
    pub(super) column: u32,
}

/// A word.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Tok<'t> {
    /// `name`
    Word(&'t str),
    /// `name:`, a block's or a field's
    Label(&'t str),
    /// `%name`
    Local(&'t str),
    /// `@name`
    Global(&'t str),
    /// `!name`
    Meta(&'t str),
    /// `!5`
    Node(u32),
    /// `!`
    Bang,
    /// `-5`, `0x7FF0…`, `0xH3C00`, `1.5e3`
    Number(&'t str),
    /// `"text"`, not unescaped
    Str(&'t str),
    /// `c"text"`, not unescaped
    Bytes(&'t str),
    /// `...`
    Dots,
    /// Anything else.
    Punct(char),
    /// The end of the text.
    End,
}

impl fmt::Display for Tok<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tok::Word(word) | Tok::Number(word) => write!(f, "`{word}`"),
            Tok::Label(name) => write!(f, "`{name}:`"),
            Tok::Local(name) => write!(f, "`%{name}`"),
            Tok::Global(name) => write!(f, "`@{name}`"),
            Tok::Meta(name) => write!(f, "`!{name}`"),
            Tok::Node(number) => write!(f, "`!{number}`"),
            Tok::Bang => write!(f, "`!`"),
            Tok::Str(_) | Tok::Bytes(_) => write!(f, "a string"),
            Tok::Dots => write!(f, "`...`"),
            Tok::Punct(c) => write!(f, "`{c}`"),
            Tok::End => write!(f, "the end"),
        }
    }
}

fn is_name(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-' | b'$')
}

pub(super) fn tokens(text: &str) -> Result<Vec<Token<'_>>> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::with_capacity(text.len() / 4);
    let (mut at, mut line, mut line_start) = (0, 1u32, 0);
    while at < bytes.len() {
        let start = at;
        let column = (start - line_start) as u32 + 1;
        let error = |message: &str| ReadError {
            line,
            column,
            message: message.into(),
        };
        let name_end = |from: usize| {
            bytes[from..]
                .iter()
                .position(|&b| !is_name(b))
                .map_or(bytes.len(), |n| from + n)
        };
        let string_end = |from: usize| {
            let end = bytes[from..].iter().position(|&b| b == b'"' || b == b'\n');
            end.filter(|n| bytes[from + n] == b'"').map(|n| from + n)
        };
        let tok = match bytes[at] {
            b'\n' => {
                at += 1;
                line += 1;
                line_start = at;
                continue;
            }
            b' ' | b'\t' | b'\r' => {
                at += 1;
                continue;
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                let end = text[at..]
                    .find("*/")
                    .ok_or_else(|| error("a comment without an end"))?;
                line += text[at..at + end].matches('\n').count() as u32;
                at += end + 2;
                continue;
            }
            b';' => {
                at = bytes[at..]
                    .iter()
                    .position(|&b| b == b'\n')
                    .map_or(bytes.len(), |n| at + n);
                continue;
            }
            sigil @ (b'%' | b'@') if bytes.get(at + 1) == Some(&b'"') => {
                let end = string_end(at + 2).ok_or_else(|| error("a name without an end"))?;
                at = end + 1;
                let name = &text[start + 2..end];
                if sigil == b'%' {
                    Tok::Local(name)
                } else {
                    Tok::Global(name)
                }
            }
            // `+inf`, `+qnan`: LLVM 23's special floats, whose minus is part of a number.
            b'+' if bytes.get(at + 1).is_some_and(u8::is_ascii_alphabetic) => {
                at = name_end(at + 1);
                Tok::Number(&text[start..at])
            }
            sigil @ (b'%' | b'@') => {
                at = name_end(at + 1);
                let name = &text[start + 1..at];
                if name.is_empty() {
                    return Err(error("a name is missing here"));
                }
                if sigil == b'%' {
                    Tok::Local(name)
                } else {
                    Tok::Global(name)
                }
            }
            b'!' => {
                at = name_end(at + 1);
                let name = &text[start + 1..at];
                match name.parse() {
                    Ok(number) => Tok::Node(number),
                    Err(_) if name.is_empty() => Tok::Bang,
                    Err(_) => Tok::Meta(name),
                }
            }
            b'"' => {
                let end = string_end(at + 1).ok_or_else(|| error("a string without an end"))?;
                at = end + 1;
                if bytes.get(at) == Some(&b':') {
                    at += 1;
                    Tok::Label(&text[start + 1..end])
                } else {
                    Tok::Str(&text[start + 1..end])
                }
            }
            b'c' if bytes.get(at + 1) == Some(&b'"') => {
                let end = string_end(at + 2).ok_or_else(|| error("a string without an end"))?;
                at = end + 1;
                Tok::Bytes(&text[start + 2..end])
            }
            b'.' if text[at..].starts_with("...") => {
                at += 3;
                Tok::Dots
            }
            b if is_name(b) => {
                at = name_end(at);
                if bytes.get(at) == Some(&b':') {
                    at += 1;
                    Tok::Label(&text[start..at - 1])
                } else if b.is_ascii_digit() || b == b'-' || text[start..at].starts_with("f0x") {
                    // An exponent's plus.
                    if bytes.get(at) == Some(&b'+') && bytes[at - 1] == b'e' {
                        at = name_end(at + 1);
                    }
                    Tok::Number(&text[start..at])
                } else {
                    Tok::Word(&text[start..at])
                }
            }
            b if b.is_ascii() => {
                at += 1;
                Tok::Punct(b as char)
            }
            _ => return Err(error("a character that is none of the language")),
        };
        tokens.push(Token { tok, line, column });
    }
    let column = (at - line_start) as u32 + 1;
    tokens.push(Token {
        tok: Tok::End,
        line,
        column,
    });
    Ok(tokens)
}

/// The bytes of a string: `\XX` is a byte by its two hexadecimal digits, `\\` a backslash.
pub(super) fn unescape(raw: &str) -> Vec<u8> {
    let bytes = raw.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = bytes
            .get(at + 1..at + 3)
            .and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) if bytes[at] == b'\\' => {
                out.push(byte);
                at += 3;
            }
            _ => {
                out.push(bytes[at]);
                at += usize::from(bytes[at..].starts_with(b"\\\\"));
                at += 1;
            }
        }
    }
    out
}
