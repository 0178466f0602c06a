//! Instructions.

use super::Writer;
use super::words::*;
use crate::inst::*;
use crate::types::{AddrSpace, Type, TypeKind};
use crate::value::{Const, Func, Value, ValueKind};

/// How a pointer of another type than `i8*` is named in the LLVM 7 dialect.
#[derive(Copy, Clone)]
enum Ptr {
    /// As it is: the dialect has opaque pointers, or it is an `i8*`.
    Plain,
    /// A symbol, whose own type it is.
    Symbol(Value),
    /// A constant, cast by a constant expression.
    Constant,
    /// The result of the cast printed before.
    Temp(u32),
}

impl Writer<'_> {
    /// Prints an instruction with the casts it needs, a line each.
    pub(super) fn inst(&mut self, inst: Value) {
        let m = self.m;
        let Some(data) = m.inst(inst) else { return };
        let ty = m.ty(inst);
        match &data.kind {
            InstKind::Ret(None) => self.s("  ret void"),
            InstKind::Ret(Some(value)) => {
                self.s("  ret ");
                self.typed(*value);
            }
            InstKind::Br(to) => {
                self.s("  br ");
                self.block_operand(*to);
            }
            InstKind::CondBr {
                cond,
                then,
                otherwise,
            } => {
                self.s("  br ");
                self.typed(*cond);
                self.s(", ");
                self.block_operand(*then);
                self.s(", ");
                self.block_operand(*otherwise);
            }
            InstKind::Switch {
                value,
                default,
                cases,
            } => {
                self.s("  switch ");
                self.typed(*value);
                self.s(", ");
                self.block_operand(*default);
                self.s(" [");
                let ty = m.ty(*value);
                for &(case, to) in cases {
                    self.s("\n    ");
                    self.ty(ty);
                    self.s(" ");
                    self.int(ty, case);
                    self.s(", ");
                    self.block_operand(to);
                }
                self.s(if cases.is_empty() { "]" } else { "\n  ]" });
            }
            InstKind::Unreachable => self.s("  unreachable"),
            InstKind::Alloca { ty, count, align } => self.alloca(inst, *ty, *count, *align),
            InstKind::Load { ptr, access } => self.load(inst, ty, *ptr, access),
            InstKind::Store { value, ptr, access } => self.store(*value, *ptr, access),
            InstKind::Gep {
                element,
                base,
                indices,
                inbounds,
            } => self.gep(inst, *element, *base, indices, *inbounds),
            InstKind::AtomicRmw {
                op,
                ptr,
                value,
                ordering,
                scope,
            } => {
                let pointee = m.ty(*value);
                let arg = self.cast_ptr(*ptr, pointee);
                self.define(inst);
                self.s("atomicrmw ");
                self.s(rmw_name(*op));
                self.s(" ");
                self.ptr_operand(*ptr, pointee, arg);
                self.s(", ");
                self.typed(*value);
                self.ordering(*ordering, *scope);
            }
            InstKind::CmpXchg {
                ptr,
                expected,
                new,
                success,
                failure,
                scope,
            } => {
                let pointee = m.ty(*new);
                let arg = self.cast_ptr(*ptr, pointee);
                self.define(inst);
                self.s("cmpxchg ");
                self.ptr_operand(*ptr, pointee, arg);
                self.s(", ");
                self.typed(*expected);
                self.s(", ");
                self.typed(*new);
                self.ordering(*success, *scope);
                self.s(" ");
                self.s(ordering_name(*failure));
            }
            InstKind::Fence { ordering, scope } => {
                self.s("  fence");
                self.ordering(*ordering, *scope);
            }
            InstKind::Bin {
                op,
                lhs,
                rhs,
                flags,
            } => {
                self.define(inst);
                self.s(bin_name(*op));
                self.flags(*flags);
                self.s(" ");
                self.typed(*lhs);
                self.s(", ");
                self.val(*rhs);
            }
            InstKind::FNeg(value) => self.simple(inst, "fneg ", &[*value]),
            InstKind::Freeze(value) => self.simple(inst, "freeze ", &[*value]),
            InstKind::Cast { op, value } => {
                self.define(inst);
                self.s(cast_name(*op));
                self.s(" ");
                self.typed(*value);
                self.s(" to ");
                self.ty(ty);
            }
            InstKind::ICmp { pred, lhs, rhs } => {
                self.define(inst);
                self.s("icmp ");
                self.s(int_pred_name(*pred));
                self.s(" ");
                self.typed(*lhs);
                self.s(", ");
                self.val(*rhs);
            }
            InstKind::FCmp { pred, lhs, rhs } => {
                self.define(inst);
                self.s("fcmp ");
                self.s(float_pred_name(*pred));
                self.s(" ");
                self.typed(*lhs);
                self.s(", ");
                self.val(*rhs);
            }
            InstKind::Select {
                cond,
                then,
                otherwise,
            } => self.simple(inst, "select ", &[*cond, *then, *otherwise]),
            InstKind::Phi(incoming) => {
                self.define(inst);
                self.s("phi ");
                self.ty(ty);
                for (i, &(value, block)) in incoming.iter().enumerate() {
                    self.s(if i == 0 { " [ " } else { ", [ " });
                    self.val(value);
                    self.s(", %");
                    self.label(block);
                    self.s(" ]");
                }
            }
            InstKind::Call(call) => self.call(inst, call),
            InstKind::ExtractValue { aggregate, index } => {
                self.simple(inst, "extractvalue ", &[*aggregate]);
                self.s(", ");
                self.num(*index);
            }
            InstKind::InsertValue {
                aggregate,
                value,
                index,
            } => {
                self.simple(inst, "insertvalue ", &[*aggregate, *value]);
                self.s(", ");
                self.num(*index);
            }
            InstKind::ExtractElement { vector, index } => {
                self.simple(inst, "extractelement ", &[*vector, *index])
            }
            InstKind::InsertElement {
                vector,
                value,
                index,
            } => self.simple(inst, "insertelement ", &[*vector, *value, *index]),
            InstKind::ShuffleVector { a, b, mask } => {
                self.simple(inst, "shufflevector ", &[*a, *b]);
                self.s(", <");
                self.num(mask.len() as u64);
                self.s(" x i32> <");
                for (i, index) in mask.iter().enumerate() {
                    self.s(if i == 0 { "i32 " } else { ", i32 " });
                    match index {
                        Some(index) => self.num(*index),
                        None => self.s("undef"),
                    }
                }
                self.s(">");
            }
        }
        self.loc(data);
        self.s("\n");
    }

    /// Prints `  %name = `, or the indentation alone for what has no result.
    fn define(&mut self, inst: Value) {
        self.s("  ");
        let ty = self.m.ty(inst);
        if !matches!(self.m.types.kind(ty), TypeKind::Void) {
            self.local(inst);
            self.s(" = ");
        }
    }

    fn simple(&mut self, inst: Value, name: &str, operands: &[Value]) {
        self.define(inst);
        self.s(name);
        for (i, &operand) in operands.iter().enumerate() {
            self.s(if i == 0 { "" } else { ", " });
            self.typed(operand);
        }
    }

    // Pointers.

    /// LLVM 7: makes a pointer one to a type, printing a cast where one is needed.
    fn cast_ptr(&mut self, ptr: Value, pointee: Type) -> Ptr {
        if !self.llvm7() || self.is_i8(pointee) {
            return Ptr::Plain;
        }
        match &self.m.value(ptr).kind {
            ValueKind::Global(_) => return self.constant_ptr(ptr, ptr, pointee),
            ValueKind::Const(Const::Addr { base, offset: 0 }) => {
                return self.constant_ptr(ptr, *base, pointee);
            }
            ValueKind::Const(_) | ValueKind::Func(_) => return Ptr::Constant,
            ValueKind::Param(..) | ValueKind::Inst(_) => {}
        }
        let temp = self.temp();
        let space = self.space_of(ptr);
        self.s("  ");
        self.temp_name(temp);
        self.s(" = bitcast ");
        self.typed(ptr);
        self.s(" to ");
        self.ptr_to(pointee, space);
        self.s("\n");
        Ptr::Temp(temp)
    }

    /// A global of just that type needs no cast.
    fn constant_ptr(&self, ptr: Value, base: Value, pointee: Type) -> Ptr {
        match self.m.value(base).kind {
            ValueKind::Global(global)
                if self.m.global(global).ty == pointee
                    && self.m.global(global).space == self.space_of(ptr) =>
            {
                Ptr::Symbol(base)
            }
            _ => Ptr::Constant,
        }
    }

    /// Prints `T* ptr` or `ptr ptr`.
    fn ptr_operand(&mut self, ptr: Value, pointee: Type, how: Ptr) {
        if let Ptr::Plain = how {
            return self.typed(ptr);
        }
        let space = self.space_of(ptr);
        self.ptr_to(pointee, space);
        self.s(" ");
        self.cast_ptr_name(ptr, how, |w| w.ptr_to(pointee, space));
    }

    /// Prints a cast pointer without its type, which `ty` prints.
    fn cast_ptr_name(&mut self, ptr: Value, how: Ptr, ty: impl FnOnce(&mut Self)) {
        match how {
            Ptr::Plain => self.val(ptr),
            Ptr::Symbol(symbol) => self.symbol(symbol),
            Ptr::Temp(temp) => self.temp_name(temp),
            Ptr::Constant => {
                self.s("bitcast (");
                self.typed(ptr);
                self.s(" to ");
                ty(self);
                self.s(")");
            }
        }
    }

    /// LLVM 7: ends an instruction whose result `%.N` points to something else than `i8`, and
    /// casts that.
    fn cast_result(&mut self, inst: Value, temp: u32, pointee: Type) {
        let space = self.space_of(inst);
        self.s("\n");
        self.define(inst);
        self.s("bitcast ");
        self.ptr_to(pointee, space);
        self.s(" ");
        self.temp_name(temp);
        self.s(" to ");
        self.ty(self.m.ty(inst));
    }

    fn alloca(&mut self, inst: Value, ty: Type, count: Option<Value>, align: u64) {
        let temp = (self.llvm7() && !self.is_i8(ty)).then(|| self.temp());
        match temp {
            Some(temp) => {
                self.s("  ");
                self.temp_name(temp);
                self.s(" = ");
            }
            None => self.define(inst),
        }
        self.s("alloca ");
        self.ty(ty);
        if let Some(count) = count {
            self.s(", ");
            self.typed(count);
        }
        self.align(align);
        if let Some(temp) = temp {
            self.cast_result(inst, temp, ty);
        }
    }

    fn load(&mut self, inst: Value, ty: Type, ptr: Value, access: &MemAccess) {
        let arg = self.cast_ptr(ptr, ty);
        self.define(inst);
        self.access("load ", access);
        self.ty(ty);
        self.s(", ");
        self.ptr_operand(ptr, ty, arg);
        self.access_end(access);
        if let Some((start, end)) = access.range {
            self.range(ty, start, end);
        }
        if access.invariant {
            self.invariant();
        }
    }

    fn store(&mut self, value: Value, ptr: Value, access: &MemAccess) {
        let ty = self.m.ty(value);
        let arg = self.cast_ptr(ptr, ty);
        self.s("  ");
        self.access("store ", access);
        self.typed(value);
        self.s(", ");
        self.ptr_operand(ptr, ty, arg);
        self.access_end(access);
    }

    fn access(&mut self, name: &str, access: &MemAccess) {
        self.s(name);
        if access.atomic.is_some() {
            self.s("atomic ");
        }
        if access.volatile {
            self.s("volatile ");
        }
    }

    fn access_end(&mut self, access: &MemAccess) {
        if let Some((ordering, scope)) = access.atomic {
            self.ordering(ordering, scope);
        }
        self.align(access.align);
    }

    fn ordering(&mut self, ordering: Ordering, scope: Scope) {
        self.s(match scope {
            Scope::Block => " syncscope(\"block\") ",
            Scope::Cluster => " syncscope(\"cluster\") ",
            Scope::Device => " syncscope(\"device\") ",
            Scope::System => " ",
        });
        self.s(ordering_name(ordering));
    }

    fn gep(&mut self, inst: Value, element: Type, base: Value, indices: &[Value], inbounds: bool) {
        let arg = self.cast_ptr(base, element);
        let pointee = self.gep_pointee(element, indices);
        let temp = (self.llvm7() && !self.is_i8(pointee)).then(|| self.temp());
        match temp {
            Some(temp) => {
                self.s("  ");
                self.temp_name(temp);
                self.s(" = ");
            }
            None => self.define(inst),
        }
        self.s(if inbounds {
            "getelementptr inbounds "
        } else {
            "getelementptr "
        });
        self.ty(element);
        self.s(", ");
        self.ptr_operand(base, element, arg);
        for &index in indices {
            self.s(", ");
            self.typed(index);
        }
        if let Some(temp) = temp {
            self.cast_result(inst, temp, pointee);
        }
    }

    /// What the result of an address computation points to.
    fn gep_pointee(&self, element: Type, indices: &[Value]) -> Type {
        let mut ty = element;
        for &index in indices.iter().skip(1) {
            ty = match self.m.types.kind(ty) {
                TypeKind::Array(element, _) | TypeKind::Vector(element, _) => *element,
                TypeKind::Struct { fields, .. } => match self.m.as_const(index) {
                    Some(Const::Int(field)) if (*field as usize) < fields.len() => {
                        fields[*field as usize]
                    }
                    _ => ty,
                },
                _ => ty,
            };
        }
        ty
    }

    // Calls.

    fn call(&mut self, inst: Value, call: &Call) {
        let m = self.m;
        let no_attrs = ParamAttrs::default();
        let TypeKind::Func {
            ret,
            ref params,
            variadic,
        } = *m.types.kind(call.sig)
        else {
            return self.s("  <call by a type that is no signature>");
        };
        // LLVM 7: by-value pointers as pointers to what they copy.
        let args: Vec<Option<(Type, Ptr)>> = (call.args.iter().enumerate())
            .map(|(i, &arg)| {
                let pointee = call.arg_attrs.get(i)?.byval.filter(|_| self.llvm7())?;
                Some((pointee, self.cast_ptr(arg, pointee)))
            })
            .collect();
        let callee = match &call.callee {
            Callee::Value(value) => Some(self.callee(*value, call)),
            _ => None,
        };
        self.s("  ");
        if !matches!(m.types.kind(ret), TypeKind::Void) {
            self.local(inst);
            self.s(" = ");
        }
        self.s(if call.musttail {
            "musttail call "
        } else {
            "call "
        });
        self.param_attrs_before(&call.ret_attrs);
        if variadic {
            self.call_type(call.sig, &call.arg_attrs);
        } else {
            self.ty(ret);
        }
        self.s(" ");
        match (&call.callee, callee) {
            (Callee::Value(value), Some(how)) => {
                let attrs = &call.arg_attrs;
                self.cast_ptr_name(*value, how, |w| {
                    w.call_type(call.sig, attrs);
                    w.s("*");
                });
            }
            (Callee::Intrinsic(intrinsic), _) => self.intrinsic_name(*intrinsic, call.sig),
            (Callee::Asm(asm), _) => self.asm(asm),
            (Callee::Value(_), None) => unreachable!("`callee` is there for a value"),
        }
        self.s("(");
        for (i, &arg) in call.args.iter().enumerate() {
            self.s(if i == 0 { "" } else { ", " });
            let attrs = call.arg_attrs.get(i).unwrap_or(&no_attrs);
            let ty = params.get(i).copied().unwrap_or(m.ty(arg));
            self.param_type(ty, attrs);
            self.param_attrs(attrs);
            self.s(" ");
            match args[i] {
                Some((pointee, how)) => {
                    let space = self.space_of(arg);
                    self.cast_ptr_name(arg, how, |w| w.ptr_to(pointee, space));
                }
                None => self.val(arg),
            }
        }
        self.s(")");
        if call.noreturn {
            self.s(" noreturn");
        }
        if call.convergent {
            self.s(" convergent");
        }
    }

    /// How the pointer that is called is printed.
    fn callee(&mut self, value: Value, call: &Call) -> Ptr {
        let func = match self.m.value(value).kind {
            ValueKind::Func(func) => Some(func),
            ValueKind::Const(Const::Addr { base, offset: 0 }) => self.m.as_func(base),
            _ => None,
        };
        if let Some(func) = func {
            let data = self.m.func(func);
            let byval = |attrs: Option<&ParamAttrs>| attrs.and_then(|a| a.byval);
            let same = data.sig == call.sig
                && (0..data.params.len())
                    .all(|i| byval(data.param_attrs.get(i)) == byval(call.arg_attrs.get(i)));
            if same || !self.llvm7() {
                return Ptr::Symbol(data.value);
            }
            return Ptr::Constant;
        }
        if !self.llvm7() {
            return Ptr::Plain;
        }
        if matches!(
            self.m.value(value).kind,
            ValueKind::Const(_) | ValueKind::Global(_)
        ) {
            return Ptr::Constant;
        }
        let temp = self.temp();
        self.s("  ");
        self.temp_name(temp);
        self.s(" = bitcast ");
        self.typed(value);
        self.s(" to ");
        self.call_type(call.sig, &call.arg_attrs);
        self.s("*\n");
        Ptr::Temp(temp)
    }

    /// Prints a signature; in LLVM 7 by-value parameters have the type of what is copied.
    fn call_type(&mut self, sig: Type, attrs: &[ParamAttrs]) {
        let TypeKind::Func {
            ret,
            ref params,
            variadic,
        } = *self.m.types.kind(sig)
        else {
            return;
        };
        self.ty(ret);
        self.s(" (");
        let none = ParamAttrs::default();
        for (i, &param) in params.iter().enumerate() {
            self.s(if i == 0 { "" } else { ", " });
            self.param_type(param, attrs.get(i).unwrap_or(&none));
        }
        if variadic {
            self.s(if params.is_empty() { "..." } else { ", ..." });
        }
        self.s(")");
    }

    /// LLVM 7: prints the type of a pointer to a function.
    pub(super) fn func_ptr_type(&mut self, func: Func) {
        let data = self.m.func(func);
        self.call_type(data.sig, &data.param_attrs);
        self.s("*");
    }

    fn asm(&mut self, asm: &InlineAsm) {
        self.s(if asm.side_effects {
            "asm sideeffect \""
        } else {
            "asm \""
        });
        super::escape(&mut self.out, asm.template.as_bytes());
        self.s("\", \"");
        super::escape(&mut self.out, asm.constraints.as_bytes());
        self.s("\"");
    }

    fn flags(&mut self, flags: Flags) {
        for (on, text) in [
            (flags.nuw, " nuw"),
            (flags.nsw, " nsw"),
            (flags.exact, " exact"),
            (flags.fast, " fast"),
            (flags.algebraic && !flags.fast, " reassoc nsz arcp contract"),
        ] {
            if on {
                self.s(text);
            }
        }
    }

    /// The type of variables' address that stands in the entry block.
    pub(super) fn is_entry_address(&self, value: Value) -> bool {
        match &self.m.value(value).kind {
            ValueKind::Param(..) => true,
            ValueKind::Inst(data) => matches!(data.kind, InstKind::Alloca { .. }),
            _ => false,
        }
    }

    pub(super) fn generic(&self, value: Value) -> bool {
        self.space_of(value) == AddrSpace::Generic
    }
}
