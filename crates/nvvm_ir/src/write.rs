//! The writer: prints a module as NVVM IR text, the last step before libnvvm.
//!
//! In memory, pointers are opaque, and the modern dialect prints them so. In the LLVM 7 dialect
//! every pointer is an `i8*` of its address space; an instruction that needs another pointer type
//! (load, store, address computation, indirect call) is preceded by a `bitcast`, named `%.0`, `%.1`
//! and so on. The writer is total: it prints every module that the verifier accepts, including
//! operations that the dialect lacks; the legalizer replaces those.
//!
//! Symbols that libnvvm rejects are printed under another name, see [`symbol_names`].
//!
//! ```
//! use nvvm_ir::{Dialect, read_module, write_module};
//!
//! let module = read_module(
//!     "define i32 @f(ptr %p) {
//!      start:
//!        %x = load i32, ptr %p, align 4
//!        ret i32 %x
//!      }",
//! )?;
//! assert!(write_module(&module, Dialect::Modern).contains("load i32, ptr %p, align 4"));
//! assert!(write_module(&module, Dialect::Llvm7).contains("load i32, i32* %.0, align 4"));
//! # Ok::<(), nvvm_ir::ReadError>(())
//! ```

mod attrs;
mod calls;
mod consts;
mod debug;
mod insts;
mod intrinsics;
mod memory;
mod metadata;
mod names;
mod text;
pub(crate) mod words;

use std::collections::HashMap;

use crate::inst::InstKind;
use crate::intrinsic::Intrinsic;
use crate::module::{Linkage, Module};
use crate::types::{AddrSpace, Type, TypeKind};
use crate::uses::Symbol;
use crate::value::{Func, Global, Value};

pub use names::symbol_names;

/// The function that reports a panic. Optimizers must not change its parameters, from which
/// `ptx::finish` takes what is constant.
const REPORT: &str = "__cuda_std_report_failure";

/// The NVVM IR dialect of the text, which depends on the architecture.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// LLVM 7, typed pointers: for architectures before compute_100; later ones accept it too.
    Llvm7,
    /// Opaque pointers: for compute_100 and later.
    Modern,
}

impl Dialect {
    /// Returns the default dialect for an architecture's number (90 for `compute_90`).
    pub fn for_arch(number: u32) -> Dialect {
        if number >= 100 {
            Dialect::Modern
        } else {
            Dialect::Llvm7
        }
    }
}

pub(crate) const DATA_LAYOUT: &str = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-\
    i128:128:128-f32:32:32-f64:64:64-v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64";
pub(crate) const TRIPLE: &str = "nvptx64-nvidia-cuda";

/// Prints a module for LLVM's optimizer, with some symbols renamed. Returns the new names of all
/// renamed symbols.
pub(crate) fn write_for_llvm(
    module: &Module,
    names: HashMap<Value, String>,
) -> (String, HashMap<Value, String>) {
    let mut writer = Writer::new(module, crate::llvm::DIALECT);
    writer.for_llvm = true;
    writer.renamed.extend(names);
    writer.module();
    (writer.out, writer.renamed)
}

/// Prints a module as NVVM IR text.
pub fn write_module(module: &Module, dialect: Dialect) -> String {
    let mut writer = Writer::new(module, dialect);
    writer.module();
    writer.out
}

/// Prints one function as [`write_module`] would, without the rest of the module, for error
/// messages and dumps.
pub fn write_func(module: &Module, func: Func, dialect: Dialect) -> String {
    let mut writer = Writer::new(module, dialect);
    writer.func(func);
    writer.out
}

/// Prints functions and variables one at a time, each with the metadata that it refers to. The text
/// of a symbol does not depend on the rest of the module.
pub(crate) struct SymbolWriter<'m>(Writer<'m>);

impl<'m> SymbolWriter<'m> {
    pub(crate) fn new(module: &'m Module) -> Self {
        SymbolWriter(Writer::new(module, Dialect::Modern))
    }

    pub(crate) fn text(&mut self, symbol: Symbol) -> &str {
        let writer = &mut self.0;
        writer.out.clear();
        writer.md.restart();
        match symbol {
            Symbol::Global(global) => {
                writer.global(global);
                if writer.m.global(global).used {
                    writer.s("used\n");
                }
            }
            Symbol::Func(func) => {
                writer.func(func);
                for id in writer.annotations_of(func) {
                    writer.node(id);
                    writer.s("\n");
                }
            }
        }
        writer.nodes();
        &writer.out
    }
}

/// Prints instructions for error messages, with operands named as in [`write_func`].
pub(crate) fn write_insts(module: &Module, func: Func, insts: &[Value]) -> Vec<String> {
    let mut writer = Writer::new(module, Dialect::Modern);
    writer.number_locals(func);
    let line = |&inst: &Value| {
        writer.out.clear();
        writer.inst(inst);
        writer.out.trim_end().to_owned()
    };
    insts.iter().map(line).collect()
}

/// Returns a type as the modern dialect writes it.
pub(crate) fn type_name(module: &Module, ty: Type) -> String {
    Writer::new(module, Dialect::Modern).types[ty.0 as usize].clone()
}

/// Marks values and nodes that have no name or number yet.
const NONE: u32 = u32::MAX;
/// Distinguishes an index into `names` from a number.
const NAMED: u32 = 1 << 31;

struct Writer<'m> {
    m: &'m Module,
    dialect: Dialect,
    /// Whether the text is for LLVM's optimizer: see [`crate::llvm`].
    for_llvm: bool,
    out: String,
    /// The text of every type, by handle.
    types: Vec<String>,
    /// Symbols that are printed under another name.
    renamed: HashMap<Value, String>,
    /// For each value of the current function, its number, or its index in `names` with the bit
    /// [`NAMED`].
    locals: Vec<u32>,
    names: Vec<String>,
    /// For each block, the index of its label in `names`.
    labels: Vec<u32>,
    /// The number of temporaries `%.N` in the current function.
    temps: u32,
    /// The current function's subprogram, and the location for calls without one.
    subprogram: Option<crate::metadata::Di>,
    fallback_loc: Option<u32>,
    /// The intrinsics in use, in order of their first use.
    intrinsics: Vec<(Intrinsic, Type)>,
    intrinsic_ids: HashMap<(Intrinsic, Type), String>,
    declares_variables: bool,
    md: metadata::Metadata,
}

impl<'m> Writer<'m> {
    fn new(m: &'m Module, dialect: Dialect) -> Self {
        let mut writer = Writer {
            m,
            dialect,
            for_llvm: false,
            out: String::with_capacity(64 * m.values.len() + 1024),
            types: Vec::new(),
            renamed: symbol_names(m),
            locals: vec![NONE; m.values.len()],
            names: Vec::new(),
            labels: vec![NONE; m.blocks.len()],
            temps: 0,
            subprogram: None,
            fallback_loc: None,
            intrinsics: Vec::new(),
            intrinsic_ids: HashMap::new(),
            declares_variables: false,
            md: metadata::Metadata::new(m),
        };
        writer.cache_types();
        writer
    }

    fn llvm7(&self) -> bool {
        self.dialect == Dialect::Llvm7
    }

    // Text.

    fn s(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn num(&mut self, n: impl Into<u64>) {
        push_number(&mut self.out, n.into());
    }

    // Types.

    /// Prints each type once. The types that a type contains were interned before it.
    fn cache_types(&mut self) {
        for index in 0..self.m.types.len() {
            let text = self.type_text(Type(index as u32));
            self.types.push(text);
        }
    }

    fn type_text(&self, ty: Type) -> String {
        let name = |ty: &Type| self.types[ty.0 as usize].as_str();
        let list = |types: &[Type]| types.iter().map(name).collect::<Vec<_>>().join(", ");
        match self.m.types.kind(ty) {
            TypeKind::Void => "void".into(),
            TypeKind::Int(bits) => format!("i{bits}"),
            TypeKind::Half => "half".into(),
            TypeKind::BFloat => "bfloat".into(),
            TypeKind::Float => "float".into(),
            TypeKind::Double => "double".into(),
            TypeKind::Fp128 => "fp128".into(),
            TypeKind::Ptr(space) => match (self.dialect, space) {
                (Dialect::Llvm7, AddrSpace::Generic) => "i8*".into(),
                (Dialect::Llvm7, space) => format!("i8 addrspace({})*", space.number()),
                (Dialect::Modern, AddrSpace::Generic) => "ptr".into(),
                (Dialect::Modern, space) => format!("ptr addrspace({})", space.number()),
            },
            TypeKind::Array(element, len) => format!("[{len} x {}]", name(element)),
            TypeKind::Vector(element, len) => format!("<{len} x {}>", name(element)),
            TypeKind::Struct { fields, packed } => match (fields.is_empty(), packed) {
                (true, false) => "{}".into(),
                (true, true) => "<{}>".into(),
                (false, false) => format!("{{ {} }}", list(fields)),
                (false, true) => format!("<{{ {} }}>", list(fields)),
            },
            TypeKind::Func {
                ret,
                params,
                variadic,
            } => {
                let mut params: Vec<&str> = params.iter().map(name).collect();
                if *variadic {
                    params.push("...");
                }
                format!("{} ({})", name(ret), params.join(", "))
            }
        }
    }

    fn ty(&mut self, ty: Type) {
        self.out.push_str(&self.types[ty.0 as usize]);
    }

    /// LLVM 7: prints the type of a pointer to `pointee`.
    fn ptr_to(&mut self, pointee: Type, space: AddrSpace) {
        self.ty(pointee);
        self.star(space);
    }

    fn star(&mut self, space: AddrSpace) {
        if space != AddrSpace::Generic {
            self.s(" addrspace(");
            self.num(space.number());
            self.s(")");
        }
        self.s("*");
    }

    /// LLVM 7: returns whether pointers to the type are the `i8*` that represents all pointers.
    fn is_i8(&self, ty: Type) -> bool {
        self.m.types.int_bits(ty) == Some(8)
    }

    // The module.

    fn module(&mut self) {
        let m = self.m;
        self.s("target datalayout = \"");
        self.s(DATA_LAYOUT);
        self.s("\"\ntarget triple = \"");
        self.s(TRIPLE);
        self.s("\"\n");
        for line in m.asm.iter().flat_map(|asm| asm.lines()) {
            self.s("module asm \"");
            escape(&mut self.out, line.as_bytes());
            self.s("\"\n");
        }
        if m.globals().next().is_some() {
            self.s("\n");
        }
        for global in m.globals() {
            self.global(global);
        }
        self.used();
        for func in m.funcs() {
            self.s("\n");
            self.func(func);
        }
        self.intrinsic_declarations();
        self.module_metadata();
    }

    fn global(&mut self, global: Global) {
        let data = self.m.global(global);
        self.symbol(data.value);
        self.s(" = ");
        self.s(match (data.linkage, data.init.is_some()) {
            (Linkage::External, true) => "",
            (Linkage::Internal, _) => "internal ",
            // libnvvm rejects `extern_weak`.
            (_, false) => "external ",
            (Linkage::Weak, true) => "weak ",
            (Linkage::LinkOnceOdr, true) => "linkonce_odr ",
        });
        if data.space != AddrSpace::Generic {
            self.s("addrspace(");
            self.num(data.space.number());
            self.s(") ");
        }
        self.s(if data.constant {
            "constant "
        } else {
            "global "
        });
        self.ty(data.ty);
        if let Some(init) = data.init {
            self.s(" ");
            self.val(init);
        } else if data.linkage == Linkage::Internal {
            // An internal symbol cannot be defined by another module.
            self.s(" undef");
        }
        self.align(data.align);
        self.s("\n");
    }

    /// Prints `llvm.used`: the globals that must be kept.
    fn used(&mut self) {
        let used: Vec<Value> = self
            .m
            .globals()
            .map(|g| self.m.global(g))
            .filter(|g| g.used)
            .map(|g| g.value)
            .collect();
        if used.is_empty() {
            return;
        }
        let ptr = if self.llvm7() { "i8*" } else { "ptr" };
        self.s("@llvm.used = appending global [");
        self.num(used.len() as u64);
        self.s(" x ");
        self.s(ptr);
        self.s("] [");
        for (i, &value) in used.iter().enumerate() {
            self.s(if i == 0 { "" } else { ", " });
            self.s(ptr);
            self.s(" ");
            self.address(value, 0, AddrSpace::Generic);
        }
        self.s("], section \"llvm.metadata\"\n");
    }

    fn align(&mut self, align: u64) {
        if align != 0 {
            self.s(", align ");
            self.num(align);
        }
    }

    /// Prints a function, including its body.
    fn func(&mut self, func: Func) {
        let m = self.m;
        let data = m.func(func);
        let defined = !data.blocks.is_empty();
        self.number_locals(func);
        self.subprogram = data.subprogram.filter(|_| defined);
        self.fallback_loc = None;
        let linkage = match self.for_llvm {
            _ if defined && data.name == REPORT => Linkage::External,
            true => crate::llvm::linkage(m, func),
            false => data.linkage,
        };
        self.s(match (linkage, defined) {
            (Linkage::Internal, true) => "define internal ",
            (Linkage::External, true) => "define ",
            (Linkage::Weak, true) => "define weak ",
            (Linkage::LinkOnceOdr, true) => "define linkonce_odr ",
            (_, false) => "declare ",
        });
        let TypeKind::Func {
            ret,
            ref params,
            variadic,
        } = *m.types.kind(data.sig)
        else {
            return self.s("<function with a type that is not a signature>");
        };
        self.param_attrs_before(&data.ret_attrs);
        if self.for_llvm {
            self.s(&crate::llvm::result_attributes(m, func));
        }
        self.ty(ret);
        self.s(" ");
        self.symbol(data.value);
        self.s("(");
        // LLVM 7: the type of a by-value parameter is a pointer to the copied type.
        let mut typed = Vec::new();
        for (i, (&param, &ty)) in data.params.iter().zip(params).enumerate() {
            self.s(if i == 0 { "" } else { ", " });
            let attrs = &data.param_attrs[i];
            let temp = self.param_type(ty, attrs);
            self.param_attrs(attrs);
            if self.for_llvm {
                self.s(crate::llvm::parameter_attributes(m, func, ty));
            }
            if !defined {
                continue;
            }
            match temp {
                Some(pointee) => {
                    let temp = self.temp();
                    self.s(" ");
                    self.temp_name(temp);
                    typed.push((temp, pointee, param));
                }
                // LLVM 7 does not accept numbers here, and counts on its own.
                None if self.llvm7() && self.locals[param.index()] & NAMED == 0 => {}
                None => {
                    self.s(" ");
                    self.local(param);
                }
            }
        }
        if variadic {
            self.s(if params.is_empty() { "..." } else { ", ..." });
        }
        self.s(")");
        self.func_attrs(&data.attrs);
        if self.for_llvm {
            self.s(crate::llvm::attributes(m, func));
        }
        if !defined {
            self.s("\n");
            return;
        }
        if let Some(subprogram) = data.subprogram {
            self.s(" !dbg ");
            self.di(subprogram);
        }
        self.s(" {\n");
        for (i, &block) in data.blocks.iter().enumerate() {
            if i > 0 {
                self.s("\n");
            }
            self.label(block);
            self.s(":\n");
            if i == 0 {
                for &(temp, pointee, param) in &typed {
                    self.typed_param(temp, pointee, param);
                }
            }
            let mut variables = i == 0 && self.subprogram.is_some() && !data.variables.is_empty();
            for &inst in &m.block(block).insts {
                let kind = m.inst(inst).map(|data| &data.kind);
                if variables && !matches!(kind, Some(InstKind::Alloca { .. })) {
                    self.variables(func);
                    variables = false;
                }
                self.inst(inst);
            }
        }
        self.s("}\n");
    }

    /// LLVM 7: prints `%param = bitcast T* %.N to i8*`.
    fn typed_param(&mut self, temp: u32, pointee: Type, param: Value) {
        let space = self.space_of(param);
        self.s("  ");
        self.local(param);
        self.s(" = bitcast ");
        self.ptr_to(pointee, space);
        self.s(" ");
        self.temp_name(temp);
        self.s(" to ");
        self.ty(self.m.ty(param));
        self.s("\n");
    }

    fn space_of(&self, ptr: Value) -> AddrSpace {
        let ty = self.m.ty(ptr);
        self.m.types.addr_space(ty).unwrap_or(AddrSpace::Generic)
    }
}

/// Appends a decimal number.
fn push_number(out: &mut String, mut n: u64) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (n % 10) as u8;
        n /= 10;
        if n == 0 {
            break;
        }
    }
    out.extend(digits[at..].iter().map(|&d| d as char));
}

/// Appends bytes escaped as in LLVM's quoted strings.
fn escape(out: &mut String, bytes: &[u8]) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for &byte in bytes {
        if (b' '..=b'~').contains(&byte) && byte != b'"' && byte != b'\\' {
            out.push(byte as char);
        } else {
            out.push('\\');
            out.push(HEX[usize::from(byte >> 4)] as char);
            out.push(HEX[usize::from(byte & 15)] as char);
        }
    }
}
