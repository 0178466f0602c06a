//! Describes the kernels and statics of an image.

use crate::images::Image;
use anyhow::{Context, Result};
use object::{Object, ObjectSection, ObjectSymbol, SymbolFlags};
use ptx::{Function, Item, Linkage, Space, Survey, Variable};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// The prefix of the symbols of kernels and variables that the libraries themselves define.
const INTERNAL: &str = "__cuda_std_";

/// An image's kernels and statics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// `PTX` or `cubin`.
    pub form: &'static str,
    /// The architecture, such as `sm_90`.
    pub arch: String,
    /// The packages of the kernels and statics, with their versions.
    pub packages: BTreeSet<String>,
    /// The kernels.
    pub kernels: Vec<Kernel>,
    /// The statics that the host can access.
    pub statics: Vec<Static>,
}

/// A kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernel {
    /// The symbol of its entry.
    pub symbol: String,
    /// The path of its function.
    pub name: String,
    /// The types of its parameters, or their sizes.
    pub parameters: Vec<String>,
    /// The sizes and numbers that its attributes give.
    pub bounds: Bounds,
    /// The bytes of static shared memory.
    pub shared: u64,
    /// Whether it has dynamic shared memory.
    pub dynamic_shared: bool,
    /// The file and line of its first statement.
    pub location: Option<String>,
}

/// A kernel's bounds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bounds {
    /// The required block size.
    pub block: Option<[u64; 3]>,
    /// The largest block size in threads.
    pub max_threads: Option<u64>,
    /// The minimum number of resident blocks per multiprocessor.
    pub min_blocks: Option<u64>,
    /// The largest number of registers per thread.
    pub max_registers: Option<u64>,
    /// The required cluster size in blocks.
    pub cluster: Option<[u64; 3]>,
}

impl Bounds {
    /// The number of threads in a block, if the kernel requires or bounds it.
    pub fn threads(&self) -> Option<u64> {
        let required = self.block.map(|block| block.iter().product());
        required.or(self.max_threads)
    }
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.block, self.max_threads) {
            (Some([x, y, z]), _) => write!(f, "blocks of {x} × {y} × {z}")?,
            (None, Some(threads)) => write!(f, "blocks of at most {threads} threads")?,
            (None, None) => write!(f, "blocks of any size")?,
        }
        if let Some(blocks) = self.min_blocks {
            write!(f, ", at least {blocks} per multiprocessor")?;
        }
        if let Some(registers) = self.max_registers {
            write!(f, ", at most {registers} registers")?;
        }
        if let Some([x, y, z]) = self.cluster {
            write!(f, ", clusters of {x} × {y} × {z}")?;
        }
        Ok(())
    }
}

/// A static that the host can access.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Static {
    /// Its symbol.
    pub symbol: String,
    /// Its name.
    pub name: String,
    /// Its type, if the module has it.
    pub ty: Option<String>,
    /// `global` or `const`.
    pub space: &'static str,
    /// Its size in bytes.
    pub size: u64,
}

/// Describes an image.
///
/// # Errors
///
/// Returns an error if the image is damaged.
pub fn describe(image: &Image) -> Result<Description> {
    match image {
        Image::Ptx(text) => describe_ptx(text),
        Image::Cubin(bytes) => describe_cubin(bytes),
    }
}

fn describe_ptx(text: &str) -> Result<Description> {
    let module = ptx::Module::parse(text).context("cannot parse PTX")?;
    let survey = Survey::new(&module);
    let signatures: BTreeMap<&str, Signature> = ptx::signatures(text)
        .filter_map(|(symbol, literal)| Some((symbol, Signature::parse(&unescape(literal))?)))
        .collect();
    let mut description = Description {
        form: "PTX",
        arch: module.target.first().unwrap_or(&"").to_string(),
        packages: signatures.values().map(|it| it.package.clone()).collect(),
        kernels: Vec::new(),
        statics: Vec::new(),
    };
    for item in &module.items {
        match item {
            Item::Function(function)
                if function.entry
                    && function.body.is_some()
                    && !function.name.starts_with(INTERNAL)
                    && ptx::kernel_of_entry(function.name).is_none() =>
            {
                let (shared, dynamic_shared) = survey.shared_memory(function);
                let signature = signatures.get(function.name);
                description.kernels.push(Kernel {
                    symbol: function.name.to_owned(),
                    name: demangle(function.name),
                    parameters: match signature {
                        Some(signature) => signature.types.clone(),
                        None => function.params.iter().map(parameter).collect(),
                    },
                    bounds: bounds(function),
                    shared,
                    dynamic_shared,
                    location: survey
                        .location(function)
                        .map(|at| format!("{}:{}", at.file, at.line)),
                });
            }
            Item::Variable(variable)
                if variable.linkage == Linkage::Visible
                    && matches!(variable.space, Space::Global | Space::Const)
                    && !variable.name.starts_with(INTERNAL) =>
            {
                let signature = signatures.get(variable.name);
                description.statics.push(Static {
                    symbol: variable.name.to_owned(),
                    name: signature.map_or_else(|| demangle(variable.name), |it| it.name.clone()),
                    ty: signature.and_then(|it| it.types.first().cloned()),
                    space: variable.space.name(),
                    size: variable.size().unwrap_or(u64::MAX),
                });
            }
            _ => {}
        }
    }
    if description.packages.is_empty() {
        let names = description.kernels.iter().map(|kernel| &kernel.name);
        description.packages = names.filter_map(|name| crate_of(name)).collect();
    }
    Ok(description)
}

/// The crate in a demangled path: `a` in `a::b` and in `<a::B as c::D>::e`.
fn crate_of(path: &str) -> Option<String> {
    let (name, _) = path.trim_start_matches(['<', '&']).split_once("::")?;
    Some(name.to_owned())
}

/// A parameter in PTX's words.
fn parameter(variable: &Variable<'_>) -> String {
    match variable.extents.is_empty() {
        true => format!(".{}", variable.ty.name()),
        false => format!("{} bytes", variable.size().unwrap_or(u64::MAX)),
    }
}

fn bounds(function: &Function<'_>) -> Bounds {
    let values = |name: &str| {
        let mut directives = function.directives.iter();
        let directive = directives.find(|directive| directive.name == name)?;
        let value = |index: usize| directive.values.get(index).copied().unwrap_or(1);
        Some([value(0), value(1), value(2)])
    };
    Bounds {
        block: values("reqntid"),
        max_threads: values("maxntid").map(|size| size.iter().product()),
        min_blocks: values("minnctapersm").map(|[blocks, ..]| blocks),
        max_registers: values("maxnreg").map(|[registers, ..]| registers),
        cluster: values("reqnctapercluster"),
    }
}

/// The path of a symbol, without the hashes of crates, and as in the source: `a::B::c` for
/// `<a::B>::c`.
pub fn demangle(symbol: &str) -> String {
    let path = format!("{:#}", rustc_demangle::demangle(symbol));
    inherent(&path).unwrap_or(path)
}

/// Returns the path of an inherent associated function of a type that is a path.
fn inherent(path: &str) -> Option<String> {
    let rest = path.strip_prefix('<')?;
    let mut depth = 1;
    let mut previous = ' ';
    let end = rest.find(|c| {
        match c {
            '<' => depth += 1,
            '>' if previous != '-' => depth -= 1,
            _ => {}
        }
        previous = c;
        depth == 0
    })?;
    let ty = &rest[..end];
    // Not a slice, a tuple or a pointer, nor an implementation of a trait.
    let is_path = ty.starts_with(|c: char| c.is_alphabetic() || c == '_');
    (is_path && !ty.contains(" as ")).then(|| format!("{ty}{}", &rest[end + 1..]))
}

/// A signature that the compiler wrote: see `cust_core::signature`.
struct Signature {
    name: String,
    package: String,
    /// The types of the parameters, or that of the static.
    types: Vec<String>,
}

impl Signature {
    fn parse(text: &str) -> Option<Signature> {
        let (head, rest) = text.split_once(" (")?;
        let (kind_and_name, package) = head.split_once(" of ")?;
        let name = kind_and_name.rsplit(' ').next()?;
        Some(Signature {
            name: name.to_owned(),
            package: package.to_owned(),
            types: types(rest),
        })
    }
}

/// The types up to the closing parenthesis, without the layouts of structs.
fn types(text: &str) -> Vec<String> {
    let mut types = Vec::new();
    let mut ty = String::new();
    let mut open: Vec<char> = Vec::new();
    for character in text.chars() {
        match character {
            '(' | '[' | '{' | '<' => open.push(character),
            ')' if open.is_empty() => break,
            ')' | ']' | '}' | '>' => drop(open.pop()),
            ',' if open.is_empty() => {
                types.push(short(ty.trim()));
                ty.clear();
                continue;
            }
            _ => {}
        }
        ty.push(character);
    }
    if !ty.trim().is_empty() {
        types.push(short(ty.trim()));
    }
    types
}

/// `struct A of package 0.1.0 repr(C) { … }` is `A`.
fn short(ty: &str) -> String {
    let mut result = String::new();
    let mut rest = ty;
    let keyword = |text: &str| {
        let found = ["struct ", "enum ", "union "].into_iter();
        found
            .filter_map(|word| Some((text.find(word)?, word.len())))
            .min()
    };
    while let Some((at, len)) = keyword(rest) {
        result.push_str(&rest[..at]);
        rest = &rest[at + len..];
        let Some(name) = rest.find([' ', '{']) else {
            break;
        };
        result.push_str(&rest[..name]);
        rest = &rest[name..];
        let Some(start) = rest.find('{') else { break };
        let mut depth = 0;
        let end = rest[start..].find(|character| {
            match character {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            depth == 0
        });
        rest = end.map_or("", |end| &rest[start + end + 1..]);
    }
    result.push_str(rest);
    result
}

/// The value of a Rust string literal whose characters were escaped by `str::escape_default`.
fn unescape(literal: &str) -> String {
    let literal = literal.trim();
    let inner = literal
        .strip_prefix('"')
        .and_then(|it| it.strip_suffix('"'));
    let mut result = String::new();
    let mut rest = inner.unwrap_or(literal).chars();
    while let Some(character) = rest.next() {
        if character != '\\' {
            result.push(character);
            continue;
        }
        match rest.next() {
            Some('n') => result.push('\n'),
            Some('r') => result.push('\r'),
            Some('t') => result.push('\t'),
            Some('u') => {
                let digits: String = rest.by_ref().skip(1).take_while(|&c| c != '}').collect();
                let code = u32::from_str_radix(&digits, 16).ok();
                result.extend(code.and_then(char::from_u32));
            }
            Some(other) => result.push(other),
            None => {}
        }
    }
    result
}

/// Describes machine code, whose facts are in its sections: see cuobjdump's output for them.
fn describe_cubin(bytes: &[u8]) -> Result<Description> {
    let file = object::File::parse(bytes).context("cannot parse a cubin")?;
    let object::FileFlags::Elf { e_flags, .. } = file.flags() else {
        anyhow::bail!("the cubin is not an ELF file");
    };
    // The ABI of CUDA 13 has the architecture in the second byte, older ones in the first.
    let arch = match e_flags >> 8 & 0xff {
        0 => e_flags & 0xff,
        arch => arch,
    };
    let mut kernels = Vec::new();
    let mut statics = Vec::new();
    for symbol in file.symbols() {
        let Ok(name) = symbol.name() else { continue };
        let SymbolFlags::Elf { st_other, .. } = symbol.flags() else {
            continue;
        };
        const ENTRY: u8 = 0x10;
        if name.starts_with(INTERNAL) || ptx::kernel_of_entry(name).is_some() {
            continue;
        }
        if symbol.kind() == object::SymbolKind::Text && st_other & ENTRY != 0 {
            let info = file.section_by_name(&format!(".nv.info.{name}"));
            let info = info.and_then(|section| section.data().ok());
            let attributes = Attributes::parse(info.unwrap_or_default());
            let shared = file.section_by_name(&format!(".nv.shared.{name}"));
            kernels.push(Kernel {
                symbol: name.to_owned(),
                name: demangle(name),
                parameters: attributes.parameters,
                bounds: attributes.bounds,
                shared: shared.map_or(0, |section| section.size()),
                dynamic_shared: false,
                location: None,
            });
        } else if symbol.kind() == object::SymbolKind::Data
            && symbol.is_global()
            && symbol.is_definition()
        {
            let section = symbol.section_index();
            let section = section.and_then(|index| file.section_by_index(index).ok());
            let is_constant = section.is_some_and(|section| {
                (section.name()).is_ok_and(|name| name.starts_with(".nv.constant"))
            });
            statics.push(Static {
                symbol: name.to_owned(),
                name: demangle(name),
                ty: None,
                space: if is_constant { "const" } else { "global" },
                size: symbol.size(),
            });
        }
    }
    Ok(Description {
        form: "cubin",
        arch: format!("sm_{arch}"),
        packages: BTreeSet::new(),
        kernels,
        statics,
    })
}

/// The attributes in a section `.nv.info.KERNEL`.
#[derive(Default)]
struct Attributes {
    bounds: Bounds,
    parameters: Vec<String>,
}

impl Attributes {
    /// An attribute is a format, a number, and two bytes: a value, or the length of the value that
    /// follows in format 4.
    fn parse(mut bytes: &[u8]) -> Attributes {
        const MAX_THREADS: u8 = 0x05;
        const REQUIRED_THREADS: u8 = 0x10;
        const PARAMETER: u8 = 0x17;
        let mut attributes = Attributes::default();
        let mut parameters = BTreeMap::new();
        while let [format, attribute, low, high, rest @ ..] = bytes {
            let len = usize::from(u16::from_le_bytes([*low, *high]));
            let value = match *format {
                4 => rest.get(..len).unwrap_or(rest),
                _ => &[],
            };
            bytes = &rest[value.len()..];
            let word = |index: usize| {
                let bytes = value.get(4 * index..4 * index + 4)?;
                Some(u64::from(u32::from_le_bytes(bytes.try_into().ok()?)))
            };
            let size = || Some([word(0)?, word(1)?, word(2)?]);
            match *attribute {
                REQUIRED_THREADS => attributes.bounds.block = size(),
                MAX_THREADS => {
                    let threads = size().map(|size| size.iter().product());
                    attributes.bounds.max_threads = threads;
                }
                PARAMETER => {
                    // The index, the number in the order, the offset, and the size in units.
                    if let (Some(order), Some(flags)) = (word(1), word(2)) {
                        parameters.insert(order & 0xffff, flags >> 18);
                    }
                }
                _ => {}
            }
        }
        let sizes = parameters.into_values();
        attributes.parameters = sizes.map(|size| format!("{size} bytes")).collect();
        attributes
    }
}

impl Description {
    /// The description as JSON.
    pub fn to_json(&self) -> Value {
        let kernels: Vec<Value> = (self.kernels.iter())
            .map(|kernel| {
                json!({
                    "name": kernel.name,
                    "symbol": kernel.symbol,
                    "parameters": kernel.parameters,
                    "block": kernel.bounds.block,
                    "max_threads": kernel.bounds.max_threads,
                    "min_blocks": kernel.bounds.min_blocks,
                    "max_registers": kernel.bounds.max_registers,
                    "cluster": kernel.bounds.cluster,
                    "static_shared_bytes": kernel.shared,
                    "dynamic_shared": kernel.dynamic_shared,
                    "location": kernel.location,
                })
            })
            .collect();
        let statics: Vec<Value> = (self.statics.iter())
            .map(|it| {
                json!({
                    "name": it.name,
                    "symbol": it.symbol,
                    "type": it.ty,
                    "space": it.space,
                    "bytes": it.size,
                })
            })
            .collect();
        json!({
            "form": self.form,
            "arch": self.arch,
            "packages": self.packages,
            "kernels": kernels,
            "statics": statics,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn associated_functions_have_the_path_of_their_type() {
        for (path, expected) in [
            ("<a::B>::c", Some("a::B::c")),
            (
                "<a::B<fn(u8) -> u8>>::c::<a::D>",
                Some("a::B<fn(u8) -> u8>::c::<a::D>"),
            ),
            ("<a::B as a::C>::d", None),
            ("<[a::B]>::c", None),
            ("a::b::<a::C>", None),
        ] {
            assert_eq!(inherent(path).as_deref(), expected, "{path}");
        }
        assert_eq!(demangle("_RNvMCs1_1aNtB2_1B1c"), "a::B::c");
    }

    #[test]
    fn ptx_is_described() {
        let text = ".version 8.0\n.target sm_90a, debug\n.address_size 64\n\
            .file 1 \"src/lib.rs\"\n\
            .visible .const .align 4 .b8 F_1[16];\n.visible .global .u64 __cuda_std_report_slot[2];\n\
            .global .u32 hidden;\n.shared .align 8 .b8 tile[1024];\n\
            .visible .entry a(.param .u64 p, .param .align 4 .b8 q[12])\n\
            .reqntid 32, 4, 1\n.minnctapersm 2\n\
            {\n.reg .b64 %r<3>;\n.loc 1 12 3\nmov.u64 %r1, tile;\nret;\n}\n\
            .visible .entry _RNvCs1_5hello1b() .maxntid 128\n{\nret;\n}\n\
            // cuda_std.signature a \"fn a of k 0.1.0 (&[struct P of k 0.1.0 { x: f32 at 0, 4 bytes }], output of f32) nvvm.kernel\"\n\
            // cuda_std.signature F_1 \"static mut F of k 0.1.0 ([f32; 4]) constant\"\n";
        let found = describe(&Image::Ptx(text.to_owned())).unwrap();
        assert_eq!((found.form, found.arch.as_str()), ("PTX", "sm_90a"));
        assert_eq!(found.packages, BTreeSet::from(["k 0.1.0".to_owned()]));
        let [a, b] = &found.kernels[..] else {
            panic!("{found:?}");
        };
        assert_eq!(a.parameters, ["&[P]", "output of f32"]);
        assert_eq!(a.bounds.threads(), Some(128));
        assert_eq!(
            a.bounds.to_string(),
            "blocks of 32 × 4 × 1, at least 2 per multiprocessor"
        );
        assert_eq!(
            (a.shared, a.location.as_deref()),
            (1024, Some("src/lib.rs:12"))
        );
        assert_eq!(b.name, "hello::b");
        assert_eq!(b.bounds.to_string(), "blocks of at most 128 threads");
        let [f] = &found.statics[..] else {
            panic!("{found:?}");
        };
        assert_eq!((f.name.as_str(), f.size, f.space), ("F", 16, "const"));
        assert_eq!(f.ty.as_deref(), Some("[f32; 4]"));
    }

    #[test]
    fn broken_ptx_is_an_error() {
        let error = describe(&Image::Ptx(
            ".version 8.0\n.target sm_75\n.func {".to_owned(),
        ));
        assert!(format!("{:#}", error.unwrap_err()).contains("line 3"));
    }

    #[test]
    fn types_are_short() {
        let text = "struct A of k 0.1.0 repr(C) { b: [u8; 4] at 0, c: struct D { e: u8 at 0 } at 4 } \
                    as grid constant, (u32, f32), output of enum E of k 0.1.0 { F }) nvvm.kernel";
        assert_eq!(
            types(text),
            ["A as grid constant", "(u32, f32)", "output of E"]
        );
        assert_eq!(types(")"), [""; 0]);
    }

    #[test]
    fn attributes_of_machine_code() {
        let mut bytes = vec![4, 0x10, 12, 0];
        for word in [32_u32, 2, 1] {
            bytes.extend(word.to_le_bytes());
        }
        // A value of two bytes, then a parameter of 8 bytes.
        bytes.extend([3, 0x1b, 0xff, 0]);
        bytes.extend([4, 0x17, 12, 0]);
        for word in [0_u32, 0, 8 << 18] {
            bytes.extend(word.to_le_bytes());
        }
        // Truncated.
        bytes.extend([4, 0x05, 12, 0, 1]);
        let found = Attributes::parse(&bytes);
        assert_eq!(found.bounds.block, Some([32, 2, 1]));
        assert_eq!(found.parameters, ["8 bytes"]);
    }
}
