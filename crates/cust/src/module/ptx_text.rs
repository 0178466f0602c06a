//! Reads from PTX text what checks and error messages need: the version, and each kernel's name
//! and parameter sizes. It never refuses anything: whether the text is valid is the driver's
//! business. Drivers since CUDA 12.4 tell the parameters themselves.

/// A kernel as the text declares it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) name: String,
    /// The parameters' sizes in bytes; `None` if they could not be made out.
    pub(super) parameters: Option<Vec<usize>>,
}

/// The `.version` of the text, such as `9.0`.
pub(super) fn version(ptx: &str) -> Option<String> {
    let mut tokens = Tokens::new(ptx);
    while let Some(token) = tokens.next() {
        if token == ".version" {
            return tokens.next().map(str::to_owned);
        }
    }
    None
}

/// The kernels that the text defines or declares.
pub(super) fn entries(ptx: &str) -> Vec<Entry> {
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
        let parameters = if tokens.clone().next() == Some("(") {
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

/// The sizes of the parameters up to the closing parenthesis.
fn parameters(tokens: &mut Tokens<'_>) -> Option<Vec<usize>> {
    let mut sizes = Vec::new();
    loop {
        // One parameter: `.param .align 8 .b8 name[24]`, in tokens up to `,` or `)`.
        let mut element = None;
        let mut count = 1;
        let end = loop {
            match tokens.next()? {
                "[" => count *= tokens.next()?.parse::<usize>().ok()?,
                end @ ("," | ")") => break end,
                token => element = element.or_else(|| scalar_size(token)),
            }
        };
        match element {
            Some(size) => sizes.push(size * count),
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

/// The words of a PTX text, without comments and strings.
#[derive(Clone)]
struct Tokens<'a> {
    rest: &'a str,
}

impl<'a> Tokens<'a> {
    fn new(text: &'a str) -> Tokens<'a> {
        Tokens { rest: text }
    }

    fn skip_to(&mut self, end: &str) {
        self.rest = match self.rest.split_once(end) {
            Some((_, rest)) => rest,
            None => "",
        };
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        loop {
            self.rest = self.rest.trim_start();
            if self.rest.starts_with("//") {
                self.skip_to("\n");
            } else if self.rest.starts_with("/*") {
                self.skip_to("*/");
            } else if self.rest.starts_with('"') {
                self.rest = &self.rest[1..];
                self.skip_to("\"");
            } else {
                break;
            }
        }
        let first = self.rest.chars().next()?;
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '%' | '.');
        let len = if is_word(first) {
            let end = self.rest.find(|c| !is_word(c));
            end.unwrap_or(self.rest.len())
        } else {
            first.len_utf8()
        };
        let (token, rest) = self.rest.split_at(len);
        self.rest = rest;
        Some(token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = r#"
        // .entry commented_out()
        .version 8.8  /* .entry nor_this() */
        .target sm_90, debug
        .visible .entry first(
            .param .u64 .ptr .global .align 4 first_param_0,
            .param .align 16 .b8 first_param_1[24],
            .param .f32 first_param_2
        )
        .maxntid 256, 1, 1
        { ret; }
        .entry second() { ret; }
        .entry third { .pragma ".entry in_a_string(.param .u8 x)"; ret; }
    "#;

    #[test]
    fn kernels_and_their_parameters_are_found() {
        let found = entries(PTX);
        let names: Vec<_> = found.iter().map(|entry| &entry.name[..]).collect();
        assert_eq!(names, ["first", "second", "third"]);
        assert_eq!(found[0].parameters, Some(vec![8, 24, 4]));
        assert_eq!(found[1].parameters, Some(vec![]));
        assert_eq!(found[2].parameters, Some(vec![]));
        assert_eq!(version(PTX).as_deref(), Some("8.8"));
    }

    #[test]
    fn any_text_is_survived() {
        for text in [
            "",
            ".entry",
            ".entry x(",
            ".entry x(.param",
            "\"",
            "/*",
            "é.entry é(é[",
        ] {
            entries(text);
            assert_eq!(version(text), None);
        }
    }
}
