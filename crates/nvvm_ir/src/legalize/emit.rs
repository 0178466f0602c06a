//! Shorthands with which the legalizer's modules emit replacements.

use super::rewriter::Rewriter;
use crate::inst::*;
use crate::intrinsic::Intrinsic;
use crate::module::{Linkage, Module};
use crate::types::{AddrSpace, Type, TypeKind};
use crate::value::Value;

impl Rewriter<'_> {
    pub fn int_ty(&mut self, bits: u32) -> Type {
        self.module.types.int(bits)
    }

    /// Returns an integer constant; for a vector type, a splat.
    pub fn int(&mut self, ty: Type, value: u128) -> Value {
        let scalar = self.module.types.scalar(ty);
        let element = self.module.const_int(scalar, value);
        self.splat(ty, element)
    }

    /// Returns a float constant; for a vector type, a splat.
    pub fn float(&mut self, ty: Type, value: f64) -> Value {
        let scalar = self.module.types.scalar(ty);
        let bits = match self.kind(scalar) {
            TypeKind::Float => u128::from((value as f32).to_bits()),
            TypeKind::Double => u128::from(value.to_bits()),
            kind => panic!("no constants of {kind:?} are needed"),
        };
        let element = self.module.const_float_bits(scalar, bits);
        self.splat(ty, element)
    }

    fn splat(&mut self, ty: Type, element: Value) -> Value {
        match self.vector_len(ty) {
            Some(len) => self.module.const_vector(&vec![element; len as usize]),
            None => element,
        }
    }

    pub fn bin(&mut self, op: BinOp, lhs: Value, rhs: Value) -> Value {
        let flags = Flags::default();
        self.emit(
            self.ty(lhs),
            InstKind::Bin {
                op,
                lhs,
                rhs,
                flags,
            },
        )
    }

    /// Emits an operation with a constant right operand.
    pub fn bin_int(&mut self, op: BinOp, lhs: Value, rhs: u128) -> Value {
        let rhs = self.int(self.ty(lhs), rhs);
        self.bin(op, lhs, rhs)
    }

    /// Flips all bits.
    pub fn not(&mut self, value: Value) -> Value {
        self.bin_int(BinOp::Xor, value, u128::MAX)
    }

    fn bool_ty(&mut self, like: Type) -> Type {
        let i1 = self.module.types.int(1);
        match self.vector_len(like) {
            Some(len) => self.module.types.vector(i1, len),
            None => i1,
        }
    }

    pub fn icmp(&mut self, pred: IntPred, lhs: Value, rhs: Value) -> Value {
        let ty = self.bool_ty(self.ty(lhs));
        self.emit(ty, InstKind::ICmp { pred, lhs, rhs })
    }

    /// Emits a comparison with a constant.
    pub fn icmp_int(&mut self, pred: IntPred, lhs: Value, rhs: u128) -> Value {
        let rhs = self.int(self.ty(lhs), rhs);
        self.icmp(pred, lhs, rhs)
    }

    pub fn fcmp(&mut self, pred: FloatPred, lhs: Value, rhs: Value) -> Value {
        let ty = self.bool_ty(self.ty(lhs));
        self.emit(ty, InstKind::FCmp { pred, lhs, rhs })
    }

    /// Returns whether a float is a NaN.
    pub fn is_nan(&mut self, value: Value) -> Value {
        self.fcmp(FloatPred::Uno, value, value)
    }

    pub fn select(&mut self, cond: Value, then: Value, otherwise: Value) -> Value {
        self.emit(
            self.ty(then),
            InstKind::Select {
                cond,
                then,
                otherwise,
            },
        )
    }

    /// Emits a conversion, unless the value already has the type.
    pub fn cast(&mut self, op: CastOp, value: Value, ty: Type) -> Value {
        if self.ty(value) == ty {
            return value;
        }
        self.emit(ty, InstKind::Cast { op, value })
    }

    /// Extends an integer (with zeros or with its sign) or truncates it.
    pub fn resize(&mut self, value: Value, ty: Type, signed: bool) -> Value {
        let (from, to) = (self.bits(self.ty(value)), self.bits(ty));
        let op = match () {
            _ if from > to => CastOp::Trunc,
            _ if signed => CastOp::SExt,
            _ => CastOp::ZExt,
        };
        self.cast(op, value, ty)
    }

    pub fn bitcast(&mut self, value: Value, ty: Type) -> Value {
        self.cast(CastOp::Bitcast, value, ty)
    }

    /// Returns the bits of a float as an integer.
    pub fn bits_of(&mut self, value: Value) -> Value {
        let bits = self.bits(self.ty(value));
        let ty = self.int_ty(bits);
        self.bitcast(value, ty)
    }

    pub fn intrinsic(&mut self, intrinsic: Intrinsic, ret: Type, args: &[Value]) -> Value {
        self.call(Callee::Intrinsic(intrinsic), ret, args)
    }

    pub fn call(&mut self, callee: Callee, ret: Type, args: &[Value]) -> Value {
        let call = self.new_call(callee, ret, args);
        self.emit(ret, call)
    }

    /// Calls an intrinsic, without legalizing the call.
    pub fn call_unchanged(&mut self, intrinsic: Intrinsic, ret: Type, args: &[Value]) -> Value {
        let call = self.new_call(Callee::Intrinsic(intrinsic), ret, args);
        self.push(ret, call)
    }

    fn new_call(&mut self, callee: Callee, ret: Type, args: &[Value]) -> InstKind {
        let sig = self.module.signature(ret, args);
        InstKind::Call(Box::new(Call::new(callee, sig, args.to_vec())))
    }

    /// Calls a function by symbol, declaring it if necessary.
    pub fn call_named(&mut self, name: &str, ret: Type, args: &[Value]) -> Value {
        let sig = self.module.signature(ret, args);
        let callee = declared(self.module, name, sig);
        self.call(Callee::Value(callee), ret, args)
    }

    /// Emits inline PTX without side effects.
    pub fn pure_asm(
        &mut self,
        template: &str,
        constraints: &str,
        ret: Type,
        args: &[Value],
    ) -> Value {
        self.asm(template, constraints, false, ret, args)
    }

    /// Emits inline PTX whose result depends on the arguments only.
    pub fn read_none_asm(
        &mut self,
        template: &str,
        constraints: &str,
        ret: Type,
        args: &[Value],
    ) -> Value {
        self.asm(template, constraints, true, ret, args)
    }

    fn asm(
        &mut self,
        template: &str,
        constraints: &str,
        read_none: bool,
        ret: Type,
        args: &[Value],
    ) -> Value {
        let asm = InlineAsm {
            read_none,
            ..InlineAsm::pure(template, constraints)
        };
        self.call(Callee::Asm(Box::new(asm)), ret, args)
    }

    /// Emits inline PTX that reads or writes memory.
    pub fn memory_asm(
        &mut self,
        template: String,
        constraints: &str,
        ret: Type,
        args: &[Value],
    ) -> Value {
        let sep = if constraints.is_empty() { "" } else { "," };
        let asm = InlineAsm {
            template,
            constraints: format!("{constraints}{sep}~{{memory}}"),
            side_effects: true,
            convergent: false,
            read_none: false,
        };
        self.call(Callee::Asm(Box::new(asm)), ret, args)
    }

    pub fn load(&mut self, ty: Type, ptr: Value, access: MemAccess) -> Value {
        self.emit(ty, InstKind::Load { ptr, access })
    }

    pub fn store(&mut self, value: Value, ptr: Value, access: MemAccess) {
        self.emit_void(InstKind::Store { value, ptr, access });
    }

    /// Adds a number of bytes to an address.
    pub fn offset(&mut self, ptr: Value, bytes: Value) -> Value {
        let element = self.int_ty(8);
        let indices = vec![bytes];
        self.emit(
            self.ty(ptr),
            InstKind::Gep {
                element,
                base: ptr,
                indices,
                inbounds: false,
            },
        )
    }

    /// Casts a pointer to the generic address space.
    pub fn generic(&mut self, ptr: Value) -> Value {
        let ty = self.module.types.ptr_in(AddrSpace::Generic);
        self.cast(CastOp::AddrSpaceCast, ptr, ty)
    }

    pub fn extract_value(&mut self, aggregate: Value, index: u32) -> Value {
        let ty = match self.kind(self.ty(aggregate)) {
            TypeKind::Struct { fields, .. } => fields[index as usize],
            TypeKind::Array(element, _) => *element,
            kind => panic!("no fields in {kind:?}"),
        };
        self.emit(ty, InstKind::ExtractValue { aggregate, index })
    }

    /// Builds a struct or array from these values.
    pub fn aggregate(&mut self, ty: Type, fields: &[Value]) -> Value {
        let mut aggregate = self.undef(ty);
        for (index, &value) in (0..).zip(fields) {
            aggregate = self.emit(
                ty,
                InstKind::InsertValue {
                    aggregate,
                    value,
                    index,
                },
            );
        }
        aggregate
    }

    pub fn extract_element(&mut self, vector: Value, index: u32) -> Value {
        let TypeKind::Vector(element, _) = *self.kind(self.ty(vector)) else {
            panic!("extract_element: not a vector")
        };
        let index = self.module.const_i32(index as i32);
        self.emit(element, InstKind::ExtractElement { vector, index })
    }

    /// Builds a vector from these values.
    pub fn vector(&mut self, ty: Type, elements: &[Value]) -> Value {
        let mut vector = self.undef(ty);
        for (index, &value) in (0..).zip(elements) {
            let index = self.module.const_i32(index);
            vector = self.emit(
                ty,
                InstKind::InsertElement {
                    vector,
                    value,
                    index,
                },
            );
        }
        vector
    }
}

/// Returns the function with a symbol, declaring it if necessary.
pub(crate) fn declared(module: &mut Module, name: &str, sig: Type) -> Value {
    if let Some(value) = module.named(name) {
        return value;
    }
    let func = module.add_func(name, sig).expect("the name is free");
    let data = module.func_mut(func);
    data.linkage = Linkage::External;
    data.attrs.no_unwind = true;
    // The libnvvm intrinsics that passes call are pure; the bodies of the other functions determine
    // their attributes.
    data.attrs.read_none = name.starts_with("llvm.nvvm.");
    data.value
}
