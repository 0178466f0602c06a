//! What can be read of PTX without reading all of it, and of text that is not quite PTX: the header,
//! the kernels with the sizes of their parameters, and the functions that other modules define. Nothing
//! is refused here; whether the text is valid is the business of [`Module::parse`] or the driver.
//!
//! [`Module::parse`]: crate::Module::parse

use crate::lexer::{Kind, Lexer};

/// The first lines of a module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header<'a> {
    /// The `.version`, such as `9.0`.
    pub version: Option<&'a str>,
    /// The words of `.target`: the architecture, such as `sm_90`, and options.
    pub target: Vec<&'a str>,
}

/// A kernel that a module defines or declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// The sizes of its parameters in bytes; `None` if they cannot be read.
    pub parameters: Option<Vec<usize>>,
}

/// Reads the header of a module, up to its first function or variable.
///
/// ```
/// let header = ptx::header("// by hand\n.version 8.8\n.target sm_90a, debug\n.address_size 64");
/// assert_eq!(header.version, Some("8.8"));
/// assert_eq!(header.target, ["sm_90a", "debug"]);
/// ```
pub fn header(ptx: &str) -> Header<'_> {
    let mut header = Header::default();
    let mut tokens = Tokens::new(ptx);
    while let Some(token) = tokens.next() {
        match token {
            ".version" => header.version = tokens.next(),
            ".target" => loop {
                header.target.extend(tokens.next());
                if tokens.peek() != Some(",") {
                    break;
                }
                tokens.next();
            },
            ".address_size" => _ = tokens.next(),
            _ if header.version.is_some() => break,
            _ => {}
        }
    }
    header
}

/// The kernels of a module, each once.
pub fn entries(ptx: &str) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut tokens = Tokens::new(ptx);
    while let Some(token) = tokens.next() {
        if token != ".entry" {
            continue;
        }
        let Some(name) = tokens.next() else { break };
        if entries.iter().any(|entry| entry.name == name) {
            continue;
        }
        let parameters = if tokens.peek() == Some("(") {
            tokens.next();
            parameters(&mut tokens)
        } else {
            Some(Vec::new())
        };
        entries.push(Entry {
            name: name.to_owned(),
            parameters,
        });
    }
    entries
}

/// The names of the functions that a module declares as those of other modules (`.extern .func`).
pub fn external_functions(ptx: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut tokens = Tokens::new(ptx);
    while let Some(token) = tokens.next() {
        if token != ".extern" || tokens.peek() != Some(".func") {
            continue;
        }
        tokens.next();
        if tokens.peek() == Some("(") {
            // What it returns.
            while tokens.next().is_some_and(|token| token != ")") {}
        }
        names.extend(tokens.next());
    }
    names
}

/// The sizes of the parameters up to the closing parenthesis.
fn parameters(tokens: &mut Tokens<'_>) -> Option<Vec<usize>> {
    let mut sizes = Vec::new();
    loop {
        // One parameter: `.param .align 8 .b8 name[24]`, in tokens up to `,` or `)`.
        let mut element = None;
        let mut count = 1usize;
        let end = loop {
            match tokens.next()? {
                "[" => count = count.checked_mul(tokens.next()?.parse().ok()?)?,
                end @ ("," | ")") => break end,
                token => element = element.or_else(|| scalar_size(token)),
            }
        };
        match element {
            Some(size) => sizes.push(count.checked_mul(size)?),
            None if sizes.is_empty() && end == ")" => {}
            None => return None,
        }
        if end == ")" {
            return Some(sizes);
        }
    }
}

/// The size of a fundamental type such as `.u64`.
fn scalar_size(token: &str) -> Option<usize> {
    let kind = token.strip_prefix('.')?;
    match kind.trim_start_matches(|c: char| c.is_ascii_lowercase()) {
        "8" => Some(1),
        "16" => Some(2),
        "32" => Some(4),
        "64" => Some(8),
        "128" => Some(16),
        _ => None,
    }
}

/// The tokens outside of functions' bodies and initializers, without comments; up to the end, or to
/// what is no token.
struct Tokens<'a> {
    lexer: Lexer<'a>,
    peeked: Option<Option<&'a str>>,
}

impl<'a> Tokens<'a> {
    fn new(ptx: &'a str) -> Tokens<'a> {
        Tokens {
            lexer: Lexer::new(ptx),
            peeked: None,
        }
    }

    fn peek(&mut self) -> Option<&'a str> {
        if self.peeked.is_none() {
            self.peeked = Some(self.read());
        }
        self.peeked.flatten()
    }

    fn read(&mut self) -> Option<&'a str> {
        let mut depth = 0u32;
        loop {
            let token = self.lexer.next().ok()?;
            match token.kind {
                Kind::Eof => return None,
                Kind::Punct(b'{') => depth += 1,
                Kind::Punct(b'}') => depth = depth.saturating_sub(1),
                Kind::Str => {}
                _ if depth == 0 => return Some(self.lexer.text(token.start, token.end)),
                _ => {}
            }
        }
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        match self.peeked.take() {
            Some(token) => token,
            None => self.read(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = r#"
        // .entry commented_out()
        .version 8.8  /* .entry nor_this() */
        .target sm_90, debug
        .extern .func (.param .b32 func_retval0) several(
            .param .b64 several_param_0
        )
        ;
        .extern .func none;
        .extern .shared .align 4 .b8 room[];
        .visible .entry first(
            .param .u64 .ptr .global .align 4 first_param_0,
            .param .align 16 .b8 first_param_1[24],
            .param .f32 first_param_2
        )
        .maxntid 256, 1, 1
        { { .reg .b32 a; } ret; }
        .entry second() { ret; }
        .entry third { .pragma ".entry in_a_string(.param .u8 x)"; ret; }
        .entry large(.param .b8 a[18446744073709551615], .param .b8 b[2][3]) { ret; }
    "#;

    #[test]
    fn kernels_and_their_parameters_are_found() {
        let found = entries(PTX);
        let names: Vec<_> = found.iter().map(|entry| &entry.name[..]).collect();
        assert_eq!(names, ["first", "second", "third", "large"]);
        assert_eq!(found[0].parameters, Some(vec![8, 24, 4]));
        assert_eq!(found[1].parameters, Some(vec![]));
        assert_eq!(found[2].parameters, Some(vec![]));
        assert_eq!(found[3].parameters, Some(vec![usize::MAX, 6]));
    }

    #[test]
    fn the_header_is_found() {
        let found = header(PTX);
        assert_eq!(found.version, Some("8.8"));
        assert_eq!(found.target, ["sm_90", "debug"]);
        assert_eq!(header("nothing"), Header::default());
    }

    #[test]
    fn functions_of_other_modules_are_found() {
        assert_eq!(external_functions(PTX), ["several", "none"]);
    }

    #[test]
    fn any_text_is_survived() {
        for text in [
            "",
            ".entry",
            ".entry x(",
            ".entry x(.param",
            ".entry x(.param .b8 a[",
            ".target",
            ".target sm_90,",
            ".extern .func",
            ".extern .func (",
            "\"",
            "/*",
            "é.entry é(é[",
        ] {
            entries(text);
            external_functions(text);
            assert_eq!(header(text).version, None);
        }
    }
}
