//! Reports the values of a formatted panic instead of its message, in LLVM's text.
//!
//! The text is changed instead of a module, because a module lacks metadata of LLVM's.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use super::nest_loops::{Body, with_bodies};
use crate::module::Module;
use crate::read::{ReadError, read_module};
use crate::value::Const;

/// The function that reports a message that it formats.
const FORMATTED: &str = "__cuda_std_panic_with_arguments";

/// The function that reports a kind, three values, a text with its length, and a location.
const REPORT: &str = "__cuda_std_report_failure";

/// The most blocks before a panic in which its message is put together.
const BLOCKS: usize = 64;

/// What a function of `core::fmt` formats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Formatter {
    /// The number of references between the function's argument and what it formats.
    pub references: u32,
    /// What it formats.
    pub what: Formatted,
}

/// What a [`Formatter`] formats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Formatted {
    /// A value of 1, 2, 4, 8 or 16 bytes, or a text without a value.
    Value {
        /// The message for the host: see [`Messages`].
        text: String,
        /// The size in bytes, 0 without a value.
        bytes: u32,
    },
    /// A string, as it is.
    Str,
    /// A `fmt::Arguments`.
    Arguments,
    /// A trait object whose vtable has the function behind the size and the alignment.
    Object,
}

/// How a report describes a message that the host formats.
#[derive(Clone, Debug)]
pub struct Messages {
    /// The kind of the panic.
    pub kind: u32,
    /// The character that announces a value in the text.
    pub mark: char,
    /// The functions of `core::fmt`, by symbol.
    pub formatters: HashMap<String, Formatter>,
}

/// Replaces calls of [`FORMATTED`] by calls of [`REPORT`] if the message consists of constant text and of
/// values that the host can format.
///
/// A call has the address of the template, which is constant, and of an array with two addresses for each
/// argument: of the value and of the function that formats it. The array is a local variable that nothing
/// else reads.
pub(super) fn report_values(text: &str, messages: &Messages) -> Result<String, ReadError> {
    let call = format!("@{FORMATTED}(");
    let mut functions: HashMap<&str, Vec<()>> = HashMap::new();
    let mut own = None;
    for line in text.lines() {
        if let Some(definition) = line.strip_prefix("define ") {
            own = (definition.split_once('@')).and_then(|(_, it)| it.split_once('('));
        } else if line.contains(&call)
            && line.starts_with(' ')
            && let Some((name, _)) = own
        {
            functions.insert(name.trim_matches('"'), vec![()]);
        }
    }
    if functions.is_empty() {
        return Ok(text.to_owned());
    }
    let module = read_module(text)?;
    let reports = module
        .named(REPORT)
        .and_then(|value| module.as_func(value))
        .is_some_and(|func| module.func(func).params.len() == 7)
        && text.contains(&format!("\ndefine void @{REPORT}(i32 "));
    if !reports {
        return Ok(text.to_owned());
    }
    let texts = RefCell::new(Texts {
        module: &module,
        lines: String::new(),
        names: HashMap::new(),
    });
    let changed = with_bodies(text, &functions, |body, (), _| {
        Function::new(&body)?.replaced(&module, messages, &mut texts.borrow_mut(), body.clone())
    });
    Ok(changed + &texts.into_inner().lines)
}

/// The texts of messages.
struct Texts<'m> {
    module: &'m Module,
    /// The definitions.
    lines: String,
    names: HashMap<String, String>,
}

impl Texts<'_> {
    /// Returns the name of a variable with a text.
    fn name(&mut self, text: &str) -> String {
        if let Some(name) = self.names.get(text) {
            return name.clone();
        }
        let mut number = self.names.len();
        let name = loop {
            let name = format!("report_values_{number}");
            if self.module.named(&name).is_none() && !self.names.values().any(|it| *it == name) {
                break name;
            }
            number += 1;
        };
        let mut bytes = String::new();
        for byte in text.bytes() {
            let _ = match byte {
                b' '..=b'~' if !b"\"\\".contains(&byte) => write!(bytes, "{}", char::from(byte)),
                _ => write!(bytes, "\\{byte:02X}"),
            };
        }
        let _ = writeln!(
            self.lines,
            "@{name} = internal addrspace(1) constant [{} x i8] c\"{bytes}\", align 1",
            text.len()
        );
        self.names.insert(text.to_owned(), name.clone());
        name
    }
}

/// A message as the host formats it.
#[derive(Default)]
struct Message {
    text: String,
    /// The values in the text: the address, the number of references before it, and the size.
    values: Vec<(String, u32, u32)>,
}

/// The text of a function.
struct Function<'b> {
    lines: &'b [String],
    /// The block of each line.
    block_of: HashMap<usize, usize>,
    /// The first line of each block, and its predecessors.
    blocks: Vec<(usize, usize, Vec<usize>)>,
    /// The line that defines a value, and those that use it.
    definitions: HashMap<&'b str, usize>,
    uses: HashMap<&'b str, Vec<usize>>,
}

impl<'b> Function<'b> {
    fn new(body: &Body<'b>) -> Option<Function<'b>> {
        let lines = body.lines;
        let mut block_of = HashMap::new();
        let mut blocks: Vec<(usize, usize, Vec<usize>)> = (body.blocks.iter())
            .map(|block| (block.first, block.terminator, Vec::new()))
            .collect();
        let index: HashMap<&str, usize> = (body.blocks.iter().map(|it| it.name.as_str()))
            .zip(0..)
            .collect();
        for (from, block) in body.blocks.iter().enumerate() {
            block_of.extend((block.first..block.end).map(|line| (line, from)));
            for line in &lines[block.terminator..block.end] {
                for to in line.split("label %").skip(1) {
                    let to = to.split([',', ' ', ']']).next()?;
                    blocks[*index.get(to)?].2.push(from);
                }
            }
        }
        let mut definitions = HashMap::new();
        let mut uses: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, line) in lines.iter().enumerate().skip(1) {
            let code = line.trim();
            let (name, value) = code.split_once(" = ").unwrap_or(("", code));
            if name.starts_with('%') {
                definitions.insert(name, at);
            }
            let start = value.as_ptr().addr() - line.as_ptr().addr();
            for (from, _) in value.match_indices('%') {
                let name = &value[from..];
                let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"$._-".contains(&byte);
                let length = name.bytes().skip(1).take_while(|&it| is_part(it)).count();
                let from = start + from;
                let own = uses.entry(&line[from..=from + length]).or_default();
                if own.last() != Some(&at) {
                    own.push(at);
                }
            }
        }
        Some(Function {
            lines,
            block_of,
            blocks,
            definitions,
            uses,
        })
    }

    /// Replaces the calls of the function. Returns `None` if there is none to replace.
    fn replaced(
        &self,
        module: &Module,
        messages: &Messages,
        texts: &mut Texts<'_>,
        mut body: Body<'b>,
    ) -> Option<Vec<String>> {
        let start = format!("call fastcc void @{FORMATTED}(");
        let other = format!("call void @{FORMATTED}(");
        let mut count = 0;
        for (at, line) in self.lines.iter().enumerate() {
            let Some(from) = line.find(&start).or_else(|| line.find(&other)) else {
                continue;
            };
            let Some((operands, end)) = operands(line, from) else {
                continue;
            };
            let &[template, arguments, location] = &operands[..] else {
                continue;
            };
            let call = Call {
                function: self,
                module,
                messages,
                at,
            };
            let mut message = Message::default();
            let made = call.arguments(value_of(template), value_of(arguments), &mut message, 0);
            if made.is_none() {
                continue;
            }
            let Some(values) = packed(&mut body, at, &message.values) else {
                continue;
            };
            let text = texts.name(&message.text);
            let [a, b, c] = values;
            body.changed.insert(
                at,
                format!(
                    "  call void @{REPORT}(i32 {}, i64 {a}, i64 {b}, i64 {c}, \
                     ptr addrspacecast (ptr addrspace(1) @{text} to ptr), i64 {}, {}){}",
                    messages.kind,
                    message.text.len(),
                    location.trim(),
                    &line[end..]
                ),
            );
            count += 1;
        }
        (count > 0).then(|| body.finish())
    }

    /// Returns what computes a value, and what it is.
    fn definition(&self, name: &str) -> Option<&'b str> {
        let line = code(&self.lines[*self.definitions.get(name)?]);
        Some(line.split_once(" = ")?.1)
    }

    /// Returns the local variable and the offset of an address.
    fn variable(&self, address: &'b str) -> Option<(&'b str, u64)> {
        let definition = self.definition(address)?;
        if definition.starts_with("alloca ") {
            return Some((address, 0));
        }
        let (base, offset) = part(definition)?;
        let (variable, start) = self.variable(base)?;
        Some((variable, start.checked_add(offset)?))
    }

    /// Returns whether the function only stores to a local variable, and passes its address only to
    /// [`FORMATTED`], directly or within other such variables.
    fn is_private(&self, address: &'b str, known: &mut HashSet<&'b str>) -> bool {
        if !known.insert(address) {
            return true;
        }
        let none = Vec::new();
        let uses = self.uses.get(address).unwrap_or(&none);
        let mut stored_to_private = |line: &'b str, value: &str| {
            let Some((_, stored, to)) = store(line) else {
                return false;
            };
            stored == value
                && to != value
                && self
                    .variable(to)
                    .is_some_and(|(to, _)| self.is_private(to, known))
        };
        let mut parts = Vec::new();
        for &at in uses {
            let line = code(&self.lines[at]);
            let definition = line.split_once(" = ");
            let is_harmless = if let Some((_, stored, to)) = store(line) {
                to == address && stored != address || stored_to_private(line, address)
            } else if let Some((name, definition)) = definition {
                if let Some(from) = (definition.strip_prefix("ptrtoint ptr "))
                    .and_then(|it| it.strip_suffix(" to i64"))
                {
                    let stores = self.uses.get(name).unwrap_or(&none).iter();
                    from == address
                        && stores
                            .map(|&at| code(&self.lines[at]))
                            .all(|line| line.starts_with("#dbg_") || stored_to_private(line, name))
                } else if part(definition).is_some_and(|(base, _)| base == address) {
                    parts.push(name);
                    true
                } else {
                    false
                }
            } else {
                line.contains(&format!("void @{FORMATTED}("))
                    || line.contains("void @llvm.lifetime.")
                    || line.starts_with("#dbg_")
            };
            if !is_harmless {
                return false;
            }
        }
        (parts.into_iter()).all(|part| self.is_private(part, known))
    }

    /// Returns the 8 bytes at an offset of a local variable before a line, as the value that was stored.
    fn stored(&self, before: usize, variable: &str, offset: u64) -> Option<&'b str> {
        let mut block = *self.block_of.get(&before)?;
        let mut end = before;
        for _ in 0..BLOCKS {
            let (first, _, before) = &self.blocks[block];
            for line in self.lines[*first..end].iter().rev() {
                let Some((ty, value, to)) = store(code(line)) else {
                    continue;
                };
                let Some((_, at)) = self.variable(to).filter(|(to, _)| *to == variable) else {
                    continue;
                };
                let size = match ty {
                    "ptr" | "i64" | "double" => 8,
                    "i32" | "float" => 4,
                    "i16" => 2,
                    "i8" | "i1" => 1,
                    _ => return None,
                };
                if at == offset && size == 8 {
                    return Some(value);
                }
                if at < offset + 8 && offset < at + size {
                    return None;
                }
            }
            let &[from] = &before[..] else {
                return None;
            };
            block = from;
            end = self.blocks[block].1;
        }
        None
    }
}

/// Returns an instruction without its metadata.
fn code(line: &str) -> &str {
    line.split(", !").next().unwrap_or_default().trim()
}

/// Returns the variable and the offset of `getelementptr … i8, ptr %v, i64 8`.
fn part(definition: &str) -> Option<(&str, u64)> {
    let (flags, rest) = (definition.strip_prefix("getelementptr ")?).split_once("i8, ptr ")?;
    let is_flag = |word: &str| matches!(word, "inbounds" | "nuw" | "nusw");
    let (base, offset) = rest.split_once(", i64 ")?;
    let is_part = flags.split_whitespace().all(is_flag);
    is_part.then_some((base, offset.parse().ok()?))
}

/// Returns the type, the value and the address of a store.
fn store(line: &str) -> Option<(&str, &str, &str)> {
    let line = line.strip_prefix("store ")?;
    let (stored, rest) = line.rsplit_once(", ptr ")?;
    let address = rest.split(',').next()?;
    let (ty, value) = stored.split_once(' ')?;
    Some((ty, value, address))
}

/// Returns the operands of a call that starts at a column, with their types and attributes, and the
/// column behind them.
fn operands(line: &str, from: usize) -> Option<(Vec<&str>, usize)> {
    let open = from + line[from..].find('(')? + 1;
    let (mut depth, mut start, mut found) = (0, open, Vec::new());
    for (at, byte) in line.bytes().enumerate().skip(open) {
        match byte {
            b'(' => depth += 1,
            b',' if depth == 0 => {
                found.push(&line[start..at]);
                start = at + 1;
            }
            b')' if depth == 0 => {
                found.push(&line[start..at]);
                return Some((found, at + 1));
            }
            b')' => depth -= 1,
            b'"' => return None,
            _ => {}
        }
    }
    None
}

/// Returns an operand without its type and attributes.
fn value_of(operand: &str) -> &str {
    let constant = ["addrspacecast (", "inttoptr (", "getelementptr "];
    match constant.iter().find_map(|it| operand.find(it)) {
        Some(start) => operand[start..].trim(),
        None => operand.rsplit(' ').next().unwrap_or_default(),
    }
}

/// Returns the name of the global variable or the function that a constant address is.
fn symbol(value: &str) -> Option<&str> {
    let value = (value.strip_prefix("ptrtoint (ptr "))
        .and_then(|it| it.strip_suffix(" to i64)"))
        .unwrap_or(value);
    let value = (value.strip_prefix("addrspacecast (ptr addrspace(1) "))
        .and_then(|it| it.strip_suffix(" to ptr)"))
        .unwrap_or(value);
    let name = value.strip_prefix('@')?;
    let is_name = |it: char| it.is_ascii_alphanumeric() || "$._-".contains(it);
    name.chars().all(is_name).then_some(name)
}

/// A call of [`FORMATTED`].
struct Call<'c, 'b> {
    function: &'c Function<'b>,
    module: &'c Module,
    messages: &'c Messages,
    at: usize,
}

impl<'b> Call<'_, 'b> {
    /// Adds the text of a `fmt::Arguments` to a message.
    fn arguments(
        &self,
        template: &str,
        arguments: &'b str,
        message: &mut Message,
        depth: u32,
    ) -> Option<()> {
        let template = self.bytes(template)?;
        // A string without arguments: twice its length, plus 1.
        if let Some(number) = (arguments.strip_prefix("inttoptr (i64 "))
            .and_then(|it| it.strip_suffix(" to ptr)"))
            .or_else(|| arguments.parse::<u64>().is_ok().then_some(arguments))
        {
            let number: usize = number.parse().ok()?;
            let text = template.get(..number / 2).filter(|_| number % 2 == 1)?;
            return self.literal(text, message);
        }
        if depth > 4 {
            return None;
        }
        // The encoding of `core::fmt::Arguments`.
        let mut next = 0;
        let mut rest = template;
        loop {
            let (&byte, behind) = rest.split_first()?;
            rest = behind;
            match byte {
                0 => return Some(()),
                1..=0x7F => {
                    let (text, behind) = rest.split_at_checked(byte.into())?;
                    self.literal(text, message)?;
                    rest = behind;
                }
                0x80 => {
                    let (length, behind) = rest.split_first_chunk()?;
                    let (text, behind) =
                        behind.split_at_checked(u16::from_le_bytes(*length).into())?;
                    self.literal(text, message)?;
                    rest = behind;
                }
                // The default options, with the index of the argument.
                0xC8 => {
                    let (index, behind) = rest.split_first_chunk()?;
                    self.argument(arguments, u16::from_le_bytes(*index).into(), message, depth)?;
                    next = u64::from(u16::from_le_bytes(*index)) + 1;
                    rest = behind;
                }
                0xC0 => {
                    self.argument(arguments, next, message, depth)?;
                    next += 1;
                }
                _ => return None,
            }
        }
    }

    fn argument(
        &self,
        arguments: &'b str,
        index: u64,
        message: &mut Message,
        depth: u32,
    ) -> Option<()> {
        let value = self.at(arguments, 16 * index)?;
        let function = self.at(arguments, 16 * index + 8)?;
        self.value(value, symbol(function)?, message, depth)
    }

    /// Adds what a function formats.
    fn value(
        &self,
        address: &'b str,
        function: &str,
        message: &mut Message,
        depth: u32,
    ) -> Option<()> {
        let formatter = self.messages.formatters.get(function)?;
        if let Formatted::Value { text, bytes } = &formatter.what {
            message.text.push_str(text);
            if *bytes > 0 {
                let address = self.address(address)?;
                (message.values).push((address.to_owned(), formatter.references, *bytes));
            }
            return Some(());
        }
        let mut address = address;
        for _ in 0..formatter.references {
            address = self.at(address, 0)?;
        }
        let (data, second) = (self.at(address, 0)?, self.at(address, 8)?);
        match formatter.what {
            Formatted::Str => {
                let text = self.bytes(data)?.get(..second.parse().ok()?)?;
                self.literal(text, message)
            }
            Formatted::Arguments => self.arguments(data, second, message, depth + 1),
            Formatted::Object => {
                let function = self.function_of(second)?;
                match depth > 4 {
                    true => None,
                    false => self.value(data, &function, message, depth + 1),
                }
            }
            Formatted::Value { .. } => None,
        }
    }

    /// Adds constant text.
    fn literal(&self, text: &[u8], message: &mut Message) -> Option<()> {
        let text = str::from_utf8(text).ok()?;
        message.text.push_str(text);
        (!text.contains(self.messages.mark)).then_some(())
    }

    /// Returns the address that a value is, if it was converted to a number.
    fn address(&self, value: &'b str) -> Option<&'b str> {
        if value.starts_with("ptrtoint (ptr ") {
            return value
                .strip_prefix("ptrtoint (ptr ")?
                .strip_suffix(" to i64)");
        }
        if !value.starts_with('%') {
            return value.starts_with("addrspacecast (").then_some(value);
        }
        let converted = self.function.definition(value);
        let converted = converted.and_then(|it| it.strip_prefix("ptrtoint ptr "));
        Some(converted.map_or(value, |it| it.strip_suffix(" to i64").unwrap_or(value)))
    }

    /// Returns the 8 bytes behind an address in a local variable.
    fn at(&self, address: &'b str, offset: u64) -> Option<&'b str> {
        let function = self.function;
        let (variable, start) = function.variable(self.address(address)?)?;
        let offset = start.checked_add(offset)?;
        let is_private = function.is_private(variable, &mut HashSet::new());
        (is_private.then(|| function.stored(self.at, variable, offset))).flatten()
    }

    /// Returns the bytes of a constant.
    fn bytes(&self, value: &str) -> Option<&[u8]> {
        match self.module.as_const(self.constant(value)?)? {
            Const::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// Returns the value of a constant variable.
    fn constant(&self, value: &str) -> Option<crate::value::Value> {
        let global = self.module.as_global(self.module.named(symbol(value)?)?)?;
        let global = self.module.global(global);
        global.init.filter(|_| global.constant)
    }

    /// Returns the first function of a vtable: behind the destructor, the size and the alignment.
    fn function_of(&self, vtable: &str) -> Option<String> {
        let Const::Aggregate(fields) = self.module.as_const(self.constant(vtable)?)? else {
            return None;
        };
        let mut at = 0;
        for &field in fields {
            if at == 24 {
                let value = match self.module.as_const(field) {
                    Some(Const::Addr { base, offset: 0 }) => *base,
                    _ => field,
                };
                let func = self.module.as_func(value)?;
                return Some(self.module.func(func).name.clone());
            }
            at += match self.module.as_const(field) {
                Some(Const::Bytes(bytes)) => bytes.len(),
                _ => 8,
            };
        }
        None
    }
}

/// Loads the values of a message before a line, and returns the three numbers of the report that have
/// them. Each value follows the one before at the next multiple of its size, or of 8 bytes.
fn packed(body: &mut Body<'_>, at: usize, values: &[(String, u32, u32)]) -> Option<[String; 3]> {
    let mut words: [Option<String>; 3] = Default::default();
    let mut offset = 0u32;
    for (_, _, bytes) in values {
        let align = (*bytes).min(8);
        offset = offset.next_multiple_of(align) + bytes;
    }
    if offset > 24 {
        return None;
    }
    let mut count = 0;
    let mut add = |code: String| {
        let name = format!("%report.{at}.{count}");
        body.add(at, format!("  {name} = {code}"));
        count += 1;
        name
    };
    let mut offset = 0;
    for (address, references, bytes) in values {
        let mut address = address.clone();
        for _ in 0..*references {
            address = add(format!("load ptr, ptr {address}, align 8"));
        }
        offset = u32::next_multiple_of(offset, (*bytes).min(8));
        let (mut word, shift) = (offset as usize / 8, offset % 8 * 8);
        offset += bytes;
        if *bytes == 16 {
            let value = add(format!("load i64, ptr {address}, align 8"));
            words[word] = Some(value);
            address = add(format!("getelementptr i8, ptr {address}, i64 8"));
            word += 1;
        }
        let bytes = (*bytes).min(8);
        let bits = 8 * bytes;
        let mut value = add(format!("load i{bits}, ptr {address}, align {bytes}"));
        if bits < 64 {
            value = add(format!("zext i{bits} {value} to i64"));
        }
        if shift > 0 {
            value = add(format!("shl i64 {value}, {shift}"));
        }
        if let Some(before) = &words[word] {
            value = add(format!("or i64 {before}, {value}"));
        }
        words[word] = Some(value);
    }
    Some(words.map(|word| word.unwrap_or_else(|| "0".to_owned())))
}
