//! The reader: parses the text that the writer prints, in either dialect, and LLVM 23's output for
//! such a module.
//!
//! It accepts the output of [`crate::write_module`] with any spacing and comments. It does not read
//! all of LLVM's language, only what LLVM's passes produce from a module that the writer printed.
//! Properties that `nvvm_ir` cannot represent and that may be ignored, such as attributes that LLVM
//! infers, are skipped; anything else is an error. In the LLVM 7 dialect, the casts that the writer
//! inserts around typed pointers are removed, so that writing, reading and writing again yields the
//! same text. The resulting module is not verified.

mod body;
mod calls;
mod consts;
mod expansions;
mod insts;
mod lexer;
mod metadata;
mod text;
mod types;

use std::collections::HashMap;

use crate::inst::ParamAttrs;
use crate::intrinsic::Intrinsic;
use crate::module::{FuncAttrs, Linkage, Module};
use crate::types::AddrSpace;
use crate::value::{Block, Func, Global, Value};
use lexer::{Tok, Token};

/// A syntax error in the text of a module.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {message}")]
pub struct ReadError {
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
    /// The description of the error.
    pub message: String,
}

/// The maximum nesting depth of types and constants. It prevents stack overflows; real modules are
/// far below it.
const MAX_DEPTH: u32 = 256;

type Result<T> = std::result::Result<T, ReadError>;

/// Parses a module.
///
/// # Errors
///
/// Returns the position and a description of the first syntax error.
pub fn read_module(text: &str) -> Result<Module> {
    let tokens = lexer::tokens(text)?;
    let mut reader = Reader {
        tokens,
        at: 0,
        m: Module::default(),
        locals: HashMap::new(),
        placeholders: HashMap::new(),
        blocks: HashMap::new(),
        disjoint: Vec::new(),
        unlabeled_entry: None,
        md: metadata::Nodes::default(),
        func: Func(0),
        in_body: false,
        constants: 0,
        depth: 0,
        attr_groups: HashMap::new(),
    };
    reader.module()?;
    Ok(reader.m)
}

struct Reader<'t> {
    tokens: Vec<Token<'t>>,
    at: usize,
    m: Module,
    /// The values that names stand for in the current function.
    locals: HashMap<Local<'t>, Value>,
    /// The names in `locals` that are used but not yet defined, with the token of their first use.
    placeholders: HashMap<Local<'t>, usize>,
    blocks: HashMap<&'t str, Block>,
    /// The names of the current function's `or disjoint`.
    disjoint: Vec<Local<'t>>,
    /// The entry block of the current function and its number, if the block has no label.
    unlabeled_entry: Option<(u32, Block)>,
    md: metadata::Nodes,
    func: Func,
    /// Whether the reader is inside a function's body.
    in_body: bool,
    /// The number of instructions at the start of the function that compute constants.
    constants: usize,
    /// The number of types and constants that enclose the one being read.
    depth: u32,
    /// The attribute groups by number.
    attr_groups: HashMap<u32, FuncAttrs>,
}

/// The name of a local value.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
enum Local<'t> {
    Number(u32),
    Name(&'t str),
}

impl<'t> Local<'t> {
    fn new(name: &'t str) -> Self {
        name.parse().map_or(Local::Name(name), Local::Number)
    }

    /// The name that the value keeps. Numbers and the writer's temporaries are not kept.
    fn to_keep(self) -> Option<Box<str>> {
        match self {
            Local::Name(name) if !name.starts_with('.') => Some(name.into()),
            _ => None,
        }
    }
}

/// An item that the second pass reads, once all symbols are known, with its first token.
enum Rest<'t> {
    Contents(Global, usize),
    Used(usize),
    Body(Func, usize, Vec<Option<Local<'t>>>),
}

impl<'t> Reader<'t> {
    // Tokens.

    fn peek(&self) -> Tok<'t> {
        self.tokens[self.at].tok
    }

    fn peek2(&self) -> Tok<'t> {
        self.tokens
            .get(self.at + 1)
            .map_or(Tok::End, |token| token.tok)
    }

    /// Enters a nested type or constant.
    fn enter(&mut self) -> Result<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            self.error("types or constants are nested too deeply")
        } else {
            Ok(())
        }
    }

    fn next(&mut self) -> Tok<'t> {
        let tok = self.peek();
        if tok != Tok::End {
            self.at += 1;
        }
        tok
    }

    fn error<T>(&self, message: impl Into<String>) -> Result<T> {
        self.error_at(self.at, message)
    }

    fn error_at<T>(&self, at: usize, message: impl Into<String>) -> Result<T> {
        let token = &self.tokens[at.min(self.tokens.len() - 1)];
        Err(ReadError {
            line: token.line,
            column: token.column,
            message: message.into(),
        })
    }

    fn expected<T>(&self, what: &str) -> Result<T> {
        self.error(format!("expected {what}, found {}", self.peek()))
    }

    fn eat(&mut self, tok: Tok<'_>) -> bool {
        let there = self.peek() == tok;
        if there {
            self.at += 1;
        }
        there
    }

    fn eat_word(&mut self, word: &str) -> bool {
        self.eat(Tok::Word(word))
    }

    fn expect(&mut self, tok: Tok<'_>) -> Result<()> {
        if self.eat(tok) {
            Ok(())
        } else {
            self.expected(&tok.to_string())
        }
    }

    fn punct(&mut self, c: char) -> Result<()> {
        self.expect(Tok::Punct(c))
    }

    fn word(&mut self, what: &str) -> Result<&'t str> {
        match self.peek() {
            Tok::Word(word) => {
                self.at += 1;
                Ok(word)
            }
            _ => self.expected(what),
        }
    }

    fn string(&mut self) -> Result<Vec<u8>> {
        match self.peek() {
            Tok::Str(raw) => {
                self.at += 1;
                Ok(lexer::unescape(raw))
            }
            _ => self.expected("a string"),
        }
    }

    fn text(&mut self) -> Result<String> {
        let at = self.at;
        match String::from_utf8(self.string()?) {
            Ok(text) => Ok(text),
            Err(_) => self.error_at(at, "the string is not UTF-8"),
        }
    }

    /// Reads a non-negative number.
    fn unsigned<T: TryFrom<u128>>(&mut self) -> Result<T> {
        if let Tok::Number(text) = self.peek()
            && let Ok(number) = text.parse::<u128>()
            && let Ok(number) = T::try_from(number)
        {
            self.at += 1;
            return Ok(number);
        }
        self.expected("a number")
    }

    fn skip_line(&mut self) {
        let line = self.tokens[self.at].line;
        while self.peek() != Tok::End && self.tokens[self.at].line == line {
            self.at += 1;
        }
    }

    // The module.

    fn module(&mut self) -> Result<()> {
        let mut rest = Vec::new();
        self.attr_groups()?;
        loop {
            match self.peek() {
                Tok::End => break,
                Tok::Word("target") => self.target()?,
                Tok::Word("module") => {
                    self.at += 1;
                    self.expect(Tok::Word("asm"))?;
                    let line = self.text()?;
                    self.m.asm.push(line);
                }
                Tok::Word("source_filename" | "attributes") => self.skip_line(),
                Tok::Global("llvm.used") => {
                    rest.push(Rest::Used(self.at));
                    self.skip_line();
                }
                Tok::Global(_) => rest.extend(self.global()?),
                Tok::Word("define") => rest.push(self.define()?),
                Tok::Word("declare") => self.declare()?,
                Tok::Meta(_) | Tok::Node(_) => self.metadata_line()?,
                _ => return self.expected("a global, a function or metadata"),
            }
        }
        let end = self.at;
        self.attach_subprograms()?;
        for rest in rest {
            match rest {
                Rest::Contents(global, at) => {
                    self.at = at;
                    self.in_body = false;
                    let ty = self.m.global(global).ty;
                    let init = self.value(ty)?;
                    self.m.global_mut(global).init = Some(init);
                    self.global_end(global)?;
                }
                Rest::Used(at) => {
                    self.at = at;
                    self.used()?;
                }
                Rest::Body(func, at, params) => {
                    self.at = at;
                    self.body(func, params)?;
                }
            }
        }
        self.at = end;
        self.annotations()
    }

    fn target(&mut self) -> Result<()> {
        self.at += 1;
        let which = self.word("`datalayout` or `triple`")?;
        let want = match which {
            "datalayout" => crate::write::DATA_LAYOUT,
            "triple" => crate::write::TRIPLE,
            _ => return self.error(format!("unknown target property `{which}`")),
        };
        self.punct('=')?;
        let at = self.at;
        if self.text()? != want {
            return self.error_at(at, format!("the {which} is not that of nvptx64"));
        }
        Ok(())
    }

    fn linkage(&mut self) -> Linkage {
        let linkage = match self.peek() {
            Tok::Word("internal" | "private") => Linkage::Internal,
            Tok::Word("weak") => Linkage::Weak,
            Tok::Word("linkonce_odr") => Linkage::LinkOnceOdr,
            _ => return Linkage::External,
        };
        self.at += 1;
        linkage
    }

    fn global(&mut self) -> Result<Option<Rest<'t>>> {
        let start = self.at;
        let Tok::Global(name) = self.next() else {
            return self.expected("a global");
        };
        self.punct('=')?;
        let linkage = self.linkage();
        let external = self.eat_word("external");
        self.visibility();
        let space = self.addr_space()?.unwrap_or(AddrSpace::Generic);
        self.eat_word("externally_initialized");
        let constant = match self.word("`global` or `constant`")? {
            "global" => false,
            "constant" => true,
            other => {
                return self.error_at(self.at - 1, format!("`{other}` is not a kind of global"));
            }
        };
        let ty = self.ty()?.ty;
        let Some(global) = self.m.add_global(name, ty, space) else {
            return self.error_at(start, format!("`{name}` is defined twice"));
        };
        let data = self.m.global_mut(global);
        data.constant = constant;
        data.linkage = linkage;
        if external {
            self.global_end(global)?;
            return Ok(None);
        }
        let at = self.at;
        self.skip_line();
        Ok(Some(Rest::Contents(global, at)))
    }

    /// Skips properties of a symbol that `nvvm_ir` does not represent.
    fn visibility(&mut self) {
        while let Tok::Word("dso_local" | "unnamed_addr" | "local_unnamed_addr" | "hidden") =
            self.peek()
        {
            self.at += 1;
        }
    }

    fn global_end(&mut self, global: Global) -> Result<()> {
        if self.eat(Tok::Punct(',')) {
            self.expect(Tok::Word("align"))?;
            let align = self.unsigned()?;
            self.m.global_mut(global).align = align;
        }
        Ok(())
    }

    fn used(&mut self) -> Result<()> {
        while self.peek() != Tok::Punct('=') {
            self.at += 1;
        }
        self.at += 1;
        self.expect(Tok::Word("appending"))?;
        self.expect(Tok::Word("global"))?;
        self.ty()?;
        self.punct('[')?;
        loop {
            let ty = self.ty()?.ty;
            let at = self.at;
            let value = self.value(ty)?;
            let Some(global) = self
                .symbol_of(value)
                .and_then(|base| self.m.as_global(base))
            else {
                return self.error_at(at, "expected the address of a global");
            };
            self.m.global_mut(global).used = true;
            if !self.eat(Tok::Punct(',')) {
                break;
            }
        }
        self.punct(']')?;
        self.punct(',')?;
        self.expect(Tok::Word("section"))?;
        self.string()?;
        Ok(())
    }

    fn declare(&mut self) -> Result<()> {
        let start = self.at;
        self.at += 1;
        // Intrinsics are declared when they are used.
        let name = self.tokens[start..]
            .iter()
            .take_while(|t| t.line == self.tokens[start].line);
        let name = name.filter_map(|t| match t.tok {
            Tok::Global(name) => Some(name),
            _ => None,
        });
        if name.clone().any(|name| {
            Intrinsic::named(name).is_some()
                || expansions::named(name).is_some()
                || matches!(
                    name,
                    "llvm.dbg.declare" | "llvm.experimental.noalias.scope.decl"
                )
        }) {
            self.skip_line();
            return Ok(());
        }
        self.header(Linkage::External).map(drop)
    }

    fn define(&mut self) -> Result<Rest<'t>> {
        self.at += 1;
        let linkage = self.linkage();
        self.visibility();
        self.calling_convention();
        let (func, names) = self.header(linkage)?;
        let at = self.at;
        self.punct('{')?;
        // Skips to the brace that closes the body. Braces inside it are balanced.
        let mut depth = 1;
        while depth > 0 {
            match self.next() {
                Tok::Punct('{') => depth += 1,
                Tok::Punct('}') => depth -= 1,
                Tok::End => return self.error_at(at, "the function's body is not closed"),
                _ => {}
            }
        }
        Ok(Rest::Body(func, at, names))
    }

    fn header(&mut self, linkage: Linkage) -> Result<(Func, Vec<Option<Local<'t>>>)> {
        let ret_attrs = self.param_attrs(None)?;
        let ret = self.ty()?.ty;
        let start = self.at;
        let Tok::Global(name) = self.next() else {
            self.at = start;
            return self.expected("a function's name");
        };
        self.punct('(')?;
        let mut params = Vec::new();
        let mut attrs: Vec<ParamAttrs> = Vec::new();
        let mut names = Vec::new();
        let mut variadic = false;
        while !self.eat(Tok::Punct(')')) {
            if !params.is_empty() || variadic {
                self.punct(',')?;
            }
            if self.eat(Tok::Dots) {
                variadic = true;
                continue;
            }
            let ty = self.ty()?;
            attrs.push(self.param_attrs(ty.pointee)?);
            params.push(ty.ty);
            names.push(match self.peek() {
                Tok::Local(name) => {
                    self.at += 1;
                    Some(Local::new(name))
                }
                _ => None,
            });
        }
        let sig = self.m.types.func(ret, &params, variadic);
        let Some(func) = self.m.add_func(name, sig) else {
            return self.error_at(start, format!("`{name}` is defined twice"));
        };
        self.visibility();
        let func_attrs = self.func_attrs()?;
        let subprogram = if self.eat(Tok::Meta("dbg")) {
            Some(self.node_ref()?)
        } else {
            None
        };
        self.md
            .subprograms
            .extend(subprogram.map(|node| (func, node)));
        let data = self.m.func_mut(func);
        data.param_attrs = attrs;
        data.ret_attrs = ret_attrs;
        data.attrs = func_attrs;
        data.linkage = linkage;
        Ok((func, names))
    }

    fn func_attrs(&mut self) -> Result<FuncAttrs> {
        let mut attrs = FuncAttrs::default();
        loop {
            // `"name"="value"`
            if matches!(self.peek(), Tok::Str(_)) {
                self.at += 1;
                if self.eat(Tok::Punct('=')) {
                    self.string()?;
                }
                continue;
            }
            let Tok::Word(word) = self.peek() else { break };
            let flag = match word {
                "alwaysinline" => &mut attrs.always_inline,
                "noinline" => &mut attrs.no_inline,
                "inlinehint" => &mut attrs.inline_hint,
                "cold" => &mut attrs.cold,
                "optsize" => &mut attrs.opt_size,
                "optnone" => &mut attrs.opt_none,
                "noreturn" => &mut attrs.no_return,
                "convergent" => &mut attrs.convergent,
                "readnone" => &mut attrs.read_none,
                "memory" => {
                    self.at += 1;
                    self.punct('(')?;
                    attrs.read_none |= self.eat_word("none") && self.peek() == Tok::Punct(')');
                    self.skip_to_closing()?;
                    continue;
                }
                "nounwind" => &mut attrs.no_unwind,
                "noimplicitfloat" => &mut attrs.no_implicit_float,
                // Attributes that LLVM infers.
                "nosync" | "nofree" | "willreturn" | "speculatable" | "norecurse"
                | "mustprogress" | "nocallback" => {
                    self.at += 1;
                    continue;
                }
                // The attributes end here.
                _ => break,
            };
            *flag = true;
            self.at += 1;
        }
        if let Some(group) = self.attr_group()? {
            merge(&mut attrs, &group);
        }
        Ok(attrs)
    }

    /// Reads a reference to an attribute group, such as `#3`, if there is one.
    fn attr_group(&mut self) -> Result<Option<FuncAttrs>> {
        if !self.eat(Tok::Punct('#')) {
            return Ok(None);
        }
        let number: u32 = self.unsigned()?;
        match self.attr_groups.get(&number) {
            Some(group) => Ok(Some(group.clone())),
            None => self.error(format!("unknown attribute group #{number}")),
        }
    }

    /// Reads all attribute groups, which LLVM prints after the functions that use them.
    fn attr_groups(&mut self) -> Result<()> {
        let at = self.at;
        for start in 0..self.tokens.len() {
            let hash = self.tokens.get(start + 1).map(|token| token.tok);
            if self.tokens[start].tok != Tok::Word("attributes") || hash != Some(Tok::Punct('#')) {
                continue;
            }
            self.at = start + 2;
            let number: u32 = self.unsigned()?;
            self.punct('=')?;
            self.punct('{')?;
            let mut group = FuncAttrs::default();
            while !self.eat(Tok::Punct('}')) {
                let before = self.at;
                let some = self.func_attrs()?;
                merge(&mut group, &some);
                if self.at == before {
                    // An unknown attribute, such as `uwtable(sync)`.
                    self.next();
                    if self.eat(Tok::Punct('(')) {
                        self.skip_to_closing()?;
                    }
                }
            }
            self.attr_groups.insert(number, group);
        }
        self.at = at;
        Ok(())
    }

    /// Skips a calling convention. Functions and their calls in a module agree on it.
    fn calling_convention(&mut self) {
        while let Tok::Word("fastcc" | "coldcc" | "ccc" | "tailcc" | "ptx_kernel" | "ptx_device") =
            self.peek()
        {
            self.at += 1;
        }
    }
}

/// Adds the attributes in `from` to `to`.
fn merge(to: &mut FuncAttrs, from: &FuncAttrs) {
    to.always_inline |= from.always_inline;
    to.no_inline |= from.no_inline;
    to.inline_hint |= from.inline_hint;
    to.cold |= from.cold;
    to.opt_size |= from.opt_size;
    to.opt_none |= from.opt_none;
    to.no_return |= from.no_return;
    to.convergent |= from.convergent;
    to.read_none |= from.read_none;
    to.no_unwind |= from.no_unwind;
    to.no_implicit_float |= from.no_implicit_float;
}
