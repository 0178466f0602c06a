//! Statics whose initializers form a reference cycle, or refer to themselves.
//!
//! libnvvm rejects them, but PTX can express them: a declaration first, the definition later. These
//! statics, the statics that they refer to and the statics that refer to them become module-level
//! PTX, and functions get their addresses through inline PTX.
//!
//! Functions whose addresses they hold keep their names. PTX requires a function's prototype before
//! its name in an initializer, and only libnvvm knows how it will print the prototype:
//! `ptx::finish` inserts it.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use super::rewriter::Rewriter;
use super::{LegalizeError, Target};
use crate::graph::cycles;
use crate::inst::InstKind;
use crate::module::Module;
use crate::types::{AddrSpace, Type, TypeKind};
use crate::value::{Const, Func, Global, Value, ValueKind};

/// Rewrites reference cycles of statics, if there are any.
pub(super) fn legalize_statics(
    module: &mut Module,
    target: &Target,
    errors: &mut Vec<LegalizeError>,
) {
    // Indexed by handle; removed globals leave gaps.
    let mut references: Vec<References> = Vec::new();
    for global in module.globals() {
        references.resize_with(global.0 as usize + 1, References::default);
        references[global.0 as usize] = References::of(module, global);
    }
    // The statics that can reach themselves.
    let cyclic = cycles(references.len(), |global, i| {
        Some(references[global].globals.get(i)?.0 as usize)
    });
    if cyclic.is_empty() {
        return;
    }
    let cyclic: Vec<Global> = (cyclic.into_iter().flatten())
        .map(|global| Global(global as u32))
        .collect();
    let members = closure(&references, &cyclic);
    let symbols = crate::write::symbol_names(module);
    let symbol = |module: &Module, value: Value| {
        let name = || match (module.as_func(value), module.as_global(value)) {
            (Some(func), _) => module.func(func).name.clone(),
            (_, global) => module.global(global.expect("a global")).name.clone(),
        };
        symbols.get(&value).cloned().unwrap_or_else(name)
    };
    let mut definitions = Vec::new();
    for &member in &members {
        let value = module.global(member).value;
        let result = match module.global(member) {
            data if data.init.is_none() => Err("one of them is not defined here"),
            data if data.space != AddrSpace::Global => Err("one of them is not in global memory"),
            _ => Image::of(module, member, &symbol),
        };
        match result {
            Ok(image) => definitions.push(image.write(&symbol(module, value))),
            Err(reason) => {
                let statics = members
                    .iter()
                    .map(|&g| module.global(g).name.clone())
                    .collect();
                errors.push(LegalizeError::CyclicStatics {
                    statics,
                    reason: reason.to_owned(),
                });
                return;
            }
        }
    }
    let (declarations, definitions): (Vec<_>, Vec<_>) = definitions.into_iter().unzip();
    module.asm.extend(declarations);
    module.asm.extend(definitions);
    let names: HashMap<Value, String> = members
        .iter()
        .map(|&g| module.global(g).value)
        .map(|value| (value, symbol(module, value)))
        .collect();
    for &member in &members {
        for &func in &references[member.0 as usize].functions {
            module.func_mut(func).linkage = crate::Linkage::External;
        }
    }
    for &member in &members {
        let data = module.global_mut(member);
        data.init = None;
        data.used = false;
        data.linkage = crate::Linkage::External;
    }
    redirect_uses(module, target, &names, errors);
}

/// The symbols that an initializer references.
#[derive(Default)]
struct References {
    globals: Vec<Global>,
    functions: Vec<Func>,
}

impl References {
    fn of(module: &Module, global: Global) -> References {
        let mut references = References::default();
        let mut seen = HashSet::new();
        if let Some(init) = module.global(global).init {
            references.walk(module, init, &mut seen);
        }
        references
    }

    fn walk(&mut self, module: &Module, value: Value, seen: &mut HashSet<Value>) {
        match &module.value(value).kind {
            ValueKind::Const(Const::Aggregate(fields)) => {
                if seen.insert(value) {
                    fields
                        .iter()
                        .for_each(|&field| self.walk(module, field, seen));
                }
            }
            ValueKind::Const(Const::PtrToInt(address)) => self.walk(module, *address, seen),
            ValueKind::Const(Const::Addr { base, .. }) => self.walk(module, *base, seen),
            ValueKind::Global(global) => self.globals.push(*global),
            ValueKind::Func(func) => self.functions.push(*func),
            _ => {}
        }
    }
}

/// Returns the cycles, everything that they reference, and everything that references any of these,
/// in the module's order: all of these can only be defined together.
fn closure(references: &[References], cyclic: &[Global]) -> Vec<Global> {
    let mut users: Vec<Vec<Global>> = vec![Vec::new(); references.len()];
    for (user, references) in (0..).map(Global).zip(references) {
        references
            .globals
            .iter()
            .for_each(|used| users[used.0 as usize].push(user));
    }
    let mut member = vec![false; references.len()];
    let mut work = cyclic.to_vec();
    while let Some(global) = work.pop() {
        let index = global.0 as usize;
        if !std::mem::replace(&mut member[index], true) {
            work.extend(references[index].globals.iter().chain(&users[index]));
        }
    }
    (0..)
        .map(Global)
        .zip(&member)
        .filter(|&(_, &is)| is)
        .map(|(global, _)| global)
        .collect()
}

/// The bytes of a static and the addresses among them.
struct Image {
    align: u64,
    bytes: Vec<u8>,
    /// The offset of each address, and the address as PTX.
    addresses: Vec<(usize, String)>,
}

impl Image {
    fn of(
        module: &Module,
        global: Global,
        symbol: &impl Fn(&Module, Value) -> String,
    ) -> Result<Image, &'static str> {
        let data = module.global(global);
        let size = module.types.size(data.ty) as usize;
        let mut image = Image {
            align: data.align,
            bytes: vec![0; size],
            addresses: Vec::new(),
        };
        image.put(
            module,
            data.init.expect("checked before"),
            data.ty,
            0,
            symbol,
        )?;
        image.addresses.sort();
        Ok(image)
    }

    fn put(
        &mut self,
        module: &Module,
        value: Value,
        ty: Type,
        at: usize,
        symbol: &impl Fn(&Module, Value) -> String,
    ) -> Result<(), &'static str> {
        let unknown = Err("one of them contains a value without bytes");
        let constant = match &module.value(value).kind {
            ValueKind::Const(constant) => constant,
            // A function's address is the same in all address spaces.
            ValueKind::Func(_) => {
                self.addresses.push((at, symbol(module, value)));
                return Ok(());
            }
            _ => return unknown,
        };
        let size = module.types.size(ty) as usize;
        match constant {
            Const::Int(bits) | Const::Float(bits) => {
                let bytes = bits.to_le_bytes();
                self.bytes[at..at + size.min(16)].copy_from_slice(&bytes[..size.min(16)]);
            }
            Const::IntToPtr(address) => {
                self.bytes[at..at + 8].copy_from_slice(&address.to_le_bytes());
            }
            Const::Bytes(bytes) => self.bytes[at..at + bytes.len()].copy_from_slice(bytes),
            Const::Zero | Const::Undef | Const::Poison => {}
            Const::Aggregate(fields) => {
                for (index, &field) in fields.iter().enumerate() {
                    let offset = match *module.types.kind(ty) {
                        TypeKind::Struct { .. } => module.types.field_offset(ty, index),
                        TypeKind::Array(element, _) | TypeKind::Vector(element, _) => {
                            module.types.size(element) * index as u64
                        }
                        _ => return unknown,
                    };
                    self.put(
                        module,
                        field,
                        module.ty(field),
                        at + offset as usize,
                        symbol,
                    )?;
                }
            }
            Const::PtrToInt(address) if size == 8 => {
                self.put(module, *address, module.ty(*address), at, symbol)?;
            }
            Const::Addr { base, offset } => {
                let name = symbol(module, *base);
                let address = match offset {
                    0 if module.as_func(*base).is_some() => name,
                    0 => format!("generic({name})"),
                    _ => format!("generic({name}){offset:+}"),
                };
                self.addresses.push((at, address));
            }
            Const::PtrToInt(_) => return unknown,
        }
        Ok(())
    }

    /// Returns the declaration and the definition.
    fn write(mut self, name: &str) -> (String, String) {
        let aligned = self.align.is_multiple_of(8)
            && self
                .addresses
                .iter()
                .all(|address| address.0.is_multiple_of(8));
        let step = if aligned { 8 } else { 1 };
        // PTX has no empty arrays.
        self.bytes
            .resize(self.bytes.len().max(1).next_multiple_of(step), 0);
        let count = self.bytes.len() / step;
        let head = format!(
            ".global .align {} .u{} {name}[{count}]",
            self.align,
            step * 8
        );
        let mut values = String::new();
        let mut addresses = self.addresses.iter().peekable();
        let mut at = 0;
        while at < self.bytes.len() {
            let sep = if at == 0 { "" } else { ", " };
            let Some((_, address)) = addresses.next_if(|address| address.0 == at) else {
                let unit = &self.bytes[at..at + step];
                let value = unit
                    .iter()
                    .rev()
                    .fold(0u64, |all, &byte| all << 8 | u64::from(byte));
                let _ = write!(values, "{sep}{value}");
                at += step;
                continue;
            };
            if aligned {
                let _ = write!(values, "{sep}{address}");
            } else {
                let bytes = (0..8).map(|byte| format!("{:#X}({address})", 0xFFu64 << (byte * 8)));
                let _ = write!(values, "{sep}{}", bytes.collect::<Vec<_>>().join(", "));
            }
            at += 8;
        }
        (
            format!(".extern {head};"),
            format!(".visible {head} = {{{values}}};"),
        )
    }
}

/// Makes functions take the addresses of the statics from inline PTX.
fn redirect_uses(
    module: &mut Module,
    target: &Target,
    names: &HashMap<Value, String>,
    errors: &mut Vec<LegalizeError>,
) {
    for func in module.funcs() {
        let used = used_constants(module, func, names);
        if used.is_empty() {
            continue;
        }
        let none = HashMap::new();
        let mut rewriter = Rewriter::new(module, *target, func, &none, errors);
        rewriter.prepend_to_entry(|rw| {
            used.into_iter()
                .map(|constant| (constant, materialize(rw, constant, names)))
                .collect()
        });
    }
}

/// Returns the constants among a function's operands that contain one of the addresses.
fn used_constants(module: &Module, func: Func, names: &HashMap<Value, String>) -> Vec<Value> {
    let mut used = Vec::new();
    let mut seen: HashSet<Value> = HashSet::new();
    let mut known: HashMap<Value, bool> = HashMap::new();
    for &block in &module.func(func).blocks {
        for &inst in &module.block(block).insts {
            let Some(data) = module.inst(inst) else {
                continue;
            };
            data.kind.for_each_operand(|operand| {
                if seen.insert(operand) && holds_address(module, operand, names, &mut known) {
                    used.push(operand);
                }
            });
        }
    }
    used
}

fn holds_address(
    module: &Module,
    value: Value,
    names: &HashMap<Value, String>,
    known: &mut HashMap<Value, bool>,
) -> bool {
    if let Some(&holds) = known.get(&value) {
        return holds;
    }
    let holds = match &module.value(value).kind {
        ValueKind::Const(Const::Addr { base, .. }) => names.contains_key(base),
        ValueKind::Const(Const::PtrToInt(address)) => holds_address(module, *address, names, known),
        ValueKind::Const(Const::Aggregate(fields)) => fields
            .clone()
            .iter()
            .any(|&field| holds_address(module, field, names, known)),
        _ => false,
    };
    known.insert(value, holds);
    holds
}

/// Emits code that computes the constant.
fn materialize(rw: &mut Rewriter, constant: Value, names: &HashMap<Value, String>) -> Value {
    let ty = rw.ty(constant);
    match rw.module.as_const(constant).cloned() {
        Some(Const::Addr { base, offset }) if names.contains_key(&base) => {
            let name = &names[&base];
            let generic = *rw.kind(ty) == TypeKind::Ptr(AddrSpace::Generic);
            let template = if generic {
                format!("{{ .reg .b64 t; mov.b64 t, {name}; cvta.global.u64 $0, t; }}")
            } else {
                format!("mov.b64 $0, {name};")
            };
            let address = rw.pure_asm(&template, "=l", ty, &[]);
            if offset == 0 {
                return address;
            }
            let offset = rw.module.const_i64(offset);
            rw.offset(address, offset)
        }
        Some(Const::PtrToInt(address)) => {
            let address = materialize(rw, address, names);
            rw.emit(
                ty,
                InstKind::Cast {
                    op: crate::CastOp::PtrToInt,
                    value: address,
                },
            )
        }
        Some(Const::Aggregate(fields)) => {
            let fields: Vec<Value> = fields
                .iter()
                .map(|&field| materialize(rw, field, names))
                .collect();
            if rw.vector_len(ty).is_some() {
                rw.vector(ty, &fields)
            } else {
                rw.aggregate(ty, &fields)
            }
        }
        _ => constant,
    }
}
