//! Pointers and the instructions that use them. In the LLVM 7 dialect, pointer operands are cast to
//! the required type, and pointer results to `i8*`.

use super::Writer;
use super::words::Word;
use crate::inst::{MemAccess, Scope};
use crate::types::{Type, TypeKind};
use crate::value::{Const, Value, ValueKind};

/// How to print a pointer that is not an `i8*` in the LLVM 7 dialect.
#[derive(Copy, Clone)]
pub(super) enum Ptr {
    /// Unchanged: the dialect has opaque pointers, or the pointer is an `i8*`.
    Plain,
    /// A symbol, which has the required type itself.
    Symbol(Value),
    /// A constant, cast by a constant expression.
    Constant,
    /// The result of the cast printed before.
    Temp(u32),
}

impl Writer<'_> {
    /// LLVM 7: casts a pointer to the required type, printing a cast if one is needed.
    pub(super) fn cast_ptr(&mut self, ptr: Value, pointee: Type) -> Ptr {
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

    /// A global of exactly this type needs no cast.
    pub(super) fn constant_ptr(&self, ptr: Value, base: Value, pointee: Type) -> Ptr {
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
    pub(super) fn ptr_operand(&mut self, ptr: Value, pointee: Type, how: Ptr) {
        if let Ptr::Plain = how {
            return self.typed(ptr);
        }
        let space = self.space_of(ptr);
        self.ptr_to(pointee, space);
        self.s(" ");
        self.cast_ptr_name(ptr, how, |w| w.ptr_to(pointee, space));
    }

    /// Prints a cast pointer without its type. `ty` prints the type if a constant expression needs
    /// it.
    pub(super) fn cast_ptr_name(&mut self, ptr: Value, how: Ptr, ty: impl FnOnce(&mut Self)) {
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

    /// LLVM 7: completes an instruction whose result `%.N` is not an `i8*`, and casts the result to
    /// one.
    pub(super) fn cast_result(&mut self, inst: Value, temp: u32, pointee: Type) {
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

    pub(super) fn alloca(&mut self, inst: Value, ty: Type, count: Option<Value>, align: u64) {
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

    pub(super) fn load(&mut self, inst: Value, ty: Type, ptr: Value, access: &MemAccess) {
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
        if access.nonnull {
            self.nonnull();
        }
        if access.invariant {
            self.invariant();
        }
    }

    pub(super) fn store(&mut self, value: Value, ptr: Value, access: &MemAccess) {
        let ty = self.m.ty(value);
        let arg = self.cast_ptr(ptr, ty);
        self.s("  ");
        self.access("store ", access);
        self.typed(value);
        self.s(", ");
        self.ptr_operand(ptr, ty, arg);
        self.access_end(access);
    }

    pub(super) fn access(&mut self, name: &str, access: &MemAccess) {
        self.s(name);
        if access.atomic.is_some() {
            self.s("atomic ");
        }
        if access.volatile {
            self.s("volatile ");
        }
    }

    pub(super) fn access_end(&mut self, access: &MemAccess) {
        if let Some((ordering, scope)) = access.atomic {
            self.scope(scope);
            self.s(" ");
            self.s(ordering.name());
        }
        self.align(access.align);
    }

    pub(super) fn scope(&mut self, scope: Scope) {
        self.s(match scope {
            Scope::Block => " syncscope(\"block\")",
            Scope::Cluster => " syncscope(\"cluster\")",
            Scope::Device => " syncscope(\"device\")",
            Scope::System => "",
        });
    }

    pub(super) fn gep(
        &mut self,
        inst: Value,
        element: Type,
        base: Value,
        indices: &[Value],
        inbounds: bool,
    ) {
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

    /// Returns the type that the result of an address computation points to.
    pub(super) fn gep_pointee(&self, element: Type, indices: &[Value]) -> Type {
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
}
