//! Reads the outline of PTX text without parsing all of it: the header, the kernels with the sizes
//! of their parameters, and the external functions. The text need not be valid PTX, and nothing is
//! rejected here; [`Module::parse`] or the driver determines whether the text is valid.
//!
//! [`Module::parse`]: crate::Module::parse

use crate::hash::HashSet;
use std::ops::Range;

use crate::lexer::{Kind, Lexer, Token};

/// The first lines of a module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header<'a> {
    /// The `.version`, such as `9.0`.
    pub version: Option<&'a str>,
    /// The arguments of `.target`: the architecture, such as `sm_90`, and options.
    pub target: Vec<&'a str>,
}

/// A kernel that a module defines or declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name.
    pub name: String,
    /// The sizes of the parameters in bytes, or `None` if they cannot be read.
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

/// Returns the kernels of a module, each once.
///
/// ```
/// let entries = ptx::entries(".version 8.0 .target sm_90 .entry k(.param .u64 data, .param .f32 by)");
/// assert_eq!(entries[0].name, "k");
/// assert_eq!(entries[0].parameters, Some(vec![8, 4]));
/// ```
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

/// Returns the names of the functions that a module declares as external (`.extern .func`). These
/// include intrinsics that libnvvm does not know, with the dots in their names.
pub fn external_functions(ptx: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut tokens = Tokens::new(ptx);
    while let Some(token) = tokens.next() {
        if token != ".extern" || tokens.peek() != Some(".func") {
            continue;
        }
        tokens.next();
        if tokens.peek() == Some("(") {
            // The return parameters.
            while tokens.next().is_some_and(|token| token != ")") {}
        }
        names.extend(tokens.name());
    }
    names
}

/// Returns the sizes of the parameters up to the closing parenthesis.
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

/// Returns the size in bytes of a fundamental type such as `.u64`.
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

/// Returns the PTX with only the bodies of the functions whose text `keep` accepts. The other
/// functions become external declarations. Debug information, `.target` options, and repeated
/// declarations of variables are removed too, since they may refer to removed code. Each line keeps
/// its number. `global_asm!` is unchanged, and so is everything after text that is not PTX.
///
/// ptxas can check the result in a fraction of the time that the whole program takes.
pub fn keep_bodies(ptx: &str, keep: impl Fn(&str) -> bool) -> String {
    let mut lexer = Lexer::new(ptx);
    let tokens: Vec<Token> = std::iter::from_fn(|| lexer.next().ok())
        .take_while(|token| token.kind != Kind::Eof)
        .collect();
    let text = |at: usize| {
        tokens
            .get(at)
            .map_or("", |token| &ptx[token.start..token.end])
    };
    // Finds the first token, from index `at` on, that is one of `wanted`.
    let find =
        |at: usize, wanted: &[&str]| (at..tokens.len()).find(|&at| wanted.contains(&text(at)));
    let closing = |open: usize| {
        let mut depth = 0;
        (open..tokens.len()).find(|&at| {
            match text(at) {
                "{" => depth += 1,
                "}" => depth -= 1,
                _ => {}
            }
            depth == 0
        })
    };
    let file_scope = file_scope(ptx);
    // Replacements of byte ranges.
    let mut edits: Vec<(Range<usize>, &str)> = Vec::new();
    let mut functions: Vec<Outline> = Vec::new();
    let mut declared = HashSet::default();
    let mut at = 0;
    while at < tokens.len() {
        let linkage = matches!(text(at), ".visible" | ".weak" | ".extern" | ".common");
        let kind = at + usize::from(linkage);
        let start = tokens[at].start;
        let last = match text(kind) {
            ".func" | ".entry" => {
                let Some(head) = find(kind, &[";", "{"]) else {
                    break;
                };
                let name = match text(kind + 1) {
                    "(" => find(kind, &[")"]).map_or(kind, |end| end + 1),
                    _ => kind + 1,
                };
                let Some(last) = (match text(head) {
                    "{" => closing(head),
                    _ => Some(head),
                }) else {
                    break;
                };
                if !file_scope.iter().any(|range| range.contains(&start)) {
                    functions.push(Outline {
                        name: text(name),
                        entry: text(kind) == ".entry",
                        keyword: start..tokens[kind.min(last)].end,
                        body: tokens[head].start..tokens[last].end,
                        tokens: head..last,
                    });
                }
                last
            }
            ".section" => {
                let Some(last) = find(at, &["{"]).and_then(closing) else {
                    break;
                };
                edits.push((start..tokens[last].end, ""));
                last
            }
            ".target" => {
                let mut last = at + 1;
                while text(last + 1) == "," {
                    last += 2;
                }
                if let (Some(arch), Some(end)) = (tokens.get(at + 1), tokens.get(last)) {
                    edits.push((arch.end..end.end, ""));
                }
                last
            }
            _ if linkage => {
                let Some(last) = find(at, &[";"]) else { break };
                let name = tokens[at..last]
                    .iter()
                    .find(|token| token.kind == Kind::Ident);
                let name = name.map_or("", |token| &ptx[token.start..token.end]);
                let repeated = text(at) != ".extern" && declared.contains(name);
                if repeated {
                    edits.push((start..tokens[last].end, ""));
                } else if text(at) == ".extern" {
                    declared.insert(name);
                }
                last
            }
            _ => at,
        };
        at = last + 1;
    }
    let kept: HashSet<&str> = (functions.iter())
        .filter(|function| keep(&ptx[function.body.clone()]))
        .map(|function| function.name)
        .collect();
    for function in functions {
        if kept.contains(function.name) {
            for at in function.tokens.filter(|&at| text(at) == ".loc") {
                let start = tokens[at].start;
                let end = ptx[start..].find('\n').map_or(ptx.len(), |end| start + end);
                edits.push((start..end, ""));
            }
        } else if function.entry || !declared.insert(function.name) {
            edits.push((function.keyword.start..function.body.end, ""));
        } else {
            edits.push((function.keyword, ".extern .func"));
            edits.push((function.body, ";"));
        }
    }
    edits.sort_by_key(|(range, _)| range.start);
    let mut result = String::with_capacity(ptx.len());
    let mut done = 0;
    for (range, replacement) in edits {
        result.push_str(&ptx[done..range.start]);
        result.push_str(replacement);
        result.extend(ptx[range.clone()].matches('\n'));
        done = range.end;
    }
    result.push_str(&ptx[done..]);
    result
}

/// The positions of a function's parts, as byte ranges.
struct Outline<'a> {
    name: &'a str,
    entry: bool,
    /// The linkage, and `.func` or `.entry`.
    keyword: Range<usize>,
    /// The body with its braces, or the semicolon of a declaration.
    body: Range<usize>,
    /// The tokens of the body.
    tokens: Range<usize>,
}

/// Returns the ranges of `global_asm!`, which libnvvm marks with comments.
fn file_scope(ptx: &str) -> Vec<Range<usize>> {
    let starts = ptx.match_indices("// Start of file scope inline assembly");
    let range = |(start, _)| {
        let end = ptx[start..].find("// End of file scope inline assembly");
        start..end.map_or(ptx.len(), |end| start + end)
    };
    starts.map(range).collect()
}

/// The tokens outside function bodies and initializers, without comments, up to the end or to the
/// first invalid token.
struct Tokens<'a> {
    lexer: Lexer<'a>,
    peeked: Option<Option<&'a str>>,
    /// The end of the last token that was read.
    end: usize,
}

impl<'a> Tokens<'a> {
    fn new(ptx: &'a str) -> Tokens<'a> {
        Tokens {
            lexer: Lexer::new(ptx),
            peeked: None,
            end: 0,
        }
    }

    fn peek(&mut self) -> Option<&'a str> {
        if self.peeked.is_none() {
            self.peeked = Some(self.read());
        }
        self.peeked.flatten()
    }

    /// Returns the next token, joined with tokens that start with a dot and directly follow it.
    fn name(&mut self) -> Option<&'a str> {
        let first = self.next()?;
        let (end, mut name) = (self.end, first);
        while self.peeked.is_none() {
            let mut ahead = self.lexer.clone();
            match ahead.next() {
                Ok(token) if token.kind == Kind::Dotted && token.start == self.end => {
                    name = ahead.text(end - first.len(), token.end);
                    self.end = token.end;
                    self.lexer = ahead;
                }
                _ => break,
            }
        }
        Some(name)
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
                _ if depth == 0 => {
                    self.end = token.end;
                    return Some(self.lexer.text(token.start, token.end));
                }
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
        .extern .func (.param .b32 func_retval0) llvm.nvvm.no.such
        ()
        ;
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
    fn external_functions_are_found() {
        assert_eq!(
            external_functions(PTX),
            ["several", "none", "llvm.nvvm.no.such"]
        );
    }

    const WITH_ASSEMBLY: &str = "\
.version 9.0
.target sm_75, debug
.extern .global .align 8 .u64 me[2];
.visible .global .align 8 .u64 me[2] = {generic(me), plain};
.visible .global .align 8 .u64 other[2] = {0, 0};
.func plain(
	.param .b32 plain_param_0);
.visible .entry kernel(
	.param .u64 kernel_param_0)
{
	.loc 1 2 3
	ret;
}
.func  (.param .b32 func_retval0) with()
{
	.loc 1 2 3, function_name $L0, inlined_at 1 2 3
	// asm
	{ call.uni plain, (p); }
	ret;
}
	// Start of file scope inline assembly
.func global() { ret; }
	// End of file scope inline assembly
.func plain(
	.param .b32 plain_param_0)
{
	ret;
}
	.section	.debug_abbrev
	{
.b8 1
	}
";

    #[test]
    fn bodies_are_removed_and_line_numbers_kept() {
        let expected = "\
.version 9.0
.target sm_75
.extern .global .align 8 .u64 me[2];

.visible .global .align 8 .u64 other[2] = {0, 0};
.extern .func plain(
	.param .b32 plain_param_0);






.func  (.param .b32 func_retval0) with()
{

	// asm
	{ call.uni plain, (p); }
	ret;
}
	// Start of file scope inline assembly
.func global() { ret; }
	// End of file scope inline assembly









";
        let text = keep_bodies(WITH_ASSEMBLY, |body| body.contains("// asm"));
        let lines: Vec<&str> = text.lines().map(|line| line.trim_end()).collect();
        assert_eq!(lines, expected.lines().collect::<Vec<_>>());
    }

    #[test]
    fn text_that_is_not_ptx_is_kept() {
        for wrong in ["\"", "}", "{", "/*"] {
            let text = WITH_ASSEMBLY.replace("call.uni", wrong);
            let kept = keep_bodies(&text, |body| body.contains("// asm"));
            assert!(kept.contains(wrong), "{kept}");
            assert_eq!(kept.lines().count(), text.lines().count(), "{kept}");
        }
    }

    #[test]
    fn no_text_panics_the_reader() {
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
            keep_bodies(text, |_| false);
            assert_eq!(header(text).version, None);
        }
    }
}
