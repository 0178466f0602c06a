//! Joins the PTX of the parts into which libnvvm splits a module (`-split-compile-extended`).
//!
//! libnvvm makes all symbols visible for that, and defines variables that several parts refer to as
//! `.weak` in each of them. The order of the parts, and of the variables in a part, varies from run
//! to run; that of the result does not.
//!
//! This works on text, because the comments around inline assembly identify it to the backend.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::ops::Range;

use crate::Error;
use crate::lexer::{Kind, Lexer, Token};
use crate::outline::file_scope;

/// The prefix of the labels that libnvvm generates.
const LABEL: &str = "$L__";

/// Joins the PTX of parts, which is in one text. All symbols become internal, except kernels and
/// those in `visible`.
///
/// ```
/// let header = ".version 9.0\n.target sm_90\n.address_size 64\n";
/// let caller = ".extern .func f\n;\n.visible .entry k()\n{\n\tcall.uni f, ();\n\tret;\n}\n";
/// let callee = ".visible .func f()\n{\n\tret;\n}\n";
/// let parts = format!("{header}{caller}{header}{callee}");
/// let joined = ptx::join(&parts, &[].into())?;
/// let f = ".func f()\n{\n\tret;\n}\n";
/// let k = ".visible .entry k()\n{\n\tcall.uni f, ();\n\tret;\n}\n";
/// assert_eq!(joined, format!("{header}.func f();\n{f}{k}"));
/// # Ok::<(), ptx::Error>(())
/// ```
///
/// # Errors
///
/// Returns an error if the text is not PTX as libnvvm writes it.
pub fn join(text: &str, visible: &HashSet<String>) -> Result<String, Error> {
    let mut starts: Vec<usize> = text.match_indices(".version ").map(|(at, _)| at).collect();
    starts.retain(|&at| at == 0 || text.as_bytes()[at - 1] == b'\n');
    let head = &text[..starts.first().copied().unwrap_or(0)];
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    let mut texts = Vec::with_capacity(starts.len());
    for (start, end) in starts.iter().copied().zip(ends) {
        let text = &text[start..end];
        let part = Part::read(text)?;
        // A visible function is in one part. libnvvm keeps the order of functions.
        let is_own = |item: &&Item<'_>| item.body.is_some() && item.linkage == Some(".visible");
        let first = part.compiled().find(is_own);
        texts.push((
            first.map_or("", |item| item.name).to_owned(),
            text.to_owned(),
        ));
    }
    texts.sort_unstable();
    let mut defined: HashSet<String> = HashSet::new();
    for (number, (_, text)) in texts.iter_mut().enumerate() {
        if number > 0 {
            // Labels of debug information are visible in the whole module.
            *text = text.replace(LABEL, &format!("$L{number}__"));
        }
        let part = Part::read(text)?;
        let own = || part.compiled().filter(|item| item.is_definition());
        // Internal functions and variables of which each part has its own, such as libdevice's.
        let taken: HashSet<String> = own()
            .filter(|item| item.linkage.is_none() && defined.contains(item.name))
            .map(|item| item.name.to_owned())
            .collect();
        defined.extend(own().map(|item| item.name.to_owned()));
        if !taken.is_empty() {
            *text = renamed(text, &taken, number)?;
        }
    }
    let parts: Vec<Part<'_>> = (texts.iter())
        .map(|(_, text)| Part::read(text))
        .collect::<Result<_, _>>()?;
    // What `global_asm!` defines keeps its name.
    let assembled = parts.iter().flat_map(|part| &part.items);
    let assembled = assembled.filter(|item| item.assembly && item.is_definition());
    defined.extend(assembled.map(|item| item.name.to_owned()));
    let mut out = head.to_owned();
    Joiner { visible, defined }.write(&parts, &mut out);
    Ok(out)
}

/// Renames symbols of a part.
fn renamed(text: &str, names: &HashSet<String>, number: usize) -> Result<String, Error> {
    let mut result = String::with_capacity(text.len());
    let mut done = 0;
    let mut lexer = Lexer::new(text);
    loop {
        let Token {
            kind, start, end, ..
        } = lexer.next()?;
        if kind == Kind::Eof {
            result.push_str(&text[done..]);
            return Ok(result);
        }
        if kind == Kind::Ident && names.contains(&text[start..end]) {
            result.push_str(&text[done..end]);
            let _ = write!(result, "_{number}");
            done = end;
        }
    }
}

/// The kind of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Function,
    Kernel,
    Variable,
    File,
    Section,
    Other,
}

/// A module-level directive.
#[derive(Debug)]
struct Item<'a> {
    what: What,
    name: &'a str,
    /// `.visible`, `.extern` or the like.
    linkage: Option<&'a str>,
    /// The text after the linkage.
    range: Range<usize>,
    /// The tokens after the name.
    tokens: Range<usize>,
    /// The position of the body, if the function has one.
    body: Option<usize>,
    /// Whether it is from `global_asm!`.
    assembly: bool,
}

impl Item<'_> {
    /// Returns whether this defines a function or variable.
    fn is_definition(&self) -> bool {
        match self.what {
            What::Function | What::Kernel => self.body.is_some(),
            What::Variable => self.linkage != Some(".extern"),
            What::File | What::Section | What::Other => false,
        }
    }
}

/// The PTX of a part.
struct Part<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    items: Vec<Item<'a>>,
    /// The end of the header.
    header: usize,
    /// The positions of `global_asm!`.
    assembly: Vec<Range<usize>>,
}

impl<'a> Part<'a> {
    fn read(text: &'a str) -> Result<Part<'a>, Error> {
        let mut lexer = Lexer::new(text);
        let mut tokens = Vec::new();
        loop {
            let token = lexer.next()?;
            if token.kind == Kind::Eof {
                break;
            }
            tokens.push(token);
        }
        let mut part = Part {
            text,
            tokens,
            items: Vec::new(),
            header: 0,
            assembly: file_scope(text),
        };
        let mut at = 0;
        while at < part.tokens.len() {
            at = part.item(at)?;
        }
        Ok(part)
    }

    /// Returns the items that libnvvm generated, not those of `global_asm!`.
    fn compiled(&self) -> impl Iterator<Item = &Item<'a>> {
        self.items.iter().filter(|item| !item.assembly)
    }

    fn word(&self, at: usize) -> &'a str {
        let token = self.tokens.get(at);
        token.map_or("", |token| &self.text[token.start..token.end])
    }

    /// Returns the first token, from index `at` on, that is one of `wanted`.
    fn find(&self, at: usize, wanted: &[&str]) -> Result<usize, Error> {
        (at..self.tokens.len())
            .find(|&at| wanted.contains(&self.word(at)))
            .ok_or_else(|| self.error(at, "the file ends within a directive"))
    }

    fn closing(&self, open: usize) -> Result<usize, Error> {
        let mut depth = 0;
        (open..self.tokens.len())
            .find(|&at| {
                match self.word(at) {
                    "{" => depth += 1,
                    "}" => depth -= 1,
                    _ => {}
                }
                depth == 0
            })
            .ok_or_else(|| self.error(open, "the file ends within a body"))
    }

    fn error(&self, at: usize, message: &str) -> Error {
        Error {
            line: self.tokens.get(at).map_or(0, |token| token.line),
            message: message.to_owned(),
        }
    }

    /// Reads the item that begins with a token. Returns the index of the next one.
    fn item(&mut self, at: usize) -> Result<usize, Error> {
        let linkage = matches!(self.word(at), ".visible" | ".weak" | ".extern" | ".common");
        let first = at + usize::from(linkage);
        let mut body = None;
        let (what, name, last) = match self.word(first) {
            ";" => return Ok(at + 1),
            ".version" | ".address_size" => {
                self.header = self.tokens.get(at + 1).map_or(0, |token| token.end);
                return Ok(at + 2);
            }
            ".target" => {
                let mut last = at + 1;
                while self.word(last + 1) == "," {
                    last += 2;
                }
                return Ok(last + 1);
            }
            kind @ (".func" | ".entry") => {
                let name = match self.word(first + 1) {
                    "(" => self.find(first, &[")"])? + 1,
                    _ => first + 1,
                };
                let mut last = self.find(first, &[";", "{"])?;
                if self.word(last) == "{" {
                    body = Some(self.tokens[last].start);
                    last = self.closing(last)?;
                }
                let what = match kind {
                    ".func" => What::Function,
                    _ => What::Kernel,
                };
                (what, name, last)
            }
            ".file" => {
                let mut last = first + 2;
                while self.word(last + 1) == "," {
                    last += 2;
                }
                (What::File, first + 1, last)
            }
            ".section" => {
                let open = self.find(first, &["{"])?;
                (What::Section, first + 1, self.closing(open)?)
            }
            ".global" | ".const" | ".shared" | ".local" | ".tex" => {
                let last = self.find(first, &[";"])?;
                let is_name = |&at: &usize| self.tokens[at].kind == Kind::Ident;
                let name = (first..last).find(is_name).unwrap_or(first);
                (What::Variable, name, last)
            }
            ".pragma" | ".alias" => (What::Other, first, self.find(first, &[";"])?),
            _ => return Err(self.error(first, "unknown directive")),
        };
        let Some(end) = self.tokens.get(last) else {
            return Err(self.error(first, "the file ends within a directive"));
        };
        let start = self.tokens[first].start;
        self.items.push(Item {
            what,
            assembly: self.assembly.iter().any(|range| range.contains(&start)),
            name: self.word(name),
            linkage: linkage.then(|| self.word(at)),
            range: start..end.end,
            tokens: name + 1..last + 1,
            body,
        });
        Ok(last + 1)
    }

    /// Returns the names in an item after its own name.
    fn names(&self, item: &Item<'_>) -> impl Iterator<Item = &'a str> {
        let tokens = item.tokens.clone();
        let idents = tokens.filter(|&at| self.tokens[at].kind == Kind::Ident);
        idents.map(|at| self.word(at))
    }
}

struct Joiner<'v> {
    /// The symbols that are visible outside the module.
    visible: &'v HashSet<String>,
    /// The symbols that a part defines.
    defined: HashSet<String>,
}

impl Joiner<'_> {
    fn write(&self, parts: &[Part<'_>], out: &mut String) {
        if let Some(first) = parts.first() {
            out.push_str(&first.text[..first.header]);
            out.push('\n');
        }
        self.declarations(parts, out);
        assembly(parts, out);
        self.variables(parts, out);
        let mut written = HashSet::new();
        let mut files: Vec<&str> = Vec::new();
        let mut numbers: HashMap<&str, usize> = HashMap::new();
        for part in parts {
            // The numbers of the files in the result.
            let mut own: HashMap<&str, usize> = HashMap::new();
            for item in part.compiled().filter(|item| item.what == What::File) {
                let at = part.tokens[item.tokens.start].start;
                let file = &part.text[at..item.range.end];
                let number = *numbers.entry(file).or_insert_with(|| {
                    files.push(file);
                    files.len()
                });
                own.insert(item.name, number);
            }
            for item in part.compiled() {
                if item.body.is_some() && written.insert(item.name) {
                    self.linkage(item, out);
                    function(part, item, &own, out);
                    out.push('\n');
                }
            }
        }
        for (file, number) in files.iter().zip(1..) {
            let _ = writeln!(out, ".file {number} {file}");
        }
        sections(parts, out);
    }

    /// Writes the linkage that an item has in the module.
    fn linkage(&self, item: &Item<'_>, out: &mut String) {
        let stays = item.what == What::Kernel
            || item.linkage == Some(".extern")
            || self.visible.contains(item.name);
        if let Some(linkage) = item.linkage.filter(|_| stays) {
            out.push_str(linkage);
            out.push(' ');
        }
    }

    /// Writes the declarations of what no part defines, and the prototypes of functions.
    fn declarations(&self, parts: &[Part<'_>], out: &mut String) {
        let mut declared = HashSet::new();
        let all = parts
            .iter()
            .flat_map(|part| part.compiled().map(move |item| (part, item)));
        let mut all: Vec<(&Part<'_>, &Item<'_>)> = all.collect();
        // Stable: declarations of a name are in the order of the parts.
        all.sort_by_key(|(_, item)| item.name);
        for (part, item) in all {
            let end = match (item.what, item.body) {
                (What::Other, _) => {
                    out.push_str(&part.text[item.range.clone()]);
                    out.push('\n');
                    continue;
                }
                // Another part may call it.
                (What::Function, Some(body)) => body,
                (What::Function, None) | (What::Variable, _) => item.range.end - 1,
                _ => continue,
            };
            let of_other = item.linkage == Some(".extern") && self.defined.contains(item.name);
            let is_variable = item.what == What::Variable && item.linkage != Some(".extern");
            if of_other || is_variable || !declared.insert(item.name) {
                continue;
            }
            self.linkage(item, out);
            out.push_str(part.text[item.range.start..end].trim_end());
            out.push_str(";\n");
        }
    }

    /// Writes the definitions of variables, each after those that its initializer refers to.
    fn variables(&self, parts: &[Part<'_>], out: &mut String) {
        let mut all: Vec<(&Part<'_>, &Item<'_>)> = (parts.iter())
            .flat_map(|part| part.compiled().map(move |item| (part, item)))
            .filter(|(_, item)| item.what == What::Variable && item.is_definition())
            .collect();
        all.sort_by_key(|(_, item)| item.name);
        all.dedup_by_key(|(_, item)| item.name);
        let by_name: HashMap<&str, usize> = (all.iter().enumerate())
            .map(|(index, (_, item))| (item.name, index))
            .collect();
        let mut seen = vec![false; all.len()];
        for root in 0..all.len() {
            // Each with whether its references have been visited.
            let mut pending = vec![(root, false)];
            while let Some((index, ready)) = pending.pop() {
                let (part, item) = all[index];
                if ready {
                    self.linkage(item, out);
                    out.push_str(&part.text[item.range.clone()]);
                    out.push('\n');
                } else if !std::mem::replace(&mut seen[index], true) {
                    pending.push((index, true));
                    let names = part.names(item).filter_map(|name| by_name.get(name));
                    pending.extend(names.map(|&index| (index, false)));
                }
            }
        }
    }
}

/// Writes `global_asm!` unchanged, with the comments by which `ptx::finish` recognizes it. It may
/// declare a variable and define it later.
fn assembly(parts: &[Part<'_>], out: &mut String) {
    let mut written = HashSet::new();
    for part in parts {
        for range in &part.assembly {
            if written.insert(&part.text[range.clone()]) {
                let rest = &part.text[range.start..];
                let line = rest[range.len()..].find('\n');
                out.push_str(line.map_or(rest, |line| &rest[..range.len() + line]));
                out.push('\n');
            }
        }
    }
}

/// Writes a function with the numbers of `files` in its `.loc` directives.
fn function(part: &Part<'_>, item: &Item<'_>, files: &HashMap<&str, usize>, out: &mut String) {
    let mut done = item.range.start;
    for at in item.tokens.clone() {
        let number = match part.word(at) {
            ".loc" | "inlined_at" => at + 1,
            _ => continue,
        };
        if let Some(new) = files.get(part.word(number)) {
            out.push_str(&part.text[done..part.tokens[number].start]);
            let _ = write!(out, "{new}");
            done = part.tokens[number].end;
        }
    }
    out.push_str(&part.text[done..item.range.end]);
}

/// Writes the sections of debug information, one for each name.
fn sections(parts: &[Part<'_>], out: &mut String) {
    let mut sections: Vec<(&str, String)> = Vec::new();
    for part in parts {
        for item in part.compiled().filter(|item| item.what == What::Section) {
            let text = &part.text[item.range.clone()];
            let inner = text
                .find('{')
                .map_or("", |open| &text[open + 1..text.len() - 1]);
            match sections.iter_mut().find(|(name, _)| *name == item.name) {
                Some((_, lines)) => lines.push_str(inner),
                None => sections.push((item.name, inner.to_owned())),
            }
        }
    }
    for (name, lines) in sections {
        let _ = writeln!(out, ".section {name}\n{{{lines}}}");
    }
}
