//! Joins the PTX of the parts of a module: those into which libnvvm splits it
//! (`-split-compile-extended`), or the kernels that changed and the others.
//!
//! To split a module, libnvvm gives its internal functions external linkage, and defines each
//! variable that several parts use as `.weak` in all of them. The order of the parts, and of the
//! variables in a part, varies from run to run. The joined module does not depend on these orders.
//!
//! This module works on tokens instead of [`crate::Module`], because the backend recognizes inline
//! assembly by the comments around it.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt::Write;
use std::ops::Range;

use crate::Error;
use crate::lexer::{Kind, Lexer, Token};

/// Returns the number that an earlier call put into the name of a label, and the rest of the name. A
/// label as libnvvm names it, `$L__BB0_1`, has the number zero.
fn numbered(label: &str) -> Option<(usize, &str)> {
    let (number, rest) = label.strip_prefix("$L")?.split_once("__")?;
    match number {
        "" => Some((0, rest)),
        _ => Some((number.parse().ok()?, rest)),
    }
}

/// The prefixes of the names of what belongs to a function: variables in local memory, and prototypes of
/// indirect calls.
const OWN: [&str; 2] = ["__local_depot", "prototype_"];

/// Joins PTX modules that follow one another in `text` to one module. All symbols become internal,
/// except kernels and the symbols in `visible`. `assembly` is the module-level assembly, which
/// libnvvm copies to each part.
///
/// ```
/// let header = ".version 9.0\n.target sm_90\n.address_size 64\n";
/// let caller = ".extern .func f\n;\n.visible .entry k()\n{\n\tcall.uni f, ();\n\tret;\n}\n";
/// let callee = ".visible .func f()\n{\n\tret;\n}\n";
/// let parts = format!("{header}{caller}{header}{callee}");
/// let joined = ptx::join(&parts, &[].into(), "")?;
/// let f = ".func f()\n{\n\tret;\n}\n";
/// let k = ".visible .entry k()\n{\n\tcall.uni f, ();\n\tret;\n}\n";
/// assert_eq!(joined, format!("{header}.func f();\n{f}{k}"));
/// # Ok::<(), ptx::Error>(())
/// ```
///
/// # Errors
///
/// Returns an error if `text` is not PTX as libnvvm writes it, or if the parts define a symbol
/// differently.
pub fn join(text: &str, visible: &HashSet<String>, assembly: &str) -> Result<String, Error> {
    let assembly = assembly.trim();
    let is_line_start = |at: usize| at == 0 || text.as_bytes()[at - 1] == b'\n';
    let starts: Vec<usize> = (text.match_indices(".version "))
        .map(|(at, _)| at)
        .filter(|&at| is_line_start(at))
        .collect();
    let Some(&first) = starts.first() else {
        return Err(Error {
            line: 1,
            message: "expected `.version`".to_owned(),
        });
    };
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    let mut parts = Vec::with_capacity(starts.len());
    let mut line = text[..first].matches('\n').count() as u32;
    for (start, end) in starts.iter().copied().zip(ends) {
        let text = &text[start..end];
        parts.push(Part::read(text, line, assembly)?);
        line += text.matches('\n').count() as u32;
    }
    // No two parts define the same function with linkage. The names of variables decide between
    // parts without functions.
    parts.sort_by_cached_key(|part| {
        let mut names: Vec<&str> = part.defined().collect();
        names.sort_unstable();
        (part.linked(Item::is_function).min(), names)
    });
    // A part may be the result of an earlier call, with numbers in the names of its labels.
    let mut labels = 0;
    for (number, part) in parts.iter_mut().enumerate() {
        part.number = number;
        part.label = labels;
        labels += part.labels() + 1;
    }
    merge_copies(&mut parts, visible);
    check_definitions(&parts, visible)?;
    rename(&mut parts);
    let files = number_files(&mut parts);
    let mut out = text[..first].to_owned();
    Joiner {
        visible,
        assembly,
        defined: parts.iter().flat_map(Part::defined).collect(),
        parts: &parts,
        files,
    }
    .write(&mut out);
    Ok(out)
}

/// Leaves one definition of what several parts define in the same way: internal functions, and
/// variables with an initializer, which are constants if several parts have them. What they refer to
/// must be the same, too. Functions that need not be visible become internal if several parts define
/// them.
fn merge_copies<'a>(parts: &mut [Part<'a>], visible: &HashSet<String>) {
    let external: HashSet<&str> = (parts.iter())
        .flat_map(|part| part.items.iter())
        .filter(|item| item.linkage == Some(".extern") || item.assembly)
        .map(|item| item.name)
        .collect();
    // The definitions, each as the indices of the part and of the item.
    let mut copies: BTreeMap<&'a str, Vec<(usize, usize)>> = BTreeMap::new();
    for (number, part) in parts.iter().enumerate() {
        for (index, item) in part.items.iter().enumerate() {
            let is_internal = match item.linkage {
                None => true,
                Some(linkage) => linkage == ".visible" && item.what == What::Function,
            };
            if item.is_definition()
                && item.what != What::Kernel
                && is_internal
                && !visible.contains(item.name)
                && !external.contains(item.name)
            {
                copies.entry(item.name).or_default().push((number, index));
            }
        }
    }
    copies.retain(|_, copies| copies.len() > 1);
    for &(number, index) in copies.values().flatten() {
        parts[number].items[index].linkage = None;
    }
    // The names that each merged definition refers to, among those with several definitions.
    let mut merged: HashMap<&str, Vec<&str>> = HashMap::new();
    for (&name, all) in &copies {
        let mut texts = all.iter().map(|&(number, index)| {
            let part = &parts[number];
            part.normalized(&part.items[index])
        });
        let Some(Some(first)) = texts.next() else {
            continue;
        };
        if texts.all(|text| text.as_ref() == Some(&first)) {
            let names = first.into_iter().map(|word| match word {
                Word::Text(text) => text,
                Word::Label(_) => "",
            });
            let references = names.filter(|&word| word != name && copies.contains_key(word));
            merged.insert(name, references.collect());
        }
    }
    loop {
        let unequal = (merged.iter())
            .find(|(_, references)| references.iter().any(|it| !merged.contains_key(it)));
        let Some(&name) = unequal.map(|(name, _)| name) else {
            break;
        };
        merged.remove(name);
    }
    let mut superfluous: Vec<(usize, usize)> = (copies.iter())
        .filter(|(name, _)| merged.contains_key(*name))
        .flat_map(|(_, copies)| copies.iter().skip(1).copied())
        .collect();
    superfluous.sort_unstable();
    for (number, index) in superfluous.into_iter().rev() {
        parts[number].items.remove(index);
    }
}

/// Checks that joining the definitions of a symbol does not change the program.
fn check_definitions(parts: &[Part<'_>], visible: &HashSet<String>) -> Result<(), Error> {
    let mut internal: HashSet<&str> = HashSet::new();
    let mut linked: HashMap<&str, &str> = HashMap::new();
    for part in parts {
        for item in part.compiled().filter(|item| item.is_definition()) {
            let text = part.source(item.tokens());
            let is_variable = item.what == What::Variable;
            let same = match item.linkage {
                // Each part has its own copy of a constant or function of libdevice. A variable
                // without an initializer is not constant: copies of it would be a miscompile.
                None => internal.insert(item.name) || !is_variable || text.contains('='),
                Some(linkage) => match linked.insert(item.name, text) {
                    Some(other) => {
                        let may_repeat = linkage == ".weak" || visible.contains(item.name);
                        is_variable && may_repeat && text == other
                    }
                    None => true,
                },
            };
            if !same {
                let message = format!("the parts have different definitions of `{}`", item.name);
                return Err(part.error(item.first, &message));
            }
        }
    }
    Ok(())
}

/// Gives internal symbols different names if several parts define them.
fn rename(parts: &mut [Part<'_>]) {
    let all: HashSet<&str> = (parts.iter())
        .flat_map(|part| part.items.iter().map(|item| item.name))
        .collect();
    let mut used: HashSet<&str> = parts
        .iter()
        .flat_map(|part| part.linked(|_| true))
        .collect();
    for part in parts {
        let mut names = HashMap::new();
        for item in part.compiled() {
            if item.is_definition() && item.linkage.is_none() && !used.insert(item.name) {
                let mut name = format!("{}_{}", item.name, part.number);
                while all.contains(&*name) {
                    name.push('_');
                }
                names.insert(item.name, name);
            }
        }
        part.names = names;
    }
}

/// Numbers the files of all parts. Returns them in the order of their numbers, which start at 1.
fn number_files<'a>(parts: &mut [Part<'a>]) -> Vec<&'a str> {
    let mut files = Vec::new();
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    for part in parts {
        let mut own = HashMap::new();
        for item in part.compiled().filter(|item| item.what == What::File) {
            let file = part.source(item.first + 2..item.last + 1);
            let number = *numbers.entry(file).or_insert_with(|| {
                files.push(file);
                files.len()
            });
            own.insert(item.name, number);
        }
        part.files = own;
    }
    files
}

/// The kind of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Function,
    Kernel,
    Variable,
    File,
    Section,
    Alias,
    Pragma,
}

/// A module-level directive.
#[derive(Debug)]
struct Item<'a> {
    what: What,
    name: &'a str,
    /// `.visible`, `.extern` or the like.
    linkage: Option<&'a str>,
    /// The first token after the linkage.
    first: usize,
    /// The last token.
    last: usize,
    /// The brace that opens the body, if the function has one.
    body: Option<usize>,
    /// Whether it is module-level assembly.
    assembly: bool,
}

impl Item<'_> {
    /// Returns whether this defines a function or variable.
    fn is_definition(&self) -> bool {
        match self.what {
            What::Function | What::Kernel => self.body.is_some(),
            What::Variable => self.linkage != Some(".extern"),
            What::File | What::Section | What::Alias | What::Pragma => false,
        }
    }

    fn is_function(&self) -> bool {
        matches!(self.what, What::Function | What::Kernel)
    }

    /// Returns the tokens after the linkage.
    fn tokens(&self) -> Range<usize> {
        self.first..self.last + 1
    }
}

/// The PTX of a part.
struct Part<'a> {
    text: &'a str,
    /// The number of lines before the part.
    line: u32,
    tokens: Vec<Token>,
    items: Vec<Item<'a>>,
    /// The end of the header.
    header: usize,
    /// The position of the module-level assembly, or an empty range.
    assembly: Range<usize>,
    /// The position among the parts.
    number: usize,
    /// What is added to the numbers in the names of the part's labels: zero for the first part. A label
    /// without a number has the number zero.
    label: usize,
    /// The new names of symbols.
    names: HashMap<&'a str, String>,
    /// The new numbers of files.
    files: HashMap<&'a str, usize>,
}

impl<'a> Part<'a> {
    /// Reads a part, with `line` lines before it.
    fn read(text: &'a str, line: u32, assembly: &str) -> Result<Part<'a>, Error> {
        let mut lexer = Lexer::new(text);
        let mut tokens = Vec::new();
        loop {
            let token = lexer.next().map_err(|error| Error {
                line: line + error.line,
                ..error
            })?;
            if token.kind == Kind::Eof {
                break;
            }
            tokens.push(token);
        }
        let mut part = Part {
            text,
            line,
            tokens,
            items: Vec::new(),
            header: 0,
            assembly: match text.find(assembly) {
                Some(start) if !assembly.is_empty() => start..start + assembly.len(),
                _ => 0..0,
            },
            number: 0,
            label: 0,
            names: HashMap::new(),
            files: HashMap::new(),
        };
        let mut at = 0;
        while at < part.tokens.len() {
            at = part.item(at)?;
        }
        Ok(part)
    }

    /// Returns the items that libnvvm generated, not the module-level assembly.
    fn compiled(&self) -> impl Iterator<Item = &Item<'a>> {
        self.items.iter().filter(|item| !item.assembly)
    }

    /// Returns the symbols that the part defines.
    fn defined(&self) -> impl Iterator<Item = &'a str> {
        let definitions = self.items.iter().filter(|item| item.is_definition());
        definitions.map(|item| item.name)
    }

    /// Returns the symbols of certain items that the part defines, without its internal symbols.
    fn linked(&self, of: fn(&Item<'a>) -> bool) -> impl Iterator<Item = &'a str> {
        let definitions = self.items.iter().filter(|item| item.is_definition());
        let linked = definitions.filter(|item| item.linkage.is_some() || item.assembly);
        linked.filter(move |item| of(item)).map(|item| item.name)
    }

    fn word(&self, at: usize) -> &'a str {
        let token = self.tokens.get(at);
        token.map_or("", |token| &self.text[token.start..token.end])
    }

    /// Returns the name that a symbol has in the joined module.
    fn name(&'a self, name: &'a str) -> &'a str {
        self.names.get(name).map_or(name, String::as_str)
    }

    /// Returns the white space and comments after a token.
    fn between(&self, at: usize) -> &'a str {
        let next = self.tokens.get(at + 1);
        let end = next.map_or(self.text.len(), |next| next.start);
        &self.text[self.tokens[at].end..end]
    }

    /// Returns the text of tokens.
    fn source(&self, tokens: Range<usize>) -> &'a str {
        let tokens = self.tokens.get(tokens).unwrap_or_default();
        match (tokens.first(), tokens.last()) {
            (Some(first), Some(last)) => &self.text[first.start..last.end],
            _ => "",
        }
    }

    /// Writes the text of tokens, with the new names of symbols and labels, and the new numbers of
    /// files.
    fn copy(&self, tokens: Range<usize>, out: &mut String) {
        let own = self.tokens.get(tokens.clone()).unwrap_or_default();
        let (Some(first), Some(last)) = (own.first(), own.last()) else {
            return;
        };
        let mut done = first.start;
        for at in tokens {
            if let Some(new) = self.replacement(at) {
                out.push_str(&self.text[done..self.tokens[at].start]);
                out.push_str(&new);
                done = self.tokens[at].end;
            }
        }
        out.push_str(&self.text[done..last.end]);
    }

    /// Returns what a token becomes in the joined module, if it changes.
    fn replacement(&self, at: usize) -> Option<Cow<'_, str>> {
        let word = self.word(at);
        match self.tokens[at].kind {
            Kind::Ident => {
                if let Some(name) = self.names.get(word) {
                    return Some(name.into());
                }
                // Labels of debug information are visible in the whole module.
                let (number, label) = numbered(word).filter(|_| self.label > 0)?;
                Some(format!("$L{}__{label}", self.label + number).into())
            }
            Kind::Int(_) if matches!(self.word(at.wrapping_sub(1)), ".loc" | "inlined_at") => {
                Some(self.files.get(word)?.to_string().into())
            }
            // The start of a section, as an operand in debug information.
            Kind::Dotted if self.number > 0 && word.starts_with(".debug_") => {
                let mut sections = self.compiled().filter(|item| item.what == What::Section);
                sections.find(|item| item.name == word)?;
                Some(self.section_label(word).into())
            }
            _ => None,
        }
    }

    /// Returns the words of a function's or a constant's definition, which are the same in the parts
    /// of a module if the code is. Returns `None` for other items.
    fn normalized(&self, item: &Item<'a>) -> Option<Vec<Word<'a>>> {
        let mut tokens = item.tokens();
        let is_code = match item.what {
            What::Function => item.body.is_some(),
            What::Variable => tokens.clone().any(|at| self.word(at) == "="),
            _ => false,
        };
        if !is_code {
            return None;
        }
        let mut labels: HashMap<&str, usize> = HashMap::new();
        let mut words = Vec::with_capacity(tokens.len());
        while let Some(at) = tokens.next() {
            let word = self.word(at);
            if word == ".loc" {
                // Lines do not matter, and the numbers of files differ.
                let line = self.tokens[at].line;
                while (tokens.clone().next()).is_some_and(|at| self.tokens[at].line == line) {
                    tokens.next();
                }
                continue;
            }
            let is_own = word.starts_with("$L") || OWN.iter().any(|it| word.starts_with(it));
            let is_label = is_own && self.tokens[at].kind == Kind::Ident;
            words.push(match is_label {
                true => {
                    let next = labels.len();
                    Word::Label(*labels.entry(word).or_insert(next))
                }
                false => Word::Text(word),
            });
        }
        Some(words)
    }

    /// Returns the largest number in the names of labels that an earlier call renamed.
    fn labels(&self) -> usize {
        let names = self.tokens.iter().filter(|token| token.kind == Kind::Ident);
        let numbers = names.filter_map(|token| numbered(&self.text[token.start..token.end]));
        numbers.map(|(number, _)| number).max().unwrap_or(0)
    }

    /// Returns the label of the part's contribution to a section.
    fn section_label(&self, section: &str) -> String {
        format!("$L{}__{}", self.label, section.trim_start_matches('.'))
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
                match self.tokens[at].kind {
                    Kind::Punct(b'{') => depth += 1,
                    Kind::Punct(b'}') => depth -= 1,
                    _ => {}
                }
                depth == 0
            })
            .ok_or_else(|| self.error(open, "the file ends within a body"))
    }

    fn error(&self, at: usize, message: &str) -> Error {
        Error {
            line: self.line + self.tokens.get(at).map_or(1, |token| token.line),
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
            ".target" => return Ok(self.list(at + 1) + 1),
            kind @ (".func" | ".entry") => {
                let name = match self.word(first + 1) {
                    "(" => self.find(first, &[")"])? + 1,
                    _ => first + 1,
                };
                let mut last = self.find(first, &[";", "{"])?;
                if self.word(last) == "{" {
                    body = Some(last);
                    last = self.closing(last)?;
                }
                let what = match kind {
                    ".func" => What::Function,
                    _ => What::Kernel,
                };
                (what, name, last)
            }
            ".file" => (What::File, first + 1, self.list(first + 2)),
            ".section" => {
                let open = self.find(first, &["{"])?;
                body = Some(open);
                (What::Section, first + 1, self.closing(open)?)
            }
            ".global" | ".const" | ".shared" | ".local" | ".tex" => {
                let last = self.find(first, &[";"])?;
                let is_name = |&at: &usize| self.tokens[at].kind == Kind::Ident;
                let name = (first..last).find(is_name).unwrap_or(first);
                (What::Variable, name, last)
            }
            ".alias" => (What::Alias, first, self.find(first, &[";"])?),
            ".pragma" => (What::Pragma, first, self.find(first, &[";"])?),
            _ => return Err(self.error(first, "unknown directive")),
        };
        let Some(start) = self.tokens.get(first).filter(|_| last < self.tokens.len()) else {
            return Err(self.error(at, "the file ends within a directive"));
        };
        self.items.push(Item {
            what,
            name: self.word(name),
            linkage: linkage.then(|| self.word(at)),
            first,
            last,
            body,
            assembly: self.assembly.contains(&start.start),
        });
        Ok(last + 1)
    }

    /// Returns the last token of a list with commas.
    fn list(&self, first: usize) -> usize {
        let mut last = first;
        while self.word(last + 1) == "," {
            last += 2;
        }
        last
    }
}

/// A token of a definition.
#[derive(PartialEq, Eq)]
enum Word<'a> {
    /// A label or another name of the function's own, by its number in the definition.
    Label(usize),
    Text(&'a str),
}

/// A variable, and a part that defines it.
type Variable<'a> = (&'a Part<'a>, &'a Item<'a>);

/// Writes the joined module.
struct Joiner<'a> {
    /// The symbols that are visible outside the module.
    visible: &'a HashSet<String>,
    /// The module-level assembly.
    assembly: &'a str,
    /// The symbols that a part defines.
    defined: HashSet<&'a str>,
    parts: &'a [Part<'a>],
    /// The files of line tables.
    files: Vec<&'a str>,
}

impl<'a> Joiner<'a> {
    fn write(&self, out: &mut String) {
        if let Some(first) = self.parts.first() {
            out.push_str(&first.text[..first.header]);
            out.push('\n');
        }
        self.directives(What::Pragma, out);
        self.declarations(out);
        // Unchanged: it may declare a variable and define it later.
        if !self.assembly.is_empty() {
            out.push_str(self.assembly);
            out.push('\n');
        }
        let local = self.local_variables();
        self.variables(&local, out);
        for (part, item) in self.items().filter(|(_, item)| item.is_function()) {
            let Some(body) = item.body else { continue };
            self.linkage(item, out);
            part.copy(item.first..body + 1, out);
            for (part, variable) in local.get(part.name(item.name)).into_iter().flatten() {
                out.push_str("\n\t");
                part.copy(variable.tokens(), out);
            }
            out.push_str(part.between(body));
            part.copy(body + 1..item.last + 1, out);
            out.push('\n');
        }
        self.directives(What::Alias, out);
        for (file, number) in self.files.iter().zip(1..) {
            let _ = writeln!(out, ".file {number} {file}");
        }
        self.sections(out);
    }

    /// Returns the items that libnvvm generated.
    fn items(&self) -> impl Iterator<Item = (&'a Part<'a>, &'a Item<'a>)> {
        (self.parts.iter()).flat_map(|part| part.compiled().map(move |item| (part, item)))
    }

    /// Writes all directives of a kind, each once.
    fn directives(&self, what: What, out: &mut String) {
        let items = self.items().filter(|(_, item)| item.what == what);
        let texts: BTreeSet<String> = items
            .map(|(part, item)| {
                let mut text = String::new();
                part.copy(item.tokens(), &mut text);
                text
            })
            .collect();
        for text in texts {
            out.push_str(&text);
            out.push('\n');
        }
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

    /// Writes the declarations of symbols that no part defines, and the prototypes of functions.
    fn declarations(&self, out: &mut String) {
        let mut all: Vec<(&Part<'_>, &Item<'_>)> = self.items().collect();
        // Stable: declarations of a name are in the order of the parts.
        all.sort_by_key(|(_, item)| item.name);
        let mut declared: HashSet<&str> = HashSet::new();
        for (part, item) in all {
            let end = match (item.what, item.body) {
                // Another part may call it.
                (What::Function, Some(body)) => body,
                (What::Function, None) | (What::Variable, _) => item.last,
                _ => continue,
            };
            let of_other = item.linkage == Some(".extern") && self.defined.contains(item.name);
            let is_variable = item.what == What::Variable && item.is_definition();
            let name = part.name(item.name);
            if of_other || is_variable || !declared.insert(name) {
                continue;
            }
            self.linkage(item, out);
            part.copy(item.first..end, out);
            out.push_str(";\n");
        }
    }

    /// Returns the internal shared variables that only one function uses, by function. libnvvm
    /// defines such variables in the function, but not if the module is split.
    fn local_variables(&self) -> HashMap<&str, Vec<Variable<'a>>> {
        let mut variables: BTreeMap<&str, Variable<'a>> = BTreeMap::new();
        for (part, item) in self.items() {
            let is_shared = item.what == What::Variable && part.word(item.first) == ".shared";
            if is_shared && item.is_definition() && !self.visible.contains(item.name) {
                variables
                    .entry(part.name(item.name))
                    .or_insert((part, item));
            }
        }
        // The function that uses a variable, or `None` if there are several users.
        let mut users: HashMap<&str, Option<&str>> = HashMap::new();
        let all = (self.parts.iter()).flat_map(|part| part.items.iter().map(move |it| (part, it)));
        for (part, item) in all {
            let can_define = item.is_function() && item.body.is_some() && !item.assembly;
            let user = can_define.then(|| part.name(item.name));
            let is_name = |&at: &usize| part.tokens[at].kind == Kind::Ident;
            for at in item.tokens().filter(is_name) {
                if item.what == What::Variable && part.word(at) == item.name {
                    continue;
                }
                let name = part.name(part.word(at));
                if variables.contains_key(name) {
                    let known = users.entry(name).or_insert(user);
                    if *known != user {
                        *known = None;
                    }
                }
            }
        }
        let mut local: HashMap<&str, Vec<Variable<'a>>> = HashMap::new();
        for (name, variable) in variables {
            if let Some(&Some(function)) = users.get(name) {
                local.entry(function).or_default().push(variable);
            }
        }
        local
    }

    /// Writes the definitions of variables, each after those that its initializer refers to, except
    /// variables that are local to a function.
    fn variables(&self, local: &HashMap<&str, Vec<Variable<'_>>>, out: &mut String) {
        let is_local: HashSet<&str> = (local.values().flatten())
            .map(|&(part, item)| part.name(item.name))
            .collect();
        let is_variable = |item: &Item<'_>| item.what == What::Variable && item.is_definition();
        let mut all: Vec<(&Part<'_>, &Item<'_>, &str)> = self
            .items()
            .filter(|(_, item)| is_variable(item))
            .map(|(part, item)| {
                let name = part.name(item.name);
                (part, item, name)
            })
            .filter(|(.., name)| !is_local.contains(name))
            .collect();
        all.sort_by_key(|&(.., name)| name);
        all.dedup_by_key(|&mut (.., name)| name);
        let by_name: HashMap<&str, usize> = (all.iter().zip(0..))
            .map(|(&(.., name), index)| (name, index))
            .collect();
        let mut seen = vec![false; all.len()];
        for root in 0..all.len() {
            // Each with whether its references have been visited.
            let mut pending = vec![(root, false)];
            while let Some((index, ready)) = pending.pop() {
                let (part, item, _) = all[index];
                if ready {
                    self.linkage(item, out);
                    part.copy(item.tokens(), out);
                    out.push('\n');
                } else if !std::mem::replace(&mut seen[index], true) {
                    pending.push((index, true));
                    let idents = (item.tokens()).filter(|&at| part.tokens[at].kind == Kind::Ident);
                    let names = idents.map(|at| part.name(part.word(at)));
                    let referred = names.filter_map(|name| by_name.get(name));
                    pending.extend(referred.map(|&index| (index, false)));
                }
            }
        }
    }

    /// Writes the sections of debug information, one for each name. References to the start of a
    /// section refer to the contribution of the same part.
    fn sections(&self, out: &mut String) {
        let mut sections: Vec<(&str, String)> = Vec::new();
        for part in self.parts {
            let mut own = HashSet::new();
            for item in part.compiled().filter(|item| item.what == What::Section) {
                let at = match sections.iter().position(|(name, _)| *name == item.name) {
                    Some(at) => at,
                    None => {
                        sections.push((item.name, String::new()));
                        sections.len() - 1
                    }
                };
                let lines = &mut sections[at].1;
                if part.number > 0 && own.insert(item.name) {
                    let _ = writeln!(lines, "{}:", part.section_label(item.name));
                }
                let open = item.body.unwrap_or(item.first);
                part.copy(open + 1..item.last, lines);
                lines.push('\n');
            }
        }
        for (name, lines) in sections {
            let _ = writeln!(out, ".section {name}\n{{\n{lines}}}");
        }
    }
}
