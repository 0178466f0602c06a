//! `link`, which makes one module of two.

use std::collections::HashMap;

use crate::inst::{InstData, InstKind, ParamAttrs};
use crate::metadata::{DbgDeclare, Di, DiNode};
use crate::module::{Linkage, Module};
use crate::types::{Type, TypeKind};
use crate::uses::Symbol;
use crate::value::{Block, Const, Func, Value, ValueKind};

/// Why two modules are not one program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// Both modules define a symbol, and neither definition gives way.
    #[error("`{0}` is defined in two modules")]
    Duplicate(String),
    /// A symbol is a function in one module and a static in the other.
    #[error("`{0}` is a function in one module and a static in the other")]
    Kind(String),
    /// A static lives in two address spaces.
    #[error("`{0}` lives in two address spaces")]
    AddressSpace(String),
}

/// Merges a module into another by their symbols: a definition takes the place of a declaration,
/// a strong one that of a weak one, and of two weak ones the first stays. Internal symbols of equal
/// names are different things, and one of them is renamed. Types, constants and debug information
/// are interned in the module that is merged into; module-level PTX is appended. On an error the
/// module that is merged into is left half merged, and of no more use.
pub fn link(into: &mut Module, other: &Module) -> Result<(), LinkError> {
    let mut linker = Linker {
        into,
        other,
        types: HashMap::new(),
        di: HashMap::new(),
        values: vec![None; other.values.len()],
        blocks: HashMap::new(),
    };
    let mut bodies = Vec::new();
    for global in other.globals() {
        if linker.global_shell(global)? {
            bodies.push(Symbol::Global(global));
        }
    }
    for func in other.funcs() {
        if linker.func_shell(func)? {
            bodies.push(Symbol::Func(func));
        }
    }
    for body in bodies {
        match body {
            Symbol::Global(global) => linker.contents(global),
            Symbol::Func(func) => linker.body(func),
        }
    }
    linker.into.asm.extend(other.asm.iter().cloned());
    Ok(())
}

struct Linker<'a> {
    into: &'a mut Module,
    other: &'a Module,
    types: HashMap<Type, Type>,
    di: HashMap<Di, Di>,
    values: Vec<Option<Value>>,
    blocks: HashMap<Block, Block>,
}

/// Whether a definition takes the place of what is there.
fn replaces(
    name: &str,
    (old, old_defined): (Linkage, bool),
    (new, new_defined): (Linkage, bool),
) -> Result<bool, LinkError> {
    let gives_way = |linkage| matches!(linkage, Linkage::Weak | Linkage::LinkOnceOdr);
    match (old_defined, new_defined) {
        (_, false) => Ok(false),
        (false, true) => Ok(true),
        (true, true) if gives_way(new) => Ok(false),
        (true, true) if gives_way(old) => Ok(true),
        (true, true) => Err(LinkError::Duplicate(name.to_owned())),
    }
}

impl Linker<'_> {
    /// Gives an internal symbol way for another of its name: returns the name that the new one
    /// gets, and whether it is a symbol of its own.
    fn resolve(&mut self, name: &str, internal: bool) -> (String, Option<Value>) {
        let Some(old) = self.into.named(name) else {
            return (name.to_owned(), None);
        };
        let old_internal = match self.into.value(old).kind {
            ValueKind::Func(f) => {
                let data = self.into.func(f);
                data.linkage == Linkage::Internal && !data.blocks.is_empty()
            }
            ValueKind::Global(g) => self.into.global(g).linkage == Linkage::Internal,
            _ => false,
        };
        if internal {
            (self.free_name(name), None)
        } else if old_internal {
            let free = self.free_name(name);
            self.into.rename(old, &free);
            (name.to_owned(), None)
        } else {
            (name.to_owned(), Some(old))
        }
    }

    fn free_name(&self, name: &str) -> String {
        let taken =
            |name: &str| self.into.named(name).is_some() || self.other.named(name).is_some();
        (1u64..)
            .map(|n| format!("{name}_{n}"))
            .find(|n| !taken(n))
            .unwrap_or_default()
    }

    /// Adds a global without its contents. Returns whether those are to follow.
    fn global_shell(&mut self, global: crate::value::Global) -> Result<bool, LinkError> {
        let data = self.other.global(global);
        let ty = self.ty(data.ty);
        let (name, old) = self.resolve(&data.name, data.linkage == Linkage::Internal);
        let new_state = (data.linkage, data.init.is_some());
        let (target, take) = match old {
            None => {
                let Some(new) = self.into.add_global(&name, ty, data.space) else {
                    return Err(LinkError::Duplicate(name));
                };
                (new, true)
            }
            Some(old) => {
                let Some(old) = self.into.as_global(old) else {
                    return Err(LinkError::Kind(name));
                };
                let there = self.into.global(old);
                if there.space != data.space {
                    return Err(LinkError::AddressSpace(name));
                }
                let old_state = (there.linkage, there.init.is_some());
                (old, replaces(&name, old_state, new_state)?)
            }
        };
        self.values[data.value.index()] = Some(self.into.global(target).value);
        let merged = self.into.global_mut(target);
        merged.used |= data.used;
        merged.align = merged.align.max(data.align);
        if take {
            merged.ty = ty;
            merged.constant = data.constant;
            merged.linkage = data.linkage;
        }
        Ok(take && data.init.is_some())
    }

    fn contents(&mut self, global: crate::value::Global) {
        let data = self.other.global(global);
        let init = data.init.map(|init| self.value(init));
        if let Some(target) = self.values[data.value.index()].and_then(|v| self.into.as_global(v)) {
            self.into.global_mut(target).init = init;
        }
    }

    /// Adds a function without its body. Returns whether that is to follow.
    fn func_shell(&mut self, func: Func) -> Result<bool, LinkError> {
        let data = self.other.func(func);
        let sig = self.ty(data.sig);
        let defined = !data.blocks.is_empty();
        let (name, old) = self.resolve(&data.name, data.linkage == Linkage::Internal && defined);
        let (target, take) = match old {
            None => {
                let Some(new) = self.into.add_func(&name, sig) else {
                    return Err(LinkError::Duplicate(name));
                };
                (new, true)
            }
            Some(old) => {
                let Some(old) = self.into.as_func(old) else {
                    return Err(LinkError::Kind(name));
                };
                let there = self.into.func(old);
                let old_state = (there.linkage, !there.blocks.is_empty());
                (old, replaces(&name, old_state, (data.linkage, defined))?)
            }
        };
        self.values[data.value.index()] = Some(self.into.func(target).value);
        if take {
            let param_attrs = data
                .param_attrs
                .iter()
                .map(|attrs| self.attrs(attrs))
                .collect();
            let ret_attrs = self.attrs(&data.ret_attrs);
            let params: Vec<Value> = (data.params.iter().enumerate())
                .map(|(i, &param)| {
                    let ty = self.ty(self.other.ty(param));
                    let new = self.into.push_value(ty, ValueKind::Param(target, i as u32));
                    self.into.value_mut(new).name = self.other.value(param).name.clone();
                    self.values[param.index()] = Some(new);
                    new
                })
                .collect();
            let subprogram = data.subprogram.map(|di| self.di(di));
            let merged = self.into.func_mut(target);
            merged.sig = sig;
            merged.params = params;
            merged.param_attrs = param_attrs;
            merged.ret_attrs = ret_attrs;
            merged.attrs = data.attrs.clone();
            merged.linkage = data.linkage;
            merged.kernel = data.kernel.clone();
            merged.subprogram = subprogram;
            merged.blocks.clear();
            merged.variables.clear();
        }
        Ok(take && defined)
    }

    fn body(&mut self, func: Func) {
        let other = self.other;
        let data = other.func(func);
        let Some(target) = self.values[data.value.index()].and_then(|v| self.into.as_func(v))
        else {
            return;
        };
        for &block in &data.blocks {
            let new = self.into.add_block(target, &other.block(block).name);
            self.blocks.insert(block, new);
        }
        // First every result, since uses may come before their definitions in the text.
        for &block in &data.blocks {
            let home = self.blocks[&block];
            for &inst in &other.block(block).insts {
                let ty = self.ty(other.ty(inst));
                let loc = other
                    .inst(inst)
                    .and_then(|data| data.loc)
                    .map(|di| self.di(di));
                let kind = ValueKind::Inst(InstData {
                    kind: InstKind::Unreachable,
                    block: home,
                    loc,
                });
                let new = self.into.push_value(ty, kind);
                self.into.value_mut(new).name = other.value(inst).name.clone();
                self.into.block_mut(home).insts.push(new);
                self.values[inst.index()] = Some(new);
            }
        }
        for &block in &data.blocks {
            for &inst in &other.block(block).insts {
                let (Some(data), Some(new)) = (other.inst(inst), self.values[inst.index()]) else {
                    continue;
                };
                let kind = self.kind(data.kind.clone());
                if let Some(data) = self.into.inst_mut(new) {
                    data.kind = kind;
                }
            }
        }
        for (ptr, declare) in &data.variables {
            let variable = self.di(declare.variable);
            let declare = DbgDeclare {
                variable,
                expression: declare.expression.clone(),
                ty: self.ty(declare.ty),
            };
            let ptr = self.value(*ptr);
            self.into.func_mut(target).variables.push((ptr, declare));
        }
    }

    fn kind(&mut self, mut kind: InstKind) -> InstKind {
        kind.for_each_operand_mut(|operand| *operand = self.value(*operand));
        kind.for_each_successor_mut(|block| *block = self.blocks[block]);
        match &mut kind {
            InstKind::Alloca { ty, .. } | InstKind::Gep { element: ty, .. } => *ty = self.ty(*ty),
            InstKind::Phi(incoming) => {
                incoming
                    .iter_mut()
                    .for_each(|(_, block)| *block = self.blocks[block]);
            }
            InstKind::Call(call) => {
                call.sig = self.ty(call.sig);
                call.ret_attrs = self.attrs(&call.ret_attrs);
                for attrs in &mut call.arg_attrs {
                    *attrs = self.attrs(attrs);
                }
            }
            _ => {}
        }
        kind
    }

    fn attrs(&mut self, attrs: &ParamAttrs) -> ParamAttrs {
        let mut attrs = attrs.clone();
        attrs.byval = attrs.byval.map(|ty| self.ty(ty));
        attrs.sret = attrs.sret.map(|ty| self.ty(ty));
        attrs
    }

    fn ty(&mut self, ty: Type) -> Type {
        if let Some(&new) = self.types.get(&ty) {
            return new;
        }
        let kind = match self.other.types.kind(ty).clone() {
            TypeKind::Array(element, len) => TypeKind::Array(self.ty(element), len),
            TypeKind::Vector(element, len) => TypeKind::Vector(self.ty(element), len),
            TypeKind::Struct { fields, packed } => {
                let fields = fields.into_iter().map(|field| self.ty(field)).collect();
                TypeKind::Struct { fields, packed }
            }
            TypeKind::Func {
                ret,
                params,
                variadic,
            } => {
                let params = params.into_iter().map(|param| self.ty(param)).collect();
                TypeKind::Func {
                    ret: self.ty(ret),
                    params,
                    variadic,
                }
            }
            plain => plain,
        };
        let new = self.into.types.intern(kind);
        self.types.insert(ty, new);
        new
    }

    /// A value of the other module in this one.
    fn value(&mut self, value: Value) -> Value {
        if let Some(new) = self.values[value.index()] {
            return new;
        }
        let other = self.other;
        let ValueKind::Const(constant) = &other.value(value).kind else {
            unreachable!("functions, statics and what a body computes were mapped before")
        };
        let constant = match constant {
            Const::Aggregate(elements) => Const::Aggregate(
                elements
                    .iter()
                    .map(|&element| self.value(element))
                    .collect(),
            ),
            Const::Addr { base, offset } => Const::Addr {
                base: self.value(*base),
                offset: *offset,
            },
            Const::PtrToInt(ptr) => Const::PtrToInt(self.value(*ptr)),
            plain => plain.clone(),
        };
        let ty = self.ty(other.ty(value));
        let new = self.into.constant(ty, constant);
        self.values[value.index()] = Some(new);
        new
    }

    fn di(&mut self, di: Di) -> Di {
        if let Some(&new) = self.di.get(&di) {
            return new;
        }
        let mut node = self.other.di(di).clone();
        match &mut node {
            DiNode::File { .. } | DiNode::BasicType { .. } => {}
            DiNode::CompileUnit { file, .. } => *file = self.di(*file),
            DiNode::Subprogram { file, unit, .. } => {
                *file = self.di(*file);
                *unit = self.di(*unit);
            }
            DiNode::LexicalBlock { scope, file, .. } => {
                *scope = self.di(*scope);
                *file = self.di(*file);
            }
            DiNode::Location {
                scope, inlined_at, ..
            } => {
                *scope = self.di(*scope);
                *inlined_at = inlined_at.map(|at| self.di(at));
            }
            DiNode::PointerType { to: ty, .. }
            | DiNode::ArrayType { element: ty, .. }
            | DiNode::Member { ty, .. } => *ty = self.di(*ty),
            DiNode::StructType { members, .. } => {
                members.iter_mut().for_each(|di| *di = self.di(*di));
            }
            DiNode::LocalVariable {
                scope, file, ty, ..
            } => {
                *scope = self.di(*scope);
                *file = self.di(*file);
                *ty = self.di(*ty);
            }
        }
        let new = self.into.add_di(node);
        self.di.insert(di, new);
        new
    }
}
