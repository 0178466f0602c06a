//! Rules about symbols, signatures, kernels, statics, constants and attributes.

use std::collections::HashSet;

use super::{Rule, Verifier};
use crate::graph::cycles;
use crate::inst::ParamAttrs;
use crate::module::Linkage;
use crate::types::{AddrSpace, Type, TypeKind};
use crate::uses::Symbol;
use crate::value::{Const, Func, Global, Value, ValueKind};

impl Verifier<'_> {
    pub(super) fn check_statics(&mut self) {
        self.check_names();
        for global in self.m.globals() {
            self.check_global(global);
        }
    }

    fn check_names(&mut self) {
        let m = self.m;
        let mut names = HashSet::new();
        let globals = m.globals().map(|g| m.global(g).name.as_str());
        let funcs = m.funcs().map(|f| m.func(f).name.as_str());
        for name in globals.chain(funcs) {
            if name.is_empty() {
                self.error(Rule::Symbols, None, "a symbol without a name");
            } else if !names.insert(name) {
                self.error(Rule::Symbols, Some(name), "two symbols have this name");
            }
        }
    }

    fn check_global(&mut self, global: Global) {
        let m = self.m;
        let data = m.global(global);
        let name = Some(data.name.as_str());
        if !data.align.is_power_of_two() {
            self.error(
                Rule::Statics,
                name,
                format!("the alignment is {}", data.align),
            );
        }
        if data.space == AddrSpace::Local {
            self.error(Rule::Statics, name, "a global is in local memory");
        }
        if !self.is_sized(data.ty) {
            let message = format!(
                "the type of the contents has no size: `{}`",
                self.type_name(data.ty)
            );
            return self.error(Rule::Statics, name, message);
        }
        let Some(init) = data.init else { return };
        if m.ty(init) != data.ty {
            let message = format!(
                "the contents are of type `{}`, and the global of type `{}`",
                self.type_name(m.ty(init)),
                self.type_name(data.ty)
            );
            self.error(Rule::Statics, name, message);
        }
        if data.space == AddrSpace::Shared
            && !matches!(m.as_const(init), Some(Const::Undef | Const::Poison))
        {
            self.error(Rule::Statics, name, "shared memory cannot have contents");
        }
        if let Err(message) = self.check_constant(init) {
            self.error(Rule::Constants, name, message);
        }
    }

    /// Checks a constant and the constants it consists of, each once.
    pub(super) fn check_constant(&mut self, value: Value) -> Result<(), String> {
        let m = self.m;
        let mut stack = vec![value];
        while let Some(value) = stack.pop() {
            if std::mem::replace(&mut self.checked[value.index()], true) {
                continue;
            }
            let ty = m.ty(value);
            match &m.value(value).kind {
                ValueKind::Const(constant) => self.check_const(ty, constant, &mut stack)?,
                ValueKind::Global(global) if m.global(*global).removed => {
                    return Err(format!("`{}` was removed", m.global(*global).name));
                }
                ValueKind::Func(func) if m.func(*func).removed => {
                    return Err(format!("`{}` was removed", m.func(*func).name));
                }
                ValueKind::Global(_) | ValueKind::Func(_) => {}
                ValueKind::Param(..) | ValueKind::Inst(_) => {
                    return Err("a value known only at run time in a constant".into());
                }
            }
        }
        Ok(())
    }

    fn check_const(
        &self,
        ty: Type,
        constant: &Const,
        stack: &mut Vec<Value>,
    ) -> Result<(), String> {
        let m = self.m;
        let types = &m.types;
        let fits = match constant {
            Const::Int(int) => match types.int_bits(ty) {
                Some(bits @ 1..128) => int >> bits == 0,
                bits => bits.is_some(),
            },
            Const::Float(bits) => {
                types.is_float(ty) && (types.bits(ty) == 128 || bits >> types.bits(ty) == 0)
            }
            Const::Zero | Const::Undef | Const::Poison => self.is_sized(ty),
            Const::Bytes(bytes) => matches!(*self.kind(ty), TypeKind::Array(element, len)
                if types.int_bits(element) == Some(8) && len == bytes.len() as u64),
            Const::Aggregate(elements) => {
                stack.extend(elements);
                match self.kind(ty) {
                    TypeKind::Struct { fields, .. } => {
                        fields.len() == elements.len()
                            && fields.iter().zip(elements).all(|(&f, &e)| m.ty(e) == f)
                    }
                    TypeKind::Array(element, len) => {
                        *len == elements.len() as u64
                            && elements.iter().all(|&e| m.ty(e) == *element)
                    }
                    TypeKind::Vector(element, len) => {
                        *len as usize == elements.len()
                            && elements.iter().all(|&e| m.ty(e) == *element)
                    }
                    _ => false,
                }
            }
            Const::Addr { base, .. } => {
                stack.push(*base);
                let own = match m.value(*base).kind {
                    ValueKind::Global(global) => m.global(global).space,
                    ValueKind::Func(_) => AddrSpace::Generic,
                    _ => {
                        return Err(
                            "an address whose base is neither a global nor a function".into()
                        );
                    }
                };
                match types.addr_space(ty) {
                    Some(space) if space != own && space != AddrSpace::Generic => {
                        return Err(format!("an address in {own:?} as a pointer into {space:?}"));
                    }
                    space => space.is_some(),
                }
            }
            Const::PtrToInt(ptr) => {
                stack.push(*ptr);
                types.int_bits(ty).is_some() && types.is_ptr(m.ty(*ptr))
            }
            Const::IntToPtr(_) => types.is_ptr(ty),
        };
        if fits {
            return Ok(());
        }
        let mut text = format!("{constant:?}");
        if text.len() > 100 {
            text.truncate(
                (0..=100)
                    .rev()
                    .find(|&at| text.is_char_boundary(at))
                    .unwrap_or(0),
            );
            text.push('…');
        }
        Err(format!(
            "the constant {text} has type `{}`",
            self.type_name(ty)
        ))
    }

    /// Checks rule 6.
    pub(super) fn check_cycles(&mut self) {
        let m = self.m;
        let mut references = vec![Vec::new(); m.globals.len()];
        for global in m.globals() {
            references[global.0 as usize] = self.statics_in(global);
        }
        let cycles = cycles(references.len(), |global, i| {
            Some(references[global].get(i)?.0 as usize)
        });
        for cycle in cycles {
            let name = |&global: &usize| m.global(Global(global as u32)).name.as_str();
            let names: Vec<&str> = cycle.iter().map(name).collect();
            let message = format!(
                "statics refer to each other in a cycle, which libnvvm rejects: {}",
                names.join(", ")
            );
            self.error(Rule::Cycles, names.first().copied(), message);
        }
    }

    fn statics_in(&self, global: Global) -> Vec<Global> {
        let mut found = Vec::new();
        if let Some(init) = self.m.global(global).init {
            crate::uses::for_each_symbol(self.m, init, &mut |symbol| {
                if let Symbol::Global(global) = symbol {
                    found.push(global);
                }
            });
        }
        found
    }

    pub(super) fn check_signature(&mut self, func: Func) {
        let m = self.m;
        let data = m.func(func);
        let name = Some(data.name.as_str());
        let TypeKind::Func {
            ret,
            ref params,
            variadic,
        } = *m.types.kind(data.sig)
        else {
            return self.error(
                Rule::Signatures,
                name,
                "the function's type is not a signature",
            );
        };
        if params.len() != data.params.len() || params.len() != data.param_attrs.len() {
            let message = "the signature and the function have different numbers of parameters";
            return self.error(Rule::Signatures, name, message);
        }
        for (i, (&ty, &param)) in params.iter().zip(&data.params).enumerate() {
            if m.ty(param) != ty {
                self.error(
                    Rule::Signatures,
                    name,
                    format!("parameter {i} does not have the signature's type"),
                );
            }
            if !self.is_sized(ty) || m.types.size(ty) == 0 {
                let message = format!("parameter {i} is of type `{}`", self.type_name(ty));
                self.error(Rule::Signatures, name, message);
            }
            if let Err(message) = self.check_attrs(ty, &data.param_attrs[i]) {
                self.error(Rule::Attributes, name, format!("parameter {i}: {message}"));
            }
        }
        if !self.is_void(ret) && !self.is_sized(ret) {
            let message = format!("the result is of type `{}`", self.type_name(ret));
            self.error(Rule::Signatures, name, message);
        }
        if let Err(message) = self.check_attrs(ret, &data.ret_attrs) {
            self.error(Rule::Attributes, name, format!("the result: {message}"));
        }
        if data.kernel.is_some() {
            for (broken, message) in [
                (data.blocks.is_empty(), "a kernel has no body"),
                (!self.is_void(ret), "a kernel returns a value"),
                (variadic, "a kernel is variadic"),
                (
                    data.linkage == Linkage::Internal,
                    "a kernel is not external",
                ),
            ] {
                if broken {
                    self.error(Rule::Kernels, name, message);
                }
            }
        }
    }

    pub(super) fn check_attrs(&self, ty: Type, attrs: &ParamAttrs) -> Result<(), String> {
        let types = &self.m.types;
        let pointers = attrs.noalias
            || attrs.nonnull
            || attrs.readonly
            || attrs.nocapture
            || attrs.align != 0
            || attrs.dereferenceable != 0
            || attrs.byval.is_some()
            || attrs.sret.is_some();
        if pointers && !types.is_ptr(ty) {
            return Err(format!("a pointer attribute on `{}`", self.type_name(ty)));
        }
        if (attrs.zeroext || attrs.signext) && types.int_bits(ty).is_none() {
            return Err(format!("an integer attribute on `{}`", self.type_name(ty)));
        }
        if attrs.grid_constant && attrs.byval.is_none() {
            return Err("`grid_constant` without `byval`".to_owned());
        }
        if attrs.align != 0 && !attrs.align.is_power_of_two() {
            return Err(format!("the alignment {}", attrs.align));
        }
        for pointee in attrs.byval.iter().chain(&attrs.sret) {
            if !self.is_sized(*pointee) || types.size(*pointee) == 0 {
                return Err(format!(
                    "`byval` or `sret` of `{}`",
                    self.type_name(*pointee)
                ));
            }
        }
        Ok(())
    }

    /// Checks the constants among the operands of a function.
    pub(super) fn check_constants(&mut self, func: Func) {
        let m = self.m;
        for &block in &m.func(func).blocks {
            for &inst in &m.block(block).insts {
                let Some(data) = m.inst(inst) else { continue };
                let mut errors = Vec::new();
                data.kind.for_each_operand(|operand| {
                    if !matches!(
                        m.value(operand).kind,
                        ValueKind::Param(..) | ValueKind::Inst(_)
                    ) && let Err(message) = self.check_constant(operand)
                    {
                        errors.push(message);
                    }
                });
                for message in errors {
                    self.error(Rule::Constants, Some(&m.func(func).name), message);
                }
            }
        }
    }
}
